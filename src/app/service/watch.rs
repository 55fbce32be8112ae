//! Watched emails: their statuses are confirmed regularly, also out of view,
//! until they settle.
//!
//! A change is reported as a notice, and by the terminal if the user allows it. What settles, is deleted
//! or is not watched any more leaves the list; the rest stays watched, also after a restart.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use super::freshness::saturating_add;
use crate::app::chooser::{Chooser, ChooserItem, ChooserKind};
use crate::app::commands::{Command, Focus, require};
use crate::app::effect::{Effect, LoopEffect, Pending, RequestId};
use crate::app::history::HistoryEntry;
use crate::app::list::anchors::ListAnchor;
use crate::app::list::filter::Filter;
use crate::app::model::Model;
use crate::app::notice::NoticeKind;
use crate::app::session::{StateRecord, WatchRecord};
use crate::archive::EmailRow;
use crate::config::NotifyRoute;
use crate::error::Result;
use crate::mail::{EmailId, Finality, SafeText, Status, explain};
use crate::text::secrets::Secrets;

/// The most emails that are watched:
/// all of them are confirmed within the rate budget.
const MAX_WATCHED: usize = 100;
/// A watched email is confirmed again after this time,
/// and later the longer it is watched.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
const MAX_INTERVAL: SignedDuration = SignedDuration::from_mins(15);

/// The watched emails, the latest last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct WatchList {
    emails: Vec<WatchedEmail>,
    request: Pending<()>,
}

#[derive(Debug, Clone, PartialEq)]
struct WatchedEmail {
    /// With the status that was reported last.
    record: WatchRecord,
    /// As the archive has it; `None` until it was loaded.
    row: Option<EmailRow>,
    /// The last request for its status, in case the response does not have it.
    requested_at: Option<Timestamp>,
}

impl WatchedEmail {
    /// The time at which its status is confirmed again.
    fn due_at(&self, now: Timestamp) -> Option<Timestamp> {
        let row = self.row.as_ref()?;
        let watched_for = now.duration_since(self.record.since);
        let interval = (watched_for / 10).clamp(MIN_INTERVAL, MAX_INTERVAL);
        // After now if the clock was set back.
        let is_past = |at: &Timestamp| *at <= now;
        let last = [row.confirmed_at, self.requested_at].map(|at| at.filter(is_past));
        let last = last.into_iter().max().flatten();
        Some(last.map_or(now, |at| saturating_add(at, interval)))
    }
}

impl WatchList {
    pub(in crate::app) fn new(records: Vec<WatchRecord>) -> Self {
        let watched = |record| WatchedEmail {
            record,
            row: None,
            requested_at: None,
        };
        Self {
            emails: records.into_iter().map(watched).collect(),
            ..Self::default()
        }
    }

    /// Whether their rows are being loaded.
    pub(in crate::app) const fn is_pending(&self) -> bool {
        self.request.is_pending()
    }

    /// The times at which emails are due, each with its id.
    pub(super) fn due_times(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, EmailId)> {
        let due = move |email: &WatchedEmail| Some((email.due_at(now)?, email.record.id.clone()));
        self.emails.iter().filter_map(due)
    }

    /// Notes that these emails are being confirmed.
    pub(super) fn note_request(&mut self, ids: &[EmailId], now: Timestamp) {
        for email in &mut self.emails {
            if ids.contains(&email.record.id) {
                email.requested_at = Some(now);
            }
        }
    }

    fn position(&self, id: &EmailId) -> Option<usize> {
        self.emails.iter().position(|email| email.record.id == *id)
    }
}

/// Whether nothing is left to wait for:
/// delivered or what follows, or final without it.
fn is_settled(row: &EmailRow, now: Timestamp) -> bool {
    match &row.summary.status {
        Status::Unknown | Status::Other(_) => false,
        Status::Delivered | Status::Opened | Status::Clicked => true,
        _ => row.finality(now) == Finality::Final,
    }
}

fn first_recipient(row: &EmailRow) -> SafeText {
    let first = row.summary.to.first();
    first.map_or_else(SafeText::default, |to| to.email.clone())
}

impl Model {
    /// Whether the email is watched.
    pub fn is_watched(&self, id: &EmailId) -> bool {
        self.watch_list.position(id).is_some()
    }

    pub(in crate::app) fn check_watch(&self) -> Result<(), String> {
        if self.focus_below_help() == Focus::Choice {
            let is_listed =
                self.is_choosing() && self.chooser_kind() == Some(&ChooserKind::Watched);
            return require(is_listed, "close this first: only an email can be watched");
        }
        self.check_has_status()?;
        let Some(row) = self.list.selected() else {
            return Ok(());
        };
        if self.is_watched(&row.summary.id) {
            return Ok(());
        }
        if row.missing_since.is_some() {
            return Err(
                "the service has deleted this email: its status does not change".to_owned(),
            );
        }
        if is_settled(row, self.now.timestamp()) {
            let status = row.summary.status.label();
            return Err(format!(
                "nothing to wait for: its status is already {status}"
            ));
        }
        if (self.service.unavailable.as_ref()).is_some_and(|it| !it.is_refused) {
            let state = self.service_state().label();
            return Err(format!("its status cannot be read again: {state}"));
        }
        if self.watch_list.emails.len() >= MAX_WATCHED {
            let text = format!("{MAX_WATCHED} emails are watched, and more are not possible");
            return Err(self.with_hint(&text, Command::WatchedEmails, "lists them"));
        }
        Ok(())
    }

    /// Watches the selected email, or stops that.
    pub(in crate::app) fn toggle_watch(&mut self) {
        let chosen = self.chooser.as_ref().map(|chooser| chooser.selected);
        let chosen = chosen.and_then(|at| self.watch_list.emails.get(at));
        let id = match (chosen, self.list.selected()) {
            (Some(email), _) => email.record.id.clone(),
            (None, Some(row)) => row.summary.id.clone(),
            (None, None) => return,
        };
        if let Some(at) = self.watch_list.position(&id) {
            self.watch_list.emails.remove(at);
            self.save_state(vec![StateRecord::Unwatched { id }]);
            self.fit_chooser();
            return self.notify("not watched any more");
        }
        let Some(row) = self.list.selected().cloned() else {
            return;
        };
        let record = WatchRecord {
            id,
            since: self.now.timestamp(),
            status: row.summary.status.label().to_owned(),
        };
        self.save_state(vec![StateRecord::Watched(record.clone())]);
        let text = format!(
            "watching {} until its status settles",
            first_recipient(&row)
        );
        self.notify_with(&text, Command::Watch, "stops");
        self.watch_list.emails.push(WatchedEmail {
            record,
            row: Some(row),
            requested_at: None,
        });
        self.load_watched();
    }

    /// Loads the rows of the watched emails: their statuses may have changed.
    pub(in crate::app) fn load_watched(&mut self) {
        let list = &mut self.watch_list;
        if !list.emails.is_empty() {
            let ids = list.emails.iter().map(|email| email.record.id.clone());
            self.outbox
                .push(Effect::LoadRows(list.request.start(), ids.collect()));
        }
    }

    /// Reports the watched emails that have changed, and drops those that have settled
    /// or are gone.
    pub(in crate::app) fn apply_watched(
        &mut self,
        request: RequestId,
        result: Result<Vec<EmailRow>>,
    ) {
        // The list reports an archive that cannot be read.
        let (true, Ok(rows)) = (self.watch_list.request.finish(request), result) else {
            return;
        };
        let now = self.now.timestamp();
        let (mut reports, mut records) = (Vec::new(), Vec::new());
        let is_listed = |chooser: &&mut Chooser| chooser.kind == ChooserKind::Watched;
        let mut list = self.chooser.as_mut().filter(is_listed);
        let selected = list.as_ref().map(|list| list.selected);
        let emails = std::mem::take(&mut self.watch_list.emails);
        for (index, mut email) in emails.into_iter().enumerate() {
            if let Some(list) = list.as_mut().filter(|_| selected == Some(index)) {
                list.selected = self.watch_list.emails.len();
            }
            let id = email.record.id.clone();
            let found = rows.iter().find(|row| row.summary.id == id);
            let Some(row) = found.filter(|row| row.missing_since.is_none()) else {
                let row = found.or(email.row.as_ref());
                let name = row.map_or_else(|| id.to_safe_text(), first_recipient);
                let reason = if found.is_some() {
                    "the service no longer has it"
                } else {
                    "not in the archive any more"
                };
                let text = format!("{name}: {reason}, so not watched any more");
                reports.push((text, reason.into()));
                records.push(StateRecord::Unwatched { id });
                continue;
            };
            let status = &row.summary.status;
            let has_changed = email.record.status != status.label();
            if has_changed {
                let (name, label) = (first_recipient(row), status.label());
                let (meaning, _) = explain(status, None, row.recipient_count);
                let change = format!("{label}, {meaning}");
                reports.push((format!("{name}: {change}"), change.into()));
                label.clone_into(&mut email.record.status);
            }
            if is_settled(row, now) {
                records.push(StateRecord::Unwatched { id });
                continue;
            }
            if has_changed {
                records.push(StateRecord::Watched(email.record.clone()));
            }
            email.row = Some(row.clone());
            self.watch_list.emails.push(email);
        }
        let is_listed = list.is_some();
        if !records.is_empty() {
            self.save_state(records);
        }
        if is_listed {
            self.fit_chooser();
        }
        self.report_watched(&reports);
    }

    /// Reports the changes of watched emails.
    ///
    /// The desktop gets them without the customer, as other people may read them there.
    fn report_watched(&mut self, reports: &[(String, Cow<'static, str>)]) {
        let Some((first, meaning)) = reports.first() else {
            return;
        };
        let more = match reports.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        if self.session.notify != NotifyRoute::Off {
            let text = format!("a watched email: {meaning}{more}");
            self.emit(LoopEffect::Notify(self.session.notify, text));
        }
        self.notify_as(NoticeKind::WatchReport, format!("{first}{more}"));
    }

    pub(in crate::app) fn check_watched_emails(&self) -> Result<(), String> {
        if !self.watch_list.emails.is_empty() {
            return Ok(());
        }
        Err(self.with_hint("no email is watched", Command::Watch, "watches one"))
    }

    pub(in crate::app) fn open_watched_chooser(&mut self) {
        self.open_chooser(ChooserKind::Watched);
    }

    /// The lines of the list of watched emails.
    pub(in crate::app) fn watched_items(&self) -> Vec<ChooserItem> {
        let item = |(index, email): (usize, &WatchedEmail)| {
            let (name, subject) = email.row.as_ref().map_or_else(
                || (email.record.id.to_safe_text(), String::new()),
                |row| {
                    let subject = row.summary.shown_subject(Secrets::Masked).into_owned();
                    (first_recipient(row), subject)
                },
            );
            let detail = format!("{}  {subject}", email.record.status);
            ChooserItem::new((index + 1).to_string(), name.to_string(), detail)
        };
        self.watch_list
            .emails
            .iter()
            .enumerate()
            .map(item)
            .collect()
    }

    /// Opens a watched email among all mail.
    pub(in crate::app) fn go_to_watched(&mut self, index: usize) {
        let email = self.watch_list.emails.get(index);
        let Some(row) = email.and_then(|email| email.row.as_ref()) else {
            return;
        };
        let anchor = ListAnchor::from_row(row);
        let before = self.history_entry();
        self.chooser = None;
        self.history.push(before);
        self.restore_entry(HistoryEntry {
            filter: Filter::default(),
            anchor: Some(anchor),
            reader_open: true,
        });
    }
}
