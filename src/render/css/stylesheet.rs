//! Parses style sheets: their rules, without those for other media.

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser, Token,
    parse_important,
};
use selectors::SelectorList;
use selectors::parser::{ParseRelative, SelectorParseErrorKind};

use super::computed::{Declaration, Length, remove_overridden};
use super::property::parse_property;
use super::selector::{SelectorReader, SelectorTypes};
use super::values::{ValueError, parse_length, skip_block, skip_rest, value_error};

/// Rules after these are ignored.
const MAX_RULES: usize = 4_000;

/// Depth of nested `@media` rules.
const MAX_MEDIA_DEPTH: usize = 8;

/// A rule with more selectors is ignored.
const MAX_SELECTOR_LIST: usize = 200;

/// The declarations of a rule or of a style attribute.
#[derive(Debug, Default)]
pub(super) struct DeclarationBlock {
    pub(super) normal: Vec<Declaration>,
    pub(super) important: Vec<Declaration>,
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
}

/// Parses a style sheet and adds its rules to `rules`.
pub(super) fn parse_stylesheet(css: &str, quirks: bool, rules: &mut Vec<Rule>) {
    let mut reader = StylesheetReader {
        rules,
        quirks,
        depth: 0,
    };
    reader.parse_rules(&mut Parser::new(css));
}

/// Parses a style attribute.
pub(super) fn parse_style_attribute(css: &str, quirks: bool) -> DeclarationBlock {
    let mut body = DeclarationReader {
        declarations: DeclarationBlock::default(),
        quirks,
    };
    for _ in RuleBodyParser::new(&mut Parser::new(css), &mut body) {}
    body.declarations.deduplicated()
}

struct StylesheetReader<'r> {
    rules: &'r mut Vec<Rule>,
    quirks: bool,
    depth: usize,
}

impl StylesheetReader<'_> {
    fn parse_rules(&mut self, input: &mut Parser<'_>) {
        for _ in StyleSheetParser::new(input, self) {}
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
        let mut body = DeclarationReader {
            declarations: DeclarationBlock::default(),
            quirks: self.quirks,
        };
        for _ in RuleBodyParser::new(input, &mut body) {}
        if selectors.len() <= MAX_SELECTOR_LIST {
            self.rules.push(Rule {
                selectors,
                declarations: body.declarations.deduplicated(),
            });
        }
        Ok(())
    }
}

impl<'i> AtRuleParser<'i> for StylesheetReader<'_> {
    /// True if the rules inside apply.
    type Prelude = bool;
    type AtRule = ();
    type Error = SelectorParseErrorKind;

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<bool, ParseError<Self::Error>> {
        let applies = match &*name.to_ascii_lowercase() {
            "media" => media_matches(input),
            "layer" => true,
            "supports" => !input
                .slice_from(input.position())
                .trim_start()
                .starts_with("not"),
            _ => false,
        };
        skip_rest(input);
        Ok(applies)
    }

    fn parse_block(
        &mut self,
        applies: bool,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<Self::Error>> {
        if applies && self.depth < MAX_MEDIA_DEPTH {
            self.depth += 1;
            self.parse_rules(input);
            self.depth -= 1;
        } else {
            skip_rest(input);
        }
        Ok(())
    }

    fn rule_without_block(&mut self, _: bool, _: &ParserState) -> Result<(), ()> {
        Ok(())
    }
}

struct DeclarationReader {
    declarations: DeclarationBlock,
    quirks: bool,
}

impl<'i> DeclarationParser<'i> for DeclarationReader {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        let mut declarations = Vec::new();
        let name = name.to_ascii_lowercase();
        input.parse_until_before(cssparser::Delimiter::Bang, |value| {
            parse_property(&name, value, self.quirks, &mut declarations)?;
            // Properties may leave values that the layout does not need.
            skip_rest(value);
            Ok(())
        })?;
        let important = input.try_parse(parse_important).is_ok();
        input.expect_exhausted()?;
        if important {
            self.declarations.important.extend(declarations);
        } else {
            self.declarations.normal.extend(declarations);
        }
        Ok(())
    }
}

impl AtRuleParser<'_> for DeclarationReader {
    type Prelude = ();
    type AtRule = ();
    type Error = ();
}

impl QualifiedRuleParser<'_> for DeclarationReader {
    type Prelude = ();
    type QualifiedRule = ();
    type Error = ();
}

impl RuleBodyItemParser<'_, (), ()> for DeclarationReader {
    fn parse_declarations(&self) -> bool {
        true
    }

    fn parse_qualified(&self) -> bool {
        false
    }
}

/// Media queries are evaluated for one screen: 800 by 1000 pixels, light, with a mouse.
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

/// Evaluates the `media` attribute of a style element.
pub(super) fn media_attribute_matches(text: &str) -> bool {
    media_matches(&mut Parser::new(text))
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
    if input.try_parse(|input| parse_length(input, true)).is_ok() {
        // `(400px < width)` is so rare that it is not supported.
        skip_rest(input);
        return Ok(false);
    }
    let name = input.expect_ident()?.to_ascii_lowercase();
    let matches = match input.next() {
        Err(_) => matches!(
            &*name,
            "width" | "height" | "color" | "hover" | "pointer" | "min-width"
        ),
        Ok(Token::Colon) => evaluate_plain_feature(&name, input)?,
        Ok(Token::Delim(sign)) => {
            let sign = *sign;
            let or_equal = input.try_parse(|input| input.expect_delim('=')).is_ok();
            let limit = parse_length(input, true)?
                .to_px(16.0, 0.0)
                .ok_or_else(value_error)?;
            let actual = viewport_side(&name)?;
            match sign {
                '<' => actual < limit || (or_equal && actual <= limit),
                '>' => actual > limit || (or_equal && actual >= limit),
                _ => (actual - limit).abs() < f32::EPSILON,
            }
        }
        Ok(_) => return Err(value_error()),
    };
    skip_rest(input);
    Ok(matches)
}

fn evaluate_plain_feature(name: &str, input: &mut Parser<'_>) -> Result<bool, ValueError> {
    let pixels = |input: &mut Parser<'_>| -> Result<f32, ValueError> {
        match parse_length(input, true)? {
            Length::Auto | Length::Percent(_) => Err(value_error()),
            length => length.to_px(16.0, 0.0).ok_or_else(value_error),
        }
    };
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
    use super::media_attribute_matches as matches;

    #[test]
    fn media_queries_for_other_screens_are_false() {
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
            "screen and (-webkit-min-device-pixel-ratio: 2)",
        ] {
            assert!(!matches(query), "{query}");
        }
    }
}
