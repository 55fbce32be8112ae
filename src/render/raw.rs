//! The service's JSON, every field: indented and coloured, but each number, key and string as it came.

use super::body::{Body, Role};
use super::flow;
use super::rows::{self, Row, mark};

/// Longer strings are folded: bodies would bury the fields around them, and have views of their own.
const FOLD: usize = 600;

/// How much of a folded string is shown.
const FOLDED: usize = 200;

/// How much further in a row goes on that is wrapped.
const HANG: usize = 2;

/// Indented JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Raw {
    rows: Vec<Row>,
}

impl Raw {
    /// Indents `json`. What is no JSON is shown all the same, token by token.
    pub(super) fn new(json: &str) -> Self {
        let mut writer = Writer::default();
        let mut rest = json;
        while let Some(c) = rest.chars().next() {
            let len = token(rest, c);
            let (token, after) = rest.split_at(len);
            rest = after;
            match c {
                ' ' | '\t' | '\n' | '\r' => {}
                '{' | '[' => {
                    writer.add(token, Role::Punctuation);
                    if rest.trim_start().starts_with(['}', ']']) {
                        writer.hugs = true;
                    } else {
                        writer.depth += 1;
                        writer.end_row();
                    }
                }
                '}' | ']' => {
                    if !std::mem::take(&mut writer.hugs) {
                        writer.depth = writer.depth.saturating_sub(1);
                        writer.end_row();
                    }
                    writer.add(token, Role::Punctuation);
                }
                ',' => {
                    writer.add(token, Role::Punctuation);
                    writer.end_row();
                }
                ':' => writer.add(": ", Role::Punctuation),
                '"' if rest.trim_start().starts_with(':') => writer.add(&visible(token), Role::Key),
                '"' => writer.string(token),
                '-' | '0'..='9' => writer.add(token, Role::Number),
                _ => writer.add(&visible(token), Role::Literal),
            }
        }
        writer.end_row();
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
    /// An empty list or object: its closing bracket stays beside the opening one.
    hugs: bool,
}

impl Writer {
    fn add(&mut self, text: &str, role: Role) {
        if self.row.runs.is_empty() {
            self.row.depth = self.depth;
        }
        flow::grow(&mut self.row.runs, text, mark(role));
    }

    fn string(&mut self, token: &str) {
        let characters = token.chars().count();
        if characters <= FOLD {
            self.add(&visible(token), Role::String);
            return;
        }
        let start: String = token.chars().take(FOLDED).collect();
        self.add(&visible(&start), Role::String);
        self.add(
            &format!("… {} more characters", characters - FOLDED),
            Role::Note,
        );
    }

    fn end_row(&mut self) {
        if !self.row.runs.is_empty() {
            self.rows.push(std::mem::take(&mut self.row));
        }
    }
}

/// Length in bytes of the token at the start of `rest`.
fn token(rest: &str, first: char) -> usize {
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
fn visible(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    for c in token.chars() {
        if crate::mail::clean::is_safe(c) {
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
        Raw::new(json).at(width).text()
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
        let body = Raw::new(r#"{"k":"v","n":-1,"t":true}"#).at(80);
        let role = |text: &str| {
            body.lines
                .iter()
                .flat_map(|line| &line.spans)
                .find(|span| &*span.text == text)
                .map(|span| span.mark.role)
        };
        assert_eq!(role("\"k\""), Some(Role::Key));
        assert_eq!(role("\"v\""), Some(Role::String));
        assert_eq!(role("-1"), Some(Role::Number));
        assert_eq!(role("true"), Some(Role::Literal));
    }
}
