//! The state of the service, and when it is asked again.
//! How the model applies its answers is in `service/updates.rs`.

pub(super) mod background;
pub(super) mod body_fetch;
pub(super) mod freshness;
pub(super) mod state;
pub(super) mod status_check;
mod updates;
pub(super) mod watch;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::effect::{Effect, Pending, RequestId, TimerKind};
use super::session::SessionInfo;
use crate::api::Priority;
use crate::archive::Coverage;
use crate::config::HistorySpan;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{BackfillStep, StopReason, SyncReport};

/// The pause before the first retry after an error;
/// it doubles up to [`MAX_RETRY_DELAY`].
const MIN_RETRY_DELAY: Duration = Duration::from_secs(5);
/// The longest pause between retries, unless the service sets a longer one.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(2);
/// The longest pause between retries while offline: a retry costs only power.
const MAX_OFFLINE_RETRY_DELAY: Duration = Duration::from_mins(1);
/// While offline, a key press retries if the last error is at least this old:
/// the list should be live again soon.
const OFFLINE_KEY_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(20);

/// The state of the service.
///
/// A method that returns an [`Effect`] may have started its [`Pending`]: the caller must emit the effect, or
/// the request never ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceStatus {
    pub unavailable: Option<Unavailable>,
    /// The error of the last request.
    pub error: Option<Error>,
    failures: Option<Failures>,
    /// The time of the last refresh, by this process or another one.
    pub as_of: Option<Timestamp>,
    pub has_answered: bool,
    refresh_interval: Duration,
    pub(super) refresh_request: Pending<()>,
    is_background_refresh: bool,
    refresh_timer: Pending<()>,
    pub(super) older_request: Pending<()>,
    pub(super) older_timer: Pending<()>,
    pub(super) backfill: BackfillState,
    /// How far back the archive is complete, once the service has answered.
    pub coverage: Option<Coverage>,
    /// How far back it was complete at the time `as_of`.
    pub(super) stored_coverage: Option<Coverage>,
    /// Whether the newest page could not be read completely,
    /// so that the list is not live.
    pub(super) is_top_unknown: bool,
    /// Whether the last refresh left a gap below the newest emails.
    is_behind: bool,
    /// Whether the service gave no older emails, although it did not report the end.
    pub(super) exhausted: bool,
    /// Whether the result of the running refresh is shown as a notice.
    pub(super) announce_refresh: bool,
    /// The most emails without an id in one response.
    pub(super) unreadable: u64,
    /// That the clock of this machine is wrong, by the last refresh.
    pub clock_warning: Option<String>,
    /// Whether the user was notified of that.
    is_clock_reported: bool,
}

/// The failed requests since the last answer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Failures {
    count: u32,
    /// The kind of the last one.
    kind: ErrorKind,
    /// The time of the first one of that kind without another between them.
    since: Timestamp,
    /// The time of the last one.
    last: Timestamp,
}

/// Why no request is possible.
#[derive(Debug, Clone, PartialEq)]
pub struct Unavailable {
    pub error: Error,
    /// Whether the service has rejected the key; then only the user retries.
    pub is_refused: bool,
}

impl Unavailable {
    /// For a reason that lasts as long as the session.
    const fn permanent(error: Error) -> Self {
        Self {
            error,
            is_refused: false,
        }
    }
}

/// The state of the backfill.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BackfillState {
    setting: HistorySpan,
    pub(super) request: Pending<()>,
    phase: BackfillPhase,
    /// Whether the requests of the day were used up at the last step.
    is_day_used_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum BackfillPhase {
    /// Nothing more is to be fetched, as far as is known.
    #[default]
    Idle,
    Active,
    /// Until the next refresh: the service failed, another process does the backfill,
    /// or the requests of the day are used up.
    Paused,
    /// The user has stopped it.
    Stopped,
}

impl ServiceStatus {
    pub fn new(session: &SessionInfo) -> Self {
        Self {
            unavailable: session.service_error.clone().map(Unavailable::permanent),
            as_of: session.as_of,
            refresh_interval: session.refresh,
            backfill: BackfillState {
                setting: session.backfill,
                ..BackfillState::default()
            },
            ..Self::default()
        }
    }

    /// Why no request is possible, or else the error of the last one.
    pub fn last_error(&self) -> Option<&Error> {
        let unavailable = self.unavailable.as_ref().map(|it| &it.error);
        unavailable.or(self.error.as_ref())
    }

    /// Why the service has rejected the key, if it has.
    pub fn refusal(&self) -> Option<&Error> {
        let refused = self.unavailable.as_ref().filter(|it| it.is_refused);
        refused.map(|it| &it.error)
    }

    /// How far back the archive is complete; if the service does not answer,
    /// how far it was at the time `as_of`.
    pub fn known_coverage(&self) -> Option<&Coverage> {
        let stored = self.stored_coverage.as_ref();
        let stored = stored.filter(|_| self.last_error().is_some() && self.as_of.is_some());
        self.coverage.as_ref().or(stored)
    }

    /// Whether new emails are still missing:
    /// at the first start, or after a long absence.
    pub const fn is_catching_up(&self) -> bool {
        !self.has_answered || self.is_behind
    }

    pub const fn is_refreshing(&self) -> bool {
        self.refresh_request.is_pending()
    }

    /// Whether older emails are loading because the user needs them.
    pub const fn is_loading_older(&self) -> bool {
        self.older_request.is_pending()
    }

    /// Whether older emails are loading in the background.
    pub const fn is_backfilling(&self) -> bool {
        matches!(self.backfill.phase, BackfillPhase::Active) && !self.backfill.is_day_used_up
    }

    /// Whether the service has older emails than the archive,
    /// and a request is possible.
    pub fn has_older(&self) -> bool {
        self.unavailable.is_none()
            && self.coverage.is_some()
            && self.coverage != Some(Coverage::Complete)
    }

    /// Whether the service lists emails, and none of the newest page can be read.
    pub const fn has_unreadable_top(&self) -> bool {
        self.is_top_unknown && self.unreadable > 0
    }

    /// Whether the service has answered, without an error since.
    pub const fn is_answering(&self) -> bool {
        self.unavailable.is_none() && self.error.is_none() && self.has_answered
    }

    /// Whether statuses can be confirmed:
    /// the service answers, and no refresh is running.
    pub const fn can_confirm(&self) -> bool {
        self.is_answering() && !self.refresh_request.is_pending()
    }

    /// Stores the error of a request; the next success clears it.
    pub fn record_error(&mut self, error: Error, now: Timestamp) {
        self.count_failure(error.kind, now);
        self.error = Some(error);
    }

    /// Counts a failure; another kind than the last one begins now.
    fn count_failure(&mut self, kind: ErrorKind, now: Timestamp) {
        let before = self.failures;
        let alike = before.filter(|failures| failures.kind == kind);
        self.failures = Some(Failures {
            count: before.map_or(1, |failures| failures.count + 1),
            kind,
            since: alike.map_or(now, |failures| failures.since),
            last: now,
        });
    }

    /// The time since which requests fail, all in the same way.
    pub fn failing_since(&self) -> Option<Timestamp> {
        self.failures.map(|failures| failures.since)
    }

    /// Requests the newest page, unless an equally urgent request is running.
    pub fn request_refresh(&mut self, priority: Priority) -> Option<Effect> {
        let in_background = priority.is_background();
        if self.unavailable.is_some()
            || (self.refresh_request.is_pending() && (in_background || !self.is_background_refresh))
        {
            return None;
        }
        self.refresh_timer.reset();
        self.is_background_refresh = in_background;
        Some(Effect::Refresh(self.refresh_request.start(), priority))
    }

    /// Refreshes for the user, even after the service has rejected the key:
    /// it may accept it now.
    pub fn request_manual_refresh(&mut self) -> Option<Effect> {
        self.clear_refusal();
        let request = self.request_refresh(Priority::Interactive);
        self.announce_refresh = self.is_refreshing();
        request
    }

    /// Lets requests start again after the service has rejected the key;
    /// returns whether it had.
    fn clear_refusal(&mut self) -> bool {
        self.unavailable.take_if(|it| it.is_refused).is_some()
    }

    /// Refreshes once although the service has asked to wait.
    pub fn request_refresh_now(&mut self) -> Effect {
        self.refresh_timer.reset();
        (self.is_background_refresh, self.announce_refresh) = (false, true);
        Effect::RefreshNow(self.refresh_request.start())
    }

    /// Stores coverage and time of the last refresh, from another request or another
    /// process.
    pub fn update_coverage(&mut self, coverage: Coverage, head_at: Option<Timestamp>) {
        self.coverage = Some(coverage);
        self.as_of = self.as_of.max(head_at);
    }

    /// Stops all requests.
    pub(super) fn disable(&mut self, reason: Error) {
        self.unavailable = Some(Unavailable::permanent(reason));
        self.refresh_request.reset();
        self.refresh_timer.reset();
        self.older_request.reset();
        self.older_timer.reset();
        self.stop_backfill();
    }

    pub fn refresh_timer_fired(&mut self, request: RequestId) -> Option<Effect> {
        let is_current = self.refresh_timer.finish(request);
        is_current
            .then(|| self.request_refresh(Priority::Refresh))
            .flatten()
    }

    /// Refreshes if the last request failed:
    /// the service has answered another request, or another process.
    pub fn refresh_if_failing(&mut self) -> Option<Effect> {
        let is_failing = self.clear_refusal() || self.error.is_some();
        is_failing
            .then(|| self.request_refresh(Priority::Refresh))
            .flatten()
    }

    /// Refreshes for a user who presses a key, if the last request failed offline and
    /// not just now.
    pub fn retry_offline(&mut self, now: Timestamp) -> Option<Effect> {
        let is_due = |it: Failures| now.duration_since(it.last) >= OFFLINE_KEY_RETRY_DELAY;
        let is_offline = self.error.as_ref().is_some_and(Error::is_offline);
        (is_offline && self.failures.is_some_and(is_due))
            .then(|| self.request_refresh(Priority::Refresh))
            .flatten()
    }

    /// Stores the result of a refresh and starts the timer for the next one.
    pub fn apply_refresh(
        &mut self,
        request: RequestId,
        result: Result<SyncReport>,
        has_age_limit: bool,
        now: Timestamp,
    ) -> (Option<SyncReport>, Option<Effect>) {
        if !self.refresh_request.finish(request) {
            return (None, None);
        }
        let report = self.apply_result(result.and_then(check_first_page), now);
        if report.is_some() {
            // An age limit of the archive stays.
            self.exhausted &= has_age_limit;
            if self.backfill.phase == BackfillPhase::Paused {
                self.backfill.phase = BackfillPhase::Idle;
            }
        }
        if self.unavailable.is_some() {
            return (report, None);
        }
        self.is_behind = report
            .as_ref()
            .is_some_and(|report| report.stop_reason == StopReason::PageLimit);
        let pause = match &report {
            Some(report) if self.is_behind && report.new > 0 => Duration::ZERO,
            _ => self.retry_delay(),
        };
        let timer = self.refresh_timer.start_timer(TimerKind::Refresh, pause);
        (report, Some(timer))
    }

    /// Stores coverage and time of the last refresh after a request that may have read
    /// the newest page, too. Then the next refresh is due a whole interval later.
    pub(super) fn update_coverage_by_request(
        &mut self,
        coverage: Coverage,
        head_at: Option<Timestamp>,
    ) -> Option<Effect> {
        let is_read = head_at > self.as_of;
        self.update_coverage(coverage, head_at);
        (is_read && self.refresh_timer.is_pending() && self.error.is_none() && !self.is_behind)
            .then(|| (self.refresh_timer).start_timer(TimerKind::Refresh, self.refresh_interval))
    }

    /// Requests older emails, unless there are none, a request is running,
    /// or the last one failed just now.
    pub fn request_older(&mut self, priority: Priority) -> Option<Effect> {
        let is_idle = !self.older_request.is_pending() && !self.older_timer.is_pending();
        (is_idle && self.may_load_older())
            .then(|| Effect::LoadOlder(self.older_request.start(), priority))
    }

    /// Whether the service may have older emails and has answered before.
    pub fn may_load_older(&self) -> bool {
        self.unavailable.is_none()
            && self.has_answered
            && !self.exhausted
            && self.coverage != Some(Coverage::Complete)
    }

    /// Stores the result of a request for older emails; after an error, starts a timer.
    pub fn apply_older(
        &mut self,
        result: Result<SyncReport>,
        now: Timestamp,
    ) -> (Option<SyncReport>, Option<Effect>) {
        let before = self.coverage.clone();
        let report = self.apply_result(result, now);
        if let Some(report) = &report {
            self.exhausted = report.new == 0 && self.coverage == before;
        }
        let pause = self.retry_delay();
        let timer = report
            .is_none()
            .then(|| self.older_timer.start_timer(TimerKind::LoadOlder, pause));
        (report, timer)
    }

    /// Requests the next page of the backfill, unless a more urgent request needs the
    /// service.
    pub fn request_backfill(&mut self, now: Timestamp) -> Option<Effect> {
        use BackfillPhase::{Active, Idle, Paused, Stopped};
        if !self.may_load_older() {
            self.pause_backfill();
            return None;
        }
        let backfill = &mut self.backfill;
        if self.error.is_some()
            || self.is_behind
            || self.older_request.is_pending()
            || backfill.request.is_pending()
            || matches!(backfill.phase, Paused | Stopped)
        {
            return None;
        }
        let is_active = match (backfill.setting, &self.coverage) {
            (HistorySpan::Off, _) | (_, None | Some(Coverage::Complete)) => false,
            (HistorySpan::All, Some(_)) | (HistorySpan::Last(_), Some(Coverage::Unknown)) => true,
            // A time that cannot be parsed ends the backfill.
            (HistorySpan::Last(span), Some(Coverage::Since(time))) => time
                .parsed
                .is_some_and(|at| now.checked_sub(span).is_ok_and(|until| at > until)),
        };
        backfill.phase = if is_active { Active } else { Idle };
        backfill.is_day_used_up &= is_active;
        is_active.then(|| Effect::Backfill(backfill.request.start()))
    }

    /// Stores the result of a page of the backfill.
    pub fn apply_backfill(
        &mut self,
        request: RequestId,
        result: Result<BackfillStep>,
        now: Timestamp,
    ) -> Option<SyncReport> {
        if !self.backfill.request.finish(request) {
            return None;
        }
        let before = self.coverage.clone();
        self.backfill.is_day_used_up = matches!(result, Ok(BackfillStep::DayLimit));
        let report = match result {
            Ok(BackfillStep::Loaded(report)) => self.apply_result(Ok(*report), now),
            Ok(BackfillStep::OtherProcess | BackfillStep::DayLimit) => None,
            Err(error) => self.apply_result(Err(error), now),
        };
        match &report {
            Some(report) => self.exhausted = report.new == 0 && self.coverage == before,
            None => self.pause_backfill(),
        }
        report
    }

    /// Whether the page of the backfill is still wanted:
    /// not while the user loads older emails.
    pub const fn is_backfill_current(&self, request: RequestId) -> bool {
        self.backfill.request.is_current(request)
            && matches!(self.backfill.phase, BackfillPhase::Active)
            && !self.older_request.is_pending()
    }

    /// Whether the backfill continues tomorrow: the requests of today are used up.
    pub fn is_backfill_used_up(&self) -> bool {
        self.backfill.is_day_used_up && self.backfill.phase != BackfillPhase::Stopped
    }

    fn pause_backfill(&mut self) {
        if self.backfill.phase != BackfillPhase::Stopped {
            self.backfill.phase = BackfillPhase::Paused;
        }
    }

    /// Ends the backfill; returns whether it was active.
    pub fn stop_backfill(&mut self) -> bool {
        let stopped = std::mem::replace(&mut self.backfill.phase, BackfillPhase::Stopped);
        stopped == BackfillPhase::Active
    }

    fn apply_result(&mut self, result: Result<SyncReport>, now: Timestamp) -> Option<SyncReport> {
        match result {
            Ok(report) => {
                (self.error, self.failures) = (None, None);
                // Older emails need not wait for their retry any longer.
                self.older_timer.reset();
                self.as_of = Some(report.refreshed_at.unwrap_or(now));
                self.has_answered = true;
                self.is_top_unknown = report.is_top_unknown;
                self.coverage = Some(report.coverage.clone());
                Some(report)
            }
            Err(error) if error.kind.is_key_error() => {
                self.count_failure(error.kind, now);
                self.error = None;
                self.unavailable = Some(Unavailable {
                    error,
                    is_refused: true,
                });
                None
            }
            Err(error) => {
                self.record_error(error, now);
                None
            }
        }
    }

    fn retry_delay(&self) -> Duration {
        let Some(error) = &self.error else {
            return self.refresh_interval;
        };
        let max = if error.is_offline() {
            MAX_OFFLINE_RETRY_DELAY
        } else {
            MAX_RETRY_DELAY
        };
        let retries = self.failures.map_or(0, |failures| failures.count - 1);
        let backoff = MIN_RETRY_DELAY.saturating_mul(1 << retries.min(8));
        let cooldown = match error.kind {
            // Within the pause nothing is sent. It may end earlier, if the service answers another process.
            ErrorKind::RateLimited => error.cooldown().min(MAX_RETRY_DELAY),
            _ => error.cooldown(),
        };
        cooldown.max(backoff.min(max))
    }
}

/// An error if the service lists no email, although it says that there are some,
/// or none of those that it has listed before.
fn check_first_page(report: SyncReport) -> Result<SyncReport> {
    let is_contradiction = match report.stop_reason {
        StopReason::OtherListing => true,
        StopReason::NoProgress => report.coverage == Coverage::Unknown && report.new == 0,
        _ => false,
    };
    match report.stop_reason.clone().into_error() {
        Some(error) if is_contradiction => Err(error),
        _ => Ok(report),
    }
}
