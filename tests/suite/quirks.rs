//! The commands against services that differ from the real one without being broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Output;

use serde_json::Value;

use crate::binary::Sentbox;
use crate::faulty::{Answer, Does, Faulty, truth};

/// Runs the commands one after the other with one home, against a service that does this.
async fn run(does: Does, lines: &[&str]) -> (Vec<Output>, usize) {
    let service = Faulty::start().await;
    service.does(does);
    let sentbox = Sentbox::new().with("SENTBOX_API_KEY", "re_demo").with("SENTBOX_BASE_URL", service.base());
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let outputs = tokio::task::spawn_blocking(move || lines.iter().map(|line| sentbox.run(line)).collect()).await.unwrap();
    (outputs, service.asked())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The ids that a JSON list holds, and whether it says that there is more.
fn listed(output: &Output) -> (Vec<String>, Value) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids = list["data"].as_array().unwrap().iter().map(|email| email["id"].as_str().unwrap().to_owned());
    (ids.collect(), list["has_more"].clone())
}

fn ids(count: usize) -> Vec<String> {
    truth().iter().take(count).map(|(id, _)| id.clone()).collect()
}

#[tokio::test]
async fn list_all_without_has_more_brings_everything() {
    let silent: Does = |asked, _| match asked.is_list() {
        true => asked.changed(|page| drop(page.as_object_mut().unwrap().remove("has_more"))),
        false => Answer::Honest,
    };
    let lines = ["list --json --all --rate 1000", "list --json --limit 20 --rate 1000", "list --json --limit 50 --rate 1000"];
    let (outputs, _) = run(silent, &lines).await;
    let all = truth().len();
    assert_eq!(listed(&outputs[0]), (ids(all), false.into()));
    assert_eq!(listed(&outputs[1]), (ids(20), true.into()));
    assert_eq!(listed(&outputs[2]), (ids(all), false.into()));
}

#[tokio::test]
async fn list_continues_after_short_pages_up_to_the_limit() {
    let (outputs, requests) = run(|_, _| Answer::Honest, &["list --json --limit 30 --rate 1000"]).await;
    assert_eq!((listed(&outputs[0]), requests), ((ids(30), true.into()), 3));
}

#[tokio::test]
async fn list_prints_no_more_than_the_limit() {
    let (outputs, requests) = run(|_, _| Answer::Honest, &["list --json --limit 3 --rate 1000"]).await;
    assert_eq!((listed(&outputs[0]), requests), ((ids(3), true.into()), 1));
}
