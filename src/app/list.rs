//! The list: a window of rows around what is visible, and a selection that is an email, not a position.

use std::collections::BTreeSet;

use super::anchors::{JumpTarget, ListAnchor, WindowAnchors};
use super::commands::Motion;
use super::effect::{Effect, Pending, RequestId};
use super::message::ListCounts;
use super::search::Filter;
use crate::archive::{EmailRow, RowWindow, SortKey, WindowAnchor};
use crate::error::Error;
use crate::mail::EmailId;
use crate::query::SortOrder;

/// Rows kept around the visible ones, at least: enough for a held key to outrun a few queries.
const WINDOW_ROWS: usize = 256;
/// Rows of the very first window: a screen and a half, so that it is there at once.
const FIRST_WINDOW_ROWS: usize = 96;

/// The rows that are known to the screen, the selected one and the topmost visible one.
///
/// Only a window is held: a million emails cost no more than fifty. Both marks move with their
/// emails when a newer window replaces this one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List {
    window: Pending<RowWindow>,
    pub filter: Filter,
    /// The position before the filter changed; kept even if the filter hides it.
    anchor: Option<ListAnchor>,
    cursor: usize,
    top: usize,
    jump_target: JumpTarget,
    /// Whether older mail may add rows below the last one.
    offers_load_more: bool,
    /// Whether the line below the last row is selected.
    on_load_more_row: bool,
    /// Moves beyond the edge of the window; they apply when rows arrive.
    pending_moves: isize,
    /// The archive changed while a jump was under way, so its window may be old already.
    outdated: bool,
    /// How many emails stand before the first row of the window, where that is known.
    offset: Option<u64>,
    /// Emails that the filter lets through, where that is known.
    pub total: Option<u64>,
    /// There are more of them than were counted.
    pub is_capped: bool,
    /// Emails in the archive, where that is known.
    pub archive_total: Option<u64>,
    /// Emails whose bodies and tags are known, where the filter hangs on it.
    pub bodies_known: Option<u64>,
    /// Emails that arrived above what is visible.
    pub unseen_above: u64,
    /// Emails whose status changed and that were not looked at since.
    changed: BTreeSet<EmailId>,
}

impl List {
    /// Asks for the first rows, for the first screen.
    pub fn load_first(&mut self) -> Effect {
        self.jump_target = JumpTarget::First;
        self.load_window(WindowAnchor::Newest, FIRST_WINDOW_ROWS)
    }

    /// Sets the filter and requests its rows, unless it is the same query.
    ///
    /// The selection stays on its email where the filter lets it through, and comes back to it when
    /// a later one does.
    pub fn set_filter(&mut self, filter: Filter) -> Option<Effect> {
        if filter.query() == self.filter.query() {
            self.filter = filter;
            return None;
        }
        let home = self.anchor.take().or_else(|| self.current_anchor());
        Some(self.load_anchored(filter, home))
    }

    /// Shows a filter again with the email that was selected then.
    pub fn restore(&mut self, filter: Filter, home: Option<ListAnchor>) -> Effect {
        self.load_anchored(filter, home)
    }

    fn load_anchored(&mut self, filter: Filter, home: Option<ListAnchor>) -> Effect {
        if filter.query() != self.filter.query() {
            (self.total, self.is_capped, self.offset) = (None, false, None);
            if self.rows().is_empty() {
                // What was not found of the one says nothing about the other.
                self.window.reset();
            }
        }
        (
            self.pending_moves,
            self.unseen_above,
            self.outdated,
            self.on_load_more_row,
        ) = (0, 0, false, false);
        (self.filter, self.anchor) = (filter, home);
        let Some(place) = self.anchor.as_ref().map(|home| home.cursor.sort_key) else {
            return self.load_first();
        };
        self.jump_target = JumpTarget::Anchor;
        self.load_around(place)
    }

    /// The current position.
    pub fn current_anchor(&self) -> Option<ListAnchor> {
        let marks = self.window_anchors();
        Some(ListAnchor {
            cursor: marks.cursor?,
            top: marks.top?,
        })
    }

    /// Forgets the position before the filter.
    pub fn clear_anchor(&mut self) {
        self.anchor = None;
    }

    /// The rows of the window, newest first.
    pub fn rows(&self) -> &[EmailRow] {
        self.window.value().map_or(&[], |window| &window.rows)
    }

    /// The selected row.
    pub fn selected(&self) -> Option<&EmailRow> {
        self.rows().get(self.cursor)
    }

    /// Whether rows are loading.
    pub const fn is_window_pending(&self) -> bool {
        self.window.is_pending()
    }

    /// The rows on the screen, and which of them is selected.
    pub fn visible_rows(&self, height: usize) -> impl Iterator<Item = (bool, &EmailRow)> {
        let cursor = Some(self.cursor).filter(|_| !self.on_load_more_row);
        self.rows()
            .iter()
            .enumerate()
            .skip(self.top)
            .take(height)
            .map(move |(n, row)| (Some(n) == cursor, row))
    }

    /// The line below the last row, if it is on the screen: how many rows are above it there, and
    /// whether the person is on it.
    pub fn load_more_row(&self, height: usize) -> Option<(usize, bool)> {
        let above = self.rows().len() - self.top.min(self.rows().len());
        (self.has_load_more_row() && above < height).then_some((above, self.on_load_more_row))
    }

    /// Whether the line below the last row is selected.
    pub fn is_on_load_more_row(&self) -> bool {
        self.on_load_more_row && self.has_load_more_row()
    }

    /// Takes note whether looking further back may bring more rows.
    pub fn set_offers_load_more(&mut self, bottomless: bool) {
        self.offers_load_more = bottomless;
        self.on_load_more_row &= bottomless;
    }

    fn has_load_more_row(&self) -> bool {
        self.offers_load_more
            && self
                .window
                .value()
                .is_some_and(|window| !window.more_below && !window.rows.is_empty())
    }

    /// Position of the selected email among all, counted from 1, where that is known.
    pub fn position(&self) -> Option<u64> {
        self.selected()?;
        self.offset.map(|rank| rank + self.cursor as u64 + 1)
    }

    /// Whether the status of this email changed since it was last looked at.
    pub fn has_changed(&self, id: &EmailId) -> bool {
        self.changed.contains(id)
    }

    /// Whether the first window has not come yet.
    pub fn is_loading(&self) -> bool {
        self.window.value().is_none() && self.window.error().is_none()
    }

    /// Why there are no rows, if the archive could not be read.
    pub fn error(&self) -> Option<&Error> {
        self.window.error()
    }

    /// Whether the selection is so near the oldest known email that more should be fetched.
    pub fn is_near_end(&self, height: usize) -> bool {
        // While rows are on their way, the end that is known may not be the end any more.
        !self.window.is_pending()
            && self.window.value().is_some_and(|window| {
                !window.more_below && self.cursor + 2 * height >= window.rows.len()
            })
    }

    /// Loads the same rows again, because the archive has changed.
    pub fn reload(&mut self) -> Option<Effect> {
        if self.is_jumping() {
            self.outdated = true;
            return None;
        }
        let Some(place) = self.rows().get(self.top).map(|row| row.sort_key) else {
            return Some(self.load_first());
        };
        Some(self.load_around(place))
    }

    fn is_jumping(&self) -> bool {
        self.jump_target != JumpTarget::Keep && self.window.is_pending()
    }

    /// Asks how many emails there are, and how many above this window.
    pub fn count_emails(&self, request: RequestId) -> Effect {
        Effect::CountEmails {
            request,
            query: self.filter.query().clone(),
            position: self.rows().first().map(|row| row.sort_key),
        }
    }

    /// Takes the result of a count. The window may be another by now; the row that was asked
    /// about tells how far it has moved.
    pub fn apply_counts(&mut self, counts: ListCounts) {
        self.total = Some(counts.total);
        self.is_capped = counts.is_capped;
        self.archive_total = Some(counts.archive_total);
        self.bodies_known = counts.bodies_known;
        let Some((place, before)) = counts.rows_before else {
            return;
        };
        if let Some(n) = self.rows().iter().position(|row| row.sort_key == place) {
            self.offset = before.checked_sub(n as u64);
        }
    }

    /// Takes a window; the selection stays on its email, unless a jump was asked for.
    pub fn apply_window(
        &mut self,
        request: RequestId,
        result: Result<RowWindow, Error>,
        height: usize,
    ) -> Option<Effect> {
        let before = self.window_anchors();
        if !self.window.resolve(request, result) || self.window.error().is_some() {
            return None;
        }
        let sort = self.filter.query().sort;
        let window = self.window.value()?;
        let last = window.rows.len().saturating_sub(1);
        self.offset = match before.offset_in(window, sort) {
            _ if !window.more_above => Some(0),
            Some(rank) => Some(rank),
            None if !window.more_below && !self.is_capped => self
                .total
                .map(|total| total.saturating_sub(window.rows.len() as u64)),
            None => None,
        };
        match std::mem::take(&mut self.jump_target) {
            JumpTarget::First => (self.cursor, self.top) = (0, 0),
            JumpTarget::Last => {
                (self.cursor, self.top) = (last, last.saturating_sub(height.saturating_sub(1)));
            }
            JumpTarget::Keep => {
                self.cursor = before
                    .cursor
                    .map_or(0, |mark| mark.find_or_nearest(&window.rows, sort));
                self.top = before
                    .top
                    .map_or(0, |mark| mark.find_or_nearest(&window.rows, sort));
            }
            JumpTarget::Time(micros) => {
                let reached = |row: &EmailRow| {
                    if sort == SortOrder::Newest {
                        row.sort_key.micros() <= micros
                    } else {
                        row.sort_key.micros() >= micros
                    }
                };
                self.cursor = window.rows.iter().position(reached).unwrap_or(last);
                self.top = self.cursor;
            }
            JumpTarget::Anchor => {
                let home = self.anchor.as_ref();
                let found = home.and_then(|home| home.cursor.position(&window.rows));
                self.cursor = found.unwrap_or(0);
                self.top = home
                    .filter(|_| found.is_some())
                    .map_or(0, |home| home.top.find_or_nearest(&window.rows, sort));
                if found.is_none() && window.more_above {
                    return Some(self.load_first());
                }
            }
        }
        if self.on_load_more_row && self.cursor < last {
            // Who waits below the last row waits for what comes there.
            self.on_load_more_row = false;
            self.cursor += 1;
        }
        let owed = std::mem::take(&mut self.pending_moves);
        let asked = if owed == 0 {
            self.scroll_to_selection(height)
        } else {
            self.move_rows(owed, height)
        };
        if std::mem::take(&mut self.outdated) {
            self.reload()
        } else {
            asked
        }
    }

    fn window_anchors(&self) -> WindowAnchors {
        WindowAnchors::new(self.rows(), self.cursor, self.top, self.offset)
    }

    /// Takes note of what the service brought.
    pub fn note_update(&mut self, new: u64, changed: Vec<EmailId>) {
        /// More marks than a person looks at; the oldest of them are dropped by starting afresh.
        const MOST: usize = 5_000;
        self.unseen_above += new;
        if self.changed.len() > MOST {
            self.changed.clear();
        }
        self.changed.extend(changed);
    }

    /// Takes note that the selected email is being looked at.
    pub fn mark_seen(&mut self, id: &EmailId) {
        self.changed.remove(id);
    }

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

    fn move_rows(&mut self, by: isize, height: usize) -> Option<Effect> {
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
    fn scroll_to_selection(&mut self, height: usize) -> Option<Effect> {
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

    fn load_around(&mut self, place: SortKey) -> Effect {
        self.load_window(
            WindowAnchor::Around {
                sort_key: place,
                above: WINDOW_ROWS / 2,
            },
            WINDOW_ROWS,
        )
    }

    fn load_window(&mut self, anchor: WindowAnchor, rows: usize) -> Effect {
        Effect::LoadWindow {
            request: self.window.start(),
            query: self.filter.query().clone(),
            anchor,
            rows,
        }
    }
}
