//! JSON on its way to a terminal or a file: the same values, but no character that commands a device.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::Timestamp;

use crate::text::sanitize;

/// `json` on one line, with controls, bidi controls and invisible characters as `\u` escapes. It
/// stays equal as a JSON value: such characters stand only in strings, C0 only between tokens, and
/// numbers are untouched.
#[must_use]
pub(super) fn escape_line(json: &str) -> Cow<'_, str> {
    escape_chars(json, needs_escape)
}

/// The same for documents, one or several, that end in line feeds: those stay.
#[must_use]
pub(super) fn escape_lines(json: &str) -> Cow<'_, str> {
    escape_chars(json, |c| c != '\n' && needs_escape(c))
}

fn escape_chars(json: &str, is_foreign: fn(char) -> bool) -> Cow<'_, str> {
    if !json.chars().any(is_foreign) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c < ' ' && is_foreign(c) {
            // White space between tokens; a raw one in a string would not be JSON.
        } else if is_foreign(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a string takes what is written");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// An email's JSON with a last member that says when the service has confirmed its status.
#[must_use]
pub(super) fn add_checked_at(json: &str, confirmed: Option<Timestamp>) -> String {
    let open = json.trim_end();
    let open = open.strip_suffix('}').unwrap_or(open).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    let at = confirmed.map_or_else(|| "null".to_owned(), |at| format!("\"{at}\""));
    format!("{open}{comma}\"_sentbox\":{{\"checked_at\":{at}}}}}")
}

const LIST_START: &str = "{\"object\":\"list\",\"data\":[";

/// An item of the service's list envelope, with what stands in front of it.
#[must_use]
pub(super) fn list_item(item: &str, is_first: bool) -> String {
    let lead = if is_first { LIST_START } else { "," };
    format!("{lead}\n{item}")
}

/// The end of the list envelope, and its beginning too if no item came before.
#[must_use]
pub(super) fn list_end(is_empty: bool, has_more: bool) -> String {
    let lead = if is_empty { LIST_START } else { "" };
    format!("{lead}\n],\"has_more\":{has_more}}}\n")
}

fn needs_escape(c: char) -> bool {
    !matches!(c, ' '..='~') && !sanitize::is_safe_char(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn numbers_stay_verbatim_and_controls_are_escaped() {
        let json = "{ \"n\": 1.50e+3,\n\t\"s\": \"\u{202e}a\u{9b}\u{7f}\\u001b\" }";
        assert_eq!(
            escape_line(json),
            r#"{ "n": 1.50e+3,"s": "\u202ea\u009b\u007f\u001b" }"#
        );
        assert_eq!(
            escape_line("\"pay\u{200b}pal \u{e0061}\""),
            "\"pay\\u200bpal \\udb40\\udc61\""
        );
        assert!(matches!(escape_line("{\"a\":\"é\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_time_of_the_check_is_the_last_member() {
        let at = "2026-11-21T20:41:00Z".parse().ok();
        assert_eq!(
            add_checked_at("{\"n\": 1.50 }\n", at),
            r#"{"n": 1.50,"_sentbox":{"checked_at":"2026-11-21T20:41:00Z"}}"#
        );
        assert_eq!(
            add_checked_at("{}", None),
            r#"{"_sentbox":{"checked_at":null}}"#
        );
    }

    proptest! {
        #[test]
        fn the_value_is_the_same_and_nothing_commands_a_terminal(text in any::<String>(), extra in "[\u{0}-\u{a0}\u{2000}-\u{206f}]{0,20}", pretty: bool) {
            let value = Value::from(vec![text, extra]);
            let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let guarded = escape_line(&json);
            prop_assert!(!guarded.chars().any(needs_escape));
            prop_assert_eq!(serde_json::from_str::<Value>(&guarded).unwrap(), value);
        }
    }
}
