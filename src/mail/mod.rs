//! What an email is: cleaned and typed for looking at, never for sending on.
//!
//! The service's own JSON lives in [`crate::api::wire`] and stays as it came; the types here are
//! made from it at the moment something is to be shown.

mod address;
mod id;
mod status;
mod text;
mod time;

pub use address::Address;
pub use id::EmailId;
pub use status::{FINAL_AFTER, Finality, Status};
pub use text::SafeText;
pub use time::ApiTime;

use std::sync::Arc;

/// One email as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The service's id.
    pub id: EmailId,
    /// Recipients, in the order of the service.
    pub to: Vec<Address>,
    /// Copy recipients.
    pub cc: Vec<Address>,
    /// Blind-copy recipients.
    pub bcc: Vec<Address>,
    /// Where answers go, if not to the sender.
    pub reply_to: Vec<Address>,
    /// The sender.
    pub from: Address,
    /// The subject; empty if there is none.
    pub subject: SafeText,
    /// The message id with its angle brackets; empty if the service named none.
    pub message_id: SafeText,
    /// When the service accepted it.
    pub created: ApiTime,
    /// When it is to be sent, for a scheduled email.
    pub scheduled: Option<ApiTime>,
    /// What became of it.
    pub status: Status,
    /// Fields that this version does not know: name and JSON value, in the order they came.
    pub extra: Vec<(SafeText, SafeText)>,
}

/// As many recipients and characters of a text, and bytes of an unknown field, as a row of a list holds.
const MAX_RECIPIENTS: usize = 100;
const MAX_CHARS: usize = 1000;
const MAX_EXTRA_BYTES: usize = 4096;

impl Summary {
    /// Cuts what no row of a list can show: a window of rows must not cost more memory because a subject has
    /// a million letters, or an email ten thousand recipients.
    pub fn truncate_for_list(&mut self) {
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
    pub fn bounce_reason(&self) -> Option<SafeText> {
        #[derive(serde::Deserialize)]
        struct Bounce {
            message: String,
        }
        let (_, json) = self.extra.iter().find(|(name, _)| &**name == "bounce")?;
        let bounce: Bounce = serde_json::from_str(json).ok()?;
        Some(SafeText::new(&bounce.message)).filter(|message| !message.is_empty())
    }

    /// Everybody who gets it: to, cc and bcc.
    pub fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }
}

/// A label that the sender attached to an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: SafeText,
    /// Its value.
    pub value: SafeText,
}

/// One email with its bodies.
///
/// The bodies and the JSON are still foreign text: only [`crate::render`] makes them showable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email {
    /// Everything the list shows too.
    pub summary: Summary,
    /// The html part; `None` if there is none.
    pub html: Option<Arc<str>>,
    /// The plain-text part; `None` if there is none.
    pub text: Option<Arc<str>>,
    /// Labels, in the order of the service.
    pub tags: Vec<Tag>,
    /// The service's answer, byte for byte.
    pub json: Arc<str>,
}
