//! What came of asking the service: plain data for the screen and the command line.

use jiff::Timestamp;

use crate::archive::Reach;
use crate::failure::Failure;
use crate::mail::EmailId;

/// The most ids that one [`Synced`] names.
pub const NAMED: usize = 500;

/// What one or several requests have brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// How many emails the archive did not have before.
    pub new: u64,
    /// How many emails it had whose status has changed.
    pub changes: u64,
    /// Which ones changed; the first [`NAMED`] of them.
    pub changed: Vec<EmailId>,
    /// How many pages were carried over.
    pub pages: u64,
    /// How many emails on them could not be read, because they have no id.
    pub unreadable: u64,
    /// How far back the archive is complete now.
    pub reach: Reach,
    /// When a request for the newest page was sent that was answered last, by any process on the archive.
    pub head_at: Option<Timestamp>,
    /// Why no more was asked.
    pub stopped: Stopped,
}

impl Synced {
    /// Adds what a further request has brought.
    pub(super) fn add(&mut self, further: Self) {
        let Self {
            new,
            changes,
            changed,
            pages,
            unreadable,
            reach,
            head_at,
            stopped: _,
        } = further;
        self.new += new;
        self.changes += changes;
        self.changed.extend(changed);
        self.changed.truncate(NAMED);
        self.pages += pages;
        self.unreadable += unreadable;
        (self.reach, self.head_at) = (reach, head_at);
    }

    /// Whether the end of the service's listing is in the archive.
    #[must_use]
    pub const fn reached_end(&self) -> bool {
        matches!(self.reach, Reach::Everything)
    }
}

/// Why a walk through the listing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// What was asked for is there.
    Done,
    /// The service has no more in that direction.
    End,
    /// The walk has used up its pages; the rest is a gap that a later walk closes.
    Budget,
    /// The service went round in circles: a page brought nothing new.
    NoProgress,
    /// Not every email on the pages could be read: where one was missing nothing is known whole.
    Unreadable,
    /// Nothing was asked: another process does, and this is what it has brought.
    Elsewhere,
    /// The service does not know any of the cursors that the archive could offer.
    CursorGone,
    /// The service failed after some pages were carried over; those are kept.
    Failed(Failure),
}

impl Stopped {
    /// Why, as one word for the log, in which nothing foreign is quoted.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::End => "end",
            Self::Budget => "budget",
            Self::NoProgress => "no_progress",
            Self::Unreadable => "unreadable",
            Self::Elsewhere => "elsewhere",
            Self::CursorGone => "cursor_gone",
            Self::Failed(failure) => failure.kind.word(),
        }
    }
}

/// How far back to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// To the end of the listing.
    All,
    /// To emails of this time.
    Until(jiff::Timestamp),
}

impl Back {
    /// The oldest time of interest, in microseconds since 1970.
    pub(super) fn since(self) -> i64 {
        match self {
            Self::All => i64::MIN,
            Self::Until(time) => time.as_microsecond(),
        }
    }
}
