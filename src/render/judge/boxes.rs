//! Reads the properties of boxes: their sides, borders, and the ways to make them vanish.

use cssparser::Parser;

use super::declare::Declared;
use super::style::{Length, ROOT_FONT};
use super::values::{Fault, colour, fault, length, word};

/// The properties that come as four sides.
pub(super) fn sides(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declared>,
) -> Result<(), Fault> {
    let side = |word: &str| {
        ["top", "right", "bottom", "left"]
            .iter()
            .position(|side| *side == word)
    };
    match name.split_once('-').unwrap_or((name, "")) {
        ("margin", "") => four(input, |input| length(input, quirks), out, Declared::Margin),
        ("padding", "") => four(input, |input| length(input, quirks), out, Declared::Padding),
        ("margin", word) => {
            out.push(Declared::Margin(
                side(word).ok_or_else(fault)?,
                length(input, quirks)?,
            ));
            Ok(())
        }
        ("padding", word) => {
            out.push(Declared::Padding(
                side(word).ok_or_else(fault)?,
                length(input, quirks)?,
            ));
            Ok(())
        }
        ("border", "width") => four(input, border_width, out, Declared::BorderWidth),
        ("border", "style") => four(input, border_style, out, Declared::BorderOn),
        ("border", "") => border(input, &[0, 1, 2, 3], out),
        ("border", rest) => match rest.split_once('-') {
            Some((word, "width")) => {
                out.push(Declared::BorderWidth(
                    side(word).ok_or_else(fault)?,
                    border_width(input)?,
                ));
                Ok(())
            }
            Some((word, "style")) => {
                out.push(Declared::BorderOn(
                    side(word).ok_or_else(fault)?,
                    border_style(input)?,
                ));
                Ok(())
            }
            Some(_) => Err(fault()),
            None => border(input, &[side(rest).ok_or_else(fault)?], out),
        },
        _ => Err(fault()),
    }
}

/// One to four values for the sides, in the order of CSS.
fn four<T: Copy>(
    input: &mut Parser<'_>,
    mut read: impl FnMut(&mut Parser<'_>) -> Result<T, Fault>,
    out: &mut Vec<Declared>,
    make: impl Fn(usize, T) -> Declared,
) -> Result<(), Fault> {
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

fn border_width(input: &mut Parser<'_>) -> Result<f32, Fault> {
    if let Ok(word) = input.try_parse(word) {
        return match &*word {
            "thin" => Ok(1.0),
            "medium" => Ok(3.0),
            "thick" => Ok(5.0),
            _ => Err(fault()),
        };
    }
    length(input, true)?.px(16.0, 0.0).ok_or_else(fault)
}

fn border_style(input: &mut Parser<'_>) -> Result<bool, Fault> {
    match &*word(input)? {
        "none" | "hidden" => Ok(false),
        "solid" | "dashed" | "dotted" | "double" | "groove" | "ridge" | "inset" | "outset" => {
            Ok(true)
        }
        _ => Err(fault()),
    }
}

fn border(input: &mut Parser<'_>, sides: &[usize], out: &mut Vec<Declared>) -> Result<(), Fault> {
    let (mut width, mut on) = (3.0, false);
    while !input.is_exhausted() {
        if let Ok(found) = input.try_parse(border_width) {
            width = found;
        } else if let Ok(found) = input.try_parse(border_style) {
            on = found;
        } else if input.try_parse(|input| colour(input, true)).is_err() {
            input.next()?;
        }
    }
    for side in sides {
        out.push(Declared::BorderWidth(*side, width));
        out.push(Declared::BorderOn(*side, on));
    }
    Ok(())
}

/// `rect(0, 0, 0, 0)` and the like, with which text is kept for screen readers only.
pub(super) fn is_clipped_away(input: &mut Parser<'_>) -> bool {
    let Ok(true) =
        input.try_parse(|input| Ok::<bool, Fault>(input.expect_function_matching("rect").is_ok()))
    else {
        return false;
    };
    let small = input.parse_nested_block(|inner| {
        let mut small = true;
        while !inner.is_exhausted() {
            if inner.try_parse(Parser::expect_comma).is_err() {
                small &= length(inner, true)?
                    .px(16.0, 0.0)
                    .is_some_and(|px| px <= 1.0);
            }
        }
        Ok::<bool, Fault>(small)
    });
    small.unwrap_or(false)
}

pub(super) fn is_inset_away(input: &mut Parser<'_>) -> bool {
    if input.expect_function_matching("inset").is_err() {
        return false;
    }
    let inset = input.parse_nested_block(|inner| {
        let length = length(inner, true);
        while inner.next().is_ok() {}
        length
    });
    matches!(inset, Ok(Length::Percent(share)) if share >= 0.5)
}

/// `scale(0)`, or a move to where nobody looks.
pub(super) fn is_moved_away(input: &mut Parser<'_>) -> bool {
    let Ok(name) = input
        .expect_function()
        .map(|name| name.to_ascii_lowercase())
    else {
        return false;
    };
    let first = input.parse_nested_block(|inner| {
        let first = length(inner, true);
        while inner.next().is_ok() {}
        first
    });
    match first.ok().and_then(|length| length.px(ROOT_FONT, 0.0)) {
        Some(factor) if name.starts_with("scale") => factor == 0.0,
        Some(px) if name.starts_with("translate") => px < -1_000.0,
        _ => false,
    }
}
