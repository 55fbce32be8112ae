//! What presses of the mouse and its wheel do; which presses are a double click.

use jiff::{SignedDuration, Timestamp};
use ratatui::layout::{Position, Rect};

use super::commands::Motion;
use super::layout::{Arrangement, Layout};
use super::message::{ClickTarget, MouseInput};
use super::model::Model;

/// Rows that one turn of the wheel moves.
const WHEEL_STEP: usize = 3;

const fn wheel_motion(down: bool) -> Motion {
    if down { Motion::Down } else { Motion::Up }
}

/// The part of the screen of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PressedPart {
    List,
    /// Any, while an item is chosen from a list.
    Chooser,
    Elsewhere,
}

/// How the mouse is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MouseState {
    /// Whether the program takes no mouse events: the terminal selects text.
    pub(super) is_off: bool,
    pub(super) is_dragging_divider: bool,
    /// Row of the screen, time and part of the screen of the last press.
    pub(super) last_click: Option<(u16, Timestamp, PressedPart)>,
}

impl MouseState {
    /// Notes a press on `part`; returns the part of the press right before it in the
    /// same row.
    pub(super) fn find_first_press(
        &mut self,
        at: Position,
        now: Timestamp,
        part: PressedPart,
    ) -> Option<PressedPart> {
        /// The default of most desktops.
        const DOUBLE_CLICK: SignedDuration = SignedDuration::from_millis(400);
        // The clock may have been set back.
        let is_at_once =
            |then| (SignedDuration::ZERO..=DOUBLE_CLICK).contains(&now.duration_since(then));
        let is_first = |(y, then, _): &_| *y == at.y && is_at_once(*then);
        let first = self.last_click.filter(is_first).map(|(.., part)| part);
        // A third press on an item that has closed its list continues the second one.
        let part = first
            .filter(|it| *it == PressedPart::Chooser)
            .unwrap_or(part);
        self.last_click = Some((at.y, now, part));
        first
    }
}

impl Model {
    pub(super) fn handle_mouse(&mut self, mouse: MouseInput) {
        self.user_acted = true;
        if mouse == MouseInput::Released {
            self.mouse.is_dragging_divider = false;
        } else {
            self.freshness.last_activity = self.now.timestamp();
        }
        if !self.banner.is_empty() || self.error_details.is_some() {
            if let MouseInput::Pressed(_) = mouse {
                self.banner.clear();
            }
            return;
        }
        if let MouseInput::Pressed(_) = mouse {
            self.end_notice_by_click();
        }
        self.load_older.delay_automatic_search();
        let layout = self.layout();
        if self.is_help_open() {
            return self.handle_mouse_in_help(mouse, layout.main);
        }
        if self.start_screen.is_some() {
            return;
        }
        let double_click = if let MouseInput::Pressed(at) = mouse {
            self.find_first_press(at)
        } else {
            None
        };
        // The second press of a double click would act on what the first one has opened.
        let is_choosing = self.is_choosing();
        if double_click.is_some_and(|first| is_choosing || first == PressedPart::Chooser) {
            return;
        }
        if is_choosing {
            self.handle_mouse_in_chooser(mouse, layout.main);
        } else {
            self.handle_mouse_in_panes(mouse, &layout, double_click);
        }
    }

    /// Returns the part of the screen of the press that this one follows at once.
    fn find_first_press(&mut self, at: Position) -> Option<PressedPart> {
        let part = if self.is_choosing() {
            PressedPart::Chooser
        } else if self.layout().list.contains(at) {
            PressedPart::List
        } else {
            PressedPart::Elsewhere
        };
        self.mouse.find_first_press(at, self.now.timestamp(), part)
    }

    fn handle_mouse_in_help(&mut self, mouse: MouseInput, area: Rect) {
        match mouse {
            MouseInput::Pressed(at) if area.contains(at) => self.choose_help_line(at.y - area.y),
            MouseInput::Scrolled { down, .. } => {
                (0..WHEEL_STEP).for_each(|_| self.move_help(wheel_motion(down)));
            }
            _ => {}
        }
    }

    fn handle_mouse_in_chooser(&mut self, mouse: MouseInput, area: Rect) {
        match mouse {
            MouseInput::Pressed(at) if area.contains(at) => {
                self.choose_at(at.y - area.y, area.height);
            }
            MouseInput::Scrolled { down, .. } => self.move_chooser(wheel_motion(down)),
            _ => {}
        }
    }

    fn handle_mouse_in_panes(
        &mut self,
        mouse: MouseInput,
        layout: &Layout,
        double_click: Option<PressedPart>,
    ) {
        // What is typed is for the selected email.
        let is_held = self.has_email_dialog();
        match mouse {
            MouseInput::Pressed(at) if is_held && layout.list.contains(at) => {}
            // The first click may have moved the rows.
            MouseInput::Pressed(at) if layout.list.contains(at) => match double_click {
                Some(PressedPart::List) => self.open_selected(),
                _ => self.select_row_at(at),
            },
            MouseInput::Pressed(at) if layout.reader.contains(at) => self.open_email(),
            MouseInput::Pressed(at) => self.mouse.is_dragging_divider = layout.divider.contains(at),
            MouseInput::Dragged(at) if self.mouse.is_dragging_divider => {
                self.drag_divider(layout, at);
            }
            MouseInput::Dragged(_) | MouseInput::SecondPressed(_) | MouseInput::Released => {}
            MouseInput::Scrolled { at, down } => {
                self.mouse.last_click = None;
                let viewport = self.list_viewport();
                for _ in 0..WHEEL_STEP {
                    let step = wheel_motion(down);
                    if layout.reader.contains(at) {
                        self.reader.scroll_by(step, self.list.selected());
                    } else if !is_held {
                        self.outbox
                            .extend(self.list.scroll_viewport(step, &viewport));
                    }
                }
            }
        }
    }

    /// Follows a link, a key hint or a line that was pressed at this position, or typed.
    pub(super) fn handle_click(&mut self, target: ClickTarget, at: Option<Position>) {
        let first = at.and_then(|at| self.find_first_press(at));
        if first.is_some_and(|part| (part == PressedPart::Chooser) != self.is_choosing()) {
            return;
        }
        self.note_activity();
        match target {
            ClickTarget::Command(command) => self.dispatch(command),
            ClickTarget::Link(index) => self.choose_link(index),
            ClickTarget::Item(index) => self.choose_item(index),
            ClickTarget::Cell(..) if self.has_email_dialog() => {}
            ClickTarget::Cell(at, command) => {
                self.select_row_at(at);
                self.dispatch(command);
            }
        }
    }

    /// Selects the row at this position of the list.
    fn select_row_at(&mut self, at: Position) {
        let (layout, viewport) = (self.layout(), self.list_viewport());
        self.stop_automatic_search();
        let line = usize::from((at.y - layout.list.y) / layout.row_height);
        self.outbox.extend(self.list.select_line(line, &viewport));
        // The row that is kept for the open email would go.
        self.panes.reader_open &= self.list.is_selected_unmatched();
    }

    fn drag_divider(&mut self, layout: &Layout, to: Position) {
        let to = match layout.arrangement {
            Arrangement::Beside => to.x,
            _ => to.y,
        };
        let from = layout.divider_position();
        let by = i32::from(to) - i32::from(from);
        self.move_divider(i16::try_from(by).unwrap_or_default());
    }
}
