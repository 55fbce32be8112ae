//! Lays out the rows of a table: in columns if they fit, else cell by cell.

use super::paragraphs;
use super::widths::{
    COLUMN_GAP, MAX_COLUMNS, MIN_COLUMN_WIDTH, cell_columns, column_count, column_widths,
    min_column_widths, min_width, shrink_columns, total_width,
};
use super::wrap::{can_break_between, can_break_long_word, longest_unbreakable_width};
use crate::render::blocks::{Paragraph, TableCell};
use crate::render::body::{BodyLine, LineEnd, SpanRole, push_span, push_spans_at, spans_width};

/// Columns by which an answer is indented below its question.
const ANSWER_INDENT: usize = 2;

/// A column is narrowed alone if its text then needs at most about so many lines.
const MAX_NARROWED_LINES: usize = 3;

/// Labels up to this width, such as the numbers of a scale, are shorter than brackets.
/// On a line that has no space for these, they do without.
const MAX_SCALE_WIDTH: usize = 2;

/// Words are cut for the sake of so many columns.
const MIN_GRID_COLUMNS: usize = 4;

/// Cells up to this width can be joined to one line of text.
const MAX_INLINE_CELL_WIDTH: usize = 26;

/// Returns the lines of each row of one table.
///
/// Columns and cells below each other are no wider than `prose`.
pub(super) fn lay_out_rows(
    rows: &[&[TableCell]],
    width: usize,
    prose: usize,
) -> Vec<Vec<BodyLine>> {
    let is_too_wide =
        |row: &&[TableCell]| row.last().is_some_and(|cell| cell.column >= MAX_COLUMNS);
    if rows.iter().any(is_too_wide) {
        let in_line = |row: &&[TableCell]| cell_lines(&[TableCell::join(row)], width);
        return rows.iter().map(in_line).collect();
    }
    // The label of a total extends over the columns of the items.
    let spans_columns =
        |row: &&&[TableCell]| matches!(row, [_, .., last] if last.column + last.span >= 3);
    let has_records = rows.len() >= 3
        && rows.iter().any(|row| row.len() >= 3)
        && rows.iter().filter(spans_columns).count() * 2 > rows.len();
    // A bit for each column whose heading, or whose border, only its own values may be below.
    let headed = if rows.iter().copied().flatten().any(|cell| cell.is_data) {
        u64::MAX
    } else {
        let heads = rows.iter().find(|row| has_records && row.len() >= 3);
        let columns = heads.into_iter().copied().flatten();
        columns.fold(0, |headed, cell| headed | 1 << cell.column)
    };
    let count = column_count(rows);
    let min_widths = min_column_widths(rows, count, headed, can_break_between);
    let natural: Vec<usize> = column_widths(rows, headed)
        .into_iter()
        .zip(&min_widths)
        .map(|(natural, min)| natural.min(prose.max(*min)))
        .collect();
    let align = |widths: &[usize]| {
        let lines = |row: &&[TableCell]| align_cells(row, widths, headed);
        rows.iter().map(lines).collect()
    };
    if total_width(&natural) > width
        && let Some(widths) = narrow_values(rows, &natural, width)
    {
        return align(&widths);
    }
    let widths = narrow_widest(rows, &natural, &min_widths, width)
        .unwrap_or_else(|| shrink_columns(&natural, &min_widths, width));
    // Several columns of wrapped prose are harder to read than stacked cells.
    let pairs = widths.iter().zip(&natural);
    let is_readable = has_records || pairs.filter(|(width, natural)| width < natural).count() <= 1;
    // The text of a row of pictures deserves no columns.
    let only_images = rows.iter().any(|row| row.iter().all(is_image_cell));
    // The items of a menu, and buttons, stay whole, on several lines.
    let is_menu = matches!(rows, [row] if (row.len() >= 3 || row.iter().all(is_button_cell)) && are_joinable(row));
    if total_width(&natural) <= width
        || (total_width(&widths) <= width && is_readable && !only_images && !is_menu)
    {
        return align(&widths);
    }
    // Beside an empty cell, only its column tells what a value is.
    let columns = |row: &&[TableCell]| row.iter().map(|cell| cell.column).collect::<Vec<_>>();
    let records = rows.iter().filter(|row| row.len() >= 3).map(columns);
    let are_regular = records.is_sorted_by(|one, next| one == next);
    let grid = || cut_or_widen(rows, &natural, headed, width);
    if has_records && !only_images {
        let lines = grid();
        // Rows of many values are hard to read without columns.
        let is_aligned =
            natural.len() >= MIN_GRID_COLUMNS && lines.iter().flatten().all(|line| !line.wide);
        if is_aligned || !are_regular || !rows.iter().all(|row| fits_alone(row, width)) {
            return lines;
        }
    }
    let has_gaps = !has_records
        && headed != 0
        && rows.iter().any(|row| row.len() >= 3)
        && !rows
            .iter()
            .map(columns)
            .is_sorted_by(|one, next| one == next);
    let is_unbreakable = total_width(&widths) > width && !only_images;
    let lines = is_unbreakable
        .then(|| align_beside_labels(rows, headed, width, prose))
        .flatten()
        .or_else(|| stack_below_headings(rows, width, prose))
        .or_else(|| list_record(rows, width, prose).filter(|_| !only_images))
        .or_else(|| indent_answers(rows, width, prose))
        .or_else(|| (has_gaps && !only_images).then(grid));
    lines.unwrap_or_else(|| {
        let alone = |row: &&[TableCell]| lay_out_alone(row, width, prose);
        rows.iter().map(alone).collect()
    })
}

/// Lays out records in columns in which long words are cut, or else on lines wider than the
/// screen.
fn cut_or_widen(
    rows: &[&[TableCell]],
    natural: &[usize],
    headed: u64,
    width: usize,
) -> Vec<Vec<BodyLine>> {
    let min_widths = min_column_widths(rows, natural.len(), headed, can_break_long_word);
    let narrow = shrink_columns(natural, &min_widths, width);
    let wide = total_width(&narrow) > width;
    let widths = if wide { natural } else { &narrow };
    let lines = |row: &&[TableCell]| {
        let mut lines = align_cells(row, widths, headed);
        for line in &mut lines {
            line.wide |= wide;
        }
        lines
    };
    rows.iter().map(lines).collect()
}

/// Puts each value of the only record of a table beside its heading, on a line for each.
///
/// Headings are bold and short; without borders and headers they must not look like values.
fn list_record(rows: &[&[TableCell]], width: usize, prose: usize) -> Option<Vec<Vec<BodyLine>>> {
    let [heads, record] = rows else {
        return None;
    };
    let is_head = |head: &TableCell| {
        is_label(head, MAX_INLINE_CELL_WIDTH)
            && head.paragraphs[0].is_bold()
            && (head.is_data || !is_label_or_value(&head.paragraphs[0].text()))
    };
    let is_bold = |cell: &TableCell| cell.paragraphs.iter().all(Paragraph::is_bold);
    if heads.len() < 3 || !heads.iter().all(is_head) || record.iter().all(is_bold) {
        return None;
    }
    let count = column_count(rows);
    let pair = |column: usize| -> Vec<TableCell> {
        let cell = |row: &[TableCell], at| {
            let cell = row.iter().find(|cell| cell.column == column)?;
            Some(TableCell {
                column: at,
                span: 1,
                align_right: false,
                is_data: false,
                ..cell.clone()
            })
        };
        cell(heads, 0).into_iter().chain(cell(record, 1)).collect()
    };
    let pairs: Vec<Vec<TableCell>> = (0..count).map(pair).filter(|it| !it.is_empty()).collect();
    let pairs: Vec<&[TableCell]> = pairs.iter().map(Vec::as_slice).collect();
    let lines = lay_out_rows(&pairs, width, prose);
    Some(vec![Vec::new(), lines.concat()])
}

/// Puts the cells of each row below each other, each below its heading in the first row,
/// if that has headings and no other row fits on a line.
///
/// Headings are above texts of several lines, or bold above several rows;
/// others may be a label and its value.
fn stack_below_headings(
    rows: &[&[TableCell]],
    width: usize,
    prose: usize,
) -> Option<Vec<Vec<BodyLine>>> {
    let [heads, texts @ ..] = rows else {
        return None;
    };
    let is_head = |head: &TableCell| match &head.paragraphs[..] {
        [line] if line.images_only || line.width() > MAX_INLINE_CELL_WIDTH => false,
        [line] => !is_label_or_value(&line.text()),
        _ => false,
    };
    let is_bold = |cell: &TableCell| cell.paragraphs.iter().all(Paragraph::is_bold);
    let has_lines = |cell: &TableCell| cell.paragraphs.len() > 1;
    let are_heads = match texts {
        [text] => {
            text.iter().all(has_lines) && heads.iter().any(is_bold) == heads.iter().all(is_bold)
        }
        _ => heads.iter().all(is_bold) && !texts.iter().copied().flatten().all(is_bold),
    } && heads.iter().all(is_head);
    let columns = |row: &[TableCell]| row.iter().map(|cell| cell.column).collect::<Vec<_>>();
    let is_below = |row: &&[TableCell]| columns(row) == columns(heads) && is_stacked(row, width);
    (are_heads && texts.iter().all(is_below)).then(|| {
        let stacked = texts.iter().map(|row| stack_cells(row, heads, prose));
        std::iter::once(Vec::new()).chain(stacked).collect()
    })
}

/// Lays out labels and their values in columns, with words cut that are wider than theirs.
///
/// A row with a long label has no columns, nor has a value of which too much would be cut, or
/// that is whole without: these go beside their label, or below it.
fn align_beside_labels(
    rows: &[&[TableCell]],
    headed: u64,
    width: usize,
    prose: usize,
) -> Option<Vec<Vec<BodyLine>>> {
    let last = column_count(rows).checked_sub(1)?;
    let is_pair = |row: &&[TableCell]| match row {
        [_] => true,
        [label, value] => is_label(label, width) && value.column == last,
        _ => false,
    };
    let has_short_label =
        |row: &&[TableCell]| matches!(row, [label, _] if label.width() <= width / 2);
    let labelled: Vec<&[TableCell]> = rows.iter().copied().filter(has_short_label).collect();
    let mut widths = column_widths(&labelled, headed);
    let rest = width.checked_sub(total_width(widths.get(..last)?) + COLUMN_GAP)?;
    let are_labels = rows.len() >= 2 && labelled.len() * 2 >= rows.len();
    if !are_labels || rest < MIN_COLUMN_WIDTH || !rows.iter().all(is_pair) {
        return None;
    }
    let fits = |line: &Paragraph, row: &[TableCell]| {
        let word = min_width(line, can_break_between);
        let is_whole = line.images_only || line.has_button() || line.text().contains("://");
        word <= rest || !(is_whole || word > rest * MAX_NARROWED_LINES || fits_alone(row, width))
    };
    let is_inside = |row: &&[TableCell]| match row {
        [_, value] => has_short_label(row) && value.paragraphs.iter().all(|line| fits(line, row)),
        _ => true,
    };
    let inside: Vec<&[TableCell]> = rows.iter().copied().filter(is_inside).collect();
    let value = *column_widths(&inside, headed).get(last)?;
    widths[last] = value.min(rest);
    let lay_out = |row: &&[TableCell]| match row {
        row if is_inside(row) => align_cells(row, &widths, headed),
        row if fits_alone(row, width) => align_alone(row),
        row => {
            let lines = |cell: &TableCell| cell_lines(&cell.paragraphs, prose);
            row.iter().flat_map(lines).collect()
        }
    };
    Some(rows.iter().map(lay_out).collect())
}

/// True for a line of text up to a width, which can be beside its value.
fn is_label(cell: &TableCell, max_width: usize) -> bool {
    let is_text = |line: &Paragraph| !line.images_only && !line.has_button();
    matches!(&cell.paragraphs[..], [line] if is_text(line) && line.width() <= max_width)
}

/// Puts the second of two texts below the first, indented, as an answer below its question,
/// with a gap between the rows.
///
/// Headings or another row that fits on a line show that the rows are records.
fn indent_answers(rows: &[&[TableCell]], width: usize, prose: usize) -> Option<Vec<Vec<BodyLine>>> {
    let [first, others @ ..] = rows else {
        return None;
    };
    let is_text = |line: &Paragraph| !line.images_only && !line.has_button();
    let has_word = |cell: &TableCell| {
        let mut lines = cell.paragraphs.iter();
        lines.any(|line| line.text().contains(char::is_alphanumeric))
    };
    let is_pair = |row: &&[TableCell]| {
        let mut lines = row.iter().flat_map(|cell| &cell.paragraphs);
        row.len() == 2 && has_word(&row[0]) && lines.all(is_text)
    };
    let is_bold = |cell: &TableCell| cell.paragraphs.iter().all(Paragraph::is_bold);
    let fits = |row: &&[TableCell]| fits_alone(row, width);
    let has_heads =
        fits(first) && first.iter().all(is_bold) && !others.iter().copied().flatten().all(is_bold);
    let are_records = has_heads || others.iter().any(fits);
    let lay_out = |row: &&[TableCell]| match row {
        [question, answer] if !fits(row) => {
            let mut lines = cell_lines(&question.paragraphs, prose);
            // A word that fills a line, such as a URL, stays whole.
            let is_full = |line: &Paragraph| {
                let word = longest_unbreakable_width(&line.text(), can_break_between);
                (prose - ANSWER_INDENT + 1..=prose).contains(&word)
            };
            let is_full = answer.paragraphs.iter().any(is_full);
            let indent = if is_full { 0 } else { ANSWER_INDENT };
            for line in cell_lines(&answer.paragraphs, prose - indent) {
                let mut spans = Vec::new();
                push_spans_at(&mut spans, indent, &line.spans);
                lines.push(BodyLine { spans, ..line });
            }
            // The layout moves this gap behind the row.
            lines.push(BodyLine::default());
            lines
        }
        row => lay_out_alone(row, width, prose),
    };
    (are_records && rows.iter().all(is_pair)).then(|| rows.iter().map(lay_out).collect())
}

/// True for what is in a row of its own, such as `Order:` and `#4711`.
fn is_label_or_value(text: &str) -> bool {
    text.contains(|c: char| c.is_numeric() || c == '@') || text.trim_end().ends_with(':')
}

/// True if the cells of a row go below each other.
fn is_stacked(row: &[TableCell], width: usize) -> bool {
    let rest = row.get(1..).unwrap_or_default();
    !fits_alone(row, width)
        && !are_joinable(row)
        && !(rest.len() > 1 && (is_image_cell(&row[0]) || fits_alone(rest, width)))
}

/// Returns the widths with the last column narrowed, if it has values on the right,
/// each of which fits beside its own label.
fn narrow_values(rows: &[&[TableCell]], natural: &[usize], width: usize) -> Option<Vec<usize>> {
    let (_, labels) = natural.split_last()?;
    let rest = width.checked_sub(total_width(labels) + COLUMN_GAP)?;
    let is_value = |row: &&[TableCell]| {
        fits_alone(row, width) && matches!(row, [_, value] if value.align_right)
    };
    (rest > 0 && rows.iter().all(is_value)).then(|| [labels, &[rest]].concat())
}

/// Lays out a row whose cells do not fit into the columns of its table.
fn lay_out_alone(row: &[TableCell], width: usize, prose: usize) -> Vec<BodyLine> {
    if fits_alone(row, width) {
        return align_alone(row);
    }
    let bare = without_button_brackets(row);
    if bare.iter().all(|cell| cell.width() <= MAX_SCALE_WIDTH) && fits_alone(&bare, width) {
        return align_alone(&bare);
    }
    if are_joinable(row) {
        return join_in_lines(row, width);
    }
    // The picture of an item goes above its name, so that the price stays beside the name; a long
    // name goes above its amounts. Texts of several lines have no such name.
    let is_text = |cell: &TableCell| cell.paragraphs.len() > 1;
    if let [first, rest @ ..] = row
        && rest.len() > 1
        && (is_image_cell(first) || (fits_alone(rest, width) && !row.iter().all(is_text)))
    {
        let mut lines = cell_lines(&first.paragraphs, prose);
        lines.extend(lay_out_rows(&[rest], width, prose).into_iter().flatten());
        return lines;
    }
    stack_cells(row, &[], prose)
}

fn fits_alone(row: &[TableCell], width: usize) -> bool {
    row.iter().map(TableCell::width).sum::<usize>() + COLUMN_GAP * row.len().saturating_sub(1)
        <= width
}

/// True for cells of one short line each, which can follow each other on a line.
fn are_joinable(row: &[TableCell]) -> bool {
    row.iter().all(|cell| {
        cell.paragraphs.len() == 1 && (cell.width() <= MAX_INLINE_CELL_WIDTH || is_image_cell(cell))
    })
}

/// Puts as many cells on each line as fit, so that no line breaks inside a cell.
fn join_in_lines(row: &[TableCell], width: usize) -> Vec<BodyLine> {
    let mut lines = Vec::new();
    let mut rest = row;
    while !rest.is_empty() {
        let fitting = (1..=rest.len())
            .rev()
            .find(|count| fits_alone(&rest[..*count], width));
        let (line, below) = rest.split_at(fitting.unwrap_or(1));
        lines.extend(cell_lines(&[TableCell::join(line)], width));
        rest = below;
    }
    lines
}

/// True if the cell has only images, whose text deserves no column.
fn is_image_cell(cell: &TableCell) -> bool {
    cell.paragraphs.iter().all(|para| para.images_only)
}

fn is_button_cell(cell: &TableCell) -> bool {
    cell.paragraphs.iter().all(Paragraph::has_button)
}

fn without_button_brackets(row: &[TableCell]) -> Vec<TableCell> {
    let mut row = row.to_vec();
    let paragraphs = row.iter_mut().flat_map(|cell| &mut cell.paragraphs);
    for run in paragraphs.flat_map(|para| &mut para.runs) {
        if run.style.role == SpanRole::Button {
            let label = run.text.trim_start_matches("[ ").trim_end_matches(" ]");
            run.text = label.into();
        }
    }
    row
}

/// Returns the widths with only the widest column narrowed,
/// if its text needs few lines then.
///
/// Rows that fit alone stay whole, and so do buttons.
fn narrow_widest(
    rows: &[&[TableCell]],
    natural: &[usize],
    min_widths: &[usize],
    width: usize,
) -> Option<Vec<usize>> {
    let columns = natural.iter().enumerate();
    let (widest, text) = columns.max_by_key(|(_, width)| **width)?;
    let over = total_width(natural).checked_sub(width)?;
    let narrowed = text.checked_sub(over)?;
    let fits = narrowed >= min_widths[widest] && narrowed * MAX_NARROWED_LINES >= *text;
    let is_whole = |row: &&[TableCell]| {
        let cell = row.iter().find(|cell| cell.column == widest);
        fits_alone(row, width)
            || cell.is_some_and(|cell| cell.paragraphs.iter().any(Paragraph::has_button))
    };
    let fits = fits && !rows.iter().any(is_whole);
    let mut widths = natural.to_vec();
    widths[widest] = narrowed;
    fits.then_some(widths)
}

/// Lays out a row on one line, in columns of its own.
fn align_alone(row: &[TableCell]) -> Vec<BodyLine> {
    align_cells(row, &column_widths(&[row], 0), 0)
}

fn align_cells(row: &[TableCell], widths: &[usize], headed: u64) -> Vec<BodyLine> {
    let mut out: Vec<BodyLine> = Vec::new();
    let mut filled = 0;
    for (cell, columns) in cell_columns(row, widths.len(), headed) {
        let before = total_width(&widths[..columns.start]);
        let available = total_width(&widths[columns]).max(1);
        let start = if before == 0 { 0 } else { before + COLUMN_GAP };
        // A value on the right extends over the free space beside its label.
        let extends = cell.align_right
            && cell.width() > available
            && filled + COLUMN_GAP + cell.width() <= start + available;
        let width = if extends { cell.width() } else { available };
        let lines = cell_lines(&cell.paragraphs, width);
        let text_widths = lines.iter().map(|line| spans_width(&line.spans));
        let text_width = text_widths.max().unwrap_or(0);
        let at = if cell.align_right {
            (start + available).saturating_sub(text_width)
        } else {
            start
        };
        filled = at + text_width;
        let is_last = row.last().is_some_and(|last| last.column == cell.column);
        let left = out.len();
        out.resize(left.max(lines.len()), BodyLine::default());
        for (index, part) in lines.iter().enumerate() {
            // Copying joins a word that is cut in the last column.
            let is_alone = is_last && index >= left.max(1);
            if is_alone && lines[index - 1].end == LineEnd::Split {
                out[index - 1].end = LineEnd::Split;
                out[index].prefix = at;
                let indent = SpanRole::Indent.into();
                push_span(&mut out[index].spans, &" ".repeat(at), indent);
            }
            push_spans_at(&mut out[index].spans, at, &part.spans);
        }
    }
    out
}

/// Puts the cells below each other, each below its heading,
/// with blank lines if one is longer than a line.
fn stack_cells(row: &[TableCell], heads: &[TableCell], width: usize) -> Vec<BodyLine> {
    let mut heads = heads.iter();
    let lay_out = |cell: &TableCell| {
        let head = heads.next().map(|head| cell_lines(&head.paragraphs, width));
        let lines = cell_lines(&cell.paragraphs, width);
        head.into_iter().flatten().chain(lines).collect()
    };
    let cells: Vec<Vec<BodyLine>> = row.iter().map(lay_out).collect();
    let blank_lines = cells.iter().any(|lines| lines.len() > 1);
    let mut out = Vec::new();
    for lines in cells {
        if blank_lines && !out.is_empty() {
            out.push(BodyLine::default());
        }
        out.extend(lines);
    }
    out
}

fn cell_lines(paragraphs: &[Paragraph], width: usize) -> Vec<BodyLine> {
    paragraphs::wrap_paragraphs(&paragraphs.iter().collect::<Vec<_>>(), width)
        .into_iter()
        .flatten()
        .collect()
}
