//! `BodyLookup`: which texts of a query a body contains, as far as the index knows.
//!
//! To load a body is the costly part of a search. The index knows exactly whether a body has a word with a given
//! start. Of several words it knows which bodies cannot have them beside each other, and of some that they do.
//! [`super::matcher`] asks, and loads the bodies of which the index does not know.

use std::collections::VecDeque;

use super::fts_expr::{FtsExpr, is_costly_prefix};
use super::plan::{Phrase, Plan};
use super::tokens::{PREFIX_CHARS, encode_token, prefix, single_word};
use crate::archive::listing::Direction;
use crate::archive::storage::db::{Connection, params};
use crate::error::Result;
use crate::query::{Field, Query, SearchText, Term};

/// Queries with more texts are matched by their bodies.
const MAX_TEXTS: usize = 8;

/// The bodies to load before a costly FTS prefix query: of one letter, or longer.
const LOADED_BEFORE_LETTER_QUERY: usize = 64;
const LOADED_BEFORE_PREFIX_QUERY: usize = 8;
/// The same of one letter, where there are few candidates.
const LOADED_BEFORE_LETTER_OF_FEW: usize = 4000;

/// The bodies to load before the index is searched for those that need not be
/// loaded.
pub(super) const LOADED_BEFORE_CERTAIN_QUERY: usize = 64;
/// The same where it is searched for a start with so many digits,
/// which few emails have.
const LOADED_BEFORE_NUMBER_QUERY: usize = 8;
const MANY_DIGITS: usize = 4;

/// The rowids to read ahead at first, and at most.
const FIRST_BATCH: usize = 64;
const MAX_BATCH: usize = 1 << 16;

/// A word between texts, which otherwise would be beside each other:
/// a syllable of Linear B. A query that has it is matched by bodies.
const SEPARATOR: char = '\u{10000}';

pub(super) const ROWIDS_FROM: [&str; 2] = [
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid >= ?1 ORDER BY rowid",
    "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid <= ?1 ORDER BY rowid DESC",
];

/// The texts of a query, for one scan.
pub(super) struct BodyLookup<'a>(Vec<TextLookup<'a>>);

enum TextLookup<'a> {
    Word(BodyWord<'a>),
    Phrase(BodyPhrase<'a>),
}

impl<'a> BodyLookup<'a> {
    /// Returns `None` if the query depends on tags or other parts that only retrieved
    /// emails have, or has too many texts.
    pub(super) fn new(
        query: &Query,
        plan: &Plan,
        read_ahead: impl Fn(&FtsExpr) -> ReadAhead<'a>,
    ) -> Option<Self> {
        let lookup = |text| {
            if let Some(word) = single_word(text) {
                let word = BodyWord::new(word, plan, &read_ahead);
                return Some(TextLookup::Word(word));
            }
            let phrase = plan.phrases.iter().find(|phrase| phrase.text == *text)?;
            Some(TextLookup::Phrase(BodyPhrase::new(phrase, &read_ahead)))
        };
        body_texts(query)?
            .into_iter()
            .map(lookup)
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Returns a text that matches those texts of the query that the body at `rowid`
    /// matches; `None` if the index does not know, or if to load the body is cheaper.
    pub(super) fn texts_in(&mut self, rowid: i64) -> Result<Option<String>> {
        let mut found = String::new();
        for lookup in &mut self.0 {
            let (is_contained, text) = match lookup {
                TextLookup::Word(word) => (word.is_in(rowid)?, &word.text),
                TextLookup::Phrase(phrase) => (phrase.is_in(rowid)?, &phrase.text),
            };
            match is_contained {
                None => return Ok(None),
                Some(true) => {
                    found.push_str(text);
                    found.extend([' ', SEPARATOR, ' ']);
                }
                Some(false) => {}
            }
        }
        Ok(Some(found))
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

/// A word of the query with its matches in the index.
struct BodyWord<'a> {
    text: String,
    /// Words that start with the text; `None` if the index has none.
    starts: Option<ReadAhead<'a>>,
    /// What is tried first where these are too many to be named.
    cheap: Option<CheapLookup<'a>>,
}

/// What tells cheaply of many bodies whether they contain a word with some start.
struct CheapLookup<'a> {
    whole: ReadAhead<'a>,
    /// Words with the same first characters, of which a token exists.
    short_prefix: Option<ReadAhead<'a>>,
    /// Whether the start is no longer than those.
    is_short: bool,
    /// The bodies to load before the costly look-up.
    loads_left: usize,
}

impl<'a> BodyWord<'a> {
    fn new(text: String, plan: &Plan, read_ahead: impl Fn(&FtsExpr) -> ReadAhead<'a>) -> Self {
        let token = encode_token(prefix::WORD, text.chars());
        let known = plan.known_starts.get(&token).cloned();
        let starts = known.unwrap_or_else(|| FtsExpr::Prefix(token.clone()));
        let cheap = matches!(starts, FtsExpr::Prefix(_)).then(|| {
            let start: Vec<char> = text.chars().take(PREFIX_CHARS).collect();
            let is_letter = start.len() == 1;
            let start_token = encode_token(prefix::WORD_PREFIX, start.into_iter());
            CheapLookup {
                whole: read_ahead(&FtsExpr::Token(token)),
                short_prefix: (!is_letter).then(|| read_ahead(&FtsExpr::Token(start_token))),
                is_short: text.chars().count() <= PREFIX_CHARS,
                loads_left: if is_letter && plan.has_few_candidates {
                    LOADED_BEFORE_LETTER_OF_FEW
                } else if is_letter {
                    LOADED_BEFORE_LETTER_QUERY
                } else {
                    LOADED_BEFORE_PREFIX_QUERY
                },
            }
        });
        Self {
            text,
            starts: (starts != FtsExpr::Nothing).then(|| read_ahead(&starts)),
            cheap,
        }
    }

    /// Whether the body has a word with this start;
    /// `None` if loading the body is cheaper.
    fn is_in(&mut self, rowid: i64) -> Result<Option<bool>> {
        if let Some(cheap) = &mut self.cheap {
            if let Some(is_contained) = cheap.lookup(rowid)? {
                return Ok(Some(is_contained));
            }
            if cheap.loads_left > 0 {
                cheap.loads_left -= 1;
                return Ok(None);
            }
        }
        match &mut self.starts {
            Some(starts) => Ok(Some(starts.contains(rowid)?)),
            None => Ok(Some(false)),
        }
    }
}

impl CheapLookup<'_> {
    fn lookup(&mut self, rowid: i64) -> Result<Option<bool>> {
        if let Some(short_prefix) = &mut self.short_prefix {
            let is_contained = short_prefix.contains(rowid)?;
            if !is_contained || self.is_short {
                return Ok(Some(is_contained));
            }
        }
        Ok(self.whole.contains(rowid)?.then_some(true))
    }
}

/// Another text of the query, in most cases of several words.
struct BodyPhrase<'a> {
    text: String,
    /// No body can have it.
    is_impossible: bool,
    /// The bodies that may have its words beside each other,
    /// as far as is known cheaply; `None` if any may.
    possible: Option<ReadAhead<'a>>,
    /// Those that may as far as the index knows, if these are fewer.
    probable: Option<ReadAhead<'a>>,
    /// Bodies that have them.
    certain: Option<ReadAhead<'a>>,
    /// Whether these are all.
    is_exact: bool,
    /// The bodies to load before `probable` and `certain`, which may be costly.
    loads_left: usize,
}

impl<'a> BodyPhrase<'a> {
    fn new(phrase: &Phrase, read_ahead: impl Fn(&FtsExpr) -> ReadAhead<'a>) -> Self {
        // To collect the emails of a start of a word takes longer than to load the bodies of a window.
        let possible = phrase.possible.without_costly_prefixes();
        let is_exact = phrase.certain == phrase.possible;
        let has_prefix = |condition: &dyn Fn(&str) -> bool| {
            let exprs = [&phrase.possible, &phrase.certain];
            exprs.iter().any(|expr| expr.has_prefix(&condition))
        };
        let digits = |start: &str| start.chars().filter(char::is_ascii_digit).count();
        let loads_left = if !has_prefix(&is_costly_prefix) {
            0
        } else if has_prefix(&|start| is_costly_prefix(start) && digits(start) < MANY_DIGITS) {
            LOADED_BEFORE_CERTAIN_QUERY
        } else {
            LOADED_BEFORE_NUMBER_QUERY
        };
        let read_unless =
            |is_useless: bool, expr: &FtsExpr| (!is_useless).then(|| read_ahead(expr));
        Self {
            text: phrase.text.normalized().to_owned(),
            is_impossible: possible == FtsExpr::Nothing,
            probable: read_unless(is_exact || possible == phrase.possible, &phrase.possible),
            certain: read_unless(phrase.certain == FtsExpr::Nothing, &phrase.certain),
            possible: read_unless(
                possible == FtsExpr::All || possible == phrase.certain,
                &possible,
            ),
            is_exact,
            loads_left,
        }
    }

    /// Whether the body has these words beside each other; `None` if it must be loaded.
    fn is_in(&mut self, rowid: i64) -> Result<Option<bool>> {
        if self.is_impossible || is_missing_in(&mut self.possible, rowid)? {
            return Ok(Some(false));
        }
        if self.loads_left > 0 {
            self.loads_left -= 1;
            return Ok(None);
        }
        if is_missing_in(&mut self.probable, rowid)? {
            return Ok(Some(false));
        }
        match &mut self.certain {
            Some(certain) => {
                let is_contained = certain.contains(rowid)?;
                Ok((is_contained || self.is_exact).then_some(is_contained))
            }
            None => Ok(None),
        }
    }
}

/// Whether the index knows that a body does not match.
fn is_missing_in(matches: &mut Option<ReadAhead<'_>>, rowid: i64) -> Result<bool> {
    match matches {
        Some(matches) => Ok(!matches.contains(rowid)?),
        None => Ok(false),
    }
}

/// The rowids that match one expression, read ahead of the scan.
pub(super) struct ReadAhead<'a> {
    connection: &'a Connection,
    direction: Direction,
    match_text: String,
    rowids: VecDeque<i64>,
    batch_size: usize,
    is_end: bool,
}

impl<'a> ReadAhead<'a> {
    pub(super) fn new(connection: &'a Connection, direction: Direction, expr: &FtsExpr) -> Self {
        Self {
            connection,
            direction,
            match_text: expr.to_match_text(connection.is_postgres()),
            rowids: VecDeque::new(),
            batch_size: FIRST_BATCH,
            is_end: false,
        }
    }

    /// Checks whether a rowid matches. They must come in the direction of the scan.
    pub(super) fn contains(&mut self, rowid: i64) -> Result<bool> {
        loop {
            while let Some(next) = self.rowids.front() {
                // Rowids ascend from the newest email to the oldest.
                let is_past = match self.direction {
                    Direction::Older => *next > rowid,
                    Direction::Newer => *next < rowid,
                };
                if is_past || *next == rowid {
                    return Ok(!is_past);
                }
                self.rowids.pop_front();
            }
            if self.is_end {
                return Ok(false);
            }
            self.read_batch(rowid)?;
        }
    }

    /// Reads from `rowid` on, more each time.
    ///
    /// A prefix query collects all its matches before it returns the first.
    fn read_batch(&mut self, rowid: i64) -> Result<()> {
        let sql = ROWIDS_FROM[self.direction as usize];
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![rowid, self.match_text])?;
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
