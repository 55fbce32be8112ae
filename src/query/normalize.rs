//! Text normalisation before comparison: ignores case, accents, width and spaces.

use std::ops::Range;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use unicode_width::UnicodeWidthChar;

/// Text to search for: as it was typed and normalised. Neither is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SearchText {
    text: String,
    normalized: String,
}

impl SearchText {
    /// Collapses the spaces of `text` and normalises it.
    ///
    /// Returns `None` if nothing is left to compare (spaces, invisible characters, accents without
    /// a letter).
    pub(crate) fn new(text: &str) -> Option<Self> {
        let normalized = normalize(text);
        if normalized.is_empty() {
            return None;
        }
        let mut spaced = SpaceCollapser::with_capacity(text.len());
        text.chars().for_each(|c| spaced.push(c));
        Some(Self {
            text: spaced.text,
            normalized,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn normalized(&self) -> &str {
        &self.normalized
    }

    /// Whether this is a part of `normalized` text.
    pub(crate) fn is_substring_of(&self, normalized: &str) -> bool {
        normalized.contains(&self.normalized)
    }

    /// Whether adjacent words of `normalized` text match the words of this text.
    ///
    /// The last word matches by its start, all others as a whole, as in a full-text index.
    pub(crate) fn matches_words_of(&self, normalized: &str) -> bool {
        self.word_runs_in(normalized).next().is_some()
    }

    /// Finds this text in `normalized` text.
    pub(super) fn substrings_in(&self, normalized: &str) -> impl Iterator<Item = Range<usize>> {
        normalized
            .match_indices(&self.normalized)
            .map(|(start, part)| start..start + part.len())
    }

    /// Finds the adjacent words that match as in [`SearchText::matches_words_of`].
    pub(super) fn word_runs_in(&self, normalized: &str) -> impl Iterator<Item = Range<usize>> {
        let words: Vec<&str> = split_words(&self.normalized).collect();
        // Most texts lack one of the words, and need not be split.
        let ranges: Vec<Range<usize>> = if words.iter().all(|word| normalized.contains(word)) {
            word_ranges(normalized).collect()
        } else {
            Vec::new()
        };
        (0..ranges.len()).filter_map(move |first| {
            let (last, whole) = words.split_last()?;
            let run = ranges.get(first..first + words.len())?;
            let is_same = whole
                .iter()
                .zip(run)
                .all(|(word, range)| *word == &normalized[range.clone()]);
            let end = &run[whole.len()];
            (is_same && normalized[end.clone()].starts_with(last))
                .then(|| run[0].start..end.start + last.len())
        })
    }
}

/// Normalises `text` for comparison.
///
/// Compatibility forms, case, accents, spaces, apostrophes, dashes and invisible characters do not
/// differ then.
/// Normalising twice is normalising once. Accents are the marks of scripts that can be read without
/// them. Marks that spell (the vowels of Thai or Devanagari, the voicing of kana) stay, since
/// without them it is another word.
pub(crate) fn normalize(text: &str) -> String {
    let mut out = SpaceCollapser::with_capacity(text.len());
    let mut rest = text;
    // Most text is ASCII with a few other characters. No mark that stays joins an ASCII letter, so
    // each run of other characters can be normalised by itself.
    while !rest.is_empty() {
        let (plain, after) = rest.split_at(
            rest.bytes()
                .position(|byte| !byte.is_ascii())
                .unwrap_or(rest.len()),
        );
        plain.chars().for_each(|c| out.push(c.to_ascii_lowercase()));
        let (other, after) = after.split_at(
            after
                .bytes()
                .position(|byte| byte.is_ascii())
                .unwrap_or(after.len()),
        );
        if !other.is_empty() {
            normalize_chars(other).for_each(|c| out.push(c));
        }
        rest = after;
    }
    out.text
}

/// Normalises all but the spaces.
pub(super) fn normalize_chars(text: &str) -> impl Iterator<Item = char> {
    let letters = DecomposingNormalizerBorrowed::new_nfkd()
        .normalize_iter(text.chars().map(replace_typographic))
        .filter(|c| !is_accent(*c) && !is_invisible(*c))
        // Those of decomposed characters, such as `ŉ`.
        .map(replace_typographic)
        .flat_map(fold_case)
        .flat_map(replace_stroke_letters);
    ComposingNormalizerBorrowed::new_nfc().normalize_iter(letters)
}

/// Splits normalised text into words: runs of letters, digits and their marks.
///
/// In a script that is written without spaces each character is a word.
pub(crate) fn split_words(normalized: &str) -> impl Iterator<Item = &str> {
    word_ranges(normalized).map(|range| &normalized[range])
}

/// Finds the words as [`split_words`] does.
pub(crate) fn word_ranges(normalized: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    std::iter::from_fn(move || {
        // Most text is ASCII, of which bytes are enough.
        let between = end + ascii_run(&normalized[end..], |byte| !byte.is_ascii_alphanumeric());
        let start = between + normalized[between..].find(is_word_char)?;
        let rest = &normalized[start..];
        let first = rest.chars().next()?;
        let length = if is_unspaced_script(first) {
            first.len_utf8()
        } else {
            let ascii = ascii_run(rest, u8::is_ascii_alphanumeric);
            let end = rest[ascii..].find(|c| !is_word_char(c) || is_unspaced_script(c));
            end.map_or(rest.len(), |end| ascii + end)
        };
        end = start + length;
        Some(start..end)
    })
}

/// Counts the ASCII characters at the start of a text that meet a condition.
fn ascii_run(text: &str, condition: impl Fn(&u8) -> bool) -> usize {
    let bytes = text.bytes();
    bytes
        .take_while(|byte| byte.is_ascii() && condition(byte))
        .count()
}

/// Joins characters to a text without repeated, leading and trailing spaces.
struct SpaceCollapser {
    text: String,
    pending_space: bool,
}

impl SpaceCollapser {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            pending_space: false,
        }
    }

    fn push(&mut self, c: char) {
        if c.is_whitespace() {
            self.pending_space = !self.text.is_empty();
            return;
        }
        if std::mem::take(&mut self.pending_space) {
            self.text.push(' ');
        }
        self.text.push(c);
    }
}

/// Maps to lower case through upper case.
///
/// This makes equal: `ß` and `ss`, `ς` and `σ`, `ı` and `i`.
fn fold_case(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Replaces apostrophes and dashes that phones and word processors write for those of a keyboard.
const fn replace_typographic(c: char) -> char {
    match c {
        '‘' | '’' | '‛' | 'ʼ' | '´' | '′' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        _ => c,
    }
}

/// Replaces letters with a stroke, which Unicode does not decompose.
///
/// Users type them without it.
fn replace_stroke_letters(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' => ('d', None),
        'ħ' => ('h', None),
        'ŧ' => ('t', None),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        _ => (c, None),
    };
    std::iter::once(first).chain(second)
}

/// Checks for marks of Latin, Greek, Cyrillic, Hebrew, Arabic and symbols.
const fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}'
        | '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}' | '\u{5C2}' | '\u{5C4}' | '\u{5C5}' | '\u{5C7}'
        | '\u{610}'..='\u{61A}' | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6DC}')
}

/// Checks for joiners, padding and line-break hints, which no user types.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Checks for letters, digits and the marks without a width that belong to them.
fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() || (c > '\u{2FF}' && c.width() == Some(0))
}

/// Checks for scripts that are written without spaces.
///
/// Thai, Lao, Tibetan, Burmese, Khmer, kana and Chinese characters.
pub(crate) const fn is_unspaced_script(c: char) -> bool {
    // Most text is below all of them.
    c >= '\u{E00}'
        && matches!(c,
        '\u{E00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn normalizing_ignores_case_accents_and_spaces() {
        for (text, normalized) in [
            ("Ana LÓPEZ", "ana lopez"),
            ("Ünïcödé", "unicode"),
            ("STRASSE Straße ẞ", "strasse strasse ss"),
            ("ΌΔΟΣ όδος", "οδοσ οδοσ"),
            ("Ёлка й", "елка и"),
            ("İstanbul ısı", "istanbul isi"),
            ("Søren Łódź Đỗ Æon œuvre", "soren lodz do aeon oeuvre"),
            ("Ｆｕｌｌ ﬁne ②", "full fine 2"),
            ("ｶﾞ ガ か\u{3099}", "ガ ガ が"),
            ("مُحَمَّد أحمد", "محمد احمد"),
            ("שָׁלוֹם", "שלום"),
            ("हिन्दी ภาษาไทย 한국어", "हिन्दी ภาษาไทย 한국어"),
            (
                "  Silben\u{AD}trennung\r\n\tund\u{A0}mehr ",
                "silbentrennung und mehr",
            ),
            ("O’Connor Oʼconnor O´Connor", "o'connor o'connor o'connor"),
            ("Anna‑Lena – 3−1 ŉ", "anna-lena - 3-1 'n"),
            ("\u{301}\u{200B}", ""),
        ] {
            assert_eq!(normalize(text), normalized, "{text}");
        }
    }

    #[test]
    fn words_are_letter_runs_and_unspaced_characters() {
        let words = |text: &str| split_words(text).map(str::to_owned).collect::<Vec<_>>();
        let expected = ["don", "t", "reply", "to", "ana", "example", "com", "4821"];
        assert_eq!(words("don't reply-to: ana@example.com, 4821"), expected);
        assert_eq!(words("ご注文no1"), ["ご", "注", "文", "no1"]);
        assert_eq!(words("हिन्दी।"), ["हिन्दी"]);
        assert_eq!(words("-abжcd1注x, ж9—"), ["abжcd1", "注", "x", "ж9"]);
        assert_eq!(words(" :) "), [""; 0]);
    }

    #[test]
    fn search_text_matches_starts_of_words() {
        let body = normalize("Your receipt No. 4821: ご注文の確認 (Straße)");
        for (text, found) in [
            ("rec", true),
            ("eceipt", false),
            ("your receipt", true),
            ("your rec", true),
            ("you rec", false),
            ("receipt no 48", true),
            ("文の確", true),
            ("文確", false),
            ("strasse", true),
            (":", false),
        ] {
            let text = SearchText::new(text).unwrap();
            assert_eq!(text.matches_words_of(&body), found, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn normalizing_twice_is_normalizing_once(text in any::<String>()) {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }

        #[test]
        fn text_in_parts_normalizes_as_a_whole(text in prop::collection::vec(prop_oneof![
            any::<char>(),
            prop::char::range(' ', '~'),
            prop::char::range('\u{300}', '\u{36F}'),
            prop::sample::select(vec!['か', '\u{3099}', '\u{93C}', '\u{1161}', 'ﬁ', 'ſ', '\u{A0}', '\u{338}', 'İ', '\u{200D}']),
        ], 0..30)) {
            let text = String::from_iter(text);
            let mut whole = SpaceCollapser::with_capacity(0);
            normalize_chars(&text).for_each(|c| whole.push(c));
            prop_assert_eq!(normalize(&text), whole.text);
        }

        #[test]
        fn upper_case_and_decomposed_text_normalize_alike(text in "[a-zà-öù-ÿα-ωа-яё0-9 ]{0,20}") {
            let decomposed: String = DecomposingNormalizerBorrowed::new_nfd().normalize(&text).into_owned();
            prop_assert_eq!(normalize(&decomposed), normalize(&text));
            prop_assert_eq!(normalize(&text.to_uppercase()), normalize(&text));
        }
    }
}
