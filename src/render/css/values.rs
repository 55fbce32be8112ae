//! Parses CSS values: lengths, colours and keywords.

use cssparser::{CowRcStr, ParseError, Parser, Token, color};
use selectors::parser::SelectorParseErrorKind;

use super::computed::{Color, Length, Rgba, TextAlign, VerticalAlign};

/// An unsupported value or selector, which is ignored as in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsupported;

impl From<SelectorParseErrorKind> for Unsupported {
    fn from(_: SelectorParseErrorKind) -> Self {
        Self
    }
}

pub(super) type ValueError = ParseError<Unsupported>;

pub(super) fn value_error() -> ValueError {
    ParseError::custom(Unsupported)
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

/// Reads this keyword, if it is next.
pub(super) fn skip_keyword(input: &mut Parser<'_>, keyword: &str) -> bool {
    let is_next = |input: &mut Parser<'_>| input.expect_ident_matching(keyword);
    input.try_parse(is_next).is_ok()
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
pub(super) fn parse_color(input: &mut Parser<'_>, quirks: bool) -> Result<Color, ValueError> {
    let start = input.position();
    let token = input.next()?.clone();
    match token {
        Token::Hash(digits) | Token::IDHash(digits) => parse_hex_color(&digits),
        Token::Ident(word) => match &*word.to_ascii_lowercase() {
            "transparent" => Ok(Color::TRANSPARENT),
            "currentcolor" => Ok(Color::Current),
            "canvastext" | "fieldtext" | "windowtext" => Ok(Color::Known(Rgba::BLACK)),
            "canvas" | "field" | "window" => Ok(Color::Known(Rgba::WHITE)),
            // Other colours of the browser or the system.
            "accentcolor" | "accentcolortext" | "activetext" | "buttonborder" | "buttonface"
            | "buttontext" | "graytext" | "highlight" | "highlighttext" | "linktext" | "mark"
            | "marktext" | "selecteditem" | "selecteditemtext" | "visitedtext" | "-webkit-link" => {
                Ok(Color::Unknown)
            }
            word => match color::parse_named_color(word) {
                Ok((red, green, blue)) => Ok(Color::Known(Rgba::opaque(red, green, blue))),
                Err(()) if quirks => parse_hashless_color(word),
                Err(()) => Err(value_error()),
            },
        },
        // `000` is a number and `44CC44` a number with a unit.
        Token::Number { .. } | Token::Dimension { .. } if quirks => {
            let written = input.slice_from(start).trim();
            parse_hashless_color(&format!("{written:0>6}"))
        }
        Token::Function(name) => match &*name.to_ascii_lowercase() {
            "light-dark" => input.parse_nested_block(|inner| {
                let light = parse_color(inner, false)?;
                skip_rest(inner);
                Ok(light)
            }),
            "rgb" | "rgba" | "hsl" | "hsla" | "hwb" | "lab" | "lch" | "oklab" | "oklch"
            | "color" | "color-mix" | "contrast-color" | "device-cmyk" => {
                skip_block(input)?;
                Ok(color_from_function(input.slice_from(start)))
            }
            // Such as `url()`, which is an image.
            _ => Err(value_error()),
        },
        _ => Err(value_error()),
    }
}

fn parse_hashless_color(digits: &str) -> Result<Color, ValueError> {
    match digits.len() {
        3 | 6 => parse_hex_color(digits),
        _ => Err(value_error()),
    }
}

fn parse_hex_color(digits: &str) -> Result<Color, ValueError> {
    let (red, green, blue, alpha) =
        color::parse_hash_color(digits.as_bytes()).map_err(|()| value_error())?;
    Ok(Color::Known(Rgba {
        red,
        green,
        blue,
        alpha,
    }))
}

/// Computes a colour function; relative colours and calculations are unknown.
fn color_from_function(text: &str) -> Color {
    let Ok(colour) = ::color::parse_color(text) else {
        return Color::Unknown;
    };
    let srgb = colour.to_alpha_color::<::color::Srgb>();
    let ::color::Rgba8 { r, g, b, .. } = srgb.to_rgba8();
    Color::Known(Rgba {
        red: r,
        green: g,
        blue: b,
        alpha: srgb.components[3].clamp(0.0, 1.0),
    })
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

/// Parses a colour from an attribute such as `bgcolor`,
/// by the html standard's rules for legacy colours: nearly every text is a colour.
pub(super) fn parse_legacy_color(text: &str) -> Option<Rgba> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    if text.is_empty() || text.eq_ignore_ascii_case("transparent") {
        return None;
    }
    if let Ok((red, green, blue)) = color::parse_named_color(text) {
        return Some(Rgba::opaque(red, green, blue));
    }
    let short = text.strip_prefix('#').filter(|digits| digits.len() == 3);
    if let Some(Ok((red, green, blue, _))) =
        short.map(|digits| color::parse_hash_color(digits.as_bytes()))
    {
        return Some(Rgba::opaque(red, green, blue));
    }
    let units = text
        .chars()
        .flat_map(|c| std::iter::repeat_n(c, c.len_utf16()));
    let mut digits: Vec<u8> = units
        .take(128)
        .enumerate()
        .filter(|unit| *unit != (0, '#'))
        .map(|(_, c)| {
            c.to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
                .unwrap_or(0)
        })
        .collect();
    digits.resize(digits.len().max(1).next_multiple_of(3), 0);
    let length = digits.len() / 3;
    // Each channel counts by its last eight digits, without the zeros with which all three start.
    let mut from = length.saturating_sub(8);
    while length - from > 2 && digits.chunks(length).all(|channel| channel[from] == 0) {
        from += 1;
    }
    let to = length.min(from + 2);
    let channel = |at: usize| {
        let pair = &digits[at * length + from..at * length + to];
        pair.iter().fold(0, |value, digit| value * 16 + digit)
    };
    Some(Rgba::opaque(channel(0), channel(1), channel(2)))
}

pub(super) fn text_align_from_keyword(keyword: &str) -> Option<TextAlign> {
    match keyword {
        "left" | "start" | "justify" => Some(TextAlign::Start),
        "center" | "middle" | "-webkit-center" => Some(TextAlign::Center),
        "right" | "end" | "-webkit-right" => Some(TextAlign::End),
        _ => None,
    }
}

pub(super) fn vertical_align_from_keyword(keyword: &str) -> VerticalAlign {
    match keyword {
        "sub" => VerticalAlign::Sub,
        "super" => VerticalAlign::Super,
        "top" | "text-top" => VerticalAlign::Top,
        "middle" => VerticalAlign::Middle,
        "bottom" => VerticalAlign::Bottom,
        _ => VerticalAlign::Baseline,
    }
}
