//! Computes the style of each element:
//! the cascade of style sheets, attributes and defaults.
//!
//! Selectors are parsed and matched by the crates that Firefox uses. The limits on text, rules and
//! steps through the tree are our own.

mod computed;
mod conditions;
mod content;
mod declaration;
mod property;
mod selector;
mod shorthand;
mod stylesheet;
mod user_agent;
mod values;
mod variables;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Index;

use cssparser::Parser;
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches,
};
use selectors::matching::matches_selector;
use selectors::parser::{Component, Selector};

use self::content::ContentPart;
use self::selector::{ElementRef, PseudoElement, SelectorTypes, selector_cost};
use self::stylesheet::{DeclarationBlock, Rule, StylesheetReader};
use self::variables::Variables;
use super::html::{Dom, NodeId};

pub(crate) use computed::{
    BOTTOM, Color, ComputedStyle, Display, Float, LEFT, Length, ListStyle, RIGHT, ROOT_FONT_SIZE,
    Rgba, TOP, TextAlign, TextTransform, VerticalAlign, WhiteSpace,
};
pub(crate) use user_agent::is_closed_details;

/// Style sheets after this many bytes are ignored.
const MAX_CSS_BYTES: usize = 512 << 10;

/// A longer style attribute is ignored.
const MAX_STYLE_ATTRIBUTE: usize = 16 << 10;

/// Steps through the tree for all selectors together.
const MAX_TREE_STEPS: u64 = 3_000_000;

/// Simple selectors tried plus declarations applied, in all.
const MAX_SELECTOR_TESTS: u64 = 10_000_000;

/// Text of pseudo-elements, in all; each adds two nodes to the tree.
const MAX_GENERATED_BYTES: usize = 64 << 10;

/// The new style is compared with this many styles before it.
const COMPARED_STYLES: usize = 16;

/// The style of each node; nodes that are not elements have the default style.
///
/// Elements near each other often have equal styles, and a large email has a hundred thousand
/// elements, so equal styles are stored once.
#[derive(Debug)]
pub(crate) struct Styles {
    /// By the index of a node, the index of its style in `distinct`.
    by_node: Vec<u32>,
    distinct: Vec<ComputedStyle>,
}

impl Styles {
    fn new(node_count: usize) -> Self {
        Self {
            by_node: vec![0; node_count],
            distinct: vec![ComputedStyle::default()],
        }
    }

    fn set(&mut self, id: NodeId, style: &ComputedStyle) {
        let recent = self.distinct.len().saturating_sub(COMPARED_STYLES);
        let equal = self.distinct[recent..]
            .iter()
            .rposition(|other| other == style);
        let at = equal.map_or(self.distinct.len(), |at| recent + at);
        if at == self.distinct.len() {
            self.distinct.push(*style);
        }
        self.by_node[id.index()] =
            u32::try_from(at).expect("there are no more styles than nodes, whose ids are 32 bits");
    }
}

impl Index<NodeId> for Styles {
    type Output = ComputedStyle;

    fn index(&self, id: NodeId) -> &ComputedStyle {
        &self.distinct[self.by_node[id.index()] as usize]
    }
}

/// Returns the style of every element, and adds texts of pseudo-elements.
pub(crate) fn compute_styles(dom: &mut Dom) -> Styles {
    let sheets = RuleIndex::from_dom(dom);
    let mut matcher = RuleMatcher::new(&sheets);
    let mut free_bytes = MAX_GENERATED_BYTES;
    let mut styles = Styles::new(dom.len());
    let mut next = dom.next_node(NodeId::ROOT);
    while let Some(id) = next {
        if !dom.is_element(id) {
            next = dom.next_node(id);
            continue;
        }
        let parent_id = dom.node(id).parent;
        let parent = parent_id.map_or_else(ComputedStyle::default, |parent| styles[parent]);
        let pseudo = PseudoElement::from_name(dom.tag_name(id));
        let element = parent_id.filter(|_| pseudo.is_some()).unwrap_or(id);
        matcher.find_rules(dom, element, pseudo);
        let style = matcher.cascade(dom, id, &parent);
        styles.set(id, &style);
        if !sheets.generated.is_empty() && pseudo.is_none() && may_have_content(dom, id, &style) {
            for pseudo in [PseudoElement::Before, PseudoElement::After] {
                matcher.find_rules(dom, id, Some(pseudo));
                let text = sheets.content_text(dom, id, &matcher.found);
                let is_before = pseudo == PseudoElement::Before;
                if let Some(left) = free_bytes.checked_sub(text.len())
                    && !text.trim().is_empty()
                {
                    free_bytes = left;
                    dom.add_generated(id, pseudo.as_str(), is_before, &text);
                }
            }
            styles.by_node.resize(dom.len(), 0);
        }
        next = dom.next_node(id);
    }
    styles
}

/// True for an element that may have pseudo-elements with text.
fn may_have_content(dom: &Dom, id: NodeId, style: &ComputedStyle) -> bool {
    let is_shown = !matches!(
        style.display,
        Display::None | Display::Table | Display::RowGroup | Display::Row
    );
    is_shown
        && !matches!(
            dom.tag_name(id),
            "html" | "img" | "br" | "hr" | "input" | "select" | "textarea"
        )
}

fn parse_style_attribute(dom: &Dom, id: NodeId, variables: &Variables) -> Option<DeclarationBlock> {
    let css = dom.attribute(id, "style")?;
    let mut reader = StylesheetReader::new(dom.quirks, variables);
    (css.len() <= MAX_STYLE_ATTRIBUTE).then(|| reader.parse_declarations(&mut Parser::new(css)))
}

/// The rules, indexed by an id, a class or a tag that the element must have.
#[derive(Default)]
struct RuleIndex {
    rules: Vec<Rule>,
    by_id: HashMap<String, Vec<IndexedSelector>>,
    by_class: HashMap<String, Vec<IndexedSelector>>,
    by_tag: HashMap<String, Vec<IndexedSelector>>,
    universal: Vec<IndexedSelector>,
    /// The selectors of pseudo-elements, if any of their rules has a text.
    generated: Vec<IndexedSelector>,
    variables: Variables,
    quirks: bool,
}

#[derive(Clone)]
struct IndexedSelector {
    selector: Selector<SelectorTypes>,
    rule_index: usize,
    /// Number of simple selectors, nested ones included.
    cost: u64,
}

/// A rule that matches an element; its order is that of the cascade.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchedRule {
    layer: usize,
    specificity: u32,
    index: usize,
}

/// Parses style sheets, twice if there are custom properties, to know those.
fn parse_stylesheets(dom: &Dom, texts: &[String]) -> (Vec<Rule>, Variables) {
    let parse_all = |variables: &Variables| {
        let mut reader = StylesheetReader::new(dom.quirks, variables);
        for css in texts {
            reader.parse_rules(&mut Parser::new(css));
        }
        reader.rules
    };
    let mut variables = Variables::default();
    let mut rules = parse_all(&variables);
    let mut is_any = false;
    for rule in &mut rules {
        let custom = std::mem::take(&mut rule.declarations.custom);
        if !custom.is_empty() {
            is_any = true;
            variables.declare(custom, rule.is_on_root());
        }
    }
    for id in dom.nodes() {
        let css = dom.attribute(id, "style").unwrap_or_default();
        if css.contains("--")
            && let Some(block) = parse_style_attribute(dom, id, &Variables::default())
        {
            is_any |= !block.custom.is_empty();
            let is_on_root = matches!(dom.tag_name(id), "html" | "body");
            variables.declare(block.custom, is_on_root);
        }
    }
    if is_any {
        rules = parse_all(&variables);
    }
    (rules, variables)
}

impl RuleIndex {
    fn from_dom(dom: &Dom) -> Self {
        let mut texts = Vec::new();
        let mut free_bytes = MAX_CSS_BYTES;
        for id in dom.nodes() {
            if dom.tag_name(id) == "style"
                && dom
                    .attribute(id, "type")
                    .is_none_or(|it| it.is_empty() || it.eq_ignore_ascii_case("text/css"))
                && dom
                    .attribute(id, "media")
                    .is_none_or(|media| conditions::media_matches(&mut Parser::new(media)))
            {
                let css = dom.child_text(id);
                if css.len() > free_bytes {
                    break;
                }
                free_bytes -= css.len();
                texts.push(css);
            }
        }
        let (rules, variables) = parse_stylesheets(dom, &texts);
        let mut sheets = Self {
            quirks: dom.quirks,
            variables,
            ..Self::default()
        };
        let has_content = rules.iter().any(|rule| rule.declarations.content.is_some());
        for (rule, Rule { selectors, .. }) in rules.iter().enumerate() {
            for selector in selectors.slice() {
                if has_content || !selector.has_pseudo_element() {
                    sheets.insert(selector, rule);
                }
            }
        }
        sheets.rules = rules;
        sheets
    }

    /// Lowers the case of ids and classes in quirks mode, which ignores case.
    fn fold_case(&self, name: &str) -> String {
        if self.quirks {
            name.to_ascii_lowercase()
        } else {
            name.to_owned()
        }
    }

    fn insert(&mut self, selector: &Selector<SelectorTypes>, rule: usize) {
        let (mut id, mut class, mut tag) = (None, None, None);
        for component in selector.iter() {
            match component {
                Component::ID(name) if id.is_none() => id = Some(self.fold_case(&name.0)),
                Component::Class(name) if class.is_none() => class = Some(self.fold_case(&name.0)),
                Component::LocalName(name) => tag = Some(name.lower_name.0.to_string()),
                _ => {}
            }
        }
        let entry = IndexedSelector {
            selector: selector.clone(),
            rule_index: rule,
            cost: selector_cost(selector).unwrap_or(MAX_SELECTOR_TESTS),
        };
        if selector.has_pseudo_element() {
            return self.generated.push(entry);
        }
        match (id, class, tag) {
            (Some(id), _, _) => self.by_id.entry(id).or_default().push(entry),
            (None, Some(class), _) => self.by_class.entry(class).or_default().push(entry),
            (None, None, Some(tag)) => self.by_tag.entry(tag).or_default().push(entry),
            (None, None, None) => self.universal.push(entry),
        }
    }

    /// Returns the selectors that may match an element.
    fn candidates(&self, dom: &Dom, id: NodeId) -> impl Iterator<Item = &IndexedSelector> {
        let of_id = dom
            .attribute(id, "id")
            .and_then(|id| self.by_id.get(&self.fold_case(id)));
        let classes = dom.attribute(id, "class").unwrap_or_default();
        let of_classes = classes
            .split_ascii_whitespace()
            .take(64)
            .filter_map(|class| self.by_class.get(&self.fold_case(class)));
        let of_tag = self.by_tag.get(dom.tag_name(id));
        let of_element = of_id.into_iter().chain(of_classes).chain(of_tag).flatten();
        of_element.chain(&self.universal)
    }

    /// Returns the text of a pseudo-element, without signs of icon fonts.
    fn content_text(&self, dom: &Dom, id: NodeId, found: &[MatchedRule]) -> String {
        let contents = found
            .iter()
            .filter_map(|found| self.rules[found.index].declarations.content.as_ref());
        let parts = contents.last();
        let text = |part: &ContentPart| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::Attribute(name) => dom.attribute(id, name).unwrap_or_default().to_owned(),
        };
        let mut text: String = parts.into_iter().flatten().map(text).collect();
        text.retain(|c| !('\u{E000}'..='\u{F8FF}').contains(&c));
        text
    }
}

/// Finds the rules of elements, one after the other, within the limits for all.
struct RuleMatcher<'a> {
    sheets: &'a RuleIndex,
    steps_left: Cell<u64>,
    tests_left: u64,
    caches: SelectorCaches,
    /// The rules that match the last element, in cascade order.
    found: Vec<MatchedRule>,
    /// The same rules in the order of their important declarations.
    important: Vec<MatchedRule>,
}

impl<'a> RuleMatcher<'a> {
    fn new(sheets: &'a RuleIndex) -> Self {
        Self {
            sheets,
            steps_left: Cell::new(MAX_TREE_STEPS),
            tests_left: MAX_SELECTOR_TESTS,
            caches: SelectorCaches::default(),
            found: Vec::new(),
            important: Vec::new(),
        }
    }

    /// Finds the rules that match an element or a pseudo-element of it.
    fn find_rules(&mut self, dom: &Dom, id: NodeId, pseudo: Option<PseudoElement>) {
        let sheets = self.sheets;
        let element = ElementRef {
            dom,
            id,
            step_budget: &self.steps_left,
        };
        let quirks = if sheets.quirks {
            QuirksMode::Quirks
        } else {
            QuirksMode::NoQuirks
        };
        let mode = if pseudo.is_some() {
            MatchingMode::ForStatelessPseudoElement
        } else {
            MatchingMode::Normal
        };
        let mut context = MatchingContext::new(
            mode,
            None,
            &mut self.caches,
            quirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        self.found.clear();
        let test = |entry: &IndexedSelector| {
            self.tests_left = self.tests_left.checked_sub(entry.cost)?;
            if matches_selector(&entry.selector, 0, None, element, &mut context) {
                let rule = &sheets.rules[entry.rule_index];
                let applied = rule.declarations.len() as u64;
                self.tests_left = self.tests_left.saturating_sub(applied);
                self.found.push(MatchedRule {
                    layer: rule.layer,
                    specificity: entry.selector.specificity(),
                    index: entry.rule_index,
                });
            }
            Some(())
        };
        // Without tests left the rest does not match.
        let _ = if pseudo.is_none() {
            sheets.candidates(dom, id).try_for_each(test)
        } else {
            let is_same =
                |entry: &&IndexedSelector| entry.selector.pseudo_element() == pseudo.as_ref();
            sheets.generated.iter().filter(is_same).try_for_each(test)
        };
        self.found.sort_unstable();
        self.found.dedup();
    }

    /// Computes the style of an element from the rules that were found,
    /// its attributes and its parent.
    fn cascade(&mut self, dom: &Dom, id: NodeId, parent: &ComputedStyle) -> ComputedStyle {
        let sheets = self.sheets;
        let user_agent = user_agent::user_agent_style(dom, id, parent);
        let mut style = user_agent;
        let inline = parse_style_attribute(dom, id, &sheets.variables);
        let declarations = |found: &MatchedRule| &sheets.rules[found.index].declarations;
        let normal = self.found.iter().map(declarations).chain(&inline);
        // Of important declarations, those in the first layer win.
        self.important.clone_from(&self.found);
        self.important.sort_by_key(|rule| Reverse(rule.layer));
        let important = self.important.iter().map(declarations).chain(&inline);
        let declared = normal
            .flat_map(|declarations| &declarations.normal)
            .chain(important.flat_map(|declarations| &declarations.important));
        // The font size comes first, because other lengths refer to it.
        for font in [true, false] {
            declared
                .clone()
                .filter(|declared| declared.is_font_size() == font)
                .for_each(|declared| style.apply(declared, parent, &user_agent));
        }
        style.resolve_colours();
        if user_agent::is_closed_content(dom, id) {
            style.display = Display::None;
        }
        if (style.is_floated() || style.out_of_flow)
            && matches!(style.display, Display::Inline | Display::InlineBlock)
        {
            style.display = Display::Block;
        }
        let is_in_line = matches!(style.display, Display::Inline | Display::InlineBlock);
        match parent.display {
            Display::Grid if is_in_line => style.display = Display::Block,
            Display::Flex if is_in_line && parent.flex_column => style.display = Display::Block,
            Display::Flex if is_in_line => style.display = Display::InlineBlock,
            _ => {}
        }
        match dom.tag_name(id) {
            "html" => style.root_font_size = style.font_size,
            "body" => style.body_colour = style.colour,
            _ => {}
        }
        style
    }
}

#[cfg(test)]
mod tests;
