//! The changes of a mirror: server-sent events (HTML Standard,
//! section 9.2) of `GET /sentbox/events`.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio::time::{Instant, timeout_at};

use super::connect::build_off_loop;
use super::error::{Endpoint, RequestError, unsupported_error};
use super::wire::ChangeEvent;
use crate::config::BaseUrl;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{EmailId, MAX_EXTRA_BYTES};
use crate::text::format::format_timestamp;

/// Two comments of the mirror, which it sends each 15 seconds; one may be late.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(40);

/// How long changes are collected after the first one.
const COLLECT_TIME: Duration = Duration::from_millis(100);

/// After so many changes, the others come with the next call.
const MAX_COLLECTED: usize = 1_000;

/// The most bytes of one event.
const MAX_EVENT: usize = 64 << 10;

/// A change in a mailbox: an event of a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailboxChange {
    /// A new email, or one with another status.
    Changed {
        /// Its id.
        id: EmailId,
        /// `last_event` of the API.
        last_event: Option<String>,
        /// When this status was first seen.
        seen_at: Option<Timestamp>,
        /// The JSON of the reason of a bounce.
        bounce: Option<String>,
    },
    /// The service no longer has it.
    Removed(EmailId),
    /// It was purged. Half of the SHA-256 of its id.
    Purged([u8; 16]),
    /// All mail before this time was purged.
    PurgedBefore(Timestamp),
    /// Some changes were not sent.
    Reset,
}

impl MailboxChange {
    pub(crate) const fn is_purge(&self) -> bool {
        matches!(self, Self::Purged(_) | Self::PurgedBefore(_))
    }

    /// Returns the name and the data of its event.
    pub(crate) fn to_event(&self) -> (&'static str, ChangeEvent) {
        let mut data = ChangeEvent::default();
        let name = match self {
            Self::Changed {
                id,
                last_event,
                seen_at,
                bounce,
            } => {
                data.id = Some(id.as_str().to_owned());
                data.last_event = Some(last_event.clone());
                data.seen_at = seen_at.map(format_timestamp);
                let bounce = bounce
                    .as_deref()
                    .filter(|json| json.len() <= MAX_EXTRA_BYTES);
                // What is not JSON states no reason. The data of an event is one line.
                let bounce = bounce.and_then(|json| json.parse::<Value>().ok());
                data.bounce = bounce.and_then(|bounce| to_raw_value(&bounce).ok());
                "changed"
            }
            Self::Removed(id) => {
                data.id = Some(id.as_str().to_owned());
                "removed"
            }
            Self::Purged(hash) => {
                data.id_hash = Some(format!("{:032x}", u128::from_be_bytes(*hash)));
                "purged"
            }
            Self::PurgedBefore(time) => {
                data.before = Some(format_timestamp(*time));
                "purged"
            }
            Self::Reset => "reset",
        };
        (name, data)
    }

    /// Returns the change of an event; `None` if it is unknown or incomplete.
    fn from_event(name: &str, data: ChangeEvent) -> Option<Self> {
        Some(match name {
            "changed" => Self::Changed {
                id: EmailId::new(data.id?),
                last_event: data.last_event.flatten(),
                seen_at: data.seen_at.and_then(|time| time.parse().ok()),
                bounce: data.bounce.map(|json| json.get().to_owned()),
            },
            "removed" => Self::Removed(EmailId::new(data.id?)),
            "purged" => {
                if let Some(time) = data.before {
                    return Some(Self::PurgedBefore(time.parse().ok()?));
                }
                let hash = u128::from_str_radix(&data.id_hash?, 16).ok()?;
                Self::Purged(hash.to_be_bytes())
            }
            "reset" => Self::Reset,
            _ => return None,
        })
    }
}

/// An open stream of changes.
#[derive(Debug)]
pub struct ChangeStream {
    base_url: BaseUrl,
    response: Response,
    /// The start of the next event.
    buffer: Vec<u8>,
}

impl ChangeStream {
    /// Opens the stream of changes of a mirror.
    ///
    /// It needs no permit of the rate limiter: it is one request for as long as it lasts.
    pub(super) async fn open(
        base_url: &BaseUrl,
        ca_file: Option<PathBuf>,
        authorization: HeaderValue,
    ) -> Result<Self> {
        let http = build_off_loop(ca_file, base_url.is_plain_http(), SILENCE_TIMEOUT).await?;
        let sent = http
            .get(base_url.join_segments(&["sentbox", "events"]))
            .header(AUTHORIZATION, authorization)
            .header(ACCEPT, "text/event-stream")
            .send()
            .await;
        let response = sent.map_err(|error| to_error(&error, base_url))?;
        match response.status() {
            StatusCode::OK => Ok(Self {
                base_url: base_url.clone(),
                response,
                buffer: Vec::new(),
            }),
            StatusCode::SERVICE_UNAVAILABLE => {
                let message =
                    "the mirror sends its changes to no more clients, with this key or at all";
                Err(Error::new(ErrorKind::Server, message))
            }
            _ => Err(unsupported_error(Endpoint::Changes)),
        }
    }

    /// Waits for the next changes:
    /// at least one, and those that come right after it, so that many cost little more than one.
    ///
    /// Fails if the stream ends or is silent for too long.
    pub(super) async fn next(&mut self) -> Result<Vec<MailboxChange>> {
        loop {
            let chunk = self.response.chunk().await;
            let chunk = chunk.map_err(|error| to_error(&error, &self.base_url))?;
            let ended = || Error::new(ErrorKind::Unreachable, "the mirror has ended its stream");
            let mut arrived = Some(chunk.ok_or_else(ended)?);
            let (mut changes, until) = (Vec::new(), Instant::now() + COLLECT_TIME);
            while let Some(chunk) = arrived {
                // A CR belongs to an end of line.
                self.buffer
                    .extend(chunk.iter().copied().filter(|byte| *byte != b'\r'));
                changes.extend(take_events(&mut self.buffer));
                if self.buffer.len() > MAX_EVENT {
                    return Err(ended());
                }
                if changes.len() >= MAX_COLLECTED {
                    return Ok(changes);
                }
                // An end, or an error, comes again with the next call.
                let next = timeout_at(until, self.response.chunk()).await;
                arrived = next.ok().and_then(Result::ok).flatten();
            }
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }
}

fn to_error(error: &reqwest::Error, base_url: &BaseUrl) -> Error {
    RequestError::from_reqwest(error).into_error(Endpoint::Changes, base_url)
}

/// Takes the complete events from `buffer`. Unknown ones are left out.
fn take_events(buffer: &mut Vec<u8>) -> Vec<MailboxChange> {
    let Some(end) = buffer.windows(2).rposition(|pair| pair == b"\n\n") else {
        return Vec::new();
    };
    let complete: Vec<u8> = buffer.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&complete);
    text.split("\n\n").filter_map(parse_event).collect()
}

fn parse_event(text: &str) -> Option<MailboxChange> {
    let field = |name: &str| {
        let mut values = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        values.next().map(str::trim_start)
    };
    MailboxChange::from_event(field("event")?, serde_json::from_str(field("data")?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_in_any_parts() {
        let stream = ":\n\nevent: changed\ndata: {\"id\":\"a\",\"last_event\":\"bounced\",\"seen_at\":\"2026-11-20T09:41:00Z\",\"bounce\":{\"message\":\"full\"}}\n\n\
            event:removed\ndata:{\"id\":\"b\",\"more\":1}\n\n\
            event: purged\ndata: {\"id_hash\":\"000102030405060708090a0b0c0d0e0f\"}\n\n\
            event: purged\ndata: {\"before\":\"2026-11-20T09:42:00Z\"}\n\n\
            event: new\ndata: {}\n\nevent: changed\ndata: [\n\nevent: reset\ndata: {}\n\nevent: cha";
        let expected = [
            MailboxChange::Changed {
                id: EmailId::new("a"),
                last_event: Some("bounced".to_owned()),
                seen_at: Some("2026-11-20T09:41:00Z".parse().unwrap()),
                bounce: Some(r#"{"message":"full"}"#.to_owned()),
            },
            MailboxChange::Removed(EmailId::new("b")),
            MailboxChange::Purged(std::array::from_fn(|n| u8::try_from(n).unwrap())),
            MailboxChange::PurgedBefore("2026-11-20T09:42:00Z".parse().unwrap()),
            MailboxChange::Reset,
        ];
        for change in &expected {
            let (name, data) = change.to_event();
            let data = serde_json::to_string(&data).unwrap();
            let event = format!("event: {name}\ndata: {data}");
            assert_eq!(parse_event(&event).as_ref(), Some(change), "{event}");
        }
        for len in [1, 7, 64, stream.len()] {
            let (mut buffer, mut changes) = (Vec::new(), Vec::new());
            for part in stream.as_bytes().chunks(len) {
                buffer.extend_from_slice(part);
                changes.extend(take_events(&mut buffer));
            }
            assert_eq!(
                (&*changes, &*buffer),
                (&expected[..], &b"event: cha"[..]),
                "{len}"
            );
        }
    }

    #[test]
    fn unusable_bounce_is_left_out_of_event() {
        for bounce in ["no JSON", &format!("\"{}\"", "x".repeat(MAX_EXTRA_BYTES))] {
            let change = MailboxChange::Changed {
                id: EmailId::new("a"),
                last_event: None,
                seen_at: None,
                bounce: Some(bounce.to_owned()),
            };
            let (_, data) = change.to_event();
            let json = serde_json::to_string(&data).unwrap();
            assert_eq!(json, r#"{"id":"a","last_event":null}"#);
        }
    }

    #[tokio::test]
    async fn stream_without_end_is_read_in_parts() {
        let event = "event: removed\ndata: {\"id\":\"a\"}\n\n";
        let chunks =
            futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(event.repeat(10)));
        let mut stream = ChangeStream {
            base_url: BaseUrl::resend(),
            response: hyper::Response::new(reqwest::Body::wrap_stream(chunks)).into(),
            buffer: Vec::new(),
        };
        for _ in 0..3 {
            let changes = stream.next().await.unwrap();
            assert!((1..=MAX_COLLECTED + 10).contains(&changes.len()));
        }
    }
}
