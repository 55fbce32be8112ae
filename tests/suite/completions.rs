//! Tests of completions in real shells; a shell that is not installed is skipped
//! with a note.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::process::{Sentbox, files_below};
use crate::harness::service::KEY;

/// Sources the script on `$1`, completes the line `$2`, and prints what is offered.
const BASH: &str = r#"
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
read -ra COMP_WORDS <<< "$2|"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]%|}
current=${COMP_WORDS[COMP_CWORD]}
_sentbox_words sentbox "${current##*[:=]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2> /dev/null
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${current%"${current##*[:=]}"}${COMPREPLY[@]}"
"#;

const ZSH: &str = r"
compdef() { : }
_arguments() { print fixed }
compadd() { while [[ $1 != -- ]] { shift }; shift; (( $# )) && print -l -- $@ }
. $1
words=(${(s: :)2}) PREFIX=${2##* }
[[ -n $PREFIX ]] || words+=('')
CURRENT=$#words
_sentbox
";

const FISH: &str = "source $argv[1]; complete -C $argv[2]";

/// A home with two profiles, and an archive with emails,
/// one of which has an id of an attacker.
fn prepare() -> Sentbox {
    let sentbox = Sentbox::at_address(KEY, "http://127.0.0.1:9");
    let profiles = "[profiles.acme]\napi_key_command = \"touch ran\"\n[profiles.staging]\n";
    sentbox.configure(profiles);
    std::fs::write(sentbox.home().join("mail.jsonl"), "").unwrap();
    let mail = ["7c1d-ana", "$(touch${IFS}ran)", "7c2d-ben", "-rf", "7c`touch ran`"].map(|id| {
        format!(
            r#"{{"id":"{id}","to":["ana@example.com"],"subject":"Hi","last_event":"bounced","created_at":"2026-11-02T09:00:00Z"}}"#
        )
    });
    sentbox.import(&mail.join("\n"));
    sentbox
}

/// Completes a line in a shell; `None` if the shell is not installed.
fn complete(sentbox: &Sentbox, shell: &str, line: &str) -> Option<Vec<String>> {
    let options: &[&str] = match shell {
        "bash" => &["--norc", "-c", BASH, "bash"],
        "zsh" => &["-f", "-c", ZSH, "zsh"],
        _ => &["--no-config", "-c", FISH],
    };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, sentbox.stdout(&format!("completions {shell}"))).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_sentbox")).parent().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the shells are found by it")]
    let path = std::env::var("PATH").unwrap();
    let environment = sentbox.command("");
    let variables = environment.get_envs();
    let output = Command::new(shell)
        .args(options)
        .arg(&script)
        .arg(line)
        .current_dir(sentbox.home())
        .env_clear()
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", format!("{}:{path}", program.display()))
        .output()
        .ok()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "{shell}: {line}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn shell_completions_offer_words_and_run_nothing() {
    let sentbox = prepare();
    for shell in ["bash", "zsh", "fish"] {
        let offers = |line: &str| complete(&sentbox, shell, line);
        let Some(profiles) = offers("sentbox list -p ") else {
            #[expect(clippy::disallowed_macros, reason = "a skipped shell is not a failure")]
            {
                eprintln!("{shell} is not installed");
            }
            continue;
        };
        // Fish keeps its own files.
        let before = files_below(&sentbox.home().join(".local/share/sentbox"));
        assert_eq!(profiles, ["acme", "staging"], "{shell}");
        for (line, expected) in [
            ("sentbox profile use st", &["staging"][..]),
            ("sentbox search status:bo", &["status:bounced"]),
            ("sentbox -p acme search is:tr", &["is:trouble"]),
            ("sentbox search to:an", &["to:ana@example.com"]),
            ("sentbox search subj", &["subject:"]),
            ("sentbox search subject:", &[]),
            ("sentbox wait tag:", &[]),
            ("sentbox wait --until deliv", &["delivered"]),
            ("sentbox search --columns cre", &["created"]),
            ("sentbox show 7c1", &["7c1d-ana"]),
            ("sentbox show 7c2d-ben 7c1", &["7c1d-ana"]),
            ("sentbox attachment 7c1", &["7c1d-ana"]),
            ("sentbox sear", &["search"]),
            ("sentbox help q", &["query"]),
            ("sentbox export --to ma", &["mail.jsonl"]),
            ("sentbox --archive ma", &["mail.jsonl"]),
        ] {
            // Bash and zsh have functions for files, which are not loaded here.
            if shell != "fish" && expected == ["mail.jsonl"] {
                continue;
            }
            assert_eq!(offers(line).unwrap(), expected, "{shell}: {line}");
        }
        let mut ids = offers("sentbox show ").unwrap();
        ids.sort();
        assert_eq!(ids, ["7c1d-ana", "7c2d-ben"], "{shell}");
        assert_eq!(sentbox.stdout("__complete attachment 7c1d-ana 7c"), "");
        let after = files_below(&sentbox.home().join(".local/share/sentbox"));
        assert_eq!(after, before);
        assert!(!sentbox.home().join("ran").exists(), "{shell}");
    }
}

#[test]
fn completion_without_config_and_archive_prints_nothing() {
    let sentbox = Sentbox::new().with("SENTBOX_CONFIG", "/nonexistent/config.toml");
    for line in [
        "__complete",
        "__complete show 5",
        "__complete -p ac",
        "__complete search to:a",
    ] {
        assert_eq!(sentbox.transcript(line), "exit code 0", "{line}");
    }
    assert_eq!(files_below(sentbox.home()), [] as [PathBuf; 0]);
}
