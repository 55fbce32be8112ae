//! Judges what a person sees of each element: the cascade of style sheets, attributes and defaults.
//!
//! The rules and their matching are those of browsers, by the crates that a browser uses. What is
//! our own are the limits: on text, on rules, and on steps through the tree.

mod agent;
mod apply;
mod boxes;
mod declare;
mod fonts;
mod media;
mod select;
mod sheet;
mod style;
mod values;

use std::cell::Cell;
use std::collections::HashMap;

use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches,
};
use selectors::matching::matches_selector;
use selectors::parser::{Component, Selector};

use self::select::{Element, Names};
use self::sheet::Rule;
use super::read::{Data, Tree};

pub(in crate::render) use agent::is_closed;
pub(in crate::render) use style::{
    Align, BOTTOM, Case, Colour, Display, LEFT, Length, ListStyle, RIGHT, Style, TOP, Vertical,
    WhiteSpace,
};

/// More style text than any email has.
const MAX_CSS: usize = 512 << 10;

/// A longer style attribute is not looked at.
const MAX_ATTRIBUTE: usize = 16 << 10;

/// Steps through the tree that all matching together may take.
const MAX_STEPS: u64 = 3_000_000;

/// Simple selectors that may be tried, and declarations that may be applied, in all.
const MAX_TRIES: u64 = 10_000_000;

/// The style of every element of `tree`, by its index.
pub(in crate::render) fn judge(tree: &Tree) -> Vec<Style> {
    let sheets = Sheets::collect(tree);
    let steps = Cell::new(MAX_STEPS);
    let mut tries = MAX_TRIES;
    let mut styles = vec![Style::default(); tree.len()];
    let mut caches = SelectorCaches::default();
    let mut found = Vec::new();
    for id in tree.walk().skip(1) {
        if !matches!(tree.node(id).data, Data::Element { .. }) {
            continue;
        }
        let parent = tree
            .node(id)
            .parent
            .map_or_else(Style::default, |parent| styles[parent.index()]);
        let mut style = agent::begin(tree, id, &parent);
        found.clear();
        sheets.matching(
            Element {
                tree,
                id,
                steps: &steps,
            },
            &mut tries,
            &mut caches,
            &mut found,
        );
        let inline = tree
            .attribute(id, "style")
            .filter(|css| css.len() <= MAX_ATTRIBUTE)
            .map(|css| sheet::read_attribute(css, tree.quirks));
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
        if (style.floats || style.absolute)
            && matches!(style.display, Display::Inline | Display::InlineBlock)
        {
            style.display = Display::Block;
        }
        if parent.display == Display::Flex && style.display == Display::Inline {
            style.display = Display::InlineBlock;
        }
        if tree.name(id) == "html" {
            style.root = style.font;
        }
        styles[id.index()] = style;
    }
    styles
}

/// All rules, found by what the element must be or have for them to match.
#[derive(Default)]
struct Sheets {
    rules: Vec<Rule>,
    by_id: HashMap<String, Vec<Entry>>,
    by_class: HashMap<String, Vec<Entry>>,
    by_name: HashMap<String, Vec<Entry>>,
    others: Vec<Entry>,
    quirks: bool,
}

#[derive(Clone)]
struct Entry {
    selector: Selector<Names>,
    rule: usize,
    /// How many simple selectors have to be looked at, those in brackets included.
    weight: u64,
}

fn weight(selector: &Selector<Names>) -> u64 {
    let inner = |component: &Component<Names>| match component {
        Component::Negation(list) | Component::Is(list) | Component::Where(list) => {
            list.slice().iter().map(weight).sum()
        }
        _ => 1,
    };
    selector.iter_raw_match_order().map(inner).sum()
}

impl Sheets {
    fn collect(tree: &Tree) -> Self {
        let mut rules = Vec::new();
        let mut room = MAX_CSS;
        for id in tree.walk() {
            if tree.name(id) == "style"
                && tree
                    .attribute(id, "media")
                    .is_none_or(media::attribute_matches)
            {
                let css = tree.text_of(id);
                if css.len() > room {
                    break;
                }
                room -= css.len();
                sheet::read(&css, tree.quirks, &mut rules);
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
                sheets.file(selector, rule);
            }
        }
        sheets.rules = rules;
        sheets
    }

    fn file(&mut self, selector: &Selector<Names>, rule: usize) {
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
        let entry = Entry {
            selector: selector.clone(),
            rule,
            weight: weight(selector),
        };
        match key {
            Some((3, word)) => self.by_id.entry(word).or_default().push(entry),
            Some((2, word)) => self.by_class.entry(word).or_default().push(entry),
            Some((_, word)) => self.by_name.entry(word).or_default().push(entry),
            None => self.others.push(entry),
        }
    }

    /// The rules that match, the weakest first: by specificity, then by order.
    fn matching(
        &self,
        element: Element<'_>,
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
        let tree = element.tree;
        let id = tree
            .attribute(element.id, "id")
            .and_then(|id| self.by_id.get(&fold(id)));
        let classes = tree.attribute(element.id, "class").unwrap_or_default();
        let classes = classes
            .split_ascii_whitespace()
            .take(64)
            .filter_map(|class| self.by_class.get(&fold(class)));
        let name = self.by_name.get(tree.name(element.id));
        for entry in id
            .into_iter()
            .chain(classes)
            .chain(name)
            .flatten()
            .chain(&self.others)
        {
            let Some(left) = tries.checked_sub(entry.weight) else {
                break;
            };
            *tries = left;
            if matches_selector(&entry.selector, 0, None, element, &mut context) {
                *tries = tries.saturating_sub(self.rules[entry.rule].declarations.len() as u64);
                found.push((entry.selector.specificity(), entry.rule));
            }
        }
        found.sort_unstable();
        found.dedup();
    }
}

#[cfg(test)]
mod tests;
