//! Cuts what is monstrous in a source before the tokenizer sees it: endless tags, endless sources.

use std::borrow::Cow;

/// A longer tag loses its long attribute values: a picture that is written into its address.
const MAX_TAG_BYTES: usize = 64 << 10;

/// A longer attribute value is left out of a tag that is too long.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// The tokenizer compares each attribute with all before it.
const MAX_ATTRIBUTES: usize = 128;

/// A source within its limits.
pub(in crate::render) struct LimitedSource<'a> {
    pub(in crate::render) text: Cow<'a, str>,
    /// Its end is missing.
    pub(super) truncated: bool,
}

/// Cuts tags, then the whole at `max` bytes.
pub(in crate::render) fn limit_source(source: &str, max: usize) -> LimitedSource<'_> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = source[at..].find('<').map(|found| at + found) {
        if out.len() + (start - copied) > max {
            break;
        }
        if !source
            .as_bytes()
            .get(start + 1)
            .is_some_and(u8::is_ascii_alphabetic)
        {
            at = start + 1;
            continue;
        }
        let tag = TagExtent::scan(&source[start..]);
        at = start + tag.len;
        if tag.len > MAX_TAG_BYTES || tag.attributes.len() > MAX_ATTRIBUTES {
            out.push_str(&source[copied..start]);
            tag.write_limited(&source[start..at], &mut out);
            copied = at;
        }
    }
    let text = if copied == 0 {
        Cow::Borrowed(source)
    } else {
        out.push_str(truncate_above(&source[copied..], max));
        Cow::Owned(out)
    };
    if text.len() <= max {
        return LimitedSource {
            text,
            truncated: false,
        };
    }
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(truncate_above(text, max)),
        Cow::Owned(text) => Cow::Owned(truncate_above(&text, max).to_owned()),
    };
    LimitedSource {
        text,
        truncated: true,
    }
}

/// At most about `max` bytes, ended between two characters. One byte more than `max` stays, so
/// that a text that was clipped can be told from one that fits.
fn truncate_above(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max + 1);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    &text[..end]
}

/// Where a tag ends and where its attributes lie, as the tokenizer will see it.
struct TagExtent {
    len: usize,
    attributes: Vec<(usize, usize)>,
}

impl TagExtent {
    fn scan(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut attributes = Vec::new();
        let mut at = 1;
        while at < bytes.len() && !is_attribute_separator(bytes[at]) && bytes[at] != b'>' {
            at += 1;
        }
        loop {
            while at < bytes.len() && is_attribute_separator(bytes[at]) {
                at += 1;
            }
            match bytes.get(at) {
                None => {
                    return Self {
                        len: at,
                        attributes,
                    };
                }
                Some(b'>') => {
                    return Self {
                        len: at + 1,
                        attributes,
                    };
                }
                Some(_) => {}
            }
            let start = at;
            at += 1;
            while at < bytes.len()
                && !is_attribute_separator(bytes[at])
                && !matches!(bytes[at], b'>' | b'=')
            {
                at += 1;
            }
            at = value_end(bytes, at);
            if attributes.len() <= MAX_ATTRIBUTES {
                attributes.push((start, at));
            }
        }
    }

    /// Writes the tag with its first short attributes only.
    fn write_limited(&self, tag: &str, out: &mut String) {
        let name_end = self
            .attributes
            .first()
            .map_or(tag.len(), |first| first.0)
            .min(MAX_VALUE_BYTES);
        out.push_str(tag.get(..name_end).unwrap_or("<span").trim_end_matches('>'));
        for (start, end) in self
            .attributes
            .iter()
            .take(MAX_ATTRIBUTES)
            .filter(|(start, end)| end - start <= MAX_VALUE_BYTES)
        {
            out.push(' ');
            out.push_str(&tag[*start..*end]);
        }
        out.push('>');
    }
}

/// Where the value that may follow an attribute's name ends.
fn value_end(bytes: &[u8], name_end: usize) -> usize {
    let mut at = name_end;
    while at < bytes.len() && bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    if bytes.get(at) != Some(&b'=') {
        return name_end;
    }
    at += 1;
    while at < bytes.len() && bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    match bytes.get(at) {
        Some(quote @ (b'"' | b'\'')) => bytes[at + 1..]
            .iter()
            .position(|byte| byte == quote)
            .map_or(bytes.len(), |len| at + len + 2),
        _ => bytes[at..]
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || *byte == b'>')
            .map_or(bytes.len(), |len| at + len),
    }
}

const fn is_attribute_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'/'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_sources_are_borrowed() {
        let source = "<p class='a>b' title=x>Hi</p> 1 < 2";
        assert!(matches!(limit_source(source, 1000).text, Cow::Borrowed(text) if text == source));
    }

    #[test]
    fn a_picture_in_its_own_address_goes_and_the_tag_stays() {
        let source = format!(
            "<img alt=a src=\"data:{}\" width=3>bye",
            "A".repeat(100_000)
        );
        let fenced = limit_source(&source, 1000);
        assert_eq!(fenced.text, "<img  alt=a width=3>bye");
        assert!(!fenced.truncated);
    }

    #[test]
    fn attributes_are_counted() {
        let source = format!(
            "<p {}>text",
            (0..1000).fold(String::new(), |all, i| all + &format!("a{i}=1 "))
        );
        assert_eq!(
            limit_source(&source, 100_000).text.matches('=').count(),
            MAX_ATTRIBUTES
        );
    }

    #[test]
    fn long_sources_are_cut_between_characters_and_say_so() {
        let fenced = limit_source("日本語日本語", 7);
        assert!(fenced.truncated);
        assert_eq!(fenced.text, "日本語");
        assert!(limit_source(&"<p>x".repeat(1000), 100).truncated);
    }

    #[test]
    fn a_tag_that_never_ends_is_no_trouble() {
        for source in ["<a", "<a href", "<a href=", "<a href='", "<a href=\"x"] {
            assert_eq!(limit_source(source, 1000).text, source);
        }
    }
}
