//! Stage 1, the plan: what of the index and of the timeline a query reads. [`super::translate`] makes its expressions.

use jiff::Timestamp;

use super::fts_expr::{FtsExpr, Prefilter};
use super::periods::{OUT_OF_ORDER_MICROS, Period};
use super::tokens::{flag, single_word};
use super::translate::{Translated, Translator};
use super::vocabulary::{KnownStarts, expand_prefixes, finds_few};
use crate::archive::SortKey;
use crate::archive::codec;
use crate::archive::listing::{BOTTOM, TOP};
use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::query::{EmailClass, Field, Node, Query, SearchText, Term, TimeBounds};

/// A query of more terms costs more by its look-ups than by its candidates.
const MANY_TERMS: usize = 16;

/// Tokens of one expression: the index takes 10 to 60 microseconds for each, found or not.
const MAX_LOOKUPS: usize = 3000;

const INCOMPLETE: &str = "SELECT (SELECT sort_key FROM mail WHERE fts_rowid = search.rowid) FROM search WHERE search MATCH ?1";

/// How to answer a query.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) expr: FtsExpr,
    /// Finds only matches.
    pub(super) certain: FtsExpr,
    /// Finds the matches that `certain` does not, and others.
    pub(super) possible: FtsExpr,
    /// Whether the candidates are so few that a letter of the query is not searched in the index.
    pub(super) has_few_candidates: bool,
    /// The words that the index has for starts of words of the query.
    pub(super) known_starts: KnownStarts,
    /// The texts that are searched in bodies and are not one word whole in the index; none in a query of many terms,
    /// and none on a server, which loads many bodies together.
    pub(super) phrases: Vec<Phrase>,
    /// The keys between which all matches are, except those out of order; inclusive.
    pub(super) newest_key: SortKey,
    pub(super) oldest_key: SortKey,
    /// The periods with an expression of their own, newest first; none where `expr` is for all emails.
    pub(super) periods: Vec<(Period, FtsExpr)>,
    /// The times between which all matches were created, as they are stored; inclusive.
    pub(super) times: (i64, i64),
    /// Emails whose status was seen to change since then, as it is stored, are candidates in any case.
    pub(super) changed_since: Option<i64>,
    pub(super) prefilter: Option<Prefilter>,
    pub(super) body_dependency: BodyDependency,
    /// Emails of which the index does not have all tokens, newest first; they are candidates in any case.
    pub(super) incomplete: Vec<SortKey>,
    /// Whether the service no longer lists any of the matches.
    pub(super) only_missing_upstream: bool,
}

/// A text, in most cases of several words, and the expressions for the bodies that have them beside each other.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) text: SearchText,
    /// Finds all of them, and others.
    pub(super) possible: FtsExpr,
    /// Finds some of them.
    pub(super) certain: FtsExpr,
}

/// When the matcher must load the body of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BodyDependency {
    Never,
    /// If the result is unknown without it.
    IfUnknown,
    /// Unless the headers match: the body may contain the word.
    UnlessMatched,
    /// A word must not be in the body.
    Always,
}

impl BodyDependency {
    fn of_term(term: &Term, negations: usize) -> Self {
        match term {
            Term::Word(_) if negations.is_multiple_of(2) => Self::UnlessMatched,
            Term::Word(_) => Self::Always,
            term if term.is_unknown_until_fetched() => Self::IfUnknown,
            _ => Self::Never,
        }
    }
}

impl Plan {
    /// Plans a query; valid in this transaction.
    pub(super) fn from_query(query: &Query, connection: &Connection) -> Result<Self> {
        Self::new(query, connection, true)
    }

    /// Plans a query with the starts of words as they are, whatever words the index has.
    #[cfg(test)]
    pub(super) fn unexpanded(query: &Query, connection: &Connection) -> Result<Self> {
        Self::new(query, connection, false)
    }

    fn new(query: &Query, connection: &Connection, finds_words: bool) -> Result<Self> {
        let mut body_dependency = BodyDependency::Never;
        let mut terms = 0;
        let mut phrases: Vec<&SearchText> = Vec::new();
        query.filter.visit_terms(0, &mut |term, negations| {
            body_dependency = body_dependency.max(BodyDependency::of_term(term, negations));
            terms += 1;
            if let Term::Word(text) | Term::Text(Field::Body, text) = term
                && single_word(text).is_none()
            {
                phrases.push(text);
            }
        });
        if terms > MANY_TERMS || connection.is_postgres() {
            phrases.clear();
        }
        let translator = Translator {
            connection,
            has_many_terms: terms > MANY_TERMS,
            period: None,
        };
        let (filter, changed_since) = query.split_seen_changes();
        let translated = match &filter {
            Some(filter) => translator.translate_node(filter, true, 0)?,
            None => Translated::exact(FtsExpr::Nothing),
        };
        let translated = translated.widen(MAX_LOOKUPS);
        let mut known_starts = KnownStarts::new();
        let mut expand = |expr| {
            // Hundreds of starts would become thousands of tokens.
            if finds_words && terms <= MANY_TERMS {
                expand_prefixes(expr, connection, &mut known_starts)
            } else {
                Ok(expr)
            }
        };
        let mut expr = expand(translated.expr)?;
        let mut certain = expand(translated.certain)?;
        let mut possible = expand(translated.possible)?;
        let mut periods = Vec::new();
        if let Some(filter) = &filter
            && !connection.is_postgres()
            && expr.prefilter().is_none()
        {
            for period in Period::split(filter) {
                let translator = Translator {
                    period: Some(period),
                    ..translator
                };
                let translated = translator.translate_node(filter, true, 0)?;
                let expr = expand(translated.expr.widen(MAX_LOOKUPS))?;
                // A letter would be collected for each period.
                let expr = expr.prefilter().map_or(expr, |cheap| cheap.expr);
                periods.push((period, expr));
                // What is certain would be counted twice where it is out of order.
                certain = FtsExpr::Nothing;
            }
        }
        let mut has_few_candidates = false;
        if finds_words
            && !connection.is_postgres()
            && let Some(rest) = expr.without_short_prefixes()
        {
            has_few_candidates = finds_few(&rest, connection)?;
            if has_few_candidates {
                (certain, possible) = (FtsExpr::Nothing, rest.clone());
                expr = rest;
            }
        }
        let phrases = phrases.into_iter().map(|text| {
            let translated = translator.translate_body(text);
            Ok(Phrase {
                text: text.clone(),
                possible: expand(translated.expr)?,
                certain: expand(translated.certain)?,
            })
        });
        let phrases = phrases.collect::<Result<_>>()?;
        let bounds = filter.map_or_else(TimeBounds::default, |filter| filter.time_bounds());
        let newest = bounds.newest.map(Timestamp::as_microsecond);
        let oldest = bounds.oldest.map(Timestamp::as_microsecond);
        Ok(Self {
            changed_since: changed_since.map(Timestamp::as_microsecond),
            // In PostgreSQL the nearest emails are compared first in any case. Then a prefix costs more only in a negation.
            prefilter: expr
                .prefilter()
                .filter(|it| !connection.is_postgres() || matches!(it.expr, FtsExpr::Not(_)))
                .filter(|_| periods.is_empty()),
            periods,
            expr,
            certain,
            possible,
            has_few_candidates,
            known_starts,
            phrases,
            newest_key: newest.map_or(TOP, |micros| {
                SortKey::newest_at(micros.saturating_add(OUT_OF_ORDER_MICROS))
            }),
            oldest_key: oldest.map_or(BOTTOM, |micros| {
                SortKey::oldest_at(micros.saturating_sub(OUT_OF_ORDER_MICROS))
            }),
            times: codec::encode_time_range(oldest.unwrap_or(i64::MIN), newest.unwrap_or(i64::MAX)),
            body_dependency,
            incomplete: find_incomplete(connection)?,
            only_missing_upstream: requires_missing_upstream(&query.filter),
        })
    }
}

/// Finds the emails of which the index does not have all tokens. That of `SQLite` has them all.
fn find_incomplete(connection: &Connection) -> Result<Vec<SortKey>> {
    if !connection.is_postgres() {
        return Ok(Vec::new());
    }
    let token = FtsExpr::Token(flag::INCOMPLETE.to_owned()).to_match_text(true);
    let found: Vec<Option<SortKey>> = connection.all(INCOMPLETE, [token], |row| row.get(0))?;
    let mut keys: Vec<SortKey> = found.into_iter().flatten().collect();
    keys.sort_unstable_by(|one, other| other.cmp(one));
    Ok(keys)
}

fn requires_missing_upstream(node: &Node) -> bool {
    match node {
        Node::And(nodes) => nodes.iter().any(requires_missing_upstream),
        Node::Term(term) => *term == Term::Is(EmailClass::Gone),
        Node::Or(_) | Node::Not(_) => false,
    }
}
