//! Sets the rows of a table in columns, or as near to that as the width allows.

use super::engine;
use crate::render::body::{Line, Mark, Role};
use crate::render::flow::{longest_word, push, width_of};
use crate::render::rebuild::{Cell, Para, Run};

/// Blanks between columns.
const GAP: usize = 2;

/// A table of more columns than this is no table.
const MAX_COLUMNS: usize = 64;

/// A column that gets narrower than this cuts its words.
const LEAST: usize = 12;

/// Cells up to this width can follow each other like words.
const SHORT: usize = 26;

/// The rows of one table, as lines. Each row keeps its own lines, so that blank ones can stand between.
pub(super) fn rows(rows: &[&[Cell]], width: usize) -> Vec<Vec<Line>> {
    if rows
        .iter()
        .any(|row| row.last().is_some_and(|cell| cell.column >= MAX_COLUMNS))
    {
        return rows.iter().map(|row| text(&[joined(row)], width)).collect();
    }
    let natural = columns(rows);
    let mut widths = natural.clone();
    let is_data =
        rows.len() >= 3 && rows.iter().filter(|row| row.len() >= 3).count() * 2 > rows.len();
    let pictures = rows.iter().any(|row| row.iter().any(is_picture));
    let may_shrink = |widths: &mut Vec<usize>| {
        !pictures && shrink(widths, &longest_words(rows, natural.len()), width)
    };
    if total(&widths) <= width
        || (may_shrink(&mut widths) && (is_data || one_shrank(&widths, &natural)))
    {
        return rows.iter().map(|row| aligned(row, &widths)).collect();
    }
    let alone = |row: &[Cell]| {
        row.iter().map(Cell::width).sum::<usize>() + GAP * row.len().saturating_sub(1) <= width
    };
    if is_data && !rows.iter().all(|row| alone(row)) {
        let wide = |line: Line| Line { wide: true, ..line };
        return rows
            .iter()
            .map(|row| aligned(row, &natural).into_iter().map(wide).collect())
            .collect();
    }
    let narrowed = |row: &[Cell]| match row {
        row if alone(row) => aligned(row, &columns(&[row])),
        row if alone(&bare(row)) => aligned(&bare(row), &columns(&[&bare(row)])),
        row if row
            .iter()
            .all(|cell| cell.paras.len() == 1 && (cell.width() <= SHORT || is_picture(cell))) =>
        {
            text(&[joined(row)], width)
        }
        row => stacked(row, width),
    };
    rows.iter().map(|row| narrowed(row)).collect()
}

/// The words for a picture are not worth a column of their own.
fn is_picture(cell: &Cell) -> bool {
    cell.paras.iter().all(|para| para.pictures)
}

/// Columns of prose beside each other are harder to read than one below the other.
fn one_shrank(widths: &[usize], natural: &[usize]) -> bool {
    widths
        .iter()
        .zip(natural)
        .filter(|(width, natural)| width < natural)
        .count()
        <= 1
}

/// The row without the brackets of its buttons.
fn bare(row: &[Cell]) -> Vec<Cell> {
    let mut row = row.to_vec();
    for run in row
        .iter_mut()
        .flat_map(|cell| &mut cell.paras)
        .flat_map(|para| &mut para.runs)
        .filter(|run| run.mark.role == Role::Button)
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
fn joined(row: &[Cell]) -> Para {
    let mut all = Para::default();
    for para in row.iter().flat_map(|cell| &cell.paras) {
        if !all.runs.is_empty() {
            all.runs.push(Run {
                text: "\u{A0} ".to_owned(),
                mark: Mark::default(),
            });
        }
        all.runs.extend(para.runs.iter().cloned());
        all.rtl |= para.rtl;
    }
    all
}

/// The width that each column needs for its cells.
fn columns(rows: &[&[Cell]]) -> Vec<usize> {
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
            let room = total(&widths[cell.column..next]);
            if next > cell.column + 1 && room < cell.width() {
                widths[next - 1] += cell.width() - room;
            }
        }
    }
    widths
}

/// Columns that nothing stands in take no room.
fn total(widths: &[usize]) -> usize {
    let used = widths.iter().filter(|width| **width > 0);
    used.clone().sum::<usize>() + GAP * used.count().saturating_sub(1)
}

/// What each column needs so that no word is cut.
fn longest_words(rows: &[&[Cell]], count: usize) -> Vec<usize> {
    let mut least = vec![LEAST; count];
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            // The last of the columns that a cell reaches over is the one that was widened for it.
            let last = row
                .get(at + 1)
                .map_or(count, |next| next.column)
                .max(cell.column + 1)
                - 1;
            for para in &cell.paras {
                // A word may go on in the next run, and a hard blank does not end it.
                let whole: String = para.runs.iter().map(|run| &*run.text).collect();
                least[last] = least[last].max(longest_word(&whole));
            }
        }
    }
    least
}

/// Cuts the widest columns down until all fit; says whether that left them readable.
fn shrink(widths: &mut [usize], least: &[usize], width: usize) -> bool {
    let natural = widths.to_vec();
    let mut cut = |cap: usize| {
        for (column, (natural, least)) in widths.iter_mut().zip(natural.iter().zip(least)) {
            *column = cap.max(*least).min(*natural);
        }
        total(widths) <= width
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

fn aligned(row: &[Cell], widths: &[usize]) -> Vec<Line> {
    let mut left = Vec::with_capacity(row.len());
    let mut cells: Vec<Vec<Line>> = Vec::with_capacity(row.len());
    for (at, cell) in row.iter().enumerate() {
        let next = row
            .get(at + 1)
            .map_or(widths.len(), |next| next.column)
            .max(cell.column + 1);
        let before = total(&widths[..cell.column]);
        let room = total(&widths[cell.column..next]).max(1);
        let lines = text(&cell.paras, room);
        let start = if before == 0 { 0 } else { before + GAP };
        let wide = lines
            .iter()
            .map(|line| width_of(&line.spans))
            .max()
            .unwrap_or(0);
        left.push(if cell.right {
            start + room.saturating_sub(wide)
        } else {
            start
        });
        cells.push(lines);
    }
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|number| {
            let mut line = Line::default();
            for (cell, start) in cells.iter().zip(&left) {
                let Some(part) = cell.get(number) else {
                    continue;
                };
                let gap = start.saturating_sub(width_of(&line.spans));
                push(&mut line.spans, &" ".repeat(gap), Mark::default());
                part.spans
                    .iter()
                    .for_each(|span| push(&mut line.spans, &span.text, span.mark));
                line.rtl |= part.rtl;
            }
            line
        })
        .collect()
}

/// One cell below the other, apart if they are long.
fn stacked(row: &[Cell], width: usize) -> Vec<Line> {
    let cells: Vec<Vec<Line>> = row.iter().map(|cell| text(&cell.paras, width)).collect();
    let apart = cells.iter().any(|lines| lines.len() > 1);
    let mut out = Vec::new();
    for lines in cells {
        if apart && !out.is_empty() {
            out.push(Line::default());
        }
        out.extend(lines);
    }
    out
}

fn text(paras: &[Para], width: usize) -> Vec<Line> {
    engine::lines(&paras.iter().collect::<Vec<_>>(), width)
        .into_iter()
        .flatten()
        .collect()
}
