//! Decides what to ask next from what is known and what came back: pure, so that any service can be
//! played to it.
//!
//! Three things keep a walk honest. It ends: no cursor is asked twice in one walk, and a page that
//! adds nothing ends it. It claims little: the archive refuses to claim anything from a page that
//! contradicts its cursor. And it believes in the end of the listing only when a page says so that is
//! shorter than others were, since some services never say that they have more. Where a service does not
//! say whether there is more, the walk goes on until a page brings nothing new.

use std::collections::HashSet;

use super::cursor_search::CursorSearch;
use super::exchange::{Conclusion, Goal, PageFacts, PageOutcome, PageRequest, PlannerStep};
use super::report::{StopReason, SyncDepth};
use crate::api::MAX_LIMIT;
use crate::archive::{CoverageState, CoveredRange};
use crate::mail::EmailId;

/// The most pages that looking for new mail takes, so that what came is soon on the screen; what is
/// left is a gap, closed by later walks.
const REFRESH_MAX_PAGES: u32 = 3;

/// The most pages of one step back that claim nothing, where a service makes a muddle of its cursors.
const LOAD_OLDER_MAX_PAGES: u32 = 5;

/// One walk through the listing.
#[derive(Debug)]
pub(crate) struct Planner {
    goal: Goal,
    pages: u32,
    started: bool,
    /// Whether to begin at the first page although the span could be continued.
    is_restarted: bool,
    /// Where the span can be continued downwards.
    cursor_search: CursorSearch,
    /// How many rows below the top of the span to continue it upwards.
    overlap_rows: u32,
    /// Whether an end that was believed before has been looked at again.
    is_end_rechecked: bool,
    /// Whether a foothold is being looked for.
    is_searching: bool,
    /// Whether a cursor was answered by an empty page: there is nothing below it, or the service does
    /// not know it.
    saw_empty_page: bool,
    /// Whether the service refuses unknown cursors, so that its empty pages can be believed.
    rejects_unknown_cursors: bool,
    /// Whether an email on the pages so far could not be read.
    saw_unreadable: bool,
    /// Whether the latest page did not say if there is more.
    lacks_has_more: bool,
    unplaced_cursor: Option<EmailId>,
    /// What goes on behind a page of which nothing was taken in.
    continuation: Option<PageRequest>,
    used_cursors: HashSet<EmailId>,
    stop_reason: Option<StopReason>,
    /// How many spans there were at first below the one that is growing.
    initial_gaps: Option<usize>,
}

impl Planner {
    /// A walk for `goal` that begins on this ground.
    #[must_use]
    pub(crate) fn new(goal: Goal, ground: &CoverageState) -> Self {
        // The newest hundred come along, so that their statuses are read again.
        let overlap = if goal == Goal::Refresh && ground.oldest_first {
            u32::from(MAX_LIMIT) - 1
        } else {
            0
        };
        Self {
            goal,
            pages: 0,
            started: false,
            is_restarted: false,
            cursor_search: CursorSearch::default(),
            is_end_rechecked: false,
            overlap_rows: overlap,
            is_searching: false,
            saw_empty_page: false,
            rejects_unknown_cursors: false,
            saw_unreadable: false,
            lacks_has_more: false,
            unplaced_cursor: None,
            continuation: None,
            used_cursors: HashSet::new(),
            stop_reason: None,
            initial_gaps: None,
        }
    }

    /// What to do next.
    pub(crate) fn next_step(&mut self, ground: &CoverageState) -> PlannerStep {
        if let Some(stopped) = &self.stop_reason {
            return PlannerStep::Finished(stopped.clone());
        }
        if self.pages >= self.max_pages() {
            return PlannerStep::Finished(StopReason::PageLimit);
        }
        if let Some(past) = &self.continuation {
            return PlannerStep::Request(past.clone());
        }
        if let Some(id) = &self.unplaced_cursor {
            return PlannerStep::Request(PageRequest::After(id.clone()));
        }
        let Some(span) = newest_range(ground) else {
            return if self.started {
                PlannerStep::Finished(StopReason::Done)
            } else {
                PlannerStep::Request(PageRequest::First)
            };
        };
        if ground.oldest_first {
            self.next_oldest_first(span)
        } else {
            self.next_newest_first(span, ground)
        }
    }

    fn next_newest_first(&mut self, span: CoveredRange, ground: &CoverageState) -> PlannerStep {
        if matches!(self.goal, Goal::Full(_)) && span.reaches_end && !self.is_end_rechecked {
            // From one row further up the end shows itself again.
            (self.cursor_search, self.is_end_rechecked) = (CursorSearch::starting_at(1), true);
        }
        let below = self.cursor_search.next_offset().map_or(
            PlannerStep::Finished(StopReason::NoLiveCursor),
            |(rows, cut)| PlannerStep::Request(PageRequest::Below { span, rows, cut }),
        );
        match self.goal {
            Goal::Refresh | Goal::Full(_) if !self.started => {
                PlannerStep::Request(PageRequest::First)
            }
            Goal::Refresh => {
                let gaps = ground
                    .ranges
                    .iter()
                    .filter(|other| other.top < span.bottom)
                    .count();
                let before = *self.initial_gaps.get_or_insert(gaps);
                if gaps == 0 || gaps < before || span.reaches_end {
                    PlannerStep::Finished(StopReason::Done)
                } else {
                    below
                }
            }
            Goal::LoadOlder if span.reaches_end => PlannerStep::Finished(StopReason::End),
            Goal::Full(SyncDepth::Until(time)) if span.bottom.micros() < time.as_microsecond() => {
                PlannerStep::Finished(StopReason::Done)
            }
            Goal::LoadOlder | Goal::Full(_) => below,
        }
    }

    fn next_oldest_first(&self, span: CoveredRange) -> PlannerStep {
        match self.goal {
            _ if self.is_restarted && !self.started => PlannerStep::Request(PageRequest::First),
            Goal::LoadOlder if span.reaches_top && span.reaches_end => {
                PlannerStep::Finished(StopReason::End)
            }
            Goal::Refresh | Goal::LoadOlder | Goal::Full(_) => {
                PlannerStep::Request(PageRequest::Above {
                    span,
                    rows: self.overlap_rows,
                })
            }
        }
    }

    /// Notes that `id` is asked for as a cursor; false if it was before, so that the walk would turn
    /// in a circle.
    pub(crate) fn record_cursor(&mut self, id: &EmailId) -> bool {
        self.used_cursors.insert(id.clone())
    }

    /// Learns from the answer to `ask`; `ground` is what is known since.
    pub(crate) fn handle_outcome(
        &mut self,
        ask: &PageRequest,
        answer: &PageOutcome,
        ground: &CoverageState,
    ) -> Conclusion {
        let past = self.continuation.take();
        let ask = match ask {
            PageRequest::Continue { ask, .. } => ask,
            ask => ask,
        };
        match answer {
            PageOutcome::Page(page)
                if page.is_all_skipped() || (past.is_some() && page.is_empty_end()) =>
            {
                self.handle_skipped_page(ask, page, ground)
            }
            PageOutcome::UnknownCursor if past.is_some() => self.stop(StopReason::NoLiveCursor),
            PageOutcome::RepeatedCursor if past.is_some() => self.stop(StopReason::NoProgress),
            PageOutcome::Page(page) => {
                self.pages += u32::from(page.len > 0);
                self.saw_unreadable |= page.unreadable > 0;
                self.lacks_has_more = page.has_more.is_none();
                match ask {
                    PageRequest::First => self.handle_first_page(page, ground),
                    PageRequest::Below { span, rows, cut } => {
                        self.handle_page_below(span, *rows, *cut, page, ground)
                    }
                    PageRequest::Above { span, .. } => self.handle_page_above(span, page, ground),
                    PageRequest::After(_) | PageRequest::Continue { .. } => {
                        self.handle_unplaced_page(page)
                    }
                }
            }
            PageOutcome::UnknownCursor => self.handle_unknown_cursor(ask),
            PageOutcome::NoSuchRow => self.handle_missing_row(ask),
            PageOutcome::RepeatedCursor => match ask {
                // The walk has been there, so the service knows that row.
                PageRequest::Below { span, rows, .. } if *rows > 0 => {
                    self.cursor_search.mark_known(*rows);
                    self.continue_search(span)
                }
                PageRequest::Below { span, .. } if self.saw_empty_page => {
                    self.conclude(Conclusion::End(*span))
                }
                PageRequest::First
                | PageRequest::Below { .. }
                | PageRequest::Above { .. }
                | PageRequest::After(_)
                | PageRequest::Continue { .. } => self.stop(StopReason::NoProgress),
            },
        }
    }

    /// A page of which nothing was taken in, because all of it was removed before or is too old to be
    /// kept. What is older than that is too old as well; else the walk goes on behind the page.
    fn handle_skipped_page(
        &mut self,
        ask: &PageRequest,
        page: &PageFacts,
        ground: &CoverageState,
    ) -> Conclusion {
        self.pages += 1;
        if page.merged.too_old > 0 {
            return self.stop(StopReason::Done);
        }
        if !page.is_empty_end() && !page.is_last(ground) {
            self.continuation = page.last_id.clone().map(|after| PageRequest::Continue {
                ask: Box::new(ask.clone()),
                after,
            });
            return if self.continuation.is_some() {
                Conclusion::None
            } else {
                self.stop(StopReason::NoProgress)
            };
        }
        match ask {
            PageRequest::Below { span, .. } => {
                self.conclude(Conclusion::End(page.merged.range.unwrap_or(*span)))
            }
            PageRequest::Above { span, .. } => {
                self.conclude(Conclusion::Top(page.merged.range.unwrap_or(*span)))
            }
            PageRequest::First | PageRequest::After(_) | PageRequest::Continue { .. } => {
                self.stop(StopReason::End)
            }
        }
    }

    /// Whether the service refuses cursors that it does not know, so that an empty page is the end.
    #[must_use]
    pub(crate) const fn rejects_unknown_cursors(&self) -> bool {
        self.rejects_unknown_cursors
    }

    fn handle_first_page(&mut self, page: &PageFacts, ground: &CoverageState) -> Conclusion {
        self.started = true;
        if page.is_empty_end() {
            return self.stop(StopReason::End);
        }
        match page.merged.range {
            None if page.unreadable > 0 => self.handle_unplaced_page(page),
            None => self.stop(StopReason::NoProgress),
            Some(span) if ground.oldest_first => {
                self.overlap_rows = 0;
                if page.is_last(ground) {
                    self.conclude(Conclusion::Top(span))
                } else {
                    Conclusion::None
                }
            }
            Some(span) if page.is_last(ground) && page.merged.is_lowest => {
                self.conclude(Conclusion::End(span))
            }
            Some(_) => Conclusion::None,
        }
    }

    fn handle_page_below(
        &mut self,
        span: &CoveredRange,
        rows: u32,
        cut: bool,
        page: &PageFacts,
        ground: &CoverageState,
    ) -> Conclusion {
        if page.is_empty_end() {
            return self.handle_empty_page(span, rows);
        }
        let Some(grown) = page.merged.range else {
            return self.handle_unplaced_page(page);
        };
        let is_last = page.is_last(ground);
        if self.is_searching && rows > 0 && !cut {
            // A row that the service knows, but far above those that it does not.
            self.cursor_search.mark_known(rows);
            return if is_last {
                self.conclude(Conclusion::End(grown))
            } else {
                self.continue_search(span)
            };
        }
        if (is_last || page.is_known_end(rows, ground)) && page.merged.is_lowest {
            return self.conclude(Conclusion::End(grown));
        }
        if !page.merged.extended && rows == 0 {
            return self.stop(StopReason::NoProgress);
        }
        (self.cursor_search, self.is_searching, self.saw_empty_page) =
            (CursorSearch::default(), false, false);
        if page.merged.extended && self.goal == Goal::LoadOlder {
            self.stop(StopReason::Done)
        } else {
            Conclusion::None
        }
    }

    /// The end, or the answer of a service to a cursor that it does not know: a row further up tells
    /// which, unless the service is known to refuse such cursors.
    fn handle_empty_page(&mut self, span: &CoveredRange, rows: u32) -> Conclusion {
        if self.rejects_unknown_cursors {
            return self.conclude(Conclusion::End(*span));
        }
        self.saw_empty_page = true;
        self.cursor_search.mark_unknown(rows);
        self.continue_search(span)
    }

    /// Goes on with the search for a row that the service knows. If there is none, and no cursor was
    /// refused, then there is nothing below.
    fn continue_search(&mut self, span: &CoveredRange) -> Conclusion {
        self.is_searching = true;
        if self.cursor_search.next_offset().is_some() {
            return Conclusion::None;
        }
        if self.saw_empty_page {
            self.conclude(Conclusion::End(*span))
        } else {
            self.stop(StopReason::NoLiveCursor)
        }
    }

    fn handle_page_above(
        &mut self,
        span: &CoveredRange,
        page: &PageFacts,
        ground: &CoverageState,
    ) -> Conclusion {
        if page.is_empty_end() {
            return self.conclude(Conclusion::Top(*span));
        }
        match page.merged.range {
            Some(grown) if page.is_last(ground) => self.conclude(Conclusion::Top(grown)),
            Some(_) if page.merged.extended || self.overlap_rows > 0 => {
                self.overlap_rows = 0;
                Conclusion::None
            }
            None if !self.started => self.restart_at_first_page(),
            Some(_) | None => self.stop(StopReason::NoProgress),
        }
    }

    /// Goes on behind a page that claims nothing, as long as there is new mail in such pages; or, where the
    /// page cannot be claimed because of an email on it, as far as the walk was to go.
    fn handle_unplaced_page(&mut self, page: &PageFacts) -> Conclusion {
        let is_far = match self.goal {
            Goal::Full(SyncDepth::Until(time)) => page
                .oldest_micros
                .is_some_and(|oldest| oldest < time.as_microsecond()),
            Goal::Refresh | Goal::LoadOlder | Goal::Full(SyncDepth::All) => false,
        };
        let is_worthwhile =
            !page.merged.new.is_empty() || (self.saw_unreadable && self.goal != Goal::Refresh);
        self.unplaced_cursor = page.last_id.clone().filter(|_| is_worthwhile && !is_far);
        if self.unplaced_cursor.is_some() {
            Conclusion::None
        } else {
            self.stop(StopReason::NoProgress)
        }
    }

    fn handle_unknown_cursor(&mut self, ask: &PageRequest) -> Conclusion {
        match ask {
            PageRequest::Below { span, rows, .. } => {
                self.rejects_unknown_cursors = true;
                self.cursor_search.mark_unknown(*rows);
                self.continue_search(span)
            }
            PageRequest::Above { .. } if !self.started => self.restart_at_first_page(),
            PageRequest::First
            | PageRequest::Above { .. }
            | PageRequest::After(_)
            | PageRequest::Continue { .. } => self.stop(StopReason::NoLiveCursor),
        }
    }

    fn handle_missing_row(&mut self, ask: &PageRequest) -> Conclusion {
        match ask {
            PageRequest::Below { span, rows, .. } => {
                self.cursor_search.mark_known(*rows);
                self.continue_search(span)
            }
            PageRequest::Above { .. } if !self.started => self.restart_at_first_page(),
            PageRequest::First
            | PageRequest::Above { .. }
            | PageRequest::After(_)
            | PageRequest::Continue { .. } => self.stop(StopReason::NoProgress),
        }
    }

    fn conclude(&mut self, finding: Conclusion) -> Conclusion {
        self.stop_reason = Some(StopReason::End);
        finding
    }

    fn stop(&mut self, stopped: StopReason) -> Conclusion {
        self.stop_reason = Some(match stopped {
            StopReason::NoProgress if self.saw_unreadable => StopReason::Unreadable,
            // A page without anything new ends a listing that does not say where it ends.
            StopReason::NoProgress if self.lacks_has_more => StopReason::End,
            stopped => stopped,
        });
        Conclusion::None
    }

    /// Begins at the listing's first page instead.
    const fn restart_at_first_page(&mut self) -> Conclusion {
        self.is_restarted = true;
        Conclusion::None
    }

    const fn max_pages(&self) -> u32 {
        match self.goal {
            Goal::Refresh => REFRESH_MAX_PAGES,
            Goal::LoadOlder => LOAD_OLDER_MAX_PAGES,
            Goal::Full(_) => u32::MAX,
        }
    }
}

/// The span that holds the newest emails.
fn newest_range(ground: &CoverageState) -> Option<CoveredRange> {
    if ground.oldest_first {
        ground.ranges.first().copied()
    } else {
        ground.ranges.iter().find(|span| span.reaches_top).copied()
    }
}
