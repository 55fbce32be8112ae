//! The results of sync runs, and the changes that other processes store.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::PurgeReport;
use crate::archive::{Archive, Coverage, MergeResult};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;

/// The most ids of new emails, and of changed ones, in a [`SyncReport`]:
/// more than a refresh or a recheck reads.
const MAX_IDS: usize = 1000;

/// Rows that [`ChangeFeed`] compares: more than a refresh reads.
const WATCHED_ROWS: u32 = 1000;

/// The result of one or several requests; [`finish`](Self::finish) completes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SyncReport {
    /// Number of emails that the archive did not have.
    pub(crate) new: u64,
    /// The new emails; the first [`MAX_IDS`] of them.
    pub(crate) new_ids: Vec<EmailId>,
    /// Number of new emails that a confirmation found below the newest page.
    pub(crate) older: u64,
    /// Number of stored emails whose status changed.
    pub(crate) changes: u64,
    /// The changed emails; the first [`MAX_IDS`] of them.
    pub(crate) changed_ids: Vec<EmailId>,
    /// Whether emails were marked as missing upstream, or restored.
    pub(crate) deletions_changed: bool,
    pub(crate) pages: u64,
    /// Number of requests, without repetitions after an error.
    pub(crate) requests: u64,
    /// Number of emails that were deleted because they were too old.
    pub(crate) expired: u64,
    /// Number of items without a readable id.
    pub(crate) unreadable: u64,
    /// How far back the archive is complete.
    pub(crate) coverage: Coverage,
    /// Why the service refused the last cursor, if it did.
    pub(crate) refusal: Option<String>,
    /// Whether the newest page could not be read completely: then newer mail may exist.
    pub(crate) is_top_unknown: bool,
    /// Time of the latest newest page that any process on the archive has read.
    pub(crate) refreshed_at: Option<Timestamp>,
    /// Why no further request was sent.
    pub(crate) stop_reason: StopReason,
    /// Number of statuses that are due to be read again by this process.
    pub(crate) due: u64,
    /// Whether a recheck has something to read.
    pub(crate) needs_recheck: bool,
    /// The results of a mirror's purges.
    pub(crate) purges: PurgeReport,
    /// How far the service's clock was ahead of ours, after a refresh.
    pub(crate) clock_skew: Option<SignedDuration>,
}

impl SyncReport {
    /// Adds a merged page with its number of unreadable items.
    pub(super) fn add_page(&mut self, merged: &MergeResult, unreadable: usize) {
        self.pages += 1;
        self.expired += merged.expired;
        self.unreadable += unreadable as u64;
        self.add_new(&merged.new);
        self.add_changes(&merged.changed);
        self.deletions_changed |= merged.deletions_changed;
    }

    fn add_new<'a>(&mut self, new: impl IntoIterator<Item = &'a EmailId>) {
        add_ids(&mut self.new, &mut self.new_ids, new);
    }

    pub(super) fn add_changes<'a>(&mut self, changed: impl IntoIterator<Item = &'a EmailId>) {
        add_ids(&mut self.changes, &mut self.changed_ids, changed);
    }

    /// Adds the results of a later run, except for its reason to stop.
    pub(super) fn merge(&mut self, later: Self) {
        let Self {
            new,
            new_ids,
            older,
            changes,
            changed_ids,
            deletions_changed,
            pages,
            requests,
            expired,
            unreadable,
            coverage,
            refusal,
            is_top_unknown,
            refreshed_at,
            stop_reason: _,
            due: _,
            needs_recheck: _,
            purges: _,
            clock_skew: _,
        } = later;
        self.new += new;
        self.new_ids.extend(new_ids);
        self.new_ids.truncate(MAX_IDS);
        self.older += older;
        self.changes += changes;
        self.changed_ids.extend(changed_ids);
        self.changed_ids.truncate(MAX_IDS);
        self.deletions_changed |= deletions_changed;
        self.pages += pages;
        self.requests += requests;
        self.expired += expired;
        self.unreadable += unreadable;
        (self.coverage, self.refreshed_at) = (coverage, refreshed_at);
        self.is_top_unknown = is_top_unknown;
        self.refusal = refusal.or(self.refusal.take());
    }

    /// Sets the reason to stop and the current state of the archive.
    pub(crate) fn finish(mut self, archive: &Archive, stop_reason: StopReason) -> Result<Self> {
        self.coverage = archive.coverage()?;
        self.refreshed_at = archive.head_at()?;
        self.stop_reason = stop_reason;
        Ok(self)
    }
}

/// Counts emails, and keeps the first ids.
fn add_ids<'a>(
    count: &mut u64,
    ids: &mut Vec<EmailId>,
    added: impl IntoIterator<Item = &'a EmailId>,
) {
    for id in added {
        *count += 1;
        if ids.len() < MAX_IDS {
            ids.push(id.clone());
        }
    }
}

/// Why a run through the listing ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum StopReason {
    /// The goal is reached.
    #[default]
    Done,
    /// The service has no more in that direction.
    End,
    /// The run reached its limit of pages; the rest is a gap that a later run closes.
    PageLimit,
    /// The cursors of the service lead in a circle: a page had nothing new.
    NoProgress,
    /// An item of a page is unreadable, so nothing is known to be complete around it.
    Unreadable,
    /// The listing is in no order of time, so nothing is known to be complete.
    Unordered,
    /// The service listed none of the emails that the archive has:
    /// a later run decides.
    OtherListing,
    /// No request was sent: another process refreshes, and these are its results.
    OtherProcess,
    /// The service knows none of the cursors that the archive has.
    NoLiveCursor,
    /// The service failed after some pages; those are stored.
    Failed(Error),
}

impl StopReason {
    /// Returns the error of a run that stopped early.
    pub(crate) fn into_error(self) -> Option<Error> {
        #[rustfmt::skip] // one reason a line
        let (kind, message, hint) = match self {
            Self::Done | Self::End | Self::OtherProcess => return None,
            Self::Failed(error) => return Some(error),
            Self::PageLimit => (ErrorKind::RateLimited, "one run may not request all of it", "run it again to go on"),
            Self::NoProgress => (ErrorKind::NotTheApi, "the service reports more emails but sends no new ones", "what is here is kept; there may be more"),
            Self::Unreadable => (ErrorKind::NotTheApi, "not every email on the service's pages could be read", "the others are kept; run it again later; if it says so again, tell those who run the service"),
            Self::Unordered => (ErrorKind::NotTheApi, "the service lists its emails in no order of time", "what is here is kept; sync --back all reads every page, but newer mail may be on any of them"),
            Self::OtherListing => (ErrorKind::NotTheApi, "the service lists none of the emails that the archive has", "nothing was changed; if all mail was deleted, run it again later to record that"),
            Self::NoLiveCursor => (ErrorKind::NotTheApi, "the service no longer knows where to go on from", "run it again to start from the newest"),
        };
        Some(Error::new(kind, message).with_hint(hint))
    }

    /// Returns the reason as one word for the log, without any text of the service.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::End => "end",
            Self::PageLimit => "page_limit",
            Self::NoProgress => "no_progress",
            Self::Unreadable => "unreadable",
            Self::Unordered => "unordered",
            Self::OtherListing => "other_listing",
            Self::OtherProcess => "other_process",
            Self::NoLiveCursor => "no_live_cursor",
            Self::Failed(error) => error.kind.code(),
        }
    }
}

/// How far back mail is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncDepth {
    /// To the end of the listing.
    All,
    /// To emails of this time.
    Until(Timestamp),
}

impl SyncDepth {
    /// Returns the oldest time to fetch, in microseconds since 1970.
    pub(super) fn cutoff_micros(self) -> i64 {
        match self {
            Self::All => i64::MIN,
            Self::Until(time) => time.as_microsecond(),
        }
    }
}

/// Emails that [`ChangeFeed`] keeps at most between two polls:
/// a process that no other one disturbs does not poll.
const MAX_KNOWN: usize = 10_000;

/// Finds what other processes have stored:
/// the newest emails at the last poll, each with its number of changes.
#[derive(Debug, Default)]
pub(super) struct ChangeFeed(Option<HashMap<EmailId, i64>>);

impl ChangeFeed {
    /// Takes what this process has stored and reported as known, and nothing else.
    pub(super) fn mark_reported(&mut self, report: &SyncReport) {
        let Some(known) = &mut self.0 else { return };
        known.extend(report.new_ids.iter().map(|id| (id.clone(), 0)));
        for id in &report.changed_ids {
            known.entry(id.clone()).and_modify(|changes| *changes += 1);
        }
    }

    /// Polls for the first time, or again without a result if it has become too large.
    pub(super) fn start(&mut self, archive: &Archive) -> Result<()> {
        archive.check_file()?;
        if (self.0.as_ref()).is_none_or(|known| known.len() > MAX_KNOWN) {
            self.poll(archive)?;
        }
        Ok(())
    }

    /// Returns the changes since the last poll; the first poll has none.
    pub(super) fn poll(&mut self, archive: &Archive) -> Result<SyncReport> {
        archive.check_file()?;
        let now = archive.newest_changes(WATCHED_ROWS)?;
        let mut report = SyncReport::default();
        if let Some(before) = &self.0 {
            // Rows below the last known one are not new: they only moved up into the watched range.
            let last = now.iter().rposition(|(id, _)| before.contains_key(id));
            let ids = now[..last.unwrap_or(now.len())].iter().map(|(id, _)| id);
            report.add_new(ids.filter(|id| !before.contains_key(id)));
            let is_changed = |(id, changes): &&(EmailId, i64)| {
                before.get(id).is_some_and(|earlier| earlier != changes)
            };
            report.add_changes(now.iter().filter(is_changed).map(|(id, _)| id));
        }
        self.0 = Some(now.into_iter().collect());
        report.finish(archive, StopReason::OtherProcess)
    }
}
