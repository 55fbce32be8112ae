//! `Held`: which words of a query the bodies hold, by the index alone, so that few have to be read.
//!
//! The index knows exactly whether a body has a word that begins so. It does not know the order of
//! words, so a phrase is looked for in the body itself, and so is all else that is asked of it.

use std::collections::VecDeque;

use rusqlite::{Connection, OptionalExtension, params};

use super::plan::FtsExpr;
use super::scan::Direction;
use super::tokens::{MAX_WORD_CHARS, PREFIX_CHARS, encode_token, kind, unspaced_char};
use crate::archive::SortKey;
use crate::error::Error;
use crate::query::normalize::split_words;
use crate::query::{EmailPart, Field, Node, Query, SearchText, Term};

/// More words are looked for in the bodies.
const MAX_WORDS: usize = 8;

/// So many bodies are read before the index is asked a question that gathers all its answers first:
/// for a letter, which has many of them, and for more.
const READ_BEFORE_PREFIX_QUERY: (usize, usize) = (64, 8);

/// So many answers are read ahead at first, and at most.
const FIRST_BATCH: usize = 64;
const MAX_BATCH: usize = 1 << 16;

pub(super) const ROWID_BY_KEY: &str =
    "SELECT fts_rowid FROM mail WHERE sort_key = ?1 AND fts_rowid IS NOT NULL";
pub(super) const MATCHES_OLDER: &str =
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid >= ?1 ORDER BY rowid";
pub(super) const MATCHES_NEWER: &str =
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid <= ?1 ORDER BY rowid DESC";

/// The words of a query, for one walk one way.
pub(super) struct BodyWords<'a> {
    connection: &'a Connection,
    direction: Direction,
    words: Vec<BodyWord>,
}

impl<'a> BodyWords<'a> {
    /// `None` if the query asks more of bodies than whether they hold single words.
    pub(super) fn new(connection: &'a Connection, query: &Query, way: Direction) -> Option<Self> {
        let mut words = Vec::new();
        (collect_body_words(&query.filter, &mut words) && words.len() <= MAX_WORDS).then_some(
            Self {
                connection,
                direction: way,
                words,
            },
        )
    }

    /// Those words that the body at `place` holds; `None` if it had better be read. No place may come
    /// before one that was asked for already.
    pub(super) fn words_in(&mut self, place: SortKey) -> Result<Option<String>, Error> {
        let slot = self
            .connection
            .prepare_cached(ROWID_BY_KEY)?
            .query_row([place], |row| row.get(0))
            .optional()?;
        let Some(slot) = slot else { return Ok(None) };
        let mut text = String::new();
        for word in &mut self.words {
            let is_held = match word.lookup_cheaply(self.connection, self.direction, slot)? {
                None if word.reads_left > 0 => {
                    word.reads_left -= 1;
                    return Ok(None);
                }
                None => word
                    .full_prefix
                    .contains(self.connection, self.direction, slot)?,
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
struct BodyWord {
    text: String,
    /// Where a body has it as a whole.
    whole: ReadAhead,
    /// Where a body has a word that begins with as much of it as is a token.
    short_prefix: Option<ReadAhead>,
    /// Where a body has a word that begins with it, which is dear.
    full_prefix: ReadAhead,
    /// How many bodies are still read before that is asked.
    reads_left: usize,
}

impl BodyWord {
    fn new(text: &str) -> Self {
        let start: Vec<char> = text.chars().take(PREFIX_CHARS).collect();
        let tokens = |kind| encode_token(kind, text.chars());
        Self {
            text: text.to_owned(),
            whole: ReadAhead::new(&FtsExpr::Token(tokens(kind::WORD))),
            short_prefix: (start.len() > 1).then(|| {
                ReadAhead::new(&FtsExpr::Token(encode_token(
                    kind::START,
                    start.into_iter(),
                )))
            }),
            full_prefix: ReadAhead::new(&FtsExpr::Prefix(tokens(kind::WORD))),
            reads_left: if text.chars().nth(1).is_none() {
                READ_BEFORE_PREFIX_QUERY.0
            } else {
                READ_BEFORE_PREFIX_QUERY.1
            },
        }
    }

    /// Whether the body has a word that begins so, if it costs little to say.
    fn lookup_cheaply(
        &mut self,
        connection: &Connection,
        way: Direction,
        slot: i64,
    ) -> Result<Option<bool>, Error> {
        if let Some(start) = &mut self.short_prefix {
            let starts = start.contains(connection, way, slot)?;
            if !starts || self.text.chars().count() <= PREFIX_CHARS {
                return Ok(Some(starts));
            }
        }
        Ok(self.whole.contains(connection, way, slot)?.then_some(true))
    }
}

/// The answers to one question, read ahead of the walk.
struct ReadAhead {
    match_text: String,
    rowids: VecDeque<i64>,
    batch_size: usize,
    is_end: bool,
}

impl ReadAhead {
    fn new(ask: &FtsExpr) -> Self {
        Self {
            match_text: ask.to_match_text(),
            rowids: VecDeque::new(),
            batch_size: FIRST_BATCH,
            is_end: false,
        }
    }

    fn contains(
        &mut self,
        connection: &Connection,
        way: Direction,
        slot: i64,
    ) -> Result<bool, Error> {
        loop {
            while let Some(ahead) = self.rowids.front() {
                let is_past = if way == Direction::Older {
                    *ahead > slot
                } else {
                    *ahead < slot
                };
                if is_past || *ahead == slot {
                    return Ok(!is_past);
                }
                self.rowids.pop_front();
            }
            if self.is_end {
                return Ok(false);
            }
            self.read_batch(connection, way, slot)?;
        }
    }

    /// Reads on from `slot`, each time more: a question for the beginning of a word gathers all its
    /// answers before it gives the first.
    fn read_batch(
        &mut self,
        connection: &Connection,
        way: Direction,
        slot: i64,
    ) -> Result<(), Error> {
        let mut statement = connection.prepare_cached(if way == Direction::Older {
            MATCHES_OLDER
        } else {
            MATCHES_NEWER
        })?;
        let mut rows = statement.query(params![slot, self.match_text])?;
        while self.rowids.len() < self.batch_size {
            let Some(row) = rows.next()? else {
                self.is_end = true;
                break;
            };
            self.rowids.push_back(row.get(0)?);
        }
        self.batch_size = (self.batch_size * 8).min(MAX_BATCH);
        Ok(())
    }
}

/// Adds the words that bodies are asked for; false if something else is.
fn collect_body_words(node: &Node, found: &mut Vec<BodyWord>) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => {
            nodes.iter().all(|node| collect_body_words(node, found))
        }
        Node::Not(inner) => collect_body_words(inner, found),
        Node::Term(Term::Word(needle) | Term::Text(Field::Body, needle)) => {
            single_word(needle).map(|word| found.push(word)).is_some()
        }
        Node::Term(
            Term::Tag { .. }
            | Term::Has(EmailPart::Text | EmailPart::Html | EmailPart::Body | EmailPart::Tag),
        ) => false,
        Node::Term(_) => true,
    }
}

/// The word of a needle, if that is all, and the index has it uncut.
fn single_word(needle: &SearchText) -> Option<BodyWord> {
    let mut words = split_words(needle.normalized());
    let word = words
        .next()
        .filter(|word| word.chars().count() < MAX_WORD_CHARS && unspaced_char(word).is_none())?;
    words.next().is_none().then(|| BodyWord::new(word))
}
