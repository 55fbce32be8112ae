//! Parses style sheets: their rules, without those for other media.

use cssparser::{
    AtRuleParser, CowRcStr, DeclarationParser, Parser, ParserState, QualifiedRuleParser,
    RuleBodyItemParser, RuleBodyParser, StyleSheetParser, ToCss as _, parse_important,
};
use selectors::SelectorList;
use selectors::parser::ParseRelative;

use super::conditions::{evaluate_supports, media_matches};
use super::content::{ContentPart, parse_content};
use super::declaration::{Declaration, remove_overridden};
use super::property::{parse_property, parse_substituted};
use super::selector::{SelectorReader, SelectorTypes, selector_cost};
use super::values::{Unsupported, ValueError, skip_rest, value_error};
use super::variables::{CustomProperties, Variables, find_var};

/// Rules after these are ignored.
const MAX_RULES: usize = 4_000;

/// Depth of nested rules.
const MAX_RULE_DEPTH: usize = 8;

/// Bytes that are read again because they are perhaps nested rules.
const MAX_REREAD_BYTES: usize = 4 << 20;

/// The most cascade layers; further ones count as the last.
const MAX_LAYERS: usize = 200;

/// A rule with more selectors is ignored.
const MAX_SELECTOR_LIST: usize = 200;

/// The declarations of a rule or of a style attribute.
#[derive(Debug, Default)]
pub(super) struct DeclarationBlock {
    pub(super) normal: Vec<Declaration>,
    pub(super) important: Vec<Declaration>,
    pub(super) custom: CustomProperties,
    /// The text of a pseudo-element.
    pub(super) content: Option<Vec<ContentPart>>,
}

impl DeclarationBlock {
    /// Keeps one declaration per property.
    fn deduplicated(mut self) -> Self {
        remove_overridden(&mut self.normal);
        remove_overridden(&mut self.important);
        self
    }

    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.important.len()
    }
}

pub(super) struct Rule {
    pub(super) selectors: SelectorList<SelectorTypes>,
    pub(super) declarations: DeclarationBlock,
    /// The number of its cascade layer in the order of the cascade.
    pub(super) layer: usize,
}

/// The number of rules that are in no layer.
const UNLAYERED: usize = usize::MAX;

impl Rule {
    /// True if every element inherits what it sets.
    pub(super) fn is_on_root(&self) -> bool {
        let mut selectors = self.selectors.slice().iter();
        selectors
            .any(|selector| matches!(&*selector.to_css_string(), ":root" | "html" | "body" | "*"))
    }
}

/// Reads style sheets, one after the other, or a style attribute.
pub(super) struct StylesheetReader<'v> {
    pub(super) rules: Vec<Rule>,
    quirks: bool,
    variables: &'v Variables,
    depth: usize,
    /// The names of the cascade layers, in the order in which they are first named.
    layers: Vec<String>,
    /// The number of the layer that is open.
    layer: usize,
    /// The selectors of the rule around a nested one, or of the scope.
    parent: Option<SelectorList<SelectorTypes>>,
    /// True in the block of a rule.
    is_nested: bool,
    reread_bytes_left: usize,
    block: OpenBlock,
}

/// The block of declarations that is being read.
#[derive(Default)]
struct OpenBlock {
    declarations: DeclarationBlock,
    /// Its custom properties, if it is read a second time.
    own: CustomProperties,
    uses_variables: bool,
    /// Rules in it are ignored.
    forbids_rules: bool,
}

impl<'v> StylesheetReader<'v> {
    pub(super) fn new(quirks: bool, variables: &'v Variables) -> Self {
        Self {
            rules: Vec::new(),
            quirks,
            variables,
            depth: 0,
            layers: Vec::new(),
            layer: UNLAYERED,
            parent: None,
            is_nested: false,
            reread_bytes_left: MAX_REREAD_BYTES,
            block: OpenBlock::default(),
        }
    }

    /// Parses a style sheet; adds its rules and the names of its layers.
    pub(super) fn parse_rules(&mut self, input: &mut Parser<'_>) {
        for _ in StyleSheetParser::new(input, self) {}
    }

    /// Parses the declarations of an attribute, or of a rule with nested ones.
    pub(super) fn parse_declarations(&mut self, input: &mut Parser<'_>) -> DeclarationBlock {
        let start = input.state();
        let may_nest = self.is_nested && self.depth <= MAX_RULE_DEPTH && self.reread_bytes_left > 0;
        let block = OpenBlock {
            forbids_rules: !may_nest,
            ..OpenBlock::default()
        };
        let outer = std::mem::replace(&mut self.block, block);
        for _ in RuleBodyParser::new(input, self) {}
        if self.block.uses_variables && !self.block.declarations.custom.is_empty() {
            // A custom property may be declared after its use.
            self.block = OpenBlock {
                own: std::mem::take(&mut self.block.declarations.custom),
                forbids_rules: true,
                ..OpenBlock::default()
            };
            input.reset(&start);
            for _ in RuleBodyParser::new(input, self) {}
        }
        std::mem::replace(&mut self.block, outer)
            .declarations
            .deduplicated()
    }

    /// Parses selectors, in which `&` is the parent.
    fn parse_selectors(
        &self,
        input: &mut Parser<'_>,
    ) -> Result<SelectorList<SelectorTypes>, ValueError> {
        let Some(parent) = &self.parent else {
            return SelectorList::parse(&SelectorReader, input, ParseRelative::No);
        };
        let nested = SelectorList::parse(&SelectorReader, input, ParseRelative::ForNesting)?;
        let selectors = nested.replace_parent_selector(parent);
        // They contain the selectors of all rules around them.
        let mut costs = selectors.slice().iter().map(selector_cost);
        let is_cheap = costs.all(|cost| cost.is_some());
        is_cheap.then_some(selectors).ok_or_else(value_error)
    }

    /// Parses the block of a rule and the rules nested in it, which come after it.
    fn parse_rule(&mut self, selectors: SelectorList<SelectorTypes>, input: &mut Parser<'_>) {
        let index = self.rules.len();
        if index >= MAX_RULES || selectors.len() > MAX_SELECTOR_LIST {
            return skip_rest(input);
        }
        self.rules.push(Rule {
            selectors: selectors.clone(),
            declarations: DeclarationBlock::default(),
            layer: self.layer,
        });
        let outer = (self.parent.replace(selectors), self.is_nested);
        self.is_nested = true;
        self.depth += 1;
        self.rules[index].declarations = self.parse_declarations(input);
        self.depth -= 1;
        (self.parent, self.is_nested) = outer;
    }

    /// Returns the number of a layer in the open one, new if it is unknown.
    fn layer_number(&mut self, name: &str) -> usize {
        let outer = self.layers.get(self.layer);
        let name = outer.map_or(name.to_owned(), |outer| format!("{outer}.{name}"));
        let known = self.layers.iter().position(|known| *known == name);
        known.filter(|_| !name.is_empty()).unwrap_or_else(|| {
            self.layers.truncate(MAX_LAYERS - 1);
            self.layers.push(name);
            self.layers.len() - 1
        })
    }
}

impl<'i> QualifiedRuleParser<'i> for StylesheetReader<'_> {
    type Prelude = SelectorList<SelectorTypes>;
    type QualifiedRule = ();
    type Error = Unsupported;

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<Self::Prelude, ValueError> {
        self.parse_selectors(input)
    }

    fn parse_block(
        &mut self,
        selectors: Self::Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ValueError> {
        self.parse_rule(selectors, input);
        Ok(())
    }
}

/// The effect of an at-rule on the rules inside.
#[derive(Default)]
pub(super) struct Condition {
    applies: bool,
    /// The names of the layers that they are in.
    layers: Option<String>,
    scope: Option<SelectorList<SelectorTypes>>,
}

impl<'i> AtRuleParser<'i> for StylesheetReader<'_> {
    type Prelude = Condition;
    type AtRule = ();
    type Error = Unsupported;

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<Condition, ValueError> {
        if self.block.forbids_rules {
            return Err(value_error());
        }
        let start = input.position();
        let mut condition = Condition::default();
        match &*name.to_ascii_lowercase() {
            "media" => condition.applies = media_matches(input),
            "supports" => condition.applies = evaluate_supports(input),
            "layer" => {
                skip_rest(input);
                condition.applies = true;
                condition.layers = Some(input.slice_from(start).trim().to_owned());
            }
            "scope" => {
                input.expect_parenthesis_block()?;
                let scope = input.parse_nested_block(|input| self.parse_selectors(input))?;
                condition.scope = Some(scope);
                // The end of a scope is not supported.
                condition.applies = input.is_exhausted();
            }
            _ => {}
        }
        skip_rest(input);
        Ok(condition)
    }

    fn parse_block(
        &mut self,
        condition: Condition,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ValueError> {
        if !condition.applies || self.depth >= MAX_RULE_DEPTH {
            skip_rest(input);
            return Ok(());
        }
        let outer = (self.layer, self.parent.clone());
        if let Some(name) = condition.layers {
            self.layer = self.layer_number(&name);
        }
        self.parent = condition.scope.or_else(|| self.parent.take());
        self.depth += 1;
        match &self.parent {
            Some(parent) if self.is_nested => self.parse_rule(parent.clone(), input),
            _ => self.parse_rules(input),
        }
        self.depth -= 1;
        (self.layer, self.parent) = outer;
        Ok(())
    }

    fn rule_without_block(&mut self, prelude: Condition, _: &ParserState) -> Result<(), ()> {
        for name in prelude.layers.iter().flat_map(|names| names.split(',')) {
            self.layer_number(name.trim());
        }
        Ok(())
    }
}

impl<'i> DeclarationParser<'i> for StylesheetReader<'_> {
    type Declaration = ();
    type Error = Unsupported;

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ValueError> {
        let (mut declarations, mut content) = (Vec::new(), None);
        let is_custom = name.starts_with("--");
        let property = name.to_ascii_lowercase();
        let (parsed, written) = input.parse_until_before(cssparser::Delimiter::Bang, |value| {
            let start = value.position();
            let parsed = if is_custom {
                Ok(())
            } else if property == "content" {
                content = parse_content(value);
                Ok(())
            } else {
                parse_property(&property, value, self.quirks, &mut declarations)
            };
            skip_rest(value);
            Ok((parsed, value.slice_from(start)))
        })?;
        let important = input.try_parse(parse_important).is_ok();
        input.expect_exhausted()?;
        let block = &mut self.block;
        if is_custom {
            let custom = (name.to_string(), written.trim().to_owned());
            block.declarations.custom.push(custom);
            return Ok(());
        }
        if find_var(written).is_some() {
            block.uses_variables = true;
            let value = self.variables.substitute(written, &block.own);
            declarations = parse_substituted(&property, written, &value, self.quirks);
            let parse = |text: String| parse_content(&mut Parser::new(&text));
            content = value.ok().and_then(parse);
        } else if parsed.is_err() {
            // With a block it is perhaps a nested rule, as in `a:hover { ... }`.
            let is_rule = written.contains('{');
            if is_rule && !block.forbids_rules {
                let left = self.reread_bytes_left.checked_sub(written.len());
                self.reread_bytes_left = left.unwrap_or(0);
                block.forbids_rules = left.is_none();
            }
            return parsed.or_else(|error| if is_rule { Err(error) } else { Ok(()) });
        }
        if content.is_some() {
            block.declarations.content = content;
        }
        if important {
            block.declarations.important.extend(declarations);
        } else {
            block.declarations.normal.extend(declarations);
        }
        Ok(())
    }
}

impl RuleBodyItemParser<'_, (), Unsupported> for StylesheetReader<'_> {
    fn parse_declarations(&self) -> bool {
        true
    }

    fn parse_qualified(&self) -> bool {
        !self.block.forbids_rules
    }
}
