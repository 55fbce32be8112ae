//! The domain types of an email, sanitized for display.
//!
//! The service's JSON is in [`crate::api::wire`]; it is converted to these types only for display.

mod address;
mod attachment;
mod bounce;
mod mailbox;
mod metrics;
mod status;

pub(crate) use address::{Address, mixes_scripts};
pub use attachment::Attachment;
pub use bounce::{Bounce, Suppression};
pub(crate) use bounce::{describe_one_of, explain};
pub use mailbox::Mailbox;
pub use metrics::Metrics;
pub(crate) use status::{FINAL_AFTER, Finality, RECEIVED_EVENT, Status, count_status};

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::text::format::format_timestamp;
pub(crate) use crate::text::sanitize::SafeText;
use crate::text::secrets::{Secrets, shown_text};

/// Shown instead of an empty subject.
pub(crate) const NO_SUBJECT: &str = "(no subject)";

/// The id of an email: a UUID on the real service, anything on its imitators;
/// never parsed, never a path. It is not sanitized: show it with `to_safe_text`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EmailId(Arc<str>);

impl EmailId {
    /// Creates the id as the service spells it.
    #[must_use]
    pub fn new(id: impl AsRef<str>) -> Self {
        Self(Arc::from(id.as_ref()))
    }

    /// Returns the id as the service spells it:
    /// for requests and the archive, not for the screen.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn to_safe_text(&self) -> SafeText {
        SafeText::new(&self.0)
    }
}

impl fmt::Debug for EmailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A time from the service: parsed if possible, and as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApiTime {
    /// The instant; `None` if the text is not a time.
    pub parsed: Option<Timestamp>,
    /// The text as it was sent, sanitized.
    pub(crate) raw: SafeText,
}

impl ApiTime {
    /// Parses both formats in use:
    /// RFC 3339, and Postgres text (`2026-04-03 22:13:42.67+00`), which the real service sends
    /// although its documentation shows the former.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self {
            parsed: text.trim().parse().ok(),
            raw: SafeText::new(text),
        }
    }

    /// Returns the time of the next microsecond.
    pub(crate) fn next(self) -> Self {
        let next = |at: Timestamp| at.checked_add(Duration::from_micros(1)).unwrap_or(at);
        Self {
            parsed: self.parsed.map(next),
            ..self
        }
    }

    /// Returns microseconds since 1970, the unit of the archive.
    pub(crate) fn as_micros(&self) -> Option<i64> {
        self.parsed.map(Timestamp::as_microsecond)
    }

    pub(crate) fn format_utc(&self) -> String {
        self.format_or_raw(format_timestamp)
    }

    /// Formats the instant, or returns the text that is not a time.
    pub(crate) fn format_or_raw(&self, format: impl FnOnce(Timestamp) -> String) -> String {
        self.parsed.map_or_else(|| self.raw.to_string(), format)
    }
}

/// An email without its bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The service's id.
    pub id: EmailId,
    /// Recipients, in the order of the service.
    pub(crate) to: Vec<Address>,
    pub(crate) cc: Vec<Address>,
    /// Blind-copy recipients.
    pub(crate) bcc: Vec<Address>,
    /// The addresses for replies, if not the sender.
    pub(crate) reply_to: Vec<Address>,
    pub(crate) from: Address,
    /// The subject; empty if there is none.
    pub(crate) subject: SafeText,
    /// The message id with its angle brackets; empty if there is none.
    pub(crate) message_id: SafeText,
    /// When the service accepted it.
    pub(crate) created: ApiTime,
    /// When it is to be sent, for a scheduled email.
    pub(crate) scheduled: Option<ApiTime>,
    /// The most recent event; [`Status::Received`] is none.
    pub(crate) status: Status,
    /// Unknown fields: name and JSON value, in the order of the service.
    pub(crate) extra: Vec<(SafeText, SafeText)>,
}

/// The field that says why an email bounced.
pub(crate) const BOUNCE_FIELD: &str = "bounce";

/// The field of received mail that lists its attachments, without links.
const ATTACHMENTS_FIELD: &str = "attachments";

/// The most addresses of a field in a row of a list.
const MAX_RECIPIENTS: usize = 100;
/// The most characters of a text in a row of a list.
const MAX_CHARS: usize = 1000;
/// The most bytes of the JSON of an unknown member that is shown, and of its name.
pub(crate) const MAX_EXTRA_BYTES: usize = 4096;

impl Summary {
    /// Truncates what no row of a list can show:
    /// a subject of a million characters, or ten thousand recipients, must not make a window of
    /// rows large.
    ///
    /// Returns whether recipients are left out.
    pub(crate) fn truncate_for_list(&mut self) -> bool {
        let is_long = |list: &Vec<Address>| list.len() > MAX_RECIPIENTS;
        let is_shortened = [&self.to, &self.cc, &self.bcc].into_iter().any(is_long);
        for list in [
            &mut self.to,
            &mut self.cc,
            &mut self.bcc,
            &mut self.reply_to,
        ] {
            list.truncate(MAX_RECIPIENTS);
            list.shrink_to_fit();
            list.iter_mut().for_each(Address::truncate);
        }
        self.from.truncate();
        self.subject.truncate(MAX_CHARS);
        self.message_id.truncate(MAX_CHARS);
        self.extra
            .retain(|(name, json)| name.len().max(json.len()) <= MAX_EXTRA_BYTES);
        is_shortened
    }

    /// Returns the subject with its codes masked or revealed.
    pub(crate) fn shown_subject(&self, secrets: Secrets) -> Cow<'_, str> {
        shown_text(&self.subject, secrets)
    }

    /// Returns the sender with codes in its name masked or revealed.
    pub(crate) fn shown_from(&self, secrets: Secrets) -> String {
        shown_text(&self.from.to_mailbox(), secrets).into_owned()
    }

    /// Returns the unknown fields but those that are shown otherwise:
    /// a bounce, and the names of attachments.
    pub(crate) fn other_fields(
        &self,
        bounce: Option<&Bounce>,
        has_attachments: bool,
    ) -> impl Iterator<Item = &(SafeText, SafeText)> {
        self.extra.iter().filter(move |(name, _)| match &**name {
            BOUNCE_FIELD => bounce.is_none(),
            ATTACHMENTS_FIELD => !has_attachments,
            _ => true,
        })
    }

    /// Counts its attachments; `None` if the service does not list them with the email.
    pub(crate) fn count_attachments(&self) -> Option<usize> {
        let mut fields = self.extra.iter();
        let (_, json) = fields.find(|(name, _)| &**name == ATTACHMENTS_FIELD)?;
        let all: Vec<serde::de::IgnoredAny> = serde_json::from_str(json).ok()?;
        Some(all.len())
    }

    /// Returns why the email has its status, if the service says so of a bounce.
    pub(crate) fn bounce_reason(&self) -> Option<SafeText> {
        Some(self.bounce()?.texts_for(&self.status).0?.clone())
    }

    /// Returns what the service says of a bounce; it rarely says anything.
    pub(crate) fn bounce(&self) -> Option<Bounce> {
        Some(Bounce::find(&self.extra)?.with_recipients(self.recipients()))
    }

    /// Returns the address on the other side:
    /// the first recipient of a sent email, the sender of a received one.
    pub(crate) fn correspondent(&self) -> Option<&Address> {
        if self.status.exists() {
            self.to.first()
        } else {
            Some(&self.from).filter(|from| !from.email.is_empty())
        }
    }

    /// Returns the address on the side of the team:
    /// the sender of a sent email, the first recipient of a received one.
    pub(crate) fn team_address(&self) -> Option<&Address> {
        if self.status.exists() {
            Some(&self.from)
        } else {
            self.to.first()
        }
    }

    /// Returns the addresses of to, cc and bcc.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }

    /// Counts the recipients, each address once.
    pub(crate) fn count_recipients(&self) -> usize {
        if self.recipients().nth(1).is_none() {
            return self.recipients().count();
        }
        let addresses = self.recipients().map(|to| to.email.to_lowercase());
        let addresses: HashSet<_> = addresses.collect();
        addresses.len()
    }
}

/// A label that the sender attached to an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: SafeText,
    pub(crate) value: SafeText,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// One email with its bodies.
///
/// The bodies and the JSON are not sanitized: only [`crate::render`] makes them safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Email {
    pub(crate) summary: Summary,
    pub(crate) html: Option<Arc<str>>,
    pub(crate) text: Option<Arc<str>>,
    /// Labels, in the order of the service.
    pub(crate) tags: Vec<Tag>,
    /// The service's answer, byte for byte.
    pub(crate) json: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_give_the_same_instant() {
        let rfc = ApiTime::parse("2026-04-03T22:13:42.674981+00:00");
        for text in [
            "2026-04-03 22:13:42.674981+00",
            "2026-04-04T00:13:42.674981+02:00",
            "2026-04-03T22:13:42.674981Z",
        ] {
            assert_eq!(ApiTime::parse(text).parsed, rfc.parsed, "{text}");
        }
        assert_eq!(rfc.as_micros(), Some(1_775_254_422_674_981));
        assert!(ApiTime::parse("2026-04-01 00:00:00+00").parsed.is_some());
        assert!(
            ApiTime::parse("2025-11-30 20:41:40.84216+00")
                .parsed
                .is_some()
        );
    }

    #[test]
    fn unparsable_time_keeps_its_text() {
        let stamp = ApiTime::parse("last\u{1b}Tuesday");
        assert_eq!(stamp.parsed, None);
        assert_eq!(&*stamp.raw, "last\u{FFFD}Tuesday");
    }
}
