//! Word wrap.

use unicode_width::UnicodeWidthStr;

/// Splits `text` at spaces into lines of at most `columns`; a longer word has its own line.
///
/// Runs of spaces become one space; a text without words gives no line.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= columns => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("to be or not to be", 8), ["to be or", "not to", "be"]);
        assert_eq!(wrap("a  longerword b", 5), ["a", "longerword", "b"]);
        assert_eq!(wrap("ご注文 確認", 6), ["ご注文", "確認"]);
        assert!(wrap("  ", 8).is_empty());
    }
}
