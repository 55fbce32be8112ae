//! `Screen`: the cells that the terminal shows, and those of the frame that is
//! being written.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use ratatui::buffer::{Cell, CellWidth as _};

use super::sgr::SgrState;
use crate::render::{HYPERLINK_MIDDLE, HYPERLINK_START};

/// The rows of a screen. It grows with the cells that are drawn;
/// all others are blank.
#[derive(Debug, Default)]
pub(super) struct Screen {
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Default)]
pub(super) struct Row {
    cells: Vec<Cell>,
    /// The columns that must be written.
    changed: Vec<bool>,
    /// The column of the first cluster of several characters that the terminal shows.
    first_cluster: Option<usize>,
    /// The column from which on the frame erases it before its cells are written.
    pub(super) erased_from: Option<usize>,
    /// The hashes of what the terminal shows, as of [`Self::hashes`].
    shown_hashes: Vec<u64>,
}

/// A move of rows by the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scroll {
    pub(super) region: Range<usize>,
    /// How many rows their content moves.
    pub(super) distance: usize,
    pub(super) is_up: bool,
    /// The first of the columns that move; all after it do.
    pub(super) left: usize,
}

impl Screen {
    pub(super) fn set_cell(&mut self, x: u16, y: u16, cell: &Cell) {
        let (x, y) = (usize::from(x), usize::from(y));
        if self.rows.len() <= y {
            self.rows.resize_with(y + 1, Row::default);
        }
        self.rows[y].set_cell(x, cell);
    }

    /// Erases changed rows from their first cluster on, the shown one or the new one:
    /// the rest is written again.
    ///
    /// A terminal may give a cluster (Devanagari, Thai, a flag) more columns than it has here, so
    /// that part of it stays when only the cells that changed are written. Or it gives it fewer,
    /// and what was there stays beside it.
    pub(super) fn erase_clusters(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.is_changed()) {
            let shows_text =
                |start: &usize| row.shown_hashes.iter().skip(*start).any(|it| *it != 0);
            let columns = [row.first_cluster, row.find_cluster().filter(shows_text)];
            row.erased_from = columns.into_iter().flatten().min();
            if let Some(start) = row.erased_from {
                row.mark_text_changed(start);
            }
        }
    }

    /// Ends the frame: the terminal shows it.
    pub(super) fn finish_frame(&mut self) {
        for row in &mut self.rows {
            if row.erased_from.take().is_some() || row.is_changed() {
                row.changed.fill(false);
                row.take_as_shown();
            }
        }
    }

    /// Finds rows that the terminal can move, and takes them as moved;
    /// the rows that appear at the edge of the region are blank until they are written.
    ///
    /// Whole rows move, or, if the terminal `has_margins` at columns, what is at the right of
    /// the first change: the reader beside the list.
    pub(super) fn take_scroll(&mut self, has_margins: bool) -> Option<Scroll> {
        /// About as many bytes as the sequences have without the steps.
        const COST: usize = 20;
        /// And those of the margins.
        const MARGINS_COST: usize = 20;
        /// Fewer are not worth the search.
        const MIN_CHANGED_ROWS: usize = 3;
        let is_blank = self.rows.iter().all(|row| row.shown_hash(0) == 0);
        if is_blank || self.rows.iter().filter(|row| row.is_changed()).count() < MIN_CHANGED_ROWS {
            return None;
        }
        let first_changes = self.rows.iter().filter_map(Row::first_change);
        let left = first_changes.min().filter(|_| has_margins).unwrap_or(0);
        // A wide character cannot move by half.
        let is_split = self.rows.iter().any(|row| row.splits_at(left));
        let left = if is_split { 0 } else { left };
        let fixed_cost = COST + if left > 0 { MARGINS_COST } else { 0 };
        let hashes: Vec<Option<u64>> = self.rows.iter().map(|row| row.new_hash(left)).collect();
        let height = self.rows.len();
        // Equal rows, such as blank ones, make many runs: each is compared by sums that are known.
        let costs = running_sums(self.rows.iter().map(Row::change_cost));
        let lens = running_sums(self.rows.iter().map(|row| row.text_len(left)));
        let sum = |sums: &[usize], rows: &Range<usize>| sums[rows.end] - sums[rows.start];
        let mut best: Option<(usize, Scroll)> = None;
        for distance in 1..height {
            for is_up in [true, false] {
                let source = |y: usize| {
                    if is_up {
                        Some(y + distance).filter(|y| *y < height)
                    } else {
                        y.checked_sub(distance)
                    }
                };
                let is_moved = |y: usize| {
                    source(y)
                        .is_some_and(|from| hashes[y] == Some(self.rows[from].shown_hash(left)))
                };
                let mut y = 0;
                while y < height {
                    let start = y;
                    while y < height && is_moved(y) {
                        y += 1;
                    }
                    if y > start {
                        let (region, appearing) = if is_up {
                            (start..y + distance, y..y + distance)
                        } else {
                            (start - distance..y, start - distance..start)
                        };
                        let saved = sum(&costs, &region);
                        let cost = sum(&lens, &appearing);
                        let gain = saved.saturating_sub(cost + fixed_cost + 2 * distance);
                        if gain > best.as_ref().map_or(0, |(gain, _)| *gain) {
                            let scroll = Scroll {
                                region,
                                distance,
                                is_up,
                                left,
                            };
                            best = Some((gain, scroll));
                        }
                    }
                    y += 1;
                }
            }
        }
        let (_, scroll) = best?;
        for y in scroll.region.clone() {
            let appears = if scroll.is_up {
                y + scroll.distance >= scroll.region.end
            } else {
                y < scroll.region.start + scroll.distance
            };
            self.rows[y].take_moved(appears, left);
        }
        Some(scroll)
    }
}

impl Row {
    fn set_cell(&mut self, x: usize, cell: &Cell) {
        let end = x + symbol_width(cell);
        let is_shown_alike = |shown: &Cell| {
            let style = SgrState::from_cell(shown);
            shown.symbol() == cell.symbol()
                && style.shows_alike(SgrState::from_cell(cell), cell.symbol())
        };
        if self.cells.get(x).is_some_and(is_shown_alike) {
            return;
        }
        // What is overwritten may be half of a wide character: terminals differ about the style of
        // the other half.
        let overwritten = self.cells_from(x).take_while(|(x, _)| *x < end);
        let reached = overwritten.map(|(x, cell)| x + symbol_width(cell)).last();
        let reached = reached.unwrap_or(end).max(end);
        let len = self.cells.len().max(reached);
        self.cells.resize(len, Cell::EMPTY);
        self.changed.resize(len, false);
        self.changed[x..reached].fill(true);
        self.cells[x] = cell.clone();
        self.cells[x + 1..end].fill(Cell::EMPTY);
    }

    fn is_changed(&self) -> bool {
        self.first_change().is_some()
    }

    fn first_change(&self) -> Option<usize> {
        self.changed.iter().position(|changed| *changed)
    }

    /// Whether a wide character is on both sides of the start of a column.
    fn splits_at(&self, column: usize) -> bool {
        let before = self.cells_from(0).take_while(|(x, _)| *x < column);
        before
            .last()
            .is_some_and(|(x, cell)| x + symbol_width(cell) > column)
    }

    /// Returns the visible cells with their columns.
    pub(super) fn cells_from(&self, start: usize) -> impl Iterator<Item = (usize, &Cell)> {
        let mut next = start;
        std::iter::from_fn(move || {
            let x = next;
            let cell = self.cells.get(x)?;
            next += symbol_width(cell);
            Some((x, cell))
        })
    }

    /// Returns the cells that must be written, from the left to the right.
    pub(super) fn changed_cells(&self) -> impl Iterator<Item = (usize, &Cell)> {
        self.cells_from(0).filter(|(x, _)| self.changed[*x])
    }

    /// Returns the column from which on the row is blank.
    pub(super) fn blank_start(&self) -> usize {
        let text = self.cells_from(0).filter(|(_, cell)| !is_blank(cell));
        text.last().map_or(0, |(x, cell)| x + symbol_width(cell))
    }

    /// About as many bytes as the changed cells take.
    fn change_cost(&self) -> usize {
        /// The sequence that erases the end of the row.
        const MAX_BLANK: usize = 4;
        let end = self.blank_start();
        let blanks = self.changed_cells().filter(|(x, _)| *x >= end).count();
        self.changed_cells().count() - blanks + blanks.min(MAX_BLANK)
    }

    /// The number of cells from a column on that are not blank.
    fn text_len(&self, start: usize) -> usize {
        let text = self.cells_from(start).filter(|(_, cell)| !is_blank(cell));
        text.count()
    }

    /// The hash of what the terminal shows from a column on.
    fn shown_hash(&self, start: usize) -> u64 {
        self.shown_hashes.get(start).copied().unwrap_or(0)
    }

    /// The hash of the frame's row from a column on; `None` if all of it must be written.
    fn new_hash(&self, start: usize) -> Option<u64> {
        match (self.erased_from.is_some(), self.is_changed()) {
            (true, _) => None,
            (false, true) => Some(self.hashes().get(start).copied().unwrap_or(0)),
            (false, false) => Some(self.shown_hash(start)),
        }
    }

    /// For each column that begins a cell, a hash of the text from there on and of its style;
    /// 0 if it is blank.
    fn hashes(&self) -> Vec<u64> {
        let mut hashes = vec![0; self.cells.len()];
        let cells: Vec<_> = self.cells_from(0).collect();
        let mut rest = 0;
        for (x, cell) in cells.into_iter().rev() {
            let is_blank = is_blank(cell);
            if rest != 0 || !is_blank {
                let mut hasher = DefaultHasher::new();
                // Blank cells look alike in every style.
                let style = (!is_blank).then_some((cell.fg, cell.bg, cell.modifier));
                (rest, cell.symbol(), style).hash(&mut hasher);
                rest = hasher.finish();
            }
            hashes[x] = rest;
        }
        hashes
    }

    /// Takes the row as moved here by the terminal from a column on, or as blank if it
    /// appears.
    fn take_moved(&mut self, appears: bool, left: usize) {
        self.changed.fill(false);
        if appears {
            self.mark_text_changed(left);
        }
        self.take_as_shown();
    }

    /// Takes what the terminal shows from the cells.
    fn take_as_shown(&mut self) {
        self.shown_hashes = self.hashes();
        self.first_cluster = self.find_cluster();
    }

    /// Marks the cells from a column on to be written if they are not blank.
    fn mark_text_changed(&mut self, start: usize) {
        let cells = self.cells.iter().zip(&mut self.changed);
        for (cell, changed) in cells.skip(start) {
            *changed = !is_blank(cell);
        }
    }

    fn find_cluster(&self) -> Option<usize> {
        let is_cluster = |cell: &Cell| split_hyperlink(cell.symbol()).1.chars().nth(1).is_some();
        self.cells.iter().position(is_cluster)
    }
}

/// Returns the sums of the numbers before each of them, and of all.
fn running_sums(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sums = vec![0];
    for number in numbers {
        sums.push(sums[sums.len() - 1] + number);
    }
    sums
}

/// Whether the cell is as a terminal erases it.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && SgrState::from_cell(cell).is_blank()
}

pub(super) fn symbol_width(cell: &Cell) -> usize {
    usize::from(cell.cell_width().max(1))
}

/// Splits the symbol of a cell into the sequence that starts its hyperlink and the
/// text.
pub(super) fn split_hyperlink(symbol: &str) -> (Option<&str>, &str) {
    let end = symbol
        .strip_prefix(HYPERLINK_START)
        .and_then(|rest| rest.find(HYPERLINK_MIDDLE));
    match end {
        Some(end) => {
            let (sequence, text) =
                symbol.split_at(HYPERLINK_START.len() + end + HYPERLINK_MIDDLE.len());
            (Some(sequence), text)
        }
        None => (None, symbol),
    }
}
