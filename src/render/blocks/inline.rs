//! The line of text that is being put together: blanks are collapsed as a browser does.

use unicode_width::UnicodeWidthChar;

use super::block::{Paragraph, Run};
use crate::render::body::{SpanRole, SpanStyle};
use crate::render::css::{ComputedStyle, TextTransform, WhiteSpace};
use crate::render::links::is_rtl;

/// A line of text between two line breaks.
#[derive(Default)]
pub(super) struct LineBox {
    runs: Vec<Run>,
    /// A blank that waits for a word to follow.
    pending_space: bool,
    /// Something stands here that takes up a line, be it only a hard blank.
    pub(super) occupied: bool,
    /// Letters that can be seen.
    has_visible_text: bool,
    preformatted: bool,
    has_words: bool,
    has_images: bool,
    /// Height of the tallest part, in pixels.
    pub(super) height: f32,
    /// Height of the first and of the last letters.
    pub(super) glyph_heights: Option<(f32, f32)>,
    /// Width in pixels, by the width of letters in the usual fonts.
    pub(super) width_px: f32,
    rtl: bool,
}

impl LineBox {
    /// Adds text, which is clean. A `ghost` takes its place but cannot be seen.
    pub(super) fn push_text(
        &mut self,
        text: &str,
        style: &ComputedStyle,
        mark: SpanStyle,
        ghost: bool,
    ) {
        let keeps = matches!(style.white_space, WhiteSpace::Pre | WhiteSpace::PreWrap);
        self.preformatted |= keeps;
        let mut capital = true;
        let mut out = String::new();
        for c in text.chars() {
            if matches!(c, ' ' | '\n' | '\t' | '\r') && !keeps {
                self.pending_space = true;
                capital = true;
                continue;
            }
            if std::mem::take(&mut self.pending_space) && self.occupied {
                if out.is_empty() {
                    self.push_space(mark);
                } else {
                    out.push(' ');
                }
                self.width_px += style.font_size * 0.27;
            }
            self.extend_height(style);
            self.width_px += style.font_size * char_width(c, style);
            match style.text_transform {
                TextTransform::Uppercase => out.extend(c.to_uppercase()),
                TextTransform::Lowercase => out.extend(c.to_lowercase()),
                TextTransform::Capitalize if capital && c.is_alphanumeric() => {
                    out.extend(c.to_uppercase())
                }
                TextTransform::Capitalize | TextTransform::None => out.push(c),
            }
            capital = !(c.is_alphanumeric() || matches!(c, '\'' | '’'));
            let shown = !matches!(
                c,
                '\u{A0}' | '\u{2000}'
                    ..='\u{200B}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{2800}' | ' '
            );
            if shown && !ghost {
                self.has_visible_text = true;
                self.has_words = true;
                let first = self
                    .glyph_heights
                    .map_or(style.glyph_height(), |(first, _)| first);
                self.glyph_heights = Some((first, style.glyph_height()));
            }
        }
        if ghost {
            return;
        }
        self.rtl |= style.rtl;
        self.push_run(&out, mark);
    }

    /// Adds the words that stand for a picture, which is `height` pixels high.
    pub(super) fn push_image(
        &mut self,
        words: &str,
        style: &ComputedStyle,
        mark: SpanStyle,
        height: f32,
    ) {
        self.extend_height(style);
        self.height = self.height.max(height);
        if words.is_empty() {
            return;
        }
        self.ensure_space();
        self.push_run(words, mark);
        self.pending_space = true;
        self.has_visible_text = true;
        self.has_images = true;
    }

    /// Opens a button; what is given back closes it.
    pub(super) fn open_button(&mut self, mark: SpanStyle) -> usize {
        self.push_run("[ ", mark);
        self.runs.len() - 1
    }

    /// Closes the button that was opened at run `from`, without the blanks at its ends.
    pub(super) fn close_button(&mut self, from: usize, mark: SpanStyle) {
        self.pending_space = false;
        if let Some(first) = self.runs.get_mut(from)
            && let Some(label) = first.text.rfind("[ ").map(|at| at + 2)
        {
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
        self.push_run(" ]", mark);
    }

    /// Makes sure that what follows does not stick to what is there.
    pub(super) fn ensure_space(&mut self) {
        if self.occupied {
            self.pending_space = true;
        }
        if std::mem::take(&mut self.pending_space)
            && self
                .runs
                .last()
                .is_some_and(|run| !run.text.ends_with([' ', '\u{A0}']))
        {
            self.push_run(" ", SpanStyle::default());
        }
    }

    /// Puts a blank in front of text that looks like `next`; between two looks it has neither.
    fn push_space(&mut self, next: SpanStyle) {
        let same = self.runs.last().is_some_and(|last| last.style == next);
        self.push_run(" ", if same { next } else { SpanStyle::default() });
    }

    /// Lets a blank stand before whatever comes next.
    pub(super) fn allow_space(&mut self) {
        self.pending_space = self.occupied;
    }

    fn extend_height(&mut self, style: &ComputedStyle) {
        self.occupied = true;
        self.height = self.height.max(style.line_height_px());
    }

    fn push_run(&mut self, text: &str, mark: SpanStyle) {
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.style == mark => last.text.push_str(text),
            _ => self.runs.push(Run {
                text: text.to_owned(),
                style: mark,
            }),
        }
    }

    /// The text, if there is any to be seen; the blanks at its ends are gone.
    pub(super) fn into_paragraph(mut self) -> Option<Paragraph> {
        if !self.has_visible_text {
            return None;
        }
        let is_blank = |c: char| c.is_whitespace() || c == '\u{2800}';
        while let Some(last) = self.runs.last_mut() {
            last.text
                .truncate(last.text.trim_end_matches(is_blank).len());
            if !last.text.is_empty() {
                break;
            }
            self.runs.pop();
        }
        if !self.preformatted {
            let blank = self
                .runs
                .iter()
                .take_while(|run| run.text.trim_start_matches(is_blank).is_empty())
                .count();
            self.runs.drain(..blank);
            if let Some(first) = self.runs.first_mut() {
                first.text = first.text.trim_start_matches(is_blank).to_owned();
            }
        }
        let words: String = self
            .runs
            .iter()
            .filter(|run| run.style.role != SpanRole::Image)
            .map(|run| &*run.text)
            .collect();
        let rtl = is_rtl(&words) || (self.rtl && !words.chars().any(char::is_alphabetic));
        Some(Paragraph {
            runs: self.runs,
            rtl,
            preformatted: self.preformatted,
            images_only: self.has_images && !self.has_words,
        })
    }
}

/// Width of a letter as a part of the font size.
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
