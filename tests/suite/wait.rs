//! Tests of `wait` and `watch` as a script uses them:
//! what they print, and how they end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use insta::assert_snapshot;
use rustix::process::Signal;
use sentbox::server::{EmailSource as _, SourceError};
use serde_json::Value;

use crate::harness::fixed::{Fixed, Hooked};
use crate::harness::live::Live;
use crate::harness::process::Sentbox;
use crate::harness::service::Service;
use crate::harness::serving::signal;

const EMAILS: [&str; 3] = [
    r#"{"id":"3","to":["code@example.com"],"created_at":"2026-11-20T09:10:00Z","subject":"Sign in","last_event":"delivered","html":"<p>Your code is <b>482 913</b>.</p><a href='mailto:help@example.com'>Help</a> <a href='https://example.com/in?a=1&amp;b=2'>Sign in</a> <a href='https://example.org/'>Other</a>","text":null}"#,
    r#"{"id":"2","to":["bare@example.com"],"created_at":"2026-11-20T08:10:00Z","subject":"Hello","last_event":"opened","html":null,"text":"Nothing here"}"#,
    r#"{"id":"1","to":["lost@example.com"],"created_at":"2026-11-19T08:10:00Z","subject":"Hello","last_event":"bounced","html":null,"text":"x"}"#,
];

fn mailbox() -> Sentbox {
    // The new archive is noted once.
    Sentbox::synced(Service::new(Fixed(EMAILS.to_vec())))
}

#[test]
fn wait_prints_email_link_or_code() {
    let sentbox = mailbox();
    assert_snapshot!(sentbox.transcript("wait to:code --until delivered"), @r"
    2026-11-20T09:10:00.000000Z	delivered	code@example.com	Sign in	3
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("wait to:bare --until delivered"), @r"
    2026-11-20T08:10:00.000000Z	opened	bare@example.com	Hello	2
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("wait to:code --link"), @r"
    https://example.com/in?a=1&b=2
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("wait to:code --code"), @r"
    482913
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("wait to:code --code --json"), @r#"
    {"id":"3","code":"482913"}
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("wait to:bare --code"), @r"
    stderr: sentbox: the email has no one-time code
    stderr:    hint: sentbox show 2 prints it
    exit code 1
    ");
    let email = sentbox.json("wait to:code --json");
    assert_eq!(email["id"], "3");
}

#[test]
fn listed_email_without_a_body_is_retried() {
    let was_requested = AtomicBool::default();
    let emails = Fixed(EMAILS.to_vec());
    let service = Service::new(Hooked::with_email(emails, move |emails, id| {
        if was_requested.swap(true, Ordering::Relaxed) {
            emails.email(id)
        } else {
            Err(SourceError::Unknown)
        }
    }));
    let output = Sentbox::at(&service).stdout("wait to:code --code");
    assert_eq!(output, "482913\n");
}

#[test]
fn wait_names_age_that_makes_status_final() {
    let sentbox = Sentbox::synced(Service::new(Fixed(vec![
        r#"{"id":"0","to":["old@example.com"],"created_at":"2025-11-19T08:10:00Z","subject":"Hello","last_event":"delivered","html":null,"text":"x"}"#,
    ])));
    assert_snapshot!(sentbox.transcript("wait to:old --until opened"), @r"
    stderr: sentbox: the email's status is delivered, which counts as final: the email is older than 30 days
    stderr:    hint: sentbox show 0 prints it
    exit code 1
    ");
}

#[test]
fn wait_exits_1_when_impossible_7_on_timeout() {
    let sentbox = mailbox();
    assert_snapshot!(sentbox.transcript("wait to:lost --until delivered"), @r"
    stderr: sentbox: the email's status is bounced, so it cannot become delivered any more
    stderr:    hint: sentbox show 1 prints it
    exit code 1
    ");
    // A status of a month ago counts as final.
    let live = Live::new(1);
    live.change([0], "delivered");
    let recent = Sentbox::synced(Service::new(live));
    assert_snapshot!(recent.transcript("wait to:c0 --until clicked --timeout 0s"), @r"
    stderr: sentbox: not within 0 s: the newest match is delivered
    stderr:    hint: --timeout allows more
    exit code 7
    ");
    assert_snapshot!(sentbox.transcript("wait to:absent --timeout 0s --json"), @r#"
    stderr: {"error":{"kind":"timed_out","message":"not within 0 s: no email matches; everything the service has is here","hint":"--timeout allows more"}}
    exit code 7
    "#);
    assert_snapshot!(sentbox.transcript("wait"), @r"
    stderr: sentbox: the following required arguments were not provided: <QUERY>...
    stderr:    hint: usage: sentbox wait <QUERY>...; see sentbox wait --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("wait to:code --until delivrd"), @r"
    stderr: sentbox: invalid value 'delivrd' for '--until <STATUS>': did you mean delivered?
    stderr:    hint: see sentbox wait --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("wait is:sent --until delivered"), @r"
    stderr: sentbox: the query excludes the emails that --until delivered waits for
    stderr:    hint: take the status out of the query
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("wait to:code --timeout 2"), @r"
    stderr: sentbox: invalid value '2' for '--timeout <TIME>': expected a number of seconds, minutes or hours, such as 90s, 2m, 1h
    stderr:    hint: see sentbox wait --help
    exit code 2
    ");
    assert_eq!(Sentbox::new().code("wait to:code"), Some(3));
}

#[test]
fn interrupted_watch_ends_with_130() {
    let (sender, requests) = channel();
    let report = move || sender.send(()).unwrap_or_default();
    let sentbox = Sentbox::using(Service::new(Hooked::before_page(
        Fixed(EMAILS.to_vec()),
        report,
    )));
    let child = sentbox.spawn("watch to:nobody");
    requests.recv().unwrap();
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0));
}

#[test]
fn quiet_sync_prints_nothing_unless_it_fails() {
    let sentbox = Sentbox::using(Service::new(Fixed(EMAILS.to_vec())));
    assert_snapshot!(sentbox.transcript("sync --quiet"), @"exit code 0");
    let stranger = sentbox.with("SENTBOX_API_KEY", "re_canary_stranger");
    assert_snapshot!(stranger.transcript("sync --quiet"), @r#"
    stderr: sentbox: [SERVICE] does not accept the API key: "API key is invalid"
    stderr:    hint: check the key, and whether it belongs to this service; sentbox doctor names where it comes from
    exit code 3
    "#);
}

#[test]
fn dry_run_says_what_sync_would_fetch() {
    let sentbox = Sentbox::using(Service::new(Fixed(EMAILS.to_vec())));
    assert_snapshot!(sentbox.transcript("sync --dry-run --back all --bodies"), @r"
    new mail
    older mail: all that the service has
    0 statuses to read again
    bodies: 0, and those of new mail
    requests: one for each 100 emails
    exit code 0
    ");
    let report = sentbox.json("sync --dry-run --back all --json");
    assert_eq!(report["older"], true);
    assert_eq!(report["refreshed"], Value::Null);
    assert_eq!(std::fs::read_dir(sentbox.home()).unwrap().count(), 0);
    sentbox.run("sync --back all");
    let report = sentbox.json("sync --dry-run --back all --recheck all --json");
    assert_eq!(report["older"], false);
    assert_eq!(report["statuses"], 3);
    assert_eq!(report["requests"], 1);
}
