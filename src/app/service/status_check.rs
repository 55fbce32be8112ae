//! Status checks: a query by status is right only when the statuses of all its
//! candidates are.
//!
//! The candidates are the emails that match with any status. They are confirmed from the newest on.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::api::Priority;
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::model::Model;
use crate::archive::SortKey;
use crate::error::Result;
use crate::query::Query;
use crate::sync::{ConfirmReport, ConfirmScope};

/// Requests until a check pauses.
const MAX_REQUESTS: u32 = 100;
/// Requests of one effect; the list is updated after each effect.
const REQUESTS_PER_STEP: u32 = 4;
/// A status confirmed so shortly before the start counts as confirmed by the check.
const FRESH_BEFORE_START: SignedDuration = SignedDuration::from_secs(30);
/// A check of few requests is repeated after this time while a user is active, or
/// later: all together they send at most a request in [`REPEAT_INTERVAL`].
const REPEAT_AFTER: SignedDuration = SignedDuration::from_mins(2);
const REPEAT_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
const REPEAT_MAX_REQUESTS: u32 = 10;

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// It continues by itself.
    Running,
    /// It has used up its requests, was stopped, or failed; the user can continue it.
    Paused,
    /// Every candidate is final, perhaps by its age, or confirmed.
    Done,
}

/// A check of the candidates of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusCheck {
    query: Arc<Query>,
    candidates: Arc<Query>,
    is_recipient: bool,
    pub started: Timestamp,
    /// When the service confirmed the statuses.
    /// Before the start if a mirror or a cache has answered; the minimum if that is not known.
    pub as_of: Timestamp,
    /// All candidates above this are final or confirmed.
    checked_down_to: Option<SortKey>,
    pub requests: u32,
    max_requests: u32,
    pub state: CheckState,
    /// Whether emails were left out that count as final by their age alone.
    pub leaves_out_old: bool,
    /// Whether the newest page was requested.
    head_requested: bool,
}

/// The check of all emails that the filter may match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatusCheckState {
    pub current: Option<StatusCheck>,
    /// The last check of another filter that was done or used up its requests.
    last_ended: Option<StatusCheck>,
    pub(in crate::app) request: Pending<()>,
}

impl StatusCheckState {
    /// Replaces the check; the answer to the one before is stale.
    fn set(&mut self, check: Option<StatusCheck>) {
        let replaced = std::mem::replace(&mut self.current, check);
        self.last_ended = replaced
            .filter(StatusCheck::has_ended)
            .or(self.last_ended.take());
        self.request.reset();
    }

    /// Starts a check, or takes the last one back if it was for the same emails and
    /// is not old: a filter that is opened again soon costs no request.
    fn start(&mut self, check: StatusCheck) {
        let last = self.last_ended.take().filter(|last| {
            last.query == check.query
                && last.is_recipient == check.is_recipient
                && (SignedDuration::ZERO..REPEAT_AFTER)
                    .contains(&check.started.duration_since(last.started))
        });
        self.set(Some(last.unwrap_or(check)));
    }

    /// The check, if it is in this state.
    fn current_in(&mut self, state: CheckState) -> Option<&mut StatusCheck> {
        self.current.as_mut().filter(|check| check.state == state)
    }

    /// Requests the next step of a running check, one at a time.
    fn next_step(&mut self) -> Option<Effect> {
        let check = self
            .current
            .as_ref()
            .filter(|_| !self.request.is_pending())?;
        let is_running = check.state == CheckState::Running;
        is_running.then(|| check.next_step(self.request.start()))
    }

    /// Continues a paused check; false if there is none.
    pub(in crate::app) fn resume(&mut self) -> bool {
        let paused = self.current_in(CheckState::Paused);
        paused.map(StatusCheck::resume).is_some()
    }

    /// Starts the check again, because the user refreshes.
    pub(in crate::app) fn restart(&mut self, now: Timestamp) {
        if let Some(check) = &self.current {
            let check = StatusCheck::new(&check.query, check.is_recipient, now);
            self.set(Some(check));
        }
        self.last_ended = None;
    }

    /// Stops a running check; false if there is none.
    pub(in crate::app) fn stop(&mut self) -> bool {
        let Some(check) = self.current_in(CheckState::Running) else {
            return false;
        };
        check.state = CheckState::Paused;
        self.request.reset();
        true
    }

    /// The check, if it is paused.
    pub fn paused(&self) -> Option<&StatusCheck> {
        let check = self.current.as_ref();
        check.filter(|check| check.state == CheckState::Paused)
    }
}

impl StatusCheck {
    fn new(query: &Arc<Query>, is_recipient: bool, now: Timestamp) -> Self {
        Self {
            query: Arc::clone(query),
            candidates: Arc::new(query.without_status()),
            is_recipient,
            started: now,
            as_of: now,
            checked_down_to: None,
            requests: 0,
            max_requests: MAX_REQUESTS,
            state: CheckState::Running,
            leaves_out_old: false,
            head_requested: false,
        }
    }

    /// Continues until the next pause.
    const fn resume(&mut self) {
        self.max_requests = self.requests + MAX_REQUESTS;
        self.state = CheckState::Running;
    }

    /// Whether nothing is left for it to do, or it has used up its requests.
    fn has_ended(&self) -> bool {
        self.state == CheckState::Done || self.requests >= self.max_requests
    }

    /// Whether it is for this query.
    pub fn is_for(&self, query: &Arc<Query>) -> bool {
        self.query == *query
    }

    /// The time of the oldest checked email, if there is one.
    pub fn checked_back_to(&self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.checked_down_to?.micros()).ok()
    }

    /// A status confirmed at this time or later counts as confirmed by the check.
    pub fn fresh_since(&self) -> Timestamp {
        self.started
            .checked_sub(FRESH_BEFORE_START)
            .unwrap_or(Timestamp::MIN)
    }

    fn repeat_after(&self) -> SignedDuration {
        let requests = i32::try_from(self.requests).unwrap_or(i32::MAX);
        REPEAT_AFTER.max(REPEAT_INTERVAL.saturating_mul(requests))
    }

    fn next_step(&self, request: RequestId) -> Effect {
        Effect::CheckStatuses {
            request,
            query: Arc::clone(&self.candidates),
            below: self.checked_down_to,
            scope: ConfirmScope {
                fresh_since: self.fresh_since(),
                // The card of a recipient has few emails.
                any_age: self.is_recipient,
            },
            max_requests: REQUESTS_PER_STEP.min(self.max_requests - self.requests),
        }
    }
}

impl Model {
    /// Starts a check for another filter, unless that is being typed,
    /// and requests its next step.
    pub(in crate::app) fn update_status_check(&mut self) {
        let now = self.now.timestamp();
        if self.prompt.is_some() || self.start_screen.is_some() {
            return;
        }
        let query = Arc::clone(self.list.filter.query());
        let is_recipient = self.recipient_card.is_shown();
        if self.is_received() || (!is_recipient && !query.depends_on_status()) {
            self.status_check.set(None);
            return;
        }
        let current = self.status_check.current.as_ref();
        // The clock may have been set back.
        let is_other =
            current.is_none_or(|check| check.query != query || check.fresh_since() > now);
        let is_old = current.is_some_and(|check| {
            check.state == CheckState::Done
                && check.requests <= REPEAT_MAX_REQUESTS
                && now.duration_since(check.started) >= check.repeat_after()
        });
        if is_other || (is_old && self.freshness.is_user_active(now)) {
            self.status_check
                .start(StatusCheck::new(&query, is_recipient, now));
        }
        if !self.service.can_confirm() {
            return;
        }
        let Some(check) = &mut self.status_check.current else {
            return;
        };
        // New emails may be candidates, too: the newest page comes first.
        let is_behind = self.service.as_of.is_none_or(|at| at < check.fresh_since());
        if check.state == CheckState::Running
            && is_behind
            && !std::mem::replace(&mut check.head_requested, true)
        {
            self.outbox
                .extend(self.service.request_refresh(Priority::Interactive));
            return;
        }
        // The requests of an export, for which the user waits, come first.
        if !self.export.is_retrieving() {
            self.outbox.extend(self.status_check.next_step());
        }
    }

    /// Stores the result of a step.
    pub(in crate::app) fn apply_status_check_step(
        &mut self,
        request: RequestId,
        result: Result<ConfirmReport>,
    ) {
        let is_current = self.status_check.request.finish(request);
        let Some(check) = self.status_check.current.as_mut().filter(|_| is_current) else {
            return;
        };
        match result {
            Ok(step) => {
                check.requests += step.requests;
                let oldest = step.oldest_confirmation;
                let stale = oldest.filter(|at| *at < check.fresh_since());
                check.as_of = stale.map_or(check.as_of, |at| check.as_of.min(at));
                check.leaves_out_old |= step.leaves_out_old;
                check.checked_down_to = step.confirmed_down_to.or(check.checked_down_to);
                if step.is_done {
                    check.state = CheckState::Done;
                } else if check.requests >= check.max_requests {
                    check.state = CheckState::Paused;
                }
                self.apply_confirmed(step.sync_report);
            }
            Err(error) => {
                check.state = CheckState::Paused;
                self.service.record_error(error, self.now.timestamp());
            }
        }
    }
}
