//! Stores the service's emails in the archive, page by page,
//! and never claims more than it has read.

mod backfill;
mod confirm;
mod cursor_search;
mod follow;
mod listing_state;
mod planner;
mod recheck;
mod report;
mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::ControlFlow::Continue;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tracing::info;

use backfill::BACKFILL_REQUESTS_A_DAY;
pub(crate) use backfill::BackfillStep;
pub(crate) use confirm::{ConfirmReport, ConfirmScope, count_due, needs_confirming};
use follow::PurgeLog;
pub(crate) use follow::PurgeReport;
use listing_state::ListingState;
use planner::Goal;
use report::ChangeFeed;
use run::{SyncRun, is_cursor_error};

pub(crate) use recheck::RecheckScope;
pub(crate) use report::{StopReason, SyncDepth, SyncReport};

use crate::api::{
    BeforeSend, Cursor, EmailApi, EmailPage, InvalidResponses, MAX_LIMIT, RequestHandle,
};
use crate::archive::{
    Archive, CandidateRows, Coverage, EmailRow, ListingPage, MergeResult, PagePosition,
    RequestStamp, SortKey,
};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Email, EmailId};
use crate::query::Query;
use crate::tasks::{self, lock};

/// Stores the emails of one service in one archive.
///
/// Clones may run at the same time: the archive is correct in whatever order responses arrive.
#[derive(Clone)]
pub(crate) struct Engine<S> {
    service: S,
    archive: Archive,
    clock: Clock,
    change_feed: Arc<Mutex<ChangeFeed>>,
    purges: Arc<Mutex<PurgeLog>>,
    failed_pages: Arc<Mutex<FailedPages>>,
    listing_state: Arc<ListingState>,
    /// When a step of the backfill last loaded nothing.
    exhausted_at: Arc<Mutex<Option<Timestamp>>>,
    /// Requests a day after which the backfill of all processes stops.
    backfill_limit: u64,
    /// Whether the requests of this clone count for that limit.
    is_backfill: bool,
}

/// The first rows of pages that were not confirmed, and when they were tried.
type FailedPages = HashMap<SortKey, Timestamp>;

/// A retrieved email, and whether its status has changed in the archive.
pub(crate) struct RetrieveResult {
    pub(crate) email: Email,
    /// An error if it could not be stored, on a full disk for example.
    pub(crate) is_changed: Result<bool>,
    pub(crate) requested: RequestStamp,
}

/// Time between two refreshes of the newest emails by a process that keeps an
/// archive current. One request also reads the statuses of the newest hundred emails again.
pub(crate) const REFRESH_INTERVAL: Duration = Duration::from_secs(30);

/// Returns the pause before the next refresh, longer after `failures` in a row and
/// no shorter than `cooldown`.
///
/// A random part keeps processes from sending their requests at once.
pub(crate) fn refresh_pause(failures: u32, cooldown: Duration) -> Duration {
    REFRESH_INTERVAL
        .saturating_mul(1 << failures.min(2))
        .max(cooldown)
        .mul_f64(1.0 + fastrand::f64() / 4.0)
}

/// The most pages of due statuses that it reads between two refreshes.
pub(crate) const RECHECK_PAGES: u32 = 10;

/// Emails per query of the archive.
const BATCH_SIZE: u32 = 100;

/// The result of fetching missing bodies, in numbers of emails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BodiesReport {
    pub(crate) stored: u64,
    /// Unknown to the service.
    pub(crate) missing: u64,
    /// That the service has, and does not send.
    pub(crate) withheld: u64,
    /// With a response that is not an email.
    pub(crate) invalid: u64,
    /// Still without a body.
    pub(crate) remaining: u64,
    /// The error of the service that ended the work.
    pub(crate) error: Option<Error>,
}

/// Each request fails if the service or the archive does.
/// A run keeps the pages before a failure, and reports it as [`StopReason::Failed`] if there are any;
/// to load older mail, if they have some.
impl<S: EmailApi> Engine<S> {
    pub(crate) fn new(service: S, archive: Archive, clock: Clock) -> Self {
        Self {
            service,
            archive,
            clock,
            change_feed: Arc::default(),
            purges: Arc::default(),
            failed_pages: Arc::default(),
            listing_state: Arc::default(),
            exhausted_at: Arc::default(),
            backfill_limit: BACKFILL_REQUESTS_A_DAY,
            is_backfill: false,
        }
    }

    /// Returns a clone with the priority and the cancellation of `handle`.
    pub(crate) fn with_priority(&self, handle: impl Into<RequestHandle>) -> Self {
        self.with_service(self.service.with_priority(&handle.into()))
    }

    /// Returns a clone that sends its requests by `service`.
    pub(crate) fn with_service(&self, service: S) -> Self {
        Self {
            service,
            ..self.clone()
        }
    }

    /// Returns the service, for what the archive does not store.
    pub(crate) const fn service(&self) -> &S {
        &self.service
    }

    pub(crate) const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Fetches new mail, and the current status of the newest hundred emails.
    ///
    /// This takes one request if nothing is new, else as many as it takes to reach known mail, up to a
    /// limit. The first refresh of an archive is the first page only. No request is sent if another
    /// process has the archive's poll lock: the result is then what that one has stored since the last
    /// call, or the outage that it recorded.
    pub(crate) async fn refresh(&self) -> Result<SyncReport> {
        let (change_feed, now) = (Arc::clone(&self.change_feed), (self.clock)());
        let by_other_process = self.run_blocking(move |archive| {
            if archive.poll_lock().try_acquire(now) {
                return Ok(None);
            }
            if let Some(error) = archive.poll_lock().outage() {
                return Err(error);
            }
            lock(&change_feed).poll(&archive).map(Some)
        });
        match by_other_process.await? {
            Some(report) => Ok(report),
            None => self.refresh_now().await,
        }
    }

    /// Refreshes even if another process has the poll lock, as a user requests.
    pub(crate) async fn refresh_now(&self) -> Result<SyncReport> {
        let result = self.run(Goal::Refresh, &mut |_| ()).await;
        let clock_skew = self.service.clock_skew();
        let failed_pages = Arc::clone(&self.failed_pages);
        let (change_feed, now) = (Arc::clone(&self.change_feed), (self.clock)());
        self.run_blocking(move |archive| {
            // From now on this process refreshes, if no other one does.
            let is_polling = archive.poll_lock().try_acquire(now);
            record_reachability(&archive, &result, now);
            let mut report = result?;
            report.clock_skew = clock_skew;
            if is_polling {
                report.add_due(&archive, &lock(&failed_pages), now)?;
            }
            let mut change_feed = lock(&change_feed);
            change_feed.mark_reported(&report);
            change_feed.start(&archive)?;
            Ok(report)
        })
        .await
    }

    /// Returns what others have stored since the last call, without a request.
    /// The result includes mail that a [`full_sync`](Self::full_sync) of this process has stored.
    pub(crate) async fn poll_changes(&self) -> Result<SyncReport> {
        let change_feed = Arc::clone(&self.change_feed);
        let report = self
            .run_blocking(move |archive| lock(&change_feed).poll(&archive))
            .await?;
        Ok(SyncReport {
            purges: self.take_purges(),
            ..self.limit_coverage(report)
        })
    }

    /// Keeps [`poll_changes`](Self::poll_changes) from returning what is in the report
    /// of a run of this process.
    fn mark_reported(&self, report: &SyncReport) {
        lock(&self.change_feed).mark_reported(report);
    }

    /// Fetches the page below the newest covered range, if there is one.
    pub(crate) async fn load_older(&self) -> Result<SyncReport> {
        let report = self.run(Goal::LoadOlder, &mut |_| ()).await?;
        self.mark_reported(&report);
        Ok(report)
    }

    /// Fetches everything new, then everything older down to `depth`,
    /// then confirms deletions.
    ///
    /// `progress` is called after each page. Dropping the future cancels the sync; the next one
    /// continues from the pages that are stored.
    pub(crate) async fn full_sync(
        &self,
        depth: SyncDepth,
        mut progress: impl FnMut(&SyncReport) + Send,
    ) -> Result<SyncReport> {
        let mut report = self.run(Goal::Full(depth), &mut progress).await?;
        if matches!(report.stop_reason, StopReason::Done | StopReason::End) {
            self.confirm_deletions(depth, &mut report).await?;
        }
        Ok(report)
    }

    /// Reads the summaries of the hundred emails below `above` again.
    pub(crate) async fn reread_page(&self, above: &EmailId) -> Result<SyncReport> {
        let (sent_at, response) = self.request_page(&Cursor::After(above.clone())).await;
        let above = above.clone();
        let listing_state = Arc::clone(&self.listing_state);
        self.run_blocking(move |archive| {
            let mut report = SyncReport::default();
            let page = match response {
                Err(error) if is_cursor_error(&error) => {
                    return report.finish(&archive, StopReason::NoLiveCursor);
                }
                response => response?,
            };
            let unreadable = page.unreadable;
            let is_unordered = listing_state.check_order(&page.items);
            let merged = merge_page_after(&archive, above, page, is_unordered, sent_at)?;
            report.add_page(&merged, unreadable);
            report.finish(&archive, StopReason::Done)
        })
        .await
        .map(|report| self.limit_coverage(report))
    }

    /// Fetches one email with its bodies and stores it.
    /// If the service does not have it, the archive marks it as missing.
    pub(crate) async fn fetch_email(&self, id: &EmailId) -> Result<Email> {
        Ok(self.fetch_and_store(id).await?.email)
    }

    /// Fetches one email and stores it; returns whether the archive has it then.
    ///
    /// The archive leaves out what was purged and what is older than it keeps.
    pub(crate) async fn store_unless_left_out(&self, id: &EmailId) -> Result<bool> {
        self.fetch_and_store(id).await?.is_changed?;
        let id = id.clone();
        self.run_blocking(move |archive| Ok(archive.email(&id)?.is_some()))
            .await
    }

    /// Fetches one email; if it cannot be stored, the result has it all the same.
    pub(crate) async fn fetch_and_store(&self, id: &EmailId) -> Result<RetrieveResult> {
        let (sent_at, response) = self
            .send_stamped(|service| async move { service.retrieve(id).await })
            .await;
        self.report_reachability(&response).await;
        let sent_at = sent_at.with_clock_skew(self.service.clock_skew());
        let id = id.clone();
        let retrieved = match response {
            Err(error) if error.kind == ErrorKind::NotFound => {
                self.run_blocking(move |archive| archive.mark_missing(&id, sent_at))
                    .await?;
                return Err(error);
            }
            response => response?,
        };
        let is_mirror = self.service.is_mirror();
        let requested = sent_at.known_by(retrieved.checked_at, None, is_mirror);
        self.run_blocking(move |archive| {
            let retrieved = match archive.row(&id) {
                Ok(Some(_)) => retrieved.with_known_id(&id)?,
                // The id may have been typed, in capitals for example.
                _ => retrieved,
            };
            let is_changed = match archive.put_body(&retrieved, requested) {
                // It is not the email that was requested.
                Err(error) if error.kind == ErrorKind::NotTheApi => return Err(error),
                is_changed => is_changed,
            };
            Ok(RetrieveResult {
                email: Email::from(retrieved),
                is_changed,
                requested,
            })
        })
        .await
    }

    /// Fetches the missing bodies of emails down to `depth`, newest first,
    /// one request each.
    ///
    /// `progress` is called after each. Dropping the future cancels the work; stored bodies stay. An
    /// error of the service is in the report; the result is an error only if the archive fails.
    pub(crate) async fn fetch_bodies(
        &self,
        depth: SyncDepth,
        mut progress: impl FnMut(&BodiesReport),
    ) -> Result<BodiesReport> {
        let since = depth.cutoff_micros();
        let mut report = BodiesReport {
            remaining: self
                .run_blocking(move |archive| archive.count_without_body(since))
                .await?,
            ..BodiesReport::default()
        };
        let (mut below, mut invalid) = (None, InvalidResponses::default());
        while report.remaining > 0 {
            let batch = self
                .run_blocking(move |archive| archive.without_body(below, since, BATCH_SIZE))
                .await?;
            let Some((last, _)) = batch.last() else { break };
            below = Some(*last);
            for (_, id) in batch {
                let response = self.fetch_and_store(&id).await;
                let goes_on = invalid.record(&response);
                report.invalid = invalid.count;
                match response {
                    Ok(retrieved) => {
                        retrieved.is_changed?;
                        report.stored += 1;
                    }
                    Err(error) if !goes_on => {
                        report.error = Some(error);
                        return Ok(report);
                    }
                    Err(error) => {
                        report.missing += u64::from(error.kind == ErrorKind::NotFound);
                        report.withheld += u64::from(error.kind == ErrorKind::NoSuchPart);
                    }
                }
                report.remaining = report.remaining.saturating_sub(1);
                progress(&report);
            }
        }
        report.remaining = 0;
        Ok(report)
    }

    /// Fetches bodies of matches of `query` below row `below`, newest first,
    /// with at most `max_requests`. `invalid` has the invalid responses of earlier calls.
    pub(crate) async fn fetch_bodies_of(
        &self,
        query: Query,
        below: Option<SortKey>,
        max_requests: u32,
        invalid: &mut InvalidResponses,
    ) -> Result<CandidateRows> {
        let limit = usize::try_from(max_requests).unwrap_or(usize::MAX);
        let candidates = self
            .run_blocking(move |archive| {
                archive.find_candidates(&query, below, limit, EmailRow::lacks_body)
            })
            .await?;
        for row in &candidates.rows {
            let response = self.fetch_and_store(&row.summary.id).await;
            let goes_on = invalid.record(&response);
            match response {
                Ok(retrieved) => _ = retrieved.is_changed?,
                Err(error) if !goes_on => return Err(error),
                Err(_) => {}
            }
        }
        Ok(candidates)
    }

    async fn run(
        &self,
        goal: Goal,
        progress: &mut (dyn FnMut(&SyncReport) + Send),
    ) -> Result<SyncReport> {
        let listing_state = Arc::clone(&self.listing_state);
        let (mut run, mut step) = self
            .run_blocking(move |archive| SyncRun::start(archive, goal, listing_state))
            .await?;
        while let Continue(cursor) = &step {
            let (sent_at, response) = self.request_page(cursor).await;
            let so_far;
            ((run, step), so_far) = self
                .run_blocking(move |_| {
                    let (run, step) = run.handle_response(response, sent_at)?;
                    let so_far = run.report(StopReason::Done)?;
                    Ok(((run, step), so_far))
                })
                .await?;
            progress(&self.limit_coverage(so_far));
        }
        let stop_reason = step.break_value().unwrap_or(StopReason::Done);
        let report = self.run_blocking(move |_| run.report(stop_reason)).await?;
        let report = self.limit_coverage(report);
        let reason = report.stop_reason.code();
        info!(
            ?goal,
            pages = report.pages,
            new = report.new,
            changes = report.changes,
            reason,
            "sync run finished"
        );
        Ok(report)
    }

    /// Claims nothing of the listing while its top is unknown.
    fn limit_coverage(&self, mut report: SyncReport) -> SyncReport {
        report.is_top_unknown = self.listing_state.is_top_unknown();
        if report.is_top_unknown {
            report.coverage = Coverage::Unknown;
        }
        report
    }

    async fn request_page(&self, cursor: &Cursor) -> (RequestStamp, Result<EmailPage>) {
        let (mut sent_at, response) = self
            .send_stamped(|service| async move { service.list(MAX_LIMIT, cursor).await })
            .await;
        self.report_reachability(&response).await;
        if let Ok(page) = &response {
            let is_mirror = self.service.is_mirror();
            sent_at = sent_at
                .known_by(page.checked_at, page.listed_at, is_mirror)
                .with_clock_skew(self.service.clock_skew());
        }
        (sent_at, response)
    }

    /// Sends a request, and numbers it after its wait for the rate limit.
    async fn send_stamped<T, F: Future<Output = T> + Send>(
        &self,
        request: impl FnOnce(S) -> F + Send,
    ) -> (RequestStamp, T) {
        let sent_at = Arc::new(Mutex::new(None));
        let is_backfill = self.is_backfill;
        let hook: BeforeSend = {
            let (archive, clock) = (self.archive.clone(), Arc::clone(&self.clock));
            let sent_at = Arc::clone(&sent_at);
            Arc::new(move || {
                let (archive, now) = (archive.clone(), clock());
                let sent_at = Arc::clone(&sent_at);
                Box::pin(async move {
                    *lock(&sent_at) = Some(stamp_request(archive, now, is_backfill).await);
                })
            })
        };
        let response = if let Some(service) = self.service.with_before_send(hook) {
            request(service).await
        } else {
            let stamp = stamp_request(self.archive.clone(), (self.clock)(), is_backfill).await;
            *lock(&sent_at) = Some(stamp);
            request(self.service.clone()).await
        };
        // A request that was never sent has no response to store.
        let sent_at = lock(&sent_at).unwrap_or_else(|| RequestStamp::from((self.clock)()));
        (sent_at, response)
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Archive) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let archive = self.archive.clone();
        tasks::run_blocking(move || work(archive)).await
    }

    /// Makes the process that refreshes try now, if a response contradicts its record.
    ///
    /// That process records an outage beside the archive, and the others show it.
    async fn report_reachability<T>(&self, response: &Result<T>) {
        let is_offline = match response {
            Ok(_) => false,
            Err(error) if error.is_offline() => true,
            Err(_) => return,
        };
        let reported = self.run_blocking(move |archive| {
            let poll_lock = archive.poll_lock();
            if !poll_lock.is_held() && poll_lock.outage().is_some() != is_offline {
                archive.notify_service_state();
            }
            Ok(())
        });
        // An error delays another process, nothing else.
        let _ = reported.await;
    }
}

fn merge_page_after(
    archive: &Archive,
    cursor: EmailId,
    page: EmailPage,
    is_unordered: bool,
    sent_at: RequestStamp,
) -> Result<MergeResult> {
    let oldest_first = archive.coverage_state()?.oldest_first;
    // With the oldest first, these emails are newer than the cursor and claim nothing.
    let position = if oldest_first || page.unreadable > 0 || is_unordered {
        PagePosition::Unknown
    } else {
        PagePosition::Below {
            cursor,
            is_end: false,
        }
    };
    archive.merge_page(&ListingPage {
        items: page.items,
        position,
        oldest_first,
        requested: sent_at,
    })
}

/// Records the result of a refresh, and notifies others if it differs.
fn record_reachability<T>(archive: &Archive, result: &Result<T>, now: Timestamp) {
    let has_changed = match result {
        Ok(_) => archive.poll_lock().record_response(now),
        Err(error) if error.is_offline() => archive.poll_lock().record_outage(now, error),
        Err(_) => false,
    };
    if has_changed {
        archive.notify_service_state();
    }
}

/// Returns the number of a request that is sent at `now`,
/// and counts one of the backfill. If the archive cannot be written, nothing is stored either, and the
/// time is enough.
async fn stamp_request(archive: Archive, now: Timestamp, is_backfill: bool) -> RequestStamp {
    let stamp = move || {
        if is_backfill {
            archive.count_backfill(now, 1, u64::MAX)?;
        }
        archive.stamp_request(now)
    };
    let stamp = tasks::run_blocking(stamp).await;
    stamp.unwrap_or_else(|_| RequestStamp::from(now))
}
