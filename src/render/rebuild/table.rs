//! Tables: rows of short cells stay rows, everything else was only there for the layout.

use super::block::{Block, Cell, Kind, Para, Run};
use super::walk::{Around, Walk};
use crate::render::body::{Mark, Role};
use crate::render::judge::{Align, BOTTOM, Display, Length, TOP, Vertical};
use crate::render::read::{Data, Id};

/// A cell of this width or less is a label beside a text.
const LABEL: usize = 12;

/// Cells of this width or less beside a text of several lines are figures.
const FIGURE: usize = 16;

/// Lines beside figures name what the figures are of; longer ones are prose.
const NAME: usize = 48;

/// A text of more lines than this is no table cell.
const MAX_LINES: usize = 6;

/// A row of more cells than this is not read as one.
const MAX_COLUMNS: usize = 64;

/// A cell that reaches further than this was not meant to.
const MAX_SPAN: usize = 100;

/// A cell while its row is laid out.
struct Laid {
    id: Id,
    column: usize,
    span: usize,
    /// Its blocks are from here to there.
    blocks: std::ops::Range<usize>,
    height: f32,
}

impl Walk<'_> {
    /// Lays out the inside of a table.
    pub(super) fn table(&mut self, id: Id, around: Around) {
        self.tables += 1;
        let number = self.tables;
        self.rows(id, number, &mut Vec::new(), around);
        let style = &self.styles[id.index()];
        if !style.collapse {
            self.page.solid(style.spacing);
        }
    }

    /// Lays out rows; `hanging` says for each column how many rows a cell from above still covers.
    fn rows(&mut self, id: Id, table: u32, hanging: &mut Vec<usize>, around: Around) {
        let tree = self.tree;
        for child in tree.children(id) {
            match (&tree.node(child).data, self.styles[child.index()].display) {
                (Data::Element { .. }, Display::RowGroup) => {
                    self.rows(child, table, hanging, around);
                }
                (Data::Element { .. }, Display::Row) => self.row(child, table, hanging, around),
                _ => self.node(child, around),
            }
        }
    }

    fn row(&mut self, id: Id, table: u32, hanging: &mut Vec<usize>, mut around: Around) {
        let style = &self.styles[id.index()];
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            around.ground = colour;
            around.on_picture = false;
        }
        around.on_picture |= style.picture;
        around.opacity *= style.opacity;
        around.hidden |= around.opacity < 0.05;
        if !style.collapse {
            self.page.solid(style.spacing);
        }
        self.page.settle();
        let start = self.page.y;
        let cells: Vec<Id> = self
            .tree
            .children(id)
            .filter(|child| {
                matches!(self.tree.node(*child).data, Data::Element { .. })
                    && self.styles[child.index()].display != Display::None
            })
            .collect();
        let widths = self.widths(&cells, around.width);
        let mut laid = Vec::new();
        let mut column = 0;
        for (cell, width) in cells.into_iter().zip(widths) {
            self.page.y = start;
            let from = self.rebuilt.blocks.len();
            self.cell(cell, Around { width, ..around });
            let number = |name: &str| {
                self.tree
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
            laid.push(Laid {
                id: cell,
                column,
                span,
                blocks: from..self.rebuilt.blocks.len(),
                height: self.page.y - start,
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
            let down = match self.styles[cell.id.index()].vertical {
                Vertical::Top => 0.0,
                Vertical::Middle => free / 2.0,
                Vertical::Bottom => free,
            };
            for block in &mut self.rebuilt.blocks[cell.blocks.clone()] {
                block.top += down;
                block.bottom += down;
            }
        }
        self.page.y = start + height;
        self.join(&laid, table);
    }

    fn cell(&mut self, id: Id, around: Around) {
        let style = &self.styles[id.index()];
        if style.display != Display::Cell {
            self.node(id, around);
            self.end_line(around);
            self.page.settle();
            return;
        }
        let start = self.page.y;
        let mut plain = *style;
        // Margins mean nothing on a cell, and its width has been given to it.
        plain.margin = [Length::ZERO; 4];
        plain.width = Length::Auto;
        plain.height = Length::Auto;
        let mut inner = around;
        if let Some(colour) = style.background.filter(|colour| colour.alpha > 0.5) {
            inner.ground = colour;
            inner.on_picture = false;
        }
        inner.on_picture |= style.picture;
        inner.opacity *= style.opacity;
        inner.hidden |= inner.opacity < 0.05;
        plain.clips = true;
        plain.max_height = Length::Auto;
        self.block(id, &plain, inner, Self::children);
        self.page.settle();
        if let Length::Px(px) = style.height {
            // In a table, a height is one of the whole box in old documents, and of its content in new ones.
            let insets = if self.tree.quirks {
                0.0
            } else {
                style.inset(TOP, around.width) + style.inset(BOTTOM, around.width)
            };
            self.page.reach(start + px + insets);
        }
    }

    /// Shares the width of a row among its cells: as they ask for, the rest by their letters.
    fn widths(&self, cells: &[Id], total: f32) -> Vec<f32> {
        let asked: Vec<Option<f32>> = cells
            .iter()
            .map(|id| {
                let style = &self.styles[id.index()];
                style.width.px(style.font, total).filter(|px| *px > 0.0)
            })
            .collect();
        let taken: f32 = asked.iter().flatten().sum();
        let rest = (total - taken).max(0.0);
        #[expect(clippy::cast_precision_loss, reason = "a guess at widths")]
        let weight = |id: &Id| (self.survey.letters[id.index()].min(200) + 1) as f32;
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
    fn join(&mut self, laid: &[Laid], table: u32) {
        let full: Vec<&Laid> = laid.iter().filter(|cell| !cell.blocks.is_empty()).collect();
        let ([first, .., last], true) = (&full[..], self.reads_as_row(&full)) else {
            return;
        };
        let (from, to) = (first.blocks.start, last.blocks.end);
        let mut cells: Vec<Cell> = Vec::new();
        for cell in &full {
            let style = &self.styles[cell.id.index()];
            let mut own = Cell {
                column: cell.column,
                span: cell.span,
                paras: Vec::new(),
                right: style.align == Align::End,
            };
            for block in &self.rebuilt.blocks[cell.blocks.clone()] {
                match &block.kind {
                    Kind::Para(para) if para.pictures && !own.paras.is_empty() => {
                        beside(&mut own.paras, para);
                    }
                    Kind::Para(para) => own.paras.push(para.clone()),
                    Kind::Row { cells: inner, .. } => {
                        cells.extend(inner.iter().map(|inner| Cell {
                            column: cell.column + inner.column,
                            ..inner.clone()
                        }));
                    }
                    Kind::Rule => {}
                }
            }
            if !own.paras.is_empty() {
                cells.push(own);
            }
        }
        let (top, bottom) = (
            self.rebuilt.blocks[from].top,
            self.rebuilt.blocks[to - 1].bottom,
        );
        self.rebuilt.blocks.truncate(from);
        let mut next = 0;
        for cell in &mut cells {
            cell.column = cell.column.max(next);
            next = cell.column + 1;
        }
        self.push(top, bottom, Kind::Row { table, cells });
    }

    fn reads_as_row(&self, full: &[&Laid]) -> bool {
        let leads = self.leads();
        let blocks = |cell: &Laid| &self.rebuilt.blocks[cell.blocks.clone()];
        if full.len() < 2
            || full
                .iter()
                .any(|cell| blocks(cell).iter().any(|block| block.leads != *leads))
        {
            return false;
        }
        let count = |cell: &Laid| match blocks(cell) {
            [
                Block {
                    kind: Kind::Row { cells, .. },
                    ..
                },
            ] => cells.len(),
            _ => 1,
        };
        if full.iter().map(|cell| count(cell)).sum::<usize>() > MAX_COLUMNS {
            return false;
        }
        let is_line = |cell: &Laid| match blocks(cell) {
            [
                Block {
                    kind: Kind::Para(_) | Kind::Row { .. },
                    ..
                },
            ] => true,
            // Pictures below a line of words, such as the signs of networks, can stand beside it.
            [
                Block {
                    kind: Kind::Para(_),
                    ..
                },
                rest @ ..,
            ] => {
                rest.len() <= 2
                    && rest
                        .iter()
                        .all(|block| matches!(&block.kind, Kind::Para(para) if para.pictures))
            }
            _ => false,
        };
        let several: Vec<usize> = (0..full.len()).filter(|at| !is_line(full[*at])).collect();
        let [text] = several[..] else {
            return several.is_empty();
        };
        let lines = blocks(full[text]);
        if lines.len() > MAX_LINES
            || !lines
                .iter()
                .all(|block| matches!(&block.kind, Kind::Para(para) if !para.pre))
        {
            return false;
        }
        let others: Vec<&Para> = full
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != text)
            .filter_map(|(_, cell)| one_para(blocks(cell)))
            .collect();
        let words = |para: &Para| {
            !para.pictures && !para.runs.iter().any(|run| run.mark.role == Role::Button)
        };
        if others.len() + 1 != full.len() || !others.iter().all(|para| words(para)) {
            return false;
        }
        let label = text == full.len() - 1 && full.len() == 2;
        let most = if label { LABEL } else { FIGURE };
        let narrow =
            |block: &Block| matches!(&block.kind, Kind::Para(para) if para.width() <= NAME);
        (label || (text == 0 && lines.iter().all(narrow)))
            && others.iter().all(|para| para.width() <= most)
    }
}

/// Puts pictures at the end of the last line.
fn beside(paras: &mut [Para], pictures: &Para) {
    if let Some(last) = paras.last_mut() {
        last.runs.push(Run {
            text: " ".to_owned(),
            mark: Mark::default(),
        });
        last.runs.extend(pictures.runs.iter().cloned());
    }
}

fn one_para(blocks: &[Block]) -> Option<&Para> {
    match blocks {
        [
            Block {
                kind: Kind::Para(para),
                ..
            },
        ] => Some(para),
        _ => None,
    }
}
