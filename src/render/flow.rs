//! Wraps marked text by display width: at blanks, between ideographs, and nowhere inside a URL.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::body::{End, Line, Mark, Span};

/// Text of one mark, to be wrapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) mark: Mark,
    /// It is never cut, even if it is wider than the line.
    pub(super) whole: bool,
}

/// Adds `text` to `spans`, joining it with the last span if that looks the same.
pub(super) fn push(spans: &mut Vec<Span>, text: &str, mark: Mark) {
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some(last) if last.mark == mark => {
            let mut joined = String::from(std::mem::take(&mut last.text));
            joined.push_str(text);
            last.text = joined.into();
        }
        _ => spans.push(Span {
            text: text.into(),
            mark,
        }),
    }
}

/// Adds `text` to runs that are still growing, where joining must cost no copy.
pub(super) fn grow(runs: &mut Vec<(String, Mark)>, text: &str, mark: Mark) {
    match runs.last_mut() {
        _ if text.is_empty() => {}
        Some((last, same)) if *same == mark => last.push_str(text),
        _ => runs.push((text.to_owned(), mark)),
    }
}

/// Display width of a line in columns.
pub(super) fn width_of(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

/// Wraps `pieces`, which hold no line feed, to lines of at most `width` columns.
///
/// Every line begins with `lead`; the lines after the first may have another one. A whole
/// piece that is wider than the line makes that line a wide one.
pub(super) fn wrap(pieces: &[Piece<'_>], width: usize, first: &[Span], rest: &[Span]) -> Vec<Line> {
    let mut flow = Flow {
        width,
        rest,
        lines: Vec::new(),
        line: Open::new(first),
        word: Open::new(&[]),
        blanks: 0,
        whole: false,
    };
    for piece in pieces {
        for cluster in piece.text.graphemes(true) {
            flow.cluster(cluster, piece);
        }
    }
    flow.finish()
}

/// A line or a word that is being put together.
struct Open {
    spans: Vec<(String, Mark)>,
    width: usize,
    /// How much of the width is the lead.
    lead: usize,
}

impl Open {
    fn new(lead: &[Span]) -> Self {
        let width = width_of(lead);
        Self {
            spans: lead
                .iter()
                .map(|span| (span.text.to_string(), span.mark))
                .collect(),
            width,
            lead: width,
        }
    }

    fn push(&mut self, text: &str, mark: Mark, width: usize) {
        self.width += width;
        grow(&mut self.spans, text, mark);
    }

    fn last_char(&self) -> Option<char> {
        self.spans
            .last()
            .and_then(|(text, _)| text.chars().next_back())
    }

    fn append(&mut self, other: Self) {
        self.width += other.width;
        for (text, mark) in other.spans {
            self.push(&text, mark, 0);
        }
    }

    fn into_line(self, end: End, width: usize) -> Line {
        let wide = self.width > width;
        Line {
            spans: self
                .spans
                .into_iter()
                .map(|(text, mark)| Span {
                    text: text.into(),
                    mark,
                })
                .collect(),
            wide,
            end,
            ..Line::default()
        }
    }
}

struct Flow<'a> {
    width: usize,
    rest: &'a [Span],
    lines: Vec<Line>,
    line: Open,
    word: Open,
    /// Blanks between the line and the word.
    blanks: usize,
    /// The word must not be cut.
    whole: bool,
}

impl Flow<'_> {
    fn cluster(&mut self, cluster: &str, piece: &Piece<'_>) {
        if cluster == " " {
            self.end_word();
            self.blanks += 1;
            return;
        }
        let width = cluster.width();
        if may_break(self.word.last_char(), cluster.chars().next()) {
            self.end_word();
        }
        let room = self.width.saturating_sub(self.rest_width()).max(1);
        if piece.whole {
            self.whole = true;
        } else if !self.whole && self.word.width + width > room {
            self.end_word();
        }
        self.word.push(cluster, piece.mark, width);
    }

    fn rest_width(&self) -> usize {
        width_of(self.rest)
    }

    fn end_word(&mut self) {
        if self.word.spans.is_empty() {
            return;
        }
        let word = std::mem::replace(&mut self.word, Open::new(&[]));
        self.whole = false;
        let fits = self.line.width + self.blanks + word.width <= self.width;
        if !fits && self.line.width > self.line.lead {
            let end = if self.blanks > 0 {
                End::Blank
            } else {
                End::Nothing
            };
            self.blanks = self.blanks.saturating_sub(1);
            self.end_line(end);
        }
        let mark = self
            .line
            .spans
            .last()
            .map_or(Mark::default(), |(_, mark)| *mark);
        let same = word.spans.first().is_some_and(|(_, next)| *next == mark);
        self.put_blanks(if same { mark } else { Mark::default() });
        if self.line.width + word.width > self.width && self.line.width > self.line.lead {
            self.end_line(End::Nothing);
        }
        self.line.append(word);
    }

    /// Puts the blanks that wait in front of the word, over several lines if they are many.
    fn put_blanks(&mut self, mark: Mark) {
        while self.blanks > 0 {
            let room = self.width.saturating_sub(self.line.width);
            if room == 0 && self.line.width > self.line.lead {
                self.end_line(End::Nothing);
                continue;
            }
            let count = self.blanks.min(room.max(1));
            self.line.push(&" ".repeat(count), mark, count);
            self.blanks -= count;
        }
    }

    fn end_line(&mut self, end: End) {
        let line = std::mem::replace(&mut self.line, Open::new(self.rest));
        self.lines.push(line.into_line(end, self.width));
    }

    fn finish(mut self) -> Vec<Line> {
        self.end_word();
        self.put_blanks(Mark::default());
        self.end_line(End::Break);
        self.lines
    }
}

/// Whether a line may break between two characters without a blank, as beside an ideograph.
pub(super) fn may_break(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    if is_thai(before) && is_thai(after) {
        return after.width() != Some(0)
            && !matches!(before, 'เ'..='ไ')
            && !matches!(after, 'ะ' | 'า' | 'ำ' | 'ฯ' | 'ๅ' | 'ๆ');
    }
    (is_ideograph(before) || is_ideograph(after))
        && !clings_to_right(before)
        && !clings_to_left(after)
        && !after.is_ascii_punctuation()
}

/// Display width of the widest part of `text` in which no line may break.
pub(super) fn longest_word(text: &str) -> usize {
    let (mut longest, mut width, mut before) = (0, 0, None);
    for c in text.chars() {
        if c == ' ' || may_break(before, Some(c)) {
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
const fn clings_to_left(c: char) -> bool {
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
const fn clings_to_right(c: char) -> bool {
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
        wrap(
            &[Piece {
                text,
                mark: Mark::default(),
                whole: false,
            }],
            width,
            &[],
            &[],
        )
        .iter()
        .map(Line::text)
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
                longest_word("one three"),
                longest_word("日本語。"),
                longest_word("a\u{A0}b c")
            ],
            [5, 4, 3]
        );
    }

    #[test]
    fn a_whole_piece_is_never_cut_and_its_line_says_that_it_is_wide() {
        let piece = |text, whole| Piece {
            text,
            mark: Mark::default(),
            whole,
        };
        let pieces = [piece("see ", false), piece("https://example.com/a", true)];
        let lines = wrap(&pieces, 10, &[], &[]);
        assert_eq!(
            lines.iter().map(Line::text).collect::<Vec<_>>(),
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
            let lines = wrap(&[Piece { text: &text, mark: Mark::default(), whole: false }], width, &[], &[]);
            prop_assert!(lines.iter().all(|line| width_of(&line.spans) <= width));
            let kept: String = lines.iter().map(Line::text).collect();
            prop_assert_eq!(kept.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
