//! Slots: where an email stands in the index, as a small number of the same order as its place.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::archive::SortKey;
use crate::error::Error;

/// Bits of a place below a slot: one slot is half a second, which is seldom too little for the
/// emails between two others and never much too large a number.
const ROWID_SHIFT: u32 = 29;

/// How many more slots than needed are made where there are too few.
const SLACK: i64 = 64;

pub(super) const ROWID_AT_OR_NEWER: &str = "SELECT fts_rowid FROM mail WHERE sort_key <= ?1 AND fts_rowid IS NOT NULL ORDER BY sort_key DESC LIMIT 1";
pub(super) const ROWID_AT_OR_OLDER: &str = "SELECT fts_rowid FROM mail WHERE sort_key >= ?1 AND fts_rowid IS NOT NULL ORDER BY sort_key LIMIT 1";
pub(super) const HAS_ROWID: &str =
    "SELECT 1 FROM mail WHERE sort_key = ?1 AND fts_rowid IS NOT NULL";
pub(super) const NEXT_ROWID: &str =
    "SELECT sort_key, fts_rowid FROM mail WHERE fts_rowid > ?1 ORDER BY fts_rowid LIMIT 1";
pub(super) const ROWIDS_FROM: &str =
    "SELECT fts_rowid, sort_key FROM mail WHERE fts_rowid >= ?1 ORDER BY fts_rowid";

/// The largest slot of what stands at `place` or is newer.
pub(super) fn rowid_at_or_newer(connection: &Connection, place: SortKey) -> Result<i64, Error> {
    Ok(connection
        .prepare_cached(ROWID_AT_OR_NEWER)?
        .query_row([place], |row| row.get(0))
        .optional()?
        .unwrap_or(i64::MIN))
}

/// The smallest slot of what stands at `place` or is older.
pub(super) fn rowid_at_or_older(connection: &Connection, place: SortKey) -> Result<i64, Error> {
    Ok(connection
        .prepare_cached(ROWID_AT_OR_OLDER)?
        .query_row([place], |row| row.get(0))
        .optional()?
        .unwrap_or(i64::MAX))
}

/// Whether the email at `place` has a slot.
pub(super) fn has_rowid(connection: &Connection, place: SortKey) -> Result<bool, Error> {
    Ok(connection.prepare_cached(HAS_ROWID)?.exists([place])?)
}

/// Slots for emails that are to stand at `places` (newest first) and have none yet, by their times as
/// far as their neighbours leave room. Where they leave none, those below move down and become stale.
pub(in crate::archive) fn assign_rowids(
    change: &Transaction,
    places: &[SortKey],
) -> Result<Vec<i64>, Error> {
    let mut given: Vec<i64> = Vec::with_capacity(places.len());
    // What has a slot already right above and right below.
    let mut above = i64::MIN;
    let mut below: Option<(SortKey, i64)> = None;
    for (at, place) in places.iter().enumerate() {
        if at == 0 || below.is_some_and(|(below, _)| below > *place) {
            above = rowid_at_or_newer(change, *place)?;
            below = change
                .prepare_cached(NEXT_ROWID)?
                .query_row([above], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
        }
        let lowest = given
            .last()
            .map_or(above, |last| above.max(*last))
            .saturating_add(1);
        let mut highest = i64::MAX;
        if let Some((below, slot)) = &mut below {
            let until = places.partition_point(|other| other > below);
            let need = i64::try_from(until - at).unwrap_or(i64::MAX);
            if slot.saturating_sub(need) < lowest {
                *slot = shift_rowids(change, *slot, lowest + need + SLACK)?;
            }
            highest = slot.saturating_sub(need);
        }
        let natural = place.0.saturating_neg() >> ROWID_SHIFT;
        given.push(natural.clamp(lowest, highest));
    }
    Ok(given)
}

/// Moves what stands at `slot` to `to`, and what is in the way of that further down; returns `to`.
fn shift_rowids(change: &Transaction, slot: i64, to: i64) -> Result<i64, Error> {
    let mut free = to;
    let mut moves: Vec<(i64, i64, SortKey)> = Vec::new();
    {
        let mut statement = change.prepare_cached(ROWIDS_FROM)?;
        let mut rows = statement.query([slot])?;
        while let Some(row) = rows.next()? {
            let from: i64 = row.get(0)?;
            if from >= free {
                break;
            }
            moves.push((from, free, row.get(1)?));
            free += 1;
        }
    }
    for (from, to, place) in moves.into_iter().rev() {
        change
            .prepare_cached("UPDATE mail SET fts_rowid = ?2 WHERE sort_key = ?1")?
            .execute(params![place, to])?;
        change
            .prepare_cached("DELETE FROM search WHERE rowid = ?1")?
            .execute([from])?;
        change
            .prepare_cached("INSERT OR IGNORE INTO dirty VALUES (?1)")?
            .execute([place])?;
    }
    Ok(to)
}
