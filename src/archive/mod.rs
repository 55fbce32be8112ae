//! The archive: every email that was ever fetched, near and fast, on disk or in memory.
//!
//! Foreign data is stored as it came and cleaned when a row becomes a [`mail::Summary`]; nothing
//! that the service said is lost on the way ([`Archive::summary_json`]). Calls block: they belong
//! on a blocking thread, never on an event loop.
//!
//! [`mail::Summary`]: crate::mail::Summary

mod backlog;
mod bodies;
mod body_codec;
mod confirmations;
#[cfg(test)]
mod confirmed_tests;
mod connections;
mod coverage;
mod coverage_update;
#[cfg(test)]
mod damage_tests;
mod deletions;
mod dictionary;
mod error;
mod id_codec;
mod identity;
mod import;
mod incoming;
mod info;
mod integrity;
mod merge;
mod ordered_object;
#[cfg(test)]
mod owner_tests;
mod peer_notice;
mod position;
mod process_lock;
mod purge;
mod read_only;
#[cfg(test)]
mod removal_tests;
mod renumber;
mod repair;
mod request_time;
mod row_codec;
mod schema;
mod search;
mod sort_key;
#[cfg(test)]
mod tests;
mod time_codec;
mod watch;
mod window;

use std::path::PathBuf;
use std::sync::Arc;

use connections::Connections;
use jiff::{SignedDuration, Timestamp};

pub(crate) use confirmations::ConfirmedRun;
pub use coverage::Coverage;
pub(crate) use coverage::{CoverageState, CoveredRange};
#[cfg(test)]
pub(crate) use deletions::MissingReason;
pub(crate) use deletions::MissingUpstream;
pub(crate) use identity::{IdentityMismatch, OnMismatch, OpenResult};
pub(crate) use info::ArchiveInfo;
pub(crate) use integrity::is_unusable;
pub(crate) use merge::MergeResult;
pub use merge::{ListingPage, PagePosition};
pub(crate) use peer_notice::{PeerNotice, PeerNoticeReceiver};
pub(crate) use process_lock::ProcessLock;
pub(crate) use purge::PurgeTarget;
pub(crate) use repair::RepairOutcome;
pub(crate) use request_time::RequestTime;
pub use search::CancellationToken;
pub(crate) use search::{BodyAvailability, CandidateRows, MatchCount};
pub(crate) use sort_key::SortKey;
pub use window::WindowAnchor;
pub(crate) use window::{EmailRow, ObservedStatus, RowWindow};

pub use crate::config::ArchiveLocation;
use crate::error::Error;
use crate::text::sanitize;

/// A handle on the archive; clones share it. One writes at a time, many read beside it.
#[derive(Clone)]
pub struct Archive {
    connections: Arc<Connections>,
    retention: Option<SignedDuration>,
    poll_lock: ProcessLock,
    backfill_lock: ProcessLock,
    outdated_backup: Option<PathBuf>,
}

impl Archive {
    /// Opens the archive, and creates it if there is none; one that may not be written for reading alone: see
    /// [`read_only`](Self::read_only). One of an older version is put aside first:
    /// see [`put_aside`](Self::put_aside).
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or was written by a newer version.
    pub fn open(location: &ArchiveLocation) -> Result<Self, Error> {
        let (connections, put_aside) = match location {
            ArchiveLocation::Disk(path) => Connections::open_on_disk(path).map_err(|failure| {
                let file = sanitize::sanitize_line(&path.display().to_string()).into_owned();
                let hint = if failure.hint.is_empty() {
                    file
                } else {
                    format!("{} ({file})", failure.hint)
                };
                failure.with_hint(hint)
            })?,
            ArchiveLocation::Memory => (Connections::open_in_memory()?, None),
        };
        let (lease, walk) = (
            ProcessLock::new(location, "lease"),
            ProcessLock::new(location, "walk"),
        );
        Ok(Self {
            connections: Arc::new(connections),
            retention: None,
            poll_lock: lease,
            backfill_lock: walk,
            outdated_backup: put_aside,
        })
    }

    /// Where the archive of an older version is now that was at this place, if opening has moved one: its
    /// mail is fetched from the service again.
    #[must_use]
    pub(crate) const fn outdated_backup(&self) -> Option<&PathBuf> {
        self.outdated_backup.as_ref()
    }

    /// Who of all processes on this archive asks the service for what is new.
    #[must_use]
    pub(crate) const fn poll_lock(&self) -> &ProcessLock {
        &self.poll_lock
    }

    /// Who of all processes on this archive fetches older mail that nobody waits for.
    #[must_use]
    pub(crate) const fn backfill_lock(&self) -> &ProcessLock {
        &self.backfill_lock
    }

    /// The same archive, in which no mail stays that is older than `keep`; what is too old at `now`
    /// is removed at once.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub(crate) fn with_retention(
        mut self,
        keep: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        self.retention = keep;
        if self.read_only_reason().is_none() {
            self.purge_expired(now)?;
        }
        Ok(self)
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Archive")
    }
}
