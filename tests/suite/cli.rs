//! Tests of the commands as scripts use them: stdout, stderr and exit code.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::contract::plain_client;
use crate::harness::fixed::{Fixed, sample_mailbox};
use crate::harness::process::{Sentbox, files_below, json_lines, mode, set_mode};
use crate::harness::service::{KEY, Service};
use crate::harness::serving::Serving;
use crate::harness::text::TextChecks as _;
use insta::assert_snapshot;
use serde_json::Value;

pub const RECEIPT: &str = r#"{"object":"email","id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794","to":["Ana López <ana@example.com>","b@example.org"],"from":"Acme <billing@example.net>","created_at":"2026-11-20 08:41:07.42+00","subject":"Your receipt #4821","message_id":"<1@example.net>","bcc":[],"cc":["c@example.org"],"reply_to":[],"last_event":"delivered","scheduled_at":null,"html":"<p>Thanks. See <b>your receipt</b>.</p>","text":"Thanks. See your receipt.","tags":[{"name":"category","value":"receipt"}],"price":1.50}"#;
const HOSTILE: &str = r#"{"object":"email","id":"5b","to":"x@example.com","from":"\u001b]0;gotcha\u0007","created_at":"yesterday","subject":"red \u001b[31mtext\u202e and\ttabs","last_event":"teleported","html":null,"text":"bell \u0007 and \u009b31m"}"#;

pub fn two_emails() -> Service {
    Service::new(Fixed(vec![RECEIPT, HOSTILE]))
}

pub fn sample(emails: u32) -> Service {
    Service::new(sample_mailbox(emails))
}

#[test]
fn piped_rows_are_tab_separated_fields() {
    let sentbox = Sentbox::using(two_emails());
    assert_snapshot!(sentbox.transcript("list"), @r"
    2026-11-20T08:41:07.420000Z	delivered	ana@example.com,b@example.org	Your receipt #4821	49a3999c-0ce1-4ea6-ab68-afcd6dc2e794
    yesterday	teleported	x@example.com	red �[31mtext� and tabs	5b
    exit code 0
    ");
    let coloured = sentbox.stdout("list --color always");
    coloured.assert_contains("\t\x1b[32mdelivered\x1b[0m\tana@");
    coloured.assert_contains("\tred �[31mtext� and tabs\t");
    let columns = sentbox.stdout("list --color always --columns status");
    assert_eq!(columns, "delivered\nteleported\n", "data for scripts");
}

#[test]
fn json_is_verbatim_without_control_characters() {
    let sentbox = Sentbox::using(two_emails());
    let text = sentbox.stdout("list --json");
    let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.chars().any(acts));
    assert!(text.contains("\"price\":1.50"), "numbers are verbatim");
    let expected = json_lines(&[RECEIPT, HOSTILE].join("\n"));
    let printed: Value = serde_json::from_str(&text).unwrap();
    let page = serde_json::json!({"object": "list", "has_more": false, "data": expected});
    assert_eq!(printed, page);
    assert_eq!(sentbox.json_lines("list --jsonl"), expected);
}

#[test]
fn page_equals_the_response_of_the_server() {
    let service = sample(250);
    let sentbox = Sentbox::at(&service);
    let served = |query: &str| -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let url = format!("{}/emails?{query}", service.base());
        let answer = async {
            let request = plain_client().get(url).bearer_auth(KEY);
            request.send().await.unwrap().bytes().await.unwrap()
        };
        serde_json::from_slice(&runtime.block_on(answer)).unwrap()
    };
    let first = served("limit=20");
    assert_eq!(sentbox.json("list --json"), first);
    assert_eq!(first["has_more"], true);
    let id = first["data"][19]["id"].as_str().unwrap();
    let json = sentbox.json(&format!("list --json --limit 100 --after {id}"));
    assert_eq!(json, served(&format!("limit=100&after={id}")));
    let json = sentbox.json(&format!("list --json --limit 3 --before {id}"));
    assert_eq!(json, served(&format!("limit=3&before={id}")));
}

#[test]
fn list_all_returns_every_email_once() {
    let sentbox = Sentbox::using(sample(250));
    let all = sentbox.json("list --json --all --rate 100");
    let ids: HashSet<&str> = all["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|email| email["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 250);
    assert_eq!(all["data"].as_array().unwrap().len(), 250);
    assert_eq!(all["has_more"], false);
    let lines = sentbox.stdout("list --jsonl --limit 130");
    assert_eq!(lines.lines().count(), 130);
}

#[test]
fn show_prints_the_requested_form() {
    let sentbox = Sentbox::using(two_emails());
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    assert_snapshot!(sentbox.transcript(&format!("show {id}")), @r"
    status     ✓ delivered: one of 3 recipients, not known which; as of [TIME]
    to         Ana López <ana@example.com>, b@example.org
    cc         c@example.org
    from       Acme <billing@example.net>
    subject    Your receipt #4821
    created    Fri 20 Nov 2026 08:41:07 UTC
    tags       category=receipt
    id         49a3999c-0ce1-4ea6-ab68-afcd6dc2e794
    message-id <1@example.net>
    price      1.50

    Thanks. See your receipt.
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript(&format!("show {id} --as text")), @r"
    Thanks. See your receipt.
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript(&format!("show {id} --as html")), @r"
    <p>Thanks. See <b>your receipt</b>.</p>
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript(&format!("show {id} --as source")), @r"
    <p>Thanks. See <b>your receipt</b>.</p>
    exit code 0
    ");
    let json = sentbox.json(&format!("show {id} --json"));
    assert_eq!(json, serde_json::from_str::<Value>(RECEIPT).unwrap());
    let expected = sentbox.stdout(&format!("show {id} --jsonl"));
    assert_eq!(sentbox.stdout(&format!("show {id} --as json")), expected);
    assert_snapshot!(sentbox.transcript("show 5b"), @r"
    status     ? teleported: a status this version does not know; as of [TIME]
    to         x@example.com
    from       �]0;gotcha�
    subject    red �[31mtext� and tabs
    created    yesterday
    id         5b

    bell � and �31m
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("show 5b --as html"), @r"
    stderr: sentbox: this email has no html part
    stderr:    hint: leave out --as to print what it has
    exit code 1
    ");
    let expected = sentbox.transcript("show 5b --as html");
    assert_eq!(sentbox.transcript("show 5b --as source"), expected);
    assert_snapshot!(sentbox.transcript("show 5b --json"), @r#"
    {"object":"email","id":"5b","to":"x@example.com","from":"\u001b]0;gotcha\u0007","created_at":"yesterday","subject":"red \u001b[31mtext\u202e and\ttabs","last_event":"teleported","html":null,"text":"bell \u0007 and \u009b31m"}
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("show 00000000-0000-4000-8000-000000000000"), @r"
    stderr: sentbox: the service has no such email
    stderr:    hint: check the id; the service deletes old mail
    exit code 4
    ");
}

#[test]
fn secrets_are_masked_in_text_for_people() {
    const CODE: &str = r#"{"object":"email","id":"c1","to":["ana@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"482913 is your code","last_event":"delivered","html":"<p>Your code is 482913.</p>","text":"Your code is 482913."}"#;
    let sentbox = Sentbox::using(Service::new(Fixed(vec![CODE])));
    for masked in [
        "list",
        "show c1",
        "show c1 --as text",
        "show c1 --as source",
    ] {
        assert!(!sentbox.transcript(masked).contains("482913"), "{masked}");
        let revealed = format!("{masked} --reveal");
        assert!(sentbox.stdout(&revealed).contains("482913"), "{masked}");
    }
    let transcript = sentbox.transcript("show c1");
    transcript.assert_contains("--reveal shows them");
    let source = sentbox.run("show c1 --as source");
    assert_eq!((source.status.code(), source.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&source.stderr).contains("--reveal shows it"));
    for whole in ["list --json", "show c1 --json", "show c1 --as html"] {
        assert!(sentbox.stdout(whole).contains("482913"), "{whole}");
    }
}

#[test]
fn reading_command_makes_no_archive() {
    let sentbox = Sentbox::using(two_emails());
    for (line, text) in [
        ("search receipt", "the archive is empty; --back 30d fetches"),
        ("stats", "the archive is empty"),
        ("export --to - --as jsonl", "the archive is empty"),
        ("search --received receipt", "the archive is empty"),
        ("show 5b --offline", "no email in the archive has an id"),
        (
            "archive info",
            "there is no archive yet; sync and import make one",
        ),
    ] {
        sentbox.transcript(line).assert_contains(text);
        assert!(files_below(sentbox.home()).is_empty(), "{line}");
    }
    sentbox.stdout("search --back all receipt");
    let info = sentbox.transcript("archive info");
    assert!(!info.contains("no archive"), "{info}");
    // An archive of another key of the profile is still reported.
    let sentbox = Sentbox::new();
    let service = two_emails();
    sentbox.stdout_with_input(&format!("login --base-url {}", service.base()), KEY);
    sentbox.stdout("sync");
    std::fs::write(sentbox.config().join("keys/default"), "re_other\n").unwrap();
    let transcript = sentbox.transcript("search receipt");
    transcript.assert_contains("has an archive of 2 emails that belongs to another key");
}

#[test]
fn shown_email_is_stored_privately() {
    let mut sentbox = Sentbox::using(two_emails());
    sentbox.stdout("show 5b --in-memory");
    assert!(files_below(sentbox.home()).is_empty());
    assert_snapshot!(sentbox.transcript("show 5b --offline"), @r"
    stderr: sentbox: no email in the archive has an id that begins so
    stderr:    hint: leave out --offline to request it; sentbox search --columns id,to,subject QUERY lists ids
    exit code 4
    ");
    let online = sentbox.stdout("show 5b");
    assert_private(&sentbox.home().join(".local/share/sentbox"));
    sentbox.stop_service();
    assert_eq!(sentbox.stdout("show 5b"), online);
    assert_eq!(sentbox.stdout("show 5b --offline"), online);
    assert_eq!(sentbox.code("show 5b --fresh"), Some(5));
    let other_key = sentbox.with("SENTBOX_API_KEY", "re_other_team");
    assert_eq!(other_key.code("show 5b --offline"), Some(4));
}

#[test]
fn full_sync_is_complete_and_second_run_empty() {
    let sentbox = Sentbox::using(sample(250));
    let first = sentbox.json("sync --back all --rate 1000 --json");
    assert_eq!(first["new"], 250);
    assert_eq!(first["complete"], true);
    assert_eq!(sentbox.json("sync --back all --rate 1000 --json")["new"], 0);
    assert_snapshot!(sentbox.transcript("sync --back all --rate 1000"), @r"
    0 emails new, 0 changed; everything the service has is here
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("sync --back yesterday"), @r"
    stderr: sentbox: invalid value 'yesterday' for '--back <SPAN>': expected all, or a number of hours, days or weeks such as 12h, 30d, 8w
    stderr:    hint: see sentbox sync --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("sync --in-memory"), @r"
    stderr: sentbox: this needs an archive on disk
    stderr:    hint: leave out --in-memory
    exit code 2
    ");
}

#[test]
fn memory_profile_is_named_as_the_cause() {
    let sentbox = Sentbox::new();
    let config =
        format!("[profiles.mem]\narchive = \"memory\"\napi_key_command = \"echo {KEY}\"\n");
    sentbox.configure(&config);
    assert_snapshot!(sentbox.transcript("-p mem search foo"), @r#"
    stderr: sentbox: this needs an archive on disk
    stderr:    hint: the profile mem has archive = "memory"; choose another one with -p, or a file with --archive
    exit code 2
    "#);
}

#[test]
fn import_stores_lines_and_reports_bad_ones() {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    let lines = format!("{RECEIPT}\n\nnot json\n{HOSTILE}\n");
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("import -", &lines)), @r"
    2 emails read, 2 of them new
    stderr: sentbox: mail is stored in [HOME]/.local/share/sentbox/@environment/api.resend.com-9c925810/archive.sqlite, readable by you only
    stderr: sentbox: line 3: not JSON: expected ident
    stderr: sentbox: 1 of 3 items is not an email
    exit code 1
    ");
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("import -", "\n")), @r"
    0 emails read, 0 of them new
    stderr: sentbox: the input has no line: there is nothing to import
    exit code 0
    ");
    assert!(sentbox.stdout("show 5b --offline").contains("teleported"));
    std::fs::write(sentbox.home().join("mail.jsonl"), RECEIPT).unwrap();
    assert_snapshot!(sentbox.transcript("import mail.jsonl --json"), @r#"
    {"lines":1,"new":0,"out":0,"bad":0}
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("import nowhere.jsonl"), @r"
    stderr: sentbox: nowhere.jsonl cannot be read: No such file or directory (os error 2)
    exit code 1
    ");
}

#[test]
fn import_of_wrong_file_ends_with_one_error() {
    let sentbox = Sentbox::using(two_emails());
    let import = |input: &str| sentbox.shown(&sentbox.run_with_input("import -q -", input));
    assert_snapshot!(import(&sentbox.stdout("list --csv")), @r"
    stderr: sentbox: the input is CSV
    stderr:    hint: import reads JSON, as sentbox export --as jsonl writes it
    exit code 1
    ");
    assert_snapshot!(import(&"words\n".repeat(1000)), @r"
    stderr: sentbox: the first 10 items are not emails; line 1: not JSON: expected value
    stderr:    hint: import reads JSON, as sentbox export --as jsonl writes it
    exit code 1
    ");
    assert_snapshot!(import(r#"[{"id":"7"}]"#), @r"
    stderr: sentbox: the input has no email; email 1: not an email: it has neither recipient, sender, time nor subject
    stderr:    hint: import reads JSON, as sentbox export --as jsonl writes it
    exit code 1
    ");
    sentbox.run_with_input("import --archive new.sqlite -", "words\n");
    let files = std::fs::read_dir(sentbox.home()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("new.sqlite")).count(), 0);
    let late = format!("{RECEIPT}\n{}", "words\n".repeat(1000));
    let late = import(&late);
    late.assert_contains("1 000 of 1 001 items are not emails");
}

#[test]
fn loopback_service_bypasses_proxy() {
    let proxied = Sentbox::using(two_emails())
        .with("HTTP_PROXY", "http://127.0.0.1:1")
        .with("ALL_PROXY", "http://127.0.0.1:1");
    assert_eq!(proxied.stdout("list").lines().count(), 2);
}

#[test]
fn profile_key_comes_from_command_or_file() {
    let service = two_emails();
    let sentbox = Sentbox::new()
        .with("SENTBOX_API_KEY", "re_canary_of_another_team")
        .with("KEY_ELSEWHERE", KEY);
    let base = service.base();
    let profiles = format!(
        "[profiles.command]\nbase_url = \"{base}\"\napi_key_command = 'echo \"$KEY_ELSEWHERE$SENTBOX_API_KEY\"'\n\
         [profiles.file]\nbase_url = \"{base}\"\napi_key_file = \"key\"\n\
         [profiles.variable]\nbase_url = \"{base}\"\napi_key_env = \"KEY_ELSEWHERE\"\n"
    );
    sentbox.configure(&profiles);
    let key_file = sentbox.config().join("key");
    std::fs::write(&key_file, KEY).unwrap();
    set_mode(&key_file, 0o600);
    for profile in ["command", "file", "variable"] {
        let list = sentbox.stdout(&format!("list -p {profile}"));
        assert_eq!(list.lines().count(), 2, "{profile}");
    }
    set_mode(&key_file, 0o644);
    assert_snapshot!(sentbox.transcript("list -p file"), @r"
    stderr: sentbox: the key file [HOME]/.config/sentbox/key is open to other users
    stderr:    hint: chmod 600 [HOME]/.config/sentbox/key
    exit code 8
    ");
}

#[test]
fn closed_pipe_is_success() {
    let sentbox = Sentbox::using(sample(250));
    let mut child = sentbox.spawn("list --all --jsonl");
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.starts_with('{'));
    let output = child.wait_with_output().unwrap();
    assert_eq!(sentbox.shown(&output).lines().last(), Some("exit code 0"));
    assert!(output.stderr.is_empty());
}

#[test]
fn render_prints_html_as_text() {
    let sentbox = Sentbox::new();
    let html = "<h1>Thanks</h1><p>See <a href='https://example.com/r'>your receipt</a>.</p><script>alert(1)</script>";
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("render --width 40 --links", html)), @r"
    Thanks

    See your receipt[1].

    [1] https://example.com/r
    exit code 0
    ");
    let coloured = sentbox.run_with_input("render --color always", html);
    assert!(coloured.stdout.contains(&0x1b));
    std::fs::write(sentbox.home().join("mail.html"), html).unwrap();
    let plain = sentbox.stdout("render mail.html");
    let expected = plain.as_bytes();
    assert_eq!(sentbox.run_with_input("render -", html).stdout, expected);
    assert!(!plain.contains('\u{1b}'));
    assert_snapshot!(sentbox.transcript("render nowhere.html"), @r"
    stderr: sentbox: nowhere.html cannot be read: No such file or directory (os error 2)
    exit code 1
    ");
}

#[test]
fn demo_server_runs_until_signal() {
    let sentbox = Sentbox::new();
    let line = "serve --demo --listen 127.0.0.1:0 --emails 3 --quiet";
    let server = Serving::start(&mut sentbox.command(line));
    let client = Sentbox::at_address("re_demo", &server.base);
    assert_eq!(client.stdout("list").lines().count(), 3);
    assert_eq!(sentbox.shown(&server.stop()), "exit code 143");
}

#[test]
fn generated_documents_name_all_commands() {
    let sentbox = Sentbox::new();
    assert!(sentbox.stdout("completions bash").contains("sentbox"));
    let manual = sentbox.stdout("man");
    manual.assert_starts(".ie");
    manual.assert_contains(".SS \"sentbox list\"");
    manual.replace("\\-", "-").assert_contains("--limit");
    manual.assert_contains(".SS \"sentbox profile remove\"");
    manual.assert_lacks(".SS \"sentbox profile\"");
    let expected = format!("sentbox {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(sentbox.stdout("--version"), expected);
    assert_snapshot!(sentbox.stdout("--help"), @r"
    The sent box of a team, in a terminal: did we send it, what did it say, what became of it?

    Usage: sentbox [OPTIONS] [QUERY]...
           sentbox [OPTIONS] <COMMAND>

    Commands:
      demo         Open the terminal program on a sample mailbox; needs no key and keeps nothing
      list         List sent or received emails as the service has them, newest first
      search       Search the archive
      stats        Count what matches: by status, day, hour, domain, subject or tag
      show         Show one email: the service's answer, or else the copy in the archive
      attachment   List the attachments of an email, or save one of them
      render       Lay out html (from a file or standard input) as text
      sync         Mirror the service into the archive
      watch        Print each new email and each status change, until interrupted
      wait         Wait for an email, or for its status, and print it
      import       Take emails from JSON into the archive
      export       Write what matches to files, or as one stream
      archive      Say what the archive holds, or keep less in it
      serve        Serve the service's API from the archive, to a team, or over a sample mailbox
      login        Ask for an API key, check it, and store it in a profile
      profile      List, choose or remove profiles
      config       Find, check or edit the configuration file
      doctor       Check config, key, service, archive and terminal
      completions  Print completions for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Arguments:
      [QUERY]...  Open the terminal program on what matches this; all words together are one query

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -p, --profile <NAME>   Use this profile, and no key from the environment
          --base-url <URL>   Where the service is
          --archive <FILE>   Use this archive (file or postgres://...); reading it needs no key
          --json             Print one JSON document, and errors as JSON
          --jsonl            Print one JSON object a line, and errors as JSON
          --jq <EXPR>        Print what this expression of jq makes of the JSON document, or with
                             --jsonl of each object
          --color <WHEN>     Style the output [default: auto] [possible values: auto, always, never]
          --ascii            Draw with ASCII alone
          --linear           Print lines and read typed commands, for screen readers and terminals that
                             cannot move the cursor
          --in-memory        Keep nothing on disk; for the screen, list, show and attachment
          --no-pager         Print long text without a pager
          --reveal           Show one-time codes and links that work once
          --rate <N>         Requests a second, shared with what your team sends
          --ca-file <FILE>   Trust the certificates in this file, too
          --utc              Show and read times in UTC
          --timezone <ZONE>  Show and read times in this zone, as in Europe/Madrid; those in CSV, JSON
                             and pipes are in UTC
      -q, --quiet            Say nothing but results and errors
      -v, --verbose...       Keep a log and tell more about errors; -vv logs everything
          --log <FILE>       Keep the log in this file

    Without a command, the terminal program opens: on all mail, or on what matches QUERY.

    The API key comes from SENTBOX_API_KEY (its service: SENTBOX_BASE_URL), from RESEND_API_KEY
    (RESEND_BASE_URL), or from a profile, which `sentbox login` makes. No flag takes one.

    The query language: `sentbox help query`.

    Exit codes: 0 done, 1 could not, 2 wrong usage, 3 key missing, rejected or not allowed to read, 4 no
    such email, 5 service unreachable or not answering as this API does, 6 rate limit or quota, 7 wait
    ran out of time, 8 archive or configuration unusable, 101 internal error, 128+n ended by signal n
    (129: the terminal was closed).
    ");
}

/// Checks that only their owner may read the files and folders below a folder.
pub fn assert_private(folder: &Path) {
    for path in files_below(folder) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}
