//! Confirms statuses: due pages, and rows that a user looks at.

use jiff::{SignedDuration, Timestamp};

use super::planner::Goal;
use super::recheck::{DueRun, RecheckScope, find_due_runs, lateness};
use super::run::is_cursor_error;
use super::{Engine, FailedPages, StopReason, SyncDepth, SyncReport, merge_page_after};
use crate::api::{Cursor, EmailApi, MAX_LIMIT};
use crate::archive::{Archive, CandidateRows, EmailRow, SortKey};
use crate::error::{ErrorKind, Result};
use crate::mail::{EmailId, Finality};
use crate::query::Query;
use crate::tasks::lock;

/// Cursors to try for a page, from the row right above it up;
/// then a refresh reads the newest page.
const MAX_CURSORS: u32 = 3;

/// Time until a page that could not be read is due again.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Most candidates of a query in one call.
const CANDIDATE_BATCH: usize = 200;

/// Unlisted emails among which the most overdue one is searched.
const MAX_UNLISTED: u32 = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfirmReport {
    /// New and changed emails.
    pub(crate) sync_report: SyncReport,
    /// Number of requests, without repetitions after an error.
    pub(crate) requests: u32,
    pub(crate) confirmed_rows: u32,
    /// The oldest confirmation that these rows have now:
    /// a mirror or a cache may answer with statuses of before, or, as the minimum, of an unknown time.
    pub(crate) oldest_confirmation: Option<Timestamp>,
    /// The row down to which candidates are confirmed; `None` if none is.
    pub(crate) confirmed_down_to: Option<SortKey>,
    /// Whether no row is left to confirm.
    pub(crate) is_done: bool,
    /// Whether rows were left out that count as final by their age alone.
    pub(crate) leaves_out_old: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfirmScope {
    /// Those that were not confirmed since then.
    pub(crate) fresh_since: Timestamp,
    /// Also those that count as final by their age alone.
    pub(crate) any_age: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum ConfirmRequest {
    /// The page that begins at this row.
    Page(SortKey),
    Email(EmailId),
}

/// What the page after a cursor was.
enum PageAfter {
    /// The service does not know the cursor.
    Unknown,
    /// It has only emails that were purged or are too old, so no row of the archive.
    Purged,
    Read {
        is_confirmed: bool,
    },
}

impl SyncReport {
    /// Adds what is due to be read again at `now`.
    pub(super) fn add_due(
        &mut self,
        archive: &Archive,
        failed_pages: &FailedPages,
        now: Timestamp,
    ) -> Result<()> {
        let scope = RecheckScope::background(now);
        (self.due, _) = count_due(archive, scope, now)?;
        self.needs_recheck = next_due_request(archive, scope, now, failed_pages)?.is_some();
        Ok(())
    }
}

impl<S: EmailApi> Engine<S> {
    /// Reads the most overdue page or email again, and marks what the service no longer
    /// has. `None`, without a request, if nothing is due.
    pub(crate) async fn recheck(&self, scope: RecheckScope) -> Result<Option<SyncReport>> {
        let now = (self.clock)();
        let failed_pages = self.failed_pages.clone();
        let next = self.run_blocking(move |archive| {
            let mut failed_pages = lock(&failed_pages);
            failed_pages.retain(|_, tried_at| now.duration_since(*tried_at).abs() < RETRY_AFTER);
            next_due_request(&archive, scope, now, &failed_pages)
        });
        let mut report = SyncReport::default();
        match next.await? {
            None => return Ok(None),
            Some(ConfirmRequest::Page(start)) => {
                if !self.confirm_page(start, &mut report).await? {
                    lock(&self.failed_pages).insert(start, now);
                }
            }
            Some(ConfirmRequest::Email(id)) => self.confirm_email(&id, &mut report).await?,
        }
        let report = self
            .run_blocking(move |archive| report.finish(&archive, StopReason::Done))
            .await?;
        self.mark_reported(&report);
        Ok(Some(self.limit_coverage(report)))
    }

    /// Rechecks what may still change, if this process has the poll lock.
    pub(crate) async fn recheck_background(&self) -> Result<Option<SyncReport>> {
        let now = (self.clock)();
        let is_polling = self.run_blocking(move |archive| Ok(archive.poll_lock().try_acquire(now)));
        if !is_polling.await? {
            return Ok(None);
        }
        let scope = RecheckScope::background(now);
        let Some(mut report) = self.recheck(scope).await? else {
            return Ok(None);
        };
        let (failed_pages, now) = (self.failed_pages.clone(), (self.clock)());
        self.run_blocking(move |archive| {
            report.add_due(&archive, &lock(&failed_pages), now)?;
            Ok(Some(report))
        })
        .await
    }

    pub(crate) async fn count_due(&self, scope: RecheckScope) -> Result<u64> {
        let now = (self.clock)();
        self.run_blocking(move |archive| Ok(count_due(&archive, scope, now)?.0))
            .await
    }

    /// Confirms emails with at most `max_requests`, by page or by id.
    pub(crate) async fn confirm_emails(
        &self,
        ids: Vec<EmailId>,
        max_requests: u32,
    ) -> Result<ConfirmReport> {
        let rows = self.run_blocking(move |archive| {
            let mut rows = ids
                .iter()
                .filter_map(|id| archive.row(id).transpose())
                .collect::<Result<Vec<EmailRow>, _>>()?;
            rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.sort_key));
            rows.dedup_by_key(|row| row.sort_key);
            Ok(rows)
        });
        let rows = rows.await?;
        let candidates = CandidateRows {
            rows,
            last_examined: None,
            is_exhausted: true,
        };
        self.confirm_matches(candidates, max_requests).await
    }

    /// Confirms matches of `query` below row `below`, newest first,
    /// with at most `max_requests`. Emails that are final, or confirmed at `fresh_since` or later, need no
    /// request.
    pub(crate) async fn confirm_candidates(
        &self,
        query: Query,
        below: Option<SortKey>,
        scope: ConfirmScope,
        max_requests: u32,
    ) -> Result<ConfirmReport> {
        let now = (self.clock)();
        let is_old = move |row: &EmailRow, now| {
            row.is_final_by_age(now) && !is_fresh(row, scope.fresh_since, now)
        };
        let wanted = query.clone();
        let candidates = self.run_blocking(move |archive| {
            let mut leaves_out_old = false;
            let candidates = archive.find_candidates(&wanted, below, CANDIDATE_BATCH, |row| {
                leaves_out_old |= is_old(row, now) && !scope.any_age;
                (is_old(row, now) && scope.any_age) || needs_confirming(row, scope.fresh_since, now)
            })?;
            Ok((candidates, leaves_out_old))
        });
        let (candidates, mut leaves_out_old) = candidates.await?;
        let report = self.confirm_matches(candidates, max_requests).await?;
        if leaves_out_old {
            // The pages of the others may have confirmed them, too.
            let (now, bottom) = ((self.clock)(), report.confirmed_down_to);
            let is_below = move |row: &EmailRow| bottom.is_none_or(|bottom| row.sort_key < bottom);
            let first = self.run_blocking(move |archive| {
                let ends = |row: &EmailRow| is_below(row) || is_old(row, now);
                Ok(archive.find_candidates(&query, below, 1, ends)?.rows.pop())
            });
            leaves_out_old = first.await?.is_some_and(|row| !is_below(&row));
        }
        Ok(ConfirmReport {
            leaves_out_old,
            ..report
        })
    }

    async fn confirm_matches(
        &self,
        candidates: CandidateRows,
        max_requests: u32,
    ) -> Result<ConfirmReport> {
        let rows = candidates.rows;
        let (mut report, mut done) = (SyncReport::default(), 0);
        let mut failed_pages = 0;
        while done < rows.len() && report.requests < u64::from(max_requests) {
            // After a second page that confirms nothing each email is requested for itself.
            let by_page = failed_pages < 2;
            let pending = rows[done..if by_page { rows.len() } else { done + 1 }].to_vec();
            let (request, count) = self
                .run_blocking(move |archive| next_confirm_request(&archive, &pending))
                .await?;
            match request {
                ConfirmRequest::Page(start) => {
                    let is_confirmed = self.confirm_page(start, &mut report).await?;
                    failed_pages += u32::from(!is_confirmed);
                    done += if is_confirmed { count } else { 0 };
                }
                ConfirmRequest::Email(id) => {
                    self.confirm_email(&id, &mut report).await?;
                    done += count;
                }
            }
        }
        let requests = u32::try_from(report.requests).unwrap_or(u32::MAX);
        let is_all = done == rows.len();
        let confirmed_down_to = if is_all {
            candidates.last_examined
        } else {
            done.checked_sub(1).map(|last| rows[last].sort_key)
        };
        let confirmed = self.run_blocking(move |archive| {
            let mut oldest = None;
            for row in &rows[..done] {
                let row = archive.row(&row.summary.id)?;
                let listed = row.filter(|row| row.missing_since.is_none());
                let at = listed.map(|row| row.confirmed_at.unwrap_or(Timestamp::MIN));
                oldest = oldest.into_iter().chain(at).min();
            }
            Ok((report.finish(&archive, StopReason::Done)?, oldest))
        });
        let (sync_report, oldest_confirmation) = confirmed.await?;
        self.mark_reported(&sync_report);
        Ok(ConfirmReport {
            sync_report: self.limit_coverage(sync_report),
            requests,
            oldest_confirmation,
            confirmed_rows: u32::try_from(done).unwrap_or(u32::MAX),
            confirmed_down_to,
            is_done: candidates.is_exhausted && is_all,
            leaves_out_old: false,
        })
    }

    /// Reads the page that begins at row `start`;
    /// false if its statuses could not all be confirmed: the service knows none of the rows above it, an
    /// item of the page is unreadable, or a page of purged emails lies between.
    async fn confirm_page(&self, start: SortKey, report: &mut SyncReport) -> Result<bool> {
        let cursors = self
            .run_blocking(move |archive| archive.cursors_above(start, MAX_CURSORS))
            .await?;
        let is_near_top = u32::try_from(cursors.len()).unwrap_or(MAX_CURSORS) < MAX_CURSORS;
        for id in cursors {
            match self.confirm_page_after(id, report).await? {
                PageAfter::Unknown => {}
                PageAfter::Read { is_confirmed } => return Ok(is_confirmed),
                PageAfter::Purged => {
                    // The row itself is a cursor for those below it.
                    let cursor = self.run_blocking(move |archive| {
                        Ok(archive.cursors_above(start.next_older(), 1)?.pop())
                    });
                    if let Some(id) = cursor.await? {
                        self.confirm_page_after(id, report).await?;
                    }
                    return Ok(false);
                }
            }
        }
        // The listing begins here, or the service knows none of these cursors.
        let refreshed = self.run(Goal::Refresh, &mut |_| ()).await?;
        let is_clear = refreshed.unreadable == 0
            && !self.listing_state.is_top_unknown()
            && refreshed.stop_reason != StopReason::OtherListing;
        report.merge(refreshed);
        Ok(is_near_top && is_clear)
    }

    /// Reads the page after this cursor.
    async fn confirm_page_after(&self, id: EmailId, report: &mut SyncReport) -> Result<PageAfter> {
        report.requests += 1;
        let (sent_at, response) = self.request_page(&Cursor::After(id.clone())).await;
        let page = match response {
            Ok(page) if page.items.is_empty() && page.unreadable == 0 => {
                return Ok(PageAfter::Unknown);
            }
            Err(error) if error.kind == ErrorKind::NotFound => {
                self.run_blocking(move |archive| archive.mark_missing(&id, sent_at))
                    .await?;
                return Ok(PageAfter::Unknown);
            }
            Err(error) if is_cursor_error(&error) => return Ok(PageAfter::Unknown),
            response => response?,
        };
        let (unreadable, len) = (page.unreadable, page.items.len() as u64);
        let is_unordered = self.listing_state.check_order(&page.items);
        let merged = self.run_blocking(move |archive| {
            let is_last = page.has_more == Some(false)
                && unreadable == 0
                && !is_unordered
                && page.items.len() < archive.coverage_state()?.max_page_len;
            let last = page.items.last().map(|item| EmailId::new(&item.id));
            let mut merged = merge_page_after(&archive, id, page, is_unordered, sent_at)?;
            if let (Some(range), Some(last)) = (merged.range, last.filter(|_| is_last)) {
                merged.deletions_changed |=
                    archive.record_end(range.bottom, Some(&last), sent_at)?;
            }
            Ok(merged)
        });
        let merged = merged.await?;
        report.add_page(&merged, unreadable);
        report.older += merged.new.len() as u64;
        if merged.range.is_some() && merged.purged + merged.too_old == len {
            return Ok(PageAfter::Purged);
        }
        let is_confirmed = merged.range.is_some();
        Ok(PageAfter::Read { is_confirmed })
    }

    /// Retrieves one email. Its absence from the service confirms it too.
    async fn confirm_email(&self, id: &EmailId, report: &mut SyncReport) -> Result<()> {
        report.requests += 1;
        let is_changed = match self.fetch_and_store(id).await {
            Ok(retrieved) => retrieved.is_changed?,
            Err(error) if error.kind == ErrorKind::NotFound => {
                report.deletions_changed = true;
                false
            }
            Err(error) => return Err(error),
        };
        report.add_changes(is_changed.then_some(id));
        Ok(())
    }

    /// Reads the pages again that should have emails which could not be retrieved,
    /// down to `depth`. Adds the results to `report`.
    pub(super) async fn confirm_deletions(
        &self,
        depth: SyncDepth,
        report: &mut SyncReport,
    ) -> Result<()> {
        let mut last = None;
        while let Some((row, above)) = self.first_unconfirmed(depth).await? {
            // A page that has confirmed nothing ends the loop.
            if last.is_some_and(|last| row >= last) {
                break;
            }
            last = Some(row);
            match self.reread_page(&above).await {
                Ok(further) => report.merge(further),
                Err(error) => {
                    report.stop_reason = StopReason::Failed(error);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the newest unconfirmed deletion with the email above it.
    /// With the oldest first there is none, as the page after an email is newer.
    async fn first_unconfirmed(&self, depth: SyncDepth) -> Result<Option<(SortKey, EmailId)>> {
        self.run_blocking(move |archive| {
            let coverage = archive.coverage_state()?;
            let newest = coverage
                .ranges
                .iter()
                .find(|range| range.reaches_top && !coverage.oldest_first);
            newest.map_or(Ok(None), |range| {
                archive.unconfirmed_deletion(range, depth.cutoff_micros())
            })
        })
        .await
    }
}

/// Whether a row is neither final nor confirmed since `fresh_since`.
pub(crate) fn needs_confirming(row: &EmailRow, fresh_since: Timestamp, now: Timestamp) -> bool {
    !is_fresh(row, fresh_since, now) && row.finality(now) != Finality::Final
}

fn is_fresh(row: &EmailRow, fresh_since: Timestamp, now: Timestamp) -> bool {
    let confirmed = row.confirmed_at;
    confirmed.is_some_and(|at| (fresh_since..=now).contains(&at))
}

fn next_due_request(
    archive: &Archive,
    scope: RecheckScope,
    now: Timestamp,
    failed_pages: &FailedPages,
) -> Result<Option<ConfirmRequest>> {
    // With the oldest first, the page after a cursor is newer: no page begins at a row.
    if !archive.coverage_state()?.oldest_first
        && let Some(start) = next_due_page(archive, scope, now, failed_pages)?
    {
        return Ok(Some(ConfirmRequest::Page(start)));
    }
    let unlisted = archive.unlisted_emails(MAX_UNLISTED)?;
    let due = unlisted.into_iter().find(|(_, run)| {
        !find_due_runs(&[*run], scope, now).is_empty() && !failed_pages.contains_key(&run.top)
    });
    Ok(due.map(|(id, _)| ConfirmRequest::Email(id)))
}

fn next_due_page(
    archive: &Archive,
    scope: RecheckScope,
    now: Timestamp,
    failed_pages: &FailedPages,
) -> Result<Option<SortKey>> {
    let deletion = archive.first_unconfirmed_deletion()?;
    if let Some(row) = deletion.filter(|row| !failed_pages.contains_key(row)) {
        return Ok(Some(row));
    }
    for due in find_due_runs(&archive.confirmed_runs()?, scope, now) {
        let row = match scope {
            RecheckScope::Due { .. } => archive
                .first_changeable(due.run.top, due.run.bottom, now)?
                .filter(|row| lateness(&due.run, *row, now) >= 1.0),
            RecheckScope::All { .. } => archive.first_listed(due.run.top, due.run.bottom)?,
        };
        if let Some(row) = row {
            let start = archive.listed_above(row, due.ceiling, u32::from(MAX_LIMIT) - 1)?;
            if !failed_pages.contains_key(&start) {
                return Ok(Some(start));
            }
        }
    }
    Ok(None)
}

/// Counts the rows that are due. Returns their latest run, too.
pub(crate) fn count_due(
    archive: &Archive,
    scope: RecheckScope,
    now: Timestamp,
) -> Result<(u64, Option<DueRun>)> {
    let (mut count, mut latest) = (0, None);
    for due in find_due_runs(&archive.confirmed_runs()?, scope, now) {
        let listed = archive.count_listed(due.run.top, due.run.bottom, u32::MAX)?;
        if listed > 0 {
            // The latest come first.
            latest.get_or_insert(due);
            count += u64::from(listed);
        }
    }
    Ok((count, latest))
}

/// Returns the request that confirms the first row and as many of the following
/// ones as it can, and how many rows that are.
fn next_confirm_request(archive: &Archive, rows: &[EmailRow]) -> Result<(ConfirmRequest, usize)> {
    let first = &rows[0];
    let email = ConfirmRequest::Email(first.summary.id.clone());
    if archive.coverage_state()?.oldest_first || !archive.is_listed(first.sort_key)? {
        return Ok((email, 1));
    }
    let limit = u32::from(MAX_LIMIT);
    let mut on_page = 1;
    for row in &rows[1..] {
        if archive.count_listed(first.sort_key, row.sort_key, limit + 1)? > limit
            || !archive.is_listed(row.sort_key)?
        {
            break;
        }
        on_page += 1;
    }
    let request = if on_page > 1 {
        ConfirmRequest::Page(first.sort_key)
    } else {
        email
    };
    Ok((request, on_page))
}
