//! Navigation history: the locations that were left, to go back to them and forward
//! again.
//!
//! One history serves two pairs of commands: `u` and `U` undo and redo a change of the filter and
//! keep the selected email where they can; `g [` and `g ]` go to each location with the email that
//! was selected there.
//!
//! `List::set_filter` records nothing: use `Model::show_filter`, or call `record_history` after it.
//!
//! [`ScrollHistory`] is another history, of the reader: how far each of the latest emails was
//! scrolled.

use std::collections::VecDeque;

use super::commands::{Side, require};
use super::list::anchors::ListAnchor;
use super::list::filter::Filter;
use super::model::Model;
use crate::mail::EmailId;
use crate::render::BodyView;

/// A location: the filter and the selected email.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The filter of the list.
    pub filter: Filter,
    /// The selected email, if there was one.
    pub anchor: Option<ListAnchor>,
    /// Whether the email was being read.
    pub reader_open: bool,
}

impl HistoryEntry {
    fn has_other_filter(&self, other: &Self) -> bool {
        self.filter.text() != other.filter.text()
    }

    /// Whether it has another filter or another selected email.
    fn is_elsewhere(&self, other: &Self) -> bool {
        let cursor = |entry: &Self| entry.anchor.as_ref().map(|anchor| anchor.cursor.clone());
        self.has_other_filter(other) || cursor(self) != cursor(other)
    }
}

/// Locations to go back to and forward to, the nearest last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NavHistory {
    back: Vec<HistoryEntry>,
    forward: Vec<HistoryEntry>,
}

/// The number of locations that are kept.
const MAX_ENTRIES: usize = 200;

impl NavHistory {
    /// Adds a location that is left for a new one.
    pub fn push(&mut self, entry: HistoryEntry) {
        self.forward.clear();
        if self.back.last() != Some(&entry) {
            self.back.push(entry);
            let surplus = self.back.len().saturating_sub(MAX_ENTRIES);
            self.back.drain(..surplus);
        }
    }

    /// Returns the nearest entry on this side that differs from `here`,
    /// and moves all entries between them to the other side. Without one, the history stays as it
    /// is.
    fn go(&mut self, side: Side, here: HistoryEntry, differs: Difference) -> Option<HistoryEntry> {
        let (from, to) = match side {
            Side::Left => (&mut self.back, &mut self.forward),
            Side::Right => (&mut self.forward, &mut self.back),
        };
        let at = from.iter().rposition(|entry| differs(entry, &here))?;
        to.push(here);
        to.extend(from.drain(at + 1..).rev());
        from.pop()
    }

    /// Whether [`Self::go`] would find an entry.
    fn can_go(&self, side: Side, here: &HistoryEntry, differs: Difference) -> bool {
        let from = match side {
            Side::Left => &self.back,
            Side::Right => &self.forward,
        };
        from.iter().any(|entry| differs(entry, here))
    }

    /// The nearest earlier entry for which `test` is true.
    pub fn find_latest(&self, test: impl Fn(&HistoryEntry) -> bool) -> Option<&HistoryEntry> {
        self.back.iter().rfind(|entry| test(entry))
    }
}

/// How two entries may differ.
type Difference = fn(&HistoryEntry, &HistoryEntry) -> bool;

/// More emails than a user goes back and forth between.
const MAX_EMAILS: usize = 100;

/// An email in a view at a width.
pub(super) type ScrollKey = (EmailId, BodyView, u16);

/// Where the latest emails were left, each in a view at a width;
/// those left at their start are not kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ScrollHistory(VecDeque<(ScrollKey, usize)>);

impl ScrollHistory {
    pub(super) fn remember(&mut self, key: ScrollKey, scroll: usize) {
        self.0.retain(|(other, _)| *other != key);
        if scroll > 0 {
            self.0.truncate(MAX_EMAILS - 1);
            self.0.push_front((key, scroll));
        }
    }

    pub(super) fn scroll_of(&self, key: &ScrollKey) -> Option<usize> {
        let mut kept = self.0.iter();
        let found = kept.find(|(other, _)| other == key);
        found.map(|(_, scroll)| *scroll)
    }
}

/// The scroll position of a text at a size of its pane.
///
/// The positions at later sizes are computed from it, so that none of them loses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ResizeOrigin {
    pub(super) scroll: usize,
    pub(super) lines: usize,
    pub(super) width: u16,
    /// The scroll position at the present size; any other one is that of the user.
    pub(super) shown: usize,
}

impl ResizeOrigin {
    /// Returns the position of about the same text in as many lines of this width.
    pub(super) fn scroll_at(self, width: u16, lines: usize) -> usize {
        if width == self.width {
            self.scroll
        } else {
            self.scroll * lines / self.lines.max(1)
        }
    }
}

impl Model {
    /// The current location.
    pub(super) fn history_entry(&self) -> HistoryEntry {
        HistoryEntry {
            filter: self.list.filter.clone(),
            anchor: self.list.current_anchor(),
            reader_open: self.panes.reader_open,
        }
    }

    pub(super) fn check_undo(&self, side: Side) -> Result<(), String> {
        let error = match side {
            Side::Left => "nothing to undo",
            Side::Right => "nothing to redo",
        };
        self.check_side(side, HistoryEntry::has_other_filter, error)
    }

    fn check_side(&self, side: Side, differs: Difference, error: &str) -> Result<(), String> {
        let is_possible = self.history.can_go(side, &self.history_entry(), differs);
        require(is_possible, error)
    }

    /// Undoes the last change of the filter, or redoes it.
    pub(super) fn undo(&mut self, side: Side) {
        let here = self.history_entry();
        let differs = HistoryEntry::has_other_filter;
        if let Some(entry) = self.history.go(side, here, differs) {
            self.set_filter(entry.filter.renewed(&self.now));
        }
    }

    pub(super) fn check_history(&self, side: Side) -> Result<(), String> {
        let error = match side {
            Side::Left => "start of the history",
            Side::Right => "end of the history",
        };
        self.check_side(side, HistoryEntry::is_elsewhere, error)
    }

    /// Goes to the previous location, or forward again.
    pub(super) fn go_history(&mut self, side: Side) {
        let here = self.history_entry();
        let differs = HistoryEntry::is_elsewhere;
        if let Some(entry) = self.history.go(side, here, differs) {
            self.restore_entry(entry);
        }
    }

    /// Shows a location as it was left.
    pub(super) fn restore_entry(&mut self, entry: HistoryEntry) {
        self.panes.reader_open = entry.reader_open;
        let has_other_filter = entry.filter.text() != self.list.filter.text();
        let filter = if has_other_filter {
            entry.filter.renewed(&self.now)
        } else {
            entry.filter.reparsed(&self.now)
        };
        let request = self.list.restore(filter, entry.anchor);
        if has_other_filter {
            self.load_older.running = None;
            self.list.count.request.reset();
        }
        self.outbox.push(request);
    }

    /// Shows another filter and adds the old location to the history.
    pub(super) fn show_filter(&mut self, filter: Filter) {
        let before = self.history_entry();
        self.set_filter(filter);
        self.record_history(before);
    }

    /// Adds a location to the history if the filter is another one now.
    pub(super) fn record_history(&mut self, before: HistoryEntry) {
        if before.filter.query() != self.list.filter.query() {
            self.history.push(before);
        }
    }

    pub(super) fn set_filter(&mut self, filter: Filter) {
        if self.is_received() && filter.query().needs_status() {
            self.notify("received mail has no status");
        }
        let request = self.list.set_filter(filter.reparsed(&self.now));
        if request.is_some() {
            self.load_older.running = None;
            self.list.count.request.reset();
        }
        self.outbox.extend(request);
    }

    /// Counts the ages in the filter from now. The selected email stays in the list, as
    /// after a change of the archive.
    pub(super) fn renew_ages(&mut self) {
        if self.list.filter.has_ages() {
            self.list.filter = self.list.filter.clone().renewed(&self.now);
            self.reload_list();
        }
    }
}
