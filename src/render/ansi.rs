//! Writes a laid-out body with styles as SGR and links as OSC 8, or without.

use std::fmt::Write as _;

use super::body::{Body, BodyLine, HYPERLINK_MIDDLE, HYPERLINK_START, Link, SpanRole, SpanStyle};

/// Options of [`write()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnsiOptions {
    /// Writes styles as SGR sequences and links as OSC 8 sequences.
    pub colour: bool,
    /// Writes the list of URLs at the end; their numbers are in the text of a document
    /// with [numbered links](crate::render::Document::with_link_numbers).
    pub links: bool,
    /// Writes no hyperlink that works once.
    pub masked: bool,
}

/// Writes `body` as text, each line ended by a newline.
#[must_use]
pub fn write(body: &Body, options: AnsiOptions) -> String {
    let mut out = String::new();
    for line in &body.lines {
        write_line(&mut out, body, line, options);
        out.push('\n');
    }
    if options.links && !body.links.is_empty() {
        out.push('\n');
        for (number, link) in body.links.iter().enumerate() {
            let flags: Vec<&str> = link.flags.iter().map(|flag| flag.label()).collect();
            let _ = write!(out, "[{}] {}", number + 1, link.target);
            if !flags.is_empty() {
                let _ = write!(out, " ({})", flags.join(", "));
            }
            out.push('\n');
        }
    }
    out
}

fn write_line(out: &mut String, body: &Body, line: &BodyLine, options: AnsiOptions) {
    let last = line
        .spans
        .iter()
        .rposition(|span| !span.text.trim_end().is_empty());
    let spans = &line.spans[..last.map_or(0, |last| last + 1)];
    let mut link = None;
    let mut hyperlink = None;
    for (i, span) in spans.iter().enumerate() {
        let text = if i + 1 == spans.len() {
            span.text.trim_end()
        } else {
            &*span.text
        };
        if span.style.link != link {
            end_hyperlink(out, hyperlink.is_some());
            link = span.style.link;
            hyperlink = link
                .filter(|_| options.colour)
                .and_then(|link| body.links.get(usize::from(link)))
                .filter(|link| !options.masked || link.masked_target().is_none())
                .and_then(Link::hyperlink);
            out.push_str(hyperlink.as_deref().unwrap_or_default());
        }
        let codes = if options.colour {
            sgr_parameters(&span.style)
        } else {
            String::new()
        };
        if codes.is_empty() {
            out.push_str(text);
        } else {
            let _ = write!(out, "\x1b[{codes}m{text}\x1b[0m");
        }
    }
    end_hyperlink(out, hyperlink.is_some());
}

fn end_hyperlink(out: &mut String, is_open: bool) {
    if is_open {
        out.push_str(HYPERLINK_START);
        out.push_str(HYPERLINK_MIDDLE);
    }
}

/// Returns the SGR parameters of a style.
///
/// The colours are the terminal's own sixteen, which are readable on its background.
fn sgr_parameters(style: &SpanStyle) -> String {
    let colour = match style.role {
        SpanRole::Text | SpanRole::Heading | SpanRole::Indent | SpanRole::Punctuation => "",
        SpanRole::Link | SpanRole::Button | SpanRole::Key | SpanRole::Tag => "34",
        SpanRole::Image
        | SpanRole::Rule
        | SpanRole::Notice
        | SpanRole::LinkHost
        | SpanRole::Comment => "2",
        SpanRole::Quote | SpanRole::Number => "36",
        SpanRole::Code | SpanRole::Attribute => "33",
        SpanRole::Value | SpanRole::String => "32",
        SpanRole::Literal => "35",
    };
    let codes = [
        (style.bold || style.role == SpanRole::Heading, "1"),
        (style.italic, "3"),
        (style.underline || style.role == SpanRole::Link, "4"),
        (style.strikethrough, "9"),
        (!colour.is_empty(), colour),
    ];
    let set = codes.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, code)| code).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Document;
    use crate::text::width::DisplayWidth as _;

    const COLOUR: AnsiOptions = AnsiOptions {
        colour: true,
        links: false,
        masked: false,
    };

    fn written(html: &str, options: AnsiOptions) -> String {
        let document = Document::from_html(html);
        let document = if options.links {
            document.with_link_numbers()
        } else {
            document
        };
        write(&document.lay_out(40), options)
    }

    #[test]
    fn plain_text_has_no_escapes_and_trailing_spaces() {
        let text = written(
            "<h1>Hi</h1><p>A <a href='https://example.com/x'>link</a>.</p>",
            AnsiOptions::default(),
        );
        assert_eq!(text, "Hi\n\nA link.\n");
    }

    #[test]
    fn colour_writes_closed_sgr_and_osc_8_sequences() {
        let text = written(
            "<b>Hi</b> <a href='https://example.com/x'>link</a>.",
            COLOUR,
        );
        assert_eq!(
            text,
            "\x1b[1mHi\x1b[0m \x1b]8;;https://example.com/x\x1b\\\x1b[4;34mlink\x1b[0m\x1b]8;;\x1b\\.\n"
        );
    }

    #[test]
    fn links_are_numbered_and_listed_with_their_flags() {
        let text = written(
            "<a href='https://evil.example/'>https://bank.example</a>",
            AnsiOptions {
                links: true,
                ..AnsiOptions::default()
            },
        );
        assert_eq!(
            text,
            "https://bank.example[1] (→ evil.example)\n\n[1] https://evil.example/ (link text names another host)\n"
        );
    }

    #[test]
    fn wrapped_link_is_numbered_at_its_end() {
        let html = "<blockquote>This is <a href='https://example.com/'>a link of so many words \
                    that it needs a line more</a>. <a href='https://example.com/b'>B</a></blockquote>";
        let options = AnsiOptions {
            links: true,
            ..AnsiOptions::default()
        };
        let text = written(html, options);
        let (body, _) = text.split_once("\n\n").unwrap();
        assert_eq!(
            body,
            "> This is a link of so many words that\n> it needs a line more[1]. B[2]"
        );
    }

    #[test]
    fn link_numbers_fit_into_the_width() {
        let options = AnsiOptions {
            links: true,
            ..AnsiOptions::default()
        };
        let link = "<a href='https://example.com/'>\n seven letters </a>";
        for html in [
            format!("<p>{}</p>", [link; 9].join(", ")),
            format!("<ul><li>{link}, {link}, {link}</ul>"),
            format!("<table><tr><td>{link}<td>{link}<td>{link}</table>"),
        ] {
            let text = written(&html, options);
            let (body, _) = text.split_once("\n\n[1] ").unwrap();
            assert!(body.lines().all(|line| line.width() <= 40), "{body}");
            let numbers = body.matches("letters[1]").count();
            assert_eq!(numbers, html.matches("letters").count(), "{body}");
        }
    }

    #[test]
    fn numbered_link_in_heading_is_a_heading() {
        let html = "<p>above</p><h2 style='border-bottom:1px solid'><a href='https://e.example'>Order</a></h2><p>below</p>";
        let options = AnsiOptions {
            links: true,
            ..AnsiOptions::default()
        };
        let numbered = written(html, options);
        let (body, _) = numbered.split_once("\n\n[1] ").unwrap();
        let plain = written(html, AnsiOptions::default());
        assert_eq!(body.replace("[1]", ""), plain.trim_end());
    }

    #[test]
    fn masked_body_has_no_hyperlink_that_works_once() {
        let html = "<a href='https://example.com/reset?token=a1b2c3d4e5'>new</a> <a href='https://example.com/a'>a</a>";
        for masked in [false, true] {
            let text = written(html, AnsiOptions { masked, ..COLOUR });
            assert_eq!(text.contains("token"), !masked, "{text:?}");
            assert!(text.contains("https://example.com/a"), "{text:?}");
        }
    }

    #[test]
    fn target_cannot_end_its_escape_sequence() {
        let text = written(
            "<a href='https://example.com/\u{1b}\\\u{7} x'>a</a>",
            COLOUR,
        );
        assert!(!text.contains("example.com"), "{text:?}");
        assert!(!text.contains('\u{7}'));
        let text = written("<a href='https://example.com/é x'>a</a>", COLOUR);
        assert!(
            text.starts_with("\x1b]8;;https://example.com/%C3%A9%20x\x1b\\"),
            "{text:?}"
        );
    }

    #[test]
    fn blocked_scheme_is_not_written_as_a_link() {
        let long = format!("https://example.com/javascript{}", "a".repeat(3_000));
        for target in [
            "javascript:alert(1)",
            "https://example.com/\x1b]0;javascript",
            &long,
        ] {
            let text = written(&format!("<a href='{target}'>a</a>"), COLOUR);
            assert!(!text.contains("javascript"), "{text:?}");
            assert!(!text.contains("\x1b]"), "{text:?}");
        }
    }
}
