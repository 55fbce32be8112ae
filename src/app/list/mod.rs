//! The list: a window of rows around the visible ones, and the selected email.

pub(super) mod anchors;
pub(super) mod changes;
mod count;
pub(super) mod filter;
pub(super) mod kept_row;
pub(super) mod load_older;
pub(super) mod marks;
mod motion;
pub(super) mod recipient;
pub(super) mod saved_views;
pub mod statistics;
mod times;

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::effect::{Effect, Pending, RequestId, WindowQuery};
use crate::archive::{EmailRow, LeftOut, RowWindow, SortKey, Unmatched, WindowAnchor};
use crate::config::{ColumnField, ListColumn};
use crate::error::{Error, Result};
use crate::mail::EmailId;
use crate::query::SortOrder;
use anchors::{JumpTarget, ListAnchor, RowAnchor, WindowAnchors};
use filter::Filter;

/// Rows of a window: enough for a held key to outrun a few queries.
const WINDOW_ROWS: usize = 256;
/// Rows of the first window: a screen and a half, so that it loads at once.
const FIRST_WINDOW_ROWS: usize = 96;

/// The part of the screen that the list fills.
#[derive(Debug, Clone)]
pub struct Viewport {
    /// The rows, headings included, that fit.
    pub lines: usize,
    /// Set if rows are grouped: each day in this time zone has a heading.
    pub day_zone: Option<TimeZone>,
}

/// One line of the list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ListLine<'a> {
    /// The heading of the rows of a day; `None` for what is not a time.
    Day(Option<Date>),
    Row {
        row: &'a EmailRow,
        selected: bool,
    },
    /// The line below the last row: older mail may add rows.
    LoadMore {
        selected: bool,
    },
}

/// The running count of the list, and the pause before the next one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ListCount {
    pub(super) request: Pending<()>,
    pause: Pending<()>,
}

/// A window of rows with the selected one and the topmost visible one.
///
/// Both positions follow their emails when a newer window replaces this one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List {
    pub(super) window: Pending<RowWindow>,
    pub filter: Filter,
    /// The position before the filter changed; kept even if the filter hides it.
    pub(super) anchor: Option<ListAnchor>,
    pub(super) cursor: usize,
    top: usize,
    pub(super) jump_target: JumpTarget,
    /// Whether older mail may add rows below the last one.
    offers_load_more: bool,
    /// Whether the line below the last row is selected.
    on_load_more_row: bool,
    /// Those between status and time; empty for the default.
    pub(super) columns: Vec<ListColumn>,
    /// Moves beyond the edge of the window; they apply when rows arrive.
    pending_moves: isize,
    /// Whether the archive changed during a jump, so that the jump may load old rows.
    outdated: bool,
    /// The number of emails before the first row of the window, if known.
    pub(super) offset: Option<u64>,
    pub(super) count: ListCount,
    /// The number of emails that match the filter, if known.
    pub total: Option<u64>,
    /// Whether more emails match than were counted.
    pub is_capped: bool,
    /// Emails in the archive, and the times of the oldest and the newest, if known.
    pub archive_total: Option<u64>,
    pub archive_span: Option<(Timestamp, Timestamp)>,
    /// The number of emails with known bodies and tags, if the filter needs them.
    pub bodies_known: Option<u64>,
    /// Mail that the archive leaves out, and why nothing matches.
    pub left_out: LeftOut,
    pub unmatched: Unmatched,
    /// Whether the filter is the id of an email that was purged.
    pub is_purged: bool,
    /// The number of new rows above the visible ones.
    pub unseen_above: u64,
    /// The newest row of a filter that has been visible, while newer ones are not.
    seen_to: Option<SortKey>,
    /// The time of the newest email of the archive when the top of the filter was visible
    /// last: one that is older is not new, also if its new status brings it into the filter.
    known_to: Option<Timestamp>,
    /// Emails whose status changed since they were selected last.
    changed: BTreeSet<EmailId>,
    /// The day of each row in a time zone, if rows are grouped.
    days: Option<(TimeZone, Vec<Option<Date>>)>,
}

impl List {
    /// Requests the first rows.
    pub fn load_first(&mut self) -> Effect {
        self.jump_target = JumpTarget::First;
        self.load_window(WindowAnchor::Top, FIRST_WINDOW_ROWS)
    }

    /// Sets the filter and requests its rows, unless it is the same query.
    ///
    /// The selection stays on its email if it matches, and returns to it when a later filter
    /// matches it.
    pub fn set_filter(&mut self, filter: Filter) -> Option<Effect> {
        if filter.query() == self.filter.query() {
            self.filter = filter;
            return None;
        }
        let anchor = self.anchor.take().or_else(|| self.current_anchor());
        Some(self.restore(filter, anchor))
    }

    /// Shows a filter with the email that was selected then.
    pub fn restore(&mut self, filter: Filter, anchor: Option<ListAnchor>) -> Effect {
        if filter.query() != self.filter.query() {
            (self.total, self.is_capped, self.offset) = (None, false, None);
            if self.rows().is_empty() {
                // No result of one filter says nothing about the other.
                self.window.reset();
            }
        }
        (self.pending_moves, self.unseen_above) = (0, 0);
        self.note_top_seen();
        (self.outdated, self.on_load_more_row) = (false, false);
        (self.filter, self.anchor) = (filter, anchor);
        let Some(sort_key) = self.anchor.as_ref().map(|anchor| anchor.cursor.sort_key) else {
            return self.load_first();
        };
        self.jump_target = JumpTarget::Anchor;
        let above = FIRST_WINDOW_ROWS / 3;
        self.load_window(WindowAnchor::Around { sort_key, above }, FIRST_WINDOW_ROWS)
    }

    /// The current position.
    pub fn current_anchor(&self) -> Option<ListAnchor> {
        let anchors = self.window_anchors();
        Some(ListAnchor {
            cursor: anchors.cursor?,
            top: anchors.top?,
        })
    }

    /// Forgets the position before the filter.
    pub fn clear_anchor(&mut self) {
        self.anchor = None;
    }

    /// The rows of the window, in the order of the list.
    pub fn rows(&self) -> &[EmailRow] {
        self.window.value().map_or(&[], |window| &window.rows)
    }

    /// The selected row.
    pub fn selected(&self) -> Option<&EmailRow> {
        self.rows().get(self.cursor)
    }

    pub fn selected_id(&self) -> Option<&EmailId> {
        Some(&self.selected()?.summary.id)
    }

    /// Whether rows are loading.
    pub const fn is_window_pending(&self) -> bool {
        self.window.is_pending()
    }

    /// The visible rows.
    pub fn visible_rows(&self, viewport: &Viewport) -> impl Iterator<Item = &EmailRow> {
        let lines = self.visible_lines(viewport).into_iter();
        lines.filter_map(|line| match line {
            ListLine::Row { row, .. } => Some(row),
            ListLine::Day(_) | ListLine::LoadMore { .. } => None,
        })
    }

    /// The visible lines; the topmost is the heading of its day if rows are grouped.
    pub fn visible_lines(&self, viewport: &Viewport) -> Vec<ListLine<'_>> {
        let mut lines = Vec::with_capacity(viewport.lines);
        for (n, row) in self.rows().iter().enumerate().skip(self.top) {
            if self.days.is_some() && (n == self.top || self.starts_day(n)) {
                lines.push(ListLine::Day(self.day(n)));
            }
            let selected = n == self.cursor && !self.on_load_more_row;
            lines.push(ListLine::Row { row, selected });
            if lines.len() >= viewport.lines {
                break;
            }
        }
        if self.has_load_more_row() {
            let selected = self.on_load_more_row;
            lines.push(ListLine::LoadMore { selected });
        }
        lines.truncate(viewport.lines);
        // A heading is drawn with its first row or not at all.
        if let Some(ListLine::Day(_)) = lines.last() {
            lines.pop();
        }
        lines
    }

    /// The day of a row; `None` too if rows are not grouped.
    fn day(&self, n: usize) -> Option<Date> {
        self.days.as_ref()?.1.get(n).copied().flatten()
    }

    /// Whether the row is the first of its day.
    fn starts_day(&self, n: usize) -> bool {
        n == 0 || self.day(n - 1) != self.day(n)
    }

    /// Finds the days of the rows, if another window or another time zone has come.
    fn update_days(&mut self, viewport: &Viewport, is_new_window: bool) {
        let zone = self.days.as_ref().map(|(zone, _)| zone);
        if !is_new_window && zone == viewport.day_zone.as_ref() {
            return;
        }
        let day = |row: &EmailRow, zone: &TimeZone| {
            let created = row.summary.created.parsed?;
            Some(created.to_zoned(zone.clone()).date())
        };
        self.days = viewport.day_zone.clone().map(|zone| {
            let days = self.rows().iter().map(|row| day(row, &zone)).collect();
            (zone, days)
        });
    }

    /// The topmost row of the viewport in which this line is the lowest:
    /// a row, or the line below the last row.
    fn top_above(&self, lowest: usize, viewport: &Viewport) -> usize {
        let heading = usize::from(self.days.is_some());
        let mut top = lowest;
        let mut lines = 1 + if lowest < self.rows().len() {
            heading
        } else {
            0
        };
        while top > 0 {
            // The row above brings itself, and the heading of its day moves above it.
            let starts_day = self.days.is_some() && self.starts_day(top);
            lines += 1 + if top == self.rows().len() {
                heading
            } else {
                usize::from(starts_day)
            };
            if lines > viewport.lines {
                break;
            }
            top -= 1;
        }
        top
    }

    /// Whether the line below the last row is selected.
    pub fn is_on_load_more_row(&self) -> bool {
        self.on_load_more_row && self.has_load_more_row()
    }

    /// Sets whether older mail may add rows below the last one.
    pub fn set_offers_load_more(&mut self, offers: bool) {
        self.offers_load_more = offers;
        self.on_load_more_row &= offers;
    }

    fn has_load_more_row(&self) -> bool {
        let window = self.window.value();
        self.offers_load_more
            && window.is_some_and(|window| !window.more_below && !window.rows.is_empty())
    }

    /// Whether the status of this email changed since it was selected last.
    pub fn has_changed(&self, id: &EmailId) -> bool {
        self.changed.contains(id)
    }

    /// Whether the first window is loading.
    pub fn is_loading(&self) -> bool {
        self.window.value().is_none() && self.window.error().is_none()
    }

    /// The error, if the archive could not be read.
    pub fn error(&self) -> Option<&Error> {
        self.window.error()
    }

    /// Whether the selection is so near the oldest email that more is to be fetched.
    pub fn is_near_end(&self, viewport: &Viewport) -> bool {
        // While rows are loading, the known end may not be the end any more.
        !self.window.is_pending()
            && self.window.value().is_some_and(|window| {
                !window.more_below && self.cursor + 2 * viewport.lines >= window.rows.len()
            })
    }

    /// Loads the same rows again, because the archive has changed.
    pub fn reload(&mut self) -> Option<Effect> {
        if self.is_jumping() {
            self.outdated = true;
            return None;
        }
        Some(match self.rows().get(self.top) {
            Some(row) => self.load_around(row.sort_key),
            None if self.window.error().is_some() => {
                let (filter, anchor) = (self.filter.clone(), self.anchor.take());
                self.restore(filter, anchor)
            }
            None => self.load_first(),
        })
    }

    pub(super) fn is_jumping(&self) -> bool {
        self.jump_target != JumpTarget::Keep && self.window.is_pending()
    }

    /// Stores a window; the selection stays on its email, unless a jump is under way.
    pub fn apply_window(
        &mut self,
        request: RequestId,
        result: Result<RowWindow>,
        viewport: &Viewport,
    ) -> Option<Effect> {
        let before = self.window_anchors();
        let position = self.current_anchor();
        let newest = self.newest_key();
        let result = match self.jump_target {
            JumpTarget::Keep => result,
            _ => result.map(RowWindow::without_unmatched),
        };
        if !self.window.resolve(request, result) {
            return None;
        }
        if self.window.error().is_some() {
            // The rows are gone; the next load returns to them.
            self.anchor = position.or(self.anchor.take());
            return None;
        }
        self.update_days(viewport, true);
        self.offset = self.find_offset(&before);
        if let Some(effect) = self.place_cursor(before, newest) {
            return Some(effect);
        }
        if self.on_load_more_row && self.cursor + 1 < self.rows().len() {
            // The first new row replaces the selected line.
            self.on_load_more_row = false;
            self.cursor += 1;
        }
        let moves = std::mem::take(&mut self.pending_moves);
        let request = if moves == 0 {
            self.scroll_to_selection(viewport)
        } else {
            self.move_rows(moves, viewport)
        };
        if std::mem::take(&mut self.outdated) {
            self.reload()
        } else {
            request
        }
    }

    /// The number of matches above the window, if it is known.
    fn find_offset(&self, before: &WindowAnchors) -> Option<u64> {
        let window = self.window.value()?;
        if !window.more_above {
            return Some(0);
        }
        let offset = before.offset_in(window, self.filter.query().sort);
        // The archive may have changed between the rows and the count.
        let is_other = self.outdated || self.count.request.is_pending();
        offset.or_else(|| {
            let is_end = !window.more_below && !self.is_capped && !is_other;
            let total = self.total.filter(|_| is_end)?;
            Some(total.saturating_sub(window.matching().count() as u64))
        })
    }

    /// Selects the target of a jump, or else the row that was selected before.
    ///
    /// Returns an effect if that is gone and other rows must be loaded.
    fn place_cursor(&mut self, before: WindowAnchors, newest: Option<SortKey>) -> Option<Effect> {
        let sort = self.filter.query().sort;
        let window = self.window.value()?;
        let last = window.rows.len().saturating_sub(1);
        match std::mem::take(&mut self.jump_target) {
            JumpTarget::First => (self.cursor, self.top) = (0, 0),
            JumpTarget::Last => (self.cursor, self.top) = (last, last),
            JumpTarget::Keep => {
                let find = |anchor: Option<RowAnchor>| {
                    anchor.map_or(0, |anchor| anchor.find_or_nearest(&window.rows, sort))
                };
                (self.cursor, self.top) = (find(before.cursor), find(before.top));
                if !self.filter.is_empty() {
                    self.seen_to = self.seen_to.or(newest);
                }
                if let Some(seen_to) = self.seen_to.filter(|_| !window.more_above) {
                    let created = |row: &EmailRow| row.summary.created.parsed;
                    let is_newer = |row: &&EmailRow| {
                        row.sort_key > seen_to
                            && created(row).is_none_or(|at| Some(at) > self.known_to)
                    };
                    self.unseen_above = window.rows.iter().take_while(is_newer).count() as u64;
                }
            }
            JumpTarget::Time(micros) => {
                let is_reached = |row: &EmailRow| match sort {
                    SortOrder::Newest => row.sort_key.micros() <= micros,
                    SortOrder::Oldest => row.sort_key.micros() >= micros,
                };
                self.cursor = window.rows.iter().position(is_reached).unwrap_or(last);
                self.top = self.cursor;
            }
            JumpTarget::Anchor => {
                let anchor = self.anchor.as_ref();
                let found = anchor.and_then(|anchor| anchor.cursor.position(&window.rows));
                self.cursor = found.unwrap_or(0);
                self.top = anchor
                    .filter(|_| found.is_some())
                    .map_or(0, |anchor| anchor.top.find_or_nearest(&window.rows, sort));
                if found.is_none() && window.more_above {
                    return Some(self.load_first());
                }
            }
        }
        None
    }

    /// Notes that the user sees the top of the list.
    pub(super) fn note_top_seen(&mut self) {
        let newest = self.archive_span.map(|(_, newest)| newest);
        (self.seen_to, self.known_to) = (None, newest);
    }

    /// The sort key of the newest row, if the window has it as its first.
    fn newest_key(&self) -> Option<SortKey> {
        let window = self.window.value()?;
        let is_first = !window.more_above && self.filter.query().sort == SortOrder::Newest;
        window
            .rows
            .first()
            .filter(|_| is_first)
            .map(|row| row.sort_key)
    }

    fn window_anchors(&self) -> WindowAnchors {
        let none = RowWindow::default();
        let window = self.window.value().unwrap_or(&none);
        WindowAnchors::new(window, self.cursor, self.top, self.offset)
    }

    /// Adds new and changed emails. With a filter, the rows show which of them match.
    pub fn note_update(&mut self, new: u64, changed: Vec<EmailId>) {
        /// More marks than a user can see; all are dropped beyond that.
        const MAX_CHANGED: usize = 5_000;
        self.unseen_above += new;
        if self.changed.len() > MAX_CHANGED {
            self.changed.clear();
        }
        self.changed.extend(changed);
    }

    /// Removes all marks of changes.
    pub fn clear_changed(&mut self) {
        self.changed.clear();
    }

    /// Removes the mark of a change.
    pub fn mark_seen(&mut self, id: &EmailId) {
        self.changed.remove(id);
    }

    /// Whether the rows need their tags, which cost more to load.
    pub(super) fn needs_tags(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| column.field == ColumnField::Tags)
    }

    /// The number of rows with the line below the last one.
    fn line_count(&self) -> usize {
        self.rows().len() + usize::from(self.has_load_more_row())
    }

    fn load_around(&mut self, sort_key: SortKey) -> Effect {
        let above = WINDOW_ROWS / 2;
        self.load_window(WindowAnchor::Around { sort_key, above }, WINDOW_ROWS)
    }

    fn load_window(&mut self, anchor: WindowAnchor, rows: usize) -> Effect {
        // First of all: `kept_id` depends on it, because a jump has another one.
        let request = self.window.start();
        let query = WindowQuery {
            query: self.filter.query().clone(),
            anchor,
            rows,
            kept: self.kept_id().cloned(),
            with_tags: self.needs_tags(),
        };
        Effect::LoadWindow(request, query)
    }
}
