//! Finds and masks one-time codes, such as `482 913`, in text for the screen.
//!
//! A code counts only near a word for it ("Your code is 482913"), so that numbers of orders and
//! invoices stay readable. The words are in `assets/code_words.txt`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation as _;

/// A code is at most this many words away from a word for it.
const MAX_DISTANCE: usize = 6;

/// Digits, or letters and digits, in a code. Shorter numbers are counts, longer ones are ids.
const CODE_LENGTHS: std::ops::RangeInclusive<usize> = 4..=10;

/// A longer text has no codes looked for behind this byte: it is no notification.
const MAX_BYTES: usize = 256 * 1024;

/// What a word or phrase of `assets/code_words.txt` says of the number beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clue {
    /// The number is a one-time code.
    Code,
    /// It is something else: an order, a coupon.
    Other,
}

/// Returns `text` with each letter and digit of its codes replaced by `mark`.
pub(crate) fn mask_codes(text: &str, mark: char) -> Cow<'_, str> {
    let codes = find_codes(text);
    if codes.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for code in codes {
        masked.push_str(&text[end..code.start]);
        masked.extend(text[code.clone()].chars().map(|c| mask_char(c, mark)));
        end = code.end;
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

/// Returns `mark` for a letter or digit; spaces and hyphens inside a code stay.
pub(crate) fn mask_char(c: char, mark: char) -> char {
    if c.is_alphanumeric() { mark } else { c }
}

/// Returns the byte ranges of one-time codes in `text`, in order.
pub(crate) fn find_codes(text: &str) -> Vec<Range<usize>> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
    let clues = find_clues(&words);
    if !clues.contains(&Some(Clue::Code)) {
        return Vec::new();
    }
    let mut codes = Vec::new();
    let mut next = 0;
    while next < words.len() {
        let (count, may_be_code) = next_candidate(text, &words[next..]);
        let (last_start, last) = words[next + count - 1];
        let range = words[next].0..last_start + last.len();
        if (may_be_code && is_near_code_word(&clues, next, count, &text[range.clone()]))
            || is_alone_below_code_word(text, &words, &clues, next, &range)
        {
            codes.push(range);
        }
        next += count;
    }
    codes
}

/// Returns how many of the first words belong together, and whether they may be a code: one word,
/// several with hyphens (`K7P-4XZ9`), or two groups of three or four digits (`482 913`).
fn next_candidate(text: &str, words: &[(usize, &str)]) -> (usize, bool) {
    let (start, first) = words[0];
    let between = |index: usize| {
        let (start, word) = words[index];
        words
            .get(index + 1)
            .map(|next| &text[start + word.len()..next.0])
    };
    let hyphens = (0..)
        .take_while(|index| between(*index) == Some("-"))
        .count();
    let is_group = |index: usize| {
        let word = words[index].1;
        matches!(word.len(), 3 | 4) && word.bytes().all(|b| b.is_ascii_digit())
    };
    let is_pair = hyphens < 2
        && matches!(between(0), Some(" " | "-" | "\u{A0}"))
        && is_group(0)
        && is_group(1)
        && first.len() == words[1].1.len();
    let count = if is_pair { 2 } else { hyphens + 1 };
    let (last_start, last) = words[count - 1];
    let code = || words[..count].iter().flat_map(|(_, word)| word.bytes());
    let is_code = code().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        && code().filter(u8::is_ascii_digit).count() >= 2
        && (is_pair || count == 1 || code().any(|b| b.is_ascii_uppercase()))
        && CODE_LENGTHS.contains(&code().count());
    let before = text[..start].chars().next_back();
    let starts_freely = !before.is_some_and(|c| "$€£¥₹#№/=@._~+&".contains(c));
    let ends_freely = ends_freely(text, last_start + last.len());
    (count, is_code && starts_freely && ends_freely)
}

/// True unless what follows byte `end` makes the number a part of something longer.
fn ends_freely(text: &str, end: usize) -> bool {
    let mut rest = text[end..].chars();
    match rest.next() {
        Some('%' | '€' | '£' | '$' | '/' | '@' | '=' | '_') => false,
        Some('.' | ',' | ':' | '-') => !rest.next().is_some_and(char::is_alphanumeric),
        _ => true,
    }
}

/// True if a word for codes is near the `count` words from `at` on, and no word for something
/// else is next to either.
fn is_near_code_word(clues: &[Option<Clue>], at: usize, count: usize, code: &str) -> bool {
    let is_other = |index: usize| clues.get(index) == Some(&Some(Clue::Other));
    if is_other(at + count) || (1..=2).any(|back| at >= back && is_other(at - back)) {
        return false;
    }
    let is_year = code.len() == 4 && (code.starts_with("19") || code.starts_with("20"));
    let reach = if is_year { 2 } else { MAX_DISTANCE };
    let nearby = at.saturating_sub(reach)..(at + count + reach).min(clues.len());
    nearby.into_iter().any(|index| names_code(clues, index))
}

/// True if `range` is a line of its own that looks like a code (`DJZ-TLX`, `tt226-5398x`), and the
/// line of text above names a code.
fn is_alone_below_code_word(
    text: &str,
    words: &[(usize, &str)],
    clues: &[Option<Clue>],
    at: usize,
    range: &Range<usize>,
) -> bool {
    let code = &text[range.clone()];
    let has_digit = code.bytes().any(|b| b.is_ascii_digit());
    let looks_random = has_digit
        || code.matches('-').count() > 1
        || (code.contains('-') && !code.bytes().any(|b| b.is_ascii_lowercase()));
    let before = text[..range.start].trim_end_matches([' ', '\t']);
    let after = text[range.end..].trim_start_matches([' ', '\t']);
    if !looks_random
        || !(5..=40).contains(&code.len())
        || !code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        || !before.ends_with('\n')
        || !(after.is_empty() || after.starts_with('\n'))
    {
        return false;
    }
    let above = before.trim_end();
    let line_start = above.rfind('\n').map_or(0, |end| end + 1);
    (0..at)
        .rev()
        .take_while(|index| words[*index].0 >= line_start)
        .any(|index| names_code(clues, index))
}

/// True if the word names a code, and no word for something else is next to it.
fn names_code(clues: &[Option<Clue>], index: usize) -> bool {
    let is_other = |index: usize| clues.get(index) == Some(&Some(Clue::Other));
    clues[index] == Some(Clue::Code)
        && !is_other(index + 1)
        && !index.checked_sub(1).is_some_and(is_other)
}

/// Returns what each word says of a number beside it. Of a phrase its last word has the clue.
fn find_clues(words: &[(usize, &str)]) -> Vec<Option<Clue>> {
    let (clues, longest) = clue_words();
    let lower: Vec<String> = words.iter().map(|(_, word)| word.to_lowercase()).collect();
    let mut found = vec![None; words.len()];
    for start in 0..lower.len() {
        let mut phrase = String::new();
        for (end, word) in lower.iter().enumerate().skip(start).take(*longest) {
            phrase.push_str(word);
            if let Some(clue) = clues.get(&phrase) {
                found[end] = Some(*clue);
            }
        }
    }
    found
}

/// Returns the words and phrases of `assets/code_words.txt`, without spaces, and the most words of
/// one. Scripts without spaces are phrases of one word a character.
fn clue_words() -> &'static (HashMap<String, Clue>, usize) {
    static WORDS: OnceLock<(HashMap<String, Clue>, usize)> = OnceLock::new();
    WORDS.get_or_init(|| {
        let (mut words, mut longest, mut clue) = (HashMap::new(), 1, Clue::Code);
        for line in include_str!("../../assets/code_words.txt").lines() {
            match line {
                "[code]" => clue = Clue::Code,
                "[other]" => clue = Clue::Other,
                _ => {}
            }
            let Some((_, list)) = line.split_once(": ").filter(|_| !line.starts_with('#')) else {
                continue;
            };
            for phrase in list.split(", ") {
                let parts: Vec<&str> = phrase.unicode_words().collect();
                longest = longest.max(parts.len());
                words.insert(parts.concat(), clue);
            }
        }
        (words, longest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_masked(text: &str, masked: &str) {
        assert_eq!(mask_codes(text, '•'), masked);
        assert_eq!(mask_codes(&mask_codes(text, '•'), '•'), masked);
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
        let (words, longest) = clue_words();
        assert_eq!(words.get("mã"), Some(&Clue::Code));
        assert_eq!(words.get("onetimepassword"), Some(&Clue::Code));
        assert_eq!(words.get("쿠폰"), Some(&Clue::Other));
        assert!((3..=8).contains(longest), "{longest}");
    }

    #[test]
    fn long_text_takes_no_long_time() {
        let text = "code 4821 ".repeat(100_000);
        assert!(find_codes(&text).len() > 10_000);
    }
}
