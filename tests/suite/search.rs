//! Tests of `sentbox search`.

use insta::assert_snapshot;

use crate::cli::sample;
use crate::harness::process::Sentbox;
use crate::harness::service::KEY;

const MAILS: [&str; 3] = [
    r#"{"object":"email","id":"three","to":["Ana López <ana@example.com>"],"from":"Acme <hi@acme.example>","created_at":"2026-11-20T08:41:07Z","subject":"Your receipt, Ana","last_event":"delivered","html":"<p>A <b>zeph</b>yrine wind</p>","text":null,"tags":[{"name":"plan","value":"pro"}],"price":1.50}"#,
    r#"{"id":"two","to":["bo@example.org"],"from":"Acme <hi@acme.example>","created_at":"2026-11-19T08:00:00Z","subject":"=1+1 \"receipt\"","last_event":"bounced"}"#,
    r#"{"id":"one","to":["sato@example.net"],"from":"Acme <hi@acme.example>","created_at":"2026-11-18T08:00:00Z","subject":"ご注文の確認\u202e","last_event":"sent"}"#,
];

fn filled() -> Sentbox {
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", KEY);
    sentbox.import(&MAILS.join("\n"));
    sentbox
}

#[test]
fn search_prints_matches_and_scope() {
    let sentbox = filled();
    assert_snapshot!(sentbox.transcript("search lopez RECEI"), @r"
    2026-11-20T08:41:07.000000Z	delivered	ana@example.com	Your receipt, Ana	three
    stderr: sentbox: the service never confirmed some of the statuses; --fresh checks with the service
    stderr: sentbox: searched 3 emails, not confirmed to be complete; --back 30d fetches the last 30 days first; bodies and tags of 1 are known
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("search --sort oldest --limit 2 -q from:acme"), @r#"
    2026-11-18T08:00:00.000000Z	sent	sato@example.net	ご注文の確認�	one
    2026-11-19T08:00:00.000000Z	bounced	bo@example.org	=1+1 "receipt"	two
    exit code 0
    "#);
    assert_snapshot!(sentbox.transcript("search --columns id --limit 1 receipt"), @r"
    three
    stderr: sentbox: more emails match; --limit allows more
    stderr: sentbox: searched 3 emails, not confirmed to be complete; --back 30d fetches the last 30 days first; bodies and tags of 1 are known
    exit code 0
    ");
    let found = |line: &str| {
        sentbox
            .stdout(&format!("search --columns id {line}"))
            .lines()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (line, ids) in [
        ("body:zephyr", "three"),
        ("注文", "one"),
        ("tag:plan=pro", "three"),
        ("-- -receipt", "one"),
        ("not receipt", "one"),
        ("on:2026-11-19 or zephyrine", "three two"),
        ("sort:oldest receipt", "two three"),
        ("is:trouble domain:example.org", "two"),
        ("nowhere", ""),
    ] {
        assert_eq!(found(line), ids, "{line}");
    }
    assert_eq!(sentbox.stdout("search --count receipt"), "2\n");
    let expected = "{\"count\":2}\n";
    assert_eq!(sentbox.stdout("search --count --json receipt"), expected);
}

#[test]
fn json_is_verbatim_and_csv_is_safe() {
    let sentbox = filled();
    let json = sentbox.json("search --json --limit 1 receipt");
    assert_eq!(json["has_more"], true);
    assert_eq!(json["data"][0]["id"], "three");
    assert_eq!(json["data"].as_array().unwrap().len(), 1);
    // Numbers are verbatim.
    let json = sentbox.stdout("search --jsonl lopez");
    assert!(json.contains(r#""price":1.50"#), "{json}");
    assert!(!sentbox.stdout("search --jsonl 注文").contains('\u{202e}'));
    let nothing = sentbox.json("search --json nowhere");
    let expected = serde_json::json!({"object": "list", "data": [], "has_more": false});
    assert_eq!(nothing, expected);
    assert_snapshot!(sentbox.transcript("search -q --csv --columns id,to,subject,reply-to receipt"), @r#"
    id,to,subject,reply-to
    three,Ana López <ana@example.com>,"Your receipt, Ana",
    two,bo@example.org,"'=1+1 ""receipt""",
    exit code 0
    "#);
}

#[test]
fn tags_domain_and_reason_are_columns() {
    let sentbox = filled();
    assert_snapshot!(sentbox.transcript("search -q --columns id,domain,tags,reason from:acme"), @r"
    three	example.com	plan=pro	
    two	example.org		
    one	example.net		
    exit code 0
    ");
}

#[test]
fn reason_of_a_bounce_is_found_and_printed() {
    let sentbox = filled();
    let bounced = r#"{"object":"email","id":"four","to":["ana@example.com"],"created_at":"2026-11-17T08:00:00Z","subject":"x","last_event":"bounced","html":null,"text":"x","bounce":{"message":"The mailbox is full","type":"Transient","diagnosticCode":["smtp; 552 5.2.2"]}}"#;
    sentbox.import(bounced);
    assert_snapshot!(sentbox.transcript("search -q --columns id,reason reason:full"), @r"
    four	The mailbox is full
    exit code 0
    ");
    assert_snapshot!(sentbox.transcript("search -q --columns id -- has:reason -reason:552"), @"exit code 0");
    assert_snapshot!(sentbox.transcript("search --columns id -- -reason:full"), @r"
    three
    stderr: sentbox: searched 4 emails, not confirmed to be complete; --back 30d fetches the last 30 days first; bodies, tags and reasons of 2 are known
    exit code 0
    ");
}

#[test]
fn invalid_searches_fail_with_reason() {
    let sentbox = filled();
    assert_snapshot!(sentbox.transcript("search after:someday"), @r"
    stderr: sentbox: someday: expected a date such as 2026-11-02, 2 Nov, today, last-week, 09:30, 7d or 5min
    stderr:    hint: sentbox help query shows what a query may have
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("search"), @r"
    stderr: sentbox: the following required arguments were not provided: <QUERY>...
    stderr:    hint: usage: sentbox search <QUERY>...; see sentbox search --help
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("search -receipt"), @r"
    stderr: sentbox: unexpected argument '-r' found
    stderr:    hint: to exclude a word: `not word`, or `-word` after --
    exit code 2
    ");
    assert_snapshot!(sentbox.transcript("list your receipt"), @r"
    stderr: sentbox: list shows what the service has, which cannot search
    stderr:    hint: sentbox search your receipt looks in the archive
    exit code 2
    ");
    assert_eq!(sentbox.code("search --csv --json x"), Some(2));
    assert_eq!(Sentbox::new().code("search x"), Some(3));
}

#[test]
fn search_back_fetches_older_mail_first() {
    let sentbox = Sentbox::using(sample(250));
    assert_eq!(sentbox.stdout("search --count from:@"), "0\n");
    assert_snapshot!(sentbox.transcript("search --count --back all --rate 1000 from:@"), @r"
    250
    stderr: sentbox: searched 250 emails, which is everything the service has
    exit code 0
    ");
    let listed = sentbox
        .json_lines("list --all --rate 1000 --jsonl")
        .into_iter();
    let wanted = listed
        .filter(|email| email["last_event"] == "delivered")
        .count();
    let expected = format!("{wanted}\n");
    assert_eq!(sentbox.stdout("search --count status:delivered"), expected);
}

#[test]
fn deleted_mail_is_found_by_is_gone() {
    let sentbox = filled();
    assert_eq!(sentbox.stdout("search is:gone --count"), "0\n");
    // As when the service says that it does not have this email.
    let update =
        "UPDATE mail SET missing_since = 1779264000000000, listed = 0 WHERE last_event = 'bounced'";
    sentbox.archive().execute_batch(update).unwrap();
    let expected = "two\t2026-05-20T08:00:00.000000Z\n";
    assert_eq!(sentbox.stdout("search is:gone --columns id,gone"), expected);
    let stdout = sentbox.stdout("search --columns id,gone -- -is:gone");
    assert_eq!(stdout, "three\t\none\t\n");
    assert_eq!(sentbox.stdout("search is:gone is:trouble --count"), "1\n");
}

#[test]
fn impossible_values_are_rejected_with_the_nearest_name() {
    let sentbox = filled();
    assert_snapshot!(sentbox.transcript("search --count status:bouncd"), @r#"
    stderr: sentbox: bouncd: unknown status; did you mean bounced?
    stderr:    hint: if the service has a status of that name, put it in quotes: 'status:"bouncd"'
    exit code 2
    "#);
    for impossible in [
        "on:2026-02-30",
        "is:nonsense",
        "sort:largest",
        "status:,",
        "to:",
        "id:\"\"",
        "to: is:bounced",
    ] {
        let code = sentbox.code(&format!("search --count {impossible}"));
        assert_eq!(code, Some(2), "{impossible}");
    }
    let stdout = sentbox.stdout("search --count -q status:\"archived\"");
    assert_eq!(stdout, "0\n");
    assert_eq!(sentbox.stdout("search --count -q foo:bar"), "0\n", "a word");
    let other = r#"{"id":"four","to":["x@example.net"],"created_at":"2026-11-17T08:00:00Z","last_event":"archived"}"#;
    sentbox.import(other);
    assert_eq!(sentbox.stdout("search --count -q status:archived"), "1\n");
}

#[test]
fn archive_is_searched_without_a_key() {
    let sentbox = filled().with("SENTBOX_API_KEY", "");
    assert_snapshot!(sentbox.transcript("search --count receipt"), @r"
    2
    stderr: sentbox: there is no API key; this is the archive [HOME]/.local/share/sentbox/@environment/api.resend.com-9c925810/archive.sqlite
    stderr: sentbox: searched 3 emails, not confirmed to be complete; bodies and tags of 1 are known
    exit code 0
    ");
    assert!(sentbox.stdout("show three --offline").contains("zephyrine"));
    let other = r#"{"id":"four","created_at":"2026-11-17T08:00:00Z","last_event":"sent"}"#;
    sentbox.import(other);
    for needs_key in [
        "sync",
        "search --back 1d x",
        "search --fresh receipt",
        "list",
        "archive begin",
        "archive adopt",
    ] {
        assert_eq!(sentbox.code(needs_key), Some(3), "{needs_key}");
    }
}

#[test]
fn beginning_of_an_id_is_enough() {
    let sentbox = filled();
    let more = r#"{"id":"three-b","message_id":"<77@acme.example>","subject":"Second","created_at":"2026-11-17T08:00:00Z"}"#;
    sentbox.import(more);
    for (typed, subject) in [
        ("three-", "Second"),
        ("77@acme", "Second"),
        ("three", "Your receipt, Ana"),
    ] {
        let shown = sentbox.stdout(&format!("show --offline {typed}"));
        assert!(shown.contains(subject), "{typed}: {shown}");
    }
    assert_snapshot!(sentbox.transcript("show --offline thr"), @r"
    stderr: sentbox: several emails have an id that begins so
    stderr:    hint: sentbox search --columns id,to,subject id:thr lists them
    exit code 2
    ");
    assert_eq!(sentbox.code("show --offline x"), Some(4));
}

#[test]
fn exit_status_says_whether_something_matched() {
    let sentbox = filled();
    for (line, code) in [
        ("search --exit-status receipt", 0),
        ("search --exit-status nowhere", 1),
        ("search --exit-status --count nowhere", 1),
        ("search -q nowhere", 0),
    ] {
        assert_eq!(sentbox.code(line), Some(code), "{line}");
    }
}
