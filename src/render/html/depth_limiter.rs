//! Stands between tokenizer and tree builder and keeps tags back that would nest too deep or be too many.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use html5ever::LocalName;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::TreeBuilder;

use super::dom::{Dom, DomSink, NodeId};

/// A tree builder with limits.
pub(super) struct DepthLimiter {
    tree_builder: TreeBuilder<NodeId, DomSink>,
    max_nodes: usize,
    max_depth: u16,
    /// Start tags that were kept back, by name, so that their end tags are kept back too.
    dropped_tags: RefCell<HashMap<LocalName, usize>>,
    depth_exceeded: Cell<bool>,
    nodes_exceeded: Cell<bool>,
}

impl DepthLimiter {
    pub(super) fn new(
        builder: TreeBuilder<NodeId, DomSink>,
        max_nodes: usize,
        max_depth: u16,
    ) -> Self {
        Self {
            tree_builder: builder,
            max_nodes,
            max_depth,
            dropped_tags: RefCell::default(),
            depth_exceeded: Cell::new(false),
            nodes_exceeded: Cell::new(false),
        }
    }

    /// Whether nothing more should be read.
    pub(super) fn is_full(&self) -> bool {
        self.tree_builder.sink.len() >= self.max_nodes
    }

    /// Whether a tag was kept back because of its depth.
    pub(super) const fn depth_exceeded(&self) -> bool {
        self.depth_exceeded.get()
    }

    /// Whether something was kept back because there was too much of it.
    pub(super) const fn nodes_exceeded(&self) -> bool {
        self.nodes_exceeded.get()
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
            TagKind::StartTag if self.tree_builder.sink.open_depth() >= self.max_depth => {
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
}

impl TokenSink for DepthLimiter {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if self.drops(&token) {
            return TokenSinkResult::Continue;
        }
        self.tree_builder.process_token(token, line)
    }

    fn end(&self) {
        self.tree_builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
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
