//! What the mouse means: where it points is looked up in the layout that was drawn.

use ratatui::layout::{Position, Rect};

use super::command::{Side, Step};
use super::effect::Effects;
use super::layout::{Arrangement, Layout};
use super::model::Model;
use super::msg::Pointer;

impl Model {
    pub(super) fn point(&mut self, pointer: Pointer) -> Effects {
        /// Rows that one turn of the wheel moves.
        const NOTCH: usize = 3;
        self.touched = true;
        let layout = self.layout();
        let height = self.list_height();
        let mut effects = Effects::new();
        if self.help.is_some() {
            if let Pointer::Wheel { down, .. } = pointer {
                (0..NOTCH).for_each(|_| self.scroll(if down { Step::Down } else { Step::Up }));
            }
            return effects;
        }
        if self.hall.is_some() {
            return effects;
        }
        if self.chooses_view() {
            match pointer {
                Pointer::Pressed(at) if layout.main.contains(at) => {
                    effects.extend(self.choose_at(at.y - layout.main.y, layout.main.height));
                }
                Pointer::Wheel { down, .. } => {
                    self.step_chooser(if down { Side::Right } else { Side::Left });
                }
                Pointer::Pressed(_) | Pointer::Dragged(_) | Pointer::Released => {}
            }
            return effects;
        }
        match pointer {
            Pointer::Pressed(at) if layout.list.contains(at) => {
                self.reading = false;
                let offset = usize::from((at.y - layout.list.y) / layout.row_height);
                effects.extend(self.list.point(offset, height));
            }
            Pointer::Pressed(at) if layout.reader.contains(at) => effects.extend(self.open()),
            Pointer::Pressed(at) => self.dragging = layout.divider.contains(at),
            Pointer::Dragged(at) if self.dragging => self.drag(&layout, at),
            Pointer::Dragged(_) => {}
            Pointer::Released => self.dragging = false,
            Pointer::Wheel { at, down } => {
                let step = if down { Step::Down } else { Step::Up };
                for _ in 0..NOTCH {
                    if layout.reader.contains(at) {
                        self.reader.go(step, self.list.selected());
                    } else {
                        effects.extend(self.list.go(step, height));
                    }
                }
            }
        }
        effects
    }

    fn drag(&mut self, layout: &Layout, to: Position) {
        let Rect { x, y, .. } = layout.divider;
        let (from, to) = if layout.arrangement == Arrangement::Beside {
            (x, to.x)
        } else {
            (y, to.y)
        };
        let by = i32::from(to) - i32::from(from);
        self.panes.shift = self
            .panes
            .shift
            .saturating_add(i16::try_from(by).unwrap_or_default());
    }
}
