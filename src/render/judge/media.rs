//! Media queries, asked for one screen: 800 pixels wide, 1000 high, light, with a mouse.

use cssparser::{Parser, Token};

use super::style::Length;
use super::values::{Fault, fault, length};

const WIDTH: f32 = 800.0;
const HEIGHT: f32 = 1000.0;

/// Whether a list of queries is true of that screen. What is not understood is false.
pub(super) fn matches(input: &mut Parser<'_>) -> bool {
    if input.is_exhausted() {
        return true;
    }
    let mut any = false;
    loop {
        let one = input.parse_until_before(cssparser::Delimiter::Comma, query);
        any |= one.unwrap_or(false);
        match input.next() {
            Ok(Token::Comma) => {}
            _ => return any,
        }
    }
}

/// The `media` attribute of a style element.
pub(super) fn attribute_matches(text: &str) -> bool {
    matches(&mut Parser::new(text))
}

fn query(input: &mut Parser<'_>) -> Result<bool, Fault> {
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
            Token::ParenthesisBlock => truth &= input.parse_nested_block(feature)?,
            Token::Function(_) => {
                input.parse_nested_block(|inner| {
                    skip(inner);
                    Ok::<(), Fault>(())
                })?;
                truth = false;
            }
            _ => return Err(fault()),
        }
    }
    Ok((any || truth) != negated)
}

fn skip(input: &mut Parser<'_>) {
    while input.next().is_ok() {}
}

/// What stands between two brackets.
fn feature(input: &mut Parser<'_>) -> Result<bool, Fault> {
    if let Ok(nested) = input.try_parse(|input| {
        input.expect_parenthesis_block()?;
        input.parse_nested_block(feature)
    }) {
        skip(input);
        return Ok(nested);
    }
    if input.try_parse(|input| length(input, true)).is_ok() {
        // `(400px < width)`: so rare that it may be wrong.
        skip(input);
        return Ok(false);
    }
    let name = input.expect_ident()?.to_ascii_lowercase();
    let truth = match input.next() {
        Err(_) => matches!(
            &*name,
            "width" | "height" | "color" | "hover" | "pointer" | "min-width"
        ),
        Ok(Token::Colon) => plain(&name, input)?,
        Ok(Token::Delim(sign)) => {
            let sign = *sign;
            let or_equal = input.try_parse(|input| input.expect_delim('=')).is_ok();
            let than = length(input, true)?.px(16.0, 0.0).ok_or_else(fault)?;
            let is = side(&name)?;
            match sign {
                '<' => is < than || (or_equal && is <= than),
                '>' => is > than || (or_equal && is >= than),
                _ => (is - than).abs() < f32::EPSILON,
            }
        }
        Ok(_) => return Err(fault()),
    };
    skip(input);
    Ok(truth)
}

fn plain(name: &str, input: &mut Parser<'_>) -> Result<bool, Fault> {
    let pixels = |input: &mut Parser<'_>| -> Result<f32, Fault> {
        match length(input, true)? {
            Length::Auto | Length::Percent(_) => Err(fault()),
            length => length.px(16.0, 0.0).ok_or_else(fault),
        }
    };
    let bare = name.replace("device-", "");
    Ok(match &*bare {
        "min-width" => WIDTH >= pixels(input)?,
        "max-width" => WIDTH <= pixels(input)?,
        "min-height" => HEIGHT >= pixels(input)?,
        "max-height" => HEIGHT <= pixels(input)?,
        "width" | "height" => (side(&bare)? - pixels(input)?).abs() < f32::EPSILON,
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

fn side(name: &str) -> Result<f32, Fault> {
    match name {
        "width" => Ok(WIDTH),
        "height" => Ok(HEIGHT),
        _ => Err(fault()),
    }
}

#[cfg(test)]
mod tests {
    use super::attribute_matches as matches;

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
