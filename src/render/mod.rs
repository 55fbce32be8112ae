//! Renders an email body as lines of styled text, within limits on time and memory.
//!
//! The passes of html: parse ([`html`]), compute styles ([`css`]), build blocks ([`blocks`]), lay
//! out ([`layout`]). [`Document`] keeps the blocks, so that another width costs only the layout.

pub mod ansi;
mod blocks;
mod body;
mod code_view;
mod css;
mod document;
mod email_views;
mod html;
mod layout;
mod links;
mod long_urls;
mod mask;
mod notices;
mod part_check;
mod text_part;

#[cfg(test)]
pub(crate) use body::BodySpan;
pub(crate) use body::{
    Body, BodyLine, BodyNotice, BodyView, HYPERLINK_MIDDLE, HYPERLINK_START, Link, LinkFlag,
    LinkKind, SpanRole, SpanStyle,
};
pub use document::{Document, LayoutOptions};
pub(crate) use email_views::EmailViews;
pub(crate) use html::{decode_html, extract_text, without_requests};

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mail::Email;

/// Lays out one view of an email.
///
/// It never panics, but it may take tens of milliseconds: call it off the event loop.
pub(crate) fn lay_out(email: &Email, view: BodyView, options: impl Into<LayoutOptions>) -> Body {
    EmailViews::default().lay_out(email, view, options.into())
}

/// Lays out html that belongs to no email, as a mail reader's filter does.
#[must_use]
pub fn lay_out_html(source: &str, width: u16) -> Body {
    Document::from_html(source).lay_out(width)
}

thread_local! {
    static CATCHING_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; returns `None` if it panics.
///
/// Parsers of other projects may panic on odd input. Such a panic has a fallback, so the process's
/// panic hook ignores it ([`is_catching_panics`]).
fn catch_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = CATCHING_PANICS.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CATCHING_PANICS.set(before);
    outcome.ok()
}

/// True while this thread runs code whose panics the renderer catches.
///
/// For the panic hook, which would otherwise end the program.
pub(crate) fn is_catching_panics() -> bool {
    CATCHING_PANICS.get()
}

#[cfg(test)]
mod tests;
