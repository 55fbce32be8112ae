//! Lays out blocks at a width: paragraphs, tables in columns, and blank lines as on the page.

mod paragraphs;
mod table;
pub(super) mod wrap;

use super::blocks::{Block, BlockKind, LinePrefix, Paragraph, TableCell};
use super::body::{BodyLine, BodySpan, SpanRole, SpanStyle, push_span, spans_width};
use crate::text::width::DisplayWidth as _;

/// A gap of this many pixels becomes a blank line. A little less than the height of a line,
/// because positions are estimates.
const BLANK_LINE_PX: f32 = 11.5;

/// The same between two rows of a table, which have wider gaps.
const ROW_GAP_PX: f32 = 24.0;

/// Prefixes leave at least this many columns for the text.
const MIN_TEXT_WIDTH: usize = 16;

/// Lays out `blocks` at `width` columns.
pub(super) fn lay_out_blocks(blocks: &[Block], width: usize) -> Vec<BodyLine> {
    let mut out: Vec<BodyLine> = Vec::new();
    let mut last_item = None;
    // The bottom of the last block that is more than images.
    let mut text_bottom = None;
    for (index, (block, lines)) in blocks.iter().zip(wrap_blocks(blocks, width)).enumerate() {
        let prefixes = fitting_prefixes(&block.prefixes, width);
        if let Some(before) = index.checked_sub(1).map(|before| &blocks[before])
            && needs_blank_line(before, block, text_bottom)
            && !out.is_empty()
        {
            out.push(BodyLine::default());
        }
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
            let prefix = outer.sum();
            for span in &line.spans {
                push_span(&mut spans, &span.text, span.style);
            }
            let wide = line.wide || spans_width(&spans) > width;
            out.push(BodyLine {
                spans,
                prefix,
                wide,
                end: line.end,
            });
        }
    }
    out
}

/// Returns the lines of each block without its prefixes.
fn wrap_blocks(blocks: &[Block], width: usize) -> Vec<Vec<BodyLine>> {
    let mut out = Vec::with_capacity(blocks.len());
    let same_group = |one: &Block, other: &Block| {
        one.prefixes == other.prefixes && is_same_group(&one.kind, &other.kind)
    };
    for group in blocks.chunk_by(same_group) {
        let inner = width - prefixes_width(fitting_prefixes(&group[0].prefixes, width));
        match &group[0].kind {
            BlockKind::Paragraph(_) => {
                let paragraphs: Vec<&Paragraph> =
                    group.iter().filter_map(Block::as_paragraph).collect();
                out.extend(paragraphs::wrap_paragraphs(&paragraphs, inner));
            }
            BlockKind::TableRow { .. } => {
                let rows: Vec<&[TableCell]> = group.iter().filter_map(Block::as_row).collect();
                out.extend(table::lay_out_rows(&rows, inner));
            }
            BlockKind::Rule => out.extend(group.iter().map(|_| vec![rule_line(inner)])),
        }
    }
    out
}

/// True if two blocks are laid out together.
fn is_same_group(one: &BlockKind, other: &BlockKind) -> bool {
    match (one, other) {
        (BlockKind::Paragraph(_), BlockKind::Paragraph(_)) | (BlockKind::Rule, BlockKind::Rule) => {
            true
        }
        (BlockKind::TableRow { table, .. }, BlockKind::TableRow { table: same, .. }) => {
            table == same
        }
        _ => false,
    }
}

/// True if a blank line belongs between two blocks, given the bottom of the last text.
fn needs_blank_line(before: &Block, block: &Block, text_bottom: Option<f32>) -> bool {
    // An image becomes one line of text, however high it is: the rest of it is a gap.
    let above =
        if !before.is_images_only() || block.is_images_only() || block.top < before.bottom - 2.0 {
            before.bottom
        } else {
            text_bottom.unwrap_or(before.top).min(before.bottom)
        };
    let is_row = matches!(block.kind, BlockKind::TableRow { .. });
    let min_gap = if is_row && is_same_group(&before.kind, &block.kind) {
        ROW_GAP_PX
    } else {
        BLANK_LINE_PX
    };
    // Side by side on the page, below each other here.
    let side_by_side = !before.is_images_only()
        && block.bottom <= before.bottom
        && block.top < before.bottom - BLANK_LINE_PX;
    block.top - above >= min_gap || side_by_side
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
                push_span(
                    &mut spans,
                    &" ".repeat(marker.width()),
                    SpanStyle::default(),
                );
            }
        }
    }
    spans
}

fn rule_line(width: usize) -> BodyLine {
    BodyLine {
        spans: vec![BodySpan {
            text: "─".repeat((width / 8).clamp(1, 12)),
            style: SpanRole::Rule.into(),
        }],
        ..BodyLine::default()
    }
}
