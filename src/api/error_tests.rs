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

fn error(status: u16, body: &str, endpoint: Endpoint) -> Error {
    let error = RequestError::Http(HttpError::parse(status, body.as_bytes(), None));
    error.into_error(endpoint, &BaseUrl::resend())
}

fn kind(status: u16, body: &str, endpoint: Endpoint) -> ErrorKind {
    error(status, body, endpoint).kind
}

/// Writes the body of an error 404 with this message.
fn json(message: &str) -> String {
    format!(r#"{{"statusCode":404,"name":"not_found","message":"{message}"}}"#)
}

#[test]
fn key_errors_follow_name_then_message_then_status() {
    for (status, body, expected) in [
        (
            400,
            r#"{"statusCode":400,"message":"API key is invalid","name":"validation_error"}"#,
            KeyRejected,
        ),
        (
            401,
            r#"{"message":"API key is invalid","name":"validation_error"}"#,
            KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is invalid","name":"invalid_api_key"}"#,
            KeyRejected,
        ),
        (
            401,
            r#"{"message":"Missing API Key","name":"missing_api_key"}"#,
            KeyRejected,
        ),
        (
            403,
            r#"{"message":"This API key is suspended","name":"suspended_api_key"}"#,
            KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is not active","name":"restricted_api_key"}"#,
            KeyRejected,
        ),
        (
            401,
            r#"{"message":"This API key is restricted to only send emails","name":"restricted_api_key"}"#,
            KeySendOnly,
        ),
        (
            403,
            r#"{"message":"scopes missing","name":"invalid_permission"}"#,
            KeySendOnly,
        ),
        (401, r#"{"error":"Unauthorized"}"#, KeyRejected),
        (403, "error code: 1010", KeyRejected),
    ] {
        assert_eq!(kind(status, body, FirstPage), expected, "{status} {body}");
    }
}

#[test]
fn other_errors_depend_on_the_endpoint() {
    let validation =
        r#"{"statusCode":422,"name":"validation_error","message":"The `id` must be a valid UUID"}"#;
    let missing = r#"{"name":"not_found","message":"Email not found"}"#;
    for (status, body, endpoint, expected) in [
        (404, missing, Email, NotFound),
        (404, missing, PageAtCursor, NotFound),
        (404, missing, FirstPage, NotTheApi),
        (404, "<html>404</html>", Email, NotTheApi),
        (422, validation, Email, NotFound),
        (422, validation, PageAtCursor, InvalidRequest),
        (429, r#"{"name":"daily_quota_exceeded"}"#, FirstPage, Quota),
        (429, "", FirstPage, RateLimited),
        (502, "<html>Bad gateway</html>", FirstPage, Server),
        (204, "", FirstPage, NotTheApi),
        (408, "<html>Request timeout</html>", PageAtCursor, Server),
        (409, r#"{"name":"resource_locked"}"#, PageAtCursor, Server),
        (425, "", PageAtCursor, Server),
        (418, "I'm a teapot", FirstPage, NotTheApi),
        (
            400,
            r#"{"error":{"code":"BAD"}}"#,
            FirstPage,
            InvalidRequest,
        ),
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
            assert_eq!(kind(404, &json(message), endpoint), expected, "{message}");
        }
    }
    let cursor = "The pagination cursor references an object that does not exist. See https://resend.com/docs/api-reference/pagination";
    assert_eq!(kind(404, &json(cursor), PageAtCursor), NotFound);
    for (message, expected) in [
        ("The `id` must be a valid UUID", NotFound),
        ("invalid uuid", NotFound),
        ("The account is being migrated", InvalidRequest),
        ("Validation failed", InvalidRequest),
    ] {
        assert_eq!(kind(422, &json(message), Email), expected, "{message}");
    }
}

#[test]
fn expired_certificate_error_names_its_dates() {
    let why = "invalid peer certificate: certificate expired: verification time 1795676400 (UNIX), but certificate is not valid after 1577836800 (217839600 seconds ago)";
    let error = RequestError::Tls(why.to_owned()).into_error(FirstPage, &BaseUrl::resend());
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
    for (endpoint, body, expected) in [
        (Attachments, json("Email not found"), NotFound),
        (
            Attachments,
            json("The requested endpoint does not exist"),
            Unsupported,
        ),
        (
            Attachments,
            json("Cannot GET /emails/1/attachments"),
            Unsupported,
        ),
        (
            Attachments,
            r#"{"error":"Not found"}"#.to_owned(),
            Unsupported,
        ),
        (Attachments, "404 Not Found".to_owned(), Unsupported),
        (Suppression, json("Suppression not found"), NotFound),
        (Suppression, json("Email not found"), Unsupported),
        (
            Suppression,
            json("Cannot GET /suppressions/a@example.com"),
            Unsupported,
        ),
        (
            Suppression,
            json("The requested endpoint does not exist"),
            Unsupported,
        ),
        (
            Suppression,
            "<html>404, no such address</html>".to_owned(),
            Unsupported,
        ),
        (Attachment, json("Attachment not found"), NoSuchPart),
        (
            Download,
            "<Error>API key is invalid</Error>".to_owned(),
            Server,
        ),
    ] {
        assert_eq!(kind(404, &body, endpoint), expected, "{body}");
    }
    for (status, body) in [
        (404, json("Email not found")),
        (405, String::new()),
        (501, String::new()),
        (422, json("The `id` must be a valid UUID")),
        (400, "Bad Request".to_owned()),
    ] {
        assert_eq!(kind(status, &body, Metrics), Unsupported, "{status} {body}");
    }
    for message in ["The `email_id` must be a valid UUID", "Invalid start_date"] {
        assert_eq!(kind(422, &json(message), Metrics), InvalidRequest);
    }
    assert_eq!(kind(405, "", Suppression), Unsupported);
    assert_eq!(kind(403, "API key is invalid", Download), Server);
}

#[test]
fn rejected_first_received_page_means_unsupported() {
    for (status, body) in [
        (404, r#"{"message":"Email not found","name":"not_found"}"#),
        (404, "<html>"),
        (405, ""),
        (
            422,
            r#"{"message":"The `id` must be a valid UUID","name":"validation_error"}"#,
        ),
        (501, "not implemented"),
    ] {
        let of = |endpoint| kind(status, body, endpoint);
        assert_eq!(of(FirstReceivedPage), Unsupported, "{status} {body}");
        assert_ne!(of(FirstPage), Unsupported);
        assert_ne!(of(PageAtCursor), Unsupported);
    }
    assert_eq!(kind(500, "", FirstReceivedPage), Server);
}

#[test]
fn withheld_email_is_no_fault_of_the_key() {
    let body = r#"{"statusCode":403,"message":"Above quota","name":"email_above_quota"}"#;
    assert_eq!(kind(403, body, Email), NoSuchPart);
}

#[tokio::test]
async fn unanswered_tls_handshake_is_named() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let client = reqwest::Client::builder()
        .connect_timeout(Duration::from_millis(20))
        .no_proxy()
        .tls_certs_only([])
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
