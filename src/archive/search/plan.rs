//! From a query to what the index is asked: a superset of what matches, as narrow as it can tell.
//!
//! Each condition is asked twice, once for where it may hold and once for where it may not, so that
//! a negation never takes away too much: where the index cannot tell, both answers are everything.

use rusqlite::Connection;

use super::bounds::bounds;
use super::tokens::{self, ID, LONGEST, flag, kind};
use super::{cheap, label};
use crate::archive::{Place, moment};
use crate::failure::Failure;
use crate::mail::Status;
use crate::query::fold::words;
use crate::query::{Field, Has, Is, Needle, Node, Query, Term};

/// Grams of one needle that are asked for; more hardly narrow it further.
const GRAMS: usize = 16;

/// The same of the part of an address that many share.
const SHARED: usize = 3;

/// Deeper groups and longer questions are not asked of the index.
const DEEPEST: usize = 40;
const LARGEST: usize = 400;

/// How far (in microseconds) an email may stand from its time before it is listed as displaced.
pub(super) const DRIFT: i64 = 86_400_000_000;

/// What the index is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    All,
    Nothing,
    Token(String),
    /// Every token that begins so. Such a question gathers all its answers before it gives the first,
    /// so it is costly where the beginning is short.
    Start(String),
    And(Vec<Ask>),
    Or(Vec<Ask>),
    Not(Box<Ask>),
}

/// How a query is answered.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) ask: Ask,
    /// The places between which all matches stand, but for displaced ones; inclusive.
    pub(super) newest: Place,
    pub(super) oldest: Place,
    /// The times between which all matches were created, as they are stored; inclusive.
    pub(super) times: (i64, i64),
    /// Whether the index answers the question as the query means it, so that nobody has to look again.
    pub(super) exact: bool,
    /// What is asked before that, if the index is slow where there are many answers; and how many emails
    /// are looked at for it.
    pub(super) first: Option<(Ask, usize)>,
    /// What of the bodies and tags the query looks at.
    pub(super) depth: Depth,
    /// Whether all matches are mail that the service no longer lists.
    pub(super) gone: bool,
}

/// What of the bodies and tags a query looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Nothing.
    Summary,
    /// What stays unknown without them, so that a verdict is final.
    Waits,
    /// A word, which they may hold: a match is final, a miss is not.
    Adds,
    /// A word that they must not hold.
    Decides,
}

impl Plan {
    pub(super) fn of(query: &Query, connection: &Connection) -> Result<Self, Failure> {
        let asker = Asker { connection };
        let mut ask = asker.node(&query.filter, true, 0)?;
        if ask.size() > LARGEST {
            ask = Ask::All;
        }
        let (newest, oldest) = bounds(&query.filter, true);
        let is_open = |micros: i64| micros == i64::MAX || micros == i64::MIN;
        let exact = ask.is_asked() && is_exact(&query.filter, true, 0);
        Ok(Self {
            exact,
            first: cheap::first(&ask),
            ask,
            newest: if is_open(newest) {
                Place(newest)
            } else {
                Place::last_of(newest.saturating_add(DRIFT))
            },
            oldest: if is_open(oldest) {
                Place(oldest)
            } else {
                Place::first_of(oldest.saturating_sub(DRIFT))
            },
            times: moment::between(oldest, newest),
            depth: depth(&query.filter, true),
            gone: demands_gone(&query.filter),
        })
    }
}

/// Whether the query has an operator that looks at bodies or tags, or a word, which does so too.
#[must_use]
pub fn looks_inside(query: &Query) -> bool {
    depth(&query.filter, true) > Depth::Summary
}

impl Ask {
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
    fn except(self) -> Self {
        match self {
            Self::All => Self::Nothing,
            Self::Nothing => Self::All,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Whether it is a question at all.
    fn is_asked(&self) -> bool {
        !matches!(self, Self::All | Self::Nothing)
    }

    fn size(&self) -> usize {
        match self {
            Self::All | Self::Nothing | Self::Token(_) | Self::Start(_) => 1,
            Self::And(members) | Self::Or(members) => members.iter().map(Self::size).sum(),
            Self::Not(inner) => inner.size() + 1,
        }
    }

    /// In the words of the index, for what is neither all nor nothing.
    pub(super) fn text(&self) -> String {
        let joined = |members: &[Self], with: &str| {
            format!(
                "({})",
                members
                    .iter()
                    .map(Self::text)
                    .collect::<Vec<_>>()
                    .join(with)
            )
        };
        match self {
            Self::All | Self::Nothing => Self::Token(flag::ANY.to_owned()).text(),
            Self::Token(token) => format!("\"{token}\""),
            Self::Start(start) => format!("\"{start}\"*"),
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
                    with.remove(0).text()
                } else {
                    joined(&with, " AND ")
                };
                match without.len() {
                    0 => with,
                    1 => format!("({with} NOT {})", without.remove(0).text()),
                    _ => format!("({with} NOT {})", joined(&without, " OR ")),
                }
            }
            Self::Not(inner) => format!("({} NOT {})", Self::All.text(), inner.text()),
        }
    }
}

/// Whether the index knows exactly where `node` comes out as `wanted`.
fn is_exact(node: &Node, wanted: bool, deep: usize) -> bool {
    let all = |nodes: &[Node]| nodes.iter().all(|node| is_exact(node, wanted, deep + 1));
    match node {
        _ if deep > DEEPEST => false,
        Node::And(nodes) | Node::Or(nodes) => all(nodes),
        Node::Not(inner) => is_exact(inner, !wanted, deep + 1),
        Node::Term(Term::Domain(_) | Term::Status(_) | Term::Has(_) | Term::Tag { .. }) => true,
        // All grams of three characters are there, so a needle of that length is its gram.
        Node::Term(Term::Text(Field::Subject, needle)) => {
            wanted && needle.folded().chars().count() == 3
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

struct Asker<'a> {
    connection: &'a Connection,
}

impl Asker<'_> {
    /// Where `node` may come out as `wanted`.
    fn node(&self, node: &Node, wanted: bool, deep: usize) -> Result<Ask, Failure> {
        if deep > DEEPEST {
            return Ok(Ask::All);
        }
        let members = |nodes: &[Node]| {
            nodes
                .iter()
                .map(|node| self.node(node, wanted, deep + 1))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match (node, wanted) {
            (Node::And(nodes), true) | (Node::Or(nodes), false) => Ask::and(members(nodes)?),
            (Node::Or(nodes), true) | (Node::And(nodes), false) => Ask::or(members(nodes)?),
            (Node::Not(inner), _) => self.node(inner, !wanted, deep + 1)?,
            (Node::Term(term), _) => self.term(term, wanted)?,
        })
    }

    fn term(&self, term: &Term, wanted: bool) -> Result<Ask, Failure> {
        let fetched = || Ask::Token(flag::FETCHED.to_owned());
        // What the index knows exactly, what it knows so if it was fetched, and what only in part.
        let exactly = |ask: Ask| if wanted { ask } else { ask.except() };
        let if_fetched = |ask: Ask| {
            if wanted {
                ask
            } else {
                Ask::and([fetched(), ask.except()])
            }
        };
        let roughly = |ask: Ask| if wanted { ask } else { Ask::All };
        Ok(match term {
            Term::Word(_) | Term::Text(..) if !wanted => {
                if matches!(term, Term::Text(Field::Body, _)) {
                    fetched()
                } else {
                    Ask::All
                }
            }
            Term::Word(needle) => Ask::or([
                grams(kind::RECIPIENT, needle),
                self.sender(label::FROM, needle)?,
                self.sender(label::REPLY_TO, needle)?,
                grams(kind::SUBJECT, needle),
                body(needle),
                whole_id(kind::ID, needle.folded()),
                whole_id(kind::MESSAGE_ID, tokens::bare(needle.folded())),
            ]),
            Term::Text(Field::To | Field::Cc | Field::Bcc, needle) => {
                grams(kind::RECIPIENT, needle)
            }
            Term::Text(Field::From, needle) => self.sender(label::FROM, needle)?,
            Term::Text(Field::ReplyTo, needle) => self.sender(label::REPLY_TO, needle)?,
            Term::Text(Field::Any, needle) => Ask::or([
                grams(kind::RECIPIENT, needle),
                self.sender(label::FROM, needle)?,
                self.sender(label::REPLY_TO, needle)?,
            ]),
            Term::Text(Field::Subject, needle) => grams(kind::SUBJECT, needle),
            Term::Text(Field::Body, needle) => body(needle),
            Term::Text(Field::Id, needle) => id_start(kind::ID, needle.folded()),
            Term::Text(Field::MessageId, needle) => {
                id_start(kind::MESSAGE_ID, tokens::bare(needle.folded()))
            }
            Term::Recipient(needle) => roughly(grams(kind::RECIPIENT, needle)),
            Term::Domain(needle) => exactly(Ask::Token(tokens::token(
                kind::DOMAIN,
                needle.folded().chars(),
            ))),
            Term::Status(statuses) => exactly(any_status(statuses)),
            Term::Is(Is::Trouble) => {
                let trouble: Vec<Status> = Status::KNOWN
                    .into_iter()
                    .filter(Status::is_trouble)
                    .collect();
                roughly(any_status(&trouble))
            }
            Term::Is(Is::Scheduled) => roughly(any_status(&[Status::Scheduled])),
            // That mail leaves the service changes no token; a table index knows those that did.
            Term::Is(Is::Gone) => Ask::All,
            Term::Has(Has::Body) => if_fetched(Ask::or([flagged(Has::Text), flagged(Has::Html)])),
            Term::Has(part @ (Has::Text | Has::Html | Has::Tag)) => if_fetched(flagged(*part)),
            Term::Has(part @ (Has::Cc | Has::Bcc | Has::ReplyTo)) => exactly(flagged(*part)),
            Term::Tag { name, value: None } => {
                if_fetched(Ask::Token(tokens::tag_name(name.folded())))
            }
            Term::Tag {
                name,
                value: Some(value),
            } => if_fetched(Ask::Token(tokens::tag_value(name.folded(), value.folded()))),
            Term::After(_) | Term::Before(_) | Term::On(_) => Ask::All,
            Term::SeenChange(_) => roughly(Ask::Token(flag::CHANGED.to_owned())),
        })
    }

    /// A sender or an address for answers: by its label, or by grams if it has none.
    fn sender(&self, field: &str, needle: &Needle) -> Result<Ask, Failure> {
        let Some(labels) = label::holding(self.connection, field, needle)? else {
            return Ok(Ask::All);
        };
        let labels = labels
            .into_iter()
            .map(|nth| Ask::Token(format!("{}{nth}", kind::LABEL)));
        let kind = if field == label::FROM {
            kind::SENDER
        } else {
            kind::RECIPIENT
        };
        Ok(Ask::or(labels.chain([grams(kind, needle)])))
    }
}

fn flagged(part: Has) -> Ask {
    Ask::Token(tokens::flag_of(part.word()))
}

fn any_status(statuses: &[Status]) -> Ask {
    Ask::or(
        statuses
            .iter()
            .map(|status| Ask::Token(tokens::status(status))),
    )
}

fn grams(kind: char, needle: &Needle) -> Ask {
    let chars: Vec<char> = needle.folded().chars().collect();
    let gram = |chars: &[char]| tokens::token(kind, chars.iter().copied());
    match chars.as_slice() {
        [one, other] if !one.is_ascii() && !other.is_ascii() => Ask::Token(gram(&chars)),
        [_] | [_, _] => Ask::Start(gram(&chars)),
        _ => {
            // Digits tell emails apart better than letters do, and a question takes as long as its most
            // common gram is.
            let digits = || {
                chars
                    .windows(3)
                    .filter(|gram| gram.iter().all(char::is_ascii_digit))
            };
            if digits().count() > 1 {
                return Ask::and(spread(digits().map(gram).collect(), GRAMS));
            }
            // Thousands of addresses share what stands behind the sign.
            let sign = chars
                .iter()
                .position(|c| *c == '@')
                .filter(|sign| *sign > 2);
            let (own, shared) =
                sign.map_or((&*chars, &[][..]), |sign| (&chars[..=sign], &chars[sign..]));
            let grams = |chars: &[char], most| spread(chars.windows(3).map(gram).collect(), most);
            Ask::and(grams(own, GRAMS).chain(grams(shared, SHARED)))
        }
    }
}

/// So many of the grams, from all over the needle.
fn spread(mut grams: Vec<String>, most: usize) -> impl Iterator<Item = Ask> {
    grams.sort_unstable();
    grams.dedup();
    let step = grams.len().div_ceil(most).max(1);
    grams.into_iter().step_by(step).map(Ask::Token)
}

/// Words of a body: all of them, the last one as a beginning.
fn body(needle: &Needle) -> Ask {
    let words: Vec<&str> = words(needle.folded()).collect();
    let cut = |word: &str| tokens::token(kind::WORD, word.chars().take(LONGEST));
    let Some((last, whole)) = words.split_last() else {
        return Ask::Nothing;
    };
    let pairs = words
        .windows(2)
        .filter_map(|pair| Some([tokens::unspaced(pair[0])?, tokens::unspaced(pair[1])?]));
    let pairs = pairs.map(|pair| Ask::Token(tokens::token(kind::WORD, pair.into_iter())));
    let whole = whole.iter().map(|word| Ask::Token(cut(word)));
    let end = match last.chars().count() {
        _ if tokens::unspaced(last).is_some() => Ask::Token(cut(last)),
        1 => Ask::Start(cut(last)),
        2 | 3 => Ask::Token(tokens::token(kind::START, last.chars())),
        length if length < LONGEST => Ask::Start(cut(last)),
        _ => Ask::Token(cut(last)),
    };
    Ask::and(pairs.chain(whole.take(GRAMS)).chain([end]))
}

fn whole_id(kind: char, id: &str) -> Ask {
    Ask::Token(tokens::token(kind, id.chars().take(ID)))
}

fn id_start(kind: char, start: &str) -> Ask {
    match start.chars().count() {
        0 => Ask::All,
        length if length < ID => Ask::Start(tokens::token(kind, start.chars())),
        _ => whole_id(kind, start),
    }
}

fn demands_gone(node: &Node) -> bool {
    match node {
        Node::And(nodes) => nodes.iter().any(demands_gone),
        Node::Term(term) => *term == Term::Is(Is::Gone),
        Node::Or(_) | Node::Not(_) => false,
    }
}

fn depth(node: &Node, positive: bool) -> Depth {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes
            .iter()
            .map(|node| depth(node, positive))
            .max()
            .unwrap_or(Depth::Summary),
        Node::Not(inner) => depth(inner, !positive),
        // A body may hold the word that the headers lack.
        Node::Term(Term::Word(_)) if positive => Depth::Adds,
        Node::Term(Term::Word(_)) => Depth::Decides,
        Node::Term(
            Term::Text(Field::Body, _)
            | Term::Tag { .. }
            | Term::Has(Has::Text | Has::Html | Has::Body | Has::Tag),
        ) => Depth::Waits,
        Node::Term(_) => Depth::Summary,
    }
}
