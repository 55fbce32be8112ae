//! Boxes: what is around their content, and which of them stand beside each other.

use super::block::Lead;
use super::walk::{Around, Walk};
use crate::render::judge::{BOTTOM, Display, LEFT, Length, ListStyle, RIGHT, Style, TOP};
use crate::render::read::Id;

/// Deeper quotes and lists are not indented any further.
const MAX_LEADS: usize = 8;

/// Boxes in one row of the page, as far as they have been laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    parent: Option<Id>,
    top: f32,
    bottom: f32,
    /// How much of the width they take.
    width: f32,
}

impl Walk<'_> {
    /// Lays out a box that stands beside the one before it, if there is room.
    pub(super) fn column(
        &mut self,
        id: Id,
        style: &Style,
        around: Around,
        content: fn(&mut Self, Id, Around),
    ) {
        self.end_line(around);
        self.page.settle();
        let parent = self.tree.node(id).parent;
        let limit = style
            .max_width
            .px(style.font, around.width)
            .unwrap_or(f32::MAX);
        let width = style
            .width
            .px(style.font, around.width)
            .unwrap_or(around.width)
            .min(limit);
        let y = self.page.y;
        let fits = |row: &Beside| {
            row.parent == parent
                && (row.bottom - y).abs() < 0.5
                && row.width + width <= around.width + 1.0
        };
        let row = self.beside.filter(fits).unwrap_or(Beside {
            parent,
            top: y,
            bottom: y,
            width: 0.0,
        });
        self.page.y = row.top;
        self.block(id, style, around, content);
        self.page.settle();
        let bottom = row.bottom.max(self.page.y);
        self.page.y = bottom;
        self.beside = Some(Beside {
            bottom,
            width: row.width + width,
            ..row
        });
    }

    /// What is placed outside the flow takes no room in it.
    pub(super) fn apart(&mut self, id: Id, style: &Style, inner: Around) {
        self.end_line(inner);
        let before = self.page.clone();
        self.block(id, style, inner, Self::children);
        self.end_line(inner);
        self.page = before;
    }

    /// Lays out a block; `content` walks what is inside.
    pub(super) fn block(
        &mut self,
        id: Id,
        style: &Style,
        around: Around,
        content: fn(&mut Self, Id, Around),
    ) {
        self.end_line(around);
        let margin = |side: usize| style.margin[side].px(style.font, around.width);
        let own_flow = style.clips || style.floats || style.display == Display::InlineBlock;
        self.page.margin(margin(TOP).unwrap_or(0.0));
        if own_flow {
            self.page.settle();
        }
        self.page.solid(style.inset(TOP, around.width));
        let start = self.page.y;
        let sides = style.inset(LEFT, around.width) + style.inset(RIGHT, around.width);
        let free = around.width - margin(LEFT).unwrap_or(0.0) - margin(RIGHT).unwrap_or(0.0);
        let width = style
            .width
            .px(style.font, around.width)
            .unwrap_or(free)
            .min(
                style
                    .max_width
                    .px(style.font, around.width)
                    .unwrap_or(f32::MAX),
            );
        let inner = Around {
            width: (width - sides).max(1.0),
            strut: style.line(),
            ..around
        };
        let name = self.tree.name(id);
        let lead = self.lead(id, name, style);
        let button = inner.button && name == "a" && !self.survey.blocks[id.index()];
        let mark = self.mark(style, inner);
        let opened = button.then(|| self.line.open_button(mark));
        content(self, id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened, mark);
        }
        self.end_line(inner);
        if lead {
            self.leads.pop();
            self.share_leads();
        }
        if own_flow {
            self.page.settle();
        }
        let height = |length: Length| match length {
            Length::Percent(_) | Length::Auto => None,
            length => length.px(style.font, 0.0),
        };
        if let Some(least) = height(style.height).or_else(|| height(style.min_height)) {
            self.page.reach(start + least);
        }
        if style.clips
            && let Some(most) = height(style.max_height).or_else(|| height(style.height))
        {
            self.page.y = self.page.y.min(start + most);
        }
        self.page.solid(style.inset(BOTTOM, around.width));
        self.page.margin(margin(BOTTOM).unwrap_or(0.0));
    }

    /// Puts what stands in front of the lines of a quote or a list item in place.
    fn lead(&mut self, id: Id, name: &str, style: &Style) -> bool {
        let lead = if name == "blockquote" {
            Lead::Quote
        } else if style.display == Display::ListItem && style.list != ListStyle::None {
            self.items += 1;
            Lead::Item {
                number: self.items,
                mark: self.item_mark(id, style.list).into(),
            }
        } else {
            return false;
        };
        if self.leads.len() >= MAX_LEADS {
            return false;
        }
        self.leads.push(lead);
        self.share_leads();
        true
    }
}
