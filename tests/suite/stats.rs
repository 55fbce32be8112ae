//! Tests of `stats`: groups, rates, and what is said about reach and freshness.

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::fixed::Fixed;
use crate::harness::process::Sentbox;
use crate::harness::service::Service;

/// Final statuses, so that no time is printed.
const EMAILS: [&str; 4] = [
    r#"{"id":"4","to":["ana@example.com","bo@example.org"],"created_at":"2026-11-20T09:10:00Z","subject":"Receipt 17","last_event":"bounced","html":"x","text":null,"tags":[{"name":"plan","value":"pro"}]}"#,
    r#"{"id":"3","to":["ana@example.com"],"created_at":"2026-11-20T08:10:00Z","subject":"Receipt 4","last_event":"complained","html":"x","text":null,"tags":[]}"#,
    r#"{"id":"2","to":["bo@example.org"],"created_at":"2026-11-19T08:10:00Z","subject":"482913 is your code","last_event":"canceled"}"#,
    r#"{"id":"1","to":["=cmd@example.net"],"created_at":"whenever","subject":"Sale","last_event":"suppressed"}"#,
];

fn archive() -> Sentbox {
    let sentbox = Sentbox::using(Service::new(Fixed(EMAILS.to_vec())));
    // A listing with bodies would store none; an import does.
    sentbox.import(&EMAILS.join("\n"));
    sentbox.stdout("sync --back all");
    sentbox
}

#[test]
fn groups_have_counts_and_the_part_that_bounced() {
    let sentbox = archive();
    let stdout = |by: &str| sentbox.stdout(&format!("stats --by {by}"));
    assert_snapshot!(stdout("status"), @r"
    canceled	1	0	0	0	0	1	0.0000
    suppressed	1	0	0	1	0	0	1.0000
    bounced	1	0	0	1	0	0	1.0000
    complained	1	0	0	0	1	0	0.0000
    ");
    assert_snapshot!(stdout("day"), @r"
    2026-11-19	1	0	0	0	0	1	0.0000
    2026-11-20	2	0	0	1	1	0	0.5000
    ");
    assert_snapshot!(stdout("hour"), @r"
    2026-11-19T08:00	1	0	0	0	0	1	0.0000
    2026-11-20T08:00	1	0	0	0	1	0	0.0000
    2026-11-20T09:00	1	0	0	1	0	0	1.0000
    ");
    assert_snapshot!(stdout("domain"), @r"
    example.com	2	0	0	1	1	0	0.5000
    example.org	2	0	0	1	0	1	0.5000
    example.net	1	0	0	1	0	0	1.0000
    ");
    assert_snapshot!(stdout("subject"), @r"
    Receipt …	2	0	0	1	1	0	0.5000
    Sale	1	0	0	1	0	0	1.0000
    •••••• is your code	1	0	0	0	0	1	0.0000
    ");
    assert_snapshot!(stdout("tag"), @"plan=pro	1	0	0	1	0	0	1.0000");
    assert_snapshot!(sentbox.stdout("stats --by domain --csv --limit 2"), @r"
    domain,emails,delivered,in_progress,bounced,complained,other,bounced_ratio
    example.com,2,0,0,1,1,0,0.5000
    example.org,2,0,0,1,0,1,0.5000
    ");
    assert_snapshot!(sentbox.stdout("stats --by day --limit 1 to:ana"), @"2026-11-20	2	0	0	1	1	0	0.5000");
}

#[test]
fn stats_report_coverage_and_unknown_tags() {
    let sentbox = archive();
    let notes = sentbox.stderr("stats --by tag");
    // Without the time of the last request.
    let notes = notes.split(" at ").next().unwrap();
    assert_snapshot!(notes, @r"
    sentbox: 4 emails; bounce rate 50.00 % (1 of 2 handed over); complaint rate 100.00 % (1 of 1 delivered)
    sentbox: 2 emails in no group: tags never fetched (sync --bodies)
    sentbox: 1 email in no group: no such value
    sentbox: searched 4 emails, which is everything the service had
    ");
    let report = sentbox.json("stats --by tag --json");
    let numbers = ["emails", "ungrouped", "unknown", "left_out", "unconfirmed"];
    let expected = [4, 1, 2, 0, 0];
    assert_eq!(numbers.map(|name| report[name].as_u64().unwrap()), expected);
    assert_eq!(report["complete"], true);
    assert_eq!(report["bounce_rate"], 0.5);
    assert_eq!(report["as_of"], Value::Null);
    assert_snapshot!(sentbox.transcript("stats --by hour --csv --json"), @r#"
    stderr: {"error":{"kind":"usage","message":"--csv and JSON are two formats","hint":"leave one of them out"}}
    exit code 2
    "#);
}
