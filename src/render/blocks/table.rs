//! Tables: rows of short cells stay rows, everything else was only there for the layout.

use super::block::{Block, BlockKind, Paragraph, Run, TableCell};
use super::builder::{BlockBuilder, LayoutContext};
use crate::render::body::{SpanRole, SpanStyle};
use crate::render::css::{BOTTOM, Display, Length, TOP, TextAlign, VerticalAlign};
use crate::render::html::{NodeData, NodeId};

/// A cell of this width or less is a label beside a text.
const MAX_LABEL_WIDTH: usize = 12;

/// Cells of this width or less beside a text of several lines are figures.
const MAX_FIGURE_WIDTH: usize = 16;

/// Lines beside figures name what the figures are of; longer ones are prose.
const MAX_NAME_WIDTH: usize = 48;

/// A text of more lines than this is no table cell.
const MAX_CELL_LINES: usize = 6;

/// A row of more cells than this is not read as one.
const MAX_COLUMNS: usize = 64;

/// A cell that reaches further than this was not meant to.
const MAX_SPAN: usize = 100;

/// A cell while its row is laid out.
struct LaidOutCell {
    id: NodeId,
    column: usize,
    span: usize,
    /// Its blocks are from here to there.
    blocks: std::ops::Range<usize>,
    height: f32,
}

impl BlockBuilder<'_> {
    /// Lays out the inside of a table.
    pub(super) fn layout_table(&mut self, id: NodeId, around: LayoutContext) {
        self.table_count += 1;
        let number = self.table_count;
        self.layout_rows(id, number, &mut Vec::new(), around);
        let style = &self.styles[id.index()];
        if !style.border_collapse {
            self.cursor.advance(style.border_spacing);
        }
    }

    /// Lays out rows; `hanging` says for each column how many rows a cell from above still covers.
    fn layout_rows(
        &mut self,
        id: NodeId,
        table: u32,
        hanging: &mut Vec<usize>,
        around: LayoutContext,
    ) {
        let tree = self.dom;
        for child in tree.children(id) {
            match (&tree.node(child).data, self.styles[child.index()].display) {
                (NodeData::Element { .. }, Display::RowGroup) => {
                    self.layout_rows(child, table, hanging, around);
                }
                (NodeData::Element { .. }, Display::Row) => {
                    self.layout_row(child, table, hanging, around)
                }
                _ => self.visit_node(child, around),
            }
        }
    }

    fn layout_row(
        &mut self,
        id: NodeId,
        table: u32,
        hanging: &mut Vec<usize>,
        mut around: LayoutContext,
    ) {
        let style = &self.styles[id.index()];
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            around.background = colour;
            around.over_image = false;
        }
        around.over_image |= style.background_image;
        around.opacity *= style.opacity;
        around.hidden |= around.opacity < 0.05;
        if !style.border_collapse {
            self.cursor.advance(style.border_spacing);
        }
        self.cursor.apply_margins();
        let start = self.cursor.y;
        let cells: Vec<NodeId> = self
            .dom
            .children(id)
            .filter(|child| {
                matches!(self.dom.node(*child).data, NodeData::Element { .. })
                    && self.styles[child.index()].display != Display::None
            })
            .collect();
        let widths = self.share_width(&cells, around.available_width);
        let mut laid = Vec::new();
        let mut column = 0;
        for (cell, width) in cells.into_iter().zip(widths) {
            self.cursor.y = start;
            let from = self.output.blocks.len();
            self.layout_cell(
                cell,
                LayoutContext {
                    available_width: width,
                    ..around
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
            while hanging.get(column).is_some_and(|left| *left > 0) {
                hanging[column] -= 1;
                column += 1;
            }
            if rows > 1 && column < MAX_COLUMNS {
                hanging.resize(hanging.len().max(column + span), 0);
                hanging[column..column + span].fill(rows - 1);
            }
            laid.push(LaidOutCell {
                id: cell,
                column,
                span,
                blocks: from..self.output.blocks.len(),
                height: self.cursor.y - start,
            });
            column += span;
        }
        for left in hanging.iter_mut().skip(column) {
            *left = left.saturating_sub(1);
        }
        let least = match style.height {
            Length::Px(px) => px,
            _ => 0.0,
        };
        let height = laid.iter().map(|cell| cell.height).fold(least, f32::max);
        for cell in &laid {
            let free = height - cell.height;
            let down = match self.styles[cell.id.index()].vertical_align {
                VerticalAlign::Top => 0.0,
                VerticalAlign::Middle => free / 2.0,
                VerticalAlign::Bottom => free,
            };
            for block in &mut self.output.blocks[cell.blocks.clone()] {
                block.top += down;
                block.bottom += down;
            }
        }
        self.cursor.y = start + height;
        self.merge_row(&laid, table);
    }

    fn layout_cell(&mut self, id: NodeId, around: LayoutContext) {
        let style = &self.styles[id.index()];
        if style.display != Display::Cell {
            self.visit_node(id, around);
            self.end_line(around);
            self.cursor.apply_margins();
            return;
        }
        let start = self.cursor.y;
        let mut plain = *style;
        // Margins mean nothing on a cell, and its width has been given to it.
        plain.margin = [Length::ZERO; 4];
        plain.width = Length::Auto;
        plain.height = Length::Auto;
        let mut inner = around;
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            inner.background = colour;
            inner.over_image = false;
        }
        inner.over_image |= style.background_image;
        inner.opacity *= style.opacity;
        inner.hidden |= inner.opacity < 0.05;
        plain.overflow_clipped = true;
        plain.max_height = Length::Auto;
        self.layout_block(id, &plain, inner, Self::visit_children);
        self.cursor.apply_margins();
        if let Length::Px(px) = style.height {
            // In a table, a height is one of the whole box in old documents, and of its content in new ones.
            let insets = if self.dom.quirks {
                0.0
            } else {
                style.padding_and_border(TOP, around.available_width)
                    + style.padding_and_border(BOTTOM, around.available_width)
            };
            self.cursor.extend_to(start + px + insets);
        }
    }

    /// Shares the width of a row among its cells: as they ask for, the rest by their letters.
    fn share_width(&self, cells: &[NodeId], total: f32) -> Vec<f32> {
        let asked: Vec<Option<f32>> = cells
            .iter()
            .map(|id| {
                let style = &self.styles[id.index()];
                style
                    .width
                    .to_px(style.font_size, total)
                    .filter(|px| *px > 0.0)
            })
            .collect();
        let taken: f32 = asked.iter().flatten().sum();
        let rest = (total - taken).max(0.0);
        #[expect(clippy::cast_precision_loss, reason = "a guess at widths")]
        let weight = |id: &NodeId| (self.info.letter_counts[id.index()].min(200) + 1) as f32;
        let weights: f32 = cells
            .iter()
            .zip(&asked)
            .filter(|(_, asked)| asked.is_none())
            .map(|(id, _)| weight(id))
            .sum();
        let squeeze = if taken > total { total / taken } else { 1.0 };
        cells
            .iter()
            .zip(&asked)
            .map(|(id, asked)| {
                asked
                    .map_or(rest * weight(id) / weights.max(1.0), |px| px * squeeze)
                    .max(1.0)
            })
            .collect()
    }

    /// Makes one row of the blocks of its cells, if it reads better as one.
    fn merge_row(&mut self, laid: &[LaidOutCell], table: u32) {
        let full: Vec<&LaidOutCell> = laid.iter().filter(|cell| !cell.blocks.is_empty()).collect();
        let ([first, .., last], true) = (&full[..], self.is_tabular_row(&full)) else {
            return;
        };
        let (from, to) = (first.blocks.start, last.blocks.end);
        let mut cells: Vec<TableCell> = Vec::new();
        for cell in &full {
            let style = &self.styles[cell.id.index()];
            let mut own = TableCell {
                column: cell.column,
                span: cell.span,
                paragraphs: Vec::new(),
                align_right: style.text_align == TextAlign::End,
            };
            for block in &self.output.blocks[cell.blocks.clone()] {
                match &block.kind {
                    BlockKind::Paragraph(para)
                        if para.images_only && !own.paragraphs.is_empty() =>
                    {
                        append_images(&mut own.paragraphs, para);
                    }
                    BlockKind::Paragraph(para) => own.paragraphs.push(para.clone()),
                    BlockKind::TableRow { cells: inner, .. } => {
                        cells.extend(inner.iter().map(|inner| TableCell {
                            column: cell.column + inner.column,
                            ..inner.clone()
                        }));
                    }
                    BlockKind::Rule => {}
                }
            }
            if !own.paragraphs.is_empty() {
                cells.push(own);
            }
        }
        let (top, bottom) = (
            self.output.blocks[from].top,
            self.output.blocks[to - 1].bottom,
        );
        self.output.blocks.truncate(from);
        let mut next = 0;
        for cell in &mut cells {
            cell.column = cell.column.max(next);
            next = cell.column + 1;
        }
        self.push_block(top, bottom, BlockKind::TableRow { table, cells });
    }

    fn is_tabular_row(&self, full: &[&LaidOutCell]) -> bool {
        let leads = self.current_prefixes();
        let blocks = |cell: &LaidOutCell| &self.output.blocks[cell.blocks.clone()];
        if full.len() < 2
            || full
                .iter()
                .any(|cell| blocks(cell).iter().any(|block| block.prefixes != *leads))
        {
            return false;
        }
        let count = |cell: &LaidOutCell| match blocks(cell) {
            [
                Block {
                    kind: BlockKind::TableRow { cells, .. },
                    ..
                },
            ] => cells.len(),
            _ => 1,
        };
        if full.iter().map(|cell| count(cell)).sum::<usize>() > MAX_COLUMNS {
            return false;
        }
        let is_line = |cell: &LaidOutCell| match blocks(cell) {
            [
                Block {
                    kind: BlockKind::Paragraph(_) | BlockKind::TableRow { .. },
                    ..
                },
            ] => true,
            // Pictures below a line of words, such as the signs of networks, can stand beside it.
            [
                Block {
                    kind: BlockKind::Paragraph(_),
                    ..
                },
                rest @ ..,
            ] => rest.len() <= 2
                && rest.iter().all(
                    |block| matches!(&block.kind, BlockKind::Paragraph(para) if para.images_only),
                ),
            _ => false,
        };
        let several: Vec<usize> = (0..full.len()).filter(|at| !is_line(full[*at])).collect();
        let [text] = several[..] else {
            return several.is_empty();
        };
        let lines = blocks(full[text]);
        if lines.len() > MAX_CELL_LINES
            || !lines.iter().all(
                |block| matches!(&block.kind, BlockKind::Paragraph(para) if !para.preformatted),
            )
        {
            return false;
        }
        let others: Vec<&Paragraph> = full
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != text)
            .filter_map(|(_, cell)| single_paragraph(blocks(cell)))
            .collect();
        let words = |para: &Paragraph| {
            !para.images_only
                && !para
                    .runs
                    .iter()
                    .any(|run| run.style.role == SpanRole::Button)
        };
        if others.len() + 1 != full.len() || !others.iter().all(|para| words(para)) {
            return false;
        }
        let label = text == full.len() - 1 && full.len() == 2;
        let most = if label {
            MAX_LABEL_WIDTH
        } else {
            MAX_FIGURE_WIDTH
        };
        let narrow = |block: &Block| matches!(&block.kind, BlockKind::Paragraph(para) if para.width() <= MAX_NAME_WIDTH);
        (label || (text == 0 && lines.iter().all(narrow)))
            && others.iter().all(|para| para.width() <= most)
    }
}

/// Puts pictures at the end of the last line.
fn append_images(paras: &mut [Paragraph], pictures: &Paragraph) {
    if let Some(last) = paras.last_mut() {
        last.runs.push(Run {
            text: " ".to_owned(),
            style: SpanStyle::default(),
        });
        last.runs.extend(pictures.runs.iter().cloned());
    }
}

fn single_paragraph(blocks: &[Block]) -> Option<&Paragraph> {
    match blocks {
        [
            Block {
                kind: BlockKind::Paragraph(para),
                ..
            },
        ] => Some(para),
        _ => None,
    }
}
