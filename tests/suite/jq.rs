//! Tests of `--jq`: every command that prints JSON, and expressions that are wrong.

use insta::assert_snapshot;

use crate::harness::fixed::Fixed;
use crate::harness::process::{Sentbox, json_lines};
use crate::harness::service::Service;

const EMAILS: [&str; 2] = [
    r#"{"id":"2","to":["ana@example.com"],"created_at":"2026-11-20T08:10:00Z","subject":"Tab\tand \u001b[31m","last_event":"opened","html":null,"text":"Nothing","price":1.50}"#,
    r#"{"id":"1","to":["lost@example.com"],"created_at":"2026-11-19T08:10:00Z","subject":"Hello","last_event":"bounced","html":null,"text":"x"}"#,
];

fn mailbox() -> Sentbox {
    Sentbox::synced(Service::new(Fixed(EMAILS.to_vec())))
}

#[test]
fn every_json_output_goes_through_the_expression() {
    let sentbox = mailbox();
    for (line, expected) in [
        ("list --jq .data[].id", "2\n1\n"),
        (
            "list --limit 1 --jq [.has_more,(.data|length)]",
            "[true,1]\n",
        ),
        (
            "list --jsonl --jq .to[0]",
            "ana@example.com\nlost@example.com\n",
        ),
        ("search is:bounced --jq .data[].subject", "Hello\n"),
        ("search --count is:bounced --json --jq .count", "1\n"),
        ("search absent --jq .data[].id", ""),
        ("show 2 --jq .price", "1.50\n"),
        (
            "show 2 1 --jq .data|map(.last_event)|join(\"+\")",
            "opened+bounced\n",
        ),
        ("show 2 1 --jsonl --jq select(.id==\"1\").text", "x\n"),
        ("stats --jq .groups[].emails", "1\n1\n"),
        ("wait to:ana --jq .last_event", "opened\n"),
        ("sync --jq .new", "0\n"),
        ("sync --dry-run --jq [.older,.until]", "[false,null]\n"),
        ("archive info --jq .emails", "2\n"),
        ("export --to - --as jsonl --jq .id", "2\n1\n"),
        ("export --to - --as json --jq .data[0].id", "2\n"),
        ("config path --jq .path|endswith(\"config.toml\")", "true\n"),
    ] {
        assert_eq!(sentbox.stdout(line), expected, "{line}");
    }
}

#[test]
fn strings_have_no_controls_and_objects_are_escaped() {
    let sentbox = mailbox();
    let expected = "Tab\tand \u{fffd}[31m\n";
    assert_eq!(sentbox.stdout("show 2 --jq .subject"), expected);
    let expected = "{\"subject\":\"Tab\\tand \\u001b[31m\"}\n";
    assert_eq!(sentbox.stdout("show 2 --jq {subject}"), expected);
}

#[test]
fn object_that_fails_does_not_stop_the_next_ones() {
    let sentbox = mailbox();
    for line in [
        "list --jsonl --jq .id,.price.x",
        "search after:2026 --jsonl --jq .id,.price.x",
        "export --quiet --to - --as jsonl --jq .id,.price.x",
    ] {
        let output = sentbox.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout, "2\n1\nnull\n", "{line}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let mut errors = json_lines(&stderr).into_iter();
        let error = errors
            .find(|line| line["error"]["kind"] == "usage")
            .unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("--jq: cannot index 1.50"), "{message}");
    }
}

#[test]
fn wrong_expression_ends_before_anything_is_fetched() {
    // Nothing listens there: a request would end with another code.
    let sentbox = Sentbox::at_address("re_canary_0123456789", "http://127.0.0.1:9");
    assert_snapshot!(sentbox.transcript("list --jq .data[|"), @r#"
    stderr: {"error":{"kind":"usage","message":"invalid value '.data[|' for '--jq <EXPR>': character 8: expected closing bracket, found the end","hint":"see sentbox list --help"}}
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("sync --jq=.data|lenght"), @r#"
    stderr: {"error":{"kind":"usage","message":"invalid value '.data|lenght' for '--jq <EXPR>': character 7: there is no filter lenght/0","hint":"see sentbox sync --help"}}
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("man --jq ."), @r#"
    stderr: {"error":{"kind":"usage","message":"--jq needs JSON, which this does not print","hint":"leave out --jq"}}
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("export --to - --as csv --jq ."), @r#"
    stderr: {"error":{"kind":"usage","message":"--jq needs JSON, which this does not print","hint":"leave out --jq"}}
    exit code 2
    "#);
    assert_snapshot!(sentbox.transcript("list --csv --jq ."), @r#"
    stderr: {"error":{"kind":"usage","message":"JSON has all members of an email, so it goes neither with --csv nor with --columns","hint":"leave one of them out"}}
    exit code 2
    "#);
    let sentbox = mailbox();
    assert_snapshot!(sentbox.transcript("show 1 --jq .id,.id.x"), @r#"
    1
    stderr: {"error":{"kind":"usage","message":"--jq: cannot index \"1\" with \"x\"","hint":"--json alone prints what the expression gets"}}
    exit code 2
    "#);
}
