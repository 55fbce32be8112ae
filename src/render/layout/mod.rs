//! Lays out blocks at a width: paragraphs, tables and blank lines.

mod columns;
mod numbers;
mod paragraphs;
mod table;
mod widths;
pub(super) mod wrap;

use std::collections::HashMap;

use compact_str::CompactString;

pub(super) use columns::MIN_COLUMNS_WIDTH;

use super::blocks::{Block, BlockKind, ColumnGroup, LinePrefix, Paragraph, RuleKind, TableCell};
use super::body::{BodyLine, BodySpan, SpanRole, SpanStyle, push_span, push_spans, spans_width};
use crate::text::width::DisplayWidth as _;

/// A gap of this many pixels becomes a blank line.
/// A little less than the height of a line, because positions are estimates.
const BLANK_LINE_PX: f32 = 11.5;

/// A gap of this many pixels between two rows of a table becomes a blank line.
/// Rows have wider gaps than lines.
const ROW_GAP_PX: f32 = 24.0;

/// Prefixes leave at least this many columns for the text.
const MIN_TEXT_WIDTH: usize = 16;

/// The header of a forwarded email has at least this many fields.
const MIN_HEADER_FIELDS: usize = 3;

/// Captions of images have at most this many lines.
const MAX_CAPTION_LINES: usize = 4;

/// The space that a layout has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// In columns.
    pub(super) width: usize,
    /// Lines of prose are at most this wide.
    pub(super) prose_width: usize,
    /// Boxes may be laid out beside each other.
    pub(super) has_columns: bool,
}

/// Lays out `blocks`, of which `groups` are beside each other on the page.
pub(super) fn lay_out_blocks(
    blocks: &[Block],
    groups: &[ColumnGroup],
    frame: Frame,
) -> Vec<BodyLine> {
    let beside = columns::place_beside(blocks, groups, frame);
    let mut shown: Vec<&Block> = Vec::with_capacity(blocks.len());
    // By block, its position in `shown`.
    let mut positions: Vec<usize> = Vec::with_capacity(blocks.len() + 1);
    let mut from = 0;
    for (range, block) in &beside {
        positions.extend(shown.len()..shown.len() + range.start - from);
        shown.extend(&blocks[from..range.start]);
        positions.extend(range.clone().map(|_| shown.len()));
        shown.push(block);
        from = range.end;
    }
    positions.extend(shown.len()..=shown.len() + blocks.len() - from);
    shown.extend(&blocks[from..]);
    let mut stacked: HashMap<usize, Vec<usize>> = HashMap::new();
    for group in groups {
        let starts = group
            .columns
            .iter()
            .map(|column| positions[column.blocks.start]);
        let first = positions[group.blocks().start];
        let later = starts.filter(|start| *start > first);
        stacked
            .entry(positions[group.blocks().end])
            .or_default()
            .extend(later);
    }
    lay_out_shown(&shown, &stacked, frame)
}

/// `stacked` has, by the block after boxes that are below each other here, where these start.
fn lay_out_shown(
    blocks: &[&Block],
    stacked: &HashMap<usize, Vec<usize>>,
    frame: Frame,
) -> Vec<BodyLine> {
    let width = frame.width;
    let mut out: Vec<BodyLine> = Vec::new();
    let mut last_item = None;
    // The bottom of the last block that is more than images.
    let mut text_bottom = None;
    let table_gaps = table_gaps(blocks);
    let mut last_height = 0;
    let has_gap_inside = |lines: &[BodyLine]| lines.iter().any(|line| line.spans.is_empty());
    let mut has_gap = false;
    let mut before: Option<&Block> = None;
    let mut gaps = vec![false; blocks.len()];
    for (index, (block, mut lines)) in blocks.iter().zip(wrap_blocks(blocks, frame)).enumerate() {
        if lines.is_empty() || is_redundant_rule(before, &blocks[index..]) {
            continue;
        }
        let prefixes = fitting_prefixes(&block.prefixes, width);
        let is_header = is_header_start(before, &blocks[index..]);
        // What follows boxes with gaps between them does not belong to the last of them.
        let follows_stack = stacked
            .get(&index)
            .is_some_and(|starts| starts.iter().any(|start| gaps[*start]))
            && !matches!(block.kind, BlockKind::Rule(_));
        if let Some(before) = before
            && (is_header
                || follows_stack
                || needs_blank_line(before, block, text_bottom)
                || ((has_gap || has_gap_inside(&lines)) && are_rows_of_one_table(before, block)))
            && !(last_height.max(lines.len()) == 1 && are_padded_rows(before, block, &table_gaps))
            && (!is_close_image(before, &blocks[index..]) || is_caption(&blocks[..index]))
            && !matches!(before.kind, BlockKind::Rule(_))
            && !out.is_empty()
        {
            gaps[index] = true;
            out.push(blank_line(
                fitting_prefixes(&before.prefixes, width),
                prefixes,
            ));
        }
        last_height = lines.len();
        has_gap = has_gap_inside(&lines);
        lines.pop_if(|line| line.spans.is_empty());
        before = Some(block);
        if !block.is_images_only() {
            text_bottom = Some(block.bottom);
        }
        let item = prefixes.iter().rev().find_map(|prefix| match prefix {
            LinePrefix::ListItem { number, .. } => Some(*number),
            LinePrefix::Quote => None,
        });
        let mut first = item.is_some() && item != last_item;
        last_item = item;
        for line in lines {
            let mut spans = prefix_spans(prefixes, std::mem::take(&mut first));
            // The marker of a list item is part of its text.
            let outer = spans.iter().map_while(|span: &BodySpan| {
                (span.style.role != SpanRole::Rule).then_some(span.text.len())
            });
            let prefix: usize = outer.sum();
            let before: usize = spans.iter().map(|span| span.text.len()).sum();
            // The rest of a long line may have an indent of its own.
            let prefix = if prefix == before {
                prefix + line.prefix
            } else {
                prefix
            };
            push_spans(&mut spans, &line.spans);
            let wide = line.wide || spans_width(&spans) > width;
            out.push(BodyLine {
                spans,
                prefix,
                wide,
                end: line.end,
                hidden: None,
                columns: line
                    .columns
                    .into_iter()
                    .map(|part| before + part.start..before + part.end)
                    .collect(),
            });
        }
    }
    out
}

/// Returns the lines of each block without its prefixes.
fn wrap_blocks(blocks: &[&Block], frame: Frame) -> Vec<Vec<BodyLine>> {
    let have_same_columns = |one: &BlockKind, other: &BlockKind| match (one, other) {
        (
            BlockKind::TableRow { columns_of, .. },
            BlockKind::TableRow {
                columns_of: same, ..
            },
        ) => columns_of == same,
        _ => is_same_group(one, other),
    };
    let same_group = |one: &usize, other: &usize| {
        let (one, other) = (blocks[*one], blocks[*other]);
        one.prefixes == other.prefixes && have_same_columns(&one.kind, &other.kind)
    };
    let inner_width = |block: &Block| {
        frame.width - prefixes_width(fitting_prefixes(&block.prefixes, frame.width))
    };
    let mut out = vec![Vec::new(); blocks.len()];
    let is_rule = |at: &usize| matches!(blocks[*at].kind, BlockKind::Rule(_));
    let (rules, mut shown): (Vec<usize>, Vec<usize>) = (0..blocks.len()).partition(is_rule);
    for at in rules {
        out[at] = vec![rule_line(inner_width(blocks[at]))];
    }
    // The rows above and below a rule or the title of a section have the same columns.
    let titles = shown.array_windows().filter(|[before, title, after]| {
        let is_text = blocks[*title].as_paragraph().is_some();
        is_text && blocks[*before].as_row().is_some() && same_group(before, after)
    });
    let titles: Vec<usize> = titles.map(|[_, title, _]| *title).collect();
    shown.retain(|at| titles.binary_search(at).is_err());
    let title_groups = titles.chunks(1);
    for group in shown.chunk_by(same_group).chain(title_groups) {
        let inner = inner_width(blocks[group[0]]);
        let prose = inner.min(frame.prose_width);
        let grouped = group.iter().map(|at| blocks[*at]);
        let lines = match &blocks[group[0]].kind {
            BlockKind::Paragraph(first) => {
                let paragraphs: Vec<&Paragraph> =
                    grouped.filter_map(|block| block.as_paragraph()).collect();
                let width = if first.preformatted { inner } else { prose };
                paragraphs::wrap_paragraphs(&paragraphs, width)
            }
            BlockKind::TableRow { .. } => {
                let rows: Vec<&[TableCell]> = grouped.filter_map(|block| block.as_row()).collect();
                table::lay_out_rows(&rows, inner, prose)
            }
            BlockKind::Lines(lines) => vec![lines.clone()],
            BlockKind::Rule(_) => Vec::new(),
        };
        for (at, lines) in group.iter().zip(lines) {
            out[*at] = lines;
        }
    }
    out
}

/// True if two blocks are laid out together.
fn is_same_group(one: &BlockKind, other: &BlockKind) -> bool {
    match (one, other) {
        (BlockKind::Paragraph(one), BlockKind::Paragraph(other)) => {
            one.preformatted == other.preformatted
        }
        (BlockKind::TableRow { table, .. }, BlockKind::TableRow { table: same, .. }) => {
            table == same
        }
        _ => false,
    }
}

/// True if a blank line belongs between two blocks below the last text.
fn needs_blank_line(before: &Block, block: &Block, text_bottom: Option<f32>) -> bool {
    // Text that is not above the image is beside it on the page.
    let text_above = text_bottom.filter(|bottom| *bottom <= before.top + 2.0);
    // An image becomes one line of text, however high it is: the rest of it is a gap.
    let above =
        if !before.is_images_only() || block.is_images_only() || block.top < before.bottom - 2.0 {
            before.bottom
        } else {
            text_above.unwrap_or(before.top).min(before.bottom)
        };
    let min_gap = if are_rows_of_one_table(before, block) {
        ROW_GAP_PX
    } else {
        BLANK_LINE_PX
    };
    // Side by side on the page, below each other here. Text beside an image is another column
    // only if it starts beside the text above the image.
    let column_bottom = if before.is_images_only() {
        text_above
    } else {
        Some(before.bottom)
    };
    let side_by_side = block.bottom <= before.bottom
        && column_bottom.is_some_and(|bottom| block.top < bottom - BLANK_LINE_PX);
    block.top - above >= min_gap || side_by_side
}

/// True for an image close to its heading, and no nearer to what follows.
fn is_close_image(before: &Block, rest: &[&Block]) -> bool {
    let [image, next, ..] = rest else {
        return false;
    };
    let gap = image.top - before.bottom;
    image.is_images_only()
        && before.is_heading()
        && gap < ROW_GAP_PX
        && gap <= next.top - image.bottom + 2.0
}

/// True if the last blocks are bold lines below an image.
fn is_caption(blocks: &[&Block]) -> bool {
    let mut above = blocks
        .iter()
        .rev()
        .take(MAX_CAPTION_LINES + 1)
        .skip_while(|block| block.is_heading() && !block.is_images_only());
    above.next().is_some_and(|block| block.is_images_only())
}

fn are_rows_of_one_table(before: &Block, block: &Block) -> bool {
    block.as_row().is_some() && is_same_group(&before.kind, &block.kind)
}

/// Returns the smallest gap between two rows of each table, in pixels.
fn table_gaps(blocks: &[&Block]) -> HashMap<u32, f32> {
    let mut gaps = HashMap::new();
    for [before, block] in blocks.array_windows() {
        if let BlockKind::TableRow { table, .. } = block.kind
            && is_same_group(&before.kind, &block.kind)
        {
            let gap = block.top - before.bottom;
            gaps.entry(table)
                .and_modify(|least: &mut f32| *least = least.min(gap))
                .or_insert(gap);
        }
    }
    gaps
}

/// True for two rows of data that only the padding of cells keeps apart.
fn are_padded_rows(before: &Block, block: &Block, table_gaps: &HashMap<u32, f32>) -> bool {
    let (
        BlockKind::TableRow {
            padding: [_, above],
            table,
            ..
        },
        BlockKind::TableRow {
            padding: [below, _],
            ..
        },
    ) = (&before.kind, &block.kind)
    else {
        return false;
    };
    let has_widgets = |block: &Block| {
        let mut lines = block.paragraphs();
        lines.any(|line| line.images_only || line.has_button())
    };
    let usual = table_gaps
        .get(table)
        .map_or(0.0, |gap| gap.min(above + below));
    is_same_group(&before.kind, &block.kind)
        && block.top - before.bottom - usual < BLANK_LINE_PX
        && !has_widgets(before)
        && !has_widgets(block)
}

/// Returns a blank line, which has the quote marks that both its neighbours have.
fn blank_line(before: &[LinePrefix], after: &[LinePrefix]) -> BodyLine {
    let common = before
        .iter()
        .zip(after)
        .take_while(|(one, other)| one == other);
    let quotes = common.take_while(|(prefix, _)| **prefix == LinePrefix::Quote);
    let count = quotes.count();
    let mut spans = prefix_spans(&after[..count], false);
    if let Some(last) = spans.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    BodyLine {
        prefix: spans.iter().map(|span| span.text.len()).sum(),
        spans,
        ..BodyLine::default()
    }
}

/// True if the first block is a border that parts nothing:
/// at the end, between rows of short cells, or beside a heading, which is bold already.
fn is_redundant_rule(before: Option<&Block>, rest: &[&Block]) -> bool {
    if !matches!(rest[0].kind, BlockKind::Rule(RuleKind::Border)) {
        return false;
    }
    let (Some(before), Some(next)) = (before, rest.get(1)) else {
        return true;
    };
    let are_rows = before.as_row().is_some() && next.as_row().is_some();
    are_rows || before.is_heading() || next.is_heading()
}

/// True if three lines or more with a label start, as in a forwarded email.
fn is_header_start(before: Option<&Block>, rest: &[&Block]) -> bool {
    let is_field = |block: &Block| {
        block.as_paragraph().is_some_and(|line| {
            line.runs.first().is_some_and(|label| {
                label.style.bold && line.runs.len() > 1 && label.text.trim_end().ends_with(':')
            })
        })
    };
    before.is_some_and(|block| !is_field(block))
        && rest.len() >= MIN_HEADER_FIELDS
        && rest.iter().take(MIN_HEADER_FIELDS).all(|it| is_field(it))
}

/// Returns as many prefixes as leave enough columns for text.
fn fitting_prefixes(prefixes: &[LinePrefix], width: usize) -> &[LinePrefix] {
    let mut count = prefixes.len();
    while count > 0 && prefixes_width(&prefixes[..count]) + MIN_TEXT_WIDTH.min(width) > width {
        count -= 1;
    }
    &prefixes[..count]
}

fn prefixes_width(prefixes: &[LinePrefix]) -> usize {
    let width = |prefix: &LinePrefix| match prefix {
        LinePrefix::Quote => 2,
        LinePrefix::ListItem { marker, .. } => marker.width(),
    };
    prefixes.iter().map(width).sum()
}

fn prefix_spans(prefixes: &[LinePrefix], first: bool) -> Vec<BodySpan> {
    let mut spans = Vec::new();
    let last_item = prefixes
        .iter()
        .rposition(|prefix| matches!(prefix, LinePrefix::ListItem { .. }));
    for (index, prefix) in prefixes.iter().enumerate() {
        match prefix {
            LinePrefix::Quote => push_span(&mut spans, "> ", SpanRole::Quote.into()),
            LinePrefix::ListItem { marker, .. } if first && Some(index) == last_item => {
                push_span(&mut spans, marker, SpanRole::Rule.into());
            }
            LinePrefix::ListItem { marker, .. } => {
                let indent = " ".repeat(marker.width());
                push_span(&mut spans, &indent, SpanStyle::default());
            }
        }
    }
    spans
}

fn rule_line(width: usize) -> BodyLine {
    BodyLine {
        spans: vec![BodySpan {
            text: CompactString::from("─").repeat((width / 8).clamp(1, 12)),
            style: SpanRole::Rule.into(),
        }],
        ..BodyLine::default()
    }
}
