//! Turns a body into lines of marked spans at a width, safely, whatever the body is.
//!
//! An html body goes through three steps: it is *read* into a bounded tree, *judged* for what a
//! person sees of it, and *rebuilt* as plain blocks. [`Prepared`] keeps those blocks, so that a
//! change of width costs only the layout.

pub mod ansi;
mod blocks;
mod body;
mod code_view;
mod compare_parts;
mod css;
mod document;
mod extract_text;
mod html;
mod html_document;
mod json_view;
mod layout;
mod links;
mod notices;
mod panics;
mod source_view;
mod text_part;
mod wrap;

pub(crate) use body::{Body, BodyLine, BodyView, SpanRole, SpanStyle};
#[cfg(test)]
pub(crate) use body::{BodySpan, NoticeKind};
pub use document::Document;
pub(crate) use extract_text::extract_text;
pub(crate) use panics::is_catching_panics;

use crate::mail::Email;

/// Lays out one view of an email at a width in columns.
///
/// Total: it neither panics nor runs away, whatever the email holds. It may take tens of
/// milliseconds, so call it off the event loop.
#[must_use]
pub(crate) fn lay_out(email: &Email, view: BodyView, width: u16) -> Body {
    Document::from_email(email, view).lay_out(width)
}

/// Lays out an html source that belongs to no email, as a mail reader's filter does.
#[must_use]
pub fn lay_out_html(source: &str, width: u16) -> Body {
    Document::from_html(source).lay_out(width)
}

#[cfg(test)]
mod tests;
