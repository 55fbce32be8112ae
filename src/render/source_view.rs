//! Html source: one line per block-level tag, coloured by what each piece is, and nothing lost.
//!
//! Nothing is changed but line breaks and indentation, and those are marked as added, so that
//! copying gives the source back byte for byte (cleaned).

use super::body::{Body, LineEnd, SpanRole};
use super::code_view::{self, CodeLine, style_of_role};
use super::wrap;

/// How much further in a row goes on that is wrapped: attributes stand out from what a tag holds.
const HANGING_INDENT: usize = 4;

/// Html source, taken apart once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SourceView {
    lines: Vec<CodeLine>,
}

impl SourceView {
    /// Takes `html` apart; it must be clean.
    pub(super) fn new(html: &str) -> Self {
        let mut writer = SourceWriter::default();
        let mut rest = html;
        let mut raw: Option<&'static str> = None;
        while !rest.is_empty() {
            let end = raw.map_or_else(
                || rest.find('<').unwrap_or(rest.len()),
                |tag| raw_text_len(rest, tag),
            );
            let (text, after) = rest.split_at(end);
            writer.push(
                text,
                if raw.is_some() {
                    SpanRole::Code
                } else {
                    SpanRole::Text
                },
            );
            raw = None;
            let len = markup_len(after);
            let (markup, after) = after.split_at(len);
            rest = after;
            if markup.starts_with("<!") || markup.starts_with("<?") {
                writer.push(markup, SpanRole::Comment);
            } else if !markup.is_empty() {
                raw = writer.push_tag(markup);
            }
        }
        writer.end_line(LineEnd::Split);
        Self {
            lines: writer.lines,
        }
    }

    /// Wraps the rows at `width` columns, under their own indentation.
    pub(super) fn lay_out(&self, width: usize) -> Body {
        code_view::wrap_code_lines(&self.lines, width, HANGING_INDENT)
    }
}

#[derive(Default)]
struct SourceWriter {
    lines: Vec<CodeLine>,
    line: CodeLine,
    depth: usize,
}

impl SourceWriter {
    /// Adds text that may hold line feeds.
    fn push(&mut self, text: &str, role: SpanRole) {
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.end_line(LineEnd::Newline);
            }
            wrap::push_text(&mut self.line.runs, line, style_of_role(role));
        }
    }

    /// Ends the row; one that nothing stands on is dropped unless the source has a line feed there.
    fn end_line(&mut self, end: LineEnd) {
        if end == LineEnd::Newline || !self.line.runs.is_empty() {
            self.line.end = end;
            self.lines.push(std::mem::take(&mut self.line));
            self.line.depth = self.depth;
        }
    }

    /// Starts a new row unless nothing stands on this one yet.
    fn begin_line(&mut self) {
        if self
            .line
            .runs
            .iter()
            .any(|(text, _)| !text.trim().is_empty())
        {
            self.end_line(LineEnd::Split);
        }
        self.line.depth = if self.line.runs.is_empty() {
            self.depth
        } else {
            0
        };
    }

    /// Adds a tag; returns the name of the element if its content is no markup.
    fn push_tag(&mut self, markup: &str) -> Option<&'static str> {
        let closing = markup.starts_with("</");
        let head = 1 + usize::from(closing);
        let name_end = markup[head..]
            .find(|c: char| c.is_whitespace() || c == '/' || c == '>')
            .map_or(markup.len(), |at| head + at);
        let name = markup[head..name_end].to_ascii_lowercase();
        let block = is_block(&name);
        let nests = block && !is_void_or_unclosed(&name) && !markup.ends_with("/>");
        if nests && closing {
            self.depth = self.depth.saturating_sub(1);
        }
        if block && !(closing && is_text_block(&name)) {
            self.begin_line();
        }
        self.push(&markup[..name_end], SpanRole::Tag);
        self.push_attributes(&markup[name_end..]);
        if nests && !closing {
            self.depth += 1;
        }
        if block && closing {
            self.end_line(LineEnd::Split);
        }
        if closing {
            None
        } else {
            ["script", "style", "textarea", "title"]
                .into_iter()
                .find(|raw| *raw == name)
        }
    }

    /// Adds what stands in a tag after its name, its closing bracket included.
    fn push_attributes(&mut self, mut rest: &str) {
        while let Some(c) = rest.chars().next() {
            let (len, role) = match c {
                '>' => (1, SpanRole::Tag),
                '/' if rest == "/>" => (2, SpanRole::Tag),
                '=' | '/' => (1, SpanRole::Punctuation),
                '"' | '\'' => (
                    rest[1..].find(c).map_or(rest.len(), |at| at + 2),
                    SpanRole::Value,
                ),
                c if c.is_whitespace() => (
                    rest.find(|c: char| !c.is_whitespace())
                        .unwrap_or(rest.len()),
                    SpanRole::Text,
                ),
                _ => (
                    rest.find(|c: char| c.is_whitespace() || "=>".contains(c))
                        .unwrap_or(rest.len())
                        .max(c.len_utf8()),
                    SpanRole::Attribute,
                ),
            };
            self.push(&rest[..len], role);
            rest = &rest[len..];
        }
    }
}

/// Length in bytes of the markup at the start of `rest`, which starts with `<` or is empty.
fn markup_len(rest: &str) -> usize {
    if rest.starts_with("<!--") {
        return rest.find("-->").map_or(rest.len(), |at| at + 3);
    }
    if !rest[1.min(rest.len())..]
        .starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
    {
        return usize::from(rest.starts_with('<'));
    }
    let mut quote = None;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    rest.len()
}

/// Where the content of a raw-text element ends.
fn raw_text_len(rest: &str, tag: &str) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let start = from + at;
        if rest
            .get(start + 2..start + 2 + tag.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(tag))
        {
            return start;
        }
        from = start + 2;
    }
    rest.len()
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "html"
            | "head"
            | "body"
            | "title"
            | "meta"
            | "link"
            | "style"
            | "script"
            | "table"
            | "thead"
            | "tbody"
            | "tfoot"
            | "tr"
            | "td"
            | "th"
            | "div"
            | "p"
            | "center"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "ul"
            | "ol"
            | "li"
            | "dl"
            | "dt"
            | "dd"
            | "blockquote"
            | "pre"
            | "hr"
            | "section"
            | "header"
            | "footer"
            | "article"
            | "figure"
            | "form"
            | "br"
    )
}

/// Whether its end tag may stand behind the text in it.
fn is_text_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "li"
            | "dt"
            | "dd"
            | "td"
            | "th"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "title"
            | "style"
            | "script"
    )
}

/// Whether what follows is not inside it, or may not be: many end tags of paragraphs are left out.
fn is_void_or_unclosed(name: &str) -> bool {
    matches!(
        name,
        "meta"
            | "link"
            | "hr"
            | "br"
            | "img"
            | "input"
            | "base"
            | "col"
            | "area"
            | "wbr"
            | "p"
            | "li"
            | "dt"
            | "dd"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_source_on_one_line_gets_a_line_per_block() {
        let body = SourceView::new("<div><p class=\"a\">Hi <b>you</b></p></div>").lay_out(80);
        assert_eq!(
            body.text(),
            "<div>\n  <p class=\"a\">Hi <b>you</b></p>\n</div>\n"
        );
    }

    #[test]
    fn pieces_have_their_roles() {
        let body = SourceView::new("<!-- c --><a href='x'>t</a><style>p{}</style>").lay_out(80);
        let roles: Vec<(String, SpanRole)> = body
            .lines
            .iter()
            .flat_map(|line| &line.spans)
            .map(|span| (span.text.to_string(), span.style.role))
            .collect();
        for expected in [
            ("<!-- c -->", SpanRole::Comment),
            ("<a", SpanRole::Tag),
            ("href", SpanRole::Attribute),
            ("'x'", SpanRole::Value),
            ("t", SpanRole::Text),
            ("p{}", SpanRole::Code),
        ] {
            assert!(
                roles.contains(&(expected.0.to_owned(), expected.1)),
                "{expected:?} in {roles:?}"
            );
        }
    }

    #[test]
    fn broken_markup_is_shown_too() {
        for source in [
            "<",
            "a < b",
            "<a href=\"x",
            "<style>never closed",
            "<!-- open",
            "</",
            "<3",
        ] {
            assert_eq!(
                SourceView::new(source)
                    .lay_out(40)
                    .unwrapped_text()
                    .trim_end_matches('\n'),
                source
            );
        }
    }

    proptest! {
        #[test]
        fn copying_gives_the_source_back(source in "(<p>|</p>|<a href=\"x y\">|</a>|<br>|<!--|-->|<style>|</style>|word |\n|<|\"|日本){0,30}", width in 4..60_usize) {
            let copied = SourceView::new(&source).lay_out(width).unwrapped_text();
            prop_assert_eq!(copied.trim_end_matches('\n'), source.trim_end_matches('\n'));
        }
    }
}
