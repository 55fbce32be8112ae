//! Finds the spaces inside numbers, amounts and codes, at which no line breaks.
//!
//! Browsers break there, but a reader of few columns must not read a part as the amount.

use crate::text::format::is_listed;

/// Units after a number, in lower case.
const UNITS: &str = "% ‰ am pm a.m p.m uhr h min kg g mg km m cm mm l ml kb mb gb tb kw kwh °c °f kr \
                     zł kč ft lei euro";

/// Signs in place of the digits that an email hides.
const MASKS: [char; 4] = ['•', '*', 'x', 'X'];

/// Longer words are no groups of a code.
const MAX_GROUP_CHARS: usize = 8;

/// Returns the bytes of the single spaces between the groups of one number or code,
/// and between a number and its unit or currency.
pub(super) fn inner_spaces(text: &str) -> Vec<usize> {
    let mut spaces = Vec::new();
    let (mut start, mut before) = (0, "");
    for word in text.split(' ') {
        if are_joined(before, word) {
            spaces.push(start - 1);
        }
        start += word.len() + 1;
        before = word;
    }
    spaces
}

fn are_joined(one: &str, next: &str) -> bool {
    let (ends_number, starts_number) = (is_number_end(one), is_number_start(next));
    let is_time = next.trim_end_matches(':').contains(':');
    (ends_number && ((starts_number && !is_time) || is_unit(next)))
        || (starts_number && is_currency(one.trim_start_matches('(')))
        || (is_group(one) && is_group(next) && (has_digit(one) || has_digit(next)))
}

fn has_digit(word: &str) -> bool {
    word.contains(char::is_numeric)
}

fn is_mask(word: &str) -> bool {
    word.chars().nth(1).is_some() && word.trim_end_matches(MASKS).is_empty()
}

fn is_number_start(word: &str) -> bool {
    word.trim_start_matches('(').starts_with(char::is_numeric) || is_mask(word)
}

/// True for a number, also for an area code in parentheses.
fn is_number_end(word: &str) -> bool {
    let area_code = word.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    area_code.unwrap_or(word).ends_with(char::is_numeric) || is_mask(word)
}

/// True for a unit, also at the end of a sentence or before `/`.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    let unit = word.split('/').next().unwrap_or(word);
    is_currency(unit) || (unit.len() <= 4 && is_listed(&unit.to_lowercase(), UNITS))
}

/// True for the sign or the code of a currency.
fn is_currency(word: &str) -> bool {
    let is_sign = |c: char| matches!(c, '$' | '£' | '¥' | '\u{20A0}'..='\u{20CF}');
    let is_code = word.len() == 3 && word.chars().all(|c| c.is_ascii_uppercase());
    is_code || word.ends_with(is_sign) || matches!(word, "kr" | "Rs" | "Rs." | "Fr.")
}

/// True for capitals and digits, as in the groups of an IBAN.
///
/// A group has a digit or is the code of a bank, which has four letters.
fn is_group(word: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    word.len() <= MAX_GROUP_CHARS
        && word.chars().all(is_sign)
        && (word.len() == 4 || has_digit(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_units_are_joined() {
        for text in [
            "1 234,56 EUR",
            "482 913",
            "EUR 1,200.00",
            "€ 0",
            "US$ 5",
            "12 €.",
            "5 EUR/month",
            "GB29 NWBK 6016 1331 9268 19",
            "(555) 229-3326",
            "•••• •••• 4242",
            "7:30 pm,",
            "K7QX 9M2P",
        ] {
            let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
            assert_eq!(inner_spaces(text), spaces, "{text}");
        }
    }

    #[test]
    fn other_words_are_not_joined() {
        for text in [
            "May 5, 2026",
            "3 of 4",
            "order 12 shirts",
            "try 3 times",
            "10 - 12",
            "2026 10:30",
            "HELLO WORLD HERE",
            "Paid. 12 is",
            "",
            " ",
        ] {
            assert_eq!(inner_spaces(text), [0; 0], "{text}");
        }
    }
}
