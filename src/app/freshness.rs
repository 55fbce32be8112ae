//! What a user looks at is confirmed while it is looked at: which rows, when, and with how many requests.
//!
//! Rows that enter the viewport are due 30 seconds (unsettled) or 10 minutes (may still move) after their
//! confirmation. While the viewport stays the same they are confirmed again after 1, 2, 4, 8, then every
//! 15 minutes. The selected email is due sooner: 2 seconds after it was selected.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::effect::{Effect, Effects, Rest};
use super::model::Model;
use super::msg::{Confirmation, News};
use super::slot::{Slot, Ticket};
use crate::api::Urgency;
use crate::archive::Row;
use crate::failure::Failure;
use crate::mail::{EmailId, Finality};

/// An unsettled row that is visible is confirmed again after this time.
const UNSETTLED: SignedDuration = SignedDuration::from_secs(30);
/// The same for a row that may still move.
const MAY_MOVE: SignedDuration = SignedDuration::from_mins(10);
/// How long a viewport stays the same before its rows are confirmed: who holds a key down looks at nothing.
const VIEWPORT_REST: SignedDuration = SignedDuration::from_millis(500);
/// How long an email is selected before it is confirmed for itself.
const SELECTED_REST: SignedDuration = SignedDuration::from_secs(2);
/// The selected email needs no confirming for so long.
const SELECTED: SignedDuration = SignedDuration::from_secs(30);
/// An email that is opened needs no confirming for so long.
const OPENED: SignedDuration = SignedDuration::from_secs(5);
/// The longest time between two confirmations of what stays visible.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);
/// Without a key for so long, nobody looks.
const ABSENT: SignedDuration = SignedDuration::from_mins(15);
/// Requests a minute that confirm what is looked at.
const REQUESTS_A_MINUTE: usize = 20;
/// Requests of one effect: fewer than a minute's, so that what is scrolled to next does not wait long.
const REQUESTS_AT_ONCE: usize = 5;
/// An unsettled status is shown with its time if it was confirmed longer ago than this.
pub const AS_OF_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// The list is live while the newest page was answered within this time.
const HEAD_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// What is looked at, and what was done to confirm it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Freshness {
    visible: Vec<EmailId>,
    /// Since when the viewport is the same.
    since: Timestamp,
    /// Confirmations since then.
    rounds: u32,
    selected: Option<EmailId>,
    selected_since: Timestamp,
    /// Rows that were confirmed before this are due: the user asked for it.
    demanded: Timestamp,
    /// When a key was pressed last.
    active: Timestamp,
    /// When the requests of the last minute were made.
    requests: VecDeque<Timestamp>,
    request: Slot<()>,
    recheck: Slot<()>,
    /// Statuses that are due, as the last recheck has left them.
    pub(super) due: u64,
    timer: Slot<()>,
    /// When the timer ends.
    wakes: Option<Timestamp>,
}

impl Freshness {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            visible: Vec::new(),
            since: now,
            rounds: 0,
            selected: None,
            selected_since: now,
            demanded: Timestamp::MIN,
            active: now,
            requests: VecDeque::new(),
            request: Slot::default(),
            recheck: Slot::default(),
            due: 0,
            timer: Slot::default(),
            wakes: None,
        }
    }

    /// Whether this attempt to confirm is still wanted.
    pub(super) const fn awaits(&self, ticket: Ticket) -> bool {
        self.request.awaits(ticket)
    }

    /// Reads what is due in the background, unless that is being done.
    pub(super) fn recheck(&mut self) -> Option<Effect> {
        (!self.recheck.is_awaiting()).then(|| Effect::Recheck {
            ticket: self.recheck.begin(),
        })
    }

    /// Whether this recheck is still wanted.
    pub(super) const fn rechecks(&self, ticket: Ticket) -> bool {
        self.recheck.awaits(ticket)
    }

    /// The recheck was withdrawn before it was sent.
    pub(super) fn drop_recheck(&mut self, ticket: Ticket) {
        self.recheck.settle(ticket, Ok(()));
    }

    /// A user is here.
    pub(super) const fn note_activity(&mut self, now: Timestamp) {
        self.active = now;
    }

    /// Whether a user has done something lately.
    pub(super) fn is_watched(&self, now: Timestamp) -> bool {
        now.duration_since(self.active) < ABSENT
    }

    /// Everything visible is due that was confirmed before now.
    pub(super) const fn demand(&mut self, now: Timestamp) {
        self.demanded = now;
    }

    /// The attempt to confirm was withdrawn before it was sent.
    pub(super) fn drop_request(&mut self, ticket: Ticket) {
        if self.request.awaits(ticket) {
            self.request.clear();
        }
    }

    fn interval(&self, finality: Finality) -> Option<SignedDuration> {
        let again = self
            .rounds
            .checked_sub(1)
            .map(|rounds| SignedDuration::from_mins(1_i64 << rounds.min(4)).min(LONGEST));
        match finality {
            Finality::Final => None,
            Finality::Unsettled => Some(again.unwrap_or(UNSETTLED)),
            Finality::MayMove => Some(again.unwrap_or(MAY_MOVE).max(MAY_MOVE)),
        }
    }

    /// When a visible row is due; `None` if it needs no confirming.
    fn due_at(&self, row: &Row, now: Timestamp) -> Option<Timestamp> {
        let interval = self.interval(row.finality(now))?;
        let confirmed = row
            .confirmed
            .filter(|at| *at <= now && *at >= self.demanded);
        let mut due = confirmed
            .map_or(now, |at| after(at, interval))
            .max(after(self.since, VIEWPORT_REST));
        if confirmed.is_some()
            && self.selected.as_ref() == Some(&row.summary.id)
            && self.rounds == 0
        {
            let for_itself = confirmed
                .map_or(now, |at| after(at, SELECTED))
                .max(after(self.selected_since, SELECTED_REST));
            due = due.min(for_itself);
        }
        Some(due)
    }

    /// How many requests may be made now; if none, when the next may.
    fn budget(&mut self, now: Timestamp) -> Result<usize, Timestamp> {
        let minute = SignedDuration::from_secs(60);
        while self
            .requests
            .front()
            .is_some_and(|at| now.duration_since(*at) >= minute || *at > now)
        {
            self.requests.pop_front();
        }
        match REQUESTS_A_MINUTE - self.requests.len().min(REQUESTS_A_MINUTE) {
            0 => Err(after(self.requests.front().copied().unwrap_or(now), minute)),
            left => Ok(left.min(REQUESTS_AT_ONCE)),
        }
    }
}

/// Whether a row is unsettled and was not confirmed lately, so that its status is shown with a time.
#[must_use]
pub fn is_stale(row: &Row, now: Timestamp) -> bool {
    let is_fresh = row
        .confirmed
        .is_some_and(|at| at <= now && now.duration_since(at) <= AS_OF_AFTER);
    let created = row.summary.created.at.unwrap_or(now);
    row.summary.status.finality(now.duration_since(created)) == Finality::Unsettled && !is_fresh
}

/// Whether what is shown is what the service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The newest page was answered within a minute, and every visible unsettled row within two.
    Live,
    /// The newest page was answered then, which is longer ago.
    HeadAsOf(Timestamp),
    /// So many visible unsettled rows were not confirmed since then, or never.
    RowsAsOf(usize, Option<Timestamp>),
}

impl Model {
    /// Whether the list is live, as far as its service has answered at all.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        let now = self.now().timestamp();
        match self.service.as_of() {
            Some(at) if now.duration_since(at).abs() > HEAD_WITHIN => {
                return Liveness::HeadAsOf(at);
            }
            _ => {}
        }
        let stale: Vec<&Row> = self
            .visible_rows()
            .filter(|row| row.gone.is_none() && is_stale(row, now))
            .collect();
        if stale.is_empty() {
            Liveness::Live
        } else {
            Liveness::RowsAsOf(
                stale.len(),
                stale.iter().map(|row| row.confirmed).min().flatten(),
            )
        }
    }

    /// The rows that a user sees: those of the list, and the selected one if its email is shown.
    fn visible_rows(&self) -> impl Iterator<Item = &Row> {
        let layout = self.layout();
        let rows = if layout.list.area() > 0 {
            layout.rows()
        } else {
            0
        };
        let selected = self
            .list
            .selected()
            .filter(|_| rows == 0 && layout.reader.area() > 0);
        self.list.visible(rows).map(|(_, row)| row).chain(selected)
    }

    /// Confirms what is looked at and due, and wakes up when more will be.
    pub(super) fn confirm_visible(&mut self) -> Effects {
        let now = self.now().timestamp();
        let visible: Vec<EmailId> = self
            .visible_rows()
            .map(|row| row.summary.id.clone())
            .collect();
        let selected = self
            .list
            .selected()
            .map(|row| row.summary.id.clone())
            .filter(|_| self.layout().reader.area() > 0);
        let freshness = &mut self.freshness;
        if visible != freshness.visible {
            (freshness.visible, freshness.since, freshness.rounds) = (visible, now, 0);
        }
        if selected != freshness.selected {
            (freshness.selected, freshness.selected_since) = (selected, now);
        }
        let mut effects = Effects::new();
        let mut wake = self
            .service
            .as_of()
            .filter(|_| self.liveness() == Liveness::Live)
            .map(|at| after(at, HEAD_WITHIN));
        let stale_at = self.visible_rows().filter(|row| {
            row.gone.is_none() && row.finality(now) == Finality::Unsettled && !is_stale(row, now)
        });
        wake = wake
            .into_iter()
            .chain(stale_at.filter_map(|row| Some(after(row.confirmed?, AS_OF_AFTER))))
            .min();
        let can_ask =
            self.service.can_confirm() && self.hall.is_none() && self.freshness.is_watched(now);
        if can_ask && !self.freshness.request.is_awaiting() {
            let due: Vec<(Timestamp, EmailId)> = self
                .visible_rows()
                .filter_map(|row| Some((self.freshness.due_at(row, now)?, row.summary.id.clone())))
                .collect();
            let ids: Vec<EmailId> = due
                .iter()
                .filter(|(at, _)| *at <= now)
                .map(|(_, id)| id.clone())
                .collect();
            wake = wake
                .into_iter()
                .chain(due.iter().map(|(at, _)| *at).filter(|at| *at > now))
                .min();
            if !ids.is_empty() {
                match self.freshness.budget(now) {
                    Ok(most) => {
                        let urgency = if self.freshness.demanded > self.freshness.since {
                            Urgency::Person
                        } else {
                            Urgency::Head
                        };
                        effects.push(self.confirm(ids, most, urgency));
                    }
                    Err(at) => wake = wake.into_iter().chain([at]).min(),
                }
            }
        }
        effects.extend(self.wake_at(wake, now));
        effects
    }

    fn confirm(&mut self, ids: Vec<EmailId>, most: usize, urgency: Urgency) -> Effect {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        Effect::Confirm {
            ticket: self.freshness.request.begin(),
            ids,
            most,
            urgency,
        }
    }

    /// Confirms an email that was opened, if its body is here and its status may have changed.
    pub(super) fn confirm_opened(&mut self) -> Option<Effect> {
        let now = self.now().timestamp();
        let row = self.list.selected()?;
        let is_fresh = row
            .confirmed
            .is_some_and(|at| at <= now && now.duration_since(at) < OPENED);
        let needs = row.has_body
            && !is_fresh
            && row.finality(now) != Finality::Final
            && self.service.can_confirm();
        let id = row.summary.id.clone();
        needs.then(|| self.confirm(vec![id], 1, Urgency::Person))
    }

    /// Takes what confirming brought.
    pub(super) fn confirmed(
        &mut self,
        ticket: Ticket,
        outcome: Result<Confirmation, Failure>,
    ) -> Effects {
        let now = self.now().timestamp();
        // What an older attempt brings is in the archive as well.
        let is_current = self.freshness.request.settle(ticket, Ok(()));
        match outcome {
            Ok(confirmation) => {
                self.freshness.rounds += u32::from(is_current);
                self.freshness
                    .requests
                    .extend((0..confirmation.requests).map(|_| now));
                self.take_confirmed(confirmation.news)
            }
            Err(failure) => {
                self.freshness.requests.push_back(now);
                self.service.note_failure(failure, now);
                Effects::new()
            }
        }
    }

    /// Takes what a recheck brought; goes on while something is due. After a failure it goes on with the
    /// next refresh.
    pub(super) fn rechecked(
        &mut self,
        ticket: Ticket,
        outcome: Result<(Option<News>, u64), Failure>,
    ) -> Effects {
        let now = self.now().timestamp();
        if !self.freshness.recheck.settle(ticket, Ok(())) {
            return Effects::new();
        }
        match outcome {
            Ok((None, due)) => {
                self.freshness.due = due;
                Effects::new()
            }
            Ok((Some(news), due)) => {
                self.freshness.due = due;
                let mut effects = self.take_confirmed(news);
                effects.extend(self.freshness.recheck());
                effects
            }
            Err(failure) => {
                self.service.note_failure(failure, now);
                Effects::new()
            }
        }
    }

    /// Sets the timer, unless it ends early enough anyway: then it is set again when it has ended.
    fn wake_at(&mut self, wake: Option<Timestamp>, now: Timestamp) -> Option<Effect> {
        let wake = wake?;
        let freshness = &mut self.freshness;
        if freshness.timer.is_awaiting() && freshness.wakes.is_some_and(|at| at <= wake) {
            return None;
        }
        freshness.wakes = Some(wake);
        let pause = Duration::try_from(wake.duration_since(now))
            .unwrap_or_default()
            .max(Duration::from_millis(50));
        Some(Effect::Rest {
            ticket: freshness.timer.begin(),
            what: Rest::Freshness,
            pause,
        })
    }

    /// The timer has ended; what is due now is found out after each message.
    pub(super) fn freshness_rested(&mut self, ticket: Ticket) {
        self.freshness.timer.settle(ticket, Ok(()));
    }
}

fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}
