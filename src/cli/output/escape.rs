//! Cleans text for a stream, so that what it quotes cannot command a terminal;
//! and the `_sentbox` member.
//!
//! For JSON, [`crate::text::json`] escapes the same characters and keeps the data.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::archive::{Archive, EmailRow};
use crate::error::Result;
use crate::text::format::format_timestamp;
use crate::text::json::escape_line;
use crate::text::sanitize;

/// Removes all control characters but newlines and tabs.
pub(super) fn strip_controls(text: &str) -> Cow<'_, str> {
    filter_escapes(text, |_| 0)
}

/// Removes them, but keeps the sequences of sentbox: styles (SGR), links (OSC 8).
pub(super) fn strip_foreign_controls(text: &str) -> Cow<'_, str> {
    filter_escapes(text, |rest| {
        sgr_len(rest).or_else(|| hyperlink_len(rest)).unwrap_or(0)
    })
}

/// Sanitizes text between tabs and escapes;
/// `own` is the length of an escape to keep.
fn filter_escapes(text: &str, own: impl Fn(&str) -> usize) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\t', '\x1b']) {
        out.push_str(&sanitize::sanitize_block(&rest[..at]));
        rest = &rest[at..];
        let kept = if rest.starts_with('\t') { 1 } else { own(rest) };
        out.push_str(if kept > 0 { &rest[..kept] } else { REPLACEMENT });
        rest = &rest[kept.max(1)..];
    }
    out.push_str(&sanitize::sanitize_block(rest));
    Cow::Owned(out)
}

/// Replaces an escape that was removed.
const REPLACEMENT: &str = "\u{FFFD}";

/// The length of `ESC [ 1 ; 31 m`.
fn sgr_len(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\x1b[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..]
        .starts_with('m')
        .then_some("\x1b[".len() + end + 1)
}

/// The length of `ESC ] 8 ; ; address ESC \`.
fn hyperlink_len(text: &str) -> Option<usize> {
    const START: &str = "\x1b]8;;";
    let address = text.strip_prefix(START)?;
    let end = address.find(|c: char| !c.is_ascii_graphic())?;
    address[end..]
        .starts_with("\x1b\\")
        .then_some(START.len() + end + 2)
}

/// Adds the time at which the service confirmed the status to an email's JSON.
pub(in crate::cli) fn add_checked_at(json: &str, confirmed: Option<Timestamp>) -> String {
    let open = json.trim_end();
    let open = open.strip_suffix('}').unwrap_or(open).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    let at = confirmed.map_or_else(
        || "null".to_owned(),
        |at| format!("\"{}\"", format_timestamp(at)),
    );
    format!("{open}{comma}\"_sentbox\":{{\"checked_at\":{at}}}}}")
}

/// Returns the JSON of an email; `None` if another process has purged it meanwhile.
pub(in crate::cli) fn row_json(archive: &Archive, row: &EmailRow) -> Result<Option<String>> {
    let json = archive.summary_json(&row.summary.id)?;
    Ok(json.map(|json| add_checked_at(&escape_line(&json), row.confirmed_at)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn own_sequences_stay_in_styled_text_only() {
        let own = "\x1b[1;31mred\x1b[0m\t\x1b]8;;https://example.com/%20\x1b\\link\x1b]8;;\x1b\\\n";
        assert_eq!(strip_foreign_controls(own), own);
        assert!(!strip_controls(own).contains('\x1b'));
        for foreign in [
            "\x1b]0;title\x07",
            "\x1b[2J",
            "\x1b[",
            "\x1b]8;;a\u{7}",
            "\x1b]8;;a b\x1b\\",
            "\x1bP",
            "\u{9b}31m",
            "\u{202e}",
        ] {
            let text = strip_foreign_controls(foreign);
            assert!(
                !text.contains(['\x1b', '\u{7}', '\u{9b}', '\u{202e}']),
                "{foreign:?}: {text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn plain_text_keeps_only_newlines_and_tabs(text in "[\u{0}-\u{a0}\u{2000}-\u{206f}a-z\\[\\];]{0,40}") {
            let once = strip_controls(&text);
            prop_assert!(once.chars().all(|c| matches!(c, '\n' | '\t') || sanitize::is_safe_char(c)), "{once:?}");
            prop_assert_eq!(strip_controls(&once), once.clone());
        }
    }

    #[test]
    fn checked_at_is_the_last_member() {
        let at = "2026-11-21T20:41:00.5Z".parse().ok();
        let expected = r#"{"n": 1.50,"_sentbox":{"checked_at":"2026-11-21T20:41:00.500000Z"}}"#;
        assert_eq!(add_checked_at("{\"n\": 1.50 }\n", at), expected);
        let expected = r#"{"_sentbox":{"checked_at":null}}"#;
        assert_eq!(add_checked_at("{}", None), expected);
    }
}
