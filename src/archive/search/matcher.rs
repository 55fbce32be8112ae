//! Stage 4, the matcher: loads a candidate and checks whether it matches.
//!
//! Loading a body is the costly part, so what a body contains is looked up in the index first
//! ([`super::body_lookup`]).

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use rusqlite::ToSql as _;
use rusqlite::types::ToSqlOutput;

use super::body_lookup::{BodyLookup, LOADED_BEFORE_CERTAIN_QUERY, ReadAhead};
use super::fts_engine::fts_engine;
use super::fts_expr::FtsExpr;
use super::index::{ROWID_BY_KEY, listed_reason};
use super::plan::{BodyDependency, Plan, single_words};
use super::tokens::{RetrievedTexts, encode_token, prefix};
use crate::api::wire;
use crate::archive::SortKey;
use crate::archive::codec::body::{BodyDictionary, CompressedBody};
use crate::archive::listing::Direction;
use crate::archive::storage::db::{Connection, parameter_marks};
use crate::archive::window::{self, EmailRow};
use crate::error::Result;
use crate::query::{BodyTexts, EmailDocument, Query, matches};

/// With fewer bodies, to start another thread takes as long as to compare them.
const LEAST_FOR_A_THREAD: usize = 8;

pub(super) struct RowMatcher<'a> {
    connection: &'a Connection,
    query: &'a Query,
    plan: &'a Plan,
    /// The texts of the query; `None` if it depends on more of bodies.
    body_lookup: Option<BodyLookup<'a>>,
    /// The matches that the index knows, for a query that depends on more of bodies.
    certain: Option<ReadAhead<'a>>,
    bodies_loaded: usize,
    /// Rows that were loaded together, until they are matched.
    loaded: HashMap<SortKey, LoadedRow>,
}

/// A row of a server with what its body is matched by.
struct LoadedRow {
    row: EmailRow,
    /// The words of the query that the body contains, if they are all that the query
    /// depends on.
    words: Option<String>,
    /// Whether it matches, if its body has been compared.
    is_match: Option<Result<bool>>,
}

impl From<EmailRow> for LoadedRow {
    fn from(row: EmailRow) -> Self {
        Self {
            row,
            words: None,
            is_match: None,
        }
    }
}

impl<'a> RowMatcher<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        query: &'a Query,
        plan: &'a Plan,
        direction: Direction,
    ) -> Self {
        let (mut body_lookup, mut certain) = (None, None);
        if fts_engine(connection).is_ordered {
            let read_ahead = |expr: &FtsExpr| ReadAhead::new(connection, direction, expr);
            body_lookup = BodyLookup::new(plan, read_ahead);
            if body_lookup.is_none() && plan.certain != FtsExpr::Nothing {
                certain = Some(read_ahead(&plan.certain));
            }
        }
        Self {
            connection,
            query,
            plan,
            body_lookup,
            certain,
            bodies_loaded: 0,
            loaded: HashMap::new(),
        }
    }

    /// Loads the rows at some keys together, where each request takes long.
    pub(super) fn load_rows(&mut self, keys: &[SortKey]) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        self.loaded.clear();
        let (marks, params) = key_params(keys);
        let query = window::by_keys(&marks);
        let rows = self.connection.all(&query, params, window::read_row)?;
        let loaded = rows.into_iter().map(LoadedRow::from);
        self.loaded = loaded.map(|it| (it.row.sort_key, it)).collect();
        let is_open = |key: &SortKey| {
            let loaded = self.loaded.get(key);
            loaded.is_some_and(|it| self.match_without_body(&it.row).is_none())
        };
        let open: Vec<SortKey> = keys.iter().copied().filter(is_open).collect();
        if open.is_empty() {
            return Ok(());
        }
        match single_words(self.query) {
            Some(words) => self.load_words(words, &open),
            None => self.match_bodies(&open),
        }
    }

    /// Looks up which of the words the bodies of loaded rows contain.
    fn load_words(&mut self, words: Vec<String>, keys: &[SortKey]) -> Result<()> {
        let marks = parameter_marks(2, keys.len());
        let query = format!(
            "SELECT sort_key FROM mail JOIN search ON search.rowid = mail.fts_rowid WHERE search MATCH ?1 AND sort_key IN ({marks})"
        );
        for key in keys {
            if let Some(row) = self.loaded.get_mut(key) {
                row.words = Some(String::new());
            }
        }
        for word in words {
            let token = FtsExpr::Prefix(encode_token(prefix::WORD, word.chars()));
            let mut params = vec![ToSqlOutput::from(token.to_match_text(self.connection))];
            for key in keys {
                params.push(key.to_sql()?);
            }
            let found: Vec<SortKey> = self.connection.values(&query, params)?;
            for key in found {
                let words = self.loaded.get_mut(&key).and_then(|row| row.words.as_mut());
                if let Some(words) = words {
                    words.push_str(&word);
                    words.push(' ');
                }
            }
        }
        Ok(())
    }

    /// Compares the bodies of loaded rows:
    /// on all processors, since to extract the text of html takes longest.
    fn match_bodies(&mut self, keys: &[SortKey]) -> Result<()> {
        let (Some(newest), Some(oldest)) = (keys.iter().max(), keys.iter().min()) else {
            return Ok(());
        };
        let (marks, mut params) = key_params(keys);
        let next = params.len() + 1;
        // The bounds say which partitions are read; the tables store keys negated.
        let query = format!(
            "SELECT sort_key, json, dictionary_id FROM body WHERE sort_key IN ({marks}) AND sort_key BETWEEN ?{next} AND ?{}",
            next + 1
        );
        params.extend([*newest, *oldest]);
        let bodies: Vec<(SortKey, _)> = self.connection.all(&query, params, |row| {
            Ok((row.get()?, CompressedBody::read(row)?))
        })?;
        let mut pairs = Vec::with_capacity(bodies.len());
        for (key, body) in bodies {
            if let (Some(loaded), Some(body)) = (self.loaded.get(&key), body) {
                let dictionary = body.dictionary(self.connection)?;
                pairs.push((&loaded.row, body, dictionary));
            }
        }
        let query = self.query;
        let match_all = |pairs: &[(&EmailRow, CompressedBody, BodyDictionary)]| {
            let pairs = pairs.iter().map(|(row, body, dictionary)| {
                let email = body.to_email_with(dictionary);
                let is_match = email.map(|email| match_email(query, row, &email));
                (row.sort_key, is_match)
            });
            pairs.collect::<Vec<_>>()
        };
        let threads = available_parallelism().map_or(1, usize::from);
        let size = pairs.len().div_ceil(threads).max(LEAST_FOR_A_THREAD);
        // This thread waits: a system may let threads that are started take turns with the one that
        // starts them.
        let results: Vec<_> = thread::scope(|scope| {
            let spawn = |part| scope.spawn(move || match_all(part));
            let running: Vec<_> = pairs.chunks(size).map(spawn).collect();
            let join = |it: thread::ScopedJoinHandle<'_, _>| {
                it.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            running.into_iter().flat_map(join).collect()
        });
        for (key, is_match) in results {
            if let Some(row) = self.loaded.get_mut(&key) {
                row.is_match = Some(is_match);
            }
        }
        Ok(())
    }

    /// Takes all further candidates for emails that the index does not know as matches.
    pub(super) fn expect_uncertain(&mut self) {
        self.certain = None;
    }

    /// Loads the row if it matches. Keys must come in the direction of the scan.
    pub(super) fn match_row(&mut self, key: SortKey) -> Result<Option<EmailRow>> {
        let loaded = match self.loaded.remove(&key) {
            Some(row) => Some(row),
            None => self
                .connection
                .optional(window::BY_KEY, [key], window::read_row)?
                .map(LoadedRow::from),
        };
        let Some(mut loaded) = loaded else {
            return Ok(None);
        };
        let is_match = match loaded.is_match.take() {
            Some(is_match) => is_match?,
            None => self.is_match(&loaded)?,
        };
        Ok(is_match.then_some(loaded.row))
    }

    /// Whether an email matches; `None` if that depends on its body.
    fn match_without_body(&self, row: &EmailRow) -> Option<bool> {
        let listed_reason = listed_reason(&row.summary);
        let result = matches(self.query, &document(row, listed_reason.as_deref()));
        let is_final = match self.plan.body_dependency {
            BodyDependency::Never => true,
            BodyDependency::IfUnknown => result.is_some(),
            BodyDependency::UnlessMatched => result == Some(true),
            BodyDependency::Always => false,
        };
        (is_final || !row.has_body).then_some(result == Some(true))
    }

    fn is_match(&mut self, loaded: &LoadedRow) -> Result<bool> {
        let row = &loaded.row;
        if let Some(is_match) = self.match_without_body(row) {
            return Ok(is_match);
        }
        let listed_reason = listed_reason(&row.summary);
        let mut document = document(row, listed_reason.as_deref());
        let is_indexed = !self.plan.incomplete.contains(&row.sort_key);
        let texts = match (&loaded.words, &mut self.body_lookup) {
            _ if !is_indexed => None,
            (Some(words), _) => Some(words.clone()),
            (None, Some(lookup)) => match find_rowid(self.connection, row.sort_key)? {
                Some(rowid) => lookup.texts_in(rowid)?,
                None => None,
            },
            (None, None) => None,
        };
        if let Some(text) = texts {
            document.bodies = Some(BodyTexts {
                text: Some(&text),
                html: None,
                extract_text: str::to_owned,
            });
            return Ok(matches(self.query, &document) == Some(true));
        }
        if let (Some(certain), true) = (&mut self.certain, is_indexed)
            && self.bodies_loaded >= LOADED_BEFORE_CERTAIN_QUERY
            && let Some(rowid) = find_rowid(self.connection, row.sort_key)?
            && certain.contains(rowid)?
        {
            return Ok(true);
        }
        self.bodies_loaded += 1;
        let Some(body) = CompressedBody::load(self.connection, row.sort_key)? else {
            return Ok(matches(self.query, &document) == Some(true));
        };
        let email = body.to_email(self.connection)?;
        Ok(match_email(self.query, row, &email))
    }
}

/// Returns the marks of parameters, separated by commas, and the keys for them.
/// They are of few lengths, so that few statements are prepared: keys come again at the end.
fn key_params(keys: &[SortKey]) -> (String, Vec<SortKey>) {
    let length = keys.len().next_power_of_two();
    let params = keys.iter().copied().cycle().take(length);
    (parameter_marks(1, length), params.collect())
}

fn match_email(query: &Query, row: &EmailRow, email: &wire::Email) -> bool {
    let listed_reason = listed_reason(&row.summary);
    let retrieved = RetrievedTexts::from_email(email);
    let reason = retrieved.reason();
    let mut document = document(row, listed_reason.as_deref());
    document.bodies = Some(retrieved.bodies());
    document.tags = Some(&retrieved.tags);
    document.reason = document.reason.or(Some(&reason));
    matches(query, &document) == Some(true)
}

/// The fields of an email that the list has.
fn document<'a>(row: &'a EmailRow, listed_reason: Option<&'a str>) -> EmailDocument<'a> {
    EmailDocument {
        summary: &row.summary,
        bodies: None,
        tags: None,
        reason: listed_reason,
        seen_change: row.last_change.as_ref().map(|change| change.seen),
        is_missing_upstream: row.missing_since.is_some(),
    }
}

fn find_rowid(connection: &Connection, key: SortKey) -> Result<Option<i64>> {
    connection.optional_value(ROWID_BY_KEY, [key])
}
