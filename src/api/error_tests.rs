//! The error of each response of the service and its imitators.

use Endpoint::{
    Attachment, Attachments, Download, Email, FirstPage, FirstReceivedPage, Metrics, PageAtCursor,
    Suppression,
};
use ErrorKind::{
    InvalidRequest, KeyRejected, KeySendOnly, NoSuchPart, NotFound, NotTheApi, Quota, RateLimited,
    Server, Unsupported,
};

use super::*;
use crate::config::BaseUrl;
use crate::text::checks::TextChecks as _;

fn error(status: u16, body: &str, endpoint: Endpoint) -> Error {
    let error = RequestError::Http(HttpError::parse(status, body.as_bytes(), None));
    error.into_error(endpoint, &BaseUrl::resend())
}

fn kind(status: u16, body: &str, endpoint: Endpoint) -> ErrorKind {
    error(status, body, endpoint).kind
}

fn body(name: &str, message: &str) -> String {
    format!(r#"{{"statusCode":404,"name":"{name}","message":"{message}"}}"#)
}

fn missing(message: &str) -> String {
    body("not_found", message)
}

#[test]
fn key_errors_follow_name_then_message_then_status() {
    const INVALID: &str = "API key is invalid";
    const SEND_ONLY: &str = "This API key is restricted to only send emails";
    for (status, name, message, expected) in [
        (400, "validation_error", INVALID, KeyRejected),
        (401, "validation_error", INVALID, KeyRejected),
        (403, "invalid_api_key", INVALID, KeyRejected),
        (401, "missing_api_key", "Missing API Key", KeyRejected),
        (403, "suspended_api_key", "It is suspended", KeyRejected),
        (403, "restricted_api_key", "It is not active", KeyRejected),
        (401, "restricted_api_key", SEND_ONLY, KeySendOnly),
        (403, "invalid_permission", "scopes missing", KeySendOnly),
        (403, "email_above_quota", "Above quota", NoSuchPart),
    ] {
        let found = kind(status, &body(name, message), FirstPage);
        assert_eq!(found, expected, "{status} {name} {message}");
    }
    for (status, body) in [
        (401, r#"{"error":"Unauthorized"}"#),
        (403, "error code: 1010"),
    ] {
        assert_eq!(kind(status, body, FirstPage), KeyRejected, "{body}");
    }
}

#[test]
fn other_errors_depend_on_the_endpoint() {
    let validation = &*body("validation_error", "The `id` must be a valid UUID");
    let missing = &*missing("Email not found");
    let other_shape = r#"{"error":{"code":"BAD"}}"#;
    for (status, body, endpoint, expected) in [
        (404, missing, Email, NotFound),
        (404, missing, PageAtCursor, NotFound),
        (404, missing, FirstPage, NotTheApi),
        (404, "<html>404</html>", Email, NotTheApi),
        (422, validation, Email, NotFound),
        (400, validation, Email, NotFound),
        (422, validation, PageAtCursor, InvalidRequest),
        (429, r#"{"name":"daily_quota_exceeded"}"#, FirstPage, Quota),
        (429, "", FirstPage, RateLimited),
        (502, "<html>Bad gateway</html>", FirstPage, Server),
        (204, "", FirstPage, NotTheApi),
        (408, "<html>Request timeout</html>", PageAtCursor, Server),
        (409, r#"{"name":"resource_locked"}"#, PageAtCursor, Server),
        (425, "", PageAtCursor, Server),
        (418, "I'm a teapot", FirstPage, NotTheApi),
        (400, other_shape, FirstPage, InvalidRequest),
    ] {
        assert_eq!(kind(status, body, endpoint), expected, "{status} {body}");
    }
}

#[test]
fn only_missing_email_proves_that_it_is_missing() {
    for (message, expected) in [
        ("Email not found", NotFound),
        ("Not Found", NotFound),
        ("No such message", NotFound),
        ("Resource does not exist", NotFound),
        ("The requested endpoint does not exist", NotTheApi),
        ("Domain not found", NotTheApi),
        ("Cannot GET /emails/1", NotTheApi),
        ("No route matches /emails/1", NotTheApi),
        ("Path /v1/emails/1 not found", NotTheApi),
        ("<html>404</html>", NotTheApi),
        ("Workspace not found", NotTheApi),
    ] {
        for endpoint in [Email, PageAtCursor] {
            assert_eq!(
                kind(404, &missing(message), endpoint),
                expected,
                "{message}"
            );
        }
    }
    let cursor = "The pagination cursor references an object that does not exist. See https://resend.com/docs/api-reference/pagination";
    assert_eq!(kind(404, &missing(cursor), PageAtCursor), NotFound);
    for (message, expected) in [
        ("The `id` must be a valid UUID", NotFound),
        ("invalid uuid", NotFound),
        ("The account is being migrated", InvalidRequest),
        ("Validation failed", InvalidRequest),
    ] {
        assert_eq!(kind(422, &missing(message), Email), expected, "{message}");
    }
}

#[test]
fn expired_certificate_error_names_its_dates() {
    let [time, not_after] = [1_795_676_400, 1_577_836_800]
        .map(|secs| UnixTime::since_unix_epoch(Duration::from_secs(secs)));
    let expired = rustls::Error::InvalidCertificate(ExpiredContext { time, not_after });
    let error = RequestError::Tls(describe_tls(&expired));
    let error = error.into_error(FirstPage, &BaseUrl::resend());
    assert!(error.message.ends_with("verification time 2026-11-26 07:00 UTC, but certificate is not valid after 2020-01-01 00:00 UTC"), "{}", error.message);
    assert!(error.hint.contains("clock"), "{}", error.hint);
}

#[test]
fn missing_list_operation_has_a_hint() {
    for status in [404, 405] {
        let hint = |endpoint| error(status, "not found", endpoint).hint;
        let text = "no list operation; sentbox show ID works";
        assert!(hint(FirstPage).contains(text), "{status}");
        assert!(!hint(Email).contains("list"), "{status}");
    }
}

#[test]
fn excerpts_are_short_and_sanitized() {
    let body = format!("<html>\n\u{1b}]0;gotcha\u{7}{}", "x".repeat(10_000));
    let error = error(418, &body, FirstPage);
    assert!(!error.message.chars().any(char::is_control));
    assert!(
        error.message.contains("<html>") && error.message.chars().count() < 160,
        "{}",
        error.message
    );
    let error = RequestError::UnexpectedBody {
        body_prefix: "<html><title>\u{1b}[31mLog in\u{202e} to the hotel</title>".to_owned(),
        is_truncated: false,
    };
    let error = error.into_error(FirstPage, &BaseUrl::resend());
    assert_eq!(
        error.message,
        "unexpected response from https://api.resend.com: not this API's JSON: \"<html><title>\u{fffd}[31mLog in\u{fffd} to the hotel</title>\""
    );
    assert!(error.hint.contains("base URL"));
}

#[test]
fn only_temporary_errors_are_retried() {
    let retry =
        |status, body: &str, wait| HttpError::parse(status, body.as_bytes(), wait).retry_action();
    let wait = Some(Duration::from_secs(3));
    let after = RetryAction::After(Duration::from_secs(3));
    assert_eq!(retry(500, "", None), RetryAction::Backoff);
    assert_eq!(retry(503, "", None), RetryAction::Backoff);
    assert_eq!(retry(503, "", wait), after);
    assert_eq!(retry(429, "", wait), after);
    let quota = r#"{"name":"monthly_quota_exceeded"}"#;
    assert_eq!(retry(429, quota, wait), RetryAction::Never);
    for status in [408, 409, 425] {
        assert_eq!(retry(status, "", None), RetryAction::Backoff, "{status}");
        assert_eq!(retry(status, "", wait), after, "{status}");
    }
    for status in [204, 304, 400, 401, 403, 404, 422, 501] {
        assert_eq!(retry(status, "", None), RetryAction::Never, "{status}");
    }
}

#[test]
fn echoed_key_is_redacted() {
    let long = format!("{}re_canary_123456789{}", "x".repeat(70), "y".repeat(70));
    for body in [
        r#"{"message":"API key re_canary_123456789 is invalid"}"#,
        &long,
    ] {
        let cause = RequestError::Http(HttpError::parse(401, body.as_bytes(), None))
            .redact("re_canary_123456789");
        let error = cause.into_error(FirstPage, &BaseUrl::resend());
        assert!(!error.message.contains("re_c"), "{}", error.message);
    }
}

#[test]
fn missing_operation_differs_from_missing_email_and_address() {
    let no_endpoint = &*missing("The requested endpoint does not exist");
    let no_path = &*missing("Cannot GET /emails/1/attachments");
    let no_list = &*missing("Cannot GET /suppressions/a@example.com");
    let no_email = &*missing("Email not found");
    let no_suppression = &*missing("Suppression not found");
    let no_attachment = &*missing("Attachment not found");
    let html = "<html>404, no such address</html>";
    for (endpoint, body, expected) in [
        (Attachments, no_email, NotFound),
        (Attachments, no_endpoint, Unsupported),
        (Attachments, no_path, Unsupported),
        (Attachments, r#"{"error":"Not found"}"#, Unsupported),
        (Attachments, "404 Not Found", Unsupported),
        (Suppression, no_suppression, NotFound),
        (Suppression, no_email, Unsupported),
        (Suppression, no_list, Unsupported),
        (Suppression, no_endpoint, Unsupported),
        (Suppression, html, Unsupported),
        (Attachment, no_attachment, NoSuchPart),
        (Download, "<Error>API key is invalid</Error>", Server),
        (Metrics, no_email, Unsupported),
    ] {
        assert_eq!(kind(404, body, endpoint), expected, "{body}");
    }
    let wrong_id = &*missing("The `id` must be a valid UUID");
    for (status, body) in [(405, ""), (501, ""), (422, wrong_id), (400, "Bad Request")] {
        assert_eq!(kind(status, body, Metrics), Unsupported, "{status} {body}");
    }
    for message in ["The `email_id` must be a valid UUID", "Invalid start_date"] {
        assert_eq!(kind(422, &missing(message), Metrics), InvalidRequest);
    }
    assert_eq!(kind(405, "", Suppression), Unsupported);
    assert_eq!(kind(403, "API key is invalid", Download), Server);
}

#[test]
fn rejected_first_received_page_means_unsupported() {
    let missing = &*missing("Email not found");
    let wrong_id = &*body("validation_error", "The `id` must be a valid UUID");
    for (status, body) in [
        (404, missing),
        (404, "<html>"),
        (405, ""),
        (422, wrong_id),
        (501, "not implemented"),
    ] {
        let of = |endpoint| kind(status, body, endpoint);
        assert_eq!(of(FirstReceivedPage), Unsupported, "{status} {body}");
        assert_ne!(of(FirstPage), Unsupported);
        assert_ne!(of(PageAtCursor), Unsupported);
    }
    assert_eq!(kind(500, "", FirstReceivedPage), Server);
}

fn http_client() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([])
}

/// Starts a server that reads once, and answers each connection with these bytes.
fn answer_with(bytes: &'static [u8]) -> std::net::SocketAddr {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(bytes);
        }
    });
    address
}

#[tokio::test]
async fn unanswered_tls_handshake_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let client = http_client()
        .connect_timeout(Duration::from_millis(20))
        .no_proxy()
        .build()
        .unwrap();
    let sent = client.get(url).send().await;
    let error = RequestError::from_reqwest(&sent.unwrap_err());
    let error = error.into_error(FirstPage, &BaseUrl::resend());
    assert_eq!(
        (error.message.as_str(), error.hint.as_str()),
        (
            "no connection to https://api.resend.com: connection or TLS handshake timed out",
            "check the network, and that this port speaks https"
        )
    );
}

#[tokio::test]
async fn error_of_proxy_names_the_proxy() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let refuses = dead.local_addr().unwrap();
    drop(dead);
    let forbids = answer_with(b"HTTP/1.1 403 Forbidden\r\n\r\n");
    let locked = answer_with(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    for (proxy, expected) in [
        (
            format!("http://{refuses}"),
            " does not run: connection refused",
        ),
        (format!("http://{forbids}"), " refused to connect to it"),
        (
            format!("http://{locked}"),
            "proxy authentication required by the proxy",
        ),
        (format!("http://{}", answer_with(b"")), " failed: "),
        (
            "http://proxy.invalid".to_owned(),
            "could not resolve the host of the proxy",
        ),
    ] {
        let proxy = reqwest::Proxy::https(proxy).unwrap();
        let client = http_client().proxy(proxy).build().unwrap();
        let sent = client.get("https://mail.example.com/").send().await;
        let error = RequestError::from_reqwest(&sent.unwrap_err());
        let error = error.into_error(FirstPage, &BaseUrl::resend());
        let start = "no connection to https://api.resend.com: ";
        let why = error.message.strip_prefix(start).unwrap();
        assert!(why.contains("the proxy") && why.contains(expected), "{why}");
        assert!(error.hint.contains("NO_PROXY"), "{}", error.hint);
    }
}

#[tokio::test]
async fn port_with_other_scheme_has_a_hint() {
    let client = http_client().no_proxy().build().unwrap();
    let hint = async |url: &str, base: &str| {
        let error = RequestError::from_reqwest(&client.get(url).send().await.unwrap_err());
        error
            .into_error(FirstPage, &BaseUrl::parse(base).unwrap())
            .hint
    };
    let plain = answer_with(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let url = format!("https://{plain}/");
    let local = hint(&url, "https://localhost").await;
    let expected = "that port does not speak TLS; is the base URL http://?";
    assert_eq!(local, expected);
    let remote = hint(&url, "https://mail.example.com").await;
    remote.assert_contains("does not speak TLS");
    remote.assert_lacks("http:");
    let alert = answer_with(b"\x15\x03\x01\x00\x02\x02\x46");
    let tls = hint(&format!("http://{alert}/"), "http://localhost").await;
    assert!(tls.contains("https://"), "{tls}");
}

#[test]
fn authority_as_server_has_no_hint_to_trust_it() {
    let hint = |why: &str| {
        let error = RequestError::Tls(why.to_owned());
        error.into_error(FirstPage, &BaseUrl::resend()).hint
    };
    let authority = hint("self-signed certificate, or one of an authority (CA:TRUE)");
    assert!(authority.contains("CA:FALSE") && !authority.contains("--ca-file"));
    assert!(hint("invalid peer certificate: UnknownIssuer").contains("--ca-file"));
    let other_name = r#"invalid peer certificate: certificate not valid for name "localhost"; certificate is only valid for DnsName("mail.example.com")"#;
    assert_eq!(hint(other_name), NAME_HINT);
    let of_library = "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))";
    assert_eq!(tls_hint(of_library), Some(END_ENTITY_HINT));
    let of_database = "invalid peer certificate: Expired";
    assert_eq!(tls_hint(of_database), Some(CLOCK_HINT));
    assert_eq!(tls_hint("server does not support TLS"), Some(NO_TLS_HINT));
}
