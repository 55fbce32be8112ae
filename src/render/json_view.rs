//! The service's JSON, every field: indented and coloured, but each number, key and string as it came.

use super::body::{Body, SpanRole};
use super::code_view::{self, CodeLine, style_of_role};
use super::wrap;

/// Longer strings are folded: bodies would bury the fields around them, and have views of their own.
const FOLD_ABOVE_CHARS: usize = 600;

/// How much of a folded string is shown.
const FOLDED_CHARS: usize = 200;

/// How much further in a row goes on that is wrapped.
const HANGING_INDENT: usize = 2;

/// Indented JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct JsonView {
    lines: Vec<CodeLine>,
}

impl JsonView {
    /// Indents `json`. What is no JSON is shown all the same, token by token.
    pub(super) fn new(json: &str) -> Self {
        let mut writer = JsonWriter::default();
        let mut rest = json;
        while let Some(c) = rest.chars().next() {
            let len = token_len(rest, c);
            let (token, after) = rest.split_at(len);
            rest = after;
            match c {
                ' ' | '\t' | '\n' | '\r' => {}
                '{' | '[' => {
                    writer.push(token, SpanRole::Punctuation);
                    if rest.trim_start().starts_with(['}', ']']) {
                        writer.in_empty_container = true;
                    } else {
                        writer.depth += 1;
                        writer.end_line();
                    }
                }
                '}' | ']' => {
                    if !std::mem::take(&mut writer.in_empty_container) {
                        writer.depth = writer.depth.saturating_sub(1);
                        writer.end_line();
                    }
                    writer.push(token, SpanRole::Punctuation);
                }
                ',' => {
                    writer.push(token, SpanRole::Punctuation);
                    writer.end_line();
                }
                ':' => writer.push(": ", SpanRole::Punctuation),
                '"' if rest.trim_start().starts_with(':') => {
                    writer.push(&escape_unsafe(token), SpanRole::Key)
                }
                '"' => writer.push_string(token),
                '-' | '0'..='9' => writer.push(token, SpanRole::Number),
                _ => writer.push(&escape_unsafe(token), SpanRole::Literal),
            }
        }
        writer.end_line();
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
struct JsonWriter {
    lines: Vec<CodeLine>,
    line: CodeLine,
    depth: usize,
    /// An empty list or object: its closing bracket stays beside the opening one.
    in_empty_container: bool,
}

impl JsonWriter {
    fn push(&mut self, text: &str, role: SpanRole) {
        if self.line.runs.is_empty() {
            self.line.depth = self.depth;
        }
        wrap::push_text(&mut self.line.runs, text, style_of_role(role));
    }

    fn push_string(&mut self, token: &str) {
        let characters = token.chars().count();
        if characters <= FOLD_ABOVE_CHARS {
            self.push(&escape_unsafe(token), SpanRole::String);
            return;
        }
        let start: String = token.chars().take(FOLDED_CHARS).collect();
        self.push(&escape_unsafe(&start), SpanRole::String);
        self.push(
            &format!("… {} more characters", characters - FOLDED_CHARS),
            SpanRole::Notice,
        );
    }

    fn end_line(&mut self) {
        if !self.line.runs.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }
}

/// Length in bytes of the token at the start of `rest`.
fn token_len(rest: &str, first: char) -> usize {
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

/// The token with everything that could command a terminal written as JSON would escape it.
fn escape_unsafe(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    for c in token.chars() {
        if crate::text::sanitize::is_safe_char(c) {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                use std::fmt::Write as _;
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str, width: usize) -> String {
        JsonView::new(json).lay_out(width).text()
    }

    #[test]
    fn numbers_key_order_and_unknown_fields_are_kept_verbatim() {
        let json = r#"{"b":1.50,"a":[],"c":{"x":12345678901234567890},"d":[true,null]}"#;
        let expected = "{\n  \"b\": 1.50,\n  \"a\": [],\n  \"c\": {\n    \"x\": 12345678901234567890\n  },\n  \"d\": [\n    true,\n    null\n  ]\n}\n";
        assert_eq!(shown(json, 80), expected);
    }

    #[test]
    fn long_strings_are_wrapped_and_longer_ones_folded() {
        let json = format!(r#"{{"a":"{}","b":"{}"}}"#, "x".repeat(60), "y".repeat(1000));
        let text = shown(&json, 30);
        assert!(
            text.lines().all(|line| line.chars().count() <= 30),
            "{text}"
        );
        assert!(text.replace(['\n', ' '], "").contains(&"x".repeat(60)));
        assert!(
            text.replace(['\n', ' '], "").contains("…802morecharacters"),
            "{text}"
        );
    }

    #[test]
    fn what_could_command_a_terminal_is_escaped_as_json() {
        let text = shown("{\"a\":\"\u{9b}31m\u{202e}x\"}", 80);
        assert!(text.contains(r"\u009b31m\u202ex"), "{text}");
    }

    #[test]
    fn broken_json_is_shown_token_by_token() {
        assert_eq!(shown("oops \"unclosed", 80), "oops\"unclosed\n");
        assert_eq!(shown("}}]", 80), "}\n}\n]\n");
    }

    #[test]
    fn roles_tell_keys_from_values() {
        let body = JsonView::new(r#"{"k":"v","n":-1,"t":true}"#).lay_out(80);
        let role = |text: &str| {
            body.lines
                .iter()
                .flat_map(|line| &line.spans)
                .find(|span| &*span.text == text)
                .map(|span| span.style.role)
        };
        assert_eq!(role("\"k\""), Some(SpanRole::Key));
        assert_eq!(role("\"v\""), Some(SpanRole::String));
        assert_eq!(role("-1"), Some(SpanRole::Number));
        assert_eq!(role("true"), Some(SpanRole::Literal));
    }
}
