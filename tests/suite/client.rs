//! The client against services that misbehave: raw listeners on loopback, one answer a connection.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sentbox::api::{
    Client, ClientConfig, Cursor, EmailApi as _, Priority, RequestHandle, RetryPolicy,
};
use sentbox::config::{ApiKey, BaseUrl, Rate, clock};
use sentbox::error::{Error, ErrorKind};
use sentbox::mail::EmailId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const KEY: &str = "re_canary_0123456789";
const PAGE: &str = r#"{"object":"list","has_more":true,"data":[{"id":"a","n":1.50},{"id":"b"}]}"#;

/// A service that gives each connection the next answer, and the last one for ever.
struct Double {
    address: String,
    heard: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Double {
    async fn new(answers: Vec<Vec<u8>>) -> Self {
        Self::holding(answers, false).await
    }

    /// One that leaves the connection open after its answer.
    async fn holding(answers: Vec<Vec<u8>>, hold: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let log = Arc::clone(&heard);
        tasks.spawn(async move {
            let mut held = Vec::new();
            for turn in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => break,
                    }
                }
                log.lock()
                    .unwrap()
                    .push(String::from_utf8(request).unwrap());
                let answer: &Vec<u8> = answers.get(turn).or(answers.last()).unwrap();
                // A client that has heard enough may hang up first.
                let _ = stream.write_all(answer).await;
                if hold {
                    held.push(stream);
                }
            }
        });
        Self {
            address,
            heard,
            _tasks: tasks,
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn client(&self) -> Client {
        self.client_below("")
    }

    fn client_below(&self, path: &str) -> Client {
        client(&format!("http://{}{path}", self.address))
    }

    async fn fails(&self) -> Error {
        let failure = self.client().list(20, &Cursor::Start).await.unwrap_err();
        assert!(!format!("{failure:?}").contains("re_c"), "{failure:?}");
        failure
    }
}

fn client(base: &str) -> Client {
    let key = ApiKey::new(KEY, "a test");
    let access = ClientConfig {
        base_url: BaseUrl::parse(base).unwrap(),
        key,
        ca_file: None,
        rate: Rate::explicit(100.0).unwrap(),
        rate_file: None,
    };
    let patience = RetryPolicy {
        max_attempts: 4,
        total_timeout: Duration::from_secs(2),
        max_server_pauses: Duration::ZERO,
        initial_backoff: Duration::from_millis(1),
        cancel_grace: Duration::ZERO,
    };
    Client::new(access, patience, clock::system_clock())
}

fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut all = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    all.extend_from_slice(body);
    all
}

fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", "", body)
}

#[tokio::test]
async fn request_matches_api_and_page_is_verbatim() {
    let double = Double::new(vec![ok(PAGE)]).await;
    let page = double
        .client_below("/api/")
        .list(7, &Cursor::After(EmailId::new("x&limit=1")))
        .await
        .unwrap();
    assert_eq!(
        (page.items.len(), page.has_more, page.unreadable),
        (2, Some(true), 0)
    );
    assert_eq!(&*page.items[0].json, r#"{"id":"a","n":1.50}"#);
    let request = &double.heard()[0];
    let (line, headers) = request.split_once("\r\n").unwrap();
    assert_eq!(line, "GET /api/emails?limit=7&after=x%26limit%3D1 HTTP/1.1");
    let headers = headers.to_lowercase();
    for header in [
        &format!("authorization: bearer {KEY}"),
        concat!("user-agent: sentbox/", env!("CARGO_PKG_VERSION")),
        "accept-encoding: gzip",
    ] {
        assert!(headers.contains(header), "{header} in {headers}");
    }
}

#[tokio::test]
async fn ids_are_one_path_segment() {
    let double = Double::new(vec![ok(r#"{"id":"../a b","text":"t"}"#)]).await;
    let client = double.client();
    assert_eq!(
        client
            .retrieve(&EmailId::new("../a b"))
            .await
            .unwrap()
            .email
            .text
            .as_deref(),
        Some("t")
    );
    assert!(double.heard()[0].starts_with("GET /emails/..%2Fa%20b HTTP/1.1"));
    for id in ["", ".", ".."] {
        assert_eq!(
            client.retrieve(&EmailId::new(id)).await.unwrap_err().kind,
            ErrorKind::NotFound
        );
    }
    assert_eq!(
        client
            .retrieve(&EmailId::new("other"))
            .await
            .unwrap_err()
            .kind,
        ErrorKind::NotTheApi
    );
    assert_eq!(double.heard().len(), 2);
}

#[tokio::test]
async fn the_key_never_goes_to_another_origin() {
    let elsewhere = Double::new(vec![ok(PAGE)]).await;
    for place in [
        format!("http://{}/emails", elsewhere.address),
        "https://127.0.0.1:1/".into(),
        "file:///etc/passwd".into(),
        "//127.0.0.1:1/".into(),
    ] {
        let double = Double::new(vec![answer(
            "307 Temporary Redirect",
            &format!("location: {place}\r\n"),
            "",
        )])
        .await;
        assert_eq!(double.fails().await.kind, ErrorKind::Redirected, "{place}");
        assert_eq!(double.heard().len(), 1);
    }
    assert!(elsewhere.heard().is_empty());
}

#[tokio::test]
async fn the_same_origin_is_followed_three_times() {
    let onward = answer("308 Permanent Redirect", "location: /elsewhere?x=1\r\n", "");
    let double = Double::new(vec![
        onward.clone(),
        onward.clone(),
        onward.clone(),
        ok(PAGE),
    ])
    .await;
    assert!(double.client().list(20, &Cursor::Start).await.is_ok());
    assert!(double.heard()[3].starts_with("GET /elsewhere?x=1 "));
    let double = Double::new(vec![onward]).await;
    assert_eq!(double.fails().await.kind, ErrorKind::Redirected);
    assert_eq!(double.heard().len(), 4);
}

#[tokio::test]
async fn only_transient_errors_are_retried() {
    let cut_short = answer("200 OK", "", PAGE)[..120].to_vec();
    let truncated = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\":[".to_vec();
    for (sent, kind, requests) in [
        (
            answer(
                "500 Oops",
                "",
                r#"{"name":"internal_server_error","message":"x"}"#,
            ),
            ErrorKind::Server,
            4,
        ),
        (
            answer("502 Bad Gateway", "", "<html>"),
            ErrorKind::Server,
            4,
        ),
        (cut_short, ErrorKind::Unreachable, 4),
        (truncated, ErrorKind::Unreachable, 4),
        (
            ok(r#"{"object":"list","data":[{"id":"#),
            ErrorKind::NotTheApi,
            4,
        ),
        (Vec::new(), ErrorKind::Unreachable, 4),
        (
            answer(
                "401 No",
                "",
                r#"{"name":"validation_error","message":"API key is invalid"}"#,
            ),
            ErrorKind::KeyRejected,
            1,
        ),
        (
            answer(
                "400 No",
                "",
                format!(r#"{{"message":"API key {KEY} is invalid"}}"#),
            ),
            ErrorKind::KeyRejected,
            1,
        ),
        (
            answer(
                "401 No",
                "",
                r#"{"name":"restricted_api_key","message":"restricted to only send emails"}"#,
            ),
            ErrorKind::KeySendOnly,
            1,
        ),
        (
            answer(
                "422 No",
                "",
                r#"{"name":"validation_error","message":"limit"}"#,
            ),
            ErrorKind::InvalidRequest,
            1,
        ),
        (
            answer(
                "404 No",
                "",
                r#"{"name":"not_found","message":"no such path"}"#,
            ),
            ErrorKind::NotTheApi,
            1,
        ),
        (
            answer(
                "429 No",
                "",
                r#"{"name":"daily_quota_exceeded","message":"x"}"#,
            ),
            ErrorKind::Quota,
            1,
        ),
        (answer("304 Not Modified", "", ""), ErrorKind::NotTheApi, 1),
        (
            b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            ErrorKind::NotTheApi,
            1,
        ),
        (
            ok("<html><title>Log in to the hotel</title>"),
            ErrorKind::NotTheApi,
            1,
        ),
        (ok(""), ErrorKind::NotTheApi, 1),
        (ok("[]"), ErrorKind::NotTheApi, 1),
        (ok("{}"), ErrorKind::NotTheApi, 1),
        (b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), ErrorKind::NotTheApi, 1),
    ] {
        let shown = String::from_utf8_lossy(&sent).into_owned();
        let double = Double::new(vec![sent]).await;
        assert_eq!(
            (double.fails().await.kind, double.heard().len()),
            (kind, requests),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn the_words_say_what_came_instead() {
    let double = Double::new(vec![ok(
        "<html><title>\u{1b}[31mLog in\u{202e} to the hotel</title>",
    )])
    .await;
    let failure = double.fails().await;
    let expected = format!(
        "unexpected response from http://{}: not this API's JSON: \"<html><title>\u{fffd}[31mLog in\u{fffd} to the hotel</title>\"",
        double.address
    );
    assert_eq!(failure.message, expected);
    assert!(failure.hint.contains("base URL"));
}

#[tokio::test]
async fn a_fault_that_passes_is_not_noticed() {
    let busy = |header: &str| {
        answer(
            "429 Too Many Requests",
            header,
            r#"{"name":"rate_limit_exceeded","message":"x"}"#,
        )
    };
    let past =
        "retry-after: Thu, 01 Jan 2026 00:00:00 GMT\r\ndate: Thu, 01 Jan 2026 00:00:01 GMT\r\n";
    for passing in [
        answer("503 Busy", "", ""),
        answer("503 Busy", "retry-after: 0\r\n", ""),
        busy("retry-after: 0\r\n"),
        busy(past),
        busy("ratelimit-reset: 0.01\r\n"),
    ] {
        let shown = String::from_utf8_lossy(&passing).into_owned();
        let double = Double::new(vec![passing, ok(PAGE)]).await;
        assert!(
            double.client().list(20, &Cursor::Start).await.is_ok(),
            "{shown}"
        );
        assert_eq!(double.heard().len(), 2);
    }
}

#[tokio::test]
async fn retry_after_beyond_budget_fails_with_time() {
    for header in [
        "retry-after: 86400\r\n",
        "retry-after: Fri, 02 Jan 2026 00:00:00 GMT\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
        "ratelimit-reset: 86400\r\n",
    ] {
        let double = Double::new(vec![answer("429 Too Many Requests", header, "")]).await;
        let client = double.client();
        let failure = client.list(20, &Cursor::Start).await.unwrap_err();
        assert_eq!(
            (failure.kind, failure.retry_after),
            (ErrorKind::RateLimited, Some(Duration::from_hours(24))),
            "{header}"
        );
        assert_eq!(failure.hint, "try again in 24 h");
        assert!(client.rate_budget().paused_for > Duration::from_hours(23));
        // The next request is not even sent: the service asked for silence.
        assert_eq!(
            client.list(20, &Cursor::Start).await.unwrap_err().kind,
            ErrorKind::RateLimited
        );
        assert_eq!(double.heard().len(), 1);
    }
}

#[tokio::test]
async fn cancelled_request_is_not_sent() {
    let double = Double::new(vec![ok(PAGE)]).await;
    let access = ClientConfig {
        base_url: BaseUrl::parse(&format!("http://{}", double.address)).unwrap(),
        key: ApiKey::new(KEY, "a test"),
        ca_file: None,
        rate: Rate::explicit(0.01).unwrap(),
        rate_file: None,
    };
    let client = Client::new(access, RetryPolicy::ONE_SHOT, clock::system_clock());
    for _ in 0..4 {
        client.list(20, &Cursor::Start).await.unwrap();
    }
    let wish = RequestHandle::new(Priority::Interactive);
    let queued = client.with_priority(&wish);
    let (asked, ()) = tokio::join!(queued.list(20, &Cursor::Start), async {
        tokio::task::yield_now().await;
        wish.cancel();
    });
    assert!(asked.is_err() && double.heard().len() == 4);
}

#[tokio::test]
async fn cancelled_request_stops_waiting_for_response() {
    let double = Double::holding(vec![Vec::new()], true).await;
    let wish = RequestHandle::new(Priority::Interactive);
    let (client, id) = (double.client().with_priority(&wish), EmailId::new("a"));
    let (asked, ()) = tokio::join!(client.retrieve(&id), async {
        while double.heard().is_empty() {
            tokio::task::yield_now().await;
        }
        wish.cancel();
    });
    assert_eq!(
        (asked.unwrap_err().kind, double.heard().len()),
        (ErrorKind::Internal, 1)
    );
    let failure = client.list(20, &Cursor::Start).await.unwrap_err();
    assert_eq!(
        (failure.kind, double.heard().len()),
        (ErrorKind::Internal, 1),
        "and nothing more is asked for it"
    );
}

#[tokio::test]
async fn rate_budget_follows_last_response() {
    let headers = "ratelimit-limit: 10\r\nratelimit-policy: 10;w=1\r\nratelimit-remaining: 7\r\nratelimit-reset: 1\r\n";
    let double = Double::new(vec![answer("200 OK", headers, PAGE)]).await;
    let client = double.client();
    client.list(20, &Cursor::Start).await.unwrap();
    let budget = client
        .with_priority(&RequestHandle::new(Priority::Backfill))
        .rate_budget();
    assert_eq!(
        (budget.limit, budget.remaining, budget.paused_for),
        (Some(10), Some(7), Duration::ZERO)
    );
    assert!(
        (budget.rate - 9.0).abs() < 1e-9,
        "a rate by hand goes to 90 % of the limit"
    );
}

#[tokio::test]
async fn endless_response_is_cut_off() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        packed.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = answer(
        "200 OK",
        "content-encoding: gzip\r\n",
        packed.finish().unwrap(),
    );
    let failure = Double::new(vec![bomb]).await.fails().await;
    assert_eq!(failure.kind, ErrorKind::NotTheApi);
    assert!(
        failure.message.contains("larger than 24 MB"),
        "{}",
        failure.message
    );

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(PAGE.as_bytes()).unwrap();
    let packed = answer(
        "200 OK",
        "content-encoding: gzip\r\n",
        packed.finish().unwrap(),
    );
    assert!(
        Double::new(vec![packed])
            .await
            .client()
            .list(20, &Cursor::Start)
            .await
            .is_ok()
    );
    let lie = answer("200 OK", "content-encoding: gzip\r\n", PAGE);
    assert_eq!(
        Double::new(vec![lie]).await.fails().await.kind,
        ErrorKind::Unreachable
    );
}

#[tokio::test]
async fn silence_ends_with_patience() {
    let double = Double::holding(
        vec![b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec()],
        true,
    )
    .await;
    let access = ClientConfig {
        base_url: BaseUrl::parse(&format!("http://{}", double.address)).unwrap(),
        key: ApiKey::new(KEY, "a test"),
        ca_file: None,
        rate: Rate::default(),
        rate_file: None,
    };
    let patience = RetryPolicy {
        max_attempts: 4,
        total_timeout: Duration::from_millis(50),
        max_server_pauses: Duration::ZERO,
        initial_backoff: Duration::from_millis(1),
        cancel_grace: Duration::ZERO,
    };
    let failure = Client::new(access, patience, clock::system_clock())
        .list(20, &Cursor::Start)
        .await
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Unreachable);
    assert!(
        failure.message.ends_with("timed out"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn refused_connection_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = client(&base).list(20, &Cursor::Start).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.message),
        (
            ErrorKind::Unreachable,
            format!("connection refused by {base}")
        )
    );
}

#[tokio::test]
async fn key_is_not_sent_without_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let service = client(&base);
    let asked = service.list(20, &Cursor::Start);
    let answered = async {
        let mut heard = Vec::new();
        if let Ok((mut stream, _)) = listener.accept().await {
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            // However the client hangs up, what it said until then is there.
            let _ = stream.read_to_end(&mut heard).await;
        }
        heard
    };
    let mut answered = std::pin::pin!(answered);
    let mut heard = Vec::new();
    let mut asked = std::pin::pin!(asked);
    let failure = loop {
        tokio::select! {
            outcome = &mut asked => break outcome.unwrap_err(),
            said = &mut answered, if heard.is_empty() => heard = said,
        }
    };
    // A machine without certificates does not even get that far.
    assert!(
        matches!(failure.kind, ErrorKind::Unreachable | ErrorKind::Config),
        "{failure:?}"
    );
    assert!(
        !heard
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes())
    );
}

#[tokio::test]
async fn without_key_no_request_is_sent() {
    let double = Double::new(vec![ok(PAGE)]).await;
    let missing = Error::new(ErrorKind::KeyMissing, "there is no API key");
    let base_url = BaseUrl::parse(&format!("http://{}", double.address)).unwrap();
    let access = ClientConfig {
        base_url,
        key: Err(missing.clone()),
        ca_file: None,
        rate: Rate::default(),
        rate_file: None,
    };
    let client = Client::new(access, RetryPolicy::ONE_SHOT, clock::system_clock());
    assert_eq!(client.list(20, &Cursor::Start).await.unwrap_err(), missing);
    assert!(double.heard().is_empty());
}
