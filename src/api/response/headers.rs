//! Parses the headers of responses.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{AGE, DATE, HeaderMap, RETRY_AFTER};

use super::super::rate_limit::LimitHeaders;
use super::super::{CHECKED_AT_HEADER, LISTED_AT_HEADER, MIRROR_HEADER};
use crate::config::clock::Clock;

/// Seconds of a year.
const YEAR: u32 = 31_536_000;

/// When a mirror or a cache had a response from the service.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::api) struct MirrorTimes {
    /// When the oldest status of the response was confirmed.
    pub(in crate::api) checked_at: Option<Timestamp>,
    /// When the newest page of the listing was read.
    pub(in crate::api) listed_at: Option<Timestamp>,
}

impl MirrorTimes {
    /// Parses the headers of a response that arrived at `now`.
    pub(in crate::api) fn parse(headers: &HeaderMap, now: Timestamp) -> Self {
        let parse = |name| header_text(headers, name)?.parse().ok();
        // The age of what a mirror sends is not that of what it has from the service.
        let age = parse_age(headers).filter(|_| !headers.contains_key(MIRROR_HEADER));
        let cached_at = age.and_then(|age| now.checked_sub(age).ok());
        Self {
            checked_at: parse(CHECKED_AT_HEADER).or(cached_at),
            listed_at: parse(LISTED_AT_HEADER).or(cached_at),
        }
    }
}

/// Parses the time in caches, at most a year (RFC 9111, section 5.1).
fn parse_age(headers: &HeaderMap) -> Option<SignedDuration> {
    let seconds: u64 = header_text(headers, AGE.as_str())?.parse().ok()?;
    Some(SignedDuration::from_secs(
        seconds.min(YEAR.into()).cast_signed(),
    ))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// Parses `retry-after`: seconds, or a date by the service's clock.
pub(in crate::api) fn parse_retry_after(headers: &HeaderMap, clock: &Clock) -> Option<Duration> {
    let text = header_text(headers, RETRY_AFTER.as_str())?;
    if let Some(seconds) = parse_seconds(text) {
        return Some(seconds);
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = parse_date(headers).unwrap_or_else(|| clock()).into();
    Some(until.duration_since(now).unwrap_or_default())
}

/// Parses the headers about the team's limit.
pub(in crate::api) fn parse_limit_headers(headers: &HeaderMap) -> LimitHeaders {
    let text = |name| header_text(headers, name);
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

/// Parses a number of seconds, from zero to a year; no service means more.
fn parse_seconds(text: &str) -> Option<Duration> {
    text.parse()
        .ok()
        .filter(|seconds| (0.0..=f64::from(YEAR)).contains(seconds))
        .map(Duration::from_secs_f64)
}

/// Parses the request id of the service or of a proxy before it.
/// Only what looks like an id is taken: the header is foreign, and is logged.
pub(in crate::api) fn parse_request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name))?
        .to_str()
        .ok()?;
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (!id.is_empty() && id.len() <= 64 && id.bytes().all(is_plain)).then(|| id.to_owned())
}

/// Returns how far the service's clock is ahead of ours, by its `date`, and by the
/// seconds for which a cache has kept the response (`age`, RFC 9111).
pub(in crate::api) fn clock_skew(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    let age = header_text(headers, AGE.as_str()).and_then(|age| age.parse::<u32>().ok());
    let skew = parse_date(headers)?.duration_since(now);
    Some(skew + SignedDuration::from_secs(age.unwrap_or_default().into()))
}

fn parse_date(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(header_text(headers, DATE.as_str())?).ok()?).ok()
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
    fn retry_after_date_uses_the_services_clock() {
        let clock: Clock = std::sync::Arc::new(|| "2026-11-20T09:00:00Z".parse().unwrap());
        let until = ("retry-after", "Fri, 20 Nov 2026 10:00:05 GMT");
        let date = ("date", "Fri, 20 Nov 2026 10:00:00 GMT");
        for (pairs, seconds) in [(&[until, date][..], 5), (&[until], 3605)] {
            let wait = parse_retry_after(&headers(pairs), &clock);
            assert_eq!(wait, Some(Duration::from_secs(seconds)));
        }
        let hour = Some(SignedDuration::from_hours(1));
        assert_eq!(clock_skew(&headers(&[date]), clock()), hour);
        let cached = [date, ("age", "3600")];
        assert_eq!(
            clock_skew(&headers(&cached), clock()),
            hour.map(|hour| hour * 2)
        );
        assert_eq!(clock_skew(&headers(&[("date", "soon")]), clock()), None);
    }

    #[test]
    fn age_of_cached_response_is_subtracted() {
        let now: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
        let times = |pairs: &[_]| {
            let times = MirrorTimes::parse(&headers(pairs), now);
            [times.checked_at, times.listed_at].map(|at| Some(now.duration_since(at?).as_secs()))
        };
        assert_eq!(times(&[("age", "86400")]), [Some(86_400); 2]);
        assert_eq!(times(&[]), [None; 2]);
        let most = Some(i64::from(YEAR));
        assert_eq!(times(&[("age", "18446744073709551615")]), [most; 2]);
        assert_eq!(times(&[("age", "-1")]), [None; 2]);
        let mirror = (MIRROR_HEADER, "1");
        let checked = (CHECKED_AT_HEADER, "2026-11-20T09:59:55Z");
        assert_eq!(times(&[("age", "9"), mirror, checked]), [Some(5), None]);
    }

    #[test]
    fn malformed_request_id_is_ignored() {
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
