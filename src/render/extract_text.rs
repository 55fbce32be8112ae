//! The words of an html source, for a search index: fast, without layout and without a tree.

use std::cell::{Cell, RefCell};

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::html::{MAX_BYTES, limit_source};

/// The text between the tags of `source`, and a blank wherever a block begins or ends.
///
/// Styles, scripts, comments and the title are left out. What only a style hides stays in: the
/// line that mail programs preview is hidden so, and people look for it.
#[must_use]
pub(crate) fn extract_text(source: &str) -> String {
    let tokenizer = Tokenizer::new(TextSink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(&*limit_source(source, MAX_BYTES).text));
    // A script or a charset pauses the tokenizer for somebody who would act on it. Nobody does.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.text.into_inner()
}

#[derive(Default)]
struct TextSink {
    text: RefCell<String>,
    /// Whether the text of an element that shows none is passing.
    skips_text: Cell<bool>,
}

impl TextSink {
    fn process_tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        self.skips_text.set(false);
        if !is_inline(&tag.name) {
            self.text.borrow_mut().push(' ');
        }
        let raw = match (&*tag.name, tag.kind) {
            ("script" | "style" | "xmp" | "iframe" | "noembed" | "noframes", TagKind::StartTag) => {
                RawKind::Rawtext
            }
            ("title" | "textarea", TagKind::StartTag) => RawKind::Rcdata,
            _ => return TokenSinkResult::Continue,
        };
        self.skips_text.set(&*tag.name != "textarea");
        TokenSinkResult::RawData(raw)
    }
}

impl TokenSink for TextSink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.process_tag(&tag),
            Token::CharacterTokens(text) if !self.skips_text.get() => {
                self.text.borrow_mut().push_str(&text);
            }
            Token::CharacterTokens(_)
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// Elements within which a word may go on.
fn is_inline(name: &str) -> bool {
    matches!(
        name,
        "a" | "abbr"
            | "b"
            | "bdi"
            | "bdo"
            | "big"
            | "cite"
            | "code"
            | "del"
            | "em"
            | "font"
            | "i"
            | "ins"
            | "kbd"
            | "mark"
            | "q"
            | "s"
            | "samp"
            | "small"
            | "span"
            | "strike"
            | "strong"
            | "sub"
            | "sup"
            | "tt"
            | "u"
            | "var"
            | "wbr"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> String {
        extract_text(source)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn text_without_its_markup() {
        for (source, text) in [
            (
                "<p>Your <b>rec</b>eipt</p><p>No.&nbsp;4&amp;5 &eacute;",
                "Your receipt No. 4&5 é",
            ),
            ("<td>one</td><td>two<br>three", "one two three"),
            (
                "<title>no</title><style>p{a:b}</style><script>if (a<b) x()</script>yes<!-- no -->",
                "yes",
            ),
            ("<style>never closed <p>no", ""),
            ("a < b and <unknown>c", "a < b and c"),
            ("", ""),
        ] {
            assert_eq!(words(source), text, "{source}");
        }
    }

    #[test]
    fn a_monstrous_tag_costs_no_more_than_its_length() {
        let tag: String = (0..100_000).fold("<p ".to_owned(), |tag, n| tag + &format!("a{n}=b "));
        assert_eq!(words(&format!("{tag}>after")), "after");
    }
}
