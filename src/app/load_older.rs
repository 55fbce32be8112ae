//! The search of older mail: loads page after page until enough emails match.
//!
//! `OlderLoaded` calls `apply_older_page`, `Counted` calls `continue_load_older`, which requests the next
//! page.

use super::commands::Command;
use super::message::SyncUpdate;
use super::model::Model;
use crate::archive::Coverage;

/// A running search of older mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOlder {
    /// The number of matching emails at which it ends; unknown until they are counted first.
    target_total: Option<u64>,
    /// The number of loaded emails, matching or not.
    pub loaded: u64,
}

impl Model {
    /// Whether older mail may match the filter.
    pub fn may_find_older(&self) -> bool {
        !self.list.filter.is_empty() && self.can_load_older()
    }

    /// Whether the service has older mail that may match.
    pub fn can_load_older(&self) -> bool {
        self.service.has_older() && !self.covers_filter()
    }

    /// Whether the archive is complete since the oldest time that the filter matches.
    fn covers_filter(&self) -> bool {
        let Some(Coverage::Since(reach)) = &self.service.reach else {
            return false;
        };
        let oldest = self.list.filter.query().time_bounds().oldest;
        oldest
            .zip(reach.parsed)
            .is_some_and(|(oldest, reach)| reach < oldest)
    }

    /// An error if there is no older mail that could match, or no connection to the service.
    pub(super) fn check_load_older(&self) -> Result<(), String> {
        if self.can_load_older() || self.load_older.is_some() {
            Ok(())
        } else {
            Err(self.no_older_mail_text())
        }
    }

    fn no_older_mail_text(&self) -> String {
        if self.covers_filter() {
            return "all mail since the date of this filter is loaded".to_owned();
        }
        match (
            self.service.unavailable.as_ref(),
            self.service.reach.as_ref(),
        ) {
            (Some(error), _) => error.message.clone(),
            (None, Some(Coverage::Complete)) => "all mail of the service is loaded".to_owned(),
            (None, Some(_)) if self.service.error.as_ref().is_none() => {
                "the service has no older mail".to_owned()
            }
            (None, _) => self.with_hint(
                "no connection to the service",
                Command::Refresh,
                "retries now",
            ),
        }
    }

    /// Starts to load older mail until enough of it matches.
    pub(super) fn start_load_older(&mut self) {
        if self.load_older.is_some() {
            return;
        }
        let request = self.service.request_older();
        if self.covers_filter() || (request.is_none() && !self.service.is_loading_older()) {
            self.notify(self.no_older_mail_text());
            return;
        }
        self.outbox.extend(request);
        let screen = self.list_viewport().lines as u64;
        self.load_older = Some(LoadOlder {
            target_total: self.list.total.map(|total| total + screen),
            loaded: 0,
        });
    }

    /// Counts the emails of a page; `None` if the request failed.
    pub(super) fn apply_older_page(&mut self, update: Option<&SyncUpdate>) {
        let Some(search) = &mut self.load_older else {
            return;
        };
        if let Some(update) = update {
            search.loaded += update.new;
        } else {
            self.load_older = None;
            self.notify("the search of older mail has stopped: no response from the service");
        }
    }

    /// Requests the next page if too few emails match so far; stops without a count.
    pub(super) fn continue_load_older(&mut self, counted: bool) {
        let screen = self.list_viewport().lines as u64;
        let total = self.list.total.unwrap_or_default();
        let Some(search) = &mut self.load_older else {
            return;
        };
        if self.service.is_loading_older() {
            return;
        }
        let target = *search.target_total.get_or_insert(total + screen);
        if !counted || total >= target || self.list.is_capped {
            self.load_older = None;
            return;
        }
        let request = self.service.request_older();
        if request.is_none() {
            self.load_older = None;
            self.notify("all mail of the service is loaded");
        }
        self.outbox.extend(request);
    }

    /// Stops the search of older mail; false if there is none.
    pub(super) fn stop_load_older(&mut self) -> bool {
        let was_running = self.load_older.take().is_some();
        if was_running {
            self.notify_with(
                "stopped searching older mail",
                Command::LoadOlder,
                "continues",
            );
        }
        was_running
    }

    /// Stops the export, the search of older mail, the status check or the backfill, in this order.
    pub(super) fn stop_work(&mut self) {
        if self.stop_export() || self.stop_load_older() {
            return;
        }
        if self.stop_status_check() {
            self.notify_with(
                "stopped checking statuses",
                Command::Refresh,
                "checks them again",
            );
        } else if self.service.stop_backfill() {
            self.notify("stopped loading older mail until the next start");
        } else {
            self.notify("nothing to stop");
        }
    }
}
