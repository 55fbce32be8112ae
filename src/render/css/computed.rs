//! `ComputedStyle`: the CSS properties that the layout uses, and how declarations change them.
//!
//! Lengths in `rem` become pixels when a declaration is applied, with the root's font size; the default
//! size serves where no element is known yet. [`super::property`] parses declarations, and
//! [`super`] applies them in the order of the cascade.

/// A length as written; fonts and the containing block turn it into pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Length {
    #[default]
    Auto,
    Px(f32),
    /// Times the element's font size.
    Em(f32),
    /// Times the document's font size.
    Rem(f32),
    /// Share of the width of the containing block, from 0 to 1.
    Percent(f32),
}

impl Length {
    pub(crate) const ZERO: Self = Self::Px(0.0);

    /// Converts to pixels by font size and available width; `None` for auto.
    pub(crate) fn to_px(self, font_size: f32, available_width: f32) -> Option<f32> {
        let px = match self {
            Self::Auto => return None,
            Self::Px(px) => px,
            Self::Em(em) => em * font_size,
            Self::Rem(rem) => rem * ROOT_FONT_SIZE,
            Self::Percent(share) => share * available_width,
        };
        px.is_finite().then(|| px.clamp(-100_000.0, 100_000.0))
    }
}

/// Default font size of browsers, in pixels.
pub(crate) const ROOT_FONT_SIZE: f32 = 16.0;

/// Line height as written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum LineHeight {
    #[default]
    Normal,
    /// Times the font size of the element that inherits it.
    Factor(f32),
    Px(f32),
}

/// A colour; `alpha` is from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rgba {
    pub(crate) red: u8,
    pub(crate) green: u8,
    pub(crate) blue: u8,
    pub(crate) alpha: f32,
}

impl Rgba {
    pub(crate) const BLACK: Self = Self::opaque(0, 0, 0);
    pub(crate) const WHITE: Self = Self::opaque(255, 255, 255);

    pub(crate) const fn opaque(red: u8, green: u8, blue: u8) -> Self {
        Self {
            red,
            green,
            blue,
            alpha: 1.0,
        }
    }

    /// Returns the sum of the differences of the three channels.
    pub(crate) fn distance(self, other: Self) -> u16 {
        let part = |a: u8, b: u8| u16::from(a.abs_diff(b));
        part(self.red, other.red) + part(self.green, other.green) + part(self.blue, other.blue)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Display {
    None,
    #[default]
    Inline,
    InlineBlock,
    Block,
    Flex,
    ListItem,
    Table,
    RowGroup,
    Row,
    Cell,
    Caption,
    Contents,
}

/// How spaces and newlines in text are treated; wrapping is up to the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WhiteSpace {
    /// Also `nowrap`.
    #[default]
    Normal,
    /// Also `pre-wrap`.
    Pre,
    PreLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextAlign {
    #[default]
    Start,
    Center,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextTransform {
    #[default]
    None,
    Uppercase,
    Lowercase,
    Capitalize,
}

/// The marker of list items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListStyle {
    None,
    #[default]
    Disc,
    /// Also Roman numerals.
    Decimal,
    Alpha,
}

/// Vertical alignment of a table cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum VerticalAlign {
    Top,
    #[default]
    Middle,
    Bottom,
}

/// Values by side: [`TOP`], [`RIGHT`], [`BOTTOM`], [`LEFT`].
pub(crate) type Sides<T> = [T; 4];

pub(crate) const TOP: usize = 0;
pub(crate) const RIGHT: usize = 1;
pub(crate) const BOTTOM: usize = 2;
pub(crate) const LEFT: usize = 3;

/// Defines the computed style from the type and the initial value of each property.
macro_rules! computed_style {
    (
        inherited { $($(#[$meta:meta])* $inherited:ident: $type:ty = $initial:expr,)+ }
        reset { $($(#[$reset_meta:meta])* $reset:ident: $reset_type:ty = $reset_initial:expr,)+ }
    ) => {
        /// The computed style of an element.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(crate) struct ComputedStyle {
            $($(#[$meta])* pub(crate) $inherited: $type,)+
            $($(#[$reset_meta])* pub(crate) $reset: $reset_type,)+
        }

        impl Default for ComputedStyle {
            fn default() -> Self {
                Self { $($inherited: $initial,)+ $($reset: $reset_initial,)+ }
            }
        }

        impl ComputedStyle {
            /// Returns the initial style of a child.
            pub(crate) fn inherited(&self) -> Self {
                Self { $($inherited: self.$inherited,)+ ..Self::default() }
            }
        }
    };
}

computed_style! {
    inherited {
        visible: bool = true,
        colour: Rgba = Rgba::BLACK,
        /// In pixels.
        font_size: f32 = ROOT_FONT_SIZE,
        /// Font size of the document, in pixels.
        root_font_size: f32 = ROOT_FONT_SIZE,
        font_weight: u16 = 400,
        italic: bool = false,
        monospace: bool = false,
        line_height: LineHeight = LineHeight::Normal,
        text_transform: TextTransform = TextTransform::None,
        white_space: WhiteSpace = WhiteSpace::Normal,
        text_align: TextAlign = TextAlign::Start,
        rtl: bool = false,
        list_style: ListStyle = ListStyle::Disc,
        text_indent: Length = Length::ZERO,
        underline: bool = false,
        line_through: bool = false,
        /// In pixels.
        border_spacing: f32 = 2.0,
        border_collapse: bool = false,
        /// From the table's attribute `cellpadding`, in pixels.
        cell_padding: Option<f32> = None,
        /// From the table's attribute `border`.
        cell_border: bool = false,
        vertical_align: VerticalAlign = VerticalAlign::Middle,
    }
    reset {
        display: Display = Display::Inline,
        opacity: f32 = 1.0,
        background: Option<Rgba> = None,
        background_image: bool = false,
        margin: Sides<Length> = [Length::ZERO; 4],
        padding: Sides<Length> = [Length::ZERO; 4],
        border_width: Sides<f32> = [3.0; 4],
        border_visible: Sides<bool> = [false; 4],
        /// `None` is the colour of the text.
        border_colour: Sides<Option<Rgba>> = [None; 4],
        width: Length = Length::Auto,
        max_width: Length = Length::Auto,
        height: Length = Length::Auto,
        min_height: Length = Length::Auto,
        max_height: Length = Length::Auto,
        /// `overflow` is not `visible`.
        overflow_clipped: bool = false,
        /// Positioned absolutely or fixed.
        out_of_flow: bool = false,
        relatively_positioned: bool = false,
        offsets: Sides<Length> = [Length::Auto; 4],
        /// `clip` leaves nothing; it applies to absolutely positioned elements only.
        clipped: bool = false,
        /// `clip-path` or `transform` leaves nothing.
        clipped_or_shrunk: bool = false,
        floated: bool = false,
        /// The items of a flex container are below each other.
        flex_column: bool = false,
    }
}

impl ComputedStyle {
    /// Returns the width of a visible border in pixels, else zero.
    pub(crate) fn used_border(&self, side: usize) -> f32 {
        if self.border_visible[side] {
            self.border_width[side]
        } else {
            0.0
        }
    }

    /// Converts one of its lengths to pixels; `None` for auto.
    pub(crate) fn px(&self, length: Length, available_width: f32) -> Option<f32> {
        length.to_px(self.font_size, available_width)
    }

    /// Returns padding and border of one side in pixels.
    pub(crate) fn padding_and_border(&self, side: usize, available_width: f32) -> f32 {
        let padding = self.px(self.padding[side], available_width);
        padding.unwrap_or(0.0).max(0.0) + self.used_border(side)
    }

    /// Returns the width in pixels; `auto` is the width if none is set.
    pub(crate) fn used_width(&self, available_width: f32, auto: f32) -> f32 {
        let max = self.px(self.max_width, available_width);
        let width = self.px(self.width, available_width).unwrap_or(auto);
        width.min(max.unwrap_or(f32::MAX))
    }

    /// Returns ascent plus descent in pixels.
    ///
    /// The factors are those of common fonts; browsers round each to whole pixels.
    pub(crate) fn glyph_height(&self) -> f32 {
        (self.font_size * 0.905).round() + (self.font_size * 0.212).round()
    }

    /// Returns the line height in pixels.
    pub(crate) fn line_height_px(&self) -> f32 {
        match self.line_height {
            LineHeight::Normal => self.glyph_height() + (self.font_size * 0.033).round(),
            LineHeight::Factor(factor) => self.font_size * factor,
            LineHeight::Px(px) => px,
        }
    }

    /// True for block-level elements.
    pub(crate) const fn is_block(&self) -> bool {
        match self.display {
            Display::Inline | Display::InlineBlock | Display::None | Display::Contents => false,
            Display::Block
            | Display::Flex
            | Display::ListItem
            | Display::Table
            | Display::RowGroup
            | Display::Row
            | Display::Cell
            | Display::Caption => true,
        }
    }

    /// Applies a declaration; relative values refer to `parent`.
    ///
    /// `compute_styles` applies font sizes first, because `em` lengths refer to them.
    pub(super) fn apply(&mut self, declaration: &Declaration, parent: &Self) {
        // Only here is the font size of the root known.
        let absolute = |length: Length| match length {
            Length::Rem(rem) => Length::Px(rem * parent.root_font_size),
            other => other,
        };
        match *declaration {
            Declaration::Display(display) => self.display = display,
            Declaration::Visibility(visible) => self.visible = visible,
            Declaration::Opacity(opacity) => self.opacity = opacity,
            Declaration::Color(colour) => self.colour = colour,
            Declaration::BackgroundColor(colour) => self.background = colour,
            Declaration::BackgroundImage(image) => self.background_image = image,
            Declaration::FontSize(Length::Percent(share)) => {
                self.font_size = parent.font_size * share;
            }
            Declaration::FontSize(length) => {
                self.font_size = absolute(length)
                    .to_px(parent.font_size, 0.0)
                    .unwrap_or(ROOT_FONT_SIZE);
            }
            Declaration::FontSizeFactor(factor) => self.font_size = parent.font_size * factor,
            Declaration::FontWeight(weight) => self.font_weight = weight,
            Declaration::RelativeFontWeight(bolder) => {
                self.font_weight = if bolder {
                    parent.font_weight.max(400) + 300
                } else {
                    400.min(parent.font_weight)
                }
            }
            Declaration::Italic(italic) => self.italic = italic,
            Declaration::Monospace(mono) => self.monospace = mono,
            Declaration::LineHeight(line) => self.line_height = line,
            Declaration::LineHeightLength(Length::Em(em)) => {
                self.line_height = LineHeight::Px(em * self.font_size);
            }
            Declaration::LineHeightLength(length) => {
                self.line_height = LineHeight::Px(
                    absolute(length)
                        .to_px(self.font_size, 0.0)
                        .unwrap_or(self.font_size),
                );
            }
            Declaration::TextDecoration {
                underline,
                line_through,
            } => {
                // A child keeps its parent's line-through but may remove the underline.
                self.underline = underline;
                self.line_through = line_through || parent.line_through;
            }
            Declaration::TextTransform(case) => self.text_transform = case,
            Declaration::TextAlign(align) => self.text_align = align,
            Declaration::Rtl(rtl) => self.rtl = rtl,
            Declaration::WhiteSpace(white) => self.white_space = white,
            Declaration::ListStyle(list) => self.list_style = list,
            Declaration::TextIndent(length) => self.text_indent = absolute(length),
            Declaration::Margin(side, length) => self.margin[side] = absolute(length),
            Declaration::Padding(side, length) => self.padding[side] = absolute(length),
            Declaration::BorderWidth(side, width) => self.border_width[side] = width,
            Declaration::BorderVisible(side, visible) => self.border_visible[side] = visible,
            Declaration::BorderColor(side, colour) => self.border_colour[side] = colour,
            Declaration::Width(length) => self.width = absolute(length),
            Declaration::MaxWidth(length) => self.max_width = absolute(length),
            Declaration::Height(length) => self.height = absolute(length),
            Declaration::MinHeight(length) => self.min_height = absolute(length),
            Declaration::MaxHeight(length) => self.max_height = absolute(length),
            Declaration::OverflowClipped(clips) => self.overflow_clipped = clips,
            Declaration::Position { absolute, relative } => {
                (self.out_of_flow, self.relatively_positioned) = (absolute, relative);
            }
            Declaration::Offset(side, length) => self.offsets[side] = absolute(length),
            Declaration::Clip(clipped) => self.clipped = clipped,
            Declaration::ClippedOrShrunk(gone) => self.clipped_or_shrunk = gone,
            Declaration::Float(floats) => self.floated = floats,
            Declaration::FlexColumn(column) => self.flex_column = column,
            Declaration::VerticalAlign(vertical) => self.vertical_align = vertical,
            Declaration::BorderSpacing(spacing) => self.border_spacing = spacing,
            Declaration::BorderCollapse(collapse) => self.border_collapse = collapse,
            Declaration::CssWide(property, origin) => self.apply_css_wide(property, origin, parent),
        }
    }

    fn apply_css_wide(&mut self, property: CssWideProperty, origin: CssWide, parent: &Self) {
        let initial = Self::default();
        let from = match origin {
            CssWide::Inherit => parent,
            CssWide::Initial => &initial,
        };
        match property {
            CssWideProperty::Color => self.colour = from.colour,
            CssWideProperty::Background => {
                (self.background, self.background_image) = (from.background, from.background_image);
            }
            CssWideProperty::FontSize => self.font_size = from.font_size,
            CssWideProperty::FontWeight => self.font_weight = from.font_weight,
            CssWideProperty::FontStyle => self.italic = from.italic,
            CssWideProperty::LineHeight => self.line_height = from.line_height,
            CssWideProperty::TextAlign => self.text_align = from.text_align,
            CssWideProperty::TextDecoration => self.underline = from.underline,
            CssWideProperty::TextTransform => self.text_transform = from.text_transform,
        }
    }
}

/// A CSS declaration: a property with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Declaration {
    Display(Display),
    Visibility(bool),
    Opacity(f32),
    Color(Rgba),
    BackgroundColor(Option<Rgba>),
    BackgroundImage(bool),
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
    BorderColor(usize, Option<Rgba>),
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
    Float(bool),
    FlexColumn(bool),
    VerticalAlign(VerticalAlign),
    BorderSpacing(f32),
    BorderCollapse(bool),
    /// `inherit` or `initial`, for the properties where emails use them.
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
}
