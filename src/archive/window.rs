//! Windows onto the list: rows around a position, found by key and never by counting.

use jiff::Timestamp;
use rusqlite::{Connection, Row as SqlRow, params};

use super::codec::id as id_codec;
use super::codec::row::{self, RowFields, row_columns, summary_columns};
use super::listing::confirmations::{self, confirmed_at};
use super::listing::deletions::{MissingUpstream, listing_end_if_missing};
use super::storage::sql;
use super::{Archive, SortKey};
use crate::error::Error;
use crate::mail::{EmailId, Finality, Status, Summary};

/// One email of the archive, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailRow {
    /// Its position in the list.
    pub sort_key: SortKey,
    /// What the list shows; shortened in a window ([`Summary::truncate_for_list`]).
    pub summary: Summary,
    /// How many recipients it has; a window lists only the first ones.
    pub(crate) to_count: usize,
    /// The latest change of its status; `None` if the status never changed since it was first seen.
    pub(crate) last_change: Option<ObservedStatus>,
    /// Whether its bodies are in the archive.
    pub(crate) has_body: bool,
    /// Set if the service no longer has it; `None` too while the deletion is unconfirmed.
    pub(crate) missing: Option<MissingUpstream>,
    /// When the latest request was sent whose response confirmed the status.
    pub(crate) confirmed_at: Option<Timestamp>,
}

impl EmailRow {
    /// Whether its status can still change. An email that is missing upstream is final.
    pub(crate) fn finality(&self, now: Timestamp) -> Finality {
        let age = now.duration_since(self.summary.created.parsed.unwrap_or(now));
        if self.missing.is_some() {
            Finality::Final
        } else {
            self.summary.status.finality(age)
        }
    }
}

/// A status and when it was first seen, which is later than when it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedStatus {
    /// The status.
    pub(crate) status: Status,
    /// When it was first seen.
    pub(crate) seen: Timestamp,
}

/// Where a window begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowAnchor {
    /// From the newest email on.
    Newest,
    /// Up to the oldest email.
    Oldest,
    /// Above this key, without it.
    Above(SortKey),
    /// Below this key, without it.
    Below(SortKey),
    /// Around this key, with so many rows above it.
    Around {
        /// The key; if no email has it any more, the next older one is used.
        sort_key: SortKey,
        /// How many rows above it.
        above: usize,
    },
    /// From the newest email at or before this time (microseconds since 1970) on.
    AtTime(i64),
}

/// A part of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowWindow {
    /// The rows, newest first.
    pub rows: Vec<EmailRow>,
    /// Whether newer emails exist.
    pub(crate) more_above: bool,
    /// Whether older emails exist.
    pub(crate) more_below: bool,
}

/// The columns of a row and the tables that they come from.
macro_rules! select_rows {
    ($rest:literal) => {
        concat!(
            "SELECT mail.sort_key, status_seen_at, status_changes, EXISTS (SELECT 1 FROM body WHERE body.sort_key = mail.sort_key), \
             ",
            summary_columns!(),
            ", iif(listed, NULL, missing_since), ",
            listing_end_if_missing!(),
            ", ",
            confirmed_at!(),
            " FROM mail ",
            $rest
        )
    };
}

pub(crate) const BELOW: &str =
    select_rows!("WHERE mail.sort_key > ?1 ORDER BY mail.sort_key LIMIT ?2");
pub(crate) const ABOVE: &str =
    select_rows!("WHERE mail.sort_key < ?1 ORDER BY mail.sort_key DESC LIMIT ?2");
pub(crate) const BY_ID: &str = select_rows!("WHERE id = ?1");
pub(crate) const BY_KEY: &str = select_rows!("WHERE mail.sort_key = ?1");
pub(crate) const ANY_ABOVE: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key < ?1)";
pub(crate) const ANY_BELOW: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key > ?1)";
pub(crate) const COUNT_ALL: &str = "SELECT emails FROM row_counts";
pub(crate) const COUNT_NEWER: &str = "SELECT count(*) FROM mail WHERE fts_rowid <= (SELECT fts_rowid FROM mail WHERE sort_key < ?1 ORDER BY sort_key DESC LIMIT 1)";
pub(crate) const OBSERVED: &str = "SELECT status_history.last_event, status_history.seen_at FROM status_history JOIN mail USING (sort_key) WHERE id = ?1 ORDER BY seq";

/// One past either end of the list.
pub(crate) const TOP: SortKey = SortKey(i64::MAX);
pub(crate) const BOTTOM: SortKey = SortKey(i64::MIN);

impl Archive {
    /// Loads at most `rows` rows at `anchor`. A window at an end of the list is filled from the other side.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn window(&self, anchor: &WindowAnchor, rows: usize) -> Result<RowWindow, Error> {
        self.connections.read(|connection| {
            let rows = match *anchor {
                WindowAnchor::Newest => load_below(connection, TOP, rows)?,
                WindowAnchor::Oldest => load_above(connection, BOTTOM, rows)?,
                WindowAnchor::Above(key) => load_above(connection, key, rows)?,
                WindowAnchor::Below(key) => load_below(connection, key, rows)?,
                WindowAnchor::Around {
                    sort_key: key,
                    above,
                } => load_around(connection, key, above, rows)?,
                WindowAnchor::AtTime(micros) => {
                    load_around(connection, SortKey::newest_at(micros), 0, rows)?
                }
            };
            let exists = |query: &str, row: Option<&EmailRow>| {
                row.map_or(Ok(false), |row| {
                    sql::value(connection, query, [row.sort_key])
                })
            };
            Ok(RowWindow {
                more_above: exists(ANY_ABOVE, rows.first())?,
                more_below: exists(ANY_BELOW, rows.last())?,
                rows,
            })
        })
    }

    /// Counts all emails.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn query_count(&self) -> Result<u64, Error> {
        self.connections
            .read(|connection| sql::value(connection, COUNT_ALL, []))
            .map(i64::unsigned_abs)
    }

    /// Counts the emails that are newer than `key`. Reads all of them: not for the hot path.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn rank(&self, key: SortKey) -> Result<u64, Error> {
        self.connections
            .read(|connection| sql::value(connection, COUNT_NEWER, [key]))
            .map(i64::unsigned_abs)
    }

    /// Loads the row of one email, if the archive has it.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn row(&self, id: &EmailId) -> Result<Option<EmailRow>, Error> {
        self.connections.read(|connection| load_row(connection, id))
    }

    /// Loads every status that was seen of an email, oldest first; empty if the archive does not have it.
    pub(crate) fn history(&self, id: &EmailId) -> Result<Vec<ObservedStatus>, Error> {
        self.connections.read(|connection| {
            let params = || [id_codec::encode_id(id.as_str())];
            let read = |row: &SqlRow| Ok(observed_status(row.get(0)?, row.get(1)?));
            let mut history = sql::all(connection, OBSERVED, params(), read)?;
            let now = "SELECT last_event, status_seen_at FROM mail WHERE id = ?1";
            history.extend(sql::optional(connection, now, params(), read)?);
            Ok(history)
        })
    }

    /// Returns the JSON of an email's summary as the service sent it: the same members in the same order
    /// with equal values.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn summary_json(&self, id: &EmailId) -> Result<Option<String>, Error> {
        let query = concat!(
            "SELECT ",
            row_columns!(),
            " FROM mail JOIN key_order USING (key_order_id) WHERE id = ?1"
        );
        self.connections.read(|connection| {
            let params = [id_codec::encode_id(id.as_str())];
            let fields =
                sql::optional(connection, query, params, |row| RowFields::from_row(row, 0))?;
            Ok(fields.map(|fields| fields.to_json()))
        })
    }
}

/// Loads the row of one email.
pub(crate) fn load_row(connection: &Connection, id: &EmailId) -> Result<Option<EmailRow>, Error> {
    let params = [id_codec::encode_id(id.as_str())];
    sql::optional(connection, BY_ID, params, read_row)
}

/// Converts a status from its columns.
pub(crate) fn observed_status(last_event: Option<String>, seen_at: i64) -> ObservedStatus {
    ObservedStatus {
        status: Status::parse(&last_event.unwrap_or_default()),
        seen: Timestamp::from_microsecond(seen_at).unwrap_or_default(),
    }
}

/// Loads rows that are older than `key`, newest first.
fn load_below(connection: &Connection, key: SortKey, rows: usize) -> Result<Vec<EmailRow>, Error> {
    let params = params![key, to_limit(rows)];
    sql::all(connection, BELOW, params, read_short_row)
}

/// Loads the nearest rows that are newer than `key`, newest first.
fn load_above(connection: &Connection, key: SortKey, rows: usize) -> Result<Vec<EmailRow>, Error> {
    let params = params![key, to_limit(rows)];
    let mut found = sql::all(connection, ABOVE, params, read_short_row)?;
    found.reverse();
    Ok(found)
}

fn load_around(
    connection: &Connection,
    key: SortKey,
    lead: usize,
    rows: usize,
) -> Result<Vec<EmailRow>, Error> {
    let edge = key.next_newer();
    let lead = lead.min(rows.saturating_sub(1));
    let older = load_below(connection, edge, rows - lead)?;
    let mut found = load_above(connection, edge.next_older(), rows - older.len())?;
    found.extend(older);
    if found.len() < rows
        && let Some(last) = found.last().map(|row| row.sort_key)
    {
        found.extend(load_below(connection, last, rows - found.len())?);
    }
    Ok(found)
}

/// Reads a row of [`select_rows!`].
pub(crate) fn read_row(row: &SqlRow) -> rusqlite::Result<EmailRow> {
    let (seen_at, changes): (i64, i64) = (row.get(1)?, row.get(2)?);
    let summary = row::read_summary(row, 4)?;
    let key = row.get(0)?;
    Ok(EmailRow {
        sort_key: key,
        last_change: (changes > 0).then(|| observed_status(summary.last_event.clone(), seen_at)),
        has_body: row.get(3)?,
        missing: MissingUpstream::from_columns(key, row.get(16)?, row.get(17)?),
        confirmed_at: confirmations::to_timestamp(row.get(18)?),
        to_count: summary.to.as_ref().map_or(0, Vec::len),
        summary: Summary::from(&summary),
    })
}

/// Reads a row and shortens it for a window.
fn read_short_row(row: &SqlRow) -> rusqlite::Result<EmailRow> {
    let mut row = read_row(row)?;
    row.summary.truncate_for_list();
    Ok(row)
}

fn to_limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
