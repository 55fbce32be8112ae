//! Lays out boxes: margins, padding, and boxes beside each other.

use std::ops::Range;
use std::sync::Arc;

use super::builder::{BlockBuilder, FloatRow, Layout};
use super::context::{LayoutContext, contrasts};
use super::data_table::{MAX_VALUE_WIDTH, is_amount};
use super::{Block, BlockKind, Column, ColumnGroup, RuleKind, TableCell};
use crate::render::css::{BOTTOM, ComputedStyle, Display, Float, LEFT, Length, RIGHT, TOP};
use crate::render::html::{NodeData, NodeId};

/// More boxes are never laid out beside each other.
pub(super) const MAX_COLUMNS: usize = 6;

/// Boxes beside each other with one line of text up to this width,
/// such as the items of a menu, share a line.
const MAX_SHORT_LINE_WIDTH: usize = 26;

/// A row of more short lines continues in another row.
const MAX_ROW_CELLS: usize = 16;

impl<'a> BlockBuilder<'a> {
    /// Lays out a box that is not part of the line around it.
    ///
    /// A box that shows nothing leaves that line whole, so that its words stay whole.
    /// `joins` puts a short one beside that line.
    fn layout_apart(
        &mut self,
        context: LayoutContext,
        joins: bool,
        layout: impl FnOnce(&mut Self),
    ) {
        if !self.line.occupied {
            return layout(self);
        }
        let line = std::mem::take(&mut self.line);
        let (cursor, row) = (self.cursor.clone(), self.float_row.clone());
        let (top, bottom) = self.place_line(&line, context);
        let below = self.cursor.clone();
        let first = self.output.blocks.len();
        layout(self);
        self.end_line(context);
        if self.output.blocks.len() == first {
            (self.line, self.cursor, self.float_row) = (line, cursor, row);
        } else if let Some(paragraph) = line.into_paragraph() {
            let block = self.block(top, bottom, BlockKind::Paragraph(paragraph));
            self.output.blocks.insert(first, block);
            self.shift_columns(first);
            let mut before = Column {
                blocks: first..first + 1,
                width: 0.0,
            };
            if joins && self.join_short_lines(Some(&mut before), first + 1, 0.0) {
                (self.cursor, self.float_row) = (below, None);
                self.has_joined_line = true;
                self.output.blocks[first].bottom = bottom;
            }
        }
    }

    /// Moves the columns from block `from` on by one block.
    fn shift_columns(&mut self, from: usize) {
        let groups = &mut self.output.column_groups;
        let row = self.float_row.iter_mut().flat_map(|row| &mut row.columns);
        let columns = groups.iter_mut().flat_map(|group| &mut group.columns);
        for column in columns.chain(row).filter(|it| it.blocks.start >= from) {
            column.blocks = column.blocks.start + 1..column.blocks.end + 1;
        }
    }

    /// Lays out a box beside the previous one if it fits, else below it.
    pub(super) fn layout_beside(
        &mut self,
        id: NodeId,
        context: LayoutContext,
        content: Layout<'a>,
    ) {
        let joins = self.styles[id].float == Float::Right;
        self.layout_apart(context, joins, |builder| {
            builder.layout_in_row(id, context, content);
        });
    }

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

    /// True for white space, and for a comment.
    pub(super) fn is_space(&self, id: NodeId) -> bool {
        match &self.dom.node(id).data {
            NodeData::Text(text) => text.trim_ascii().is_empty(),
            NodeData::Element { .. } => false,
            NodeData::Other => true,
        }
    }

    /// True for text and for elements that are part of a line.
    pub(super) fn is_in_line(&self, id: NodeId) -> bool {
        let is_inline = self.styles[id].display == Display::Inline;
        match self.dom.node(id).data {
            NodeData::Text(_) => true,
            NodeData::Element { .. } => {
                is_inline && !self.info.contains_block[id.index()] && self.dom.tag_name(id) != "br"
            }
            NodeData::Other => false,
        }
    }

    fn has_short_line(&self, nodes: &[NodeId]) -> bool {
        let letters = nodes.iter().map(|id| self.info.letter_counts[id.index()]);
        let letters = letters.fold(0, u32::saturating_add);
        usize::try_from(letters).is_ok_and(|letters| letters <= MAX_SHORT_LINE_WIDTH)
    }

    fn layout_in_row(&mut self, id: NodeId, context: LayoutContext, content: Layout<'a>) {
        let style = &self.styles[id];
        self.cursor.apply_margins();
        let parent = self.dom.node(id).parent;
        let shrunk = self.shrunk_width(id, context.available_width);
        let width = style.used_width(context.available_width, shrunk);
        let y = self.cursor.y;
        let fits = |row: &FloatRow| {
            row.parent == parent
                && (row.bottom - y).abs() < 0.5
                && row.width + width <= context.available_width + 1.0
        };
        let mut row = self.float_row.take().filter(fits).unwrap_or(FloatRow {
            parent,
            top: y,
            bottom: y,
            width: 0.0,
            columns: Vec::new(),
            group: None,
        });
        self.cursor.y = row.top;
        let from = self.output.blocks.len();
        self.layout_block(id, style, context, content);
        self.cursor.apply_margins();
        row.bottom = row.bottom.max(self.cursor.y);
        row.width += width;
        self.cursor.y = row.bottom;
        let mut is_joined = self.join_short_lines(row.columns.last_mut(), from, width)
            || self.join_labels(&mut row.columns, from, width);
        if let [picture] = &mut row.columns[..]
            && !is_joined
            && self.join_picture(picture.blocks.clone(), from)
        {
            picture.blocks.end = self.output.blocks.len();
            picture.width += width;
            is_joined = true;
        }
        if !is_joined && row.columns.len() <= MAX_COLUMNS {
            let blocks = from..self.output.blocks.len();
            row.columns.push(Column { blocks, width });
            row.group = self.set_columns(row.group, row.columns.clone());
        }
        self.float_row = Some(row);
    }

    /// Estimates the width in pixels of a box without one, by its content.
    fn shrunk_width(&self, id: NodeId, available_width: f32) -> f32 {
        let letters = self.info.letter_counts[id.index()];
        if usize::try_from(letters).is_ok_and(|letters| letters > MAX_SHORT_LINE_WIDTH) {
            return available_width;
        }
        let image_width = |image: &NodeId| {
            let style = &self.styles[*image];
            style
                .px(style.width, available_width)
                .unwrap_or(available_width)
        };
        let images: f32 = self.images_in(id).iter().map(image_width).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate of widths")]
        let text = letters as f32 * 7.0;
        (images + text + 16.0).min(available_width)
    }

    /// Puts the box from block `from` on in one row with the box before it,
    /// if each of them is a short line or images; false if it stays apart.
    pub(super) fn join_short_lines(
        &mut self,
        before: Option<&mut Column>,
        from: usize,
        width: f32,
    ) -> bool {
        let is_short = |block: &Block| match &block.kind {
            BlockKind::Paragraph(line) => {
                line.images_only || (!line.preformatted && line.width() <= MAX_SHORT_LINE_WIDTH)
            }
            BlockKind::TableRow { cells, .. } => {
                let mut lines = cells.iter().flat_map(|cell| &cell.paragraphs);
                cells.iter().all(|cell| cell.paragraphs.len() == 1)
                    && lines.all(|line| line.images_only || line.width() <= MAX_SHORT_LINE_WIDTH)
            }
            BlockKind::Rule(_) | BlockKind::Lines(_) => false,
        };
        let Some(before) = before.filter(|before| before.blocks == (from.wrapping_sub(1)..from))
        else {
            return false;
        };
        let [one, next] = &self.output.blocks[from - 1..] else {
            return false;
        };
        // The label of an amount may be longer.
        let is_label = |block: &Block| {
            let line = block.as_paragraph();
            line.is_some_and(|line| !line.preformatted && line.width() <= MAX_VALUE_WIDTH * 2)
        };
        let is_pair = is_label(one) && next.as_paragraph().is_some_and(is_amount);
        let is_row = one.as_row().map_or(1, <[_]>::len) < MAX_ROW_CELLS;
        if !is_row
            || one.prefixes != next.prefixes
            || !(is_pair || (is_short(one) && is_short(next)))
        {
            return false;
        }
        before.width += width;
        self.table_count += 1;
        let table = self.table_count;
        if let Some(next) = self.output.blocks.pop()
            && let Some(one) = self.output.blocks.last_mut()
        {
            join_blocks(one, next, table);
        }
        true
    }

    /// Makes rows of the labels in the only box of `columns`
    /// and their values in the box from block `from` on; false if they are none.
    pub(super) fn join_labels(&mut self, columns: &mut [Column], from: usize, width: f32) -> bool {
        let [labels] = columns else {
            return false;
        };
        let blocks = &self.output.blocks;
        let is_beside = labels.blocks.end == from
            && self.are_labels_of(labels.blocks.clone(), from..blocks.len())
            && blocks[from..]
                .iter()
                .all(|value| value.prefixes == blocks[labels.blocks.start].prefixes);
        if is_beside {
            labels.width += width;
            self.table_count += 1;
            let values = self.output.blocks.split_off(from);
            let labels = &mut self.output.blocks[labels.blocks.clone()];
            for (label, value) in labels.iter_mut().zip(values) {
                let bottom = label.bottom;
                join_blocks(label, value, self.table_count);
                label.bottom = bottom;
            }
        }
        is_beside
    }

    /// Puts pictures in front of the text on their right, which starts at block `from`;
    /// false if they stay apart.
    pub(super) fn join_picture(&mut self, picture: Range<usize>, from: usize) -> bool {
        let is_last_group = |group: &ColumnGroup| group.blocks().end <= picture.start;
        let [image, text, ..] = &self.output.blocks[picture.start..] else {
            return false;
        };
        let is_line = |block: &Block| {
            let line = block.as_paragraph();
            line.is_some_and(|line| !line.images_only && !line.preformatted)
        };
        let fits = image.is_images_only()
            && image
                .paragraphs()
                .all(|line| line.width() <= MAX_SHORT_LINE_WIDTH)
            && image.prefixes == text.prefixes
            && is_line(text);
        if picture != (from.wrapping_sub(1)..from)
            || !fits
            || !self.output.column_groups.iter().all(is_last_group)
        {
            return false;
        }
        let image = self.output.blocks.remove(picture.start);
        let text = &mut self.output.blocks[picture.start];
        text.top = text.top.min(image.top);
        if let (BlockKind::Paragraph(mut image), BlockKind::Paragraph(text)) =
            (image.kind, &mut text.kind)
        {
            image.append("\u{A0} ", text);
            text.runs = image.runs;
        }
        true
    }

    /// Records boxes beside each other, in place of those of `group`;
    /// returns its number.
    ///
    /// `None` in quotes and lists, or if fewer than two have blocks.
    pub(super) fn set_columns(
        &mut self,
        group: Option<usize>,
        mut columns: Vec<Column>,
    ) -> Option<usize> {
        columns.retain(|column| !column.blocks.is_empty());
        // Quotes and lists have too many prefixes for columns.
        if columns.len() < 2 || !self.prefixes.is_empty() {
            return None;
        }
        let groups = &mut self.output.column_groups;
        match group.and_then(|number| groups.get_mut(number)) {
            Some(group) => group.columns = columns,
            None => groups.push(ColumnGroup { columns }),
        }
        group.or(Some(groups.len() - 1))
    }

    /// Forgets the columns from block `from` on, because these blocks are replaced.
    pub(super) fn drop_column_groups(&mut self, from: usize) {
        let groups = &mut self.output.column_groups;
        while groups.pop_if(|group| group.blocks().end > from).is_some() {
            self.float_row = None;
        }
    }

    /// Lays out an absolutely positioned box, which takes up no space.
    pub(super) fn layout_out_of_flow(&mut self, id: NodeId, context: LayoutContext) {
        self.layout_apart(context, false, |builder| {
            let before = builder.cursor.clone();
            builder.layout_block(id, &builder.styles[id], context, Self::visit_children);
            builder.end_line(context);
            builder.cursor = before;
        });
    }

    /// Lays out a block; `content` lays out its children.
    pub(super) fn layout_block(
        &mut self,
        id: NodeId,
        style: &ComputedStyle,
        context: LayoutContext,
        content: Layout<'a>,
    ) {
        self.end_line(context);
        let available = context.available_width;
        let margin = |side: usize| style.margin_px(side, available);
        // A block formatting context: its margins do not collapse with those of its content.
        let is_isolated =
            style.overflow_clipped || style.is_floated() || style.display == Display::InlineBlock;
        self.cursor.add_margin(margin(TOP));
        if is_isolated {
            self.cursor.apply_margins();
        }
        self.draw_border(style, TOP, context);
        self.cursor
            .advance(style.padding_and_border(TOP, available));
        let start = self.cursor.y;
        let insets =
            style.padding_and_border(LEFT, available) + style.padding_and_border(RIGHT, available);
        let width = style.used_width(available, available - margin(LEFT) - margin(RIGHT));
        let inner = LayoutContext {
            available_width: (width - insets).max(1.0),
            strut: style.line_height_px(),
            ..context
        };
        let outer_prefixes = Arc::clone(&self.prefixes);
        self.add_prefix(id, style, inner);
        let span_style = self.span_style(style, inner);
        let opened = (inner.button == Some(id)).then(|| self.line.open_button(span_style));
        content(self, id, inner);
        if let Some(opened) = opened {
            self.line.close_button(opened);
        }
        self.end_line(inner);
        self.prefixes = outer_prefixes;
        if is_isolated {
            self.cursor.apply_margins();
        }
        let height = |length: Length| match length {
            Length::Percent(_) => None,
            length => style.px(length, 0.0),
        };
        if let Some(min) = height(style.height).or_else(|| height(style.min_height)) {
            self.cursor.extend_to(start + min);
        }
        if style.overflow_clipped
            && let Some(max) = height(style.max_height).or_else(|| height(style.height))
        {
            self.cursor.y = self.cursor.y.min(start + max);
        }
        self.cursor
            .advance(style.padding_and_border(BOTTOM, available));
        self.draw_border(style, BOTTOM, context);
        self.cursor.add_margin(margin(BOTTOM));
    }

    /// Adds a rule for a visible border above or below an unframed block.
    fn draw_border(&mut self, style: &ComputedStyle, side: usize, context: LayoutContext) {
        let is_line = |side: usize| style.used_border(side) > 0.0;
        let is_framed = is_line(LEFT) && is_line(RIGHT);
        let colour = style.border_colour[side].resolve(style.colour);
        let is_visible = style.visible && !context.hidden && contrasts(colour, &context);
        let has_text_above = matches!(
            self.output.blocks.last(),
            Some(block) if !matches!(block.kind, BlockKind::Rule(_))
        );
        if is_line(side) && !is_framed && is_visible && context.rules && has_text_above {
            self.cursor.apply_margins();
            let top = self.cursor.y
                - if side == TOP {
                    0.0
                } else {
                    style.used_border(side)
                };
            let rule = BlockKind::Rule(RuleKind::Border);
            self.push_block(top, top + style.used_border(side), rule);
        }
    }
}

/// Adds the images or the cells of `next` to those of the block on its left.
fn join_blocks(block: &mut Block, next: Block, table: u32) {
    block.top = block.top.min(next.top);
    block.bottom = block.bottom.max(next.bottom);
    if let (BlockKind::Paragraph(images), BlockKind::Paragraph(more)) =
        (&mut block.kind, &next.kind)
        && images.images_only
        && more.images_only
    {
        return images.append(" ", more);
    }
    let into_cells = |kind: BlockKind| match kind {
        BlockKind::Paragraph(line) => vec![TableCell {
            span: 1,
            paragraphs: vec![line],
            ..TableCell::default()
        }],
        BlockKind::TableRow { cells, .. } => cells,
        BlockKind::Rule(_) | BlockKind::Lines(_) => Vec::new(),
    };
    let mut cells = into_cells(std::mem::replace(
        &mut block.kind,
        BlockKind::Lines(Vec::new()),
    ));
    cells.extend(into_cells(next.kind));
    for (column, cell) in cells.iter_mut().enumerate() {
        cell.column = column;
    }
    block.kind = BlockKind::TableRow {
        table,
        columns_of: table,
        cells,
        padding: [0.0; 2],
    };
}
