//! The fields of a header whose text may have several lines:
//! their labels, and the query fields that search them.

use crate::query::Field;

/// A field whose text may have several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderField {
    pub label: &'static str,
    /// The query fields that search it, if it has addresses.
    pub query_fields: &'static [Field],
}

impl HeaderField {
    pub const FROM: Self = Self::new("from", &[Field::From, Field::Any]);
    pub const TO: Self = Self::new("to", &[Field::To, Field::Any]);
    pub const CC: Self = Self::new("cc", &[Field::Cc, Field::Any]);
    pub const BCC: Self = Self::new("bcc", &[Field::Bcc, Field::Any]);
    pub const REPLY_TO: Self = Self::new("reply-to", &[Field::ReplyTo, Field::Any]);
    /// The meaning of the status after its first line.
    pub const STATUS: Self = Self::new("status", &[]);
    pub const BLOCKED: Self = Self::new("blocked", &[]);
    pub const ACTIVITY: Self = Self::new("activity", &[]);
    pub const TAGS: Self = Self::new("tags", &[]);
    pub const ATTACHED: Self = Self::new("attached", &[]);
    /// The known facts about the body.
    pub const BODY: Self = Self::new("body", &[]);
    pub const ID: Self = Self::new("id", &[]);
    pub const MESSAGE_ID: Self = Self::new("message-id", &[]);
    pub const BOUNCE: Self = Self::new("bounce", &[]);

    const fn new(label: &'static str, query_fields: &'static [Field]) -> Self {
        Self {
            label,
            query_fields,
        }
    }
}
