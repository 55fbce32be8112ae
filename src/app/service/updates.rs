//! How the model applies the answers of the service and the changes of the archive.
//!
//! `Model::update` (`model.rs`) passes each answer to one `apply_*` here.

use super::freshness::LIVE_WITHIN;
use crate::api::describe_clock_skew;
use crate::app::commands::Command;
use crate::app::effect::RequestId;
use crate::app::model::Model;
use crate::app::notice::NoticeKind;
use crate::app::reader::ReaderState;
use crate::app::session::StorageMode;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;
use crate::sync::{BackfillStep, SyncReport};

impl Model {
    /// Reports emails that cannot be read, if there are more than in any response
    /// before.
    fn report_unreadable(&mut self, report: Option<&SyncReport>) {
        if let Some(report) = report.filter(|report| report.unreadable > self.service.unreadable)
            && let Some(text) = report.unreadable_text()
        {
            self.service.unreadable = report.unreadable;
            self.notify(text);
        }
    }

    pub(in crate::app) fn apply_refresh(&mut self, request: RequestId, result: Result<SyncReport>) {
        let catching_up = self.service.is_catching_up();
        let was_failing = self.service.failing_since().is_some();
        let (now, has_age_limit) = (self.now.timestamp(), self.list.left_out.has_age_limit);
        let (report, timer) = (self.service).apply_refresh(request, result, has_age_limit, now);
        self.outbox.extend(timer);
        self.report_unreadable(report.as_ref());
        // An older refresh may have been answered.
        let is_announced =
            !self.service.is_refreshing() && std::mem::take(&mut self.service.announce_refresh);
        if is_announced {
            self.reload_statistics();
        }
        let Some(report) = report else {
            if is_announced {
                self.notify_refresh_failure();
            }
            return;
        };
        self.end_notice(&NoticeKind::RefreshFailure);
        self.service.clock_warning = report.clock_skew.and_then(describe_clock_skew);
        self.retry_statistics();
        let announcement = is_announced.then(|| self.format_refresh(&report));
        if was_failing && self.reader.needs_retry(true) {
            self.outbox.extend(self.reader.reload());
        }
        self.outbox.extend(self.freshness.start_recheck(&report));
        if self.shows_confirmations() {
            self.apply_confirmed(report);
        } else if !self.apply_update(report.new, report.changed_ids) && report.deletions_changed {
            self.reload_list();
        }
        if let Some(text) = announcement {
            self.notify_as(NoticeKind::ListState, text);
        }
        self.warn_of_clock();
        self.count_changes();
        if catching_up && !self.user_acted {
            // The user has not moved yet: show the newest email.
            self.outbox.push(self.list.load_first());
        }
    }

    /// Formats the result of a refresh, with the time of the list if that is old.
    fn format_refresh(&self, report: &SyncReport) -> String {
        let text = report.summary_text();
        let age = |at| self.now.timestamp().duration_since(at);
        match report.refreshed_at.filter(|at| age(*at) > LIVE_WITHIN) {
            Some(at) => {
                let at = self.format_date_time(at);
                format!("{text} as of {at}; a mirror or a cache answered, not the service")
            }
            None => text,
        }
    }

    fn notify_refresh_failure(&mut self) {
        self.notice = None;
        let Some(error) = self.service.last_error() else {
            return;
        };
        let is_linear = self.session.is_linear;
        let text = match error.kind {
            ErrorKind::RateLimited if is_linear => format!("{}; {}", error.message, error.hint),
            // The countdown is shown instead.
            ErrorKind::RateLimited => return,
            // Nothing is sent until the user tries again. The session keeps its key, to which its archive belongs.
            kind if kind.is_key_error() && !is_linear => {
                let text = kind.service_state();
                let text = self.with_list_hint(text, Command::Refresh, "tries again");
                format!("{text}; a new key is read at the next start")
            }
            _ => error.message.clone(),
        };
        self.notify_as(NoticeKind::RefreshFailure, text);
    }

    pub(in crate::app) fn apply_older(&mut self, request: RequestId, result: Result<SyncReport>) {
        if !self.service.older_request.finish(request) {
            // The user has requested the same page since, with a higher priority.
            return;
        }
        let now = self.now.timestamp();
        let (report, timer) = self.service.apply_older(result, now);
        self.outbox.extend(timer);
        self.apply_older_page(report.as_ref());
        self.report_unreadable(report.as_ref());
        if let Some(report) = report {
            self.show_older(&report);
            self.continue_load_since();
        }
    }

    pub(in crate::app) fn apply_backfill(
        &mut self,
        request: RequestId,
        result: Result<BackfillStep>,
    ) {
        let now = self.now.timestamp();
        let report = self.service.apply_backfill(request, result, now);
        self.report_unreadable(report.as_ref());
        if let Some(report) = report {
            self.show_older(&report);
        }
    }

    /// Notifies once that the clock of this machine is wrong, as soon as there is no other
    /// notice.
    fn warn_of_clock(&mut self) {
        if let Some(warning) = &self.service.clock_warning
            && !self.service.is_clock_reported
            && self.notice.is_none()
        {
            let warning = warning.clone();
            self.service.is_clock_reported = true;
            self.notify(warning);
        }
    }

    /// Shows older emails, which arrive below the list.
    fn show_older(&mut self, report: &SyncReport) {
        self.end_notice(&NoticeKind::ListState);
        if !self.apply_update(0, report.changed_ids.clone()) {
            self.reload_list();
        }
    }

    /// Loads rows, counts and recipient card again.
    pub(in crate::app) fn reload_list(&mut self) {
        self.outbox.extend(self.list.reload());
        self.request_counts();
        self.request_recipient_summary();
    }

    /// Shows confirmed statuses. Rows are loaded again even without a change:
    /// they have another time of confirmation.
    pub(super) fn apply_confirmed(&mut self, report: SyncReport) {
        let (coverage, refreshed_at) = (report.coverage, report.refreshed_at);
        self.outbox.extend(
            self.service
                .update_coverage_by_request(coverage, refreshed_at),
        );
        let has_changed = self.apply_update(report.new - report.older, report.changed_ids);
        if has_changed {
            return;
        }
        if report.older > 0 || report.deletions_changed {
            self.reload_list();
        } else {
            self.outbox.extend(self.list.reload());
            self.request_recipient_summary();
        }
    }

    /// Reloads list and reader for new and changed emails; false if nothing needs it.
    pub(super) fn apply_update(&mut self, new: u64, changed: Vec<EmailId>) -> bool {
        self.load_watched();
        let is_empty = self.list.rows().is_empty();
        let has_filter = !self.list.filter.is_empty();
        if new == 0 && changed.is_empty() && (!is_empty || has_filter) {
            return false;
        }
        let is_open_changed = self
            .reader
            .id
            .as_ref()
            .is_some_and(|id| changed.contains(id));
        self.end_notice(&NoticeKind::ListState);
        let unseen = if is_empty || has_filter { 0 } else { new };
        if is_empty && new > 0 && !has_filter {
            // Until the rows are here, nothing says that there are none.
            self.list.total = None;
        }
        self.list.note_update(unseen, changed);
        self.reload_list();
        if is_open_changed {
            self.outbox.extend(self.reader.reload());
        }
        true
    }

    /// Shows the changes by another process, without a request.
    pub(in crate::app) fn apply_archive_change(&mut self, result: Result<SyncReport>) {
        // The next read of the archive reports the error.
        let Ok(report) = result else {
            return;
        };
        if report.refreshed_at > self.service.failing_since() {
            // The service has answered another process since.
            self.outbox.extend(self.service.refresh_if_failing());
        }
        self.service
            .update_coverage(report.coverage, report.refreshed_at);
        if let Some(text) = report.purges.text() {
            self.notify(text);
        }
        self.outbox.extend(self.marks.find_unstored());
        self.retry_statistics();
        if !self.apply_update(report.new, report.changed_ids) {
            // A change below the newest rows, a body, or a removal.
            self.reload_list();
        }
    }

    /// Continues without an archive: stores nothing and sends no request.
    pub(in crate::app) fn apply_archive_lost(&mut self, error: Error) {
        self.notify(format!("{}; {}", error.message, error.hint));
        self.service.disable(error.clone());
        self.session.storage = StorageMode::Unavailable(error);
    }

    /// Loads the email again if the status of its row has changed.
    /// Its body is in the archive, so this is not a request.
    pub(in crate::app) fn reload_if_outdated(&mut self) {
        if let Some(row) = self.list.selected()
            && let ReaderState::Ready(opened, _) = self.reader.state(&row.summary.id)
            && row.has_body
            && opened.email.summary.status != row.summary.status
        {
            self.outbox.extend(self.reader.reload());
        }
    }
}

impl SyncReport {
    /// Formats the result of a refresh: `3 new, 1 changed`.
    fn summary_text(&self) -> String {
        let mut text = match (self.new, self.changed_ids.len()) {
            (0, 0) => "nothing new".to_owned(),
            (new, 0) => format!("{new} new"),
            (0, changed) => format!("{changed} changed"),
            (new, changed) => format!("{new} new, {changed} changed"),
        };
        if self.deletions_changed {
            text.push_str("; mail was deleted at the service, or restored");
        }
        if let Some(unreadable) = self.unreadable_text() {
            text = format!("{text}; {unreadable}");
        }
        text
    }

    fn unreadable_text(&self) -> Option<String> {
        match self.unreadable {
            0 => None,
            1 => Some(
                "1 email of the service cannot be read: it has no id, or is too long".to_owned(),
            ),
            count => Some(format!(
                "{count} emails of the service cannot be read: they have no id, or are too long"
            )),
        }
    }
}
