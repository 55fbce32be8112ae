//! Loads older mail in the background, page by page.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{Engine, StopReason, SyncReport};
use crate::api::EmailApi;
use crate::archive::{Coverage, ProcessLock};
use crate::error::Result;
use crate::tasks::lock;

/// Requests, retries included, after which the backfill of all processes on an
/// archive stops for the day: as many pages as 30 000 emails have, and little beside what a team sends. A
/// step that has begun is finished.
pub(super) const BACKFILL_REQUESTS_A_DAY: u64 = 300;

/// Time until a step that loaded nothing is repeated: below may be only mail that is older than the
/// archive keeps, and requests are shared with the mail that a team sends.
const RETRY_AFTER: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BackfillStep {
    Loaded(Box<SyncReport>),
    /// No request was sent: another process refreshes or loads older mail.
    OtherProcess,
    /// No request was sent: those of the day are used up.
    DayLimit,
}

/// Releases a process lock when it is dropped.
struct LockGuard<'a>(&'a ProcessLock);

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<S: EmailApi> Engine<S> {
    /// Removes the limit of the backfill, for a service of this process's own.
    pub(crate) const fn with_unlimited_backfill(mut self) -> Self {
        self.backfill_limit = u64::MAX;
        self
    }

    /// Loads older mail in the background:
    /// one page, unless another process on the same archive does this or refreshes, or the requests of the
    /// day are used up.
    pub(crate) async fn backfill(&self) -> Result<BackfillStep> {
        let now = (self.clock)();
        let is_locked = self.run_blocking(move |archive| {
            Ok(archive.poll_lock().try_acquire(now) && archive.backfill_lock().try_acquire(now))
        });
        if !is_locked.await? {
            return Ok(BackfillStep::OtherProcess);
        }
        // For one page only: a full sync in another process need not wait for this one.
        let _guard = LockGuard(self.archive.backfill_lock());
        let limit = if self.service.is_mirror() {
            u64::MAX
        } else {
            self.backfill_limit.saturating_sub(1)
        };
        let is_allowed = self.run_blocking(move |archive| archive.count_backfill(now, 0, limit));
        if !is_allowed.await? {
            return Ok(BackfillStep::DayLimit);
        }
        let engine = Self {
            is_backfill: true,
            ..self.clone()
        };
        Ok(BackfillStep::Loaded(Box::new(engine.load_older().await?)))
    }

    /// Whether all mail since `start` is stored. Without a start, nothing need be.
    fn is_loaded_back_to(&self, start: Option<Timestamp>) -> Result<bool> {
        let Some(start) = start else { return Ok(true) };
        if self.archive.coverage()? == Coverage::Complete {
            return Ok(true);
        }
        let since = self.archive.coverage_state()?.complete_since;
        Ok(since.is_some_and(|key| key.micros() < start.as_microsecond()))
    }

    /// Whether a step has just loaded nothing, and no gap has come up since.
    fn is_exhausted(&self) -> Result<bool> {
        let now = (self.clock)();
        let is_recent = |at| now.duration_since(at).abs() < RETRY_AFTER;
        let was_exhausted = lock(&self.exhausted_at).is_some_and(is_recent);
        Ok(was_exhausted && self.archive.coverage_state()?.ranges.len() == 1)
    }

    /// Loads older mail down to `start`, until `until` or until a step loads nothing.
    ///
    /// `progress` is called after each page.
    pub(crate) async fn backfill_until(
        &self,
        start: Option<Timestamp>,
        until: Instant,
        mut progress: impl FnMut(&SyncReport),
    ) -> Result<()> {
        while Instant::now() < until && !self.is_loaded_back_to(start)? && !self.is_exhausted()? {
            let before = self.archive.coverage()?;
            let BackfillStep::Loaded(report) = self.backfill().await? else {
                break;
            };
            progress(&report);
            if report.new == 0 && (report.is_top_unknown || report.coverage == before) {
                // Not after a fault of the service, which may pass.
                if report.stop_reason == StopReason::Done {
                    *lock(&self.exhausted_at) = Some((self.clock)());
                }
                break;
            }
        }
        Ok(())
    }
}
