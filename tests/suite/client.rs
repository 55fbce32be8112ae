//! Tests of the client against faulty services:
//! raw listeners, one answer a connection.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sentbox::api::{
    Client, ClientConfig, Cursor, EmailApi as _, Priority, RequestHandle, RetryPolicy,
};
use sentbox::config::{ApiKey, BaseUrl, Rate, clock};
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::{EmailId, Mailbox};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::harness::faulty_server::{gzip, packed};
use crate::harness::raw_server::{RawServer, response};
use crate::harness::service::KEY;
use crate::harness::text::TextChecks as _;

const PAGE: &str = r#"{"object":"list","has_more":true,"data":[{"id":"a","n":1.50},{"id":"b"}]}"#;

async fn fail(service: &RawServer) -> Error {
    let error = client(&service.base)
        .list(20, &Cursor::Start)
        .await
        .unwrap_err();
    assert!(!format!("{error:?}").contains("re_c"), "{error:?}");
    error
}

fn client(base: &str) -> Client {
    client_at(base, Rate::explicit(100.0).unwrap())
}

fn client_at(base: &str, rate: Rate) -> Client {
    Client::new(config(base, rate), policy(), clock::system_clock())
}

fn config(base: &str, rate: Rate) -> ClientConfig {
    ClientConfig {
        base_url: BaseUrl::parse(base).unwrap(),
        mailbox: Mailbox::Sent,
        key: ApiKey::new(KEY, "a test"),
        ca_file: None,
        rate,
        rate_file: None,
    }
}

fn policy() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 4,
        total_timeout: Duration::from_secs(2),
        max_server_pauses: Duration::ZERO,
        initial_backoff: Duration::from_millis(1),
        cancel_grace: Duration::ZERO,
    }
}

fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK", "", body)
}

#[tokio::test]
async fn request_matches_api_and_page_is_verbatim() {
    let service = RawServer::start([ok(PAGE)]);
    let page = client(&format!("{}/api/", service.base))
        .list(7, &Cursor::After(EmailId::new("x&limit=1")))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 2);
    assert_eq!(page.has_more, Some(true));
    assert_eq!(page.unreadable, 0);
    assert_eq!(&*page.items[0].json, r#"{"id":"a","n":1.50}"#);
    let request = &service.requests()[0];
    let (line, headers) = request.split_once("\r\n").unwrap();
    assert_eq!(line, "GET /api/emails?limit=7&after=x%26limit%3D1 HTTP/1.1");
    let headers = headers.to_lowercase();
    for header in [
        &format!("authorization: bearer {KEY}"),
        concat!("user-agent: sentbox/", env!("CARGO_PKG_VERSION")),
        "accept-encoding: gzip",
        "cache-control: no-cache",
    ] {
        assert!(headers.contains(header), "{header} in {headers}");
    }
}

#[tokio::test]
async fn attachment_list_missing_for_existing_email_is_unsupported() {
    let body = r#"{"statusCode":404,"name":"not_found","message":"Email not found"}"#;
    let missing = || response("404 Not Found", "", body);
    let email = ok(r#"{"id":"a"}"#);
    let service = RawServer::start([missing(), email, missing(), missing()]);
    let (client, id) = (client(&service.base), EmailId::new("a"));
    for kind in [ErrorKind::Unsupported, ErrorKind::NotFound] {
        assert_eq!(client.attachments(&id).await.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn unchanged_newest_page_is_not_sent_again() {
    let first = response("200 OK", "etag: \"v1\"\r\n", PAGE);
    let checked = "x-sentbox-checked-at: 2026-11-20T09:42:00.000001Z\r\n";
    let unchanged = response("304 Not Modified", checked, "");
    let service = RawServer::start([first, unchanged, ok(PAGE), ok("{}")]);
    let client = client(&service.base);
    let page = client.list(100, &Cursor::Start).await.unwrap();
    let again = client.list(100, &Cursor::Start).await.unwrap();
    assert_eq!((page.items == again.items, page.checked_at), (true, None));
    let checked_at = again.checked_at.map(|at| at.to_string());
    assert_eq!(checked_at.as_deref(), Some("2026-11-20T09:42:00.000001Z"));
    // Another page, and another number of emails.
    let other = client.list(100, &Cursor::After(EmailId::new("a"))).await;
    assert_eq!(other.unwrap().items, page.items);
    client.list(20, &Cursor::Start).await.unwrap_err();
    let tags = service.requests().into_iter().map(|request| {
        let tag = request.to_lowercase();
        tag.contains("\r\nif-none-match: \"v1\"\r\n")
    });
    assert_eq!(tags.collect::<Vec<_>>(), [false, true, false, false]);
}

#[tokio::test]
async fn retry_continues_the_time_without_an_answer() {
    let (held, seen) = (Arc::<OnceLock<Client>>::default(), channel());
    let (asked, report) = (Arc::clone(&held), seen.0);
    let mut first: Option<Instant> = None;
    let service = RawServer::with(move |_| {
        let Some(first) = first else {
            first = Some(Instant::now());
            return Vec::new();
        };
        let waited = first.elapsed();
        let budget = asked.get().unwrap().rate_budget();
        report.send((budget.unanswered_for, waited)).unwrap();
        ok(PAGE)
    });
    let client = held.get_or_init(|| client(&service.base));
    client.list(20, &Cursor::Start).await.unwrap();
    let (unanswered_for, waited) = seen.1.recv().unwrap();
    assert!(unanswered_for >= waited, "{unanswered_for:?} {waited:?}");
    assert_eq!(client.rate_budget().unanswered_for, Duration::ZERO);
}

#[tokio::test]
async fn ids_are_one_path_segment() {
    let service = RawServer::start([ok(r#"{"id":"../a b","text":"t"}"#)]);
    let client = client(&service.base);
    let email = client
        .retrieve(&EmailId::new("../a b"))
        .await
        .unwrap()
        .email;
    assert_eq!(email.text.as_deref(), Some("t"));
    assert!(service.requests()[0].starts_with("GET /emails/..%2Fa%20b HTTP/1.1"));
    for id in ["", ".", ".."] {
        let error = client.retrieve(&EmailId::new(id)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{id:?}");
    }
    let error = client.retrieve(&EmailId::new("other")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotTheApi);
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test]
async fn redirect_to_another_origin_gets_no_key() {
    let elsewhere = RawServer::start([ok(PAGE)]);
    for location in [
        format!("{}/emails", elsewhere.base),
        "https://127.0.0.1:1/".into(),
        "file:///etc/passwd".into(),
        "//127.0.0.1:1/".into(),
    ] {
        let header = format!("location: {location}\r\n");
        let service = RawServer::start([response("307 Temporary Redirect", &header, "")]);
        let expected = ErrorKind::Redirected;
        assert_eq!(fail(&service).await.kind, expected, "{location}");
        assert_eq!(service.requests().len(), 1);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed() {
    let onward = response("308 Permanent Redirect", "location: /elsewhere?x=1\r\n", "");
    let service = RawServer::start([onward.clone(), onward.clone(), onward.clone(), ok(PAGE)]);
    assert!(client(&service.base).list(20, &Cursor::Start).await.is_ok());
    assert!(service.requests()[3].starts_with("GET /elsewhere?x=1 "));
    let service = RawServer::start([onward]);
    assert_eq!(fail(&service).await.kind, ErrorKind::Redirected);
    assert_eq!(service.requests().len(), 4);
}

#[tokio::test]
async fn short_fault_is_retried_silently() {
    let limited = r#"{"name":"rate_limit_exceeded","message":"x"}"#;
    let busy = |header: &str| response("429 Too Many Requests", header, limited);
    let locked = r#"{"name":"resource_locked","message":"x"}"#;
    let past =
        "retry-after: Thu, 01 Jan 2026 00:00:00 GMT\r\ndate: Thu, 01 Jan 2026 00:00:01 GMT\r\n";
    for passing in [
        response("503 Busy", "", ""),
        response("503 Busy", "retry-after: 0\r\n", ""),
        response("408 Late", "", "<html>Late</html>"),
        response("409 Locked", "", locked),
        response("425 Early", "", ""),
        busy("retry-after: 0\r\n"),
        busy(past),
        busy("ratelimit-reset: 0.01\r\n"),
    ] {
        let shown = String::from_utf8_lossy(&passing).into_owned();
        let service = RawServer::start([passing, ok(PAGE)]);
        let page = client(&service.base).list(20, &Cursor::Start).await;
        assert!(page.is_ok(), "{shown}");
        assert_eq!(service.requests().len(), 2);
    }
}

#[tokio::test]
async fn retry_after_beyond_budget_fails_with_time() {
    for header in [
        "retry-after: 86400\r\n",
        "retry-after: Fri, 02 Jan 2026 00:00:00 GMT\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
        "ratelimit-reset: 86400\r\n",
    ] {
        let service = RawServer::start([response("429 Too Many Requests", header, "")]);
        let client = client(&service.base);
        let error = client.list(20, &Cursor::Start).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::RateLimited, "{header}");
        let day = Some(Duration::from_hours(24));
        assert_eq!(error.retry_after, day, "{header}");
        assert_eq!(error.hint, "try again in 24 h");
        assert!(client.rate_budget().paused_for > Duration::from_hours(23));
        // The next request is not sent during the pause.
        let paused = client.list(20, &Cursor::Start).await.unwrap_err();
        assert_eq!(paused.kind, ErrorKind::RateLimited);
        let expected = "the service has asked to wait, and nothing is requested until then";
        assert_eq!(paused.message, expected);
        assert!(paused.hint.ends_with("; sentbox doctor sends one request"));
        assert_eq!(service.requests().len(), 1);
    }
}

#[tokio::test]
async fn mirror_raises_default_but_not_explicit_rate() {
    let page = response("200 OK", "x-sentbox-mirror: 1\r\n", PAGE);
    let service = RawServer::start([page]);
    for (rate, before, after) in [
        (Rate::default(), 2.0, 20.0),
        (Rate::explicit(5.0).unwrap(), 5.0, 5.0),
    ] {
        let client = client_at(&service.base, rate);
        let found = (client.rate_budget().rate, client.is_mirror());
        assert_eq!(found, (before, false));
        client.list(1, &Cursor::Start).await.unwrap();
        let found = (client.rate_budget().rate, client.is_mirror());
        assert_eq!(found, (after, true));
    }
}

#[tokio::test]
async fn cancelled_request_is_not_sent() {
    let service = RawServer::start([ok(PAGE)]);
    let config = config(&service.base, Rate::explicit(0.01).unwrap());
    let client = Client::new(config, RetryPolicy::ONE_SHOT, clock::system_clock());
    for _ in 0..4 {
        client.list(20, &Cursor::Start).await.unwrap();
    }
    let request = RequestHandle::new(Priority::Interactive);
    let queued = client.with_priority(&request);
    let (result, ()) = tokio::join!(queued.list(20, &Cursor::Start), async {
        tokio::task::yield_now().await;
        request.cancel();
    });
    assert!(result.is_err() && service.requests().len() == 4);
}

#[tokio::test]
async fn cancelled_request_stops_waiting_for_response() {
    let service = RawServer::holding(b"");
    let request = RequestHandle::new(Priority::Interactive);
    let client = client(&service.base).with_priority(&request);
    let id = EmailId::new("a");
    let (result, ()) = tokio::join!(client.retrieve(&id), async {
        while service.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        request.cancel();
    });
    assert_eq!(result.unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(service.requests().len(), 1);
    let error = client.list(20, &Cursor::Start).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(service.requests().len(), 1, "later ones are not sent");
}

#[tokio::test]
async fn rate_budget_follows_last_response() {
    let headers = "ratelimit-limit: 10\r\nratelimit-policy: 10;w=1\r\nratelimit-remaining: 7\r\nratelimit-reset: 1\r\n";
    let service = RawServer::start([response("200 OK", headers, PAGE)]);
    let client = client(&service.base);
    client.list(20, &Cursor::Start).await.unwrap();
    let budget = client
        .with_priority(&RequestHandle::new(Priority::Backfill))
        .rate_budget();
    assert_eq!(budget.limit, Some(10));
    assert_eq!(budget.remaining, Some(7));
    assert_eq!(budget.paused_for, Duration::ZERO);
    // A rate by hand goes to 90 % of the limit.
    assert!((budget.rate - 9.0).abs() < 1e-9);
}

#[tokio::test]
async fn endless_response_is_cut_off() {
    let header = "content-encoding: gzip\r\n";
    let bomb = response("200 OK", header, packed(64));
    let error = fail(&RawServer::start([bomb])).await;
    assert_eq!(error.kind, ErrorKind::NotTheApi);
    error.message.assert_contains("larger than 24 MB");

    let service = RawServer::start([response("200 OK", header, gzip(PAGE.as_bytes()))]);
    let page = client(&service.base).list(20, &Cursor::Start).await;
    assert!(page.is_ok());
    let lie = response("200 OK", header, PAGE);
    let expected = ErrorKind::NotTheApi;
    assert_eq!(fail(&RawServer::start([lie])).await.kind, expected);
}

#[tokio::test]
async fn silence_ends_with_policy() {
    let service = RawServer::holding(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    let policy = RetryPolicy {
        total_timeout: Duration::from_millis(50),
        ..policy()
    };
    let config = config(&service.base, Rate::default());
    let error = Client::new(config, policy, clock::system_clock())
        .list(20, &Cursor::Start)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
    error.message.assert_ends("timed out");
}

#[tokio::test]
async fn refused_connection_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = client(&base).list(20, &Cursor::Start).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert_eq!(error.message, format!("connection refused by {base}"));
}

#[tokio::test]
async fn key_is_not_sent_without_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let service = client(&base);
    let response = service.list(20, &Cursor::Start);
    let received = async {
        let mut heard = Vec::new();
        if let Ok((mut stream, _)) = listener.accept().await {
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            // The bytes before the client hung up count.
            let _ = stream.read_to_end(&mut heard).await;
        }
        heard
    };
    let mut received = std::pin::pin!(received);
    let mut heard = Vec::new();
    let mut response = std::pin::pin!(response);
    let error = loop {
        tokio::select! {
            result = &mut response => break result.unwrap_err(),
            bytes = &mut received, if heard.is_empty() => heard = bytes,
        }
    };
    // Without certificates the client fails earlier.
    let is_expected = matches!(error.kind, ErrorKind::Unreachable | ErrorKind::Config);
    assert!(is_expected, "{error:?}");
    String::from_utf8_lossy(&heard).assert_lacks(KEY);
}

#[tokio::test]
async fn without_key_no_request_is_sent() {
    let service = RawServer::start([ok(PAGE)]);
    let missing = Error::new(ErrorKind::KeyMissing, "there is no API key");
    let config = ClientConfig {
        key: Err(missing.clone()),
        ..config(&service.base, Rate::default())
    };
    let client = Client::new(config, RetryPolicy::ONE_SHOT, clock::system_clock());
    assert_eq!(client.list(20, &Cursor::Start).await.unwrap_err(), missing);
    assert!(service.requests().is_empty());
}
