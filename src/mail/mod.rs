//! What an email is: cleaned and typed for looking at, never for sending on.
//!
//! The service's own JSON lives in [`crate::api::wire`] and stays as it came; the types here are
//! made from it at the moment something is to be shown.

mod address;
mod id;
mod status;
mod text;
mod time;

pub(crate) use address::Address;
pub use id::EmailId;
pub(crate) use status::{FINAL_AFTER, Finality, Status};
pub(crate) use text::SafeText;
pub use time::ApiTime;

use std::sync::Arc;

/// One email as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The service's id.
    pub id: EmailId,
    /// Recipients, in the order of the service.
    pub(crate) to: Vec<Address>,
    /// Copy recipients.
    pub(crate) cc: Vec<Address>,
    /// Blind-copy recipients.
    pub(crate) bcc: Vec<Address>,
    /// Where answers go, if not to the sender.
    pub(crate) reply_to: Vec<Address>,
    /// The sender.
    pub(crate) from: Address,
    /// The subject; empty if there is none.
    pub(crate) subject: SafeText,
    /// The message id with its angle brackets; empty if the service named none.
    pub(crate) message_id: SafeText,
    /// When the service accepted it.
    pub(crate) created: ApiTime,
    /// When it is to be sent, for a scheduled email.
    pub(crate) scheduled: Option<ApiTime>,
    /// What became of it.
    pub(crate) status: Status,
    /// Fields that this version does not know: name and JSON value, in the order they came.
    pub(crate) extra: Vec<(SafeText, SafeText)>,
}

/// As many recipients and characters of a text, and bytes of an unknown field, as a row of a list holds.
const MAX_RECIPIENTS: usize = 100;
const MAX_CHARS: usize = 1000;
const MAX_EXTRA_BYTES: usize = 4096;

impl Summary {
    /// Cuts what no row of a list can show: a window of rows must not cost more memory because a subject has
    /// a million letters, or an email ten thousand recipients.
    pub(crate) fn truncate_for_list(&mut self) {
        let Self {
            id: _,
            to,
            cc,
            bcc,
            reply_to,
            from,
            subject,
            message_id,
            created: _,
            scheduled: _,
            status: _,
            extra,
        } = self;
        for list in [&mut *to, cc, bcc, reply_to] {
            list.truncate(MAX_RECIPIENTS);
            list.shrink_to_fit();
        }
        for address in [&mut *to, cc, bcc, reply_to]
            .into_iter()
            .flatten()
            .chain([from])
        {
            address.name.truncate(MAX_CHARS);
            address.email.truncate(MAX_CHARS);
        }
        subject.truncate(MAX_CHARS);
        message_id.truncate(MAX_CHARS);
        extra.retain(|(name, json)| name.len() + json.len() <= MAX_EXTRA_BYTES);
    }

    /// Why it bounced, in the words of the service, where it says so.
    #[must_use]
    pub(crate) fn bounce_reason(&self) -> Option<SafeText> {
        #[derive(serde::Deserialize)]
        struct Bounce {
            message: String,
        }
        let (_, json) = self.extra.iter().find(|(name, _)| &**name == "bounce")?;
        let bounce: Bounce = serde_json::from_str(json).ok()?;
        Some(SafeText::new(&bounce.message)).filter(|message| !message.is_empty())
    }

    /// Everybody who gets it: to, cc and bcc.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }
}

/// A label that the sender attached to an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Its name.
    pub(crate) name: SafeText,
    /// Its value.
    pub(crate) value: SafeText,
}

/// One email with its bodies.
///
/// The bodies and the JSON are still foreign text: only [`crate::render`] makes them showable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Email {
    /// Everything the list shows too.
    pub(crate) summary: Summary,
    /// The html part; `None` if there is none.
    pub(crate) html: Option<Arc<str>>,
    /// The plain-text part; `None` if there is none.
    pub(crate) text: Option<Arc<str>>,
    /// Labels, in the order of the service.
    pub(crate) tags: Vec<Tag>,
    /// The service's answer, byte for byte.
    pub(crate) json: Arc<str>,
}
