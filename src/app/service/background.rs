//! Background requests (no key press):
//! prefetch and countdown, and cancellation of obsolete requests.
//!
//! A prefetch starts once the user has acted, the selected email is shown, and the service answers; the
//! rate limiter decides when it is sent. The countdown ticks while the service's pause lasts.
//!
//! `Model::reconcile` ends with `schedule_background`. After each message the event loop cancels the
//! requests for which `Model::is_wanted` is false.

use std::time::Duration;

use crate::app::effect::{Effect, Pending, RequestId, RequestKind, TimerKind};
use crate::app::model::Model;
use crate::app::notice::NoticeKind;
use crate::app::reader::ReaderState;
use crate::app::service::state::ServiceState;
use crate::archive::EmailRow;
use crate::mail::EmailId;

/// The emails that were prefetched around the selected one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct Prefetch {
    center: Option<EmailId>,
    requested: Vec<EmailId>,
    pub(in crate::app) request: Pending<()>,
}

impl Prefetch {
    /// Requests the emails right below and right above `id` in `rows`,
    /// one after the other, unless their bodies are stored.
    pub(super) fn next_request(&mut self, id: &EmailId, rows: &[EmailRow]) -> Option<Effect> {
        if self.center.as_ref() != Some(id) {
            self.reset();
            self.center = Some(id.clone());
        }
        if self.request.is_pending() {
            return None;
        }
        let at = rows.iter().position(|row| row.summary.id == *id)?;
        let mut beside = [Some(at + 1), at.checked_sub(1)]
            .into_iter()
            .flatten()
            .filter_map(|n| rows.get(n));
        let wanted =
            |row: &&EmailRow| row.lacks_body() && !self.requested.contains(&row.summary.id);
        let id = beside.find(wanted)?.summary.id.clone();
        self.requested.push(id.clone());
        Some(Effect::PrefetchEmail(self.request.start(), id))
    }

    /// Forgets the current email and cancels its request.
    /// A late answer to it stays stale.
    pub(in crate::app) fn reset(&mut self) {
        *self = Self {
            request: std::mem::take(&mut self.request),
            ..Self::default()
        };
        self.request.reset();
    }
}

impl Model {
    /// Whether a request is still needed.
    /// An obsolete one that was not sent yet is cancelled.
    pub fn is_wanted(&self, kind: RequestKind, request: RequestId) -> bool {
        match kind {
            RequestKind::LoadEmail => self.reader.is_email_current(request),
            RequestKind::RetrieveById => self.load_older.is_retrieving(request),
            RequestKind::Prefetch => self.prefetch.request.is_current(request),
            RequestKind::LoadOlder => {
                self.service.older_request.is_current(request)
                    && (self.load_older.running.is_some() || self.needs_older())
            }
            RequestKind::Backfill => self.service.is_backfill_current(request),
            RequestKind::Refresh => self.service.refresh_request.is_current(request),
            RequestKind::ConfirmStatuses => self.freshness.confirm_request.is_current(request),
            RequestKind::RecheckStatuses => self.freshness.recheck_request.is_current(request),
            RequestKind::CheckStatuses => self.status_check.request.is_current(request),
            RequestKind::Export => self.export.is_step_current(request),
            RequestKind::FetchBodies => self.body_fetch.request.is_current(request),
            RequestKind::Statistics => self.is_statistics_current(request),
            RequestKind::LoadAttachments => self.attachments.lookup.request.is_current(request),
            RequestKind::SaveAttachment => self.attachments.save.is_current(request),
            RequestKind::LoadSuppression => self.suppressions.request.is_current(request),
            RequestKind::LoadMetrics => self.metrics.request.is_current(request),
            RequestKind::Countdown => self.countdown.is_current(request),
        }
    }

    /// Whether nothing is loading that the user waits for;
    /// the automatic refresh may run.
    pub fn is_idle(&self) -> bool {
        let is_read = !matches!(
            self.reader_state(),
            ReaderState::Debouncing | ReaderState::Loading | ReaderState::Ready(_, None)
        );
        let search = self.load_older.running;
        let is_searching = search.is_some_and(|search| !search.is_automatic());
        let is_loading = self.list.is_window_pending()
            || self.list.count.request.is_pending()
            || self.recipient_card.summary.is_pending()
            || self.email_save.request.is_pending()
            || self.view_file.is_pending()
            || self.mailbox_switch.request.is_pending()
            || self.statistics.result.is_pending()
            || self.watch_list.is_pending()
            || self.marks.is_pending()
            || self.export.is_planning()
            || self.export.running.is_some()
            || (self.session.is_linear && (self.is_looking_up() || self.reader.is_searching()))
            || is_searching
            || self.service.announce_refresh
            || (self.service.is_loading_older() && self.needs_older());
        !is_loading && (!self.panes.reader_open || (is_read && !self.reader.is_rendering()))
    }

    /// Whether more about the open email, or a file, is being requested.
    const fn is_looking_up(&self) -> bool {
        self.attachments.lookup.request.is_pending()
            || self.attachments.save.is_pending()
            || self.suppressions.request.is_pending()
            || self.metrics.request.is_pending()
    }

    /// Whether the selection nears the end of the stored mail.
    pub(in crate::app) fn needs_older(&self) -> bool {
        self.list.filter.is_empty()
            && (self.list.is_window_pending() || self.list.is_near_end(&self.list_viewport()))
    }

    /// Allows a cancelled request to be made again.
    /// Most kinds are cancelled only after a newer request has replaced them, or they were reset; an export
    /// ends by its progress.
    pub(in crate::app) fn request_cancelled(&mut self, kind: RequestKind, request: RequestId) {
        match kind {
            RequestKind::LoadOlder => _ = self.service.older_request.finish(request),
            RequestKind::Backfill => _ = self.service.backfill.request.finish(request),
            _ => {}
        }
    }

    /// Schedules backfill, prefetch and the countdown.
    pub(in crate::app) fn schedule_background(&mut self) {
        self.outbox
            .extend(self.service.request_backfill(self.now.timestamp()));
        let may_prefetch = self.user_acted
            && !self.reader.is_debouncing()
            && self.reader_state().opened().is_some()
            && self.service.is_answering();
        match self.list.selected().filter(|_| may_prefetch) {
            Some(row) => {
                let rows = self.list.rows();
                self.outbox
                    .extend(self.prefetch.next_request(&row.summary.id, rows));
            }
            None => self.prefetch.reset(),
        }
        let paused = self
            .rate_budget
            .is_some_and(|budget| !budget.paused_for.is_zero());
        // A pause may begin while the user waits for an answer, or no answer may come.
        let waits = self.rate_budget.is_some()
            && (matches!(self.reader_state(), ReaderState::Loading)
                || self.service.is_loading_older()
                || self.service.is_refreshing()
                || self.export.is_retrieving());
        let pause = if self.long_pause_until().is_some() {
            Duration::from_mins(1)
        } else {
            Duration::from_secs(1)
        };
        if matches!(self.service_state(), ServiceState::RateLimited(_)) {
            self.end_notice(&NoticeKind::Refreshing);
        }
        if !paused && !waits {
            self.countdown.reset();
        } else if !self.countdown.is_pending() {
            let timer = self.countdown.start_timer(TimerKind::Countdown, pause);
            self.outbox.push(timer);
        }
    }
}
