//! How the selection moves, and which rows are asked for so that it can.

use super::{List, WINDOW};
use crate::app::command::Step;
use crate::app::effect::Effect;
use crate::app::marks::Aim;
use crate::archive::{Anchor, Place};

impl List {
    /// Moves the selection; asks for other rows where this needs them.
    pub fn go(&mut self, step: Step, height: usize) -> Option<Effect> {
        let page = height.max(1).cast_signed();
        self.stay();
        if matches!(step, Step::First | Step::Last) {
            self.at_foot = false;
        }
        match step {
            Step::Down => self.walk(1, height),
            Step::Up => self.walk(-1, height),
            Step::HalfDown => self.walk((page / 2).max(1), height),
            Step::HalfUp => self.walk(-(page / 2).max(1), height),
            Step::PageDown => self.turn(page, height),
            Step::PageUp => self.turn(-page, height),
            Step::First => self.jump(Aim::First, height),
            Step::Last => self.jump(Aim::Last, height),
        }
    }

    /// Goes to the first email that is not before this time, in microseconds since 1970.
    pub fn go_to(&mut self, micros: i64) -> Effect {
        self.stay();
        self.owed = 0;
        self.aim = Aim::Time(micros);
        self.look(Anchor::At(micros), WINDOW)
    }

    /// Selects the row that is `offset` rows below the topmost visible one, if there is one.
    pub fn point(&mut self, offset: usize, height: usize) -> Option<Effect> {
        let target = self.top + offset;
        self.aim = Aim::Keep;
        self.stay();
        self.at_foot = self.has_foot() && target == self.rows().len();
        if target < self.rows().len() {
            self.cursor = target;
        }
        self.show(height)
    }

    /// Makes the visible rows fit a new height.
    pub fn resized(&mut self, height: usize) -> Option<Effect> {
        self.show(height)
    }

    pub(super) fn walk(&mut self, by: isize, height: usize) -> Option<Effect> {
        if self.is_jumping() {
            self.owed += by;
            return None;
        }
        let by = if std::mem::take(&mut self.at_foot) {
            by + 1
        } else {
            by
        };
        let window = self.slot.ready()?;
        let last = window.rows.len().checked_sub(1)?.cast_signed();
        let target = self.cursor.cast_signed() + by;
        let reached = target.clamp(0, last);
        let beyond = target - reached;
        let more = if beyond > 0 {
            window.more_below
        } else {
            window.more_above
        };
        if more && beyond != 0 {
            self.owed += beyond;
        }
        self.cursor = reached.cast_unsigned();
        self.at_foot = beyond > 0 && self.has_foot();
        self.show(height)
    }

    /// Moves the screen by a page and the selection with it.
    fn turn(&mut self, by: isize, height: usize) -> Option<Effect> {
        let len = self.rows().len();
        let furthest = self.lines().saturating_sub(height);
        let top = (self.top.cast_signed() + by)
            .clamp(0, furthest.cast_signed())
            .cast_unsigned();
        if top == self.top {
            return self.walk(by, height);
        }
        let offset = self.cursor - self.top.min(self.cursor);
        self.top = top;
        self.cursor = (top + offset).min(len.saturating_sub(1));
        self.show(height)
    }

    fn jump(&mut self, aim: Aim, height: usize) -> Option<Effect> {
        let window = self.slot.ready()?;
        let here = if aim == Aim::Last {
            !window.more_below
        } else {
            !window.more_above
        };
        self.owed = 0;
        // Rows of another filter are on their way while it jumps: the end of these is not the end of those.
        if here && !self.is_jumping() {
            self.cursor = if aim == Aim::Last {
                window.rows.len().saturating_sub(1)
            } else {
                0
            };
            return self.show(height);
        }
        self.aim = aim;
        Some(self.look(
            if aim == Aim::Last {
                Anchor::Oldest
            } else {
                Anchor::Newest
            },
            WINDOW,
        ))
    }

    /// Turns pages until the selection is visible, and asks for rows before the edge is reached.
    ///
    /// Pages, not single rows: a list that scrolls by one repaints every cell for each key.
    pub(super) fn show(&mut self, height: usize) -> Option<Effect> {
        let (more_above, more_below, len) = self
            .slot
            .ready()
            .map(|window| (window.more_above, window.more_below, window.rows.len()))?;
        let line = self.cursor + usize::from(self.at_foot);
        if line < self.top {
            self.top = (line + 1).saturating_sub(height.max(1));
        } else if line >= self.top + height {
            self.top = line;
        }
        self.top = self.top.min(self.lines().saturating_sub(height));
        if !more_above && !self.slot.is_awaiting() {
            self.unseen = self.unseen.min(self.top as u64);
        }
        let near_top = more_above && self.top < height;
        let near_bottom = more_below && self.top + 2 * height >= len;
        if self.slot.is_awaiting() || !(near_top || near_bottom || self.owed != 0) {
            return None;
        }
        let place = self.rows().get(self.top)?.place;
        Some(self.look_around(place))
    }

    /// Lines of the list: its rows, and what may be below them.
    fn lines(&self) -> usize {
        self.rows().len() + usize::from(self.has_foot())
    }

    pub(super) fn look_around(&mut self, place: Place) -> Effect {
        self.look(
            Anchor::Around {
                place,
                above: WINDOW / 2,
            },
            WINDOW,
        )
    }

    pub(super) fn look(&mut self, anchor: Anchor, rows: usize) -> Effect {
        Effect::Look {
            ticket: self.slot.begin(),
            query: self.filter.query().clone(),
            anchor,
            rows,
        }
    }
}
