//! What each answer of the service and its imitators becomes.

use super::*;

fn kind(status: u16, body: &str, asked: Asked) -> Kind {
    Fault::Rejected(Rejection::read(status, body.as_bytes(), None))
        .into_failure(asked, &BaseUrl::real())
        .kind
}

#[test]
fn key_trouble_is_told_by_name_then_message_then_status() {
    for (status, body, expected) in [
        (
            400,
            r#"{"statusCode":400,"message":"API key is invalid","name":"validation_error"}"#,
            Kind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"API key is invalid","name":"validation_error"}"#,
            Kind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is invalid","name":"invalid_api_key"}"#,
            Kind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"Missing API Key","name":"missing_api_key"}"#,
            Kind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"This API key is suspended","name":"suspended_api_key"}"#,
            Kind::KeyRejected,
        ),
        (
            403,
            r#"{"message":"API key is not active","name":"restricted_api_key"}"#,
            Kind::KeyRejected,
        ),
        (
            401,
            r#"{"message":"This API key is restricted to only send emails","name":"restricted_api_key"}"#,
            Kind::KeySendOnly,
        ),
        (
            403,
            r#"{"message":"scopes missing","name":"invalid_permission"}"#,
            Kind::KeySendOnly,
        ),
        (401, r#"{"error":"Unauthorized"}"#, Kind::KeyRejected),
        (403, "error code: 1010", Kind::KeyRejected),
    ] {
        assert_eq!(
            kind(status, body, Asked::Start),
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
    assert_eq!(kind(404, gone, Asked::Email), Kind::NotFound);
    assert_eq!(kind(404, gone, Asked::Beside), Kind::NotFound);
    assert_eq!(kind(404, gone, Asked::Start), Kind::NotTheApi);
    assert_eq!(kind(404, "<html>404</html>", Asked::Email), Kind::NotTheApi);
    assert_eq!(kind(422, validation, Asked::Email), Kind::NotFound);
    assert_eq!(kind(422, validation, Asked::Beside), Kind::InvalidRequest);
    assert_eq!(
        kind(429, r#"{"name":"daily_quota_exceeded"}"#, Asked::Start),
        Kind::Quota
    );
    assert_eq!(kind(429, "", Asked::Start), Kind::RateLimited);
    assert_eq!(
        kind(502, "<html>Bad gateway</html>", Asked::Start),
        Kind::Server
    );
    assert_eq!(kind(204, "", Asked::Start), Kind::NotTheApi);
    for (status, body) in [
        (408, "<html>Request timeout</html>"),
        (409, r#"{"name":"resource_locked","message":"x"}"#),
        (425, ""),
    ] {
        assert_eq!(kind(status, body, Asked::Beside), Kind::Server, "{status}");
    }
    assert_eq!(kind(418, "I'm a teapot", Asked::Start), Kind::NotTheApi);
    assert_eq!(
        kind(
            400,
            r#"{"error":{"code":"BAD","message":"no"}}"#,
            Asked::Start
        ),
        Kind::InvalidRequest
    );
}

#[test]
fn missing_list_operation_is_hinted_at() {
    let hint = |status, asked| {
        Fault::Rejected(Rejection::read(status, b"not found", None))
            .into_failure(asked, &BaseUrl::real())
            .hint
    };
    for status in [404, 405] {
        assert!(
            hint(status, Asked::Start).contains("no list operation; sentbox show ID works"),
            "{status}"
        );
        assert!(!hint(status, Asked::Email).contains("list"), "{status}");
    }
}

#[test]
fn what_is_quoted_is_short_and_cannot_command_a_terminal() {
    let body = format!("<html>\n\u{1b}]0;gotcha\u{7}{}", "x".repeat(10_000));
    let failure = Fault::Rejected(Rejection::read(418, body.as_bytes(), None))
        .into_failure(Asked::Start, &BaseUrl::real());
    assert!(!failure.sentence.chars().any(char::is_control));
    assert!(
        failure.sentence.contains("<html>") && failure.sentence.chars().count() < 160,
        "{}",
        failure.sentence
    );
}

#[test]
fn only_what_may_pass_is_tried_again() {
    let retry = |status, body: &str, wait| Rejection::read(status, body.as_bytes(), wait).retry();
    let wait = Some(Duration::from_secs(3));
    assert_eq!(retry(500, "", None), Retry::Soon);
    assert_eq!(retry(503, "", wait), Retry::After(Duration::from_secs(3)));
    assert_eq!(retry(429, "", wait), Retry::After(Duration::from_secs(3)));
    assert_eq!(
        retry(429, r#"{"name":"monthly_quota_exceeded"}"#, wait),
        Retry::Never
    );
    for status in [408, 409, 425] {
        assert_eq!(retry(status, "", None), Retry::Soon, "{status}");
        assert_eq!(
            retry(status, "", wait),
            Retry::After(Duration::from_secs(3)),
            "{status}"
        );
    }
    for status in [204, 304, 400, 401, 403, 404, 422] {
        assert_eq!(retry(status, "", None), Retry::Never, "{status}");
    }
}

#[test]
fn waits_are_spelled_for_people() {
    let spell = |seconds| spelled(Duration::from_secs(seconds));
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
        let fault = Fault::Rejected(Rejection::read(401, body.as_bytes(), None))
            .without("re_canary_123456789");
        let failure = fault.into_failure(Asked::Start, &BaseUrl::real());
        assert!(!failure.sentence.contains("re_c"), "{}", failure.sentence);
    }
}
