//! What the mouse means: where it points is looked up in the layout that was drawn.

use ratatui::layout::{Position, Rect};

use super::commands::{Direction, Motion};
use super::layout::{Arrangement, Layout};
use super::message::MouseInput;
use super::model::Model;

impl Model {
    pub(super) fn handle_mouse(&mut self, pointer: MouseInput) {
        /// Rows that one turn of the wheel moves.
        const NOTCH: usize = 3;
        self.user_acted = true;
        let layout = self.layout();
        let height = self.list_height();
        if self.help.is_some() {
            if let MouseInput::Scrolled { down, .. } = pointer {
                (0..NOTCH).for_each(|_| self.scroll(if down { Motion::Down } else { Motion::Up }));
            }
            return;
        }
        if self.start_screen.is_some() {
            return;
        }
        if self.is_choosing_view() {
            match pointer {
                MouseInput::Pressed(at) if layout.main.contains(at) => {
                    self.choose_view_at(at.y - layout.main.y, layout.main.height);
                }
                MouseInput::Scrolled { down, .. } => {
                    self.move_view_choice(if down {
                        Direction::Right
                    } else {
                        Direction::Left
                    });
                }
                MouseInput::Pressed(_) | MouseInput::Dragged(_) | MouseInput::Released => {}
            }
            return;
        }
        match pointer {
            MouseInput::Pressed(at) if layout.list.contains(at) => {
                self.reader_open = false;
                let offset = usize::from((at.y - layout.list.y) / layout.row_height);
                self.outbox.extend(self.list.select_visible(offset, height));
            }
            MouseInput::Pressed(at) if layout.reader.contains(at) => {
                self.open_email();
            }
            MouseInput::Pressed(at) => self.dragging_divider = layout.divider.contains(at),
            MouseInput::Dragged(at) if self.dragging_divider => self.drag_divider(&layout, at),
            MouseInput::Dragged(_) => {}
            MouseInput::Released => self.dragging_divider = false,
            MouseInput::Scrolled { at, down } => {
                let step = if down { Motion::Down } else { Motion::Up };
                for _ in 0..NOTCH {
                    if layout.reader.contains(at) {
                        self.reader.scroll_by(step, self.list.selected());
                    } else {
                        self.outbox.extend(self.list.move_selection(step, height));
                    }
                }
            }
        }
    }

    fn drag_divider(&mut self, layout: &Layout, to: Position) {
        let Rect { x, y, .. } = layout.divider;
        let (from, to) = if layout.arrangement == Arrangement::Beside {
            (x, to.x)
        } else {
            (y, to.y)
        };
        let by = i32::from(to) - i32::from(from);
        self.panes.divider_shift = self
            .panes
            .divider_shift
            .saturating_add(i16::try_from(by).unwrap_or_default());
    }
}
