//! `Held`: which words of a query the bodies hold, by the index alone, so that few have to be read.
//!
//! The index knows exactly whether a body has a word that begins so. It does not know the order of
//! words, so a phrase is looked for in the body itself, and so is all else that is asked of it.

use std::collections::VecDeque;

use rusqlite::{Connection, OptionalExtension, params};

use super::plan::Ask;
use super::tokens::{LONGEST, START, kind, token, unspaced};
use super::walk::Way;
use crate::archive::Place;
use crate::failure::Failure;
use crate::query::fold::words;
use crate::query::{Field, Has, Needle, Node, Query, Term};

/// More words are looked for in the bodies.
const WORDS: usize = 8;

/// So many bodies are read before the index is asked a question that gathers all its answers first:
/// for a letter, which has many of them, and for more.
const BODIES: (usize, usize) = (64, 8);

/// So many answers are read ahead at first, and at most.
const FIRST: usize = 64;
const MOST: usize = 1 << 16;

pub(super) const SLOT: &str = "SELECT slot FROM mail WHERE place = ?1 AND slot IS NOT NULL";
pub(super) const HOLD_DOWN: &str =
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid >= ?1 ORDER BY rowid";
pub(super) const HOLD_UP: &str =
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid <= ?1 ORDER BY rowid DESC";

/// The words of a query, for one walk one way.
pub(super) struct Held<'a> {
    connection: &'a Connection,
    way: Way,
    words: Vec<Word>,
}

impl<'a> Held<'a> {
    /// `None` if the query asks more of bodies than whether they hold single words.
    pub(super) fn new(connection: &'a Connection, query: &Query, way: Way) -> Option<Self> {
        let mut words = Vec::new();
        (gather(&query.filter, &mut words) && words.len() <= WORDS).then_some(Self {
            connection,
            way,
            words,
        })
    }

    /// Those words that the body at `place` holds; `None` if it had better be read. No place may come
    /// before one that was asked for already.
    pub(super) fn text(&mut self, place: Place) -> Result<Option<String>, Failure> {
        let slot = self
            .connection
            .prepare_cached(SLOT)?
            .query_row([place], |row| row.get(0))
            .optional()?;
        let Some(slot) = slot else { return Ok(None) };
        let mut text = String::new();
        for word in &mut self.words {
            let is_held = match word.is_held(self.connection, self.way, slot)? {
                None if word.bodies > 0 => {
                    word.bodies -= 1;
                    return Ok(None);
                }
                None => word.begun.holds(self.connection, self.way, slot)?,
                Some(is_held) => is_held,
            };
            if is_held {
                text.push_str(&word.text);
                text.push(' ');
            }
        }
        Ok(Some(text))
    }
}

/// A word that bodies are asked for.
struct Word {
    text: String,
    /// Where a body has it as a whole.
    whole: Ahead,
    /// Where a body has a word that begins with as much of it as is a token.
    start: Option<Ahead>,
    /// Where a body has a word that begins with it, which is dear.
    begun: Ahead,
    /// How many bodies are still read before that is asked.
    bodies: usize,
}

impl Word {
    fn new(text: &str) -> Self {
        let start: Vec<char> = text.chars().take(START).collect();
        let tokens = |kind| token(kind, text.chars());
        Self {
            text: text.to_owned(),
            whole: Ahead::new(&Ask::Token(tokens(kind::WORD))),
            start: (start.len() > 1)
                .then(|| Ahead::new(&Ask::Token(token(kind::START, start.into_iter())))),
            begun: Ahead::new(&Ask::Start(tokens(kind::WORD))),
            bodies: if text.chars().nth(1).is_none() {
                BODIES.0
            } else {
                BODIES.1
            },
        }
    }

    /// Whether the body has a word that begins so, if it costs little to say.
    fn is_held(
        &mut self,
        connection: &Connection,
        way: Way,
        slot: i64,
    ) -> Result<Option<bool>, Failure> {
        if let Some(start) = &mut self.start {
            let starts = start.holds(connection, way, slot)?;
            if !starts || self.text.chars().count() <= START {
                return Ok(Some(starts));
            }
        }
        Ok(self.whole.holds(connection, way, slot)?.then_some(true))
    }
}

/// The answers to one question, read ahead of the walk.
struct Ahead {
    ask: String,
    slots: VecDeque<i64>,
    next: usize,
    is_end: bool,
}

impl Ahead {
    fn new(ask: &Ask) -> Self {
        Self {
            ask: ask.text(),
            slots: VecDeque::new(),
            next: FIRST,
            is_end: false,
        }
    }

    fn holds(&mut self, connection: &Connection, way: Way, slot: i64) -> Result<bool, Failure> {
        loop {
            while let Some(ahead) = self.slots.front() {
                let is_past = if way == Way::Down {
                    *ahead > slot
                } else {
                    *ahead < slot
                };
                if is_past || *ahead == slot {
                    return Ok(!is_past);
                }
                self.slots.pop_front();
            }
            if self.is_end {
                return Ok(false);
            }
            self.read(connection, way, slot)?;
        }
    }

    /// Reads on from `slot`, each time more: a question for the beginning of a word gathers all its
    /// answers before it gives the first.
    fn read(&mut self, connection: &Connection, way: Way, slot: i64) -> Result<(), Failure> {
        let mut statement =
            connection.prepare_cached(if way == Way::Down { HOLD_DOWN } else { HOLD_UP })?;
        let mut rows = statement.query(params![slot, self.ask])?;
        while self.slots.len() < self.next {
            let Some(row) = rows.next()? else {
                self.is_end = true;
                break;
            };
            self.slots.push_back(row.get(0)?);
        }
        self.next = (self.next * 8).min(MOST);
        Ok(())
    }
}

/// Adds the words that bodies are asked for; false if something else is.
fn gather(node: &Node, found: &mut Vec<Word>) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().all(|node| gather(node, found)),
        Node::Not(inner) => gather(inner, found),
        Node::Term(Term::Word(needle) | Term::Text(Field::Body, needle)) => {
            one(needle).map(|word| found.push(word)).is_some()
        }
        Node::Term(Term::Tag { .. } | Term::Has(Has::Text | Has::Html | Has::Body | Has::Tag)) => {
            false
        }
        Node::Term(_) => true,
    }
}

/// The word of a needle, if that is all, and the index has it uncut.
fn one(needle: &Needle) -> Option<Word> {
    let mut words = words(needle.folded());
    let word = words
        .next()
        .filter(|word| word.chars().count() < LONGEST && unspaced(word).is_none())?;
    words.next().is_none().then(|| Word::new(word))
}
