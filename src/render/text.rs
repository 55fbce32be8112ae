//! The plain-text part: quoting, flowed paragraphs and URLs are seen, everything else is left as typed.

use linkify::{LinkFinder, LinkKind as Found};
use unicode_width::UnicodeWidthStr;

use super::body::{Body, Line, Link, Mark, Role, Span};
use super::flow::{self, Piece};
use super::links;

/// More lines than anybody reads; the rest is cut with a note.
pub(super) const MAX_LINES: usize = 50_000;

/// How deep quote marks are counted.
const MAX_QUOTES: usize = 20;

/// One paragraph of a text, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Paragraph {
    /// How often it is quoted.
    quotes: usize,
    /// The text without its quote marks.
    text: String,
    /// Links by byte range, in order.
    links: Vec<(std::ops::Range<usize>, u16)>,
    /// Set in columns with blanks, so it is panned instead of wrapped.
    columns: bool,
}

/// A cleaned text, taken apart once so that it can be wrapped at any width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Text {
    paragraphs: Vec<Paragraph>,
    links: Vec<Link>,
}

impl Text {
    /// Takes `source` apart; it must be clean.
    pub(super) fn new(source: &str) -> Self {
        let lines: Vec<(usize, &str)> = source.lines().map(unquoted).collect();
        let flowed = is_flowed(&lines);
        let mut text = Self::default();
        let mut open: Option<(usize, String)> = None;
        for (quotes, line) in lines {
            let goes_on = flowed && line.ends_with(' ') && line != "-- ";
            match &mut open {
                Some((depth, before)) if *depth == quotes && line != "-- " => before.push_str(line),
                other => {
                    if let Some((depth, before)) = other.take() {
                        text.add(depth, &before);
                    }
                    *other = Some((quotes, line.to_owned()));
                }
            }
            if !goes_on && let Some((depth, whole)) = open.take() {
                text.add(depth, &whole);
            }
        }
        if let Some((depth, rest)) = open {
            text.add(depth, &rest);
        }
        text
    }

    fn add(&mut self, quotes: usize, text: &str) {
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
            self.links.push(links::link(link.as_str(), &target));
            found.push((link.start()..link.end(), number));
        }
        let columns = has_columns(&text);
        self.paragraphs.push(Paragraph {
            quotes,
            text,
            links: found,
            columns,
        });
    }

    /// Wraps the text at `width` columns.
    pub(super) fn at(&self, width: usize) -> Body {
        let mut body = Body {
            links: self.links.clone(),
            ..Body::default()
        };
        for paragraph in &self.paragraphs {
            if body.lines.len() >= MAX_LINES {
                body.notes
                    .push(super::notes::cut("it has more than 50 000 lines"));
                break;
            }
            paragraph.wrap(width, &mut body.lines);
        }
        body
    }
}

impl Paragraph {
    fn wrap(&self, width: usize, out: &mut Vec<Line>) {
        let quoted = Mark {
            role: Role::Quote,
            ..Mark::default()
        };
        let lead: Vec<Span> = if self.quotes == 0 {
            Vec::new()
        } else {
            vec![Span {
                text: format!("{} ", ">".repeat(self.quotes)).into(),
                mark: quoted,
            }]
        };
        let plain = if self.quotes == 0 {
            Mark::default()
        } else {
            quoted
        };
        let mut pieces = Vec::new();
        let mut at = 0;
        for (range, link) in &self.links {
            pieces.push(Piece {
                text: &self.text[at..range.start],
                mark: plain,
                whole: false,
            });
            pieces.push(Piece {
                text: &self.text[range.clone()],
                mark: Mark {
                    role: Role::Link,
                    link: Some(*link),
                    ..Mark::default()
                },
                whole: true,
            });
            at = range.end;
        }
        pieces.push(Piece {
            text: &self.text[at..],
            mark: plain,
            whole: false,
        });
        let rtl = links::is_rtl(&self.text);
        let unwrapped = self.columns && self.text.width() + flow::width_of(&lead) > width;
        let lines = flow::wrap(
            &pieces,
            if unwrapped { usize::MAX } else { width },
            &lead,
            &lead,
        );
        out.extend(lines.into_iter().map(|line| Line {
            rtl,
            wide: line.wide || unwrapped,
            ..line
        }));
    }
}

/// Splits the quote marks off a line: `> > text` is quoted twice.
fn unquoted(line: &str) -> (usize, &str) {
    let mut quotes = 0;
    let mut rest = line;
    while quotes < MAX_QUOTES {
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
        Text::new(source)
            .at(width)
            .lines
            .iter()
            .map(Line::text)
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
            Text::new("go to https://example.com/a-long-path?x=1, or write to ana@example.org")
                .at(20);
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
        let body = Text::new("Item          Qty      Price").at(16);
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
