//! What text is reduced to before it is compared, so that case, accents and layout do not matter.

use std::ops::Range;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use unicode_width::UnicodeWidthChar;

/// Text to look for: as it was typed and as it is compared.
///
/// It always has something to compare, so a needle never matches by being empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SearchText {
    text: String,
    normalized: String,
}

impl SearchText {
    /// Takes `text`, with each run of blanks as one and none around it; `None` if nothing is left
    /// to compare (blanks, invisible characters, accents without a letter).
    #[must_use]
    pub(crate) fn new(text: &str) -> Option<Self> {
        let folded = normalize(text);
        if folded.is_empty() {
            return None;
        }
        let mut spaced = SpaceCollapser::with_capacity(text.len());
        text.chars().for_each(|c| spaced.push(c));
        Some(Self {
            text: spaced.text,
            normalized: folded,
        })
    }

    /// As it was typed.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// As it is compared with [`fold`]ed text.
    #[must_use]
    pub(crate) fn normalized(&self) -> &str {
        &self.normalized
    }

    /// Whether the needle is a part of `folded` text.
    #[must_use]
    pub(crate) fn is_substring_of(&self, folded: &str) -> bool {
        folded.contains(&self.normalized)
    }

    /// Whether a run of [`words`] of `folded` text begins with the words of the needle: all but the
    /// last of them whole, the last as a beginning. This is how a full-text index of words finds it.
    #[must_use]
    pub(crate) fn matches_words_of(&self, folded: &str) -> bool {
        self.word_runs_in(folded).next().is_some()
    }

    /// Where the needle is a part of `folded` text.
    pub(super) fn substrings_in(&self, folded: &str) -> impl Iterator<Item = Range<usize>> {
        folded
            .match_indices(&self.normalized)
            .map(|(start, part)| start..start + part.len())
    }

    /// Where runs of words begin with the words of the needle.
    pub(super) fn word_runs_in(&self, folded: &str) -> impl Iterator<Item = Range<usize>> {
        let wanted: Vec<&str> = split_words(&self.normalized).collect();
        let there: Vec<Range<usize>> = word_ranges(folded).collect();
        (0..there.len()).filter_map(move |at| {
            let (last, whole) = wanted.split_last()?;
            let run = there.get(at..at + wanted.len())?;
            let same = whole
                .iter()
                .zip(run)
                .all(|(word, range)| *word == &folded[range.clone()]);
            let end = &run[whole.len()];
            (same && folded[end.clone()].starts_with(last))
                .then(|| run[0].start..end.start + last.len())
        })
    }
}

/// Folds `text`: compatibility forms, case, accents, runs of blanks and invisible characters are
/// levelled, and the blanks around it are dropped. Folding twice is folding once.
///
/// Accents are the marks of scripts that can be read without them. Marks that spell (the vowels of
/// Thai or Devanagari, the voicing of kana) stay, since without them it is another word.
#[must_use]
pub(crate) fn normalize(text: &str) -> String {
    let mut folded = SpaceCollapser::with_capacity(text.len());
    let mut rest = text;
    // Most text is ASCII but for a sign here and there. No mark that stays joins an ASCII letter, so
    // what is between can be levelled by itself.
    while !rest.is_empty() {
        let (plain, after) = rest.split_at(
            rest.bytes()
                .position(|byte| !byte.is_ascii())
                .unwrap_or(rest.len()),
        );
        plain
            .chars()
            .for_each(|c| folded.push(c.to_ascii_lowercase()));
        let (other, after) = after.split_at(
            after
                .bytes()
                .position(|byte| byte.is_ascii())
                .unwrap_or(after.len()),
        );
        if !other.is_empty() {
            normalize_chars(other).for_each(|c| folded.push(c));
        }
        rest = after;
    }
    folded.text
}

/// Folds all but the blanks.
pub(super) fn normalize_chars(text: &str) -> impl Iterator<Item = char> {
    let letters = DecomposingNormalizerBorrowed::new_nfkd()
        .normalize_iter(text.chars())
        .filter(|c| !is_accent(*c) && !is_invisible(*c))
        .flat_map(fold_case)
        .flat_map(replace_stroke_letters);
    ComposingNormalizerBorrowed::new_nfc().normalize_iter(letters)
}

/// The words of folded text, as they are compared in bodies: runs of letters, digits and their
/// marks; of a script that is written without blanks, each character is a word.
pub(crate) fn split_words(folded: &str) -> impl Iterator<Item = &str> {
    word_ranges(folded).map(|range| &folded[range])
}

/// Where the [`words`] of folded text stand.
pub(super) fn word_ranges(folded: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + folded[at..].find(is_word_char)?;
        let rest = &folded[start..];
        let first = rest.chars().next()?;
        let alone = is_unspaced_script(first).then(|| first.len_utf8());
        at = start
            + alone
                .or_else(|| rest.find(|c| !is_word_char(c) || is_unspaced_script(c)))
                .unwrap_or(rest.len());
        Some(start..at)
    })
}

/// Text with each run of blanks as one, and none around it.
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

/// Lower case by way of upper case, which levels what has no lower case of its own: `ß` and `ss`,
/// `ς` and `σ`, `ı` and `i`.
fn fold_case(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Letters that Unicode does not take apart, though people type them without their stroke.
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

/// Combining marks of Latin, Greek, Cyrillic, Hebrew and Arabic, and those of symbols.
const fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}'
        | '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}' | '\u{5C2}' | '\u{5C4}' | '\u{5C5}' | '\u{5C7}'
        | '\u{610}'..='\u{61A}' | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6DC}')
}

/// Joiners, padding and hints for breaking a line, which nobody types when searching.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Marks without a width belong to the letter before them.
fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || (c > '\u{2FF}' && c.width() == Some(0))
}

/// Whether a character is of a script that is written without blanks: Thai, Lao, Tibetan, Burmese,
/// Khmer, kana and Chinese characters.
#[must_use]
pub(crate) const fn is_unspaced_script(c: char) -> bool {
    matches!(c,
        '\u{E00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_accents_and_layout_do_not_matter() {
        for (text, folded) in [
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
            ("\u{301}\u{200B}", ""),
        ] {
            assert_eq!(normalize(text), folded, "{text}");
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_single_unspaced_characters() {
        let of = |text: &str| split_words(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            of("don't reply-to: ana@example.com, 4821"),
            ["don", "t", "reply", "to", "ana", "example", "com", "4821"]
        );
        assert_eq!(of("ご注文no1"), ["ご", "注", "文", "no1"]);
        assert_eq!(of("हिन्दी।"), ["हिन्दी"]);
        assert_eq!(of(" :) "), [""; 0]);
    }

    #[test]
    fn a_needle_starts_words_in_a_body() {
        let body = normalize("Your receipt No. 4821: ご注文の確認 (Straße)");
        for (needle, found) in [
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
            assert_eq!(
                SearchText::new(needle).unwrap().matches_words_of(&body),
                found,
                "{needle}"
            );
        }
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in any::<String>()) {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }

        #[test]
        fn text_in_pieces_folds_as_a_whole(text in prop::collection::vec(prop_oneof![
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
        fn upper_case_and_decomposed_text_fold_alike(text in "[a-zà-öù-ÿα-ωа-яё0-9 ]{0,20}") {
            let apart: String = DecomposingNormalizerBorrowed::new_nfd().normalize(&text).into_owned();
            prop_assert_eq!(normalize(&apart), normalize(&text));
            prop_assert_eq!(normalize(&text.to_uppercase()), normalize(&text));
        }
    }
}
