//! Parses CSS values: lengths, colours and keywords.

use cssparser::{CowRcStr, ParseError, Parser, Token, color};

use super::computed::{Length, Rgba, TextAlign, VerticalAlign};

/// An unsupported value; its declaration is ignored, as in a browser.
pub(super) type ValueError = ParseError<()>;

pub(super) fn value_error() -> ValueError {
    ParseError::custom(())
}

/// Skips all tokens that are left.
pub(super) fn skip_rest(input: &mut Parser<'_>) {
    while input.next().is_ok() {}
}

/// Skips the arguments of a function.
pub(super) fn skip_block(input: &mut Parser<'_>) -> Result<(), ValueError> {
    input.parse_nested_block(|inner| {
        skip_rest(inner);
        Ok(())
    })
}

/// Parses a keyword; returns it in lower case.
pub(super) fn parse_keyword(input: &mut Parser<'_>) -> Result<String, ValueError> {
    Ok(input.expect_ident()?.to_ascii_lowercase())
}

/// Parses a length; in quirks mode also a number without a unit.
pub(super) fn parse_length(input: &mut Parser<'_>, quirks: bool) -> Result<Length, ValueError> {
    let token = input.next()?.clone();
    match token {
        Token::Dimension { value, unit, .. } => length_from_unit(value, &unit),
        Token::Percentage { unit_value, .. } => Ok(Length::Percent(unit_value)),
        Token::Number { value, .. } if value == 0.0 || quirks => Ok(Length::Px(value)),
        Token::Ident(word) => match &*word.to_ascii_lowercase() {
            "auto" | "none" | "fit-content" | "max-content" | "min-content" => Ok(Length::Auto),
            _ => Err(value_error()),
        },
        Token::Function(_) => skip_block(input).map(|()| Length::Auto),
        _ => Err(value_error()),
    }
}

fn length_from_unit(value: f32, unit: &CowRcStr<'_>) -> Result<Length, ValueError> {
    // The viewport is 800 by 1000 pixels, as wide as a mail program's pane.
    let px = match &*unit.to_ascii_lowercase() {
        "px" => value,
        "em" => return Ok(Length::Em(value)),
        "rem" => return Ok(Length::Rem(value)),
        "ex" | "ch" => return Ok(Length::Em(value / 2.0)),
        "pt" => value * 96.0 / 72.0,
        "pc" => value * 16.0,
        "in" => value * 96.0,
        "cm" => value * 96.0 / 2.54,
        "mm" => value * 96.0 / 25.4,
        "vw" | "vmin" => value * 8.0,
        "vh" | "vmax" => value * 10.0,
        _ => return Err(value_error()),
    };
    Ok(Length::Px(px))
}

/// Parses a colour; in quirks mode the `#` of a hexadecimal colour may be missing.
pub(super) fn parse_color(input: &mut Parser<'_>, quirks: bool) -> Result<Rgba, ValueError> {
    let token = input.next()?.clone();
    match token {
        Token::Hash(digits) | Token::IDHash(digits) => parse_hex_color(&digits),
        Token::Ident(word) if word.eq_ignore_ascii_case("transparent") => Ok(Rgba {
            alpha: 0.0,
            ..Rgba::BLACK
        }),
        Token::Ident(word) if word.eq_ignore_ascii_case("windowtext") => Ok(Rgba::BLACK),
        Token::Ident(word) if word.eq_ignore_ascii_case("window") => Ok(Rgba::WHITE),
        Token::Ident(word) => match color::parse_named_color(&word) {
            Ok((red, green, blue)) => Ok(Rgba::opaque(red, green, blue)),
            Err(()) if quirks => parse_hex_color(&word),
            Err(()) => Err(value_error()),
        },
        Token::Function(name) => {
            let name = name.to_ascii_lowercase();
            input.parse_nested_block(|inner| parse_color_function(&name, inner))
        }
        _ => Err(value_error()),
    }
}

fn parse_hex_color(digits: &str) -> Result<Rgba, ValueError> {
    let (red, green, blue, alpha) =
        color::parse_hash_color(digits.as_bytes()).map_err(|()| value_error())?;
    Ok(Rgba {
        red,
        green,
        blue,
        alpha,
    })
}

fn parse_color_function(name: &str, input: &mut Parser<'_>) -> Result<Rgba, ValueError> {
    let mut parts = Vec::new();
    while let Ok(token) = input.next() {
        match token {
            Token::Number { value, .. } | Token::Dimension { value, .. } => {
                parts.push((*value, false));
            }
            Token::Percentage { unit_value, .. } => parts.push((*unit_value, true)),
            Token::Comma | Token::Delim('/') => {}
            _ => return Err(value_error()),
        }
    }
    let alpha = parts.get(3).map_or(1.0, |(value, _)| value.clamp(0.0, 1.0));
    let [first, second, third, ..] = parts[..] else {
        return Err(value_error());
    };
    let channel = |(value, is_percentage): (f32, bool)| {
        color::clamp_floor_256_f32(if is_percentage { value * 255.0 } else { value })
    };
    let (red, green, blue) = match name {
        "rgb" | "rgba" => (channel(first), channel(second), channel(third)),
        "hsl" | "hsla" => hsl_to_rgb(first.0, second.0, third.0),
        _ => return Err(value_error()),
    };
    Ok(Rgba {
        red,
        green,
        blue,
        alpha,
    })
}

fn hsl_to_rgb(hue: f32, saturation: f32, lightness: f32) -> (u8, u8, u8) {
    let chroma = saturation.clamp(0.0, 1.0)
        * lightness
            .clamp(0.0, 1.0)
            .min(1.0 - lightness.clamp(0.0, 1.0));
    let channel = |offset: f32| {
        let k = (offset + hue / 30.0).rem_euclid(12.0);
        color::clamp_unit_f32(lightness - chroma * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0))
    };
    (channel(0.0), channel(8.0), channel(4.0))
}

/// Parses a length from an attribute such as `width="50%"` or `height=20`.
pub(super) fn parse_length_attribute(text: &str) -> Option<Length> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let value: f32 = text[..digits].parse().ok()?;
    Some(if text[digits..].starts_with('%') {
        Length::Percent(value / 100.0)
    } else {
        Length::Px(value)
    })
}

/// Parses a colour from an attribute such as `bgcolor`, by the rules of quirks mode.
pub(super) fn parse_color_attribute(text: &str) -> Option<Rgba> {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("transparent") {
        return None;
    }
    let mut input = Parser::new(text);
    parse_color(&mut input, true).ok()
}

pub(super) fn text_align_from_keyword(keyword: &str) -> Option<TextAlign> {
    Some(match keyword {
        "left" | "start" | "justify" => TextAlign::Start,
        "center" | "middle" | "-webkit-center" => TextAlign::Center,
        "right" | "end" | "-webkit-right" => TextAlign::End,
        _ => return None,
    })
}

pub(super) fn vertical_align_from_keyword(keyword: &str) -> VerticalAlign {
    match keyword {
        "middle" => VerticalAlign::Middle,
        "bottom" => VerticalAlign::Bottom,
        _ => VerticalAlign::Top,
    }
}
