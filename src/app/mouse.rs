//! How the mouse is used, and which presses are one double click.

use jiff::{SignedDuration, Timestamp};
use ratatui::layout::Position;

use super::commands::Focus;

/// How the mouse is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MouseState {
    /// Whether the program takes no mouse events: the terminal selects text.
    pub(super) is_off: bool,
    pub(super) is_dragging_divider: bool,
    /// Row of the screen, time and part of the screen of the last press.
    pub(super) last_click: Option<(u16, Timestamp, Focus)>,
}

impl MouseState {
    /// Returns the part of the screen of the press that this one, on `part`, follows in the same row
    /// at once.
    pub(super) fn find_first_press(
        &mut self,
        at: Position,
        now: Timestamp,
        part: Focus,
    ) -> Option<Focus> {
        /// The default of most desktops.
        const DOUBLE_CLICK: SignedDuration = SignedDuration::from_millis(400);
        let is_first = |(y, then, _): &_| *y == at.y && now.duration_since(*then) <= DOUBLE_CLICK;
        let first = self.last_click.filter(is_first).map(|(.., part)| part);
        // A third press on an item that has closed its list continues the second one.
        let part = first.filter(|it| *it == Focus::Choice).unwrap_or(part);
        self.last_click = Some((at.y, now, part));
        first
    }
}
