//! Confirms statuses: reads due pages again in the background, and rows that a user looks at.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::recheck::{RecheckScope, find_due_runs, lateness};
use super::run::{Progress, is_cursor_error};
use super::{Engine, StopReason, SyncReport, lock};
use crate::api::{Cursor, EmailApi, MAX_LIMIT};
use crate::archive::{Archive, CandidateRows, EmailRow, ListingPage, PagePosition, SortKey};
use crate::error::{Error, ErrorKind};
use crate::mail::{EmailId, Finality};
use crate::query::Query;

/// Cursors that are tried for a page, from the row right above it up; then the newest page is read.
const MAX_CURSORS: u32 = 3;

/// A page that could not be read is left alone for so long, and the next one is read.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Candidates of a query that are looked at together.
const CANDIDATE_BATCH: usize = 200;

/// Pages that could not be confirmed lately, by their first row, and when that was tried.
pub(super) type FailedPages = HashMap<SortKey, Timestamp>;

/// What confirming statuses has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfirmReport {
    /// New and changed emails, as in any other run of sync.
    pub(crate) sync_report: SyncReport,
    /// How many requests it took.
    pub(crate) requests: u32,
    /// How many of the rows were confirmed.
    pub(crate) confirmed_rows: u32,
    /// How far down the candidates are confirmed; `None` if none was.
    pub(crate) confirmed_down_to: Option<SortKey>,
    /// Whether no row is left to confirm.
    pub(crate) is_done: bool,
}

/// One request that confirms rows.
#[derive(Debug, PartialEq, Eq)]
enum ConfirmRequest {
    /// The page that begins at this row, with so many of the wanted rows on it.
    Page(SortKey, usize),
    /// One email.
    Email(EmailId),
}

impl<S: EmailApi> Engine<S> {
    /// Reads the most overdue page or email again, and marks what the service does not have any more. `None`, and
    /// no request, if nothing is due.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub(crate) async fn recheck(&self, recheck: RecheckScope) -> Result<Option<SyncReport>, Error> {
        let now = (self.clock)();
        let unconfirmable = self.failed_pages.clone();
        let next = self.run_blocking(move |archive| {
            let mut left_alone = lock(&unconfirmable);
            left_alone.retain(|_, tried| now.duration_since(*tried).abs() < RETRY_AFTER);
            next_due_request(&archive, recheck, now, &left_alone)
        });
        let Some(reading) = next.await? else {
            return Ok(None);
        };
        let mut brought = Progress::default();
        match reading {
            ConfirmRequest::Page(start, _) => {
                if !self.confirm_page(start, &mut brought).await? {
                    lock(&self.failed_pages).insert(start, now);
                }
            }
            ConfirmRequest::Email(id) => self.confirm_email(&id, &mut brought).await?,
        }
        self.run_blocking(move |archive| brought.to_report(&archive, StopReason::Done).map(Some))
            .await
    }

    /// The same for the background: what may still change is read when it is due, by the process that asks
    /// for new mail. Returns how many rows are due then, beside what was read.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub(crate) async fn recheck_background(&self) -> Result<(Option<SyncReport>, u64), Error> {
        let now = (self.clock)();
        if !self
            .run_blocking(move |archive| Ok(archive.poll_lock().try_acquire(now)))
            .await?
        {
            return Ok((None, 0));
        }
        let recheck = RecheckScope::background(now);
        let synced = self.recheck(recheck).await?;
        Ok((synced, self.count_due(recheck).await?))
    }

    /// How many rows are due.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(crate) async fn count_due(&self, recheck: RecheckScope) -> Result<u64, Error> {
        let now = (self.clock)();
        self.run_blocking(move |archive| {
            let due = find_due_runs(&archive.confirmed_runs()?, recheck, now);
            let counts = due.iter().map(|due| {
                archive
                    .count_listed(due.run.top, due.run.bottom, u32::MAX)
                    .map(u64::from)
            });
            counts.sum()
        })
        .await
    }

    /// Confirms these emails with at most `most` requests, by page or by id, whichever takes fewer.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub(crate) async fn confirm_emails(
        &self,
        ids: Vec<EmailId>,
        most: u32,
    ) -> Result<ConfirmReport, Error> {
        let rows = self.run_blocking(move |archive| {
            let mut rows = ids
                .iter()
                .filter_map(|id| archive.row(id).transpose())
                .collect::<Result<Vec<EmailRow>, _>>()?;
            rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.sort_key));
            Ok(rows)
        });
        let rows = rows.await?;
        self.confirm_matches(
            CandidateRows {
                rows,
                last_examined: None,
                is_exhausted: true,
            },
            most,
        )
        .await
    }

    /// Confirms emails that `query` finds, newest first from below `below` on, with at most `most`
    /// requests. Emails that are final, or confirmed at `fresh_since` or later, need none. At most
    /// `most_rows` are confirmed.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub(crate) async fn confirm_candidates(
        &self,
        query: Query,
        below: Option<SortKey>,
        fresh_since: Timestamp,
        most: u32,
        most_rows: u32,
    ) -> Result<ConfirmReport, Error> {
        let now = (self.clock)();
        let most_rows = usize::try_from(most_rows).unwrap_or(usize::MAX);
        let found = self.run_blocking(move |archive| {
            archive.find_candidates(&query, below, CANDIDATE_BATCH.min(most_rows), |row| {
                needs_confirming(row, fresh_since, now)
            })
        });
        let candidates = found.await?;
        self.confirm_matches(candidates, most).await
    }

    async fn confirm_matches(
        &self,
        candidates: CandidateRows,
        most: u32,
    ) -> Result<ConfirmReport, Error> {
        let CandidateRows {
            rows,
            last_examined: passed,
            is_exhausted: is_end,
        } = candidates;
        let (mut brought, mut requests, mut done) = (Progress::default(), 0, 0);
        while done < rows.len() && requests < most {
            let pending = rows[done..].to_vec();
            let reading = self
                .run_blocking(move |archive| next_confirm_request(&archive, &pending))
                .await?;
            match reading {
                ConfirmRequest::Page(start, rows) => {
                    self.confirm_page(start, &mut brought).await?;
                    done += rows;
                }
                ConfirmRequest::Email(id) => {
                    self.confirm_email(&id, &mut brought).await?;
                    done += 1;
                }
            }
            requests += 1;
        }
        let is_all = done == rows.len();
        let down_to = if is_all {
            passed
        } else {
            done.checked_sub(1).map(|last| rows[last].sort_key)
        };
        let rows = u32::try_from(done).unwrap_or(u32::MAX);
        let synced = self
            .run_blocking(move |archive| brought.to_report(&archive, StopReason::Done))
            .await?;
        Ok(ConfirmReport {
            sync_report: synced,
            requests,
            confirmed_rows: rows,
            confirmed_down_to: down_to,
            is_done: is_end && is_all,
        })
    }

    /// Reads the page that begins at the row `start`. Says whether its statuses could be confirmed: not
    /// if the service knows none of the rows above it.
    async fn confirm_page(&self, start: SortKey, brought: &mut Progress) -> Result<bool, Error> {
        let cursors = self
            .run_blocking(move |archive| archive.cursors_above(start, MAX_CURSORS))
            .await?;
        let is_near_top = u32::try_from(cursors.len()).unwrap_or(MAX_CURSORS) < MAX_CURSORS;
        for id in cursors {
            let (asked, answer) = self.request_page(&Cursor::After(id.clone())).await;
            let page = match answer {
                Ok(page) if page.items.is_empty() && page.unreadable == 0 => continue,
                Ok(page) => page,
                Err(failure) if is_cursor_error(&failure) => {
                    self.run_blocking(move |archive| archive.mark_missing(&id, asked))
                        .await?;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let unreadable = page.unreadable;
            let carried = self.run_blocking(move |archive| {
                let is_last = page.has_more == Some(false)
                    && page.unreadable == 0
                    && page.items.len() < archive.coverage_state()?.max_page_len;
                let last = page
                    .items
                    .last()
                    .map(|item| EmailId::new(&item.id))
                    .filter(|_| is_last);
                let joins = if page.unreadable > 0 {
                    PagePosition::Unknown
                } else {
                    PagePosition::Below {
                        cursor: id,
                        is_end: false,
                    }
                };
                let carried = archive.merge_page(&ListingPage {
                    items: page.items,
                    position: joins,
                    oldest_first: false,
                    requested: asked,
                })?;
                if let (Some(span), Some(last)) = (carried.range, last) {
                    archive.record_end(span.bottom, Some(&last), asked)?;
                }
                Ok(carried)
            });
            let carried = carried.await?;
            brought.add_page(&carried, unreadable);
            return Ok(carried.range.is_some());
        }
        // The listing begins here, or the service knows none of these cursors.
        let synced = self.run(super::exchange::Goal::Refresh, |_| ()).await?;
        brought.add_report(&synced);
        Ok(is_near_top)
    }

    /// Retrieves one email. That it does not exist is an answer, too.
    async fn confirm_email(&self, id: &EmailId, brought: &mut Progress) -> Result<(), Error> {
        let before = self.load_status(id).await?;
        match self.fetch_and_store(id).await {
            Ok((_, kept)) => kept?,
            Err(failure) if failure.kind == ErrorKind::NotFound => {}
            Err(failure) => return Err(failure),
        }
        if self.load_status(id).await? != before {
            brought.add_changes(0, vec![id.clone()]);
        }
        Ok(())
    }

    async fn load_status(&self, id: &EmailId) -> Result<Option<crate::mail::Status>, Error> {
        let id = id.clone();
        self.run_blocking(move |archive| Ok(archive.row(&id)?.map(|row| row.summary.status)))
            .await
    }
}

/// Whether a row is neither final nor confirmed since then.
fn needs_confirming(row: &EmailRow, fresh_since: Timestamp, now: Timestamp) -> bool {
    let is_fresh = row
        .confirmed_at
        .is_some_and(|at| (fresh_since..=now).contains(&at));
    !is_fresh && row.finality(now) != Finality::Final
}

/// Unlisted emails that are looked at for the most overdue one.
const MAX_UNLISTED: u32 = 500;

/// The page or email that is to be read next.
fn next_due_request(
    archive: &Archive,
    recheck: RecheckScope,
    now: Timestamp,
    left_alone: &FailedPages,
) -> Result<Option<ConfirmRequest>, Error> {
    // A service that lists the oldest first gives newer emails after a cursor: no page begins at a row.
    if !archive.coverage_state()?.oldest_first
        && let Some(start) = next_due_page(archive, recheck, now, left_alone)?
    {
        return Ok(Some(ConfirmRequest::Page(start, 0)));
    }
    let unlisted = archive.unlisted_emails(MAX_UNLISTED)?;
    let due = unlisted.into_iter().find(|(_, run)| {
        !find_due_runs(&[*run], recheck, now).is_empty() && !left_alone.contains_key(&run.top)
    });
    Ok(due.map(|(id, _)| ConfirmRequest::Email(id)))
}

fn next_due_page(
    archive: &Archive,
    recheck: RecheckScope,
    now: Timestamp,
    left_alone: &FailedPages,
) -> Result<Option<SortKey>, Error> {
    if let Some(doubt) = archive
        .first_unconfirmed_deletion()?
        .filter(|doubt| !left_alone.contains_key(doubt))
    {
        return Ok(Some(doubt));
    }
    for due in find_due_runs(&archive.confirmed_runs()?, recheck, now) {
        let row = match recheck {
            RecheckScope::Due { .. } => {
                archive.first_changeable(due.run.top, due.run.bottom, now)?
            }
            RecheckScope::All { .. } => archive.first_listed(due.run.top, due.run.bottom)?,
        };
        let is_due = |row: &SortKey| {
            !matches!(recheck, RecheckScope::Due { .. }) || lateness(&due.run, *row, now) >= 1.0
        };
        if let Some(row) = row.filter(is_due) {
            let start = archive.listed_above(row, due.ceiling, u32::from(MAX_LIMIT) - 1)?;
            if !left_alone.contains_key(&start) {
                return Ok(Some(start));
            }
        }
    }
    Ok(None)
}

/// The request that confirms the first of these rows, and as many of those below it as it can.
fn next_confirm_request(archive: &Archive, rows: &[EmailRow]) -> Result<ConfirmRequest, Error> {
    let first = &rows[0];
    let email = || Ok(ConfirmRequest::Email(first.summary.id.clone()));
    if archive.coverage_state()?.oldest_first || !archive.is_listed(first.sort_key)? {
        return email();
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
    if on_page > 1 {
        Ok(ConfirmRequest::Page(first.sort_key, on_page))
    } else {
        email()
    }
}
