//! The trail: the places where one has been, so that one can go back to them and forth again.
//!
//! One trail serves both ways of walking it: `u` and `U` undo and redo a change of what the list
//! shows and keep the selected email where they can; `g [` and `g ]` go to each place with the email
//! that was selected there.

use super::anchors::ListAnchor;
use super::command::Direction;
use super::effect::Effects;
use super::filter::Filter;
use super::model::Model;

/// What the list showed, and where in it the person was.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// What the list was narrowed to.
    pub filter: Filter,
    /// The selected email, if there was one.
    pub anchor: Option<ListAnchor>,
    /// Whether the email was being read.
    pub reader_open: bool,
}

/// Spots that were left and spots that were gone back from, the nearest last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NavHistory {
    back: Vec<HistoryEntry>,
    forward: Vec<HistoryEntry>,
}

/// Nobody walks further back than that.
const MAX_ENTRIES: usize = 200;

impl NavHistory {
    /// Remembers a spot that is being left for a new one.
    pub fn push(&mut self, spot: HistoryEntry) {
        self.forward.clear();
        if self.back.last() != Some(&spot) {
            self.back.push(spot);
            let surplus = self.back.len().saturating_sub(MAX_ENTRIES);
            self.back.drain(..surplus);
        }
    }

    /// The nearest wanted spot that was left, or with [`Side::Right`] gone back from; all between it
    /// and `here` can be walked the other way. If there is none, the trail stays as it is.
    fn go(
        &mut self,
        side: Direction,
        here: HistoryEntry,
        wanted: impl Fn(&HistoryEntry) -> bool,
    ) -> Option<HistoryEntry> {
        let (from, to) = match side {
            Direction::Left => (&mut self.back, &mut self.forward),
            Direction::Right => (&mut self.forward, &mut self.back),
        };
        let at = from.iter().rposition(wanted)?;
        to.push(here);
        to.extend(from.drain(at + 1..).rev());
        from.pop()
    }

    /// The nearest wanted spot that was left.
    pub fn find_latest(&self, wanted: impl Fn(&HistoryEntry) -> bool) -> Option<&HistoryEntry> {
        self.back.iter().rfind(|spot| wanted(spot))
    }
}

impl Model {
    /// Where the person is.
    pub(super) fn history_entry(&self) -> HistoryEntry {
        HistoryEntry {
            filter: self.list.filter().clone(),
            anchor: self.list.current_anchor(),
            reader_open: self.reader_open,
        }
    }

    /// Takes back the last change of what the list shows, or makes it again.
    pub(super) fn undo(&mut self, side: Direction) -> Effects {
        let here = self.history_entry();
        let text = here.filter.text().to_owned();
        match self
            .history
            .go(side, here, |spot| spot.filter.text() != text)
        {
            Some(spot) => self.set_filter(spot.filter),
            None => self.notify(if side == Direction::Left {
                "there is nothing to undo"
            } else {
                "there is nothing to redo"
            }),
        }
    }

    /// Goes back to the place before this one, or forth again.
    pub(super) fn go_history(&mut self, side: Direction) -> Effects {
        let here = self.history_entry();
        let (text, home) = (
            here.filter.text().to_owned(),
            here.anchor.clone().map(|home| home.cursor),
        );
        let other = |spot: &HistoryEntry| {
            spot.filter.text() != text
                || spot.anchor.as_ref().map(|home| &home.cursor) != home.as_ref()
        };
        match self.history.go(side, here, other) {
            Some(spot) => self.restore_entry(spot),
            None => self.notify(if side == Direction::Left {
                "this is the first place"
            } else {
                "this is the latest place"
            }),
        }
    }

    /// Shows a place as it was left.
    pub(super) fn restore_entry(&mut self, spot: HistoryEntry) -> Effects {
        self.reader_open = spot.reader_open;
        let changes = spot.filter.text() != self.list.filter().text();
        let asked = self
            .list
            .restore(spot.filter.reparsed(&self.now), spot.anchor);
        if changes {
            self.load_older = None;
            self.count_request.reset();
        }
        vec![asked]
    }

    /// Shows another filter, and remembers the place that was left.
    pub(super) fn show_filter(&mut self, filter: Filter) -> Effects {
        let before = self.history_entry();
        let effects = self.set_filter(filter);
        self.record_history(before);
        effects
    }

    /// Remembers a place if the list shows something else now.
    pub(super) fn record_history(&mut self, before: HistoryEntry) {
        if before.filter.query() != self.list.filter().query() {
            self.history.push(before);
        }
    }

    pub(super) fn set_filter(&mut self, filter: Filter) -> Effects {
        let asked = self.list.set_filter(filter.reparsed(&self.now));
        if asked.is_some() {
            self.load_older = None;
            self.count_request.reset();
        }
        asked.into_iter().collect()
    }

    fn notify(&mut self, words: &str) -> Effects {
        self.notice = Some(words.to_owned());
        Effects::new()
    }
}
