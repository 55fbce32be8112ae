//! ASCII for the symbols of the program, for terminals that show no others.

/// Returns the replacement of a symbol; `None` of any other character.
pub(crate) const fn ascii_symbol(symbol: char) -> Option<&'static str> {
    Some(match symbol {
        '•' => "*",
        '─' | '·' => "-",
        '…' => "~",
        '→' | '▸' => ">",
        '▾' => "v",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '\u{A0}' => " ",
        '\u{FFFD}' => "?",
        _ => return None,
    })
}

/// Replaces the symbols in a text. One that is quoted may have them, too:
/// a font without them has none of both.
pub(crate) fn replace_symbols(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match ascii_symbol(c) {
            Some(symbol) => out.push_str(symbol),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_become_ascii_and_letters_stay() {
        assert_eq!(
            replace_symbols("Ana López … “••• •••” → a · b"),
            "Ana López ~ \"*** ***\" > a - b"
        );
    }
}
