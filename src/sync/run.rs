//! One walk with the archive under its feet: turns what the plan asks for into cursors, and answers
//! into rows. It blocks, so the engine sends it to a blocking thread between requests.

use std::collections::HashSet;

use tracing::debug;

use super::exchange::{Conclusion, Goal, PageFacts, PageOutcome, PageRequest, PlannerStep};
use super::planner::Planner;
use super::report::{MAX_CHANGED_IDS, StopReason, SyncReport};
use crate::api::{Cursor, EmailPage, ListedEmail};
use crate::archive::{Archive, CoverageState, ListingPage, MergeResult, PagePosition, RequestTime};
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, EmailId};

/// A walk under way.
pub(super) struct SyncRun {
    archive: Archive,
    planner: Planner,
    coverage: CoverageState,
    request: PageRequest,
    cursor: Option<EmailId>,
    progress: Progress,
    /// When the last request was sent; `None` before the first.
    requested_at: Option<RequestTime>,
}

/// What a walk has brought so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    new: u64,
    changes: u64,
    changed_ids: Vec<EmailId>,
    pub(super) pages: u64,
    pub(super) unreadable: u64,
}

/// What to do next.
pub(super) enum RunStep {
    /// Request the page at this cursor.
    Request(Cursor),
    /// Nothing more.
    Finished(StopReason),
}

impl SyncRun {
    /// Sets out for `goal`.
    pub(super) fn start(archive: Archive, goal: Goal) -> Result<(Self, RunStep), Error> {
        let ground = archive.coverage_state()?;
        let walk = Planner::new(goal, &ground);
        let mut journey = Self {
            archive,
            planner: walk,
            coverage: ground,
            request: PageRequest::First,
            cursor: None,
            progress: Progress::default(),
            requested_at: None,
        };
        let step = journey.next_step()?;
        Ok((journey, step))
    }

    /// Takes the answer to the last request in, and says what to do next. The request was made at
    /// `asked`.
    pub(super) fn handle_response(
        mut self,
        answer: Result<EmailPage, Error>,
        asked: RequestTime,
    ) -> Result<(Self, RunStep), Error> {
        self.requested_at = Some(asked);
        let answer = match answer {
            Ok(page) => self.merge_page(page, asked)?,
            Err(failure) if self.request != PageRequest::First && is_cursor_error(&failure) => {
                PageOutcome::UnknownCursor
            }
            Err(failure) if self.progress.pages > 0 => {
                return Ok((self, RunStep::Finished(StopReason::Failed(failure))));
            }
            Err(failure) => return Err(failure),
        };
        self.update_planner(&answer)?;
        let step = self.next_step()?;
        Ok((self, step))
    }

    /// What the walk has brought, for the person who waits for it.
    pub(super) fn report(&self, stopped: StopReason) -> Result<SyncReport, Error> {
        self.progress.to_report(&self.archive, stopped)
    }

    fn next_step(&mut self) -> Result<RunStep, Error> {
        loop {
            match self.planner.next_step(&self.coverage) {
                PlannerStep::Finished(stopped) => return Ok(RunStep::Finished(stopped)),
                PlannerStep::Request(ask) => self.request = ask,
            }
            if self.request == PageRequest::First {
                return Ok(RunStep::Request(Cursor::Start));
            }
            if let PageRequest::Continue { after, .. } = &self.request {
                let after = after.clone();
                if self.planner.record_cursor(&after) {
                    return Ok(RunStep::Request(Cursor::After(after)));
                }
                self.update_planner(&PageOutcome::RepeatedCursor)?;
                continue;
            }
            self.cursor = self.resolve_cursor()?;
            match &self.cursor {
                Some(id) if self.planner.record_cursor(id) => {
                    return Ok(RunStep::Request(Cursor::After(id.clone())));
                }
                Some(_) => self.update_planner(&PageOutcome::RepeatedCursor)?,
                None => self.update_planner(&PageOutcome::NoSuchRow)?,
            }
        }
    }

    fn resolve_cursor(&self) -> Result<Option<EmailId>, Error> {
        match &self.request {
            PageRequest::First | PageRequest::Continue { .. } => Ok(None),
            PageRequest::After(id) => Ok(Some(id.clone())),
            PageRequest::Below { span, rows, .. } => self.archive.id_above_bottom(span, *rows),
            PageRequest::Above { span, rows } => self.archive.id_below_top(span, *rows),
        }
    }

    fn merge_page(&mut self, page: EmailPage, asked: RequestTime) -> Result<PageOutcome, Error> {
        let EmailPage {
            mut items,
            unreadable,
            has_more,
        } = page;
        let length = items
            .iter()
            .map(|item| item.id.as_str())
            .collect::<HashSet<_>>()
            .len();
        let last = items.last().map(|item| EmailId::new(&item.id));
        let oldest = created_micros(&items).min();
        let rising = if self.request == PageRequest::First {
            is_oldest_first(&items).unwrap_or(self.coverage.oldest_first)
        } else {
            self.coverage.oldest_first
        };
        if rising {
            items.reverse();
        }
        let carried = if length > 0
            || (self.request == PageRequest::First && has_more != Some(true) && unreadable == 0)
        {
            // A page is claimed whole or not at all.
            let joins = if unreadable > 0 {
                PagePosition::Unknown
            } else {
                self.page_position(rising)
            };
            self.archive.merge_page(&ListingPage {
                items,
                position: joins,
                oldest_first: rising,
                requested: asked,
            })?
        } else {
            MergeResult::default()
        };
        self.progress.add_page(&carried, unreadable);
        debug!(
            length,
            unreadable,
            has_more,
            new = carried.new.len(),
            changed = carried.changed.len(),
            "carried a page"
        );
        Ok(PageOutcome::Page(PageFacts {
            len: length,
            has_more,
            unreadable,
            last_id: last,
            oldest_micros: oldest,
            merged: carried,
        }))
    }

    fn page_position(&self, rising: bool) -> PagePosition {
        let ask = match &self.request {
            PageRequest::Continue { ask, .. } => ask,
            ask => ask,
        };
        match (ask, &self.cursor) {
            (PageRequest::First, _) if rising => PagePosition::Bottom,
            (PageRequest::First, _) => PagePosition::Top,
            (PageRequest::Below { cut, .. }, Some(cursor)) => PagePosition::Below {
                cursor: cursor.clone(),
                is_end: *cut,
            },
            (PageRequest::Above { .. }, Some(cursor)) => PagePosition::Above(cursor.clone()),
            (
                PageRequest::Below { .. }
                | PageRequest::Above { .. }
                | PageRequest::After(_)
                | PageRequest::Continue { .. },
                _,
            ) => PagePosition::Unknown,
        }
    }

    fn update_planner(&mut self, answer: &PageOutcome) -> Result<(), Error> {
        self.coverage = self.archive.coverage_state()?;
        match (
            self.planner
                .handle_outcome(&self.request, answer, &self.coverage),
            self.requested_at,
        ) {
            (Conclusion::None, _) | (_, None) => return Ok(()),
            (Conclusion::End(span), Some(asked)) => {
                self.archive
                    .record_end(span.bottom, self.last_listed(answer), asked)?;
            }
            (Conclusion::Top(span), Some(asked)) => self.archive.record_top(span.top, asked)?,
        }
        self.coverage = self.archive.coverage_state()?;
        Ok(())
    }
}

impl SyncRun {
    /// The oldest email that the service lists, after an answer that says that there is no more.
    fn last_listed<'a>(&'a self, answer: &'a PageOutcome) -> Option<&'a EmailId> {
        match answer {
            PageOutcome::Page(page) if page.len > 0 => page.last_id.as_ref(),
            PageOutcome::Page(_) if self.planner.rejects_unknown_cursors() => self.cursor.as_ref(),
            PageOutcome::Page(_)
            | PageOutcome::UnknownCursor
            | PageOutcome::NoSuchRow
            | PageOutcome::RepeatedCursor => None,
        }
    }
}

impl Progress {
    /// Adds what a page has brought, and how many of its emails could not be read.
    pub(super) fn add_page(&mut self, carried: &MergeResult, unreadable: usize) {
        self.pages += 1;
        self.unreadable += unreadable as u64;
        self.new += carried.new.len() as u64;
        self.changes += carried.changed.len() as u64;
        let room = MAX_CHANGED_IDS - self.changed_ids.len();
        self.changed_ids
            .extend(carried.changed.iter().take(room).cloned());
    }

    /// Adds what another run has brought.
    pub(super) fn add_report(&mut self, synced: &SyncReport) {
        self.pages += synced.pages;
        self.add_changes(synced.new, synced.changed_ids.clone());
    }

    /// Adds what another process has brought.
    pub(super) fn add_changes(&mut self, new: u64, changed: Vec<EmailId>) {
        self.new += new;
        self.changes += changed.len() as u64;
        self.changed_ids.extend(changed);
        self.changed_ids.truncate(MAX_CHANGED_IDS);
    }

    pub(super) fn to_report(
        &self,
        archive: &Archive,
        stopped: StopReason,
    ) -> Result<SyncReport, Error> {
        let Self {
            new,
            changes,
            changed_ids: changed,
            pages,
            unreadable,
        } = self;
        let (reach, head_at) = (archive.coverage()?, archive.head_at()?);
        Ok(SyncReport {
            new: *new,
            changes: *changes,
            changed_ids: changed.clone(),
            pages: *pages,
            unreadable: *unreadable,
            coverage: reach,
            refreshed_at: head_at,
            stop_reason: stopped,
        })
    }
}

/// Whether the service refuses the cursor: it is gone, or no id of a kind that it knows.
pub(super) const fn is_cursor_error(failure: &Error) -> bool {
    matches!(
        failure.kind,
        ErrorKind::NotFound | ErrorKind::InvalidRequest
    )
}

/// Whether a first page lists the oldest first; `None` if its times do not tell.
///
/// Only times that rise all along say so. Anything else is taken for the documented order, newest
/// first, in which single times may contradict their neighbours.
fn is_oldest_first(items: &[ListedEmail]) -> Option<bool> {
    let times: Vec<i64> = created_micros(items).collect();
    let differ = times.iter().any(|time| *time != times[0]);
    differ.then(|| times.is_sorted())
}

/// When the emails of a page were created, in microseconds since 1970.
fn created_micros(items: &[ListedEmail]) -> impl Iterator<Item = i64> {
    items
        .iter()
        .filter_map(|item| ApiTime::parse(item.created_at.as_deref()?).as_micros())
}
