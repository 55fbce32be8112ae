//! Lays out floats beside the lines and blocks that follow them.

use std::ops::Range;

use super::Column;
use super::boxes::MAX_SIGN_WIDTH;
use super::builder::BlockBuilder;
use super::context::LayoutContext;
use crate::render::css::{BOTTOM, Display, Float, TOP};
use crate::render::html::NodeId;

impl BlockBuilder<'_> {
    /// Returns the boxes in a row from `first` on, which floats right,
    /// from left to right; and the sibling after them.
    pub(super) fn order_floats(
        &self,
        first: NodeId,
        available_width: f32,
    ) -> (Vec<NodeId>, Option<NodeId>) {
        let (mut left, mut right) = (Vec::new(), vec![first]);
        let mut free = available_width + 1.0;
        let mut next = Some(first);
        while let Some(id) = next {
            let style = &self.styles[id];
            if style.is_floated() {
                let shrunk = self.shrunk_width(id, available_width);
                free -= style.used_width(available_width, shrunk);
                match style.float {
                    _ if id == first => {}
                    _ if free < 0.0 || style.clears_floats => break,
                    Float::Right => right.push(id),
                    Float::Left | Float::None => left.push(id),
                }
            } else if !self.is_space(id) {
                break;
            }
            next = self.dom.node(id).next_sibling;
        }
        let after_boxes = next;
        if left.is_empty() && self.has_short_line(&right) {
            // The rest of its line is on its left.
            while let Some(id) = next.filter(|id| self.is_in_line(*id)) {
                left.push(id);
                next = self.dom.node(id).next_sibling;
            }
            let ends_line = next.is_none_or(|id| self.styles[id].is_block());
            if !ends_line || !self.has_short_line(&left) {
                left.clear();
                next = after_boxes;
            }
        }
        left.extend(right.into_iter().rev());
        (left, next)
    }

    /// Returns the block after a float, if both are short and fit on one line.
    pub(super) fn block_beside_float(&self, float: NodeId, available_width: f32) -> Option<NodeId> {
        let parent = self.dom.node(float).parent;
        let follows_float = self
            .float_row
            .as_ref()
            .is_some_and(|row| row.parent == parent);
        if !self.styles[float].is_floated() || follows_float || self.line.occupied {
            return None;
        }
        let next = |id: &NodeId| self.dom.node(*id).next_sibling;
        let block = std::iter::successors(next(&float), next).find(|id| !self.is_space(*id))?;
        let style = &self.styles[block];
        let letters = |id: NodeId| self.info.letter_counts[id.index()];
        // Its border is a line of its own.
        let is_ruled = |id: NodeId| {
            [TOP, BOTTOM]
                .iter()
                .any(|side| self.styles[id].used_border(*side) > 0.0)
        };
        let is_line = |line: NodeId| {
            let fits = |id: NodeId| match self.dom.tag_name(id) {
                "br" | "img" => false,
                _ if is_ruled(id) => false,
                _ => !self.styles[id].is_block() || letters(id) == letters(line),
            };
            let is_short = letters(line) > 0 && self.has_short_line(&[line]);
            is_short && !is_ruled(line) && self.nodes_inside(line).all(fits)
        };
        let width = |id: NodeId| {
            let shrunk = self.shrunk_width(id, available_width);
            self.styles[id].used_width(available_width, shrunk)
        };
        let is_beside = style.display == Display::Block
            && !style.is_floated()
            && !style.out_of_flow
            && !style.clears_floats
            && is_line(float)
            && is_line(block)
            && width(float) + self.shrunk_width(block, available_width) <= available_width;
        is_beside.then_some(block)
    }

    /// Returns the blocks of the only float on the left of a block that follows it.
    pub(super) fn float_before(&self, block: NodeId, available_width: f32) -> Option<Range<usize>> {
        let node = self.dom.node(block);
        let row = self.float_row.as_ref()?;
        let [float] = &row.columns[..] else {
            return None;
        };
        let style = &self.styles[block];
        let may_be_beside = row.parent == node.parent
            && row.width <= available_width / 2.0
            && style.is_block()
            && !style.is_floated()
            && !style.out_of_flow
            && !style.clears_floats;
        let before = |id: &NodeId| self.dom.node(*id).previous_sibling;
        let mut siblings = std::iter::successors(node.previous_sibling, before);
        let is_float = |id: NodeId| self.styles[id].float == Float::Left;
        let is_beside = may_be_beside
            && siblings
                .find(|id| !self.is_space(*id))
                .is_some_and(is_float);
        is_beside.then(|| float.blocks.clone())
    }

    /// Whether a float on the left is the first letter of the line after it, or a sign before
    /// that; `None` if it is neither.
    pub(super) fn line_start(&self, float: NodeId, available_width: f32) -> Option<bool> {
        let style = &self.styles[float];
        let letters = usize::try_from(self.info.letter_counts[float.index()]).ok()?;
        let next = |id: &NodeId| self.dom.node(*id).next_sibling;
        let line = std::iter::successors(next(&float), next).find(|id| !self.is_space(*id))?;
        let starts_line = style.float == Float::Left
            && style.used_width(available_width, 0.0) <= available_width / 2.0
            && !self.line.occupied
            && !self.info.contains_block[float.index()]
            && (1..=MAX_SIGN_WIDTH).contains(&letters)
            && self.images_in(float).is_empty()
            && self.is_in_line(line);
        let parent = self.dom.node(float).parent?;
        let is_large = style.font_size > self.styles[parent].font_size;
        let text = self.inner_text(float, MAX_SIGN_WIDTH * 2);
        // Two parts of a number would seem to be two numbers.
        let is_digit = |c: char| c.is_ascii_digit();
        let is_number = text.ends_with(is_digit) && self.inner_text(line, 1).starts_with(is_digit);
        (starts_line && !is_number).then(|| is_large && text.ends_with(char::is_alphabetic))
    }

    /// Puts a float beside the line of the block after it.
    pub(super) fn layout_float_beside(
        &mut self,
        float: NodeId,
        block: NodeId,
        context: LayoutContext,
    ) {
        let from = self.output.blocks.len();
        self.visit_node(block, context);
        let below = self.cursor.clone();
        self.visit_node(float, context);
        let [line, _] = &self.output.blocks[from..] else {
            return;
        };
        let bottom = line.bottom;
        if self.styles[float].float == Float::Left {
            self.output.blocks.swap(from, from + 1);
        }
        let mut before = Column {
            blocks: from..from + 1,
            width: 0.0,
        };
        if self.join_short_lines(Some(&mut before), from + 1, 0.0) {
            (self.cursor, self.float_row) = (below, None);
            self.output.blocks[from].bottom = bottom;
        }
    }
}
