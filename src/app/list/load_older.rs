//! The search of older mail:
//! loads page after page until enough emails match, or back to a date.
//!
//! A filter with fewer matches than rows on the screen begins it by itself, once the user rests, with a
//! limited number of background requests. Nothing is requested that cannot match: the search ends where
//! the dates of the filter end.
//!
//! `OlderLoaded` calls `apply_older_page`, `Counted` calls `continue_load_older`, which requests the next
//! page or goes to the date.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::api::{MAX_LIMIT, Priority};
use crate::app::chooser::Question;
use crate::app::commands::Command;
use crate::app::effect::{Effect, Pending, RequestId, TimerKind};
use crate::app::model::Model;
use crate::app::service::status_check::CheckState;
use crate::archive::Coverage;
use crate::error::{Error, ErrorKind, Result};
use crate::query::Query;
use crate::sync::SyncReport;
use crate::text::format::{format_pause, plural};

/// Requests until a search without a key press pauses.
pub const MAX_AUTOMATIC_REQUESTS: u32 = 100;
/// How long the user rests before a search begins without a key press.
const AUTOMATIC_DELAY: Duration = Duration::from_secs(1);

/// A running search of older mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOlder {
    pub goal: LoadOlderGoal,
    /// The number of loaded emails, matching or not.
    pub loaded: u64,
    /// The number of responses.
    pub requests: u32,
}

impl LoadOlder {
    /// Whether no key has begun it.
    pub fn is_automatic(self) -> bool {
        self.goal == LoadOlderGoal::FullScreen
    }
}

/// When a search of older mail ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOlderGoal {
    /// At so many matching emails; unknown until they are counted first.
    Matches(Option<u64>),
    /// At a screen of matching emails, or [`MAX_AUTOMATIC_REQUESTS`]:
    /// the user pressed no key for it.
    FullScreen,
    /// At this time. Then the list goes to `jump_to`, in microseconds since 1970.
    Since { start: Timestamp, jump_to: i64 },
}

/// The search of older mail, and when one begins without a key press.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadOlderState {
    pub running: Option<LoadOlder>,
    /// Whether the user has stopped the fetch near the end of the list.
    pub(in crate::app) is_stopped_at_end: bool,
    /// The rest of the user before an automatic search.
    timer: Pending<()>,
    /// The filter for which an automatic search has begun, so that it begins once.
    begun_for: Option<Arc<Query>>,
    /// The retrieval of the one email that the filter can match.
    by_id: Pending<()>,
}

impl LoadOlderState {
    /// Starts the rest again: the user has pressed a key.
    pub(in crate::app) fn delay_automatic_search(&mut self) {
        self.timer.reset();
    }

    /// Whether the email with the id of the filter is being retrieved.
    pub const fn is_retrieving_by_id(&self) -> bool {
        self.by_id.is_pending()
    }

    /// Whether this request retrieves the email with the id of the filter.
    pub(in crate::app) const fn is_retrieving(&self, request: RequestId) -> bool {
        self.by_id.is_current(request)
    }

    /// Whether a search of older mail begins by itself as soon as the user rests.
    pub const fn is_about_to_start(&self) -> bool {
        self.timer.is_pending()
    }
}

impl Model {
    /// Whether older mail may match the filter.
    pub fn may_find_older(&self) -> bool {
        let filter = &self.list.filter;
        !filter.is_empty() && !filter.has_impossible_value() && self.can_load_older()
    }

    /// Whether the service has older mail that may match.
    pub fn can_load_older(&self) -> bool {
        let is_at_limit = self.service.exhausted && self.list.left_out.has_age_limit;
        self.service.has_older() && !is_at_limit && self.covered_filter_start().is_none()
    }

    /// The oldest time that the filter matches, if the archive is complete since then.
    /// No status of mail that is not loaded was seen to change.
    pub fn covered_filter_start(&self) -> Option<Timestamp> {
        let (unchanged, _) = self.list.filter.query().split_seen_changes();
        let oldest = unchanged?.time_bounds(true).oldest?;
        self.covers(oldest).then_some(oldest)
    }

    /// Whether the archive is complete since before this time,
    /// as far as the service has mail.
    fn covers(&self, time: Timestamp) -> bool {
        match &self.service.coverage {
            Some(Coverage::Complete) => true,
            Some(Coverage::Since(since)) => since.parsed.is_some_and(|since| since <= time),
            Some(Coverage::Unknown) | None => false,
        }
    }

    /// An error if there is no older mail that could match,
    /// or no connection to the service.
    pub(in crate::app) fn check_load_older(&self) -> Result<(), String> {
        if self.can_load_older() || self.load_older.running.is_some() {
            Ok(())
        } else {
            Err(self.no_older_mail_text())
        }
    }

    fn no_older_mail_text(&self) -> String {
        if let Some(start) = self.covered_filter_start() {
            let day = self.format_day(start);
            return format!("nothing older can match: the filter begins at {day}");
        }
        match (
            self.service.unavailable.as_ref(),
            self.service.coverage.as_ref(),
        ) {
            (Some(unavailable), _) => unavailable.error.message.clone(),
            // The notice may stay when the service no longer answers.
            (None, Some(Coverage::Complete)) => {
                let loaded = self.service.as_of.map_or_else(
                    || "all mail of the service is loaded".to_owned(),
                    |at| format!("all mail as of {} is loaded", self.format_date_time(at)),
                );
                match self.list.left_out.describe() {
                    Some(left_out) => format!("{loaded}; {left_out}"),
                    None => loaded,
                }
            }
            (None, Some(_)) if self.service.exhausted && self.list.left_out.has_age_limit => {
                "the archive keeps no older mail (keep, or archive purge --older)".to_owned()
            }
            (None, Some(_)) if self.service.exhausted => {
                "the service sends no older mail, but does not show that there is none".to_owned()
            }
            (None, _) => {
                let state = self.service_state().label();
                self.with_hint(state, Command::Refresh, "retries now")
            }
        }
    }

    /// Starts to load older mail until enough of it matches.
    pub(in crate::app) fn start_load_older(&mut self) {
        let screen = self.list_viewport().lines as u64;
        let goal = LoadOlderGoal::Matches(self.list.total.map(|total| total + screen));
        let is_covered = self.covered_filter_start().is_some();
        match &mut self.load_older.running {
            // The user waits from now on.
            Some(search) if search.is_automatic() => {
                search.goal = goal;
                self.service.older_request.reset();
                let request = self.service.request_older(Priority::Interactive);
                self.outbox.extend(request);
            }
            Some(_) => {}
            None if is_covered => self.notify(self.no_older_mail_text()),
            None => self.start_search(goal, Priority::Interactive),
        }
    }

    fn start_search(&mut self, goal: LoadOlderGoal, priority: Priority) {
        let request = self.service.request_older(priority);
        if request.is_none() && !self.service.is_loading_older() {
            self.notify(self.no_older_mail_text());
            return;
        }
        self.outbox.extend(request);
        self.load_older.is_stopped_at_end = false;
        self.load_older.running = Some(LoadOlder {
            goal,
            loaded: 0,
            requests: 0,
        });
    }

    /// Whether the filter has too few matches for the screen, and older mail may match.
    fn needs_automatic_search(&self) -> bool {
        let screen = self.list_viewport().lines as u64;
        let has_few = self.list.total.is_some_and(|total| total < screen);
        let check = self.status_check.current.as_ref();
        has_few
            && check.is_none_or(|check| check.state != CheckState::Running)
            && self.may_find_older()
            && self.service.has_answered
            && self.service.error.is_none()
            && self.load_older.running.is_none()
            && self.prompt.is_none()
            && self.start_screen.is_none()
            && self.load_older.begun_for.as_ref() != Some(self.list.filter.query())
    }

    /// Begins to wait until the user rests, if the filter needs older mail.
    pub(in crate::app) fn schedule_automatic_search(&mut self) {
        if self.list.filter.is_empty() {
            self.load_older.begun_for = None;
        }
        let is_begun = self.load_older.begun_for.as_ref() == Some(self.list.filter.query());
        if self.load_older.by_id.is_pending() && !is_begun {
            self.load_older.by_id.reset();
        }
        if !self.needs_automatic_search() {
            self.load_older.delay_automatic_search();
        } else if !self.load_older.timer.is_pending() {
            let pending = &mut self.load_older.timer;
            let timer = pending.start_timer(TimerKind::AutomaticSearch, AUTOMATIC_DELAY);
            self.outbox.push(timer);
        }
    }

    pub(in crate::app) fn automatic_search_timer_fired(&mut self, request: RequestId) {
        if self.load_older.timer.finish(request) && self.needs_automatic_search() {
            self.load_older.begun_for = Some(Arc::clone(self.list.filter.query()));
            match self.list.filter.query().whole_id() {
                // One request answers what the list answers after many.
                Some(id) => {
                    let request = self.load_older.by_id.start();
                    self.outbox.push(Effect::RetrieveById(request, id));
                }
                None => self.start_search(LoadOlderGoal::FullScreen, Priority::Backfill),
            }
        }
    }

    /// Shows the email that was retrieved because the filter is its id.
    pub(in crate::app) fn apply_retrieved_by_id(
        &mut self,
        request: RequestId,
        result: Result<bool>,
    ) {
        if !self.load_older.by_id.finish(request) {
            return;
        }
        match result {
            Ok(true) => self.reload_list(),
            Ok(false) => self.notify(
                "the service has this email, but the archive leaves it out: it was purged, or is too old",
            ),
            // It may be in a subject or a body.
            Err(error)
                if error.kind == ErrorKind::NotFound && self.list.filter.query().needs_bodies() =>
            {
                self.start_search(LoadOlderGoal::FullScreen, Priority::Backfill);
            }
            Err(error) if error.kind == ErrorKind::NotFound => {
                self.notify("the service has no email with this id");
            }
            Err(error) => self.notify_failure(error.prefixed("the email was not retrieved")),
        }
    }

    /// Stops a search that no key has begun: the user reads what is there.
    pub(in crate::app) fn stop_automatic_search(&mut self) {
        if self.load_older.running.is_some_and(LoadOlder::is_automatic) {
            self.stop_load_older();
        }
    }

    /// Counts the emails of a page; `None` if the request failed.
    pub(in crate::app) fn apply_older_page(&mut self, report: Option<&SyncReport>) {
        let Some(search) = &mut self.load_older.running else {
            return;
        };
        if let Some(report) = report {
            search.loaded += report.new;
            // A run passes pages that have only purged emails.
            let requests = u32::try_from(report.requests).unwrap_or(u32::MAX);
            search.requests = search.requests.saturating_add(requests.max(1));
        } else {
            self.load_older.running = None;
            let error = self.service.last_error().cloned().unwrap_or_else(|| {
                Error::new(ErrorKind::Unreachable, "no response from the service")
            });
            self.notify_failure(error.prefixed("the search of older mail has stopped"));
        }
    }

    /// Requests the next page if too few emails match so far; stops without a count.
    pub(in crate::app) fn continue_load_older(&mut self, counted: bool) {
        let screen = self.list_viewport().lines as u64;
        let total = self.list.total.unwrap_or_default();
        let Some(search) = &mut self.load_older.running else {
            return;
        };
        if self.service.is_loading_older() {
            return;
        }
        let (target, priority) = match &mut search.goal {
            LoadOlderGoal::Since { .. } => return self.continue_load_since(),
            LoadOlderGoal::Matches(target) => {
                let target = *target.get_or_insert(total + screen);
                (target, Priority::Interactive)
            }
            LoadOlderGoal::FullScreen => (screen, Priority::Backfill),
        };
        let is_automatic = search.is_automatic();
        let requests = search.requests;
        let is_used_up = is_automatic && requests >= MAX_AUTOMATIC_REQUESTS;
        if !counted || total >= target || self.list.is_capped {
            self.load_older.running = None;
        } else if self.covered_filter_start().is_some() {
            self.load_older.running = None;
            self.notify(self.no_older_mail_text());
        } else if is_used_up {
            self.load_older.running = None;
            let requests = plural(requests.into(), "request");
            let text = format!("searched older mail with {requests}");
            self.notify_with(&text, Command::LoadOlder, "continues");
        } else {
            self.request_next_page(priority);
        }
    }

    fn request_next_page(&mut self, priority: Priority) -> bool {
        let request = self.service.request_older(priority);
        let is_requested = request.is_some();
        if !is_requested {
            self.load_older.running = None;
            self.notify(self.no_older_mail_text());
        }
        self.outbox.extend(request);
        is_requested
    }

    /// Shows a question before going to a time of which no mail is loaded.
    /// False if it is loaded, or cannot be.
    pub(super) fn offer_load_since(&mut self, start: Timestamp, jump_to: i64) -> bool {
        let may_help = self.service.may_load_older()
            && self.service.error.is_none()
            && !self.covers(start)
            && self.covered_filter_start().is_none();
        if may_help {
            self.open_question(Question::LoadSince { start, jump_to });
        }
        may_help
    }

    /// Estimates the requests back to a time, if the mail before the covered range is
    /// as dense as that range. `None` if that has no length.
    pub fn estimate_requests_since(&self, start: Timestamp) -> Option<u64> {
        let Some(Coverage::Since(since)) = &self.service.coverage else {
            return None;
        };
        let since = since.parsed?;
        let (_, newest) = self.list.archive_span?;
        let loaded = newest.duration_since(since).as_secs();
        let missing = since.duration_since(start).as_secs().max(0);
        let emails = (i128::from(self.list.archive_total?) * i128::from(missing))
            .checked_div(i128::from(loaded))?;
        u64::try_from(emails.div_euclid(i128::from(MAX_LIMIT)) + 1).ok()
    }

    /// Formats a number of requests and how long they take:
    /// `40 requests, 20 s at the present rate`. Background requests also wait for others,
    /// so for those it is the least time.
    pub(in crate::app) fn format_effort(&self, requests: u64, priority: Priority) -> String {
        let (rate, least) = match priority {
            Priority::Interactive => (self.rate_budget.map(|budget| budget.rate), ""),
            _ => (
                self.rate_budget.map(|budget| budget.background),
                "at least ",
            ),
        };
        let requests_text = plural(requests, "request");
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = rate.map(|rate| (requests as f64 / rate.max(0.001)).min(1e9));
        seconds.map_or(requests_text.clone(), |seconds| {
            let time = format_pause(Duration::from_secs_f64(seconds));
            format!("{requests_text}, {least}{time} at the present rate")
        })
    }

    /// Loads mail back to a time, then goes there.
    pub(in crate::app) fn start_load_since(&mut self, start: Timestamp, jump_to: i64) {
        let goal = LoadOlderGoal::Since { start, jump_to };
        self.start_search(goal, Priority::Interactive);
    }

    /// Goes to the time that is loaded and counted now, or requests the next page.
    pub(in crate::app) fn continue_load_since(&mut self) {
        let Some(LoadOlder {
            goal: LoadOlderGoal::Since { start, jump_to },
            ..
        }) = self.load_older.running
        else {
            return;
        };
        if self.covers(start) {
            if self.list.count.request.is_pending() {
                // The oldest email may be of the last page; `Counted` continues.
                return;
            }
            self.load_older.running = None;
        } else if self.request_next_page(Priority::Interactive) {
            return;
        }
        self.jump_to_time(jump_to);
    }

    /// Stops the search of older mail, or the fetch near the end of the list;
    /// false if there is none.
    pub(in crate::app) fn stop_load_older(&mut self) -> bool {
        if self.load_older.by_id.is_pending() {
            self.load_older.by_id.reset();
            self.notify_with("stopped asking for this id", Command::LoadOlder, "searches");
            return true;
        }
        let fetches = self.service.is_loading_older() && self.needs_older();
        let search = self.load_older.running.take();
        if search.is_none() && !fetches {
            return false;
        }
        if fetches {
            self.service.older_request.reset();
            self.load_older.is_stopped_at_end = true;
        }
        match search.map(|search| search.goal) {
            Some(LoadOlderGoal::Since { .. }) => self.notify("stopped loading older mail"),
            Some(LoadOlderGoal::Matches(_) | LoadOlderGoal::FullScreen) => self.notify_with(
                "stopped searching older mail",
                Command::LoadOlder,
                "continues",
            ),
            None => self.notify_with(
                "stopped fetching older emails",
                Command::LoadOlder,
                "continues",
            ),
        }
        true
    }
}
