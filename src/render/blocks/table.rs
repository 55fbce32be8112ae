//! Lays out tables: rows of short cells stay rows, others become blocks.

use super::builder::BlockBuilder;
use super::context::LayoutContext;
use super::data_table::{
    MAX_AMOUNT_WIDTH, MAX_VALUE_WIDTH, TableKind, are_amounts, is_price, max_name_width, text_width,
};
use super::image::has_alt;
use super::{Block, BlockKind, Column, Paragraph, TableCell};
use crate::render::css::{
    BOTTOM, Color, ComputedStyle, Display, Length, TOP, TextAlign, VerticalAlign,
};
use crate::render::html::NodeId;
use crate::text::sanitize::sanitize_block;

/// A cell up to this width can be a label beside a text.
const MAX_LABEL_WIDTH: usize = 12;

/// Widths of columns that fill this share of a table are those of all rows.
const MIN_FILLED: f32 = 0.9;

/// A picture up to this width leaves half of a narrow screen to the text beside it.
const MAX_PICTURE_WIDTH: usize = 18;

/// Lines of one text are closer, in pixels.
const MAX_LINE_GAP_PX: f32 = 10.0;

/// A row of more cells is split into blocks.
const MAX_COLUMNS: usize = 64;

/// Larger values of `colspan` and `rowspan` are cut.
const MAX_SPAN: usize = 100;

/// The facts about a table that its rows need.
struct TableState {
    number: u32,
    kind: TableKind,
    /// By column, how many rows a cell above still covers.
    rowspans_left: Vec<usize>,
    /// The widths that the cells of the last row with some have, in pixels.
    widths: Vec<Option<f32>>,
}

/// A cell of a row that is not merged yet.
struct LaidOutCell {
    id: NodeId,
    column: usize,
    span: usize,
    /// In pixels.
    width: f32,
    /// Its range in the list of blocks.
    blocks: std::ops::Range<usize>,
    height: f32,
}

impl BlockBuilder<'_> {
    /// Lays out the rows of a table.
    pub(super) fn layout_table(&mut self, id: NodeId, context: LayoutContext) {
        self.table_count += 1;
        let mut table = TableState {
            number: self.table_count,
            kind: self.table_kind(id),
            rowspans_left: Vec::new(),
            widths: Vec::new(),
        };
        let mut inner = context;
        if self.has_column_background(id) {
            inner.background = None;
        }
        self.layout_rows(id, &mut table, inner);
        let style = &self.styles[id];
        if !style.border_collapse {
            self.cursor.advance(style.border_spacing);
        }
    }

    /// True if a column, of which cells do not inherit, has a background.
    fn has_column_background(&self, table: NodeId) -> bool {
        let groups = self
            .dom
            .children(table)
            .filter(|child| matches!(self.dom.tag_name(*child), "col" | "colgroup"));
        let mut columns =
            groups.flat_map(|group| std::iter::once(group).chain(self.dom.children(group)));
        columns.any(|column| self.styles[column].background != Color::TRANSPARENT)
    }

    fn layout_rows(&mut self, id: NodeId, table: &mut TableState, context: LayoutContext) {
        let tree = self.dom;
        let is_foot = |child: &NodeId| {
            tree.tag_name(*child) == "tfoot" && self.styles[*child].display == Display::RowGroup
        };
        let (feet, others): (Vec<NodeId>, Vec<NodeId>) = tree.children(id).partition(is_foot);
        let mut children = others.into_iter().chain(feet).peekable();
        while let Some(child) = children.next() {
            let is_element = tree.is_element(child);
            match self.styles[child].display {
                // Cells without a row get an anonymous one.
                Display::Cell if is_element => {
                    let mut cells = vec![child];
                    let is_cell = |id: &NodeId| {
                        self.is_space(*id) || self.styles[*id].display == Display::Cell
                    };
                    while let Some(cell) = children.next_if(is_cell) {
                        cells.push(cell);
                    }
                    let row = self.styles[id].inherited();
                    self.layout_cells(cells, &row, table, context);
                }
                Display::RowGroup if is_element => {
                    let inner = context.enter(&self.styles[child]);
                    self.layout_rows(child, table, inner);
                }
                // The rows of a group that is a block are a table of their own, between the same
                // rows.
                Display::Block if matches!(tree.tag_name(child), "thead" | "tbody" | "tfoot") => {
                    self.layout_rows(child, table, context);
                }
                Display::Row if is_element => {
                    let style = &self.styles[child];
                    let cells = tree.children(child).collect();
                    self.layout_cells(cells, style, table, context.enter(style));
                }
                _ => self.visit_node(child, context),
            }
        }
    }

    /// Lays out the cells of a row of this style.
    fn layout_cells(
        &mut self,
        mut nodes: Vec<NodeId>,
        style: &ComputedStyle,
        table: &mut TableState,
        context: LayoutContext,
    ) {
        let rowspans_left = &mut table.rowspans_left;
        if !style.border_collapse {
            self.cursor.advance(style.border_spacing);
        }
        self.cursor.apply_margins();
        let start = self.cursor.y;
        nodes.retain(|child| {
            self.dom.is_element(*child) && self.styles[*child].display != Display::None
        });
        let widths = self.share_width(&nodes, context.available_width, &mut table.widths);
        let has_content = |cell: &&NodeId| self.shows_content(**cell);
        let rules = context.rules && nodes.iter().filter(has_content).count() < 2;
        let mut cells = Vec::new();
        let mut column = 0;
        for (cell, width) in nodes.into_iter().zip(widths) {
            self.cursor.y = start;
            let from = self.output.blocks.len();
            self.layout_cell(
                cell,
                LayoutContext {
                    available_width: width,
                    rules,
                    ..context
                },
            );
            let number = |name: &str| {
                self.dom
                    .attribute(cell, name)
                    .and_then(|text| text.trim().parse().ok())
                    .unwrap_or(1_usize)
                    .clamp(1, MAX_SPAN)
            };
            let (span, rows) = (number("colspan"), number("rowspan"));
            while rowspans_left.get(column).is_some_and(|left| *left > 0) {
                rowspans_left[column] -= 1;
                column += 1;
            }
            if rows > 1 && column < MAX_COLUMNS {
                rowspans_left.resize(rowspans_left.len().max(column + span), 0);
                rowspans_left[column..column + span].fill(rows - 1);
            }
            cells.push(LaidOutCell {
                id: cell,
                column,
                span,
                width,
                blocks: from..self.output.blocks.len(),
                height: self.cursor.y - start,
            });
            column += span;
        }
        for left in rowspans_left.iter_mut().skip(column) {
            *left = left.saturating_sub(1);
        }
        let min_height = match style.height {
            Length::Px(px) => px,
            _ => 0.0,
        };
        let heights = cells.iter().map(|cell| cell.height);
        let height = heights.fold(min_height, f32::max);
        self.align_cells(&cells, height);
        self.cursor.y = start + height;
        self.merge_row(&cells, table);
    }

    /// Moves the cells of a row down by their vertical alignment.
    fn align_cells(&mut self, cells: &[LaidOutCell], height: f32) {
        for cell in cells {
            let free = height - cell.height;
            let down = match self.styles[cell.id].vertical_align {
                VerticalAlign::Middle => free / 2.0,
                VerticalAlign::Bottom => free,
                _ => 0.0,
            };
            for block in &mut self.output.blocks[cell.blocks.clone()] {
                block.top += down;
                block.bottom += down;
            }
        }
    }

    fn layout_cell(&mut self, id: NodeId, context: LayoutContext) {
        let style = &self.styles[id];
        if style.display != Display::Cell {
            self.visit_node(id, context);
            self.end_line(context);
            self.cursor.apply_margins();
            return;
        }
        let start = self.cursor.y;
        // Margins do not apply to cells, and the row has set the width.
        let inner_style = ComputedStyle {
            margin: [Length::ZERO; 4],
            width: Length::Auto,
            height: Length::Auto,
            max_height: Length::Auto,
            overflow_clipped: true,
            ..*style
        };
        let inner = self.enter(context, style);
        self.layout_block(id, &inner_style, inner, Self::visit_children);
        self.cursor.apply_margins();
        if let Length::Px(px) = style.height {
            // In quirks mode the height of a cell includes its padding and border.
            let insets = if self.dom.quirks {
                0.0
            } else {
                style.padding_and_border(TOP, context.available_width)
                    + style.padding_and_border(BOTTOM, context.available_width)
            };
            self.cursor.extend_to(start + px + insets);
        }
    }

    /// True for a cell with letters, signs, or images that have a text.
    pub(super) fn shows_content(&self, cell: NodeId) -> bool {
        self.info.letter_counts[cell.index()] > 0
            || self.nodes_inside(cell).any(|id| match self.dom.text(id) {
                Some(text) => !sanitize_block(text).trim().is_empty(),
                None => self.dom.tag_name(id) == "img" && has_alt(self.dom, id),
            })
    }

    /// Divides the width of a row by the widths of its cells, or of those `above`, and by letters.
    fn share_width(&self, cells: &[NodeId], total: f32, above: &mut Vec<Option<f32>>) -> Vec<f32> {
        let mut requested: Vec<Option<f32>> = cells
            .iter()
            .map(|id| {
                let style = &self.styles[*id];
                style.px(style.width, total).filter(|px| *px > 0.0)
            })
            .collect();
        if requested.iter().any(Option::is_some) {
            above.clone_from(&requested);
        } else if above.len() == requested.len() {
            // Browsers widen columns that do not fill the table, by what is in them.
            let fills = above.iter().any(Option::is_none)
                || above.iter().flatten().sum::<f32>() >= total * MIN_FILLED;
            if fills {
                requested.clone_from(above);
            }
        }
        let taken: f32 = requested.iter().flatten().sum();
        let rest = (total - taken).max(0.0);
        #[expect(clippy::cast_precision_loss, reason = "an estimate of widths")]
        let weight = |id: &NodeId| (self.info.letter_counts[id.index()].min(200) + 1) as f32;
        let weights: f32 = cells
            .iter()
            .zip(&requested)
            .filter(|(_, requested)| requested.is_none())
            .map(|(id, _)| weight(id))
            .sum();
        let scale = if taken > total { total / taken } else { 1.0 };
        cells
            .iter()
            .zip(&requested)
            .map(|(id, requested)| {
                requested
                    .map_or(rest * weight(id) / weights.max(1.0), |px| px * scale)
                    .max(1.0)
            })
            .collect()
    }

    /// Replaces the blocks of the cells by one row, if they make a table row.
    fn merge_row(&mut self, laid_out: &[LaidOutCell], table: &TableState) {
        let full: Vec<&LaidOutCell> = laid_out
            .iter()
            .filter(|cell| !cell.blocks.is_empty())
            .collect();
        if self.split_row(&full, table) {
            return;
        }
        if !self.is_table_row(&full, table) {
            if let [picture, text] = &full[..]
                && self.join_picture(picture.blocks.clone(), text.blocks.start)
            {
                return;
            }
            let column = |cell: &&LaidOutCell| Column {
                blocks: cell.blocks.clone(),
                width: cell.width,
            };
            self.set_columns(None, full.iter().map(column).collect());
            return;
        }
        let is_tabular = self.is_tabular_row(&full, table);
        let mut cells = self.merge_cells(&full, table.kind, is_tabular);
        let mut next = 0;
        for cell in &mut cells {
            cell.column = cell.column.max(next);
            next = cell.column + 1;
        }
        let from = full[0].blocks.start;
        let merged = &self.output.blocks[from..];
        let lines = || merged.iter().filter(|block| !block.is_images_only());
        let top = lines().map(|block| block.top).fold(f32::MAX, f32::min);
        let (top, bottom) = (top.min(merged[0].top), merged[merged.len() - 1].bottom);
        self.output.blocks.truncate(from);
        self.drop_column_groups(from);
        let padding = [TOP, BOTTOM].map(|side| {
            full.iter()
                .map(|cell| self.styles[cell.id].padding_and_border(side, 0.0))
                .fold(f32::MAX, f32::min)
        });
        let row = BlockKind::TableRow {
            table: table.number,
            columns_of: table.number,
            cells,
            padding,
        };
        self.push_block(top, bottom, row);
    }

    /// Merges the blocks of each cell; those of a table inside become cells of the row.
    fn merge_cells(
        &self,
        full: &[&LaidOutCell],
        kind: TableKind,
        is_tabular: bool,
    ) -> Vec<TableCell> {
        let is_data = kind == TableKind::Data;
        let mut cells: Vec<TableCell> = Vec::new();
        for cell in full {
            let mut own = TableCell {
                column: cell.column,
                span: cell.span,
                paragraphs: Vec::new(),
                align_right: self.is_end_aligned(cell.id),
                is_data,
            };
            let blocks = &self.output.blocks[cell.blocks.clone()];
            let is_flat = !is_tabular || blocks.iter().any(|block| block.prefixes != self.prefixes);
            if is_flat && let Some(lines) = self.flat_lines(blocks) {
                own.paragraphs = lines;
                cells.push(own);
                continue;
            }
            for block in blocks {
                match &block.kind {
                    // Images go to the end of the last line.
                    BlockKind::Paragraph(paragraph) => match own.paragraphs.last_mut() {
                        Some(last) if paragraph.images_only => last.append(" ", paragraph),
                        _ => own.paragraphs.push(paragraph.clone()),
                    },
                    BlockKind::TableRow { cells: inner, .. } => {
                        cells.extend(inner.iter().map(|inner| TableCell {
                            column: cell.column + inner.column,
                            is_data,
                            ..inner.clone()
                        }));
                    }
                    BlockKind::Rule(_) | BlockKind::Lines(_) => {}
                }
            }
            if !own.paragraphs.is_empty() {
                cells.push(own);
            }
        }
        cells
    }

    /// Makes a row of each line of two cells, if the lines are labels and their values.
    fn split_row(&mut self, full: &[&LaidOutCell], table: &TableState) -> bool {
        let [first, last] = full else {
            return false;
        };
        let (from, count) = (first.blocks.start, first.blocks.len());
        if !self.are_labels_of(first.blocks.clone(), last.blocks.clone()) {
            return false;
        }
        let mut lines: Vec<_> = self.output.blocks.drain(from..).map(Some).collect();
        self.drop_column_groups(from);
        for line in 0..count {
            let mut row = Vec::new();
            for cell in full {
                let at = self.output.blocks.len();
                let block = lines[cell.blocks.start - from + line].take();
                self.output.blocks.extend(block);
                let blocks = at..at + 1;
                row.push(LaidOutCell { blocks, ..**cell });
            }
            self.merge_row(&row, table);
        }
        true
    }

    /// True if the text of a cell, or of the box that has all of it, is on the right.
    fn is_end_aligned(&self, cell: NodeId) -> bool {
        let letters = |id: NodeId| self.info.letter_counts[id.index()];
        let has_all = |id: &NodeId| self.dom.is_element(*id) && letters(*id) == letters(cell);
        let boxes = std::iter::successors(Some(cell), |id| self.dom.children(*id).find(has_all));
        boxes
            .last()
            .is_some_and(|id| self.styles[id].text_align == TextAlign::End)
    }

    fn is_table_row(&self, full: &[&LaidOutCell], table: &TableState) -> bool {
        let kind = table.kind;
        let blocks = |cell: &&LaidOutCell| &self.output.blocks[cell.blocks.clone()];
        self.is_tabular_row(full, table)
            || self.continues_columns(full, table)
            || (kind != TableKind::Layout
                && full.len() <= MAX_COLUMNS
                && self.is_data_row(&full.iter().map(blocks).collect::<Vec<_>>(), kind))
    }

    /// True for the lines of texts below the cells of a row of the same columns,
    /// such as headings.
    fn continues_columns(&self, full: &[&LaidOutCell], table: &TableState) -> bool {
        let [first, _, ..] = full else {
            return false;
        };
        let above = self.row_above(first, table);
        let is_text = |line: &Paragraph| !line.images_only && !line.has_button();
        let is_below = |(above, cell): (&TableCell, &&LaidOutCell)| {
            let lines = &self.output.blocks[cell.blocks.clone()];
            let mut texts = lines.iter().flat_map(Block::paragraphs);
            above.column == cell.column
                && above.paragraphs.iter().all(is_text)
                && texts.all(is_text)
                && text_width(lines, false).is_some_and(|width| width <= MAX_VALUE_WIDTH)
                && are_close(lines)
                && !self.info.contains_block[cell.id.index()]
        };
        above.len() == full.len() && above.iter().zip(full).all(is_below)
    }

    /// True for a line below a cell of the same column in the row before.
    fn is_below_value(&self, cell: &LaidOutCell, table: &TableState) -> bool {
        let mut above = self.row_above(cell, table).iter();
        above.any(|above| above.column == cell.column)
    }

    /// Returns the cells of the row above a cell, none if that is not a row of its table.
    fn row_above(&self, cell: &LaidOutCell, table: &TableState) -> &[TableCell] {
        let before = cell.blocks.start.checked_sub(1);
        match before.map(|at| &self.output.blocks[at].kind) {
            Some(BlockKind::TableRow {
                table: number,
                cells,
                ..
            }) if *number == table.number => cells,
            _ => &[],
        }
    }

    fn is_tabular_row(&self, full: &[&LaidOutCell], table: &TableState) -> bool {
        let kind = table.kind;
        let blocks = |cell: &LaidOutCell| &self.output.blocks[cell.blocks.clone()];
        // A value below a header or another value stays there, even if it is alone in its row.
        let is_alone = full.iter().any(|cell| {
            cell.column > 0 && (kind != TableKind::Layout || self.is_below_value(cell, table))
        });
        // A list is a value only in a row that ends with an amount.
        let is_plain = |block: &Block| block.prefixes == self.prefixes;
        let are_plain = full.iter().all(|cell| blocks(cell).iter().all(is_plain));
        let has_amount = matches!(full, [_, _, .., last] if are_amounts(blocks(last)));
        if full.len() < 2 && !is_alone || !(are_plain || has_amount) {
            return false;
        }
        let count = |cell: &LaidOutCell| match blocks(cell) {
            [block] => block.as_row().map_or(1, <[TableCell]>::len),
            _ => 1,
        };
        if full.iter().map(|cell| count(cell)).sum::<usize>() > MAX_COLUMNS {
            return false;
        }
        let is_several = |at: &usize| !is_one_line(blocks(full[*at]));
        let several: Vec<usize> = (0..full.len()).filter(is_several).collect();
        if several.is_empty() {
            return true;
        }
        let is_labelled = full.len() == 2 && (several == [1] || is_time(blocks(full[0])));
        let widths = full
            .iter()
            .map(|cell| text_width(blocks(cell), is_labelled));
        let Some(widths) = widths.collect::<Option<Vec<usize>>>() else {
            return false;
        };
        if let ([first, last], [first_width, last_width]) = (full, &widths[..]) {
            let (first, last) = (blocks(first), blocks(last));
            let has_label = several == [1] && (1..=MAX_LABEL_WIDTH).contains(first_width);
            let has_time = is_time(first) && (*last_width > MAX_LABEL_WIDTH || last.len() > 2);
            let has_amount = several.first() == Some(&0)
                && *first_width <= max_name_width(last)
                && (1..=MAX_AMOUNT_WIDTH).contains(last_width)
                && is_price(last);
            let has_signature = several == [1]
                && *last_width <= MAX_VALUE_WIDTH * 2
                && is_signature(&first[0], last);
            return has_label || has_time || has_amount || has_signature;
        }
        // Cells of several lines are values of a data table if one of them is an amount. The name
        // of an item may be longer, if it is the only line of its cell, amounts end the row, or the
        // other cells are narrow, such as a check box and a picture.
        let widest = widths.iter().max().copied().unwrap_or(0);
        let max_name = match full.last() {
            Some(last) if widths.iter().sum::<usize>() - widest > MAX_AMOUNT_WIDTH => {
                max_name_width(blocks(last))
            }
            _ => MAX_VALUE_WIDTH * 2,
        };
        let is_value = |(cell, width): (&&LaidOutCell, &usize)| {
            *width <= max_name || (cell.blocks.len() == 1 && *width <= MAX_VALUE_WIDTH * 2)
        };
        full.iter().zip(&widths).all(is_value)
            && widths
                .iter()
                .any(|width| (1..=MAX_AMOUNT_WIDTH).contains(width))
    }
}

/// Whether the blocks of a cell take one line of a row.
fn is_one_line(blocks: &[Block]) -> bool {
    match blocks {
        [block] => !matches!(block.kind, BlockKind::Rule(_)),
        // Images below a line of text, such as icons of networks, fit beside it.
        [first, rest @ ..] => {
            first.as_paragraph().is_some()
                && rest.len() <= 2
                && rest.iter().all(Block::is_images_only)
        }
        [] => false,
    }
}

/// Whether a cell is the day or the hours of an event, on two short lines.
fn is_time(lines: &[Block]) -> bool {
    let has_digit = |line: &Paragraph| line.text().contains(|c: char| c.is_ascii_digit());
    let texts = || lines.iter().flat_map(Block::paragraphs);
    let are_short = texts().all(|line| line.width() <= MAX_LABEL_WIDTH);
    lines.len() == 2 && are_short && texts().any(has_digit) && are_close(lines)
}

/// Whether two cells are a small picture and the lines of a signature beside it.
fn is_signature(picture: &Block, lines: &[Block]) -> bool {
    let mut images = picture.paragraphs();
    picture.is_images_only()
        && !lines
            .iter()
            .flat_map(Block::paragraphs)
            .any(Paragraph::has_button)
        && images.all(|image| image.width() <= MAX_PICTURE_WIDTH)
        && are_close(lines)
}

/// Whether there is no blank line between the lines of a text.
fn are_close(lines: &[Block]) -> bool {
    let mut pairs = lines.array_windows();
    pairs.all(|[one, next]| next.top - one.bottom < MAX_LINE_GAP_PX)
}
