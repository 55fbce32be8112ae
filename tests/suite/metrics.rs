//! Tests of the counts of opens and clicks: the server's operation, and `show`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use sentbox::api::Cursor;
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::EmailId;
use sentbox::server::{EmailSource, SourceError, SourcePage};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::sample;
use crate::contract::{NOBODY, Served, json as body, names, text};
use crate::harness::fixed::Fixed;
use crate::harness::process::Sentbox;
use crate::harness::service::Service;

#[tokio::test]
async fn metrics_of_one_email_agree_with_its_status() {
    let served = Served::sample(1000).await;
    let emails = served.all().await.into_iter();
    // The oldest one of each status.
    let emails: BTreeMap<String, Value> = emails
        .map(|email| (text(&email, "last_event"), email))
        .collect();
    assert_eq!(emails.len(), 12);
    for (status, email) in &emails {
        let start: Timestamp = text(email, "created_at").parse().unwrap();
        let path = format!("/emails/metrics?email_id={}", text(email, "id"));
        let found = served.get(&format!("{path}&start_date={start}")).await;
        let expected = BTreeSet::from([
            "object",
            "start_date",
            "end_date",
            "metrics",
            "dimensions",
            "granularity",
            "totals",
        ]);
        assert_eq!(names(&found), expected);
        assert_eq!(found["end_date"], "2026-11-20T09:41:07.000Z");
        let totals = &found["totals"];
        let count = |name: &str| totals[name].as_u64().unwrap();
        let expected = found["metrics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(names(totals), expected);
        let is = |wanted: &[&str]| u64::from(wanted.contains(&status.as_str()));
        for event in ["bounced", "complained", "failed", "suppressed"] {
            assert_eq!(count(event), is(&[event]), "{status} {totals}");
        }
        let expected = is(&["opened", "clicked"]);
        assert_eq!(count("unique_opened"), expected, "{status} {totals}");
        let expected = is(&["clicked"]);
        assert_eq!(count("unique_clicked"), expected, "{status} {totals}");
        assert!(count("opened") >= count("unique_opened"));
        assert!(count("clicked") >= count("unique_clicked"));
        let kinds = ["permanent", "transient", "undetermined"]
            .map(|kind| count(&format!("bounced_{kind}")));
        assert_eq!(kinds.iter().sum::<u64>(), count("bounced"));
    }
    let oldest = &emails["opened"];
    let path = format!("/emails/metrics?email_id={}", text(oldest, "id"));
    let recent = served.get(&path).await;
    assert_eq!(recent["start_date"], "2026-11-14T09:41:07.000Z");
    assert_eq!(recent["totals"]["opened"], 0, "it was opened long ago");
    let by_email = served.get(&format!("{path}&dimensions=email")).await;
    assert_eq!(by_email["data"][0]["email_id"], oldest["id"]);
    assert_eq!(by_email["data"][0]["opened"], 0);
    assert_eq!(by_email["dimensions"], serde_json::json!(["email"]));
    let unknown = served
        .get(&format!("/emails/metrics?email_id={NOBODY}"))
        .await;
    assert_eq!(unknown["totals"]["sent"], 0);

    for (query, message) in [
        ("email_id=x", "The `email_id` must be a valid UUID"),
        (
            "",
            "This server has the metrics of one email: pass one id as `email_id`.",
        ),
        (
            "dimensions=domain",
            "This server does not support the `dimensions` parameter.",
        ),
        (
            "email_id=x&start_date=soon",
            "The `start_date` must be an ISO 8601 date or datetime.",
        ),
    ] {
        let response = served.respond(&format!("/emails/metrics?{query}")).await;
        let expected = StatusCode::UNPROCESSABLE_ENTITY;
        assert_eq!(response.status(), expected, "{query}");
        assert_eq!(body(response).await["message"], message);
    }
    let response = served.ask(Method::GET, &path, None).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

const BOUNCED: &str = r#"{"object":"email","id":"1","to":["ana@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"x","last_event":"bounced","html":null,"text":"x"}"#;
const OPENED: &str = r#"{"object":"email","id":"2","to":["ana@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"x","last_event":"opened","html":null,"text":"x"}"#;
const BROKEN: &str = r#"{"object":"email","id":"3","to":["ana@example.com"],"from":"a@example.net","created_at":"2026-11-20 08:41:07+00","subject":"x","last_event":"opened","html":null,"text":"x"}"#;

struct Counted(Fixed);

impl EmailSource for Counted {
    fn page(&self, cursor: &Cursor, limit: u8) -> Result<SourcePage, SourceError> {
        self.0.page(cursor, limit)
    }

    fn email(&self, id: &EmailId) -> Result<Box<RawValue>, SourceError> {
        self.0.email(id)
    }

    fn metrics(
        &self,
        email: &EmailId,
        range: RangeInclusive<Timestamp>,
    ) -> Result<BTreeMap<String, u64>, SourceError> {
        let created: Timestamp = "2026-11-20T08:41:07Z".parse().unwrap();
        assert_eq!(*range.start(), created, "all of the email's events");
        let counts = match email.as_str() {
            "1" => vec![("bounced_transient", 1)],
            "2" => vec![("opened", 1_234_567), ("clicked", 1)],
            _ => return Err(SourceError::Internal(Error::new(ErrorKind::Io, "gone"))),
        };
        let counts = counts
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count));
        Ok(counts.collect())
    }
}

fn activity(sentbox: &Sentbox, id: &str) -> Option<String> {
    let shown = sentbox.stdout(&format!("show {id}"));
    let line = shown.lines().find(|line| line.starts_with("activity"));
    line.map(|line| line["activity".len()..].trim().to_owned())
}

#[test]
fn show_says_how_often_an_email_was_opened() {
    let sentbox = Sentbox::using(Service::new(Counted(Fixed(vec![BOUNCED, OPENED, BROKEN]))));
    let expected = Some("bounced temporarily; the service's count");
    assert_eq!(activity(&sentbox, "1").as_deref(), expected);
    let expected = Some("opened 1 234 567 times, clicked once; the service's count");
    assert_eq!(activity(&sentbox, "2").as_deref(), expected);
    assert!(activity(&sentbox, "3").is_some_and(|text| text.starts_with("not known: ")));
    let json = sentbox.json("show 2 --json");
    assert_eq!(json, serde_json::from_str::<Value>(OPENED).unwrap());

    let silent = Service::new(Fixed(vec![BOUNCED, OPENED]));
    let sentbox = Sentbox::at(&silent);
    assert_eq!(activity(&sentbox, "1"), None, "the service does not count");
    assert_eq!(activity(&sentbox, "2"), None);

    let sampled = sample(1000);
    let sentbox = Sentbox::at(&sampled);
    let emails = sentbox.stdout("list --all --columns status,id");
    for (status, start) in [
        ("opened", Some("opened ")),
        ("clicked", Some("opened once, clicked ")),
        ("delivered", None),
    ] {
        let line = emails
            .lines()
            .find(|line| line.starts_with(&format!("{status}\t")));
        let id = line.unwrap().split('\t').nth(1).unwrap();
        let text = activity(&sentbox, id);
        match start {
            None => assert_eq!(text, None),
            Some(start) => assert!(
                text.as_ref().is_some_and(|text| text.starts_with(start)),
                "{text:?}"
            ),
        }
    }
}
