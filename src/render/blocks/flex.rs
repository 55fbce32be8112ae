//! Lays out the items of flex and grid containers.

use super::Column;
use super::boxes::MAX_COLUMNS;
use super::builder::BlockBuilder;
use super::context::LayoutContext;
use crate::render::css::Display;
use crate::render::html::NodeId;

impl BlockBuilder<'_> {
    /// Lays out the items of a flex or grid container in visual order.
    pub(super) fn layout_flex(&mut self, id: NodeId, context: LayoutContext) {
        let style = &self.styles[id];
        let mut items: Vec<NodeId> = self.dom.children(id).collect();
        items.sort_by_key(|item| self.styles[*item].order);
        if style.display == Display::Flex && style.flex_reversed {
            items.reverse();
        }
        if style.display == Display::Flex && !style.flex_column {
            return self.layout_flex_row(&items, style.flex_spread, context);
        }
        for item in items {
            self.visit_node(item, context);
        }
    }

    /// Lays out the items below each other, and notes that they were beside each other.
    ///
    /// If there is space between the items, none continues the line of another one.
    fn layout_flex_row(&mut self, items: &[NodeId], is_spread: bool, context: LayoutContext) {
        let mut columns = Vec::new();
        for &child in items {
            let style = &self.styles[child];
            let is_box = style.is_block() || is_spread;
            if is_box {
                self.end_line(context);
            }
            let from = self.output.blocks.len();
            let bottom = self.output.blocks.last().map(|block| block.bottom);
            let y = self.cursor.y;
            self.visit_node(child, context);
            let width = style.used_width(context.available_width, 0.0);
            if is_box {
                self.end_line(context);
            }
            let is_empty = !style.is_block() && self.output.blocks.len() == from;
            let fits = |before: &Column| before.width + width <= context.available_width + 1.0;
            let is_joined = is_box
                && columns.last().is_some_and(fits)
                && (self.join_short_lines(columns.last_mut(), from, width)
                    || self.join_labels(&mut columns, from, width));
            if is_joined {
                self.cursor.y = y;
                if let (Some(block), Some(bottom)) = (self.output.blocks.last_mut(), bottom) {
                    block.bottom = bottom;
                }
            } else if is_box && !is_empty && columns.len() <= MAX_COLUMNS {
                let blocks = from..self.output.blocks.len();
                columns.push(Column { blocks, width });
            }
        }
        self.set_columns(None, columns);
    }
}
