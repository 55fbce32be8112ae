//! Spans: which stretches of the service's listing are known whole.
//!
//! A span lies between two rows and says: every email that the service lists between them is in
//! the archive. It says nothing the other way round. A row may lie outside all spans (an email that was
//! retrieved by its id, or imported), even between the places of a span's ends; `mail.listed` tells
//! those that a page has held from those that have only come to lie there.

use super::Place;
use crate::mail::Stamp;

/// How far back the archive is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Everything that the service lists.
    Everything,
    /// Everything from the newest email down to this time, or place if the time is unreadable.
    Since(Stamp),
    /// The newest emails are not known yet.
    Nothing,
}

/// A stretch of the listing of which every email is in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its newest email.
    pub top: Place,
    /// Its oldest email.
    pub bottom: Place,
    /// Whether the service listed nothing newer when it was last asked.
    pub reaches_top: bool,
    /// Whether the service listed nothing older when it was last asked.
    pub reaches_end: bool,
}

impl Span {
    /// Whether `place` lies within. That a row is part of the span is known only if it is listed.
    #[must_use]
    pub fn holds(&self, place: Place) -> bool {
        (self.bottom..=self.top).contains(&place)
    }
}
