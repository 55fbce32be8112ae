//! Lays out boxes beside each other on wide screens, as on the page.

use std::ops::Range;
use std::sync::Arc;

use super::{Frame, lay_out_blocks};
use crate::render::blocks::{Block, BlockKind, ColumnGroup};
use crate::render::body::{BodyLine, LineEnd, push_spans_at};

/// Narrower screens get the boxes below each other.
pub(in crate::render) const MIN_COLUMNS_WIDTH: usize = 100;

/// Spaces between columns: enough that a sentence is not read across them.
const COLUMN_GAP: usize = 4;

const COLUMN_WIDTHS: std::ops::RangeInclusive<usize> = 30..=60;

/// More boxes go below each other.
const MAX_COLUMNS: usize = 4;

/// Higher boxes go below each other, so that no reader scrolls back.
const MAX_COLUMN_LINES: usize = 16;

/// Blocks that begin at heights no further apart are on the same line.
const SAME_LINE_PX: f32 = 6.0;

/// Paragraphs of more lines are prose, which is read alone.
const MAX_PARAGRAPH_LINES: usize = 3;

/// Returns the lines of boxes beside each other, with their blocks' ranges.
pub(super) fn place_beside(
    blocks: &[Block],
    groups: &[ColumnGroup],
    frame: Frame,
) -> Vec<(Range<usize>, Block)> {
    let mut out: Vec<(Range<usize>, Block)> = Vec::new();
    if frame.width < MIN_COLUMNS_WIDTH || !frame.has_columns {
        return out;
    }
    for group in groups {
        let range = group.blocks();
        if out
            .last()
            .is_some_and(|(before, _)| before.end > range.start)
        {
            continue;
        }
        let Some(lines) = lay_out_group(blocks, group, frame) else {
            continue;
        };
        let inside = blocks[range.clone()].iter();
        let tops = inside.clone().map(|block| block.top);
        let bottoms = inside.map(|block| block.bottom);
        let block = Block {
            top: tops.fold(f32::MAX, f32::min),
            bottom: bottoms.fold(f32::MIN, f32::max),
            prefixes: Arc::from([]),
            kind: BlockKind::Lines(lines),
        };
        out.push((range, block));
    }
    out
}

/// Returns the lines of boxes beside each other, if each is wide enough and short.
fn lay_out_group(blocks: &[Block], group: &ColumnGroup, frame: Frame) -> Option<Vec<BodyLine>> {
    let columns = &group.columns;
    let are_adjacent = columns
        .array_windows()
        .all(|[one, next]| one.blocks.end == next.blocks.start);
    if columns.len() > MAX_COLUMNS || !are_adjacent {
        return None;
    }
    let widths = share_width(group, frame.width - COLUMN_GAP * (columns.len() - 1))?;
    // Each block has a line or more.
    if columns.iter().any(|it| it.blocks.len() > MAX_COLUMN_LINES) {
        return None;
    }
    let inner = |width: usize| Frame { width, ..frame };
    let parts: Vec<(&[Block], Frame)> = columns
        .iter()
        .zip(&widths)
        .map(|(column, width)| (&blocks[column.blocks.clone()], inner(*width)))
        .collect();
    let mut cells = Vec::new();
    for (inside, inner) in &parts {
        let mut lines = lay_out_blocks(inside, &[], *inner);
        let longest_paragraph = lines
            .chunk_by(|line, _| line.end != LineEnd::Newline)
            .map(<[BodyLine]>::len)
            .max();
        if lines.len() > MAX_COLUMN_LINES
            || longest_paragraph? > MAX_PARAGRAPH_LINES
            || lines.iter().any(|line| line.wide)
        {
            return None;
        }
        let above = parts.iter().map(|other| lines_above(inside, *other)).max();
        lines.splice(0..0, vec![BodyLine::default(); above.unwrap_or(0)]);
        cells.push(lines);
    }
    Some(join_columns(&cells, &widths))
}

/// Returns how many lines of another column are above the start of a column.
fn lines_above(column: &[Block], (other, frame): (&[Block], Frame)) -> usize {
    let is_beside = |block: &Block| (block.top - column[0].top).abs() < SAME_LINE_PX;
    let beside = other.iter().position(is_beside).unwrap_or(0);
    let own = lay_out_blocks(&other[beside..=beside], &[], frame).len();
    lay_out_blocks(&other[..=beside], &[], frame).len() - own
}

/// Divides the width of the screen as on the page, if each column has enough.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "widths are small"
)]
fn share_width(group: &ColumnGroup, width: usize) -> Option<Vec<usize>> {
    let columns = &group.columns;
    let total: f32 = columns.iter().map(|column| column.width).sum();
    // A flex container shares its width evenly among items without a width.
    let is_even = columns.iter().any(|column| column.width < 1.0);
    let share = |px: f32| {
        if is_even {
            width / columns.len()
        } else {
            (width as f32 * px / total) as usize
        }
    };
    columns
        .iter()
        .map(|column| share(column.width).min(*COLUMN_WIDTHS.end()))
        .map(|width| COLUMN_WIDTHS.contains(&width).then_some(width))
        .collect()
}

fn join_columns(cells: &[Vec<BodyLine>], widths: &[usize]) -> Vec<BodyLine> {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = vec![BodyLine::default(); height];
    let mut start = 0;
    for (lines, width) in cells.iter().zip(widths) {
        let parts = lines.iter().map(Some).chain(std::iter::repeat(None));
        for (line, part) in out.iter_mut().zip(parts) {
            let Some(part) = part.filter(|part| !part.spans.is_empty()) else {
                line.columns.push(0..0);
                continue;
            };
            push_spans_at(&mut line.spans, start, &part.spans);
            let end = line.text().len();
            line.columns.push(end - part.text().len()..end);
        }
        start += width + COLUMN_GAP;
    }
    out
}
