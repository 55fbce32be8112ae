//! From a query to what the index is asked: a superset of what matches, as narrow as it can tell.
//!
//! Each condition is asked twice, once for where it may hold and once for where it may not, so that
//! a negation never takes away too much: where the index cannot tell, both answers are everything.

use jiff::Timestamp;
use rusqlite::Connection;

use super::tokens::{self, ID_CHARS, MAX_WORD_CHARS, flag, kind};
use super::{cheap, interned};
use crate::archive::window::{BOTTOM, TOP};
use crate::archive::{SortKey, time_codec};
use crate::error::Error;
use crate::mail::Status;
use crate::query::normalize::split_words;
use crate::query::{EmailClass, EmailPart, Field, Node, Query, SearchText, Term};

/// Grams of one needle that are asked for; more hardly narrow it further.
const MAX_TRIGRAMS: usize = 16;

/// The same of the part of an address that many share.
const MAX_SHARED_TRIGRAMS: usize = 3;

/// Deeper groups and longer questions are not asked of the index.
const MAX_DEPTH: usize = 40;
const MAX_EXPR_SIZE: usize = 400;

/// How far (in microseconds) an email may stand from its time before it is listed as displaced.
pub(super) const OUT_OF_ORDER_MICROS: i64 = 86_400_000_000;

/// What the index is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FtsExpr {
    All,
    Nothing,
    Token(String),
    /// Every token that begins so. Such a question gathers all its answers before it gives the first,
    /// so it is costly where the beginning is short.
    Prefix(String),
    And(Vec<FtsExpr>),
    Or(Vec<FtsExpr>),
    Not(Box<FtsExpr>),
}

/// How a query is answered.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) expr: FtsExpr,
    /// The places between which all matches stand, but for displaced ones; inclusive.
    pub(super) newest_key: SortKey,
    pub(super) oldest_key: SortKey,
    /// The times between which all matches were created, as they are stored; inclusive.
    pub(super) times: (i64, i64),
    /// Whether the index answers the question as the query means it, so that nobody has to look again.
    pub(super) is_exact: bool,
    /// What is asked before that, if the index is slow where there are many answers; and how many emails
    /// are looked at for it.
    pub(super) prefilter: Option<(FtsExpr, usize)>,
    /// What of the bodies and tags the query looks at.
    pub(super) body_dependency: BodyDependency,
    /// Whether all matches are mail that the service no longer lists.
    pub(super) only_missing_upstream: bool,
}

/// What of the bodies and tags a query looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BodyDependency {
    /// Nothing.
    Never,
    /// What stays unknown without them, so that a verdict is final.
    IfUnknown,
    /// A word, which they may hold: a match is final, a miss is not.
    UnlessMatched,
    /// A word that they must not hold.
    Always,
}

impl Plan {
    pub(super) fn from_query(query: &Query, connection: &Connection) -> Result<Self, Error> {
        let asker = Translator { connection };
        let mut ask = asker.translate_node(&query.filter, true, 0)?;
        if ask.count_nodes() > MAX_EXPR_SIZE {
            ask = FtsExpr::All;
        }
        let bounds = query.time_bounds();
        let newest = bounds.newest.map(Timestamp::as_microsecond);
        let oldest = bounds.oldest.map(Timestamp::as_microsecond);
        let exact = ask.is_selective() && is_exact_in_index(&query.filter, true, 0);
        Ok(Self {
            is_exact: exact,
            prefilter: cheap::choose_prefilter(&ask),
            expr: ask,
            newest_key: newest.map_or(TOP, |micros| {
                SortKey::newest_at(micros.saturating_add(OUT_OF_ORDER_MICROS))
            }),
            oldest_key: oldest.map_or(BOTTOM, |micros| {
                SortKey::oldest_at(micros.saturating_sub(OUT_OF_ORDER_MICROS))
            }),
            times: time_codec::encode_range(oldest.unwrap_or(i64::MIN), newest.unwrap_or(i64::MAX)),
            body_dependency: body_dependency(&query.filter, true),
            only_missing_upstream: requires_missing_upstream(&query.filter),
        })
    }
}

impl FtsExpr {
    pub(super) fn and(asks: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = asks.into_iter().filter(|ask| *ask != Self::All).collect();
        if members.contains(&Self::Nothing) {
            return Self::Nothing;
        }
        match members.len() {
            0 => Self::All,
            1 => members.remove(0),
            _ => Self::And(members),
        }
    }

    pub(super) fn or(asks: impl IntoIterator<Item = Self>) -> Self {
        let mut members = Vec::new();
        for ask in asks {
            match ask {
                Self::Nothing => {}
                Self::Or(inner) => members.extend(inner),
                other if members.contains(&other) => {}
                other => members.push(other),
            }
        }
        if members.contains(&Self::All) {
            return Self::All;
        }
        match members.len() {
            0 => Self::Nothing,
            1 => members.remove(0),
            _ => Self::Or(members),
        }
    }

    /// What is surely not `self`, which the index knows exactly.
    fn complement(self) -> Self {
        match self {
            Self::All => Self::Nothing,
            Self::Nothing => Self::All,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Whether it is a question at all.
    fn is_selective(&self) -> bool {
        !matches!(self, Self::All | Self::Nothing)
    }

    fn count_nodes(&self) -> usize {
        match self {
            Self::All | Self::Nothing | Self::Token(_) | Self::Prefix(_) => 1,
            Self::And(members) | Self::Or(members) => members.iter().map(Self::count_nodes).sum(),
            Self::Not(inner) => inner.count_nodes() + 1,
        }
    }

    /// In the words of the index, for what is neither all nor nothing.
    pub(super) fn to_match_text(&self) -> String {
        let joined = |members: &[Self], with: &str| {
            format!(
                "({})",
                members
                    .iter()
                    .map(Self::to_match_text)
                    .collect::<Vec<_>>()
                    .join(with)
            )
        };
        match self {
            Self::All | Self::Nothing => Self::Token(flag::ANY.to_owned()).to_match_text(),
            Self::Token(token) => format!("\"{token}\""),
            Self::Prefix(start) => format!("\"{start}\"*"),
            Self::Or(members) => joined(members, " OR "),
            Self::And(members) => {
                let without = members.iter().filter_map(|ask| {
                    if let Self::Not(inner) = ask {
                        Some(&**inner)
                    } else {
                        None
                    }
                });
                let mut without: Vec<Self> = without.cloned().collect();
                let mut with: Vec<Self> = members
                    .iter()
                    .filter(|ask| !matches!(ask, Self::Not(_)))
                    .cloned()
                    .collect();
                if with.is_empty() {
                    with.push(Self::All);
                }
                let with = if with.len() == 1 {
                    with.remove(0).to_match_text()
                } else {
                    joined(&with, " AND ")
                };
                match without.len() {
                    0 => with,
                    1 => format!("({with} NOT {})", without.remove(0).to_match_text()),
                    _ => format!("({with} NOT {})", joined(&without, " OR ")),
                }
            }
            Self::Not(inner) => format!(
                "({} NOT {})",
                Self::All.to_match_text(),
                inner.to_match_text()
            ),
        }
    }
}

/// Whether the index knows exactly where `node` comes out as `wanted`.
fn is_exact_in_index(node: &Node, wanted: bool, deep: usize) -> bool {
    let all = |nodes: &[Node]| {
        nodes
            .iter()
            .all(|node| is_exact_in_index(node, wanted, deep + 1))
    };
    match node {
        _ if deep > MAX_DEPTH => false,
        Node::And(nodes) | Node::Or(nodes) => all(nodes),
        Node::Not(inner) => is_exact_in_index(inner, !wanted, deep + 1),
        Node::Term(Term::Domain(_) | Term::Status(_) | Term::Has(_) | Term::Tag { .. }) => true,
        // All grams of three characters are there, so a needle of that length is its gram.
        Node::Term(Term::Text(Field::Subject, needle)) => {
            wanted && needle.normalized().chars().count() == 3
        }
        Node::Term(
            Term::Word(_)
            | Term::Recipient(_)
            | Term::Text(..)
            | Term::Is(_)
            | Term::After(_)
            | Term::Before(_)
            | Term::On(_)
            | Term::SeenChange(_),
        ) => false,
    }
}

struct Translator<'a> {
    connection: &'a Connection,
}

impl Translator<'_> {
    /// Where `node` may come out as `wanted`.
    fn translate_node(&self, node: &Node, wanted: bool, deep: usize) -> Result<FtsExpr, Error> {
        if deep > MAX_DEPTH {
            return Ok(FtsExpr::All);
        }
        let members = |nodes: &[Node]| {
            nodes
                .iter()
                .map(|node| self.translate_node(node, wanted, deep + 1))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match (node, wanted) {
            (Node::And(nodes), true) | (Node::Or(nodes), false) => FtsExpr::and(members(nodes)?),
            (Node::Or(nodes), true) | (Node::And(nodes), false) => FtsExpr::or(members(nodes)?),
            (Node::Not(inner), _) => self.translate_node(inner, !wanted, deep + 1)?,
            (Node::Term(term), _) => self.translate_term(term, wanted)?,
        })
    }

    fn translate_term(&self, term: &Term, wanted: bool) -> Result<FtsExpr, Error> {
        let fetched = || FtsExpr::Token(flag::FETCHED.to_owned());
        // What the index knows exactly, what it knows so if it was fetched, and what only in part.
        let exactly = |ask: FtsExpr| if wanted { ask } else { ask.complement() };
        let if_fetched = |ask: FtsExpr| {
            if wanted {
                ask
            } else {
                FtsExpr::and([fetched(), ask.complement()])
            }
        };
        let roughly = |ask: FtsExpr| if wanted { ask } else { FtsExpr::All };
        Ok(match term {
            Term::Word(_) | Term::Text(..) if !wanted => {
                if matches!(term, Term::Text(Field::Body, _)) {
                    fetched()
                } else {
                    FtsExpr::All
                }
            }
            Term::Word(needle) => FtsExpr::or([
                trigram_expr(kind::RECIPIENT, needle),
                self.match_shared_address(interned::FROM, needle)?,
                self.match_shared_address(interned::REPLY_TO, needle)?,
                trigram_expr(kind::SUBJECT, needle),
                body_expr(needle),
                id_expr(kind::ID, needle.normalized()),
                id_expr(
                    kind::MESSAGE_ID,
                    tokens::trim_angle_brackets(needle.normalized()),
                ),
            ]),
            Term::Text(Field::To | Field::Cc | Field::Bcc, needle) => {
                trigram_expr(kind::RECIPIENT, needle)
            }
            Term::Text(Field::From, needle) => self.match_shared_address(interned::FROM, needle)?,
            Term::Text(Field::ReplyTo, needle) => {
                self.match_shared_address(interned::REPLY_TO, needle)?
            }
            Term::Text(Field::Any, needle) => FtsExpr::or([
                trigram_expr(kind::RECIPIENT, needle),
                self.match_shared_address(interned::FROM, needle)?,
                self.match_shared_address(interned::REPLY_TO, needle)?,
            ]),
            Term::Text(Field::Subject, needle) => trigram_expr(kind::SUBJECT, needle),
            Term::Text(Field::Body, needle) => body_expr(needle),
            Term::Text(Field::Id, needle) => id_prefix_expr(kind::ID, needle.normalized()),
            Term::Text(Field::MessageId, needle) => id_prefix_expr(
                kind::MESSAGE_ID,
                tokens::trim_angle_brackets(needle.normalized()),
            ),
            Term::Recipient(needle) => roughly(trigram_expr(kind::RECIPIENT, needle)),
            Term::Domain(needle) => exactly(FtsExpr::Token(tokens::encode_token(
                kind::DOMAIN,
                needle.normalized().chars(),
            ))),
            Term::Status(statuses) => exactly(status_expr(statuses)),
            Term::Is(EmailClass::Trouble) => {
                let trouble: Vec<Status> = Status::KNOWN
                    .into_iter()
                    .filter(Status::is_problem)
                    .collect();
                roughly(status_expr(&trouble))
            }
            Term::Is(EmailClass::Scheduled) => roughly(status_expr(&[Status::Scheduled])),
            // That mail leaves the service changes no token; a table index knows those that did.
            Term::Is(EmailClass::Gone) => FtsExpr::All,
            Term::Has(EmailPart::Body) => if_fetched(FtsExpr::or([
                flag_expr(EmailPart::Text),
                flag_expr(EmailPart::Html),
            ])),
            Term::Has(part @ (EmailPart::Text | EmailPart::Html | EmailPart::Tag)) => {
                if_fetched(flag_expr(*part))
            }
            Term::Has(part @ (EmailPart::Cc | EmailPart::Bcc | EmailPart::ReplyTo)) => {
                exactly(flag_expr(*part))
            }
            Term::Tag { name, value: None } => {
                if_fetched(FtsExpr::Token(tokens::tag_name_token(name.normalized())))
            }
            Term::Tag {
                name,
                value: Some(value),
            } => if_fetched(FtsExpr::Token(tokens::tag_value_token(
                name.normalized(),
                value.normalized(),
            ))),
            Term::After(_) | Term::Before(_) | Term::On(_) => FtsExpr::All,
            Term::SeenChange(_) => roughly(FtsExpr::Token(flag::CHANGED.to_owned())),
        })
    }

    /// A sender or an address for answers: by its label, or by grams if it has none.
    fn match_shared_address(&self, field: &str, needle: &SearchText) -> Result<FtsExpr, Error> {
        let Some(labels) = interned::ids_containing(self.connection, field, needle)? else {
            return Ok(FtsExpr::All);
        };
        let labels = labels
            .into_iter()
            .map(|nth| FtsExpr::Token(format!("{}{nth}", kind::LABEL)));
        let kind = if field == interned::FROM {
            kind::SENDER
        } else {
            kind::RECIPIENT
        };
        Ok(FtsExpr::or(labels.chain([trigram_expr(kind, needle)])))
    }
}

fn flag_expr(part: EmailPart) -> FtsExpr {
    FtsExpr::Token(tokens::flag_token(part.as_str()))
}

fn status_expr(statuses: &[Status]) -> FtsExpr {
    FtsExpr::or(
        statuses
            .iter()
            .map(|status| FtsExpr::Token(tokens::status_token(status))),
    )
}

fn trigram_expr(kind: char, needle: &SearchText) -> FtsExpr {
    let chars: Vec<char> = needle.normalized().chars().collect();
    let gram = |chars: &[char]| tokens::encode_token(kind, chars.iter().copied());
    match chars.as_slice() {
        [one, other] if !one.is_ascii() && !other.is_ascii() => FtsExpr::Token(gram(&chars)),
        [_] | [_, _] => FtsExpr::Prefix(gram(&chars)),
        _ => {
            // Digits tell emails apart better than letters do, and a question takes as long as its most
            // common gram is.
            let digits = || {
                chars
                    .windows(3)
                    .filter(|gram| gram.iter().all(char::is_ascii_digit))
            };
            if digits().count() > 1 {
                return FtsExpr::and(sample_evenly(digits().map(gram).collect(), MAX_TRIGRAMS));
            }
            // Thousands of addresses share what stands behind the sign.
            let sign = chars
                .iter()
                .position(|c| *c == '@')
                .filter(|sign| *sign > 2);
            let (own, shared) =
                sign.map_or((&*chars, &[][..]), |sign| (&chars[..=sign], &chars[sign..]));
            let grams =
                |chars: &[char], most| sample_evenly(chars.windows(3).map(gram).collect(), most);
            FtsExpr::and(grams(own, MAX_TRIGRAMS).chain(grams(shared, MAX_SHARED_TRIGRAMS)))
        }
    }
}

/// So many of the grams, from all over the needle.
fn sample_evenly(mut grams: Vec<String>, most: usize) -> impl Iterator<Item = FtsExpr> {
    grams.sort_unstable();
    grams.dedup();
    let step = grams.len().div_ceil(most).max(1);
    grams.into_iter().step_by(step).map(FtsExpr::Token)
}

/// Words of a body: all of them, the last one as a beginning.
fn body_expr(needle: &SearchText) -> FtsExpr {
    let words: Vec<&str> = split_words(needle.normalized()).collect();
    let cut = |word: &str| tokens::encode_token(kind::WORD, word.chars().take(MAX_WORD_CHARS));
    let Some((last, whole)) = words.split_last() else {
        return FtsExpr::Nothing;
    };
    let pairs = words.windows(2).filter_map(|pair| {
        Some([
            tokens::unspaced_char(pair[0])?,
            tokens::unspaced_char(pair[1])?,
        ])
    });
    let pairs =
        pairs.map(|pair| FtsExpr::Token(tokens::encode_token(kind::WORD, pair.into_iter())));
    let whole = whole.iter().map(|word| FtsExpr::Token(cut(word)));
    let end = match last.chars().count() {
        _ if tokens::unspaced_char(last).is_some() => FtsExpr::Token(cut(last)),
        1 => FtsExpr::Prefix(cut(last)),
        2 | 3 => FtsExpr::Token(tokens::encode_token(kind::START, last.chars())),
        length if length < MAX_WORD_CHARS => FtsExpr::Prefix(cut(last)),
        _ => FtsExpr::Token(cut(last)),
    };
    FtsExpr::and(pairs.chain(whole.take(MAX_TRIGRAMS)).chain([end]))
}

fn id_expr(kind: char, id: &str) -> FtsExpr {
    FtsExpr::Token(tokens::encode_token(kind, id.chars().take(ID_CHARS)))
}

fn id_prefix_expr(kind: char, start: &str) -> FtsExpr {
    match start.chars().count() {
        0 => FtsExpr::All,
        length if length < ID_CHARS => FtsExpr::Prefix(tokens::encode_token(kind, start.chars())),
        _ => id_expr(kind, start),
    }
}

fn requires_missing_upstream(node: &Node) -> bool {
    match node {
        Node::And(nodes) => nodes.iter().any(requires_missing_upstream),
        Node::Term(term) => *term == Term::Is(EmailClass::Gone),
        Node::Or(_) | Node::Not(_) => false,
    }
}

fn body_dependency(node: &Node, positive: bool) -> BodyDependency {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes
            .iter()
            .map(|node| body_dependency(node, positive))
            .max()
            .unwrap_or(BodyDependency::Never),
        Node::Not(inner) => body_dependency(inner, !positive),
        // A body may hold the word that the headers lack.
        Node::Term(Term::Word(_)) if positive => BodyDependency::UnlessMatched,
        Node::Term(Term::Word(_)) => BodyDependency::Always,
        Node::Term(
            Term::Text(Field::Body, _)
            | Term::Tag { .. }
            | Term::Has(EmailPart::Text | EmailPart::Html | EmailPart::Body | EmailPart::Tag),
        ) => BodyDependency::IfUnknown,
        Node::Term(_) => BodyDependency::Never,
    }
}
