//! Signs in place of what a line of plain text cannot show: raised digits, tabs.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Columns between two tab stops.
const TAB_COLUMNS: usize = 8;

/// Signs that have a superscript and a subscript form, which follow in this order.
const RAISED: &str = "0123456789+-()ni";
pub(super) const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ";
pub(super) const SUBSCRIPTS: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙᵢ";

/// Returns a text in these forms, if all of its signs have one.
pub(super) fn raise_digits(text: &str, forms: &str) -> Option<String> {
    // A typographic minus is raised in front alone: elsewhere it may part a code.
    let first = text.len() - text.trim_ascii_start().len();
    let raise = |(at, c): (usize, char)| {
        let is_minus = at == first && matches!(c, '−' | '–');
        let typed = if is_minus { '-' } else { c };
        match RAISED.chars().position(|raised| raised == typed) {
            Some(at) => forms.chars().nth(at),
            None => c.is_ascii_whitespace().then_some(c),
        }
    };
    text.char_indices().map(raise).collect()
}

/// Signs of Wingdings by their letters: faces, hands, arrows, marks.
const WINGDINGS: [(char, char); 21] = [
    ('J', '☺'),
    ('K', '😐'),
    ('L', '☹'),
    ('C', '👍'),
    ('D', '👎'),
    ('(', '☎'),
    ('*', '✉'),
    ('à', '→'),
    ('ß', '←'),
    ('á', '↑'),
    ('â', '↓'),
    ('è', '➔'),
    ('Ø', '➢'),
    ('ü', '✓'),
    ('û', '✗'),
    ('þ', '☑'),
    ('ý', '☒'),
    ('n', '■'),
    ('l', '●'),
    ('§', '▪'),
    ('v', '❖'),
];

/// Replaces letters in the font Wingdings by their signs.
///
/// Outlook also writes a letter as the private character U+F000 and its code.
pub(super) fn replace_wingdings(text: Cow<'_, str>, is_wingdings: bool) -> Cow<'_, str> {
    if !is_wingdings {
        return text;
    }
    let sign = |c: char| {
        let letter = match u32::from(c) {
            code @ 0xF020..=0xF0FF => char::from_u32(code - 0xF000).unwrap_or(c),
            _ => c,
        };
        let sign = WINGDINGS.iter().find(|(listed, _)| *listed == letter);
        sign.map_or(c, |(_, sign)| *sign)
    };
    text.chars().map(sign).collect()
}

/// Replaces tabs by spaces to the next tab stop behind `columns_before`.
pub(super) fn expand_tabs(text: &str, columns_before: impl FnOnce() -> usize) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut column = columns_before();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let columns = match c {
            '\t' => TAB_COLUMNS - column % TAB_COLUMNS,
            c => c.width().unwrap_or(0),
        };
        if c == '\t' {
            out.extend(std::iter::repeat_n(' ', columns));
        } else {
            out.push(c);
        }
        column = if c == '\n' { 0 } else { column + columns };
    }
    out.into()
}
