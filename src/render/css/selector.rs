//! Implements the traits of the `selectors` crate, with a budget of steps.

use std::cell::Cell;
use std::fmt;

use cssparser::{Parser as CssParser, ToCss};
use html5ever::{LocalName, ns};
use precomputed_hash::PrecomputedHash;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::matching::{ElementSelectorFlags, MatchingContext};
use selectors::parser::{Component, NonTSPseudoClass, Parser, Selector, SelectorImpl};
use selectors::{Element, OpaqueElement};

use super::values::{Unsupported, ValueError, skip_rest, value_error};
use crate::render::html::{Dom, NodeData, NodeId};

/// A selector of more simple selectors is ignored, with its rule.
const MAX_SELECTOR_COST: u64 = 2_000;

/// `:has()` takes as long as so many simple selectors, even from its cache.
const HAS_COST: u64 = 8;

/// A name or a namespace in a selector.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CssName(pub(super) LocalName);

impl From<&str> for CssName {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl AsRef<str> for CssName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl ToCss for CssName {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, out)
    }
}

impl PrecomputedHash for CssName {
    fn precomputed_hash(&self) -> u32 {
        self.0.precomputed_hash()
    }
}

/// The supported pseudo-classes that are not structural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PseudoClass {
    /// `:link` and `:any-link`.
    Link,
    Checked,
    Enabled,
    Disabled,
    /// `:hover` and others that are false when a page opens.
    Inactive,
}

impl NonTSPseudoClass for PseudoClass {
    fn is_active_or_hover(&self) -> bool {
        false
    }

    fn is_user_action_state(&self) -> bool {
        false
    }
}

impl ToCss for PseudoClass {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str(match self {
            Self::Link => ":link",
            Self::Checked => ":checked",
            Self::Enabled => ":enabled",
            Self::Disabled => ":disabled",
            Self::Inactive => ":hover",
        })
    }
}

/// The pseudo-elements; only those with text are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PseudoElement {
    Before,
    After,
    Other,
}

impl PseudoElement {
    /// Returns the pseudo-element that the tree has as `name`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Before, Self::After]
            .into_iter()
            .find(|pseudo| pseudo.as_str() == name)
    }

    /// Returns the name with which the tree has its text.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "::before",
            Self::After => "::after",
            Self::Other => "::placeholder",
        }
    }
}

impl selectors::parser::PseudoElement for PseudoElement {}

impl ToCss for PseudoElement {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The types of which selectors consist.
#[derive(Debug, Clone)]
pub(super) struct SelectorTypes;

impl SelectorImpl for SelectorTypes {
    type ExtraMatchingData<'a> = ();
    type AttrValue = CssName;
    type Identifier = CssName;
    type LocalName = CssName;
    type NamespaceUrl = CssName;
    type NamespacePrefix = CssName;
    type BorrowedNamespaceUrl = CssName;
    type BorrowedLocalName = CssName;
    type NonTSPseudoClass = PseudoClass;
    type PseudoElement = PseudoElement;
}

/// Parses selectors.
pub(super) struct SelectorReader;

impl<'i> Parser<'i> for SelectorReader {
    type Impl = SelectorTypes;
    type Error = Unsupported;

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_non_ts_pseudo_class(&self, name: &str) -> Result<PseudoClass, ValueError> {
        match &*name.to_ascii_lowercase() {
            "link" | "any-link" => Ok(PseudoClass::Link),
            "checked" => Ok(PseudoClass::Checked),
            "enabled" => Ok(PseudoClass::Enabled),
            "disabled" => Ok(PseudoClass::Disabled),
            "hover" | "active" | "focus" | "visited" | "focus-within" | "focus-visible"
            | "target" | "target-within" | "indeterminate" | "autofill" | "fullscreen" => {
                Ok(PseudoClass::Inactive)
            }
            _ => Err(value_error()),
        }
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        _: &str,
        input: &mut CssParser<'i>,
        _: bool,
    ) -> Result<PseudoClass, ValueError> {
        skip_rest(input);
        Err(value_error())
    }

    fn parse_parent_selector(&self) -> bool {
        true
    }

    fn parse_pseudo_element(&self, name: &str) -> Result<PseudoElement, ValueError> {
        Ok(match &*name.to_ascii_lowercase() {
            "before" => PseudoElement::Before,
            "after" => PseudoElement::After,
            _ => PseudoElement::Other,
        })
    }
}

/// Returns the number of simple selectors; `None` if there are too many.
pub(super) fn selector_cost(selector: &Selector<SelectorTypes>) -> Option<u64> {
    let mut left = MAX_SELECTOR_COST;
    spend_cost(selector, &mut left)?;
    Some(MAX_SELECTOR_COST - left)
}

fn spend_cost(selector: &Selector<SelectorTypes>, left: &mut u64) -> Option<()> {
    for component in selector.iter_raw_match_order() {
        match component {
            Component::Negation(list) | Component::Is(list) | Component::Where(list) => {
                list.slice()
                    .iter()
                    .try_for_each(|one| spend_cost(one, left))?;
            }
            Component::Has(list) => {
                *left = left.checked_sub(HAS_COST)?;
                list.iter()
                    .try_for_each(|one| spend_cost(&one.selector, left))?;
            }
            _ => *left = left.checked_sub(1)?,
        }
    }
    Some(())
}

/// An element and the rest of the step budget.
#[derive(Clone, Copy)]
pub(super) struct ElementRef<'a> {
    pub(super) dom: &'a Dom,
    pub(super) id: NodeId,
    /// Steps through the tree that are left.
    /// Without any, elements have no neighbours, so that every search ends.
    pub(super) step_budget: &'a Cell<u64>,
}

impl fmt::Debug for ElementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.dom.tag_name(self.id))
    }
}

impl ElementRef<'_> {
    fn spend_step(&self, id: Option<NodeId>) -> Option<Self> {
        let left = self.step_budget.get().checked_sub(1)?;
        self.step_budget.set(left);
        id.map(|id| Self { id, ..*self })
    }

    fn find_sibling(&self, next: impl Fn(NodeId) -> Option<NodeId>) -> Option<Self> {
        let mut node = next(self.id);
        while let Some(id) = node {
            let sibling = self.spend_step(Some(id))?;
            if self.dom.is_element(id) && !self.dom.is_generated(id) {
                return Some(sibling);
            }
            node = next(id);
        }
        None
    }

    /// Spends one step per 32 bytes of `text`; false if too few are left.
    fn spend_for_text(&self, text: &str) -> bool {
        let left = self.step_budget.get().checked_sub(text.len() as u64 / 32);
        self.step_budget.set(left.unwrap_or(0));
        left.is_some()
    }

    fn has_attribute(&self, name: &str) -> bool {
        self.dom.attribute(self.id, name).is_some()
    }

    fn is_form_control(&self) -> bool {
        matches!(
            self.dom.tag_name(self.id),
            "input" | "button" | "select" | "option" | "textarea" | "fieldset" | "optgroup"
        )
    }
}

impl Element for ElementRef<'_> {
    type Impl = SelectorTypes;

    fn opaque(&self) -> OpaqueElement {
        OpaqueElement::new(self.dom.node(self.id))
    }

    fn parent_element(&self) -> Option<Self> {
        self.spend_step(self.dom.node(self.id).parent)
            .filter(|parent| self.dom.is_element(parent.id))
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
        self.find_sibling(|id| self.dom.node(id).previous_sibling)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.find_sibling(|id| self.dom.node(id).next_sibling)
    }

    fn first_element_child(&self) -> Option<Self> {
        let first = self.spend_step(self.dom.node(self.id).first_child)?;
        if self.dom.is_element(first.id) && !self.dom.is_generated(first.id) {
            Some(first)
        } else {
            first.next_sibling_element()
        }
    }

    fn is_html_element_in_html_document(&self) -> bool {
        matches!(&self.dom.node(self.id).data, NodeData::Element { name, .. } if name.ns == ns!(html))
    }

    fn has_local_name(&self, name: &CssName) -> bool {
        self.dom.tag_name(self.id) == &*name.0
    }

    fn has_namespace(&self, space: &CssName) -> bool {
        matches!(&self.dom.node(self.id).data, NodeData::Element { name, .. } if *name.ns == *space.0)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.dom.tag_name(self.id) == self.dom.tag_name(other.id)
    }

    fn attr_matches(
        &self,
        _: &NamespaceConstraint<&CssName>,
        name: &CssName,
        operation: &AttrSelectorOperation<&CssName>,
    ) -> bool {
        self.dom
            .attribute(self.id, &name.0)
            .is_some_and(|value| self.spend_for_text(value) && operation.eval_str(value))
    }

    fn match_non_ts_pseudo_class(
        &self,
        pseudo: &PseudoClass,
        _: &mut MatchingContext<'_, SelectorTypes>,
    ) -> bool {
        match pseudo {
            PseudoClass::Link => self.is_link(),
            PseudoClass::Checked => self.has_attribute("checked") || self.has_attribute("selected"),
            PseudoClass::Enabled => self.is_form_control() && !self.has_attribute("disabled"),
            PseudoClass::Disabled => self.is_form_control() && self.has_attribute("disabled"),
            PseudoClass::Inactive => false,
        }
    }

    fn match_pseudo_element(
        &self,
        _: &PseudoElement,
        _: &mut MatchingContext<'_, SelectorTypes>,
    ) -> bool {
        false
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        self.dom.tag_name(self.id) == "a" && self.dom.attribute(self.id, "href").is_some()
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &CssName, case: CaseSensitivity) -> bool {
        self.dom
            .attribute(self.id, "id")
            .is_some_and(|value| case.eq(value.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, name: &CssName, case: CaseSensitivity) -> bool {
        let classes = self.dom.attribute(self.id, "class").unwrap_or_default();
        self.spend_for_text(classes)
            && classes
                .split_ascii_whitespace()
                .any(|class| case.eq(class.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, _: &CssName) -> bool {
        false
    }

    fn imported_part(&self, _: &CssName) -> Option<CssName> {
        None
    }

    fn is_part(&self, _: &CssName) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.dom
            .children(self.id)
            .all(|child| match &self.dom.node(child).data {
                NodeData::Element { .. } => self.dom.is_generated(child),
                NodeData::Text(text) => text.is_empty(),
                NodeData::Other => true,
            })
    }

    fn is_root(&self) -> bool {
        self.dom.node(self.id).parent == Some(NodeId::ROOT)
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}
