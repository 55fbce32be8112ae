//! Tests of the age of statuses: `show`, `sync --recheck` and `search --fresh`.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use sentbox::config::clock;
use serde_json::Value;

use crate::harness::live::{Live, id};
use crate::harness::process::Sentbox;
use crate::harness::service::Service;
use crate::harness::text::TextChecks as _;

/// Returns a service and a synced archive.
fn mirrored(count: usize) -> (Live, Sentbox) {
    mirror(Live::new(count))
}

fn mirror(live: Live) -> (Live, Sentbox) {
    let sentbox = Sentbox::synced(Service::new(live.clone()));
    live.requests();
    (live, sentbox)
}

/// Makes all confirmation times in the archive older by `span`.
fn age(sentbox: &Sentbox, span: SignedDuration) {
    let micros = span.as_micros();
    let update = format!(
        "UPDATE confirmed_run SET requested_at = requested_at - {micros}, response_seq = response_seq - {micros};
         UPDATE mail SET confirmed_at = confirmed_at - {micros} WHERE confirmed_at IS NOT NULL;
         UPDATE listing SET head_requested_at = head_requested_at - {micros};"
    );
    sentbox.archive().execute_batch(&update).unwrap();
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);

#[test]
fn recheck_all_finds_every_change_and_deletion() {
    let (live, sentbox) = mirrored(350);
    live.change(100..350, "bounced");
    live.delete(200);
    let report = sentbox.json("sync --back all --recheck all --rate 1000 --json");
    let recheck = &report["recheck"];
    assert_eq!(report["changes"], 249, "{report}");
    assert_eq!(recheck["gone"], 1, "{report}");
    assert_eq!(recheck["left"], 0, "{report}");
    assert!(live.requests().0 <= 8);
    assert_eq!(sentbox.stdout("search --count status:bounced"), "249\n");
    let gone = sentbox.stdout("search --columns id is:gone");
    assert_eq!(gone.trim(), id(200));
}

#[test]
fn recheck_counts_what_it_read() {
    let (live, sentbox) = mirrored(350);
    live.change(100..350, "bounced");
    live.delete(200);
    // The walk confirms the newest hundred and the very last.
    assert_snapshot!(sentbox.transcript("sync --back all --recheck all --rate 1000"), @r"
    0 emails new, 249 changed; re-read 249 statuses, 248 changed, 1 gone; everything the service has is here
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("sync --back 1h --recheck all --rate 1000 --json"), @r#"
    {"new":0,"changes":0,"pages":4,"purged":0,"expired":0,"recheck":{"statuses":249,"changes":0,"gone":0,"left":0},"complete":true,"since":null}
    exit code 0
    "#);
}

#[test]
fn recheck_of_a_span_leaves_older_mail_alone() {
    let (live, sentbox) = mirrored(350);
    live.change(0..350, "delivered");
    sentbox.stdout("sync --back 1h --recheck 2h --rate 1000");
    let found: u64 = sentbox
        .stdout("search --count status:delivered")
        .trim()
        .parse()
        .unwrap();
    assert!((120..350).contains(&found), "{found}");
    assert_snapshot!(sentbox.transcript("sync --recheck 2"), @r"
    stderr: sentbox: invalid value '2' for '--recheck <SPAN>': expected all, off, or a number of hours, days or weeks such as 12h, 30d, 8w
    stderr:    hint: see sentbox sync --help
    exit code 2
    ");
}

#[test]
fn sync_reads_due_statuses_by_default() {
    let (live, sentbox) = mirrored(350);
    live.change(100..350, "bounced");
    sentbox.stdout("sync --back 1h --rate 1000");
    assert_eq!(live.requests(), (1, 0), "nothing is due yet");
    age(&sentbox, HOUR * 6);
    sentbox.stdout("sync --back 1h --rate 1000 --recheck off");
    assert_eq!(live.requests(), (1, 0));
    let transcript = sentbox.transcript("sync --back 1h --rate 1000");
    transcript.assert_contains(
        "0 emails new, 250 changed; re-read 250 statuses, 250 changed, 0 gone; everything",
    );
    assert_eq!(sentbox.stdout("search --count status:bounced"), "250\n");
}

#[test]
fn fresh_search_confirms_before_it_counts() {
    let (live, sentbox) = mirrored(350);
    live.change(100..350, "bounced");
    assert_eq!(sentbox.stdout("search --count status:bounced"), "0\n");
    assert_snapshot!(sentbox.transcript("search --fresh --count status:bounced --rate 1000"), @r"
    250
    stderr: sentbox: searched 350 emails, which is everything the service has
    exit code 0
    ");
    let (pages, singles) = live.requests();
    assert!(pages <= 5 && singles == 0, "{pages} {singles}");
    sentbox.stdout("search --fresh status:bounced --rate 1000");
    // What bounced is final, and the newest page has the others.
    assert_eq!(live.requests(), (1, 0));
}

#[test]
fn fresh_search_reports_where_its_limit_stopped_it() {
    let (live, sentbox) = mirrored(850);
    live.change(100..850, "bounced");
    let transcript = sentbox
        .transcript("search --fresh --max-requests 2 --count status:bounced --rate 1000 --utc");
    transcript.assert_starts("200\nstderr: sentbox: confirming 750 statuses first, with about 8 requests; --max-requests 2 allows the newest of them\n");
    transcript.assert_contains("stderr: sentbox: statuses checked back to ");
    transcript.assert_contains("; 550 older ones not checked; --max-requests 8 checks them\n");
    transcript.assert_lacks("or later");
    assert_snapshot!(sentbox.transcript("search --fresh --max-requests 0 status:bounced"), @r"
    stderr: sentbox: invalid value '0' for '--max-requests <N>': expected a whole number, 1 or more
    stderr:    hint: see sentbox search --help
    exit code 2
    ");
    let code = sentbox.code("search --max-requests 5 status:bounced");
    assert_eq!(code, Some(2));
}

#[test]
fn oldest_first_service_needs_a_request_each() {
    let live = Live::new(150);
    live.reverse();
    let (_live, sentbox) = mirror(live);
    let transcript =
        sentbox.transcript("search --fresh --max-requests 2 --count status:bounced --rate 1000");
    transcript.assert_contains("confirming 51 statuses first, with about 51 requests;");
    transcript.assert_contains("; 49 older ones not checked; --max-requests 56 checks them\n");
}

#[test]
fn old_mail_left_out_is_not_called_unlisted() {
    let (_live, sentbox) = mirrored(3);
    sentbox.import(r#"{"id":"old","to":["x@example.net"],"created_at":"2020-11-17T08:00:00Z","last_event":"delivered"}"#);
    let transcript = sentbox.transcript("search --fresh --count status:bounced --rate 1000");
    transcript.assert_contains("delivered mail older than 30 days was not checked");
    transcript.assert_lacks("did not list");
}

#[test]
fn fresh_search_confirms_no_more_than_it_prints() {
    let (live, sentbox) = mirrored(850);
    sentbox.stdout("search --fresh --limit 3 mail --rate 1000");
    assert_eq!(live.requests(), (1, 0));
    sentbox.stdout("search --fresh --count mail --rate 1000");
    assert_eq!(live.requests(), (1, 0), "no status is printed");
    let transcript =
        sentbox.transcript("search --fresh --limit 250 --max-requests 1 to:example --rate 1000");
    transcript.assert_contains(
        "stderr: sentbox: 100 of 150 statuses checked; --max-requests allows more\n",
    );
    live.requests();
    live.change([700], "bounced");
    let found = sentbox.stdout("search --fresh --columns status to:c700@ --rate 1000");
    assert_eq!((found.as_str(), live.requests()), ("bounced\n", (1, 1)));
}

#[test]
fn search_says_how_old_statuses_of_gone_mail_are() {
    let (live, sentbox) = mirrored(3);
    live.change(0..3, "delivered");
    sentbox.stdout("sync --recheck all --rate 1000");
    live.delete(1);
    let notes = sentbox.stderr("search --fresh mail --rate 1000");
    notes.assert_contains("the service no longer has 1 of these emails; their statuses as of ");
    let notes = sentbox.stderr("search --fresh to:c2@ --rate 1000");
    notes.assert_lacks("no longer has");
}

#[test]
fn fresh_search_fails_without_the_service() {
    let (live, sentbox) = mirrored(3);
    live.fail(true);
    let output = sentbox.run("search --fresh mail --rate 1000");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(5), 0));
}

#[test]
fn old_statuses_are_reported_with_their_time() {
    let (_live, sentbox) = mirrored(350);
    age(&sentbox, HOUR * 24 * 400);
    let transcript = sentbox.stderr("search --count status:bounced");
    transcript.assert_contains("sentbox: statuses as of ");
    transcript.assert_contains(" or later; --fresh checks with the service\n");
    transcript
        .assert_contains("sentbox: searched 350 emails, which is everything the service had at ");
    let transcript = sentbox.stderr("search --count to:example");
    transcript.assert_lacks("or later");
    transcript.assert_contains("the service had at ");
    let transcript = sentbox.stderr("search --count to:example --back 1h --rate 1000");
    transcript.assert_contains("which is everything the service has\n");
    let transcript = sentbox.stderr("search --count status:bounced --back 1h --rate 1000");
    // The older ones were not requested.
    transcript.assert_contains(" or later; --fresh checks with the service\n");
    let notes = sentbox.stderr("stats status:bounced");
    notes.assert_contains("sentbox: statuses as of ");
    notes.assert_contains(" or later; sentbox sync --recheck all updates them\n");
    for (query, span) in [
        ("after:2h", "4h"),
        ("after:7d", "8d"),
        ("after:7d or is:bounced", "all"),
    ] {
        let notes = sentbox.stderr(&format!("stats {query}"));
        notes.assert_contains(&format!("sentbox sync --recheck {span} updates them\n"));
    }
    let document = sentbox.json("stats status:bounced --json");
    assert!(document["as_of"].is_string(), "{document}");
    let notes = sentbox.stderr("search absent");
    notes.assert_contains("sentbox: nothing matches\n");
    notes.assert_contains("sentbox: the service's list goes back to ");
    let quiet = sentbox.stderr("search --count status:bounced --quiet");
    assert_eq!(quiet, "");
}

#[test]
fn search_json_has_confirmation_times() {
    let (_live, sentbox) = mirrored(2);
    let found = sentbox.json("search --json mail");
    let email = found["data"][0].as_object().unwrap();
    let at: Timestamp = email["_sentbox"]["checked_at"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(clock::now().duration_since(at).abs() < SignedDuration::from_mins(10));
    let lines = sentbox.stdout("search --jsonl mail");
    for line in lines.lines() {
        line.assert_contains(r#","_sentbox":{"checked_at":""#);
        line.assert_ends("\"}}");
    }
    assert!(!sentbox.stdout("list --json").contains("_sentbox"));
    let checked = sentbox.stdout("search --columns checked --limit 1 mail");
    assert_eq!(email["_sentbox"]["checked_at"], checked.trim());

    let other = Sentbox::new().with("SENTBOX_API_KEY", "re_canary_other");
    other.import(&lines);
    let again = other.stdout("search --jsonl mail");
    assert_eq!(again.matches("_sentbox").count(), 2);
    for line in again.lines() {
        line.assert_ends(r#","_sentbox":{"checked_at":null}}"#);
    }
    let first = |text: &str| text.split(r#","_sentbox""#).next().unwrap().to_owned();
    assert_eq!(first(&again), first(&lines));
    let stderr = other.stderr("search --count is:trouble");
    stderr.assert_contains("the service never confirmed some of the statuses; --fresh");
}

#[test]
fn show_requests_email_each_time() {
    let (live, sentbox) = mirrored(350);
    let show = format!("show {}", id(300));
    assert!(sentbox.stdout(&show).contains("→ sent: "));
    live.change([300], "bounced");
    let transcript = sentbox.transcript(&show);
    transcript.assert_starts("status     ✕ bounced: their server rejected it; as of [TIME]\n");
    transcript.assert_lacks("stderr");
    assert_eq!(live.requests(), (0, 2));
    let bounced = sentbox.stdout("search --columns id status:bounced");
    assert_eq!(bounced.trim(), id(300));
    let offline = sentbox.stdout(&format!("{show} --offline --json"));
    assert_eq!(live.requests(), (0, 0));
    let copy: Value = serde_json::from_str(&offline).unwrap();
    assert!(copy["_sentbox"]["checked_at"].is_string(), "{offline}");
    offline.assert_ends("\"}}\n");
    assert_eq!(copy["last_event"], "bounced");
    assert_eq!(copy["text"], "Hello");
    let stdout = sentbox.stdout(&format!("{show} --json"));
    stdout.assert_lacks("_sentbox");
}

#[test]
fn stored_copy_gets_status_from_list() {
    let (live, sentbox) = mirrored(3);
    let show = format!("show {}", id(1));
    sentbox.stdout(&show);
    live.change([1], "delivered");
    sentbox.stdout("sync --rate 1000");
    let copy = sentbox.json(&format!("{show} --offline --json"));
    assert_eq!(copy["last_event"], "delivered");
    assert_eq!(copy["text"], "Hello");
}

#[test]
fn show_without_answer_prints_copy_and_age() {
    let (live, mut sentbox) = mirrored(3);
    let [show, listed] = [1, 2].map(|number| format!("show {} --utc", id(number)));
    let online = sentbox.stdout(&show);
    live.fail(true);
    let output = sentbox.run(&show);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), online);
    for form in ["", " --as text"] {
        let stderr = sentbox.stderr(&format!("{show}{form}"));
        // The copy is fresh, and the service fails.
        stderr.assert_contains("; this is the copy kept here, as of ");
    }
    age(&sentbox, HOUR * 24 * 400);
    let transcript = sentbox.transcript(&show);
    transcript.assert_contains("stderr: sentbox: ");
    transcript.assert_contains("; status as of ");
    transcript.assert_ends("exit code 0");
    assert_eq!(sentbox.code(&format!("{show} --fresh")), Some(5));
    sentbox.stop_service();
    let transcript = sentbox.transcript(&show);
    transcript.assert_contains("stderr: sentbox: connection refused by [SERVICE]; status as of ");
    transcript.assert_ends("exit code 0");
    let copy = sentbox.stdout(&format!("{show} --json"));
    copy.assert_contains("_sentbox");
    let transcript = sentbox.transcript(&listed);
    transcript.assert_contains("\n\nthe body was never fetched\nstderr: ");
    transcript.assert_ends("exit code 0");
    let code = sentbox.code(&format!("{listed} --json"));
    assert_eq!(code, Some(5), "a program is not given half an email");
    let stderr = sentbox.stderr(&format!("{listed} --json"));
    stderr.assert_contains("--offline prints what was listed of it, without the body");
    let transcript = sentbox.transcript(&format!("{listed} --offline"));
    transcript.assert_contains("; leave out --offline to request it\n");
    transcript.assert_ends("exit code 0");
    let copy = sentbox.json(&format!("{listed} --offline --json"));
    assert_eq!(copy["subject"], "Mail 2");
    assert_eq!(copy.get("text"), None);
    let transcript = sentbox.transcript(&format!("{listed} --offline --as text"));
    transcript.assert_contains("stderr: sentbox: the body of this email was never fetched\n");
    transcript.assert_ends("exit code 1");
}

#[test]
fn show_of_deleted_email_prints_copy_and_note() {
    let (live, sentbox) = mirrored(3);
    let show = format!("show {}", id(1));
    sentbox.stdout(&show);
    live.delete(1);
    let transcript = sentbox.transcript(&show);
    transcript.assert_contains("\ngone       the service has no such email; kept here\n");
    transcript.assert_contains("\nHello\n");
    transcript.assert_contains(
        "stderr: sentbox: the service has no such email; this is the copy kept here, as of ",
    );
    transcript.assert_ends("exit code 0");
    assert_eq!(sentbox.code(&format!("{show} --fresh")), Some(4));
    assert_eq!(sentbox.code(&format!("show {}", id(77))), Some(4));
    let rejected = sentbox.with("SENTBOX_API_KEY", "re_other");
    assert_eq!(rejected.code(&show), Some(3));
}

#[test]
fn archive_info_counts_due_statuses() {
    let (_live, sentbox) = mirrored(350);
    assert_eq!(sentbox.json("archive info --json")["statuses"]["due"], 0);
    let stdout = sentbox.stdout("archive info");
    stdout.assert_contains("statuses none due to be confirmed\n");
    age(&sentbox, HOUR * 6);
    let statuses = &sentbox.json("archive info --json")["statuses"];
    assert_eq!(statuses["due"], 350);
    assert!(statuses["lateness"].as_f64().unwrap() > 3.0, "{statuses}");
    let stdout = sentbox.stdout("archive info");
    stdout.assert_contains("statuses 350 due, the oldest ");
}

#[test]
fn full_last_page_causes_one_more_request() {
    let live = Live::new(200);
    let sentbox = Sentbox::using(Service::new(live.clone()));
    let lines = sentbox.stdout("list --all --jsonl --rate 1000");
    assert_eq!((lines.lines().count(), live.requests().0), (200, 3));
    sentbox.stdout("list --limit 100 --jsonl --rate 1000");
    assert_eq!(live.requests().0, 1, "what was asked for is there");
}

#[test]
fn empty_archive_file_is_reported_once() {
    let (_live, sentbox) = mirrored(3);
    let path = sentbox.archive_path();
    for line in [
        "sync --rate 1000",
        "search receipt",
        "doctor --quick",
        "archive info",
    ] {
        for ending in ["-wal", "-shm"] {
            _ = std::fs::remove_file(format!("{}{ending}", path.display()));
        }
        std::fs::write(&path, "").unwrap();
        let (first, second) = (sentbox.transcript(line), sentbox.transcript(line));
        assert!(
            first.contains("was empty; an archive without mail was made in it"),
            "{line}: {first}"
        );
        assert!(!second.contains("was empty"), "{line}: {second}");
    }
}
