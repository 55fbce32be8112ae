//! Sets the rows of a table in columns, or as near to that as the width allows.

use super::paragraphs;
use crate::render::blocks::{Paragraph, Run, TableCell};
use crate::render::body::{BodyLine, SpanRole, SpanStyle};
use crate::render::wrap::{longest_unbreakable_width, push_span, spans_width};

/// Blanks between columns.
const COLUMN_GAP: usize = 2;

/// A table of more columns than this is no table.
const MAX_COLUMNS: usize = 64;

/// A column that gets narrower than this cuts its words.
const MIN_COLUMN_WIDTH: usize = 12;

/// Cells up to this width can follow each other like words.
const MAX_INLINE_CELL_WIDTH: usize = 26;

/// The rows of one table, as lines. Each row keeps its own lines, so that blank ones can stand between.
pub(super) fn lay_out_rows(rows: &[&[TableCell]], width: usize) -> Vec<Vec<BodyLine>> {
    if rows
        .iter()
        .any(|row| row.last().is_some_and(|cell| cell.column >= MAX_COLUMNS))
    {
        return rows
            .iter()
            .map(|row| cell_lines(&[join_cells(row)], width))
            .collect();
    }
    let natural = column_widths(rows);
    let mut widths = natural.clone();
    let is_data =
        rows.len() >= 3 && rows.iter().filter(|row| row.len() >= 3).count() * 2 > rows.len();
    let pictures = rows.iter().any(|row| row.iter().any(is_image_cell));
    let may_shrink = |widths: &mut Vec<usize>| {
        !pictures && shrink_columns(widths, &min_column_widths(rows, natural.len()), width)
    };
    if total_width(&widths) <= width
        || (may_shrink(&mut widths) && (is_data || at_most_one_shrank(&widths, &natural)))
    {
        return rows.iter().map(|row| align_cells(row, &widths)).collect();
    }
    let alone = |row: &[TableCell]| {
        row.iter().map(TableCell::width).sum::<usize>() + COLUMN_GAP * row.len().saturating_sub(1)
            <= width
    };
    if is_data && !rows.iter().all(|row| alone(row)) {
        let wide = |line: BodyLine| BodyLine { wide: true, ..line };
        return rows
            .iter()
            .map(|row| align_cells(row, &natural).into_iter().map(wide).collect())
            .collect();
    }
    let narrowed = |row: &[TableCell]| match row {
        row if alone(row) => align_cells(row, &column_widths(&[row])),
        row if alone(&without_button_brackets(row)) => align_cells(
            &without_button_brackets(row),
            &column_widths(&[&without_button_brackets(row)]),
        ),
        row if row.iter().all(|cell| {
            cell.paragraphs.len() == 1
                && (cell.width() <= MAX_INLINE_CELL_WIDTH || is_image_cell(cell))
        }) =>
        {
            cell_lines(&[join_cells(row)], width)
        }
        row => stack_cells(row, width),
    };
    rows.iter().map(|row| narrowed(row)).collect()
}

/// The words for a picture are not worth a column of their own.
fn is_image_cell(cell: &TableCell) -> bool {
    cell.paragraphs.iter().all(|para| para.images_only)
}

/// Columns of prose beside each other are harder to read than one below the other.
fn at_most_one_shrank(widths: &[usize], natural: &[usize]) -> bool {
    widths
        .iter()
        .zip(natural)
        .filter(|(width, natural)| width < natural)
        .count()
        <= 1
}

/// The row without the brackets of its buttons.
fn without_button_brackets(row: &[TableCell]) -> Vec<TableCell> {
    let mut row = row.to_vec();
    for run in row
        .iter_mut()
        .flat_map(|cell| &mut cell.paragraphs)
        .flat_map(|para| &mut para.runs)
        .filter(|run| run.style.role == SpanRole::Button)
    {
        run.text = run
            .text
            .trim_start_matches("[ ")
            .trim_end_matches(" ]")
            .to_owned();
    }
    row
}

/// The row as one paragraph, its cells apart by two blanks.
fn join_cells(row: &[TableCell]) -> Paragraph {
    let mut all = Paragraph::default();
    for para in row.iter().flat_map(|cell| &cell.paragraphs) {
        if !all.runs.is_empty() {
            all.runs.push(Run {
                text: "\u{A0} ".to_owned(),
                style: SpanStyle::default(),
            });
        }
        all.runs.extend(para.runs.iter().cloned());
        all.rtl |= para.rtl;
    }
    all
}

/// The width that each column needs for its cells.
fn column_widths(rows: &[&[TableCell]]) -> Vec<usize> {
    let count = rows
        .iter()
        .flat_map(|row| row.iter().map(|cell| cell.column + 1))
        .max()
        .unwrap_or(0);
    let mut widths = vec![0; count];
    // A cell that reaches over several columns, or stands last in its row, may run on to the right.
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            let next = row.get(at + 1).map_or(count, |next| next.column);
            if next == cell.column + 1 {
                widths[cell.column] = widths[cell.column].max(cell.width());
            }
        }
    }
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            let next = row.get(at + 1).map_or(count, |next| next.column);
            let room = total_width(&widths[cell.column..next]);
            if next > cell.column + 1 && room < cell.width() {
                widths[next - 1] += cell.width() - room;
            }
        }
    }
    widths
}

/// Columns that nothing stands in take no room.
fn total_width(widths: &[usize]) -> usize {
    let used = widths.iter().filter(|width| **width > 0);
    used.clone().sum::<usize>() + COLUMN_GAP * used.count().saturating_sub(1)
}

/// What each column needs so that no word is cut.
fn min_column_widths(rows: &[&[TableCell]], count: usize) -> Vec<usize> {
    let mut least = vec![MIN_COLUMN_WIDTH; count];
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            // The last of the columns that a cell reaches over is the one that was widened for it.
            let last = row
                .get(at + 1)
                .map_or(count, |next| next.column)
                .max(cell.column + 1)
                - 1;
            for para in &cell.paragraphs {
                // A word may go on in the next run, and a hard blank does not end it.
                let whole: String = para.runs.iter().map(|run| &*run.text).collect();
                least[last] = least[last].max(longest_unbreakable_width(&whole));
            }
        }
    }
    least
}

/// Cuts the widest columns down until all fit; says whether that left them readable.
fn shrink_columns(widths: &mut [usize], least: &[usize], width: usize) -> bool {
    let natural = widths.to_vec();
    let mut cut = |cap: usize| {
        for (column, (natural, least)) in widths.iter_mut().zip(natural.iter().zip(least)) {
            *column = cap.max(*least).min(*natural);
        }
        total_width(widths) <= width
    };
    let (mut fits, mut over) = (0, width + 1);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if cut(middle) {
            fits = middle;
        } else {
            over = middle;
        }
    }
    cut(fits)
}

fn align_cells(row: &[TableCell], widths: &[usize]) -> Vec<BodyLine> {
    let mut left = Vec::with_capacity(row.len());
    let mut cells: Vec<Vec<BodyLine>> = Vec::with_capacity(row.len());
    for (at, cell) in row.iter().enumerate() {
        let next = row
            .get(at + 1)
            .map_or(widths.len(), |next| next.column)
            .max(cell.column + 1);
        let before = total_width(&widths[..cell.column]);
        let room = total_width(&widths[cell.column..next]).max(1);
        let lines = cell_lines(&cell.paragraphs, room);
        let start = if before == 0 { 0 } else { before + COLUMN_GAP };
        let wide = lines
            .iter()
            .map(|line| spans_width(&line.spans))
            .max()
            .unwrap_or(0);
        left.push(if cell.align_right {
            start + room.saturating_sub(wide)
        } else {
            start
        });
        cells.push(lines);
    }
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|number| {
            let mut line = BodyLine::default();
            for (cell, start) in cells.iter().zip(&left) {
                let Some(part) = cell.get(number) else {
                    continue;
                };
                let gap = start.saturating_sub(spans_width(&line.spans));
                push_span(&mut line.spans, &" ".repeat(gap), SpanStyle::default());
                part.spans
                    .iter()
                    .for_each(|span| push_span(&mut line.spans, &span.text, span.style));
                line.rtl |= part.rtl;
            }
            line
        })
        .collect()
}

/// One cell below the other, apart if they are long.
fn stack_cells(row: &[TableCell], width: usize) -> Vec<BodyLine> {
    let cells: Vec<Vec<BodyLine>> = row
        .iter()
        .map(|cell| cell_lines(&cell.paragraphs, width))
        .collect();
    let apart = cells.iter().any(|lines| lines.len() > 1);
    let mut out = Vec::new();
    for lines in cells {
        if apart && !out.is_empty() {
            out.push(BodyLine::default());
        }
        out.extend(lines);
    }
    out
}

fn cell_lines(paras: &[Paragraph], width: usize) -> Vec<BodyLine> {
    paragraphs::wrap_paragraphs(&paras.iter().collect::<Vec<_>>(), width)
        .into_iter()
        .flatten()
        .collect()
}
