//! Stage 1, the plan: what of the index and of the timeline a query reads.
//! [`super::translate`] makes its expressions.

use jiff::Timestamp;

use super::fts_engine::fts_engine;
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

/// Queries with more texts are matched by their bodies.
const MAX_TEXTS: usize = 8;

/// A word between texts, which otherwise would be beside each other:
/// a syllable of Linear B. A query that has it is matched by bodies.
pub(super) const SEPARATOR: char = '\u{10000}';

const INCOMPLETE: &str = "SELECT (SELECT sort_key FROM mail WHERE fts_rowid = search.rowid) FROM search WHERE search MATCH ?1";

/// How to answer a query.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) expr: FtsExpr,
    /// Finds only matches.
    pub(super) certain: FtsExpr,
    /// Finds the matches that `certain` does not, and others.
    pub(super) possible: FtsExpr,
    /// Whether the candidates are so few that a letter of the query is not searched in
    /// the index.
    pub(super) has_few_candidates: bool,
    /// The texts that are searched in bodies, as the index knows them.
    ///
    /// `None` if the query depends on something else of retrieved emails; on a server, which
    /// loads many bodies together; and for several words in a query of many terms.
    pub(super) body_texts: Option<Vec<BodyText>>,
    /// The keys between which all matches are, except those out of order; inclusive.
    pub(super) newest_key: SortKey,
    pub(super) oldest_key: SortKey,
    /// The periods with an expression of their own, newest first;
    /// none where `expr` is for all emails.
    pub(super) periods: Vec<(Period, FtsExpr)>,
    /// The times between which all matches were created, as they are stored; inclusive.
    pub(super) times: (i64, i64),
    /// Emails whose status was seen to change since then, as it is stored,
    /// are candidates in any case.
    pub(super) changed_since: Option<i64>,
    /// Whether a condition is about the time:
    /// emails out of order are candidates in any case.
    pub(super) has_times: bool,
    pub(super) prefilter: Option<Prefilter>,
    pub(super) body_dependency: BodyDependency,
    /// Emails of which the index does not have all tokens, newest first;
    /// they are candidates in any case.
    pub(super) incomplete: Vec<SortKey>,
    /// Whether the service no longer lists any of the matches.
    pub(super) only_missing_upstream: bool,
}

/// A text of a query, and the expressions for the bodies that have it.
#[derive(Debug)]
pub(super) struct BodyText {
    pub(super) text: SearchText,
    /// Whether it is one word, whole in the index.
    pub(super) is_word: bool,
    /// Finds all bodies that have it, and others.
    pub(super) possible: FtsExpr,
    /// Finds some of the bodies that have it.
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
        Self::from_planner(&mut QueryPlanner::new(query, connection), query)
    }

    /// Plans a query; `planner` then has the starts of words that it looked up.
    pub(super) fn from_planner(planner: &mut QueryPlanner<'_>, query: &Query) -> Result<Self> {
        let connection = planner.connection;
        let engine = fts_engine(connection);
        let mut body_dependency = BodyDependency::Never;
        query.filter.visit_terms(0, &mut |term, negations| {
            body_dependency = body_dependency.max(BodyDependency::of_term(term, negations));
        });
        let (filter, changed_since) = query.split_seen_changes();
        let Translated {
            mut expr,
            mut certain,
            mut possible,
        } = match &filter {
            Some(filter) => planner.translate(filter, None)?,
            None => Translated::exact(FtsExpr::Nothing),
        };
        let mut periods = Vec::new();
        if let Some(filter) = &filter
            && engine.collects_prefixes
            && expr.prefilter().is_none()
        {
            for period in Period::split_beside_or(filter) {
                let expr = planner.translate(filter, Some(period))?.expr;
                // A letter would be collected for each period.
                let expr = expr.prefilter().map_or(expr, |cheap| cheap.expr);
                periods.push((period, expr));
            }
        }
        let mut has_few_candidates = false;
        if engine.collects_prefixes
            && let Some(rest) = expr.without_short_prefixes()
        {
            has_few_candidates = finds_few(&rest, connection)?;
            if has_few_candidates {
                (certain, possible) = (FtsExpr::Nothing, rest.clone());
                expr = rest;
            }
        }
        let body_texts = planner.body_texts(query)?;
        let bounds = filter.map_or_else(TimeBounds::default, |filter| filter.time_bounds(true));
        let newest = bounds.newest.map(Timestamp::as_microsecond);
        let oldest = bounds.oldest.map(Timestamp::as_microsecond);
        Ok(Self {
            changed_since: changed_since.map(Timestamp::as_microsecond),
            // Otherwise the nearest emails are compared first in any case, and a prefix costs more
            // only in a negation.
            prefilter: expr
                .prefilter()
                .filter(|it| engine.collects_prefixes || matches!(it.expr, FtsExpr::Not(_)))
                .filter(|_| periods.is_empty()),
            periods,
            expr,
            certain,
            possible,
            has_few_candidates,
            body_texts,
            newest_key: newest.map_or(TOP, |micros| {
                SortKey::newest_at(micros.saturating_add(OUT_OF_ORDER_MICROS))
            }),
            oldest_key: oldest.map_or(BOTTOM, |micros| {
                SortKey::oldest_at(micros.saturating_sub(OUT_OF_ORDER_MICROS))
            }),
            times: codec::encode_time_range(oldest.unwrap_or(i64::MIN), newest.unwrap_or(i64::MAX)),
            has_times: query.has_time(),
            body_dependency,
            incomplete: find_incomplete(connection)?,
            only_missing_upstream: requires_missing_upstream(&query.filter),
        })
    }

    /// Returns what the index knows of the matches in each period, newest first;
    /// valid in the transaction of the plan. Emails out of order are left out.
    ///
    /// The index has no times, but within most periods it need not know them.
    pub(super) fn counted_periods(
        &self,
        query: &Query,
        connection: &Connection,
    ) -> Result<Vec<(Period, Translated)>> {
        let mut counted: Vec<(Period, Translated)> = Vec::new();
        let periods = if self.has_times && !self.has_few_candidates {
            Period::split(&query.filter)
        } else {
            Vec::new()
        };
        let mut planner = QueryPlanner::new(query, connection);
        for period in periods {
            let translated = planner.translate(&query.filter, Some(period))?;
            match counted.last_mut() {
                Some((newer, same))
                    if (&same.certain, &same.possible)
                        == (&translated.certain, &translated.possible) =>
                {
                    newer.oldest_key = period.oldest_key;
                }
                _ => counted.push((period, translated)),
            }
        }
        if counted.is_empty() {
            let translated = Translated {
                expr: self.expr.clone(),
                certain: self.certain.clone(),
                possible: self.possible.clone(),
            };
            counted.push((Period::ALL, translated));
        }
        Ok(counted)
    }
}

/// State that the translations of one query share.
pub(super) struct QueryPlanner<'a> {
    connection: &'a Connection,
    has_many_terms: bool,
    pub(super) known_starts: KnownStarts,
}

impl<'a> QueryPlanner<'a> {
    pub(super) fn new(query: &Query, connection: &'a Connection) -> Self {
        let mut terms = 0;
        query.filter.visit_terms(0, &mut |_, _| terms += 1);
        Self {
            connection,
            has_many_terms: terms > MANY_TERMS,
            known_starts: KnownStarts::new(),
        }
    }

    const fn translator(&self, period: Option<Period>) -> Translator<'a> {
        Translator {
            connection: self.connection,
            has_many_terms: self.has_many_terms,
            period,
        }
    }

    fn translate(&mut self, filter: &Node, period: Option<Period>) -> Result<Translated> {
        let translator = self.translator(period);
        let translated = translator.translate_node(filter, true, 0)?;
        let translated = translated.widen(fts_engine(self.connection).max_lookups);
        Ok(Translated {
            expr: self.expand(translated.expr)?,
            certain: self.expand(translated.certain)?,
            possible: self.expand(translated.possible)?,
        })
    }

    /// Returns [`Plan::body_texts`].
    fn body_texts(&mut self, query: &Query) -> Result<Option<Vec<BodyText>>> {
        let texts = body_texts(query).filter(|_| fts_engine(self.connection).is_ordered);
        let is_known = |text: &&SearchText| !self.has_many_terms || single_word(text).is_some();
        let Some(texts) = texts.filter(|texts| texts.iter().all(is_known)) else {
            return Ok(None);
        };
        let texts = texts.into_iter().map(|text| {
            let translated = self.translator(None).translate_body(text);
            Ok(BodyText {
                text: text.clone(),
                is_word: single_word(text).is_some(),
                possible: self.expand(translated.expr)?,
                certain: self.expand(translated.certain)?,
            })
        });
        texts.collect::<Result<_>>().map(Some)
    }

    fn expand(&mut self, expr: FtsExpr) -> Result<FtsExpr> {
        // Hundreds of starts would become thousands of tokens.
        if self.has_many_terms {
            Ok(expr)
        } else {
            expand_prefixes(expr, self.connection, &mut self.known_starts)
        }
    }
}

/// Returns the texts that a query searches in bodies;
/// `None` if they are too many, or if it depends on something else of a retrieved email.
fn body_texts(query: &Query) -> Option<Vec<&SearchText>> {
    let mut texts = Some(Vec::new());
    query.filter.visit_terms(0, &mut |term, _| {
        if let Term::Word(text) | Term::Text(Field::Body, text) = term {
            match &mut texts {
                Some(texts) if !text.normalized().contains(SEPARATOR) => texts.push(text),
                _ => texts = None,
            }
        } else if term.is_unknown_until_fetched() {
            texts = None;
        }
    });
    texts.filter(|texts| texts.len() <= MAX_TEXTS)
}

/// Returns the words of a query that depends on nothing else of bodies.
pub(super) fn single_words(query: &Query) -> Option<Vec<String>> {
    body_texts(query)?.into_iter().map(single_word).collect()
}

/// Finds the emails of which the index does not have all tokens.
fn find_incomplete(connection: &Connection) -> Result<Vec<SortKey>> {
    if fts_engine(connection).max_bytes == usize::MAX {
        return Ok(Vec::new());
    }
    let token = FtsExpr::Token(flag::INCOMPLETE.to_owned()).to_match_text(connection);
    let found: Vec<Option<SortKey>> = connection.values(INCOMPLETE, [token])?;
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
