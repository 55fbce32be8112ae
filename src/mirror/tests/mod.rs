//! Mirrors of the sample mailbox over real HTTP.

mod following;
mod gaps;
mod harness;
mod service_down;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use harness::{Got, Hand, Running, TestMirror, client, listen, read_all, send, until};

use super::*;
use crate::api::{ClientConfig, RetryPolicy};
use crate::archive::tests::{memory, open_file};
use crate::archive::{Archive, ChangeSnapshot};
use crate::config::{ApiKey, BaseUrl, Rate};
use crate::error::{Error, ErrorKind};
use crate::mail::Mailbox;
use crate::server::sample::SampleMailbox;
use crate::server::{self, ServerConfig};
use crate::tasks::lock;

const KEY: &str = "re_0123456789abcdef0123";

const SIGNING_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_mirrors_in_a_row_equal_the_service() {
    let (hand, service, first) = TestMirror::of_sample(250).await;
    let second = TestMirror::start(&first.running, &hand, false).await;
    for (path, limit) in [("/emails", 40), ("/emails", 100), ("/emails/receiving", 3)] {
        let (bodies, ids) = read_all(&service, path, limit).await;
        for mirror in [&first.running, &second.running] {
            assert_eq!(read_all(mirror, path, limit).await.0, bodies, "{path}");
        }
        // One page for all directions, and each email.
        let before = format!("{path}?limit=2&before={}", ids[4]);
        let expected = service.get(&before).await.body;
        for mirror in [&first.running, &second.running] {
            assert_eq!(mirror.get(&before).await.body, expected);
            for id in ids.iter().take(30) {
                let path = format!("{path}/{id}");
                let (here, there) = (mirror.get(&path).await, service.get(&path).await);
                assert_eq!(here.answer(), there.answer(), "{path}");
            }
        }
    }
    for path in [
        "/emails?after=00000000-0000-4000-8000-000000000000",
        "/emails/00000000-0000-4000-8000-000000000000",
        "/emails/nonsense",
        "/emails?limit=0",
        "/emails/a/b/c",
        "/suppressions/ana@example.com",
    ] {
        let there = service.get(path).await;
        for mirror in [&first.running, &second.running] {
            let here = mirror.get(path).await;
            assert_eq!(here.answer(), there.answer(), "{path}");
        }
    }
    let ids = service.get("/emails?limit=60").await.ids();
    for id in &ids {
        let path = format!("/emails/{id}/attachments");
        let names = |got: Got| -> Vec<Value> {
            let json = got.json();
            let items = json["data"].as_array().unwrap().iter();
            items.map(|item| item["filename"].clone()).collect()
        };
        let there = names(service.get(&path).await);
        assert_eq!(names(second.get(&path).await), there, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_cost_the_requests_of_one() {
    let (_, _service, mirror) = TestMirror::of_sample(300).await;
    let pages = (0..50).map(|_| mirror.get("/emails?limit=50"));
    let pages = futures_util::future::join_all(pages).await;
    assert_eq!(mirror.requests(), 1);
    let id = &pages[0].ids()[0];
    assert!(pages.iter().all(|page| page.body == pages[0].body));
    let path = format!("/emails/{id}");
    let emails = (0..50).map(|_| mirror.get(&path));
    let emails = futures_util::future::join_all(emails).await;
    assert!(emails.iter().all(|email| email.status == 200));
    assert_eq!(mirror.requests(), 2);
    mirror.get("/emails").await;
    assert_eq!(mirror.requests(), 2, "it is known for a while");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_is_confirmed_before_it_is_served() {
    let (hand, service, mirror) = TestMirror::of_sample(300).await;
    let ids = mirror.get("/emails").await.ids();
    let paths: Vec<String> = ids.iter().map(|id| format!("/emails/{id}")).collect();
    let mut first = Vec::new();
    for path in &paths {
        let got = mirror.get(path).await;
        let at = got.header("x-sentbox-checked-at");
        assert_eq!(at, Some("2026-11-20T09:41:07.000000Z"));
        first.push(got.body);
    }
    // The memory of the requests has a clock of its own: another mirror shows what a later request
    // gets.
    let later = mirror.restart(&service, &hand).await;
    hand.advance(3600);
    let (mut changed, page) = (0, later.get("/emails").await);
    assert_eq!(page.body, service.get("/emails").await.body);
    let mut all = vec![page];
    for (path, before) in paths.iter().zip(first) {
        let got = later.get(path).await;
        assert_eq!(got.body, service.get(path).await.body);
        changed += u32::from(got.body != before);
        all.push(got);
    }
    assert!(changed > 0, "statuses change within the hour");
    for got in all {
        let at = got.header("x-sentbox-checked-at");
        assert_eq!(at, Some("2026-11-20T10:41:07.000000Z"));
        assert_eq!(got.header("x-sentbox-mirror"), Some("1"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_page_is_confirmed_after_it_is_served() {
    let (hand, service, mirror) = TestMirror::of_sample(300).await;
    let (_, ids) = read_all(&mirror.running, "/emails", 100).await;
    let path = format!("/emails?limit=100&after={}", ids[120]);
    let requests = mirror.requests();
    hand.advance(20);
    let page = mirror.get(&path).await;
    assert_eq!(mirror.requests(), requests);
    hand.advance(3600);
    let stored = mirror.get(&path).await;
    assert_eq!(stored.body, page.body);
    let is_new =
        |page: &Got| page.header("x-sentbox-checked-at") == Some("2026-11-20T10:41:27.000000Z");
    assert!(!is_new(&stored));
    let confirmed = loop {
        let page = mirror.get(&path).await;
        if is_new(&page) {
            break page;
        }
    };
    assert_eq!(confirmed.body, service.get(&path).await.body);
    assert_eq!(mirror.requests(), requests + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_etag_is_answered_without_body() {
    let (_, _service, mirror) = TestMirror::of_sample(30).await;
    let page = mirror.get("/emails").await;
    let (etag, key) = (page.header("etag").unwrap(), format!("Bearer {KEY}"));
    for (tags, status) in [
        (etag.to_owned(), 304),
        (format!("\"other\", W/{etag}"), 304),
        ("\"other\"".to_owned(), 200),
    ] {
        let headers = [("authorization", &*key), ("if-none-match", &*tags)];
        let got = mirror.running.get_with("/emails", &headers).await;
        assert_eq!((got.status, got.body.is_empty()), (status, status == 304));
        assert_eq!(got.header("etag"), Some(etag));
        assert!(got.header("x-sentbox-checked-at").is_some());
    }
    let other = mirror.get("/emails?limit=1").await;
    assert_ne!(other.header("etag"), Some(etag));
    assert_eq!(other.header("ratelimit-limit"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_health_is_answered_without_key() {
    let hand = Hand::default();
    let service = Running::sample(30, &hand).await;
    let mirror = TestMirror::start(&service, &hand, true).await;
    let without = async |path: &str| mirror.running.get_with(path, &[]).await.status;
    for path in ["/emails", "/metrics", "/other", "/emails/receiving"] {
        assert_eq!(without(path).await, 401, "{path}");
    }
    assert_eq!(without("/healthz").await, 200);
    for wrong in ["Bearer re_demo", "Bearer re_0123456789abcdef0124"] {
        let headers = [("authorization", wrong)];
        let got = mirror.running.get_with("/emails", &headers).await;
        assert_eq!(got.status, 400);
    }
    let key = format!("Bearer {KEY}");
    let headers = [("authorization", &*key), ("host", "mail.example.com")];
    let got = mirror.running.get_with("/emails", &headers).await;
    assert_eq!(got.status, 421);
    assert_eq!(mirror.get("/metrics").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn access_log_names_key_and_emails_only() {
    let (_, _service, mirror) = TestMirror::of_sample(30).await;
    let ids = mirror.get("/emails?limit=2&q=secret").await.ids();
    mirror.get(&format!("/emails/{}", ids[1])).await;
    let wrong = [("authorization", "Bearer re_wrong")];
    mirror.running.get_with("/emails", &wrong).await;
    mirror.running.get_with("/healthz", &[]).await;
    let log = mirror.access_log();
    for (line, (key, operation, emails, status)) in log.iter().zip([
        (Some("ana"), "list", &ids[..], 200),
        (Some("ana"), "retrieve", &ids[1..], 200),
        (None, "list", &[], 400),
    ]) {
        assert_eq!(line["key"].as_str(), key);
        assert_eq!(line["operation"], operation);
        assert_eq!(line["emails"], Value::from(emails));
        assert_eq!(line["status"], status);
        assert_eq!(line["client"], "127.0.0.1");
    }
    assert_eq!(log.len(), 3, "{log:?}");
    assert!(!format!("{log:?}").contains("secret") && !format!("{log:?}").contains("re_"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_open_requests_are_refused() {
    let (_, _service, mirror) = TestMirror::of_sample(30).await;
    let open = &mirror.state.open_requests;
    let all = open.acquire_many(u32::try_from(open.available_permits()).unwrap());
    let all = all.await.unwrap();
    let refused = mirror.get("/emails").await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(mirror.get("/metrics").await.status, 200, "that says why");
    drop(all);
    assert_eq!(mirror.get("/emails").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_count_requests_here_and_upstream() {
    let (hand, _service, mirror) = TestMirror::of_sample(30).await;
    for _ in 0..3 {
        mirror.get("/emails").await;
    }
    hand.advance(7);
    let text = mirror.get("/metrics").await.body;
    for line in [
        r#"sentbox_requests_total{operation="list",status="200"} 3"#,
        "sentbox_upstream_requests_total 1",
        "sentbox_emails 30",
        "sentbox_check_age_seconds 7.000",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poller_is_unhealthy_until_archive_works_again() {
    let (_, _service, mirror) = TestMirror::of_sample(30).await;
    let health = async || mirror.running.get_with("/healthz", &[]).await;
    let full = Error::new(ErrorKind::Archive, "the disk is full");
    *lock(&mirror.state.poll_error) = Some(full);
    let got = health().await;
    assert_eq!(got.status, 503);
    assert_eq!(got.json()["poller"], "failing");
    assert_eq!(got.json()["error"], "archive");
    let _tasks = mirror.poll();
    until(|| lock(&mirror.state.poll_error).is_none()).await;
    let got = health().await;
    assert_eq!(got.status, 200);
    assert_eq!(got.json()["poller"], "running");
    let answered = &got.json()["service_answered_at"];
    assert_eq!(answered, "2026-11-20T09:41:07.000000Z");
}

#[tokio::test]
async fn poller_goes_on_after_error_of_archive() {
    let folder = tempfile::tempdir().unwrap();
    let hand = Hand::default();
    let service = Running::sample(30, &hand).await;
    let path = folder.path().join("archive.sqlite");
    let mirror = TestMirror::start_with(&service, &hand, false, |_| open_file(&path)).await;
    let moved = folder.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let _tasks = mirror.poll();
    until(|| lock(&mirror.state.poll_error).is_some()).await;
    std::fs::rename(&moved, &path).unwrap();
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_mins(5)).await;
    tokio::time::resume();
    until(|| lock(&mirror.state.poll_error).is_none()).await;
    assert_eq!(mirror.archive.query_count().unwrap(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newest_page_is_refreshed_before_a_client_waits() {
    let (hand, service, mirror) = TestMirror::of_sample(300).await;
    mirror.get("/emails").await;
    let later = mirror.restart(&service, &hand).await;
    hand.advance(4);
    later.get("/emails").await;
    assert_eq!(later.requests(), 0);
    hand.advance(3);
    let got = later.get("/emails").await;
    let at = got.header("x-sentbox-checked-at");
    assert_eq!(at, Some("2026-11-20T09:41:07.000000Z"), "what is stored");
    until(|| later.archive.head_at().unwrap() != Some(Hand::start())).await;
    assert_eq!(later.requests(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_streamed_until_key_is_revoked() {
    let (_, _service, mirror) = TestMirror::of_sample(30).await;
    let url = format!("{}/sentbox/events", mirror.running.base);
    let request = mirror.running.http.get(url).bearer_auth(KEY);
    let mut stream = request.send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let changes = &mirror.state.changes;
    let id = crate::mail::EmailId::new("7");
    let removed = || crate::api::MailboxChange::Removed(id.clone());
    changes.send(removed()).unwrap();
    let mut text = String::new();
    while !text.ends_with("\"7\"}\n\n") {
        text += std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap();
    }
    let expected = "event: reset\ndata: {}\n\nevent: removed\ndata: {\"id\":\"7\"}\n\n";
    assert_eq!(text, expected);
    let keys = mirror.folder.path().join("keys");
    std::fs::write(keys, "bob = re_fedcba98765432100123\n").unwrap();
    changes.send(removed()).unwrap();
    assert_eq!(stream.chunk().await.unwrap(), None, "the stream has ended");
}
