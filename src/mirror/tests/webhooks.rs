//! Events of the service that a mirror receives.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;
use serde_json::json;

use super::*;
use crate::archive::WindowAnchor;

impl TestMirror {
    /// Posts an event as the service does; returns the status.
    async fn post_event(&self, event: &Value, now: Timestamp) -> u16 {
        let secret = BASE64_STANDARD.decode(&SIGNING_SECRET[6..]).unwrap();
        self.post_signed(event, now, &secret).await
    }

    async fn post_signed(&self, event: &Value, now: Timestamp, secret: &[u8]) -> u16 {
        let body = event.to_string();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let time = now.as_second().to_string();
        let signature = hmac::sign(&key, format!("msg_1.{time}.{body}").as_bytes());
        let signature = format!("v1,{}", BASE64_STANDARD.encode(signature));
        let headers = [
            ("svix-id", "msg_1"),
            ("svix-timestamp", &time),
            ("svix-signature", &signature),
        ];
        self.post(body, &headers).await
    }

    async fn post(&self, body: String, headers: &[(&str, &str)]) -> u16 {
        let url = format!("{}/webhooks", self.running.base);
        let request = self.running.http.post(url).body(body);
        send(request, headers).await.status().as_u16()
    }
}

fn bounced(id: &str, now: Timestamp) -> Value {
    json!({
        "type": "email.bounced",
        "created_at": now.to_string(),
        "data": { "email_id": id, "to": ["ana@example.com"], "bounce": { "message": "mailbox full" } },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_is_served_and_followed_without_a_request() {
    let (hand, service, mirror) = TestMirror::of_sample(250).await;
    let mut copy = following::Copy::start(&mirror, &hand).await;
    copy.follow().await;
    let id = mirror.get("/emails?limit=9").await.ids()[7].clone();
    let before = mirror.snapshot();
    let requests = mirror.requests();
    hand.advance(2);
    let now = (hand.clock())();
    assert_eq!(mirror.post_event(&bounced(&id, now), now).await, 204);
    assert_eq!(mirror.post_event(&bounced(&id, now), now).await, 204);
    let page = mirror.get("/emails?limit=9").await;
    let email = &page.json()["data"][7];
    assert_eq!(email["last_event"], "bounced");
    assert_eq!(email["bounce"]["message"], "mailbox full");
    assert_eq!(mirror.requests(), requests);
    mirror.send_changes(&before, now);
    copy.follow().await;
    let window = copy.engine.archive().window(&WindowAnchor::Top, 9).unwrap();
    let bounce = window.rows[7].summary.bounce().unwrap();
    assert_eq!(bounce.reason().to_string(), "mailbox full");
    let metrics = mirror.get("/metrics").await.body;
    for line in [
        r#"sentbox_webhook_events_total{status="bounced",outcome="known"} 1"#,
        r#"sentbox_webhook_events_total{status="bounced",outcome="stored"} 1"#,
    ] {
        assert!(metrics.lines().any(|other| other == line), "{metrics}");
    }
    let mut log = mirror.access_log().into_iter();
    let entry = log.find(|entry| entry["operation"] == "webhook").unwrap();
    assert_eq!(entry["emails"][0], json!(id));
    assert_eq!(entry["key"], Value::Null);
    // The service has another opinion, and is asked later.
    let later = mirror.restart(&service, &hand).await;
    hand.advance(60);
    let page = later.get("/emails?limit=100").await;
    let page = page.json();
    let mut items = page["data"].as_array().unwrap().iter();
    let item = items.find(|item| item["id"] == *id).unwrap();
    assert_ne!(item["last_event"], "bounced");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_new_mail_cost_one_request() {
    let (hand, service, mirror) = TestMirror::of_sample(250).await;
    let known = mirror.get("/emails?limit=100").await.ids();
    hand.advance(600);
    let new = service.get("/emails?limit=100").await.ids();
    let new: Vec<&String> = new.iter().filter(|id| !known.contains(id)).collect();
    assert!(new.len() > 1);
    let (requests, now) = (mirror.requests(), (hand.clock())());
    for id in &new {
        let event = json!({
            "type": "email.sent",
            "created_at": now.to_string(),
            "data": { "email_id": id, "created_at": now.to_string() },
        });
        assert_eq!(mirror.post_event(&event, now).await, 204);
    }
    let mut early = bounced(new[0], now);
    early["data"]["created_at"] = now.to_string().into();
    let status = mirror.post_event(&early, now).await;
    assert_eq!(status, 503, "its reason would be lost");
    until(|| mirror.archive.head_at().unwrap() == Some(now)).await;
    assert_eq!(mirror.requests(), requests + 1);
    let rows = mirror.archive.window(&WindowAnchor::Top, 100).unwrap().rows;
    let is_stored = |id: &&String| rows.iter().any(|row| row.summary.id.as_str() == **id);
    assert!(new.iter().all(is_stored));
    assert_eq!(mirror.post_event(&early, now).await, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_counts_although_own_clock_is_ahead() {
    let (hand, ahead) = (Hand::default(), Hand::default());
    ahead.advance(30);
    let service = Running::sample(250, &hand).await;
    let mirror = TestMirror::start(&service, &ahead, false).await;
    let id = mirror.get("/emails?limit=9").await.ids()[7].clone();
    for clock in [&hand, &ahead] {
        clock.advance(2);
    }
    let now = (hand.clock())();
    assert_eq!(mirror.post_event(&bounced(&id, now), now).await, 204);
    let page = mirror.get("/emails?limit=9").await;
    assert_eq!(page.json()["data"][7]["last_event"], "bounced");
    let mut early = bounced("new", now);
    early["data"]["created_at"] = now.to_string().into();
    assert_eq!(mirror.post_event(&early, now).await, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsigned_or_invalid_event_changes_nothing() {
    let (hand, _service, mirror) = TestMirror::of_sample(50).await;
    let page = mirror.get("/emails").await;
    let (id, now) = (page.ids()[0].clone(), (hand.clock())());
    let event = bounced(&id, now);
    let old = now - SignedDuration::from_mins(6);
    assert_eq!(mirror.post_event(&event, old).await, 401);
    assert_eq!(mirror.post(event.to_string(), &[]).await, 401);
    let key = format!("Bearer {KEY}");
    let keyed = [("authorization", key.as_str())];
    assert_eq!(mirror.post(event.to_string(), &keyed).await, 401);
    let large = json!({ "type": "x".repeat(300_000) });
    assert_eq!(mirror.post_event(&large, now).await, 413);
    assert_eq!(mirror.post_event(&json!("x"), now).await, 400);
    let other = json!({ "type": "contact.created", "data": {} });
    assert_eq!(mirror.post_event(&other, now).await, 204);
    assert_eq!(mirror.post_event(&bounced("", now), now).await, 204);
    assert_eq!(mirror.get("/webhooks").await.status, 405);
    assert_eq!(mirror.get("/emails").await.body, page.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_refused_signature_is_reported() {
    let (hand, _service, mirror) = TestMirror::of_sample(50).await;
    let now = (hand.clock())();
    let event = json!({ "type": "contact.created", "data": {} });
    let notes = || std::mem::take(&mut *lock(&mirror.notes));
    assert_eq!(mirror.post(event.to_string(), &[]).await, 401);
    assert_eq!(notes(), [""; 0], "no one has signed it");
    for _ in 0..2 {
        for _ in 0..2 {
            let wrong = mirror.post_signed(&event, now, b"of another webhook");
            assert_eq!(wrong.await, 401);
        }
        let [note] = &notes()[..] else { panic!() };
        assert!(note.contains("secret"), "{note}");
        assert_eq!(mirror.post_event(&event, now).await, 204);
    }
    let old = now - SignedDuration::from_mins(6);
    assert_eq!(mirror.post_event(&event, old).await, 401);
    let [note] = &notes()[..] else { panic!() };
    assert!(note.contains("is its clock right?"), "{note}");
}
