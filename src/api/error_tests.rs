//! The error of each response of the service and its imitators.

use super::*;
use crate::config::BaseUrl;

fn kind(status: u16, body: &str, endpoint: Endpoint) -> ErrorKind {
    RequestError::Http(HttpError::parse(status, body.as_bytes(), None))
        .into_error(endpoint, &BaseUrl::resend())
        .kind
}

#[test]
fn key_errors_follow_name_then_message_then_status() {
    for (status, body, expected) in [
        (
            400,
            r#"{"statusCode":400,"message":"API key is invalid","name":"validation_error"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"API key is invalid","name":"validation_error"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is invalid","name":"invalid_api_key"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"Missing API Key","name":"missing_api_key"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"This API key is suspended","name":"suspended_api_key"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is not active","name":"restricted_api_key"}"#,
            ErrorKind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"This API key is restricted to only send emails","name":"restricted_api_key"}"#,
            ErrorKind::KeySendOnly,
        ),
        (
            403,
            r#"{"message":"scopes missing","name":"invalid_permission"}"#,
            ErrorKind::KeySendOnly,
        ),
        (401, r#"{"error":"Unauthorized"}"#, ErrorKind::KeyRejected),
        (403, "error code: 1010", ErrorKind::KeyRejected),
    ] {
        assert_eq!(
            kind(status, body, Endpoint::FirstPage),
            expected,
            "{status} {body}"
        );
    }
}

#[test]
fn other_errors_depend_on_the_endpoint() {
    let validation =
        r#"{"statusCode":422,"name":"validation_error","message":"The `id` must be a valid UUID"}"#;
    let missing = r#"{"name":"not_found","message":"Email not found"}"#;
    assert_eq!(kind(404, missing, Endpoint::Email), ErrorKind::NotFound);
    assert_eq!(
        kind(404, missing, Endpoint::PageAtCursor),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(404, missing, Endpoint::FirstPage),
        ErrorKind::NotTheApi
    );
    assert_eq!(
        kind(404, "<html>404</html>", Endpoint::Email),
        ErrorKind::NotTheApi
    );
    assert_eq!(kind(422, validation, Endpoint::Email), ErrorKind::NotFound);
    assert_eq!(
        kind(422, validation, Endpoint::PageAtCursor),
        ErrorKind::InvalidRequest
    );
    assert_eq!(
        kind(
            429,
            r#"{"name":"daily_quota_exceeded"}"#,
            Endpoint::FirstPage
        ),
        ErrorKind::Quota
    );
    assert_eq!(kind(429, "", Endpoint::FirstPage), ErrorKind::RateLimited);
    assert_eq!(
        kind(502, "<html>Bad gateway</html>", Endpoint::FirstPage),
        ErrorKind::Server
    );
    assert_eq!(kind(204, "", Endpoint::FirstPage), ErrorKind::NotTheApi);
    for (status, body) in [
        (408, "<html>Request timeout</html>"),
        (409, r#"{"name":"resource_locked","message":"x"}"#),
        (425, ""),
    ] {
        assert_eq!(
            kind(status, body, Endpoint::PageAtCursor),
            ErrorKind::Server,
            "{status}"
        );
    }
    assert_eq!(
        kind(418, "I'm a teapot", Endpoint::FirstPage),
        ErrorKind::NotTheApi
    );
    assert_eq!(
        kind(
            400,
            r#"{"error":{"code":"BAD","message":"no"}}"#,
            Endpoint::FirstPage
        ),
        ErrorKind::InvalidRequest
    );
}

#[test]
fn only_missing_email_proves_that_it_is_missing() {
    let json =
        |message: &str| format!(r#"{{"statusCode":404,"name":"not_found","message":"{message}"}}"#);
    for (message, is_proof) in [
        ("Email not found", true),
        ("Not Found", true),
        ("No such message", true),
        ("Resource does not exist", true),
        ("The requested endpoint does not exist", false),
        ("Domain not found", false),
        ("Cannot GET /emails/1", false),
        ("No route matches /emails/1", false),
        ("Path /v1/emails/1 not found", false),
        ("<html>404</html>", false),
        ("Workspace not found", false),
    ] {
        let expected = if is_proof {
            ErrorKind::NotFound
        } else {
            ErrorKind::NotTheApi
        };
        for endpoint in [Endpoint::Email, Endpoint::PageAtCursor] {
            assert_eq!(kind(404, &json(message), endpoint), expected, "{message}");
        }
    }
    let cursor = "The pagination cursor references an object that does not exist. See https://resend.com/docs/api-reference/pagination";
    assert_eq!(
        kind(404, &json(cursor), Endpoint::PageAtCursor),
        ErrorKind::NotFound
    );
    for (message, expected) in [
        ("The `id` must be a valid UUID", ErrorKind::NotFound),
        ("invalid uuid", ErrorKind::NotFound),
        ("The account is being migrated", ErrorKind::InvalidRequest),
        ("Validation failed", ErrorKind::InvalidRequest),
    ] {
        assert_eq!(
            kind(422, &json(message), Endpoint::Email),
            expected,
            "{message}"
        );
    }
}

#[test]
fn expired_certificate_error_names_its_dates() {
    let why = "invalid peer certificate: certificate expired: verification time 1795676400 (UNIX), but certificate is not valid after 1577836800 (217839600 seconds ago)";
    let error =
        RequestError::Tls(why.to_owned()).into_error(Endpoint::FirstPage, &BaseUrl::resend());
    assert!(error.message.ends_with("verification time 2026-11-26 07:00 UTC, but certificate is not valid after 2020-01-01 00:00 UTC"), "{}", error.message);
    assert!(error.hint.contains("clock"), "{}", error.hint);
}

#[test]
fn missing_list_operation_has_a_hint() {
    let hint = |status, endpoint| {
        RequestError::Http(HttpError::parse(status, b"not found", None))
            .into_error(endpoint, &BaseUrl::resend())
            .hint
    };
    for status in [404, 405] {
        assert!(
            hint(status, Endpoint::FirstPage).contains("no list operation; sentbox show ID works"),
            "{status}"
        );
        assert!(!hint(status, Endpoint::Email).contains("list"), "{status}");
    }
}

#[test]
fn excerpts_are_short_and_sanitized() {
    let body = format!("<html>\n\u{1b}]0;gotcha\u{7}{}", "x".repeat(10_000));
    let error = RequestError::Http(HttpError::parse(418, body.as_bytes(), None))
        .into_error(Endpoint::FirstPage, &BaseUrl::resend());
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
    let error = error.into_error(Endpoint::FirstPage, &BaseUrl::resend());
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
    assert_eq!(retry(500, "", None), RetryAction::Backoff);
    assert_eq!(
        retry(503, "", wait),
        RetryAction::After(Duration::from_secs(3))
    );
    assert_eq!(
        retry(429, "", wait),
        RetryAction::After(Duration::from_secs(3))
    );
    assert_eq!(
        retry(429, r#"{"name":"monthly_quota_exceeded"}"#, wait),
        RetryAction::Never
    );
    for status in [408, 409, 425] {
        assert_eq!(retry(status, "", None), RetryAction::Backoff, "{status}");
        assert_eq!(
            retry(status, "", wait),
            RetryAction::After(Duration::from_secs(3)),
            "{status}"
        );
    }
    for status in [204, 304, 400, 401, 403, 404, 422] {
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
        let error = cause.into_error(Endpoint::FirstPage, &BaseUrl::resend());
        assert!(!error.message.contains("re_c"), "{}", error.message);
    }
}

#[test]
fn missing_operation_differs_from_missing_email_and_address() {
    use Endpoint::{Attachments, Suppression};
    let json =
        |message: &str| format!(r#"{{"statusCode":404,"name":"not_found","message":"{message}"}}"#);
    for (endpoint, body, expected) in [
        (Attachments, json("Email not found"), ErrorKind::NotFound),
        (
            Attachments,
            json("The requested endpoint does not exist"),
            ErrorKind::Unsupported,
        ),
        (
            Attachments,
            json("Cannot GET /emails/1/attachments"),
            ErrorKind::Unsupported,
        ),
        (
            Attachments,
            r#"{"error":"Not found"}"#.to_owned(),
            ErrorKind::Unsupported,
        ),
        (
            Attachments,
            "404 Not Found".to_owned(),
            ErrorKind::Unsupported,
        ),
        (
            Suppression,
            json("Suppression not found"),
            ErrorKind::NotFound,
        ),
        (Suppression, json("Email not found"), ErrorKind::Unsupported),
        (
            Suppression,
            json("Cannot GET /suppressions/a@example.com"),
            ErrorKind::Unsupported,
        ),
        (
            Suppression,
            json("The requested endpoint does not exist"),
            ErrorKind::Unsupported,
        ),
        (
            Suppression,
            "<html>404, no such address</html>".to_owned(),
            ErrorKind::Unsupported,
        ),
        (
            Endpoint::Attachment,
            json("Attachment not found"),
            ErrorKind::NoSuchPart,
        ),
        (
            Endpoint::Download,
            "<Error>API key is invalid</Error>".to_owned(),
            ErrorKind::Server,
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
        assert_eq!(
            kind(status, &body, Endpoint::Metrics),
            ErrorKind::Unsupported,
            "{status} {body}"
        );
    }
    for message in ["The `email_id` must be a valid UUID", "Invalid start_date"] {
        assert_eq!(
            kind(422, &json(message), Endpoint::Metrics),
            ErrorKind::InvalidRequest
        );
    }
    assert_eq!(kind(405, "", Suppression), ErrorKind::Unsupported);
    assert_eq!(
        kind(403, "API key is invalid", Endpoint::Download),
        ErrorKind::Server
    );
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
        assert_eq!(
            of(Endpoint::FirstReceivedPage),
            ErrorKind::Unsupported,
            "{status} {body}"
        );
        assert_ne!(of(Endpoint::FirstPage), ErrorKind::Unsupported);
        assert_ne!(of(Endpoint::PageAtCursor), ErrorKind::Unsupported);
    }
    assert_eq!(
        kind(500, "", Endpoint::FirstReceivedPage),
        ErrorKind::Server
    );
}

#[test]
fn withheld_email_is_no_fault_of_the_key() {
    let body = r#"{"statusCode":403,"message":"Above quota","name":"email_above_quota"}"#;
    assert_eq!(kind(403, body, Endpoint::Email), ErrorKind::NoSuchPart);
}

#[test]
fn missing_operation_is_not_tried_again() {
    let action = |status| HttpError::parse(status, b"", None).retry_action();
    assert_eq!(action(501), RetryAction::Never);
    assert_eq!(action(500), RetryAction::Backoff);
    assert_eq!(action(503), RetryAction::Backoff);
}
