//! Declarations of style sheets, parsed but not yet applied to an element.

use super::computed::{
    Color, Display, Length, LineHeight, ListStyle, TextAlign, TextTransform, VerticalAlign,
    WhiteSpace,
};

/// A CSS declaration: a property with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Declaration {
    Display(Display),
    Visibility(bool),
    Opacity(f32),
    Color(Color),
    TextFill(Color),
    TextOutline(Color),
    BackgroundColor(Color),
    BackgroundImage(bool),
    Overlaid,
    FontSize(Length),
    /// Times the parent's font size.
    FontSizeFactor(f32),
    FontWeight(u16),
    /// `bolder` or, if false, `lighter`.
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
    BorderColor(usize, Color),
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
    Clip(bool),
    ClippedOrShrunk(bool),
    Animated(bool),
    Float(bool),
    FlexColumn(bool),
    VerticalAlign(VerticalAlign),
    BorderSpacing(f32),
    BorderCollapse(bool),
    /// A CSS-wide keyword, for the properties where emails use them.
    CssWide(CssWideProperty, CssWide),
}

impl Declaration {
    /// Returns what it declares; of several declarations with one key the last wins.
    fn key(&self) -> (std::mem::Discriminant<Self>, usize) {
        let part = match self {
            Self::Margin(side, _)
            | Self::Padding(side, _)
            | Self::BorderWidth(side, _)
            | Self::BorderVisible(side, _)
            | Self::BorderColor(side, _)
            | Self::Offset(side, _) => *side,
            Self::CssWide(property, _) => *property as usize,
            _ => 0,
        };
        (std::mem::discriminant(self), part)
    }

    /// True if it sets the font size, to which other lengths refer.
    pub(super) const fn is_font_size(&self) -> bool {
        matches!(
            self,
            Self::FontSize(_)
                | Self::FontSizeFactor(_)
                | Self::CssWide(CssWideProperty::FontSize, _)
        )
    }
}

/// Removes declarations that a later one overrides.
pub(super) fn remove_overridden(declarations: &mut Vec<Declaration>) {
    let mut seen = std::collections::HashSet::new();
    declarations.reverse();
    declarations.retain(|declaration| seen.insert(declaration.key()));
    declarations.reverse();
}

/// A property for which CSS-wide keywords are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CssWideProperty {
    All,
    Display,
    Visibility,
    Opacity,
    Width,
    MaxWidth,
    Height,
    MinHeight,
    MaxHeight,
    Overflow,
    Position,
    TextIndent,
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

/// A CSS-wide keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CssWide {
    Inherit,
    Initial,
    Unset,
    /// Back to the style sheet of the browser.
    Revert,
}
