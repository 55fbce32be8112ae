//! Parses CSS properties into a [`Declaration`] for each that is used.

use cssparser::{Parser, Token};

use super::computed::{
    BOTTOM, Color, Display, Float, LEFT, Length, ListStyle, RIGHT, TOP, TextTransform,
    VerticalAlign, WhiteSpace,
};
use super::declaration::{CssWide, Declaration};
use super::shorthand::{
    is_clip_empty, is_inset_empty, parse_box_sides, parse_font, parse_font_family, parse_font_size,
    parse_font_weight, parse_line_height, parse_transform,
};
use super::values::{
    ValueError, parse_color, parse_keyword, parse_length, skip_block, skip_keyword,
    text_align_from_keyword, value_error, vertical_align_from_keyword,
};
use super::variables::SubstitutionError;
use crate::text::format::is_listed;

/// Properties with one value: with more a browser ignores them.
/// Others may have values that the layout does not need.
const SINGLE_VALUES: &str = "display visibility opacity color background-color font-size position";

/// Parses the value of property `name` and adds its declarations to `out`.
pub(super) fn parse_property(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    if let Ok(keyword) = input.try_parse(parse_css_wide) {
        out.extend(keyword.declarations(name));
        return Ok(());
    }
    parse_value(name, input, quirks, out)?;
    if is_listed(name, SINGLE_VALUES) {
        input.expect_exhausted()?;
    }
    Ok(())
}

/// Parses a value that was `written` with `var()`.
pub(super) fn parse_substituted(
    name: &str,
    written: &str,
    value: &Result<String, SubstitutionError>,
    quirks: bool,
) -> Vec<Declaration> {
    let parse = |text: &str| {
        let mut out = Vec::new();
        let parsed = parse_property(name, &mut Parser::new(text), quirks, &mut out);
        parsed.map(|()| out)
    };
    let known = match value {
        Ok(text) => parse(text).map_err(|_| SubstitutionError::Invalid),
        Err(error) => Err(*error),
    };
    known.unwrap_or_else(|error| match (error, name) {
        (SubstitutionError::Invalid, _) => CssWide::Unset.declarations(name).collect(),
        (_, "color") => vec![Declaration::Color(Color::Unknown)],
        (_, "background" | "background-color") => {
            vec![Declaration::BackgroundColor(Color::Unknown)]
        }
        (_, "display") => vec![Declaration::Display(Display::Block)],
        (_, "visibility") => vec![Declaration::Visibility(true)],
        // Functions have a value in every other property.
        _ => parse(written).unwrap_or_default(),
    })
}

fn parse_value(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let declaration = match name {
        "display" => Declaration::Display(
            display_from_keyword(&parse_display_keyword(input)?).ok_or_else(value_error)?,
        ),
        "visibility" => Declaration::Visibility(match &*parse_keyword(input)? {
            "visible" => true,
            "hidden" | "collapse" => false,
            _ => return Err(value_error()),
        }),
        "opacity" => Declaration::Opacity(parse_number(input)?.clamp(0.0, 1.0)),
        "color" => Declaration::Color(parse_color(input, quirks)?),
        "-webkit-text-fill-color" => Declaration::TextFill(parse_color(input, false)?),
        "text-shadow" | "-webkit-text-stroke" | "-webkit-text-stroke-color" => {
            Declaration::TextOutline(parse_outline(input))
        }
        "background-clip" | "-webkit-background-clip" if parse_keyword(input)? == "text" => {
            Declaration::TextOutline(Color::Unknown)
        }
        "filter" => match input.next()?.clone() {
            Token::Function(name) if name.eq_ignore_ascii_case("opacity") => {
                Declaration::FilteredOut(input.parse_nested_block(parse_number)? < 0.05)
            }
            Token::Ident(word) if word.eq_ignore_ascii_case("none") => {
                Declaration::FilteredOut(false)
            }
            // Colours after a filter are not computed.
            _ => Declaration::TextOutline(Color::Unknown),
        },
        "mix-blend-mode" if parse_keyword(input)? != "normal" => {
            Declaration::TextOutline(Color::Unknown)
        }
        "box-shadow" if has_keyword(input, "inset") => Declaration::Overlaid,
        "grid-area" | "grid-row" | "grid-column" | "translate" => Declaration::Overlaid,
        "background-color" => Declaration::BackgroundColor(parse_color(input, quirks)?),
        "background-image" => Declaration::BackgroundImage(!skip_keyword(input, "none")),
        "background" => return parse_background(input, out),
        "font-size" => parse_font_size(input, quirks)?,
        "font-weight" => parse_font_weight(input)?,
        "font-style" => {
            Declaration::Italic(matches!(&*parse_keyword(input)?, "italic" | "oblique"))
        }
        "font-family" => parse_font_family(input),
        "font" => return parse_font(input, quirks, out),
        "line-height" => parse_line_height(input, quirks)?,
        "text-decoration" | "text-decoration-line" => parse_text_decoration(input),
        "text-transform" => Declaration::TextTransform(match &*parse_keyword(input)? {
            "uppercase" => TextTransform::Uppercase,
            "lowercase" => TextTransform::Lowercase,
            "capitalize" => TextTransform::Capitalize,
            _ => TextTransform::None,
        }),
        "text-align" => Declaration::TextAlign(
            text_align_from_keyword(&parse_keyword(input)?).ok_or_else(value_error)?,
        ),
        "unicode-bidi" => Declaration::BidiOverride(parse_keyword(input)?.ends_with("override")),
        "direction" => Declaration::Rtl(parse_keyword(input)? == "rtl"),
        "white-space" => {
            let keyword = parse_keyword(input)?;
            let white_space = match &*keyword {
                "normal" | "nowrap" => WhiteSpace::Normal,
                "pre" | "pre-wrap" | "break-spaces" => WhiteSpace::Pre,
                "pre-line" => WhiteSpace::PreLine,
                _ => return Err(value_error()),
            };
            out.push(Declaration::NoWrap(matches!(&*keyword, "nowrap" | "pre")));
            Declaration::WhiteSpace(white_space)
        }
        "list-style" | "list-style-type" => parse_list_style(input)?,
        "text-indent" => Declaration::TextIndent(parse_length(input, quirks)?),
        "width" => Declaration::Width(parse_length(input, quirks)?),
        "max-width" => Declaration::MaxWidth(parse_length(input, quirks)?),
        "height" => Declaration::Height(parse_length(input, quirks)?),
        "min-height" => Declaration::MinHeight(parse_length(input, quirks)?),
        "max-height" => Declaration::MaxHeight(parse_length(input, quirks)?),
        "overflow" | "overflow-x" | "overflow-y" => {
            Declaration::OverflowClipped(parse_keyword(input)? != "visible")
        }
        "position" => {
            let keyword = parse_keyword(input)?;
            Declaration::Position {
                absolute: matches!(&*keyword, "absolute" | "fixed"),
                relative: keyword == "relative",
            }
        }
        "top" => Declaration::Offset(TOP, parse_length(input, quirks)?),
        "right" => Declaration::Offset(RIGHT, parse_length(input, quirks)?),
        "bottom" => Declaration::Offset(BOTTOM, parse_length(input, quirks)?),
        "left" => Declaration::Offset(LEFT, parse_length(input, quirks)?),
        "clip" => Declaration::Clip(is_clip_empty(input)),
        "clip-path" => Declaration::ClippedOrShrunk(is_inset_empty(input)),
        "transform" => return parse_transform(input, out),
        "scale" => Declaration::ClippedOrShrunk(input.expect_number()? == 0.0),
        "content-visibility" => Declaration::ClippedOrShrunk(parse_keyword(input)? == "hidden"),
        "animation" | "animation-name" | "-webkit-animation" | "-webkit-animation-name" => {
            Declaration::Animated(!has_keyword(input, "none"))
        }
        "float" => Declaration::Float(match &*parse_keyword(input)? {
            "none" => Float::None,
            "right" | "inline-end" => Float::Right,
            _ => Float::Left,
        }),
        "clear" => Declaration::Clear(parse_keyword(input)? != "none"),
        "flex-direction" | "flex-flow" => {
            let direction = parse_keyword(input)?;
            out.push(Declaration::FlexColumn(direction.starts_with("column")));
            let is_reversed = matches!(&*direction, "row-reverse" | "column-reverse");
            Declaration::FlexReversed(is_reversed)
        }
        "justify-content" => Declaration::FlexSpread(parse_keyword(input)?.starts_with("space-")),
        "order" => Declaration::Order(input.expect_integer()?),
        "vertical-align" => Declaration::VerticalAlign(match input.try_parse(parse_keyword) {
            Ok(keyword) => vertical_align_from_keyword(&keyword),
            Err(_) => match parse_length(input, quirks)? {
                Length::Px(up) | Length::Em(up) | Length::Percent(up) if up > 0.0 => {
                    VerticalAlign::Top
                }
                _ => VerticalAlign::Baseline,
            },
        }),
        "border-spacing" => {
            Declaration::BorderSpacing(parse_length(input, quirks)?.to_px(16.0, 0.0).unwrap_or(0.0))
        }
        "border-collapse" => Declaration::BorderCollapse(parse_keyword(input)? == "collapse"),
        _ => return parse_box_sides(name, input, quirks, out),
    };
    out.push(declaration);
    Ok(())
}

fn parse_css_wide(input: &mut Parser<'_>) -> Result<CssWide, ValueError> {
    let keyword = match &*parse_keyword(input)? {
        "inherit" => CssWide::Inherit,
        "initial" => CssWide::Initial,
        "unset" => CssWide::Unset,
        "revert" | "revert-layer" => CssWide::Revert,
        _ => return Err(value_error()),
    };
    input.expect_exhausted()?;
    Ok(keyword)
}

/// Parses an opacity; 1 for functions, which are not computed.
fn parse_number(input: &mut Parser<'_>) -> Result<f32, ValueError> {
    match input.next()?.clone() {
        Token::Number { value, .. } => Ok(value),
        Token::Percentage { unit_value, .. } => Ok(unit_value),
        Token::Function(_) => skip_block(input).map(|()| 1.0),
        _ => Err(value_error()),
    }
}

fn parse_display_keyword(input: &mut Parser<'_>) -> Result<String, ValueError> {
    let first = parse_keyword(input)?;
    if first != "block" && first != "inline" {
        return Ok(first);
    }
    Ok(match input.try_parse(parse_keyword) {
        Ok(second) if second == "flow-root" && first == "inline" => "inline-block".to_owned(),
        Ok(second) => second,
        Err(_) => first,
    })
}

fn display_from_keyword(keyword: &str) -> Option<Display> {
    Some(match keyword {
        "none" | "table-column" | "table-column-group" => Display::None,
        "inline" | "ruby" => Display::Inline,
        "inline-block" | "inline-table" | "inline-flex" | "inline-grid" => Display::InlineBlock,
        "flex" => Display::Flex,
        "grid" => Display::Grid,
        "list-item" => Display::ListItem,
        "table" => Display::Table,
        "table-row-group" | "table-header-group" | "table-footer-group" => Display::RowGroup,
        "table-row" => Display::Row,
        "table-cell" => Display::Cell,
        "table-caption" => Display::Caption,
        "contents" => Display::Contents,
        "block" | "flow" | "flow-root" | "-webkit-box" | "-webkit-flex" => Display::Block,
        _ => return None,
    })
}

/// Returns the colour of a shadow or stroke, that of the text if none is written.
fn parse_outline(input: &mut Parser<'_>) -> Color {
    let mut outline = Color::Current;
    while !input.is_exhausted() {
        if let Ok(colour) = input.try_parse(|input| parse_color(input, false)) {
            outline = colour;
        } else if skip_keyword(input, "none") {
            return Color::TRANSPARENT;
        } else if input.next().is_err() {
            break;
        }
    }
    outline
}

fn has_keyword(input: &mut Parser<'_>, keyword: &str) -> bool {
    while let Ok(token) = input.next() {
        if matches!(token, Token::Ident(word) if word.eq_ignore_ascii_case(keyword)) {
            return true;
        }
    }
    false
}

fn parse_background(input: &mut Parser<'_>, out: &mut Vec<Declaration>) -> Result<(), ValueError> {
    let mut colour = Color::TRANSPARENT;
    let mut image = false;
    while !input.is_exhausted() {
        if let Ok(value) = input.try_parse(|input| parse_color(input, false)) {
            colour = value;
            continue;
        }
        match input.next()? {
            Token::Ident(word) => match &*word.to_ascii_lowercase() {
                "none" | "repeat" | "repeat-x" | "repeat-y" | "no-repeat" | "round" | "space"
                | "scroll" | "fixed" | "local" | "top" | "right" | "bottom" | "left" | "center"
                | "cover" | "contain" | "auto" | "border-box" | "padding-box" | "content-box"
                | "text" => {}
                // A browser ignores a declaration with others.
                _ => return Err(value_error()),
            },
            Token::UnquotedUrl(_) => image = true,
            Token::Function(_) => {
                image = true;
                skip_block(input)?;
            }
            _ => {}
        }
    }
    out.push(Declaration::BackgroundColor(colour));
    out.push(Declaration::BackgroundImage(image));
    Ok(())
}

fn parse_text_decoration(input: &mut Parser<'_>) -> Declaration {
    let (mut underline, mut line_through) = (false, false);
    while let Ok(token) = input.next() {
        if let Token::Ident(word) = token {
            underline |= word.eq_ignore_ascii_case("underline");
            line_through |= word.eq_ignore_ascii_case("line-through");
        }
    }
    Declaration::TextDecoration {
        underline,
        line_through,
    }
}

fn parse_list_style(input: &mut Parser<'_>) -> Result<Declaration, ValueError> {
    while let Ok(word) = input.try_parse(parse_keyword) {
        return Ok(Declaration::ListStyle(match &*word {
            "none" => ListStyle::None,
            "disc" | "circle" | "square" | "disclosure-open" | "disclosure-closed" => {
                ListStyle::Disc
            }
            "lower-roman" => ListStyle::LowerRoman,
            "upper-roman" => ListStyle::UpperRoman,
            "lower-alpha" | "lower-latin" => ListStyle::LowerAlpha,
            "upper-alpha" | "upper-latin" => ListStyle::UpperAlpha,
            "inside" | "outside" => continue,
            // Browsers count in decimal numbers where they do not know the name.
            _ => ListStyle::Decimal,
        }));
    }
    Err(value_error())
}
