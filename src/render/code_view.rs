//! Html source and JSON: coloured by syntax, indented by depth,
//! wrapped with a hanging indent.
//!
//! Both views keep every character. Added line breaks and indentation are marked, so that copying
//! html gives the source back byte for byte. JSON keeps numbers, key order and strings as received.

use super::body::{Body, LineEnd, MAX_LINES, SpanRole, push_span};
use super::layout::wrap::{self, WrapRun};
use crate::text::json::push_escape;
use crate::text::sanitize;

/// Deeper nesting gets no more indentation.
const MAX_INDENT: usize = 24;

/// Longer JSON strings, such as bodies, are folded.
const FOLD_ABOVE_CHARS: usize = 600;

/// Characters of a folded string that are shown.
const FOLDED_CHARS: usize = 200;

/// Code as indented lines, not wrapped yet.
#[derive(Debug, Default)]
pub(super) struct CodeView {
    /// The text of all lines, since a large email has a million runs.
    text: String,
    /// In the order of the text.
    runs: Vec<CodeRun>,
    lines: Vec<CodeLine>,
    /// Extra indentation of the continuation of a wrapped line, in columns.
    hanging_indent: usize,
}

/// Text of one role; it starts where the run before it ends.
#[derive(Debug)]
struct CodeRun {
    /// In the text of the view.
    end: usize,
    role: SpanRole,
}

#[derive(Debug, Default)]
struct CodeLine {
    depth: usize,
    /// The number of its runs.
    runs: usize,
    end: LineEnd,
}

impl CodeView {
    /// Splits sanitized html into one line per block-level tag.
    pub(super) fn from_html(html: &str) -> Self {
        let mut writer = CodeWriter::default();
        let mut rest = html;
        let mut raw: Option<&'static str> = None;
        while !rest.is_empty() {
            let (end, role) = match raw.take() {
                Some(tag) => (raw_text_len(rest, tag), SpanRole::Code),
                None => (rest.find('<').unwrap_or(rest.len()), SpanRole::Text),
            };
            let (text, after) = rest.split_at(end);
            writer.push_lines(text, role);
            let (markup, after) = after.split_at(markup_len(after));
            rest = after;
            if markup.starts_with("<!") || markup.starts_with("<?") {
                writer.push_lines(markup, SpanRole::Comment);
            } else if !markup.is_empty() {
                raw = writer.push_tag(markup);
            }
        }
        writer.end_line(LineEnd::Split);
        CodeView {
            hanging_indent: 4,
            ..writer.view
        }
    }

    /// Indents JSON; invalid JSON is shown token by token.
    pub(super) fn from_json(json: &str) -> Self {
        let mut writer = CodeWriter::default();
        let mut in_empty_container = false;
        let mut rest = json;
        while let Some(c) = rest.chars().next() {
            let (token, after) = rest.split_at(json_token_len(rest, c));
            rest = after;
            match c {
                ' ' | '\t' | '\n' | '\r' => {}
                '{' | '[' => {
                    writer.push(token, SpanRole::Punctuation);
                    if rest.trim_start().starts_with(['}', ']']) {
                        in_empty_container = true;
                    } else {
                        writer.depth += 1;
                        writer.end_json_line();
                    }
                }
                '}' | ']' => {
                    if !std::mem::take(&mut in_empty_container) {
                        writer.depth = writer.depth.saturating_sub(1);
                        writer.end_json_line();
                    }
                    writer.push(token, SpanRole::Punctuation);
                }
                ',' => {
                    writer.push(token, SpanRole::Punctuation);
                    writer.end_json_line();
                }
                ':' => writer.push(": ", SpanRole::Punctuation),
                '"' if rest.trim_start().starts_with(':') => {
                    writer.push(&escape_unsafe(token), SpanRole::Key);
                }
                '"' => writer.push_json_string(token),
                '-' | '0'..='9' => writer.push(token, SpanRole::Number),
                _ => writer.push(&escape_unsafe(token), SpanRole::Literal),
            }
        }
        writer.end_json_line();
        CodeView {
            hanging_indent: 2,
            ..writer.view
        }
    }

    /// Wraps the lines at `width` columns.
    pub(super) fn lay_out(&self, width: usize) -> Body {
        let mut body = Body::default();
        let mut rest = self.runs.iter();
        let mut start = 0;
        for line in &self.lines {
            if body.lines.len() > MAX_LINES {
                break;
            }
            let indent = |more: usize| {
                let mut spans = Vec::new();
                let columns = (line.depth.min(MAX_INDENT) * 2 + more).min(width / 3);
                push_span(&mut spans, &" ".repeat(columns), SpanRole::Indent.into());
                spans
            };
            let runs: Vec<WrapRun<'_>> = rest
                .by_ref()
                .take(line.runs)
                .map(|run| {
                    let text = &self.text[std::mem::replace(&mut start, run.end)..run.end];
                    WrapRun::new(text, run.role.into())
                })
                .collect();
            let mut lines =
                wrap::wrap_lines(&runs, width, &indent(0), &indent(self.hanging_indent));
            if let Some(last) = lines.last_mut() {
                last.end = line.end;
            }
            body.lines.extend(lines);
        }
        body
    }
}

#[derive(Default)]
struct CodeWriter {
    view: CodeView,
    line: CodeLine,
    /// Where the line starts in the text.
    line_start: usize,
    depth: usize,
}

impl CodeWriter {
    /// Adds text to the line; text of the same role joins the last run.
    fn push(&mut self, text: &str, role: SpanRole) {
        if text.is_empty() {
            return;
        }
        self.view.text.push_str(text);
        let end = self.view.text.len();
        match self.view.runs.last_mut() {
            Some(last) if self.line.runs > 0 && last.role == role => last.end = end,
            _ => {
                self.view.runs.push(CodeRun { end, role });
                self.line.runs += 1;
            }
        }
    }

    /// Adds html that may contain newlines.
    fn push_lines(&mut self, text: &str, role: SpanRole) {
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.end_line(LineEnd::Newline);
            }
            self.push(line, role);
        }
    }

    /// Ends the line; an empty one is dropped unless the source has a newline there.
    fn end_line(&mut self, end: LineEnd) {
        if end == LineEnd::Newline || self.line.runs > 0 {
            self.line.end = end;
            self.view.lines.push(std::mem::take(&mut self.line));
            self.line_start = self.view.text.len();
            self.line.depth = self.depth;
        }
    }

    fn end_json_line(&mut self) {
        if self.line.runs > 0 {
            self.end_line(LineEnd::Newline);
        }
        self.line.depth = self.depth;
    }

    fn push_json_string(&mut self, token: &str) {
        let count = token.chars().count();
        if count <= FOLD_ABOVE_CHARS {
            return self.push(&escape_unsafe(token), SpanRole::String);
        }
        let start: String = token.chars().take(FOLDED_CHARS).collect();
        self.push(&escape_unsafe(&start), SpanRole::String);
        let more = format!("… {} more characters", count - FOLDED_CHARS);
        self.push(&more, SpanRole::Notice);
    }

    /// Starts a new line unless this one has only whitespace so far.
    fn begin_line(&mut self) {
        if !self.view.text[self.line_start..].trim().is_empty() {
            self.end_line(LineEnd::Split);
        }
        self.line.depth = if self.line.runs == 0 { self.depth } else { 0 };
    }

    /// Adds a tag; returns the element's name if its content is raw text.
    fn push_tag(&mut self, markup: &str) -> Option<&'static str> {
        let closing = markup.starts_with("</");
        let head = 1 + usize::from(closing);
        let name_end = markup[head..]
            .find(|c: char| c.is_whitespace() || c == '/' || c == '>')
            .map_or(markup.len(), |at| head + at);
        let name = markup[head..name_end].to_ascii_lowercase();
        let kind = element_kind(&name);
        let block = kind != ElementKind::Inline;
        let nests = matches!(kind, ElementKind::Container | ElementKind::TextBlock)
            && !markup.ends_with("/>");
        if nests && closing {
            self.depth = self.depth.saturating_sub(1);
        }
        let ends_text = matches!(kind, ElementKind::TextBlock | ElementKind::Unclosed) && closing;
        if block && !ends_text {
            self.begin_line();
        }
        self.push_lines(&markup[..name_end], SpanRole::Tag);
        self.push_attributes(&markup[name_end..]);
        if nests && !closing {
            self.depth += 1;
        }
        if block && closing {
            self.end_line(LineEnd::Split);
        }
        ["script", "style", "textarea", "title"]
            .into_iter()
            .find(|raw| *raw == name && !closing)
    }

    /// Adds the attributes of a tag and its closing bracket.
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
            self.push_lines(&rest[..len], role);
            rest = &rest[len..];
        }
    }
}

/// Returns the length of the tag or comment at the start of `rest`.
///
/// `rest` starts with `<` or is empty; a `<` that starts no markup has length 1.
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

/// Returns the length of the content of the raw-text element `tag`.
fn raw_text_len(rest: &str, tag: &str) -> usize {
    rest.match_indices("</")
        .map(|(start, _)| start)
        .find(|start| {
            rest.get(start + 2..start + 2 + tag.len())
                .is_some_and(|name| name.eq_ignore_ascii_case(tag))
        })
        .unwrap_or(rest.len())
}

/// How an element is put on lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    Inline,
    /// Its content is indented on lines of its own.
    Container,
    /// As a container, but its end tag stays on the line of its text.
    TextBlock,
    /// A text block whose end tag is often omitted, so its content is not indented.
    Unclosed,
    /// Starts a line and has no content.
    Void,
}

fn element_kind(name: &str) -> ElementKind {
    match name {
        "html" | "head" | "body" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "div"
        | "center" | "ul" | "ol" | "dl" | "blockquote" | "pre" | "section" | "header"
        | "footer" | "article" | "figure" | "form" => ElementKind::Container,
        "td" | "th" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "title" | "style" | "script" => {
            ElementKind::TextBlock
        }
        "p" | "li" | "dt" | "dd" => ElementKind::Unclosed,
        "meta" | "link" | "hr" | "br" => ElementKind::Void,
        _ => ElementKind::Inline,
    }
}

/// Returns the length of the JSON token at the start of `rest`.
fn json_token_len(rest: &str, first: char) -> usize {
    match first {
        '"' => {
            let mut escaped = false;
            for (at, c) in rest.char_indices().skip(1) {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '"' => return at + 1,
                    _ => {}
                }
            }
            rest.len()
        }
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        c if c.is_whitespace() => c.len_utf8(),
        c => rest
            .find(|c: char| c.is_whitespace() || "{}[],:\"".contains(c))
            .unwrap_or(rest.len())
            .max(c.len_utf8()),
    }
}

/// Writes characters that are unsafe in a terminal as JSON escapes.
fn escape_unsafe(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    let mut marks = 0;
    for c in token.chars() {
        marks = if sanitize::is_combining(c) {
            marks + 1
        } else {
            0
        };
        if marks <= sanitize::MAX_COMBINING_MARKS && sanitize::is_safe_char(c) {
            out.push(c);
        } else {
            push_escape(&mut out, c);
        }
    }
    out
}

#[cfg(test)]
#[path = "code_view_tests.rs"]
mod tests;
