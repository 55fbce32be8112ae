//! Lays plain blocks out at a width: text by html2text, tables in columns, blank lines as on the page.

mod paragraphs;
mod table;

use unicode_width::UnicodeWidthStr;

use super::blocks::{Block, BlockKind, LinePrefix, Paragraph, TableCell};
use super::body::{BodyLine, BodySpan, SpanRole, SpanStyle};
use super::wrap;

/// Space on the page, in pixels, that is a blank line here. A little less than the height of a
/// line, because where things stand is a guess.
const BLANK_LINE_PX: f32 = 11.5;

/// The same between two rows of a table, which belong closer together.
const ROW_GAP_PX: f32 = 24.0;

/// What is left for text beside quote marks and indentation, at least.
const MIN_TEXT_WIDTH: usize = 16;

/// Lays `blocks` out at `width` columns.
pub(super) fn lay_out_blocks(blocks: &[Block], width: usize) -> Vec<BodyLine> {
    let laid = wrap_blocks(blocks, width);
    let mut out: Vec<BodyLine> = Vec::new();
    let mut item = None;
    // Where the last words ended, pictures aside.
    let mut words = None;
    for (at, (block, lines)) in blocks.iter().zip(laid).enumerate() {
        let leads = fitting_prefixes(&block.prefixes, width);
        if let Some(before) = at.checked_sub(1).map(|before| &blocks[before])
            && needs_blank_line(before, block, words)
            && !out.is_empty()
        {
            out.push(BodyLine::default());
        }
        if !is_images_only(block) {
            words = Some(block.bottom);
        }
        let number = leads.iter().rev().find_map(|lead| match lead {
            LinePrefix::ListItem { number, .. } => Some(*number),
            LinePrefix::Quote => None,
        });
        let mut first = number.is_some() && number != item;
        item = number;
        for line in lines {
            let mut spans = prefix_spans(leads, std::mem::take(&mut first));
            line.spans
                .iter()
                .for_each(|span| wrap::push_span(&mut spans, &span.text, span.style));
            let wide = line.wide || wrap::spans_width(&spans) > width;
            out.push(BodyLine {
                spans,
                wide,
                ..line
            });
        }
    }
    out
}

/// The lines of each block, without what stands in front of them.
fn wrap_blocks(blocks: &[Block], width: usize) -> Vec<Vec<BodyLine>> {
    let inner = |block: &Block| width - prefixes_width(fitting_prefixes(&block.prefixes, width));
    let mut laid = Vec::with_capacity(blocks.len());
    let mut at = 0;
    while at < blocks.len() {
        let block = &blocks[at];
        let same = |other: &&Block| {
            other.prefixes == block.prefixes && is_same_group(&block.kind, &other.kind)
        };
        let count = blocks[at..].iter().take_while(same).count();
        let group = &blocks[at..at + count];
        match &block.kind {
            BlockKind::Paragraph(_) => {
                let paras: Vec<&Paragraph> = group
                    .iter()
                    .filter_map(|block| {
                        if let BlockKind::Paragraph(para) = &block.kind {
                            Some(para)
                        } else {
                            None
                        }
                    })
                    .collect();
                laid.extend(paragraphs::wrap_paragraphs(&paras, inner(block)));
            }
            BlockKind::TableRow { .. } => {
                let rows: Vec<&[TableCell]> = group
                    .iter()
                    .filter_map(|block| {
                        if let BlockKind::TableRow { cells, .. } = &block.kind {
                            Some(&cells[..])
                        } else {
                            None
                        }
                    })
                    .collect();
                laid.extend(table::lay_out_rows(&rows, inner(block)));
            }
            BlockKind::Rule => laid.extend(group.iter().map(|_| vec![rule_line(inner(block))])),
        }
        at += count;
    }
    laid
}

/// Whether two blocks are laid out together.
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

/// Whether a blank line stands between two blocks; `words` is where the last words ended.
fn needs_blank_line(before: &Block, block: &Block, words: Option<f32>) -> bool {
    // The words for a picture are one line, however high it is: the rest of it is space.
    let above =
        if !is_images_only(before) || is_images_only(block) || block.top < before.bottom - 2.0 {
            before.bottom
        } else {
            words.unwrap_or(before.top).min(before.bottom)
        };
    let least = if matches!(block.kind, BlockKind::TableRow { .. })
        && is_same_group(&before.kind, &block.kind)
    {
        ROW_GAP_PX
    } else {
        BLANK_LINE_PX
    };
    // Beside each other on the page, below each other here.
    let beside = !is_images_only(before)
        && block.bottom <= before.bottom
        && block.top < before.bottom - BLANK_LINE_PX;
    block.top - above >= least || beside
}

fn is_images_only(block: &Block) -> bool {
    matches!(&block.kind, BlockKind::Paragraph(para) if para.images_only)
}

/// As many leads as leave room for text.
fn fitting_prefixes(leads: &[LinePrefix], width: usize) -> &[LinePrefix] {
    let mut shown = leads.len();
    while shown > 0 && prefixes_width(&leads[..shown]) + MIN_TEXT_WIDTH.min(width) > width {
        shown -= 1;
    }
    &leads[..shown]
}

fn prefixes_width(leads: &[LinePrefix]) -> usize {
    leads.iter().map(prefix_width).sum()
}

fn prefix_width(lead: &LinePrefix) -> usize {
    match lead {
        LinePrefix::Quote => 2,
        LinePrefix::ListItem { marker: mark, .. } => mark.width(),
    }
}

fn prefix_spans(leads: &[LinePrefix], first: bool) -> Vec<BodySpan> {
    let mut spans = Vec::new();
    let last = leads
        .iter()
        .rposition(|lead| matches!(lead, LinePrefix::ListItem { .. }));
    for (at, lead) in leads.iter().enumerate() {
        match lead {
            LinePrefix::Quote => wrap::push_span(
                &mut spans,
                "> ",
                SpanStyle {
                    role: SpanRole::Quote,
                    ..SpanStyle::default()
                },
            ),
            LinePrefix::ListItem { marker: mark, .. } if first && Some(at) == last => {
                wrap::push_span(
                    &mut spans,
                    mark,
                    SpanStyle {
                        role: SpanRole::Rule,
                        ..SpanStyle::default()
                    },
                );
            }
            LinePrefix::ListItem { marker: mark, .. } => {
                wrap::push_span(&mut spans, &" ".repeat(mark.width()), SpanStyle::default());
            }
        }
    }
    spans
}

fn rule_line(width: usize) -> BodyLine {
    let mark = SpanStyle {
        role: SpanRole::Rule,
        ..SpanStyle::default()
    };
    BodyLine {
        spans: vec![BodySpan {
            text: "─".repeat((width / 8).clamp(1, 12)).into(),
            style: mark,
        }],
        ..BodyLine::default()
    }
}
