//! `FtsExpr`: an expression of the full-text index, and a cheaper superset of it.

use std::collections::HashSet;

use super::fts_engine::fts_engine;
use super::tokens::{PREFIX_CHARS, encode_token, flag, is_number, prefix, words_of_pair};
use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::text::format::first_chars;

/// Candidates to examine where a prefix is so short that it has many matches.
const EXAMINED_FOR_SHORT_PREFIX: usize = 500;

/// Candidates to examine where a prefix is the start of a longer word.
const EXAMINED_FOR_LONG_PREFIX: usize = 64;

/// The prefilter goes on while at least one of so many candidates matches.
///
/// A prefix query would collect hundreds of thousands of rows in memory for the ten thousand that
/// are counted.
const DENSE_RATIO: usize = 4;

/// [`DENSE_RATIO`] for the rows of a window, which are few.
const SPARSE_RATIO: usize = 16;

/// To collect the rows of a prefix takes as long as to examine one of so many
/// emails of the archive.
const EMAILS_FOR_EACH_EXAMINED: usize = 250;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FtsExpr {
    All,
    Nothing,
    Token(String),
    /// Every token with this prefix.
    ///
    /// FTS5 collects all matches of such an expression before it returns the first one, so it is
    /// costly where the prefix is short.
    Prefix(String),
    And(Vec<FtsExpr>),
    Or(Vec<FtsExpr>),
    Not(Box<FtsExpr>),
}

/// Stage 2, the prefilter: a cheap superset of a costly expression, to try first.
///
/// If there are many matches it finds them, and if there are few the expression costs little.
#[derive(Debug)]
pub(super) struct Prefilter {
    pub(super) expr: FtsExpr,
    /// The candidates to examine before the costly expression.
    max_examined: usize,
}

impl Prefilter {
    /// Whether to examine more candidates after so many, of which `found` match,
    /// before the costly expression.
    ///
    /// `emails` is the size of the archive for the rows of a window, and 0 for a count.
    pub(super) const fn goes_on(&self, examined: usize, found: usize, emails: usize) -> bool {
        examined < self.max_examined
            || found * DENSE_RATIO >= examined
            || (found * SPARSE_RATIO >= examined && examined < emails / EMAILS_FOR_EACH_EXAMINED)
    }
}

impl FtsExpr {
    pub(super) fn and(exprs: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = exprs
            .into_iter()
            .filter(|expr| *expr != Self::All)
            .collect();
        if members.contains(&Self::Nothing) {
            return Self::Nothing;
        }
        match members.len() {
            0 => Self::All,
            1 => members.remove(0),
            _ => Self::And(members),
        }
    }

    pub(super) fn or(exprs: impl IntoIterator<Item = Self>) -> Self {
        let mut seen = HashSet::new();
        let mut members = Vec::new();
        for expr in exprs {
            let inner = match expr {
                Self::Or(inner) => inner,
                other => vec![other],
            };
            let is_new = |expr: &Self| *expr != Self::Nothing && seen.insert(expr.clone());
            members.extend(inner.into_iter().filter(is_new));
        }
        if seen.contains(&Self::All) {
            return Self::All;
        }
        match members.len() {
            0 => Self::Nothing,
            1 => members.remove(0),
            _ => Self::Or(members),
        }
    }

    /// Returns all other emails. Only correct if the expression is exact.
    pub(super) fn complement(self) -> Self {
        match self {
            Self::All => Self::Nothing,
            Self::Nothing => Self::All,
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Counts the tokens and prefixes, each of which the index looks up.
    pub(super) fn count_lookups(&self) -> usize {
        match self {
            Self::All | Self::Nothing | Self::Token(_) | Self::Prefix(_) => 1,
            Self::And(members) | Self::Or(members) => members.iter().map(Self::count_lookups).sum(),
            Self::Not(inner) => inner.count_lookups(),
        }
    }

    /// Drops conditions until at most `max` look-ups are left, which finds a superset.
    ///
    /// An alternative cannot be dropped, so each keeps a share of the look-ups. Of conditions that
    /// must all be met the first are kept, and small ones before large ones.
    pub(super) fn widen(self, max: usize) -> Self {
        if self.count_lookups() <= max {
            return self;
        }
        let (mut members, is_or) = match self {
            Self::And(members) => (members, false),
            Self::Or(members) => (members, true),
            _ => return Self::All,
        };
        members.sort_by_cached_key(Self::count_lookups);
        let (count, mut left) = (members.len(), max);
        let widened = members.into_iter().enumerate().map(|(index, member)| {
            let share = if is_or { left / (count - index) } else { left };
            let member = member.widen(share);
            if member != Self::All {
                left -= member.count_lookups();
            }
            member
        });
        if is_or {
            Self::or(widened)
        } else {
            Self::and(widened)
        }
    }

    /// Writes the expression in the query syntax of the database.
    pub(super) fn to_match_text(&self, connection: &Connection) -> String {
        let engine = fts_engine(connection);
        let (and, or, not, quote) = (engine.and, engine.or, engine.and_not, engine.quote);
        let text = |expr: &Self| expr.to_match_text(connection);
        let token = |token| {
            format!(
                "{quote}{}{quote}",
                first_chars(token, engine.max_token_chars)
            )
        };
        let join = |members: &[&Self], operator: &str| {
            let texts: Vec<String> = members.iter().map(|member| text(member)).collect();
            let text = texts.join(operator);
            if members.len() == 1 {
                text
            } else {
                format!("({text})")
            }
        };
        match self {
            Self::All | Self::Nothing => text(&Self::Token(flag::EVERY_EMAIL.to_owned())),
            Self::Token(text) => token(text),
            Self::Prefix(start) => token(start) + engine.prefix,
            Self::Or(members) => join(&members.iter().collect::<Vec<_>>(), or),
            // NOT has two operands in FTS5. In PostgreSQL, it would read the whole index without
            // the other one.
            Self::And(members) => {
                let (mut positive, mut negative) = (Vec::new(), Vec::new());
                for member in members {
                    match member {
                        Self::Not(inner) => negative.push(&**inner),
                        other => positive.push(other),
                    }
                }
                if positive.is_empty() {
                    positive.push(&Self::All);
                }
                let positive = join(&positive, and);
                if negative.is_empty() {
                    return positive;
                }
                format!("({positive}{not}{})", join(&negative, or))
            }
            Self::Not(inner) => format!("({}{not}{})", text(&Self::All), text(inner)),
        }
    }

    pub(super) fn prefilter(&self) -> Option<Prefilter> {
        if !self.has_prefix(&is_costly_prefix) {
            return None;
        }
        // Alone, a rare word would cost the index as much a second time.
        let is_alone = |expr: &Self| matches!(expr, Self::Prefix(start) if is_costly_prefix(start));
        let expr = match self {
            Self::Or(members) if members.iter().any(is_alone) => Self::All,
            expr if is_alone(expr) => Self::All,
            _ => self.without_costly_prefixes(),
        };
        let max_examined = if self.has_prefix(&is_short_prefix) {
            EXAMINED_FOR_SHORT_PREFIX
        } else {
            EXAMINED_FOR_LONG_PREFIX
        };
        Some(Prefilter { expr, max_examined })
    }

    /// Returns a cheap subset of the expression:
    /// whole words instead of starts of words.
    pub(super) fn whole_words(&self) -> Self {
        match self {
            Self::Prefix(start) if is_costly_prefix(start) => Self::Token(start.clone()),
            Self::And(members) => Self::and(members.iter().map(Self::whole_words)),
            Self::Or(members) => Self::or(members.iter().map(Self::whole_words)),
            Self::Not(inner) if inner.has_prefix(&is_costly_prefix) => Self::Nothing,
            other => other.clone(),
        }
    }

    /// Returns a cheap superset of the expression:
    /// first letters instead of starts of words, two words instead of starts of pairs, or whole
    /// words that must be missing.
    pub(super) fn without_costly_prefixes(&self) -> Self {
        let word = |word: &str| encode_token(prefix::WORD, word.chars());
        match self {
            Self::Prefix(start) if let Some((first, next)) = words_of_pair(start) => {
                let next = Self::Prefix(word(next)).without_costly_prefixes();
                if is_number(first) {
                    next
                } else {
                    Self::and([Self::Token(word(first)), next])
                }
            }
            Self::Prefix(start) if start.starts_with(prefix::WORD) && !is_short_prefix(start) => {
                let first_chars = start.chars().skip(1).take(PREFIX_CHARS);
                Self::Token(encode_token(prefix::WORD_PREFIX, first_chars))
            }
            Self::And(members) => Self::and(members.iter().map(Self::without_costly_prefixes)),
            Self::Or(members) => Self::or(members.iter().map(Self::without_costly_prefixes)),
            Self::Not(inner) => inner.whole_words().complement(),
            other if other.has_prefix(&is_costly_prefix) => Self::All,
            other => other.clone(),
        }
    }

    /// Returns the conditions without a start of a word that is so short that very many
    /// words have it; `None` if these are all conditions or none.
    pub(super) fn without_short_prefixes(&self) -> Option<Self> {
        let Self::And(members) = self else {
            return None;
        };
        let is_kept = |member: &&Self| !member.has_prefix(&is_short_prefix);
        let kept: Vec<Self> = members.iter().filter(is_kept).cloned().collect();
        (!kept.is_empty() && kept.len() < members.len()).then(|| Self::and(kept))
    }

    pub(super) fn map_prefixes(self, map: &mut impl FnMut(String) -> Result<Self>) -> Result<Self> {
        let all = |members: Vec<Self>, map: &mut _| -> Result<Vec<Self>> {
            let mapped = members.into_iter().map(|member| member.map_prefixes(map));
            mapped.collect()
        };
        Ok(match self {
            Self::Prefix(start) => map(start)?,
            Self::And(members) => Self::and(all(members, map)?),
            Self::Or(members) => Self::or(all(members, map)?),
            Self::Not(inner) => inner.map_prefixes(map)?.complement(),
            other @ (Self::All | Self::Nothing | Self::Token(_)) => other,
        })
    }

    pub(super) fn has_prefix(&self, condition: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::All | Self::Nothing | Self::Token(_) => false,
            Self::Prefix(start) => condition(start),
            Self::And(members) | Self::Or(members) => {
                members.iter().any(|member| member.has_prefix(condition))
            }
            Self::Not(inner) => inner.has_prefix(condition),
        }
    }
}

fn is_short_prefix(start: &str) -> bool {
    start.chars().count() <= PREFIX_CHARS
}

/// Whether FTS5 collects many matches before it returns the first.
pub(super) fn is_costly_prefix(start: &str) -> bool {
    let words = [
        prefix::WORD,
        prefix::COMPOUND,
        prefix::PAIR,
        prefix::SUBJECT_WORD,
        prefix::SUBJECT_WORDS,
        prefix::RECIPIENT_WORD,
        prefix::DOMAIN,
    ];
    start.starts_with(words) || is_short_prefix(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefilter_avoids_prefixes_of_negations_and_phrases() {
        let interned = FtsExpr::Token("l1".to_owned());
        let not_either = |other| FtsExpr::or([interned.clone(), other]).complement();
        let prefilter = not_either(FtsExpr::Prefix("worder".to_owned())).prefilter();
        let expected = not_either(FtsExpr::Token("worder".to_owned()));
        assert_eq!(prefilter.unwrap().expr, expected);
        let phrase = FtsExpr::and([
            FtsExpr::Token("wyour".to_owned()),
            FtsExpr::Prefix("worder".to_owned()),
        ]);
        let prefilter = not_either(phrase.clone()).prefilter();
        let words = ["wyour", "worder"].map(|word| FtsExpr::Token(word.to_owned()));
        assert_eq!(prefilter.unwrap().expr, not_either(FtsExpr::and(words)));

        let either = |other| FtsExpr::or([interned.clone(), other]);
        let prefilter = either(phrase).prefilter().unwrap();
        let starts = ["wyour", "pord"].map(|token| FtsExpr::Token(token.to_owned()));
        assert_eq!(prefilter.expr, either(FtsExpr::and(starts)));
        let prefilter = either(FtsExpr::Prefix("worder".to_owned())).prefilter();
        assert_eq!(prefilter.unwrap().expr, FtsExpr::All);
    }

    #[test]
    fn short_prefixes_are_dropped_beside_other_conditions() {
        let letter = FtsExpr::Prefix("wa".to_owned());
        let word = FtsExpr::Prefix("worder".to_owned());
        let either = FtsExpr::or([FtsExpr::Prefix("ha".to_owned()), letter.clone()]);
        let status = FtsExpr::Token("ssent".to_owned());
        for (members, expected) in [
            (vec![either.clone(), word.clone()], Some(word.clone())),
            (
                vec![letter.clone(), word.clone(), status.clone()],
                Some(FtsExpr::and([word.clone(), status.clone()])),
            ),
            (vec![letter.clone(), either], None),
            (vec![word, status], None),
            (vec![letter], None),
        ] {
            assert_eq!(FtsExpr::and(members).without_short_prefixes(), expected);
        }
    }

    #[test]
    fn prefilter_goes_on_while_enough_candidates_match() {
        let prefilter = FtsExpr::Prefix("hz".to_owned()).prefilter().unwrap();
        for (examined, found, emails, expected) in [
            (499, 0, 0, true),
            (500, 124, 0, false),
            (500, 125, 0, true),
            (100_000, 25_000, 0, true),
            // A window has few rows: in a large archive, some more candidates cost less than the
            // index.
            (500, 44, 1_000_000, true),
            (500, 31, 1_000_000, false),
            (3_999, 250, 1_000_000, true),
            (4_000, 250, 1_000_000, false),
            (500, 44, 100_000, false),
        ] {
            let goes_on = prefilter.goes_on(examined, found, emails);
            assert_eq!(goes_on, expected, "{found} of {examined}, {emails}");
        }
    }
}
