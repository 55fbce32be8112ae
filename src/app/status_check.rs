//! A query by status is confirmed over its candidates: every email that it may find once its status is
//! another. What it finds says nothing about the rest until those were confirmed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::effect::{Effect, Effects};
use super::model::Model;
use super::msg::Checked;
use super::slot::{Slot, Ticket};
use crate::api::Urgency;
use crate::archive::Place;
use crate::failure::Failure;
use crate::query::Query;

/// Requests until a check pauses.
const REQUESTS: u32 = 100;
/// Requests until the check of a recipient's emails pauses, and how many emails it takes at a time.
const CARD_REQUESTS: u32 = 20;
const CARD_ROWS: u32 = 50;
/// Requests of one effect: the list follows what they bring.
const STEP: u32 = 4;
/// What was confirmed so long before the check began counts as confirmed by it.
const FRESH: SignedDuration = SignedDuration::from_secs(30);
/// A check of few requests is made again after this time, while its list is looked at.
const AGAIN: SignedDuration = SignedDuration::from_mins(5);
const FEW: u32 = 10;

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
    is_card: bool,
    started: Timestamp,
    /// All candidates above this are final or confirmed.
    down_to: Option<Place>,
    requests: u32,
    allowed: u32,
    rows: u32,
    allowed_rows: u32,
    state: CheckState,
    /// Whether the newest page was asked for.
    asked_head: bool,
    request: Slot<()>,
}

impl StatusCheck {
    fn new(query: &Arc<Query>, is_card: bool, now: Timestamp) -> Self {
        let (allowed, allowed_rows) = if is_card {
            (CARD_REQUESTS, CARD_ROWS)
        } else {
            (REQUESTS, u32::MAX)
        };
        Self {
            query: Arc::clone(query),
            candidates: Arc::new(query.without_status()),
            is_card,
            started: now,
            down_to: None,
            requests: 0,
            allowed,
            rows: 0,
            allowed_rows,
            state: CheckState::Running,
            asked_head: false,
            request: Slot::default(),
        }
    }

    /// How far it is.
    #[must_use]
    pub const fn state(&self) -> CheckState {
        self.state
    }

    /// When it began: what it says is as of then.
    #[must_use]
    pub const fn started(&self) -> Timestamp {
        self.started
    }

    /// The time of the oldest email that it has come to; `None` if it has come to none.
    #[must_use]
    pub fn back_to(&self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.down_to?.micros()).ok()
    }

    /// Requests made so far.
    #[must_use]
    pub const fn requests(&self) -> u32 {
        self.requests
    }

    /// What was confirmed at this time or later counts as confirmed by the check.
    #[must_use]
    pub fn fresh_since(&self) -> Timestamp {
        self.started.checked_sub(FRESH).unwrap_or(Timestamp::MIN)
    }

    /// Whether this attempt is still wanted.
    pub(super) const fn awaits(&self, ticket: Ticket) -> bool {
        self.request.awaits(ticket)
    }

    fn step(&mut self) -> Option<Effect> {
        if self.state != CheckState::Running || self.request.is_awaiting() {
            return None;
        }
        Some(Effect::CheckStatuses {
            ticket: self.request.begin(),
            query: Arc::clone(&self.candidates),
            below: self.down_to,
            fresh_since: self.fresh_since(),
            most: STEP.min(self.allowed - self.requests),
            most_rows: self.allowed_rows - self.rows,
        })
    }

    fn resume(&mut self) {
        let (more, more_rows) = if self.is_card {
            (CARD_REQUESTS, CARD_ROWS)
        } else {
            (REQUESTS, 0)
        };
        self.allowed = self.requests + more;
        self.allowed_rows = if self.is_card {
            self.rows + more_rows
        } else {
            u32::MAX
        };
        self.state = CheckState::Running;
    }
}

impl Model {
    /// Whether the statuses behind the list are confirmed over all its candidates, and how far.
    #[must_use]
    pub const fn status_check(&self) -> Option<&StatusCheck> {
        self.check.as_ref()
    }

    /// Lets the check follow the filter, but not each letter while that is typed.
    pub(super) fn turn_check(&mut self) -> Effects {
        let now = self.now().timestamp();
        if self.prompt.is_some() || self.hall.is_some() {
            return Effects::new();
        }
        let query = self.list.filter().query();
        let is_card = self.card.is_some();
        if !is_card && !query.depends_on_status() {
            self.check = None;
            return Effects::new();
        }
        let is_other = self
            .check
            .as_ref()
            .is_none_or(|check| check.query != *query);
        let is_old = self.check.as_ref().is_some_and(|check| {
            check.state == CheckState::Done
                && check.requests <= FEW
                && now.duration_since(check.started) >= AGAIN
        });
        if is_other || (is_old && self.freshness.is_watched(now)) {
            self.check = Some(StatusCheck::new(query, is_card, now));
        }
        if !self.service.can_confirm() {
            return Effects::new();
        }
        let Some(check) = &mut self.check else {
            return Effects::new();
        };
        // Newer mail than the archive knows may be a candidate, too: the newest page comes first.
        let is_behind = self
            .service
            .as_of()
            .is_none_or(|at| at < check.fresh_since());
        if check.state == CheckState::Running
            && is_behind
            && !std::mem::replace(&mut check.asked_head, true)
        {
            return self.service.refresh(Urgency::Person).into_iter().collect();
        }
        check.step().into_iter().collect()
    }

    /// Takes what a step brought.
    pub(super) fn checked_statuses(
        &mut self,
        ticket: Ticket,
        outcome: Result<Checked, Failure>,
    ) -> Effects {
        let now = self.now().timestamp();
        let Some(check) = self
            .check
            .as_mut()
            .filter(|check| check.request.awaits(ticket))
        else {
            return Effects::new();
        };
        check.request.settle(ticket, Ok(()));
        match outcome {
            Ok(Checked {
                news,
                requests,
                rows,
                down_to,
                is_done,
            }) => {
                check.requests += requests;
                check.rows += rows;
                check.down_to = down_to.or(check.down_to);
                if is_done {
                    check.state = CheckState::Done;
                } else if check.requests >= check.allowed || check.rows >= check.allowed_rows {
                    check.state = CheckState::Paused;
                }
                self.take_confirmed(news)
            }
            Err(failure) => {
                check.state = CheckState::Paused;
                self.service.note_failure(failure, now);
                Effects::new()
            }
        }
    }

    /// The step was withdrawn before it was sent.
    pub(super) fn drop_check(&mut self, ticket: Ticket) {
        if let Some(check) = self
            .check
            .as_mut()
            .filter(|check| check.request.awaits(ticket))
        {
            check.request.clear();
        }
    }

    /// Goes on with a check that has paused; says whether there was one.
    pub(super) fn resume_check(&mut self) -> bool {
        match &mut self.check {
            Some(check) if check.state == CheckState::Paused => {
                check.resume();
                true
            }
            _ => false,
        }
    }

    /// Begins the check anew, because the user wants to know how it is now.
    pub(super) fn restart_check(&mut self) {
        let now = self.now().timestamp();
        if let Some(check) = &mut self.check {
            *check = StatusCheck {
                started: now,
                ..StatusCheck::new(&check.query.clone(), check.is_card, now)
            };
        }
    }

    /// Stops a check; says whether one was running.
    pub(super) fn stop_check(&mut self) -> bool {
        match &mut self.check {
            Some(check) if check.state == CheckState::Running => {
                check.state = CheckState::Paused;
                check.request.clear();
                true
            }
            _ => false,
        }
    }

    /// Whether a check waits for the user to go on.
    #[must_use]
    pub fn has_paused_check(&self) -> bool {
        self.check
            .as_ref()
            .is_some_and(|check| check.state == CheckState::Paused)
    }
}
