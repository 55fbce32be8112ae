//! Expressions of the index for texts of a query:
//! parts of headers, words of bodies, ids.

use std::cmp::Reverse;

use super::fts_expr::FtsExpr;
use super::tokens::{
    self, ID_CHARS, MAX_WORD_CHARS, encode_token, is_number, max_pair_chars, prefix,
};
use crate::query::SearchText;
use crate::query::normalize::split_words;

/// Trigrams or pairs of words of one text that are searched for;
/// more hardly narrow the result.
const MAX_TOKENS: usize = 16;

/// [`MAX_TOKENS`] for the domain of an address, which many emails share.
pub(super) const MAX_SHARED_TRIGRAMS: usize = 3;

pub(super) fn trigram_expr(prefix: char, text: &SearchText) -> FtsExpr {
    let chars: Vec<char> = text.normalized().chars().collect();
    let token = |chars: &[char]| encode_token(prefix, chars.iter().copied());
    match chars.as_slice() {
        [one, other] if !one.is_ascii() && !other.is_ascii() => FtsExpr::Token(token(&chars)),
        [_] | [_, _] => FtsExpr::Prefix(token(&chars)),
        _ if prefix == prefix::SUBJECT && chars[1..].contains(&'@') => {
            // Few subjects have an address in them.
            let around = chars.windows(3).filter(|trigram| trigram.contains(&'@'));
            FtsExpr::and(sample_evenly(around.map(token).collect(), MAX_TOKENS))
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
                    MAX_TOKENS,
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
            FtsExpr::and(trigrams(own, MAX_TOKENS).chain(trigrams(shared, MAX_SHARED_TRIGRAMS)))
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

/// Searches words of a body beside each other, the last one by its start.
pub(super) fn body_expr(text: &SearchText) -> FtsExpr {
    let normalized = text.normalized();
    let words: Vec<&str> = split_words(normalized).collect();
    let Some((last, whole)) = words.split_last() else {
        return FtsExpr::Nothing;
    };
    if whole.is_empty() {
        return word_start_expr(last);
    }
    // Only the first are kept in a query of many terms: a number at the end is what is searched
    // for, many addresses share a domain, and words with digits and long words are rare.
    let local_words = normalized
        .split('@')
        .next()
        .map_or(0, |local| split_words(local).count());
    let mut pairs: Vec<(usize, &[&str])> = words.windows(2).enumerate().collect();
    pairs.sort_unstable_by_key(|(index, pair)| {
        let is_last = index + 2 == words.len();
        let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        (
            !(is_last && is_number(last)),
            *index >= local_words,
            !pair.iter().any(has_digit),
            Reverse(pair[0].len()),
            *index,
        )
    });
    let pairs = pairs.into_iter().map(|(index, pair)| {
        let next = pair[1];
        let is_start = index + 2 == words.len()
            && tokens::unspaced_char(next).is_none()
            && next.chars().count() < max_pair_chars(next);
        let token = tokens::pair_token(pair[0], next);
        if is_start {
            FtsExpr::Prefix(token)
        } else {
            FtsExpr::Token(token)
        }
    });
    // The pairs have only the start of a number.
    let is_cut = |word: &str| is_number(word) && word.chars().count() > max_pair_chars(word);
    let numbers = whole
        .iter()
        .copied()
        .filter(|word| is_cut(word))
        .map(word_token);
    let number_at_end = is_cut(last).then(|| word_start_expr(last));
    FtsExpr::and(
        pairs
            .take(MAX_TOKENS)
            .chain(numbers.take(MAX_TOKENS).map(FtsExpr::Token))
            .chain(number_at_end),
    )
}

fn word_token(word: &str) -> String {
    encode_token(prefix::WORD, word.chars().take(MAX_WORD_CHARS))
}

fn word_start_expr(start: &str) -> FtsExpr {
    let token = word_token(start);
    match start.chars().count() {
        _ if tokens::unspaced_char(start).is_some() => FtsExpr::Token(token),
        1 => FtsExpr::Prefix(token),
        2 | 3 => FtsExpr::Token(encode_token(prefix::WORD_PREFIX, start.chars())),
        length if length < MAX_WORD_CHARS => FtsExpr::Prefix(token),
        _ => FtsExpr::Token(token),
    }
}

pub(super) fn id_expr(prefix: char, id: &str) -> FtsExpr {
    FtsExpr::Token(tokens::id_token(prefix, id))
}

pub(super) fn id_prefix_expr(prefix: char, start: &str) -> FtsExpr {
    match start.chars().count() {
        0 => FtsExpr::All,
        length if length < ID_CHARS => FtsExpr::Prefix(encode_token(prefix, start.chars())),
        _ => id_expr(prefix, start),
    }
}
