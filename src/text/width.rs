//! Cuts, pads and wraps text by the columns it takes on a screen,
//! never inside a character as people see it.
//!
//! The text must be sanitized (`sanitize.rs`): a control character counts as a column here, and
//! ratatui drops it.

use unicode_segmentation::UnicodeSegmentation;

/// The columns that a text takes on the screen.
pub(crate) trait DisplayWidth {
    /// Returns the sum over grapheme clusters: the screen has one cell or two for each.
    ///
    /// `unicode-width` gives some clusters side by side (Arabic lam and alef, for example) the
    /// width of their ligature. A grid of cells has no ligatures, so the sum is the width that is
    /// drawn.
    fn width(&self) -> usize;
}

impl DisplayWidth for str {
    fn width(&self) -> usize {
        let ascii = self.bytes().take_while(u8::is_ascii).count();
        if ascii == self.len() {
            return ascii;
        }
        // A mark may follow the last ASCII character.
        let (start, rest) = self.split_at(ascii.saturating_sub(1));
        let rest = if rest.chars().all(|c| c < '\u{590}') {
            // No script below this has ligatures of several clusters.
            unicode_width::UnicodeWidthStr::width(rest)
        } else {
            rest.graphemes(true)
                .map(unicode_width::UnicodeWidthStr::width)
                .sum()
        };
        start.len() + rest
    }
}

/// The start of `text` in `columns`, with an ellipsis if something is missing.
pub(crate) fn truncate(text: &str, columns: usize, ellipsis: &str) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let free = columns.saturating_sub(ellipsis.width());
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > free {
            break;
        }
        out.push_str(grapheme);
    }
    if ellipsis.width() <= columns {
        out.push_str(ellipsis);
    }
    out
}

/// `text` in exactly `columns`, cut or padded at the right.
pub(crate) fn align_left(text: &str, columns: usize, ellipsis: &str) -> String {
    let mut out = truncate(text, columns, ellipsis);
    out.push_str(&" ".repeat(columns.saturating_sub(out.width())));
    out
}

/// `text` in exactly `columns`, padded at the left.
pub(crate) fn align_right(text: &str, columns: usize, ellipsis: &str) -> String {
    let cut = truncate(text, columns, ellipsis);
    let mut out = " ".repeat(columns.saturating_sub(cut.width()));
    out.push_str(&cut);
    out
}

/// Returns the rest of `text` after its first `columns`;
/// a wide character cut in two leaves a space.
pub(crate) fn skip_columns(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut out = String::new();
    for grapheme in text.graphemes(true) {
        if used >= columns {
            out.push_str(grapheme);
            continue;
        }
        used += grapheme.width();
        if used > columns {
            out.push_str(&" ".repeat(used - columns));
        }
    }
    out
}

/// Splits `text` at ASCII white space into lines of at most `columns`;
/// a longer word has its own line.
///
/// Runs of white space become one space; a text without words gives no line.
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

/// Splits `text` into lines of `columns`, wherever that is in a word.
pub(crate) fn split_columns(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        if used > 0 && used + grapheme.width() > columns {
            lines.push(String::new());
            used = 0;
        }
        lines.last_mut().expect("never empty").push_str(grapheme);
        used += grapheme.width();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn wide_characters_and_clusters_are_not_split() {
        assert_eq!(align_left("ご注文の確認", 7, "…"), "ご注文…");
        assert_eq!(align_left("ご注文の確認", 8, "…"), "ご注文… ");
        assert_eq!(truncate("👩‍💻👩‍💻", 3, "…"), "👩‍💻…");
        assert_eq!(align_left("ab", 4, "…"), "ab  ");
        assert_eq!(align_right("ab", 4, "…"), "  ab");
        assert_eq!(truncate("abc", 0, "…"), "");
        assert_eq!(skip_columns("ご注文", 3), " 文");
    }

    /// Arabic, Hebrew, Lisu and Buginese have ligatures of several clusters.
    #[test]
    fn width_is_the_sum_of_drawn_cells() {
        for text in [
            "لا",
            "سلام لا إله",
            "א\u{200d}ל",
            "ꓸꓹ",
            "🇩🇪 नमस्ते",
            "ご注文 ok",
            "cafe\u{301}… ok",
        ] {
            let mut row = Buffer::empty(Rect::new(0, 0, 40, 1));
            let (end, _) = row.set_stringn(0, 0, text, 40, Style::new());
            assert_eq!(text.width(), usize::from(end), "{text}");
            assert_eq!(align_left(text, 5, "…").width(), 5, "{text}");
        }
    }

    proptest! {
        #[test]
        fn aligned_text_has_the_requested_width(text in "\\PC{0,20}", columns in 0_usize..30) {
            prop_assert_eq!(align_left(&text, columns, "…").width(), columns);
            prop_assert_eq!(align_right(&text, columns, "~").width(), columns);
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("to be or not to be", 8), ["to be or", "not to", "be"]);
        assert_eq!(wrap("a  longerword b", 5), ["a", "longerword", "b"]);
        assert_eq!(wrap("ご注文 確認", 6), ["ご注文", "確認"]);
        assert!(wrap("  ", 8).is_empty());
        assert_eq!(split_columns("longerword", 4), ["long", "erwo", "rd"]);
        assert_eq!(split_columns("確認", 1), ["確", "認"]);
    }
}
