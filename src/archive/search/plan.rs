//! Stage 1, the plan: from a query to an expression of the index that finds a superset of its matches.
//!
//! Each condition is translated for the emails that it matches, or below a negation for those that it
//! does not match. Where the index cannot tell, both are all emails, so a negation never excludes too much.

use jiff::Timestamp;
use rusqlite::Connection;

use super::fts_expr::{FtsExpr, Prefilter};
use super::interned;
use super::tokens::{self, ID_CHARS, MAX_WORD_CHARS, encode_token, flag, prefix};
use crate::archive::SortKey;
use crate::archive::codec;
use crate::archive::listing::{BOTTOM, TOP};
use crate::error::Error;
use crate::mail::Status;
use crate::query::normalize::split_words;
use crate::query::{EmailClass, EmailPart, Field, Node, Query, SearchText, Term, TimeBounds};

/// Trigrams of one text that are searched for; more hardly narrow the result.
const MAX_TRIGRAMS: usize = 16;

/// The same for the domain of an address, which many emails share.
const MAX_SHARED_TRIGRAMS: usize = 3;

/// Groups nested deeper and larger expressions are not given to the index.
const MAX_DEPTH: usize = 40;
const MAX_EXPR_SIZE: usize = 400;

/// Microseconds from its time from which on an email is out of order.
pub(super) const OUT_OF_ORDER_MICROS: i64 = 86_400_000_000;

/// How to answer a query.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) expr: FtsExpr,
    /// The keys between which all matches are, except those out of order; inclusive.
    pub(super) newest_key: SortKey,
    pub(super) oldest_key: SortKey,
    /// The times between which all matches were created, as they are stored; inclusive.
    pub(super) times: (i64, i64),
    /// Emails whose status was seen to change since then, as it is stored, are candidates in any case.
    pub(super) changed_since: Option<i64>,
    /// Whether every candidate matches.
    pub(super) is_exact: bool,
    pub(super) prefilter: Option<Prefilter>,
    pub(super) body_dependency: BodyDependency,
    /// Whether the service no longer lists any of the matches.
    pub(super) only_missing_upstream: bool,
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
    pub(super) fn from_query(query: &Query, connection: &Connection) -> Result<Self, Error> {
        let translator = Translator { connection };
        let (filter, changed_since) = query.split_seen_changes();
        let mut translated = match &filter {
            Some(filter) => translator.translate_node(filter, true, 0)?,
            None => Translated::superset(FtsExpr::Nothing),
        };
        if translated.expr.count_nodes() > MAX_EXPR_SIZE {
            translated = Translated::superset(FtsExpr::All);
        }
        let Translated { expr, is_exact } = translated;
        let bounds = filter.map_or_else(TimeBounds::default, |filter| filter.time_bounds());
        let newest = bounds.newest.map(Timestamp::as_microsecond);
        let oldest = bounds.oldest.map(Timestamp::as_microsecond);
        let mut body_dependency = BodyDependency::Never;
        query.filter.visit_terms(0, &mut |term, negations| {
            body_dependency = body_dependency.max(BodyDependency::of_term(term, negations));
        });
        Ok(Self {
            is_exact: is_exact && expr.is_selective() && changed_since.is_none(),
            changed_since: changed_since.map(Timestamp::as_microsecond),
            prefilter: expr.prefilter(),
            expr,
            newest_key: newest.map_or(TOP, |micros| {
                SortKey::newest_at(micros.saturating_add(OUT_OF_ORDER_MICROS))
            }),
            oldest_key: oldest.map_or(BOTTOM, |micros| {
                SortKey::oldest_at(micros.saturating_sub(OUT_OF_ORDER_MICROS))
            }),
            times: codec::encode_time_range(oldest.unwrap_or(i64::MIN), newest.unwrap_or(i64::MAX)),
            body_dependency,
            only_missing_upstream: requires_missing_upstream(&query.filter),
        })
    }
}

fn requires_missing_upstream(node: &Node) -> bool {
    match node {
        Node::And(nodes) => nodes.iter().any(requires_missing_upstream),
        Node::Term(term) => *term == Term::Is(EmailClass::Gone),
        Node::Or(_) | Node::Not(_) => false,
    }
}

/// An expression for a part of a query.
struct Translated {
    expr: FtsExpr,
    /// Whether the expression finds the matches only, and not a superset.
    is_exact: bool,
}

impl Translated {
    const fn exact(expr: FtsExpr) -> Self {
        Self {
            expr,
            is_exact: true,
        }
    }

    const fn superset(expr: FtsExpr) -> Self {
        Self {
            expr,
            is_exact: false,
        }
    }
}

struct Translator<'a> {
    connection: &'a Connection,
}

impl Translator<'_> {
    /// Translates `node`, or its negation if not `positive`.
    fn translate_node(
        &self,
        node: &Node,
        positive: bool,
        depth: usize,
    ) -> Result<Translated, Error> {
        if depth > MAX_DEPTH {
            return Ok(Translated::superset(FtsExpr::All));
        }
        match node {
            Node::And(nodes) | Node::Or(nodes) => {
                let members: Vec<Translated> = nodes
                    .iter()
                    .map(|node| self.translate_node(node, positive, depth + 1))
                    .collect::<Result<_, _>>()?;
                let is_exact = members.iter().all(|member| member.is_exact);
                let exprs = members.into_iter().map(|member| member.expr);
                let expr = if matches!(node, Node::And(_)) == positive {
                    FtsExpr::and(exprs)
                } else {
                    FtsExpr::or(exprs)
                };
                Ok(Translated { expr, is_exact })
            }
            Node::Not(inner) => self.translate_node(inner, !positive, depth + 1),
            Node::Term(term) => self.translate_term(term, positive),
        }
    }

    fn translate_term(&self, term: &Term, positive: bool) -> Result<Translated, Error> {
        // What the index knows exactly, what it knows so once the body was fetched, and a superset.
        let exact =
            |expr: FtsExpr| Translated::exact(if positive { expr } else { expr.complement() });
        let exact_if_fetched = |expr: FtsExpr| {
            Translated::exact(if positive {
                expr
            } else {
                FtsExpr::and([fetched(), expr.complement()])
            })
        };
        let superset =
            |expr: FtsExpr| Translated::superset(if positive { expr } else { FtsExpr::All });
        Ok(match term {
            Term::Text(Field::Body, _) if !positive => Translated::superset(fetched()),
            // Skips the look-up of addresses.
            Term::Word(_) | Term::Text(..) if !positive => Translated::superset(FtsExpr::All),
            Term::Word(text) => Translated::superset(FtsExpr::or([
                self.address_expr(Field::Any, text)?,
                trigram_expr(prefix::SUBJECT, text),
                body_expr(text),
                id_expr(prefix::ID, text.normalized()),
                id_expr(
                    prefix::MESSAGE_ID,
                    tokens::trim_angle_brackets(text.normalized()),
                ),
            ])),
            // All trigrams are indexed, so a text of three characters is its trigram.
            Term::Text(Field::Subject, text) => Translated {
                expr: trigram_expr(prefix::SUBJECT, text),
                is_exact: text.normalized().chars().count() == 3,
            },
            Term::Text(Field::Body, text) => Translated::superset(body_expr(text)),
            Term::Text(Field::Id, text) => {
                Translated::superset(id_prefix_expr(prefix::ID, text.normalized()))
            }
            Term::Text(Field::MessageId, text) => Translated::superset(id_prefix_expr(
                prefix::MESSAGE_ID,
                tokens::trim_angle_brackets(text.normalized()),
            )),
            Term::Text(field, text) => Translated::superset(self.address_expr(*field, text)?),
            Term::Recipient(text) => superset(trigram_expr(prefix::RECIPIENT, text)),
            Term::Domain(text) => exact(FtsExpr::Token(encode_token(
                prefix::DOMAIN,
                text.normalized().chars(),
            ))),
            Term::Status(statuses) => exact(status_expr(statuses)),
            Term::Is(EmailClass::Trouble) => {
                let problems = Status::KNOWN.into_iter().filter(Status::is_problem);
                superset(status_expr(&problems.collect::<Vec<_>>()))
            }
            Term::Is(EmailClass::Scheduled) => superset(status_expr(&[Status::Scheduled])),
            // No token changes when mail leaves the service; an index of the table knows those rows.
            Term::Is(EmailClass::Gone) => Translated::superset(FtsExpr::All),
            Term::Has(EmailPart::Body) => exact_if_fetched(FtsExpr::or([
                flag_expr(EmailPart::Text),
                flag_expr(EmailPart::Html),
            ])),
            Term::Has(part @ (EmailPart::Text | EmailPart::Html | EmailPart::Tag)) => {
                exact_if_fetched(flag_expr(*part))
            }
            Term::Has(part @ (EmailPart::Cc | EmailPart::Bcc | EmailPart::ReplyTo)) => {
                exact(flag_expr(*part))
            }
            Term::Tag { name, value } => {
                let name = name.normalized();
                exact_if_fetched(FtsExpr::Token(match value {
                    None => tokens::tag_name_token(name),
                    Some(value) => tokens::tag_value_token(name, value.normalized()),
                }))
            }
            Term::After(_) | Term::Before(_) | Term::On(_) | Term::SeenChange(_) => {
                Translated::superset(FtsExpr::All)
            }
        })
    }

    /// Searches the addresses in a field.
    fn address_expr(&self, field: Field, text: &SearchText) -> Result<FtsExpr, Error> {
        Ok(match field {
            Field::From => self.shared_address_expr(interned::FROM, prefix::SENDER, text)?,
            Field::ReplyTo => {
                self.shared_address_expr(interned::REPLY_TO, prefix::RECIPIENT, text)?
            }
            Field::Any => FtsExpr::or([
                trigram_expr(prefix::RECIPIENT, text),
                self.address_expr(Field::From, text)?,
                self.address_expr(Field::ReplyTo, text)?,
            ]),
            _ => trigram_expr(prefix::RECIPIENT, text),
        })
    }

    /// Searches interned addresses by id, and the others by trigrams.
    fn shared_address_expr(
        &self,
        kind: &str,
        prefix: char,
        text: &SearchText,
    ) -> Result<FtsExpr, Error> {
        let Some(ids) = interned::ids_containing(self.connection, kind, text)? else {
            return Ok(FtsExpr::All);
        };
        let ids = ids
            .into_iter()
            .map(|id| FtsExpr::Token(tokens::interned_token(id)));
        Ok(FtsExpr::or(ids.chain([trigram_expr(prefix, text)])))
    }
}

fn fetched() -> FtsExpr {
    FtsExpr::Token(flag::FETCHED.to_owned())
}

fn flag_expr(part: EmailPart) -> FtsExpr {
    FtsExpr::Token(tokens::flag_token(part.as_str()))
}

fn status_expr(statuses: &[Status]) -> FtsExpr {
    let tokens = statuses.iter().map(tokens::status_token);
    FtsExpr::or(tokens.map(FtsExpr::Token))
}

fn trigram_expr(prefix: char, text: &SearchText) -> FtsExpr {
    let chars: Vec<char> = text.normalized().chars().collect();
    let token = |chars: &[char]| encode_token(prefix, chars.iter().copied());
    match chars.as_slice() {
        [one, other] if !one.is_ascii() && !other.is_ascii() => FtsExpr::Token(token(&chars)),
        [_] | [_, _] => FtsExpr::Prefix(token(&chars)),
        _ => {
            // Digits are more selective than letters, and a search takes as long as its most common
            // trigram.
            let digits: Vec<String> = chars
                .windows(3)
                .filter(|trigram| trigram.iter().all(char::is_ascii_digit))
                .map(token)
                .collect();
            if digits.len() > 1 {
                return FtsExpr::and(sample_evenly(digits, MAX_TRIGRAMS));
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
fn sample_evenly(mut tokens: Vec<String>, most: usize) -> impl Iterator<Item = FtsExpr> {
    tokens.sort_unstable();
    tokens.dedup();
    let step = tokens.len().div_ceil(most).max(1);
    tokens.into_iter().step_by(step).map(FtsExpr::Token)
}

/// Searches words of a body: all of them, the last one by its start.
fn body_expr(text: &SearchText) -> FtsExpr {
    let words: Vec<&str> = split_words(text.normalized()).collect();
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
    let whole = whole.iter().map(|word| FtsExpr::Token(token(word)));
    let last = match last.chars().count() {
        _ if tokens::unspaced_char(last).is_some() => FtsExpr::Token(token(last)),
        1 => FtsExpr::Prefix(token(last)),
        2 | 3 => FtsExpr::Token(encode_token(prefix::WORD_PREFIX, last.chars())),
        length if length < MAX_WORD_CHARS => FtsExpr::Prefix(token(last)),
        _ => FtsExpr::Token(token(last)),
    };
    FtsExpr::and(unspaced_pairs.chain(whole.take(MAX_TRIGRAMS)).chain([last]))
}

fn id_expr(prefix: char, id: &str) -> FtsExpr {
    FtsExpr::Token(encode_token(prefix, id.chars().take(ID_CHARS)))
}

fn id_prefix_expr(prefix: char, start: &str) -> FtsExpr {
    match start.chars().count() {
        0 => FtsExpr::All,
        length if length < ID_CHARS => FtsExpr::Prefix(encode_token(prefix, start.chars())),
        _ => id_expr(prefix, start),
    }
}
