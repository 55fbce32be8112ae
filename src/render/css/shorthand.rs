//! Parses shorthand and box properties: sides, borders, clipping, and fonts.

use cssparser::{Parser, Token};

use super::computed::{Color, Length, LineHeight, ROOT_FONT_SIZE};
use super::declaration::Declaration;
use super::values::{
    ValueError, parse_color, parse_keyword, parse_length, skip_keyword, skip_rest, value_error,
};
use crate::text::format::contains_listed;

/// Parts of the names of fonts in which all letters are equally wide.
const MONOSPACE_NAMES: &str = "mono courier consolas menlo monaco";

/// Parses a property of the four sides: margin, padding or border.
pub(super) fn parse_box_sides(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let length = |input: &mut Parser<'_>| parse_length(input, quirks);
    let (property, rest) = name.split_once('-').unwrap_or((name, ""));
    let (name, part) = match rest {
        "width" | "style" | "color" => ("", rest),
        _ => rest.split_once('-').unwrap_or((rest, "")),
    };
    let side = ["top", "right", "bottom", "left"]
        .iter()
        .position(|side| *side == name);
    if side.is_none() && !name.is_empty() {
        return Err(value_error());
    }
    let color = |input: &mut Parser<'_>| parse_color(input, quirks);
    match (property, part) {
        ("inset", "") => parse_sides(side, input, length, out, Declaration::Offset),
        ("margin", "") => parse_sides(side, input, length, out, Declaration::Margin),
        ("padding", "") => parse_sides(side, input, length, out, Declaration::Padding),
        ("border", "width") => parse_sides(
            side,
            input,
            parse_border_width,
            out,
            Declaration::BorderWidth,
        ),
        ("border", "style") => parse_sides(
            side,
            input,
            parse_border_style,
            out,
            Declaration::BorderVisible,
        ),
        ("border", "color") => parse_sides(side, input, color, out, Declaration::BorderColor),
        ("border", "") => match side {
            Some(side) => parse_border(input, &[side], out),
            None => parse_border(input, &[0, 1, 2, 3], out),
        },
        _ => Err(value_error()),
    }
}

/// Parses the value of one side, or one to four values for all sides, in CSS order.
fn parse_sides<T: Copy>(
    side: Option<usize>,
    input: &mut Parser<'_>,
    parse: impl Fn(&mut Parser<'_>) -> Result<T, ValueError>,
    out: &mut Vec<Declaration>,
    make: impl Fn(usize, T) -> Declaration,
) -> Result<(), ValueError> {
    let mut values = vec![parse(input)?];
    if let Some(side) = side {
        out.push(make(side, values[0]));
        return Ok(());
    }
    while values.len() < 4 && !input.is_exhausted() {
        values.push(parse(input)?);
    }
    let right = values.get(1).copied().unwrap_or(values[0]);
    let bottom = values.get(2).copied().unwrap_or(values[0]);
    let left = values.get(3).copied().unwrap_or(right);
    out.extend(
        [values[0], right, bottom, left]
            .into_iter()
            .enumerate()
            .map(|(side, value)| make(side, value)),
    );
    Ok(())
}

fn parse_border_width(input: &mut Parser<'_>) -> Result<f32, ValueError> {
    if let Ok(word) = input.try_parse(parse_keyword) {
        return match &*word {
            "thin" => Ok(1.0),
            "medium" => Ok(3.0),
            "thick" => Ok(5.0),
            _ => Err(value_error()),
        };
    }
    parse_length(input, true)?
        .to_px(16.0, 0.0)
        .ok_or_else(value_error)
}

fn parse_border_style(input: &mut Parser<'_>) -> Result<bool, ValueError> {
    match &*parse_keyword(input)? {
        "none" | "hidden" => Ok(false),
        "solid" | "dashed" | "dotted" | "double" | "groove" | "ridge" | "inset" | "outset" => {
            Ok(true)
        }
        _ => Err(value_error()),
    }
}

fn parse_border(
    input: &mut Parser<'_>,
    sides: &[usize],
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let (mut width, mut visible, mut colour) = (3.0, false, Color::Current);
    while !input.is_exhausted() {
        if let Ok(value) = input.try_parse(parse_border_width) {
            width = value;
        } else if let Ok(value) = input.try_parse(parse_border_style) {
            visible = value;
        } else if let Ok(value) = input.try_parse(|input| parse_color(input, true)) {
            colour = value;
        } else {
            input.next()?;
        }
    }
    for side in sides {
        out.push(Declaration::BorderWidth(*side, width));
        out.push(Declaration::BorderVisible(*side, visible));
        out.push(Declaration::BorderColor(*side, colour));
    }
    Ok(())
}

/// Parses `clip`; true for `rect(0, 0, 0, 0)` and the like, which hides.
pub(super) fn is_clip_empty(input: &mut Parser<'_>) -> bool {
    if input.expect_function_matching("rect").is_err() {
        return false;
    }
    let small = input.parse_nested_block(|inner| {
        let mut small = true;
        while !inner.is_exhausted() {
            if inner.try_parse(Parser::expect_comma).is_err() {
                small &= parse_length(inner, true)?
                    .to_px(16.0, 0.0)
                    .is_some_and(|px| px <= 1.0);
            }
        }
        Ok::<bool, ValueError>(small)
    });
    small.unwrap_or(false)
}

/// Parses `clip-path`; true for `inset(50%)` and more.
pub(super) fn is_inset_empty(input: &mut Parser<'_>) -> bool {
    if input.expect_function_matching("inset").is_err() {
        return false;
    }
    let inset = input.parse_nested_block(|inner| {
        let length = parse_length(inner, true);
        skip_rest(inner);
        length
    });
    matches!(inset, Ok(Length::Percent(share)) if share >= 0.5)
}

/// Parses `transform`: `scale(0)` and far moves hide, others lay over.
pub(super) fn parse_transform(
    input: &mut Parser<'_>,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    if skip_keyword(input, "none") {
        out.push(Declaration::ClippedOrShrunk(false));
        return Ok(());
    }
    let name = input.expect_function()?.to_ascii_lowercase();
    let first = input.parse_nested_block(|inner| {
        let first = parse_length(inner, true);
        skip_rest(inner);
        first
    });
    let moves = name.starts_with("translate") || name.starts_with("matrix");
    let hides = match first
        .ok()
        .and_then(|length| length.to_px(ROOT_FONT_SIZE, 0.0))
    {
        Some(factor) if name.starts_with("scale") => factor == 0.0,
        Some(px) if name.starts_with("translate") => px <= -800.0,
        _ => false,
    };
    out.push(Declaration::ClippedOrShrunk(hides));
    out.extend((moves && !hides).then_some(Declaration::Overlaid));
    Ok(())
}

pub(super) fn parse_font_size(
    input: &mut Parser<'_>,
    quirks: bool,
) -> Result<Declaration, ValueError> {
    let keyword = |word: &str| {
        Some(match word {
            "xx-small" => Length::Px(9.0),
            "x-small" => Length::Px(10.0),
            "small" => Length::Px(13.0),
            "medium" => Length::Px(16.0),
            "large" => Length::Px(18.0),
            "x-large" => Length::Px(24.0),
            "xx-large" => Length::Px(32.0),
            "smaller" => Length::Em(1.0 / 1.2),
            "larger" => Length::Em(1.2),
            _ => return None,
        })
    };
    if let Ok(word) = input.try_parse(parse_keyword) {
        return keyword(&word)
            .map(Declaration::FontSize)
            .ok_or_else(value_error);
    }
    match parse_length(input, quirks)? {
        // A function that is not computed, such as `clamp()`.
        Length::Auto => Ok(Declaration::FontSize(Length::Px(ROOT_FONT_SIZE))),
        Length::Px(px) if px < 0.0 => Err(value_error()),
        length => Ok(Declaration::FontSize(length)),
    }
}

pub(super) fn parse_font_weight(input: &mut Parser<'_>) -> Result<Declaration, ValueError> {
    match input.next()?.clone() {
        Token::Number { value, .. } if (1.0..=1000.0).contains(&value) => {
            #[expect(clippy::cast_sign_loss, reason = "the range was just checked")]
            let weight = value as u16;
            Ok(Declaration::FontWeight(weight))
        }
        Token::Ident(word) => match &*word.to_ascii_lowercase() {
            "normal" => Ok(Declaration::FontWeight(400)),
            "bold" => Ok(Declaration::FontWeight(700)),
            "bolder" => Ok(Declaration::RelativeFontWeight(true)),
            "lighter" => Ok(Declaration::RelativeFontWeight(false)),
            _ => Err(value_error()),
        },
        _ => Err(value_error()),
    }
}

/// Parses the first family, which decides.
pub(super) fn parse_font_family(input: &mut Parser<'_>) -> Declaration {
    let name = match input.next() {
        Ok(Token::Ident(name) | Token::QuotedString(name)) => name.to_ascii_lowercase(),
        _ => String::new(),
    };
    // `Wingdings 2` has other signs.
    let is_whole = !matches!(input.next(), Ok(Token::Number { .. }));
    Declaration::FontFamily {
        monospace: contains_listed(&name, MONOSPACE_NAMES),
        wingdings: name == "wingdings" && is_whole,
    }
}

pub(super) fn parse_font(
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let mut declarations = vec![
        Declaration::FontWeight(400),
        Declaration::Italic(false),
        Declaration::LineHeight(LineHeight::Normal),
    ];
    loop {
        if let Ok(size) = input.try_parse(|input| parse_font_size(input, quirks)) {
            declarations.push(size);
            break;
        }
        if let Ok(weight) = input.try_parse(parse_font_weight) {
            declarations.push(weight);
        } else if matches!(&*parse_keyword(input)?, "italic" | "oblique") {
            declarations.push(Declaration::Italic(true));
        }
    }
    if input.try_parse(|input| input.expect_delim('/')).is_ok() {
        declarations.push(parse_line_height(input, quirks)?);
    }
    declarations.push(parse_font_family(input));
    out.append(&mut declarations);
    Ok(())
}

pub(super) fn parse_line_height(
    input: &mut Parser<'_>,
    quirks: bool,
) -> Result<Declaration, ValueError> {
    if skip_keyword(input, "normal") {
        return Ok(Declaration::LineHeight(LineHeight::Normal));
    }
    if let Ok(factor) = input.try_parse(Parser::expect_number) {
        return Ok(Declaration::LineHeight(LineHeight::Factor(factor.max(0.0))));
    }
    match parse_length(input, quirks)? {
        Length::Auto => Err(value_error()),
        length => Ok(Declaration::LineHeightLength(length)),
    }
}
