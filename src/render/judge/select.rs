//! The tree as the `selectors` crate wants to see it, with a budget on how much of it is looked at.

use std::cell::Cell;
use std::fmt;

use cssparser::{ParseError, Parser as CssParser, ToCss};
use html5ever::{LocalName, Namespace, ns};
use precomputed_hash::PrecomputedHash;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::matching::{ElementSelectorFlags, MatchingContext};
use selectors::parser::{NonTSPseudoClass, Parser, SelectorImpl, SelectorParseErrorKind};
use selectors::{Element as Matched, OpaqueElement};

use crate::render::read::{Data, Id, Tree};

/// The names in a selector.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word(pub(super) LocalName);

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl ToCss for Word {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, out)
    }
}

impl PrecomputedHash for Word {
    fn precomputed_hash(&self) -> u32 {
        self.0.precomputed_hash()
    }
}

/// The pseudo-classes that are more than structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pseudo {
    /// `:link` and `:any-link`.
    Link,
    /// `:hover` and all the others that are not so when a page has just opened.
    Never,
}

impl NonTSPseudoClass for Pseudo {
    fn is_active_or_hover(&self) -> bool {
        false
    }

    fn is_user_action_state(&self) -> bool {
        false
    }
}

impl ToCss for Pseudo {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str(match self {
            Self::Link => ":link",
            Self::Never => ":hover",
        })
    }
}

/// Any pseudo-element. None of them holds words of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside;

impl selectors::parser::PseudoElement for Beside {}

impl ToCss for Beside {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str("::before")
    }
}

/// The types that selectors are made of here.
#[derive(Debug, Clone)]
pub(super) struct Names;

impl SelectorImpl for Names {
    type ExtraMatchingData<'a> = ();
    type AttrValue = Word;
    type Identifier = Word;
    type LocalName = Word;
    type NamespaceUrl = Space;
    type NamespacePrefix = Word;
    type BorrowedNamespaceUrl = Space;
    type BorrowedLocalName = Word;
    type NonTSPseudoClass = Pseudo;
    type PseudoElement = Beside;
}

/// A namespace; a type of its own because only our own types can be hashed for `selectors`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Space(Namespace);

impl PrecomputedHash for Space {
    fn precomputed_hash(&self) -> u32 {
        self.0.precomputed_hash()
    }
}

/// Reads selectors.
pub(super) struct Reader;

impl<'i> Parser<'i> for Reader {
    type Impl = Names;
    type Error = SelectorParseErrorKind;

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_non_ts_pseudo_class(
        &self,
        name: &str,
    ) -> Result<Pseudo, ParseError<SelectorParseErrorKind>> {
        match &*name.to_ascii_lowercase() {
            "link" | "any-link" => Ok(Pseudo::Link),
            "hover" | "active" | "focus" | "visited" | "focus-within" | "focus-visible"
            | "target" | "checked" | "disabled" | "enabled" => Ok(Pseudo::Never),
            _ => Err(ParseError::custom(
                SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
            )),
        }
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        _: &str,
        input: &mut CssParser<'i>,
        _: bool,
    ) -> Result<Pseudo, ParseError<SelectorParseErrorKind>> {
        while input.next().is_ok() {}
        Err(ParseError::custom(
            SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
        ))
    }

    fn parse_pseudo_element(&self, _: &str) -> Result<Beside, ParseError<SelectorParseErrorKind>> {
        Ok(Beside)
    }
}

/// An element of the tree, with what is left of the budget.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) tree: &'a Tree,
    pub(super) id: Id,
    /// Steps that may still be taken through the tree. When they are used up, nothing has
    /// neighbours any more, so that every search comes to its end.
    pub(super) steps: &'a Cell<u64>,
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.tree.name(self.id))
    }
}

impl Element<'_> {
    fn step(&self, id: Option<Id>) -> Option<Self> {
        let left = self.steps.get().checked_sub(1)?;
        self.steps.set(left);
        id.map(|id| Self { id, ..*self })
    }

    fn sibling(&self, next: impl Fn(Id) -> Option<Id>) -> Option<Self> {
        let mut at = next(self.id);
        while let Some(id) = at {
            let here = self.step(Some(id))?;
            if here.is_element() {
                return Some(here);
            }
            at = next(id);
        }
        None
    }

    /// Takes the steps that looking at `text` is worth; says whether there were enough.
    fn afford(&self, text: &str) -> bool {
        let left = self.steps.get().checked_sub(text.len() as u64 / 32);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    fn is_element(&self) -> bool {
        matches!(self.tree.node(self.id).data, Data::Element { .. })
    }
}

impl Matched for Element<'_> {
    type Impl = Names;

    fn opaque(&self) -> OpaqueElement {
        OpaqueElement::new(self.tree.node(self.id))
    }

    fn parent_element(&self) -> Option<Self> {
        self.step(self.tree.node(self.id).parent)
            .filter(Self::is_element)
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.sibling(|id| self.tree.node(id).previous)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.sibling(|id| self.tree.node(id).next)
    }

    fn first_element_child(&self) -> Option<Self> {
        let first = self.step(self.tree.node(self.id).first)?;
        if first.is_element() {
            Some(first)
        } else {
            first.next_sibling_element()
        }
    }

    fn is_html_element_in_html_document(&self) -> bool {
        matches!(&self.tree.node(self.id).data, Data::Element { name, .. } if name.ns == ns!(html))
    }

    fn has_local_name(&self, name: &Word) -> bool {
        self.tree.name(self.id) == &*name.0
    }

    fn has_namespace(&self, space: &Space) -> bool {
        matches!(&self.tree.node(self.id).data, Data::Element { name, .. } if name.ns == space.0)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.tree.name(self.id) == self.tree.name(other.id)
    }

    fn attr_matches(
        &self,
        _: &NamespaceConstraint<&Space>,
        name: &Word,
        operation: &AttrSelectorOperation<&Word>,
    ) -> bool {
        self.tree
            .attribute(self.id, &name.0)
            .is_some_and(|value| self.afford(value) && operation.eval_str(value))
    }

    fn match_non_ts_pseudo_class(
        &self,
        pseudo: &Pseudo,
        _: &mut MatchingContext<'_, Names>,
    ) -> bool {
        match pseudo {
            Pseudo::Link => self.is_link(),
            Pseudo::Never => false,
        }
    }

    fn match_pseudo_element(&self, _: &Beside, _: &mut MatchingContext<'_, Names>) -> bool {
        false
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        self.tree.name(self.id) == "a" && self.tree.attribute(self.id, "href").is_some()
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &Word, case: CaseSensitivity) -> bool {
        self.tree
            .attribute(self.id, "id")
            .is_some_and(|value| case.eq(value.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, name: &Word, case: CaseSensitivity) -> bool {
        let classes = self.tree.attribute(self.id, "class").unwrap_or_default();
        self.afford(classes)
            && classes
                .split_ascii_whitespace()
                .any(|class| case.eq(class.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, _: &Word) -> bool {
        false
    }

    fn imported_part(&self, _: &Word) -> Option<Word> {
        None
    }

    fn is_part(&self, _: &Word) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.tree
            .children(self.id)
            .all(|child| match &self.tree.node(child).data {
                Data::Element { .. } => false,
                Data::Text(text) => text.is_empty(),
                Data::Other => true,
            })
    }

    fn is_root(&self) -> bool {
        self.tree.node(self.id).parent == Some(Id::ROOT)
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}
