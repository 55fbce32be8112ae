//! The archive: every email that was ever fetched, in `SQLite` (a file,
//! or memory) or `PostgreSQL`.
//!
//! Foreign data is stored as it came and sanitised when a row becomes a [`mail::Summary`]; nothing
//! that the service sent is lost ([`Archive::summary_json`]). Calls block: they belong on a
//! blocking thread, never on an event loop.
//!
//! [`mail::Summary`]: crate::mail::Summary

mod audit;
mod binding;
mod bodies;
mod changes;
mod codec;
mod copy;
mod email_event;
mod grouping;
mod identity;
mod import;
mod incoming;
mod integrity;
mod json_stream;
mod listing;
mod outdated;
mod purge;
mod repair;
mod search;
mod statistics;
mod status_age;
mod storage;
#[cfg(test)]
pub(crate) mod tests;
mod window;

use std::path::Path;
use std::sync::Arc;

use binding::Binding;
pub(crate) use bodies::StoredEmail;
pub(crate) use changes::ChangeSnapshot;
pub(crate) use copy::CopyStep;
pub(crate) use email_event::{EmailEvent, EventOutcome};
pub(crate) use grouping::{Grouping, Groups, Outcome, Outcomes, pattern_parts, subject_pattern};
pub(crate) use identity::{
    IdentityMismatch, OnMismatch, OpenResult, backup_path, drop_key_of_unbound, find_backups,
    find_stored_archive, is_answered,
};
pub(crate) use import::ImportReport;
pub(crate) use integrity::{is_no_archive, is_unusable};
pub(crate) use json_stream::MAX_EMAIL;
pub(crate) use listing::confirmations::ConfirmedRun;
pub use listing::coverage::{Coverage, ListingPage, PagePosition};
pub(crate) use listing::coverage::{CoverageState, CoveredRange};
pub(crate) use listing::merge::MergeResult;
pub(crate) use listing::page::{Gap, NextRows, StoredPage};
pub(crate) use listing::{Direction, RequestStamp, SortKey};
pub(crate) use outdated::{OnOutdated, ReplacedArchive};
pub(crate) use purge::{LeftOut, PURGED, PurgeTarget, expired_text};
pub(crate) use repair::{RepairOutcome, remove_archive};
pub use search::CancellationToken;
pub(crate) use search::{CandidateRows, MatchCount, Unmatched};
pub(crate) use statistics::{Share, Statistics, StatisticsBuilder};
pub use status_age::GoneStatuses;
pub(crate) use status_age::StatusAge;
use storage::Connections;
pub(crate) use storage::RowCounts;
use storage::db::{Connection, Transaction};
pub(crate) use storage::files::{check_link, sidecar_path};
pub(crate) use storage::peer_notice::{PeerNotice, PeerNoticeReceiver};
pub(crate) use storage::process_lock::ProcessLock;
pub use window::WindowAnchor;
pub(crate) use window::{EmailRow, ObservedStatus, RowWindow};

pub use crate::config::ArchiveLocation;
use crate::config::{create_private_dir, folder_of, lock_folder};
use crate::error::{Error, Result};
use crate::mail::ApiTime;
use crate::text::sanitize;

/// A handle on the archive; clones share it.
/// One connection writes at a time, many read beside it.
#[derive(Clone)]
pub struct Archive {
    connections: Arc<Connections>,
    locks: Arc<ProcessLocks>,
    replaced: Vec<ReplacedArchive>,
    /// The key that it was opened for.
    binding: Option<Arc<Binding>>,
}

/// The locks of the work that one process does for all.
struct ProcessLocks {
    poll: ProcessLock,
    backfill: ProcessLock,
    bodies: ProcessLock,
}

impl Archive {
    /// Opens the archive, and creates it if there is none.
    ///
    /// One that may not be written is opened for reading alone
    /// ([`read_only_reason`](Self::read_only_reason)).
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or was written by another version.
    pub fn open(location: &ArchiveLocation) -> Result<Self> {
        let (connections, replaced) = match location {
            ArchiveLocation::Disk(path) => {
                let length = || {
                    path.metadata()
                        .ok()
                        .map(|file| (file.is_file(), file.len()))
                };
                // A file that another process is making is empty for a moment, too.
                let is_missing_or_empty = matches!(length(), None | Some((true, 0)));
                let _creating = is_missing_or_empty.then(|| {
                    // An error is that of opening, which follows.
                    let _ = create_private_dir(folder_of(path));
                    lock_folder(path)
                });
                let is_empty = length() == Some((true, 0));
                let connections = Connections::open_on_disk(path).map_err(|error| {
                    let file = sanitize::sanitize_line(&path.display().to_string()).into_owned();
                    let hint = if error.hint.is_empty() {
                        file
                    } else {
                        format!("{file}: {}", error.hint)
                    };
                    error.with_hint(hint)
                })?;
                let empty = is_empty.then(|| ReplacedArchive::Empty(path.clone()));
                (connections, empty)
            }
            ArchiveLocation::Server(url) => (Connections::open_on_server(url)?, None),
            ArchiveLocation::Memory => (Connections::open_in_memory()?, None),
        };
        Ok(Self::with_connections(connections, location, replaced))
    }

    /// Whether there is an archive; creates none.
    pub(crate) fn exists(location: &ArchiveLocation) -> Result<bool> {
        storage::exists(location)
    }

    /// Opens the archive of this file only if it can be read without any change on
    /// disk.
    pub(crate) fn open_unchanged(path: &Path) -> Result<Option<Self>> {
        let connections = Connections::open_unchanged(path)?;
        Ok(
            connections
                .map(|opened| Self::with_connections(opened, &ArchiveLocation::Memory, None)),
        )
    }

    fn with_connections(
        connections: Connections,
        location: &ArchiveLocation,
        replaced: Option<ReplacedArchive>,
    ) -> Self {
        let lock = |work| connections.process_lock(location, work);
        let locks = Arc::new(ProcessLocks {
            poll: lock("poll"),
            backfill: lock("backfill"),
            bodies: lock("bodies"),
        });
        Self {
            locks,
            connections: Arc::new(connections),
            replaced: replaced.into_iter().collect(),
            binding: None,
        }
    }

    /// Runs `read` on one snapshot of the database.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.connections.read(read)
    }

    /// Runs `change` in one transaction, in which the search index follows it:
    /// both apply completely or not at all.
    fn write<T>(&self, change: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        self.connections.write(|tx| {
            let result = change(tx)?;
            search::reindex_dirty(tx)?;
            Ok(result)
        })
    }

    /// Remembers which archives of an older version were replaced before this was opened.
    pub(crate) fn with_replaced(mut self, replaced: Vec<ReplacedArchive>) -> Self {
        self.replaced.extend(replaced);
        self
    }

    /// Returns the files that had no mail of this version when this archive was opened.
    pub(crate) fn replaced(&self) -> &[ReplacedArchive] {
        &self.replaced
    }

    /// The lock of the process that polls the service for new mail.
    pub(crate) fn poll_lock(&self) -> &ProcessLock {
        &self.locks.poll
    }

    /// The lock of the process that fetches older mail in the background.
    pub(crate) fn backfill_lock(&self) -> &ProcessLock {
        &self.locks.backfill
    }

    /// The lock of the process that fetches all missing bodies.
    pub(crate) fn bodies_lock(&self) -> &ProcessLock {
        &self.locks.bodies
    }

    /// Returns why the archive stores no new mail, if it was opened for reading only.
    pub(crate) fn read_only_reason(&self) -> Option<Error> {
        self.connections.read_only_reason()
    }

    /// Whether that is because the disk is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.connections.is_disk_full()
    }

    /// Returns the bytes of its tables and indexes on a server;
    /// `None` if it is not on one.
    pub(crate) fn server_size(&self) -> Result<Option<u64>> {
        let query = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
                     WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";
        if self.connections.server().is_none() {
            return Ok(None);
        }
        self.read(|conn| {
            conn.value(query, [])
                .map(|bytes: i64| Some(bytes.unsigned_abs()))
        })
    }

    /// Returns how much is stored.
    pub(crate) fn row_counts(&self) -> Result<RowCounts> {
        self.read(storage::count_rows)
    }

    /// Returns counts and facts about the archive. Counts rows: not for the hot path.
    pub(crate) fn info(&self) -> Result<ArchiveInfo> {
        let coverage = self.coverage()?;
        self.read(|conn| {
            let RowCounts { emails, bodies } = storage::count_rows(conn)?;
            let missing =
                "SELECT count(*) FROM mail WHERE missing_since IS NOT NULL AND listed = 0";
            let purged = "SELECT count(*) FROM purged";
            Ok(ArchiveInfo {
                version: storage::read_version(conn)?,
                emails,
                bodies,
                missing_upstream: conn.value(missing, []).map(i64::unsigned_abs)?,
                purged: conn.value(purged, []).map(i64::unsigned_abs)?,
                newest: conn
                    .optional_value("SELECT created_at FROM mail ORDER BY sort_key LIMIT 1", [])?,
                oldest: conn.optional_value(
                    "SELECT created_at FROM mail ORDER BY sort_key DESC LIMIT 1",
                    [],
                )?,
                coverage,
            })
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveInfo {
    /// The version of its tables.
    pub(crate) version: u32,
    pub(crate) emails: u64,
    /// Emails with their bodies.
    pub(crate) bodies: u64,
    /// Emails that the service no longer lists;
    /// without unconfirmed deletions, as [`EmailRow::missing_since`].
    pub(crate) missing_upstream: u64,
    /// Emails that were purged on demand, by the hashes of their ids.
    pub(crate) purged: u64,
    /// When the newest email was created.
    pub(crate) newest: Option<ApiTime>,
    /// When the oldest email was created.
    pub(crate) oldest: Option<ApiTime>,
    pub(crate) coverage: Coverage,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Archive")
    }
}
