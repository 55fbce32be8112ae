//! Purges mail, and keeps it from being stored again with the next page.
//!
//! Mail that was purged by age stays out by its age. Of any other email the archive stores a hash
//! of the id: enough to recognise it, but it does not identify anyone.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::codec::dictionary;
use super::codec::row::{self, summary_columns};
use super::incoming::{self, IncomingEmail};
use super::listing::confirmations::to_timestamp;
use super::listing::{BOTTOM, coverage};
use super::storage;
use super::storage::db::{Connection, Transaction};
use super::storage::error::archive_error;
use super::{Archive, SortKey, search};
use crate::error::Result;
use crate::mail::{Address, ApiTime, EmailId, Summary};
use crate::query::Query;
use crate::text::format::plural;
use crate::text::hash::sha256;

/// The file is rewritten if at least one of this many emails was purged.
const COMPACT_RATIO: u64 = 20;

const RECORD_OLD: &str = "UPDATE listing SET left_out_old = 1 WHERE left_out_old = 0";

/// Reports about an email that is searched by its id.
pub(crate) const PURGED: &str = "this email was purged: the archive leaves it out";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PurgeTarget {
    /// Mail that is older than this.
    Before(Timestamp),
    /// Mail that was sent to this address, among others too, openly or not.
    To(String),
    /// Mail that was sent to or from this address, or is answered to it.
    With(String),
    Matching(Query),
    /// Mail whose ids have these hashes: a mirror purged it.
    Hashed(HashSet<[u8; 16]>),
}

/// Emails of a page that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FilteredCounts {
    /// Purged on demand before.
    pub(crate) purged: u64,
    /// Older than the retention.
    pub(crate) too_old: u64,
}

impl FilteredCounts {
    pub(crate) const fn total(self) -> u64 {
        self.purged + self.too_old
    }
}

/// Mail that the archive leaves out, though the service may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Emails that were purged on demand.
    pub purged: bool,
    /// Whether mail of some age and older is left out:
    /// by the retention, or because it was purged by its age.
    pub has_age_limit: bool,
    /// The time before which it is left out, if it is known.
    pub limit: Option<Timestamp>,
    /// Whether that is by the retention, and not because it was purged by its age.
    pub by_retention: bool,
    /// Whether there was such mail.
    pub has_omitted_old: bool,
    /// The number of the last email that was purged; greater after each purge.
    pub(crate) last_purge: i64,
    /// The time before which all mail was purged on demand.
    pub(crate) purged_before: Option<Timestamp>,
}

impl LeftOut {
    /// Whether mail was purged on demand after an earlier state.
    pub(crate) fn has_purge_since(self, earlier: Self) -> bool {
        self.last_purge != earlier.last_purge || self.purged_before != earlier.purged_before
    }

    /// The statement that belongs to one about what the archive has.
    pub(crate) fn describe(self) -> Option<String> {
        let what = self.exception(true)?;
        let verb = if what.contains(" and ") { "are" } else { "is" };
        Some(format!("{what} {verb} left out"))
    }

    /// What is missing where the archive is said to have all mail, if `has_everything` of
    /// any age.
    pub(crate) const fn exception(self, has_everything: bool) -> Option<&'static str> {
        let lacks_old = has_everything && self.has_age_limit && self.has_omitted_old;
        match (self.purged, lacks_old, self.by_retention) {
            (true, true, true) => Some("purged mail and mail older than the profile keeps (keep)"),
            (false, true, true) => Some("mail older than the profile keeps (keep)"),
            (true, true, false) => {
                Some("purged mail and mail older than archive purge --older keeps")
            }
            (false, true, false) => Some("mail older than archive purge --older keeps"),
            (true, false, _) => Some("purged mail"),
            (false, false, _) => None,
        }
    }
}

/// Reports how many emails were deleted because of their age, if any were.
pub(crate) fn expired_text(count: u64) -> Option<String> {
    let emails = plural(count, "email");
    (count > 0).then(|| format!("{emails} older than the profile keeps: removed"))
}

impl Archive {
    pub(crate) fn left_out(&self) -> Result<LeftOut> {
        let query = "SELECT cutoff, answered_at - retention, (SELECT coalesce(max(number), 0) FROM purged), coalesce(cutoff, retention) IS NOT NULL, left_out_old FROM listing";
        self.read(|conn| {
            conn.one(query, [], |row| {
                let (cutoff, retained): (Option<i64>, Option<i64>) = (row.get()?, row.get()?);
                let (limit, by_retention) =
                    (cutoff.max(retained), cutoff.is_none() || retained > cutoff);
                let last_purge = row.get()?;
                Ok(LeftOut {
                    purged: last_purge > 0,
                    has_age_limit: row.get()?,
                    has_omitted_old: row.get()?,
                    by_retention,
                    limit: to_timestamp(limit),
                    last_purge,
                    purged_before: to_timestamp(cutoff),
                })
            })
        })
    }

    /// Whether the email of this id was purged on demand, and not by its age.
    pub(crate) fn is_purged(&self, id: &EmailId) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM purged WHERE id_hash = ?1)";
        self.read(|conn| conn.value(query, [id_hash(id.as_str())]))
    }

    /// Whether a query is the whole id of an email that was purged so.
    pub(crate) fn finds_purged(&self, query: &Query) -> Result<bool> {
        let id = query.whole_id();
        id.map_or(Ok(false), |id| self.is_purged(&id))
    }

    /// Counts the emails that [`purge`](Self::purge) would delete.
    pub(crate) fn count_purge(&self, target: &PurgeTarget) -> Result<u64> {
        self.read(|conn| Ok(find_targets(conn, target)?.len() as u64))
    }

    /// Deletes emails with their bodies and status history,
    /// and rewrites the file without them.
    ///
    /// Returns how many there were, and whether the write-ahead log was emptied too: while another
    /// process reads, it cannot be, and is when that ends.
    pub(crate) fn purge(&self, target: &PurgeTarget) -> Result<(u64, bool)> {
        let count = self.write(|tx| {
            if let PurgeTarget::Before(time) = target {
                let query = "UPDATE listing SET cutoff = max(coalesce(cutoff, ?1), ?1)";
                tx.execute(query, [time.as_microsecond()])?;
                store_id_hashes_before(tx, *time)?;
                return delete_before(tx, *time);
            }
            let keys = find_targets(tx, target)?;
            for key in &keys {
                let query = "SELECT id FROM mail WHERE sort_key = ?1";
                let id: EmailId = tx.value(query, [key])?;
                store_id_hash(tx, &id)?;
            }
            delete_rows(tx, &keys)?;
            Ok(keys.len() as u64)
        })?;
        Ok((count, self.compact()?))
    }

    /// Fails if the tables on a server belong to another role,
    /// which alone vacuums them.
    pub(crate) fn check_owner(&self) -> Result<()> {
        if self.connections.server().is_none() || self.read(storage::is_owner)? {
            return Ok(());
        }
        Err(archive_error(
            "the archive belongs to another role, which alone can vacuum it",
            "the server does so by itself; to do it now, connect as that role",
        ))
    }

    /// Rewrites the file without the space of deleted rows.
    /// Returns false if another process keeps the write-ahead log from being emptied.
    pub(crate) fn compact(&self) -> Result<bool> {
        self.connections.with_writer(|writer| {
            search::erase_deleted(writer)?;
            dictionary::delete_unused(writer)?;
            storage::compact(writer)
        })
    }

    /// Limits how long mail is stored:
    /// for this process and for the others that have the archive open.
    pub(crate) fn with_retention(self, retention: Option<SignedDuration>) -> Result<Self> {
        let micros = retention.map(|it| i64::try_from(it.as_micros()).unwrap_or(i64::MAX));
        // Mostly it is the same, and nothing need be written.
        if self.read_only_reason().is_none() && self.read(load_retention)? != micros {
            self.write(|tx| change_retention(tx, micros))?;
        }
        Ok(self)
    }

    /// Deletes what is older than the retention; returns how many emails.
    /// A command that only reads does not call it. The search index drops the words with its next
    /// merges, or at once if much was deleted.
    pub(crate) fn purge_expired(&self, now: Timestamp) -> Result<u64> {
        let Some(before) = self.read(|conn| retained_since(conn, now))? else {
            return Ok(0);
        };
        // Mostly nothing is too old, and nothing need be written.
        if self.read_only_reason().is_some() || self.count_purge(&PurgeTarget::Before(before))? == 0
        {
            return Ok(0);
        }
        let purged = self.write(|tx| delete_expired(tx, now))?;
        if purged > 0 && purged * COMPACT_RATIO >= self.query_count()? {
            self.compact()?;
        }
        Ok(purged)
    }
}

/// Deletes what is older than the retention; returns how many emails.
/// Cheap if there are none.
pub(crate) fn delete_expired(tx: &Transaction, now: Timestamp) -> Result<u64> {
    let Some(before) = retained_since(tx, now)? else {
        return Ok(0);
    };
    delete_before(tx, before)
}

/// Returns the time since which mail is stored.
///
/// Ages count from the last answer of the service or, before the first one, from the newest email,
/// but not from a time after `now`: a local clock that is wrong deletes nothing.
fn retained_since(conn: &Connection, now: Timestamp) -> Result<Option<Timestamp>> {
    let Some(retention) = load_retention(conn)?.map(SignedDuration::from_micros) else {
        return Ok(None);
    };
    let newest: Option<SortKey> = conn.value("SELECT min(sort_key) FROM mail", [])?;
    let answered: Option<i64> = conn.value("SELECT answered_at FROM listing", [])?;
    let latest = answered.or(newest.map(SortKey::micros));
    let latest = latest.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    let latest = latest.map_or(now, |latest| latest.min(now));
    Ok(latest.checked_sub(retention).ok())
}

/// Changes the retention, in microseconds.
///
/// With a longer one, what was left out is fetched again: until then, the service may have more.
fn change_retention(tx: &Transaction, after: Option<i64>) -> Result<()> {
    let before = load_retention(tx)?;
    tx.execute("UPDATE listing SET retention = ?1", [after])?;
    let is_longer = before.is_some_and(|before| after.is_none_or(|after| after > before));
    if is_longer && tx.value("SELECT left_out_old FROM listing", [])? {
        forget_ends(tx, |_| true)?;
        // What was purged by its age on demand stays out.
        tx.execute_batch("UPDATE listing SET left_out_old = 0 WHERE cutoff IS NULL")?;
    }
    Ok(())
}

fn load_retention(conn: &Connection) -> Result<Option<i64>> {
    conn.value("SELECT retention FROM listing", [])
}

/// Looks up the existing rows of the emails, and removes new emails that must not
/// be stored again.
pub(crate) fn filter_purged(
    tx: &Transaction,
    emails: &mut Vec<IncomingEmail>,
    now: Timestamp,
) -> Result<FilteredCounts> {
    let purged_before: Option<i64> = tx.value("SELECT cutoff FROM listing", [])?;
    let retained = retained_since(tx, now)?.map(Timestamp::as_microsecond);
    let cutoff = purged_before.max(retained).unwrap_or(i64::MIN);
    let any_purged: bool = tx.value("SELECT EXISTS (SELECT 1 FROM purged)", [])?;
    let mut find_hash = tx.prepare_cached("SELECT 1 FROM purged WHERE id_hash = ?1")?;
    let mut filtered = FilteredCounts::default();
    incoming::find_existing(tx, emails)?;
    for email in std::mem::take(emails) {
        if email.existing.is_some() {
            emails.push(email);
        } else if email.time_key.is_some_and(|key| key.micros() < cutoff) {
            filtered.too_old += 1;
        } else if any_purged && find_hash.exists([id_hash(&email.item.id)])? {
            filtered.purged += 1;
        } else {
            emails.push(email);
        }
    }
    if filtered.too_old > 0 {
        tx.execute_batch(RECORD_OLD)?;
    }
    Ok(filtered)
}

fn find_targets(conn: &Connection, target: &PurgeTarget) -> Result<Vec<SortKey>> {
    match target {
        PurgeTarget::Before(time) => {
            let Some(edge) = SortKey::from_micros(time.as_microsecond()) else {
                return Ok(Vec::new());
            };
            let query = "SELECT sort_key FROM mail WHERE sort_key > ?1";
            conn.values(query, [edge])
        }
        PurgeTarget::To(address) => find_with(conn, address, false),
        PurgeTarget::With(address) => find_with(conn, address, true),
        PurgeTarget::Matching(query) => search::matching_keys(conn, query),
        PurgeTarget::Hashed(hashes) => {
            let mut keys = Vec::new();
            let mut ids = conn.prepare_cached("SELECT id, sort_key FROM mail")?;
            let mut rows = ids.query([])?;
            while let Some(row) = rows.next()? {
                let id: EmailId = row.get()?;
                if hashes.contains(&id_hash(id.as_str())) {
                    keys.push(row.get()?);
                }
            }
            Ok(keys)
        }
    }
}

/// Finds the emails to `address`, ignoring case, or also those from it and answered
/// to it.
fn find_with(conn: &Connection, address: &str, has_senders: bool) -> Result<Vec<SortKey>> {
    let email = Address::parse(address).email.to_lowercase();
    // Most rows are ruled out without being parsed, by a part that JSON does not escape and whose
    // case SQLite knows.
    let domain = email.rsplit('@').next().unwrap_or_default();
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '.';
    let part = domain
        .split(is_other)
        .max_by_key(|part| part.len())
        .unwrap_or_default();
    let query = concat!(
        "SELECT sort_key, ",
        summary_columns!(),
        " FROM mail WHERE instr(lower(concat_ws(' ', recipients, cc, bcc, extra_json, reply_to, \
         iif(typeof(sender) = 'integer', (SELECT value FROM interned WHERE id = sender), sender))), ?1) > 0"
    );
    let mut statement = conn.prepare_cached(query)?;
    let mut rows = statement.query([part])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let key = row.get()?;
        let summary = Summary::from(&row::read_summary(&row)?.0);
        let senders = std::iter::once(&summary.from).chain(&summary.reply_to);
        let addresses = summary.recipients().chain(senders.filter(|_| has_senders));
        if addresses
            .map(|it| it.email.to_lowercase())
            .any(|it| it == email)
        {
            found.push(key);
        }
    }
    Ok(found)
}

fn store_id_hash(tx: &Transaction, id: &EmailId) -> Result<()> {
    let query = "INSERT INTO purged (id_hash) VALUES (?1) ON CONFLICT DO NOTHING";
    tx.execute(query, [id_hash(id.as_str())])
}

/// Stores hashes of the ids of old emails that their own times would not keep out.
fn store_id_hashes_before(tx: &Transaction, before: Timestamp) -> Result<()> {
    let Some(edge) = SortKey::from_micros(before.as_microsecond()) else {
        return Ok(());
    };
    let mut old = tx.prepare_cached("SELECT created_at, id FROM mail WHERE sort_key > ?1")?;
    let mut rows = old.query([edge])?;
    while let Some(row) = rows.next()? {
        let created: ApiTime = row.get()?;
        let kept_out = |created| created < before.as_microsecond();
        if !created.as_micros().is_some_and(kept_out) {
            store_id_hash(tx, &row.get()?)?;
        }
    }
    Ok(())
}

/// Deletes emails that are older with everything that belongs to them;
/// returns how many. On a server, partitions that have only such emails are dropped.
fn delete_before(tx: &Transaction, before: Timestamp) -> Result<u64> {
    let Some(edge) = SortKey::from_micros(before.as_microsecond()) else {
        return Ok(0);
    };
    let query = "SELECT count(*) FROM mail WHERE sort_key > ?1";
    let count: i64 = tx.value(query, [edge])?;
    if count > 0 {
        tx.execute_batch(RECORD_OLD)?;
        forget_ends(tx, |bottom| bottom < edge)?;
        coverage::shrink_ranges(tx, edge)?;
        tx.execute("DELETE FROM mail WHERE sort_key > ?1", [edge])?;
    }
    Ok(count.unsigned_abs())
}

/// Deletes rows with everything that belongs to them.
fn delete_rows(tx: &Transaction, keys: &[SortKey]) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let purged: HashSet<SortKey> = keys.iter().copied().collect();
    forget_ends(tx, |bottom| purged.contains(&bottom))?;
    for key in keys {
        tx.execute("UPDATE mail SET listed = 0 WHERE sort_key = ?1", [key])?;
    }
    coverage::shrink_ranges(tx, BOTTOM)?;
    for key in keys {
        tx.execute("DELETE FROM mail WHERE sort_key = ?1", [key])?;
    }
    Ok(())
}

/// A range that loses its oldest rows no longer reaches the end:
/// the archive does not have what is below.
fn forget_ends(tx: &Transaction, loses: impl Fn(SortKey) -> bool) -> Result<()> {
    for range in coverage::load_ranges(tx)? {
        if loses(range.bottom) {
            let query = "UPDATE covered_range SET reaches_end = 0 WHERE bottom = ?1";
            tx.execute(query, [range.bottom])?;
        }
    }
    Ok(())
}

fn id_hash(id: &str) -> [u8; 16] {
    let hash = sha256(id.as_bytes());
    *hash.first_chunk().expect("a SHA-256 has 32 bytes")
}
