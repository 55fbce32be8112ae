//! The plain-text part: quoting, flowed paragraphs and URLs are seen, everything else is left as typed.

use linkify::{LinkFinder, LinkKind as Found};
use unicode_width::UnicodeWidthStr;

use super::body::{Body, BodyLine, BodySpan, Link, SpanRole, SpanStyle};
use super::links;
use super::wrap::{self, WrapRun};

/// More lines than anybody reads; the rest is cut with a note.
pub(super) const MAX_LINES: usize = 50_000;

/// How deep quote marks are counted.
const MAX_QUOTE_DEPTH: usize = 20;

/// One paragraph of a text, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextParagraph {
    /// How often it is quoted.
    quote_depth: usize,
    /// The text without its quote marks.
    text: String,
    /// Links by byte range, in order.
    links: Vec<(std::ops::Range<usize>, u16)>,
    /// Set in columns with blanks, so it is panned instead of wrapped.
    is_tabular: bool,
}

/// A cleaned text, taken apart once so that it can be wrapped at any width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TextPart {
    paragraphs: Vec<TextParagraph>,
    links: Vec<Link>,
}

impl TextPart {
    /// Takes `source` apart; it must be clean.
    pub(super) fn new(source: &str) -> Self {
        let lines: Vec<(usize, &str)> = source.lines().map(strip_quotes).collect();
        let flowed = is_flowed(&lines);
        let mut text = Self::default();
        let mut open: Option<(usize, String)> = None;
        for (quotes, line) in lines {
            let goes_on = flowed && line.ends_with(' ') && line != "-- ";
            match &mut open {
                Some((depth, before)) if *depth == quotes && line != "-- " => before.push_str(line),
                other => {
                    if let Some((depth, before)) = other.take() {
                        text.add_paragraph(depth, &before);
                    }
                    *other = Some((quotes, line.to_owned()));
                }
            }
            if !goes_on && let Some((depth, whole)) = open.take() {
                text.add_paragraph(depth, &whole);
            }
        }
        if let Some((depth, rest)) = open {
            text.add_paragraph(depth, &rest);
        }
        text
    }

    fn add_paragraph(&mut self, quotes: usize, text: &str) {
        let text = text.trim_end().to_owned();
        let mut found = Vec::new();
        let mut finder = LinkFinder::new();
        finder.url_can_be_iri(false);
        for link in finder.links(&text) {
            let Ok(number) = u16::try_from(self.links.len()) else {
                break;
            };
            let target = match link.kind() {
                Found::Email => format!("mailto:{}", link.as_str()),
                _ => link.as_str().to_owned(),
            };
            self.links.push(links::inspect_link(link.as_str(), &target));
            found.push((link.start()..link.end(), number));
        }
        let columns = has_columns(&text);
        self.paragraphs.push(TextParagraph {
            quote_depth: quotes,
            text,
            links: found,
            is_tabular: columns,
        });
    }

    /// Wraps the text at `width` columns.
    pub(super) fn lay_out(&self, width: usize) -> Body {
        let mut body = Body {
            links: self.links.clone(),
            ..Body::default()
        };
        for paragraph in &self.paragraphs {
            if body.lines.len() >= MAX_LINES {
                body.notices
                    .push(super::notices::truncated("it has more than 50 000 lines"));
                break;
            }
            paragraph.wrap(width, &mut body.lines);
        }
        body
    }
}

impl TextParagraph {
    fn wrap(&self, width: usize, out: &mut Vec<BodyLine>) {
        let quoted = SpanStyle {
            role: SpanRole::Quote,
            ..SpanStyle::default()
        };
        let lead: Vec<BodySpan> = if self.quote_depth == 0 {
            Vec::new()
        } else {
            vec![BodySpan {
                text: format!("{} ", ">".repeat(self.quote_depth)).into(),
                style: quoted,
            }]
        };
        let plain = if self.quote_depth == 0 {
            SpanStyle::default()
        } else {
            quoted
        };
        let mut pieces = Vec::new();
        let mut at = 0;
        for (range, link) in &self.links {
            pieces.push(WrapRun {
                text: &self.text[at..range.start],
                style: plain,
                no_break: false,
            });
            pieces.push(WrapRun {
                text: &self.text[range.clone()],
                style: SpanStyle {
                    role: SpanRole::Link,
                    link: Some(*link),
                    ..SpanStyle::default()
                },
                no_break: true,
            });
            at = range.end;
        }
        pieces.push(WrapRun {
            text: &self.text[at..],
            style: plain,
            no_break: false,
        });
        let rtl = links::is_rtl(&self.text);
        let unwrapped = self.is_tabular && self.text.width() + wrap::spans_width(&lead) > width;
        let lines = wrap::wrap_lines(
            &pieces,
            if unwrapped { usize::MAX } else { width },
            &lead,
            &lead,
        );
        out.extend(lines.into_iter().map(|line| BodyLine {
            rtl,
            wide: line.wide || unwrapped,
            ..line
        }));
    }
}

/// Splits the quote marks off a line: `> > text` is quoted twice.
fn strip_quotes(line: &str) -> (usize, &str) {
    let mut quotes = 0;
    let mut rest = line;
    while quotes < MAX_QUOTE_DEPTH {
        let inner = if quotes == 0 {
            rest
        } else {
            rest.strip_prefix(' ').unwrap_or(rest)
        };
        let Some(after) = inner.strip_prefix('>') else {
            break;
        };
        rest = after;
        quotes += 1;
    }
    (
        quotes,
        if quotes == 0 {
            rest
        } else {
            rest.strip_prefix(' ').unwrap_or(rest)
        },
    )
}

/// Whether the blanks at the ends of lines mean that paragraphs flow on (RFC 3676).
///
/// The service does not hand on the header that would say so, hence the guess: programs that flow
/// break close to column 72, whereas stray blanks stand after lines of any length.
fn is_flowed(lines: &[(usize, &str)]) -> bool {
    let soft = lines
        .iter()
        .filter(|(_, line)| line.ends_with(' ') && *line != "-- ")
        .map(|(_, line)| line.width());
    let (near, all) = soft.fold((0, 0), |(near, all), width| {
        (near + usize::from((50..=79).contains(&width)), all + 1)
    });
    all >= 2 && near * 10 >= all * 9
}

/// Whether a line is set in columns: three blanks or more between words, twice or with figures.
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
        TextPart::new(source)
            .lay_out(width)
            .lines
            .iter()
            .map(BodyLine::text)
            .collect()
    }

    #[test]
    fn quotes_keep_their_marks_on_every_wrapped_line() {
        assert_eq!(
            shown(">> two words here", 10),
            [">> two", ">> words", ">> here"]
        );
        assert_eq!(shown("> > nested\nplain", 20), [">> nested", "plain"]);
    }

    #[test]
    fn flowed_paragraphs_are_joined_and_the_signature_is_not() {
        let line = "This line is long enough that a program broke it right here, and \n";
        let source = format!("{line}{line}then it ends.\n-- \nAna");
        let lines = shown(&source, 200);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].ends_with("and then it ends."), "{lines:?}");
        assert_eq!(lines[1..], ["--", "Ana"]);
    }

    #[test]
    fn stray_blanks_do_not_make_a_text_flow() {
        assert_eq!(
            shown("Hi, \nhow are you? \nBye", 40),
            ["Hi,", "how are you?", "Bye"]
        );
    }

    #[test]
    fn links_are_found_and_kept_whole() {
        let body =
            TextPart::new("go to https://example.com/a-long-path?x=1, or write to ana@example.org")
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
    fn columns_are_panned_not_wrapped() {
        let body = TextPart::new("Item          Qty      Price").lay_out(16);
        assert_eq!(body.lines.len(), 1);
        assert!(body.lines[0].wide);
    }

    proptest! {
        #[test]
        fn every_word_stays_once_and_in_order(source in "([a-z>]{0,9}[ \n]){0,40}", width in 1..30_usize) {
            let shown = shown(&source, width).concat();
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&source));
        }
    }
}
