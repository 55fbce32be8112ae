//! Tests of `archive`, of retention, and of mail that the service deletes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::RECEIPT;
use crate::harness::fixed::{Fixed, Hooked};
use crate::harness::process::{Sentbox, files_below};
use crate::harness::service::{KEY, Service};
use crate::harness::text::TextChecks as _;
use sentbox::server::{EmailSource as _, SourceError};

const ANA: &str = r#"{"id":"a1","to":["Ana <ana@example.com>"],"from":"Acme <billing@example.net>","created_at":"2026-11-20T08:00:00Z","subject":"One","last_event":"delivered","html":null,"text":"Hello Ana"}"#;
const BOTH: &str = r#"{"id":"b1","to":["bo@example.org"],"cc":["ANA@example.com"],"created_at":"2026-11-19T08:00:00Z","subject":"Two","last_event":"sent","html":null,"text":"Hello both"}"#;
const BO: &str = r#"{"id":"c1","to":["bo@example.org"],"created_at":"2001-01-01T08:00:00.000000Z","subject":"Three","last_event":"sent","html":null,"text":"Hello Bo"}"#;

#[test]
fn purged_customer_stays_removed() {
    let sentbox = Sentbox::synced(Service::new(Fixed(vec![ANA, BOTH, BO])));
    let before = sentbox.info();
    assert_eq!(before["emails"], 3);
    assert_eq!(before["complete"], true);
    let as_of = before["as_of"].as_str().unwrap();
    assert!(as_of > "2026-11-20T08:00:00Z", "{as_of}");
    assert_eq!(before["gone"], 0);
    assert_eq!(before["oldest"], "2001-01-01T08:00:00.000000Z");
    assert!(before["path"].as_str().unwrap().ends_with(".sqlite"));
    assert!(!before.to_string().contains(KEY));
    insta::assert_snapshot!(sentbox.transcript("archive purge --to ana@example.com"), @r"
    stderr: sentbox: this would remove 2 emails to ana@example.com for good
    stderr:    hint: add --yes to confirm
    exit code 2
    ");
    let history = sentbox.archive_path().with_file_name("history");
    std::fs::write(
        &history,
        "to:ana@example.com\nis:gone\nfrom:x or to:ANA@example.com\n",
    )
    .unwrap();
    let stdout = sentbox.stdout("archive purge --to Ana@example.com, --yes");
    assert_eq!(stdout, "2 emails removed\n");
    let filters = || std::fs::read_to_string(&history).unwrap();
    assert_eq!(filters(), "is:gone\n");
    let purge = "archive purge --to ana@example.com --yes";
    let note = "typed filters, which may still name a person of the removed mail, are in ";
    let notes = sentbox.stderr(purge);
    notes.assert_contains(&format!("{note}{}\n", history.display()));
    assert!(!notes.contains("watched"), "there is no such file: {notes}");
    let watched = history.with_file_name("state.jsonl");
    let note = format!("watched are in {}\n", watched.display());
    for (record, is_noted) in [
        ("{\"seen\":{\"at\":1}}\n", false),
        ("{\"watch\":{}}\n", true),
    ] {
        std::fs::write(&watched, record).unwrap();
        assert_eq!(sentbox.stderr(purge).contains(&note), is_noted);
    }
    let quiet = sentbox.command(&format!("{purge} -q")).output().unwrap();
    assert_eq!(quiet.stderr, b"");
    sentbox.stdout("sync --back all");
    assert_eq!(sentbox.info()["emails"], 1);
    for command in ["search to:ana", "stats", "export is:sent --to - --as jsonl"] {
        let notes = sentbox.stderr(command);
        notes.assert_contains("which is everything the service had at ");
        notes.assert_contains(", except purged mail\n");
    }
    for command in ["sync", "archive info", "doctor --quick"] {
        sentbox
            .stdout(command)
            .assert_contains(" is here, except purged mail\n");
    }
    assert_eq!(sentbox.info()["omitted"]["purged"], 2);
    let stdout = sentbox.stdout("archive purge --older 500w --json --yes");
    assert_eq!(stdout, "{\"removed\":1,\"backups\":[]}\n");
    assert!(sentbox.stdout("archive vacuum").contains("now"));
    let info = sentbox.stdout("archive info");
    info.assert_contains("\npurged   2 emails by archive purge, and all mail before ");
    sentbox.stdout("sync --back all");
    assert_eq!(sentbox.info()["emails"], 0);
    let mut without_address = sentbox.command("archive purge --yes");
    let without_address = without_address.args(["--to", ""]).output().unwrap();
    assert_eq!(without_address.status.code(), Some(2), "an empty variable");
    for (to, why) in [
        (",", "expected an address"),
        ("a@example.com,b@example.com", "expected one address"),
    ] {
        let purge = sentbox.transcript(&format!("archive purge --yes --to {to}"));
        purge.assert_contains(why);
        purge.assert_contains("exit code 2");
    }
    insta::assert_snapshot!(sentbox.transcript("archive purge --yes"), @r"
    stderr: sentbox: the following required arguments were not provided: <QUERY|--older <AGE>|--to <ADDRESS>>
    stderr:    hint: usage: sentbox archive purge --yes <QUERY|--older <AGE>|--to <ADDRESS>>; see sentbox archive purge --help
    exit code 2
    ");
}

#[test]
fn purged_id_is_recognised() {
    const ID: &str = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    const OTHER: &str = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e795";
    let is_gone = Arc::<AtomicBool>::default();
    let source = Hooked::with_email(Fixed(vec![RECEIPT]), {
        let is_gone = Arc::clone(&is_gone);
        move |source, id| {
            if is_gone.load(Ordering::Relaxed) {
                return Err(SourceError::Unknown);
            }
            source.email(id)
        }
    });
    let sentbox = Sentbox::synced(Service::new(source));
    sentbox.stdout("archive purge --yes --to ana@example.com");
    let note = "sentbox: this email was purged: the archive leaves it out\n";
    for (query, is_noted) in [
        (ID, true),
        (&ID.to_uppercase(), true),
        (&format!("--count id:{ID}"), true),
        (OTHER, false),
        (&ID[..8], false),
    ] {
        let notes = sentbox.stderr(&format!("search {query}"));
        assert_eq!(notes.contains(note), is_noted, "{query}: {notes}");
    }
    insta::assert_snapshot!(sentbox.transcript(&format!("show --offline {ID}")), @r"
    stderr: sentbox: the archive does not hold this email; it was purged from the archive
    stderr:    hint: leave out --offline to request it
    exit code 4
    ");
    let stdout = sentbox.stdout(&format!("show {ID}"));
    stdout.assert_contains("Thanks");
    is_gone.store(true, Ordering::Relaxed);
    insta::assert_snapshot!(sentbox.transcript(&format!("show {ID}")), @r"
    stderr: sentbox: the service has no such email; it was purged from the archive
    stderr:    hint: check the id; the service deletes old mail
    exit code 4
    ");
    insta::assert_snapshot!(sentbox.transcript(&format!("show {OTHER}")), @r"
    stderr: sentbox: the service has no such email
    stderr:    hint: check the id; the service deletes old mail
    exit code 4
    ");
    insta::assert_snapshot!(sentbox.transcript(&format!("show {}", &ID[..8])), @r"
    stderr: sentbox: no email in the archive has an id that begins so, and the service has none with this id
    stderr:    hint: sentbox search --columns id,to,subject QUERY lists ids
    exit code 4
    ");
}

/// Returns the files below a folder that contain one of these texts, in any case.
fn holders(folder: &Path, texts: &[&str]) -> Vec<PathBuf> {
    let mut found = files_below(folder);
    found.retain(|path| path.is_file());
    found.retain(|path| {
        let bytes = std::fs::read(path).unwrap().to_ascii_lowercase();
        texts.iter().any(|text| {
            let mut parts = bytes.windows(text.len());
            parts.any(|part| part == text.as_bytes())
        })
    });
    found
}

#[test]
fn purge_by_query_removes_every_byte() {
    let sentbox = Sentbox::using(Service::new(Fixed(vec![ANA, BOTH, BO])));
    sentbox.stdout("sync --back all --bodies");
    let traces = [
        "ana@example.com",
        "hello ana",
        "hello both",
        "\"a1\"",
        "\"b1\"",
    ];
    assert!(!holders(sentbox.home(), &traces).is_empty());
    insta::assert_snapshot!(sentbox.transcript("archive purge any:ana@example.com or to:eve@example.net"), @r"
    stderr: sentbox: this would remove 2 emails matching any:ana@example.com or to:eve@example.net for good
    stderr:    hint: add --yes to confirm
    exit code 2
    ");
    let stdout = sentbox.stdout("archive purge any:ana@example.com --dry-run");
    let expected = "would remove 2 emails matching any:ana@example.com\n";
    assert_eq!(stdout, expected);
    let stdout = sentbox.stdout("archive purge any:ana@example.com --dry-run --json");
    assert_eq!(stdout, "{\"would_remove\":2}\n");
    assert_eq!(sentbox.info()["emails"], 3);
    let history = sentbox.archive_path().with_file_name("history");
    let others = "to:joana@example.com\nto:ana@example.com.br\nsubject:\"tea @ noon\"\n";
    std::fs::write(&history, format!("to:\"<ana@example.com>\"\n{others}")).unwrap();
    sentbox.stdout("archive purge subject:lunch @ noon --yes");
    let stdout = sentbox.stdout("archive purge any:ana@example.com --yes");
    assert_eq!(stdout, "2 emails removed\n");
    assert_eq!(std::fs::read_to_string(&history).unwrap(), others);
    std::fs::remove_file(&history).unwrap();
    assert_eq!(holders(sentbox.home(), &traces), Vec::<PathBuf>::new());
    sentbox.stdout("sync --back all --bodies");
    assert_eq!(sentbox.code("show a1"), Some(0), "the service still has it");
    assert_eq!(sentbox.info()["emails"], 1);
    assert_eq!(sentbox.info()["bodies"], 1);
    let left = holders(sentbox.home(), &traces);
    assert_eq!(left, Vec::<PathBuf>::new(), "it is not stored again");
}

#[test]
fn ambiguous_purge_query_removes_nothing() {
    let sentbox = Sentbox::synced(Service::new(Fixed(vec![ANA, BOTH, BO])));
    insta::assert_snapshot!(sentbox.transcript("archive purge sort:oldest --yes"), @r"
    stderr: sentbox: this query finds everything, so nothing was removed
    stderr:    hint: to forget a whole team: sentbox profile remove NAME --yes
    exit code 2
    ");
    insta::assert_snapshot!(sentbox.transcript("archive purge not before:never --yes"), @r"
    stderr: sentbox: never: expected a date such as 2026-11-02, 2 Nov, today, last-week, 09:30, 7d or 5min
    stderr:    hint: sentbox help query shows what a query may have
    exit code 2
    ");
    insta::assert_snapshot!(sentbox.transcript("archive purge status:teleported --yes"), @r"
    stderr: sentbox: this query is not clear, so nothing was removed: teleported: unknown status; known are scheduled, queued, canceled, sent, delayed, failed, suppressed, bounced, delivered, opened, clicked and complained
    stderr:    hint: sentbox search shows what a query finds
    exit code 2
    ");
    // A variable of the shell may be empty.
    assert_eq!(sentbox.code("archive purge --yes to: ana"), Some(2));
    assert_eq!(sentbox.code("archive purge ana --older 1d --yes"), Some(2));
    assert_eq!(sentbox.code("archive purge ana --dry-run --yes"), Some(2));
    insta::assert_snapshot!(sentbox.transcript("archive purge hello --dry-run"), @r"
    would remove 3 emails matching hello
    exit code 0
    ");
    let stdout = sentbox.stdout("archive purge unmatched --yes --quiet");
    assert_eq!(stdout, "0 emails removed\n");
    assert_eq!(sentbox.info()["emails"], 3);
}

#[test]
fn retention_removes_mail_past_keep() {
    let service = Service::new(Fixed(vec![ANA, BOTH, BO]));
    let sentbox = Sentbox::new();
    let config = format!(
        "[profiles.default]\nbase_url = \"{}\"\napi_key_command = \"echo {KEY}\"\nkeep = \"500w\"\n",
        service.base()
    );
    sentbox.configure(&config);
    let sentbox = sentbox.with("PATH", "/usr/bin:/bin");
    sentbox.stdout("sync --back all");
    assert_eq!(sentbox.info()["emails"], 2);
    sentbox.stdout("show c1");
    // What is read is not kept either if it is too old.
    assert_eq!(sentbox.info()["emails"], 2);
}

#[test]
fn deleted_email_stays_and_is_marked() {
    let sentbox = Sentbox::using(Service::new(Fixed(vec![ANA, BOTH])));
    let lost = sentbox.home().join("lost.jsonl");
    std::fs::write(&lost, BO).unwrap();
    sentbox.stdout("import lost.jsonl");
    assert!(!sentbox.stdout("show c1 --offline").contains("gone"));
    assert_eq!(sentbox.code("show c1 --fresh"), Some(4));
    let shown = sentbox.stdout("show c1");
    shown.assert_contains("gone       no longer at the service; kept here; noticed ");
    shown.assert_contains("Hello Bo");
    assert_eq!(sentbox.info()["gone"], 1);
}

#[test]
fn unconfirmed_deletion_is_not_gone_anywhere() {
    // The service lists an email that it does not find.
    let source = Hooked::with_email(Fixed(vec![ANA]), |_, _| Err(SourceError::Unknown));
    let sentbox = Sentbox::synced(Service::new(source));
    sentbox.run("show a1 --fresh");
    assert_eq!(sentbox.info()["gone"], 0);
    assert_eq!(sentbox.stdout("search -q --count is:gone"), "0\n");
    assert!(!sentbox.stdout("show a1 --offline").contains("gone"));
}

#[test]
fn folder_instead_of_archive_is_named() {
    let sentbox = Sentbox::new();
    std::fs::create_dir(sentbox.home().join("mail")).unwrap();
    for line in ["search a", "archive repair"] {
        let text = sentbox.stderr(&format!("{line} --archive mail"));
        text.assert_contains("mail is a folder");
        text.assert_contains("name a file in it, such as ");
        text.assert_contains("mail/archive.sqlite");
    }
}

/// A name below a file: the error does not depend on the user,
/// as that of a closed folder does.
#[test]
fn unreachable_archive_is_not_called_absent() {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    std::fs::write(sentbox.home().join("file"), "").unwrap();
    for line in [
        "search a",
        "archive info",
        "archive repair",
        "archive copy --to b.sqlite",
        "sync --dry-run",
    ] {
        let text = sentbox.transcript(&format!("{line} --archive file/a.sqlite"));
        text.assert_contains("a.sqlite cannot be opened: Not a directory");
        text.assert_lacks("there is no archive");
    }
    let sentbox = sentbox.with("XDG_DATA_HOME", "/dev/null");
    for line in ["search a", "archive info", "stats"] {
        let stderr = sentbox.stderr(line);
        stderr.assert_contains("cannot be opened: Not a directory");
    }
}
