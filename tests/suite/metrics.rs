//! Tests of the counts of opens and clicks: the server's operation.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use sentbox::server::DEMO_KEY;
use serde_json::Value;

use crate::contract::{NOBODY, Served, json as body, names};

/// An email of each status.
async fn emails_by_status(served: &Served) -> BTreeMap<String, Value> {
    let (mut found, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let page = served.get(&format!("/emails?limit=100{cursor}")).await;
        for email in page["data"].as_array().unwrap() {
            let status = email["last_event"].as_str().unwrap();
            found.insert(status.to_owned(), email.clone());
            cursor = format!("&after={}", email["id"].as_str().unwrap());
        }
        if page["has_more"] == false {
            return found;
        }
    }
}

#[tokio::test]
async fn metrics_of_one_email_agree_with_its_status() {
    let served = Served::sample(1000).await;
    let emails = emails_by_status(&served).await;
    assert_eq!(emails.len(), 12);
    let text = |email: &Value, name: &str| email[name].as_str().unwrap().to_owned();
    for (status, email) in &emails {
        let start: Timestamp = text(email, "created_at").parse().unwrap();
        let path = format!("/emails/metrics?email_id={}", text(email, "id"));
        let found = served.get(&format!("{path}&start_date={start}")).await;
        assert_eq!(
            names(&found),
            BTreeSet::from([
                "object",
                "start_date",
                "end_date",
                "metrics",
                "dimensions",
                "granularity",
                "totals"
            ])
        );
        assert_eq!(found["end_date"], "2026-11-20T09:41:07.000Z");
        let totals = &found["totals"];
        let count = |name: &str| totals[name].as_u64().unwrap();
        assert_eq!(
            names(totals),
            found["metrics"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect()
        );
        let is = |wanted: &[&str]| u64::from(wanted.contains(&status.as_str()));
        for event in ["bounced", "complained", "failed", "suppressed"] {
            assert_eq!(count(event), is(&[event]), "{status} {totals}");
        }
        assert_eq!(
            count("unique_opened"),
            is(&["opened", "clicked"]),
            "{status} {totals}"
        );
        assert_eq!(
            count("unique_clicked"),
            is(&["clicked"]),
            "{status} {totals}"
        );
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
    let unknown = served
        .get(&format!("/emails/metrics?email_id={NOBODY}"))
        .await;
    assert_eq!(unknown["totals"]["sent"], 0);

    let key = format!("Bearer {DEMO_KEY}");
    for (query, message) in [
        ("email_id=x", "The `email_id` must be a valid UUID"),
        (
            "",
            "This server has the metrics of one email: pass one id as `email_id`.",
        ),
        (
            "dimensions=email",
            "This server does not support the `dimensions` parameter.",
        ),
        (
            "email_id=x&start_date=soon",
            "The `start_date` must be an ISO 8601 date or datetime.",
        ),
    ] {
        let response = served
            .ask(Method::GET, &format!("/emails/metrics?{query}"), Some(&key))
            .await;
        assert_eq!(
            response.status(),
            StatusCode::UNPROCESSABLE_ENTITY,
            "{query}"
        );
        assert_eq!(body(response).await["message"], message);
    }
    let response = served.ask(Method::GET, &path, None).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}
