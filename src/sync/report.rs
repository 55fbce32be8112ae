//! What came of asking the service: plain data for the screen and the command line.

use jiff::Timestamp;

use crate::archive::Coverage;
use crate::error::Error;
use crate::mail::EmailId;

/// The most ids that one [`Synced`] names.
pub(crate) const MAX_CHANGED_IDS: usize = 500;

/// What one or several requests have brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncReport {
    /// How many emails the archive did not have before.
    pub(crate) new: u64,
    /// How many emails it had whose status has changed.
    pub(crate) changes: u64,
    /// Which ones changed; the first [`NAMED`] of them.
    pub(crate) changed_ids: Vec<EmailId>,
    /// How many pages were carried over.
    pub(crate) pages: u64,
    /// How many emails on them could not be read, because they have no id.
    pub(crate) unreadable: u64,
    /// How far back the archive is complete now.
    pub(crate) coverage: Coverage,
    /// When a request for the newest page was sent that was answered last, by any process on the archive.
    pub(crate) refreshed_at: Option<Timestamp>,
    /// Why no more was asked.
    pub(crate) stop_reason: StopReason,
}

impl SyncReport {
    /// Adds what a further request has brought.
    pub(super) fn merge(&mut self, further: Self) {
        let Self {
            new,
            changes,
            changed_ids: changed,
            pages,
            unreadable,
            coverage: reach,
            refreshed_at: head_at,
            stop_reason: _,
        } = further;
        self.new += new;
        self.changes += changes;
        self.changed_ids.extend(changed);
        self.changed_ids.truncate(MAX_CHANGED_IDS);
        self.pages += pages;
        self.unreadable += unreadable;
        (self.coverage, self.refreshed_at) = (reach, head_at);
    }

    /// Whether the end of the service's listing is in the archive.
    #[must_use]
    #[cfg(test)]
    pub(crate) const fn reached_end(&self) -> bool {
        matches!(self.coverage, Coverage::Complete)
    }
}

/// Why a walk through the listing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// What was asked for is there.
    Done,
    /// The service has no more in that direction.
    End,
    /// The walk has used up its pages; the rest is a gap that a later walk closes.
    PageLimit,
    /// The service went round in circles: a page brought nothing new.
    NoProgress,
    /// Not every email on the pages could be read: where one was missing nothing is known whole.
    Unreadable,
    /// Nothing was asked: another process does, and this is what it has brought.
    OtherProcess,
    /// The service does not know any of the cursors that the archive could offer.
    NoLiveCursor,
    /// The service failed after some pages were carried over; those are kept.
    Failed(Error),
}

impl StopReason {
    /// Why, as one word for the log, in which nothing foreign is quoted.
    #[must_use]
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::End => "end",
            Self::PageLimit => "budget",
            Self::NoProgress => "no_progress",
            Self::Unreadable => "unreadable",
            Self::OtherProcess => "elsewhere",
            Self::NoLiveCursor => "cursor_gone",
            Self::Failed(failure) => failure.kind.code(),
        }
    }
}

/// How far back to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncDepth {
    /// To the end of the listing.
    All,
    /// To emails of this time.
    Until(jiff::Timestamp),
}

impl SyncDepth {
    /// The oldest time of interest, in microseconds since 1970.
    pub(super) fn cutoff_micros(self) -> i64 {
        match self {
            Self::All => i64::MIN,
            Self::Until(time) => time.as_microsecond(),
        }
    }
}
