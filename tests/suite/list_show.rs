//! Tests of several emails in one run, and of columns: `list` and `show`.

use insta::assert_snapshot;
use sentbox::server::SourceError;
use serde_json::Value;

use crate::cli::{RECEIPT, sample, two_emails};
use crate::harness::fixed::{Fixed, Hooked};
use crate::harness::process::Sentbox;
use crate::harness::raw_server::RawServer;
use crate::harness::service::Service;
use crate::harness::text::TextChecks as _;

#[test]
fn several_emails_are_shown_in_one_run() {
    let sentbox = Sentbox::using(two_emails());
    let ids = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  nowhere  \n\n5b\n";
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("show --as text -", ids)), @r"
    Thanks. See your receipt.

    bell � and �31m
    stderr: sentbox: nowhere: no email in the archive has an id that begins so, and the service has none with this id
    stderr: sentbox: 1 of 3 emails is not shown
    exit code 4
    ");
    assert_snapshot!(sentbox.shown(&sentbox.run_with_input("show --json -", "\n")), @r#"
    stderr: {"note":"the input has no id: there is nothing to show"}
    exit code 0
    "#);
    let printed =
        sentbox.run_with_input("show --json 5b -", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n");
    let document: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let receipt: Value = serde_json::from_str(RECEIPT).unwrap();
    assert_eq!(document["data"][1], receipt);
    assert_eq!(document["has_more"], false);
    let lines = sentbox.stdout("show --jsonl 5b 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
    assert_eq!(lines.lines().count(), 2);
    assert_snapshot!(sentbox.transcript("show 5b --as text --json"), @r#"
    stderr: {"error":{"kind":"usage","message":"--json and --jsonl print the service's JSON, and no other form","hint":"leave out --as, or the other one"}}
    exit code 2
    "#);
    let eml = sentbox.stdout("show --as eml 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
    let message = mail_parser::MessageParser::default().parse(&eml).unwrap();
    assert_eq!(message.subject(), Some("Your receipt #4821"));
}

#[test]
fn ascii_replaces_symbols_and_keeps_letters() {
    let sentbox = Sentbox::using(Service::new(Fixed(vec![
        r#"{"object":"email","id":"1","to":["Ana López <ana@example.com>"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"482913 is your code","last_event":"delivered","html":"<p>Your code is 482913.</p><hr><ul><li><q>one</q></ul>","text":null}"#,
    ])));
    let shown = sentbox.stdout("--ascii show 1");
    shown.assert_starts("status     ok delivered: ");
    assert!(shown.contains("Ana López") && shown.contains("****** is your code"));
    assert!(shown.replace("ó", "o").is_ascii(), "{shown}");
    assert!(sentbox.stdout("--ascii list").is_ascii());
    let json = sentbox.stdout("--ascii show 1 --json");
    assert_eq!(json, sentbox.stdout("show 1 --json"));
}

#[test]
fn bounced_email_shows_reason_and_blocked_address() {
    let sentbox = Sentbox::using(Service::new(Fixed(vec![
        r#"{"object":"email","id":"1","to":["ana@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"x","last_event":"bounced","html":null,"text":"x","bounce":{"message":"The mailbox is full","type":"Transient","subType":"MailboxFull","diagnosticCode":["smtp; 552 5.2.2 full"]}}"#,
    ])));
    let shown = sentbox.stdout("show 1");
    let lines: Vec<&str> = shown.lines().collect();
    lines[0].assert_starts("status     ✕ bounced: The mailbox is full; as of");
    let expected = "bounce     Transient, MailboxFull; smtp; 552 5.2.2 full";
    assert_eq!(lines[1], expected);
    assert_eq!(shown.matches("mailbox is full").count(), 1, "{shown}");
    assert!(!shown.contains("blocked"), "the service does not say it");

    let sentbox = Sentbox::using(Service::new(Fixed(vec![
        r#"{"object":"email","id":"1","to":["ana@example.com"],"cc":["bo@example.com"],"bcc":["ANA@example.com","cy@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"x","last_event":"bounced","html":null,"text":"x"}"#,
    ])));
    let status = "✕ bounced: one of 3 recipients, not known which; their server rejected it; as of";
    let stdout = sentbox.stdout("show 1");
    stdout.assert_starts(&format!("status     {status}"));

    let sentbox = Sentbox::using(sample(1000));
    let emails = sentbox.stdout("list --all --columns status,id,to");
    let bounced = emails.lines().find(|line| line.starts_with("bounced\t"));
    let fields: Vec<&str> = bounced.unwrap().split('\t').collect();
    let address = fields[2].split(',').next().unwrap();
    let shown = sentbox.stdout(&format!("show {}", fields[1]));
    let line = shown.lines().find(|line| line.starts_with("blocked"));
    line.unwrap().assert_contains(&format!("{address} since "));
}

#[test]
fn list_prints_columns_and_the_next_command() {
    let sentbox = Sentbox::using(sample(30));
    let page = sentbox.json("list --json --limit 2");
    let emails = page["data"].as_array().unwrap();
    let field = |email: &Value, name: &str| email[name].as_str().unwrap().to_owned();
    let line = |email| format!("{}\t{}\n", field(email, "last_event"), field(email, "id"));
    let expected: String = emails.iter().map(line).collect();
    let printed = sentbox.run("list --columns status,id --limit 2");
    assert_eq!(String::from_utf8_lossy(&printed.stdout), expected);
    let next = format!(
        "sentbox: there is more: sentbox list --after {} --limit 2 --columns status,id\n",
        field(&emails[1], "id")
    );
    assert_eq!(String::from_utf8_lossy(&printed.stderr), next);
    let stdout = sentbox.stdout("list --csv");
    stdout.assert_starts("created,status,to,subject,id\n");
    for line in [
        "list --after not-an-id",
        "list --before not-an-id",
        "show not-an-id",
    ] {
        assert_eq!(sentbox.code(line), Some(4), "{line}");
    }
    assert_snapshot!(sentbox.transcript("list --columns id,tags"), @r"
    stderr: sentbox: the service does not list the column tags
    stderr:    hint: sentbox search has it, for what the archive knows
    exit code 2
    ");
}

#[test]
fn next_page_command_repeats_the_flags() {
    let service = sample(50);
    let sentbox = Sentbox::at(&service);
    let list = |line: &str| {
        let output = sentbox.run(line);
        let ids = String::from_utf8(output.stdout).unwrap();
        let ids: Vec<String> = ids.lines().map(str::to_owned).collect();
        (ids, String::from_utf8(output.stderr).unwrap())
    };
    let (ids, note) = list("list --archive mail.sqlite --columns id --limit 10");
    let last = ids.last().unwrap();
    let expected = format!(
        "sentbox: there is more: sentbox --archive mail.sqlite list --after {last} --limit 10 --columns id\n"
    );
    assert_eq!(note, expected);
    let (newer, note) = list(&format!("list --columns id --limit 2 --before {last}"));
    assert_eq!(newer, ids[7..9]);
    let first = &newer[0];
    let next = format!("sentbox list --before {first} --limit 2 --columns id");
    assert_eq!(note, format!("sentbox: there is more: {next}\n"));
    let (_, note) = list(&format!("list --columns id --limit 20 --before {last}"));
    assert_eq!(note, "");
    let url = service.base();
    let (ids, note) = list(&format!(
        "list --base-url {url} --jsonl --jq .id --limit 2 --in-memory"
    ));
    let next = format!(
        "sentbox --base-url {url} --in-memory list --after {} --limit 2 --jsonl --jq .id",
        ids[1]
    );
    assert_eq!(note, format!("{{\"note\":\"there is more: {next}\"}}\n"));
}

#[test]
fn show_json_prints_deleted_email_without_body() {
    let listed = r#"{"id":"49a3999c","to":["ana@example.com"],"from":"a@example.com","created_at":"2026-11-20T07:00:00Z","subject":"Your receipt","last_event":"delivered"}"#;
    let sentbox = Sentbox::using(Service::new(Hooked::with_email(
        Fixed(vec![listed]),
        |_, _| Err(SourceError::Unknown),
    )));
    sentbox.stdout("sync");
    let output = sentbox.run("show --json 49a3999c");
    let copy: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(copy["subject"], "Your receipt");
    assert!(copy["_sentbox"]["checked_at"].is_string(), "{copy}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the service has no such email"), "{stderr}");
    assert!(stderr.contains("the body was never fetched"), "{stderr}");
    assert_snapshot!(sentbox.transcript("show --as html 49a3999c"), @r"
    stderr: sentbox: the service has no such email, and its body was never fetched
    stderr:    hint: what was listed of it is kept here: leave out --as to print that
    exit code 4
    ");
}

#[test]
fn status_from_mirror_has_the_mirrors_time() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-sentbox-mirror: 1\r\n\
                  x-sentbox-checked-at: 2026-11-20T08:00:00Z\r\nconnection: close\r\n\r\n\
                  {\"object\":\"email\",\"id\":\"5b\",\"to\":[\"x@example.com\"],\"from\":\"a@example.com\",\
                  \"created_at\":\"2026-11-20T07:00:00Z\",\"last_event\":\"sent\",\"html\":null,\"text\":\"Hello\"}";
    let base = RawServer::start([answer]).base;
    let sentbox = Sentbox::at_address("re_canary_of_a_mirror", &base);
    let output = sentbox.run("show 5b");
    let shown = String::from_utf8(output.stdout).unwrap();
    shown.assert_contains("; as of Fri 20 Nov 2026 08:00:00 UTC\n");
    let notes = String::from_utf8(output.stderr).unwrap();
    notes.assert_starts("sentbox: status as of 20 Nov");
    let copy = sentbox.json("show 5b --offline --json");
    let expected = "2026-11-20T08:00:00.000000Z";
    assert_eq!(copy["_sentbox"]["checked_at"], expected);
}

#[test]
fn unknown_id_names_archive_and_search() {
    let sentbox = Sentbox::using(sample(3));
    sentbox.stdout("sync --quiet");
    assert_snapshot!(sentbox.transcript("show 99999999"), @r#"
    stderr: sentbox: no email in the archive has an id that begins so, and to the service it is an invalid email id: "The `id` must be a valid UUID"
    stderr:    hint: sentbox search --columns id,to,subject QUERY lists ids
    exit code 4
    "#);
    assert_snapshot!(sentbox.transcript("show ana@example.org"), @r#"
    stderr: sentbox: no email in the archive has a message id that begins so, and to the service it is an invalid email id: "The `id` must be a valid UUID"
    stderr:    hint: sentbox sync --back all fetches all mail; of an address: sentbox search to:ana@example.org
    exit code 4
    "#);
    let attachment = sentbox.stderr("attachment 99999999");
    attachment.assert_starts("sentbox: no email in the archive has an id that begins so, ");
}
