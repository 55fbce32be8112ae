//! What changed since the user last looked:
//! emails that arrived, and statuses seen to change.
//!
//! The last look is the end of the last session, or the moment in which the user took note of all
//! changes; in the first session, the last refresh before it, or else its start. The query has whole
//! minutes, so it may show what changed in the same minute.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::commands::Command;
use super::effect::{Effect, Pending, RequestId};
use super::model::Model;
use super::search::Filter;
use super::session::StateRecord;
use crate::archive::EmailRow;
use crate::error::Error;
use crate::mail::{EmailId, Status};
use crate::query::{Node, Term, TimeOperator};

/// The changes since the last look.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Changes {
    /// The last look.
    since: Timestamp,
    /// Emails that were viewed since.
    viewed: BTreeSet<EmailId>,
    count_request: Pending<()>,
    is_announced: bool,
}

/// How many emails are new or have changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeCounts {
    pub new: u64,
    pub changed: u64,
    /// Those of them that the customer did not get or want, by status.
    pub problems: Vec<(Status, u64)>,
    /// Whether there are more than were counted.
    pub is_capped: bool,
}

impl ChangeCounts {
    /// More than a user looks through.
    const MAX: u64 = 100_000;

    /// Adds an email if it is new or has changed; false if the limit is reached.
    pub fn add(&mut self, row: &EmailRow, since: Timestamp) -> bool {
        if self.new + self.changed == Self::MAX {
            self.is_capped = true;
            return false;
        }
        match (is_new(row, since), has_other_status(row, since)) {
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

fn is_new(row: &EmailRow, since: Timestamp) -> bool {
    row.summary.created.parsed.is_some_and(|at| at > since)
}

fn has_other_status(row: &EmailRow, since: Timestamp) -> bool {
    let change = row.last_change.as_ref();
    change.is_some_and(|change| change.seen > since)
}

impl Changes {
    pub(super) fn new(since: Timestamp) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    fn contains(&self, row: &EmailRow) -> bool {
        (is_new(row, self.since) || has_other_status(row, self.since))
            && !self.viewed.contains(&row.summary.id)
    }

    pub(super) fn note_viewed(&mut self, id: &EmailId) {
        if !self.viewed.contains(id) {
            self.viewed.insert(id.clone());
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
        let since = self.changes.since.to_zoned(self.now.time_zone().clone());
        let since = since.strftime("%Y-%m-%dT%H:%M:%S");
        Filter::parse(&format!("after:{since} or seen-change:{since}"), &self.now)
    }

    /// Returns since when the list shows what is new or has changed, if it does.
    pub fn shown_changes_since(&self) -> Option<Timestamp> {
        let Node::Or(nodes) = &self.list.filter.query().filter else {
            return None;
        };
        match nodes.as_slice() {
            [
                Node::Term(Term::Time(TimeOperator::After, after)),
                Node::Term(Term::Time(TimeOperator::SeenChange, change)),
            ] if after == change => Some(after.start),
            _ => None,
        }
    }

    /// Counts the changes once, when the first refresh has fetched all new mail.
    pub(super) fn count_changes(&mut self) {
        let is_due = !self.changes.is_announced && !self.service.is_catching_up();
        if is_due {
            self.changes.is_announced = true;
            self.outbox.push(Effect::CountChanges(
                self.changes.count_request.start(),
                self.changes_filter().query().clone(),
                self.changes.since,
            ));
        }
    }

    /// Reports the changes, unless the user has gone on or another notice is shown.
    pub(super) fn apply_change_counts(
        &mut self,
        request: RequestId,
        result: Result<ChangeCounts, Error>,
    ) {
        let is_current = self.changes.count_request.finish(request);
        let is_free = self.notice.is_none() && !self.user_acted;
        let counts = result.ok().and_then(|counts| counts.summary_text());
        if let Some(counts) = counts.filter(|_| is_current && is_free) {
            let at = self.format_date_time(self.changes.since);
            let text = format!("since {at}: {counts}");
            self.notify_with(&text, Command::ShowChanges, "shows them");
        }
    }

    /// Shows what is new or has changed since the last look.
    pub(super) fn show_changes(&mut self) {
        self.show_filter(self.changes_filter());
        self.close_reader();
    }

    /// Removes all marks: what changes is counted from now on.
    pub(super) fn acknowledge_changes(&mut self) {
        let now = self.now.timestamp();
        self.changes.since = now;
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
