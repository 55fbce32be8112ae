//! `ClueWords`: the words near numbers that say whether they are one-time codes.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

/// Letters of a long word for a code, without its spaces.
const MIN_LONG_WORD: usize = 8;

/// The meaning of a word of `assets/code_words.txt` for the number beside the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clue {
    /// The number is a one-time code.
    Code,
    /// The number is a one-time code, by a long word such as `Bestätigungscode` or by
    /// several words.
    LongCode,
    /// The number beside these words is a code: "482913 to sign in".
    Purpose,
    /// The number between "use" or "enter" and these words is a code: "Enter 482913 to
    /// continue"; another one may be an amount.
    PurposeOfUse,
    /// A long key in groups near the word is secret: `8h3k-22lm-9qwe-71az`.
    Key,
    /// It is something else: an order, a coupon.
    Other,
}

/// The words and phrases of `assets/code_words.txt`, without spaces.
///
/// In a script without spaces, each character of a phrase is a word.
pub(super) struct ClueWords {
    pub(super) phrases: HashMap<String, Clue>,
    /// The first words of phrases of several words.
    pub(super) first_words: HashSet<String>,
    /// The most words of a phrase.
    pub(super) longest: usize,
}

impl ClueWords {
    pub(super) fn load() -> &'static Self {
        static WORDS: OnceLock<ClueWords> = OnceLock::new();
        WORDS.get_or_init(|| {
            let mut words = Self {
                phrases: HashMap::with_capacity(512),
                first_words: HashSet::new(),
                longest: 1,
            };
            let mut clue = Clue::Code;
            for line in include_str!("../../assets/code_words.txt").lines() {
                match line {
                    "[code]" => clue = Clue::Code,
                    "[purpose]" => clue = Clue::Purpose,
                    "[purpose of use]" => clue = Clue::PurposeOfUse,
                    "[key]" => clue = Clue::Key,
                    "[other]" => clue = Clue::Other,
                    _ => {}
                }
                let list = line.split_once(": ").filter(|_| !line.starts_with('#'));
                for phrase in list.iter().flat_map(|(_, list)| list.split(", ")) {
                    let parts: Vec<&str> = phrase.unicode_words().collect();
                    if parts.len() > 1 {
                        words.first_words.insert(parts[0].to_owned());
                    }
                    words.longest = words.longest.max(parts.len());
                    let phrase = parts.concat();
                    let clue = match clue {
                        Clue::Code if phrase.chars().count() >= MIN_LONG_WORD => Clue::LongCode,
                        clue => clue,
                    };
                    words.phrases.insert(phrase, clue);
                }
            }
            words
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_word_list_is_read() {
        let words = ClueWords::load();
        let clue = |phrase: &str| words.phrases.get(phrase).copied();
        assert_eq!(clue("mã"), Some(Clue::Code));
        assert_eq!(clue("onetimepassword"), Some(Clue::LongCode));
        assert_eq!(clue("쿠폰"), Some(Clue::Other));
        assert!((3..=8).contains(&words.longest), "{}", words.longest);
    }
}
