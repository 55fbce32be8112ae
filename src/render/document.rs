//! `Document`: one view of one email, parsed once and laid out at any width.

use super::blocks::{self, BlockContent};
use super::body::{Body, BodyLine, BodyNotice, BodyView, MAX_LINES, SpanRole, spans_width};
use super::code_view::CodeView;
use super::layout::Frame;
use super::layout::wrap::{self, WrapRun};
use super::text_part::TextPart;
use super::{catch_panics, css, html, layout, mask, notices, part_check};
use crate::mail::Email;
use crate::text::sanitize::{self, TextKind};

/// A narrower screen gets lines of this width, marked as wide.
const MIN_WIDTH: usize = 8;

/// Longer text and html is cut.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Longer JSON is cut. The limit is high because the JSON view folds long strings.
const MAX_JSON_BYTES: usize = 32 << 20;

/// How a document is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutOptions {
    /// The columns of the screen.
    pub(crate) width: u16,
    /// Lines of prose are at most this wide; tables are not.
    pub(crate) prose_width: u16,
    /// Boxes beside each other on the page are so on a wide screen.
    pub(crate) has_columns: bool,
    /// It is for a screen, on which very long URLs are cut in the middle.
    pub(crate) for_screen: bool,
    /// One-time codes and single-use links of an email are masked.
    pub(crate) masked: bool,
}

impl LayoutOptions {
    /// Returns these options with all boxes below each other.
    pub(crate) fn stacked(self) -> Self {
        Self {
            has_columns: false,
            ..self
        }
    }

    /// Returns these options with secrets masked or not.
    pub(crate) fn masked(self, masked: bool) -> Self {
        Self { masked, ..self }
    }
}

impl From<u16> for LayoutOptions {
    /// Uses the whole width.
    fn from(width: u16) -> Self {
        Self {
            width,
            prose_width: width,
            has_columns: true,
            for_screen: false,
            masked: false,
        }
    }
}

/// One view of one email, parsed and independent of the width.
///
/// Parsing html may take some milliseconds; laying out at another width costs less.
#[derive(Debug)]
pub struct Document {
    content: Content,
    notices: Vec<BodyNotice>,
}

#[derive(Debug)]
enum Content {
    Html(BlockContent),
    Text(TextPart),
    Code(CodeView),
    /// The view has no content; the text says what is missing.
    Message(&'static str),
}

impl Document {
    /// Parses the parts of `email` that `view` shows.
    pub(crate) fn from_email(email: &Email, view: BodyView) -> Self {
        let html = email.html.as_deref().filter(|html| !html.trim().is_empty());
        let text = email.text.as_deref().filter(|text| !text.trim().is_empty());
        match (view, html, text) {
            (BodyView::Rendered, Some(html), _) => {
                let mut document = Self::from_parts(html, text);
                if let Content::Html(content) = &document.content {
                    let notice = part_check::compare_parts(
                        &visible_text(content),
                        &content.links,
                        email.text.as_deref(),
                    );
                    document.notices.extend(notice);
                }
                document
            }
            (BodyView::Rendered | BodyView::Text, None, Some(text))
            | (BodyView::Text, Some(_), Some(text)) => Self::from_text(text),
            (BodyView::Rendered, None, None) => Self::from_message("This email has no content."),
            (BodyView::Text, _, None) => Self::from_message("This email has no plain-text part."),
            (BodyView::Source, Some(html), _) => Self::from_source(html),
            (BodyView::Source, None, _) => Self::from_message("This email has no html part."),
            (BodyView::Raw, _, _) => Self::from_json(&email.json),
        }
    }

    /// Parses html that belongs to no email.
    #[must_use]
    pub fn from_html(source: &str) -> Self {
        Self::from_parts(source, None)
    }

    /// Returns the document with the number of each link, as in `[1]`, after its text.
    #[must_use]
    pub fn with_link_numbers(mut self) -> Self {
        if let Content::Html(content) = &mut self.content {
            blocks::insert_link_numbers(&mut content.blocks);
        }
        self
    }

    /// Lays the document out, with its secrets as they are.
    #[must_use]
    pub fn lay_out(&self, options: impl Into<LayoutOptions>) -> Body {
        let options = options.into();
        let width = usize::from(options.width);
        let inner = width.max(MIN_WIDTH);
        let frame = Frame {
            width: inner,
            prose_width: usize::from(options.prose_width).max(MIN_WIDTH),
            has_columns: options.has_columns,
        };
        let mut body = match &self.content {
            Content::Html(content) => lay_out_html_part(content, frame),
            Content::Text(text) => {
                let mut body = text.lay_out(inner.min(frame.prose_width));
                for line in &mut body.lines {
                    line.wide &= spans_width(&line.spans) > inner;
                }
                body
            }
            Content::Code(code) => code.lay_out(inner),
            Content::Message(message) => Body {
                lines: notice_lines(message, inner),
                ..Body::default()
            },
        };
        body.notices.splice(0..0, self.notices.iter().cloned());
        if body.lines.len() > MAX_LINES {
            body.lines.truncate(MAX_LINES);
            let notice = notices::truncated(notices::TOO_MANY_LINES);
            if !body.notices.contains(&notice) {
                body.notices.push(notice);
            }
        }
        for notice in &body.notices {
            if notice.is_in_body {
                body.lines.push(BodyLine::default());
                body.lines.extend(notice_lines(&notice.detail, inner));
            }
        }
        for line in &mut body.lines {
            line.wide |= width < MIN_WIDTH && spans_width(&line.spans) > width;
            if line.wide {
                body.widest = body.widest.max(spans_width(&line.spans));
            }
            for span in &mut line.spans {
                span.text.shrink_to_fit();
            }
        }
        body
    }

    /// Returns this document with the secrets in tables masked, if it has some.
    pub(super) fn with_masked_cells(&self) -> Option<Self> {
        let Content::Html(content) = &self.content else {
            return None;
        };
        Some(Self {
            content: Content::Html(mask::mask_cells(content)?),
            notices: self.notices.clone(),
        })
    }

    /// True if these options lay boxes out beside each other, as far as they are short.
    pub(super) fn has_columns(&self, options: LayoutOptions) -> bool {
        let has_groups =
            matches!(&self.content, Content::Html(content) if !content.column_groups.is_empty());
        options.has_columns && usize::from(options.width) >= layout::MIN_COLUMNS_WIDTH && has_groups
    }

    /// Parses html; if the parsers panic, falls back to `text` or to the html source.
    fn from_parts(html: &str, text: Option<&str>) -> Self {
        if let Some((content, notices)) = catch_panics(|| parse_html(html)) {
            let content = if content.blocks.is_empty() {
                Content::Message("The html part shows nothing.")
            } else {
                Content::Html(content)
            };
            return Self { content, notices };
        }
        let (mut document, detail) = match text {
            Some(text) => (
                Self::from_text(text),
                "the html part could not be laid out; this is the text part",
            ),
            None => (
                Self::from_source(html),
                "the html part could not be laid out; this is its source",
            ),
        };
        document.notices.push(notices::fallback(detail));
        document
    }

    fn from_text(text: &str) -> Self {
        Self::from_sanitized(text, |text| Content::Text(TextPart::parse(text)))
    }

    fn from_source(html: &str) -> Self {
        Self::from_sanitized(html, |html| Content::Code(CodeView::from_html(html)))
    }

    fn from_json(json: &str) -> Self {
        let clipped = &json[..json.floor_char_boundary(MAX_JSON_BYTES)];
        let cut =
            (clipped.len() < json.len()).then(|| notices::truncated("it is larger than 32 MB"));
        Self {
            content: Content::Code(CodeView::from_json(clipped)),
            notices: cut.into_iter().collect(),
        }
    }

    fn from_sanitized(text: &str, parse: impl FnOnce(&str) -> Content) -> Self {
        let clipped = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        let clean = sanitize::sanitize(clipped, TextKind::MultiLine);
        let mut notices = Vec::new();
        if clipped.len() < text.len() {
            notices.push(notices::truncated("it is larger than 4 MB"));
        }
        notices.extend(notices::sanitized(clean.removed_controls));
        Self {
            content: parse(&clean.text),
            notices,
        }
    }

    pub(super) fn from_message(message: &'static str) -> Self {
        Self {
            content: Content::Message(message),
            notices: Vec::new(),
        }
    }
}

fn parse_html(source: &str) -> (BlockContent, Vec<BodyNotice>) {
    let mut page = html::parse(source);
    let styles = css::compute_styles(&mut page.dom);
    let content = blocks::build_blocks(&page.dom, &styles);
    let reasons = page.truncations.into_iter().chain(content.truncation);
    let mut notices: Vec<BodyNotice> = reasons.map(notices::truncated).collect();
    notices.extend(notices::trackers(&content.trackers));
    notices.extend(notices::attachments(&content.attachments));
    notices.extend(notices::sanitized(content.sanitized_chars));
    notices.extend(content.has_reversed_text.then(notices::reversed));
    (content, notices)
}

/// Lays out the blocks, or only their text if that panics.
fn lay_out_html_part(content: &BlockContent, frame: Frame) -> Body {
    let body = catch_panics(|| Body {
        lines: layout::lay_out_blocks(&content.blocks, &content.column_groups, frame),
        links: content.links.clone(),
        ..Body::default()
    });
    body.unwrap_or_else(|| {
        let mut body = TextPart::parse(&visible_text(content)).lay_out(frame.width);
        body.notices.push(notices::fallback(
            "the html part could not be laid out; this is its text",
        ));
        body
    })
}

/// Returns the text of all blocks, one block a line, with a space between cells.
fn visible_text(content: &BlockContent) -> String {
    let mut text = String::new();
    for block in &content.blocks {
        for paragraph in block.paragraphs() {
            for run in &paragraph.runs {
                text.push_str(&run.text);
            }
            text.push(' ');
        }
        text.push('\n');
    }
    text
}

fn notice_lines(message: &str, width: usize) -> Vec<BodyLine> {
    let run = WrapRun::new(message, SpanRole::Notice.into());
    wrap::wrap_lines(&[run], width, &[], &[])
}
