//! Parses responses leniently: an unreadable item costs that item, not the page.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use jiff::{SignedDuration, Timestamp};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, DATE, HeaderMap, RETRY_AFTER};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{debug, warn};

use super::error::{HttpError, RequestError};
use super::rate_limit::LimitHeaders;
use super::{CHECKED_AT_HEADER, EmailPage, LISTED_AT_HEADER, ListedEmail, RetrievedEmail, wire};
use crate::config::clock::Clock;
use crate::error::RequestDetails;
use crate::mail::{Attachment, EmailId, Mailbox, Metrics, Suppression};
use crate::tasks;

/// The most items of a page whose parsed form is kept.
///
/// A service that ignores the requested page size may send all mail at once. Of such a page only the JSON is kept, and
/// each item is parsed again when it is needed.
const MAX_PARSED_ITEMS: usize = 1000;

/// The longest item of a page that is read, in bytes: about 60 000 recipients, where the real service allows 50. A
/// longer one takes 40 times its length in memory.
const MAX_ITEM_BYTES: usize = 2 << 20;

/// The list response with its items as they were sent.
#[derive(Deserialize)]
struct ListResponse<'a> {
    #[serde(borrow, default)]
    has_more: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
}

/// Decodes and parses a body; the error quotes its start.
fn parse_body<T>(
    body: &[u8],
    parse: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, RequestError> {
    let text = decode_text(body);
    parse(&text).map_err(|error| RequestError::unexpected_body(&text, &error))
}

/// Parses a page.
pub(super) fn parse_page(body: &[u8], mailbox: Mailbox) -> Result<EmailPage, RequestError> {
    let page = parse_body(body, |text| {
        let ListResponse {
            has_more,
            error,
            data,
        } = serde_json::from_str(text)?;
        if error
            .is_some_and(|error| !matches!(error.get(), "null" | "false" | "\"\"" | "{}" | "[]"))
        {
            return Ok(None);
        }
        let count = data.len();
        let parse = |raw: &RawValue| {
            if raw.get().len() > MAX_ITEM_BYTES {
                return None;
            }
            let mut item = ListedEmail::parse_from(mailbox, raw.get()).ok()?;
            item.parsed.take_if(|_| count > MAX_PARSED_ITEMS);
            Some(item)
        };
        let items: Vec<_> = data.into_iter().filter_map(parse).collect();
        Ok(Some(EmailPage {
            unreadable: count - items.len(),
            items,
            has_more: parse_has_more(has_more),
            checked_at: None,
            listed_at: None,
        }))
    })?;
    // Some services report an error with status 200, beside a list that proves nothing.
    page.ok_or_else(|| RequestError::Http(HttpError::parse(200, body, None)))
}

/// Parses a page of attachments, and whether there are more; what is not an object is left out.
pub(super) fn parse_attachments(
    body: &[u8],
) -> Result<(Vec<Attachment>, Option<bool>), RequestError> {
    parse_body(body, |text| {
        let ListResponse { has_more, data, .. } = serde_json::from_str(text)?;
        let items = data
            .into_iter()
            .filter_map(|raw| to_attachment(raw.get()).ok());
        Ok((items.collect(), parse_has_more(has_more)))
    })
}

/// Parses one attachment.
pub(super) fn parse_attachment(body: &[u8]) -> Result<Attachment, RequestError> {
    parse_body(body, |text| to_attachment(text.trim()))
}

fn to_attachment(json: &str) -> Result<Attachment, serde_json::Error> {
    let wire = wire::Attachment::parse(json)?;
    Ok(Attachment::from((wire, json.into())))
}

/// Parses an entry of the suppression list.
pub(super) fn parse_suppression(body: &[u8]) -> Result<Suppression, RequestError> {
    parse_body(body, wire::Suppression::parse)
}

/// Parses the counts of one email.
pub(super) fn parse_metrics(body: &[u8], email: &EmailId) -> Result<Metrics, RequestError> {
    let counts = parse_body(body, |text| {
        wire::Metrics::parse_counts(text, email.as_str())
    })?;
    let count = |name: &str| counts.get(name).copied();
    Ok(Metrics {
        opened: count("opened"),
        clicked: count("clicked"),
        bounced_permanent: count("bounced_permanent"),
        bounced_transient: count("bounced_transient"),
        bounced_undetermined: count("bounced_undetermined"),
    })
}

/// `has_more` may be in quotes, a number or a word; anything else is unknown.
fn parse_has_more(raw: Option<&RawValue>) -> Option<bool> {
    let text = raw?.get().trim_matches('"').trim().to_ascii_lowercase();
    match text.as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// Parses the email with `id`; another email is an error.
pub(super) fn parse_email(
    body: &[u8],
    id: &EmailId,
    mailbox: Mailbox,
) -> Result<RetrievedEmail, RequestError> {
    let parse = |text: &str| Ok((wire::Email::parse(text)?, Arc::from(text.trim())));
    let (mut email, json) = parse_body(body, parse)?;
    if !is_same_id(&email.summary.id, id.as_str()) {
        return Err(RequestError::WrongEmail);
    }
    if mailbox == Mailbox::Received {
        email.summary.mark_received();
    }
    Ok(RetrievedEmail {
        email,
        json,
        checked_at: None,
    })
}

/// Whether `received` is `requested`, perhaps in another spelling: one imitator finds an email by its bare
/// UUID and responds with that UUID in capitals, without dashes, behind a prefix.
fn is_same_id(received: &str, requested: &str) -> bool {
    let letters = |id: &str| {
        id.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    // A short id may well be the end of another one.
    received == requested
        || (requested.len() >= 32 && letters(received).ends_with(&letters(requested)))
}

/// Decodes a body as UTF-8, without a byte order mark; invalid bytes become U+FFFD.
fn decode_text(body: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body))
}

/// Reads a body, decompressed, of at most `max_len` bytes.
pub(super) async fn read_body(
    mut response: Response,
    max_len: usize,
) -> Result<Vec<u8>, RequestError> {
    let is_gzip = check_encoding(response.headers())?;
    let content_length = response.content_length().unwrap_or(0);
    let mut body = Vec::with_capacity(usize::try_from(content_length).unwrap_or(0).min(max_len));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| RequestError::from_reqwest(&error))?
    {
        if body.len() + chunk.len() > max_len {
            return Err(RequestError::BodyTooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    if !is_gzip {
        return Ok(body);
    }
    tasks::run_blocking(move || gunzip(&body, max_len)).await
}

/// Reads the start of the body of an error, decompressed, of at most `max_len` bytes. What cannot be read is left out:
/// the status has to do.
pub(super) async fn read_start(mut response: Response, max_len: usize) -> Vec<u8> {
    let Ok(is_gzip) = check_encoding(response.headers()) else {
        return Vec::new();
    };
    let mut body = Vec::new();
    while body.len() < max_len
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(max_len);
    if is_gzip {
        return tasks::run_blocking(move || gunzip_start(&body, max_len)).await;
    }
    body
}

/// When a mirror has from the service what it sends; the service itself does not say it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MirrorTimes {
    /// When the oldest status of the response was confirmed.
    pub(super) checked_at: Option<Timestamp>,
    /// When the newest page of the listing was read.
    pub(super) listed_at: Option<Timestamp>,
}

impl MirrorTimes {
    pub(super) fn parse(headers: &HeaderMap) -> Self {
        let parse = |name| header_text(headers, name)?.parse().ok();
        Self {
            checked_at: parse(CHECKED_AT_HEADER),
            listed_at: parse(LISTED_AT_HEADER),
        }
    }
}

/// Whether a body is gzip; an error if it has an encoding that was not requested.
fn check_encoding(headers: &HeaderMap) -> Result<bool, RequestError> {
    let Some(value) = headers.get(CONTENT_ENCODING) else {
        return Ok(false);
    };
    let encoding = String::from_utf8_lossy(value.as_bytes());
    match encoding.trim() {
        gzip if is_gzip(gzip) => Ok(true),
        plain if plain.is_empty() || plain.eq_ignore_ascii_case("identity") => Ok(false),
        other => Err(RequestError::UnknownEncoding(other.to_owned())),
    }
}

/// Whether a `Content-Encoding` is one that [`gunzip`] decompresses.
fn is_gzip(encoding: &str) -> bool {
    ["gzip", "x-gzip"]
        .iter()
        .any(|known| encoding.eq_ignore_ascii_case(known))
}

/// Decompresses gzip of one or several members (RFC 1952) to at most `max_len` bytes. Blocks.
fn gunzip(compressed: &[u8], max_len: usize) -> Result<Vec<u8>, RequestError> {
    // A response without a body may name an encoding, too.
    if compressed.is_empty() {
        return Ok(Vec::new());
    }
    let mut body = Vec::new();
    MultiGzDecoder::new(compressed)
        .take(max_len as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|_| RequestError::InvalidGzip)?;
    if body.len() > max_len {
        Err(RequestError::BodyTooLarge)
    } else {
        Ok(body)
    }
}

/// Decompresses as much as there is, to at most `max_len` bytes. Blocks.
fn gunzip_start(compressed: &[u8], max_len: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut decoder = MultiGzDecoder::new(compressed).take(max_len as u64);
    // What was decompressed before an error is kept.
    let _ = decoder.read_to_end(&mut body);
    body
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// Parses `retry-after`, in seconds or as a date; a date is compared with the service's clock if known.
pub(super) fn parse_retry_after(headers: &HeaderMap, clock: &Clock) -> Option<Duration> {
    let text = header_text(headers, RETRY_AFTER.as_str())?;
    if let Some(seconds) = parse_seconds(text) {
        return Some(seconds);
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = parse_date(headers).unwrap_or_else(|| clock()).into();
    Some(until.duration_since(now).unwrap_or_default())
}

/// Parses the headers about the team's limit.
pub(super) fn parse_limit_headers(headers: &HeaderMap) -> LimitHeaders {
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
    const YEAR: f64 = 31_536_000.0;
    text.parse()
        .ok()
        .filter(|seconds| (0.0..=YEAR).contains(seconds))
        .map(Duration::from_secs_f64)
}

/// Parses the request id of the service or of a proxy before it. Only what looks like an id is taken: the
/// header is foreign, and is logged.
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

/// Returns how far the service's clock is ahead of ours, from its `date` header in whole seconds.
pub(super) fn clock_skew(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    parse_date(headers).map(|theirs| theirs.duration_since(now))
}

fn parse_date(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(header_text(headers, DATE.as_str())?).ok()?).ok()
}

/// Logs one attempt: of the response only its status and the request id, nothing of its body.
pub(super) fn log_attempt(
    details: &RequestDetails,
    duration: Duration,
    error: Option<&RequestError>,
) {
    let (endpoint, status, attempt) = (details.endpoint, details.status, details.attempts);
    let request_id = details.request_id.as_deref();
    if let Some(error) = error.map(RequestError::code) {
        warn!(
            endpoint,
            status,
            request_id,
            attempt,
            ?duration,
            error,
            "request failed"
        );
    } else {
        debug!(endpoint, status, request_id, attempt, ?duration, "response");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn parse_page(body: &[u8]) -> Result<EmailPage, RequestError> {
        super::parse_page(body, Mailbox::Sent)
    }

    fn parse_email(body: &[u8], id: &EmailId) -> Result<RetrievedEmail, RequestError> {
        super::parse_email(body, id, Mailbox::Sent)
    }

    #[test]
    fn received_item_has_no_status_and_keeps_its_json() {
        let page = |json: &str| {
            let page = super::parse_page(json.as_bytes(), Mailbox::Received).unwrap();
            page.items[0].parsed()
        };
        for item in [
            r#"{"id":"1","to":["help@acme.example"],"from":"ana@example.com","subject":null,"message_id":null,"cc":null,"bcc":[],"attachments":[{"id":"a","filename":null,"size":null}],"created_at":"2026-10-09T14:37:40.951Z"}"#,
            r#"{"id":"1","to":"help@acme.example","from":["ana@example.com"],"last_event":null,"x":1}"#,
            r#"{"x":1,"id":"1","to":null,"from":null}"#,
        ] {
            let parsed = page(&format!(r#"{{"data":[{item}]}}"#));
            let summary = crate::mail::Summary::from(&parsed.summary);
            assert_eq!(summary.status, crate::mail::Status::Received, "{item}");
            assert_eq!(parsed.to_json(), item);
        }
        let parsed = page(r#"{"data":[{"id":"1","last_event":"delivered"}]}"#);
        assert_eq!(parsed.summary.last_event.as_deref(), Some("delivered"));
    }

    #[test]
    fn retrieved_received_email_may_lack_all_parts() {
        let json = r#"{"object":"email","id":"1","to":["help@acme.example"],"from":"ana@example.com","subject":null,"html":null,"text":null,"headers":null,"received_for":[],"raw":null,"attachments":[{"id":"a","filename":"a.txt","size":null}]}"#;
        let id = EmailId::new("1");
        let retrieved = super::parse_email(json.as_bytes(), &id, Mailbox::Received).unwrap();
        assert_eq!(&*retrieved.json, json);
        assert!(
            retrieved
                .to_listed()
                .unwrap()
                .parsed()
                .summary
                .is_received()
        );
        let email = crate::mail::Email::from(retrieved);
        assert_eq!((email.html, email.text), (None, None));
        assert_eq!(email.summary.status, crate::mail::Status::Received);
        assert_eq!(&*email.summary.subject, "");
    }

    #[test]
    fn unreadable_items_of_a_page_are_counted() {
        let page = parse_page(b"\xEF\xBB\xBF{\"object\":\"list\",\"data\":[{\"id\":\"1\",\"n\":1.50},{\"to\":[]},7],\"extra\":[]}").unwrap();
        assert_eq!(page.unreadable, 2);
        assert_eq!(page.has_more, None);
        assert_eq!(&*page.items[0].json, "{\"id\":\"1\",\"n\":1.50}");
    }

    #[test]
    fn page_with_an_error_is_an_error() {
        for error in [
            r#"{"message":"shard unavailable"}"#,
            r#""down""#,
            "true",
            "[1]",
        ] {
            let page = format!(r#"{{"data":[],"has_more":false,"error":{error}}}"#);
            assert!(
                matches!(parse_page(page.as_bytes()), Err(RequestError::Http(_))),
                "{error}"
            );
        }
        for none in ["null", "{}", "\"\""] {
            let page = format!(r#"{{"data":[],"error":{none}}}"#);
            assert!(parse_page(page.as_bytes()).is_ok(), "{none}");
        }
    }

    #[test]
    fn too_long_item_of_a_page_is_unreadable() {
        let to = "\"a@b.example\",".repeat(150_000);
        let page = format!("{{\"data\":[{{\"id\":\"1\",\"to\":[{to}\"c\"]}},{{\"id\":\"2\"}}]}}");
        let page = parse_page(page.as_bytes()).unwrap();
        assert_eq!((page.unreadable, page.items.len()), (1, 1));
    }

    #[test]
    fn has_more_without_boolean_is_unknown() {
        let more = |json: &str| {
            parse_page(format!("{{\"data\":[]{json}}}").as_bytes())
                .unwrap()
                .has_more
        };
        for (json, expected) in [
            ("true", Some(true)),
            ("\"true\"", Some(true)),
            ("false", Some(false)),
            ("0", Some(false)),
            ("\"0\"", Some(false)),
            ("\"no\"", Some(false)),
            ("\"False\"", Some(false)),
            ("1", Some(true)),
            ("\"yes\"", Some(true)),
            ("null", None),
            ("{}", None),
            ("7", None),
        ] {
            assert_eq!(more(&format!(",\"has_more\":{json}")), expected, "{json}");
        }
        assert_eq!(more(""), None);
    }

    #[test]
    fn body_without_data_list_is_an_error() {
        for body in [
            "",
            "null",
            "[]",
            "{}",
            "{\"data\":null}",
            "{\"data\":{}}",
            "<html>",
            "{\"data\":[",
            &"[".repeat(200_000),
        ] {
            assert!(
                parse_page(body.as_bytes()).is_err(),
                "{}",
                &body[..body.len().min(20)]
            );
        }
    }

    #[test]
    fn response_with_another_email_is_an_error() {
        let id = EmailId::new("ab");
        let retrieved = parse_email(b" {\"id\":\"ab\",\"html\":\"<p>\"} ", &id).unwrap();
        assert_eq!(&*retrieved.json, "{\"id\":\"ab\",\"html\":\"<p>\"}");
        assert!(matches!(
            parse_email(b"{\"id\":\"xab\"}", &id),
            Err(RequestError::WrongEmail)
        ));
        let uuid = EmailId::new("6f79f982-88f7-4bbd-87b3-f5e550b48a78");
        assert!(parse_email(b"{\"id\":\"em_6F79F98288F74BBD87B3F5E550B48A78\"}", &uuid).is_ok());
        assert!(matches!(
            parse_email(b"{\"id\":\"6f79f982-88f7-4bbd-87b3-f5e550b48a79\"}", &uuid),
            Err(RequestError::WrongEmail)
        ));
        assert!(parse_email(b"{\"error\":\"x\"}", &id).is_err());
        assert!(parse_email(b"{\"id\":\"ab\xFF\"}", &EmailId::new("ab\u{FFFD}")).is_ok());
    }

    #[test]
    fn id_that_differs_in_case_is_the_known_one() {
        let known = EmailId::new("6f79f982-88f7-4bbd-87b3-f5e550b48a78");
        let upper = known.as_str().to_uppercase();
        let json = format!(r#"{{"object":"email","id":"{upper}","html":"<p>"}}"#);
        let retrieved = parse_email(json.as_bytes(), &known).unwrap();
        let retrieved = retrieved.with_known_id(&known).unwrap();
        assert_eq!(retrieved.email.summary.id, known.as_str());
        assert_eq!(&*retrieved.json, json.replace(&upper, known.as_str()));
        let prefixed = format!(r#"{{"id":"em_{upper}"}}"#);
        let retrieved = parse_email(prefixed.as_bytes(), &known).unwrap();
        assert_eq!(
            retrieved.with_known_id(&known).unwrap_err().kind,
            crate::error::ErrorKind::NotTheApi
        );
    }

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
        assert_eq!(
            parse_retry_after(&headers(&[until, date]), &clock),
            Some(Duration::from_secs(5))
        );
        assert_eq!(
            parse_retry_after(&headers(&[until]), &clock),
            Some(Duration::from_secs(3605))
        );
        assert_eq!(
            clock_skew(&headers(&[date]), clock()),
            Some(SignedDuration::from_hours(1))
        );
        assert_eq!(clock_skew(&headers(&[("date", "soon")]), clock()), None);
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

    const MAX_LEN: usize = 100_000;

    fn compress(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_members_are_concatenated() {
        let members = [compress(b"one "), compress(b""), compress(b"body")].concat();
        assert_eq!(gunzip(&members, MAX_LEN).unwrap(), b"one body");
        assert_eq!(gunzip(b"", MAX_LEN).unwrap(), b"");
        assert!(is_gzip("X-GZIP") && is_gzip("gzip") && !is_gzip("") && !is_gzip("br"));
    }

    #[test]
    fn encoding_that_was_not_requested_is_named() {
        let check = |encoding| check_encoding(&headers(&[("content-encoding", encoding)]));
        assert!(check("gzip").unwrap() && !check("identity").unwrap() && !check("").unwrap());
        for other in ["br", "deflate", "gzip, gzip"] {
            let Err(RequestError::UnknownEncoding(name)) = check(other) else {
                panic!("{other} is accepted")
            };
            assert_eq!(name, other);
        }
    }

    #[test]
    fn truncated_or_invalid_gzip_is_an_error() {
        let complete = [compress(b"one "), compress(b"body")].concat();
        for cut in [
            1,
            5,
            complete.len() / 2 - 1,
            complete.len() / 2 + 3,
            complete.len() - 1,
        ] {
            assert!(
                matches!(
                    gunzip(&complete[..cut], MAX_LEN),
                    Err(RequestError::InvalidGzip)
                ),
                "{cut}"
            );
        }
        assert!(matches!(
            gunzip(b"{\"data\":[]}", MAX_LEN),
            Err(RequestError::InvalidGzip)
        ));
    }

    #[test]
    fn start_of_a_long_error_is_read() {
        let long = compress(&b"The start ".repeat(20_000));
        let start = gunzip_start(&long[..long.len() / 2], 1000);
        assert!(start.starts_with(b"The start") && start.len() <= 1000);
        assert_eq!(gunzip_start(b"no gzip", 1000), b"");
    }

    #[test]
    fn body_above_the_limit_is_refused() {
        assert!(matches!(
            gunzip(&compress(&vec![b' '; 5_000_000]), MAX_LEN),
            Err(RequestError::BodyTooLarge)
        ));
        assert!(matches!(
            gunzip(&compress(&vec![b' '; MAX_LEN + 1]), MAX_LEN),
            Err(RequestError::BodyTooLarge)
        ));
        assert_eq!(
            gunzip(&compress(&vec![b' '; MAX_LEN]), MAX_LEN)
                .unwrap()
                .len(),
            MAX_LEN
        );
    }
}
