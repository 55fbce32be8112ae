//! One sync run: maps planner requests to cursors, and merges pages into the
//! archive.
//!
//! It blocks, so the engine runs it on a blocking thread between requests.

use std::collections::HashSet;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use tracing::debug;

use super::listing_state::ListingState;
use super::planner::{BaseRequest, Conclusion, Goal, PageFacts, PageOutcome, PageRequest, Planner};
use super::report::{StopReason, SyncReport};
use crate::api::{Cursor, EmailPage, ListedEmail};
use crate::archive::{Archive, Direction, ListingPage, MergeResult, PagePosition, RequestStamp};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;

pub(super) struct SyncRun {
    archive: Archive,
    planner: Planner,
    listing_state: Arc<ListingState>,
    request: PageRequest,
    /// The cursor of the base request.
    cursor: Option<EmailId>,
    report: SyncReport,
    /// When the last request was sent; `None` before the first.
    requested_at: Option<RequestStamp>,
}

/// A run with its next request, or with the reason why it is over.
pub(super) type RunStep = (SyncRun, ControlFlow<StopReason, Cursor>);

impl SyncRun {
    pub(super) fn start(
        archive: Archive,
        goal: Goal,
        listing_state: Arc<ListingState>,
    ) -> Result<RunStep> {
        let mut run = Self {
            planner: Planner::new(goal, archive.coverage_state()?),
            archive,
            listing_state,
            request: BaseRequest::First.into(),
            cursor: None,
            report: SyncReport::default(),
            requested_at: None,
        };
        let step = run.next_step()?;
        Ok((run, step))
    }

    /// Stores the response to the last request, which was sent at `sent_at`.
    pub(super) fn handle_response(
        mut self,
        response: Result<EmailPage>,
        sent_at: RequestStamp,
    ) -> Result<RunStep> {
        self.requested_at = Some(sent_at);
        self.report.requests += 1;
        let outcome = match response {
            Ok(page) => self.merge_page(page, sent_at)?,
            Err(error) if !self.request.is_first() && is_cursor_error(&error) => {
                self.report.refusal = Some(error.message);
                PageOutcome::UnknownCursor
            }
            // Pages of purged emails alone are nothing to keep.
            Err(error) if self.report.new == 0 && self.planner.loads_older() => return Err(error),
            Err(error) if self.report.pages > 0 => {
                return Ok((self, Break(StopReason::Failed(error))));
            }
            Err(error) => return Err(error),
        };
        self.update_planner(&outcome)?;
        let step = self.next_step()?;
        Ok((self, step))
    }

    pub(super) fn report(&self, stop_reason: StopReason) -> Result<SyncReport> {
        self.report.clone().finish(&self.archive, stop_reason)
    }

    fn next_step(&mut self) -> Result<ControlFlow<StopReason, Cursor>> {
        loop {
            match self.planner.next_step() {
                Break(reason) => return Ok(Break(reason)),
                Continue(request) => self.request = request,
            }
            let mut cursor = self.request.continues_after.clone();
            if cursor.is_none() {
                cursor = match &self.request.base {
                    BaseRequest::First => return Ok(Continue(Cursor::Start)),
                    BaseRequest::After(id) => Some(id.clone()),
                    BaseRequest::Below(below) => {
                        (self.archive).id_in_range(&below.range, Direction::Newer, below.offset)?
                    }
                    BaseRequest::Above { range, offset } => {
                        self.archive.id_in_range(range, Direction::Older, *offset)?
                    }
                };
                self.cursor.clone_from(&cursor);
            }
            match cursor {
                Some(id) if self.planner.record_cursor(&id) => {
                    return Ok(Continue(Cursor::After(id)));
                }
                Some(_) => self.update_planner(&PageOutcome::RepeatedCursor)?,
                None => self.update_planner(&PageOutcome::NoSuchRow)?,
            }
        }
    }

    fn merge_page(&mut self, page: EmailPage, sent_at: RequestStamp) -> Result<PageOutcome> {
        let (mut items, unreadable, has_more) = (page.items, page.unreadable, page.has_more);
        let ids: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let len = ids.len();
        let last_id = items.last().map(|item| EmailId::new(&item.id));
        let oldest_micros = created_micros(&items).min();
        let is_first_page = self.request.is_first();
        let mut oldest_first = self.planner.coverage.oldest_first;
        if is_first_page {
            oldest_first = is_oldest_first(&items).unwrap_or(oldest_first);
        }
        let is_unordered = self.listing_state.check_order(&items);
        if oldest_first {
            items.reverse();
        }
        let is_empty_mailbox = is_first_page && has_more != Some(true) && unreadable == 0;
        let merged = if len > 0 || is_empty_mailbox {
            // A page is claimed whole or not at all.
            let position = if unreadable > 0 || is_unordered {
                PagePosition::Unknown
            } else {
                self.page_position(oldest_first)
            };
            self.archive.merge_page(&ListingPage {
                items,
                position,
                oldest_first,
                requested: sent_at,
            })?
        } else {
            MergeResult::default()
        };
        self.report.add_page(&merged, unreadable);
        debug!(
            len,
            unreadable,
            has_more,
            new = merged.new.len(),
            changed = merged.changed.len(),
            "page merged"
        );
        let facts = PageFacts {
            len,
            has_more,
            unreadable,
            is_unordered,
            last_id,
            oldest_micros,
            merged,
        };
        if is_first_page || oldest_first {
            let is_missing = facts.len == 0 && has_more == Some(true);
            if facts.is_unclear() || is_missing {
                self.listing_state.set_top_unknown(true);
            } else if is_first_page
                && (facts.merged.range.is_some()
                    || facts.is_all_skipped()
                    || (facts.len == 0 && !facts.merged.is_doubted))
            {
                self.listing_state.set_top_unknown(false);
            }
        }
        if facts.merged.range.is_none()
            && !facts.is_unclear()
            && !facts.is_all_skipped()
            && self.request.continues_after.is_none()
            && let Some(cursor) = &self.cursor
            && self.archive.row(cursor)?.is_none()
        {
            return Ok(PageOutcome::PurgedCursor);
        }
        Ok(PageOutcome::Page(facts))
    }

    fn page_position(&self, oldest_first: bool) -> PagePosition {
        match (&self.request.base, &self.cursor) {
            (BaseRequest::First, _) if oldest_first => PagePosition::Bottom,
            (BaseRequest::First, _) => PagePosition::Top,
            (BaseRequest::Below(below), Some(cursor)) => PagePosition::Below {
                cursor: cursor.clone(),
                is_end: below.is_boundary,
            },
            (BaseRequest::Above { .. }, Some(cursor)) => PagePosition::Above(cursor.clone()),
            _ => PagePosition::Unknown,
        }
    }

    fn update_planner(&mut self, outcome: &PageOutcome) -> Result<()> {
        self.planner.coverage = self.archive.coverage_state()?;
        let conclusion = (self.planner).handle_outcome(&self.request.base, outcome);
        let Some((conclusion, sent_at)) = conclusion.zip(self.requested_at) else {
            return Ok(());
        };
        match conclusion {
            Conclusion::End(range) => {
                // The oldest email of the listing. An empty page names none.
                let last = match outcome {
                    PageOutcome::Page(page) => page.last_id.as_ref(),
                    _ => None,
                };
                self.report.deletions_changed |=
                    self.archive.record_end(range.bottom, last, sent_at)?;
            }
            Conclusion::Top(range) => {
                self.archive.record_top(range.top, sent_at)?;
                self.listing_state.set_top_unknown(false);
            }
        }
        self.planner.coverage = self.archive.coverage_state()?;
        Ok(())
    }
}

/// Whether the service refuses the cursor:
/// no email has it, or it has the wrong form.
pub(super) const fn is_cursor_error(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::InvalidRequest)
}

/// Whether a first page lists the oldest first; `None` if its times do not tell.
///
/// Only times that all rise prove it. Anything else is taken for the documented order, newest first,
/// in which single times may contradict their neighbours.
fn is_oldest_first(items: &[ListedEmail]) -> Option<bool> {
    let times: Vec<i64> = created_micros(items).collect();
    let differ = times.iter().any(|time| *time != times[0]);
    differ.then(|| times.is_sorted())
}

/// Returns the times of a page's emails, in microseconds since 1970.
fn created_micros(items: &[ListedEmail]) -> impl Iterator<Item = i64> {
    items
        .iter()
        .filter_map(|item| Some(item.created?.as_microsecond()))
}
