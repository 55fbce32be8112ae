//! Finds one-time codes, such as `482 913`.
//!
//! A code counts only near a word for it ("Your code is 482913"), so that numbers of orders and
//! invoices stay readable. The words are in `assets/code_words.txt`.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::code_words::{Clue, ClueWords};

/// A code is at most this many words away from a word for it.
const MAX_DISTANCE: usize = 6;

/// Six digits are at most this many words behind a long word for a code,
/// in the same paragraph.
const MAX_LONG_DISTANCE: usize = 25;

/// An unusual code is at most this many words behind a word for it.
const MAX_UNUSUAL_DISTANCE: usize = 3;

/// Words of the label of a number, as in `Order number`.
const MAX_LABEL_WORDS: usize = 3;

/// Digits and letters of a code; fewer are counts, and more are ids.
const CODE_LENGTHS: std::ops::RangeInclusive<usize> = 4..=10;

/// Letters and digits of codes that are masked only beside a word for them.
const UNUSUAL_LENGTHS: std::ops::RangeInclusive<usize> = 6..=12;

/// Signs between the groups of a code: spaces, hyphens, dots.
const GROUP_SEPARATORS: &str =
    " \u{A0}\u{2007}\u{2009}\u{200A}\u{202F}-\u{2010}\u{2011}\u{2012}\u{2013}.·";

/// The most bytes between two codes of a list.
const MAX_LIST_GAP: usize = 256;

/// Ends of words about several codes; Japanese has no plural.
const PLURALS: [&str; 9] = [
    "codes",
    "keys",
    "códigos",
    "codigos",
    "codici",
    "kody",
    "koder",
    "коды",
    "コード",
];

/// Only the start of a text, of a notification all, is searched for codes.
const MAX_BYTES: usize = 256 * 1024;

/// The possible kind of a run of words, by its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// A code: digits, or digits and capitals.
    Code,
    /// A code, if the word for it is beside it: `a8f3k2x`, `BXKQZT`, twelve digits.
    Unusual,
    /// A key, if the word for it is near: `8h3k-22lm-9qwe-71az`.
    Key,
    /// No code: a word, a date, a phone number.
    Other,
}

/// Returns the byte ranges of one-time codes in `text`, in order.
pub(crate) fn find_codes(text: &str) -> Vec<Range<usize>> {
    // On one line a code has a digit or capitals; most subjects end here.
    let mut capitals = text.split(|c: char| !c.is_ascii_uppercase());
    if !text.contains(|c: char| c == '\n' || c.is_numeric())
        && !capitals.any(|run| UNUSUAL_LENGTHS.contains(&run.len()))
    {
        return Vec::new();
    }
    let text = SplitText::new(&text[..text.floor_char_boundary(MAX_BYTES)]);
    let is_code_clue = |clue: &Option<Clue>| clue.is_some_and(|clue| clue != Clue::Other);
    if !text.clues.iter().any(is_code_clue) {
        return Vec::new();
    }
    let mut codes: Vec<Range<usize>> = Vec::new();
    let mut next = 0;
    while next < text.words.len() {
        let (end, look) = text.next_candidate(next);
        let range = next..end;
        let is_code = match look {
            Look::Code => {
                text.is_near_code_word(range.clone())
                    || text.is_beside_purpose(&range)
                    || text.is_far_behind_long_word(&range)
            }
            Look::Unusual => text.is_behind_code_word(next, MAX_UNUSUAL_DISTANCE),
            Look::Key => text.is_behind_code_word(next, MAX_DISTANCE),
            Look::Other => false,
        };
        if is_code
            || text.is_alone_below_code_word(range.clone())
            || text.continues_list(&range, codes.last())
        {
            codes.push(text.bytes(&range));
        }
        next = end;
    }
    codes
}

/// A text, its words with their first bytes, and the clue of each.
struct SplitText<'a> {
    text: &'a str,
    words: Vec<(usize, &'a str)>,
    clues: Vec<Option<Clue>>,
    /// Whether it may have a list of codes.
    has_list: bool,
}

impl<'a> SplitText<'a> {
    fn new(text: &'a str) -> Self {
        let words: Vec<(usize, &str)> = text
            .unicode_word_indices()
            .flat_map(|(start, word)| split_number(word).map(move |(at, part)| (start + at, part)))
            .collect();
        let mut clues = vec![None; words.len()];
        let list = ClueWords::load();
        let mut phrase = String::new();
        for start in 0..words.len() {
            phrase.clear();
            for (end, (_, word)) in words.iter().enumerate().skip(start).take(list.longest) {
                phrase.extend(word.chars().flat_map(char::to_lowercase));
                // Of a phrase its last word has the clue; that of a purpose is beside the number.
                if let Some(clue) = list.phrases.get(&phrase) {
                    let is_purpose = matches!(clue, Clue::Purpose | Clue::PurposeOfUse);
                    let index = if is_purpose { start } else { end };
                    let is_part = *clue == Clue::Code && clues[index] == Some(Clue::LongCode);
                    clues[index] = if is_part { clues[index] } else { Some(*clue) };
                }
                if end == start && !list.first_words.contains(&phrase) {
                    break;
                }
            }
        }
        let mut split = Self {
            text,
            words,
            clues,
            has_list: false,
        };
        split.has_list =
            (0..split.words.len()).any(|at| split.names_secret(at) && split.is_plural(at));
        split
    }

    /// Returns the bytes of some words and of what is between them.
    fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        let (start, (last_start, last)) = (self.words[range.start].0, self.words[range.end - 1]);
        start..last_start + last.len()
    }

    /// Returns the text between a word and the next one; `None` after the last word.
    fn gap(&self, index: usize) -> Option<&'a str> {
        let (start, word) = self.words[index];
        let (next, _) = *self.words.get(index + 1)?;
        Some(&self.text[start + word.len()..next])
    }

    /// True if the next word of the line says that a number is not a code.
    fn other_follows(&self, index: usize) -> bool {
        self.gap(index).is_some_and(|gap| !ends_sentence(gap))
            && self.clues[index + 1] == Some(Clue::Other)
    }

    /// True if the last word of the line says that a number is not a code.
    fn other_precedes(&self, index: usize) -> bool {
        index > 0
            && self.gap(index - 1).is_some_and(|gap| !gap.contains('\n'))
            && self.clues[index - 1] == Some(Clue::Other)
    }

    /// True if the short label in the cell before says that a number is not a code:
    /// `Order number | 482133`.
    fn is_labelled_other(&self, index: usize) -> bool {
        if index == 0 || !self.gap(index - 1).is_some_and(is_cell_end) {
            return false;
        }
        let is_inside = |at: &usize| self.gap(*at).is_some_and(|gap| !gap.contains('\n'));
        let others = (0..index - 1).rev().take_while(is_inside);
        let start = others.last().unwrap_or(index - 1);
        let label = start..index;
        label.len() <= MAX_LABEL_WORDS
            && self.clues[label.clone()].contains(&Some(Clue::Other))
            && !label.into_iter().any(|at| self.names_code(at))
    }

    /// Returns the end of the words that belong together, and their look.
    fn next_candidate(&self, at: usize) -> (usize, Look) {
        let groups = self.digit_groups(at);
        let (end, look) = if groups > 1 {
            (at + groups, self.classify_groups(at..at + groups))
        } else {
            let hyphens = (at..self.words.len())
                .take_while(|index| self.gap(*index).is_some_and(is_one_hyphen))
                .count();
            let end = at + hyphens + 1;
            (end, self.classify_words(at..end))
        };
        if look == Look::Other || self.is_detached(at..end) {
            (end, look)
        } else {
            (end, Look::Other)
        }
    }

    /// Counts the groups of one to four digits from `at` on, with one separator between
    /// two of them; single digits may be on lines and in cells of their own,
    /// and right behind a word for codes three digits in each of two cells.
    fn digit_groups(&self, at: usize) -> usize {
        let length = |index: usize| {
            let (_, word) = self.words[index];
            let is_group = word.chars().all(char::is_numeric);
            is_group
                .then(|| word.chars().count())
                .filter(|length| *length <= 4)
        };
        let is_named = at > 0 && self.names_code(at - 1);
        let is_joined = |index: &usize| {
            let (Some(gap), Some(one)) = (self.gap(*index), length(*index)) else {
                return false;
            };
            let Some(next) = length(index + 1) else {
                return false;
            };
            let mut signs = gap.chars();
            let is_separator = signs.next().is_some_and(|c| GROUP_SEPARATORS.contains(c))
                && signs.next().is_none();
            let is_half = one == 3 && next == 3 && gap == " \n" && is_named;
            let is_blank = one == 1 && next == 1 && gap.len() <= 8 && gap.trim().is_empty();
            is_separator || is_half || is_blank
        };
        1 + (at..self.words.len()).take_while(is_joined).count()
    }

    /// Returns what several groups of digits look like.
    /// Those of a code have one length: `482 913`, `48 29 13`; a phone number, an amount and a date
    /// have not, or have dots.
    fn classify_groups(&self, range: Range<usize>) -> Look {
        let count = range.len();
        let words = &self.words[range.clone()];
        let lengths = || words.iter().map(|(_, word)| word.chars().count());
        let length = lengths().next().unwrap_or_default();
        let bytes = self.bytes(&range);
        let text = &self.text[bytes];
        let mut digits = text.chars().filter(|c| c.is_numeric()).map(u32::from);
        let first = digits.next().unwrap_or_default();
        // A scale to choose from.
        let is_scale = length == 1 && digits.zip(first + 1..).all(|(digit, next)| digit == next);
        let has_dots = text.contains('.');
        let is_code = lengths().all(|other| other == length)
            && match length {
                1 => CODE_LENGTHS.contains(&count) && !has_dots && !is_scale,
                2 => (3..=5).contains(&count) && text.contains(char::is_whitespace),
                // Three cells are counts.
                3 => count == 2 || (count <= 4 && !has_dots && !text.contains('\n')),
                _ => count == 2 || (count == 3 && !has_dots),
            };
        if is_code { Look::Code } else { Look::Other }
    }

    /// Returns what a word, or several with hyphens (`K7P-4XZ9`), look like.
    fn classify_words(&self, range: Range<usize>) -> Look {
        let words = &self.words[range.clone()];
        let chars = || words.iter().flat_map(|(_, word)| word.chars());
        let (count, digits) = (chars().count(), chars().filter(|c| c.is_numeric()).count());
        let has_capital = chars().any(|c| c.is_ascii_uppercase());
        if chars().all(|c| c.is_numeric() || c.is_ascii_uppercase())
            && digits >= 2
            && (range.len() == 1 || has_capital)
            && CODE_LENGTHS.contains(&count)
        {
            return Look::Code;
        }
        let is_ascii = chars().all(|c| c.is_ascii_alphanumeric());
        let changes = chars()
            .zip(chars().skip(1))
            .filter(|(one, next)| one.is_numeric() != next.is_numeric())
            .count();
        let is_mixed = digits >= 2 && changes >= 3;
        let vowels = chars().filter(|c| "AEIOU".contains(*c)).count();
        let has_no_vowels = chars().all(|c| c.is_ascii_uppercase()) && vowels * 5 <= count;
        let is_half = words.len() == 2 && words[0].1.len() == words[1].1.len();
        let is_number = digits == count && (words.len() == 1 || is_half);
        let is_unusual = is_mixed || is_number || range.len() == 1 && has_no_vowels;
        let is_key = range.len() >= 3
            && (3..=6).contains(&words[0].1.len())
            && words.iter().all(|(_, word)| word.len() == words[0].1.len())
            && digits >= 2;
        if is_ascii && is_key {
            Look::Key
        } else if is_ascii && is_unusual && UNUSUAL_LENGTHS.contains(&count) {
            Look::Unusual
        } else {
            Look::Other
        }
    }

    /// True unless a neighbour makes `range` part of a price, a path or an id.
    fn is_detached(&self, range: Range<usize>) -> bool {
        let bytes = self.bytes(&range);
        let before = self.text[..bytes.start].chars().next_back();
        let mut rest = self.text[bytes.end..].chars();
        let ends = match rest.next() {
            Some('%' | '€' | '£' | '$' | '/' | '@' | '=' | '_') => false,
            Some('.' | ',' | ':' | '-') => !rest.next().is_some_and(char::is_alphanumeric),
            _ => true,
        };
        // `code=4821`, `code: #4821` and `use #4821` are codes.
        let is_named =
            range.start > 0 && self.names_code(range.start - 1) || self.is_used(range.start);
        ends && before.is_none_or(|c| match c {
            '#' | '=' => is_named,
            _ => !"$€£¥₹№/@._~+&".contains(c),
        })
    }

    /// True if the word names a code, and no word for something else is next to it.
    fn names_code(&self, index: usize) -> bool {
        matches!(self.clues[index], Some(Clue::Code | Clue::LongCode))
            && !self.other_follows(index)
            && !self.other_precedes(index)
    }

    /// True if the word names a code or a long key.
    fn names_secret(&self, index: usize) -> bool {
        self.clues[index] == Some(Clue::Key) || self.names_code(index)
    }

    /// True if a word for something else follows `range`, is one of two before it, or is in the
    /// cell before.
    fn is_beside_other(&self, range: &Range<usize>) -> bool {
        let start = range.start;
        self.other_follows(range.end - 1)
            || self.is_labelled_other(start)
            || (self.other_precedes(start) && !(self.is_used(start) && self.is_before_as(range)))
            || self.other_precedes(start.saturating_sub(1))
    }

    /// True if "use" or "enter" is before the number at `start`.
    fn is_used(&self, start: usize) -> bool {
        let verbs = ["use", "enter"];
        start > 0 && verbs.contains(&&*self.words[start - 1].1.to_ascii_lowercase())
    }

    /// True for "482913 as your code".
    fn is_before_as(&self, range: &Range<usize>) -> bool {
        (self.words.get(range.end)).is_some_and(|(_, word)| word.eq_ignore_ascii_case("as"))
    }

    /// True if a word for codes is near, and none for something else beside.
    fn is_near_code_word(&self, range: Range<usize>) -> bool {
        let start = range.start;
        if self.is_beside_other(&range) {
            return false;
        }
        let code = &self.text[self.bytes(&range)];
        let is_year = code.len() == 4 && (code.starts_with("19") || code.starts_with("20"));
        let reach = if is_year { 2 } else { MAX_DISTANCE };
        let mut nearby = start.saturating_sub(reach)..(range.end + reach).min(self.words.len());
        nearby.any(|index| self.names_code(index))
    }

    /// True if the words beside `range` name a purpose: "Use 482913 to sign in", or before
    /// the end of a sentence: "To sign in, use 482913."
    fn is_beside_purpose(&self, range: &Range<usize>) -> bool {
        let has = |index: usize, clue: Clue| self.clues.get(index) == Some(&Some(clue));
        let (start, end) = (range.start, range.end);
        let is_used = self.is_used(start);
        // Another number may be an amount or a postcode.
        let bytes = self.bytes(range);
        let digits = self.text[bytes].chars().filter(|c| c.is_numeric());
        let is_usual = is_used && digits.count() == 6;
        let is_last = self.gap(end - 1).is_none_or(ends_sentence);
        if is_last {
            return is_usual
                && (start.saturating_sub(MAX_LONG_DISTANCE)..start)
                    .rev()
                    .take_while(|index| self.gap(*index).is_some_and(|gap| !ends_sentence(gap)))
                    .any(|index| has(index, Clue::Purpose));
        }
        (is_used || !self.other_precedes(start)) && has(end, Clue::Purpose)
            || is_usual && has(end, Clue::PurposeOfUse)
    }

    /// True if `range` has six digits, and a long word for codes is before it in the
    /// same paragraph: "Your verification code, which you need to sign in, is 482913".
    fn is_far_behind_long_word(&self, range: &Range<usize>) -> bool {
        let bytes = self.bytes(range);
        let chars = self.text[bytes].chars();
        let digits = chars.filter(|c| c.is_numeric()).count();
        digits == 6
            && !self.is_beside_other(range)
            && (range.start.saturating_sub(MAX_LONG_DISTANCE)..range.start)
                .rev()
                .take_while(|index| self.gap(*index).is_some_and(|gap| !gap.contains('\n')))
                .any(|index| self.clues[index] == Some(Clue::LongCode) && self.names_code(index))
    }

    /// True if a word for codes or keys is at most so many words before word `start`,
    /// in the same sentence.
    fn is_behind_code_word(&self, start: usize, reach: usize) -> bool {
        !self.other_precedes(start)
            && (start.saturating_sub(reach)..start)
                .rev()
                .take_while(|index| self.gap(*index).is_some_and(|gap| !ends_sentence(gap)))
                .any(|index| self.names_secret(index))
    }

    /// True if `range` looks random and has the length of the code before it,
    /// and between them is nothing but the sign of a list.
    fn continues_list(&self, range: &Range<usize>, last: Option<&Range<usize>>) -> bool {
        let bytes = self.bytes(range);
        let code = &self.text[bytes.clone()];
        last.is_some_and(|last| {
            last.len() == code.len()
                && bytes.start - last.end <= MAX_LIST_GAP
                && looks_random(code)
                && self
                    .trim_ordinal(last.end..bytes.start)
                    .chars()
                    .all(is_list_sign)
        })
    }

    /// True if `range` is a line of its own that looks like a code (`DJZ-TLX`,
    /// `tt226-5398x`), and the text above names a code.
    fn is_alone_below_code_word(&self, range: Range<usize>) -> bool {
        let bytes = self.bytes(&range);
        let code = &self.text[bytes.clone()];
        let numbered = self.trim_ordinal(0..bytes.start);
        let is_numbered = numbered.len() < bytes.start;
        let before = numbered.trim_end_matches(is_line_sign);
        let after = self.text[bytes.end..].trim_start_matches([' ', '\t']);
        if !looks_random(code)
            || !(5..=64).contains(&code.len())
            || !code
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == ' ' || is_hyphen(c))
            || !before.ends_with('\n')
            || !(after.is_empty() || after.starts_with('\n'))
            || self.is_labelled_other(range.start)
        {
            return false;
        }
        // Between the words and a code in figures there may be a sentence or two.
        let has_letter = code.bytes().any(|b| b.is_ascii_alphabetic());
        let lines = if has_letter || is_numbered { 1 } else { 3 };
        let mut start = before.len();
        for _ in 0..lines {
            // A line of quote marks alone is blank.
            let above = self.text[..start].trim_end_matches(is_list_sign);
            start = above.rfind('\n').map_or(0, |end| end + 1);
        }
        (0..range.start)
            .rev()
            .take_while(|index| self.words[*index].0 >= start)
            .any(|index| self.names_secret(index) && (!is_numbered || self.is_plural(index)))
    }

    /// True if the word is about several codes, as before a list.
    fn is_plural(&self, index: usize) -> bool {
        let (_, word) = self.words[index];
        let word = word.to_lowercase();
        PLURALS.iter().any(|plural| word.ends_with(plural))
    }

    /// Returns some text without the number of an item of a list at its end: `1.`, `(b)`, or
    /// `3` in a cell of its own. Only codes have such a list.
    fn trim_ordinal(&self, range: Range<usize>) -> &'a str {
        let text = &self.text[range];
        let item = text.trim_end_matches(|c: char| c.is_whitespace() || ".:)]-–".contains(c));
        let start = item.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
        let has_sign = text[item.len()..].starts_with(['.', ')', ']']);
        let is_number = item[start.len()..].bytes().all(|b| b.is_ascii_digit());
        let before = start.trim_end_matches(['(', '[', '#']);
        let before = before.trim_end_matches(is_line_sign);
        let is_ordinal = self.has_list
            && matches!(item.len() - start.len(), 1..=3)
            && item.len() + 1 < text.len()
            && (is_number || has_sign)
            && (before.is_empty() || before.ends_with('\n'));
        if is_ordinal { before } else { text }
    }
}

/// True if a sentence or a line ends between two words.
fn ends_sentence(gap: &str) -> bool {
    gap.contains(['\n', '.', ';', '!', '?'])
}

/// True for a gap between two cells of a row, of which each second blank is a line end.
fn is_cell_end(gap: &str) -> bool {
    let blanks = gap.strip_suffix(' ').unwrap_or(gap);
    !blanks.is_empty() && blanks.replace(" \n", "").is_empty()
}

/// True for text with digits, or with hyphens as between the parts of a code.
fn looks_random(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
        || text.matches(is_hyphen).count() > 1
        || (text.contains(is_hyphen) && !text.bytes().any(|b| b.is_ascii_lowercase()))
}

fn is_one_hyphen(gap: &str) -> bool {
    let mut chars = gap.chars();
    chars.next().is_some_and(is_hyphen) && chars.next().is_none()
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}')
}

/// True for what is before an item of a list, and between two of them.
fn is_list_sign(c: char) -> bool {
    c.is_whitespace() || "•*-·◦▪,>–—→|☐□[]".contains(c)
}

/// True for what is before an item of a list on its line, or before a quoted line.
fn is_line_sign(c: char) -> bool {
    is_list_sign(c) && c != '\n'
}

/// Splits a number with dots, or with commas of other scripts, into its groups of digits,
/// each with its first byte.
fn split_number(word: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_sign = |c: char| matches!(c, '.' | '，' | '；' | '،');
    let is_number = word.chars().all(|c| is_sign(c) || c.is_numeric());
    let mut start = 0;
    let parts = word.split_inclusive(move |c| is_number && is_sign(c));
    parts.map(move |part| {
        let at = start;
        start += part.len();
        (at, part.trim_end_matches(|c| is_number && is_sign(c)))
    })
}
