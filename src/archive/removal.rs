//! Removes mail for good, and sees to it that it does not come back with the next page.
//!
//! Mail that was removed for its age stays out by its age. Of any other the archive remembers a hash
//! of the id: enough to know it again, and nothing that says whose it was.

use std::collections::HashSet;

use aws_lc_rs::digest;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::entry::Entry;
use super::fields::{self, summary_columns};
use super::{Archive, Place, moment, pack, search, span};
use crate::failure::Failure;
use crate::mail::{Address, Stamp, Summary};
use crate::query::Query;

/// One email of so many removed is worth writing the file anew.
const MUCH: u64 = 20;

/// Which mail to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// What is older than this.
    Before(Timestamp),
    /// What went to this address, alone or with others, openly or not.
    To(String),
    /// What this query finds.
    Matching(Query),
}

/// What a page brought that is to stay out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Out {
    /// Removed on demand.
    pub(super) removed: u64,
    /// Older than the archive keeps.
    pub(super) too_old: u64,
}

impl Out {
    pub(super) const fn len(self) -> u64 {
        self.removed + self.too_old
    }

    pub(super) const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl Archive {
    /// How many emails [`remove`](Self::remove) would remove.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn count_removal(&self, removal: &Removal) -> Result<u64, Failure> {
        self.connections
            .read(|connection| Ok(places(connection, removal)?.len() as u64))
    }

    /// Removes emails with their bodies, their observed history and what the file still held of them.
    /// Says how many they were, and whether nothing of them is left in the log beside the file: while
    /// another process reads, it cannot be emptied, and is when that ends.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn remove(&self, removal: &Removal) -> Result<(u64, bool), Failure> {
        let count = self.connections.write(|change| {
            let places = places(change, removal)?;
            let horizon = match removal {
                Removal::Before(time) => {
                    let sql = "UPDATE listing SET horizon = max(ifnull(horizon, ?1), ?1)";
                    change.execute(sql, [time.as_microsecond()])?;
                    Some(time.as_microsecond())
                }
                Removal::To(_) | Removal::Matching(_) => None,
            };
            for place in &places {
                remember(change, *place, horizon)?;
            }
            delete(change, &places)?;
            Ok(places.len() as u64)
        })?;
        Ok((count, self.compact()?))
    }

    /// Writes the file anew without the room that removed mail has left. False if another process
    /// keeps the log beside it from being emptied.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn compact(&self) -> Result<bool, Failure> {
        self.connections.compact()
    }

    /// Removes what is older than the archive keeps. The index forgets its words with its next merges,
    /// or at once if much was removed.
    pub(super) fn expire(&self, now: Timestamp) -> Result<(), Failure> {
        if self.keep.is_none() {
            return Ok(());
        }
        let removed = self
            .connections
            .write(|change| expire(change, self.keep, now))?;
        if removed > 0 && removed * MUCH >= self.count()? {
            self.compact()?;
        }
        Ok(())
    }
}

/// Removes what is older than the archive keeps, and says how many. Cheap when there is nothing.
pub(super) fn expire(
    change: &Transaction,
    keep: Option<SignedDuration>,
    now: Timestamp,
) -> Result<u64, Failure> {
    let Some(before) = keep.and_then(|keep| now.checked_sub(keep).ok()) else {
        return Ok(0);
    };
    let places = places(change, &Removal::Before(before))?;
    delete(change, &places)?;
    Ok(places.len() as u64)
}

/// Looks the entries up, and takes those out that are not to come back. What stands in the archive
/// stays.
pub(super) fn leave_out(
    change: &Transaction,
    entries: &mut Vec<Entry>,
    keep: Option<SignedDuration>,
    now: Timestamp,
) -> Result<Out, Failure> {
    let removed_before: Option<i64> = change
        .prepare_cached("SELECT horizon FROM listing")?
        .query_row([], |row| row.get(0))?;
    let kept_since = keep
        .and_then(|keep| now.checked_sub(keep).ok())
        .map(Timestamp::as_microsecond);
    let horizon = removed_before.max(kept_since);
    let any_removed: bool = change
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM removed)")?
        .query_row([], |row| row.get(0))?;
    let mut known_mark = change.prepare_cached("SELECT 1 FROM removed WHERE mark = ?1")?;
    let mut out = Out::default();
    let mut stays = Vec::with_capacity(entries.len());
    for mut entry in entries.drain(..) {
        entry.look_up(change)?;
        if entry.known.is_none() {
            if entry
                .natural
                .zip(horizon)
                .is_some_and(|(place, horizon)| place.micros() < horizon)
            {
                out.too_old += 1;
                continue;
            }
            if any_removed && known_mark.exists([mark(entry.raw_id())])? {
                out.removed += 1;
                continue;
            }
        }
        stays.push(entry);
    }
    *entries = stays;
    Ok(out)
}

fn places(connection: &Connection, removal: &Removal) -> Result<Vec<Place>, Failure> {
    match removal {
        Removal::Before(time) => {
            let Some(edge) = Place::of(time.as_microsecond()) else {
                return Ok(Vec::new());
            };
            let mut statement =
                connection.prepare_cached("SELECT place FROM mail WHERE place > ?1")?;
            Ok(statement
                .query_map([edge], |row| row.get(0))?
                .collect::<Result<_, _>>()?)
        }
        Removal::To(address) => to(connection, address),
        Removal::Matching(query) => search::places(connection, query),
    }
}

/// The places of what went to `address`; the case of its letters does not matter.
fn to(connection: &Connection, address: &str) -> Result<Vec<Place>, Failure> {
    let wanted = Address::parse(address).email.to_lowercase();
    // Most rows are ruled out without being taken apart.
    let sql = concat!(
        "SELECT place, ",
        summary_columns!(),
        " FROM mail WHERE instr(lower(concat_ws(' ', recipients, cc, bcc, odd)), lower(?1)) > 0"
    );
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&wanted])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let summary = Summary::from(&fields::summary(row, 1)?);
        let mut addresses = summary.to.iter().chain(&summary.cc).chain(&summary.bcc);
        if addresses.any(|address| address.email.to_lowercase() == wanted) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Remembers the email at `place` by a hash of its id, unless its own time keeps it out.
fn remember(change: &Transaction, place: Place, horizon: Option<i64>) -> Result<(), Failure> {
    let sql = "SELECT id, created_at FROM mail WHERE place = ?1";
    let found = change.prepare_cached(sql)?.query_row([place], |row| {
        Ok((
            pack::id_back(row.get_ref(0)?),
            moment::back(row.get_ref(1)?),
        ))
    });
    let Some((id, created)) = found.optional()? else {
        return Ok(());
    };
    let created = created.and_then(|created| Stamp::parse(&created).micros());
    if created
        .zip(horizon)
        .is_none_or(|(created, horizon)| created >= horizon)
    {
        change
            .prepare_cached("INSERT OR IGNORE INTO removed (mark) VALUES (?1)")?
            .execute([mark(&id)])?;
    }
    Ok(())
}

/// Deletes rows and what belongs to them. A span that loses its oldest rows no longer reaches the end:
/// what is missing below is what the archive does not have.
fn delete(change: &Transaction, places: &[Place]) -> Result<(), Failure> {
    if places.is_empty() {
        return Ok(());
    }
    let removed: HashSet<Place> = places.iter().copied().collect();
    for span in span::load(change)?
        .iter()
        .filter(|span| removed.contains(&span.bottom))
    {
        change.execute(
            "UPDATE span SET reaches_end = 0 WHERE bottom = ?1",
            [span.bottom],
        )?;
    }
    let mut unlist = change.prepare_cached("UPDATE mail SET listed = 0 WHERE place = ?1")?;
    for place in places {
        unlist.execute([place])?;
    }
    span::draw_in(change)?;
    let mut delete = change.prepare_cached("DELETE FROM mail WHERE place = ?1")?;
    for place in places {
        delete.execute(params![place])?;
    }
    Ok(())
}

fn mark(id: &str) -> [u8; 16] {
    let digest = digest::digest(&digest::SHA256, id.as_bytes());
    *digest
        .as_ref()
        .first_chunk()
        .expect("a SHA-256 has 32 bytes")
}
