//! What is known about the service, and when it is asked again.

use std::time::Duration;

use jiff::Timestamp;

use super::effect::{Effect, Pending, RequestId, TimerKind};
use super::message::SyncUpdate;
use super::session::SessionInfo;
use crate::api::Priority;
use crate::archive::Coverage;
use crate::config::Backfill;
use crate::error::Error;

/// The pause before the first new attempt after a failure; it doubles up to [`MAX_RETRY_DELAY`].
const MIN_RETRY_DELAY: Duration = Duration::from_secs(5);
/// The longest pause between attempts, unless the service asks for a longer one.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(2);
/// The same while there is no way to it: trying costs it nothing, and its return is to be noticed soon.
const MAX_OFFLINE_RETRY_DELAY: Duration = Duration::from_secs(20);

/// How it stands with the service.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceStatus {
    pub unavailable: Option<Error>,
    pub is_refused: bool,
    pub error: Option<Error>,
    /// When the trouble began.
    pub failing_since: Option<Timestamp>,
    /// When it answered last, to this process or another one.
    pub as_of: Option<Timestamp>,
    pub has_answered: bool,
    refresh_interval: Duration,
    failures: u32,
    pub(super) refresh_request: Pending<()>,
    /// Whether nobody waits for the refresh.
    is_background_refresh: bool,
    refresh_timer: Pending<()>,
    pub(super) older_request: Pending<()>,
    older_timer: Pending<()>,
    pub(super) backfill: BackfillState,
    pub reach: Option<Coverage>,
    /// The last refresh did not get to the end of what is new.
    is_behind: bool,
    /// The service had nothing older to give, although it did not say that this was all.
    exhausted: bool,
    /// The most emails without an id that one answer had.
    unreadable: u64,
}

impl ServiceStatus {
    /// A service that has not been asked yet, or cannot be.
    pub fn new(session: &SessionInfo) -> Self {
        Self {
            unavailable: session.service_error.clone(),
            as_of: session.as_of,
            refresh_interval: session.refresh,
            backfill: BackfillState {
                setting: session.backfill,
                ..BackfillState::default()
            },
            ..Self::default()
        }
    }

    /// Whether what is new is not all there yet: at the first start, or after a long absence.
    pub const fn is_catching_up(&self) -> bool {
        !self.has_answered || self.is_behind
    }

    /// Whether older emails are on their way.
    pub const fn is_loading_older(&self) -> bool {
        self.older_request.is_pending()
    }

    /// Whether older emails are fetched because the profile wants them.
    pub const fn is_backfilling(&self) -> bool {
        self.backfill.is_active()
    }

    /// Whether it is being asked for what is new.
    pub const fn is_refreshing(&self) -> bool {
        self.refresh_request.is_pending()
    }

    /// Whether the service is known to have emails older than those in the archive, and can be asked.
    pub fn has_older(&self) -> bool {
        self.unavailable.is_none()
            && self
                .reach
                .as_ref()
                .is_some_and(|reach| *reach != Coverage::Complete)
    }

    /// Whether statuses can be confirmed: it has answered, and not failed since.
    pub const fn can_confirm(&self) -> bool {
        self.unavailable.is_none()
            && self.error.is_none()
            && self.has_answered
            && !self.refresh_request.is_pending()
    }

    /// Another request has failed: the next refresh finds out whether it is away.
    pub fn record_error(&mut self, failure: Error, now: Timestamp) {
        self.failures += 1;
        self.failing_since.get_or_insert(now);
        self.error = Some(failure);
    }

    /// Whether there are more emails that cannot be read than in any answer before.
    pub const fn record_unreadable(&mut self, count: u64) -> bool {
        let has_more = count > self.unreadable;
        if has_more {
            self.unreadable = count;
        }
        has_more
    }

    /// Asks for what is new, unless that is being done already as urgently.
    pub fn request_refresh(&mut self, priority: Priority) -> Option<Effect> {
        let unasked = priority.is_background();
        if self.unavailable.is_some()
            || (self.refresh_request.is_pending() && (unasked || !self.is_background_refresh))
        {
            return None;
        }
        self.refresh_timer.reset();
        self.is_background_refresh = unasked;
        Some(Effect::Refresh(self.refresh_request.start(), priority))
    }

    /// Asks because a person wants it, even if the service has refused the key: it may have been
    /// allowed again, or something in front of the service has thought better of it.
    pub fn request_manual_refresh(&mut self) -> Option<Effect> {
        if self.is_refused {
            (self.unavailable, self.is_refused) = (None, false);
        }
        self.request_refresh(Priority::Interactive)
    }

    /// Takes how far back the archive is complete, and when the newest page was requested last, from an
    /// answer to another request or to another process.
    pub fn update_reach(&mut self, reach: Coverage, head_at: Option<Timestamp>) {
        self.reach = Some(reach);
        self.as_of = self.as_of.max(head_at);
    }

    /// Sends no request any more.
    pub fn disable(&mut self, why: Error) {
        (self.unavailable, self.is_refused) = (Some(why), false);
        self.refresh_request.reset();
        self.refresh_timer.reset();
        self.older_request.reset();
        self.older_timer.reset();
        self.backfill.stop();
    }

    /// The pause between two refreshes is over.
    pub fn refresh_timer_fired(&mut self, request: RequestId) -> Option<Effect> {
        if self.refresh_timer.finish(request) {
            self.request_refresh(Priority::Refresh)
        } else {
            None
        }
    }

    /// It has answered something else: if it was out of reach, what is new can be had again.
    pub fn refresh_if_failing(&mut self) -> Option<Effect> {
        self.error.as_ref()?;
        self.request_refresh(Priority::Refresh)
    }

    /// Takes what is new, and rests until the next time.
    pub fn apply_refresh(
        &mut self,
        request: RequestId,
        result: Result<SyncUpdate, Error>,
        now: Timestamp,
    ) -> (Option<SyncUpdate>, Option<Effect>) {
        if !self.refresh_request.finish(request) {
            return (None, None);
        }
        let news = self.apply_outcome(result, now);
        if news.is_some() {
            self.exhausted = false;
            self.backfill.resume();
        }
        if self.unavailable.is_some() {
            return (news, None);
        }
        self.is_behind = news.as_ref().is_some_and(|news| news.unfinished);
        let at_once = news
            .as_ref()
            .is_some_and(|news| news.unfinished && news.new > 0);
        let pause = if at_once {
            Duration::ZERO
        } else {
            self.retry_delay()
        };
        let rest = Effect::Timer {
            request: self.refresh_timer.start(),
            kind: TimerKind::Refresh,
            pause,
        };
        (news, Some(rest))
    }

    /// Asks for older emails, unless there are none, or that is being done or rested from.
    pub fn request_older(&mut self) -> Option<Effect> {
        let idle = !self.older_request.is_pending() && !self.older_timer.is_pending();
        if !idle || !self.may_have_older() {
            return None;
        }
        Some(Effect::LoadOlder(self.older_request.start()))
    }

    fn may_have_older(&self) -> bool {
        self.unavailable.is_none()
            && self.has_answered
            && !self.exhausted
            && self.reach != Some(Coverage::Complete)
    }

    /// Takes older emails; after a failure it rests before the next attempt.
    pub fn apply_older(
        &mut self,
        request: RequestId,
        result: Result<SyncUpdate, Error>,
        now: Timestamp,
    ) -> (Option<SyncUpdate>, Option<Effect>) {
        if !self.older_request.finish(request) {
            return (None, None);
        }
        let before = self.reach.clone();
        let Some(news) = self.apply_outcome(result, now) else {
            let pause = self.retry_delay();
            return (
                None,
                Some(Effect::Timer {
                    request: self.older_timer.start(),
                    kind: TimerKind::LoadOlder,
                    pause,
                }),
            );
        };
        self.exhausted = news.new == 0 && self.reach == before;
        (Some(news), None)
    }

    /// The pause after a failed attempt to extend is over.
    pub fn older_timer_fired(&mut self, request: RequestId) {
        self.older_timer.finish(request);
    }

    /// Asks for older emails because the profile wants them, if nobody asks for them anyway.
    pub fn request_backfill(&mut self, now: Timestamp) -> Option<Effect> {
        let quiet = self.error.is_none() && !self.is_behind && !self.older_request.is_pending();
        if !self.may_have_older() {
            self.backfill.pause();
            return None;
        }
        if quiet {
            self.backfill.next_request(self.reach.as_ref(), now)
        } else {
            None
        }
    }

    /// Takes what came of that.
    pub fn apply_backfill(
        &mut self,
        request: RequestId,
        result: Result<Option<SyncUpdate>, Error>,
        now: Timestamp,
    ) -> Option<SyncUpdate> {
        if !self.backfill.finish(request) {
            return None;
        }
        let before = self.reach.clone();
        let news = match result {
            Ok(Some(news)) => self.apply_outcome(Ok(news), now),
            Ok(None) => None,
            Err(failure) => self.apply_outcome(Err(failure), now),
        };
        match &news {
            Some(news) => self.exhausted = news.new == 0 && self.reach == before,
            None => self.backfill.pause(),
        }
        news
    }

    /// Whether this attempt to fill is still wanted: not while a person looks further back.
    pub const fn is_backfill_current(&self, request: RequestId) -> bool {
        self.backfill.is_current(request) && !self.older_request.is_pending()
    }

    /// Fills no more; says whether it did.
    pub fn stop_backfill(&mut self) -> bool {
        self.backfill.stop()
    }

    fn apply_outcome(
        &mut self,
        result: Result<SyncUpdate, Error>,
        now: Timestamp,
    ) -> Option<SyncUpdate> {
        match result {
            Ok(news) => {
                (self.error, self.failing_since, self.as_of) =
                    (None, None, Some(news.head_at.unwrap_or(now)));
                self.failures = 0;
                self.has_answered = true;
                self.reach = Some(news.reach.clone());
                Some(news)
            }
            Err(failure) => {
                self.failures += 1;
                if failure.kind.is_key_error() {
                    (self.unavailable, self.is_refused) = (Some(failure), true);
                } else {
                    self.error = Some(failure);
                    self.failing_since.get_or_insert(now);
                }
                None
            }
        }
    }

    fn retry_delay(&self) -> Duration {
        let Some(trouble) = &self.error else {
            return self.refresh_interval;
        };
        let longest = if trouble.is_offline() {
            MAX_OFFLINE_RETRY_DELAY
        } else {
            MAX_RETRY_DELAY
        };
        let own = MIN_RETRY_DELAY
            .saturating_mul(1 << self.failures.saturating_sub(1).min(8))
            .min(longest);
        trouble.cooldown().max(own)
    }
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BackfillState {
    setting: Backfill,
    pub(super) request: Pending<()>,
    /// There was something to fetch the last time that was asked.
    active: bool,
    /// Nothing more until the next refresh: the service failed, or another process does it.
    paused: bool,
}

impl BackfillState {
    /// Whether it is being done.
    const fn is_active(&self) -> bool {
        self.active
    }

    /// The next page, unless it is on its way, or the archive reaches far enough.
    fn next_request(&mut self, reach: Option<&Coverage>, now: Timestamp) -> Option<Effect> {
        if self.request.is_pending() || self.paused {
            return None;
        }
        self.active = match (self.setting, reach) {
            (Backfill::Off, _) | (_, None | Some(Coverage::Complete)) => false,
            (Backfill::All, Some(_)) => true,
            // Of a time that cannot be read nobody knows whether it is far enough.
            (Backfill::Last(span), Some(Coverage::Since(stamp))) => stamp
                .parsed
                .is_some_and(|at| now.checked_sub(span).is_ok_and(|until| at > until)),
            (Backfill::Last(_), Some(Coverage::Unknown)) => true,
        };
        self.active.then(|| Effect::Backfill(self.request.start()))
    }

    /// Whether this attempt is waited for.
    const fn is_current(&self, request: RequestId) -> bool {
        self.request.is_current(request) && self.active
    }

    /// The attempt is over; false if it was not the current one.
    fn finish(&mut self, request: RequestId) -> bool {
        self.request.finish(request)
    }

    /// Nothing more until the next refresh.
    const fn pause(&mut self) {
        (self.active, self.paused) = (false, true);
    }

    /// The service answers.
    const fn resume(&mut self) {
        self.paused = false;
    }

    /// Nothing more at all; says whether there was something to be stopped.
    const fn stop(&mut self) -> bool {
        self.setting = Backfill::Off;
        std::mem::replace(&mut self.active, false)
    }
}
