//! Where what is looked for stands in a body, so that it can be marked and walked.

use std::ops::Range;
use std::sync::Arc;

use crate::query::fold::is_unspaced;
use crate::query::{Field, Needle, Query};
use crate::render::{Body, Role};

/// What is looked for in a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Sought {
    /// What a filter looks for in bodies: beginnings of words, as the archive finds them.
    Filter(Arc<Query>),
    /// This text, wherever it stands.
    Text(Needle),
}

impl Sought {
    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Filter(query) => query.sought().is_empty(),
            Self::Text(_) => false,
        }
    }

    /// Where it stands in `text`, in order and without overlaps.
    fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = match self {
            Self::Text(needle) => needle.parts_of(text),
            Self::Filter(query) => {
                let sought = query.sought();
                let of_bodies = sought.into_iter().filter(|(field, _)| matches!(field, None | Some(Field::Body)));
                of_bodies.flat_map(|(_, needle)| needle.runs_of(text)).collect()
            }
        };
        found.sort_by_key(|range| (range.start, range.end));
        found.dedup_by(|next, before| next.start < before.end);
        found
    }
}

/// A place in a body: a line and bytes of its text, and of the lines below it if it was wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Top to bottom; never empty.
    pub parts: Vec<(usize, Range<usize>)>,
}

impl Mark {
    /// The line on which it begins.
    #[must_use]
    pub fn line(&self) -> usize {
        self.parts.first().map_or(0, |(line, _)| *line)
    }
}

/// More marks than anybody walks.
const MOST: usize = 1_000;

/// Every place of the body where what is sought stands, top to bottom, also across the ends of lines.
#[must_use]
pub fn marks(body: &Body, sought: &Sought) -> Vec<Mark> {
    let text = Joined::new(body);
    sought.found_in(&text.text).into_iter().take(MOST).map(|range| text.mark(range)).filter(|mark| !mark.parts.is_empty()).collect()
}

/// The lines of a body as one text.
#[derive(Default)]
struct Joined {
    text: String,
    pieces: Vec<Piece>,
}

/// A span of a line: where it stands in the one text and in its line.
struct Piece {
    joined: Range<usize>,
    line: usize,
    at: usize,
}

impl Joined {
    fn new(body: &Body) -> Self {
        let mut joined = Self::default();
        for (nth, line) in body.lines.iter().enumerate() {
            let begun = joined.text.len();
            let mut at = 0;
            for span in &line.spans {
                // What stands before each line of a quote or a list is no part of what it says.
                if span.mark.role != Role::Indent {
                    joined.push(&span.text, nth, at, begun);
                }
                at += span.text.len();
            }
        }
        joined
    }

    fn push(&mut self, text: &str, line: usize, at: usize, begun: usize) {
        let first_of_line = self.text.len() == begun;
        let (before, first) = (self.text.chars().next_back(), text.chars().next());
        // A script without blanks is wrapped anywhere; everything else where a blank was.
        if first_of_line && begun > 0 && !(before.is_some_and(is_unspaced) && first.is_some_and(is_unspaced)) {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push(Piece { joined: start..self.text.len(), line, at });
    }

    fn mark(&self, range: Range<usize>) -> Mark {
        let mut parts: Vec<(usize, Range<usize>)> = Vec::new();
        let first = self.pieces.partition_point(|piece| piece.joined.end <= range.start);
        for piece in self.pieces[first..].iter().take_while(|piece| piece.joined.start < range.end) {
            let (start, end) = (range.start.max(piece.joined.start), range.end.min(piece.joined.end));
            let within = piece.at + (start - piece.joined.start)..piece.at + (end - piece.joined.start);
            match parts.last_mut() {
                Some((line, before)) if *line == piece.line && before.end == within.start => before.end = within.end,
                _ if within.is_empty() => {}
                _ => parts.push((piece.line, within)),
            }
        }
        Mark { parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{self, Line, Span};

    fn body(lines: &[&[(Role, &str)]]) -> Body {
        let span =
            |(role, text): &(Role, &str)| Span { text: (*text).into(), mark: render::Mark { role: *role, ..render::Mark::default() } };
        let line = |spans: &&[(Role, &str)]| Line { spans: spans.iter().map(span).collect(), ..Line::default() };
        Body { lines: lines.iter().map(line).collect(), ..Body::default() }
    }

    fn found(body: &Body, text: &str) -> Vec<Vec<(usize, String)>> {
        let marked = marks(body, &Sought::Text(Needle::new(text).unwrap()));
        let part = |(line, range): &(usize, Range<usize>)| (*line, body.lines[*line].text()[range.clone()].to_owned());
        marked.iter().map(|mark| mark.parts.iter().map(part).collect()).collect()
    }

    #[test]
    fn text_is_found_anywhere_and_across_the_ends_of_lines() {
        let body = body(&[
            &[(Role::Indent, "> "), (Role::Text, "Your new "), (Role::Link, "Receipt")],
            &[(Role::Indent, "> "), (Role::Text, "is here.")],
            &[],
            &[(Role::Text, "ご注文の")],
            &[(Role::Text, "確認 receipts")],
        ]);
        let part = |line: usize, text: &str| (line, text.to_owned());
        assert_eq!(found(&body, "eceipt"), [[part(0, "eceipt")], [part(4, "eceipt")]]);
        assert_eq!(found(&body, "new receipt is"), [[part(0, "new Receipt"), part(1, "is")]]);
        assert_eq!(found(&body, "の確認"), [[part(3, "の"), part(4, "確認")]]);
        assert_eq!(found(&body, "here. ご"), [[part(1, "here."), part(3, "ご")]]);
        assert!(found(&body, ">").is_empty());
    }
}
