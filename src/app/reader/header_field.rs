//! The fields of a header whose text may have several lines:
//! their labels, and the query fields that search them.

use crate::query::Field;

/// A field whose text may have several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderField {
    From,
    To,
    Cc,
    Bcc,
    ReplyTo,
    /// The meaning of the status after its first line.
    Status,
    Blocked,
    Activity,
    Tags,
    Attached,
    /// The known facts about the body.
    Body,
    Id,
    MessageId,
    Bounce,
}

impl HeaderField {
    pub const fn label(self) -> &'static str {
        match self {
            Self::From => "from",
            Self::To => "to",
            Self::Cc => "cc",
            Self::Bcc => "bcc",
            Self::ReplyTo => "reply-to",
            Self::Status => "status",
            Self::Blocked => "blocked",
            Self::Activity => "activity",
            Self::Tags => "tags",
            Self::Attached => "attached",
            Self::Body => "body",
            Self::Id => "id",
            Self::MessageId => "message-id",
            Self::Bounce => "bounce",
        }
    }

    /// Returns the query fields that search it, if it has addresses.
    pub const fn query_fields(self) -> &'static [Field] {
        match self {
            Self::From => &[Field::From, Field::Any],
            Self::To => &[Field::To, Field::Any],
            Self::Cc => &[Field::Cc, Field::Any],
            Self::Bcc => &[Field::Bcc, Field::Any],
            Self::ReplyTo => &[Field::ReplyTo, Field::Any],
            _ => &[],
        }
    }
}
