//! Media queries, asked for one screen: 800 pixels wide, 1000 high, light, with a mouse.

use cssparser::{Parser, Token};

use super::computed::Length;
use super::values::{ValueError, parse_length, value_error};

const VIEWPORT_WIDTH: f32 = 800.0;
const VIEWPORT_HEIGHT: f32 = 1000.0;

/// Whether a list of queries is true of that screen. What is not understood is false.
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

/// The `media` attribute of a style element.
pub(super) fn media_attribute_matches(text: &str) -> bool {
    media_matches(&mut Parser::new(text))
}

fn evaluate_query(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    let mut truth = true;
    let mut negated = false;
    let mut any = false;
    while !input.is_exhausted() {
        match input.next()?.clone() {
            Token::Ident(word) => match &*word.to_ascii_lowercase() {
                "and" | "only" | "screen" | "all" => {}
                "not" => negated = true,
                "or" => {
                    any |= truth;
                    truth = true;
                }
                _ => truth = false,
            },
            Token::ParenthesisBlock => truth &= input.parse_nested_block(evaluate_feature)?,
            Token::Function(_) => {
                input.parse_nested_block(|inner| {
                    skip_rest(inner);
                    Ok::<(), ValueError>(())
                })?;
                truth = false;
            }
            _ => return Err(value_error()),
        }
    }
    Ok((any || truth) != negated)
}

fn skip_rest(input: &mut Parser<'_>) {
    while input.next().is_ok() {}
}

/// What stands between two brackets.
fn evaluate_feature(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    if let Ok(nested) = input.try_parse(|input| {
        input.expect_parenthesis_block()?;
        input.parse_nested_block(evaluate_feature)
    }) {
        skip_rest(input);
        return Ok(nested);
    }
    if input.try_parse(|input| parse_length(input, true)).is_ok() {
        // `(400px < width)`: so rare that it may be wrong.
        skip_rest(input);
        return Ok(false);
    }
    let name = input.expect_ident()?.to_ascii_lowercase();
    let truth = match input.next() {
        Err(_) => matches!(
            &*name,
            "width" | "height" | "color" | "hover" | "pointer" | "min-width"
        ),
        Ok(Token::Colon) => evaluate_plain_feature(&name, input)?,
        Ok(Token::Delim(sign)) => {
            let sign = *sign;
            let or_equal = input.try_parse(|input| input.expect_delim('=')).is_ok();
            let than = parse_length(input, true)?
                .to_px(16.0, 0.0)
                .ok_or_else(value_error)?;
            let is = viewport_side(&name)?;
            match sign {
                '<' => is < than || (or_equal && is <= than),
                '>' => is > than || (or_equal && is >= than),
                _ => (is - than).abs() < f32::EPSILON,
            }
        }
        Ok(_) => return Err(value_error()),
    };
    skip_rest(input);
    Ok(truth)
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
    fn queries_for_other_screens_are_false() {
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
