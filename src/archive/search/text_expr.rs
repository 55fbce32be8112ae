//! Expressions of the index for texts of a query: parts of headers, words of bodies, ids.

use std::cmp::Reverse;

use super::fts_expr::FtsExpr;
use super::tokens::{self, ID_CHARS, MAX_WORD_CHARS, NUMBER_CHARS, encode_token, prefix};
use crate::query::SearchText;
use crate::query::normalize::split_words;

/// Trigrams of one text that are searched for; more hardly narrow the result.
const MAX_TRIGRAMS: usize = 16;

/// The same for the domain of an address, which many emails share.
pub(super) const MAX_SHARED_TRIGRAMS: usize = 3;

/// Searches a part of a text by its trigrams.
pub(super) fn trigram_expr(prefix: char, text: &SearchText) -> FtsExpr {
    let chars: Vec<char> = text.normalized().chars().collect();
    let token = |chars: &[char]| encode_token(prefix, chars.iter().copied());
    match chars.as_slice() {
        [one, other] if !one.is_ascii() && !other.is_ascii() => FtsExpr::Token(token(&chars)),
        [_] | [_, _] => FtsExpr::Prefix(token(&chars)),
        _ if prefix == prefix::SUBJECT && chars[1..].contains(&'@') => {
            // Few subjects have an address in them.
            let around = chars.windows(3).filter(|trigram| trigram.contains(&'@'));
            FtsExpr::and(sample_evenly(around.map(token).collect(), MAX_TRIGRAMS))
        }
        _ => {
            // Digits are more selective than letters, and a search takes as long as its most common
            // trigram.
            let with_digits = |least: usize| {
                let windows = chars.windows(3);
                let is_digit = |c: &&char| c.is_ascii_digit();
                windows.filter(move |it| it.iter().filter(is_digit).count() >= least)
            };
            if with_digits(3).count() > 1 {
                return FtsExpr::and(sample_evenly(
                    with_digits(2).map(token).collect(),
                    MAX_TRIGRAMS,
                ));
            }
            // Thousands of addresses share their domain.
            let at_sign = chars
                .iter()
                .position(|c| *c == '@')
                .filter(|sign| *sign > 2);
            let (own, shared) =
                at_sign.map_or((&*chars, &[][..]), |sign| (&chars[..=sign], &chars[sign..]));
            let trigrams =
                |chars: &[char], most| sample_evenly(chars.windows(3).map(token).collect(), most);
            FtsExpr::and(trigrams(own, MAX_TRIGRAMS).chain(trigrams(shared, MAX_SHARED_TRIGRAMS)))
        }
    }
}

/// Chooses at most `most` of the tokens, from all over the text.
pub(super) fn sample_evenly(mut tokens: Vec<String>, most: usize) -> impl Iterator<Item = FtsExpr> {
    tokens.sort_unstable();
    tokens.dedup();
    let step = tokens.len().div_ceil(most).max(1);
    tokens.into_iter().step_by(step).map(FtsExpr::Token)
}

/// Searches words of a body: all of them, the last one by its start.
pub(super) fn body_expr(text: &SearchText) -> FtsExpr {
    let normalized = text.normalized();
    let words: Vec<&str> = split_words(normalized).collect();
    let token = |word: &str| encode_token(prefix::WORD, word.chars().take(MAX_WORD_CHARS));
    let Some((last, whole)) = words.split_last() else {
        return FtsExpr::Nothing;
    };
    let unspaced_pairs = words.windows(2).filter_map(|pair| {
        let chars = [
            tokens::unspaced_char(pair[0])?,
            tokens::unspaced_char(pair[1])?,
        ];
        Some(FtsExpr::Token(encode_token(
            prefix::WORD,
            chars.into_iter(),
        )))
    });
    // Only the first are kept in a query of many terms: many addresses share a domain, and words with
    // digits and long words are rare.
    let local_words = normalized
        .split('@')
        .next()
        .map_or(0, |local| split_words(local).count());
    let mut whole: Vec<(usize, &str)> = whole.iter().copied().enumerate().collect();
    whole.sort_by_key(|(index, word)| {
        let has_digit = word.contains(|c: char| c.is_ascii_digit());
        (*index >= local_words, !has_digit, Reverse(word.len()))
    });
    let whole = whole
        .into_iter()
        .map(|(_, word)| FtsExpr::Token(token(word)));
    // A number at the end is what is searched for; another one may be of an address that many share.
    let mut numbered = numbered_exprs(normalized);
    let number_at_end = tokens::is_number(last).then(|| numbered.pop()).flatten();
    let last = match last.chars().count() {
        _ if tokens::unspaced_char(last).is_some() => FtsExpr::Token(token(last)),
        1 => FtsExpr::Prefix(token(last)),
        2 | 3 => FtsExpr::Token(encode_token(prefix::WORD_PREFIX, last.chars())),
        length if length < MAX_WORD_CHARS => FtsExpr::Prefix(token(last)),
        _ => FtsExpr::Token(token(last)),
    };
    FtsExpr::and(
        unspaced_pairs
            .chain(number_at_end)
            .chain(whole.take(MAX_TRIGRAMS))
            .chain(numbered)
            .chain([last]),
    )
}

/// Searches each number in a text with the word before it.
pub(super) fn numbered_exprs(normalized: &str) -> Vec<FtsExpr> {
    let words: Vec<&str> = split_words(normalized).collect();
    let pairs = words.windows(2).enumerate();
    let numbered = pairs.filter(|(_, pair)| tokens::is_number(pair[1]));
    numbered
        .map(|(index, pair)| {
            let token = tokens::numbered_token(pair[0], pair[1]);
            let is_last = index + 2 == words.len();
            if is_last && pair[1].chars().count() < NUMBER_CHARS {
                FtsExpr::Prefix(token)
            } else {
                FtsExpr::Token(token)
            }
        })
        .take(MAX_TRIGRAMS)
        .collect()
}

/// Searches an id.
pub(super) fn id_expr(prefix: char, id: &str) -> FtsExpr {
    FtsExpr::Token(encode_token(prefix, id.chars().take(ID_CHARS)))
}

/// Searches ids with this start.
pub(super) fn id_prefix_expr(prefix: char, start: &str) -> FtsExpr {
    match start.chars().count() {
        0 => FtsExpr::All,
        length if length < ID_CHARS => FtsExpr::Prefix(encode_token(prefix, start.chars())),
        _ => id_expr(prefix, start),
    }
}
