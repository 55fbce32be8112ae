//! Moves rows, and makes room between them.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use rusqlite::{Transaction, params};

use super::SortKey;
use super::incoming::IncomingEmail;
use super::position::KeysExhausted;
use crate::error::Error;

/// How many more places than needed are made, so that the next email in the same spot fits at once.
const SLACK: i64 = 1024;

pub(super) const KEY_EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE sort_key = ?1)";
pub(super) const KEYS_BELOW: &str =
    "SELECT sort_key FROM mail WHERE sort_key > ?1 ORDER BY sort_key";
const MOVE: &str = "UPDATE mail SET sort_key = ?2 WHERE sort_key = ?1";

/// Whether a row stands at `place`.
pub(super) fn key_exists(change: &Transaction, place: i64) -> Result<bool, Error> {
    Ok(change
        .prepare_cached(KEY_EXISTS)?
        .query_row([SortKey(place)], |row| row.get(0))?)
}

/// Moves rows from their old places to their new ones, whatever order they cross each other in.
/// What belongs to a row (body, observed changes, the end of a span) follows it.
pub(super) fn move_rows(
    change: &Transaction,
    moves: &HashMap<SortKey, SortKey>,
) -> Result<(), Error> {
    let mut statement = change.prepare_cached(MOVE)?;
    for (aside, from) in temporary_keys().zip(moves.keys()) {
        statement.execute(params![from, aside])?;
    }
    for (aside, to) in temporary_keys().zip(moves.values()) {
        statement.execute(params![aside, to])?;
    }
    Ok(())
}

/// Places that no email has, for rows on their way.
fn temporary_keys() -> impl Iterator<Item = SortKey> {
    (i64::MIN + 1..).map(SortKey)
}

/// Moves down as many rows as it takes to leave free what is asked for.
pub(super) fn renumber(
    change: &Transaction,
    KeysExhausted {
        below: under,
        count: need,
    }: KeysExhausted,
) -> Result<(), Error> {
    let need = i64::try_from(need)
        .unwrap_or(i64::MAX)
        .saturating_add(SLACK);
    let mut free = under.saturating_sub(need);
    let mut moves = Vec::new();
    {
        let mut statement = change.prepare_cached(KEYS_BELOW)?;
        let mut rows = statement.query([SortKey(under)])?;
        while let Some(row) = rows.next()? {
            let SortKey(place) = row.get(0)?;
            free -= 1;
            if place <= free {
                break;
            }
            moves.push((place, free));
        }
    }
    // From the lowest on, each moves to where nobody stands any more.
    let mut statement = change.prepare_cached(MOVE)?;
    for (from, to) in moves.iter().rev() {
        statement.execute(params![SortKey(*from), SortKey(*to)])?;
    }
    Ok(())
}

/// Gives new emails their natural places, and those without one the place below the email before.
pub(super) fn assign_time_keys(
    change: &Transaction,
    entries: &mut [IncomingEmail],
    now: Timestamp,
) -> Result<(), Error> {
    // Emails of one moment, a whole broadcast perhaps, must not each look for room from its start on.
    let mut last: Option<(SortKey, SortKey)> = None;
    let mut given = HashSet::new();
    let now = SortKey::from_micros(now.as_microsecond()).unwrap_or(SortKey(0));
    for entry in entries {
        if let Some(known) = &entry.existing {
            entry.sort_key = known.sort_key;
            continue;
        }
        let start = match (entry.time_key, last) {
            (Some(natural), Some((before, place))) if natural == before => SortKey(place.0 - 1),
            (Some(natural), _) => natural,
            (None, Some((_, place))) => SortKey(place.0 - 1),
            (None, None) => now,
        };
        let mut place = start;
        while given.contains(&place) || key_exists(change, place.0)? {
            place.0 -= 1;
        }
        given.insert(place);
        entry.sort_key = place;
        last = Some((entry.time_key.unwrap_or(place), place));
    }
    Ok(())
}
