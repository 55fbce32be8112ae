//! Confirmation of visible statuses: which rows, when, and with how many requests.
//!
//! Rows that enter the viewport are due 30 seconds (in progress) or 10 minutes (may change) after
//! their confirmation. While the viewport stays the same they are confirmed again after 1, 2, 4, 8,
//! then every 15 minutes. The selected email is due sooner: 2 seconds after it was selected.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::api::Priority;
use crate::app::effect::{Effect, Pending, RequestId, TimerKind};
use crate::app::model::Model;
use crate::archive::EmailRow;
use crate::error::Result;
use crate::mail::{EmailId, Finality};
use crate::sync::{ConfirmReport, SyncReport};

/// A visible row in progress is confirmed again after this time.
const IN_PROGRESS_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// A visible row that may change is confirmed again after this time.
const MAY_CHANGE_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// The viewport rests for this time before its rows are confirmed,
/// so that a held key costs nothing.
const VIEWPORT_DEBOUNCE: SignedDuration = SignedDuration::from_millis(500);
/// An email is selected for this time before it is confirmed alone.
const SELECTION_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// The selected email is confirmed again after this time.
const SELECTED_MAX_AGE: SignedDuration = SignedDuration::from_secs(30);
/// An opened email is confirmed if its last confirmation is older than this.
const OPENED_MAX_AGE: SignedDuration = SignedDuration::from_secs(5);
/// The longest time between two confirmations of the same viewport.
const MAX_INTERVAL: SignedDuration = SignedDuration::from_mins(15);
/// After this time without a key press or use of the mouse nothing is confirmed.
const IDLE_AFTER: SignedDuration = SignedDuration::from_mins(15);
/// Confirming requests per minute.
const REQUESTS_PER_MINUTE: usize = 20;
/// Requests of one effect: few, so that the rows of the next viewport do not wait
/// long.
const REQUESTS_PER_EFFECT: usize = 5;
/// A timer that ends so much too early is not replaced:
/// that would cost more than its end does.
const TIMER_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
/// A status in progress is shown with the time of its confirmation if that is older
/// than this.
pub const STALE_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// The list is live while its last refresh is not older than this.
pub(super) const LIVE_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// The viewport and its confirmations.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct Freshness {
    visible: Vec<EmailId>,
    /// The time of the last change of the viewport.
    visible_since: Timestamp,
    /// The number of confirmations since then.
    confirm_rounds: u32,
    selected: Option<EmailId>,
    selected_since: Timestamp,
    /// Rows confirmed before this are due: the time of the last refresh by the user.
    pub(in crate::app) forced_at: Timestamp,
    /// The time of the last key press or use of the mouse.
    pub(in crate::app) last_activity: Timestamp,
    /// The times of the requests of the last minute.
    recent_requests: VecDeque<Timestamp>,
    pub(in crate::app) confirm_request: Pending<()>,
    /// The emails of the latest such request, and when it was sent.
    last_confirmed: (Vec<EmailId>, Timestamp),
    pub(super) recheck_request: Pending<()>,
    /// The number of statuses due after the last recheck.
    pub(in crate::app) due_count: u64,
    pub(in crate::app) timer: Pending<()>,
    /// When the timer ends.
    timer_at: Option<Timestamp>,
}

impl Freshness {
    pub(in crate::app) fn new(now: Timestamp) -> Self {
        Self {
            visible_since: now,
            selected_since: now,
            forced_at: Timestamp::MIN,
            last_activity: now,
            ..Self::default()
        }
    }

    /// Rechecks what is due after a request, unless a recheck is running.
    pub(super) fn start_recheck(&mut self, report: &SyncReport) -> Option<Effect> {
        self.due_count = report.due;
        (report.needs_recheck && !self.recheck_request.is_pending())
            .then(|| Effect::RecheckStatuses(self.recheck_request.start()))
    }

    /// Replaces times after now: the clock was set back.
    fn forget_future(&mut self, now: Timestamp) {
        for at in [
            &mut self.visible_since,
            &mut self.selected_since,
            &mut self.forced_at,
            &mut self.last_activity,
            &mut self.last_confirmed.1,
        ] {
            *at = now.min(*at);
        }
    }

    /// Whether a key or the mouse was used lately.
    pub(super) fn is_user_active(&self, now: Timestamp) -> bool {
        now.duration_since(self.last_activity) < IDLE_AFTER
    }

    fn confirm_interval(&self, finality: Finality) -> Option<SignedDuration> {
        let again = self
            .confirm_rounds
            .checked_sub(1)
            .map(|rounds| SignedDuration::from_mins(1_i64 << rounds.min(4)).min(MAX_INTERVAL));
        match finality {
            Finality::Final => None,
            Finality::InProgress => Some(again.unwrap_or(IN_PROGRESS_INTERVAL)),
            Finality::MayChange => Some(again.unwrap_or_default().max(MAY_CHANGE_INTERVAL)),
        }
    }

    /// The time at which a visible row is due; `None` if its status is final.
    fn due_at(&self, row: &EmailRow, now: Timestamp) -> Option<Timestamp> {
        let interval = self.confirm_interval(row.finality(now))?;
        let confirmed = row
            .confirmed_at
            .filter(|at| *at <= now && *at >= self.forced_at);
        let mut due = confirmed
            .map_or(now, |at| saturating_add(at, interval))
            .max(saturating_add(self.visible_since, VIEWPORT_DEBOUNCE));
        if confirmed.is_some()
            && self.selected.as_ref() == Some(&row.summary.id)
            && self.confirm_rounds == 0
        {
            let for_itself = confirmed
                .map_or(now, |at| saturating_add(at, SELECTED_MAX_AGE))
                .max(saturating_add(self.selected_since, SELECTION_DELAY));
            due = due.min(for_itself);
        }
        Some(due)
    }

    /// The time at which the same emails may be confirmed again:
    /// all of them are due still if a mirror has nothing newer.
    fn retry_at(&self, ids: &[EmailId]) -> Option<Timestamp> {
        let (last, at) = &self.last_confirmed;
        let interval = self.confirm_interval(Finality::InProgress)?;
        (last == ids && *at >= self.forced_at).then(|| saturating_add(*at, interval))
    }

    /// The number of requests allowed now; if none, the time of the next one.
    fn request_budget(&mut self, now: Timestamp) -> Result<usize, Timestamp> {
        let minute = SignedDuration::from_secs(60);
        while self
            .recent_requests
            .front()
            .is_some_and(|at| now.duration_since(*at) >= minute || *at > now)
        {
            self.recent_requests.pop_front();
        }
        match REQUESTS_PER_MINUTE - self.recent_requests.len().min(REQUESTS_PER_MINUTE) {
            0 => Err(saturating_add(
                self.recent_requests.front().copied().unwrap_or(now),
                minute,
            )),
            left => Ok(left.min(REQUESTS_PER_EFFECT)),
        }
    }
}

/// Whether a row in progress was not confirmed lately,
/// so that its status is shown with a time.
pub fn is_stale(row: &EmailRow, now: Timestamp) -> bool {
    let is_fresh = row
        .confirmed_at
        .is_some_and(|at| at <= now && now.duration_since(at) <= STALE_AFTER);
    let created = row.summary.created.parsed.unwrap_or(now);
    row.summary.status.finality(now.duration_since(created)) == Finality::InProgress && !is_fresh
}

/// Whether the list shows what the service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Refreshed within a minute, and each visible row in progress confirmed within
    /// two.
    Live,
    /// The time of the last refresh.
    ListAsOf(Timestamp),
    /// The number of stale rows and their oldest confirmation, if all were confirmed.
    RowsAsOf(usize, Option<Timestamp>),
}

impl Model {
    /// Whether the list is live, if the service has answered.
    pub fn liveness(&self) -> Liveness {
        let now = self.now.timestamp();
        if let Some(at) = self.service.as_of
            && (self.service.is_top_unknown || now.duration_since(at).abs() > LIVE_WITHIN)
        {
            return Liveness::ListAsOf(at);
        }
        let mut stale = self.visible_rows();
        stale.retain(|row| row.missing_since.is_none() && is_stale(row, now));
        match stale.iter().map(|row| row.confirmed_at).min() {
            None => Liveness::Live,
            Some(oldest) => Liveness::RowsAsOf(stale.len(), oldest),
        }
    }

    /// The visible rows: those of the list, or the selected one if only the reader is
    /// shown.
    fn visible_rows(&self) -> Vec<&EmailRow> {
        let layout = self.layout();
        if layout.row_capacity() > 0 {
            return self.list.visible_rows(&self.list_viewport()).collect();
        }
        let selected = self.list.selected();
        Vec::from_iter(selected.filter(|_| layout.reader.area() > 0))
    }

    /// Whether rows or the recipient card tell when a status was confirmed,
    /// and nothing loads them.
    pub(super) fn shows_confirmations(&self) -> bool {
        let now = self.now.timestamp();
        let may_change = |row: &&EmailRow| row.finality(now) != Finality::Final;
        !self.list.is_window_pending()
            && (self.recipient_card.is_shown() || self.visible_rows().iter().any(may_change))
    }

    /// Confirms due visible rows and watched emails, and sets the timer for the next
    /// ones.
    pub(in crate::app) fn confirm_visible(&mut self) {
        let now = self.now.timestamp();
        let rows = self.visible_rows().into_iter();
        let visible: Vec<EmailId> = rows.map(|row| row.summary.id.clone()).collect();
        let is_reader_visible = self.layout().reader.area() > 0;
        let selected = self.list.selected_id().filter(|_| is_reader_visible);
        let selected = selected.cloned();
        let freshness = &mut self.freshness;
        freshness.forget_future(now);
        if visible != freshness.visible {
            freshness.visible = visible;
            (freshness.visible_since, freshness.confirm_rounds) = (now, 0);
        }
        if selected != freshness.selected {
            (freshness.selected, freshness.selected_since) = (selected, now);
        }
        let live_since = self
            .service
            .as_of
            .filter(|_| self.liveness() == Liveness::Live);
        let live_until = live_since.map(|at| saturating_add(at, LIVE_WITHIN));
        let mut wake_times = Vec::from_iter(live_until);
        // A missing email is final.
        let mut in_progress = self.visible_rows();
        in_progress.retain(|row| row.finality(now) == Finality::InProgress && !is_stale(row, now));
        let stale_at = |row: &EmailRow| Some(saturating_add(row.confirmed_at?, STALE_AFTER));
        wake_times.extend(in_progress.into_iter().filter_map(stale_at));
        if self.service.can_confirm() && !self.freshness.confirm_request.is_pending() {
            let mut due: Vec<(Timestamp, EmailId)> = self.watch_list.due_times(now).collect();
            if self.start_screen.is_none() && self.freshness.is_user_active(now) {
                let due_row = |row: &EmailRow| {
                    Some((self.freshness.due_at(row, now)?, row.summary.id.clone()))
                };
                due.extend(self.visible_rows().into_iter().filter_map(due_row));
            }
            let (due, later): (Vec<_>, Vec<_>) = due.into_iter().partition(|(at, _)| *at <= now);
            wake_times.extend(later.into_iter().map(|(at, _)| at));
            if !due.is_empty() {
                let ids: Vec<EmailId> = due.into_iter().map(|(_, id)| id).collect();
                let retry_at = self.freshness.retry_at(&ids).filter(|at| *at > now);
                let budget = self.freshness.request_budget(now);
                match retry_at.map_or(budget, Err) {
                    Ok(most) => {
                        let priority = if self.freshness.forced_at > self.freshness.visible_since {
                            Priority::Interactive
                        } else {
                            Priority::Refresh
                        };
                        self.start_confirm(ids, most, priority);
                    }
                    Err(at) => wake_times.push(at),
                }
            }
        }
        if let Some(wake) = wake_times.into_iter().min() {
            self.set_freshness_timer(wake, now);
        }
    }

    fn start_confirm(&mut self, ids: Vec<EmailId>, most: usize, priority: Priority) {
        let now = self.now.timestamp();
        self.watch_list.note_request(&ids, now);
        self.freshness.last_confirmed = (ids.clone(), now);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        self.outbox.push(Effect::ConfirmStatuses {
            request: self.freshness.confirm_request.start(),
            ids,
            max_requests: most,
            priority,
        });
    }

    /// Confirms an opened email if its body is in the archive and its status may have
    /// changed.
    pub(in crate::app) fn confirm_opened_email(&mut self) {
        let now = self.now.timestamp();
        let Some(row) = self.list.selected() else {
            return;
        };
        let is_fresh = row
            .confirmed_at
            .is_some_and(|at| at <= now && now.duration_since(at) < OPENED_MAX_AGE);
        let needs = row.has_body
            && !is_fresh
            && row.finality(now) != Finality::Final
            && self.service.can_confirm();
        let id = row.summary.id.clone();
        if needs {
            self.start_confirm(vec![id], 1, Priority::Interactive);
        }
    }

    /// Stores the result of a confirmation.
    pub(in crate::app) fn apply_confirmation(
        &mut self,
        request: RequestId,
        result: Result<ConfirmReport>,
    ) {
        let now = self.now.timestamp();
        // The result of an older request is in the archive as well.
        let is_current = self.freshness.confirm_request.finish(request);
        match result {
            Ok(confirmation) => {
                self.freshness.confirm_rounds += u32::from(is_current);
                self.freshness
                    .recent_requests
                    .extend((0..confirmation.requests).map(|_| now));
                self.apply_confirmed(confirmation.sync_report);
            }
            Err(failure) => {
                self.freshness.last_confirmed = Default::default();
                self.freshness.recent_requests.push_back(now);
                self.service.record_error(failure, now);
            }
        }
    }

    /// Stores the result of a recheck; continues while statuses are due.
    /// After an error, the next refresh continues.
    pub(in crate::app) fn apply_recheck(
        &mut self,
        request: RequestId,
        result: Result<Option<SyncReport>>,
    ) {
        let now = self.now.timestamp();
        if !self.freshness.recheck_request.finish(request) {
            return;
        }
        match result {
            Ok(Some(report)) => {
                self.outbox.extend(self.freshness.start_recheck(&report));
                self.apply_confirmed(report);
            }
            Ok(None) => self.freshness.due_count = 0,
            Err(failure) => {
                self.service.record_error(failure, now);
            }
        }
    }

    /// Sets the timer, unless it ends little earlier anyway:
    /// then it is set again when it ends.
    fn set_freshness_timer(&mut self, wake: Timestamp, now: Timestamp) {
        let freshness = &mut self.freshness;
        let is_near = |at| (at..saturating_add(at, TIMER_TOLERANCE)).contains(&wake);
        if freshness.timer.is_pending() && freshness.timer_at.is_some_and(is_near) {
            return;
        }
        freshness.timer_at = Some(wake);
        let pause = Duration::try_from(wake.duration_since(now))
            .unwrap_or_default()
            .max(Duration::from_millis(50));
        let timer = freshness.timer.start_timer(TimerKind::Freshness, pause);
        self.outbox.push(timer);
    }
}

pub(in crate::app) fn saturating_add(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}
