//! [`Suppression`]: why the service no longer sends to an address.

use super::{ApiTime, SafeText};

/// An entry of the team's suppression list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// `bounce`, `complaint` or `manual`, or what else the service says.
    pub(crate) origin: SafeText,
    /// When the address was added.
    pub(crate) created: ApiTime,
}

impl Suppression {
    /// Returns the cause in words.
    pub(crate) fn reason(&self) -> String {
        match &*self.origin {
            "bounce" => "after a bounce".to_owned(),
            "complaint" => "after a complaint".to_owned(),
            "manual" => "added by hand".to_owned(),
            "" => "for an unknown reason".to_owned(),
            other => other.to_owned(),
        }
    }
}
