//! How the selection moves, and which rows are asked for so that it can.

use super::{List, WINDOW_ROWS};
use crate::app::anchors::JumpTarget;
use crate::app::commands::Motion;
use crate::app::effect::Effect;
use crate::archive::{SortKey, WindowAnchor};

impl List {
    /// Moves the selection; asks for other rows where this needs them.
    pub fn move_selection(&mut self, step: Motion, height: usize) -> Option<Effect> {
        let page = height.max(1).cast_signed();
        self.clear_anchor();
        if matches!(step, Motion::First | Motion::Last) {
            self.on_load_more_row = false;
        }
        match step {
            Motion::Down => self.move_rows(1, height),
            Motion::Up => self.move_rows(-1, height),
            Motion::HalfDown => self.move_rows((page / 2).max(1), height),
            Motion::HalfUp => self.move_rows(-(page / 2).max(1), height),
            Motion::PageDown => self.move_page(page, height),
            Motion::PageUp => self.move_page(-page, height),
            Motion::First => self.jump_to_end(JumpTarget::First, height),
            Motion::Last => self.jump_to_end(JumpTarget::Last, height),
        }
    }

    /// Goes to the first email that is not before this time, in microseconds since 1970.
    pub fn jump_to_time(&mut self, micros: i64) -> Effect {
        self.clear_anchor();
        self.pending_moves = 0;
        self.jump_target = JumpTarget::Time(micros);
        self.load_window(WindowAnchor::AtTime(micros), WINDOW_ROWS)
    }

    /// Selects the row that is `offset` rows below the topmost visible one, if there is one.
    pub fn select_visible(&mut self, offset: usize, height: usize) -> Option<Effect> {
        let target = self.top + offset;
        self.jump_target = JumpTarget::Keep;
        self.clear_anchor();
        self.on_load_more_row = self.has_load_more_row() && target == self.rows().len();
        if target < self.rows().len() {
            self.cursor = target;
        }
        self.scroll_to_selection(height)
    }

    /// Makes the visible rows fit a new height.
    pub fn fit_height(&mut self, height: usize) -> Option<Effect> {
        self.scroll_to_selection(height)
    }

    pub(super) fn move_rows(&mut self, by: isize, height: usize) -> Option<Effect> {
        if self.is_jumping() {
            self.pending_moves += by;
            return None;
        }
        let by = if std::mem::take(&mut self.on_load_more_row) {
            by + 1
        } else {
            by
        };
        let window = self.window.value()?;
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
            self.pending_moves += beyond;
        }
        self.cursor = reached.cast_unsigned();
        self.on_load_more_row = beyond > 0 && self.has_load_more_row();
        self.scroll_to_selection(height)
    }

    /// Moves the screen by a page and the selection with it.
    fn move_page(&mut self, by: isize, height: usize) -> Option<Effect> {
        let len = self.rows().len();
        let furthest = self.line_count().saturating_sub(height);
        let top = (self.top.cast_signed() + by)
            .clamp(0, furthest.cast_signed())
            .cast_unsigned();
        if top == self.top {
            return self.move_rows(by, height);
        }
        let offset = self.cursor - self.top.min(self.cursor);
        self.top = top;
        self.cursor = (top + offset).min(len.saturating_sub(1));
        self.scroll_to_selection(height)
    }

    fn jump_to_end(&mut self, aim: JumpTarget, height: usize) -> Option<Effect> {
        let window = self.window.value()?;
        let here = if aim == JumpTarget::Last {
            !window.more_below
        } else {
            !window.more_above
        };
        self.pending_moves = 0;
        // Rows of another filter are on their way while it jumps: the end of these is not the end of those.
        if here && !self.is_jumping() {
            self.cursor = if aim == JumpTarget::Last {
                window.rows.len().saturating_sub(1)
            } else {
                0
            };
            return self.scroll_to_selection(height);
        }
        self.jump_target = aim;
        Some(self.load_window(
            if aim == JumpTarget::Last {
                WindowAnchor::Oldest
            } else {
                WindowAnchor::Newest
            },
            WINDOW_ROWS,
        ))
    }

    /// Turns pages until the selection is visible, and asks for rows before the edge is reached.
    ///
    /// Pages, not single rows: a list that scrolls by one repaints every cell for each key.
    pub(super) fn scroll_to_selection(&mut self, height: usize) -> Option<Effect> {
        let (more_above, more_below, len) = self
            .window
            .value()
            .map(|window| (window.more_above, window.more_below, window.rows.len()))?;
        let line = self.cursor + usize::from(self.on_load_more_row);
        if line < self.top {
            self.top = (line + 1).saturating_sub(height.max(1));
        } else if line >= self.top + height {
            self.top = line;
        }
        self.top = self.top.min(self.line_count().saturating_sub(height));
        if !more_above && !self.window.is_pending() {
            self.unseen_above = self.unseen_above.min(self.top as u64);
        }
        let near_top = more_above && self.top < height;
        let near_bottom = more_below && self.top + 2 * height >= len;
        if self.window.is_pending() || !(near_top || near_bottom || self.pending_moves != 0) {
            return None;
        }
        let place = self.rows().get(self.top)?.sort_key;
        Some(self.load_around(place))
    }

    /// Lines of the list: its rows, and what may be below them.
    fn line_count(&self) -> usize {
        self.rows().len() + usize::from(self.has_load_more_row())
    }

    pub(super) fn load_around(&mut self, place: SortKey) -> Effect {
        self.load_window(
            WindowAnchor::Around {
                sort_key: place,
                above: WINDOW_ROWS / 2,
            },
            WINDOW_ROWS,
        )
    }

    pub(super) fn load_window(&mut self, anchor: WindowAnchor, rows: usize) -> Effect {
        Effect::LoadWindow {
            ticket: self.window.start(),
            query: self.filter.query().clone(),
            anchor,
            rows,
        }
    }
}
