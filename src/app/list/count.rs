//! When the emails of the list are counted, and what that says.
//!
//! While the user types, the first matches are counted; the others follow after a pause.

use std::time::Duration;

use super::List;
use crate::app::effect::{Effect, RequestId, TimerKind};
use crate::app::message::ListCounts;

/// The most matches that are counted: a larger exact number is of no use.
const MAX_COUNT: u64 = 10_000;

/// The most matches that are counted while the user types:
/// each letter would count thousands of matches.
const MAX_COUNT_WHILE_TYPING: u64 = 1_000;

/// The pause in typing after which matches are counted up to [`MAX_COUNT`].
const COUNT_PAUSE: Duration = Duration::from_millis(300);

impl List {
    /// The number of emails with known bodies and tags, if the filter searches them and
    /// not all are known.
    pub fn count_known_bodies(&self) -> Option<u64> {
        let (known, all) = self.bodies_known.zip(self.archive_total)?;
        (known < all && self.filter.needs_bodies()).then_some(known)
    }

    /// Stores counts; returns whether those above the window are known.
    /// The window may have changed since the request; the counted row shows how far it has moved.
    pub fn apply_counts(&mut self, counts: ListCounts) -> bool {
        (self.total, self.is_capped) = (Some(counts.total), counts.is_capped);
        (self.archive_total, self.archive_span) = (Some(counts.archive_total), counts.archive_span);
        (self.bodies_known, self.left_out) = (counts.bodies_known, counts.left_out);
        (self.unmatched, self.is_purged) = (counts.unmatched, counts.is_purged);
        if let Some(meant) = self.filter.meant() {
            (self.unmatched.nearest, self.unmatched.is_whole) = (vec![meant.to_owned()], true);
        }
        let Some((sort_key, before)) = counts.rows_before else {
            return true;
        };
        let counted = self.rows().iter().position(|row| row.sort_key == sort_key);
        if let Some(n) = counted {
            self.offset = before.checked_sub(self.matching_above(n));
        }
        counted.is_some() || self.rows().is_empty()
    }

    /// Counts the matching emails, and those above the window.
    pub fn start_count(&mut self, is_typing: bool) -> Effect {
        self.count.pause.reset();
        Effect::CountEmails {
            request: self.count.request.start(),
            query: self.filter.query().clone(),
            position: self.rows().first().map(|row| row.sort_key),
            most: if is_typing {
                MAX_COUNT_WHILE_TYPING
            } else {
                MAX_COUNT
            },
        }
    }

    /// Starts the pause before the next count if the last one has stopped early.
    pub fn start_count_pause(&mut self) -> Option<Effect> {
        let stopped_early = self.is_capped && self.total < Some(MAX_COUNT);
        let pause = &mut self.count.pause;
        stopped_early.then(|| pause.start_timer(TimerKind::Count, COUNT_PAUSE))
    }

    pub fn count_timer_fired(&mut self, request: RequestId) -> Option<Effect> {
        let is_due = self.count.pause.finish(request) && self.is_capped;
        is_due.then(|| self.start_count(false))
    }
}
