//! Wraps styled text by display width:
//! at spaces, between ideographs, never inside a URL.
//!
//! Spaces are the author's; [`super::paragraphs`] collapses those of html.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use crate::render::body::{
    BodyLine, BodySpan, LineEnd, MAX_LINES, SpanStyle, push_span, push_spans, spans_width,
};
use crate::text::secrets;
use crate::text::width::DisplayWidth as _;

/// A zero-width space: a word may be cut there. Sanitized text has none.
pub(super) const BREAK: char = '\u{200B}';

/// Text of one style, to be wrapped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrapRun<'a> {
    pub(crate) text: &'a str,
    pub(crate) style: SpanStyle,
    /// Its words are never cut, even if they are wider than the line.
    pub(crate) no_break: bool,
}

impl<'a> WrapRun<'a> {
    pub(crate) const fn new(text: &'a str, style: SpanStyle) -> Self {
        Self {
            text,
            style,
            no_break: false,
        }
    }
}

/// Wraps `runs`, which contain no newline, at `width` columns.
///
/// The first line starts with `prefix`, the others with `next_prefix`. A line with a longer
/// unbreakable run is wide. Text after the last line that is shown is left out.
pub(crate) fn wrap_lines(
    runs: &[WrapRun<'_>],
    width: usize,
    prefix: &[BodySpan],
    next_prefix: &[BodySpan],
) -> Vec<BodyLine> {
    let mut wrapper = LineWrapper {
        width,
        max_word_width: width.saturating_sub(spans_width(next_prefix)).max(1),
        next_prefix,
        lines: Vec::new(),
        line: LineBuilder::new(prefix),
        word: LineBuilder::new(&[]),
        pending_spaces: 0,
        space_style: SpanStyle::default(),
        no_break: false,
    };
    for run in runs {
        for grapheme in run.text.graphemes(true) {
            if wrapper.lines.len() <= MAX_LINES {
                wrapper.push_grapheme(grapheme, run);
            }
        }
    }
    wrapper.finish()
}

/// A line or a word under construction.
struct LineBuilder {
    spans: Vec<BodySpan>,
    width: usize,
    prefix_width: usize,
    prefix_bytes: usize,
}

impl LineBuilder {
    fn new(prefix: &[BodySpan]) -> Self {
        let width = spans_width(prefix);
        Self {
            spans: prefix.to_vec(),
            width,
            prefix_width: width,
            prefix_bytes: prefix.iter().map(|span| span.text.len()).sum(),
        }
    }

    fn push_text(&mut self, text: &str, style: SpanStyle, width: usize) {
        self.width += width;
        push_span(&mut self.spans, text, style);
    }

    fn last_char(&self) -> Option<char> {
        self.spans.last()?.text.chars().next_back()
    }

    fn append(&mut self, other: &Self) {
        self.width += other.width;
        push_spans(&mut self.spans, &other.spans);
    }
}

struct LineWrapper<'a> {
    width: usize,
    /// A wider word is cut.
    max_word_width: usize,
    next_prefix: &'a [BodySpan],
    lines: Vec<BodyLine>,
    line: LineBuilder,
    word: LineBuilder,
    /// Spaces between the line and the word.
    pending_spaces: usize,
    /// The style of the first pending space.
    space_style: SpanStyle,
    /// The word must not be cut.
    no_break: bool,
}

impl LineWrapper<'_> {
    fn push_grapheme(&mut self, grapheme: &str, run: &WrapRun<'_>) {
        if grapheme == " " {
            self.end_word();
            if self.pending_spaces == 0 {
                self.space_style = run.style;
            }
            self.pending_spaces += 1;
            return;
        }
        if grapheme.starts_with(BREAK) {
            return self.end_word();
        }
        let width = grapheme.width();
        if can_break_between(self.word.last_char(), grapheme.chars().next()) {
            self.end_word();
        }
        if run.no_break {
            self.no_break = true;
        } else if !self.no_break && self.word.width + width > self.max_word_width {
            self.end_word();
        }
        self.word.push_text(grapheme, run.style, width);
    }

    fn end_word(&mut self) {
        if self.word.spans.is_empty() {
            return;
        }
        let word = std::mem::replace(&mut self.word, LineBuilder::new(&[]));
        self.no_break = false;
        let fits = self.line.width + self.pending_spaces + word.width <= self.width;
        if !fits && self.line.width > self.line.prefix_width {
            let end = if self.pending_spaces > 0 {
                LineEnd::Space
            } else {
                LineEnd::Split
            };
            self.pending_spaces = self.pending_spaces.saturating_sub(1);
            self.end_line(end);
        }
        self.push_spaces();
        if self.line.width + word.width > self.width && self.line.width > self.line.prefix_width {
            self.end_line(LineEnd::Split);
        }
        self.line.append(&word);
    }

    /// Adds the pending spaces, on several lines if they do not fit on one.
    fn push_spaces(&mut self) {
        while self.pending_spaces > 0 {
            let free = self.width.saturating_sub(self.line.width);
            if free == 0 && self.line.width > self.line.prefix_width {
                self.end_line(LineEnd::Split);
                continue;
            }
            let count = self.pending_spaces.min(free.max(1));
            self.line
                .push_text(&" ".repeat(count), self.space_style, count);
            self.pending_spaces -= count;
        }
    }

    fn end_line(&mut self, end: LineEnd) {
        let line = std::mem::replace(&mut self.line, LineBuilder::new(self.next_prefix));
        self.lines.push(BodyLine {
            wide: line.width > self.width,
            spans: line.spans,
            prefix: line.prefix_bytes,
            end,
            ..BodyLine::default()
        });
    }

    fn finish(mut self) -> Vec<BodyLine> {
        self.end_word();
        self.push_spaces();
        self.end_line(LineEnd::Newline);
        self.lines
    }
}

/// True if a line may break between two characters that have no space between them.
pub(super) fn can_break_between(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    if is_thai(before) && is_thai(after) {
        return after.width() != Some(0)
            && !matches!(before, 'เ'..='ไ')
            && !matches!(after, 'ะ' | 'า' | 'ำ' | 'ฯ' | 'ๅ' | 'ๆ');
    }
    // A number stays whole, also with the sign of its unit.
    let is_digit = |c: char| c.is_numeric() || matches!(c, '．' | '，');
    if is_digit(before) && (matches!(after, '０'..='９') || NUMBER_UNITS.contains(after)) {
        return false;
    }
    (is_ideograph(before) || is_ideograph(after))
        && !OPENING_MARKS.contains(before)
        && !CLOSING_MARKS.contains(after)
        && !after.is_ascii_punctuation()
}

/// True if a word wider than the line may break between two characters.
pub(super) fn can_break_long_word(before: Option<char>, after: Option<char>) -> bool {
    can_break_between(before, after)
        || (before.is_some_and(|c| "-/.@_:,;=&?\u{A0}".contains(c))
            && after.is_some_and(|c| c.is_alphanumeric() || c == secrets::MASK))
}

/// Returns the widest part of `text` in which `can_break` allows no break.
pub(super) fn longest_unbreakable_width(
    text: &str,
    can_break: fn(Option<char>, Option<char>) -> bool,
) -> usize {
    let (mut longest, mut width, mut before) = (0, 0, None);
    for c in text.chars() {
        if c == ' ' || can_break(before, Some(c)) {
            width = 0;
        }
        width += if c == ' ' { 0 } else { c.width().unwrap_or(0) };
        longest = longest.max(width);
        before = Some(c);
    }
    longest
}

/// True for Chinese and Japanese characters, which have no spaces between words.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FF60}' | '\u{20000}'..='\u{3FFFD}')
}

/// True for Thai letters, whose syllables are used instead of words.
const fn is_thai(c: char) -> bool {
    matches!(c, '\u{E01}'..='\u{E3A}' | '\u{E40}'..='\u{E4E}')
}

/// Closing marks and small kana, which never start a line.
const CLOSING_MARKS: &str =
    "、。，．」』）】〉》〕］｝！？：；ー々・っゃゅょぁぃぅぇぉッャュョァィゥェォ";

/// Signs of units behind a number: currencies and parts of dates.
const NUMBER_UNITS: &str = "円元圆圓年月日時时分秒";

/// Opening marks, which never end a line.
const OPENING_MARKS: &str = "「『（【〈《〔［｛";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        wrap_lines(&[WrapRun::new(text, SpanStyle::default())], width, &[], &[])
            .iter()
            .map(BodyLine::text)
            .collect()
    }

    #[test]
    fn long_words_are_cut_at_the_width() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("  in", 8), ["  in"]);
    }

    proptest! {
        #[test]
        fn lines_fit_and_keep_every_word(text in "[a-zé日本。 ]{0,80}", width in 2..20_usize) {
            let lines = wrap_lines(&[WrapRun::new(&text, SpanStyle::default())], width, &[], &[]);
            prop_assert!(lines.iter().all(|line| spans_width(&line.spans) <= width));
            let joined: String = lines.iter().map(BodyLine::text).collect();
            prop_assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
