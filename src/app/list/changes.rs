//! Changes since the user last looked:
//! emails that arrived, and statuses seen to change.
//!
//! The last look is the end of the last session, or the moment in which the user took note of all
//! changes; in the first session, the last refresh before it, or else its start. An email is new if
//! it was created after the newest one that was stored then: the clock of the service may be slow,
//! and the last email before a look may be listed after it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::filter::Filter;
use crate::app::chooser::Question;
use crate::app::commands::Command;
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::model::Model;
use crate::app::session::{LastLook, StateRecord};
use crate::archive::EmailRow;
use crate::error::Result;
use crate::mail::{EmailId, Status, Summary};

/// The changes since the last look.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct Changes {
    last_look: LastLook,
    /// Emails that were viewed since, each with the status that it had then.
    viewed: BTreeMap<EmailId, Status>,
    count_request: Pending<()>,
    is_announced: bool,
}

/// How many emails are new or have changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeCounts {
    pub new: u64,
    pub changed: u64,
    /// New or changed emails that the customer did not get or want, by status.
    pub problems: Vec<(Status, u64)>,
    /// Whether there are more than were counted.
    pub is_capped: bool,
}

impl ChangeCounts {
    /// More than a user looks through.
    const MAX: u64 = 100_000;

    /// Adds an email if it is new or has changed; false if the limit is reached.
    pub fn add(&mut self, row: &EmailRow, last_look: LastLook) -> bool {
        if self.new + self.changed == Self::MAX {
            self.is_capped = true;
            return false;
        }
        match (last_look.is_new(row), last_look.has_other_status(row)) {
            (true, _) => self.new += 1,
            (false, true) => self.changed += 1,
            (false, false) => return true,
        }
        let status = &row.summary.status;
        if let Some((_, count)) = self.problems.iter_mut().find(|(known, _)| known == status) {
            *count += 1;
        } else if status.is_problem() {
            self.problems.push((status.clone(), 1));
        }
        true
    }

    /// Formats `41 new, 2 changed, 3 bounced`; `None` without a change.
    fn summary_text(&self) -> Option<String> {
        let counts = [(self.new, "new"), (self.changed, "changed")];
        let problems = self.problems.iter();
        let problems = problems.map(|(status, count)| (*count, status.label()));
        let parts: Vec<String> = counts
            .into_iter()
            .chain(problems)
            .filter(|(count, _)| *count > 0)
            .map(|(count, label)| format!("{count} {label}"))
            .collect();
        let more = if self.is_capped { "more than " } else { "" };
        (!parts.is_empty()).then(|| format!("{more}{}", parts.join(", ")))
    }
}

impl Changes {
    pub(in crate::app) fn new(at: Timestamp, newest: Option<Timestamp>) -> Self {
        Self {
            last_look: LastLook::new(at, newest),
            ..Self::default()
        }
    }

    fn contains(&self, row: &EmailRow) -> bool {
        (self.last_look.is_new(row) || self.last_look.has_other_status(row))
            && !self.has_viewed(row)
    }

    /// Whether the email was viewed with this status.
    fn has_viewed(&self, row: &EmailRow) -> bool {
        self.viewed.get(&row.summary.id) == Some(&row.summary.status)
    }

    /// Takes the first emails of an empty archive as known.
    pub(in crate::app) fn note_newest(&mut self, span: Option<(Timestamp, Timestamp)>) {
        if self.last_look.newest.is_none() {
            let newest = span.map(|(_, newest)| newest);
            self.last_look = LastLook::new(self.last_look.at, newest);
        }
    }

    /// Replaces a look after now: the clock was set back.
    pub(in crate::app) fn forget_future(&mut self, now: Timestamp) {
        if self.last_look.at > now {
            self.last_look = LastLook::new(now, self.last_look.newest);
        }
    }

    pub(in crate::app) fn note_viewed(&mut self, row: &EmailRow) {
        if !self.has_viewed(row) {
            let Summary { id, status, .. } = &row.summary;
            self.viewed.insert(id.clone(), status.clone());
        }
    }
}

impl Model {
    /// Whether an email is new or its status changed since the user last looked,
    /// and was not viewed since.
    pub fn has_changed(&self, row: &EmailRow) -> bool {
        self.list.has_changed(&row.summary.id) || self.changes.contains(row)
    }

    /// The query for what changed since the last look.
    fn changes_filter(&self) -> Filter {
        let last_look = &self.changes.last_look;
        // In UTC, so that it means the same in each zone, and when clocks are set back.
        let [new, changed] = [last_look.new_since(), last_look.at]
            .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        // In brackets, so that words that are added narrow both.
        let text = if self.is_received() {
            format!("(after:{new})")
        } else {
            format!("(after:{new} or seen-change:{changed})")
        };
        Filter::parse(&text, &self.now)
    }

    /// Returns since when the list shows what is new or has changed, if it does,
    /// and the words that were added to that filter.
    pub fn shown_changes(&self) -> Option<(Timestamp, &str)> {
        let changes = self.changes_filter();
        let words = self.list.filter.text().strip_prefix(changes.text())?;
        let is_whole = words.is_empty() || words.starts_with(' ');
        is_whole.then_some((self.changes.last_look.at, words.trim_start()))
    }

    /// Counts the changes once, when the first refresh has fetched all new mail.
    pub(in crate::app) fn count_changes(&mut self) {
        let is_due = !self.changes.is_announced && !self.service.is_catching_up();
        if is_due {
            self.changes.is_announced = true;
            self.outbox.push(Effect::CountChanges(
                self.changes.count_request.start(),
                self.changes_filter().query().clone(),
                self.changes.last_look,
            ));
        }
    }

    /// Reports the changes, unless the user has gone on or another notice is shown.
    pub(in crate::app) fn apply_change_counts(
        &mut self,
        request: RequestId,
        result: Result<ChangeCounts>,
    ) {
        let is_current = self.changes.count_request.finish(request);
        let is_free = self.notice.is_none() && !self.user_acted;
        let counts = result.ok().and_then(|counts| counts.summary_text());
        if let Some(counts) = counts.filter(|_| is_current && is_free) {
            let at = self.format_date_time(self.changes.last_look.at);
            let text = format!("since {at}: {counts}");
            self.notify_with(&text, Command::ShowChanges, "shows them");
        }
    }

    /// Shows what is new or has changed since the last look.
    pub(in crate::app) fn show_changes(&mut self) {
        self.show_filter(self.changes_filter());
        self.close_reader();
    }

    /// Opens the question about all changes: the screen shows few of them.
    pub(in crate::app) fn ask_to_acknowledge(&mut self) {
        self.open_question(Question::MarkSeen);
    }

    /// Removes all marks: what changes is counted from now on.
    pub(in crate::app) fn acknowledge_changes(&mut self) {
        let now = self.now.timestamp();
        let newest = self.list.archive_span.map(|(_, newest)| newest);
        self.changes.last_look = LastLook::new(now, newest);
        self.changes.viewed.clear();
        self.list.clear_changed();
        self.save_state(vec![StateRecord::Seen { at: now }]);
        self.notify_with(
            "all changes are marked as seen",
            Command::ShowChanges,
            "shows the next ones",
        );
    }
}
