//! What a walk asks for, what it hears, and what it concludes.

use super::report::{StopReason, SyncDepth};
use crate::api::MAX_LIMIT;
use crate::archive::{CoverageState, CoveredRange, MergeResult};
use crate::mail::EmailId;

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// New mail, and the present status of the newest.
    Refresh,
    /// The next page of older mail.
    LoadOlder,
    /// Older mail down to some point.
    Full(SyncDepth),
}

/// The next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageRequest {
    /// The listing's first page.
    First,
    /// The page below a row of this span, so many rows above its bottom.
    Below {
        /// The span.
        span: CoveredRange,
        /// The rows.
        rows: u32,
        /// Whether the service does not know those below, so that the span ends here.
        cut: bool,
    },
    /// The page above a row of this span, so many rows below its top; of services that list the
    /// oldest first.
    Above {
        /// The span.
        span: CoveredRange,
        /// The rows.
        rows: u32,
    },
    /// The page after an email whose place in the listing is unknown.
    After(EmailId),
    /// What follows a page of which nothing was taken in: what was asked for goes on after its last
    /// email.
    Continue {
        /// What was asked for.
        ask: Box<PageRequest>,
        /// The email.
        after: EmailId,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlannerStep {
    /// Ask for this.
    Request(PageRequest),
    /// The walk is over.
    Finished(StopReason),
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageOutcome {
    /// A page.
    Page(PageFacts),
    /// The service does not know the cursor.
    UnknownCursor,
    /// There is no such row.
    NoSuchRow,
    /// The cursor was asked for before, in the same walk.
    RepeatedCursor,
}

/// A page, and what the archive made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageFacts {
    /// How many emails it had.
    pub(crate) len: usize,
    /// Whether the service says that there is more; `None` if it says nothing about it.
    pub(crate) has_more: Option<bool>,
    /// How many more it had that cannot be read, so that nobody knows which they are.
    pub(crate) unreadable: usize,
    /// Its last email in the order of the service.
    pub(crate) last_id: Option<EmailId>,
    /// The time of its oldest email, in microseconds since 1970.
    pub(crate) oldest_micros: Option<i64>,
    /// What it brought.
    pub(crate) merged: MergeResult,
}

impl PageFacts {
    /// Whether it is believed to be the last page in its direction.
    pub(super) fn is_last(&self, ground: &CoverageState) -> bool {
        // A service that ignores limits gives everything at once, and then the same again.
        let limit = usize::from(MAX_LIMIT);
        let is_whole = !self.merged.extended
            && (self.len > limit || (ground.oldest_first && self.len != limit));
        let is_short = self.len < ground.max_page_len;
        let may_end = match self.has_more {
            Some(true) => false,
            Some(false) => is_short || is_whole,
            // It goes on until a page brings nothing new.
            None => !self.merged.extended && (is_short || is_whole),
        };
        may_end && self.unreadable == 0
    }

    /// Whether a page below a row of a span, so many above its bottom, has only emails of that span,
    /// where the service does not say whether there is more.
    pub(super) fn is_known_end(&self, rows: u32, ground: &CoverageState) -> bool {
        let has_nothing_new =
            self.has_more.is_none() && self.unreadable == 0 && self.merged.new.is_empty();
        has_nothing_new && self.len < ground.max_page_len && self.len <= rows as usize
    }

    /// Whether the service says that there is more.
    pub(super) const fn has_explicit_more(&self) -> bool {
        matches!(self.has_more, Some(true))
    }

    /// Whether it held mail, all of which the archive is not to take in.
    pub(super) const fn is_all_skipped(&self) -> bool {
        self.len > 0
            && self.unreadable == 0
            && self.merged.purged + self.merged.too_old >= self.len as u64
    }

    pub(super) const fn is_empty_end(&self) -> bool {
        self.len == 0 && self.unreadable == 0 && !self.has_explicit_more()
    }
}

/// What an answer says about an end of the listing, for the archive to note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conclusion {
    /// Nothing.
    None,
    /// This span holds the newest email.
    Top(CoveredRange),
    /// This span holds the oldest email.
    End(CoveredRange),
}
