//! Evaluates the conditions of `@media` and `@supports`.

use cssparser::{Parser, Token};

use super::computed::Length;
use super::values::{ValueError, parse_length, skip_block, skip_keyword, skip_rest, value_error};

/// Evaluates `@supports`: all but other vendors' properties are supported.
pub(super) fn evaluate_supports(input: &mut Parser<'_>) -> bool {
    let negated = skip_keyword(input, "not");
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

/// The screen of media queries: 800 by 1000 pixels, light, with a mouse.
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
