//! Decides which page to request next, from the archive's coverage and the
//! responses so far.
//!
//! The planner is pure, so that tests can run it against any simulated service. Three rules keep a
//! run correct. It ends: no cursor is requested twice, and a page that adds nothing ends the run. It
//! claims little: the archive claims nothing from a page that contradicts its cursor. It believes in
//! the end of the listing only after a page that is shorter than others were, since some services
//! never send `has_more`; with those it goes on until a page has nothing new.

use std::collections::HashSet;
use std::ops::ControlFlow::{self, Break, Continue};

use super::cursor_search::CursorSearch;
use super::report::{StopReason, SyncDepth};
use crate::api::MAX_LIMIT;
use crate::archive::{CoverageState, CoveredRange, MergeResult};
use crate::mail::EmailId;

/// Most pages of a refresh, so that new mail is soon on the screen.
/// The rest is a gap that later runs close.
const REFRESH_MAX_PAGES: u32 = 3;

/// Most pages of loading older mail, if the cursors contradict the pages.
const LOAD_OLDER_MAX_PAGES: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Goal {
    /// New mail, and the current status of the newest emails.
    #[default]
    Refresh,
    /// The next page of older mail.
    LoadOlder,
    /// Everything new, then older mail down to a limit.
    Full(SyncDepth),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageRequest {
    pub(super) base: BaseRequest,
    /// The last email of a page that the archive skipped: the request goes on after it.
    pub(super) continues_after: Option<EmailId>,
}

/// A request that does not continue another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BaseRequest {
    First,
    Below(BelowRequest),
    /// The page above the row that is `offset` rows below the top of `range`,
    /// of a service that lists the oldest first.
    Above {
        range: CoveredRange,
        offset: u32,
    },
    /// The page after an email whose position in the listing is unknown.
    After(EmailId),
}

/// A request for the page below the row that is `offset` rows above the bottom of
/// `range`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BelowRequest {
    pub(super) range: CoveredRange,
    pub(super) offset: u32,
    /// Whether the service does not know the rows below, so that the range ends here.
    pub(super) is_boundary: bool,
}

impl PageRequest {
    /// Whether it is for the first page of the listing.
    pub(super) fn is_first(&self) -> bool {
        self.base == BaseRequest::First && self.continues_after.is_none()
    }
}

impl From<BaseRequest> for PageRequest {
    fn from(base: BaseRequest) -> Self {
        Self {
            base,
            continues_after: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageOutcome {
    Page(PageFacts),
    /// The service does not know the cursor.
    UnknownCursor,
    /// The archive has no row to use as a cursor; nothing was sent.
    NoSuchRow,
    /// The cursor was used before in this run; nothing was sent.
    RepeatedCursor,
    /// The row of the cursor was purged before the response came, which joins nothing then.
    PurgedCursor,
}

/// A page and the result of merging it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageFacts {
    /// Number of different emails.
    pub(super) len: usize,
    /// Whether the service has more; `None` if it does not say.
    pub(super) has_more: Option<bool>,
    /// Number of further items without a readable id.
    pub(super) unreadable: usize,
    /// Whether the service lists its emails in no order of time.
    pub(super) is_unordered: bool,
    /// The last email in the order of the service.
    pub(super) last_id: Option<EmailId>,
    /// The time of the oldest email, in microseconds since 1970.
    pub(super) oldest_micros: Option<i64>,
    pub(super) merged: MergeResult,
}

impl PageFacts {
    /// Whether this is believed to be the last page in its direction.
    fn is_last(&self, coverage: &CoverageState) -> bool {
        // A service that ignores limits sends everything at once, and then the same again.
        let limit = usize::from(MAX_LIMIT);
        let is_whole = !self.merged.extended
            && (self.len > limit || (coverage.oldest_first && self.len != limit));
        let is_short = self.len < coverage.max_page_len;
        let may_end = match self.has_more {
            Some(true) => false,
            Some(false) => is_short || is_whole,
            // The run goes on until a page has nothing new.
            None => !self.merged.extended && (is_short || is_whole),
        };
        may_end && self.unreadable == 0
    }

    /// Whether this page, `offset` rows above the bottom of a range,
    /// has only emails of that range, from a service that does not send `has_more`.
    fn is_known_end(&self, offset: u32, coverage: &CoverageState) -> bool {
        let has_nothing_new =
            self.has_more.is_none() && self.unreadable == 0 && self.merged.new.is_empty();
        has_nothing_new && self.len < coverage.max_page_len && self.len <= offset as usize
    }

    /// Whether the archive skipped every email, as purged or as too old.
    pub(super) const fn is_all_skipped(&self) -> bool {
        self.len > 0
            && self.unreadable == 0
            && self.merged.purged + self.merged.too_old >= self.len as u64
    }

    /// Whether the page claims nothing, because of what it contains.
    pub(super) const fn is_unclear(&self) -> bool {
        self.unreadable > 0 || self.is_unordered
    }

    const fn is_empty_end(&self) -> bool {
        self.len == 0 && self.unreadable == 0 && !matches!(self.has_more, Some(true))
    }
}

/// An end of the listing that a response proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// This range has the newest email.
    Top(CoveredRange),
    /// This range has the oldest email.
    End(CoveredRange),
}

/// The state of one run through the listing.
#[derive(Debug, Default)]
pub(super) struct Planner {
    goal: Goal,
    pub(super) coverage: CoverageState,
    pages: u32,
    has_first_page: bool,
    /// Whether to begin at the first page although the range could be extended.
    is_restarted: bool,
    /// Finds the row below which the range can be extended.
    cursor_search: CursorSearch,
    /// Rows below the top of the range at which to extend it upwards.
    overlap_rows: u32,
    /// Whether a known end of the listing was requested again.
    is_end_rechecked: bool,
    /// Whether the cursor search goes on.
    is_searching: bool,
    /// Whether a page was empty: at the end, or behind an unknown cursor.
    saw_empty_page: bool,
    saw_unreadable: bool,
    saw_unordered: bool,
    /// Whether the latest page has no `has_more`.
    lacks_has_more: bool,
    /// The last email of a page whose position is unknown.
    unplaced_cursor: Option<EmailId>,
    continuation: Option<PageRequest>,
    used_cursors: HashSet<EmailId>,
    stop_reason: Option<StopReason>,
    /// Number of ranges below the newest one at the start.
    initial_gaps: Option<usize>,
}

impl Planner {
    pub(super) fn new(goal: Goal, coverage: CoverageState) -> Self {
        // A refresh includes the newest hundred emails, to read their status again.
        let overlap_rows = if goal == Goal::Refresh && coverage.oldest_first {
            u32::from(MAX_LIMIT) - 1
        } else {
            0
        };
        Self {
            goal,
            coverage,
            overlap_rows,
            ..Self::default()
        }
    }

    pub(super) fn loads_older(&self) -> bool {
        self.goal == Goal::LoadOlder
    }

    /// Returns the next request, or the reason why the run is over.
    pub(super) fn next_step(&mut self) -> ControlFlow<StopReason, PageRequest> {
        if let Some(reason) = &self.stop_reason {
            return Break(reason.clone());
        }
        if self.pages >= self.max_pages() {
            // A purged email was known before, and so is the mail below it.
            let is_purged = self.goal == Goal::Refresh && self.continuation.is_some();
            return Break(if is_purged {
                StopReason::Done
            } else {
                StopReason::PageLimit
            });
        }
        if let Some(request) = &self.continuation {
            return Continue(request.clone());
        }
        if let Some(id) = &self.unplaced_cursor {
            return Continue(BaseRequest::After(id.clone()).into());
        }
        let step = match newest_range(&self.coverage) {
            None if self.has_first_page => Break(StopReason::Done),
            None => Continue(BaseRequest::First),
            Some(range) if self.coverage.oldest_first => self.next_oldest_first(range),
            Some(range) => self.next_newest_first(range),
        };
        step.map_continue(PageRequest::from)
    }

    fn next_newest_first(&mut self, range: CoveredRange) -> ControlFlow<StopReason, BaseRequest> {
        if matches!(self.goal, Goal::Full(_)) && range.reaches_end && !self.is_end_rechecked {
            // From one row further up, the response shows the end again.
            (self.cursor_search, self.is_end_rechecked) = (CursorSearch::starting_at(1), true);
        }
        // Some services send shorter pages than requested.
        let longest = u32::try_from(self.coverage.max_page_len).unwrap_or(u32::MAX);
        let page_len = match longest.min(u32::from(MAX_LIMIT)) {
            0 => u32::from(MAX_LIMIT),
            longest => longest,
        };
        let below = match self.cursor_search.next_offset(page_len) {
            None => Break(StopReason::NoLiveCursor),
            Some((offset, is_boundary)) => Continue(BaseRequest::Below(BelowRequest {
                range,
                offset,
                is_boundary,
            })),
        };
        match self.goal {
            Goal::Refresh | Goal::Full(_) if !self.has_first_page => Continue(BaseRequest::First),
            Goal::Refresh => {
                let is_below = |other: &&CoveredRange| other.top < range.bottom;
                let gaps = self.coverage.ranges.iter().filter(is_below).count();
                let initial = *self.initial_gaps.get_or_insert(gaps);
                if gaps == 0 || gaps < initial || range.reaches_end {
                    Break(StopReason::Done)
                } else {
                    below
                }
            }
            Goal::LoadOlder if range.reaches_end => Break(StopReason::End),
            Goal::Full(SyncDepth::Until(time))
                if (self.coverage.complete_since)
                    .is_some_and(|since| since.micros() < time.as_microsecond()) =>
            {
                Break(StopReason::Done)
            }
            Goal::LoadOlder | Goal::Full(_) => below,
        }
    }

    fn next_oldest_first(&self, range: CoveredRange) -> ControlFlow<StopReason, BaseRequest> {
        if self.is_restarted && !self.has_first_page {
            Continue(BaseRequest::First)
        } else if self.goal == Goal::LoadOlder && range.reaches_top && range.reaches_end {
            Break(StopReason::End)
        } else {
            Continue(BaseRequest::Above {
                range,
                offset: self.overlap_rows,
            })
        }
    }

    /// Records a cursor before its request; false if this run has used it before.
    pub(super) fn record_cursor(&mut self, id: &EmailId) -> bool {
        self.used_cursors.insert(id.clone())
    }

    /// Updates the state after a request. The coverage includes the merged page.
    /// An end of the listing ends the run.
    pub(super) fn handle_outcome(
        &mut self,
        request: &BaseRequest,
        outcome: &PageOutcome,
    ) -> Option<Conclusion> {
        let conclusion = self.find_conclusion(request, outcome);
        if conclusion.is_some() {
            self.stop_reason = Some(StopReason::End);
        }
        conclusion
    }

    fn find_conclusion(
        &mut self,
        request: &BaseRequest,
        outcome: &PageOutcome,
    ) -> Option<Conclusion> {
        let is_continuation = self.continuation.take().is_some();
        match outcome {
            PageOutcome::Page(page)
                if page.is_all_skipped() || (is_continuation && page.is_empty_end()) =>
            {
                self.handle_skipped_page(request, page)
            }
            PageOutcome::UnknownCursor if is_continuation => self.stop(StopReason::NoLiveCursor),
            PageOutcome::RepeatedCursor if is_continuation => self.stop(StopReason::NoProgress),
            PageOutcome::Page(page) => {
                self.pages += u32::from(page.len > 0);
                self.saw_unreadable |= page.unreadable > 0;
                self.saw_unordered |= page.is_unordered;
                self.lacks_has_more = page.has_more.is_none();
                match request {
                    BaseRequest::First => self.handle_first_page(page),
                    BaseRequest::Below(below) => self.handle_page_below(below, page),
                    BaseRequest::Above { range, .. } => self.handle_page_above(range, page),
                    BaseRequest::After(_) => self.handle_unplaced_page(page),
                }
            }
            // The request is sent again, from the row that is the last one now.
            PageOutcome::PurgedCursor => {
                self.pages += 1;
                if self.coverage.ranges.is_empty() {
                    // With nothing left, the listing is read from its start.
                    self.has_first_page = false;
                    self.used_cursors.clear();
                }
                None
            }
            PageOutcome::UnknownCursor => {
                if let BaseRequest::Below(below) = request {
                    self.cursor_search.mark_unknown(below.offset);
                    return self.continue_search(below.range);
                }
                self.restart_or_stop(request, StopReason::NoLiveCursor)
            }
            PageOutcome::NoSuchRow => {
                if let BaseRequest::Below(below) = request {
                    self.cursor_search.mark_known(below.offset);
                    return self.continue_search(below.range);
                }
                self.restart_or_stop(request, StopReason::NoProgress)
            }
            PageOutcome::RepeatedCursor => match request {
                // This run has used that row as a cursor, so the service knows it.
                BaseRequest::Below(below) if below.offset > 0 => {
                    self.cursor_search.mark_known(below.offset);
                    self.continue_search(below.range)
                }
                BaseRequest::Below(below) if self.saw_empty_page => {
                    Some(Conclusion::End(below.range))
                }
                _ => self.stop(StopReason::NoProgress),
            },
        }
    }

    /// Handles a page of which the archive skipped every email.
    /// If they are too old, so is all that is older; else the run goes on after the page.
    fn handle_skipped_page(
        &mut self,
        request: &BaseRequest,
        page: &PageFacts,
    ) -> Option<Conclusion> {
        if page.merged.too_old > 0 {
            return self.stop(StopReason::Done);
        }
        // Older mail may be below any number of purged emails.
        self.pages += u32::from(self.goal != Goal::LoadOlder);
        if !page.is_empty_end() && !page.is_last(&self.coverage) {
            self.continuation = Some(PageRequest {
                base: request.clone(),
                continues_after: page.last_id.clone(),
            });
            return None;
        }
        match request {
            BaseRequest::Below(below) => {
                Some(Conclusion::End(page.merged.range.unwrap_or(below.range)))
            }
            BaseRequest::Above { range, .. } => {
                Some(Conclusion::Top(page.merged.range.unwrap_or(*range)))
            }
            BaseRequest::First | BaseRequest::After(_) => self.stop(StopReason::End),
        }
    }

    fn handle_first_page(&mut self, page: &PageFacts) -> Option<Conclusion> {
        self.has_first_page = true;
        if page.merged.is_doubted {
            return self.stop(StopReason::OtherListing);
        }
        if page.is_empty_end() {
            return self.stop(StopReason::End);
        }
        match page.merged.range {
            None if page.is_unclear() => self.handle_unplaced_page(page),
            None => self.stop(StopReason::NoProgress),
            Some(range) if self.coverage.oldest_first => {
                self.overlap_rows = 0;
                page.is_last(&self.coverage)
                    .then_some(Conclusion::Top(range))
            }
            Some(range) if page.is_last(&self.coverage) && page.merged.is_lowest => {
                Some(Conclusion::End(range))
            }
            Some(_) => None,
        }
    }

    fn handle_page_below(&mut self, below: &BelowRequest, page: &PageFacts) -> Option<Conclusion> {
        if page.is_empty_end() {
            // The end, an unknown cursor, or a fault of the service: a row further up tells which.
            self.saw_empty_page = true;
            self.cursor_search.mark_unknown(below.offset);
            return self.continue_search(below.range);
        }
        let Some(merged_range) = page.merged.range else {
            return self.handle_unplaced_page(page);
        };
        let is_last = page.is_last(&self.coverage);
        if self.is_searching && below.offset > 0 && !below.is_boundary {
            // The service knows this row, but it is far above those that it does not know.
            self.cursor_search.mark_known(below.offset);
            return if is_last {
                Some(Conclusion::End(merged_range))
            } else {
                self.continue_search(below.range)
            };
        }
        if (is_last || page.is_known_end(below.offset, &self.coverage)) && page.merged.is_lowest {
            return Some(Conclusion::End(merged_range));
        }
        // Another process may have stored the page before, and what is below it.
        let is_longer = page.merged.extended || merged_range.bottom < below.range.bottom;
        if !is_longer && below.offset == 0 {
            // The service ignores the cursor, and says that this is all.
            let is_all = page.has_more == Some(false)
                && page.len < usize::from(MAX_LIMIT)
                && page.unreadable == 0
                && page.merged.new.is_empty();
            if is_all && page.merged.is_lowest {
                return Some(Conclusion::End(merged_range));
            }
            return self.stop(StopReason::NoProgress);
        }
        (self.cursor_search, self.is_searching, self.saw_empty_page) =
            (CursorSearch::default(), false, false);
        if is_longer && self.goal == Goal::LoadOlder {
            self.stop(StopReason::Done)
        } else {
            None
        }
    }

    /// Goes on with the cursor search, which may end at the end of the listing.
    fn continue_search(&mut self, range: CoveredRange) -> Option<Conclusion> {
        self.is_searching = true;
        let next = self.cursor_search.next_offset(u32::from(MAX_LIMIT));
        if next.is_some() {
            None
        } else if self.saw_empty_page {
            Some(Conclusion::End(range))
        } else {
            self.stop(StopReason::NoLiveCursor)
        }
    }

    fn handle_page_above(&mut self, range: &CoveredRange, page: &PageFacts) -> Option<Conclusion> {
        if page.is_empty_end() {
            return Some(Conclusion::Top(*range));
        }
        match page.merged.range {
            Some(range) if page.is_last(&self.coverage) => Some(Conclusion::Top(range)),
            Some(merged)
                if page.merged.extended || self.overlap_rows > 0 || merged.top > range.top =>
            {
                self.overlap_rows = 0;
                None
            }
            None if !self.has_first_page => {
                self.is_restarted = true;
                None
            }
            Some(_) | None => self.stop(StopReason::NoProgress),
        }
    }

    /// Goes on after a page that extends no range, while such pages have new mail.
    /// If unreadable items or a listing without order are the reason, it goes on as far as the goal
    /// requires.
    fn handle_unplaced_page(&mut self, page: &PageFacts) -> Option<Conclusion> {
        let is_far = match (self.goal, page.oldest_micros) {
            (Goal::Full(SyncDepth::Until(time)), Some(oldest)) => oldest < time.as_microsecond(),
            _ => false,
        };
        let is_unclear = self.saw_unreadable || self.saw_unordered;
        let is_worthwhile =
            !page.merged.new.is_empty() || (is_unclear && self.goal != Goal::Refresh);
        self.unplaced_cursor = page.last_id.clone().filter(|_| is_worthwhile && !is_far);
        if self.unplaced_cursor.is_some() {
            None
        } else {
            self.stop(StopReason::NoProgress)
        }
    }

    /// Begins at the first page, unless it was read already.
    fn restart_or_stop(&mut self, request: &BaseRequest, reason: StopReason) -> Option<Conclusion> {
        if matches!(request, BaseRequest::Above { .. }) && !self.has_first_page {
            self.is_restarted = true;
            None
        } else {
            self.stop(reason)
        }
    }

    fn stop(&mut self, reason: StopReason) -> Option<Conclusion> {
        self.stop_reason = Some(match reason {
            StopReason::NoProgress if self.saw_unreadable => StopReason::Unreadable,
            // Every page was read, although they claim nothing.
            StopReason::NoProgress if self.saw_unordered => match self.goal {
                Goal::Full(SyncDepth::All) => StopReason::End,
                _ => StopReason::Unordered,
            },
            // A page without anything new ends a listing that has no `has_more`.
            StopReason::NoProgress if self.lacks_has_more => StopReason::End,
            reason => reason,
        });
        None
    }

    const fn max_pages(&self) -> u32 {
        match self.goal {
            Goal::Refresh => REFRESH_MAX_PAGES,
            Goal::LoadOlder => LOAD_OLDER_MAX_PAGES,
            Goal::Full(_) => u32::MAX,
        }
    }
}

fn newest_range(coverage: &CoverageState) -> Option<CoveredRange> {
    if coverage.oldest_first {
        coverage.ranges.first().copied()
    } else {
        let mut ranges = coverage.ranges.iter();
        ranges.find(|range| range.reaches_top).copied()
    }
}
