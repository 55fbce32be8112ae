//! Stands between tokenizer and tree builder and keeps tags back that would nest too deep or be too many.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use html5ever::LocalName;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::TreeBuilder;

use super::tree::{Builder, Id, Tree};

/// A tree builder with limits.
pub(super) struct Guard {
    builder: TreeBuilder<Id, Builder>,
    max_nodes: usize,
    max_depth: u16,
    /// Start tags that were kept back, by name, so that their end tags are kept back too.
    kept_back: RefCell<HashMap<LocalName, usize>>,
    dropped: Cell<bool>,
    overflowed: Cell<bool>,
}

impl Guard {
    pub(super) fn new(builder: TreeBuilder<Id, Builder>, max_nodes: usize, max_depth: u16) -> Self {
        Self {
            builder,
            max_nodes,
            max_depth,
            kept_back: RefCell::default(),
            dropped: Cell::new(false),
            overflowed: Cell::new(false),
        }
    }

    /// Whether nothing more should be read.
    pub(super) fn is_full(&self) -> bool {
        self.builder.sink.len() >= self.max_nodes
    }

    /// Whether a tag was kept back because of its depth.
    pub(super) const fn dropped(&self) -> bool {
        self.dropped.get()
    }

    /// Whether something was kept back because there was too much of it.
    pub(super) const fn overflowed(&self) -> bool {
        self.overflowed.get()
    }

    pub(super) fn into_tree(self) -> Tree {
        self.builder.sink.into_tree()
    }

    fn keeps_back(&self, token: &Token) -> bool {
        if self.is_full() && matches!(token, Token::TagToken(_) | Token::CharacterTokens(_)) {
            self.overflowed.set(true);
            return true;
        }
        let Token::TagToken(tag) = token else {
            return false;
        };
        match tag.kind {
            TagKind::StartTag if self.builder.sink.open_depth() >= self.max_depth => {
                if !is_void(&tag.name) && !tag.self_closing {
                    self.dropped.set(true);
                    *self
                        .kept_back
                        .borrow_mut()
                        .entry(tag.name.clone())
                        .or_default() += 1;
                }
                true
            }
            TagKind::StartTag => false,
            TagKind::EndTag => match self.kept_back.borrow_mut().get_mut(&tag.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            },
        }
    }
}

impl TokenSink for Guard {
    type Handle = Id;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Id> {
        if self.keeps_back(&token) {
            return TokenSinkResult::Continue;
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn is_void(name: &LocalName) -> bool {
    matches!(
        &**name,
        "br" | "img" | "hr" | "input" | "wbr" | "meta" | "link" | "col" | "area" | "base"
    )
}
