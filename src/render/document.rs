//! `Prepared`: one view of one email, taken apart once, to be laid out at any width.

use super::body::{Body, BodyLine, BodyNotice, BodyView, NoticeKind, SpanRole, SpanStyle};
use super::html_document::HtmlDocument;
use super::json_view::JsonView;
use super::panics::catch_panics;
use super::source_view::SourceView;
use super::text_part::{MAX_LINES, TextPart};
use super::wrap::{self, WrapRun};
use super::{compare_parts, notices};
use crate::mail::Email;
use crate::text::sanitize::{self, TextKind};

/// A narrower screen shows nothing that could be read; it gets lines of this width, marked as wide.
const MIN_WIDTH: usize = 8;

/// More text than is worth showing.
const MAX_TEXT: usize = 4 << 20;

/// More JSON than the service sends; its long strings are folded, so it is never shown whole.
const MAX_JSON: usize = 32 << 20;

/// One view of one email, taken apart once.
///
/// Making it reads and judges the html, which may take some milliseconds; laying it out again at
/// another width is cheaper. It can be kept and shared between threads.
#[derive(Debug)]
pub struct Document {
    content: Content,
    notices: Vec<BodyNotice>,
}

#[derive(Debug)]
enum Content {
    Html(Box<HtmlDocument>),
    Text(TextPart),
    Source(SourceView),
    Json(JsonView),
    /// There is nothing; the words say what is missing.
    Message(&'static str),
}

impl Document {
    /// Takes the parts of `email` apart that `view` shows.
    #[must_use]
    pub(crate) fn from_email(email: &Email, view: BodyView) -> Self {
        let html = email.html.as_deref().filter(|html| !html.trim().is_empty());
        let text = email.text.as_deref().filter(|text| !text.trim().is_empty());
        match (view, html, text) {
            (BodyView::Rendered, Some(html), _) => {
                let mut prepared = Self::from_html_or_nothing(html, text);
                if let Content::Html(page) = &prepared.content {
                    prepared.notices.extend(compare_parts::compare_parts(
                        &page.visible_text(),
                        email.text.as_deref(),
                    ));
                }
                prepared
            }
            (BodyView::Rendered | BodyView::Text, None, Some(text))
            | (BodyView::Text, Some(_), Some(text)) => Self::from_text(text),
            (BodyView::Rendered, None, None) => Self::from_message("This email has no content."),
            (BodyView::Text, _, None) => Self::from_message("This email has no plain-text part."),
            (BodyView::Source, Some(html), _) => {
                Self::from_sanitized(html, |html| Content::Source(SourceView::new(html)))
            }
            (BodyView::Source, None, _) => Self::from_message("This email has no html part."),
            (BodyView::Raw, _, _) => Self::from_json(&email.json),
        }
    }

    /// Takes an html source apart that belongs to no email.
    #[must_use]
    pub fn from_html(source: &str) -> Self {
        Self::from_html_or_nothing(source, None)
    }

    /// Lays it out for a screen of `width` columns.
    #[must_use]
    pub fn lay_out(&self, width: u16) -> Body {
        let width = usize::from(width);
        let inner = width.max(MIN_WIDTH);
        let mut body = match &self.content {
            Content::Html(page) => lay_out_or_words(page, inner),
            Content::Text(text) => text.lay_out(inner),
            Content::Source(source) => source.lay_out(inner),
            Content::Json(raw) => raw.lay_out(inner),
            Content::Message(words) => Body {
                lines: notice_lines(words, inner),
                ..Body::default()
            },
        };
        body.notices.splice(0..0, self.notices.iter().cloned());
        if body.lines.len() > MAX_LINES {
            body.lines.truncate(MAX_LINES);
            body.notices
                .push(notices::truncated("it has more than 50 000 lines"));
        }
        let said = body
            .notices
            .iter()
            .filter(|note| matches!(note.kind, NoticeKind::Truncated | NoticeKind::Fallback));
        let said: Vec<BodyLine> = said
            .flat_map(|note| {
                [vec![BodyLine::default()], notice_lines(&note.detail, inner)].concat()
            })
            .collect();
        body.lines.extend(said);
        for line in &mut body.lines {
            line.wide |= width < MIN_WIDTH && wrap::spans_width(&line.spans) > width;
        }
        body
    }

    fn from_html_or_nothing(html: &str, text: Option<&str>) -> Self {
        let prepared = Self::from_html_or_text(html, text);
        match &prepared.content {
            Content::Html(page) if page.is_empty() => Self {
                content: Content::Message("The html part shows nothing."),
                ..prepared
            },
            Content::Html(_)
            | Content::Text(_)
            | Content::Source(_)
            | Content::Json(_)
            | Content::Message(_) => prepared,
        }
    }

    fn from_html_or_text(html: &str, text: Option<&str>) -> Self {
        // The libraries that read and lay out have panicked on odd input before. A person who
        // looks at such an email still sees its words, and is told.
        let read = catch_panics(|| HtmlDocument::parse(html));
        match (read, text) {
            (Some(page), _) => {
                let notes = page.notices.clone();
                Self {
                    content: Content::Html(Box::new(page)),
                    notices: notes,
                }
            }
            (None, Some(text)) => {
                let mut prepared = Self::from_text(text);
                prepared.notices.push(notices::fallback(
                    "the html part could not be laid out; this is the text part",
                ));
                prepared
            }
            (None, None) => {
                let mut prepared =
                    Self::from_sanitized(html, |html| Content::Source(SourceView::new(html)));
                prepared.notices.push(notices::fallback(
                    "the html part could not be laid out; this is its source",
                ));
                prepared
            }
        }
    }

    fn from_text(text: &str) -> Self {
        Self::from_sanitized(text, |text| Content::Text(TextPart::new(text)))
    }

    fn from_json(json: &str) -> Self {
        let clipped = truncate_bytes(json, MAX_JSON);
        let cut =
            (clipped.len() < json.len()).then(|| notices::truncated("it is larger than 32 MB"));
        Self {
            content: Content::Json(JsonView::new(clipped)),
            notices: cut.into_iter().collect(),
        }
    }

    fn from_sanitized(foreign: &str, make: impl FnOnce(&str) -> Content) -> Self {
        let clipped = truncate_bytes(foreign, MAX_TEXT);
        let cleaned = sanitize::sanitize(clipped, TextKind::MultiLine);
        let mut notes = Vec::new();
        if clipped.len() < foreign.len() {
            notes.push(notices::truncated("it is larger than 4 MB"));
        }
        let removed = cleaned.removed.controls + cleaned.removed.bidi;
        if removed > 0 {
            notes.push(notices::sanitized(removed));
        }
        Self {
            content: make(&cleaned.text),
            notices: notes,
        }
    }

    fn from_message(words: &'static str) -> Self {
        Self {
            content: Content::Message(words),
            notices: Vec::new(),
        }
    }
}

/// The page, or its bare words should laying it out fail.
fn lay_out_or_words(page: &HtmlDocument, width: usize) -> Body {
    catch_panics(|| page.lay_out(width)).unwrap_or_else(|| {
        let mut body = TextPart::new(&page.visible_text()).lay_out(width);
        body.notices.push(notices::fallback(
            "the html part could not be laid out; these are its words",
        ));
        body
    })
}

fn notice_lines(message: &str, width: usize) -> Vec<BodyLine> {
    let mark = SpanStyle {
        role: SpanRole::Notice,
        ..SpanStyle::default()
    };
    wrap::wrap_lines(
        &[WrapRun {
            text: message,
            style: mark,
            no_break: false,
        }],
        width,
        &[],
        &[],
    )
}

fn truncate_bytes(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
