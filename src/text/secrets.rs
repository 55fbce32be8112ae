//! Finds one-time codes, such as `482 913`, and masks them and secret URLs in text for the screen.
//!
//! A code counts only near a word for it ("Your code is 482913"), so that numbers of orders and
//! invoices stay readable. The words are in `assets/code_words.txt`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

use super::secret_urls::find_secret_urls;

/// A code is at most this many words away from a word for it.
const MAX_DISTANCE: usize = 6;

/// Digits, or letters and digits, in a code.
/// Shorter numbers are counts, longer ones are ids.
const CODE_LENGTHS: std::ops::RangeInclusive<usize> = 4..=10;

/// A longer text has no codes looked for behind this byte:
/// it is not a notification.
const MAX_BYTES: usize = 256 * 1024;

/// What a word or phrase of `assets/code_words.txt` says of the number beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clue {
    /// The number is a one-time code.
    Code,
    /// It is something else: an order, a coupon.
    Other,
}

/// Replaces a letter or digit of a secret.
pub(crate) const MASK: char = '•';

/// Returns `text` with each letter and digit of its secrets replaced by [`MASK`].
pub(crate) fn mask_secrets(text: &str) -> Cow<'_, str> {
    let secrets = find_secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for secret in secrets {
        masked.push_str(&text[end..secret.start]);
        masked.extend(text[secret.clone()].chars().map(mask_char));
        end = secret.end;
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

/// Returns the byte ranges of one-time codes and of secret parts of URLs in `text`,
/// in order and apart from each other.
pub(crate) fn find_secrets(text: &str) -> Vec<Range<usize>> {
    let mut secrets = find_codes(text);
    secrets.extend(find_secret_urls(text));
    secrets.sort_by_key(|range| range.start);
    secrets.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    secrets
}

/// Returns [`MASK`] for a letter or digit; spaces and hyphens inside a code stay.
pub(crate) fn mask_char(c: char) -> char {
    if c.is_alphanumeric() { MASK } else { c }
}

/// Returns the byte ranges of one-time codes in `text`, in order.
pub(crate) fn find_codes(text: &str) -> Vec<Range<usize>> {
    // On one line a code has a digit; most subjects end here.
    if !text.bytes().any(|b| b.is_ascii_digit() || b == b'\n') {
        return Vec::new();
    }
    let text = SplitText::new(&text[..text.floor_char_boundary(MAX_BYTES)]);
    if !text.clues.contains(&Some(Clue::Code)) {
        return Vec::new();
    }
    let mut codes = Vec::new();
    let mut next = 0;
    while next < text.words.len() {
        let (end, may_be_code) = text.next_candidate(next);
        if (may_be_code && text.is_near_code_word(next..end))
            || text.is_alone_below_code_word(next..end)
        {
            codes.push(text.bytes(&(next..end)));
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
}

impl<'a> SplitText<'a> {
    fn new(text: &'a str) -> Self {
        let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
        let mut clues = vec![None; words.len()];
        let list = ClueWords::load();
        let mut phrase = String::new();
        for start in 0..words.len() {
            phrase.clear();
            for (end, (_, word)) in words.iter().enumerate().skip(start).take(list.longest) {
                phrase.extend(word.chars().flat_map(char::to_lowercase));
                // Of a phrase its last word has the clue.
                if let Some(clue) = list.phrases.get(&phrase) {
                    clues[end] = Some(*clue);
                }
                if end == start && !list.first_words.contains(&phrase) {
                    break;
                }
            }
        }
        Self { text, words, clues }
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

    /// True if the word after `index` is on the same line and says that a number is not
    /// a code.
    fn other_follows(&self, index: usize) -> bool {
        self.gap(index)
            .is_some_and(|gap| !gap.contains(['\n', '.', ';', '!', '?']))
            && self.clues[index + 1] == Some(Clue::Other)
    }

    /// True if the word before `index` is on the same line and says that a number is
    /// not a code.
    fn other_precedes(&self, index: usize) -> bool {
        index > 0
            && self.gap(index - 1).is_some_and(|gap| !gap.contains('\n'))
            && self.clues[index - 1] == Some(Clue::Other)
    }

    /// Returns the end of the words from `at` on that belong together,
    /// and whether they may be a code: one word, several with hyphens (`K7P-4XZ9`), or two groups of three
    /// or four digits.
    fn next_candidate(&self, at: usize) -> (usize, bool) {
        let hyphens = (at..self.words.len())
            .take_while(|index| self.gap(*index) == Some("-"))
            .count();
        let is_group =
            |word: &str| matches!(word.len(), 3 | 4) && word.bytes().all(|b| b.is_ascii_digit());
        let is_pair = hyphens < 2
            && matches!(self.gap(at), Some(" " | "-" | "\u{A0}"))
            && is_group(self.words[at].1)
            && self.words[at + 1].1.len() == self.words[at].1.len()
            && is_group(self.words[at + 1].1);
        let end = at + if is_pair { 2 } else { hyphens + 1 };
        let code = || {
            self.words[at..end]
                .iter()
                .flat_map(|(_, word)| word.bytes())
        };
        let is_code = code().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
            && code().filter(u8::is_ascii_digit).count() >= 2
            && (is_pair || end == at + 1 || code().any(|b| b.is_ascii_uppercase()))
            && CODE_LENGTHS.contains(&code().count());
        (end, is_code && self.stands_alone(&self.bytes(&(at..end))))
    }

    /// True unless a character beside `bytes` makes it a part of a price,
    /// a path or an id.
    fn stands_alone(&self, bytes: &Range<usize>) -> bool {
        let before = self.text[..bytes.start].chars().next_back();
        let mut rest = self.text[bytes.end..].chars();
        let ends = match rest.next() {
            Some('%' | '€' | '£' | '$' | '/' | '@' | '=' | '_') => false,
            Some('.' | ',' | ':' | '-') => !rest.next().is_some_and(char::is_alphanumeric),
            _ => true,
        };
        ends && !before.is_some_and(|c| "$€£¥₹#№/=@._~+&".contains(c))
    }

    /// True if the word names a code, and no word for something else is next to it.
    fn names_code(&self, index: usize) -> bool {
        self.clues[index] == Some(Clue::Code)
            && !self.other_follows(index)
            && !self.other_precedes(index)
    }

    /// True if a word for codes is near `range`, and no word for something else is next
    /// to it.
    fn is_near_code_word(&self, range: Range<usize>) -> bool {
        let start = range.start;
        if self.other_follows(range.end - 1)
            || self.other_precedes(start)
            || (start > 0 && self.other_precedes(start - 1))
        {
            return false;
        }
        let code = &self.text[self.bytes(&range)];
        let is_year = code.len() == 4 && (code.starts_with("19") || code.starts_with("20"));
        let reach = if is_year { 2 } else { MAX_DISTANCE };
        let mut nearby = start.saturating_sub(reach)..(range.end + reach).min(self.words.len());
        nearby.any(|index| self.names_code(index))
    }

    /// True if `range` is a line of its own that looks like a code (`DJZ-TLX`,
    /// `tt226-5398x`), and the text above names a code.
    fn is_alone_below_code_word(&self, range: Range<usize>) -> bool {
        let bytes = self.bytes(&range);
        let code = &self.text[bytes.clone()];
        let looks_random = code.bytes().any(|b| b.is_ascii_digit())
            || code.matches('-').count() > 1
            || (code.contains('-') && !code.bytes().any(|b| b.is_ascii_lowercase()));
        let before = self.text[..bytes.start].trim_end_matches([' ', '\t']);
        let after = self.text[bytes.end..].trim_start_matches([' ', '\t']);
        if !looks_random
            || !(5..=40).contains(&code.len())
            || !code
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"- ".contains(&b))
            || !before.ends_with('\n')
            || !(after.is_empty() || after.starts_with('\n'))
        {
            return false;
        }
        // Between the words and a code in figures there may be a sentence or two.
        let lines = if code.bytes().any(|b| b.is_ascii_alphabetic()) {
            1
        } else {
            3
        };
        let mut start = before.trim_end().len();
        for _ in 0..lines {
            let above = self.text[..start].trim_end();
            start = above.rfind('\n').map_or(0, |end| end + 1);
        }
        (0..range.start)
            .rev()
            .take_while(|index| self.words[*index].0 >= start)
            .any(|index| self.names_code(index))
    }
}

/// The words and phrases of `assets/code_words.txt`, without spaces.
///
/// In a script without spaces, each character of a phrase is a word.
struct ClueWords {
    phrases: HashMap<String, Clue>,
    /// The first words of phrases of several words.
    first_words: HashSet<String>,
    /// The most words of a phrase.
    longest: usize,
}

impl ClueWords {
    fn load() -> &'static Self {
        static WORDS: OnceLock<ClueWords> = OnceLock::new();
        WORDS.get_or_init(|| {
            let mut words = Self {
                phrases: HashMap::new(),
                first_words: HashSet::new(),
                longest: 1,
            };
            let mut clue = Clue::Code;
            for line in include_str!("../../assets/code_words.txt").lines() {
                match line {
                    "[code]" => clue = Clue::Code,
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
                    words.phrases.insert(parts.concat(), clue);
                }
            }
            words
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_masked(text: &str, masked: &str) {
        assert_eq!(mask_secrets(text), masked);
        assert_eq!(mask_secrets(&mask_secrets(text)), masked);
    }

    #[test]
    fn codes_near_their_word_are_masked() {
        assert_masked(
            "482913 is your Pine Notes code",
            "•••••• is your Pine Notes code",
        );
        assert_masked(
            "Your verification code:\n\n482 913\n",
            "Your verification code:\n\n••• •••\n",
        );
        assert_masked(
            "Ihr Bestätigungscode lautet 4821.",
            "Ihr Bestätigungscode lautet ••••.",
        );
        assert_masked(
            "Votre code de connexion : K7P-4XZ9",
            "Votre code de connexion : •••-••••",
        );
        assert_masked("認証コード：482913", "認証コード：••••••");
        assert_masked(
            "您的验证码是 482913，五分钟内有效",
            "您的验证码是 ••••••，五分钟内有效",
        );
        assert_masked("Ваш код: 4829", "Ваш код: ••••");
        assert_masked(
            "رمز التحقق الخاص بك هو 482913",
            "رمز التحقق الخاص بك هو ••••••",
        );
        assert_masked(
            "인증번호는 482913입니다. 코드: 482913",
            "인증번호는 482913입니다. 코드: ••••••",
        );
        assert_masked("PIN: 2024", "PIN: ••••");
        assert_masked(
            "Your login code:\n\n tt226-5398x\nAcme",
            "Your login code:\n\n •••••-•••••\nAcme",
        );
        assert_masked(
            "Type this code.\nIt is good for ten minutes, and for you alone.\n\n740 274\n",
            "Type this code.\nIt is good for ten minutes, and for you alone.\n\n••• •••\n",
        );
        assert_masked(
            "This code is for you:\nDJZ-TLX",
            "This code is for you:\n•••-•••",
        );
        assert_masked(
            "A code to paste:\nsparo-ndigo-amurt\n",
            "A code to paste:\n•••••-•••••-•••••\n",
        );
    }

    #[test]
    fn other_numbers_stay() {
        for text in [
            "Your order 482913 has shipped",
            "Invoice 2026-1187 of 21 Nov 2026",
            "Coupon code: 13448278",
            "Use the discount code SAVE2026 today",
            "Order 4821: use the code at the door",
            "Error code 50012 in the log",
            "ZIP code 94107, area code 41501",
            "The code was written in 2019 by four people",
            "Total 4821.50 EUR, code below",
            "https://example.com/code/482913",
            "Code of Conduct, page 4821",
            "Codes of 2026-11-21, 555-1234, 4821-22",
            "Your code is above\n\nContinue\nSIGN IN\nwell-known",
            "Use code\n\nSKIN15",
            "Call 482913 seven words further than that from any code",
        ] {
            assert_masked(text, text);
        }
    }

    #[test]
    fn every_line_of_the_word_list_is_read() {
        let words = ClueWords::load();
        let clue = |phrase: &str| words.phrases.get(phrase).copied();
        assert_eq!(clue("mã"), Some(Clue::Code));
        assert_eq!(clue("onetimepassword"), Some(Clue::Code));
        assert_eq!(clue("쿠폰"), Some(Clue::Other));
        assert!((3..=8).contains(&words.longest), "{}", words.longest);
    }

    #[test]
    fn long_text_takes_no_long_time() {
        let text = "code 4821 ".repeat(100_000);
        assert!(find_codes(&text).len() > 10_000);
    }
}
