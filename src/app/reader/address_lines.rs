//! Recipients as lines of the header.

use crate::text::width::{DisplayWidth as _, split_columns};

/// Breaks a name and its address into lines.
/// The last line of a long name has all the rest, and the address begins the next one.
pub(super) fn break_recipient(
    text: &str,
    columns: usize,
    longest: usize,
    max_lines: usize,
) -> Vec<String> {
    let mut lines = break_text(text, columns, longest);
    if lines.len() > max_lines
        && let Some((name, address)) = text.rsplit_once(" <")
    {
        lines = break_text(name, columns, longest);
        join_last(&mut lines, max_lines - 1, " ");
        lines.extend(break_text(&format!("<{address}"), columns, longest));
    }
    lines
}

/// Breaks an address or another text into lines of at most `columns`.
///
/// It breaks at spaces and before a domain; a longer piece than `longest` is broken anywhere.
pub(super) fn break_text(text: &str, columns: usize, longest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let split = |word: &str| word.find('@').filter(|_| word.width() > columns);
    for word in text.split_inclusive(' ') {
        let (local, domain) = word.split_at(split(word).unwrap_or(0));
        let pieces = [local, domain].map(|part| split_columns(part, longest));
        for piece in pieces.iter().flatten() {
            let last = lines.len() - 1;
            if !lines[last].is_empty() && lines[last].width() + piece.trim_end().width() > columns {
                lines.push(String::new());
            }
            let last = lines.len() - 1;
            lines[last].push_str(piece);
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Puts what is beyond the last allowed line at its end.
pub(super) fn join_last(texts: &mut Vec<String>, max_lines: usize, separator: &str) {
    if texts.len() > max_lines.max(1) {
        let rest = texts.split_off(max_lines.max(1) - 1).join(separator);
        texts.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_broken_before_its_domain_or_anywhere() {
        let whole = break_text("ana@support-of-the-team.webmail.test", 20, 20);
        assert_eq!(whole, ["ana", "@support-of-the-team", ".webmail.test"]);
    }
}
