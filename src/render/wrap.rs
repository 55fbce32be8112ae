//! Wraps marked text by display width: at blanks, between ideographs, and nowhere inside a URL.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::body::{BodyLine, BodySpan, LineEnd, SpanStyle};

/// Text of one mark, to be wrapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrapRun<'a> {
    pub(super) text: &'a str,
    pub(super) style: SpanStyle,
    /// It is never cut, even if it is wider than the line.
    pub(super) no_break: bool,
}

/// Adds `text` to `spans`, joining it with the last span if that looks the same.
pub(super) fn push_span(spans: &mut Vec<BodySpan>, text: &str, mark: SpanStyle) {
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some(last) if last.style == mark => {
            let mut joined = String::from(std::mem::take(&mut last.text));
            joined.push_str(text);
            last.text = joined.into();
        }
        _ => spans.push(BodySpan {
            text: text.into(),
            style: mark,
        }),
    }
}

/// Adds `text` to runs that are still growing, where joining must cost no copy.
pub(super) fn push_text(runs: &mut Vec<(String, SpanStyle)>, text: &str, mark: SpanStyle) {
    match runs.last_mut() {
        _ if text.is_empty() => {}
        Some((last, same)) if *same == mark => last.push_str(text),
        _ => runs.push((text.to_owned(), mark)),
    }
}

/// Display width of a line in columns.
pub(super) fn spans_width(spans: &[BodySpan]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

/// Wraps `pieces`, which hold no line feed, to lines of at most `width` columns.
///
/// Every line begins with `lead`; the lines after the first may have another one. A whole
/// piece that is wider than the line makes that line a wide one.
pub(super) fn wrap_lines(
    pieces: &[WrapRun<'_>],
    width: usize,
    first: &[BodySpan],
    rest: &[BodySpan],
) -> Vec<BodyLine> {
    let mut flow = LineWrapper {
        width,
        next_prefix: rest,
        lines: Vec::new(),
        line: LineBuilder::new(first),
        word: LineBuilder::new(&[]),
        pending_spaces: 0,
        no_break: false,
    };
    for piece in pieces {
        for cluster in piece.text.graphemes(true) {
            flow.push_grapheme(cluster, piece);
        }
    }
    flow.finish()
}

/// A line or a word that is being put together.
struct LineBuilder {
    spans: Vec<(String, SpanStyle)>,
    width: usize,
    /// How much of the width is the lead.
    prefix_width: usize,
}

impl LineBuilder {
    fn new(lead: &[BodySpan]) -> Self {
        let width = spans_width(lead);
        Self {
            spans: lead
                .iter()
                .map(|span| (span.text.to_string(), span.style))
                .collect(),
            width,
            prefix_width: width,
        }
    }

    fn push_text(&mut self, text: &str, mark: SpanStyle, width: usize) {
        self.width += width;
        push_text(&mut self.spans, text, mark);
    }

    fn last_char(&self) -> Option<char> {
        self.spans
            .last()
            .and_then(|(text, _)| text.chars().next_back())
    }

    fn append(&mut self, other: Self) {
        self.width += other.width;
        for (text, mark) in other.spans {
            self.push_text(&text, mark, 0);
        }
    }

    fn into_line(self, end: LineEnd, width: usize) -> BodyLine {
        let wide = self.width > width;
        BodyLine {
            spans: self
                .spans
                .into_iter()
                .map(|(text, mark)| BodySpan {
                    text: text.into(),
                    style: mark,
                })
                .collect(),
            wide,
            end,
            ..BodyLine::default()
        }
    }
}

struct LineWrapper<'a> {
    width: usize,
    next_prefix: &'a [BodySpan],
    lines: Vec<BodyLine>,
    line: LineBuilder,
    word: LineBuilder,
    /// Blanks between the line and the word.
    pending_spaces: usize,
    /// The word must not be cut.
    no_break: bool,
}

impl LineWrapper<'_> {
    fn push_grapheme(&mut self, cluster: &str, piece: &WrapRun<'_>) {
        if cluster == " " {
            self.end_word();
            self.pending_spaces += 1;
            return;
        }
        let width = cluster.width();
        if can_break_between(self.word.last_char(), cluster.chars().next()) {
            self.end_word();
        }
        let room = self.width.saturating_sub(self.next_prefix_width()).max(1);
        if piece.no_break {
            self.no_break = true;
        } else if !self.no_break && self.word.width + width > room {
            self.end_word();
        }
        self.word.push_text(cluster, piece.style, width);
    }

    fn next_prefix_width(&self) -> usize {
        spans_width(self.next_prefix)
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
        let mark = self
            .line
            .spans
            .last()
            .map_or(SpanStyle::default(), |(_, mark)| *mark);
        let same = word.spans.first().is_some_and(|(_, next)| *next == mark);
        self.push_spaces(if same { mark } else { SpanStyle::default() });
        if self.line.width + word.width > self.width && self.line.width > self.line.prefix_width {
            self.end_line(LineEnd::Split);
        }
        self.line.append(word);
    }

    /// Puts the blanks that wait in front of the word, over several lines if they are many.
    fn push_spaces(&mut self, mark: SpanStyle) {
        while self.pending_spaces > 0 {
            let room = self.width.saturating_sub(self.line.width);
            if room == 0 && self.line.width > self.line.prefix_width {
                self.end_line(LineEnd::Split);
                continue;
            }
            let count = self.pending_spaces.min(room.max(1));
            self.line.push_text(&" ".repeat(count), mark, count);
            self.pending_spaces -= count;
        }
    }

    fn end_line(&mut self, end: LineEnd) {
        let line = std::mem::replace(&mut self.line, LineBuilder::new(self.next_prefix));
        self.lines.push(line.into_line(end, self.width));
    }

    fn finish(mut self) -> Vec<BodyLine> {
        self.end_word();
        self.push_spaces(SpanStyle::default());
        self.end_line(LineEnd::Newline);
        self.lines
    }
}

/// Whether a line may break between two characters without a blank, as beside an ideograph.
pub(super) fn can_break_between(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    if is_thai(before) && is_thai(after) {
        return after.width() != Some(0)
            && !matches!(before, 'เ'..='ไ')
            && !matches!(after, 'ะ' | 'า' | 'ำ' | 'ฯ' | 'ๅ' | 'ๆ');
    }
    (is_ideograph(before) || is_ideograph(after))
        && !cannot_end_line(before)
        && !cannot_start_line(after)
        && !after.is_ascii_punctuation()
}

/// Display width of the widest part of `text` in which no line may break.
pub(super) fn longest_unbreakable_width(text: &str) -> usize {
    let (mut longest, mut width, mut before) = (0, 0, None);
    for c in text.chars() {
        if c == ' ' || can_break_between(before, Some(c)) {
            width = 0;
        }
        width += if c == ' ' { 0 } else { c.width().unwrap_or(0) };
        longest = longest.max(width);
        before = Some(c);
    }
    longest
}

/// Chinese and Japanese set no blanks between words.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FF60}' | '\u{20000}'..='\u{3FFFD}')
}

/// Thai sets none either. Its words could be told apart by a dictionary; here syllables must do.
const fn is_thai(c: char) -> bool {
    matches!(c, '\u{E01}'..='\u{E3A}' | '\u{E40}'..='\u{E4E}')
}

/// Closing marks and small kana never begin a line.
const fn cannot_start_line(c: char) -> bool {
    matches!(
        c,
        '、' | '。'
            | '，'
            | '．'
            | '」'
            | '』'
            | '）'
            | '】'
            | '〉'
            | '》'
            | '〕'
            | '］'
            | '｝'
            | '！'
            | '？'
            | '：'
            | '；'
            | 'ー'
            | '々'
            | '・'
            | 'っ'
            | 'ゃ'
            | 'ゅ'
            | 'ょ'
            | 'ぁ'
            | 'ぃ'
            | 'ぅ'
            | 'ぇ'
            | 'ぉ'
            | 'ッ'
            | 'ャ'
            | 'ュ'
            | 'ョ'
            | 'ァ'
            | 'ィ'
            | 'ゥ'
            | 'ェ'
            | 'ォ'
    )
}

/// Opening marks never end a line.
const fn cannot_end_line(c: char) -> bool {
    matches!(
        c,
        '「' | '『' | '（' | '【' | '〈' | '《' | '〔' | '［' | '｛'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        wrap_lines(
            &[WrapRun {
                text,
                style: SpanStyle::default(),
                no_break: false,
            }],
            width,
            &[],
            &[],
        )
        .iter()
        .map(BodyLine::text)
        .collect()
    }

    #[test]
    fn words_stay_whole_and_long_ones_are_cut_at_the_width() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("  in", 8), ["  in"]);
    }

    #[test]
    fn ideographs_break_anywhere_but_before_a_closing_mark() {
        assert_eq!(wrapped("日本語。中文", 6), ["日本", "語。中", "文"]);
    }

    #[test]
    fn the_longest_word_ends_where_a_line_may_break() {
        assert_eq!(
            [
                longest_unbreakable_width("one three"),
                longest_unbreakable_width("日本語。"),
                longest_unbreakable_width("a\u{A0}b c")
            ],
            [5, 4, 3]
        );
    }

    #[test]
    fn a_whole_piece_is_never_cut_and_its_line_says_that_it_is_wide() {
        let piece = |text, whole| WrapRun {
            text,
            style: SpanStyle::default(),
            no_break: whole,
        };
        let pieces = [piece("see ", false), piece("https://example.com/a", true)];
        let lines = wrap_lines(&pieces, 10, &[], &[]);
        assert_eq!(
            lines.iter().map(BodyLine::text).collect::<Vec<_>>(),
            ["see", "https://example.com/a"]
        );
        assert_eq!(
            lines.iter().map(|line| line.wide).collect::<Vec<_>>(),
            [false, true]
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked_and_no_word_is_lost(text in "[a-zé日本。 ]{0,80}", width in 2..20_usize) {
            let lines = wrap_lines(&[WrapRun { text: &text, style: SpanStyle::default(), no_break: false }], width, &[], &[]);
            prop_assert!(lines.iter().all(|line| spans_width(&line.spans) <= width));
            let kept: String = lines.iter().map(BodyLine::text).collect();
            prop_assert_eq!(kept.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
