//! The widths of the columns of a table.

use std::ops::Range;

use super::numbers::inner_spaces;
use super::wrap::longest_unbreakable_width;
use crate::render::blocks::{Paragraph, TableCell};
use crate::text::width::DisplayWidth;

/// Spaces between columns.
pub(super) const COLUMN_GAP: usize = 2;

/// A table of more columns is laid out row by row.
pub(super) const MAX_COLUMNS: usize = 64;

/// An amount up to this width is never cut; a longer list of numbers is.
const MAX_AMOUNT_WIDTH: usize = 16;

/// An amount may have so many letters, as in `USD`.
const MAX_UNIT_LETTERS: usize = 3;

/// Columns never shrink below this width.
pub(super) const MIN_COLUMN_WIDTH: usize = 12;

pub(super) fn column_count(rows: &[&[TableCell]]) -> usize {
    let ends = rows
        .iter()
        .flat_map(|row| row.iter().map(|cell| cell.column + 1));
    ends.max().unwrap_or(0)
}

/// Returns the width that each column needs for its cells.
pub(super) fn column_widths(rows: &[&[TableCell]], headed: u64) -> Vec<usize> {
    let count = column_count(rows);
    let mut widths = vec![0; count];
    // First the cells of one column, then those that extend over the columns to their right.
    let cells = || rows.iter().flat_map(|row| cell_columns(row, count, headed));
    for (cell, columns) in cells().filter(|(_, columns)| columns.len() == 1) {
        widths[columns.start] = widths[columns.start].max(cell.width());
    }
    for (cell, columns) in cells().filter(|(_, columns)| columns.len() > 1) {
        let missing = cell
            .width()
            .saturating_sub(total_width(&widths[columns.clone()]));
        widths[columns.end - 1] += missing;
    }
    widths
}

/// Returns each cell with its columns, of which there are `count`.
///
/// A text extends over the empty cells on its right, up to a column in `headed`, a set of bits:
/// there it would be read as a value of that heading. An amount stays in its column.
pub(super) fn cell_columns(
    row: &[TableCell],
    count: usize,
    headed: u64,
) -> impl Iterator<Item = (&TableCell, Range<usize>)> {
    row.iter().enumerate().map(move |(at, cell)| {
        let next = row.get(at + 1).map_or(count, |next| next.column);
        let end = cell.column + cell.span;
        // A text alone at the start of a row is the title of a section.
        let is_title = row.len() == 1 && cell.column == 0;
        let own = match (headed >> end.min(MAX_COLUMNS - 1)).trailing_zeros() {
            _ if cell.align_right => end,
            _ if is_title => count,
            free => end + free as usize,
        };
        (cell, cell.column..next.min(own).max(cell.column + 1))
    })
}

/// Returns the width of all columns with their gaps; empty columns have no gap.
pub(super) fn total_width(widths: &[usize]) -> usize {
    let used = widths.iter().filter(|width| **width > 0);
    used.clone().sum::<usize>() + COLUMN_GAP * used.count().saturating_sub(1)
}

/// Returns the least width of each column, if lines break as `can_break` says.
pub(super) fn min_column_widths(
    rows: &[&[TableCell]],
    count: usize,
    headed: u64,
    can_break: fn(Option<char>, Option<char>) -> bool,
) -> Vec<usize> {
    let mut widths = vec![MIN_COLUMN_WIDTH; count];
    for row in rows {
        for (cell, columns) in cell_columns(row, count, headed) {
            // `column_widths` widens the last of the columns that a cell extends over.
            let last = columns.end - 1;
            for para in &cell.paragraphs {
                widths[last] = widths[last].max(min_width(para, can_break));
            }
        }
    }
    widths
}

/// Returns the width of the longest word, number or URL.
pub(super) fn min_width(
    line: &Paragraph,
    can_break: fn(Option<char>, Option<char>) -> bool,
) -> usize {
    // A word may continue in the next run.
    let whole = line.text();
    // A URL that works once is masked only if it is on one line.
    let urls = whole
        .split([' ', '\u{A0}'])
        .filter(|word| word.contains("://"));
    let url = urls.map(DisplayWidth::width).max().unwrap_or(0);
    // The groups of an amount stay on one line, and so do its digits; those of an IBAN do not.
    let joined = inner_spaces(&whole);
    let is_joined = |at: usize| joined.binary_search(&at).is_ok();
    let keep = |(at, c)| if is_joined(at) { '0' } else { c };
    let kept: String = whole.char_indices().map(keep).collect();
    let is_amount = |word: &&str| {
        word.width() <= MAX_AMOUNT_WIDTH
            && word.contains(char::is_numeric)
            && word.chars().filter(|c| c.is_alphabetic()).count() <= MAX_UNIT_LETTERS
    };
    let amount = kept.split(' ').filter(is_amount).map(DisplayWidth::width);
    let amount = amount.max().unwrap_or(0);
    longest_unbreakable_width(&whole, can_break)
        .max(url)
        .max(amount)
}

/// Returns the widths with the widest narrowed until all fit, or the least.
pub(super) fn shrink_columns(natural: &[usize], min_widths: &[usize], width: usize) -> Vec<usize> {
    let capped = |cap: usize| -> Vec<usize> {
        natural
            .iter()
            .zip(min_widths)
            .map(|(natural, min)| cap.max(*min).min(*natural))
            .collect()
    };
    let (mut fits, mut over) = (0, width + 1);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if total_width(&capped(middle)) <= width {
            fits = middle;
        } else {
            over = middle;
        }
    }
    capped(fits)
}
