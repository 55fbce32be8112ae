//! Moves the selection and the visible part of the list, and loads rows for that.

use super::anchors::JumpTarget;
use super::{List, ListLine, Viewport, WINDOW_ROWS};
use crate::app::commands::Motion;
use crate::app::effect::Effect;
use crate::archive::WindowAnchor;

impl List {
    /// Moves the selection; requests other rows if this needs them.
    pub fn move_selection(&mut self, motion: Motion, viewport: &Viewport) -> Option<Effect> {
        let page = self.visible_rows(viewport).count().max(1).cast_signed();
        let half = (page / 2).max(1);
        self.clear_anchor();
        match motion {
            Motion::Down => self.move_rows(1, viewport),
            Motion::Up => self.move_rows(-1, viewport),
            Motion::HalfDown => self.move_rows(half, viewport),
            Motion::HalfUp => self.move_rows(-half, viewport),
            Motion::PageDown => self.move_page(page, viewport),
            Motion::PageUp => {
                let top = self.top_above(self.top.saturating_sub(1), viewport);
                let rows = (self.top - top).cast_signed();
                self.move_page(-(if rows == 0 { page } else { rows }), viewport)
            }
            Motion::First => self.jump_to_end(JumpTarget::First, viewport),
            Motion::Last => self.jump_to_end(JumpTarget::Last, viewport),
        }
    }

    /// Goes to the first email at or after this time, in microseconds since 1970.
    pub fn jump_to_time(&mut self, micros: i64) -> Effect {
        self.clear_anchor();
        (self.pending_moves, self.on_load_more_row) = (0, false);
        self.jump_target = JumpTarget::Time(micros);
        self.load_window(WindowAnchor::AtTime(micros), WINDOW_ROWS)
    }

    /// Selects what is on a visible line, if it can be selected.
    pub fn select_line(&mut self, line: usize, viewport: &Viewport) -> Option<Effect> {
        let lines = self.visible_lines(viewport);
        let rows_above = lines.iter().take(line);
        let rows_above = rows_above.filter(|line| matches!(line, ListLine::Row { .. }));
        let target = self.top + rows_above.count();
        let on_load_more_row = match lines.get(line)? {
            ListLine::Day(_) => return None,
            ListLine::Row { .. } => false,
            ListLine::LoadMore { .. } => true,
        };
        self.jump_target = JumpTarget::Keep;
        self.clear_anchor();
        self.on_load_more_row = on_load_more_row;
        // The line below the last row belongs to that row.
        self.cursor = target.saturating_sub(usize::from(on_load_more_row));
        self.scroll_to_selection(viewport)
    }

    pub(super) fn move_rows(&mut self, by: isize, viewport: &Viewport) -> Option<Effect> {
        if self.is_jumping() {
            self.pending_moves += by;
            return None;
        }
        let by = by + isize::from(std::mem::take(&mut self.on_load_more_row));
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
        self.scroll_to_selection(viewport)
    }

    /// Moves the screen by so many rows and the selection with it.
    fn move_page(&mut self, by: isize, viewport: &Viewport) -> Option<Effect> {
        let len = self.rows().len();
        let lowest = self.line_count().saturating_sub(1);
        let furthest = self.top_above(lowest, viewport);
        let top = (self.top.cast_signed() + by)
            .clamp(0, furthest.cast_signed())
            .cast_unsigned();
        if top == self.top {
            return self.move_rows(by, viewport);
        }
        let offset = self.cursor - self.top.min(self.cursor);
        self.on_load_more_row = false;
        self.top = top;
        self.cursor = (top + offset).min(len.saturating_sub(1));
        self.scroll_to_selection(viewport)
    }

    /// Scrolls by one row; the selection moves only to stay visible.
    pub fn scroll_viewport(&mut self, motion: Motion, viewport: &Viewport) -> Option<Effect> {
        let lowest = self.line_count().saturating_sub(1);
        let furthest = self.top_above(lowest, viewport);
        self.top = (motion.apply(self.top, 1)).min(furthest);
        self.on_load_more_row &= self.top == furthest;
        let count = self.visible_rows(viewport).count().max(1);
        self.cursor = self.cursor.clamp(self.top, self.top + count - 1);
        self.scroll_to_selection(viewport)
    }

    fn jump_to_end(&mut self, target: JumpTarget, viewport: &Viewport) -> Option<Effect> {
        self.on_load_more_row = false;
        let window = self.window.value()?;
        let (anchor, end, more) = if target == JumpTarget::Last {
            let last = window.rows.len().saturating_sub(1);
            (WindowAnchor::Bottom, last, window.more_below)
        } else {
            (WindowAnchor::Top, 0, window.more_above)
        };
        self.pending_moves = 0;
        // During a jump, rows of another filter may be loading, whose end is another one.
        if !more && !self.is_jumping() {
            self.cursor = end;
            return self.scroll_to_selection(viewport);
        }
        self.jump_target = target;
        Some(self.load_window(anchor, WINDOW_ROWS))
    }

    /// Scrolls by pages to the selection, and requests rows before the edge is near.
    ///
    /// Pages, not single rows: a list that scrolls by one repaints every cell for each key.
    pub fn scroll_to_selection(&mut self, viewport: &Viewport) -> Option<Effect> {
        self.update_days(viewport, false);
        let window = self.window.value()?;
        let (more_above, more_below) = (window.more_above, window.more_below);
        let len = window.rows.len();
        let line = self.cursor + usize::from(self.on_load_more_row);
        if line < self.top {
            self.top = self.top_above(line, viewport);
        } else if self.top < self.top_above(line, viewport) {
            self.top = line;
        }
        let last = self.line_count().saturating_sub(1);
        self.top = self.top.min(self.top_above(last, viewport));
        if !more_above && !self.window.is_pending() {
            self.unseen_above = self.unseen_above.min(self.top as u64);
            if self.top == 0 {
                self.note_top_seen();
            }
        }
        let near_top = more_above && self.top < viewport.lines;
        let near_bottom = more_below && self.top + 2 * viewport.lines >= len;
        if self.window.is_pending() || !(near_top || near_bottom || self.pending_moves != 0) {
            return None;
        }
        let sort_key = self.rows().get(self.top)?.sort_key;
        Some(self.load_around(sort_key))
    }
}
