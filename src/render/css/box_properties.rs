//! Reads the properties of boxes: their sides, borders, and the ways to make them vanish.

use cssparser::Parser;

use super::computed::{Length, ROOT_FONT_SIZE};
use super::property::Declaration;
use super::values::{ValueError, parse_color, parse_keyword, parse_length, value_error};

/// The properties that come as four sides.
pub(super) fn parse_box_sides(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let side = |word: &str| {
        ["top", "right", "bottom", "left"]
            .iter()
            .position(|side| *side == word)
    };
    match name.split_once('-').unwrap_or((name, "")) {
        ("margin", "") => parse_four_sides(
            input,
            |input| parse_length(input, quirks),
            out,
            Declaration::Margin,
        ),
        ("padding", "") => parse_four_sides(
            input,
            |input| parse_length(input, quirks),
            out,
            Declaration::Padding,
        ),
        ("margin", word) => {
            out.push(Declaration::Margin(
                side(word).ok_or_else(value_error)?,
                parse_length(input, quirks)?,
            ));
            Ok(())
        }
        ("padding", word) => {
            out.push(Declaration::Padding(
                side(word).ok_or_else(value_error)?,
                parse_length(input, quirks)?,
            ));
            Ok(())
        }
        ("border", "width") => {
            parse_four_sides(input, parse_border_width, out, Declaration::BorderWidth)
        }
        ("border", "style") => {
            parse_four_sides(input, parse_border_style, out, Declaration::BorderVisible)
        }
        ("border", "") => parse_border(input, &[0, 1, 2, 3], out),
        ("border", rest) => match rest.split_once('-') {
            Some((word, "width")) => {
                out.push(Declaration::BorderWidth(
                    side(word).ok_or_else(value_error)?,
                    parse_border_width(input)?,
                ));
                Ok(())
            }
            Some((word, "style")) => {
                out.push(Declaration::BorderVisible(
                    side(word).ok_or_else(value_error)?,
                    parse_border_style(input)?,
                ));
                Ok(())
            }
            Some(_) => Err(value_error()),
            None => parse_border(input, &[side(rest).ok_or_else(value_error)?], out),
        },
        _ => Err(value_error()),
    }
}

/// One to four values for the sides, in the order of CSS.
fn parse_four_sides<T: Copy>(
    input: &mut Parser<'_>,
    mut read: impl FnMut(&mut Parser<'_>) -> Result<T, ValueError>,
    out: &mut Vec<Declaration>,
    make: impl Fn(usize, T) -> Declaration,
) -> Result<(), ValueError> {
    let mut values = vec![read(input)?];
    while values.len() < 4 && !input.is_exhausted() {
        values.push(read(input)?);
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
    let (mut width, mut on) = (3.0, false);
    while !input.is_exhausted() {
        if let Ok(found) = input.try_parse(parse_border_width) {
            width = found;
        } else if let Ok(found) = input.try_parse(parse_border_style) {
            on = found;
        } else if input.try_parse(|input| parse_color(input, true)).is_err() {
            input.next()?;
        }
    }
    for side in sides {
        out.push(Declaration::BorderWidth(*side, width));
        out.push(Declaration::BorderVisible(*side, on));
    }
    Ok(())
}

/// `rect(0, 0, 0, 0)` and the like, with which text is kept for screen readers only.
pub(super) fn is_clip_empty(input: &mut Parser<'_>) -> bool {
    let Ok(true) = input
        .try_parse(|input| Ok::<bool, ValueError>(input.expect_function_matching("rect").is_ok()))
    else {
        return false;
    };
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

pub(super) fn is_inset_empty(input: &mut Parser<'_>) -> bool {
    if input.expect_function_matching("inset").is_err() {
        return false;
    }
    let inset = input.parse_nested_block(|inner| {
        let length = parse_length(inner, true);
        while inner.next().is_ok() {}
        length
    });
    matches!(inset, Ok(Length::Percent(share)) if share >= 0.5)
}

/// `scale(0)`, or a move to where nobody looks.
pub(super) fn is_transform_hiding(input: &mut Parser<'_>) -> bool {
    let Ok(name) = input
        .expect_function()
        .map(|name| name.to_ascii_lowercase())
    else {
        return false;
    };
    let first = input.parse_nested_block(|inner| {
        let first = parse_length(inner, true);
        while inner.next().is_ok() {}
        first
    });
    match first
        .ok()
        .and_then(|length| length.to_px(ROOT_FONT_SIZE, 0.0))
    {
        Some(factor) if name.starts_with("scale") => factor == 0.0,
        Some(px) if name.starts_with("translate") => px < -1_000.0,
        _ => false,
    }
}
