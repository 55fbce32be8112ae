//! Decodes html files by a byte order mark, a given or a declared charset.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A declaration after these bytes does not count, as in browsers.
const MAX_DECLARATION_OFFSET: usize = 1024;

/// Decodes the bytes of an html file; `given` is the charset by the user.
///
/// Text that is valid UTF-8 and not plain ASCII is UTF-8 whatever it declares: mail programs
/// convert the text and leave the declaration.
pub(crate) fn decode_html(bytes: &[u8], given: Option<&'static Encoding>) -> String {
    let encoding = given.unwrap_or_else(|| match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_ascii() => UTF_8,
        _ => declared_encoding(bytes).unwrap_or(UTF_8),
    });
    encoding.decode(bytes).0.into_owned()
}

fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(MAX_DECLARATION_OFFSET)];
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let mut tags = text.split("<meta").skip(1);
    let encoding = tags.find_map(|tag| {
        let (_, value) = tag.split('>').next()?.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = |c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | ';' | '/');
        Encoding::for_label_no_replacement(value.split(end).next()?.as_bytes())
    })?;
    // The declaration is readable as ASCII, so these two are wrong.
    Some(match encoding {
        wrong if wrong == UTF_16LE || wrong == UTF_16BE => UTF_8,
        wrong if wrong == encoding_rs::X_USER_DEFINED => WINDOWS_1252,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> String {
        decode_html(bytes, None)
    }

    #[test]
    fn byte_order_mark_decides() {
        assert_eq!(decode(b"\xFF\xFE<\0p\0>\0\xE9\0"), "<p>\u{e9}");
        assert_eq!(decode(b"\xFE\xFF\0<\0p\0>\0\xE9"), "<p>\u{e9}");
        let marked = b"\xEF\xBB\xBF<meta charset=latin1>\xC3\xA9";
        assert_eq!(decode(marked), "<meta charset=latin1>\u{e9}");
        assert_eq!(decode_html(marked, Some(WINDOWS_1252)), decode(marked));
    }

    #[test]
    fn charset_that_browsers_refuse_is_ignored() {
        let html = b"<meta charset=iso-2022-kr><p>Hello";
        assert_eq!(decode(html).as_bytes(), html);
    }

    #[test]
    fn declared_charset_is_used() {
        for meta in [
            "<meta charset=iso-8859-1>",
            "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=ISO-8859-1'>",
            "<meta name=x><meta charset = \"latin1\" />",
        ] {
            let text = decode(&[meta.as_bytes(), b"caf\xE9 \x80"].concat());
            assert!(text.ends_with("caf\u{e9} \u{20ac}"), "{text}");
        }
        let japanese = b"<meta charset=iso-2022-jp>\x1B$B$3\x1B(B";
        assert!(decode(japanese).ends_with('\u{3053}'));
    }

    #[test]
    fn given_charset_wins_over_the_declared_one() {
        let bytes = b"<meta charset=utf-8>\xEF";
        let koi8 = Encoding::for_label(b"koi8-r");
        assert!(decode_html(bytes, koi8).ends_with('\u{41e}'));
    }

    #[test]
    fn valid_utf_8_is_not_read_as_declared() {
        let converted = "<meta charset=iso-8859-1>caf\u{e9}";
        assert_eq!(decode(converted.as_bytes()), converted);
        assert_eq!(
            decode(b"<meta charset=utf-16>a\xFF"),
            "<meta charset=utf-16>a\u{fffd}"
        );
        assert_eq!(decode(b"caf\xE9"), "caf\u{fffd}");
    }
}
