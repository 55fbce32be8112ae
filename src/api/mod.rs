//! The service: its JSON, and the HTTP client with rate limit and retries.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::error::{Error, ErrorKind, Result};
use crate::mail::{
    Address, ApiTime, Attachment, Email, EmailId, Mailbox, SafeText, Status, Summary, Tag,
};

mod attachments;
mod changes;
mod client;
mod connect;
mod error;
mod operations;
mod proxy;
mod rate_limit;
mod request;
mod response;
pub mod wire;

pub use changes::{ChangeStream, MailboxChange};
pub(crate) use client::WaitCause;
pub use client::{Client, ClientConfig};
pub(crate) use connect::read_certificates;
pub(crate) use error::paused_error;
#[cfg(feature = "postgres")]
pub(crate) use error::tls_hint;
use error::{Endpoint, RequestError};
pub(crate) use operations::{KeyAccess, verify_key};
pub(crate) use rate_limit::{LimitOwner, RateBudget, RecordedPause};
pub use request::{InvalidResponses, Priority, RequestHandle, RetryPolicy};

/// The start of a page; the service takes one cursor at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// At the newest email.
    Start,
    /// Directly below (older than) this email, itself excluded.
    After(EmailId),
    /// Directly above (newer than) this email, itself excluded; still newest first.
    Before(EmailId),
}

/// The most emails that the service returns in one page.
pub(crate) const MAX_LIMIT: u8 = 100;

/// The header with which a mirror (`sentbox serve`) says when the service confirmed
/// the oldest status of a response.
pub(crate) const CHECKED_AT_HEADER: &str = "x-sentbox-checked-at";

/// The header with which a mirror says when it last read the newest page.
pub(crate) const LISTED_AT_HEADER: &str = "x-sentbox-listed-at";

/// The header that each response of a mirror has.
pub(crate) const MIRROR_HEADER: &str = "x-sentbox-mirror";

/// One page of the list operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmailPage {
    /// The readable items, in the order of the service.
    pub items: Vec<ListedEmail>,
    /// The number of items that are not readable, for example because they have no id.
    pub unreadable: usize,
    /// Whether more emails exist in the requested direction; `None` if unknown.
    pub has_more: Option<bool>,
    /// When the oldest status of a mirror or a cache was confirmed by the service;
    /// `None` from the service itself.
    pub checked_at: Option<Timestamp>,
    /// When a mirror or a cache last read the newest page;
    /// `None` from the service itself, and from older mirrors.
    pub listed_at: Option<Timestamp>,
}

/// Parses a response of the list operation; `None` if it is not one.
pub(crate) fn parse_page(body: &[u8]) -> Option<EmailPage> {
    response::parse_page(body, Mailbox::Sent).ok()
}

/// One email of a page: its JSON as it was sent, and parsed.
///
/// An email has these types on its way from the service to the screen:
///
/// - `ListedEmail`, or [`RetrievedEmail`] with bodies: sync needs the id and the time, and passes the JSON on.
/// - [`wire::LosslessSummary`]: the fields as the service means them, and what else restores the JSON. It is
///   what the columns of the archive's table `mail` hold (`archive::codec::row`).
/// - [`crate::mail::Summary`] and `Email`: sanitized for display, from a row of the archive or from [`wire`],
///   below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEmail {
    pub(crate) id: String,
    /// The creation time, if it is readable.
    pub(crate) created: Option<Timestamp>,
    /// The JSON text, as it was sent.
    pub json: Arc<str>,
    /// Whether the JSON has bodies: some imitators send them in a page.
    pub(crate) has_body: bool,
    mailbox: Mailbox,
    parsed: Option<Arc<wire::LosslessSummary>>,
}

/// A longer JSON is parsed again when it is needed, so that the ten thousand
/// recipients of each email of a page are not in memory at once.
const MAX_PARSED_LEN: usize = 64 << 10;

impl ListedEmail {
    /// Parses one item of a page, or a retrieved email without its bodies.
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        Self::parse_as(json, Mailbox::Sent)
    }

    /// Parses one item of a listing.
    pub(crate) fn parse_as(json: &str, mailbox: Mailbox) -> Result<Self, serde_json::Error> {
        let (parsed, has_body) = parse_summary(json, mailbox)?;
        let created = parsed.summary.created_at.as_deref();
        Ok(Self {
            id: parsed.summary.id.clone(),
            created: created.and_then(|created| ApiTime::parse(created).parsed),
            json: Arc::from(json),
            has_body,
            mailbox,
            parsed: (json.len() <= MAX_PARSED_LEN).then(|| Arc::new(parsed)),
        })
    }

    pub(crate) fn parsed(&self) -> Arc<wire::LosslessSummary> {
        self.parsed.clone().unwrap_or_else(|| {
            let parsed = parse_summary(&self.json, self.mailbox);
            Arc::new(parsed.expect("it was parsed before").0)
        })
    }
}

/// Parses a summary; also whether the JSON has bodies, which are left out.
fn parse_summary(
    json: &str,
    mailbox: Mailbox,
) -> Result<(wire::LosslessSummary, bool), serde_json::Error> {
    let mut object = wire::OrderedObject::parse(json)?;
    let has_body = object.remove_bodies();
    let parsed = wire::LosslessSummary::from_object(&object, mailbox)?;
    Ok((parsed, has_body))
}

/// One retrieved email, parsed and as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievedEmail {
    /// The parsed fields.
    pub email: wire::Email,
    /// The JSON text, as it was sent.
    pub(crate) json: Arc<str>,
    /// When a mirror or a cache had the status from the service.
    pub(crate) checked_at: Option<Timestamp>,
}

impl RetrievedEmail {
    /// Parses the response of the retrieve operation.
    pub(crate) fn parse(json: impl Into<Arc<str>>) -> Result<Self, serde_json::Error> {
        let json = json.into();
        Ok(Self {
            email: wire::Email::parse(&json)?,
            json,
            checked_at: None,
        })
    }

    /// Returns it with the id that the archive has, where the two differ in case only;
    /// another id is an error.
    ///
    /// # Errors
    ///
    /// If it is another email.
    pub(crate) fn with_known_id(mut self, id: &EmailId) -> Result<Self> {
        let received = &self.email.summary.id;
        if received == id.as_str() {
            return Ok(self);
        }
        if !received.eq_ignore_ascii_case(id.as_str()) {
            return Err(RequestError::WrongEmail.into_error(Endpoint::Email, &"the service"));
        }
        let quoted = |id: &str| serde_json::Value::from(id).to_string();
        let json = self
            .json
            .replacen(&quoted(received), &quoted(id.as_str()), 1);
        let mut email = wire::Email::parse(&json)
            .map_err(|_| Error::new(ErrorKind::NotTheApi, "the id of the email cannot be read"))?;
        email.summary.last_event = self.email.summary.last_event.take();
        Ok(Self {
            email,
            json: json.into(),
            ..self
        })
    }

    /// Returns it without its bodies.
    pub(crate) fn to_listed(&self) -> Result<ListedEmail, serde_json::Error> {
        ListedEmail::parse_as(&self.json, self.email.summary.mailbox())
    }
}

/// A hook that runs before each attempt, after the wait for the rate limit.
pub(crate) type BeforeSend =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The operations of the service: the real client, and simulated services in tests.
pub trait EmailApi: Clone + Send + Sync + 'static {
    /// Returns the service with the priority and cancellation of `request`;
    /// ignored without a rate limit.
    #[must_use]
    fn with_priority(&self, _request: &RequestHandle) -> Self {
        self.clone()
    }

    /// Returns the service with a hook, or `None` if its requests never wait,
    /// so that it sends them at once.
    fn with_before_send(&self, _hook: BeforeSend) -> Option<Self> {
        None
    }

    /// Returns the current rate budget, if the service has a rate limit.
    fn rate_budget(&self) -> Option<RateBudget> {
        None
    }

    /// Returns how far the service's clock is ahead of ours, by its last response.
    fn clock_skew(&self) -> Option<SignedDuration> {
        None
    }

    /// Whether it is a mirror, which has no team's rate limit to share.
    fn is_mirror(&self) -> bool {
        false
    }

    /// Waits for changes of a mirror, in `stream` or in a new one,
    /// which begins with all purges and then [`MailboxChange::Reset`].
    ///
    /// # Errors
    ///
    /// If this is not a mirror, or it does not answer.
    fn follow(
        &self,
        _stream: Option<ChangeStream>,
    ) -> impl Future<Output = Result<(ChangeStream, Vec<MailboxChange>)>> + Send {
        std::future::ready(Err(error::unsupported_error(Endpoint::Changes)))
    }

    /// Returns one page of at most `limit` (1 to [`MAX_LIMIT`]) emails.
    fn list(&self, limit: u8, cursor: &Cursor) -> impl Future<Output = Result<EmailPage>> + Send;

    /// Returns one email with its bodies.
    fn retrieve(&self, id: &EmailId) -> impl Future<Output = Result<RetrievedEmail>> + Send;
}

// Only here does text of the service become text that may be displayed.

impl From<&wire::Summary> for Summary {
    fn from(wire: &wire::Summary) -> Self {
        let wire::Summary {
            id,
            to,
            from,
            created_at,
            subject,
            message_id,
            bcc,
            cc,
            reply_to,
            last_event,
            scheduled_at,
            extra,
        } = wire;
        let text = |field: &Option<String>| SafeText::new(field.as_deref().unwrap_or_default());
        Self {
            id: EmailId::new(id),
            to: parse_addresses(to.as_deref()),
            cc: parse_addresses(cc.as_deref()),
            bcc: parse_addresses(bcc.as_deref()),
            reply_to: parse_addresses(reply_to.as_deref()),
            from: Address::parse(from.as_deref().unwrap_or_default()),
            subject: text(subject),
            message_id: text(message_id),
            created: ApiTime::parse(created_at.as_deref().unwrap_or_default()),
            scheduled: scheduled_at.as_deref().map(ApiTime::parse),
            status: Status::parse(last_event.as_deref().unwrap_or_default()),
            extra: extra
                .iter()
                .map(|(name, json)| (SafeText::new(name), SafeText::new(json)))
                .collect(),
        }
    }
}

impl From<RetrievedEmail> for Email {
    fn from(retrieved: RetrievedEmail) -> Self {
        let RetrievedEmail {
            checked_at: _,
            email,
            json,
        } = retrieved;
        let wire::Email {
            summary,
            html,
            text,
            tags,
        } = email;
        Self {
            summary: Summary::from(&summary),
            html: html.map(Arc::from),
            text: text.map(Arc::from),
            tags: tags.iter().map(Tag::from).collect(),
            json,
        }
    }
}

impl From<(wire::Attachment, Arc<str>)> for Attachment {
    fn from((wire, json): (wire::Attachment, Arc<str>)) -> Self {
        let wire::Attachment {
            object: _,
            id,
            filename,
            size,
            content_type,
            content_disposition,
            content_id,
            download_url,
            expires_at,
        } = wire;
        let text = |field: Option<String>| SafeText::new(&field.unwrap_or_default());
        Self {
            id: id.unwrap_or_default(),
            name: text(filename),
            size,
            content_type: text(content_type),
            content_id: content_id.unwrap_or_default(),
            is_inline: content_disposition.is_some_and(|kind| kind == "inline"),
            download_url: download_url.map(Arc::from),
            expires_at: expires_at.and_then(|time| ApiTime::parse(&time).parsed),
            json,
        }
    }
}

impl From<&wire::Tag> for Tag {
    fn from(wire: &wire::Tag) -> Self {
        let wire::Tag { name, value } = wire;
        Self {
            name: SafeText::new(name),
            value: SafeText::new(value),
        }
    }
}

fn parse_addresses(list: Option<&[String]>) -> Vec<Address> {
    list.unwrap_or_default()
        .iter()
        .map(|text| Address::parse(text))
        .collect()
}

/// Describes a difference of the clocks that makes ages and dates look wrong; `None` if
/// it is small.
pub(crate) fn describe_clock_skew(skew: SignedDuration) -> Option<String> {
    const MAX: SignedDuration = SignedDuration::from_secs(60);
    let side = if skew.is_negative() {
        "ahead of"
    } else {
        "behind"
    };
    let seconds = skew.unsigned_abs().as_secs();
    let distance = match seconds {
        0..7200 => format!("{} min", seconds.div_ceil(60)),
        7200..172_800 => format!("{} h", (seconds + 1800) / 3600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    };
    (skew.abs() > MAX).then(|| {
        format!(
            "this machine's clock is {distance} {side} the service's, so ages and dates look wrong"
        )
    })
}
