//! Copies an archive to another database:
//! from a file to PostgreSQL, back, or to another file.
//!
//! Each table is compared by its key and made equal to that of the source, so a copy that was
//! interrupted goes on where it ended, whatever has changed in the source meanwhile. The version of
//! the target marks it as not complete until everything is equal; only then can it be opened. What
//! the databases store differently is rebuilt: the search index, and counts.

use std::cmp::Ordering;

use rusqlite::types::Value;

use super::listing::TOP;
use super::search::{Index, is_indexed_by_id, merge_segments};
use super::storage::db::{Connection, Row, parameter_marks};
use super::storage::error::{archive_error, in_use_error};
use super::storage::{self, Connections, INCOMPLETE_COPY, RowCounts, VERSION};
use super::{Archive, ArchiveLocation, ProcessLock, SortKey};
use crate::error::{Error, Result};
use crate::mail::Mailbox;

/// The current step of a copy, with the rows that it has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyStep {
    /// It compares what the target has with the source.
    Compare(u64),
    /// It copies emails, bodies and what else is stored.
    Copy(u64),
    /// It makes the search index.
    Index(u64),
}

/// A table that is copied. A row refers only to tables before its own.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// How many of the columns are the primary key.
    key_len: usize,
    /// The primary key, and all other columns.
    columns: &'static [&'static str],
    /// Rows in one transaction.
    batch: usize,
}

impl Table {
    const fn new(name: &'static str, columns: &'static [&'static str]) -> Self {
        Self {
            name,
            key_len: 1,
            columns,
            batch: 1000,
        }
    }
}

#[rustfmt::skip] // one table a line
pub(super) const TABLES: [Table; 11] = [
    Table::new("key_order", &["key_order_id", "keys"]),
    Table::new("dictionary", &["id", "text"]),
    Table::new(INTERNED, &["id", "kind", "value"]),
    Table::new(MAIL, &["sort_key", "fts_rowid", "id", "listed", "status_seen_at", "status_changes", "response_seq",
        "confirmed_at", "missing_since", "key_order_id", "created_at", "last_event", "sender", "recipients", "subject",
        "message_id", "cc", "bcc", "reply_to", "scheduled_at", "extra_json"]),
    // A body may have a megabyte.
    Table { batch: 100, ..Table::new("body", &["sort_key", "json", "dictionary_id"]) },
    Table { key_len: 2, ..Table::new("status_history", &["sort_key", "seq", "seen_at", "last_event"]) },
    Table::new("covered_range", &["top", "bottom", "reaches_top", "reaches_end"]),
    Table::new("confirmed_run", &["top", "bottom", "requested_at", "response_seq", "may_change"]),
    Table::new("listing", &["id", "oldest_first", "max_page_len", "is_empty", "cutoff", "retention", "bodies_stored",
        "last_request_seq", "is_mirror", "answered_at", "left_out_old", "head_requested_at", "backfill_day", "backfill_requests"]),
    Table::new("purged", &["id_hash"]),
    Table::new("identity", &["service", "key_fingerprint"]),
];
const MAIL: &str = "mail";
const INTERNED: &str = "interned";

/// Emails that are indexed in one transaction.
const INDEX_BATCH: usize = 500;

impl Archive {
    /// Copies the archives of sent and of received mail, as far as they exist;
    /// returns how much is in the copies.
    ///
    /// A complete one at `to` that is equal stays as it is: a copy may have ended right after its
    /// last step. Fails if there is no archive at `from`, another one at `to`, one of them cannot be
    /// read or written, or `progress` fails; the same copy goes on then.
    pub(crate) fn copy(
        from: &ArchiveLocation,
        to: &ArchiveLocation,
        mut progress: impl FnMut(Mailbox, CopyStep) -> Result<()>,
    ) -> Result<RowCounts> {
        let mut mailboxes = Vec::new();
        for mailbox in Mailbox::ALL {
            if storage::exists(&from.for_mailbox(mailbox))? {
                mailboxes.push(mailbox);
            }
        }
        let Some(first) = mailboxes.first() else {
            return Err(archive_error(
                format!("there is no archive at {from}"),
                "sentbox archive info says where the archive of a profile is",
            ));
        };
        let is_begun = storage::exists(&to.for_mailbox(*first))?;
        for mailbox in Mailbox::ALL {
            let target = to.for_mailbox(mailbox);
            let is_copy = mailbox == *first || (is_begun && mailboxes.contains(&mailbox));
            if !is_copy && storage::exists(&target)? {
                return Err(exists_error(&target));
            }
        }
        let mut copies = Vec::new();
        let mut goes_on = false;
        for mailbox in mailboxes {
            let from = from.for_mailbox(mailbox);
            let source = Self::open(&from)?;
            if source.is_audited() && !source.read(storage::is_owner)? {
                return Err(archive_error(
                    "only the owner of the schema copies an archive in which it is recorded who opens an email",
                    "sentbox export takes emails along, with a record of each",
                ));
            }
            let to = to.for_mailbox(mailbox);
            let is_begun = storage::exists(&to)?;
            let target = Connections::open_copy(&to)?;
            let lock = lock_copy(&target, &to)?;
            let version = target.with_writer(|writer| storage::read_version(writer))?;
            let mut is_complete = version != INCOMPLETE_COPY;
            if is_complete && goes_on {
                // It may have ended between the two last steps.
                target.with_writer(|writer| storage::set_version(writer, INCOMPLETE_COPY))?;
                is_complete = false;
            }
            if !is_complete {
                goes_on |= is_begun;
                fill(&source, &target, |step| progress(mailbox, step))?;
            } else if version != VERSION || !is_equal(&source, &target)? {
                return Err(exists_error(&to));
            }
            copies.push((target, lock, is_complete));
        }
        // That of sent mail last: while it is not complete, the same command goes on.
        let mut total = RowCounts::default();
        for (target, _lock, is_complete) in copies.iter().rev() {
            if !is_complete {
                target.with_writer(|writer| complete(writer))?;
            }
            let RowCounts { emails, bodies } = target.read(storage::count_rows)?;
            total.emails += emails;
            total.bodies += bodies;
        }
        Ok(total)
    }
}

/// Whether the target has every row of the source, and no other.
fn is_equal(source: &Archive, target: &Connections) -> Result<bool> {
    source.read(|source| {
        target.read(|target| {
            for table in &TABLES {
                let mut past: Option<Vec<Value>> = None;
                loop {
                    let rows = table.read_past(source, past.as_deref())?;
                    if table.read_past(target, past.as_deref())? != rows {
                        return Ok(false);
                    }
                    let Some(last) = rows.last() else {
                        break;
                    };
                    past = Some(table.key(last).to_vec());
                }
            }
            Ok(true)
        })
    })
}

fn exists_error(to: &ArchiveLocation) -> Error {
    archive_error(
        format!("there is an archive at {to} already"),
        "name a file or a schema that does not exist yet",
    )
}

fn lock_copy(target: &Connections, to: &ArchiveLocation) -> Result<ProcessLock> {
    let lock = target.process_lock(to, "poll");
    // For all copies it is the same time, so none counts as abandoned.
    if lock.try_acquire(jiff::Timestamp::UNIX_EPOCH) {
        return Ok(lock);
    }
    let message = format!("another sentbox copies to the archive at {to}");
    Err(in_use_error(message))
}

/// Makes the tables of the target equal to those of the source,
/// and the index of it.
fn fill(
    source: &Archive,
    target: &Connections,
    mut progress: impl FnMut(CopyStep) -> Result<()>,
) -> Result<()> {
    source.read(|source| {
        // A range refers to emails that may have to be replaced.
        target.write(|tx| tx.execute("DELETE FROM covered_range", []))?;
        let mut done = 0;
        for table in TABLES.iter().rev() {
            remove_different(source, target, table, |rows| {
                done += rows;
                progress(CopyStep::Compare(done))
            })?;
        }
        done = 0;
        for table in &TABLES {
            add_missing(source, target, table, |rows| {
                done += rows;
                progress(CopyStep::Copy(done))
            })?;
        }
        Ok(())
    })?;
    target.write(storage::advance_numbers)?;
    index_emails(target, |done| progress(CopyStep::Index(done)))
}

/// Makes a filled copy an archive that can be opened.
fn complete(writer: &Connection) -> Result<()> {
    storage::complete_copy(writer)?;
    let mut has_more = merge_segments(writer, true)?;
    while has_more {
        has_more = merge_segments(writer, false)?;
    }
    Ok(())
}

/// Deletes the rows of the target that the source does not have in the same form.
fn remove_different(
    source: &Connection,
    target: &Connections,
    table: &Table,
    mut progress: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let condition = table.condition("=", 1);
    let delete = format!("DELETE FROM {} WHERE {condition}", table.name);
    let mut past: Option<Vec<Value>> = None;
    loop {
        let rows = target.read(|target| table.read_past(target, past.as_deref()))?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let end = table.key(last).to_vec();
        let known = table.read_between(source, past.as_deref(), &end)?;
        let different = rows.iter().filter(|row| !table.has(&known, row));
        let keys: Vec<Vec<Value>> = different.map(|row| table.key(row).to_vec()).collect();
        if !keys.is_empty() {
            target.write(|tx| {
                keys.into_iter()
                    .try_for_each(|key| tx.execute(&delete, key))
            })?;
        }
        progress(rows.len() as u64)?;
        past = Some(end);
    }
}

/// Adds the rows of the source that the target does not have.
fn add_missing(
    source: &Connection,
    target: &Connections,
    table: &Table,
    mut progress: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let insert = table.insert();
    let mut past: Option<Vec<Value>> = None;
    loop {
        let rows = table.read_past(source, past.as_deref())?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let end = table.key(last).to_vec();
        let known = target.read(|target| table.read_between(target, past.as_deref(), &end))?;
        let count = rows.len() as u64;
        if known.len() < rows.len() {
            target.write(|tx| {
                let mut has_new_ids = false;
                for row in rows {
                    if table.has(&known, &row) {
                        continue;
                    }
                    has_new_ids |= table.name == INTERNED
                        && matches!(&row[1], Value::Text(kind) if is_indexed_by_id(kind));
                    if table.name == MAIL {
                        let query = "INSERT INTO dirty VALUES (?1) ON CONFLICT DO NOTHING";
                        tx.execute(query, table.key(&row).to_vec())?;
                    }
                    tx.execute(&insert, row)?;
                }
                if has_new_ids {
                    // What was indexed before has other tokens for these values.
                    let query =
                        "INSERT INTO dirty SELECT sort_key FROM mail WHERE 1 = 1 ON CONFLICT DO NOTHING";
                    tx.execute(query, [])?;
                }
                Ok(())
            })?;
        }
        progress(count)?;
        past = Some(end);
    }
}

impl Table {
    fn key<'a>(&self, row: &'a [Value]) -> &'a [Value] {
        &row[..self.key_len]
    }

    /// Whether `row` is among `rows`, which are in the order of their keys.
    fn has(&self, rows: &[Vec<Value>], row: &[Value]) -> bool {
        let found = rows.binary_search_by(|other| compare_keys(self.key(other), self.key(row)));
        found.is_ok_and(|at| rows[at] == row)
    }

    /// Compares the key with parameters from the number `first` on.
    fn condition(&self, comparison: &str, first: usize) -> String {
        let marks = parameter_marks(first, self.key_len);
        let names = self.columns[..self.key_len].join(", ");
        format!("({names}) {comparison} ({marks})")
    }

    /// Reads the rows of the next batch, whose keys are past `past`.
    pub(super) fn read_past(
        &self,
        conn: &Connection,
        past: Option<&[Value]>,
    ) -> Result<Vec<Vec<Value>>> {
        let condition = past.map_or_else(|| "1 = 1".to_owned(), |_| self.condition(">", 1));
        let limit = format!(" LIMIT {}", self.batch);
        self.read(conn, &condition, &limit, past.unwrap_or_default().to_vec())
    }

    /// Reads the rows whose keys are past `past` and not past `end`.
    fn read_between(
        &self,
        conn: &Connection,
        past: Option<&[Value]>,
        end: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let mut condition = self.condition("<=", 1);
        let mut params = end.to_vec();
        if let Some(past) = past {
            condition = format!("{condition} AND {}", self.condition(">", self.key_len + 1));
            params.extend_from_slice(past);
        }
        self.read(conn, &condition, "", params)
    }

    fn read(
        &self,
        conn: &Connection,
        condition: &str,
        limit: &str,
        params: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>> {
        let keys = self.columns[..self.key_len].join(", ");
        let select = self.select();
        let query = format!("{select} WHERE {condition} ORDER BY {keys}{limit}");
        conn.all(&query, params, |row| self.read_row(row))
    }

    /// Returns the statement that reads all rows.
    pub(super) fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.columns.join(", "), self.name)
    }

    pub(super) fn insert(&self) -> String {
        let names = self.columns.join(", ");
        let marks = parameter_marks(1, self.columns.len());
        format!("INSERT INTO {} ({names}) VALUES ({marks})", self.name)
    }

    pub(super) fn read_row(&self, row: &Row) -> rusqlite::Result<Vec<Value>> {
        self.columns.iter().map(|_| row.get()).collect()
    }
}

/// Compares keys as both databases order them.
fn compare_keys(one: &[Value], other: &[Value]) -> Ordering {
    let columns = one.iter().zip(other).map(|columns| match columns {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Blob(one), Value::Blob(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        _ => Ordering::Equal,
    });
    columns.fold(Ordering::Equal, Ordering::then)
}

/// Writes the index of the emails that are marked for it.
fn index_emails(target: &Connections, mut progress: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let query = format!(
        "SELECT sort_key FROM dirty WHERE sort_key > ?1 ORDER BY sort_key LIMIT {INDEX_BATCH}"
    );
    let delete = "DELETE FROM dirty WHERE sort_key BETWEEN ?1 AND ?2";
    let (mut past, mut done) = (TOP, 0);
    loop {
        let keys: Vec<SortKey> = target.read(|target| target.values(&query, [past]))?;
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(());
        };
        target.write(|tx| {
            Index::with_interned(tx).replace_stored(&keys)?;
            tx.execute(delete, [first, last])
        })?;
        past = *last;
        done += keys.len() as u64;
        progress(done)?;
    }
}
