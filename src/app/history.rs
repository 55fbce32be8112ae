//! Navigation history: the locations that were left, to go back to them and forward again.
//!
//! One history serves two pairs of commands: `u` and `U` undo and redo a change of what the list
//! shows and keep the selected email where they can; `g [` and `g ]` go to each place with the email
//! that was selected there.

use super::anchors::ListAnchor;
use super::commands::Direction;
use super::model::Model;
use super::search::Filter;

/// A location: the filter and the selected email.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// What the list was narrowed to.
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
    pub fn push(&mut self, spot: HistoryEntry) {
        self.forward.clear();
        if self.back.last() != Some(&spot) {
            self.back.push(spot);
            let surplus = self.back.len().saturating_sub(MAX_ENTRIES);
            self.back.drain(..surplus);
        }
    }

    /// The nearest wanted entry in this direction; all entries between it and `here` move to the
    /// other side. Without one, the history stays as it is.
    fn go(
        &mut self,
        side: Direction,
        here: HistoryEntry,
        wanted: impl Fn(&HistoryEntry, &HistoryEntry) -> bool,
    ) -> Option<HistoryEntry> {
        let (from, to) = match side {
            Direction::Left => (&mut self.back, &mut self.forward),
            Direction::Right => (&mut self.forward, &mut self.back),
        };
        let at = from.iter().rposition(|entry| wanted(entry, &here))?;
        to.push(here);
        to.extend(from.drain(at + 1..).rev());
        from.pop()
    }

    /// Whether [`Self::go`] would find an entry.
    fn can_go(&self, direction: Direction, wanted: impl Fn(&HistoryEntry) -> bool) -> bool {
        let from = match direction {
            Direction::Left => &self.back,
            Direction::Right => &self.forward,
        };
        from.iter().any(wanted)
    }

    /// The nearest earlier entry that is wanted.
    pub fn find_latest(&self, wanted: impl Fn(&HistoryEntry) -> bool) -> Option<&HistoryEntry> {
        self.back.iter().rfind(|spot| wanted(spot))
    }
}

impl Model {
    /// The current location.
    pub(super) fn history_entry(&self) -> HistoryEntry {
        HistoryEntry {
            filter: self.list.filter.clone(),
            anchor: self.list.current_anchor(),
            reader_open: self.reader_open,
        }
    }

    pub(super) fn check_undo(&self, direction: Direction) -> Result<(), String> {
        let here = self.history_entry();
        if self
            .history
            .can_go(direction, |entry| entry.has_other_filter(&here))
        {
            return Ok(());
        }
        Err(match direction {
            Direction::Left => "nothing to undo".to_owned(),
            Direction::Right => "nothing to redo".to_owned(),
        })
    }

    /// Undoes the last change of the filter, or redoes it.
    pub(super) fn undo(&mut self, direction: Direction) {
        let here = self.history_entry();
        let wanted = |entry: &HistoryEntry, here: &HistoryEntry| entry.has_other_filter(here);
        if let Some(entry) = self.history.go(direction, here, wanted) {
            self.set_filter(entry.filter);
        }
    }

    pub(super) fn check_history(&self, direction: Direction) -> Result<(), String> {
        let here = self.history_entry();
        if self
            .history
            .can_go(direction, |entry| entry.is_elsewhere(&here))
        {
            return Ok(());
        }
        Err(match direction {
            Direction::Left => "start of the history".to_owned(),
            Direction::Right => "end of the history".to_owned(),
        })
    }

    /// Goes to the previous location, or forward again.
    pub(super) fn go_history(&mut self, direction: Direction) {
        let here = self.history_entry();
        let wanted = |entry: &HistoryEntry, here: &HistoryEntry| entry.is_elsewhere(here);
        if let Some(entry) = self.history.go(direction, here, wanted) {
            self.restore_entry(entry);
        }
    }

    /// Shows a location as it was left.
    pub(super) fn restore_entry(&mut self, spot: HistoryEntry) {
        self.reader_open = spot.reader_open;
        let changes = spot.filter.text() != self.list.filter.text();
        let asked = self
            .list
            .restore(spot.filter.reparsed(&self.now), spot.anchor);
        if changes {
            self.load_older = None;
            self.count_request.reset();
        }
        self.outbox.push(asked);
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
        let asked = self.list.set_filter(filter.reparsed(&self.now));
        if asked.is_some() {
            self.load_older = None;
            self.count_request.reset();
        }
        self.outbox.extend(asked);
    }
}
