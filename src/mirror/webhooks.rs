//! Receives the service's events, signed by the scheme of Svix
//! (<https://docs.svix.com/receiving/verifying-payloads/how-manual>).

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::private_file::{NoteWriter, PrivateFile, numbered_lines};
use crate::archive::EmailEvent;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{ApiTime, EmailId, MAX_EXTRA_BYTES, Status};
use crate::server::ErrorResponse;
use crate::tasks::lock;

/// The most bytes of an event, which has no body of an email.
const MAX_EVENT: usize = 256 << 10;

/// How long the service may take to send an event.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How far the time of a signature may be from now, before or after:
/// what Svix recommends. An older request may be one that was recorded and is sent again.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// How a signing secret begins.
const SECRET_PREFIX: &str = "whsec_";

/// The fewest bytes of a signing secret: a shorter one could be guessed.
const MIN_SECRET_LEN: usize = 16;

/// The signing secrets of a file: two while one is replaced.
pub(crate) struct SigningSecrets {
    file: PrivateFile<hmac::Key>,
    /// The errors that were reported since the last event with a valid signature.
    reported: Mutex<Vec<SignatureError>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignatureError {
    /// Scanners of the network send such requests.
    Missing,
    WrongSecret,
    /// It is valid, and its time is more than [`TOLERANCE`] from now.
    WrongTime,
}

impl SignatureError {
    /// Returns what the user who runs the mirror reads.
    const fn report(self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::WrongSecret => Some(
                "an event was rejected: no signing secret in the file matches its signature; compare the file with the secret that the service shows for this webhook",
            ),
            Self::WrongTime => Some(
                "an event was rejected: it was signed more than five minutes before or after the time of this machine; is its clock right? sentbox doctor compares it with the service's",
            ),
        }
    }
}

impl SigningSecrets {
    /// Opens the file of secrets, one a line.
    pub(crate) fn open(path: &Path, note: NoteWriter) -> Result<Self> {
        let kind = "the file of signing secrets";
        let opened = PrivateFile::open(kind, path, parse_secrets, note);
        let reported = Mutex::default();
        opened.map(|file| Self { file, reported }).map_err(|error| {
            if path.exists() {
                return error;
            }
            error.with_hint(
                "make it, readable by you alone, with the signing secret that the service shows for the webhook (whsec_...)",
            )
        })
    }

    /// Reads the event of a request; `None` if it is not about a sent email.
    ///
    /// `note` reports the first refused signature, and the first after an accepted one.
    pub(super) async fn read_event(
        &self,
        request: Request,
        now: Timestamp,
        note: &NoteWriter,
    ) -> Result<Option<ServiceEvent>, ErrorResponse> {
        let (parts, body) = request.into_parts();
        let body = timeout(BODY_TIMEOUT, to_bytes(body, MAX_EVENT)).await;
        let Ok(Ok(body)) = body else {
            return Err(ErrorResponse::EventTooLarge);
        };
        let verified = self.verify(&parts.headers, &body, now);
        self.report(verified, note);
        verified.map_err(|_| ErrorResponse::InvalidSignature)?;
        let payload = serde_json::from_slice(&body).map_err(|_| ErrorResponse::InvalidEvent)?;
        Ok(to_event(&payload))
    }

    /// Reports an error unless that was done since the last success.
    fn report(&self, verified: Result<(), SignatureError>, note: &NoteWriter) {
        let mut reported = lock(&self.reported);
        match verified {
            Ok(()) => reported.clear(),
            Err(error) if reported.contains(&error) => {}
            Err(error) => {
                if let Some(text) = error.report() {
                    reported.push(error);
                    tracing::warn!("{text}");
                    note(text);
                }
            }
        }
    }

    /// Checks that the service has signed this body, not long before or after `now`.
    fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        let header = |name: &str| {
            let value = ["svix", "webhook"]
                .iter()
                .find_map(|prefix| headers.get(format!("{prefix}-{name}")))?;
            value.to_str().ok()
        };
        let (Some(id), Some(time), Some(signatures)) =
            (header("id"), header("timestamp"), header("signature"))
        else {
            return Err(SignatureError::Missing);
        };
        let content = [format!("{id}.{time}.").as_bytes(), body].concat();
        let is_signed = self.file.with(|secrets| {
            signatures
                .split(' ')
                .filter_map(|signature| signature.strip_prefix("v1,"))
                .filter_map(|signature| BASE64_STANDARD.decode(signature).ok())
                .any(|signature| {
                    let matches = |key| hmac::verify(key, &content, &signature).is_ok();
                    secrets.iter().any(matches)
                })
        });
        let at = time.parse().ok();
        let at = at.and_then(|second| Timestamp::from_second(second).ok());
        let is_recent = at.is_some_and(|at| at.duration_since(now).abs() <= TOLERANCE);
        match (is_signed, is_recent) {
            (true, true) => Ok(()),
            (true, false) => Err(SignatureError::WrongTime),
            (false, _) => Err(SignatureError::WrongSecret),
        }
    }
}

/// Parses the lines. No error quotes a line: it is a secret.
fn parse_secrets(text: &str) -> Result<Vec<hmac::Key>> {
    let mut secrets = Vec::new();
    for (number, line) in numbered_lines(text) {
        let bytes = line.strip_prefix(SECRET_PREFIX);
        let bytes = bytes.and_then(|encoded| BASE64_STANDARD.decode(encoded).ok());
        let Some(bytes) = bytes.filter(|bytes| bytes.len() >= MIN_SECRET_LEN) else {
            let message = format!("line {number} is not a signing secret");
            return Err(Error::new(ErrorKind::Config, message)
                .with_hint("copy it from the service: it begins with whsec_"));
        };
        secrets.push(hmac::Key::new(hmac::HMAC_SHA256, &bytes));
    }
    if secrets.is_empty() {
        return Err(Error::new(ErrorKind::Config, "there is no secret in it")
            .with_hint("add the signing secret that the service shows for the webhook"));
    }
    Ok(secrets)
}

#[derive(Deserialize)]
struct Payload<'a> {
    /// `email.delivered` and others.
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EmailData {
    email_id: String,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    bounce: Option<Box<RawValue>>,
    /// Its members are those of `bounce`.
    #[serde(default)]
    suppressed: Option<Box<RawValue>>,
    #[serde(default)]
    failed: Value,
}

impl EmailData {
    /// Returns why the email did not arrive, in the form of `bounce`.
    fn into_reason(self) -> Option<Box<RawValue>> {
        let failed = || {
            let message = self.failed.get("reason").filter(|text| text.is_string())?;
            to_raw_value(&json!({ "message": message })).ok()
        };
        let reason = self.bounce.or(self.suppressed).or_else(failed);
        // A longer one is not shown, and would make pages large.
        reason.filter(|json| json.get().len() <= MAX_EXTRA_BYTES)
    }
}

#[derive(Debug)]
pub(super) struct ServiceEvent {
    pub(super) event: EmailEvent,
    /// When it happened, by the service's clock.
    pub(super) at: Timestamp,
    pub(super) created_at: Option<Timestamp>,
}

/// Converts the body of a webhook;
/// `None` if the event names no sent email, or is of an unknown kind or time.
fn to_event(payload: &Payload) -> Option<ServiceEvent> {
    let status = Status::parse(payload.kind.strip_prefix("email.")?);
    if !Status::KNOWN.contains(&status) {
        return None;
    }
    let data: EmailData = serde_json::from_str(payload.data?.get()).ok()?;
    if data.email_id.is_empty() {
        return None;
    }
    let parse = |time: Option<&str>| time.and_then(|time| ApiTime::parse(time).parsed);
    Some(ServiceEvent {
        at: parse(payload.created_at.as_deref())?,
        created_at: parse(data.created_at.as_deref()),
        event: EmailEvent {
            id: EmailId::new(data.email_id.as_str()),
            status,
            bounce: data.into_reason(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::create_secret;

    /// The example of the documentation of Svix and of its libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const HEADERS: [(&str, &str); 3] = [
        ("id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("timestamp", "1614265330"),
        (
            "signature",
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ),
    ];

    fn secrets(text: &str) -> Result<SigningSecrets> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        create_secret(&path, text).unwrap();
        let secrets = SigningSecrets::open(&path, Box::new(|_| ()))?;
        // The file is read again only if it is still there.
        std::mem::forget(folder);
        Ok(secrets)
    }

    fn headers(prefix: &str, changes: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in HEADERS.iter().chain(changes) {
            let name = format!("{prefix}-{name}");
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.insert(name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn missing_file_names_what_it_must_have() {
        let folder = tempfile::tempdir().unwrap();
        let opened = SigningSecrets::open(&folder.path().join("none"), Box::new(|_| ()));
        let error = opened.map(|_| ()).unwrap_err();
        assert!(error.message.ends_with("does not exist"), "{error}");
        assert!(error.hint.contains("whsec_"), "{error}");
    }

    #[test]
    fn only_recent_content_with_its_signature_is_accepted() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = at(1_614_265_330);
        let same = headers("svix", &[]);
        let is_valid = |secrets: &SigningSecrets, headers: &HeaderMap| {
            secrets.verify(headers, BODY, now).is_ok()
        };
        let one = secrets(SECRET).unwrap();
        assert!(is_valid(&one, &same));
        assert!(is_valid(&one, &headers("webhook", &[])));
        for late in [-300, 300] {
            let is_valid = |second| one.verify(&same, BODY, at(second)).is_ok();
            assert!(is_valid(1_614_265_330 + late));
            assert!(!is_valid(1_614_265_330 + late + late.signum()));
        }
        let several = "v1,AAAA v2,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,x";
        assert!(is_valid(&one, &headers("svix", &[("signature", several)])));
        let rotated = secrets(&format!("# new\nwhsec_{}\n\n{SECRET}\n", "ab".repeat(16))).unwrap();
        assert!(is_valid(&rotated, &same));
        #[rustfmt::skip] // one header a line
        let changes = [
            ("id", "msg_other"),
            ("timestamp", "1614265331"),
            ("timestamp", "soon"),
            ("signature", "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            ("signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            ("signature", "v1,"),
            ("signature", ""),
        ];
        for change in changes {
            assert!(!is_valid(&one, &headers("svix", &[change])), "{change:?}");
        }
        let other_body = br#"{"test": 2432232315}"#;
        assert!(one.verify(&same, other_body, now).is_err());
        assert!(!is_valid(&one, &headers("other", &[])));
        let other = secrets(&format!("whsec_{}", "ab".repeat(16))).unwrap();
        assert!(!is_valid(&other, &same));
    }

    #[test]
    fn wrong_secret_is_named_by_its_line() {
        for (text, expected) in [
            ("# none\n", "there is no secret in it"),
            ("\nwhsec_short", "line 2 is not a signing secret"),
            ("whsec_MfKQ9r8GKYqr", "line 1 is not a signing secret"),
            (
                "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "line 1 is not a signing secret",
            ),
        ] {
            let error = secrets(text).err().expect(text);
            assert!(error.message.ends_with(expected), "{}", error.message);
            assert!(!format!("{error:?}").contains("MfKQ"), "{error:?}");
        }
    }

    #[test]
    fn sent_mail_events_have_status_and_time() {
        let event = |json: &str| to_event(&serde_json::from_str(json).unwrap());
        let bounced = event(
            r#"{"type":"email.bounced","created_at":"2026-11-20T09:42:00.000Z","data":{"email_id":"7","created_at":"2026-11-20T09:41:00+00:00","bounce":{"message":"full"},"to":["a@example.com"]}}"#,
        )
        .unwrap();
        assert_eq!(bounced.event.id.as_str(), "7");
        assert_eq!(bounced.event.status, Status::Bounced);
        assert_eq!(bounced.at.to_string(), "2026-11-20T09:42:00Z");
        assert!(bounced.created_at < Some(bounced.at));
        assert_eq!(bounced.event.bounce.unwrap().get(), r#"{"message":"full"}"#);
        let long = format!(
            r#"{{"type":"email.bounced","created_at":"2026-11-20T09:42:00Z","data":{{"email_id":"7","bounce":"{}"}}}}"#,
            "x".repeat(MAX_EXTRA_BYTES)
        );
        let long = event(&long).unwrap().event;
        assert_eq!(long.status, Status::Bounced);
        assert!(long.bounce.is_none());
        for ignored in [
            r#"{"type":"email.bounced","data":{"email_id":"7"}}"#,
            r#"{"type":"email.bounced","created_at":"2026-11-20T09:42:00Z"}"#,
            r#"{"type":"email.received","created_at":"2026-11-20T09:42:00Z","data":{"email_id":"7"}}"#,
            r#"{"type":"email.unheard","created_at":"2026-11-20T09:42:00Z","data":{"email_id":"7"}}"#,
            r#"{"type":"contact.created","created_at":"2026-11-20T09:42:00Z","data":{"id":"7"}}"#,
        ] {
            assert!(event(ignored).is_none(), "{ignored}");
        }
    }

    #[test]
    fn failed_and_suppressed_events_have_their_reasons() {
        let reason = |status: &str, data: &str| {
            let json = format!(
                r#"{{"type":"email.{status}","created_at":"2026-11-20T09:42:00Z","data":{{"email_id":"7",{data}}}}}"#
            );
            let event = to_event(&serde_json::from_str(&json).unwrap()).unwrap();
            Some(event.event.bounce?.get().to_owned())
        };
        let failed = reason("failed", r#""failed":{"reason":"reached_daily_quota"}"#);
        assert_eq!(failed.unwrap(), r#"{"message":"reached_daily_quota"}"#);
        let json = r#"{"message":"on the list","type":"OnAccountSuppressionList"}"#;
        let suppressed = reason("suppressed", &format!(r#""suppressed":{json}"#));
        assert_eq!(suppressed.unwrap(), json);
        for nothing in ["null", "7", "{}", r#"{"reason":null}"#] {
            let data = format!(r#""failed":{nothing},"suppressed":null"#);
            assert_eq!(reason("failed", &data), None, "{nothing}");
        }
    }
}
