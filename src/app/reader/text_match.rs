//! The matches of a search in a body, as lines and bytes.
//!
//! The effect runner calls [`find_matches`]; `Reader` keeps the result.

use std::ops::Range;
use std::sync::Arc;

use crate::query::normalize::is_unspaced_script;
use crate::query::{Field, NormalizedText, Query, SearchText};
use crate::render::{Body, BodyLine};

/// A search for text in the email.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FindState {
    pub(in crate::app) text: SearchText,
    /// The scroll position at the start of the search, where it begins.
    pub(super) start_line: usize,
    /// Whether to scroll to the first match; the next email is read from its start.
    pub(super) jump_to_first: bool,
}

/// A pattern to search in a body.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchPattern {
    /// The words of a filter: starts of words, as the archive finds them.
    Filter(Arc<Query>),
    /// A text anywhere, also inside words.
    Text(SearchText),
}

impl SearchPattern {
    /// Whether nothing can match.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Filter(query) => query.highlight_terms().is_empty(),
            Self::Text(_) => false,
        }
    }

    /// The matches in `text`, in order and without overlaps.
    fn find_in(&self, text: &str) -> Vec<Range<usize>> {
        let text = NormalizedText::new(text);
        let mut found: Vec<Range<usize>> = match self {
            Self::Text(term) => text.find_substrings(term),
            Self::Filter(query) => {
                let terms = query.highlight_terms().into_iter();
                let terms = terms.filter(|(field, _)| matches!(field, None | Some(Field::Body)));
                terms
                    .flat_map(|(_, term)| text.find_word_runs(term))
                    .collect()
            }
        };
        found.sort_unstable_by_key(|range| (range.start, range.end));
        found.dedup_by(|next, before| next.start < before.end);
        found
    }
}

/// A match: one range of bytes in each line that it touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    /// From the top to the bottom; never empty.
    pub parts: Vec<(usize, Range<usize>)>,
}

impl TextMatch {
    /// The line on which it starts.
    pub fn first_line(&self) -> usize {
        self.parts.first().map_or(0, |(line, _)| *line)
    }
}

/// More matches than a user steps through.
const MAX_MATCHES: usize = 1_000;

/// A chunk ends at the first blank line after this many bytes,
/// because normalised text takes many times its size. Four chunks without a blank line are cut at a
/// line end; a match across that cut is lost.
const CHUNK_BYTES: usize = 1 << 16;

/// Finds all matches from the top to the bottom, also across line ends;
/// stops if not `is_wanted`.
pub fn find_matches(
    body: &Body,
    pattern: &SearchPattern,
    is_wanted: impl Fn() -> bool,
) -> Vec<TextMatch> {
    let mut matches = Vec::new();
    let mut joined = JoinedText::default();
    let mut start = 0;
    // Lines of boxes beside each other are read box by box.
    for lines in body
        .lines
        .chunk_by(|line, next| line.columns.len() == next.columns.len() && !line.columns.is_empty())
    {
        joined.push_lines(start, lines);
        start += lines.len();
        let is_enough = joined.text.len() >= CHUNK_BYTES
            && (lines[0].spans.is_empty() || joined.text.len() >= 4 * CHUNK_BYTES);
        if start == body.lines.len() || is_enough {
            let ranges = pattern.find_in(&joined.text).into_iter();
            let found = ranges.map(|range| joined.to_match(range));
            matches.extend(found.filter(|found| !found.parts.is_empty()));
            joined = JoinedText::default();
            if matches.len() >= MAX_MATCHES || !is_wanted() {
                break;
            }
        }
    }
    matches.sort_by_key(TextMatch::first_line);
    matches.truncate(MAX_MATCHES);
    matches
}

/// Lines of a body as one text.
#[derive(Default)]
struct JoinedText {
    text: String,
    spans: Vec<JoinedSpan>,
}

/// A span of a line in the joined text.
struct JoinedSpan {
    /// Its bytes in the joined text.
    range: Range<usize>,
    line: usize,
    /// Its first byte in the line.
    offset: usize,
}

impl JoinedText {
    /// Adds lines of the same number of parts, part by part; `first` is the first line.
    fn push_lines(&mut self, first: usize, lines: &[BodyLine]) {
        // A phrase that wraps in a quote must be found although `>` is before its second line.
        for part in 0..lines[0].columns.len().max(1) {
            for (nth, line) in (first..).zip(lines) {
                self.push_part(nth, line, &line.part(part));
            }
        }
    }

    fn push_part(&mut self, nth: usize, line: &BodyLine, part: &Range<usize>) {
        let begun = self.text.len();
        let mut at = 0;
        for span in &line.spans {
            let end = at + span.text.len();
            let range = part.start.max(at)..part.end.min(end);
            if !range.is_empty() {
                let text = &span.text[range.start - at..range.end - at];
                self.push(text, nth, range.start, begun);
            }
            at = end;
        }
    }

    fn push(&mut self, text: &str, line: usize, at: usize, begun: usize) {
        let first_of_line = self.text.len() == begun;
        let (before, first) = (self.text.chars().next_back(), text.chars().next());
        // A script without spaces wraps anywhere; everything else wraps at a space.
        if first_of_line
            && begun > 0
            && !(before.is_some_and(is_unspaced_script) && first.is_some_and(is_unspaced_script))
        {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push(JoinedSpan {
            range: start..self.text.len(),
            line,
            offset: at,
        });
    }

    fn to_match(&self, range: Range<usize>) -> TextMatch {
        let mut parts: Vec<(usize, Range<usize>)> = Vec::new();
        let first = self
            .spans
            .partition_point(|span| span.range.end <= range.start);
        for span in &self.spans[first..] {
            if span.range.start >= range.end {
                break;
            }
            let start = range.start.max(span.range.start) - span.range.start;
            let end = range.end.min(span.range.end) - span.range.start;
            let in_line = span.offset + start..span.offset + end;
            match parts.last_mut() {
                Some((line, before)) if *line == span.line && before.end == in_line.start => {
                    before.end = in_line.end;
                }
                _ if in_line.is_empty() => {}
                _ => parts.push((span.line, in_line)),
            }
        }
        TextMatch { parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::{Email, Summary};
    use crate::render::{self, BodySpan, BodyView, SpanRole};

    /// A body of lines of spans;
    /// spans of spaces or quote marks are the prefix of their line.
    fn body(lines: &[&[(SpanRole, &str)]]) -> Body {
        let span = |(role, text): &(SpanRole, &str)| BodySpan {
            text: (*text).into(),
            style: (*role).into(),
        };
        let line = |spans: &&[(SpanRole, &str)]| BodyLine {
            spans: spans.iter().map(span).collect(),
            prefix: spans
                .iter()
                .take_while(|(role, _)| *role == SpanRole::Indent)
                .map(|(_, text)| text.len())
                .sum(),
            ..BodyLine::default()
        };
        Body {
            lines: lines.iter().map(line).collect(),
            ..Body::default()
        }
    }

    fn found(body: &Body, text: &str) -> Vec<Vec<(usize, String)>> {
        let pattern = SearchPattern::Text(SearchText::new(text).unwrap());
        let part = |(line, range): &(usize, Range<usize>)| {
            (*line, body.lines[*line].text()[range.clone()].to_owned())
        };
        find_matches(body, &pattern, || true)
            .iter()
            .map(|found| found.parts.iter().map(part).collect())
            .collect()
    }

    #[test]
    fn text_is_found_anywhere_and_across_lines() {
        let body = body(&[
            &[
                (SpanRole::Indent, "> "),
                (SpanRole::Text, "Your new "),
                (SpanRole::Link, "Receipt"),
            ],
            &[(SpanRole::Indent, "> "), (SpanRole::Text, "is here.")],
            &[],
            &[(SpanRole::Text, "ご注文の")],
            &[(SpanRole::Text, "確認 receipts")],
        ]);
        let part = |line: usize, text: &str| (line, text.to_owned());
        assert_eq!(
            found(&body, "eceipt"),
            [[part(0, "eceipt")], [part(4, "eceipt")]]
        );
        assert_eq!(
            found(&body, "new receipt is"),
            [[part(0, "new Receipt"), part(1, "is")]]
        );
        assert_eq!(found(&body, "の確認"), [[part(3, "の"), part(4, "確認")]]);
        assert_eq!(
            found(&body, "here. ご"),
            [[part(1, "here."), part(3, "ご")]]
        );
        assert!(found(&body, ">").is_empty());
    }

    #[test]
    fn phrase_wrapped_in_quote_or_list_is_found() {
        let text = "The parcel was handed over to the neighbour on the second floor.";
        let html = format!("<blockquote>{text}</blockquote><ol><li>{text}</ol>");
        let found_in = |html: Option<&str>, text: &str| {
            let email = Email {
                summary: Summary::from(&crate::api::wire::Summary::default()),
                html: html.map(Arc::from),
                text: Some(Arc::from(text)),
                tags: Vec::new(),
                json: Arc::from("{}"),
            };
            let body = render::lay_out(&email, BodyView::Rendered, 24);
            let found = found(&body, "over to the neighbour on the second");
            let texts = found.iter().map(|parts| {
                let texts = parts.iter().map(|(_, text)| text.as_str());
                texts.collect::<Vec<_>>().join(" ")
            });
            texts.collect::<Vec<_>>()
        };
        let phrase = "over to the neighbour on the second";
        assert_eq!(found_in(Some(&html), ""), [phrase, phrase]);
        assert_eq!(found_in(None, &format!("> > {text}")), [phrase]);
        assert_eq!(found_in(None, &format!("    {text}")), [phrase]);
    }

    #[test]
    fn phrase_wrapped_in_one_column_is_found() {
        let html = "<table width=600><tr><td width=300>Pick up<br>Open at the harbour office of our town, every day\
                    <td width=300>At home<br>We ask the neighbours to take it in for you, as always</table>";
        let body = render::lay_out_html(html, 100);
        let shown = body.text();
        assert!(
            shown.lines().next().unwrap().contains("    At home"),
            "{shown}"
        );
        for phrase in ["town, every day", "for you, as always"] {
            let parts = found(&body, phrase);
            assert_eq!(parts.len(), 1, "{phrase}\n{shown}");
            assert_eq!(parts[0].len(), 2, "{phrase}\n{shown}");
        }
        assert!(found(&body, "pick up at home").is_empty(), "{shown}");
    }

    #[test]
    fn long_body_is_searched_in_chunks_while_wanted() {
        let text = format!("a line {} and a needle...", "of many words ".repeat(20));
        let line: &[(SpanRole, &str)] = &[(SpanRole::Text, &text)];
        let lines: Vec<_> = std::iter::repeat_n([line, line, &[]], 400)
            .flatten()
            .collect();
        let body = body(&lines);
        let pattern = SearchPattern::Text(SearchText::new("needle... a line").unwrap());
        let found = find_matches(&body, &pattern, || true);
        assert!(found.iter().all(|found| found.parts.len() == 2));
        let within_pairs = found
            .iter()
            .filter(|found| found.parts[0].0 + 1 == found.parts[1].0)
            .count();
        assert_eq!(within_pairs, 400, "no chunk ends within a paragraph");
        let stopped = find_matches(&body, &pattern, || false).len();
        assert!((1..found.len() / 2).contains(&stopped), "{stopped}");
        let everywhere = SearchPattern::Text(SearchText::new("e").unwrap());
        assert_eq!(find_matches(&body, &everywhere, || true).len(), MAX_MATCHES);
    }
}
