//! Limits for html5ever: no huge tags, and no deep ones.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::TreeBuilder;

use super::dom::{Dom, DomSink, MAX_ATTRIBUTES, MAX_DEPTH, NodeId};

/// Nodes after these are dropped.
pub(super) const MAX_NODES: usize = 100_000;

/// A longer tag loses its long attribute values, such as images in `data:` URLs.
const MAX_TAG_BYTES: usize = 64 << 10;

/// Longer attributes of a tag that is too long are left out.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// Cuts huge tags, then the end: a text that is cut there is longer than `max`.
pub(super) fn limit_source(source: &str, max: usize) -> Cow<'_, str> {
    limit_tags(source, max, MAX_TAG_BYTES)
}

/// Cuts tags with very many attributes.
pub(super) fn limit_attributes(source: &str) -> Cow<'_, str> {
    limit_tags(source, source.len(), usize::MAX)
}

fn limit_tags(source: &str, max: usize, max_tag_bytes: usize) -> Cow<'_, str> {
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
        if tag.len > max_tag_bytes || tag.attributes.len() > MAX_ATTRIBUTES {
            out.push_str(&source[copied..start]);
            tag.write_limited(&source[start..at], &mut out);
            copied = at;
        }
    }
    // One byte more than `max` stays, so that a cut text is longer than `max`.
    let end = |text: &str| text.ceil_char_boundary(max + 1);
    if copied == 0 {
        return Cow::Borrowed(&source[..end(source)]);
    }
    let rest = &source[copied..];
    out.push_str(&rest[..end(rest)]);
    out.truncate(end(&out));
    Cow::Owned(out)
}

/// The length of a tag and its attributes, by the rules of the tokenizer.
struct TagExtent {
    len: usize,
    attributes: Vec<(usize, usize)>,
}

impl TagExtent {
    fn scan(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut attributes = Vec::new();
        let is_in_tag = |byte| !is_attribute_separator(byte) && byte != b'>';
        let mut at = skip(bytes, 1, is_in_tag);
        loop {
            at = skip(bytes, at, is_attribute_separator);
            if matches!(bytes.get(at), None | Some(b'>')) {
                let len = bytes.len().min(at + 1);
                return Self { len, attributes };
            }
            let start = at;
            let is_in_name = |byte| is_in_tag(byte) && byte != b'=';
            at = value_end(bytes, skip(bytes, at + 1, is_in_name));
            if attributes.len() <= MAX_ATTRIBUTES {
                attributes.push((start, at));
            }
        }
    }

    /// Writes the tag with the first of its short attributes only.
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

/// Returns the end of the attribute value that may follow a name.
fn value_end(bytes: &[u8], name_end: usize) -> usize {
    let is_space = |byte: u8| byte.is_ascii_whitespace();
    let at = skip(bytes, name_end, is_space);
    if bytes.get(at) != Some(&b'=') {
        return name_end;
    }
    let at = skip(bytes, at + 1, is_space);
    match bytes.get(at) {
        Some(quote @ (b'"' | b'\'')) => {
            let end = skip(bytes, at + 1, |byte| byte != *quote);
            bytes.len().min(end + 1)
        }
        _ => skip(bytes, at, |byte| !is_space(byte) && byte != b'>'),
    }
}

/// Returns where the bytes from `at` on that are `inside` end.
fn skip(bytes: &[u8], at: usize, inside: impl Fn(u8) -> bool) -> usize {
    let len = bytes[at..].iter().position(|byte| !inside(*byte));
    len.map_or(bytes.len(), |len| at + len)
}

const fn is_attribute_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'/'
}

/// A token sink that drops tags which are nested too deep or too many,
/// and joins text.
///
/// The tokenizer gives each `<` and each character reference alone.
pub(super) struct DepthLimiter {
    tree_builder: TreeBuilder<NodeId, DomSink>,
    pending_text: RefCell<StrTendril>,
    /// Dropped start tags by name, so that their end tags are dropped too.
    dropped_tags: RefCell<HashMap<LocalName, usize>>,
    pub(super) depth_exceeded: Cell<bool>,
    pub(super) nodes_exceeded: Cell<bool>,
}

impl DepthLimiter {
    pub(super) fn new(tree_builder: TreeBuilder<NodeId, DomSink>) -> Self {
        Self {
            tree_builder,
            pending_text: RefCell::default(),
            dropped_tags: RefCell::default(),
            depth_exceeded: Cell::new(false),
            nodes_exceeded: Cell::new(false),
        }
    }

    /// True if the tree has as many nodes as allowed.
    pub(super) fn is_full(&self) -> bool {
        self.tree_builder.sink.len() >= MAX_NODES
    }

    pub(super) fn into_tree(self) -> Dom {
        self.tree_builder.sink.into_dom()
    }

    fn drops(&self, token: &Token) -> bool {
        if self.is_full() && matches!(token, Token::TagToken(_) | Token::CharacterTokens(_)) {
            self.nodes_exceeded.set(true);
            return true;
        }
        let Token::TagToken(tag) = token else {
            return false;
        };
        match tag.kind {
            TagKind::StartTag if self.tree_builder.sink.open_depth() >= MAX_DEPTH => {
                if !is_void(&tag.name) && !tag.self_closing {
                    self.depth_exceeded.set(true);
                    *self
                        .dropped_tags
                        .borrow_mut()
                        .entry(tag.name.clone())
                        .or_default() += 1;
                }
                true
            }
            TagKind::StartTag => false,
            TagKind::EndTag => match self.dropped_tags.borrow_mut().get_mut(&tag.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            },
        }
    }

    /// Hands the joined text on.
    fn flush_text(&self, line: u64) {
        let text = self.pending_text.take();
        if text.is_empty() {
            return;
        }
        let token = Token::CharacterTokens(text);
        if !self.drops(&token) {
            // Text never changes what the tokenizer reads next.
            let _ = self.tree_builder.process_token(token, line);
        }
    }
}

impl TokenSink for DepthLimiter {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        match token {
            Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::CharacterTokens(text) => {
                self.pending_text.borrow_mut().push_tendril(&text);
                return TokenSinkResult::Continue;
            }
            _ => self.flush_text(line),
        }
        if self.drops(&token) {
            return TokenSinkResult::Continue;
        }
        self.tree_builder.process_token(token, line)
    }

    fn end(&self) {
        self.tree_builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.flush_text(0);
        self.tree_builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn is_void(name: &LocalName) -> bool {
    matches!(
        &**name,
        "br" | "img" | "hr" | "input" | "wbr" | "meta" | "link" | "col" | "area" | "base"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_limited_in_number() {
        let source = format!(
            "<p {}>text",
            (0..1000).fold(String::new(), |all, i| all + &format!("a{i}=1 "))
        );
        assert_eq!(
            limit_source(&source, 100_000).matches('=').count(),
            MAX_ATTRIBUTES
        );
    }

    #[test]
    fn long_source_is_cut_between_characters() {
        let limited = limit_source("日本語日本語", 7);
        assert_eq!(limited, "日本語");
        assert!(limit_source(&"<p>x".repeat(1000), 100).len() > 100);
    }

    #[test]
    fn unclosed_tag_stays_unchanged() {
        for source in ["<a", "<a href", "<a href=", "<a href='", "<a href=\"x"] {
            assert_eq!(limit_source(source, 1000), source);
        }
    }
}
