//! Removes mail for good, and sees to it that it does not come back with the next page.
//!
//! Mail that was removed for its age stays out by its age. Of any other the archive remembers a hash
//! of the id: enough to know it again, and nothing that says whose it was.

use std::collections::HashSet;

use aws_lc_rs::digest;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::codec::row::{self, summary_columns};
use super::codec::{id as id_codec, time};
use super::incoming::IncomingEmail;
use super::listing::coverage;
use super::{Archive, SortKey, search};
use crate::error::Error;
use crate::mail::{Address, ApiTime, Summary};
use crate::query::Query;

/// One email of so many removed is worth writing the file anew.
const COMPACT_RATIO: u64 = 20;

/// Which mail to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PurgeTarget {
    /// What is older than this.
    Before(Timestamp),
    /// What went to this address, alone or with others, openly or not.
    To(String),
    /// What this query finds.
    Matching(Query),
}

/// What a page brought that is to stay out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FilteredCounts {
    /// Removed on demand.
    pub(crate) purged: u64,
    /// Older than the archive keeps.
    pub(crate) too_old: u64,
}

impl FilteredCounts {
    pub(crate) const fn total(self) -> u64 {
        self.purged + self.too_old
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.total() == 0
    }
}

impl Archive {
    /// How many emails [`remove`](Self::remove) would remove.
    pub(crate) fn count_purge(&self, target: &PurgeTarget) -> Result<u64, Error> {
        self.connections
            .read(|connection| Ok(find_targets(connection, target)?.len() as u64))
    }

    /// Removes emails with their bodies, their observed history and what the file still held of them.
    /// Says how many they were, and whether nothing of them is left in the log beside the file: while
    /// another process reads, it cannot be emptied, and is when that ends.
    pub(crate) fn purge(&self, target: &PurgeTarget) -> Result<(u64, bool), Error> {
        let count = self.connections.write(|transaction| {
            let keys = find_targets(transaction, target)?;
            let cutoff = match target {
                PurgeTarget::Before(time) => {
                    let sql = "UPDATE listing SET cutoff = max(ifnull(cutoff, ?1), ?1)";
                    transaction.execute(sql, [time.as_microsecond()])?;
                    Some(time.as_microsecond())
                }
                PurgeTarget::To(_) | PurgeTarget::Matching(_) => None,
            };
            for key in &keys {
                store_id_hash(transaction, *key, cutoff)?;
            }
            delete_rows(transaction, &keys)?;
            Ok(keys.len() as u64)
        })?;
        Ok((count, self.compact()?))
    }

    /// Writes the file anew without the room that removed mail has left. False if another process
    /// keeps the log beside it from being emptied.
    pub(crate) fn compact(&self) -> Result<bool, Error> {
        self.connections.compact()
    }

    /// Removes what is older than the archive keeps. The index forgets its words with its next merges,
    /// or at once if much was removed.
    pub(crate) fn purge_expired(&self, now: Timestamp) -> Result<(), Error> {
        if self.retention.is_none() {
            return Ok(());
        }
        let purged = self
            .connections
            .write(|transaction| delete_expired(transaction, self.retention, now))?;
        if purged > 0 && purged * COMPACT_RATIO >= self.query_count()? {
            self.compact()?;
        }
        Ok(())
    }
}

/// Removes what is older than the archive keeps, and says how many. Cheap when there is nothing.
pub(crate) fn delete_expired(
    transaction: &Transaction,
    retention: Option<SignedDuration>,
    now: Timestamp,
) -> Result<u64, Error> {
    let Some(before) = retention.and_then(|retention| now.checked_sub(retention).ok()) else {
        return Ok(0);
    };
    let keys = find_targets(transaction, &PurgeTarget::Before(before))?;
    delete_rows(transaction, &keys)?;
    Ok(keys.len() as u64)
}

/// Looks the entries up, and takes those out that are not to come back. What stands in the archive
/// stays.
pub(crate) fn filter_purged(
    transaction: &Transaction,
    emails: &mut Vec<IncomingEmail>,
    retention: Option<SignedDuration>,
    now: Timestamp,
) -> Result<FilteredCounts, Error> {
    let purged_before: Option<i64> = transaction
        .prepare_cached("SELECT cutoff FROM listing")?
        .query_row([], |row| row.get(0))?;
    let retained_since = retention
        .and_then(|retention| now.checked_sub(retention).ok())
        .map(Timestamp::as_microsecond);
    let cutoff = purged_before.max(retained_since);
    let any_purged: bool = transaction
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM purged)")?
        .query_row([], |row| row.get(0))?;
    let mut find_hash = transaction.prepare_cached("SELECT 1 FROM purged WHERE id_hash = ?1")?;
    let mut filtered = FilteredCounts::default();
    let mut remaining = Vec::with_capacity(emails.len());
    for mut email in emails.drain(..) {
        email.find_existing(transaction)?;
        if email.existing.is_none() {
            if email
                .time_key
                .zip(cutoff)
                .is_some_and(|(key, cutoff)| key.micros() < cutoff)
            {
                filtered.too_old += 1;
                continue;
            }
            if any_purged && find_hash.exists([id_hash(email.id_str())])? {
                filtered.purged += 1;
                continue;
            }
        }
        remaining.push(email);
    }
    *emails = remaining;
    Ok(filtered)
}

fn find_targets(connection: &Connection, target: &PurgeTarget) -> Result<Vec<SortKey>, Error> {
    match target {
        PurgeTarget::Before(time) => {
            let Some(edge) = SortKey::from_micros(time.as_microsecond()) else {
                return Ok(Vec::new());
            };
            let mut statement =
                connection.prepare_cached("SELECT sort_key FROM mail WHERE sort_key > ?1")?;
            Ok(statement
                .query_map([edge], |row| row.get(0))?
                .collect::<Result<_, _>>()?)
        }
        PurgeTarget::To(address) => find_sent_to(connection, address),
        PurgeTarget::Matching(query) => search::matching_keys(connection, query),
    }
}

/// The places of what went to `address`; the case of its letters does not matter.
fn find_sent_to(connection: &Connection, address: &str) -> Result<Vec<SortKey>, Error> {
    let wanted = Address::parse(address).email.to_lowercase();
    // Most rows are ruled out without being taken apart.
    let sql = concat!(
        "SELECT sort_key, ",
        summary_columns!(),
        " FROM mail WHERE instr(lower(concat_ws(' ', recipients, cc, bcc, extra_json)), lower(?1)) > 0"
    );
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([&wanted])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let summary = Summary::from(&row::read_summary(row, 1)?);
        let mut addresses = summary.to.iter().chain(&summary.cc).chain(&summary.bcc);
        if addresses.any(|address| address.email.to_lowercase() == wanted) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Remembers the email at `place` by a hash of its id, unless its own time keeps it out.
fn store_id_hash(
    transaction: &Transaction,
    key: SortKey,
    cutoff: Option<i64>,
) -> Result<(), Error> {
    let sql = "SELECT id, created_at FROM mail WHERE sort_key = ?1";
    let found = transaction.prepare_cached(sql)?.query_row([key], |row| {
        Ok((
            id_codec::decode_id(row.get_ref(0)?),
            time::decode(row.get_ref(1)?),
        ))
    });
    let Some((id, created)) = found.optional()? else {
        return Ok(());
    };
    let created = created.and_then(|created| ApiTime::parse(&created).as_micros());
    if created
        .zip(cutoff)
        .is_none_or(|(created, cutoff)| created >= cutoff)
    {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO purged (id_hash) VALUES (?1)")?
            .execute([id_hash(&id)])?;
    }
    Ok(())
}

/// Deletes rows and what belongs to them. A span that loses its oldest rows no longer reaches the end:
/// what is missing below is what the archive does not have.
fn delete_rows(transaction: &Transaction, keys: &[SortKey]) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let purged: HashSet<SortKey> = keys.iter().copied().collect();
    for range in coverage::load_ranges(transaction)?
        .iter()
        .filter(|range| purged.contains(&range.bottom))
    {
        transaction.execute(
            "UPDATE covered_range SET reaches_end = 0 WHERE bottom = ?1",
            [range.bottom],
        )?;
    }
    let mut unlist =
        transaction.prepare_cached("UPDATE mail SET listed = 0 WHERE sort_key = ?1")?;
    for key in keys {
        unlist.execute([key])?;
    }
    coverage::shrink_ranges(transaction)?;
    let mut delete = transaction.prepare_cached("DELETE FROM mail WHERE sort_key = ?1")?;
    for key in keys {
        delete.execute(params![key])?;
    }
    Ok(())
}

fn id_hash(id: &str) -> [u8; 16] {
    let digest = digest::digest(&digest::SHA256, id.as_bytes());
    *digest
        .as_ref()
        .first_chunk()
        .expect("a SHA-256 has 32 bytes")
}
