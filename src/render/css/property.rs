//! Parses CSS properties into [`Declaration`]s, one for each property that the layout uses.

use cssparser::{Parser, Token};

use super::computed::{
    BOTTOM, CssWide, CssWideProperty, Declaration, Display, LEFT, ListStyle, RIGHT, TOP,
    TextTransform, WhiteSpace,
};
use super::shorthand::{
    is_clip_empty, is_inset_empty, is_transform_hiding, parse_box_sides, parse_font,
    parse_font_size, parse_font_weight, parse_is_monospace, parse_line_height,
};
use super::values::{
    ValueError, parse_color, parse_keyword, parse_length, skip_block, text_align_from_keyword,
    value_error, vertical_align_from_keyword,
};

/// Parses the value of property `name` and adds its declarations to `out`.
pub(super) fn parse_property(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    if let Ok(keyword) = input.try_parse(parse_css_wide) {
        out.extend(css_wide_property(name).map(|property| Declaration::CssWide(property, keyword)));
        return Ok(());
    }
    let declaration = match name {
        "display" => Declaration::Display(display_from_keyword(&parse_display_keyword(input)?)),
        "visibility" => {
            Declaration::Visibility(!matches!(&*parse_keyword(input)?, "hidden" | "collapse"))
        }
        "opacity" => Declaration::Opacity(parse_number(input)?.clamp(0.0, 1.0)),
        "color" => Declaration::Color(parse_color(input, quirks)?),
        "background-color" => Declaration::BackgroundColor(
            Some(parse_color(input, quirks)?).filter(|colour| colour.alpha > 0.0),
        ),
        "background-image" => Declaration::BackgroundImage(
            input
                .try_parse(|input| input.expect_ident_matching("none"))
                .is_err(),
        ),
        "background" => return parse_background(input, quirks, out),
        "font-size" => parse_font_size(input, quirks)?,
        "font-weight" => parse_font_weight(input)?,
        "font-style" => {
            Declaration::Italic(matches!(&*parse_keyword(input)?, "italic" | "oblique"))
        }
        "font-family" => Declaration::Monospace(parse_is_monospace(input)),
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
        "direction" => Declaration::Rtl(parse_keyword(input)? == "rtl"),
        "white-space" => Declaration::WhiteSpace(match &*parse_keyword(input)? {
            "normal" | "nowrap" => WhiteSpace::Normal,
            "pre" | "pre-wrap" | "break-spaces" => WhiteSpace::Pre,
            "pre-line" => WhiteSpace::PreLine,
            _ => return Err(value_error()),
        }),
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
        "transform" => Declaration::ClippedOrShrunk(is_transform_hiding(input)),
        "float" => Declaration::Float(parse_keyword(input)? != "none"),
        "flex-direction" | "flex-flow" => {
            Declaration::FlexColumn(parse_keyword(input)?.starts_with("column"))
        }
        "vertical-align" => {
            Declaration::VerticalAlign(vertical_align_from_keyword(&parse_keyword(input)?))
        }
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
        "inherit" | "unset" => CssWide::Inherit,
        "initial" | "revert" => CssWide::Initial,
        _ => return Err(value_error()),
    };
    input.expect_exhausted()?;
    Ok(keyword)
}

fn css_wide_property(name: &str) -> Option<CssWideProperty> {
    Some(match name {
        "color" => CssWideProperty::Color,
        "background" | "background-color" => CssWideProperty::Background,
        "font-size" => CssWideProperty::FontSize,
        "font-weight" => CssWideProperty::FontWeight,
        "font-style" => CssWideProperty::FontStyle,
        "line-height" => CssWideProperty::LineHeight,
        "text-align" => CssWideProperty::TextAlign,
        "text-decoration" => CssWideProperty::TextDecoration,
        "text-transform" => CssWideProperty::TextTransform,
        _ => return None,
    })
}

fn parse_number(input: &mut Parser<'_>) -> Result<f32, ValueError> {
    match input.next()? {
        Token::Number { value, .. } => Ok(*value),
        Token::Percentage { unit_value, .. } => Ok(*unit_value),
        _ => Err(value_error()),
    }
}

fn parse_display_keyword(input: &mut Parser<'_>) -> Result<String, ValueError> {
    let first = parse_keyword(input)?;
    Ok(match input.try_parse(parse_keyword) {
        Ok(second) if first == "block" || first == "inline" => {
            if second == "flow-root" && first == "inline" {
                "inline-block".to_owned()
            } else {
                second
            }
        }
        _ => first,
    })
}

fn display_from_keyword(keyword: &str) -> Display {
    match keyword {
        "none" | "table-column" | "table-column-group" => Display::None,
        "inline" | "ruby" => Display::Inline,
        "inline-block" | "inline-table" | "inline-flex" | "inline-grid" => Display::InlineBlock,
        "flex" => Display::Flex,
        "list-item" => Display::ListItem,
        "table" => Display::Table,
        "table-row-group" | "table-header-group" | "table-footer-group" => Display::RowGroup,
        "table-row" => Display::Row,
        "table-cell" => Display::Cell,
        "table-caption" => Display::Caption,
        "contents" => Display::Contents,
        _ => Display::Block,
    }
}

fn parse_background(
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    let mut colour = None;
    let mut image = false;
    while !input.is_exhausted() {
        if let Ok(value) = input.try_parse(|input| parse_color(input, quirks)) {
            colour = Some(value);
            continue;
        }
        match input.next()? {
            Token::UnquotedUrl(_) => image = true,
            Token::Function(_) => {
                image = true;
                skip_block(input)?;
            }
            _ => {}
        }
    }
    out.push(Declaration::BackgroundColor(
        colour.filter(|colour| colour.alpha > 0.0),
    ));
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
            "decimal" | "decimal-leading-zero" | "lower-roman" | "upper-roman" => {
                ListStyle::Decimal
            }
            "lower-alpha" | "upper-alpha" | "lower-latin" | "upper-latin" => ListStyle::Alpha,
            "inside" | "outside" => continue,
            _ => ListStyle::Disc,
        }));
    }
    Err(value_error())
}
