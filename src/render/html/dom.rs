//! The tree of html5ever: nodes in one vector, so that nothing recurses.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::tree_builder::{
    ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink,
};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, QualName, ns};

/// Attributes of a tag; the tokenizer compares each with all before it.
pub(super) const MAX_ATTRIBUTES: usize = 128;

/// Deeper tags are dropped; their content stays.
pub(super) const MAX_DEPTH: u16 = 200;

/// Index of a node in its tree; the document has index 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) parent: Option<NodeId>,
    pub(crate) previous_sibling: Option<NodeId>,
    pub(crate) next_sibling: Option<NodeId>,
    pub(crate) first_child: Option<NodeId>,
    pub(crate) last_child: Option<NodeId>,
    depth: u16,
    pub(crate) data: NodeData,
}

#[derive(Debug, Default)]
pub(crate) enum NodeData {
    /// A document, a comment, the content of a template.
    #[default]
    Other,
    Text(StrTendril),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
    },
}

/// A parsed document.
#[derive(Debug, Default)]
pub(crate) struct Dom {
    nodes: Vec<Node>,
    /// The document is in quirks mode.
    pub(crate) quirks: bool,
}

impl Dom {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(id).first_child, |child| {
            self.node(*child).next_sibling
        })
    }

    /// Returns the parent of a node, the parent of that, and so on.
    pub(crate) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(id).parent, |id| self.node(*id).parent)
    }

    pub(crate) fn is_element(&self, id: NodeId) -> bool {
        matches!(self.node(id).data, NodeData::Element { .. })
    }

    /// Returns the name of an element; for other nodes an empty string.
    pub(crate) fn tag_name(&self, id: NodeId) -> &str {
        match &self.node(id).data {
            NodeData::Element { name, .. } => &name.local,
            NodeData::Text(_) | NodeData::Other => "",
        }
    }

    /// True for a pseudo-element.
    pub(crate) fn is_generated(&self, id: NodeId) -> bool {
        self.tag_name(id).starts_with(':')
    }

    /// Adds a pseudo-element with text to `parent`, as its first or its last child.
    pub(crate) fn add_generated(&mut self, parent: NodeId, name: &str, is_first: bool, text: &str) {
        let name = QualName::new(None, ns!(html), LocalName::from(name));
        let attributes = Vec::new();
        let element = push_node(&mut self.nodes, NodeData::Element { name, attributes });
        let inner = push_node(&mut self.nodes, NodeData::Text(text.into()));
        let before = self.node(parent).first_child.filter(|_| is_first);
        attach(&mut self.nodes, parent, before, element);
        attach(&mut self.nodes, element, None, inner);
    }

    /// True for the elements of drawings.
    pub(crate) fn is_svg(&self, id: NodeId) -> bool {
        matches!(&self.node(id).data, NodeData::Element { name, .. } if name.ns == ns!(svg))
    }

    pub(crate) fn attribute(&self, id: NodeId, key: &str) -> Option<&str> {
        match &self.node(id).data {
            NodeData::Element { attributes, .. } => attributes
                .iter()
                .find(|attribute| &*attribute.name.local == key)
                .map(|attribute| &*attribute.value),
            NodeData::Text(_) | NodeData::Other => None,
        }
    }

    /// Returns all nodes of the tree in document order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(NodeId::ROOT), |id| self.next_node(*id))
    }

    /// Returns the node after `id` in document order.
    pub(crate) fn next_node(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).first_child.or_else(|| {
            let mut at = id;
            loop {
                match (self.node(at).next_sibling, self.node(at).parent) {
                    (Some(next), _) => return Some(next),
                    (None, Some(parent)) => at = parent,
                    (None, None) => return None,
                }
            }
        })
    }

    /// Returns the text of a text node.
    pub(crate) fn text(&self, id: NodeId) -> Option<&str> {
        match &self.node(id).data {
            NodeData::Text(text) => Some(text),
            NodeData::Element { .. } | NodeData::Other => None,
        }
    }

    /// Returns the text of the children that are text nodes.
    pub(crate) fn child_text(&self, id: NodeId) -> String {
        let texts = self.children(id).filter_map(|child| self.text(child));
        texts.collect()
    }
}

/// The document under construction.
#[derive(Debug)]
pub(super) struct DomSink {
    nodes: RefCell<Vec<Node>>,
    /// Depth of the innermost open element.
    open_depth: Cell<u16>,
    quirks: Cell<bool>,
}

impl DomSink {
    pub(super) fn new() -> Self {
        Self {
            nodes: RefCell::new(vec![Node::default()]),
            open_depth: Cell::default(),
            quirks: Cell::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    pub(super) fn open_depth(&self) -> u16 {
        self.open_depth.get()
    }

    pub(super) fn into_dom(self) -> Dom {
        Dom {
            nodes: self.nodes.into_inner(),
            quirks: self.quirks.get(),
        }
    }

    fn add_node(&self, data: NodeData) -> NodeId {
        push_node(&mut self.nodes.borrow_mut(), data)
    }

    /// Inserts `child` into `parent` before the node `before`, or at the end.
    fn insert(&self, parent: NodeId, before: Option<NodeId>, child: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        detach(&mut nodes, child);
        attach(&mut nodes, parent, before, child);
        let node = &nodes[child.index()];
        if matches!(node.data, NodeData::Element { .. }) {
            self.open_depth.set(node.depth);
        }
    }

    /// Inserts text, joining it with an adjacent text node.
    fn insert_text(&self, parent: NodeId, before: Option<NodeId>, text: StrTendril) {
        let previous = {
            let nodes = self.nodes.borrow();
            before.map_or(nodes[parent.index()].last_child, |before| {
                nodes[before.index()].previous_sibling
            })
        };
        if let Some(previous) = previous
            && let NodeData::Text(existing) = &mut self.nodes.borrow_mut()[previous.index()].data
        {
            existing.push_tendril(&text);
            return;
        }
        let id = self.add_node(NodeData::Text(text));
        self.insert(parent, before, id);
    }

    /// Returns `parent` or its nearest ancestor that is not too deep for children.
    ///
    /// The tree builder reopens formatting elements itself, which the depth limiter cannot see.
    fn allowed_parent(&self, parent: NodeId) -> NodeId {
        let nodes = self.nodes.borrow();
        let mut at = parent;
        while nodes[at.index()].depth > MAX_DEPTH + 32 {
            let Some(up) = nodes[at.index()].parent else {
                break;
            };
            at = up;
        }
        at
    }

    fn insert_node_or_text(
        &self,
        parent: NodeId,
        before: Option<NodeId>,
        child: NodeOrText<NodeId>,
    ) {
        match child {
            NodeOrText::AppendNode(id) => self.insert(parent, before, id),
            NodeOrText::AppendText(text) => self.insert_text(parent, before, text),
        }
    }
}

fn push_node(nodes: &mut Vec<Node>, data: NodeData) -> NodeId {
    let index = u32::try_from(nodes.len()).expect("limits keep the tree far smaller than this");
    nodes.push(Node {
        data,
        ..Node::default()
    });
    NodeId(index)
}

/// Links `child` into `parent` before the node `before`, or at the end.
fn attach(nodes: &mut [Node], parent: NodeId, before: Option<NodeId>, child: NodeId) {
    let previous = before.map_or(nodes[parent.index()].last_child, |before| {
        nodes[before.index()].previous_sibling
    });
    let depth = nodes[parent.index()].depth.saturating_add(1);
    let node = &mut nodes[child.index()];
    node.parent = Some(parent);
    node.previous_sibling = previous;
    node.next_sibling = before;
    node.depth = depth;
    match previous {
        Some(previous) => nodes[previous.index()].next_sibling = Some(child),
        None => nodes[parent.index()].first_child = Some(child),
    }
    match before {
        Some(before) => nodes[before.index()].previous_sibling = Some(child),
        None => nodes[parent.index()].last_child = Some(child),
    }
}

fn detach(nodes: &mut [Node], id: NodeId) {
    let node = &mut nodes[id.index()];
    let (parent, previous, next) = (
        node.parent.take(),
        node.previous_sibling.take(),
        node.next_sibling.take(),
    );
    let Some(parent) = parent else { return };
    match previous {
        Some(previous) => nodes[previous.index()].next_sibling = next,
        None => nodes[parent.index()].first_child = next,
    }
    match next {
        Some(next) => nodes[next.index()].previous_sibling = previous,
        None => nodes[parent.index()].last_child = previous,
    }
}

/// A copy of a name, because the borrow of the nodes must end.
#[derive(Debug)]
pub(super) struct ElementName(QualName);

impl ElemName for ElementName {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl TreeSink for DomSink {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = ElementName;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        NodeId::ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> ElementName {
        match &self.nodes.borrow()[target.index()].data {
            NodeData::Element { name, .. } => ElementName(name.clone()),
            NodeData::Text(_) | NodeData::Other => {
                unreachable!("only elements have names")
            }
        }
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        _: ElementFlags,
    ) -> NodeId {
        self.add_node(NodeData::Element { name, attributes })
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.add_node(NodeData::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.add_node(NodeData::Other)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert_node_or_text(self.allowed_parent(*parent), None, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        let parent = self.nodes.borrow()[element.index()].parent;
        match parent {
            Some(parent) => self.insert_node_or_text(parent, Some(*element), child),
            None => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// The content of a template gets no parent, so it is never shown.
    fn get_template_contents(&self, _: &NodeId) -> NodeId {
        self.add_node(NodeData::Other)
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.quirks.set(mode == QuirksMode::Quirks);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        let parent = self.nodes.borrow()[sibling.index()].parent;
        if let Some(parent) = parent {
            self.insert_node_or_text(parent, Some(*sibling), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeId, more: Vec<Attribute>) {
        if let NodeData::Element { attributes, .. } =
            &mut self.nodes.borrow_mut()[target.index()].data
        {
            for attribute in more {
                let is_same = |existing: &Attribute| existing.name == attribute.name;
                // Each `<body>` of a hostile email adds some.
                if attributes.len() < MAX_ATTRIBUTES && !attributes.iter().any(is_same) {
                    attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        detach(&mut self.nodes.borrow_mut(), *target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        loop {
            let child = self.nodes.borrow()[node.index()].first_child;
            let Some(child) = child else { return };
            self.insert(*new_parent, None, child);
        }
    }

    fn pop(&self, node: &NodeId) {
        let nodes = self.nodes.borrow();
        let depth = nodes[node.index()]
            .parent
            .map_or(0, |parent| nodes[parent.index()].depth);
        self.open_depth.set(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_that_begins_again_gets_few_attributes() {
        let source = (0..1000).fold(String::new(), |all, n| all + &format!("<body a{n}=b>"));
        let dom = crate::render::html::parse(&source).dom;
        let count = |node: &Node| match &node.data {
            NodeData::Element { attributes, .. } => attributes.len(),
            NodeData::Text(_) | NodeData::Other => 0,
        };
        let most = dom.nodes.iter().map(count).max();
        assert_eq!(most, Some(MAX_ATTRIBUTES));
    }
}
