//! Puts declarations into effect on a style.

use super::computed::{ComputedStyle, Length, LineHeight, ROOT_FONT_SIZE};
use super::property::{CssWide, CssWideProperty, Declaration};

impl ComputedStyle {
    /// Puts `declared` into effect; relative values refer to the `parent`.
    pub(super) fn apply(&mut self, declared: &Declaration, parent: &Self) {
        // What refers to the root is settled here, where its size is known.
        let own = |length: Length| match length {
            Length::Rem(rem) => Length::Px(rem * parent.root_font_size),
            other => other,
        };
        match *declared {
            Declaration::Display(display) => self.display = display,
            Declaration::Visibility(visible) => self.visible = visible,
            Declaration::Opacity(opacity) => self.opacity = opacity,
            Declaration::Color(colour) => self.colour = colour,
            Declaration::BackgroundColor(colour) => self.background = colour,
            Declaration::BackgroundImage(picture) => self.background_image = picture,
            Declaration::FontSize(Length::Percent(share)) => {
                self.font_size = parent.font_size * share
            }
            Declaration::FontSize(length) => {
                self.font_size = own(length)
                    .to_px(parent.font_size, 0.0)
                    .unwrap_or(ROOT_FONT_SIZE);
            }
            Declaration::FontSizeFactor(factor) => self.font_size = parent.font_size * factor,
            Declaration::FontWeight(weight) => self.font_weight = weight,
            Declaration::RelativeFontWeight(up) => {
                self.font_weight = if up {
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
                    own(length)
                        .to_px(self.font_size, 0.0)
                        .unwrap_or(self.font_size),
                );
            }
            Declaration::TextDecoration {
                underline,
                line_through: strike,
            } => {
                // A decoration goes through everything inside, so that a child cannot take it off.
                self.underline = underline;
                self.line_through = strike || parent.line_through;
            }
            Declaration::TextTransform(case) => self.text_transform = case,
            Declaration::TextAlign(align) => self.text_align = align,
            Declaration::Rtl(rtl) => self.rtl = rtl,
            Declaration::WhiteSpace(white) => self.white_space = white,
            Declaration::ListStyle(list) => self.list_style = list,
            Declaration::TextIndent(length) => self.text_indent = own(length),
            Declaration::Margin(side, length) => self.margin[side] = own(length),
            Declaration::Padding(side, length) => self.padding[side] = own(length),
            Declaration::BorderWidth(side, width) => self.border_width[side] = width,
            Declaration::BorderVisible(side, on) => self.border_visible[side] = on,
            Declaration::Width(length) => self.width = own(length),
            Declaration::MaxWidth(length) => self.max_width = own(length),
            Declaration::Height(length) => self.height = own(length),
            Declaration::MinHeight(length) => self.min_height = own(length),
            Declaration::MaxHeight(length) => self.max_height = own(length),
            Declaration::OverflowClipped(clips) => self.overflow_clipped = clips,
            Declaration::Position { absolute, relative } => {
                (self.out_of_flow, self.relatively_positioned) = (absolute, relative);
            }
            Declaration::Offset(side, length) => self.offsets[side] = own(length),
            Declaration::Clip(cut) => self.clipped = cut,
            Declaration::ClippedOrShrunk(vanished) => self.clipped_or_shrunk = vanished,
            Declaration::Float(floats) => self.floated = floats,
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
