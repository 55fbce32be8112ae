//! The list: a window of rows around what is visible, and a selection that is an email, not a position.

mod walk;

use std::collections::BTreeSet;

use super::effect::Effect;
use super::filter::Filter;
use super::marks::{Aim, Home, Marks};
use super::msg::Counts;
use super::slot::{Slot, Ticket};
use crate::archive::{Anchor, Row, Window};
use crate::failure::Failure;
use crate::mail::EmailId;
use crate::query::Sort;

/// Rows kept around the visible ones, at least: enough for a held key to outrun a few queries.
const WINDOW: usize = 256;
/// Rows of the very first window: a screen and a half, so that it is there at once.
const FIRST_WINDOW: usize = 96;

/// The rows that are known to the screen, the selected one and the topmost visible one.
///
/// Only a window is held: a million emails cost no more than fifty. Both marks move with their
/// emails when a newer window replaces this one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List {
    slot: Slot<Window>,
    filter: Filter,
    /// Where the person was when the filter began to change; it outlasts filters that hide it.
    home: Option<Home>,
    cursor: usize,
    top: usize,
    aim: Aim,
    /// Whether looking further back may bring more rows below the last one.
    bottomless: bool,
    /// Whether the line below the last row, which says so, is where the person is.
    at_foot: bool,
    /// Steps that the person has asked for beyond the edge of this window.
    owed: isize,
    /// The archive changed while a jump was under way, so its window may be old already.
    outdated: bool,
    /// How many emails stand before the first row of the window, where that is known.
    first_rank: Option<u64>,
    /// Emails that the filter lets through, where that is known.
    total: Option<u64>,
    /// There are more of them than were counted.
    capped: bool,
    /// Emails in the archive, where that is known.
    all: Option<u64>,
    /// Emails whose bodies and tags are known, where the filter hangs on it.
    fetched: Option<u64>,
    /// Emails that arrived above what is visible.
    unseen: u64,
    /// Emails whose status changed and that were not looked at since.
    changed: BTreeSet<EmailId>,
}

impl List {
    /// Asks for the first rows, for the first screen.
    pub fn start(&mut self) -> Effect {
        self.aim = Aim::First;
        self.look(Anchor::Newest, FIRST_WINDOW)
    }

    /// What the list is narrowed to.
    #[must_use]
    pub const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Narrows the list to another filter; asks for its rows, unless it means the same.
    ///
    /// The selection stays on its email where the filter lets it through, and comes back to it when
    /// a later one does.
    pub fn narrow(&mut self, filter: Filter) -> Option<Effect> {
        if filter.query() == self.filter.query() {
            self.filter = filter;
            return None;
        }
        let home = self.home.take().or_else(|| self.here());
        Some(self.go_home(filter, home))
    }

    /// Shows a filter again with the email that was selected then.
    pub fn come_back(&mut self, filter: Filter, home: Option<Home>) -> Effect {
        self.go_home(filter, home)
    }

    fn go_home(&mut self, filter: Filter, home: Option<Home>) -> Effect {
        if filter.query() != self.filter.query() {
            (self.total, self.capped, self.first_rank) = (None, false, None);
            if self.rows().is_empty() {
                // What was not found of the one says nothing about the other.
                self.slot.clear();
            }
        }
        (self.owed, self.unseen, self.outdated, self.at_foot) = (0, 0, false, false);
        (self.filter, self.home) = (filter, home);
        let Some(place) = self.home.as_ref().map(|home| home.cursor.place) else {
            return self.start();
        };
        self.aim = Aim::Home;
        self.look_around(place)
    }

    /// Where the person is.
    #[must_use]
    pub fn here(&self) -> Option<Home> {
        let marks = self.marks();
        Some(Home {
            cursor: marks.cursor?,
            top: marks.top?,
        })
    }

    /// Takes note that the person means the selected email, and not the one before the filter.
    pub fn stay(&mut self) {
        self.home = None;
    }

    /// The rows of the window, newest first.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        self.slot.ready().map_or(&[], |window| &window.rows)
    }

    /// The selected row.
    #[must_use]
    pub fn selected(&self) -> Option<&Row> {
        self.rows().get(self.cursor)
    }

    /// Whether rows are on their way.
    #[must_use]
    pub const fn is_awaiting(&self) -> bool {
        self.slot.is_awaiting()
    }

    /// The rows on the screen, and which of them is selected.
    pub fn visible(&self, height: usize) -> impl Iterator<Item = (bool, &Row)> {
        let cursor = Some(self.cursor).filter(|_| !self.at_foot);
        self.rows()
            .iter()
            .enumerate()
            .skip(self.top)
            .take(height)
            .map(move |(n, row)| (Some(n) == cursor, row))
    }

    /// The line below the last row, if it is on the screen: how many rows are above it there, and
    /// whether the person is on it.
    #[must_use]
    pub fn foot(&self, height: usize) -> Option<(usize, bool)> {
        let above = self.rows().len() - self.top.min(self.rows().len());
        (self.has_foot() && above < height).then_some((above, self.at_foot))
    }

    /// Whether the person is on the line below the last row.
    #[must_use]
    pub fn is_at_foot(&self) -> bool {
        self.at_foot && self.has_foot()
    }

    /// Takes note whether looking further back may bring more rows.
    pub fn set_bottomless(&mut self, bottomless: bool) {
        self.bottomless = bottomless;
        self.at_foot &= bottomless;
    }

    fn has_foot(&self) -> bool {
        self.bottomless
            && self
                .slot
                .ready()
                .is_some_and(|window| !window.more_below && !window.rows.is_empty())
    }

    /// Position of the selected email among all, counted from 1, where that is known.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.selected()?;
        self.first_rank.map(|rank| rank + self.cursor as u64 + 1)
    }

    /// Emails that the filter lets through, where that is known.
    #[must_use]
    pub const fn total(&self) -> Option<u64> {
        self.total
    }

    /// Whether there are more of them than [`List::total`], which is where counting ended.
    #[must_use]
    pub const fn is_capped(&self) -> bool {
        self.capped
    }

    /// Emails in the archive, where that is known.
    #[must_use]
    pub const fn all(&self) -> Option<u64> {
        self.all
    }

    /// Emails whose bodies and tags are known, where the filter hangs on it and that was counted.
    #[must_use]
    pub const fn fetched(&self) -> Option<u64> {
        self.fetched
    }

    /// Emails that arrived above what is visible.
    #[must_use]
    pub const fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Whether the status of this email changed since it was last looked at.
    #[must_use]
    pub fn has_changed(&self, id: &EmailId) -> bool {
        self.changed.contains(id)
    }

    /// Whether the first window has not come yet.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.slot.ready().is_none() && self.slot.failure().is_none()
    }

    /// Why there are no rows, if the archive could not be read.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.slot.failure()
    }

    /// Whether the selection is so near the oldest known email that more should be fetched.
    #[must_use]
    pub fn nears_the_end(&self, height: usize) -> bool {
        // While rows are on their way, the end that is known may not be the end any more.
        !self.slot.is_awaiting()
            && self.slot.ready().is_some_and(|window| {
                !window.more_below && self.cursor + 2 * height >= window.rows.len()
            })
    }

    /// Looks at the same place again, because the archive has changed.
    pub fn renew(&mut self) -> Option<Effect> {
        if self.is_jumping() {
            self.outdated = true;
            return None;
        }
        let Some(place) = self.rows().get(self.top).map(|row| row.place) else {
            return Some(self.start());
        };
        Some(self.look_around(place))
    }

    fn is_jumping(&self) -> bool {
        self.aim != Aim::Keep && self.slot.is_awaiting()
    }

    /// Asks how many emails there are, and how many above this window.
    #[must_use]
    pub fn count(&self, ticket: Ticket) -> Effect {
        Effect::Count {
            ticket,
            query: self.filter.query().clone(),
            place: self.rows().first().map(|row| row.place),
        }
    }

    /// Takes the answer to [`List::count`]. The window may be another by now; the row that was asked
    /// about tells how far it has moved.
    pub fn counted(&mut self, counts: Counts) {
        self.total = Some(counts.total);
        self.capped = counts.capped;
        self.all = Some(counts.all);
        self.fetched = counts.fetched;
        let Some((place, before)) = counts.before else {
            return;
        };
        if let Some(n) = self.rows().iter().position(|row| row.place == place) {
            self.first_rank = before.checked_sub(n as u64);
        }
    }

    /// Takes a window; the selection stays on its email, unless a jump was asked for.
    pub fn settle(
        &mut self,
        ticket: Ticket,
        outcome: Result<Window, Failure>,
        height: usize,
    ) -> Option<Effect> {
        let before = self.marks();
        if !self.slot.settle(ticket, outcome) || self.slot.failure().is_some() {
            return None;
        }
        let sort = self.filter.query().sort;
        let window = self.slot.ready()?;
        let last = window.rows.len().saturating_sub(1);
        self.first_rank = match before.rank_in(window, sort) {
            _ if !window.more_above => Some(0),
            Some(rank) => Some(rank),
            None if !window.more_below && !self.capped => self
                .total
                .map(|total| total.saturating_sub(window.rows.len() as u64)),
            None => None,
        };
        match std::mem::take(&mut self.aim) {
            Aim::First => (self.cursor, self.top) = (0, 0),
            Aim::Last => {
                (self.cursor, self.top) = (last, last.saturating_sub(height.saturating_sub(1)));
            }
            Aim::Keep => {
                self.cursor = before
                    .cursor
                    .map_or(0, |mark| mark.find(&window.rows, sort));
                self.top = before.top.map_or(0, |mark| mark.find(&window.rows, sort));
            }
            Aim::Time(micros) => {
                let reached = |row: &Row| {
                    if sort == Sort::Newest {
                        row.place.micros() <= micros
                    } else {
                        row.place.micros() >= micros
                    }
                };
                self.cursor = window.rows.iter().position(reached).unwrap_or(last);
                self.top = self.cursor;
            }
            Aim::Home => {
                let home = self.home.as_ref();
                let found = home.and_then(|home| home.cursor.position(&window.rows));
                self.cursor = found.unwrap_or(0);
                self.top = home
                    .filter(|_| found.is_some())
                    .map_or(0, |home| home.top.find(&window.rows, sort));
                if found.is_none() && window.more_above {
                    return Some(self.start());
                }
            }
        }
        if self.at_foot && self.cursor < last {
            // Who waits below the last row waits for what comes there.
            self.at_foot = false;
            self.cursor += 1;
        }
        let owed = std::mem::take(&mut self.owed);
        let asked = if owed == 0 {
            self.show(height)
        } else {
            self.walk(owed, height)
        };
        if std::mem::take(&mut self.outdated) {
            self.renew()
        } else {
            asked
        }
    }

    fn marks(&self) -> Marks {
        Marks::of(self.rows(), self.cursor, self.top, self.first_rank)
    }

    /// Takes note of what the service brought.
    pub fn take_news(&mut self, new: u64, changed: Vec<EmailId>) {
        /// More marks than a person looks at; the oldest of them are dropped by starting afresh.
        const MOST: usize = 5_000;
        self.unseen += new;
        if self.changed.len() > MOST {
            self.changed.clear();
        }
        self.changed.extend(changed);
    }

    /// Takes note that the selected email is being looked at.
    pub fn looked_at(&mut self, id: &EmailId) {
        self.changed.remove(id);
    }
}
