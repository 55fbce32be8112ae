//! Tests of the pager on a terminal: a shell script that keeps what it gets.

use std::fs;

use crate::harness::process::{Sentbox, set_mode};
use crate::harness::service::KEY;
use crate::harness::session::Session;
use crate::harness::terminal::SENTBOX;
use crate::harness::text::TextChecks as _;

/// A folder with a pager, which writes what it reads and its environment beside
/// itself.
struct Pager(tempfile::TempDir);

impl Pager {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        let script = "#!/bin/sh\nenv > \"$0.env\"\ncat > \"$0.text\"\necho PAGER HAS ENDED\n";
        fs::write(this.path("pager"), script).unwrap();
        set_mode(this.path("pager"), 0o700);
        this
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn has_run(&self) -> bool {
        self.0.path().join("pager.env").exists()
    }
}

/// Runs sentbox on a terminal to its end; returns exit code and screen.
fn run(line: &str, environment: &[(&str, &str)]) -> (u32, String) {
    let arguments: Vec<&str> = line.split(' ').collect();
    Session::start(SENTBOX, &arguments, environment, (60, 100)).end()
}

#[test]
fn pager_shows_long_text_and_has_no_key() {
    let pager = Pager::new();
    let sentbox = Sentbox::at_address(KEY, "http://127.0.0.1:9");
    let email = r#"{"id":"7c1d","to":["ana@example.com"],"subject":"A subject of more words than a terminal of sixty columns can show","last_event":"bounced","created_at":"2026-11-02T09:00:00Z"}"#;
    sentbox.import(email);
    let home = sentbox.home().display().to_string();
    let command = pager.path("pager");
    let environment = [
        ("HOME", home.as_str()),
        ("SENTBOX_API_KEY", KEY),
        ("SENTBOX_BASE_URL", "http://127.0.0.1:9"),
        ("RESEND_API_KEY", KEY),
        ("SENTBOX_PAGER", &command),
        ("PAGER", "false"),
    ];
    let (code, screen) = run("search ana", &environment);
    assert_eq!(code, 0, "{screen}");
    let text = pager.read("pager.text");
    text.assert_contains("A subject of more");
    // It has the width of the terminal.
    text.assert_contains("…");
    screen.assert_starts("PAGER HAS ENDED\n");
    screen.assert_contains("searched 1 email");
    let variables = pager.read("pager.env");
    variables.assert_contains("\nLESS=FRX\n");
    variables.assert_lacks(KEY);

    let (code, screen) = run("show --offline 7c1d", &environment);
    assert_eq!(code, 0, "{screen}");
    assert!(pager.read("pager.text").contains("A subject of more words"));

    fs::remove_file(pager.path("pager.env")).unwrap();
    for line in [
        "search ana --json",
        "search ana --jsonl",
        "search ana --csv",
        "search ana --no-pager",
        "search ana --linear",
        "stats --csv",
        "search nobody",
    ] {
        let (code, screen) = run(line, &environment);
        assert_eq!(code, 0, "{line}: {screen}");
        assert!(!pager.has_run(), "{line}");
    }
    sentbox.configure("accessible = true\n");
    for line in ["search ana", "help query"] {
        let (code, screen) = run(line, &environment);
        assert_eq!(code, 0, "{line}: {screen}");
        assert!(!pager.has_run(), "{line}");
    }
}

#[test]
fn variables_choose_the_pager_or_none() {
    let pager = Pager::new();
    let command = pager.path("pager");
    for environment in [
        [("PAGER", "cat"), ("TERM", "xterm")],
        [("PAGER", ""), ("TERM", "xterm")],
        [("PAGER", command.as_str()), ("SENTBOX_PAGER", "")],
        [("PAGER", &command), ("TERM", "dumb")],
    ] {
        let (code, screen) = run("help query", &environment);
        assert_eq!(code, 0);
        screen.assert_contains("seen-change:1d");
        assert!(!pager.has_run(), "{environment:?}");
    }
    let (code, screen) = run("help query", &[("PAGER", &command), ("LESS", "-S")]);
    assert_eq!((code, screen.as_str()), (0, "PAGER HAS ENDED"));
    assert!(pager.read("pager.text").contains("seen-change:1d"));
    assert!(pager.read("pager.env").contains("\nLESS=-S\n"));
}

#[test]
fn text_is_printed_if_the_pager_fails() {
    for pager in ["false", "less 'x", "exec sentbox-has-no-such-pager"] {
        let (code, screen) = run("help query", &[("PAGER", pager)]);
        assert_eq!(code, 0, "{screen}");
        assert!(screen.contains("seen-change:1d"), "{pager}: {screen}");
        screen.assert_contains("sentbox: the pager has failed; ");
    }
}

#[test]
fn user_may_quit_the_pager_early() {
    let (code, screen) = run("man", &[("PAGER", "head -1 > /dev/null; echo LEFT")]);
    assert_eq!((code, screen.as_str()), (0, "LEFT"));
}
