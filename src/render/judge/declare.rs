//! Reads declarations into [`Declared`], one for each property that can change what a person sees.

use cssparser::{Parser, Token};

use super::boxes::{is_clipped_away, is_inset_away, is_moved_away, sides};
use super::fonts::{font, font_size, is_mono, line_height, weight};
use super::style::{
    Align, Case, Colour, Display, Length, LineHeight, ListStyle, Vertical, WhiteSpace,
};
use super::values::{Fault, colour, fault, length, word};

/// A property with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Declared {
    Display(Display),
    Visible(bool),
    Opacity(f32),
    Colour(Colour),
    Background(Option<Colour>),
    Picture(bool),
    Font(Length),
    /// A step up or down from the parent's size.
    FontFactor(f32),
    Weight(u16),
    /// One step bolder or lighter than the parent.
    Bolder(bool),
    Italic(bool),
    Mono(bool),
    LineHeight(LineHeight),
    LineLength(Length),
    Decoration {
        underline: bool,
        strike: bool,
    },
    Case(Case),
    Align(Align),
    Rtl(bool),
    White(WhiteSpace),
    List(ListStyle),
    Indent(Length),
    Margin(usize, Length),
    Padding(usize, Length),
    BorderWidth(usize, f32),
    BorderOn(usize, bool),
    Width(Length),
    MaxWidth(Length),
    Height(Length),
    MinHeight(Length),
    MaxHeight(Length),
    Clips(bool),
    Position {
        absolute: bool,
        relative: bool,
    },
    Place(usize, Length),
    /// Cut to nothing, which works on what is placed absolutely.
    Cut(bool),
    Vanished(bool),
    Floats(bool),
    Vertical(Vertical),
    Spacing(f32),
    Collapse(bool),
    /// `inherit` or `initial` for a property that this is worth the trouble.
    Like(Property, Origin),
}

impl Declared {
    /// What it declares, whatever the value: of several with the same key only the last one holds.
    fn key(&self) -> (std::mem::Discriminant<Self>, usize) {
        let part = match self {
            Self::Margin(side, _)
            | Self::Padding(side, _)
            | Self::BorderWidth(side, _)
            | Self::BorderOn(side, _)
            | Self::Place(side, _) => *side,
            Self::Like(property, _) => *property as usize,
            _ => 0,
        };
        (std::mem::discriminant(self), part)
    }

    /// Whether it sets the size that other lengths refer to.
    pub(super) const fn is_font_size(&self) -> bool {
        matches!(
            self,
            Self::Font(_) | Self::FontFactor(_) | Self::Like(Property::Font, _)
        )
    }
}

/// Leaves out what is declared again further down.
pub(super) fn keep_last(declared: &mut Vec<Declared>) {
    let mut seen = std::collections::HashSet::new();
    declared.reverse();
    declared.retain(|one| seen.insert(one.key()));
    declared.reverse();
}

/// A property whose value can be taken from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Colour,
    Background,
    Font,
    Weight,
    Style,
    LineHeight,
    Align,
    Decoration,
    Case,
}

/// Where such a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Parent,
    Initial,
}

/// Reads the value of property `name` and adds what it declares to `out`.
pub(super) fn declare(
    name: &str,
    input: &mut Parser<'_>,
    quirks: bool,
    out: &mut Vec<Declared>,
) -> Result<(), Fault> {
    if let Ok(origin) = input.try_parse(wide_keyword) {
        out.extend(property(name).map(|property| Declared::Like(property, origin)));
        return Ok(());
    }
    let one = match name {
        "display" => Declared::Display(display(&display_words(input)?)),
        "visibility" => Declared::Visible(!matches!(&*word(input)?, "hidden" | "collapse")),
        "opacity" => Declared::Opacity(number(input)?.clamp(0.0, 1.0)),
        "color" => Declared::Colour(colour(input, quirks)?),
        "background-color" => {
            Declared::Background(Some(colour(input, quirks)?).filter(|colour| colour.alpha > 0.0))
        }
        "background-image" => Declared::Picture(
            input
                .try_parse(|input| input.expect_ident_matching("none"))
                .is_err(),
        ),
        "background" => return background(input, quirks, out),
        "font-size" => font_size(input, quirks)?,
        "font-weight" => weight(input)?,
        "font-style" => Declared::Italic(matches!(&*word(input)?, "italic" | "oblique")),
        "font-family" => Declared::Mono(is_mono(input)),
        "font" => return font(input, quirks, out),
        "line-height" => line_height(input, quirks)?,
        "text-decoration" | "text-decoration-line" => decoration(input),
        "text-transform" => Declared::Case(match &*word(input)? {
            "uppercase" => Case::Upper,
            "lowercase" => Case::Lower,
            "capitalize" => Case::Capitals,
            _ => Case::AsIs,
        }),
        "text-align" => Declared::Align(align(&word(input)?).ok_or_else(fault)?),
        "direction" => Declared::Rtl(word(input)? == "rtl"),
        "white-space" => Declared::White(match &*word(input)? {
            "normal" => WhiteSpace::Normal,
            "nowrap" => WhiteSpace::NoWrap,
            "pre" => WhiteSpace::Pre,
            "pre-wrap" | "break-spaces" => WhiteSpace::PreWrap,
            "pre-line" => WhiteSpace::PreLine,
            _ => return Err(fault()),
        }),
        "list-style" | "list-style-type" => list_style(input)?,
        "text-indent" => Declared::Indent(length(input, quirks)?),
        "width" => Declared::Width(length(input, quirks)?),
        "max-width" => Declared::MaxWidth(length(input, quirks)?),
        "height" => Declared::Height(length(input, quirks)?),
        "min-height" => Declared::MinHeight(length(input, quirks)?),
        "max-height" => Declared::MaxHeight(length(input, quirks)?),
        "overflow" | "overflow-x" | "overflow-y" => Declared::Clips(word(input)? != "visible"),
        "position" => {
            let word = word(input)?;
            Declared::Position {
                absolute: matches!(&*word, "absolute" | "fixed"),
                relative: word == "relative",
            }
        }
        "top" => Declared::Place(0, length(input, quirks)?),
        "right" => Declared::Place(1, length(input, quirks)?),
        "bottom" => Declared::Place(2, length(input, quirks)?),
        "left" => Declared::Place(3, length(input, quirks)?),
        "clip" => Declared::Cut(is_clipped_away(input)),
        "clip-path" => Declared::Vanished(is_inset_away(input)),
        "transform" => Declared::Vanished(is_moved_away(input)),
        "float" => Declared::Floats(word(input)? != "none"),
        "vertical-align" => Declared::Vertical(vertical(&word(input)?)),
        "border-spacing" => Declared::Spacing(length(input, quirks)?.px(16.0, 0.0).unwrap_or(0.0)),
        "border-collapse" => Declared::Collapse(word(input)? == "collapse"),
        _ => return sides(name, input, quirks, out),
    };
    out.push(one);
    Ok(())
}

fn wide_keyword(input: &mut Parser<'_>) -> Result<Origin, Fault> {
    let origin = match &*word(input)? {
        "inherit" | "unset" => Origin::Parent,
        "initial" | "revert" => Origin::Initial,
        _ => return Err(fault()),
    };
    input.expect_exhausted()?;
    Ok(origin)
}

fn property(name: &str) -> Option<Property> {
    Some(match name {
        "color" => Property::Colour,
        "background" | "background-color" => Property::Background,
        "font-size" => Property::Font,
        "font-weight" => Property::Weight,
        "font-style" => Property::Style,
        "line-height" => Property::LineHeight,
        "text-align" => Property::Align,
        "text-decoration" => Property::Decoration,
        "text-transform" => Property::Case,
        _ => return None,
    })
}

fn number(input: &mut Parser<'_>) -> Result<f32, Fault> {
    match input.next()? {
        Token::Number { value, .. } => Ok(*value),
        Token::Percentage { unit_value, .. } => Ok(*unit_value),
        _ => Err(fault()),
    }
}

fn display_words(input: &mut Parser<'_>) -> Result<String, Fault> {
    let first = word(input)?;
    Ok(match input.try_parse(word) {
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

fn display(word: &str) -> Display {
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

fn background(input: &mut Parser<'_>, quirks: bool, out: &mut Vec<Declared>) -> Result<(), Fault> {
    let mut found = None;
    let mut picture = false;
    while !input.is_exhausted() {
        if let Ok(colour) = input.try_parse(|input| colour(input, quirks)) {
            found = Some(colour);
            continue;
        }
        match input.next()? {
            Token::UnquotedUrl(_) => picture = true,
            Token::Function(_) => {
                picture = true;
                input.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<(), Fault>(())
                })?;
            }
            _ => {}
        }
    }
    out.push(Declared::Background(
        found.filter(|colour| colour.alpha > 0.0),
    ));
    out.push(Declared::Picture(picture));
    Ok(())
}

fn decoration(input: &mut Parser<'_>) -> Declared {
    let (mut underline, mut strike) = (false, false);
    while let Ok(token) = input.next() {
        if let Token::Ident(word) = token {
            underline |= word.eq_ignore_ascii_case("underline");
            strike |= word.eq_ignore_ascii_case("line-through");
        }
    }
    Declared::Decoration { underline, strike }
}

pub(super) fn align(word: &str) -> Option<Align> {
    Some(match word {
        "left" | "start" | "justify" => Align::Start,
        "center" | "middle" | "-webkit-center" => Align::Centre,
        "right" | "end" | "-webkit-right" => Align::End,
        _ => return None,
    })
}

pub(super) fn vertical(word: &str) -> Vertical {
    match word {
        "middle" => Vertical::Middle,
        "bottom" => Vertical::Bottom,
        _ => Vertical::Top,
    }
}

fn list_style(input: &mut Parser<'_>) -> Result<Declared, Fault> {
    while let Ok(word) = input.try_parse(word) {
        return Ok(Declared::List(match &*word {
            "none" => ListStyle::None,
            "decimal" | "decimal-leading-zero" => ListStyle::Decimal,
            "lower-alpha" | "upper-alpha" | "lower-latin" | "upper-latin" => ListStyle::Alpha,
            "lower-roman" | "upper-roman" => ListStyle::Roman,
            "inside" | "outside" => continue,
            _ => ListStyle::Disc,
        }));
    }
    Err(fault())
}
