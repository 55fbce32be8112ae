//! Boxes: what is around their content, and which of them stand beside each other.

use super::block::LinePrefix;
use super::builder::{BlockBuilder, LayoutContext};
use crate::render::css::{BOTTOM, ComputedStyle, Display, LEFT, Length, ListStyle, RIGHT, TOP};
use crate::render::html::NodeId;

/// Deeper quotes and lists are not indented any further.
const MAX_PREFIXES: usize = 8;

/// Boxes in one row of the page, as far as they have been laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatRow {
    parent: Option<NodeId>,
    top: f32,
    bottom: f32,
    /// How much of the width they take.
    width: f32,
}

impl BlockBuilder<'_> {
    /// Lays out a box that stands beside the one before it, if there is room.
    pub(super) fn layout_beside(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        around: LayoutContext,
        content: fn(&mut Self, NodeId, LayoutContext),
    ) {
        self.end_line(around);
        self.cursor.apply_margins();
        let parent = self.dom.node(id).parent;
        let limit = style
            .max_width
            .to_px(style.font_size, around.available_width)
            .unwrap_or(f32::MAX);
        let width = style
            .width
            .to_px(style.font_size, around.available_width)
            .unwrap_or(around.available_width)
            .min(limit);
        let y = self.cursor.y;
        let fits = |row: &FloatRow| {
            row.parent == parent
                && (row.bottom - y).abs() < 0.5
                && row.width + width <= around.available_width + 1.0
        };
        let row = self.float_row.filter(fits).unwrap_or(FloatRow {
            parent,
            top: y,
            bottom: y,
            width: 0.0,
        });
        self.cursor.y = row.top;
        self.layout_block(id, style, around, content);
        self.cursor.apply_margins();
        let bottom = row.bottom.max(self.cursor.y);
        self.cursor.y = bottom;
        self.float_row = Some(FloatRow {
            bottom,
            width: row.width + width,
            ..row
        });
    }

    /// What is placed outside the flow takes no room in it.
    pub(super) fn layout_out_of_flow(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        inner: LayoutContext,
    ) {
        self.end_line(inner);
        let before = self.cursor.clone();
        self.layout_block(id, style, inner, Self::visit_children);
        self.end_line(inner);
        self.cursor = before;
    }

    /// Lays out a block; `content` walks what is inside.
    pub(super) fn layout_block(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        around: LayoutContext,
        content: fn(&mut Self, NodeId, LayoutContext),
    ) {
        self.end_line(around);
        let margin =
            |side: usize| style.margin[side].to_px(style.font_size, around.available_width);
        let own_flow =
            style.overflow_clipped || style.floated || style.display == Display::InlineBlock;
        self.cursor.add_margin(margin(TOP).unwrap_or(0.0));
        if own_flow {
            self.cursor.apply_margins();
        }
        self.cursor
            .advance(style.padding_and_border(TOP, around.available_width));
        let start = self.cursor.y;
        let sides = style.padding_and_border(LEFT, around.available_width)
            + style.padding_and_border(RIGHT, around.available_width);
        let free =
            around.available_width - margin(LEFT).unwrap_or(0.0) - margin(RIGHT).unwrap_or(0.0);
        let width = style
            .width
            .to_px(style.font_size, around.available_width)
            .unwrap_or(free)
            .min(
                style
                    .max_width
                    .to_px(style.font_size, around.available_width)
                    .unwrap_or(f32::MAX),
            );
        let inner = LayoutContext {
            available_width: (width - sides).max(1.0),
            strut: style.line_height_px(),
            ..around
        };
        let name = self.dom.tag_name(id);
        let lead = self.push_prefix(id, name, style);
        let button = inner.button && name == "a" && !self.info.contains_block[id.index()];
        let mark = self.span_style(style, inner);
        let opened = button.then(|| self.line.open_button(mark));
        content(self, id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened, mark);
        }
        self.end_line(inner);
        if lead {
            self.prefixes.pop();
            self.refresh_prefixes();
        }
        if own_flow {
            self.cursor.apply_margins();
        }
        let height = |length: Length| match length {
            Length::Percent(_) | Length::Auto => None,
            length => length.to_px(style.font_size, 0.0),
        };
        if let Some(least) = height(style.height).or_else(|| height(style.min_height)) {
            self.cursor.extend_to(start + least);
        }
        if style.overflow_clipped
            && let Some(most) = height(style.max_height).or_else(|| height(style.height))
        {
            self.cursor.y = self.cursor.y.min(start + most);
        }
        self.cursor
            .advance(style.padding_and_border(BOTTOM, around.available_width));
        self.cursor.add_margin(margin(BOTTOM).unwrap_or(0.0));
    }

    /// Puts what stands in front of the lines of a quote or a list item in place.
    fn push_prefix(&mut self, id: NodeId, name: &str, style: &ComputedStyle) -> bool {
        let lead = if name == "blockquote" {
            LinePrefix::Quote
        } else if style.display == Display::ListItem && style.list_style != ListStyle::None {
            self.item_count += 1;
            LinePrefix::ListItem {
                number: self.item_count,
                marker: self.list_marker(id, style.list_style).into(),
            }
        } else {
            return false;
        };
        if self.prefixes.len() >= MAX_PREFIXES {
            return false;
        }
        self.prefixes.push(lead);
        self.refresh_prefixes();
        true
    }
}
