//! Html source: one line per block-level tag, coloured by what each piece is, and nothing lost.
//!
//! Nothing is changed but line breaks and indentation, and those are marked as added, so that
//! copying gives the source back byte for byte (cleaned).

use super::body::{Body, End, Role};
use super::flow;
use super::rows::{self, Row, mark};

/// How much further in a row goes on that is wrapped: attributes stand out from what a tag holds.
const HANG: usize = 4;

/// Html source, taken apart once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Source {
    rows: Vec<Row>,
}

impl Source {
    /// Takes `html` apart; it must be clean.
    pub(super) fn new(html: &str) -> Self {
        let mut writer = Writer::default();
        let mut rest = html;
        let mut raw: Option<&'static str> = None;
        while !rest.is_empty() {
            let end = raw.map_or_else(
                || rest.find('<').unwrap_or(rest.len()),
                |tag| find_end_tag(rest, tag),
            );
            let (text, after) = rest.split_at(end);
            writer.add(
                text,
                if raw.is_some() {
                    Role::Code
                } else {
                    Role::Text
                },
            );
            raw = None;
            let len = markup(after);
            let (markup, after) = after.split_at(len);
            rest = after;
            if markup.starts_with("<!") || markup.starts_with("<?") {
                writer.add(markup, Role::Comment);
            } else if !markup.is_empty() {
                raw = writer.tag(markup);
            }
        }
        writer.end_row(End::Nothing);
        Self { rows: writer.rows }
    }

    /// Wraps the rows at `width` columns, under their own indentation.
    pub(super) fn at(&self, width: usize) -> Body {
        rows::wrap(&self.rows, width, HANG)
    }
}

#[derive(Default)]
struct Writer {
    rows: Vec<Row>,
    row: Row,
    depth: usize,
}

impl Writer {
    /// Adds text that may hold line feeds.
    fn add(&mut self, text: &str, role: Role) {
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.end_row(End::Break);
            }
            flow::grow(&mut self.row.runs, line, mark(role));
        }
    }

    /// Ends the row; one that nothing stands on is dropped unless the source has a line feed there.
    fn end_row(&mut self, end: End) {
        if end == End::Break || !self.row.runs.is_empty() {
            self.row.end = end;
            self.rows.push(std::mem::take(&mut self.row));
            self.row.depth = self.depth;
        }
    }

    /// Starts a new row unless nothing stands on this one yet.
    fn fresh_row(&mut self) {
        if self
            .row
            .runs
            .iter()
            .any(|(text, _)| !text.trim().is_empty())
        {
            self.end_row(End::Nothing);
        }
        self.row.depth = if self.row.runs.is_empty() {
            self.depth
        } else {
            0
        };
    }

    /// Adds a tag; returns the name of the element if its content is no markup.
    fn tag(&mut self, markup: &str) -> Option<&'static str> {
        let closing = markup.starts_with("</");
        let head = 1 + usize::from(closing);
        let name_end = markup[head..]
            .find(|c: char| c.is_whitespace() || c == '/' || c == '>')
            .map_or(markup.len(), |at| head + at);
        let name = markup[head..name_end].to_ascii_lowercase();
        let block = is_block(&name);
        let nests = block && !is_void(&name) && !markup.ends_with("/>");
        if nests && closing {
            self.depth = self.depth.saturating_sub(1);
        }
        if block && !(closing && holds_text(&name)) {
            self.fresh_row();
        }
        self.add(&markup[..name_end], Role::Tag);
        self.attributes(&markup[name_end..]);
        if nests && !closing {
            self.depth += 1;
        }
        if block && closing {
            self.end_row(End::Nothing);
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
    fn attributes(&mut self, mut rest: &str) {
        while let Some(c) = rest.chars().next() {
            let (len, role) = match c {
                '>' => (1, Role::Tag),
                '/' if rest == "/>" => (2, Role::Tag),
                '=' | '/' => (1, Role::Punctuation),
                '"' | '\'' => (
                    rest[1..].find(c).map_or(rest.len(), |at| at + 2),
                    Role::Value,
                ),
                c if c.is_whitespace() => (
                    rest.find(|c: char| !c.is_whitespace())
                        .unwrap_or(rest.len()),
                    Role::Text,
                ),
                _ => (
                    rest.find(|c: char| c.is_whitespace() || "=>".contains(c))
                        .unwrap_or(rest.len())
                        .max(c.len_utf8()),
                    Role::Attribute,
                ),
            };
            self.add(&rest[..len], role);
            rest = &rest[len..];
        }
    }
}

/// Length in bytes of the markup at the start of `rest`, which starts with `<` or is empty.
fn markup(rest: &str) -> usize {
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
fn find_end_tag(rest: &str, tag: &str) -> usize {
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
fn holds_text(name: &str) -> bool {
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
fn is_void(name: &str) -> bool {
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
        let body = Source::new("<div><p class=\"a\">Hi <b>you</b></p></div>").at(80);
        assert_eq!(
            body.text(),
            "<div>\n  <p class=\"a\">Hi <b>you</b></p>\n</div>\n"
        );
    }

    #[test]
    fn pieces_have_their_roles() {
        let body = Source::new("<!-- c --><a href='x'>t</a><style>p{}</style>").at(80);
        let roles: Vec<(String, Role)> = body
            .lines
            .iter()
            .flat_map(|line| &line.spans)
            .map(|span| (span.text.to_string(), span.mark.role))
            .collect();
        for expected in [
            ("<!-- c -->", Role::Comment),
            ("<a", Role::Tag),
            ("href", Role::Attribute),
            ("'x'", Role::Value),
            ("t", Role::Text),
            ("p{}", Role::Code),
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
                Source::new(source).at(40).copied().trim_end_matches('\n'),
                source
            );
        }
    }

    proptest! {
        #[test]
        fn copying_gives_the_source_back(source in "(<p>|</p>|<a href=\"x y\">|</a>|<br>|<!--|-->|<style>|</style>|word |\n|<|\"|日本){0,30}", width in 4..60_usize) {
            let copied = Source::new(&source).at(width).copied();
            prop_assert_eq!(copied.trim_end_matches('\n'), source.trim_end_matches('\n'));
        }
    }
}
