//! The line under construction: white space collapses as in a browser.

use compact_str::format_compact;
use unicode_width::UnicodeWidthChar;

use super::Paragraph;
use crate::render::body::{BodySpan, SpanRole, SpanStyle, push_span};
use crate::render::css::{ComputedStyle, TextAlign, TextTransform, WhiteSpace};
use crate::text::width::DisplayWidth as _;

/// The mark between two links that only space parts.
pub(crate) const LINK_MARK: &str = " · ";

/// Enough to place a tab.
const MAX_MEASURED_RUNS: usize = 200;

/// The spaces at the start of a line indent it by at most so many columns.
const MAX_INDENT: usize = 16;

/// Enough for a price with its currency.
const MAX_END_CHARS: usize = 32;

/// A line of text between two line breaks.
#[derive(Default)]
pub(super) struct LineBox {
    runs: Vec<BodySpan>,
    /// A space is due before the next word.
    pending_space: bool,
    /// The line does not break at the space that is due.
    joins_words: bool,
    /// The line takes up height, be it only for a no-break space.
    pub(super) occupied: bool,
    preformatted: bool,
    /// The line starts at the left, so that spaces indent it.
    starts_left: bool,
    has_text: bool,
    has_images: bool,
    /// The height of an image is known.
    has_high_image: bool,
    /// Padding parts the last link from the text that follows.
    links_are_parted: bool,
    /// Height of its highest text or image, in pixels.
    pub(super) height: f32,
    /// Height of the first and of the last letters, in pixels.
    pub(super) glyph_heights: Option<(f32, f32)>,
    /// Width in pixels, estimated from the letters.
    pub(super) width_px: f32,
}

impl LineBox {
    /// Adds sanitized text; invisible text takes up space, but parts no word.
    pub(super) fn push_text(
        &mut self,
        text: &str,
        style: &ComputedStyle,
        span_style: SpanStyle,
        invisible: bool,
    ) {
        let preformatted = style.white_space == WhiteSpace::Pre;
        self.preformatted |= preformatted;
        self.starts_left = style.text_align == TextAlign::Start && !style.rtl;
        if !invisible && text.contains(|c| !is_blank(c) && c != '\n') {
            self.mark_link_end(span_style);
        }
        let mut capital = true;
        let mut out = String::new();
        for c in text.chars() {
            if invisible {
                if !c.is_ascii_whitespace() {
                    self.extend_height(style);
                }
                self.width_px += style.font_size * char_width(c, style);
                continue;
            }
            if matches!(c, ' ' | '\n' | '\t' | '\r') && !preformatted {
                let is_first = !std::mem::replace(&mut self.pending_space, true);
                self.joins_words = style.nowrap && (is_first || self.joins_words);
                capital = true;
                continue;
            }
            if out.is_empty() && self.is_replacement(c, span_style) {
                self.pending_space = true;
                self.joins_words = false;
            }
            if std::mem::take(&mut self.pending_space) && self.occupied {
                let space = if self.joins_words { '\u{A0}' } else { ' ' };
                if out.is_empty() {
                    self.push_space(space, span_style);
                } else {
                    out.push(space);
                }
                self.width_px += style.font_size * 0.27;
            }
            self.extend_height(style);
            self.width_px += style.font_size * char_width(c, style);
            match style.text_transform {
                TextTransform::Uppercase => out.extend(c.to_uppercase()),
                TextTransform::Lowercase => out.extend(c.to_lowercase()),
                TextTransform::Capitalize => {
                    let is_letter = c.is_alphanumeric();
                    if capital && is_letter {
                        out.extend(c.to_uppercase());
                    } else {
                        out.push(c);
                    }
                    capital = !(is_letter || matches!(c, '\'' | '’'));
                }
                TextTransform::None => out.push(c),
            }
            if !is_blank(c) {
                self.has_text = true;
                let height = style.glyph_height();
                let first = self.glyph_heights.map_or(height, |(first, _)| first);
                self.glyph_heights = Some((first, height));
            }
        }
        push_span(&mut self.runs, &out, span_style);
    }

    /// Adds an image, which is `height` pixels high, by its alternative text.
    pub(super) fn push_image(
        &mut self,
        text: &str,
        style: &ComputedStyle,
        span_style: SpanStyle,
        height: f32,
    ) {
        self.extend_height(style);
        self.height = self.height.max(height);
        self.has_high_image |= height > 0.0;
        if text.is_empty() {
            return;
        }
        self.ensure_space();
        push_span(&mut self.runs, text, span_style);
        self.pending_space = true;
        self.has_images = true;
    }

    pub(super) fn open_button(&mut self, style: SpanStyle) -> OpenButton {
        push_span(&mut self.runs, "[ ", style);
        OpenButton {
            run: self.runs.len() - 1,
            label: self.runs.last().map_or(0, |run| run.text.len()),
            style,
        }
    }

    /// Closes a button; its label is trimmed. A label in brackets gets no others.
    pub(super) fn close_button(&mut self, button: OpenButton) {
        self.pending_space = false;
        let OpenButton { run, label, style } = button;
        // After a line break the label goes on in another line.
        let is_opened = |run: &BodySpan| run.text.get(..label).is_some_and(|it| it.ends_with("[ "));
        let is_whole = self.runs.get(run).is_some_and(is_opened);
        if let Some(first) = self.runs.get_mut(run).filter(|_| is_whole) {
            let trimmed = first.text[label..].trim_start().to_owned();
            first.text.truncate(label);
            first.text.push_str(&trimmed);
        }
        if let Some(last) = self.runs.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if last.text.ends_with('[') {
                last.text.push(' ');
            }
        }
        let text: String = self.runs.iter().skip(run).map(|run| &*run.text).collect();
        if is_whole && text[label..].starts_with('[') && text.ends_with(']') {
            let first = &mut self.runs[run].text;
            *first = format_compact!("{}{}", &first[..label - 2], &first[label..]);
        } else {
            push_span(&mut self.runs, " ]", style);
        }
    }

    /// Adds a space now, unless the line is empty or ends with one.
    pub(super) fn ensure_space(&mut self) {
        if self.occupied {
            self.pending_space = true;
        }
        let is_parted = |run: &BodySpan| run.text.ends_with([' ', '\u{A0}']);
        if std::mem::take(&mut self.pending_space)
            && self.runs.last().is_some_and(|run| !is_parted(run))
        {
            push_span(&mut self.runs, " ", SpanStyle::default());
        }
    }

    /// True if a value starts right behind one that is struck whole, as in a list of changes.
    fn is_replacement(&self, next: char, style: SpanStyle) -> bool {
        let is_value = |c: char| c.is_alphanumeric() || "$€£¥".contains(c);
        let is_struck =
            |run: &BodySpan| run.style.strikethrough && run.text.ends_with(char::is_alphanumeric);
        let before = || self.runs.iter().rev().find(|run| !run.style.strikethrough);
        !style.strikethrough
            && is_value(next)
            && self.runs.last().is_some_and(is_struck)
            && !before().is_some_and(|run| run.text.ends_with(char::is_alphanumeric))
    }

    /// Adds a space before text of style `next`, in the style of both or neither.
    fn push_space(&mut self, space: char, next: SpanStyle) {
        if self.runs.last().is_some_and(|run| run.text.ends_with(' ')) {
            return;
        }
        let last = self.runs.last().map(|run| run.style);
        let style = last.filter(|style| *style == next).unwrap_or_default();
        push_span(&mut self.runs, space.encode_utf8(&mut [0; 4]), style);
    }

    /// Makes a space due before the next word.
    pub(super) fn allow_space(&mut self) {
        self.pending_space = self.occupied;
    }

    /// Marks the start of a link that follows another:
    /// only space separates them on the page.
    pub(super) fn part_links(&mut self) {
        self.links_are_parted = true;
    }

    /// Adds a mark between two links that only space parts.
    fn mark_link_end(&mut self, next: SpanStyle) {
        let is_link = |style: SpanStyle| style.role == SpanRole::Link;
        if !std::mem::take(&mut self.links_are_parted) || !is_link(next) {
            return;
        }
        let mut runs = self.runs.iter_mut().rev();
        let last = runs.find(|run| !run.text.trim().is_empty());
        if let Some(last) = last.filter(|last| is_link(last.style)) {
            last.text.truncate(last.text.trim_end().len());
            push_span(&mut self.runs, LINK_MARK, SpanRole::Rule.into());
            self.pending_space = false;
        }
    }

    /// Returns the columns that its text takes, of very many runs only of the last.
    pub(super) fn columns(&self) -> usize {
        let runs = self.runs.iter().rev().take(MAX_MEASURED_RUNS);
        runs.map(|run| run.text.width()).sum()
    }

    /// Returns the end of its text, with the space that is due before the next word.
    pub(super) fn end_of_text(&self) -> String {
        let runs = self.runs.iter().rev();
        let chars = runs.flat_map(|run| run.text.chars().rev());
        let space = self.pending_space.then_some(' ');
        let mut end: Vec<char> = space.into_iter().chain(chars).take(MAX_END_CHARS).collect();
        end.reverse();
        end.into_iter().collect()
    }

    /// Returns the last run that shows something.
    pub(super) fn last_run(&self) -> Option<&BodySpan> {
        let mut runs = self.runs.iter().rev();
        runs.find(|run| !run.text.trim().is_empty())
    }

    pub(super) fn extend_height(&mut self, style: &ComputedStyle) {
        self.occupied = true;
        self.height = self.height.max(style.line_height_px());
    }

    /// Treats an image without a height as the line of text that it becomes.
    pub(super) fn treat_image_as_text(&mut self) {
        self.has_text |= self.has_images && !self.has_high_image;
    }

    /// Returns the trimmed paragraph, if any of it is visible.
    pub(super) fn into_paragraph(mut self) -> Option<Paragraph> {
        if !self.has_text && !self.has_images {
            return None;
        }
        let is_trimmed = |c: char| c.is_whitespace() || c == '\u{2800}';
        let mut ends_blank = false;
        while let Some(last) = self.runs.last_mut() {
            let end = last.text.trim_end_matches(is_trimmed).len();
            ends_blank |= end < last.text.len();
            last.text.truncate(end);
            if !last.text.is_empty() {
                break;
            }
            self.runs.pop();
        }
        if !self.preformatted {
            let chars = self.runs.iter().flat_map(|run| run.text.chars());
            let leading: String = chars.take_while(|c| is_trimmed(*c)).collect();
            let is_blank = |run: &&BodySpan| run.text.trim_start_matches(is_trimmed).is_empty();
            let blank = self.runs.iter().take_while(is_blank).count();
            self.runs.drain(..blank);
            if let Some(first) = self.runs.first_mut() {
                first.text = first.text.trim_start_matches(is_trimmed).into();
            }
            // Spaces on both sides keep a text apart, and so does a single one, unless it is part
            // of a table in a monospace font.
            let indent: usize = leading.chars().map(indent_columns).sum();
            let is_code = self.runs.iter().any(|run| run.style.role == SpanRole::Code)
                && self.runs.iter().all(|run| {
                    matches!(run.style.role, SpanRole::Code | SpanRole::Link)
                        || run.text.trim().is_empty()
                });
            let is_indent =
                (is_code || indent > leading.matches(' ').count() + 1) && indent > 0 && !ends_blank;
            if is_indent && self.has_text && self.starts_left {
                let text = "\u{A0}".repeat(indent.min(MAX_INDENT)).into();
                let style = SpanStyle::default();
                self.runs.insert(0, BodySpan { text, style });
            }
        }
        Some(Paragraph {
            runs: self.runs,
            preformatted: self.preformatted,
            images_only: self.has_images && !self.has_text,
        })
    }
}

/// A button whose label is not complete.
#[derive(Clone, Copy)]
pub(super) struct OpenButton {
    /// The index of its first run.
    run: usize,
    /// Where the label starts in that run.
    label: usize,
    style: SpanStyle,
}

/// Links to one host, one after the other, without a text:
/// the first is labelled with the host, the others with numbers.
pub(super) struct HostRun {
    pub(super) host: String,
    pub(super) count: u32,
    /// The last link of the run.
    pub(super) link: u16,
}

/// True for characters that leave no mark on the page.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        ' ' | '\u{A0}' | '\u{2000}'
            ..='\u{200B}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{2800}'
    )
}

/// Returns the columns by which a space at the start of a line indents it.
fn indent_columns(c: char) -> usize {
    match c {
        '\u{2001}' | '\u{2003}' | '\u{3000}' => 2,
        ' ' | '\u{A0}' | '\u{2000}' | '\u{2002}' | '\u{2007}' => 1,
        _ => 0,
    }
}

/// Estimates the width of a character as a share of the font size.
fn char_width(c: char, style: &ComputedStyle) -> f32 {
    let width = match c {
        _ if style.monospace => 0.6,
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'I' | 'f' | 't' => 0.27,
        'm' | 'w' | 'M' | 'W' | '@' => 0.83,
        'A'..='Z' => 0.68,
        c if c.is_ascii() => 0.53,
        c => match c.width() {
            Some(2) => 1.0,
            Some(1) => 0.55,
            _ => 0.0,
        },
    };
    if style.font_weight >= 600 {
        width * 1.07
    } else {
        width
    }
}
