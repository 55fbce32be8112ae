//! Tests of received mail: `--received`, and its archive beside that of sent mail.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::{sample, two_emails};
use crate::harness::fixed::{Fixed, TwoLists};
use crate::harness::process::{Sentbox, files_below, set_mode};
use crate::harness::service::{KEY, Service};
use crate::harness::text::TextChecks as _;

const SENT: &str = r#"{"id":"s1","to":["Ana <ana@example.com>"],"from":"help@acme.example","created_at":"2026-11-20T08:00:00Z","subject":"Your order","last_event":"delivered","html":null,"text":"Thanks"}"#;
const REPLY: &str = r#"{"object":"email","id":"r1","to":["help@acme.example"],"from":"Ana <Ana@example.com>","created_at":"2026-11-20T09:00:00.123Z","subject":"Re: Your order","message_id":"<r1@example.com>","bcc":null,"cc":[],"reply_to":null,"html":null,"text":"It is broken","headers":{"x-mailer":"Pen"},"attachments":[{"id":"a1","filename":null,"content_type":"text/plain","size":null}]}"#;
const BARE: &str = r#"{"id":"r2","to":"help@acme.example","from":"bo@example.org","created_at":"2026-11-19T09:00:00Z","subject":null,"html":null,"text":null,"headers":null,"received_for":null,"reply_to":["ana@example.com"]}"#;
const OLD: &str = r#"{"id":"r3","to":["help@acme.example"],"from":"cy@example.net","created_at":"2001-01-01T00:00:00Z","subject":"Long ago","html":"<p>Old</p>","text":null}"#;

fn service() -> Service {
    Service::new(TwoLists {
        sent: Fixed(vec![SENT]),
        received: Fixed(vec![REPLY, BARE, OLD]),
    })
}

/// All files below the home whose name has this part.
fn files(sentbox: &Sentbox, part: &str) -> Vec<PathBuf> {
    let mut found = files_below(sentbox.home());
    found.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_file() && name.contains(part)
    });
    found
}

fn count(sentbox: &Sentbox, query: &str) -> String {
    sentbox.stdout(&format!("search --received --count -q {query}"))
}

#[test]
fn received_mail_has_sender_and_no_status() {
    let sentbox = Sentbox::using(service());
    assert_snapshot!(sentbox.transcript("list --received --limit 2"), @r#"
    2026-11-20T09:00:00.123000Z		Ana@example.com	Re: Your order	r1
    2026-11-19T09:00:00.000000Z		bo@example.org		r2
    stderr: sentbox: there is more: sentbox list --received --after r2 --limit 2
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("list --received --csv"), @r#"
    created,from,to,subject,id
    2026-11-20T09:00:00.123000Z,Ana <Ana@example.com>,help@acme.example,Re: Your order,r1
    2026-11-19T09:00:00.000000Z,bo@example.org,help@acme.example,,r2
    2001-01-01T00:00:00.000000Z,cy@example.net,help@acme.example,Long ago,r3
    exit code 0
    "#);
    let document = sentbox.json("list --received --json");
    let sent: Value = serde_json::from_str(BARE).unwrap();
    assert_eq!(document["data"][1], sent, "as the service sent it");
    assert_snapshot!(sentbox.transcript("show --received r1"), @r#"
    to         help@acme.example
    from       Ana <Ana@example.com>
    subject    Re: Your order
    created    Fri 20 Nov 2026 09:00:00 UTC
    id         r1
    message-id <r1@example.com>
    headers    {"x-mailer":"Pen"}
    attachments [{"id":"a1","filename":null,"content_type":"text/plain","size":null}]

    It is broken
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("show --received --as text r2"), @r#"
    stderr: sentbox: this email has no plain-text part
    stderr:    hint: leave out --as to print what it has
    exit code 1
    "#);
    let eml = sentbox.stdout("show --received --as eml r1");
    eml.assert_contains("It is broken");
    eml.assert_lacks("X-Sentbox-Status");
    let json = sentbox.json("show --received --json r1");
    assert_eq!(json, serde_json::from_str::<Value>(REPLY).unwrap());
    assert!(!sentbox.stdout("list").contains("Re: Your order"));
}

#[test]
fn received_mail_is_searched_in_its_own_archive() {
    let sentbox = Sentbox::using(service());
    let report = "3 emails new, 0 changed, 0 bodies; everything the service has is here\n";
    let stdout = sentbox.stdout("sync --received --back all --bodies");
    assert_eq!(stdout, report);
    let found = "2026-11-20T09:00:00.123000Z\t\tAna@example.com\tRe: Your order\tr1\n";
    assert_eq!(sentbox.stdout("search --received broken"), found);
    let stdout = sentbox.stdout("search --count -q after:2000-01-01");
    assert_eq!(stdout, "0\n", "not among sent mail");
    let kept = sentbox.json("show --received --offline --json r1");
    assert_eq!(kept["last_event"], Value::Null, "nothing is added: {kept}");
    sentbox
        .stdout("search --received --jsonl from:ana")
        .assert_lacks("last_event");
    for query in [
        "status:bounced",
        "is:trouble",
        "-is:delivered",
        "seen-change:1d",
    ] {
        let shown = sentbox.transcript(&format!("search --received -- {query}"));
        shown.assert_contains("received mail has no status");
        shown.assert_contains("exit code 2");
    }
    assert_eq!(count(&sentbox, "is:gone"), "0\n");
    assert_snapshot!(sentbox.transcript("list --received --columns id,status"), @r#"
    stderr: sentbox: received mail has no status, and no column status
    stderr:    hint: leave it out
    exit code 2
    "#);
    let csv = sentbox.stdout("export --received --as csv --to - from:bo");
    csv.assert_contains("r2,2026-11-19T09:00:00.000000Z,,help@acme.example");
}

#[test]
fn import_refuses_mail_of_the_other_list() {
    let service = service();
    let sentbox = Sentbox::at(&service);
    sentbox.stdout("sync --received --back all --bodies");
    let received = sentbox.stdout("export --received --as jsonl --to -");
    assert_eq!(received.lines().count(), 3);
    let sent = sentbox.stdout("list --json");
    let other = Sentbox::at(&service);
    let import = |line: &str, input: &str| other.shown(&other.run_with_input(line, input));
    assert_snapshot!(import("import -q -", received.lines().next().unwrap()), @r"
    stderr: sentbox: the input is received mail, and was not imported as sent mail
    stderr:    hint: sentbox import --received FILE imports it
    exit code 1
    ");
    assert_snapshot!(import("import -q --received -", &sent), @r"
    stderr: sentbox: the input is sent mail, and was not imported as received mail
    stderr:    hint: leave out --received
    exit code 1
    ");
    assert_eq!(other.stdout("search --count -q after:2000-01-01"), "0\n");
    assert_eq!(count(&other, "after:2000-01-01"), "0\n");
    assert_snapshot!(import("import -q --received -", &received), @r"
    3 emails read, 3 of them new
    exit code 0
    ");
    assert_snapshot!(import("import -q -", &format!("{REPLY}\n{SENT}")), @r"
    1 email read, 1 of them new
    stderr: sentbox: 1 of 2 items is not a sent email
    exit code 1
    ");
    assert_eq!(count(&other, "after:2000-01-01"), "3\n");
    let stdout = other.stdout("search --received -q --columns from,id broken");
    assert_eq!(stdout, "Ana <Ana@example.com>\tr1\n");
}

#[test]
fn unsupported_received_mail_is_reported() {
    let sentbox = Sentbox::using(two_emails());
    assert_snapshot!(sentbox.transcript("list --received"), @r#"
    stderr: sentbox: the service does not list received mail
    exit code 1
    "#);
    let transcript = sentbox.transcript("sync --received");
    transcript.assert_contains("does not list received mail");
    assert!(sentbox.stdout("list").contains("Your receipt"));
}

#[test]
fn attachments_of_received_mail_have_their_own_path() {
    let sentbox = Sentbox::using(sample(300));
    let ids = sentbox.stdout("list --received --columns id");
    let invoice = ids.lines().nth(1).unwrap();
    let listed = sentbox.stdout(&format!("attachment --received {invoice}"));
    listed.assert_starts("confirmation.csv\t");
    let content = sentbox.stdout(&format!(
        "attachment --received {invoice} confirmation.csv --to -"
    ));
    content.assert_starts("date,amount\n");
    let of_sent = sentbox.transcript(&format!("attachment {invoice}"));
    of_sent.assert_contains("no such email");
    let withheld = ids.lines().last().unwrap();
    assert_snapshot!(sentbox.transcript(&format!("show --received {withheld}")), @r#"
    stderr: sentbox: the service withholds this email: "The content of this email is above the quota of your team"
    stderr:    hint: it was received when the team's quota was used up
    exit code 1
    "#);
    assert_snapshot!(sentbox.transcript("sync --received --back all --bodies --rate 1000"), @r#"
    8 emails new, 0 changed, 7 bodies; everything the service has is here
    stderr: sentbox: the service withholds the bodies of 1 email; the next run retries them
    exit code 0
    "#);
}

#[test]
fn purged_customer_is_removed_from_both_archives() {
    let sentbox = Sentbox::using(service());
    sentbox.stdout("sync --back all --bodies");
    sentbox.stdout("sync --received --back all --bodies");
    assert_snapshot!(sentbox.transcript("archive purge --to ana@example.com"), @r#"
    stderr: sentbox: this would remove 3 emails to or from ana@example.com, 2 of them received, for good
    stderr:    hint: add --yes to confirm
    exit code 2
    "#);
    let stdout = sentbox.stdout("archive purge --to ana@example.com --yes");
    assert_eq!(stdout, "3 emails removed\n");
    for path in files(&sentbox, "archive.sqlite") {
        let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
        let found = bytes.windows(15).any(|part| part == b"ana@example.com");
        assert!(!found, "{}", path.display());
    }
    sentbox.stdout("sync --received --back all");
    // It does not come back.
    assert_eq!(count(&sentbox, "after:2000-01-01"), "1\n");
    // It has no status.
    sentbox.stdout("archive purge --yes -- -is:trouble");
    assert_eq!(count(&sentbox, "after:2000-01-01"), "1\n");
    let expected = "1 email removed\n";
    assert_eq!(sentbox.stdout("archive purge --older 500w --yes"), expected);
    assert_eq!(count(&sentbox, "after:2000-01-01"), "0\n");
}

#[test]
fn retention_size_checks_and_removal_reach_both_archives() {
    let service = service();
    let sentbox = Sentbox::new();
    let profile = |keep: &str| {
        let text = format!(
            "default_profile = \"acme\"\n[profiles.acme]\nbase_url = \"{}\"\napi_key_file = \"key\"\n{keep}",
            service.base()
        );
        sentbox.configure(&text);
        let key_file = sentbox.config().join("key");
        fs::write(&key_file, KEY).unwrap();
        set_mode(&key_file, 0o600);
    };
    profile("");
    sentbox.stdout("sync --back all");
    let bytes = || sentbox.info()["bytes"].as_u64().unwrap();
    let before = bytes();
    sentbox.stdout("sync --received --back all");
    assert!(bytes() > before + 4096);
    let info = sentbox.json("archive info --received --json");
    assert_eq!(info["emails"], 3);
    let checked = sentbox.stdout("doctor");
    assert_eq!(checked.matches("intact, ").count(), 2, "{checked}");

    // A command about sent mail is enough to remove old received mail, unless it only reads.
    profile("keep = \"500w\"\n");
    sentbox.stdout("search -q to:ana");
    assert_eq!(count(&sentbox, "after:2000-01-01"), "3\n");
    sentbox.stdout("sync -q");
    profile("");
    assert_eq!(count(&sentbox, "after:2000-01-01"), "2\n");

    let mut received = files(&sentbox, "sqlite.received");
    received.retain(|path| path.extension().is_some_and(|it| it == "received"));
    let received = received.remove(0);
    let damaged = fs::read(&received).unwrap();
    fs::write(
        &received,
        [&damaged[..4096], &vec![7; damaged.len() - 4096]].concat(),
    )
    .unwrap();
    let checked = sentbox.transcript("doctor");
    checked.assert_contains("FAILED  archive");
    fs::write(&received, damaged).unwrap();
    sentbox.stdout("profile remove acme --yes");
    assert_eq!(files(&sentbox, "archive.sqlite"), Vec::<PathBuf>::new());
}
