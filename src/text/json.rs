//! Escapes control and invisible characters in JSON; the values stay equal.
//!
//! For streams and files of JSON. Text for people is sanitized instead ([`super::sanitize`]).

use std::borrow::Cow;
use std::fmt::Write as _;

use super::sanitize;

/// Writes JSON on one line, with control and invisible characters as `\u` escapes.
///
/// The value stays equal: such characters occur only in strings, C0 only between tokens, and
/// numbers are untouched.
pub(crate) fn escape_line(json: &str) -> Cow<'_, str> {
    escape_chars(json, needs_escape)
}

/// Escapes documents of several lines, and keeps their newlines.
pub(crate) fn escape_lines(json: &str) -> Cow<'_, str> {
    escape_chars(json, |c| c != '\n' && needs_escape(c))
}

/// Escapes documents of several lines into ASCII alone, and keeps their newlines.
pub(crate) fn escape_to_ascii(json: &str) -> Cow<'_, str> {
    escape_chars(json, |c| c != '\n' && (!c.is_ascii() || needs_escape(c)))
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
            push_escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Adds `c` as a `\u` escape, or as two.
pub(crate) fn push_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04x}").expect("a string takes what is written");
    }
}

/// Replaces lone surrogates, which are JSON but no text, by U+FFFD.
pub(crate) fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let surrogate = |escape: Option<&str>| {
        let hex = escape?.strip_prefix("\\u")?;
        let unit = u16::from_str_radix(hex, 16).ok()?;
        (0xD800..0xE000).contains(&unit).then_some(unit)
    };
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let Some(unit) = surrogate(json.get(at..at + 6)) else {
            // It escapes the next character, which may be a backslash.
            at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let next = surrogate(json.get(at + 6..at + 12));
        if unit < 0xDC00 && next.is_some_and(|next| next >= 0xDC00) {
            at += 12;
            continue;
        }
        out.push_str(&json[copied..at]);
        out.push_str("\\ufffd");
        at += 6;
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

fn needs_escape(c: char) -> bool {
    !matches!(c, ' '..='~') && !sanitize::is_safe_char(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn numbers_stay_verbatim_and_controls_are_escaped() {
        let json = "{ \"n\": 1.50e+3,\n\t\"s\": \"\u{202e}a\u{9b}\u{7f}\\u001b\" }";
        let expected = r#"{ "n": 1.50e+3,"s": "\u202ea\u009b\u007f\u001b" }"#;
        assert_eq!(escape_line(json), expected);
        let expected = "\"pay\\u200bpal \\udb40\\udc61\"";
        assert_eq!(escape_line("\"pay\u{200b}pal \u{e0061}\""), expected);
        assert!(matches!(escape_line("{\"a\":\"é\"}"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn escaped_json_keeps_its_value_without_control_characters(text in any::<String>(), extra in "[\u{0}-\u{a0}\u{2000}-\u{206f}]{0,20}", pretty: bool) {
            let value = Value::from(vec![text, extra]);
            let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let guarded = escape_line(&json);
            prop_assert!(!guarded.chars().any(needs_escape));
            prop_assert_eq!(serde_json::from_str::<Value>(&guarded).unwrap(), value);
        }
    }
}
