//! What the headers of an answer say beside its body: limits, waits, the service's clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::rate_limit::LimitHeaders;
use crate::config::clock::Clock;

/// `retry-after`, in seconds or as a date; a date is compared with the service's own clock if it tells it.
pub(super) fn parse_retry_after(headers: &HeaderMap, clock: &Clock) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Some(seconds) = parse_seconds(text) {
        return Some(seconds);
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = parse_date(headers).unwrap_or_else(|| clock()).into();
    Some(until.duration_since(now).unwrap_or_default())
}

/// What the answer says about the team's limit.
pub(super) fn parse_limit_headers(headers: &HeaderMap) -> LimitHeaders {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let window = text("ratelimit-policy").and_then(|policy| {
        policy
            .split(';')
            .find_map(|part| part.trim().strip_prefix("w="))
    });
    LimitHeaders {
        limit: text("ratelimit-limit").and_then(|limit| limit.parse().ok()),
        window: window.and_then(parse_seconds),
        remaining: text("ratelimit-remaining").and_then(|remaining| remaining.parse().ok()),
        reset: text("ratelimit-reset").and_then(parse_seconds),
    }
}

/// A number of seconds, not negative; anything else says nothing. No service means more than a year.
fn parse_seconds(text: &str) -> Option<Duration> {
    const YEAR: f64 = 31_536_000.0;
    text.parse()
        .ok()
        .filter(|seconds| (0.0..=YEAR).contains(seconds))
        .map(Duration::from_secs_f64)
}

/// The name that the service, or what stands before it, has given the request. Only what looks like
/// one is taken: the header is foreign, and goes into logs.
pub(super) fn parse_request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name))?
        .to_str()
        .ok()?;
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (!id.is_empty() && id.len() <= 64 && id.bytes().all(is_plain)).then(|| id.to_owned())
}

/// How far the service's clock is ahead of ours, by its own account in whole seconds.
pub(super) fn clock_skew(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    parse_date(headers).map(|theirs| theirs.duration_since(now))
}

fn parse_date(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_wait_until_a_date_is_counted_on_the_services_own_clock() {
        let clock: Clock = std::sync::Arc::new(|| "2026-11-20T09:00:00Z".parse().unwrap());
        let until = ("retry-after", "Fri, 20 Nov 2026 10:00:05 GMT");
        let theirs = ("date", "Fri, 20 Nov 2026 10:00:00 GMT");
        assert_eq!(
            parse_retry_after(&headers(&[until, theirs]), &clock),
            Some(Duration::from_secs(5))
        );
        assert_eq!(
            parse_retry_after(&headers(&[until]), &clock),
            Some(Duration::from_secs(3605))
        );
        assert_eq!(
            clock_skew(&headers(&[theirs]), clock()),
            Some(SignedDuration::from_hours(1))
        );
        assert_eq!(clock_skew(&headers(&[("date", "soon")]), clock()), None);
    }

    #[test]
    fn only_what_looks_like_a_request_id_is_one() {
        let id = |value| parse_request_id(&headers(&[("cf-ray", value)]));
        assert_eq!(id("8f2a-FRA").as_deref(), Some("8f2a-FRA"));
        for foreign in ["", "ana@example.com", "a b", "\u{1b}[31m", &"x".repeat(65)] {
            let value = reqwest::header::HeaderValue::from_bytes(foreign.as_bytes());
            let headers = value
                .map(|value| HeaderMap::from_iter([("cf-ray".parse().unwrap(), value)]))
                .unwrap_or_default();
            assert_eq!(parse_request_id(&headers), None, "{foreign:?}");
        }
    }
}
