//! The tree that html5ever builds: nodes in one vector, linked by number, so that nothing recurses.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::tree_builder::{
    ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink,
};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, QualName};

/// Position of a node in its tree. The document is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::render) struct NodeId(u32);

impl NodeId {
    pub(in crate::render) const ROOT: Self = Self(0);

    pub(in crate::render) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node and its neighbours.
#[derive(Debug, Default)]
pub(in crate::render) struct Node {
    pub(in crate::render) parent: Option<NodeId>,
    pub(in crate::render) previous_sibling: Option<NodeId>,
    pub(in crate::render) next_sibling: Option<NodeId>,
    pub(in crate::render) first_child: Option<NodeId>,
    pub(in crate::render) last_child: Option<NodeId>,
    depth: u16,
    pub(in crate::render) data: NodeData,
}

/// What a node is.
#[derive(Debug, Default)]
pub(in crate::render) enum NodeData {
    /// A document, a comment, the content of a template: nothing to see.
    #[default]
    Other,
    Text(StrTendril),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
    },
}

/// A document, read.
#[derive(Debug, Default)]
pub(in crate::render) struct Dom {
    nodes: Vec<Node>,
    /// The document is laid out by the rules of old browsers.
    pub(in crate::render) quirks: bool,
}

impl Dom {
    pub(in crate::render) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(in crate::render) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(in crate::render) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(id).first_child, |child| {
            self.node(*child).next_sibling
        })
    }

    /// The name of an element; empty for everything else.
    pub(in crate::render) fn tag_name(&self, id: NodeId) -> &str {
        match &self.node(id).data {
            NodeData::Element { name, .. } => &name.local,
            NodeData::Text(_) | NodeData::Other => "",
        }
    }

    /// The value of an attribute.
    pub(in crate::render) fn attribute(&self, id: NodeId, wanted: &str) -> Option<&str> {
        match &self.node(id).data {
            NodeData::Element { attributes, .. } => attributes
                .iter()
                .find(|attribute| &*attribute.name.local == wanted)
                .map(|found| &*found.value),
            NodeData::Text(_) | NodeData::Other => None,
        }
    }

    /// All nodes that hang together, parents before children, in the order of the source.
    pub(in crate::render) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(NodeId::ROOT), |id| {
            let node = self.node(*id);
            node.first_child.or_else(|| {
                let mut at = *id;
                loop {
                    match (self.node(at).next_sibling, self.node(at).parent) {
                        (Some(next), _) => return Some(next),
                        (None, Some(parent)) => at = parent,
                        (None, None) => return None,
                    }
                }
            })
        })
    }

    /// All text under an element, as written.
    pub(in crate::render) fn child_text(&self, id: NodeId) -> String {
        self.children(id)
            .filter_map(|child| match &self.node(child).data {
                NodeData::Text(text) => Some(&**text),
                NodeData::Element { .. } | NodeData::Other => None,
            })
            .collect()
    }
}

/// The document while it is being built.
#[derive(Debug)]
pub(super) struct DomSink {
    nodes: RefCell<Vec<Node>>,
    /// How deep the element is that was opened last and is still open.
    open_depth: Cell<u16>,
    quirks: Cell<bool>,
    max_depth: u16,
}

impl DomSink {
    pub(super) fn new(max_depth: u16) -> Self {
        Self {
            nodes: RefCell::new(vec![Node::default()]),
            open_depth: Cell::new(0),
            quirks: Cell::new(false),
            max_depth,
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
        let mut nodes = self.nodes.borrow_mut();
        let id = NodeId(
            u32::try_from(nodes.len()).expect("the guard keeps the tree far smaller than this"),
        );
        nodes.push(Node {
            data,
            ..Node::default()
        });
        id
    }

    /// Hangs `child` under `parent` in front of `before`, or last.
    fn insert(&self, parent: NodeId, before: Option<NodeId>, child: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        detach(&mut nodes, child);
        let previous = before.map_or(nodes[parent.index()].last_child, |before| {
            nodes[before.index()].previous_sibling
        });
        let depth = nodes[parent.index()].depth.saturating_add(1);
        let node = &mut nodes[child.index()];
        (
            node.parent,
            node.previous_sibling,
            node.next_sibling,
            node.depth,
        ) = (Some(parent), previous, before, depth);
        let is_element = matches!(node.data, NodeData::Element { .. });
        match previous {
            Some(previous) => nodes[previous.index()].next_sibling = Some(child),
            None => nodes[parent.index()].first_child = Some(child),
        }
        match before {
            Some(before) => nodes[before.index()].previous_sibling = Some(child),
            None => nodes[parent.index()].last_child = Some(child),
        }
        if is_element {
            self.open_depth.set(depth);
        }
    }

    /// Adds text beside text that is already there, so that words are not torn apart.
    fn insert_text(&self, parent: NodeId, before: Option<NodeId>, text: StrTendril) {
        let beside = {
            let nodes = self.nodes.borrow();
            before.map_or(nodes[parent.index()].last_child, |before| {
                nodes[before.index()].previous_sibling
            })
        };
        if let Some(beside) = beside
            && let NodeData::Text(there) = &mut self.nodes.borrow_mut()[beside.index()].data
        {
            there.push_tendril(&text);
            return;
        }
        let id = self.add_node(NodeData::Text(text));
        self.insert(parent, before, id);
    }

    /// The nearest ancestor of `parent`, or itself, under which something may still hang: the tree
    /// builder reopens formatting elements on its own, which no guard in front of it sees.
    fn allowed_parent(&self, parent: NodeId) -> NodeId {
        let nodes = self.nodes.borrow();
        let mut at = parent;
        while nodes[at.index()].depth > self.max_depth + 32 {
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

/// A copy of a name, because the nodes cannot stay borrowed.
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
                unreachable!("the tree builder asks for the names of elements only")
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

    /// The content of a template hangs nowhere, so it is never seen.
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
                if !attributes.iter().any(|there| there.name == attribute.name) {
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
