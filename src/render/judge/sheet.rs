//! Reads style sheets: their rules with what they select, without those for other screens.

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser,
    parse_important,
};
use selectors::SelectorList;
use selectors::parser::{ParseRelative, SelectorParseErrorKind};

use super::declare::{Declared, declare, keep_last};
use super::media;
use super::select::{Names, Reader};

/// More rules than any email has.
const MAX_RULES: usize = 4_000;

/// Rules within `@media` within `@media`.
const MAX_DEPTH: usize = 8;

/// More selectors than anybody writes in front of one rule.
const MAX_LIST: usize = 200;

/// What a rule or a style attribute declares.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    pub(super) normal: Vec<Declared>,
    pub(super) important: Vec<Declared>,
}

impl Declarations {
    /// The same with each property declared once.
    fn settled(mut self) -> Self {
        keep_last(&mut self.normal);
        keep_last(&mut self.important);
        self
    }

    /// How many properties it declares.
    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.important.len()
    }
}

/// A rule.
pub(super) struct Rule {
    pub(super) selectors: SelectorList<Names>,
    pub(super) declarations: Declarations,
}

/// Adds the rules of a style sheet to `rules`.
pub(super) fn read(css: &str, quirks: bool, rules: &mut Vec<Rule>) {
    let mut reader = Sheet {
        rules,
        quirks,
        depth: 0,
    };
    reader.read(&mut Parser::new(css));
}

/// Reads a style attribute.
pub(super) fn read_attribute(css: &str, quirks: bool) -> Declarations {
    let mut body = Body {
        declarations: Declarations::default(),
        quirks,
    };
    for _ in RuleBodyParser::new(&mut Parser::new(css), &mut body) {}
    body.declarations.settled()
}

struct Sheet<'r> {
    rules: &'r mut Vec<Rule>,
    quirks: bool,
    depth: usize,
}

impl Sheet<'_> {
    fn read(&mut self, input: &mut Parser<'_>) {
        for _ in StyleSheetParser::new(input, self) {}
    }
}

impl<'i> QualifiedRuleParser<'i> for Sheet<'_> {
    type Prelude = SelectorList<Names>;
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
        SelectorList::parse(&Reader, input, ParseRelative::No)
    }

    fn parse_block(
        &mut self,
        selectors: Self::Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<Self::Error>> {
        let mut body = Body {
            declarations: Declarations::default(),
            quirks: self.quirks,
        };
        for _ in RuleBodyParser::new(input, &mut body) {}
        if selectors.len() <= MAX_LIST {
            self.rules.push(Rule {
                selectors,
                declarations: body.declarations.settled(),
            });
        }
        Ok(())
    }
}

impl<'i> AtRuleParser<'i> for Sheet<'_> {
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
            "media" => media::matches(input),
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
        if holds && self.depth < MAX_DEPTH {
            self.depth += 1;
            self.read(input);
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
struct Body {
    declarations: Declarations,
    quirks: bool,
}

impl<'i> DeclarationParser<'i> for Body {
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
            declare(&name, value, self.quirks, &mut found)?;
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

impl AtRuleParser<'_> for Body {
    type Prelude = ();
    type AtRule = ();
    type Error = ();
}

impl QualifiedRuleParser<'_> for Body {
    type Prelude = ();
    type QualifiedRule = ();
    type Error = ();
}

impl RuleBodyItemParser<'_, (), ()> for Body {
    fn parse_declarations(&self) -> bool {
        true
    }

    fn parse_qualified(&self) -> bool {
        false
    }
}
