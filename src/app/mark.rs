//! Where what a filter looks for stands in a body, so that it can be marked and walked.

use std::ops::Range;

use crate::query::{Field, Query};
use crate::render::Body;

/// A place in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The line.
    pub line: usize,
    /// Bytes of its text.
    pub range: Range<usize>,
}

/// More marks than anybody walks.
const MOST: usize = 1_000;

/// Every place where something that the query looks for begins a word of the body, top to bottom.
#[must_use]
pub fn marks(body: &Body, query: &Query) -> Vec<Mark> {
    let sought = query.sought();
    let needles: Vec<_> = sought.into_iter().filter(|(field, _)| matches!(field, None | Some(Field::Body))).collect();
    let mut marks = Vec::new();
    for (line, text) in body.lines.iter().map(crate::render::Line::text).enumerate() {
        let mut found: Vec<Range<usize>> = needles.iter().flat_map(|(_, needle)| needle.runs_of(&text)).collect();
        found.sort_by_key(|range| (range.start, range.end));
        found.dedup_by(|next, before| next.start < before.end);
        marks.extend(found.into_iter().map(|range| Mark { line, range }));
        if marks.len() >= MOST {
            break;
        }
    }
    marks
}
