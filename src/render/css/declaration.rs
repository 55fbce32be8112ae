//! Declarations of style sheets, and how each changes the style of an element.

use super::computed::{
    Color, ComputedStyle, Display, Float, Length, LineHeight, ListStyle, ROOT_FONT_SIZE, TextAlign,
    TextTransform, VerticalAlign, WhiteSpace,
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
    FontWeight(u16),
    /// `bolder` or, if false, `lighter`.
    RelativeFontWeight(bool),
    Italic(bool),
    FontFamily {
        monospace: bool,
        wingdings: bool,
    },
    LineHeight(LineHeight),
    LineHeightLength(Length),
    TextDecoration {
        underline: bool,
        line_through: bool,
    },
    TextTransform(TextTransform),
    TextAlign(TextAlign),
    Rtl(bool),
    BidiOverride(bool),
    WhiteSpace(WhiteSpace),
    NoWrap(bool),
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
    FilteredOut(bool),
    Animated(bool),
    Float(Float),
    Clear(bool),
    FlexColumn(bool),
    FlexReversed(bool),
    FlexSpread(bool),
    Order(i32),
    VerticalAlign(VerticalAlign),
    BorderSpacing(f32),
    BorderCollapse(bool),
    /// A CSS-wide keyword, for the property at this index of [`CSS_WIDE_PROPERTIES`].
    CssWide(usize, CssWide),
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
            Self::CssWide(property, _) => *property,
            _ => 0,
        };
        (std::mem::discriminant(self), part)
    }

    /// True if it sets the font size, to which other lengths refer.
    pub(super) fn is_font_size(&self) -> bool {
        match self {
            Self::FontSize(_) => true,
            Self::CssWide(property, _) => CSS_WIDE_PROPERTIES[*property].0 == "font-size",
            _ => false,
        }
    }
}

/// Removes declarations that a later one overrides.
///
/// This changes nothing as long as a declaration depends on no earlier one of its block but the
/// font size, which is applied first.
pub(super) fn remove_overridden(declarations: &mut Vec<Declaration>) {
    let mut seen = std::collections::HashSet::new();
    declarations.reverse();
    declarations.retain(|declaration| seen.insert(declaration.key()));
    declarations.reverse();
}

/// Copies a property from the second style to the first.
type CopyProperty = fn(&mut ComputedStyle, &ComputedStyle);

/// The properties that take CSS-wide keywords, each with a function to copy it.
#[rustfmt::skip] // one property a line
const CSS_WIDE_PROPERTIES: [(&str, CopyProperty); 22] = [
    // `all` sets the font size by a declaration of its own.
    ("all", |style, from| *style = ComputedStyle { font_size: style.font_size, ..*from }),
    ("font-size", |style, from| style.font_size = from.font_size),
    ("display", |style, from| style.display = from.display),
    ("visibility", |style, from| style.visible = from.visible),
    ("opacity", |style, from| style.opacity = from.opacity),
    ("width", |style, from| style.width = from.width),
    ("max-width", |style, from| style.max_width = from.max_width),
    ("height", |style, from| style.height = from.height),
    ("min-height", |style, from| style.min_height = from.min_height),
    ("max-height", |style, from| style.max_height = from.max_height),
    ("overflow", |style, from| style.overflow_clipped = from.overflow_clipped),
    ("position", |style, from| {
        style.out_of_flow = from.out_of_flow;
        style.relatively_positioned = from.relatively_positioned;
    }),
    ("text-indent", |style, from| style.text_indent = from.text_indent),
    ("color", |style, from| style.colour = from.colour),
    ("background", copy_background),
    ("background-color", copy_background),
    ("font-weight", |style, from| style.font_weight = from.font_weight),
    ("font-style", |style, from| style.italic = from.italic),
    ("line-height", |style, from| style.line_height = from.line_height),
    ("text-align", |style, from| style.text_align = from.text_align),
    ("text-decoration", |style, from| style.underline = from.underline),
    ("text-transform", |style, from| style.text_transform = from.text_transform),
];

const fn copy_background(style: &mut ComputedStyle, from: &ComputedStyle) {
    style.background = from.background;
    style.background_image = from.background_image;
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

impl CssWide {
    /// Returns what the keyword declares as the value of property `name`.
    pub(super) fn declarations(self, name: &str) -> impl Iterator<Item = Declaration> {
        let properties = CSS_WIDE_PROPERTIES.iter().enumerate();
        let declared = properties.filter(move |(_, (property, _))| {
            *property == name || (name == "all" && *property == "font-size")
        });
        declared.map(move |(index, _)| Declaration::CssWide(index, self))
    }
}

impl ComputedStyle {
    /// Applies a declaration; relative values refer to `parent`.
    ///
    /// `compute_styles` applies font sizes first, because `em` lengths refer to them.
    pub(super) fn apply(&mut self, declaration: &Declaration, parent: &Self, user_agent: &Self) {
        // Only here is the font size of the root known.
        let absolute = |length: Length| match length {
            Length::Rem(rem) => Length::Px(rem * parent.root_font_size),
            other => other,
        };
        match *declaration {
            Declaration::Display(display) => self.display = display,
            Declaration::Visibility(visible) => self.visible = visible,
            Declaration::Opacity(opacity) => self.opacity = opacity,
            Declaration::Color(colour) => self.colour = colour.resolve(parent.colour),
            Declaration::TextFill(colour) => self.text_fill = colour,
            Declaration::TextOutline(colour) => self.text_outline = colour,
            Declaration::BackgroundColor(colour) => self.background = colour,
            Declaration::BackgroundImage(image) => self.background_image = image,
            Declaration::Overlaid => self.overlaid = true,
            Declaration::FontSize(length) => {
                self.font_size = absolute(length)
                    .to_px(parent.font_size, parent.font_size)
                    .unwrap_or(ROOT_FONT_SIZE);
            }
            Declaration::FontWeight(weight) => self.font_weight = weight,
            Declaration::RelativeFontWeight(bolder) => {
                self.font_weight = if bolder {
                    parent.font_weight.max(400) + 300
                } else {
                    400.min(parent.font_weight)
                }
            }
            Declaration::Italic(italic) => self.italic = italic,
            Declaration::FontFamily {
                monospace,
                wingdings,
            } => {
                self.monospace = monospace;
                self.wingdings = wingdings;
            }
            Declaration::LineHeight(line) => self.line_height = line,
            Declaration::LineHeightLength(length) => {
                let px = absolute(length).to_px(self.font_size, self.font_size);
                self.line_height = LineHeight::Px(px.unwrap_or(self.font_size));
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
            Declaration::TextAlign(align) => {
                (self.text_align, self.is_align_attribute) = (align, false);
            }
            Declaration::Rtl(rtl) => self.rtl = rtl,
            Declaration::BidiOverride(value) => self.bidi_override = value,
            Declaration::WhiteSpace(white) => self.white_space = white,
            Declaration::NoWrap(nowrap) => self.nowrap = nowrap,
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
            Declaration::FilteredOut(gone) => self.filtered_out = gone,
            Declaration::Animated(animated) => self.animated = animated,
            Declaration::Float(float) => self.float = float,
            Declaration::Clear(clears) => self.clears_floats = clears,
            Declaration::FlexColumn(column) => self.flex_column = column,
            Declaration::FlexReversed(reversed) => self.flex_reversed = reversed,
            Declaration::FlexSpread(spread) => self.flex_spread = spread,
            Declaration::Order(order) => self.order = order,
            Declaration::VerticalAlign(vertical) => self.vertical_align = vertical,
            Declaration::BorderSpacing(spacing) => self.border_spacing = spacing,
            Declaration::BorderCollapse(collapse) => self.border_collapse = collapse,
            Declaration::CssWide(property, keyword) => {
                let from = match keyword {
                    CssWide::Inherit => *parent,
                    CssWide::Initial => Self::default(),
                    CssWide::Unset => parent.inherited(),
                    CssWide::Revert => *user_agent,
                };
                CSS_WIDE_PROPERTIES[property].1(self, &from);
            }
        }
    }
}
