//! Stage 1, the plan: from a query to an expression of the index that finds a superset of its matches.
//!
//! Each condition is translated for the emails that it matches, or below a negation for those that it
//! does not match. Where the index cannot tell, both are all emails, so a negation never excludes too much.

use jiff::Timestamp;

use super::fts_expr::{FtsExpr, Prefilter, is_costly_prefix};
use super::interned;
use super::periods::{OUT_OF_ORDER_MICROS, Period};
use super::text_expr::{
    MAX_SHARED_TRIGRAMS, body_expr, id_expr, id_prefix_expr, sample_evenly, trigram_expr,
};
use super::tokens::{
    self, MAX_MAILBOX_CHARS, MAX_WORD_CHARS, encode_token, flag, max_pair_chars, prefix,
    single_word,
};
use super::vocabulary::{KnownStarts, expand_prefixes, finds_few};
use crate::archive::SortKey;
use crate::archive::codec;
use crate::archive::listing::{BOTTOM, TOP};
use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::mail::Status;
use crate::query::normalize::split_words;
use crate::query::{EmailClass, EmailPart, Field, Node, Query, SearchText, Term, TimeBounds};

/// Shorter ends of local parts are searched for by trigrams: many addresses have them.
const MIN_LOCAL_PART: usize = 4;

/// Few domains have a person with a longer local part: the domain hardly narrows the result.
const RARE_LOCAL_PART: usize = 8;

/// Groups nested deeper are not given to the index.
const MAX_DEPTH: usize = 40;

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

/// Expressions for a part of a query.
///
/// The matches are among those of `expr`, and among those of `certain` and `possible` together. They
/// include all of `certain`.
#[derive(Clone)]
struct Translated {
    expr: FtsExpr,
    certain: FtsExpr,
    possible: FtsExpr,
}

impl Translated {
    /// Translates what the index knows exactly.
    fn exact(expr: FtsExpr) -> Self {
        Self {
            certain: expr.clone(),
            possible: FtsExpr::Nothing,
            expr,
        }
    }

    fn superset(expr: FtsExpr) -> Self {
        Self {
            certain: FtsExpr::Nothing,
            possible: expr.clone(),
            expr,
        }
    }

    fn new(expr: FtsExpr, is_exact: bool) -> Self {
        if is_exact {
            Self::exact(expr)
        } else {
            Self::superset(expr)
        }
    }

    fn or(members: impl IntoIterator<Item = Self>) -> Self {
        let members: Vec<Self> = members.into_iter().collect();
        let all = |part: fn(&Self) -> &FtsExpr| FtsExpr::or(members.iter().map(part).cloned());
        Self {
            expr: all(|member| &member.expr),
            certain: all(|member| &member.certain),
            possible: all(|member| &member.possible),
        }
    }

    fn and(members: impl IntoIterator<Item = Self>) -> Self {
        let members: Vec<Self> = members.into_iter().collect();
        let all = |part: fn(&Self) -> &FtsExpr| FtsExpr::and(members.iter().map(part).cloned());
        let inexact = |member: &&Self| member.possible != FtsExpr::Nothing;
        let possible = match members.iter().filter(inexact).count() {
            0 => FtsExpr::Nothing,
            // The others are certain.
            1 => all(|member| match member.possible {
                FtsExpr::Nothing => &member.certain,
                _ => &member.possible,
            }),
            _ => all(|member| &member.expr),
        };
        Self {
            expr: all(|member| &member.expr),
            certain: all(|member| &member.certain),
            possible,
        }
    }

    /// Returns the expressions for all other emails.
    fn negated(self) -> Self {
        let uncertain = self.certain.complement();
        Self {
            possible: FtsExpr::and([self.possible, uncertain.clone()]),
            expr: uncertain,
            certain: self.expr.complement(),
        }
    }

    /// Limits each expression to `max` look-ups.
    fn widen(self, max: usize) -> Self {
        let expr = self.expr.widen(max);
        if self.certain.count_lookups() > max {
            return Self::superset(expr);
        }
        Self {
            possible: self.possible.widen(max),
            certain: self.certain,
            expr,
        }
    }
}

#[derive(Clone, Copy)]
struct Translator<'a> {
    connection: &'a Connection,
    has_many_terms: bool,
    /// The only period of the emails that the expression is for.
    period: Option<Period>,
}

impl Translator<'_> {
    /// Translates `node`, or its negation if not `positive`.
    fn translate_node(&self, node: &Node, positive: bool, depth: usize) -> Result<Translated> {
        if depth > MAX_DEPTH {
            return Ok(Translated::superset(FtsExpr::All));
        }
        match node {
            Node::And(nodes) | Node::Or(nodes) => {
                let members: Vec<Translated> = nodes
                    .iter()
                    .map(|node| self.translate_node(node, positive, depth + 1))
                    .collect::<Result<_, _>>()?;
                Ok(if matches!(node, Node::And(_)) == positive {
                    Translated::and(members)
                } else {
                    Translated::or(members)
                })
            }
            Node::Not(inner) => self.translate_node(inner, !positive, depth + 1),
            Node::Term(term) => {
                let translated = self.translate_term(term)?;
                Ok(match (positive, term.is_unknown_until_fetched()) {
                    (true, _) => translated,
                    (false, false) => translated.negated(),
                    (false, true) => {
                        Translated::and([Translated::exact(known(term)), translated.negated()])
                    }
                })
            }
        }
    }

    fn translate_term(&self, term: &Term) -> Result<Translated> {
        use Translated as T;
        Ok(match term {
            Term::Word(text) => T::or([
                self.translate_address(Field::Any, text)?,
                trigrams(prefix::SUBJECT, text),
                self.translate_body(text),
                T::superset(id_expr(prefix::ID, text.normalized())),
                T::superset(id_expr(
                    prefix::MESSAGE_ID,
                    tokens::trim_angle_brackets(text.normalized()),
                )),
            ]),
            Term::Text(Field::Subject, text) => trigrams(prefix::SUBJECT, text),
            Term::Text(Field::Body, text) => self.translate_body(text),
            Term::Text(Field::Reason, text) => trigrams(prefix::REASON, text),
            Term::Text(Field::Id, text) => {
                T::superset(id_prefix_expr(prefix::ID, text.normalized()))
            }
            Term::Text(Field::MessageId, text) => T::superset(id_prefix_expr(
                prefix::MESSAGE_ID,
                tokens::trim_angle_brackets(text.normalized()),
            )),
            Term::Text(field, text) => self.translate_address(*field, text)?,
            Term::Recipient(text) => T::new(
                FtsExpr::Token(tokens::mailbox_token(text.normalized())),
                text.normalized().chars().count() < MAX_MAILBOX_CHARS,
            ),
            Term::Domain(text) => T::exact(FtsExpr::Token(encode_token(
                prefix::DOMAIN,
                text.normalized().chars(),
            ))),
            Term::Status(statuses) => T::exact(status_expr(statuses)),
            Term::Is(EmailClass::Trouble) => {
                let problems = Status::KNOWN.into_iter().filter(Status::is_problem);
                T::superset(status_expr(&problems.collect::<Vec<_>>()))
            }
            Term::Is(EmailClass::Scheduled) => T::superset(status_expr(&[Status::Scheduled])),
            Term::Has(EmailPart::Body) => T::exact(FtsExpr::or([
                flag_expr(EmailPart::Text),
                flag_expr(EmailPart::Html),
            ])),
            Term::Has(part) => T::exact(flag_expr(*part)),
            Term::Tag { name, value } => {
                let name = name.normalized();
                T::exact(FtsExpr::Token(match value {
                    None => tokens::tag_name_token(name),
                    Some(value) => tokens::tag_value_token(name, value.normalized()),
                }))
            }
            Term::After(_) | Term::Before(_) | Term::On(_) => {
                match self.period.and_then(|period| period.meets(term)) {
                    Some(true) => T::exact(FtsExpr::All),
                    Some(false) => T::exact(FtsExpr::Nothing),
                    None => T::superset(FtsExpr::All),
                }
            }
            // No token changes when mail leaves the service; an index of the table knows those rows.
            Term::Is(EmailClass::Gone) | Term::SeenChange(_) => T::superset(FtsExpr::All),
        })
    }

    /// Searches words of a body.
    ///
    /// The index knows exactly a single word, and two beside each other unless a long word or a number is cut. Of others, it
    /// knows that each two are beside each other, and some that have no space between them.
    fn translate_body(&self, text: &SearchText) -> Translated {
        let normalized = text.normalized();
        if single_word(text).is_some() {
            return Translated::exact(body_expr(text));
        }
        let mut expr = body_expr(text);
        // Hundreds of addresses end in the same word, which may be in every body.
        let is_widened = self.has_many_terms && expr.has_prefix(&is_costly_prefix);
        if is_widened {
            expr = expr.without_costly_prefixes();
        }
        let words: Vec<&str> = split_words(normalized).collect();
        if let [word, next] = *words
            && !is_widened
            && (tokens::unspaced_char(word).is_some()
                || word.chars().count() < max_pair_chars(word))
            && next.chars().count() <= max_pair_chars(next)
        {
            return Translated::exact(expr);
        }
        let is_known =
            tokens::is_compound(normalized) && normalized.chars().count() <= MAX_WORD_CHARS;
        Translated {
            certain: if is_known {
                FtsExpr::Prefix(tokens::compound_token(normalized))
            } else {
                FtsExpr::Nothing
            },
            ..Translated::superset(expr)
        }
    }

    /// Searches the addresses in a field.
    fn translate_address(&self, field: Field, text: &SearchText) -> Result<Translated> {
        let sender = trigrams(prefix::SENDER, text);
        Ok(match field {
            Field::From => self.with_interned(interned::FROM, text, sender)?,
            Field::ReplyTo => Translated::superset(
                self.with_interned(interned::REPLY_TO, text, self.translate_recipient(text))?
                    .expr,
            ),
            Field::Any => self.with_interned(
                interned::REPLY_TO,
                text,
                self.with_interned(
                    interned::FROM,
                    text,
                    Translated::or([self.translate_recipient(text), sender]),
                )?,
            )?,
            _ => Translated::superset(self.translate_recipient(text).expr),
        })
    }

    /// Searches the addresses that are indexed as recipients.
    ///
    /// The end of a local part is one look-up where trigrams are many, but the index collects all its
    /// matches before it returns the first.
    fn translate_recipient(&self, text: &SearchText) -> Translated {
        let by_trigrams = trigrams(prefix::RECIPIENT, text);
        let normalized = text.normalized();
        let Some((before, domain)) = normalized.split_once('@') else {
            return by_trigrams;
        };
        let Some(local) = tokens::local_part_before(before)
            .filter(|local| local.chars().count() >= MIN_LOCAL_PART)
        else {
            return by_trigrams;
        };
        let expr = if self.has_many_terms {
            let local_part = FtsExpr::Prefix(tokens::local_part_token(local, ""));
            if local.chars().count() >= RARE_LOCAL_PART {
                local_part
            } else {
                let domain: Vec<char> = normalized[before.len()..].chars().collect();
                let domain = domain
                    .windows(3)
                    .map(|trigram| encode_token(prefix::RECIPIENT, trigram.iter().copied()));
                let domain = sample_evenly(domain.collect(), MAX_SHARED_TRIGRAMS);
                FtsExpr::and([local_part].into_iter().chain(domain))
            }
        } else {
            by_trigrams.expr
        };
        // Any address that starts so, with or without a name, has the text in it.
        let is_start = local == before
            && !domain.contains(['@', ' ', '>'])
            && normalized.chars().count() < MAX_MAILBOX_CHARS;
        Translated {
            certain: if is_start {
                FtsExpr::Prefix(tokens::local_part_token(local, &format!("@{domain}")))
            } else {
                FtsExpr::Nothing
            },
            ..Translated::superset(expr)
        }
    }

    /// Adds the interned addresses with this text to the expressions for all others.
    fn with_interned(
        &self,
        kind: &str,
        text: &SearchText,
        others: Translated,
    ) -> Result<Translated> {
        let Some(ids) = interned::ids_containing(self.connection, kind, text)? else {
            return Ok(Translated::superset(FtsExpr::All));
        };
        let ids = ids
            .into_iter()
            .map(|id| Translated::exact(FtsExpr::Token(tokens::interned_token(id))));
        Ok(Translated::or([others].into_iter().chain(ids)))
    }
}

/// Finds the emails for which a term on retrieved parts is known.
fn known(term: &Term) -> FtsExpr {
    let fetched = FtsExpr::Token(flag::FETCHED.to_owned());
    match term {
        // The list may have it.
        Term::Text(Field::Reason, _) | Term::Has(EmailPart::Reason) => {
            FtsExpr::or([fetched, flag_expr(EmailPart::Reason)])
        }
        _ => fetched,
    }
}

fn flag_expr(part: EmailPart) -> FtsExpr {
    FtsExpr::Token(tokens::flag_token(part.as_str()))
}

fn status_expr(statuses: &[Status]) -> FtsExpr {
    let tokens = statuses.iter().map(tokens::status_token);
    FtsExpr::or(tokens.map(FtsExpr::Token))
}

/// Searches a part of a text. All trigrams are indexed, so the index knows up to three characters exactly.
fn trigrams(prefix: char, text: &SearchText) -> Translated {
    let normalized = text.normalized();
    // ASCII punctuation is indexed as private characters, which a text may have, too.
    let is_exact = normalized.chars().count() <= 3 && normalized.chars().all(char::is_alphanumeric);
    Translated::new(trigram_expr(prefix, text), is_exact)
}
