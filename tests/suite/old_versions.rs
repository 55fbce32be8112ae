//! Tests of archives that an older version has written.

use std::path::Path;

use crate::cli::sample;
use crate::harness::process::Sentbox;
use crate::harness::text::TextChecks as _;

const MAIL: &str = r#"{"id":"a","to":["x@example.net"],"created_at":"2026-11-17T08:00:00Z","last_event":"delivered"}"#;

fn make_old(path: &Path) {
    let archive = rusqlite::Connection::open(path).unwrap();
    archive.pragma_update(None, "user_version", 19).unwrap();
}

fn version(path: &Path) -> u32 {
    let archive = rusqlite::Connection::open(path).unwrap();
    archive
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

#[test]
fn replaced_archive_is_reported_also_when_quiet() {
    let service = sample(30);
    for line in [
        "sync -q",
        "search -q x@example.com",
        "show -q --offline nothing",
        "archive begin -q",
        "import -q /dev/null",
    ] {
        let sentbox = Sentbox::at(&service);
        sentbox.stdout("sync --back all --rate 1000");
        let path = sentbox.archive_path();
        make_old(&path);
        let words = sentbox.stderr(line);
        let is_reported = words.contains("the archive of an older version is now ");
        assert!(
            is_reported && words.contains(".sqlite.old1"),
            "{line}: {words}"
        );
        words.assert_contains("fetched again");
        assert_eq!(version(&path.with_added_extension("old1")), 19, "{line}");
    }
}

#[test]
fn check_of_old_archive_leaves_it() {
    let service = sample(30);
    let sentbox = Sentbox::at(&service);
    sentbox.stdout("sync --back all --rate 1000");
    let path = sentbox.archive_path();
    make_old(&path);
    for line in [
        "doctor",
        "doctor --quick",
        "archive info",
        "archive repair",
        "archive purge --older 1d --yes",
    ] {
        let report = sentbox.transcript(line);
        report.assert_contains("older version of sentbox");
        report.assert_contains("sync with its key");
        assert!(!report.contains("exit code 0"), "{line}: {report}");
        assert_eq!(version(&path), 19, "{line}");
    }
    assert!(!path.with_added_extension("old1").exists());
}

#[test]
fn reader_without_key_reports_old_archive() {
    let sentbox = Sentbox::new();
    sentbox.stdout_with_input("import - --archive mail.sqlite", MAIL);
    let path = sentbox.home().join("mail.sqlite");
    make_old(&path);
    let keyed = Sentbox::at(&sample(3));
    for sentbox in [&sentbox, &keyed] {
        for line in ["search x", "stats", "export", "sync"] {
            let line = format!("{line} --archive {}", path.display());
            let report = sentbox.transcript(&line);
            assert!(!report.contains("exit code 0"), "{line}: {report}");
            assert!(!path.with_added_extension("old1").exists(), "{line}");
        }
        let report = sentbox.transcript(&format!("search x --archive {}", path.display()));
        report.assert_contains("older version of sentbox");
    }
}

#[test]
fn import_names_file_that_keeps_old_mail() {
    let sentbox = Sentbox::new();
    sentbox.stdout_with_input("import - --archive mail.sqlite", MAIL);
    let path = sentbox.home().join("mail.sqlite");
    make_old(&path);
    let output = sentbox.run_with_input("import -q - --archive mail.sqlite", MAIL);
    let words = String::from_utf8(output.stderr).unwrap();
    words.assert_contains("mail.sqlite.old1, and its mail is in that file alone");
    let backup = sentbox.transcript("search x --archive mail.sqlite.old1");
    backup.assert_contains("it is the backup of one that was replaced");
    let moved = sentbox.home().join("mail.sqlite.old1.old1");
    sentbox.run_with_input("import - --archive mail.sqlite.old1", MAIL);
    assert!(!moved.exists(), "a backup stays");
    assert_eq!(
        sentbox.json("archive info --json --archive mail.sqlite")["emails"],
        1
    );
}
