//! When the service confirmed each status: runs over sort keys, one for a page and not one for a row.
//!
//! A run speaks for the listed rows within it. A row that was imported, or retrieved by its id alone,
//! is not listed and inherits nothing; a row that moves keeps its own time (see the trigger in
//! `schema.sql`), and the run that it arrives in confirms nothing any more. Every listed row lies in some
//! run, so that the runs tell what to read again.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{Archive, RequestTime, SortKey, id_codec};
use crate::error::Error;
use crate::mail::{EmailId, Finality, Status};

/// Runs that were requested within this time merge, with the older time.
const MERGE_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// More runs than this are not kept: the oldest merge with a neighbour.
const MAX_RUNS: i64 = 4096;

/// One run of rows that were confirmed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfirmedRun {
    /// Sort key of its newest row.
    pub(crate) top: SortKey,
    /// Sort key of its oldest row.
    pub(crate) bottom: SortKey,
    /// When the oldest of its requests was sent.
    pub(crate) at: Timestamp,
    /// Whether it may hold a status that is not final.
    pub(crate) may_change: bool,
    /// The number of the oldest of its answers.
    response_seq: i64,
}

pub(super) const RUNS: &str =
    "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run ORDER BY top";
pub(super) const OVERLAPPING: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top <= ?2 \
    AND top >= ifnull((SELECT max(top) FROM confirmed_run WHERE top < ?1), ?1) AND bottom >= ?1 ORDER BY top";
pub(super) const NEXT_RUN_ABOVE: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top < ?1 ORDER BY top DESC LIMIT 1";
pub(super) const NEXT_RUN_BELOW: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top > ?1 ORDER BY top LIMIT 1";
const OLDEST_RUN: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run ORDER BY requested_at LIMIT 1";
pub(super) const LISTED_BETWEEN: &str =
    "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key > ?1 AND sort_key < ?2 AND listed)";
pub(super) const LISTED_FROM: &str = "SELECT sort_key, last_event FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed ORDER BY sort_key";

/// When the row of `mail` was confirmed, as an SQL expression: by its run or by an answer of its own.
macro_rules! confirmed_at {
    () => {
        "nullif(max(ifnull(confirmed_at, 0), iif(listed, ifnull((SELECT iif(run.bottom >= mail.sort_key, run.requested_at, 0) FROM confirmed_run AS run \
         WHERE run.top <= mail.sort_key ORDER BY run.top DESC LIMIT 1), 0), 0)), 0)"
    };
}
pub(super) use confirmed_at;

/// The number of the newest answer that has written or confirmed the row of `mail`, as an SQL expression.
macro_rules! latest_response_seq {
    () => {
        "max(response_seq, iif(listed, ifnull((SELECT iif(run.bottom >= mail.sort_key, run.response_seq, 0) FROM confirmed_run AS run \
         WHERE run.top <= mail.sort_key ORDER BY run.top DESC LIMIT 1), 0), 0))"
    };
}
pub(super) use latest_response_seq;

impl Archive {
    /// All runs, newest first.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn confirmed_runs(&self) -> Result<Vec<ConfirmedRun>, Error> {
        self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(RUNS)?;
            Ok(statement
                .query_map([], run_from_row)?
                .collect::<Result<_, _>>()?)
        })
    }

    /// When a request for the newest page was sent that was answered last; `None` if none was.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn head_at(&self) -> Result<Option<Timestamp>, Error> {
        self.connections.read(|connection| {
            let at: Option<i64> =
                connection.query_row("SELECT head_requested_at FROM listing", [], |row| {
                    row.get(0)
                })?;
            Ok(at.and_then(|at| Timestamp::from_microsecond(at).ok()))
        })
    }

    /// The newest listed row from `top` down to `bottom` whose status is not final at `now`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn first_changeable(
        &self,
        top: SortKey,
        bottom: SortKey,
        now: Timestamp,
    ) -> Result<Option<SortKey>, Error> {
        self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(LISTED_FROM)?;
            let mut rows = statement.query([top, bottom])?;
            while let Some(row) = rows.next()? {
                let (place, last_event): (SortKey, Option<String>) = (row.get(0)?, row.get(1)?);
                if may_change(last_event.as_deref(), place, now) {
                    return Ok(Some(place));
                }
            }
            Ok(None)
        })
    }

    /// The newest row in doubt: a retrieve said that it does not exist, and no page has confirmed that.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn first_unconfirmed_deletion(&self) -> Result<Option<SortKey>, Error> {
        self.connections.read(|connection| {
            let sql =
                "SELECT sort_key FROM mail WHERE missing_since IS NOT NULL AND listed ORDER BY sort_key LIMIT 1";
            Ok(connection
                .prepare_cached(sql)?
                .query_row([], |row| row.get(0))
                .optional()?)
        })
    }

    /// Emails that no page has placed, although the service has answered with them, and when it did last;
    /// the oldest answers first, at most `most`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn unlisted_emails(&self, most: u32) -> Result<Vec<(EmailId, ConfirmedRun)>, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT id, sort_key, confirmed_at, last_event FROM mail \
                       WHERE listed = 0 AND missing_since IS NULL AND confirmed_at IS NOT NULL ORDER BY confirmed_at LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([most], |row| {
                let (place, at): (SortKey, Option<Timestamp>) = (row.get(1)?, to_timestamp(row.get(2)?));
                let at = at.unwrap_or_default();
                // Final or not is a question of its age when it was confirmed, or of today: of the younger one.
                let open = may_change(row.get::<_, Option<String>>(3)?.as_deref(), place, at);
                Ok((EmailId::new(id_codec::decode_id(row.get_ref(0)?)), ConfirmedRun { top: place, bottom: place, at, may_change: open, response_seq: 0 }))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// How many listed rows lie between two sort keys, both included, as far as `most`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn count_listed(
        &self,
        top: SortKey,
        bottom: SortKey,
        most: u32,
    ) -> Result<u32, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT count(*) FROM (SELECT 1 FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed LIMIT ?3)";
            Ok(connection.prepare_cached(sql)?.query_row(params![top, bottom, most], |row| row.get(0))?)
        })
    }

    /// The listed row `steps` rows above `place`, not above `ceiling`: the nearest one that there is.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn listed_above(
        &self,
        place: SortKey,
        ceiling: SortKey,
        steps: u32,
    ) -> Result<SortKey, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT min(sort_key) FROM \
                       (SELECT sort_key FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed ORDER BY sort_key DESC LIMIT ?3)";
            let found: Option<SortKey> = connection.prepare_cached(sql)?.query_row(params![place, ceiling, steps + 1], |row| row.get(0))?;
            Ok(found.unwrap_or(place))
        })
    }

    /// The newest listed row from `top` down to `bottom`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn first_listed(
        &self,
        top: SortKey,
        bottom: SortKey,
    ) -> Result<Option<SortKey>, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed ORDER BY sort_key LIMIT 1";
            Ok(connection.prepare_cached(sql)?.query_row([top, bottom], |row| row.get(0)).optional()?)
        })
    }

    /// Whether a page within a span has held the row at `place`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn is_listed(&self, place: SortKey) -> Result<bool, Error> {
        Ok(self.first_listed(place, place)?.is_some())
    }

    /// Cursors for the page that begins at `place`, the nearest first: at most `most` listed rows above it
    /// that are not in doubt. Fewer if the listing begins there.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn cursors_above(&self, place: SortKey, most: u32) -> Result<Vec<EmailId>, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT id FROM mail WHERE sort_key < ?1 AND listed AND missing_since IS NULL ORDER BY sort_key DESC LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let ids = statement.query_map(params![place, most], |row| Ok(EmailId::new(id_codec::decode_id(row.get_ref(0)?))))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }
}

/// Whether a status may still change: what is not final, of the age that its sort key tells.
pub(super) fn may_change(last_event: Option<&str>, place: SortKey, now: Timestamp) -> bool {
    let age = now.as_microsecond().saturating_sub(place.micros());
    Status::parse(last_event.unwrap_or_default()).finality(SignedDuration::from_micros(age))
        != Finality::Final
}

/// Notes that the answer to `asked` held all listed rows from `top` down to `bottom`. Where a newer
/// answer has confirmed some of them already, that one stays.
pub(super) fn record_run(
    change: &Transaction,
    (top, bottom): (SortKey, SortKey),
    asked: RequestTime,
    open: bool,
) -> Result<(), Error> {
    let overlapping: Vec<ConfirmedRun> = {
        let mut statement = change.prepare_cached(OVERLAPPING)?;
        statement
            .query_map([top, bottom], run_from_row)?
            .collect::<Result<_, _>>()?
    };
    let mut pieces = vec![ConfirmedRun {
        top,
        bottom,
        at: asked.at,
        may_change: open,
        response_seq: asked.seq,
    }];
    let mut rests = Vec::new();
    for run in overlapping {
        if run.response_seq > asked.seq {
            pieces = pieces
                .iter()
                .flat_map(|piece| piece.subtract(&run))
                .collect();
        } else {
            delete_run(change, &run)?;
            for rest in run.subtract(&ConfirmedRun { top, bottom, ..run }) {
                // One without rows would only make its neighbours older when they merge.
                if has_listed_between(change, rest.top.next_newer(), rest.bottom.next_older())? {
                    insert_run(change, &rest)?;
                    rests.push(rest);
                }
            }
        }
    }
    for piece in pieces {
        insert_merged(change, piece, &rests)?;
    }
    limit_runs(change)
}

/// Notes that the answer to `asked` has confirmed one row, which no run covers.
pub(super) fn record_row(
    change: &Transaction,
    place: SortKey,
    asked: RequestTime,
) -> Result<(), Error> {
    let sql = "UPDATE mail SET confirmed_at = ?2, response_seq = ?3 WHERE sort_key = ?1 AND response_seq <= ?3";
    change
        .prepare_cached(sql)?
        .execute(params![place, asked.micros(), asked.seq])?;
    Ok(())
}

/// Puts a run that confirms nothing around a listed row that lies in none, so that it is read again.
pub(super) fn ensure_run(change: &Transaction, place: SortKey) -> Result<(), Error> {
    let sql = "INSERT INTO confirmed_run SELECT ?1, ?1, 0, 0, 1 WHERE NOT EXISTS (SELECT 1 FROM confirmed_run \
               WHERE bottom >= ?1 AND top = (SELECT max(top) FROM confirmed_run WHERE top <= ?1))";
    change.prepare_cached(sql)?.execute([place])?;
    Ok(())
}

impl ConfirmedRun {
    /// A run of its own, for tests.
    #[cfg(test)]
    pub(crate) const fn for_test(top: SortKey, bottom: SortKey, at: Timestamp, open: bool) -> Self {
        Self {
            top,
            bottom,
            at,
            may_change: open,
            response_seq: 0,
        }
    }

    /// What is left of this run outside of `other`: nothing, or a piece above, below or on both sides.
    fn subtract(&self, other: &Self) -> Vec<Self> {
        let above = (self.top > other.top).then(|| Self {
            bottom: self.bottom.max(other.top.next_newer()),
            ..*self
        });
        let below = (self.bottom < other.bottom).then(|| Self {
            top: self.top.min(other.bottom.next_older()),
            ..*self
        });
        above.into_iter().chain(below).collect()
    }

    fn merge(&self, other: &Self) -> Self {
        Self {
            top: self.top.max(other.top),
            bottom: self.bottom.min(other.bottom),
            at: self.at.min(other.at),
            may_change: self.may_change || other.may_change,
            response_seq: self.response_seq.min(other.response_seq),
        }
    }
}

/// Inserts a run; merges it with the runs right above and below that are nearly as old. It does not merge
/// with the `rests` of a run that it was cut from: that would undo the confirmation.
fn insert_merged(
    change: &Transaction,
    mut run: ConfirmedRun,
    rests: &[ConfirmedRun],
) -> Result<(), Error> {
    let at = run.at;
    for sql in [NEXT_RUN_ABOVE, NEXT_RUN_BELOW] {
        let Some(other) = change
            .prepare_cached(sql)?
            .query_row([run.top], run_from_row)
            .optional()?
        else {
            continue;
        };
        if !rests.contains(&other)
            && at.duration_since(other.at).abs() <= MERGE_WITHIN
            && are_adjacent(change, &run, &other)?
        {
            delete_run(change, &other)?;
            run = run.merge(&other);
        }
    }
    insert_run(change, &run)
}

/// Whether no listed row lies between two runs, which neither of them would speak for.
fn are_adjacent(
    change: &Transaction,
    one: &ConfirmedRun,
    other: &ConfirmedRun,
) -> Result<bool, Error> {
    let (upper, lower) = if one.top > other.top {
        (one, other)
    } else {
        (other, one)
    };
    Ok(!has_listed_between(change, upper.bottom, lower.top)?)
}

/// Whether a listed row lies between two sort keys, both excluded.
fn has_listed_between(change: &Transaction, above: SortKey, below: SortKey) -> Result<bool, Error> {
    Ok(change
        .prepare_cached(LISTED_BETWEEN)?
        .query_row([above, below], |row| row.get(0))?)
}

/// Keeps the number of runs bounded.
fn limit_runs(change: &Transaction) -> Result<(), Error> {
    let count: i64 = change
        .prepare_cached("SELECT count(*) FROM confirmed_run")?
        .query_row([], |row| row.get(0))?;
    for _ in MAX_RUNS..count {
        let oldest = change
            .prepare_cached(OLDEST_RUN)?
            .query_row([], run_from_row)?;
        let next = |sql: &str| {
            change
                .prepare_cached(sql)?
                .query_row([oldest.top], run_from_row)
                .optional()
        };
        let Some(other) =
            next(NEXT_RUN_BELOW)?.map_or_else(|| next(NEXT_RUN_ABOVE), |below| Ok(Some(below)))?
        else {
            return Ok(());
        };
        let mut merged = oldest.merge(&other);
        if !are_adjacent(change, &oldest, &other)? {
            merged = ConfirmedRun {
                at: Timestamp::UNIX_EPOCH,
                ..merged
            };
        }
        delete_run(change, &oldest)?;
        delete_run(change, &other)?;
        insert_run(change, &merged)?;
    }
    Ok(())
}

fn insert_run(change: &Transaction, run: &ConfirmedRun) -> Result<(), Error> {
    let sql = "INSERT INTO confirmed_run (top, bottom, requested_at, may_change, response_seq) VALUES (?1, ?2, ?3, ?4, ?5)";
    change.prepare_cached(sql)?.execute(params![
        run.top,
        run.bottom,
        run.at.as_microsecond(),
        run.may_change,
        run.response_seq
    ])?;
    Ok(())
}

fn delete_run(change: &Transaction, run: &ConfirmedRun) -> Result<(), Error> {
    change
        .prepare_cached("DELETE FROM confirmed_run WHERE top = ?1")?
        .execute([run.top])?;
    Ok(())
}

fn run_from_row(row: &Row) -> rusqlite::Result<ConfirmedRun> {
    let at = Timestamp::from_microsecond(row.get(2)?).unwrap_or_default();
    Ok(ConfirmedRun {
        top: row.get(0)?,
        bottom: row.get(1)?,
        at,
        may_change: row.get(3)?,
        response_seq: row.get(4)?,
    })
}

/// When the row was confirmed, from the value of [`confirmed_at!`].
pub(super) fn to_timestamp(micros: Option<i64>) -> Option<Timestamp> {
    micros.and_then(|micros| Timestamp::from_microsecond(micros).ok())
}
