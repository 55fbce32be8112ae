//! Reads style sheets: their rules with what they select, without those for other screens.

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser,
    parse_important,
};
use selectors::SelectorList;
use selectors::parser::{ParseRelative, SelectorParseErrorKind};

use super::media;
use super::property::{Declaration, parse_property, remove_overridden};
use super::selector::{SelectorReader, SelectorTypes};

/// More rules than any email has.
const MAX_RULES: usize = 4_000;

/// Rules within `@media` within `@media`.
const MAX_MEDIA_DEPTH: usize = 8;

/// More selectors than anybody writes in front of one rule.
const MAX_SELECTOR_LIST: usize = 200;

/// What a rule or a style attribute declares.
#[derive(Debug, Default)]
pub(super) struct DeclarationBlock {
    pub(super) normal: Vec<Declaration>,
    pub(super) important: Vec<Declaration>,
}

impl DeclarationBlock {
    /// The same with each property declared once.
    fn deduplicated(mut self) -> Self {
        remove_overridden(&mut self.normal);
        remove_overridden(&mut self.important);
        self
    }

    /// How many properties it declares.
    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.important.len()
    }
}

/// A rule.
pub(super) struct Rule {
    pub(super) selectors: SelectorList<SelectorTypes>,
    pub(super) declarations: DeclarationBlock,
}

/// Adds the rules of a style sheet to `rules`.
pub(super) fn parse_stylesheet(css: &str, quirks: bool, rules: &mut Vec<Rule>) {
    let mut reader = StylesheetReader {
        rules,
        quirks,
        depth: 0,
    };
    reader.parse_rules(&mut Parser::new(css));
}

/// Reads a style attribute.
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
    /// Whether the rules in it hold.
    type Prelude = bool;
    type AtRule = ();
    type Error = SelectorParseErrorKind;

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<bool, ParseError<Self::Error>> {
        let holds = match &*name.to_ascii_lowercase() {
            "media" => media::media_matches(input),
            "layer" => true,
            "supports" => !input
                .slice_from(input.position())
                .trim_start()
                .starts_with("not"),
            _ => false,
        };
        while input.next().is_ok() {}
        Ok(holds)
    }

    fn parse_block(
        &mut self,
        holds: bool,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<Self::Error>> {
        if holds && self.depth < MAX_MEDIA_DEPTH {
            self.depth += 1;
            self.parse_rules(input);
            self.depth -= 1;
        } else {
            while input.next().is_ok() {}
        }
        Ok(())
    }

    fn rule_without_block(&mut self, _: bool, _: &ParserState) -> Result<(), ()> {
        Ok(())
    }
}

/// The declarations between two braces, or of a style attribute.
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
        let mut found = Vec::new();
        let name = name.to_ascii_lowercase();
        input.parse_until_before(cssparser::Delimiter::Bang, |value| {
            parse_property(&name, value, self.quirks, &mut found)?;
            // What else is written here was skipped on purpose by those properties that allow it.
            while value.next().is_ok() {}
            Ok(())
        })?;
        let important = input.try_parse(parse_important).is_ok();
        input.expect_exhausted()?;
        if important {
            self.declarations.important.extend(found);
        } else {
            self.declarations.normal.extend(found);
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
