//! What a screen asks of the archive: the rows around a place, found by key and never by counting.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};

use super::confirmed::{self, confirmed_at};
use super::fields::{self, Fields, columns, summary_columns};
use super::gone::{Gone, end_if_gone};
use super::{Archive, Place, pack};
use crate::failure::Failure;
use crate::mail::{EmailId, Finality, Status, Summary};

/// One email of the archive, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it stands.
    pub place: Place,
    /// What the list shows. In a window it is shortened ([`Summary::shorten`]).
    pub summary: Summary,
    /// How many recipients it has, of whom a window names the first.
    pub to_count: usize,
    /// The latest change of its status that was observed; `None` if it never changed since it was
    /// first seen.
    pub changed: Option<Observation>,
    /// Whether its bodies are in the archive.
    pub has_body: bool,
    /// That the service does not have it any more; `None` as long as it does, or if it is only in doubt.
    pub gone: Option<Gone>,
    /// When a request was sent whose answer confirmed the status; `None` if the service never did.
    pub confirmed: Option<Timestamp>,
}

impl Row {
    /// Whether its status can still change. That of an email that the service does not have any more cannot.
    #[must_use]
    pub fn finality(&self, now: Timestamp) -> Finality {
        let age = now.duration_since(self.summary.created.at.unwrap_or(now));
        if self.gone.is_some() {
            Finality::Final
        } else {
            self.summary.status.finality(age)
        }
    }
}

/// A status and when it was first seen, which is later than when it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The status.
    pub status: Status,
    /// When it was first seen.
    pub seen: Timestamp,
}

/// Where a window is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// From the newest email on.
    Newest,
    /// Up to the oldest email.
    Oldest,
    /// Next to this place, newer than it, itself excluded.
    Above(Place),
    /// Next to this place, older than it, itself excluded.
    Below(Place),
    /// Around this place, with so many rows above it.
    Around {
        /// The place; if no email stands there any more, the next older one takes its part.
        place: Place,
        /// How many rows above it.
        above: usize,
    },
    /// From the newest email at or before this time (microseconds since 1970) on.
    At(i64),
}

/// A stretch of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// The rows, newest first.
    pub rows: Vec<Row>,
    /// Whether newer emails exist.
    pub more_above: bool,
    /// Whether older emails exist.
    pub more_below: bool,
}

/// The columns of a row and the tables they come from.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT mail.place, seen, changes, EXISTS (SELECT 1 FROM body WHERE body.place = mail.place), \
             ",
            summary_columns!(),
            ", iif(listed, NULL, gone), ",
            end_if_gone!(),
            ", ",
            confirmed_at!(),
            " FROM mail ",
            $rest
        )
    };
}

pub(super) const BELOW: &str = select!("WHERE mail.place > ?1 ORDER BY mail.place LIMIT ?2");
pub(super) const ABOVE: &str = select!("WHERE mail.place < ?1 ORDER BY mail.place DESC LIMIT ?2");
pub(super) const BY_ID: &str = select!("WHERE id = ?1");
pub(super) const AT: &str = select!("WHERE mail.place = ?1");
pub(super) const ANY_ABOVE: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE place < ?1)";
pub(super) const ANY_BELOW: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE place > ?1)";
pub(super) const ALL: &str = "SELECT emails FROM tally";
pub(super) const NEWER: &str = "SELECT count(*) FROM mail WHERE slot <= (SELECT slot FROM mail WHERE place < ?1 ORDER BY place DESC LIMIT 1)";
pub(super) const OBSERVED: &str = "SELECT observed.last_event, observed.seen FROM observed JOIN mail USING (place) WHERE id = ?1 ORDER BY nth";

/// One past either end of the list.
pub(super) const TOP: Place = Place(i64::MAX);
pub(super) const BOTTOM: Place = Place(i64::MIN);

impl Archive {
    /// At most `rows` rows at `anchor`. A window at an end of the list is filled from the other side.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn window(&self, anchor: &Anchor, rows: usize) -> Result<Window, Failure> {
        self.connections.read(|connection| {
            let rows = match *anchor {
                Anchor::Newest => below(connection, TOP, rows)?,
                Anchor::Oldest => above(connection, BOTTOM, rows)?,
                Anchor::Above(place) => above(connection, place, rows)?,
                Anchor::Below(place) => below(connection, place, rows)?,
                Anchor::Around { place, above } => around(connection, place, above, rows)?,
                Anchor::At(micros) => around(connection, Place::last_of(micros), 0, rows)?,
            };
            let exists = |sql: &str, row: Option<&Row>| match row {
                Some(row) => connection
                    .prepare_cached(sql)?
                    .query_row([row.place], |row| row.get(0)),
                None => Ok(false),
            };
            Ok(Window {
                more_above: exists(ANY_ABOVE, rows.first())?,
                more_below: exists(ANY_BELOW, rows.last())?,
                rows,
            })
        })
    }

    /// How many emails there are.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn count(&self) -> Result<u64, Failure> {
        self.connections
            .read(|connection| count(connection, ALL, []))
    }

    /// How many emails are newer than `place`. Walks all of them: not for the hot path.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn rank(&self, place: Place) -> Result<u64, Failure> {
        self.connections
            .read(|connection| count(connection, NEWER, [place]))
    }

    /// The row of one email, if the archive has it.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn row(&self, id: &EmailId) -> Result<Option<Row>, Failure> {
        self.connections.read(|connection| by_id(connection, id))
    }

    /// Every status that was seen of an email, oldest first; empty if the archive does not have it.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn history(&self, id: &EmailId) -> Result<Vec<Observation>, Failure> {
        self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(OBSERVED)?;
            let earlier = statement.query_map([pack::id(id.as_str())], |row| {
                Ok(observation(row.get(0)?, row.get(1)?))
            })?;
            let mut history: Vec<Observation> = earlier.collect::<Result<_, _>>()?;
            let now = "SELECT last_event, seen FROM mail WHERE id = ?1";
            let now = connection
                .prepare_cached(now)?
                .query_row([pack::id(id.as_str())], |row| {
                    Ok(observation(row.get(0)?, row.get(1)?))
                })
                .optional()?;
            history.extend(now);
            Ok(history)
        })
    }

    /// The JSON of an email's summary, as the service sent it: the same members in the same order
    /// with equal values.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn summary_json(&self, id: &EmailId) -> Result<Option<String>, Failure> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM mail JOIN shape USING (shape) WHERE id = ?1"
        );
        self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let fields = statement
                .query_row([pack::id(id.as_str())], |row| Fields::load(row, 0))
                .optional()?;
            Ok(fields.map(|fields| fields.json()))
        })
    }
}

/// The row of one email.
pub(super) fn by_id(connection: &Connection, id: &EmailId) -> Result<Option<Row>, Failure> {
    Ok(connection
        .prepare_cached(BY_ID)?
        .query_row([pack::id(id.as_str())], read)
        .optional()?)
}

/// A status as it is stored.
pub(super) fn observation(last_event: Option<String>, seen: i64) -> Observation {
    Observation {
        status: Status::parse(&last_event.unwrap_or_default()),
        seen: Timestamp::from_microsecond(seen).unwrap_or_default(),
    }
}

/// Newest first, older than `place`.
fn below(connection: &Connection, place: Place, rows: usize) -> Result<Vec<Row>, Failure> {
    let mut statement = connection.prepare_cached(BELOW)?;
    Ok(statement
        .query_map(params![place, limit(rows)], read_short)?
        .collect::<Result<_, _>>()?)
}

/// Newest first, the nearest ones that are newer than `place`.
fn above(connection: &Connection, place: Place, rows: usize) -> Result<Vec<Row>, Failure> {
    let mut statement = connection.prepare_cached(ABOVE)?;
    let mut found: Vec<Row> = statement
        .query_map(params![place, limit(rows)], read_short)?
        .collect::<Result<_, _>>()?;
    found.reverse();
    Ok(found)
}

fn around(
    connection: &Connection,
    place: Place,
    lead: usize,
    rows: usize,
) -> Result<Vec<Row>, Failure> {
    let edge = place.above();
    let lead = lead.min(rows.saturating_sub(1));
    let older = below(connection, edge, rows - lead)?;
    let mut found = above(connection, edge.below(), rows - older.len())?;
    found.extend(older);
    if found.len() < rows
        && let Some(last) = found.last().map(|row| row.place)
    {
        found.extend(below(connection, last, rows - found.len())?);
    }
    Ok(found)
}

/// A row of a `select!`.
pub(super) fn read(row: &SqlRow) -> rusqlite::Result<Row> {
    let (seen, changes): (i64, i64) = (row.get(1)?, row.get(2)?);
    let summary = fields::summary(row, 4)?;
    let changed = (changes > 0).then(|| observation(summary.last_event.clone(), seen));
    let place = row.get(0)?;
    let gone = Gone::of(place, row.get(16)?, row.get(17)?);
    let (confirmed, to_count) = (
        confirmed::time(row.get(18)?),
        summary.to.as_ref().map_or(0, Vec::len),
    );
    Ok(Row {
        place,
        changed,
        has_body: row.get(3)?,
        gone,
        confirmed,
        to_count,
        summary: Summary::from(&summary),
    })
}

/// The same as a window holds it.
fn read_short(row: &SqlRow) -> rusqlite::Result<Row> {
    let mut row = read(row)?;
    row.summary.shorten();
    Ok(row)
}

fn count(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<u64, Failure> {
    let count: i64 = connection.query_row(sql, params, |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
