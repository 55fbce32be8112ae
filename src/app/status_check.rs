//! A query by status is confirmed over its candidates: every email that it may find once its status is
//! another. What it finds says nothing about the rest until those were confirmed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::effect::{Effect, Pending, RequestId};
use super::message::StatusCheckStep;
use super::model::Model;
use crate::api::Priority;
use crate::archive::SortKey;
use crate::error::Error;
use crate::query::Query;

/// Requests until a check pauses.
const MAX_REQUESTS: u32 = 100;
/// Requests until the check of a recipient's emails pauses, and how many emails it takes at a time.
const RECIPIENT_MAX_REQUESTS: u32 = 20;
const RECIPIENT_MAX_ROWS: u32 = 50;
/// Requests of one effect: the list follows what they bring.
const REQUESTS_PER_STEP: u32 = 4;
/// What was confirmed so long before the check began counts as confirmed by it.
const FRESH_BEFORE_START: SignedDuration = SignedDuration::from_secs(30);
/// A check of few requests is made again after this time, while its list is looked at.
const REPEAT_AFTER: SignedDuration = SignedDuration::from_mins(5);
const REPEAT_MAX_REQUESTS: u32 = 10;

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// It goes on by itself.
    Running,
    /// It has used up its requests, was stopped, or the service failed: it goes on when a user wants it.
    Paused,
    /// Every candidate is final or confirmed.
    Done,
}

/// A check of the candidates of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusCheck {
    query: Arc<Query>,
    candidates: Arc<Query>,
    is_recipient: bool,
    pub started: Timestamp,
    /// All candidates above this are final or confirmed.
    checked_down_to: Option<SortKey>,
    pub requests: u32,
    max_requests: u32,
    rows: u32,
    max_rows: u32,
    pub state: CheckState,
    /// Whether the newest page was asked for.
    head_requested: bool,
    pub(super) request: Pending<()>,
}

impl StatusCheck {
    fn new(query: &Arc<Query>, is_card: bool, now: Timestamp) -> Self {
        let (allowed, allowed_rows) = if is_card {
            (RECIPIENT_MAX_REQUESTS, RECIPIENT_MAX_ROWS)
        } else {
            (MAX_REQUESTS, u32::MAX)
        };
        Self {
            query: Arc::clone(query),
            candidates: Arc::new(query.without_status()),
            is_recipient: is_card,
            started: now,
            checked_down_to: None,
            requests: 0,
            max_requests: allowed,
            rows: 0,
            max_rows: allowed_rows,
            state: CheckState::Running,
            head_requested: false,
            request: Pending::default(),
        }
    }

    /// The time of the oldest email that it has come to; `None` if it has come to none.
    pub fn checked_back_to(&self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.checked_down_to?.micros()).ok()
    }

    /// What was confirmed at this time or later counts as confirmed by the check.
    pub fn fresh_since(&self) -> Timestamp {
        self.started
            .checked_sub(FRESH_BEFORE_START)
            .unwrap_or(Timestamp::MIN)
    }

    fn next_step(&mut self) -> Option<Effect> {
        if self.state != CheckState::Running || self.request.is_pending() {
            return None;
        }
        Some(Effect::CheckStatuses {
            request: self.request.start(),
            query: Arc::clone(&self.candidates),
            below: self.checked_down_to,
            fresh_since: self.fresh_since(),
            max_requests: REQUESTS_PER_STEP.min(self.max_requests - self.requests),
            max_rows: self.max_rows - self.rows,
        })
    }

    fn resume(&mut self) {
        let (more, more_rows) = if self.is_recipient {
            (RECIPIENT_MAX_REQUESTS, RECIPIENT_MAX_ROWS)
        } else {
            (MAX_REQUESTS, 0)
        };
        self.max_requests = self.requests + more;
        self.max_rows = if self.is_recipient {
            self.rows + more_rows
        } else {
            u32::MAX
        };
        self.state = CheckState::Running;
    }
}

impl Model {
    /// Lets the check follow the filter, but not each letter while that is typed.
    pub(super) fn update_status_check(&mut self) {
        let now = self.now.timestamp();
        if self.prompt.is_some() || self.start_screen.is_some() {
            return;
        }
        let query = self.list.filter.query();
        let is_card = self.recipient_card.is_some();
        if !is_card && !query.depends_on_status() {
            self.status_check = None;
            return;
        }
        let is_other = self
            .status_check
            .as_ref()
            .is_none_or(|check| check.query != *query);
        let is_old = self.status_check.as_ref().is_some_and(|check| {
            check.state == CheckState::Done
                && check.requests <= REPEAT_MAX_REQUESTS
                && now.duration_since(check.started) >= REPEAT_AFTER
        });
        if is_other || (is_old && self.freshness.is_user_active(now)) {
            self.status_check = Some(StatusCheck::new(query, is_card, now));
        }
        if !self.service.can_confirm() {
            return;
        }
        let Some(check) = &mut self.status_check else {
            return;
        };
        // Newer mail than the archive knows may be a candidate, too: the newest page comes first.
        let is_behind = self.service.as_of.is_none_or(|at| at < check.fresh_since());
        if check.state == CheckState::Running
            && is_behind
            && !std::mem::replace(&mut check.head_requested, true)
        {
            self.outbox
                .extend(self.service.request_refresh(Priority::Interactive));
            return;
        }
        self.outbox.extend(check.next_step());
    }

    /// Takes what a step brought.
    pub(super) fn apply_status_check_step(
        &mut self,
        request: RequestId,
        result: Result<StatusCheckStep, Error>,
    ) {
        let now = self.now.timestamp();
        let Some(check) = self
            .status_check
            .as_mut()
            .filter(|check| check.request.is_current(request))
        else {
            return;
        };
        check.request.finish(request);
        match result {
            Ok(StatusCheckStep {
                update: news,
                requests,
                rows,
                down_to,
                is_done,
            }) => {
                check.requests += requests;
                check.rows += rows;
                check.checked_down_to = down_to.or(check.checked_down_to);
                if is_done {
                    check.state = CheckState::Done;
                } else if check.requests >= check.max_requests || check.rows >= check.max_rows {
                    check.state = CheckState::Paused;
                }
                self.apply_confirmed(news);
            }
            Err(failure) => {
                check.state = CheckState::Paused;
                self.service.record_error(failure, now);
            }
        }
    }

    /// Goes on with a check that has paused; says whether there was one.
    pub(super) fn resume_status_check(&mut self) -> bool {
        match &mut self.status_check {
            Some(check) if check.state == CheckState::Paused => {
                check.resume();
                true
            }
            _ => false,
        }
    }

    /// Begins the check anew, because the user wants to know how it is now.
    pub(super) fn restart_status_check(&mut self) {
        let now = self.now.timestamp();
        if let Some(check) = &mut self.status_check {
            *check = StatusCheck {
                started: now,
                ..StatusCheck::new(&check.query.clone(), check.is_recipient, now)
            };
        }
    }

    /// Stops a check; says whether one was running.
    pub(super) fn stop_status_check(&mut self) -> bool {
        match &mut self.status_check {
            Some(check) if check.state == CheckState::Running => {
                check.state = CheckState::Paused;
                check.request.reset();
                true
            }
            _ => false,
        }
    }

    /// Whether a check waits for the user to go on.
    pub fn is_status_check_paused(&self) -> bool {
        self.status_check
            .as_ref()
            .is_some_and(|check| check.state == CheckState::Paused)
    }
}
