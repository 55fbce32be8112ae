//! `BodyLookup`: which texts of a query a body contains, as far as the index knows.
//!
//! To load a body is the costly part of a search. The index knows exactly whether a body has a word
//! with a given start. Of several words it knows which bodies cannot have them beside each other,
//! and of some that they do. [`super::matcher`] uses it, and loads the bodies of which the index
//! does not know.

use std::collections::VecDeque;

use super::fts_expr::{FtsExpr, is_costly_prefix};
use super::plan::{BodyText, Plan, SEPARATOR};
use crate::archive::listing::{ByDirection, Direction};
use crate::archive::storage::db::{Connection, params};
use crate::error::Result;

/// The bodies to load before the index is searched for those that need not be
/// loaded: with a start of a word, that is costly.
pub(super) const LOADED_BEFORE_CERTAIN_QUERY: usize = 64;
/// [`LOADED_BEFORE_CERTAIN_QUERY`] for the start of one word, or of a text with
/// [`MANY_DIGITS`] digits: few emails have it.
const LOADED_BEFORE_RARE_QUERY: usize = 8;
const MANY_DIGITS: usize = 4;
/// [`LOADED_BEFORE_CERTAIN_QUERY`] for one letter, where there are few candidates.
const LOADED_BEFORE_LETTER_OF_FEW: usize = 4000;

/// The rowids to read ahead at first, and at most.
const FIRST_BATCH: usize = 64;
const MAX_BATCH: usize = 1 << 16;

pub(super) const ROWIDS_FROM: ByDirection = ByDirection {
    older: "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid >= ?1 ORDER BY rowid",
    newer: "SELECT rowid FROM search WHERE search MATCH ?2 AND rowid <= ?1 ORDER BY rowid DESC",
};

/// The texts of a query, for one scan.
pub(super) struct BodyLookup<'a>(Vec<TextLookup<'a>>);

impl<'a> BodyLookup<'a> {
    /// Returns `None` if the index does not know enough: see [`Plan::body_texts`].
    pub(super) fn new(plan: &Plan, read_ahead: impl Fn(&FtsExpr) -> ReadAhead<'a>) -> Option<Self> {
        let texts = plan.body_texts.as_ref()?.iter();
        let has_few = plan.has_few_candidates;
        let lookups = texts.map(|text| TextLookup::new(text, has_few, &read_ahead));
        Some(Self(lookups.collect()))
    }

    /// Returns a text that matches those texts of the query that the body at `rowid`
    /// matches; `None` if the index does not know, or if to load the body is cheaper.
    pub(super) fn texts_in(&mut self, rowid: i64) -> Result<Option<String>> {
        let mut found = String::new();
        for lookup in &mut self.0 {
            match lookup.is_in(rowid)? {
                None => return Ok(None),
                Some(true) => {
                    found.push_str(&lookup.text);
                    found.extend([' ', SEPARATOR, ' ']);
                }
                Some(false) => {}
            }
        }
        Ok(Some(found))
    }
}

/// A text of the query with what the index knows of it.
struct TextLookup<'a> {
    text: String,
    /// No body can have it.
    is_impossible: bool,
    /// The bodies that may have it, as far as is known cheaply; `None` if any may.
    possible: Option<ReadAhead<'a>>,
    /// Bodies that have it, as far as is known cheaply.
    known: Option<ReadAhead<'a>>,
    /// Those that may have it as far as the index knows, if these are fewer.
    probable: Option<ReadAhead<'a>>,
    /// Bodies that have it.
    certain: Option<ReadAhead<'a>>,
    /// Whether these are all.
    is_exact: bool,
    /// The bodies to load before `probable` and `certain`, which may be costly.
    loads_left: usize,
}

impl<'a> TextLookup<'a> {
    fn new(
        searched: &BodyText,
        has_few_candidates: bool,
        read_ahead: impl Fn(&FtsExpr) -> ReadAhead<'a>,
    ) -> Self {
        let text = searched.text.normalized().to_owned();
        // To collect the emails of a start of a word takes longer than to load the bodies of a
        // window.
        let possible = searched.possible.without_costly_prefixes();
        let known = searched.certain.whole_words();
        let is_exact = searched.certain == searched.possible;
        let has_prefix = |condition: &dyn Fn(&str) -> bool| {
            let exprs = [&searched.possible, &searched.certain];
            exprs.iter().any(|expr| expr.has_prefix(&condition))
        };
        let digits = |start: &str| start.chars().filter(char::is_ascii_digit).count();
        let is_letter = text.chars().nth(1).is_none();
        let loads_left = if !has_prefix(&is_costly_prefix) {
            0
        } else if is_letter && has_few_candidates {
            LOADED_BEFORE_LETTER_OF_FEW
        } else if searched.is_word && !is_letter
            || !has_prefix(&|start| is_costly_prefix(start) && digits(start) < MANY_DIGITS)
        {
            LOADED_BEFORE_RARE_QUERY
        } else {
            LOADED_BEFORE_CERTAIN_QUERY
        };
        let read_unless =
            |is_useless: bool, expr: &FtsExpr| (!is_useless).then(|| read_ahead(expr));
        let is_nothing = |expr: &FtsExpr| *expr == FtsExpr::Nothing;
        Self {
            text,
            is_impossible: is_nothing(&possible),
            known: read_unless(is_nothing(&known) || known == searched.certain, &known),
            probable: read_unless(
                is_exact || possible == searched.possible,
                &searched.possible,
            ),
            certain: read_unless(is_nothing(&searched.certain), &searched.certain),
            possible: read_unless(
                possible == FtsExpr::All || possible == searched.certain,
                &possible,
            ),
            is_exact,
            loads_left,
        }
    }

    /// Whether the body has this text; `None` if it must be loaded.
    fn is_in(&mut self, rowid: i64) -> Result<Option<bool>> {
        if self.is_impossible || is_in(&mut self.possible, rowid)? == Some(false) {
            return Ok(Some(false));
        }
        if is_in(&mut self.known, rowid)? == Some(true) {
            return Ok(Some(true));
        }
        if self.loads_left > 0 {
            self.loads_left -= 1;
            return Ok(None);
        }
        if is_in(&mut self.probable, rowid)? == Some(false) {
            return Ok(Some(false));
        }
        let is_contained = is_in(&mut self.certain, rowid)?;
        Ok(is_contained.filter(|is_contained| *is_contained || self.is_exact))
    }
}

/// Whether a body is among those of a list; `None` without one.
fn is_in(matches: &mut Option<ReadAhead<'_>>, rowid: i64) -> Result<Option<bool>> {
    let found = matches.as_mut().map(|matches| matches.contains(rowid));
    found.transpose()
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
            match_text: expr.to_match_text(connection),
            rowids: VecDeque::new(),
            batch_size: FIRST_BATCH,
            is_end: false,
        }
    }

    /// Whether a rowid matches. Rowids must come in the direction of the scan.
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
        let sql = ROWIDS_FROM.get(self.direction);
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![rowid, self.match_text])?;
        while self.rowids.len() < self.batch_size {
            let Some(row) = rows.next()? else {
                self.is_end = true;
                break;
            };
            self.rowids.push_back(row.get()?);
        }
        self.batch_size = (self.batch_size * 8).min(MAX_BATCH);
        Ok(())
    }
}
