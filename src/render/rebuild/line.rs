//! The line of text that is being put together: blanks are collapsed as a browser does.

use unicode_width::UnicodeWidthChar;

use super::block::{Para, Run};
use crate::render::body::{Mark, Role};
use crate::render::judge::{Case, Style, WhiteSpace};
use crate::render::links::is_rtl;

/// A line of text between two line breaks.
#[derive(Default)]
pub(super) struct Line {
    runs: Vec<Run>,
    /// A blank that waits for a word to follow.
    blank: bool,
    /// Something stands here that takes up a line, be it only a hard blank.
    pub(super) occupied: bool,
    /// Letters that can be seen.
    visible: bool,
    pre: bool,
    words: bool,
    pictures: bool,
    /// Height of the tallest part, in pixels.
    pub(super) height: f32,
    /// Height of the first and of the last letters.
    pub(super) glyphs: Option<(f32, f32)>,
    /// Width in pixels, by the width of letters in the usual fonts.
    pub(super) length: f32,
    rtl: bool,
}

impl Line {
    /// Adds text, which is clean. A `ghost` takes its place but cannot be seen.
    pub(super) fn text(&mut self, text: &str, style: &Style, mark: Mark, ghost: bool) {
        let keeps = matches!(style.white_space, WhiteSpace::Pre | WhiteSpace::PreWrap);
        self.pre |= keeps;
        let mut capital = true;
        let mut out = String::new();
        for c in text.chars() {
            if matches!(c, ' ' | '\n' | '\t' | '\r') && !keeps {
                self.blank = true;
                capital = true;
                continue;
            }
            if std::mem::take(&mut self.blank) && self.occupied {
                if out.is_empty() {
                    self.put_blank(mark);
                } else {
                    out.push(' ');
                }
                self.length += style.font * 0.27;
            }
            self.occupy(style);
            self.length += style.font * advance(c, style);
            match style.case {
                Case::Upper => out.extend(c.to_uppercase()),
                Case::Lower => out.extend(c.to_lowercase()),
                Case::Capitals if capital && c.is_alphanumeric() => out.extend(c.to_uppercase()),
                Case::Capitals | Case::AsIs => out.push(c),
            }
            capital = !(c.is_alphanumeric() || matches!(c, '\'' | '’'));
            let shown = !matches!(
                c,
                '\u{A0}' | '\u{2000}'
                    ..='\u{200B}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{2800}' | ' '
            );
            if shown && !ghost {
                self.visible = true;
                self.words = true;
                let first = self.glyphs.map_or(style.glyphs(), |(first, _)| first);
                self.glyphs = Some((first, style.glyphs()));
            }
        }
        if ghost {
            return;
        }
        self.rtl |= style.rtl;
        self.push(&out, mark);
    }

    /// Adds the words that stand for a picture, which is `height` pixels high.
    pub(super) fn picture(&mut self, words: &str, style: &Style, mark: Mark, height: f32) {
        self.occupy(style);
        self.height = self.height.max(height);
        if words.is_empty() {
            return;
        }
        self.space();
        self.push(words, mark);
        self.blank = true;
        self.visible = true;
        self.pictures = true;
    }

    /// Opens a button; what is given back closes it.
    pub(super) fn open_button(&mut self, mark: Mark) -> usize {
        self.push("[ ", mark);
        self.runs.len() - 1
    }

    /// Closes the button that was opened at run `from`, without the blanks at its ends.
    pub(super) fn close_button(&mut self, from: usize, mark: Mark) {
        self.blank = false;
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
        self.push(" ]", mark);
    }

    /// Makes sure that what follows does not stick to what is there.
    pub(super) fn space(&mut self) {
        if self.occupied {
            self.blank = true;
        }
        if std::mem::take(&mut self.blank)
            && self
                .runs
                .last()
                .is_some_and(|run| !run.text.ends_with([' ', '\u{A0}']))
        {
            self.push(" ", Mark::default());
        }
    }

    /// Puts a blank in front of text that looks like `next`; between two looks it has neither.
    fn put_blank(&mut self, next: Mark) {
        let same = self.runs.last().is_some_and(|last| last.mark == next);
        self.push(" ", if same { next } else { Mark::default() });
    }

    /// Lets a blank stand before whatever comes next.
    pub(super) fn soft_space(&mut self) {
        self.blank = self.occupied;
    }

    fn occupy(&mut self, style: &Style) {
        self.occupied = true;
        self.height = self.height.max(style.line());
    }

    fn push(&mut self, text: &str, mark: Mark) {
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.mark == mark => last.text.push_str(text),
            _ => self.runs.push(Run {
                text: text.to_owned(),
                mark,
            }),
        }
    }

    /// The text, if there is any to be seen; the blanks at its ends are gone.
    pub(super) fn into_para(mut self) -> Option<Para> {
        if !self.visible {
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
        if !self.pre {
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
            .filter(|run| run.mark.role != Role::Image)
            .map(|run| &*run.text)
            .collect();
        let rtl = is_rtl(&words) || (self.rtl && !words.chars().any(char::is_alphabetic));
        Some(Para {
            runs: self.runs,
            rtl,
            pre: self.pre,
            pictures: self.pictures && !self.words,
        })
    }
}

/// Width of a letter as a part of the font size.
fn advance(c: char, style: &Style) -> f32 {
    let width = match c {
        _ if style.mono => 0.6,
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
    if style.weight >= 600 {
        width * 1.07
    } else {
        width
    }
}
