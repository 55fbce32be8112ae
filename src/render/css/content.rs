//! Parses `content`, the text of pseudo-elements.

use cssparser::{Parser, Token};

use super::values::{ValueError, skip_rest};
use crate::text::format::is_listed;

/// The keywords of `content` without a text.
const EMPTY_KEYWORDS: &str = "none normal no-open-quote no-close-quote";

/// A part of the text of a pseudo-element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentPart {
    Text(String),
    /// The value of an attribute.
    Attribute(String),
}

/// Parses the value of `content`, which is empty for `none`, an image or a counter;
/// `None` if a browser ignores it.
pub(super) fn parse_content(input: &mut Parser<'_>) -> Option<Vec<ContentPart>> {
    let mut parts = Vec::new();
    while let Ok(token) = input.next().cloned() {
        parts.push(match token {
            Token::QuotedString(text) => ContentPart::Text(text.to_string()),
            Token::Ident(word) if word.eq_ignore_ascii_case("open-quote") => {
                ContentPart::Text("“".to_owned())
            }
            Token::Ident(word) if word.eq_ignore_ascii_case("close-quote") => {
                ContentPart::Text("”".to_owned())
            }
            Token::Function(name) if name.eq_ignore_ascii_case("attr") => {
                let name = input.parse_nested_block(|input| {
                    let name = input.expect_ident()?.to_ascii_lowercase();
                    skip_rest(input);
                    Ok::<String, ValueError>(name)
                });
                ContentPart::Attribute(name.unwrap_or_default())
            }
            // The text for screen readers follows.
            Token::Delim('/') => break,
            Token::Ident(word) if !is_listed(&word.to_ascii_lowercase(), EMPTY_KEYWORDS) => {
                return None;
            }
            _ => return Some(Vec::new()),
        });
    }
    skip_rest(input);
    (!parts.is_empty()).then_some(parts)
}
