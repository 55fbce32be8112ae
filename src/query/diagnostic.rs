//! Messages about the text of a query that may be misread.

use std::ops::Range;

use crate::mail::Status;

/// A message about text that may be misread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The bytes that it is about.
    pub(crate) range: Range<usize>,
    /// Without a capital and a full stop, safe to show.
    pub(crate) message: String,
    /// Whether more text may resolve it: a hint while the user types, not an error.
    pub(crate) is_incomplete: bool,
    /// The query that the whole text may mean instead.
    pub(crate) meant: Option<String>,
    /// Set if it is about the value of an operator.
    pub(crate) value: Option<InvalidValue>,
}

impl Diagnostic {
    /// The message with the part of `text` that it is about:
    /// `is:bounce: no status of that name`.
    pub(crate) fn describe(&self, text: &str) -> String {
        let part = text.get(self.range.clone()).unwrap_or_default();
        let part = part.trim_end_matches(':');
        format!("{part}: {}", self.message)
    }
}

/// A value that an operator does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidValue {
    /// It has no meaning there, such as a date that does not exist.
    Impossible,
    /// There is none, as where a variable of a shell is empty.
    Missing,
    /// The service may have this status all the same.
    UnknownStatus(Status),
    /// An unknown status in quotes: it is meant.
    QuotedStatus,
}

impl Diagnostic {
    pub(super) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            range,
            message: message.into(),
            is_incomplete: false,
            meant: None,
            value: None,
        }
    }
}
