//! Judges what a person sees of each element: the cascade of style sheets, attributes and defaults.
//!
//! The rules and their matching are those of browsers, by the crates that a browser uses. What is
//! our own are the limits: on text, on rules, and on steps through the tree.

mod apply;
mod box_properties;
mod computed;
mod font_properties;
mod media;
mod property;
mod selector;
mod stylesheet;
mod user_agent;
mod values;

use std::cell::Cell;
use std::collections::HashMap;

use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches,
};
use selectors::matching::matches_selector;
use selectors::parser::{Component, Selector};

use self::selector::{ElementRef, SelectorTypes};
use self::stylesheet::Rule;
use super::html::{Dom, NodeData};

pub(in crate::render) use computed::{
    BOTTOM, ComputedStyle, Display, LEFT, Length, ListStyle, RIGHT, Rgba, TOP, TextAlign,
    TextTransform, VerticalAlign, WhiteSpace,
};
pub(in crate::render) use user_agent::is_closed_details;

/// More style text than any email has.
const MAX_CSS_BYTES: usize = 512 << 10;

/// A longer style attribute is not looked at.
const MAX_STYLE_ATTRIBUTE: usize = 16 << 10;

/// Steps through the tree that all matching together may take.
const MAX_TREE_STEPS: u64 = 3_000_000;

/// Simple selectors that may be tried, and declarations that may be applied, in all.
const MAX_SELECTOR_TESTS: u64 = 10_000_000;

/// The style of every element of `tree`, by its index.
pub(in crate::render) fn compute_styles(tree: &Dom) -> Vec<ComputedStyle> {
    let sheets = RuleIndex::from_dom(tree);
    let steps = Cell::new(MAX_TREE_STEPS);
    let mut tries = MAX_SELECTOR_TESTS;
    let mut styles = vec![ComputedStyle::default(); tree.len()];
    let mut caches = SelectorCaches::default();
    let mut found = Vec::new();
    for id in tree.nodes().skip(1) {
        if !matches!(tree.node(id).data, NodeData::Element { .. }) {
            continue;
        }
        let parent = tree
            .node(id)
            .parent
            .map_or_else(ComputedStyle::default, |parent| styles[parent.index()]);
        let mut style = user_agent::user_agent_style(tree, id, &parent);
        found.clear();
        sheets.matching_rules(
            ElementRef {
                dom: tree,
                id,
                step_budget: &steps,
            },
            &mut tries,
            &mut caches,
            &mut found,
        );
        let inline = tree
            .attribute(id, "style")
            .filter(|css| css.len() <= MAX_STYLE_ATTRIBUTE)
            .map(|css| stylesheet::parse_style_attribute(css, tree.quirks));
        let rules = found
            .iter()
            .map(|(_, rule)| &sheets.rules[*rule].declarations);
        let normal = rules
            .clone()
            .chain(&inline)
            .flat_map(|declarations| &declarations.normal);
        let declared = normal.chain(
            rules
                .chain(&inline)
                .flat_map(|declarations| &declarations.important),
        );
        // The size of the font comes first: the height of a line may be a part of it.
        for font in [true, false] {
            declared
                .clone()
                .filter(|declared| declared.is_font_size() == font)
                .for_each(|declared| style.apply(declared, &parent));
        }
        if (style.floated || style.out_of_flow)
            && matches!(style.display, Display::Inline | Display::InlineBlock)
        {
            style.display = Display::Block;
        }
        if parent.display == Display::Flex && style.display == Display::Inline {
            style.display = Display::InlineBlock;
        }
        if tree.tag_name(id) == "html" {
            style.root_font_size = style.font_size;
        }
        styles[id.index()] = style;
    }
    styles
}

/// All rules, found by what the element must be or have for them to match.
#[derive(Default)]
struct RuleIndex {
    rules: Vec<Rule>,
    by_id: HashMap<String, Vec<IndexedSelector>>,
    by_class: HashMap<String, Vec<IndexedSelector>>,
    by_tag: HashMap<String, Vec<IndexedSelector>>,
    universal: Vec<IndexedSelector>,
    quirks: bool,
}

#[derive(Clone)]
struct IndexedSelector {
    selector: Selector<SelectorTypes>,
    rule_index: usize,
    /// How many simple selectors have to be looked at, those in brackets included.
    cost: u64,
}

fn selector_cost(selector: &Selector<SelectorTypes>) -> u64 {
    let inner = |component: &Component<SelectorTypes>| match component {
        Component::Negation(list) | Component::Is(list) | Component::Where(list) => {
            list.slice().iter().map(selector_cost).sum()
        }
        _ => 1,
    };
    selector.iter_raw_match_order().map(inner).sum()
}

impl RuleIndex {
    fn from_dom(tree: &Dom) -> Self {
        let mut rules = Vec::new();
        let mut room = MAX_CSS_BYTES;
        for id in tree.nodes() {
            if tree.tag_name(id) == "style"
                && tree
                    .attribute(id, "media")
                    .is_none_or(media::media_attribute_matches)
            {
                let css = tree.child_text(id);
                if css.len() > room {
                    break;
                }
                room -= css.len();
                stylesheet::parse_stylesheet(&css, tree.quirks, &mut rules);
            }
        }
        let mut sheets = Self {
            quirks: tree.quirks,
            ..Self::default()
        };
        for (rule, Rule { selectors, .. }) in rules.iter().enumerate() {
            for selector in selectors
                .slice()
                .iter()
                .filter(|selector| !selector.has_pseudo_element())
            {
                sheets.insert(selector, rule);
            }
        }
        sheets.rules = rules;
        sheets
    }

    fn insert(&mut self, selector: &Selector<SelectorTypes>, rule: usize) {
        let fold = |word: &str| {
            if self.quirks {
                word.to_ascii_lowercase()
            } else {
                word.to_owned()
            }
        };
        let mut key: Option<(u8, String)> = None;
        for component in selector.iter() {
            let (rank, word) = match component {
                Component::ID(id) => (3, fold(&id.0)),
                Component::Class(class) => (2, fold(&class.0)),
                Component::LocalName(name) => (1, name.lower_name.0.to_string()),
                _ => continue,
            };
            if key.as_ref().is_none_or(|(best, _)| rank > *best) {
                key = Some((rank, word));
            }
        }
        let entry = IndexedSelector {
            selector: selector.clone(),
            rule_index: rule,
            cost: selector_cost(selector),
        };
        match key {
            Some((3, word)) => self.by_id.entry(word).or_default().push(entry),
            Some((2, word)) => self.by_class.entry(word).or_default().push(entry),
            Some((_, word)) => self.by_tag.entry(word).or_default().push(entry),
            None => self.universal.push(entry),
        }
    }

    /// The rules that match, the weakest first: by specificity, then by order.
    fn matching_rules(
        &self,
        element: ElementRef<'_>,
        tries: &mut u64,
        caches: &mut SelectorCaches,
        found: &mut Vec<(u32, usize)>,
    ) {
        let fold = |word: &str| {
            if self.quirks {
                word.to_ascii_lowercase()
            } else {
                word.to_owned()
            }
        };
        let quirks = if self.quirks {
            QuirksMode::Quirks
        } else {
            QuirksMode::NoQuirks
        };
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            quirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        let tree = element.dom;
        let id = tree
            .attribute(element.id, "id")
            .and_then(|id| self.by_id.get(&fold(id)));
        let classes = tree.attribute(element.id, "class").unwrap_or_default();
        let classes = classes
            .split_ascii_whitespace()
            .take(64)
            .filter_map(|class| self.by_class.get(&fold(class)));
        let name = self.by_tag.get(tree.tag_name(element.id));
        for entry in id
            .into_iter()
            .chain(classes)
            .chain(name)
            .flatten()
            .chain(&self.universal)
        {
            let Some(left) = tries.checked_sub(entry.cost) else {
                break;
            };
            *tries = left;
            if matches_selector(&entry.selector, 0, None, element, &mut context) {
                *tries =
                    tries.saturating_sub(self.rules[entry.rule_index].declarations.len() as u64);
                found.push((entry.selector.specificity(), entry.rule_index));
            }
        }
        found.sort_unstable();
        found.dedup();
    }
}

#[cfg(test)]
mod tests;
