//! What the service or another process brought: in words, and what it does to list, counts and reader.

use super::message::SyncUpdate;
use super::model::Model;
use super::reader::ReaderState;
use super::session::StorageMode;
use crate::error::Error;
use crate::mail::EmailId;

impl SyncUpdate {
    /// What a refresh has brought.
    pub fn summary_text(&self) -> String {
        let brought = match (self.new, self.changed.len()) {
            (0, 0) => "nothing new".to_owned(),
            (new, 0) => format!("{new} new"),
            (0, changed) => format!("{changed} changed"),
            (new, changed) => format!("{new} new, {changed} changed"),
        };
        self.unreadable_text().map_or_else(
            || brought.clone(),
            |unreadable| format!("{brought}; {unreadable}"),
        )
    }

    /// That emails could not be read, if there were any.
    pub fn unreadable_text(&self) -> Option<String> {
        match self.unreadable {
            0 => None,
            1 => Some("1 email of the service cannot be read: it has no id".to_owned()),
            count => Some(format!(
                "{count} emails of the service cannot be read: they have no id"
            )),
        }
    }
}

impl Model {
    /// Reports emails that cannot be read, when more of them turn up than before.
    pub(super) fn report_unreadable(&mut self, news: Option<&SyncUpdate>) {
        if let Some(news) = news
            && self.service.record_unreadable(news.unreadable)
        {
            self.notice = news.unreadable_text();
        }
    }

    /// What is older than everything known arrives below, where nobody misses it.
    pub(super) fn apply_older(&mut self, news: &SyncUpdate) {
        self.apply_update(0, news.changed.clone());
        self.reload_list();
    }

    /// Loads again what the list shows: rows, counts and recipient card.
    fn reload_list(&mut self) {
        self.outbox.extend(self.list.reload());
        self.request_counts();
        self.request_recipient_summary();
    }

    /// Takes what confirming has brought. Rows are read again although nothing has changed: they are
    /// confirmed now.
    pub(super) fn apply_confirmed(&mut self, news: SyncUpdate) {
        self.service.update_reach(news.reach.clone(), news.head_at);
        let changed = !news.changed.is_empty() || news.new > 0;
        self.apply_update(news.new, news.changed);
        if !changed {
            self.outbox.extend(self.list.reload());
            self.request_recipient_summary();
        }
    }

    /// Reloads list and reader for new and changed emails; false if nothing needs it.
    pub(super) fn apply_update(&mut self, new: u64, changed: Vec<EmailId>) -> bool {
        let shows = !self.list.rows().is_empty() || !self.list.filter.is_empty();
        if new == 0 && changed.is_empty() && shows {
            return false;
        }
        let reread = self
            .reader
            .id
            .as_ref()
            .is_some_and(|id| changed.contains(id));
        let unseen = if self.list.rows().is_empty() || !self.list.filter.is_empty() {
            0
        } else {
            new
        };
        self.list.note_update(unseen, changed);
        self.reload_list();
        if reread {
            self.outbox.extend(self.reader.reload());
        }
        true
    }

    /// Shows what another process has brought, without a request.
    pub(super) fn apply_archive_change(&mut self, result: Result<SyncUpdate, Error>) {
        // An archive that cannot be read is reported by what reads it next.
        let Ok(news) = result else {
            return;
        };
        self.service.update_reach(news.reach, news.head_at);
        if !self.apply_update(news.new, news.changed) {
            // A change below the newest rows, a body, or a removal.
            self.reload_list();
        }
    }

    /// Keeps nothing from now on, and asks for nothing that could be kept.
    pub(super) fn apply_archive_lost(&mut self, failure: Error) {
        self.notice = Some(format!("{}; {}", failure.message, failure.hint));
        self.service.disable(failure.clone());
        self.session.storage = StorageMode::Unavailable(failure);
    }

    /// Reads the email again if its row has another status by now. Its body is in the archive, so this
    /// is no request.
    pub(super) fn reload_if_outdated(&mut self) {
        if let Some(row) = self.list.selected()
            && let ReaderState::Ready(opened, _) = self.reader.state(&row.summary.id)
            && row.has_body
            && opened.email.summary.status != row.summary.status
        {
            self.outbox.extend(self.reader.reload());
        }
    }
}
