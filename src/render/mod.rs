//! Turns a body into lines of marked spans at a width, safely, whatever the body is.
//!
//! An html body goes through three steps: it is *read* into a bounded tree, *judged* for what a
//! person sees of it, and *rebuilt* as plain blocks. [`Prepared`] keeps those blocks, so that a
//! change of width costs only the layout.

pub mod ansi;
mod body;
mod check;
mod contained;
mod flow;
mod judge;
mod lay;
mod links;
mod notes;
mod page;
mod plain;
mod prepared;
mod raw;
mod read;
mod rebuild;
mod rows;
mod source;
mod text;

pub use body::{Body, End, Flag, Line, Link, LinkKind, Mark, Note, NoteKind, Role, Span, View};
pub use contained::panics_are_contained;
pub use plain::plain;
pub use prepared::Prepared;

use crate::mail::Email;

/// Lays out one view of an email at a width in columns.
///
/// Total: it neither panics nor runs away, whatever the email holds. It may take tens of
/// milliseconds, so call it off the event loop.
#[must_use]
pub fn lay_out(email: &Email, view: View, width: u16) -> Body {
    Prepared::new(email, view).at(width)
}

/// Lays out an html source that belongs to no email, as a mail reader's filter does.
#[must_use]
pub fn html(source: &str, width: u16) -> Body {
    Prepared::html(source).at(width)
}

#[cfg(test)]
mod tests;
