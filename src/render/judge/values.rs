//! Reads the values of CSS properties: lengths, colours, and words.

use cssparser::{CowRcStr, ParseError, Parser, Token, color};

use super::style::{Colour, Length};

/// A value that is not understood; the declaration is then left out, as in a browser.
pub(super) type Fault = ParseError<()>;

pub(super) fn fault() -> Fault {
    ParseError::custom(())
}

/// One word, in lower case.
pub(super) fn word(input: &mut Parser<'_>) -> Result<String, Fault> {
    Ok(input.expect_ident()?.to_ascii_lowercase())
}

/// A length. In `quirks` mode a bare number is one, too.
pub(super) fn length(input: &mut Parser<'_>, quirks: bool) -> Result<Length, Fault> {
    let token = input.next()?.clone();
    match token {
        Token::Dimension { value, unit, .. } => unit_length(value, &unit),
        Token::Percentage { unit_value, .. } => Ok(Length::Percent(unit_value)),
        Token::Number { value, .. } if value == 0.0 || quirks => Ok(Length::Px(value)),
        Token::Ident(word)
            if word.eq_ignore_ascii_case("auto") || word.eq_ignore_ascii_case("none") =>
        {
            Ok(Length::Auto)
        }
        Token::Ident(word)
            if ["fit-content", "max-content", "min-content"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known)) =>
        {
            Ok(Length::Auto)
        }
        Token::Function(_) => {
            input.parse_nested_block(|inner| {
                while inner.next().is_ok() {}
                Ok::<(), Fault>(())
            })?;
            Ok(Length::Auto)
        }
        _ => Err(fault()),
    }
}

fn unit_length(value: f32, unit: &CowRcStr<'_>) -> Result<Length, Fault> {
    // The screen is 800 by 1000 pixels, as wide as a mail program's pane.
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
        _ => return Err(fault()),
    };
    Ok(Length::Px(px))
}

/// A colour. In `quirks` mode the hash in front of hexadecimal digits may be missing.
pub(super) fn colour(input: &mut Parser<'_>, quirks: bool) -> Result<Colour, Fault> {
    let token = input.next()?.clone();
    match token {
        Token::Hash(digits) | Token::IDHash(digits) => hash(&digits),
        Token::Ident(word) if word.eq_ignore_ascii_case("transparent") => Ok(Colour {
            alpha: 0.0,
            ..Colour::BLACK
        }),
        Token::Ident(word) if word.eq_ignore_ascii_case("windowtext") => Ok(Colour::BLACK),
        Token::Ident(word) if word.eq_ignore_ascii_case("window") => Ok(Colour::WHITE),
        Token::Ident(word) => match color::parse_named_color(&word) {
            Ok((red, green, blue)) => Ok(Colour::opaque(red, green, blue)),
            Err(()) if quirks => hash(&word),
            Err(()) => Err(fault()),
        },
        Token::Function(name) => {
            let name = name.to_ascii_lowercase();
            input.parse_nested_block(|inner| function(&name, inner))
        }
        _ => Err(fault()),
    }
}

fn hash(digits: &str) -> Result<Colour, Fault> {
    let (red, green, blue, alpha) =
        color::parse_hash_color(digits.as_bytes()).map_err(|()| fault())?;
    Ok(Colour {
        red,
        green,
        blue,
        alpha,
    })
}

fn function(name: &str, input: &mut Parser<'_>) -> Result<Colour, Fault> {
    let mut parts = Vec::new();
    while let Ok(token) = input.next() {
        match token {
            Token::Number { value, .. } | Token::Dimension { value, .. } => {
                parts.push((*value, false));
            }
            Token::Percentage { unit_value, .. } => parts.push((*unit_value, true)),
            Token::Comma | Token::Delim('/') => {}
            _ => return Err(fault()),
        }
    }
    let alpha = parts.get(3).map_or(1.0, |(value, _)| value.clamp(0.0, 1.0));
    let [first, second, third, ..] = parts[..] else {
        return Err(fault());
    };
    match name {
        "rgb" | "rgba" => {
            let channel = |(value, percent): (f32, bool)| {
                color::clamp_floor_256_f32(if percent { value * 255.0 } else { value })
            };
            Ok(Colour {
                red: channel(first),
                green: channel(second),
                blue: channel(third),
                alpha,
            })
        }
        "hsl" | "hsla" => {
            let (red, green, blue) = from_hue(first.0, second.0, third.0);
            Ok(Colour {
                red,
                green,
                blue,
                alpha,
            })
        }
        _ => Err(fault()),
    }
}

fn from_hue(hue: f32, saturation: f32, lightness: f32) -> (u8, u8, u8) {
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

/// A length from an attribute such as `width="50%"` or `height=20`.
pub(super) fn attribute_length(text: &str) -> Option<Length> {
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

/// A colour from an attribute such as `bgcolor`, where anything goes.
pub(super) fn attribute_colour(text: &str) -> Option<Colour> {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("transparent") {
        return None;
    }
    let mut input = Parser::new(text);
    colour(&mut input, true).ok()
}
