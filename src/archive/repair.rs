//! Repairs a damaged archive:
//! writes what can be read to a new file, which takes its name.

use std::fs::{self, File};
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;

use super::codec::body::CompressedBody;
use super::codec::row::{self, summary_columns};
use super::codec::{self, dictionary};
use super::copy::{TABLES, Table};
use super::incoming::{RowState, ValueCache};
use super::integrity::{self, Damage};
use super::listing::coverage::{self, CoveredRange};
use super::listing::{ByDirection, Direction};
use super::storage::db::{Connection, Row, Transaction, params};
use super::storage::error::{START_NEW_HINT, archive_error, damaged_error, in_use_error};
use super::storage::files::{remove_empty_log, replace_file, sidecar_path};
use super::storage::{self, open_for_repair};
use super::{Archive, ArchiveLocation, ProcessLock, SortKey};
use crate::api::wire::LosslessSummary;
use crate::config::create_private_file;
use crate::error::{Error, ErrorKind, Result};

/// The most emails in one transaction, and bytes of their bodies.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepairOutcome {
    pub(crate) emails: u64,
    pub(crate) bodies: u64,
    /// Emails that could not be read; `None` if their number is unknown.
    pub(crate) lost_emails: Option<u64>,
    /// Bodies that could not be read; `None` if their number is unknown.
    pub(crate) lost_bodies: Option<u64>,
    /// Emails that are kept without a part that could not be read.
    pub(crate) incomplete_emails: u64,
    /// Whether coverage was reset, so that sync fetches the whole list again.
    pub(crate) is_coverage_reset: bool,
    /// Where the damaged file is now;
    /// `None` if nothing was damaged, so that nothing was changed.
    pub(crate) backup: Option<PathBuf>,
}

/// One email with everything that is copied.
struct RecoveredEmail {
    state: RowState,
    fields: LosslessSummary,
    json: Option<String>,
    /// Whether the sender or the order of its keys could not be read.
    is_incomplete: bool,
}

/// An email without what other tables have of it:
/// it may be on pages that cannot be read.
const EMAIL_FROM: &str = concat!(
    "SELECT sort_key, listed, status_seen_at, status_changes, response_seq, confirmed_at, missing_since, ",
    summary_columns!("sender"),
    ", key_order_id FROM mail WHERE sort_key "
);

/// The end of [`EMAIL_FROM`] for each [`Direction`].
const EMAILS_PAST: ByDirection = ByDirection {
    older: "> ?1 ORDER BY sort_key",
    newer: "< ?1 ORDER BY sort_key DESC",
};
/// Finds the next stored sort key in each [`Direction`].
const NEXT_KEY: ByDirection = ByDirection {
    older: "SELECT sort_key FROM mail WHERE sort_key > ?1 ORDER BY sort_key LIMIT 1",
    newer: "SELECT sort_key FROM mail WHERE sort_key < ?1 ORDER BY sort_key DESC LIMIT 1",
};

/// Tables that are copied as they are, except rows that contradict the new file.
const COPIED_TABLES: [&str; 4] = ["identity", "purged", "confirmed_run", "status_history"];

impl Archive {
    /// Writes the archive at `path` again from the emails that can be read:
    /// rows, bodies, index and counts.
    ///
    /// Coverage excludes what cannot be read, so that the next sync fetches it again. The damaged
    /// file becomes a backup; a file without damage stays as it is. On an error the archive is
    /// unchanged. No other process can open the archive meanwhile. `progress` gets the number of
    /// emails written.
    pub(crate) fn repair(path: &Path, progress: impl FnMut(u64)) -> Result<RepairOutcome> {
        let poll_lock = ProcessLock::new(&ArchiveLocation::Disk(path.to_owned()), "poll");
        if !poll_lock.is_free() {
            return Err(in_use_error("another sentbox is using the archive"));
        }
        let new = path.with_added_extension("repair");
        let copy = path.with_added_extension("repair-source");
        remove_archive(&new);
        remove_archive(&copy);
        let repaired = Self::repair_files(path, &new, &copy, progress);
        remove_archive(&copy);
        repaired.map_err(|error| match error.kind {
            ErrorKind::ArchiveDamaged => error.with_hint(START_NEW_HINT),
            _ => error,
        })
    }

    /// Repairs `path` with the new file `new`.
    fn repair_files(
        path: &Path,
        new: &Path,
        copy: &Path,
        progress: impl FnMut(u64),
    ) -> Result<RepairOutcome> {
        let source = RepairSource::open(path, copy)?;
        if source.is_whole() {
            let rows = storage::count_rows(&source.connection)?;
            return Ok(RepairOutcome {
                emails: rows.emails,
                bodies: rows.bodies,
                lost_emails: Some(0),
                lost_bodies: Some(0),
                incomplete_emails: 0,
                is_coverage_reset: false,
                backup: None,
            });
        }
        let repaired =
            (source.rewrite(path, new, progress)).inspect_err(|_| remove_archive(new))?;
        drop(source);
        if let Some(backup) = &repaired.backup {
            remove_empty_log(backup);
        }
        Ok(repaired)
    }
}

/// The file to repair, and what is damaged in it.
struct RepairSource {
    connection: Connection,
    damage: Damage,
    /// The file itself, where a copy of it is read; its lock keeps other processes out.
    original: Option<Result<(Connection, Damage)>>,
}

impl RepairSource {
    /// Opens the file, or `copy` instead of it where `SQLite` does not read a file with
    /// such a header.
    fn open(path: &Path, copy: &Path) -> Result<Self> {
        let mut opened = open_and_examine(path);
        let is_file_damaged = match &opened {
            Ok((_, damage)) => damage.in_file,
            Err(error) => error.kind == ErrorKind::ArchiveDamaged,
        };
        let copied = is_file_damaged.then(|| copy_with_page_count(path, copy));
        let has_copy = copied.transpose().map_err(|error| {
            Error::cannot("copied", ErrorKind::Archive, "the damaged file", &error)
        })?;
        let original =
            (has_copy == Some(true)).then(|| mem::replace(&mut opened, open_and_examine(copy)));
        let (connection, damage) = match opened {
            Err(error) if error.kind == ErrorKind::ArchiveDamaged => {
                // Definitions of tables cannot be read: those of others can.
                let path = if original.is_some() { copy } else { path };
                let damage = Damage {
                    in_file: true,
                    ..Damage::default()
                };
                (open_for_repair(path, true)?, damage)
            }
            opened => opened?,
        };
        Ok(Self {
            connection,
            damage,
            original,
        })
    }

    fn is_whole(&self) -> bool {
        self.damage == Damage::default() && self.original.is_none()
    }

    /// Writes what can be read to `new`, which takes the name `path`.
    fn rewrite(
        &self,
        path: &Path,
        new: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<RepairOutcome> {
        let target = Archive::open(&ArchiveLocation::Disk(new.to_owned()))?;
        let mut job = RepairJob {
            source: &self.connection,
            target: &target,
            damage: self.damage.clone(),
            written: 0,
            lost: Vec::new(),
            incomplete: Vec::new(),
            lost_bodies: 0,
        };
        job.copy_emails(&mut progress)?;
        let is_coverage_reset = job.copy_other_tables()?;
        target.compact()?;
        let info = target.info()?;
        let [lost_emails, lost_bodies] = job.count_lost(info.bodies);
        let incomplete_emails = job.incomplete.len() as u64;
        // A connection that closes removes the log of the new file. That of the source stays open:
        // its lock keeps other processes out until the new file has its name.
        drop(target);
        Ok(RepairOutcome {
            emails: info.emails,
            bodies: info.bodies,
            lost_emails,
            lost_bodies,
            incomplete_emails,
            is_coverage_reset,
            backup: Some(replace_file(path, new, "damaged")?),
        })
    }
}

/// A copy from a damaged file to a new one.
struct RepairJob<'a> {
    source: &'a Connection,
    target: &'a Archive,
    damage: Damage,
    written: u64,
    /// The keys of emails that could not be read.
    lost: Vec<SortKey>,
    /// The keys of emails that are written without a part.
    incomplete: Vec<SortKey>,
    lost_bodies: u64,
}

impl RepairJob<'_> {
    /// Copies all emails that can be read:
    /// from the newest on, and if that does not reach the end, back from the oldest one.
    fn copy_emails(&mut self, progress: &mut impl FnMut(u64)) -> Result<()> {
        let reached = self.copy_direction(Direction::Older, i64::MIN, i64::MAX, progress)?;
        if let Some(reached) = reached {
            self.damage.in_file = true;
            self.copy_direction(Direction::Newer, i64::MAX, reached, progress)?;
        }
        if self.written == 0 && self.damage.in_file {
            return Err(archive_error(
                "no email in the archive can be read",
                START_NEW_HINT,
            ));
        }
        Ok(())
    }

    /// Copies in one direction, from the key `start` until `end`.
    ///
    /// Continues behind a page that cannot be read, and from there back to that page. Returns
    /// `None` at the end, else the last key.
    fn copy_direction(
        &mut self,
        direction: Direction,
        start: i64,
        end: i64,
        progress: &mut impl FnMut(u64),
    ) -> Result<Option<i64>> {
        let mut from = start;
        loop {
            let Err(broken_at) = self.copy_until_break(direction, from, end, progress)? else {
                return Ok(None);
            };
            if broken_at == start {
                return Ok(Some(broken_at));
            }
            let Some(found) = self.find_next_readable(direction, broken_at, end) else {
                return Ok(Some(broken_at));
            };
            let _ = self.copy_until_break(direction.reverse(), found, broken_at, progress)?;
            // Once more with the email that was found.
            from = found - stored_step(direction);
        }
    }

    /// Copies emails from `from` until `end` or a page that cannot be read;
    /// the error is the key of the last email before that.
    fn copy_until_break(
        &mut self,
        direction: Direction,
        from: i64,
        end: i64,
        progress: &mut impl FnMut(u64),
    ) -> Result<Result<(), i64>> {
        let mut last = from;
        let mut batch: Vec<RecoveredEmail> = Vec::new();
        let mut bytes = 0;
        let source = self.source;
        let Ok(mut statement) =
            source.prepare_cached(&format!("{EMAIL_FROM}{}", EMAILS_PAST.get(direction)))
        else {
            return Ok(Err(last));
        };
        let result = match statement.query([from]) {
            Err(_) => Err(last),
            Ok(mut rows) => loop {
                let row = match rows.next() {
                    Ok(Some(row)) => row,
                    Ok(None) => break Ok(()),
                    Err(_) => break Err(last),
                };
                let Ok(key) = row.get::<i64>() else {
                    continue;
                };
                if key == end {
                    break Ok(());
                }
                last = key;
                let sort_key = SortKey(key.saturating_neg());
                match self.recover_row(sort_key, &row) {
                    Ok(email) => {
                        bytes += email.json.as_ref().map_or(0, String::len);
                        batch.push(email);
                    }
                    Err(_) => self.lost.push(sort_key),
                }
                if batch.len() == BATCH || bytes > BATCH_BYTES {
                    bytes = 0;
                    self.write_batch(&mut batch)?;
                    progress(self.written);
                }
            },
        };
        self.write_batch(&mut batch)?;
        progress(self.written);
        Ok(result)
    }

    /// Finds the key of an email behind a break; each step goes twice as far.
    fn find_next_readable(&self, direction: Direction, broken_at: i64, end: i64) -> Option<i64> {
        let step = stored_step(direction);
        let mut from = (0..62).filter_map(|bits| broken_at.checked_add(step << bits));
        let query = NEXT_KEY.get(direction);
        let found: i64 = from.find_map(|from| self.source.value(query, [from]).ok())?;
        (found.cmp(&end) == 0.cmp(&step)).then_some(found)
    }

    /// Reads the columns of [`EMAIL_FROM`] after the sort key.
    fn recover_row(&mut self, sort_key: SortKey, row: &Row) -> Result<RecoveredEmail> {
        let mut state = RowState {
            sort_key,
            fts_rowid: None,
            listed: row.get()?,
            status_seen_at: row.get()?,
            status_changes: row.get()?,
            response_seq: row.get()?,
            confirmed_at: row.get()?,
            missing_since: row.get()?,
        };
        let (fields, is_incomplete) = row::recover_fields(row, self.source)?;
        row::check_json(&fields).map_err(damaged_error)?;
        if is_incomplete {
            // No page has listed it like this, and each response is newer.
            (state.listed, state.response_seq, state.confirmed_at) = (false, 0, None);
        }
        let json = self.read_body(sort_key);
        self.lost_bodies += u64::from(json.is_err());
        Ok(RecoveredEmail {
            state,
            fields,
            json: json.ok().flatten(),
            is_incomplete,
        })
    }

    fn read_body(&self, key: SortKey) -> Result<Option<String>> {
        let Some(compressed) = CompressedBody::load(self.source, key)? else {
            return Ok(None);
        };
        compressed.to_email(self.source)?;
        compressed.to_json(self.source).map(Some)
    }

    /// Writes emails and empties the batch.
    /// An email with an id that is already there is lost.
    fn write_batch(&mut self, batch: &mut Vec<RecoveredEmail>) -> Result<()> {
        let (lost, incomplete) = (&mut self.lost, &mut self.incomplete);
        let done = self.target.write(|tx| {
            let mut cache = ValueCache::default();
            let mut written = Vec::new();
            for email in batch.iter() {
                // The same email, copied from the other side of the break, or another one with its
                // id.
                let query = "SELECT sort_key FROM mail WHERE id = ?1 OR sort_key = ?2";
                let id = codec::encode_id(&email.fields.summary.id);
                let key = email.state.sort_key;
                let known: Option<SortKey> = tx.optional_value(query, params![id, key])?;
                if let Some(known) = known {
                    lost.extend((known != key).then_some(key));
                    continue;
                }
                cache.insert_row(tx, &email.state, &email.fields)?;
                incomplete.extend(email.is_incomplete.then_some(key));
                written.push(email);
            }
            let bodies: Vec<(SortKey, &str)> = written
                .iter()
                .filter_map(|email| Some((email.state.sort_key, email.json.as_deref()?)))
                .collect();
            dictionary::store_bodies(tx, &bodies)?;
            Ok(written.len() as u64)
        })?;
        self.written += done;
        batch.clear();
        Ok(())
    }

    /// Copies everything except emails.
    /// Returns whether coverage was reset because emails may be missing that left no trace.
    fn copy_other_tables(&mut self) -> Result<bool> {
        let (source, lost) = (self.source, [&*self.lost, &self.incomplete].concat());
        let is_coverage_reset = self.damage.in_file || self.damage.in_counts;
        self.target.write(|tx| {
            let is_copied = |table: &&Table| COPIED_TABLES.contains(&table.name);
            for table in TABLES.iter().filter(is_copied) {
                // What cannot be read is dropped: a time of confirmation, an earlier status.
                let _ = copy_table(source, tx, table);
            }
            let query = "SELECT oldest_first, max_page_len, cutoff, head_requested_at, last_request_seq, retention, is_mirror, answered_at, left_out_old FROM listing";
            let listing = source.one(query, [], |row| {
                (0..9).map(|_| row.get::<Value>()).collect::<rusqlite::Result<Vec<_>>>()
            });
            if let Ok(listing) = listing {
                let query = "UPDATE listing SET oldest_first = ?1, max_page_len = ?2, cutoff = ?3, head_requested_at = ?4, last_request_seq = ?5, retention = ?6, is_mirror = ?7, answered_at = ?8, left_out_old = ?9";
                let _ = tx.execute(query, listing);
            }
            if is_coverage_reset {
                tx.execute_batch(
                    "DELETE FROM confirmed_run; UPDATE mail SET listed = 0 WHERE listed = 1; UPDATE listing SET head_requested_at = NULL",
                )?;
                return Ok(());
            }
            for range in coverage::load_ranges(source)? {
                for part in split_range(tx, range, &lost)? {
                    coverage::insert_range(tx, &part)?;
                }
            }
            Ok(())
        })?;
        Ok(is_coverage_reset)
    }

    /// Counts the lost emails and bodies by the row counts;
    /// `None` if those are damaged, too.
    fn count_lost(&self, bodies: u64) -> [Option<u64>; 2] {
        let query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let file_size: i64 = self.source.value(query, []).unwrap_or(0);
        let counted = storage::count_rows(self.source).ok();
        let count = |counted: Option<u64>, written: u64, lost: u64| {
            let missing = counted.and_then(|counted| counted.checked_sub(written));
            // A damaged count may have any value, but each row takes some bytes.
            let missing = missing.filter(|missing| *missing < file_size.unsigned_abs());
            match missing {
                None if self.damage.in_file => None,
                missing => Some(missing.unwrap_or(0).max(lost)),
            }
        };
        let lost = self.lost.len() as u64;
        [
            count(counted.map(|it| it.emails), self.written, lost),
            count(counted.map(|it| it.bodies), bodies, self.lost_bodies),
        ]
    }
}

/// Returns the difference to the next stored key: they are negated.
const fn stored_step(direction: Direction) -> i64 {
    match direction {
        Direction::Older => 1,
        Direction::Newer => -1,
    }
}

/// Copies rows until one cannot be read, without those that the new table rejects.
fn copy_table(source: &Connection, tx: &Transaction, table: &Table) -> Result<()> {
    let mut insert = tx.prepare_cached(&format!("{} ON CONFLICT DO NOTHING", table.insert()))?;
    let mut statement = source.prepare_cached(&table.select())?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let _ = insert.execute(table.read_row(&row)?);
    }
    Ok(())
}

/// Splits a range at the emails that were lost, or lost a part.
/// Each part ends at listed rows.
fn split_range(
    tx: &Transaction,
    range: CoveredRange,
    lost: &[SortKey],
) -> Result<Vec<CoveredRange>> {
    let mut breaks: Vec<SortKey> = lost
        .iter()
        .copied()
        .filter(|key| range.contains(*key))
        .collect();
    breaks.sort_unstable_by(|one, other| other.cmp(one));
    let mut parts = Vec::new();
    let mut top = range.top;
    for bottom in breaks.iter().map(|lost| Some(*lost)).chain([None]) {
        let low = bottom.map_or(range.bottom, SortKey::next_newer);
        let first = coverage::newest_listed(tx, top, low)?;
        let last = coverage::oldest_listed(tx, top, low)?;
        if let (Some(first), Some(last)) = (first, last) {
            parts.push(CoveredRange {
                top: first,
                bottom: last,
                reaches_top: range.reaches_top && first == range.top,
                reaches_end: range.reaches_end && last == range.bottom,
            });
        }
        top = bottom.map_or(top, SortKey::next_older);
    }
    Ok(parts)
}

/// Opens an archive of this version, and finds what is damaged in it.
fn open_and_examine(path: &Path) -> Result<(Connection, Damage)> {
    let source = open_for_repair(path, false)?;
    if storage::is_outdated(&source)? {
        let version = storage::read_version(&source)?;
        return Err(archive_error(
            format!(
                "the archive has the format {version} of an older version of sentbox, so it is not repaired"
            ),
            "sync with its key replaces it by a new one, fetches its mail again, and keeps it as a backup",
        ));
    }
    if !storage::has_tables(&source)? {
        return Err(archive_error(
            "the archive is empty, so there is nothing to repair",
            "",
        ));
    }
    let damage = integrity::find_damage(&source, |_| ())?;
    Ok((source, damage))
}

/// Copies a file, and its write-ahead log, if the header has another number of
/// pages than the file, as after its end is cut off; the header of the copy has the right one.
/// Returns whether it does.
fn copy_with_page_count(path: &Path, copy: &Path) -> io::Result<bool> {
    /// Where the header has the number
    /// (<https://www.sqlite.org/fileformat.html#the_database_header>).
    const PAGE_COUNT: Range<usize> = 28..32;
    // Not closed, because that would unlock it: see storage/files.rs.
    let mut file = ManuallyDrop::new(File::open(path)?);
    let mut header = [0; 32];
    file.read_exact_at(&mut header, 0)?;
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        0 => return Ok(false),
        1 => 1 << 16,
        size => u64::from(size),
    };
    let pages = file.metadata()?.len() / page_size;
    let pages = u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes();
    if header[PAGE_COUNT] == pages {
        return Ok(false);
    }
    let mut target = create_private_file(copy)?;
    io::copy(&mut *file, &mut target)?;
    target.write_all_at(&pages, PAGE_COUNT.start as u64)?;
    match fs::copy(sidecar_path(path, "-wal"), sidecar_path(copy, "-wal")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}

/// Removes an archive that no process has open:
/// that of an interrupted repair, or one without mail.
pub(crate) fn remove_archive(path: &Path) {
    for suffix in ["", "-wal", "-shm", ".poll", ".backfill", ".bodies"] {
        let _ = fs::remove_file(sidecar_path(path, suffix));
    }
}
