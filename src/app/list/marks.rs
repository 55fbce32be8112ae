//! Marks: a set of emails that the user gathers, over several filters,
//! to take it along.
//!
//! Marks are ids and no rows, so that they outlive a filter and cost little; there is a limit of
//! [`MAX_MARKS`]. What is marked is exported by [`crate::app::export`].

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::commands::{Command, Motion};
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::message::CollectedIds;
use crate::app::model::Model;
use crate::archive::{EmailRow, SortKey};
use crate::error::Result;
use crate::mail::EmailId;
use crate::query::{Query, SortOrder};
use crate::text::format::{group_digits, plural};

/// The most marks. Without marks, an export takes all that the filter shows,
/// however much it is.
pub const MAX_MARKS: usize = 50_000;

/// The marked emails, and where a range begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marks {
    ids: BTreeSet<EmailId>,
    range_start: Option<(EmailId, SortKey)>,
    request: Pending<()>,
    /// The ends of the requested range, which are marked already.
    requested_ends: Option<[EmailId; 2]>,
    check: Pending<()>,
}

impl Marks {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn contains(&self, id: &EmailId) -> bool {
        self.ids.contains(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &EmailId> {
        self.ids.iter()
    }

    /// Whether ids are being collected, or compared with the archive.
    pub const fn is_pending(&self) -> bool {
        self.request.is_pending() || self.check.is_pending()
    }

    /// Whether a range has begun.
    pub const fn has_range(&self) -> bool {
        self.range_start.is_some()
    }

    /// Forgets where the range begins.
    pub fn drop_range(&mut self) {
        self.range_start = None;
    }

    /// Adds emails up to the limit; false if not all of them fit.
    fn add(&mut self, ids: impl IntoIterator<Item = EmailId>) -> bool {
        let mut is_whole = true;
        for id in ids {
            if self.ids.len() < MAX_MARKS {
                self.ids.insert(id);
            } else {
                is_whole &= self.ids.contains(&id);
            }
        }
        is_whole
    }

    /// Requests which marked emails, and starts of ranges, are no longer in the archive:
    /// another process may have purged them. Not while an earlier request runs: a sync changes the archive twice a
    /// second, and many marks take longer.
    pub(in crate::app) fn find_unstored(&mut self) -> Option<Effect> {
        let start = self.range_start.as_ref().map(|(id, _)| id);
        let ids: Vec<EmailId> = self.ids.iter().chain(start).cloned().collect();
        let is_due = !ids.is_empty() && !self.check.is_pending();
        is_due.then(|| Effect::FindUnstored(self.check.start(), ids))
    }

    /// Requests the ids of a query, or of those past `from` up to `to`.
    fn collect(&mut self, query: &Arc<Query>, range: Option<(SortKey, SortKey)>) -> Effect {
        Effect::CollectIds(self.request.start(), Arc::clone(query), range)
    }
}

impl Model {
    /// The email to mark; none on the line below the last row.
    fn selected_position(&self) -> Option<(EmailId, SortKey)> {
        let is_row = self.panes.reader_open || !self.list.is_on_load_more_row();
        let row: &EmailRow = self.list.selected().filter(|_| is_row)?;
        Some((row.summary.id.clone(), row.sort_key))
    }

    /// Marks or unmarks the selected email, and selects the next one.
    pub(in crate::app) fn toggle_mark(&mut self) {
        let Some((id, _)) = self.selected_position() else {
            return;
        };
        if !self.marks.ids.remove(&id) && !self.marks.add([id]) {
            return self.notify_mark_limit();
        }
        if self.panes.reader_open {
            self.step_email(Motion::Down);
        } else {
            self.move_selection(Motion::Down);
        }
    }

    /// Begins a range at the selected row, or marks the rows from there to the selected
    /// one.
    pub(in crate::app) fn mark_range(&mut self) {
        let Some((id, position)) = self.selected_position() else {
            return;
        };
        let Some((start_id, start)) = self.marks.range_start.take() else {
            self.marks.range_start = Some((id, position));
            let text = "a range begins at this row";
            return self.notify_with(text, Command::MarkRange, "at another row marks it");
        };
        let ends = [start_id, id];
        self.marks.add(ends.clone());
        self.marks.requested_ends = Some(ends);
        let query = self.list.filter.query().clone();
        let is_downwards = match query.sort {
            SortOrder::Newest => position <= start,
            SortOrder::Oldest => position >= start,
        };
        let range = if is_downwards {
            (start, position)
        } else {
            (position, start)
        };
        let effect = self.marks.collect(&query, Some(range));
        self.outbox.push(effect);
    }

    /// Marks everything that the filter shows, on the screen or not.
    pub(in crate::app) fn mark_all(&mut self) {
        let query = self.list.filter.query().clone();
        self.marks.requested_ends = None;
        let effect = self.marks.collect(&query, None);
        self.outbox.push(effect);
        self.notify("marking");
    }

    pub(in crate::app) fn check_marks(&self) -> Result<(), String> {
        if self.marks.is_empty() && !self.marks.has_range() {
            return Err(self.with_hint("no email is marked", Command::Mark, "marks one"));
        }
        Ok(())
    }

    pub(in crate::app) fn clear_marks(&mut self) {
        let count = plural(self.marks.len() as u64, "email");
        let outside = self.describe_marks_outside();
        let outside = outside.map_or_else(String::new, |outside| format!(", {outside}"));
        self.marks.ids.clear();
        self.marks.drop_range();
        self.marks.request.reset();
        self.notify(format!("unmarked {count}{outside}"));
    }

    /// Describes how many marked emails the filter does not show;
    /// `None` if it shows all of them, or more rows than are loaded.
    pub(in crate::app) fn describe_marks_outside(&self) -> Option<String> {
        let list = &self.list;
        let window = list.window.value().filter(|_| !list.is_jumping())?;
        if list.filter.is_empty() || window.more_above || window.more_below {
            return None;
        }
        let is_marked = |row: &&EmailRow| self.marks.contains(&row.summary.id);
        let shown = window.matching().filter(is_marked).count();
        match (self.marks.len(), self.marks.len().saturating_sub(shown)) {
            (_, 0) => None,
            (1, _) => Some("not in this filter".to_owned()),
            (all, outside) if all == outside => Some("none of them in this filter".to_owned()),
            (_, outside) => {
                let outside = group_digits(outside as u64, ' ');
                Some(format!("{outside} of them not in this filter"))
            }
        }
    }

    pub(in crate::app) fn apply_collected_ids(
        &mut self,
        request: RequestId,
        result: Result<CollectedIds>,
    ) {
        if !self.marks.request.finish(request) {
            return;
        }
        match result {
            Ok(collected) => {
                let ids = collected.ids.into_iter();
                let ends = self.marks.requested_ends.take();
                let ids: BTreeSet<_> = ids.chain(ends.into_iter().flatten()).collect();
                let count = ids.len();
                let is_whole = self.marks.add(ids);
                if collected.is_capped || !is_whole {
                    return self.notify_mark_limit();
                }
                let all = self.marks.len();
                let count = if count == all {
                    plural(count as u64, "email")
                } else {
                    let [count, all] = [count, all].map(|count| group_digits(count as u64, ' '));
                    format!("{count}, {all} in all")
                };
                self.notify_with(&format!("marked {count}"), Command::Export, "exports them");
            }
            Err(error) => self.notify_failure(error.prefixed("not marked")),
        }
    }

    /// Removes the marks of emails that are not in the archive, and reports how many.
    pub(in crate::app) fn remove_unstored_marks(
        &mut self,
        request: RequestId,
        result: Result<Vec<EmailId>>,
    ) {
        // The list reports an archive that cannot be read.
        let (true, Ok(unstored)) = (self.marks.check.finish(request), result) else {
            return;
        };
        let start = self.marks.range_start.as_ref();
        if start.is_some_and(|(id, _)| unstored.contains(id)) {
            self.marks.drop_range();
            self.notify("the row where a range begins is no longer in the archive");
        }
        let removed = unstored.iter().filter(|id| self.marks.ids.remove(id));
        let removed = removed.count() as u64;
        if removed > 0 && self.marks.is_empty() {
            // Without marks it would export all mail.
            self.close_export_dialog();
        }
        match removed {
            0 => {}
            1 => self.notify("1 marked email is no longer in the archive"),
            many => self.notify(format!(
                "{} are no longer in the archive",
                plural(many, "marked email")
            )),
        }
    }

    fn notify_mark_limit(&mut self) {
        let count = plural(self.marks.len() as u64, "email");
        self.notify_with(
            &format!("marked {count}, which is the limit; there are more"),
            Command::Export,
            "without marks exports all that is shown",
        );
    }
}
