//! Reads declarations into [`Declared`], one for each property that can change what a person sees.

use cssparser::{Parser, Token};

use super::box_properties::{is_clip_empty, is_inset_empty, is_transform_hiding, parse_box_sides};
use super::computed::{
    Display, Length, LineHeight, ListStyle, Rgba, TextAlign, TextTransform, VerticalAlign,
    WhiteSpace,
};
use super::font_properties::{
    parse_font, parse_font_size, parse_font_weight, parse_is_monospace, parse_line_height,
};
use super::values::{ValueError, parse_color, parse_keyword, parse_length, value_error};

/// A property with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Declaration {
    Display(Display),
    Visibility(bool),
    Opacity(f32),
    Color(Rgba),
    BackgroundColor(Option<Rgba>),
    BackgroundImage(bool),
    FontSize(Length),
    /// A step up or down from the parent's size.
    FontSizeFactor(f32),
    FontWeight(u16),
    /// One step bolder or lighter than the parent.
    RelativeFontWeight(bool),
    Italic(bool),
    Monospace(bool),
    LineHeight(LineHeight),
    LineHeightLength(Length),
    TextDecoration {
        underline: bool,
        line_through: bool,
    },
    TextTransform(TextTransform),
    TextAlign(TextAlign),
    Rtl(bool),
    WhiteSpace(WhiteSpace),
    ListStyle(ListStyle),
    TextIndent(Length),
    Margin(usize, Length),
    Padding(usize, Length),
    BorderWidth(usize, f32),
    BorderVisible(usize, bool),
    Width(Length),
    MaxWidth(Length),
    Height(Length),
    MinHeight(Length),
    MaxHeight(Length),
    OverflowClipped(bool),
    Position {
        absolute: bool,
        relative: bool,
    },
    Offset(usize, Length),
    /// Cut to nothing, which works on what is placed absolutely.
    Clip(bool),
    ClippedOrShrunk(bool),
    Float(bool),
    VerticalAlign(VerticalAlign),
    BorderSpacing(f32),
    BorderCollapse(bool),
    /// `inherit` or `initial` for a property that this is worth the trouble.
    CssWide(CssWideProperty, CssWide),
}

impl Declaration {
    /// What it declares, whatever the value: of several with the same key only the last one holds.
    fn key(&self) -> (std::mem::Discriminant<Self>, usize) {
        let part = match self {
            Self::Margin(side, _)
            | Self::Padding(side, _)
            | Self::BorderWidth(side, _)
            | Self::BorderVisible(side, _)
            | Self::Offset(side, _) => *side,
            Self::CssWide(property, _) => *property as usize,
            _ => 0,
        };
        (std::mem::discriminant(self), part)
    }

    /// Whether it sets the size that other lengths refer to.
    pub(super) const fn is_font_size(&self) -> bool {
        matches!(
            self,
            Self::FontSize(_)
                | Self::FontSizeFactor(_)
                | Self::CssWide(CssWideProperty::FontSize, _)
        )
    }
}

/// Leaves out what is declared again further down.
pub(super) fn remove_overridden(declared: &mut Vec<Declaration>) {
    let mut seen = std::collections::HashSet::new();
    declared.reverse();
    declared.retain(|one| seen.insert(one.key()));
    declared.reverse();
}

/// A property whose value can be taken from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CssWideProperty {
    Color,
    Background,
    FontSize,
    FontWeight,
    FontStyle,
    LineHeight,
    TextAlign,
    TextDecoration,
    TextTransform,
}

/// Where such a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CssWide {
    Inherit,
    Initial,
}

/// Reads the value of property `name` and adds what it declares to `out`.
pub(super) fn parse_property(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declaration>,
) -> Result<(), ValueError> {
    if let Ok(origin) = input.try_parse(parse_css_wide) {
        out.extend(css_wide_property(name).map(|property| Declaration::CssWide(property, origin)));
        return Ok(());
    }
    let one = match name {
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
            "normal" => WhiteSpace::Normal,
            "nowrap" => WhiteSpace::NoWrap,
            "pre" => WhiteSpace::Pre,
            "pre-wrap" | "break-spaces" => WhiteSpace::PreWrap,
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
            let word = parse_keyword(input)?;
            Declaration::Position {
                absolute: matches!(&*word, "absolute" | "fixed"),
                relative: word == "relative",
            }
        }
        "top" => Declaration::Offset(0, parse_length(input, quirks)?),
        "right" => Declaration::Offset(1, parse_length(input, quirks)?),
        "bottom" => Declaration::Offset(2, parse_length(input, quirks)?),
        "left" => Declaration::Offset(3, parse_length(input, quirks)?),
        "clip" => Declaration::Clip(is_clip_empty(input)),
        "clip-path" => Declaration::ClippedOrShrunk(is_inset_empty(input)),
        "transform" => Declaration::ClippedOrShrunk(is_transform_hiding(input)),
        "float" => Declaration::Float(parse_keyword(input)? != "none"),
        "vertical-align" => {
            Declaration::VerticalAlign(vertical_align_from_keyword(&parse_keyword(input)?))
        }
        "border-spacing" => {
            Declaration::BorderSpacing(parse_length(input, quirks)?.to_px(16.0, 0.0).unwrap_or(0.0))
        }
        "border-collapse" => Declaration::BorderCollapse(parse_keyword(input)? == "collapse"),
        _ => return parse_box_sides(name, input, quirks, out),
    };
    out.push(one);
    Ok(())
}

fn parse_css_wide(input: &mut Parser<'_>) -> Result<CssWide, ValueError> {
    let origin = match &*parse_keyword(input)? {
        "inherit" | "unset" => CssWide::Inherit,
        "initial" | "revert" => CssWide::Initial,
        _ => return Err(value_error()),
    };
    input.expect_exhausted()?;
    Ok(origin)
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

fn display_from_keyword(word: &str) -> Display {
    match word {
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
    let mut found = None;
    let mut picture = false;
    while !input.is_exhausted() {
        if let Ok(colour) = input.try_parse(|input| parse_color(input, quirks)) {
            found = Some(colour);
            continue;
        }
        match input.next()? {
            Token::UnquotedUrl(_) => picture = true,
            Token::Function(_) => {
                picture = true;
                input.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<(), ValueError>(())
                })?;
            }
            _ => {}
        }
    }
    out.push(Declaration::BackgroundColor(
        found.filter(|colour| colour.alpha > 0.0),
    ));
    out.push(Declaration::BackgroundImage(picture));
    Ok(())
}

fn parse_text_decoration(input: &mut Parser<'_>) -> Declaration {
    let (mut underline, mut strike) = (false, false);
    while let Ok(token) = input.next() {
        if let Token::Ident(word) = token {
            underline |= word.eq_ignore_ascii_case("underline");
            strike |= word.eq_ignore_ascii_case("line-through");
        }
    }
    Declaration::TextDecoration {
        underline,
        line_through: strike,
    }
}

pub(super) fn text_align_from_keyword(word: &str) -> Option<TextAlign> {
    Some(match word {
        "left" | "start" | "justify" => TextAlign::Start,
        "center" | "middle" | "-webkit-center" => TextAlign::Center,
        "right" | "end" | "-webkit-right" => TextAlign::End,
        _ => return None,
    })
}

pub(super) fn vertical_align_from_keyword(word: &str) -> VerticalAlign {
    match word {
        "middle" => VerticalAlign::Middle,
        "bottom" => VerticalAlign::Bottom,
        _ => VerticalAlign::Top,
    }
}

fn parse_list_style(input: &mut Parser<'_>) -> Result<Declaration, ValueError> {
    while let Ok(word) = input.try_parse(parse_keyword) {
        return Ok(Declaration::ListStyle(match &*word {
            "none" => ListStyle::None,
            "decimal" | "decimal-leading-zero" => ListStyle::Decimal,
            "lower-alpha" | "upper-alpha" | "lower-latin" | "upper-latin" => ListStyle::Alpha,
            "lower-roman" | "upper-roman" => ListStyle::Roman,
            "inside" | "outside" => continue,
            _ => ListStyle::Disc,
        }));
    }
    Err(value_error())
}
