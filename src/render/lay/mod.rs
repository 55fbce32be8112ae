//! Lays plain blocks out at a width: text by html2text, tables in columns, blank lines as on the page.

mod columns;
mod engine;

use unicode_width::UnicodeWidthStr;

use super::body::{Line, Mark, Role, Span};
use super::flow;
use super::rebuild::{Block, Cell, Kind, Lead, Para};

/// Space on the page, in pixels, that is a blank line here. A little less than the height of a
/// line, because where things stand is a guess.
const BLANK: f32 = 11.5;

/// The same between two rows of a table, which belong closer together.
const BETWEEN_ROWS: f32 = 24.0;

/// What is left for text beside quote marks and indentation, at least.
const LEAST: usize = 16;

/// Lays `blocks` out at `width` columns.
pub(super) fn lay(blocks: &[Block], width: usize) -> Vec<Line> {
    let laid = texts(blocks, width);
    let mut out: Vec<Line> = Vec::new();
    let mut item = None;
    // Where the last words ended, pictures aside.
    let mut words = None;
    for (at, (block, lines)) in blocks.iter().zip(laid).enumerate() {
        let leads = shown_leads(&block.leads, width);
        if let Some(before) = at.checked_sub(1).map(|before| &blocks[before])
            && wants_blank(before, block, words)
            && !out.is_empty()
        {
            out.push(Line::default());
        }
        if !is_pictures(block) {
            words = Some(block.bottom);
        }
        let number = leads.iter().rev().find_map(|lead| match lead {
            Lead::Item { number, .. } => Some(*number),
            Lead::Quote => None,
        });
        let mut first = number.is_some() && number != item;
        item = number;
        for line in lines {
            let mut spans = lead_spans(leads, std::mem::take(&mut first));
            line.spans
                .iter()
                .for_each(|span| flow::push(&mut spans, &span.text, span.mark));
            let wide = line.wide || flow::width_of(&spans) > width;
            out.push(Line {
                spans,
                wide,
                ..line
            });
        }
    }
    out
}

/// The lines of each block, without what stands in front of them.
fn texts(blocks: &[Block], width: usize) -> Vec<Vec<Line>> {
    let inner = |block: &Block| width - lead_width(shown_leads(&block.leads, width));
    let mut laid = Vec::with_capacity(blocks.len());
    let mut at = 0;
    while at < blocks.len() {
        let block = &blocks[at];
        let same =
            |other: &&Block| other.leads == block.leads && is_alike(&block.kind, &other.kind);
        let count = blocks[at..].iter().take_while(same).count();
        let group = &blocks[at..at + count];
        match &block.kind {
            Kind::Para(_) => {
                let paras: Vec<&Para> = group
                    .iter()
                    .filter_map(|block| {
                        if let Kind::Para(para) = &block.kind {
                            Some(para)
                        } else {
                            None
                        }
                    })
                    .collect();
                laid.extend(engine::lines(&paras, inner(block)));
            }
            Kind::Row { .. } => {
                let rows: Vec<&[Cell]> = group
                    .iter()
                    .filter_map(|block| {
                        if let Kind::Row { cells, .. } = &block.kind {
                            Some(&cells[..])
                        } else {
                            None
                        }
                    })
                    .collect();
                laid.extend(columns::rows(&rows, inner(block)));
            }
            Kind::Rule => laid.extend(group.iter().map(|_| vec![rule(inner(block))])),
        }
        at += count;
    }
    laid
}

/// Whether two blocks are laid out together.
fn is_alike(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Para(_), Kind::Para(_)) | (Kind::Rule, Kind::Rule) => true,
        (Kind::Row { table, .. }, Kind::Row { table: same, .. }) => table == same,
        _ => false,
    }
}

/// Whether a blank line stands between two blocks; `words` is where the last words ended.
fn wants_blank(before: &Block, block: &Block, words: Option<f32>) -> bool {
    // The words for a picture are one line, however high it is: the rest of it is space.
    let above = if !is_pictures(before) || is_pictures(block) || block.top < before.bottom - 2.0 {
        before.bottom
    } else {
        words.unwrap_or(before.top).min(before.bottom)
    };
    let least = if matches!(block.kind, Kind::Row { .. }) && is_alike(&before.kind, &block.kind) {
        BETWEEN_ROWS
    } else {
        BLANK
    };
    // Beside each other on the page, below each other here.
    let beside =
        !is_pictures(before) && block.bottom <= before.bottom && block.top < before.bottom - BLANK;
    block.top - above >= least || beside
}

fn is_pictures(block: &Block) -> bool {
    matches!(&block.kind, Kind::Para(para) if para.pictures)
}

/// As many leads as leave room for text.
fn shown_leads(leads: &[Lead], width: usize) -> &[Lead] {
    let mut shown = leads.len();
    while shown > 0 && lead_width(&leads[..shown]) + LEAST.min(width) > width {
        shown -= 1;
    }
    &leads[..shown]
}

fn lead_width(leads: &[Lead]) -> usize {
    leads.iter().map(width_of).sum()
}

fn width_of(lead: &Lead) -> usize {
    match lead {
        Lead::Quote => 2,
        Lead::Item { mark, .. } => mark.width(),
    }
}

fn lead_spans(leads: &[Lead], first: bool) -> Vec<Span> {
    let mut spans = Vec::new();
    let last = leads
        .iter()
        .rposition(|lead| matches!(lead, Lead::Item { .. }));
    for (at, lead) in leads.iter().enumerate() {
        match lead {
            Lead::Quote => flow::push(
                &mut spans,
                "> ",
                Mark {
                    role: Role::Quote,
                    ..Mark::default()
                },
            ),
            Lead::Item { mark, .. } if first && Some(at) == last => {
                flow::push(
                    &mut spans,
                    mark,
                    Mark {
                        role: Role::Rule,
                        ..Mark::default()
                    },
                );
            }
            Lead::Item { mark, .. } => {
                flow::push(&mut spans, &" ".repeat(mark.width()), Mark::default());
            }
        }
    }
    spans
}

fn rule(width: usize) -> Line {
    let mark = Mark {
        role: Role::Rule,
        ..Mark::default()
    };
    Line {
        spans: vec![Span {
            text: "─".repeat((width / 8).clamp(1, 12)).into(),
            mark,
        }],
        ..Line::default()
    }
}
