//! Tells tables of data from those that only lay out a page, by all of their rows.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::builder::BlockBuilder;
use super::{Block, BlockKind, ColumnGroup, LinePrefix, Paragraph, RuleKind, TableCell};
use crate::render::body::{SpanRole, SpanStyle};
use crate::render::css::{BOTTOM, Display, LEFT, RIGHT, TOP};
use crate::render::html::NodeId;
use crate::text::width::DisplayWidth as _;

/// Lines beside amounts are names of items or values; longer lines are prose.
pub(super) const MAX_VALUE_WIDTH: usize = 48;

/// A text of more lines does not fit in a row.
const MAX_CELL_LINES: usize = 6;

/// Cells up to this width can be amounts beside a text of several lines.
pub(super) const MAX_AMOUNT_WIDTH: usize = 16;

/// An amount may have so many letters, as in `USD`.
const MAX_UNIT_LETTERS: usize = 3;

/// Of the values below each other, so many may be words and no amounts, such as `free`.
const MAX_WORDS_AMONG_AMOUNTS: usize = 2;

/// More lines are no labels; each costs a look at all that is in its cell.
const MAX_LABELS: usize = 64;

/// A label of so many columns, as each row of its table has one.
const MAX_LABEL_WIDTH: usize = 24;

/// Two lines of prose beside a label up to this width have enough columns left.
const MAX_PROSE_LABEL_WIDTH: usize = 20;

/// Rows after these do not decide about a table.
const MAX_EXAMINED_ROWS: usize = 50;

/// The structure that the rows of a table have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableKind {
    Layout,
    /// Each row has a short label and its value.
    Labels,
    /// The cells are framed, or have headers.
    Data,
}

/// Lets tables that follow each other share their columns,
/// if each row of them has an amount at its end.
///
/// Receipts have a table for each item.
pub(super) fn join_tables_of_amounts(blocks: &mut [Block]) {
    let is_value = |cell: &TableCell| cell.paragraphs.iter().all(|line| !line.images_only);
    // By table, the columns of its cells, if all rows have the same.
    let mut shapes: HashMap<u32, Option<Vec<usize>>> = HashMap::new();
    for block in &*blocks {
        if let BlockKind::TableRow { table, cells, .. } = &block.kind {
            let has_amount = matches!(&cells[..], [_, .., last] if (last.align_right && is_value(last)) || last.paragraphs.iter().all(is_amount));
            let shape = has_amount.then(|| cells.iter().map(|cell| cell.column).collect());
            let known = shapes.entry(*table).or_insert_with(|| shape.clone());
            known.take_if(|known| Some(&*known) != shape.as_ref());
        }
    }
    let mut before: Option<(Arc<[LinePrefix]>, u32, u32)> = None;
    for block in blocks {
        match &mut block.kind {
            BlockKind::TableRow {
                table, columns_of, ..
            } => {
                if let Some((prefixes, above, columns)) = &before {
                    let shape = shapes[table].as_ref();
                    let is_same = shape.is_some() && shape == shapes[above].as_ref();
                    if table == above || (is_same && *prefixes == block.prefixes) {
                        *columns_of = *columns;
                    }
                }
                before = Some((Arc::clone(&block.prefixes), *table, *columns_of));
            }
            BlockKind::Rule(_) => {}
            BlockKind::Paragraph(_) | BlockKind::Lines(_) => before = None,
        }
    }
}

/// True for an amount: digits with a sign or a unit, and nothing else.
pub(super) fn is_amount(line: &Paragraph) -> bool {
    let text = line.text();
    line.width() <= MAX_AMOUNT_WIDTH
        && text.contains(|c: char| c.is_ascii_digit())
        && text.chars().filter(|c| c.is_alphabetic()).count() <= MAX_UNIT_LETTERS
}

/// True if each block is an amount.
pub(super) fn are_amounts(blocks: &[Block]) -> bool {
    let is_amount = |block: &Block| block.as_paragraph().is_some_and(is_amount);
    blocks.iter().all(is_amount)
}

/// Whether a cell is a price: below it is the price without a discount,
/// or the other way round.
pub(super) fn is_price(blocks: &[Block]) -> bool {
    blocks.len() == 1 || are_amounts(blocks)
}

/// Returns how wide the name of an item can be in a row that ends with a cell.
pub(super) fn max_name_width(last: &[Block]) -> usize {
    if are_amounts(last) {
        MAX_VALUE_WIDTH * 4
    } else {
        MAX_VALUE_WIDTH
    }
}

/// Returns the width of the widest line of a cell of lines of text,
/// zero for a picture; `None` if its content does not belong in a row.
///
/// A button below other lines belongs to a card, unless the cell `is_labelled`.
pub(super) fn text_width(blocks: &[Block], is_labelled: bool) -> Option<usize> {
    if let [picture] = blocks
        && picture.is_images_only()
    {
        return Some(0);
    }
    if blocks.len() > MAX_CELL_LINES {
        return None;
    }
    let width = |block: &Block| {
        let line = block.as_paragraph()?;
        let is_value = !line.has_button() || blocks.len() == 1 || is_labelled;
        (!line.images_only && !line.preformatted && is_value).then(|| line.width())
    };
    blocks
        .iter()
        .map(width)
        .try_fold(0, |widest, width| Some(widest.max(width?)))
}

impl BlockBuilder<'_> {
    /// True if each line of a box is the label of the line beside it in another box:
    /// labels end with a colon, or nearly all values are amounts.
    ///
    /// The boxes are ranges in the list of blocks.
    pub(super) fn are_labels_of(&self, labels: Range<usize>, values: Range<usize>) -> bool {
        // Of lines in columns, one is not below the other.
        let start = labels.start;
        let has_columns = |group: &ColumnGroup| group.blocks().end > start;
        if self.output.column_groups.iter().any(has_columns) {
            return false;
        }
        if labels.len() > MAX_LABELS {
            return false;
        }
        let labels = &self.output.blocks[labels];
        let values = &self.output.blocks[values];
        let is_text = |block: &Block| {
            let line = block.as_paragraph();
            line.is_some_and(|line| !line.images_only && !line.preformatted && !line.has_button())
        };
        let is_label = |block: &Block| {
            block
                .paragraphs()
                .all(|line| line.text().trim_end().ends_with(':'))
        };
        let are_texts = labels.iter().chain(values).all(is_text);
        let (amounts, others): (Vec<&Paragraph>, Vec<&Paragraph>) = values
            .iter()
            .flat_map(Block::paragraphs)
            .partition(|line| is_amount(line));
        let are_amounts = others.len() < amounts.len().min(MAX_WORDS_AMONG_AMOUNTS + 1)
            && others.iter().all(|line| line.width() <= MAX_AMOUNT_WIDTH);
        labels.len() >= 2
            && labels.len() == values.len()
            && are_texts
            && (labels.iter().all(is_label) || are_amounts)
    }

    pub(super) fn table_kind(&self, table: NodeId) -> TableKind {
        let rows: Vec<Vec<NodeId>> = self
            .rows_in(table)
            .into_iter()
            .take(MAX_EXAMINED_ROWS)
            .map(|row| {
                let cells = self.dom.children(row);
                cells.filter(|cell| self.shows_content(*cell)).collect()
            })
            .filter(|cells: &Vec<NodeId>| cells.len() >= 2)
            .collect();
        let [first, _, ..] = &rows[..] else {
            return TableKind::Layout;
        };
        let letters = |cell: NodeId| self.info.letter_counts[cell.index()];
        let borders = |cell: &NodeId| self.styles[*cell].border_visible;
        // Cells share the sides between them: word processors draw each of these once.
        let is_framed = |cell: &NodeId| {
            let visible = borders(cell);
            (visible[TOP] || visible[BOTTOM]) && (visible[LEFT] || visible[RIGHT])
        };
        let is_corner_framed = first.first().is_some_and(|cell| borders(cell) == [true; 4]);
        let is_header = |cell: &NodeId| self.dom.tag_name(*cell) == "th" && letters(*cell) > 0;
        let is_label = |letters: u32| (1..=MAX_LABEL_WIDTH).contains(&(letters as usize));
        let has_label = |cells: &Vec<NodeId>| cells.len() == 2 && is_label(letters(cells[0]));
        let is_framed = is_corner_framed && rows.iter().flatten().all(is_framed);
        if is_framed || first.iter().all(is_header) {
            TableKind::Data
        } else if rows.iter().all(has_label) {
            TableKind::Labels
        } else {
            TableKind::Layout
        }
    }

    fn rows_in(&self, table: NodeId) -> Vec<NodeId> {
        let mut rows = Vec::new();
        for child in self.dom.children(table) {
            match self.styles[child].display {
                Display::RowGroup => rows.extend(self.dom.children(child)),
                _ => rows.push(child),
            }
        }
        rows.retain(|row| self.styles[*row].display == Display::Row && self.dom.is_element(*row));
        rows
    }

    /// True if cells of several lines belong beside each other in a table of this kind.
    pub(super) fn is_data_row(&self, cells: &[&[Block]], kind: TableKind) -> bool {
        let lines: Option<Vec<Vec<Paragraph>>> =
            cells.iter().map(|cell| self.flat_lines(cell)).collect();
        let width = |lines: &Vec<Paragraph>| lines.iter().map(Paragraph::width).max().unwrap_or(0);
        match (kind, lines.as_deref()) {
            (TableKind::Labels, Some([label, value])) => {
                label.len() == 1
                    && width(label) <= MAX_LABEL_WIDTH
                    && (width(value) <= MAX_VALUE_WIDTH
                        || (value.len() <= 2 && width(label) <= MAX_PROSE_LABEL_WIDTH))
            }
            (TableKind::Data, Some(cells)) => {
                cells.len() >= 2
                    && cells.iter().all(|cell| width(cell) <= MAX_VALUE_WIDTH * 2)
                    && !cells.iter().all(|cell| is_card(cell))
            }
            _ => false,
        }
    }

    /// Returns the lines of a cell with list markers and quote marks, if these are few.
    pub(super) fn flat_lines(&self, blocks: &[Block]) -> Option<Vec<Paragraph>> {
        if blocks.len() > MAX_CELL_LINES {
            return None;
        }
        let mut last_item = None;
        let mut flat_line = |block: &Block| {
            let line = match &block.kind {
                BlockKind::Paragraph(line) => line.clone(),
                BlockKind::TableRow { cells, .. } => TableCell::join(cells),
                BlockKind::Rule(_) => {
                    let mut rule = Paragraph::default();
                    rule.push_run("───", SpanRole::Rule.into());
                    rule
                }
                BlockKind::Lines(_) => return None,
            };
            let prefixes = block.prefixes.strip_prefix(&*self.prefixes)?;
            if prefixes.is_empty() {
                return Some(line);
            }
            let mut out = Paragraph {
                preformatted: line.preformatted,
                ..Paragraph::default()
            };
            for (at, prefix) in prefixes.iter().enumerate() {
                match prefix {
                    LinePrefix::Quote => out.push_run(">\u{A0}", SpanRole::Quote.into()),
                    LinePrefix::ListItem { number, marker } => {
                        if at + 1 == prefixes.len() && last_item.replace(*number) != Some(*number) {
                            out.push_run(marker, SpanRole::Rule.into());
                        } else {
                            let indent = "\u{A0}".repeat(marker.width());
                            out.push_run(&indent, SpanStyle::default());
                        }
                    }
                }
            }
            out.runs.extend(line.runs);
            Some(out)
        };
        let is_border = |block: &&Block| matches!(block.kind, BlockKind::Rule(RuleKind::Border));
        let shown = blocks.iter().filter(|block| !is_border(block));
        shown.map(&mut flat_line).collect()
    }
}

/// True for the lines of a card, of which one is a button, and for pictures.
fn is_card(lines: &[Paragraph]) -> bool {
    let has_button = lines.len() > 1 && lines.iter().any(Paragraph::has_button);
    has_button || lines.iter().all(|line| line.images_only)
}
