//! When the service confirmed each status:
//! runs of sort keys, one for a page and not one for a row.
//!
//! A run is valid for the listed rows within it. A row that was imported, or retrieved by its id
//! alone, is not listed and inherits nothing; a row that moves keeps its own time (see the trigger
//! in `schema.sql`), and the run at its new key is reset. Every listed row lies in some run, so
//! that the runs tell which rows to fetch again. Runs never overlap; `requested_at` 0 confirms no
//! row.
//!
//! `merge.rs` calls [`record_run`] after it has inserted rows and range. For a page that moved rows
//! or has no range it calls [`record_row`] for each row, and [`ensure_run`] if there is a range.
//!
//! In SQL a newer email has the *smaller* sort key, because the tables store keys negated
//! ([`super::SortKey`]): "above" is `<` there and `>` in Rust.

use jiff::{SignedDuration, Timestamp};

use super::coverage;
use super::{RequestStamp, SortKey};
use crate::archive::Archive;
use crate::archive::storage::db::{Connection, Row, Transaction, params};
use crate::error::Result;
use crate::mail::{EmailId, Finality, Status};

/// Runs that were requested, and confirmed, within this time merge,
/// with the older times.
const MERGE_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// The most runs; beyond that the oldest merges with a neighbour.
const MAX_RUNS: i64 = 4096;

/// A run of rows that were confirmed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfirmedRun {
    /// Sort key of its newest row.
    pub(crate) top: SortKey,
    /// Sort key of its oldest row.
    pub(crate) bottom: SortKey,
    /// When the service gave the oldest of its responses.
    pub(crate) at: Timestamp,
    /// Whether a row of it may have a status that is not final.
    pub(crate) may_change: bool,
    /// The number of the oldest of its responses.
    pub(crate) response_seq: i64,
}

pub(crate) const RUNS: &str =
    "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run ORDER BY top";
pub(crate) const OVERLAPPING: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top <= ?2 \
    AND top >= coalesce((SELECT max(top) FROM confirmed_run WHERE top < ?1), ?1) AND bottom >= ?1 ORDER BY top";
pub(crate) const NEXT_RUN_ABOVE: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top < ?1 ORDER BY top DESC LIMIT 1";
pub(crate) const NEXT_RUN_BELOW: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run WHERE top > ?1 ORDER BY top LIMIT 1";
const OLDEST_RUN: &str = "SELECT top, bottom, requested_at, may_change, response_seq FROM confirmed_run ORDER BY requested_at LIMIT 1";
pub(crate) const LISTED_FROM: &str = "SELECT sort_key, last_event FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 ORDER BY sort_key";

/// When the row of `mail` was confirmed, by its run or by a response of its own,
/// as an SQL expression.
macro_rules! confirmed_at {
    () => {
        "nullif(max(coalesce(confirmed_at, 0), iif(listed = 1, coalesce((SELECT iif(run.bottom >= mail.sort_key, run.requested_at, 0) FROM confirmed_run AS run \
         WHERE run.top <= mail.sort_key ORDER BY run.top DESC LIMIT 1), 0), 0)), 0)"
    };
}
pub(crate) use confirmed_at;

/// The number of the newest response that wrote or confirmed the row of `mail`,
/// as an SQL expression.
macro_rules! latest_response_seq {
    () => {
        "max(response_seq, iif(listed = 1, coalesce((SELECT iif(run.bottom >= mail.sort_key, run.response_seq, 0) FROM confirmed_run AS run \
         WHERE run.top <= mail.sort_key ORDER BY run.top DESC LIMIT 1), 0), 0))"
    };
}
pub(crate) use latest_response_seq;

/// Loads the time for which the newest page is known.
pub(super) fn load_head_at(conn: &Connection) -> Result<Option<Timestamp>> {
    let query = "SELECT head_requested_at FROM listing";
    Ok(to_timestamp(conn.value(query, [])?))
}

impl Archive {
    /// Loads all runs, newest first.
    pub(crate) fn confirmed_runs(&self) -> Result<Vec<ConfirmedRun>> {
        self.read(|conn| conn.all(RUNS, [], read_run))
    }

    /// Returns when the latest answered request for the newest page was sent.
    pub(crate) fn head_at(&self) -> Result<Option<Timestamp>> {
        self.read(load_head_at)
    }

    /// Returns the time of [`Self::head_at`], unless it is after `now`:
    /// then the clock was set, and the time is not known.
    pub(crate) fn head_at_by(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        Ok(self.head_at()?.filter(|at| *at <= now))
    }

    /// Finds the newest listed row from `top` down to `bottom` whose status is not
    /// final at `now`.
    pub(crate) fn first_changeable(
        &self,
        top: SortKey,
        bottom: SortKey,
        now: Timestamp,
    ) -> Result<Option<SortKey>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(LISTED_FROM)?;
            let mut rows = statement.query([top, bottom])?;
            while let Some(row) = rows.next()? {
                let (key, last_event): (SortKey, Option<String>) = (row.get()?, row.get()?);
                if may_change(last_event.as_deref(), key, now) {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        })
    }

    /// Loads emails that the service confirmed although no page contained them,
    /// each with a run of its own; at most `limit`, the oldest responses first.
    pub(crate) fn unlisted_emails(&self, limit: u32) -> Result<Vec<(EmailId, ConfirmedRun)>> {
        let query = "SELECT id, sort_key, confirmed_at, last_event, response_seq FROM mail \
                     WHERE listed = 0 AND missing_since IS NULL AND confirmed_at IS NOT NULL ORDER BY confirmed_at LIMIT ?1";
        self.read(|conn| {
            conn.all(query, [limit], |row| {
                let id = row.get()?;
                let key = row.get()?;
                let at = to_timestamp(row.get()?).unwrap_or_default();
                let last_event: Option<String> = row.get()?;
                let run = ConfirmedRun {
                    top: key,
                    bottom: key,
                    at,
                    // By its age at that time, which is the lowest age it can have.
                    may_change: may_change(last_event.as_deref(), key, at),
                    response_seq: row.get()?,
                };
                Ok((id, run))
            })
        })
    }
}

/// Whether a status is not final at the age that the sort key shows.
pub(crate) fn may_change(last_event: Option<&str>, key: SortKey, now: Timestamp) -> bool {
    let age = now.as_microsecond().saturating_sub(key.micros());
    Status::parse(last_event.unwrap_or_default()).finality(SignedDuration::from_micros(age))
        != Finality::Final
}

/// Records that the response to `request` contained all listed rows from `top` down
/// to `bottom`.
///
/// Where a newer response has confirmed some of them, that one stays.
pub(crate) fn record_run(
    tx: &Transaction,
    (top, bottom): (SortKey, SortKey),
    request: RequestStamp,
    may_change: bool,
) -> Result<()> {
    let new = ConfirmedRun {
        top,
        bottom,
        at: request.confirmed_at().unwrap_or_default(),
        may_change,
        response_seq: request.seq,
    };
    let mut pieces = vec![new];
    let mut remainders = Vec::new();
    // No row becomes older by a merge than it was, or than its email.
    let mut known_since = Timestamp::from_microsecond(top.micros()).unwrap_or_default();
    for run in tx.all(OVERLAPPING, [top, bottom], read_run)? {
        if run.response_seq > request.seq {
            pieces = pieces
                .iter()
                .flat_map(|piece| piece.subtract(&run))
                .collect();
            continue;
        }
        delete_run(tx, &run)?;
        known_since = known_since.max(run.at);
        for remainder in run.subtract(&new) {
            // One without rows would only make its neighbours older when they merge.
            if coverage::newest_listed(tx, remainder.top, remainder.bottom)?.is_some() {
                insert_run(tx, &remainder)?;
                remainders.push(remainder);
            }
        }
    }
    for piece in pieces {
        insert_merged(tx, piece, &remainders, known_since)?;
    }
    limit_runs(tx)
}

/// Records that the response to `request` confirmed one row that no run covers.
pub(crate) fn record_row(tx: &Transaction, key: SortKey, request: RequestStamp) -> Result<()> {
    let query = "UPDATE mail SET confirmed_at = ?2, response_seq = ?3 WHERE sort_key = ?1 AND response_seq <= ?3";
    let confirmed_at = request.confirmed_at().map(Timestamp::as_microsecond);
    tx.execute(query, params![key, confirmed_at, request.seq])
}

/// Inserts a run that confirms nothing for a listed row without a run,
/// so that it is fetched again.
pub(crate) fn ensure_run(tx: &Transaction, key: SortKey) -> Result<()> {
    let query = "INSERT INTO confirmed_run (top, bottom, requested_at, response_seq, may_change) SELECT ?1, ?1, 0, 0, 1 WHERE NOT EXISTS (SELECT 1 FROM confirmed_run \
                 WHERE bottom >= ?1 AND top = (SELECT max(top) FROM confirmed_run WHERE top <= ?1))";
    tx.execute(query, [key])
}

impl ConfirmedRun {
    /// Returns when the oldest of its requests was sent:
    /// a mirror may have had its response from the service long before, and another request would
    /// get the same. A number in the future is not a time: the clock was set.
    pub(crate) fn last_requested_at(&self, now: Timestamp) -> Timestamp {
        let numbered = to_timestamp(Some(self.response_seq)).filter(|at| *at <= now);
        numbered.map_or(self.at, |numbered| self.at.max(numbered))
    }

    /// Returns the parts of this run outside of `other`:
    /// none, one above, one below, or both.
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

/// Inserts a run, merged with the runs right above and below that are nearly as
/// old.
///
/// It does not merge with `remainders`, from which it was cut: that would undo the confirmation.
/// Nor does it merge where that would make it older than `known_since`.
fn insert_merged(
    tx: &Transaction,
    mut run: ConfirmedRun,
    remainders: &[ConfirmedRun],
    known_since: Timestamp,
) -> Result<()> {
    let (at, response_seq) = (run.at, run.response_seq);
    let within = MERGE_WITHIN.as_micros();
    for query in [NEXT_RUN_ABOVE, NEXT_RUN_BELOW] {
        // Pages are mostly read from the top down: the run below is then an earlier one, which is
        // to be read again.
        let (oldest, least_seq) = if query == NEXT_RUN_ABOVE {
            (at.min(known_since), i64::MIN)
        } else {
            (run.at, run.response_seq)
        };
        if let Some(other) = tx.optional(query, [run.top], read_run)?
            && !remainders.contains(&other)
            && other.at >= oldest
            && other.response_seq >= least_seq
            && at.duration_since(other.at).abs() <= MERGE_WITHIN
            && i128::from(response_seq.abs_diff(other.response_seq)) <= within
            && are_adjacent(tx, &run, &other)?
        {
            delete_run(tx, &other)?;
            run = run.merge(&other);
        }
    }
    insert_run(tx, &run)
}

/// Whether no listed row lies between two runs.
fn are_adjacent(tx: &Transaction, one: &ConfirmedRun, other: &ConfirmedRun) -> Result<bool> {
    let (upper, lower) = if one.top > other.top {
        (one, other)
    } else {
        (other, one)
    };
    let (top, bottom) = (upper.bottom.next_older(), lower.top.next_newer());
    Ok(coverage::newest_listed(tx, top, bottom)?.is_none())
}

/// Merges the oldest runs with a neighbour until there are at most [`MAX_RUNS`].
fn limit_runs(tx: &Transaction) -> Result<()> {
    let count: i64 = tx.value("SELECT count(*) FROM confirmed_run", [])?;
    for _ in MAX_RUNS..count {
        let oldest = tx.one(OLDEST_RUN, [], read_run)?;
        let next = |query: &str| tx.optional(query, [oldest.top], read_run);
        let Some(other) =
            next(NEXT_RUN_BELOW)?.map_or_else(|| next(NEXT_RUN_ABOVE), |below| Ok(Some(below)))?
        else {
            return Ok(());
        };
        let mut merged = oldest.merge(&other);
        if !are_adjacent(tx, &oldest, &other)? {
            merged.at = Timestamp::UNIX_EPOCH;
        }
        delete_run(tx, &oldest)?;
        delete_run(tx, &other)?;
        insert_run(tx, &merged)?;
    }
    Ok(())
}

fn insert_run(tx: &Transaction, run: &ConfirmedRun) -> Result<()> {
    let query = "INSERT INTO confirmed_run (top, bottom, requested_at, may_change, response_seq) VALUES (?1, ?2, ?3, ?4, ?5)";
    let at = run.at.as_microsecond();
    let params = params![run.top, run.bottom, at, run.may_change, run.response_seq];
    tx.execute(query, params)
}

fn delete_run(tx: &Transaction, run: &ConfirmedRun) -> Result<()> {
    tx.execute("DELETE FROM confirmed_run WHERE top = ?1", [run.top])
}

fn read_run(row: &Row) -> rusqlite::Result<ConfirmedRun> {
    Ok(ConfirmedRun {
        top: row.get()?,
        bottom: row.get()?,
        at: to_timestamp(row.get()?).unwrap_or_default(),
        may_change: row.get()?,
        response_seq: row.get()?,
    })
}

/// Converts microseconds since 1970.
pub(crate) fn to_timestamp(micros: Option<i64>) -> Option<Timestamp> {
    micros.and_then(|micros| Timestamp::from_microsecond(micros).ok())
}
