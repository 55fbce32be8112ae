//! Moves rows, and makes room between them.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use rusqlite::{Transaction, params};

use super::Place;
use super::entry::Entry;
use super::order::NoRoom;
use crate::failure::Failure;

/// How many more places than needed are made, so that the next email in the same spot fits at once.
const SLACK: i64 = 1024;

pub(super) const TAKEN: &str = "SELECT EXISTS (SELECT 1 FROM mail WHERE place = ?1)";
pub(super) const DOWN_FROM: &str = "SELECT place FROM mail WHERE place > ?1 ORDER BY place";
const MOVE: &str = "UPDATE mail SET place = ?2 WHERE place = ?1";

/// Whether a row stands at `place`.
pub(super) fn is_taken(change: &Transaction, place: i64) -> Result<bool, Failure> {
    Ok(change
        .prepare_cached(TAKEN)?
        .query_row([Place(place)], |row| row.get(0))?)
}

/// Moves rows from their old places to their new ones, whatever order they cross each other in.
/// What belongs to a row (body, observed changes, the end of a span) follows it.
pub(super) fn move_all(change: &Transaction, moves: &HashMap<Place, Place>) -> Result<(), Failure> {
    let mut statement = change.prepare_cached(MOVE)?;
    for (aside, from) in aside().zip(moves.keys()) {
        statement.execute(params![from, aside])?;
    }
    for (aside, to) in aside().zip(moves.values()) {
        statement.execute(params![aside, to])?;
    }
    Ok(())
}

/// Places that no email has, for rows on their way.
fn aside() -> impl Iterator<Item = Place> {
    (i64::MIN + 1..).map(Place)
}

/// Moves down as many rows as it takes to leave free what is asked for.
pub(super) fn make(change: &Transaction, NoRoom { under, need }: NoRoom) -> Result<(), Failure> {
    let need = i64::try_from(need)
        .unwrap_or(i64::MAX)
        .saturating_add(SLACK);
    let mut free = under.saturating_sub(need);
    let mut moves = Vec::new();
    {
        let mut statement = change.prepare_cached(DOWN_FROM)?;
        let mut rows = statement.query([Place(under)])?;
        while let Some(row) = rows.next()? {
            let Place(place) = row.get(0)?;
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
        statement.execute(params![Place(*from), Place(*to)])?;
    }
    Ok(())
}

/// Gives new emails their natural places, and those without one the place below the email before.
pub(super) fn by_time(
    change: &Transaction,
    entries: &mut [Entry],
    now: Timestamp,
) -> Result<(), Failure> {
    // Emails of one moment, a whole broadcast perhaps, must not each look for room from its start on.
    let mut last: Option<(Place, Place)> = None;
    let mut given = HashSet::new();
    let now = Place::of(now.as_microsecond()).unwrap_or(Place(0));
    for entry in entries {
        if let Some(known) = &entry.known {
            entry.place = known.place;
            continue;
        }
        let start = match (entry.natural, last) {
            (Some(natural), Some((before, place))) if natural == before => Place(place.0 - 1),
            (Some(natural), _) => natural,
            (None, Some((_, place))) => Place(place.0 - 1),
            (None, None) => now,
        };
        let mut place = start;
        while given.contains(&place) || is_taken(change, place.0)? {
            place.0 -= 1;
        }
        given.insert(place);
        entry.place = place;
        last = Some((entry.natural.unwrap_or(place), place));
    }
    Ok(())
}
