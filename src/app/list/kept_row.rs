//! The selected email stays in the list while it no longer matches the filter:
//! a key pressed when its status changes would mean another email.

use super::List;
use super::anchors::JumpTarget;
use crate::app::effect::Effect;
use crate::archive::EmailRow;
use crate::mail::EmailId;
use crate::query::{EmailDocument, matches};

impl List {
    /// Loads the rows again without the kept one once another one is selected.
    pub(in crate::app) fn drop_left_row(&mut self) -> Option<Effect> {
        let is_left = self.unmatched()? != self.cursor;
        (is_left && !self.is_window_pending())
            .then(|| self.reload())
            .flatten()
    }

    /// Selects the row after a kept one, or the one before it, so that it can go.
    pub(in crate::app) fn leave_kept_row(&mut self) -> Option<Effect> {
        if !self.is_selected_unmatched() {
            return None;
        }
        if self.rows().len() == 1 {
            return Some(self.load_first());
        }
        let has_next = self.cursor + 1 < self.rows().len();
        self.cursor = if has_next {
            self.cursor + 1
        } else {
            self.cursor - 1
        };
        None
    }

    /// The email that is loaded with the next window even if it does not match.
    /// A jump does not show it then, but reports why it is absent.
    pub(super) fn kept_id(&self) -> Option<&EmailId> {
        self.awaited_id().filter(|_| !self.filter.is_empty())
    }

    /// The email that must be selected once the rows have loaded, if one must:
    /// another one would replace it in the reader unnoticed.
    pub(in crate::app) fn awaited_id(&self) -> Option<&EmailId> {
        match self.jump_target {
            _ if !self.is_jumping() => self.selected_id(),
            JumpTarget::Anchor => self.anchor.as_ref().map(|anchor| &anchor.cursor.id),
            JumpTarget::Keep | JumpTarget::First | JumpTarget::Last | JumpTarget::Time(_) => None,
        }
    }

    /// Whether the list is going to another email than the selected one, or may be.
    pub(in crate::app) fn may_leave_selected(&self) -> bool {
        let stays = |row: &EmailRow| {
            let document = EmailDocument {
                summary: &row.summary,
                bodies: None,
                tags: None,
                reason: None,
                seen_change: row.last_change.as_ref().map(|change| change.seen),
                is_missing_upstream: row.missing_since.is_some(),
            };
            self.awaited_id() == Some(&row.summary.id)
                && matches(self.filter.query(), &document) == Some(true)
        };
        // After an error nothing is on its way.
        let has_moves = self.pending_moves != 0 && self.window.is_pending();
        has_moves || (self.is_jumping() && !self.selected().is_some_and(stays))
    }

    /// Whether the selected email no longer matches the filter.
    pub fn is_selected_unmatched(&self) -> bool {
        self.unmatched() == Some(self.cursor)
    }

    /// The position of the selected email among those that match, from 1, if known.
    pub fn position(&self) -> Option<u64> {
        self.selected().filter(|_| !self.is_selected_unmatched())?;
        let above = self.matching_above(self.cursor);
        self.offset.map(|offset| offset + above + 1)
    }

    /// The number of rows above this one that match.
    pub(super) fn matching_above(&self, n: usize) -> u64 {
        let is_unmatched_above = self.unmatched().is_some_and(|unmatched| unmatched < n);
        (n - usize::from(is_unmatched_above)) as u64
    }

    fn unmatched(&self) -> Option<usize> {
        self.window.value()?.unmatched
    }
}
