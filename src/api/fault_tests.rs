//! What each answer of the service and its imitators becomes.

use super::*;

fn kind(status: u16, body: &str, asked: Endpoint) -> ErrorKind {
    RequestError::Http(HttpError::parse(status, body.as_bytes(), None))
        .into_error(asked, &BaseUrl::resend())
        .kind
}

#[test]
fn key_trouble_is_told_by_name_then_message_then_status() {
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
fn other_refusals_by_what_was_asked() {
    let validation =
        r#"{"statusCode":422,"name":"validation_error","message":"The `id` must be a valid UUID"}"#;
    let gone = r#"{"name":"not_found","message":"Email not found"}"#;
    assert_eq!(kind(404, gone, Endpoint::Email), ErrorKind::NotFound);
    assert_eq!(kind(404, gone, Endpoint::PageAtCursor), ErrorKind::NotFound);
    assert_eq!(kind(404, gone, Endpoint::FirstPage), ErrorKind::NotTheApi);
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
fn missing_list_operation_is_hinted_at() {
    let hint = |status, asked| {
        RequestError::Http(HttpError::parse(status, b"not found", None))
            .into_error(asked, &BaseUrl::resend())
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
fn what_is_quoted_is_short_and_cannot_command_a_terminal() {
    let body = format!("<html>\n\u{1b}]0;gotcha\u{7}{}", "x".repeat(10_000));
    let failure = RequestError::Http(HttpError::parse(418, body.as_bytes(), None))
        .into_error(Endpoint::FirstPage, &BaseUrl::resend());
    assert!(!failure.message.chars().any(char::is_control));
    assert!(
        failure.message.contains("<html>") && failure.message.chars().count() < 160,
        "{}",
        failure.message
    );
}

#[test]
fn only_what_may_pass_is_tried_again() {
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
fn waits_are_spelled_for_people() {
    let spell = |seconds| format_pause(Duration::from_secs(seconds));
    assert_eq!(
        [spell(0), spell(90), spell(150), spell(86_400)],
        ["1 s", "90 s", "3 min", "24 h"]
    );
}

#[test]
fn a_key_that_the_service_repeats_is_not_shown() {
    let long = format!("{}re_canary_123456789{}", "x".repeat(70), "y".repeat(70));
    for body in [
        r#"{"message":"API key re_canary_123456789 is invalid"}"#,
        &long,
    ] {
        let fault = RequestError::Http(HttpError::parse(401, body.as_bytes(), None))
            .redact("re_canary_123456789");
        let failure = fault.into_error(Endpoint::FirstPage, &BaseUrl::resend());
        assert!(!failure.message.contains("re_c"), "{}", failure.message);
    }
}
