//! The plain-text part: quotes, flowed paragraphs (RFC 3676), columns and links.

use crate::text::width::DisplayWidth as _;
use linkify::{LinkFinder, LinkKind};

use super::body::{
    Body, BodyLine, BodySpan, Link, MAX_LINES, SpanRole, SpanStyle, push_span, spans_width,
};
use super::layout::wrap::{self, WrapRun};
use super::links;

/// Deeper quote marks are read as text.
const MAX_QUOTE_DEPTH: usize = 20;

/// A paragraph of a text, not wrapped yet.
#[derive(Debug)]
struct TextParagraph {
    quote_depth: usize,
    /// The text without its quote marks.
    text: String,
    /// Byte ranges of links and their index in [`TextPart::links`], in order.
    links: Vec<(std::ops::Range<usize>, u16)>,
    /// Has columns made of spaces, so it is not wrapped.
    is_tabular: bool,
}

/// A parsed text part.
#[derive(Debug, Default)]
pub(super) struct TextPart {
    paragraphs: Vec<TextParagraph>,
    links: Vec<Link>,
}

impl TextPart {
    /// Parses sanitized text.
    pub(super) fn parse(source: &str) -> Self {
        let lines = source.lines().map(strip_quotes);
        let flowed = is_flowed(lines.clone());
        let mut paragraphs: Vec<(usize, String)> = Vec::new();
        let mut continues = false;
        for (depth, line) in lines {
            match paragraphs.last_mut() {
                Some((above, text)) if continues && *above == depth && line != "-- " => {
                    text.push_str(line);
                }
                _ => paragraphs.push((depth, line.to_owned())),
            }
            if paragraphs.len() > MAX_LINES {
                break;
            }
            continues = flowed && line.ends_with(' ') && line != "-- ";
        }
        let mut part = Self::default();
        for (depth, text) in &paragraphs {
            part.add_paragraph(*depth, text);
        }
        part
    }

    fn add_paragraph(&mut self, quote_depth: usize, text: &str) {
        let text = text.trim_end().to_owned();
        let mut links = Vec::new();
        let mut finder = LinkFinder::new();
        finder.url_can_be_iri(false);
        for link in finder.links(&text) {
            let Ok(number) = u16::try_from(self.links.len()) else {
                break;
            };
            let target = match link.kind() {
                LinkKind::Email => format!("mailto:{}", link.as_str()),
                _ => link.as_str().to_owned(),
            };
            self.links.push(links::inspect_link(link.as_str(), &target));
            links.push((link.start()..link.end(), number));
        }
        self.paragraphs.push(TextParagraph {
            quote_depth,
            is_tabular: has_columns(&text),
            text,
            links,
        });
    }

    /// Wraps the text at `width` columns.
    pub(super) fn lay_out(&self, width: usize) -> Body {
        let mut lines = Vec::new();
        for paragraph in &self.paragraphs {
            if lines.len() > MAX_LINES {
                break;
            }
            paragraph.wrap(width, &mut lines);
        }
        Body {
            lines,
            links: self.links.clone(),
            ..Body::default()
        }
    }
}

impl TextParagraph {
    fn wrap(&self, width: usize, out: &mut Vec<BodyLine>) {
        let mut prefix: Vec<BodySpan> = Vec::new();
        let mut style = SpanStyle::default();
        if self.quote_depth > 0 {
            style.role = SpanRole::Quote;
            let marks = ">".repeat(self.quote_depth);
            push_span(&mut prefix, &format!("{marks} "), style);
        }
        let mut runs = Vec::new();
        let mut end = 0;
        for (range, link) in &self.links {
            runs.push(WrapRun::new(&self.text[end..range.start], style));
            runs.push(WrapRun {
                text: &self.text[range.clone()],
                style: SpanStyle {
                    link: Some(*link),
                    ..SpanRole::Link.into()
                },
                no_break: true,
            });
            end = range.end;
        }
        runs.push(WrapRun::new(&self.text[end..], style));
        let unwrapped = self.is_tabular && self.text.width() + spans_width(&prefix) > width;
        let width = if unwrapped { usize::MAX } else { width };
        for line in wrap::wrap_lines(&runs, width, &prefix, &prefix) {
            out.push(BodyLine {
                wide: line.wide || unwrapped,
                ..line
            });
        }
    }
}

/// Splits a line into its quote depth and its text: `> > text` has depth 2.
fn strip_quotes(line: &str) -> (usize, &str) {
    let mut depth = 0;
    let mut rest = line;
    loop {
        let inner = if depth == 0 {
            rest
        } else {
            rest.strip_prefix(' ').unwrap_or(rest)
        };
        match inner.strip_prefix('>') {
            Some(after) if depth < MAX_QUOTE_DEPTH => rest = after,
            _ => return (depth, inner),
        }
        depth += 1;
    }
}

/// True if spaces at line ends mean that a paragraph continues (RFC 3676).
///
/// The service does not pass on the header that says so, hence a guess: mail programs break flowed
/// lines close to column 72, while accidental trailing spaces follow lines of any length.
fn is_flowed<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> bool {
    let soft = lines
        .filter(|(_, line)| line.ends_with(' ') && *line != "-- ")
        .map(|(_, line)| line.width());
    let (near, all) = soft.fold((0, 0), |(near, all), width| {
        (near + usize::from((50..=79).contains(&width)), all + 1)
    });
    all >= 2 && near * 10 >= all * 9
}

/// True if a line has at least three columns, separated by three spaces or more.
fn has_columns(text: &str) -> bool {
    let mut columns = text
        .trim()
        .split("   ")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    columns.nth(2).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(source: &str, width: usize) -> Vec<String> {
        TextPart::parse(source)
            .lay_out(width)
            .lines
            .iter()
            .map(BodyLine::text)
            .collect()
    }

    #[test]
    fn wrapped_quotes_repeat_their_marks() {
        assert_eq!(
            shown(">> two words here", 10),
            [">> two", ">> words", ">> here"]
        );
        assert_eq!(shown("> > nested\nplain", 20), [">> nested", "plain"]);
    }

    #[test]
    fn flowed_lines_join_except_the_signature() {
        let line = "This line is long enough that a program broke it right here, and \n";
        let source = format!("{line}{line}then it ends.\n-- \nAna");
        let lines = shown(&source, 200);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].ends_with("and then it ends."), "{lines:?}");
        assert_eq!(lines[1..], ["--", "Ana"]);
    }

    #[test]
    fn few_trailing_spaces_do_not_mean_flowed_text() {
        assert_eq!(
            shown("Hi, \nhow are you? \nBye", 40),
            ["Hi,", "how are you?", "Bye"]
        );
    }

    #[test]
    fn links_are_found_and_stay_whole() {
        let body = TextPart::parse(
            "go to https://example.com/a-long-path?x=1, or write to ana@example.org",
        )
        .lay_out(20);
        assert_eq!(body.links.len(), 2);
        assert_eq!(
            &*body.links[0].target,
            "https://example.com/a-long-path?x=1"
        );
        assert_eq!(&*body.links[1].target, "mailto:ana@example.org");
        assert!(body.lines.iter().any(|line| {
            line.wide
                && line
                    .text()
                    .starts_with("https://example.com/a-long-path?x=1")
        }));
    }

    #[test]
    fn tabular_lines_are_not_wrapped() {
        let body = TextPart::parse("Item          Qty      Price").lay_out(16);
        assert_eq!(body.lines.len(), 1);
        assert!(body.lines[0].wide);
    }

    proptest! {
        #[test]
        fn every_word_stays_once_in_order(source in "([a-z>]{0,9}[ \n]){0,40}", width in 1..30_usize) {
            let shown = shown(&source, width).concat();
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&source));
        }
    }
}
