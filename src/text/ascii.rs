//! ASCII for the symbols of the program, for terminals that show no others.

use std::io::{self, Write};

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
        '\u{A0}' | '\u{2009}' | '\u{202F}' => " ",
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

/// Replaces every character outside ASCII in UTF-8 by `?`.
pub(crate) fn replace_non_ascii(bytes: &[u8]) -> Vec<u8> {
    let starts_char = |byte: &u8| !matches!(byte, 0x80..=0xBF);
    let ascii = |byte: &u8| if byte.is_ascii() { *byte } else { b'?' };
    bytes
        .iter()
        .filter(|byte| starts_char(byte))
        .map(ascii)
        .collect()
}

/// Writes UTF-8 to a terminal that reads another charset.
pub(crate) struct AsciiWriter<W>(pub(crate) W);

impl<W: Write> Write for AsciiWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(&replace_non_ascii(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_outside_ascii_are_question_marks() {
        let mut writer = AsciiWriter(Vec::new());
        writeln!(writer, "Ana L\u{f3}pez \u{db}2J \u{65e5}\u{672c}").unwrap();
        writer.flush().unwrap();
        assert_eq!(writer.0, b"Ana L?pez ?2J ??\n");
    }

    #[test]
    fn symbols_become_ascii_and_letters_stay() {
        let expected = "Ana López ~ \"*** ***\" > a - b";
        assert_eq!(replace_symbols("Ana López … “••• •••” → a · b"), expected);
    }
}
