//! Tests of the commands against services that differ from the real one but work.

use std::io::{BufRead as _, BufReader};
use std::process::Output;
use std::sync::Arc;

use serde_json::Value;

use crate::harness::faulty_server::{Answer, Does, Faulty, http, truth};
use crate::harness::process::Sentbox;
use crate::harness::text::TextChecks as _;

/// Runs the commands in sequence with one home,
/// against a service with this behaviour.
async fn run(does: Does, lines: &[&str]) -> (Vec<Output>, usize) {
    let service = Faulty::start().await;
    service.does(does);
    let sentbox = Sentbox::at_address("re_demo", service.base());
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let outputs =
        tokio::task::spawn_blocking(move || lines.iter().map(|line| sentbox.run(line)).collect())
            .await
            .unwrap();
    (outputs, service.request_count())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the ids of a JSON list and its `has_more`.
fn listed(output: &Output) -> (Vec<String>, Value) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|email| email["id"].as_str().unwrap().to_owned());
    (ids.collect(), list["has_more"].clone())
}

fn ids(count: usize) -> Vec<String> {
    truth()
        .iter()
        .take(count)
        .map(|(id, _)| id.clone())
        .collect()
}

#[tokio::test]
async fn list_all_without_has_more_is_complete() {
    let silent: Does = |request, _| {
        if request.is_list() {
            request.changed(|page| drop(page.as_object_mut().unwrap().remove("has_more")))
        } else {
            Answer::Honest
        }
    };
    let lines = [
        "list --json --all --rate 1000",
        "list --json --limit 20 --rate 1000",
        "list --json --limit 50 --rate 1000",
    ];
    let (outputs, _) = run(silent, &lines).await;
    let all = truth().len();
    assert_eq!(listed(&outputs[0]), (ids(all), false.into()));
    assert_eq!(listed(&outputs[1]), (ids(20), true.into()));
    assert_eq!(listed(&outputs[2]), (ids(all), false.into()));
}

#[tokio::test]
async fn list_reads_short_pages_up_to_the_limit() {
    for (limit, pages) in [(30, 3), (3, 1)] {
        let line = format!("list --json --limit {limit} --rate 1000");
        let (outputs, requests) = run(|_, _| Answer::Honest, &[&line]).await;
        let expected = (ids(limit), true.into());
        assert_eq!((listed(&outputs[0]), requests), (expected, pages));
    }
}

#[tokio::test]
async fn show_has_the_recipients_of_the_list() {
    let without_cc: Does = |request, _| {
        request.each(|email| {
            let is_retrieved = email.get("html").is_some() || email.get("text").is_some();
            email["cc"] = if is_retrieved {
                serde_json::json!([])
            } else {
                serde_json::json!(["copy@example.org"])
            };
        })
    };
    let show = format!("show {}", ids(1)[0]);
    let (outputs, _) = run(without_cc, &["sync --back all --rate 1000", &show]).await;
    text(&outputs[1].stdout).assert_contains("copy@example.org");
}

#[tokio::test]
async fn ignored_cursor_is_an_error() {
    let newest: Does = |request, _| {
        request.changed(|page| {
            let emails = truth().iter().take(5).map(|(_, email)| email.clone());
            page["data"] = emails.collect();
        })
    };
    let next = format!("list --json --limit 3 --after {}", ids(3)[2]);
    let (outputs, _) = run(newest, &["list --json --limit 3", &next]).await;
    assert_eq!(listed(&outputs[0]).0, ids(3));
    assert_eq!(outputs[1].status.code(), Some(5));
    text(&outputs[1].stderr).assert_contains("does not go on after an email");
}

#[tokio::test]
async fn unreadable_emails_count_as_more_of_all() {
    let broken: Does = |request, _| {
        request.changed(|page| {
            if let Some(emails) = page["data"].as_array_mut() {
                emails.push(Value::Null);
                emails.push(serde_json::json!({"subject": "no id"}));
            }
        })
    };
    let lines = ["list --json --all --rate 1000", "list --json --limit 100"];
    let (outputs, _) = run(broken, &lines).await;
    // A script that reads page by page would never end.
    for (output, has_more) in outputs.into_iter().zip([true, false]) {
        assert_eq!(listed(&output), (ids(truth().len()), has_more.into()));
        text(&output.stderr).assert_lacks("there is more");
    }
}

#[tokio::test]
async fn email_with_differently_spelled_id_is_shown() {
    let respelled: Does = |request, _| {
        request.changed(|email| {
            let id = email["id"].as_str().unwrap_or_default().replace('-', "");
            email["id"] = format!("em_{}", id.to_uppercase()).into();
        })
    };
    let (id, email) = &truth()[0];
    let (outputs, _) = run(respelled, &[&format!("show {id}")]).await;
    assert!(outputs[0].status.success(), "{}", text(&outputs[0].stderr));
    let subject = email["subject"].as_str().unwrap();
    assert!(text(&outputs[0].stdout).contains(subject), "{subject}");
}

/// Returns the first line with one of these texts that `sync` prints to stderr, and stops it.
async fn first_note(sentbox: &Sentbox, texts: &'static [&str]) -> String {
    let mut child = sentbox.spawn("sync --back all");
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let has_one = |line: &String| texts.iter().any(|text| line.contains(text));
    let find = move || stderr.lines().map_while(Result::ok).find(has_one);
    let line = tokio::task::spawn_blocking(find).await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    line.unwrap()
}

#[tokio::test]
async fn long_rate_limit_wait_is_reported_on_pipe() {
    let service = Faulty::start().await;
    service.does(|request, _| {
        let headers = "ratelimit-limit: 4\r\nratelimit-policy: 4;w=86400\r\nratelimit-remaining: 3\r\nratelimit-reset: 86400\r\n";
        Answer::Raw(http("200 OK", headers, request.body()))
    });
    let sentbox = Sentbox::at_address("re_demo", service.base());
    let list = move || (sentbox.transcript("list --all"), sentbox);
    let (refused, sentbox) = tokio::task::spawn_blocking(list).await.unwrap();
    refused.assert_contains("has asked to wait");
    refused.assert_ends("exit code 6");
    let first = first_note(&sentbox, &["sentbox: waiting "]).await;
    first.assert_ends(" h for the service's rate limit");
}

#[tokio::test]
async fn pause_after_server_error_is_no_rate_limit() {
    let service = Faulty::start().await;
    service.does(|_, _| Answer::Raw(http("503 Busy", "retry-after: 120\r\n", b"")));
    let sentbox = Sentbox::at_address("re_demo", service.base());
    let first = first_note(&sentbox, &["trying again", "waiting"]).await;
    assert_eq!(first, "sentbox: a request failed; trying again in 2 min");
}

#[tokio::test]
async fn search_of_older_mail_does_not_wait_out_pauses() {
    let service = Faulty::start().await;
    let home = Sentbox::at_address("re_demo", service.base());
    service.does(|_, _| Answer::Raw(http("429 Too Many", "retry-after: 70\r\n", b"")));
    let run = move || home.transcript("search mail --back all");
    let text = tokio::task::spawn_blocking(run).await.unwrap();
    text.assert_lacks("waiting");
    text.assert_ends("exit code 6");
}

#[tokio::test]
async fn doctor_sends_one_request_during_long_pause() {
    let service = Faulty::start().await;
    let home = Arc::new(Sentbox::at_address("re_demo", service.base()));
    let run = async |line: &'static str| {
        let home = Arc::clone(&home);
        tokio::task::spawn_blocking(move || home.transcript(line))
            .await
            .unwrap()
    };
    run("sync --back all").await;
    service.does(|_, _| Answer::Raw(http("429 Too Many", "retry-after: 86400\r\n", b"")));
    assert!(run("list").await.contains("hint: try again in 24 h"));

    let paused = run("list").await;
    paused.assert_contains("the service has asked to wait, and nothing is requested until then");
    paused.assert_contains("sentbox doctor sends one request");

    service.does(|_, _| Answer::Closed(Vec::new()));
    let offline = run("doctor").await;
    let until = "; one request was sent in spite of that, and the pause goes on until ";
    offline.assert_contains("note    pause     at ");
    offline.assert_contains(until);
    offline.assert_contains("FAILED  service   offline: ");
    offline.assert_contains("the team's limit is not known");
    offline.assert_lacks(" answers");
    assert_eq!(service.request_count(), 1, "no retry");

    service.does(|_, _| Answer::Raw(http("429 Too Many", "retry-after: 86400\r\n", b"")));
    let refused = run("doctor").await;
    refused.assert_contains(until);
    refused.assert_contains(" answers, in ");
    refused.assert_contains("FAILED  access    rate limited: ");
    refused.assert_contains("the service does not state the team's limit");

    service.does(|_, _| Answer::Honest);
    let over = run("doctor").await;
    over.assert_contains("; one request was sent in spite of that, and the pause is over");
    over.assert_contains("may read");
    assert!(!run("doctor").await.contains("pause"));
    let listed = run("list").await;
    listed.assert_ends("exit code 0");
}
