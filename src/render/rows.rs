//! Rows of code, html or JSON: coloured, indented by their depth, and wrapped under themselves.

use super::body::{Body, End, Mark, Role, Span};
use super::flow::{self, Piece};
use super::{notes, text};

/// Deeper nesting is no longer indented.
const MAX_DEPTH: usize = 24;

/// One row, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Row {
    /// How often it is indented.
    pub(super) depth: usize,
    /// What stands in it.
    pub(super) runs: Vec<(String, Mark)>,
    /// What it ends with in the text it was made from.
    pub(super) end: End,
}

/// Wraps `rows` at `width` columns; what does not fit a row goes on `hang` columns further in.
pub(super) fn wrap(rows: &[Row], width: usize, hang: usize) -> Body {
    let mut body = Body::default();
    for row in rows {
        if body.lines.len() >= text::MAX_LINES {
            body.notes.push(notes::cut("it has more than 50 000 lines"));
            break;
        }
        let lead = |more: usize| -> Vec<Span> {
            let blanks = (row.depth.min(MAX_DEPTH) * 2 + more).min(width / 3);
            if blanks == 0 {
                Vec::new()
            } else {
                vec![Span {
                    text: " ".repeat(blanks).into(),
                    mark: mark(Role::Indent),
                }]
            }
        };
        let pieces: Vec<Piece<'_>> = row
            .runs
            .iter()
            .map(|(text, mark)| Piece {
                text,
                mark: *mark,
                whole: false,
            })
            .collect();
        let mut lines = flow::wrap(&pieces, width, &lead(0), &lead(hang));
        if let Some(last) = lines.last_mut() {
            last.end = row.end;
        }
        body.lines.extend(lines);
    }
    body
}

/// The look of a role and nothing else.
pub(super) fn mark(role: Role) -> Mark {
    Mark {
        role,
        ..Mark::default()
    }
}
