//! Rows of code, html or JSON: coloured, indented by their depth, and wrapped under themselves.

use super::body::{Body, BodySpan, LineEnd, SpanRole, SpanStyle};
use super::wrap::{self, WrapRun};
use super::{notices, text_part};

/// Deeper nesting is no longer indented.
const MAX_INDENT: usize = 24;

/// One row, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CodeLine {
    /// How often it is indented.
    pub(super) depth: usize,
    /// What stands in it.
    pub(super) runs: Vec<(String, SpanStyle)>,
    /// What it ends with in the text it was made from.
    pub(super) end: LineEnd,
}

/// Wraps `rows` at `width` columns; what does not fit a row goes on `hang` columns further in.
pub(super) fn wrap_code_lines(rows: &[CodeLine], width: usize, hang: usize) -> Body {
    let mut body = Body::default();
    for row in rows {
        if body.lines.len() >= text_part::MAX_LINES {
            body.notices
                .push(notices::truncated("it has more than 50 000 lines"));
            break;
        }
        let lead = |more: usize| -> Vec<BodySpan> {
            let blanks = (row.depth.min(MAX_INDENT) * 2 + more).min(width / 3);
            if blanks == 0 {
                Vec::new()
            } else {
                vec![BodySpan {
                    text: " ".repeat(blanks).into(),
                    style: style_of_role(SpanRole::Indent),
                }]
            }
        };
        let pieces: Vec<WrapRun<'_>> = row
            .runs
            .iter()
            .map(|(text, mark)| WrapRun {
                text,
                style: *mark,
                no_break: false,
            })
            .collect();
        let mut lines = wrap::wrap_lines(&pieces, width, &lead(0), &lead(hang));
        if let Some(last) = lines.last_mut() {
            last.end = row.end;
        }
        body.lines.extend(lines);
    }
    body
}

/// The look of a role and nothing else.
pub(super) fn style_of_role(role: SpanRole) -> SpanStyle {
    SpanStyle {
        role,
        ..SpanStyle::default()
    }
}
