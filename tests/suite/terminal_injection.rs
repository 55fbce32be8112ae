//! Tests that no command writes foreign control characters to a terminal.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::thread;

use crate::harness::fixed::Fixed;
use crate::harness::raw_server::RawServer;
use crate::harness::service::{KEY, Service, write_config};
use crate::harness::terminal::{self, SENTBOX};
use crate::harness::text::TextChecks as _;

/// Sets the title, rings the bell, starts a C1 sequence, reverses text,
/// hides a space.
const HOSTILE: &str = "\u{1b}]0;X\u{7}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{200b}\u{1b}[2J";

const EMAIL: &str = r#"{"id":"5b","to":["\u001b]0;X\u0007\u009b31m\u202e\u200b@example.com"],"from":"\u001b]0;X\u0007","subject":"\u001b]0;X\u0007\u009b31m\u202e\u2066\u200f\u200b","last_event":"\u001b]0;X\u0007\u202e","created_at":"\u001b]0;X\u0007\u009b31m","html":"<b>\u001b]0;X\u0007\u009b31m\u202e\u200b</b>","text":"\u001b]0;X\u0007\u009b31m\u202e","tags":[{"name":"\u001b]0;X\u0007","value":"\u202e"}],"odd\u001b]0;X\u0007":"\u009b\u202e"}"#;

/// Returns what a command line writes to a terminal of 100 columns.
fn written(home: &Path, environment: &[(&str, &str)], line: &str) -> String {
    let pair = terminal::open(100, 30);
    let arguments: Vec<&str> = line.split(' ').collect();
    let mut command = terminal::command(SENTBOX, &arguments, &[("TERM", "dumb"), ("TZ", "UTC")]);
    command.cwd("/");
    command.env("HOME", home);
    for (name, value) in environment {
        command.env(name, value);
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal that no process holds ends with an error; what came before it counts.
        let _ = reader.read_to_end(&mut bytes);
        bytes
    });
    // Whatever is asked is answered with an empty line.
    pair.master
        .take_writer()
        .unwrap()
        .write_all(b"\n\n\n")
        .unwrap();
    child.wait().unwrap();
    drop(pair);
    String::from_utf8(reading.join().unwrap()).expect("the program writes UTF-8")
}

/// Fails if the text has characters that a terminal obeys or hides.
fn check(text: &str, what: &str) {
    let acts = |c: &char| match *c {
        '\n' | '\r' | '\t' => false,
        c => {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        }
    };
    // A line of progress is taken back by our own sequence.
    let foreign = text.replace("\r\x1b[K", "\r");
    // `doctor` asks the terminal for its background and its device attributes.
    let foreign = foreign.replace("\x1b]11;?\x07\x1b[c", "");
    let has_effect = foreign.chars().any(|c| acts(&c));
    assert!(!has_effect, "{what:?} wrote {text:?}");
}

/// Commands, with `H` for hostile text.
const LINES: [&str; 64] = [
    "H",
    "list H",
    "list",
    "list --after H",
    "list --limit H",
    "show H",
    "show 5b",
    "show 5b --as html",
    "show 5b --as text",
    "show 5b --as source",
    "show 5b --as H",
    "show --offline H",
    "sync",
    "sync --back H",
    "search H",
    "search to:H",
    "search",
    "search --columns subject,to",
    "search --columns H",
    "search --csv",
    "search --sort H",
    "search is:H after:H",
    "archive info",
    "archive H",
    "archive purge H --dry-run",
    "archive purge to:H --dry-run",
    "archive purge subject:H",
    "archive purge --to H --dry-run",
    "archive purge --to H",
    "archive purge --older H",
    "archive vacuum",
    "archive adopt",
    "archive begin",
    "import H",
    "import /H/H",
    "render H",
    "render --width H",
    "profile list",
    "profile use H",
    "profile remove H",
    "profile remove acme",
    "-p H list",
    "--base-url H list",
    "--base-url http://H list",
    "--ca-file H list",
    "--log /H/H list",
    "--timezone H list",
    "--color H list",
    "--rate H list",
    "--H",
    "config path",
    "config check",
    "config H",
    "doctor",
    "doctor --ca-file H",
    "login",
    "login -p H",
    "serve --listen H",
    "serve --demo --allow-host H",
    "serve --demo --emails H",
    "completions H",
    "man H",
    "help H",
    "demo H",
];

#[test]
fn no_command_echoes_control_sequences() {
    let service = Service::new(Fixed(vec![EMAIL]));
    let base = service.base();
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join(HOSTILE);
    let config = home.join(".config/sentbox");
    write_config(
        &config,
        &format!(
            "[profiles.acme]\nbase_url = \"{base}\"\napi_key_env = \"ELSEWHERE\"\n\u{202e} = 1\n"
        )
        .replace('\u{202e}', "\"\\u001b]0;X\\u0007\\u202e\""),
    );
    let environment = [("SENTBOX_API_KEY", KEY), ("SENTBOX_BASE_URL", &base)];
    for line in LINES {
        for more in ["", "--json ", "--jsonl -v "] {
            let line = format!("{more}{}", line.replace('H', HOSTILE));
            check(&written(&home, &environment, &line), &line);
        }
    }
}

#[test]
fn other_charsets_get_ascii_alone() {
    // The second byte of U+00DB is a control code in ISO 8859-1.
    let service = Service::new(Fixed(vec![
        r#"{"id":"5b","to":["ana@example.com"],"subject":"Û2J日","text":"Ý0;x"}"#,
    ]));
    let base = service.base();
    let home = tempfile::tempdir().unwrap();
    for (line, expected) in [
        ("list --limit 1", "?2J?"),
        ("list --json --limit 1", r"\u00db2J\u65e5"),
        ("show 5b", "?0;x"),
        ("search É", "?"),
    ] {
        for charset in ["C", "de_DE.ISO-8859-1"] {
            let environment = [
                ("SENTBOX_API_KEY", KEY),
                ("SENTBOX_BASE_URL", base.as_str()),
                ("LC_ALL", charset),
            ];
            let text = written(home.path(), &environment, line);
            assert!(text.is_ascii(), "{line} wrote {text:?}");
            text.assert_contains(expected);
        }
    }
}

#[test]
fn variables_are_never_echoed_with_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "SENTBOX_API_KEY",
        "SENTBOX_BASE_URL",
        "SENTBOX_PROFILE",
        "SENTBOX_CONFIG",
        "SENTBOX_RATE",
        "RESEND_BASE_URL",
        "TERM",
        "LANG",
        "TZ",
        "TMUX",
        "STY",
        "COLORTERM",
        "HTTPS_PROXY",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ] {
        let absolute = format!("/{HOSTILE}");
        let value = if name.starts_with("XDG") {
            &absolute
        } else {
            HOSTILE
        };
        for line in [
            "doctor",
            "list",
            "config check",
            "config path",
            "profile list",
        ] {
            // A terminal that names itself so may be written to with colours.
            let environment = [(name, value), ("NO_COLOR", "1")];
            let text = written(dir.path(), &environment, line);
            check(&text, &format!("{line} with {name}"));
        }
    }
}

#[test]
fn responses_are_never_echoed_with_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let answers = [
        "HTTP/1.1 403 \u{1b}]0;X\r\nconnection: close\r\ncontent-length: 68\r\n\r\n{\"name\":\"\\u001b]0;X\\u0007\\u202e\",\"message\":\"\\u009b31m\\u001b]0;X\\u0007\"}",
        "HTTP/1.1 422 No\r\nx-request-id: \u{9b}31m\u{202e}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 301 On\r\nlocation: https://x.example/\u{9b}31m\u{202e}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/\u{9b}31m\r\nconnection: close\r\ncontent-length: 9\r\n\r\n\u{1b}]0;X\u{7}\u{9b}3",
    ];
    for answer in answers {
        for line in ["list -v", "doctor", "show 5b --json -v"] {
            let base = RawServer::start([answer]).base;
            let environment = [("SENTBOX_API_KEY", KEY), ("SENTBOX_BASE_URL", &base)];
            check(&written(dir.path(), &environment, line), line);
        }
    }
}
