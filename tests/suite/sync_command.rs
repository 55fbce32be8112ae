//! Tests of `sync`: bodies, interruption, and several processes on one archive.

use std::io::{BufRead as _, BufReader};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::Signal;
use sentbox::mail::EmailId;
use sentbox::server::{EmailSource as _, SourceError};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::harness::fixed::{Fixed, Hooked, sample_mailbox};
use crate::harness::process::Sentbox;
use crate::harness::service::Service;
use crate::harness::serving::signal;
use crate::harness::text::TextChecks as _;

/// A service that reports the id of each request for a body.
pub fn reporting_bodies(emails: u32) -> (Service, Receiver<String>) {
    let (sender, reports) = channel();
    let source = Hooked::with_email(sample_mailbox(emails), move |mailbox, id| {
        let _ = sender.send(id.as_str().to_owned());
        mailbox.email(id)
    });
    (Service::new(source), reports)
}

#[test]
fn bodies_are_fetched_once_and_the_newest_first() {
    let (service, receiver) = reporting_bodies(130);
    let sentbox = Sentbox::using(service);
    let report = sentbox.json("sync --back all --bodies --rate 1000 --json");
    assert_eq!(report["new"], 130);
    assert_eq!(report["bodies"], 130);
    assert_eq!(report["complete"], true);
    let requested: Vec<String> = receiver.try_iter().collect();
    let listed = sentbox.json_lines("list --all --jsonl --rate 1000");
    let listed: Vec<&str> = listed
        .iter()
        .map(|email| email["id"].as_str().unwrap())
        .collect();
    assert_eq!(requested, listed);
    insta::assert_snapshot!(sentbox.transcript("sync --back all --bodies --rate 1000"), @r"
    0 emails new, 0 changed, 0 bodies; everything the service has is here
    exit code 0
    ");
    assert_eq!(receiver.try_iter().count(), 0);
    sentbox.stdout(&format!("show {} --offline", listed[129]));
}

#[test]
fn withheld_bodies_are_reported() {
    let service = Service::new(Hooked::with_email(sample_mailbox(3), |_, _| {
        Err(SourceError::Withheld)
    }));
    let sentbox = Sentbox::at(&service);
    sentbox.stdout("sync");
    assert_eq!(
        sentbox.stderr("sync --bodies --back all"),
        "sentbox: the service withholds the bodies of 3 emails; the next run retries them\n"
    );
}

#[test]
fn only_back_limits_bodies_by_age() {
    const OLD: &str = r#"{"id":"old","to":["a@example.com"],"created_at":"2025-01-02T08:00:00Z","last_event":"sent"}"#;
    let sentbox = Sentbox::using(Service::new(Hooked::with_email(
        Fixed(vec![OLD]),
        |_, _| {
            let email = OLD.replace('}', r#","text":"hello"}"#);
            Ok(RawValue::from_string(email).unwrap())
        },
    )));
    sentbox.stdout("sync");
    let bodies = |line: &str| -> Value {
        let report = sentbox.json(line);
        report["bodies"].clone()
    };
    assert_eq!(bodies("sync --bodies --back 30d --dry-run --json"), 0);
    assert_eq!(bodies("sync --bodies --back 30d --json"), 0);
    assert_eq!(bodies("sync --bodies --dry-run --json"), 1);
    assert_eq!(bodies("sync --bodies --json"), 1);
}

#[test]
fn readable_emails_get_bodies_despite_unreadable_one() {
    // Each page ends with an unreadable email.
    let source = Hooked::with_page(sample_mailbox(12), |mailbox, cursor, limit| {
        let mut page = mailbox.page(cursor, limit)?;
        let unreadable = RawValue::from_string(r#""unreadable""#.to_owned()).unwrap();
        page.data.push(unreadable);
        Ok(page)
    });
    let sentbox = Sentbox::using(Service::new(source));
    let output = sentbox.run("sync --back all --bodies --rate 1000 --json");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["new"], 12);
    assert_eq!(report["bodies"], 12);
    assert_eq!(output.status.code(), Some(5));
    let errors = sentbox.shown(&output);
    errors.assert_contains("not every email on the service's pages could be read");
}

#[test]
fn interrupted_sync_keeps_and_reports_progress() {
    let (service, receiver) = reporting_bodies(40);
    let sentbox = Sentbox::using(service);
    let child = sentbox.spawn("sync --back all --bodies --watch --rate 20");
    (0..5).for_each(|_| drop(receiver.recv().unwrap()));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let report = String::from_utf8(output.stdout).unwrap();
    report.assert_contains("\tpage\t40 emails new, 0 changed; ");
    report.assert_contains("\n40 emails new, 0 changed, ");
    report.assert_ends("; everything the service has is here\n");
    let requested = 5 + receiver.try_iter().count();
    let rest = sentbox.json("sync --back all --bodies --rate 1000 --json");
    let fetched = rest["bodies"].as_u64().unwrap() as usize;
    let range = 40 - requested..=36;
    assert!(range.contains(&fetched), "{fetched} after {requested}");
}

#[test]
fn unreadable_and_deleted_bodies_are_skipped() {
    const GOOD: &str = r#"{"id":"good","to":["a@example.com"],"created_at":"2026-11-18T08:00:00Z","subject":"x","last_event":"sent","text":"hello"}"#;
    const OTHER: &str = r#"{"id":"other","to":["a@example.com"],"created_at":"2026-11-19T08:00:00Z","subject":"y","last_event":"sent","text":"hello"}"#;
    // A listing that has bodies needs no more requests.
    let sentbox = Sentbox::using(Service::new(Fixed(vec![OTHER, GOOD])));
    assert_eq!(sentbox.json("sync --bodies --json")["bodies"], 0);
    let bare = |json: &'static str| json.strip_suffix(r#","text":"hello"}"#).unwrap();
    let lines = format!("{}}}\n{}}}\n", bare(OTHER), bare(GOOD));
    // The other email is answered by the wrong one.
    let service = Service::new(Hooked::with_email(Fixed(vec![GOOD]), |source, _| {
        source.email(&EmailId::new("good"))
    }));
    let sentbox = Sentbox::using(service);
    sentbox.import(&lines);
    let words = sentbox.transcript("sync --bodies --json");
    words.assert_contains("1 bodies could not be read");
    words.assert_ends("exit code 0");
}

#[test]
fn second_process_reads_what_first_fetched() {
    let (service, receiver) = reporting_bodies(3);
    let sentbox = Sentbox::using(service);
    let first = sentbox.spawn("sync --back all --bodies --watch --rate 1000");
    (0..3).for_each(|_| drop(receiver.recv().unwrap()));
    // Any other command goes on beside it.
    assert!(sentbox.stdout("archive info").contains("emails   3"));
    sentbox.stdout("sync --back all");
    signal(&first, Signal::TERM);
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    String::from_utf8_lossy(&output.stdout).assert_contains("3 emails new");
}

#[test]
fn two_syncs_fetch_each_body_once() {
    let (reports, requested) = channel();
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    let service = Service::new(Hooked::with_email(sample_mailbox(3), move |mailbox, id| {
        let _ = reports.send(id.as_str().to_owned());
        // Once the sender is dropped, all continue.
        let _ = gate.lock().unwrap().recv();
        mailbox.email(id)
    }));
    // Whatever fails, the gate opens before the service is to end.
    let open: Sender<()> = open;
    let sentbox = Sentbox::at(&service);
    let sync = || sentbox.spawn("sync --back all --bodies --rate 1000");
    let first = sync();
    requested.recv().unwrap();
    let mut second = sync();
    let mut stderr = BufReader::new(second.stderr.take().unwrap()).lines();
    let expected = "sentbox: another sentbox is syncing already; waiting until it is done";
    assert_eq!(stderr.next().unwrap().unwrap(), expected);
    drop(open);
    for child in [first, second] {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(requested.try_iter().count(), 2, "the other two");
}

#[test]
fn second_backfill_waits_and_finds_nothing_left() {
    let (sender, receiver) = channel();
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    let service = Service::new(Hooked::before_page(sample_mailbox(450), move || {
        sender.send(()).unwrap();
        // Once the sender is dropped, all continue.
        let _ = gate.lock().unwrap().recv();
    }));
    // Whatever fails, the gate opens before the service is to end.
    let open: Sender<()> = open;
    let sentbox = Sentbox::at(&service);
    let walk = || sentbox.spawn("sync --back all --rate 1000");
    let first = walk();
    receiver.recv().unwrap();
    let mut second = walk();
    let mut stderr = BufReader::new(second.stderr.take().unwrap()).lines();
    let expected = "sentbox: another sentbox is syncing already; waiting until it is done";
    assert_eq!(stderr.next().unwrap().unwrap(), expected);
    assert_eq!(receiver.try_iter().count(), 0, "twice");
    drop(open);
    let report = String::from_utf8(first.wait_with_output().unwrap().stdout).unwrap();
    let expected = "450 emails new, 0 changed; everything the service has is here\n";
    assert_eq!(report, expected);
    let output = second.wait_with_output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let expected = "0 emails new, 0 changed; everything the service has is here\n";
    assert_eq!(report, expected);
    // Five pages of the first, and two of the second: what is new, and whether the end is still the
    // end.
    let requested = 1 + receiver.try_iter().count();
    assert!((6..=8).contains(&requested), "{requested}");
}
