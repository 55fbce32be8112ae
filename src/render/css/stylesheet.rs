//! Parses style sheets: their rules, without those for other media.

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser,
    ToCss as _, Token, parse_important,
};
use selectors::SelectorList;
use selectors::parser::{ParseRelative, SelectorParseErrorKind};

use super::computed::Length;
use super::declaration::{Declaration, remove_overridden};
use super::property::{parse_property, parse_substituted};
use super::selector::{SelectorReader, SelectorTypes};
use super::values::{ValueError, parse_length, skip_block, skip_rest, value_error};
use super::variables::{CustomProperties, Variables, find_var};

/// Rules after these are ignored.
const MAX_RULES: usize = 4_000;

/// Depth of nested `@media` rules.
const MAX_MEDIA_DEPTH: usize = 8;

/// Cascade layers after these are the last of them.
const MAX_LAYERS: usize = 200;

/// A rule with more selectors is ignored.
const MAX_SELECTOR_LIST: usize = 200;

/// The declarations of a rule or of a style attribute.
#[derive(Debug, Default)]
pub(super) struct DeclarationBlock {
    pub(super) normal: Vec<Declaration>,
    pub(super) important: Vec<Declaration>,
    pub(super) custom: CustomProperties,
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

/// Parses a style sheet, and adds its rules to `rules` and the names of its cascade
/// layers to `layers`.
pub(super) fn parse_stylesheet(
    css: &str,
    quirks: bool,
    variables: &Variables,
    layers: &mut Vec<String>,
    rules: &mut Vec<Rule>,
) {
    let mut reader = StylesheetReader {
        rules,
        quirks,
        variables,
        depth: 0,
        layers,
        layer: UNLAYERED,
    };
    reader.parse_rules(&mut Parser::new(css));
}

/// Parses the declarations of a rule or of a style attribute.
pub(super) fn parse_declarations(
    input: &mut Parser<'_>,
    quirks: bool,
    variables: &Variables,
) -> DeclarationBlock {
    let start = input.state();
    let mut reader = DeclarationReader {
        block: DeclarationBlock::default(),
        quirks,
        variables,
        own: CustomProperties::new(),
        uses_variables: false,
    };
    for _ in RuleBodyParser::new(input, &mut reader) {}
    if reader.uses_variables && !reader.block.custom.is_empty() {
        // A custom property may be declared after its use.
        reader.own = std::mem::take(&mut reader.block).custom;
        input.reset(&start);
        for _ in RuleBodyParser::new(input, &mut reader) {}
    }
    reader.block.deduplicated()
}

struct StylesheetReader<'r> {
    rules: &'r mut Vec<Rule>,
    quirks: bool,
    variables: &'r Variables,
    depth: usize,
    /// The names of the cascade layers, in the order in which they are first named.
    layers: &'r mut Vec<String>,
    /// The number of the layer that is open.
    layer: usize,
}

impl StylesheetReader<'_> {
    fn parse_rules(&mut self, input: &mut Parser<'_>) {
        for _ in StyleSheetParser::new(input, self) {}
    }

    /// Returns the number of a layer in the open one;
    /// a new number if it is not known, or has no name.
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
    type Error = SelectorParseErrorKind;

    fn parse_prelude(
        &mut self,
        input: &mut Parser<'i>,
    ) -> Result<Self::Prelude, ParseError<Self::Error>> {
        if self.rules.len() >= MAX_RULES {
            return Err(ParseError::from_basic_kind(
                BasicParseErrorKind::QualifiedRuleInvalid,
            ));
        }
        SelectorList::parse(&SelectorReader, input, ParseRelative::No)
    }

    fn parse_block(
        &mut self,
        selectors: Self::Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<Self::Error>> {
        let declarations = parse_declarations(input, self.quirks, self.variables);
        if selectors.len() <= MAX_SELECTOR_LIST {
            self.rules.push(Rule {
                selectors,
                declarations,
                layer: self.layer,
            });
        }
        Ok(())
    }
}

impl<'i> AtRuleParser<'i> for StylesheetReader<'_> {
    /// Whether the rules inside apply, and the names of the layers that they are in.
    type Prelude = (bool, Option<String>);
    type AtRule = ();
    type Error = SelectorParseErrorKind;

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<Self::Prelude, ParseError<Self::Error>> {
        let start = input.position();
        let name = name.to_ascii_lowercase();
        let applies = match &*name {
            "media" => media_matches(input),
            "layer" => true,
            "supports" => evaluate_supports(input),
            _ => false,
        };
        skip_rest(input);
        let layers = (&*name == "layer").then(|| input.slice_from(start).trim().to_owned());
        Ok((applies, layers))
    }

    fn parse_block(
        &mut self,
        (applies, layers): Self::Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<Self::Error>> {
        if applies && self.depth < MAX_MEDIA_DEPTH {
            let outer = self.layer;
            if let Some(name) = layers {
                self.layer = self.layer_number(&name);
            }
            self.depth += 1;
            self.parse_rules(input);
            self.depth -= 1;
            self.layer = outer;
        } else {
            skip_rest(input);
        }
        Ok(())
    }

    fn rule_without_block(&mut self, prelude: Self::Prelude, _: &ParserState) -> Result<(), ()> {
        for name in prelude.1.iter().flat_map(|names| names.split(',')) {
            self.layer_number(name.trim());
        }
        Ok(())
    }
}

struct DeclarationReader<'r> {
    block: DeclarationBlock,
    quirks: bool,
    variables: &'r Variables,
    /// The custom properties of the block.
    own: CustomProperties,
    uses_variables: bool,
}

impl<'i> DeclarationParser<'i> for DeclarationReader<'_> {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        let mut declarations = Vec::new();
        let is_custom = name.starts_with("--");
        let property = name.to_ascii_lowercase();
        let (parsed, written) = input.parse_until_before(cssparser::Delimiter::Bang, |value| {
            let start = value.position();
            let parsed = if is_custom {
                Ok(())
            } else {
                parse_property(&property, value, self.quirks, &mut declarations)
            };
            skip_rest(value);
            Ok((parsed, value.slice_from(start)))
        })?;
        let important = input.try_parse(parse_important).is_ok();
        input.expect_exhausted()?;
        if is_custom {
            let custom = (name.to_string(), written.trim().to_owned());
            self.block.custom.push(custom);
            return Ok(());
        }
        if find_var(written).is_some() {
            self.uses_variables = true;
            let value = self.variables.substitute(written, &self.own);
            declarations = parse_substituted(&property, written, &value, self.quirks);
        } else {
            parsed?;
        }
        if important {
            self.block.important.extend(declarations);
        } else {
            self.block.normal.extend(declarations);
        }
        Ok(())
    }
}

impl AtRuleParser<'_> for DeclarationReader<'_> {
    type Prelude = ();
    type AtRule = ();
    type Error = ();
}

impl QualifiedRuleParser<'_> for DeclarationReader<'_> {
    type Prelude = ();
    type QualifiedRule = ();
    type Error = ();
}

impl RuleBodyItemParser<'_, (), ()> for DeclarationReader<'_> {
    fn parse_declarations(&self) -> bool {
        true
    }

    fn parse_qualified(&self) -> bool {
        false
    }
}

/// Evaluates the condition of `@supports`:
/// a browser supports all but other vendors' properties.
fn evaluate_supports(input: &mut Parser<'_>) -> bool {
    let negated = input
        .try_parse(|input| input.expect_ident_matching("not"))
        .is_ok();
    let (mut result, mut any) = (true, false);
    while let Ok(token) = input.next().cloned() {
        match token {
            Token::ParenthesisBlock => {
                let inner = input.parse_nested_block(|inner| {
                    Ok::<bool, ValueError>(match inner.try_parse(supported_property) {
                        Ok(supported) => supported,
                        Err(_) => evaluate_supports(inner),
                    })
                });
                result &= inner.unwrap_or(false);
            }
            Token::Function(_) if skip_block(input).is_err() => return false,
            Token::Ident(word) if word.eq_ignore_ascii_case("or") => {
                any |= std::mem::replace(&mut result, true);
            }
            Token::Ident(word) if word.eq_ignore_ascii_case("not") => {
                result &= !evaluate_supports(input);
            }
            _ => {}
        }
    }
    (any || result) != negated
}

/// Parses a declaration in a condition; false if it is of another vendor.
fn supported_property(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    let start = input.position();
    input.expect_ident()?;
    input.expect_colon()?;
    skip_rest(input);
    let written = input.slice_from(start).to_ascii_lowercase();
    Ok(!["-ms-", "-moz-", "-o-", "mso-"]
        .iter()
        .any(|vendor| written.contains(vendor)))
}

/// Media queries are evaluated for one screen:
/// 800 by 1000 pixels, light, with a mouse.
const VIEWPORT_WIDTH: f32 = 800.0;
const VIEWPORT_HEIGHT: f32 = 1000.0;

/// Evaluates a list of media queries; unsupported ones are false.
pub(super) fn media_matches(input: &mut Parser<'_>) -> bool {
    if input.is_exhausted() {
        return true;
    }
    let mut any = false;
    loop {
        let one = input.parse_until_before(cssparser::Delimiter::Comma, evaluate_query);
        any |= one.unwrap_or(false);
        match input.next() {
            Ok(Token::Comma) => {}
            _ => return any,
        }
    }
}

fn evaluate_query(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    let mut matches = true;
    let mut negated = false;
    let mut any = false;
    while !input.is_exhausted() {
        match input.next()?.clone() {
            Token::Ident(word) => match &*word.to_ascii_lowercase() {
                "and" | "only" | "screen" | "all" => {}
                "not" => negated = true,
                "or" => {
                    any |= matches;
                    matches = true;
                }
                _ => matches = false,
            },
            Token::ParenthesisBlock => matches &= input.parse_nested_block(evaluate_feature)?,
            Token::Function(_) => {
                skip_block(input)?;
                matches = false;
            }
            _ => return Err(value_error()),
        }
    }
    Ok((any || matches) != negated)
}

/// Evaluates a media feature, the part between brackets.
fn evaluate_feature(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    if let Ok(nested) = input.try_parse(|input| {
        input.expect_parenthesis_block()?;
        input.parse_nested_block(evaluate_feature)
    }) {
        skip_rest(input);
        return Ok(nested);
    }
    // `(400px < width)`, and perhaps a second limit behind the name.
    let lower = input.try_parse(|input| {
        let limit = parse_length(input, true)?;
        Ok::<_, ValueError>((limit, parse_comparison(input)?))
    });
    let name = input.expect_ident()?.to_ascii_lowercase();
    let is_above_limit = match lower {
        Ok((limit, comparison)) => comparison.holds(px(limit)?, viewport_side(&name)?),
        Err(_) => true,
    };
    let second = input.try_parse(parse_comparison);
    if let Ok(comparison) = second {
        let limit = px(parse_length(input, true)?)?;
        return Ok(is_above_limit && comparison.holds(viewport_side(&name)?, limit));
    }
    if lower.is_ok() {
        return Ok(is_above_limit);
    }
    let matches = match input.next() {
        Err(_) => matches!(
            &*name,
            "width" | "height" | "color" | "hover" | "pointer" | "min-width"
        ),
        Ok(Token::Colon) => evaluate_plain_feature(&name, input)?,
        Ok(_) => return Err(value_error()),
    };
    skip_rest(input);
    Ok(matches)
}

/// `<`, `<=`, `>`, `>=` or `=`.
#[derive(Clone, Copy)]
struct Comparison {
    sign: char,
    or_equal: bool,
}

impl Comparison {
    fn holds(self, left: f32, right: f32) -> bool {
        let equal = (left - right).abs() < f32::EPSILON;
        match self.sign {
            '<' => left < right || (self.or_equal && equal),
            '>' => left > right || (self.or_equal && equal),
            _ => equal,
        }
    }
}

fn parse_comparison(input: &mut Parser<'_>) -> Result<Comparison, ValueError> {
    let sign = match input.next()? {
        Token::Delim(sign @ ('<' | '>' | '=')) => *sign,
        _ => return Err(value_error()),
    };
    let or_equal = input.try_parse(|input| input.expect_delim('=')).is_ok();
    Ok(Comparison { sign, or_equal })
}

fn px(length: Length) -> Result<f32, ValueError> {
    match length {
        Length::Auto | Length::Percent(_) => Err(value_error()),
        length => length.to_px(16.0, 0.0).ok_or_else(value_error),
    }
}

fn evaluate_plain_feature(name: &str, input: &mut Parser<'_>) -> Result<bool, ValueError> {
    let pixels = |input: &mut Parser<'_>| px(parse_length(input, true)?);
    let bare = name.replace("device-", "");
    Ok(match &*bare {
        "min-width" => VIEWPORT_WIDTH >= pixels(input)?,
        "max-width" => VIEWPORT_WIDTH <= pixels(input)?,
        "min-height" => VIEWPORT_HEIGHT >= pixels(input)?,
        "max-height" => VIEWPORT_HEIGHT <= pixels(input)?,
        "width" | "height" => (viewport_side(&bare)? - pixels(input)?).abs() < f32::EPSILON,
        "orientation" => input.expect_ident_matching("portrait").is_ok(),
        "prefers-color-scheme" => input.expect_ident_matching("light").is_ok(),
        "prefers-reduced-motion" | "prefers-contrast" => {
            input.expect_ident_matching("no-preference").is_ok()
        }
        "hover" => input.expect_ident_matching("hover").is_ok(),
        "pointer" => input.expect_ident_matching("fine").is_ok(),
        "-webkit-min-pixel-ratio" | "-webkit-min-device-pixel-ratio" => {
            input.expect_number()? <= 1.0
        }
        "-webkit-max-pixel-ratio" | "-webkit-max-device-pixel-ratio" => {
            input.expect_number()? >= 1.0
        }
        "color" | "min-color" => true,
        _ => false,
    })
}

fn viewport_side(name: &str) -> Result<f32, ValueError> {
    match name {
        "width" => Ok(VIEWPORT_WIDTH),
        "height" => Ok(VIEWPORT_HEIGHT),
        _ => Err(value_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Parser, evaluate_supports, media_matches};

    #[test]
    fn supports_is_true_except_for_other_vendors() {
        for (condition, expected) in [
            ("(display: grid)", true),
            ("not (display: grid)", false),
            ("(-ms-ime-align: auto)", false),
            ("not (-moz-appearance: none)", true),
            ("(display: grid) and (not (display: inline-grid))", false),
            ("(-ms-a: b) or (display: grid)", true),
            ("selector(:has(a))", true),
        ] {
            assert_eq!(
                evaluate_supports(&mut Parser::new(condition)),
                expected,
                "{condition}"
            );
        }
    }

    #[test]
    fn media_queries_for_other_screens_are_false() {
        let matches = |query: &str| media_matches(&mut Parser::new(query));
        for query in [
            "",
            "all",
            "screen",
            "only screen and (min-width: 480px)",
            "screen and (max-width: 900px)",
            "(min-width:30em)",
            "print, screen",
            "not print",
            "(width >= 600px)",
            "(prefers-color-scheme: light)",
            "(400px < width <= 800px)",
            "(800px = width)",
        ] {
            assert!(matches(query), "{query}");
        }
        for query in [
            "print",
            "only screen and (max-width: 600px)",
            "(max-device-width: 480px)",
            "(prefers-color-scheme: dark)",
            "not all",
            "(-ms-high-contrast: none)",
            "(width < 600px)",
            "(400px <= width < 800px)",
            "(900px < width)",
            "screen and (-webkit-min-device-pixel-ratio: 2)",
        ] {
            assert!(!matches(query), "{query}");
        }
    }
}
