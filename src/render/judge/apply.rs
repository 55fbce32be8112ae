//! Puts declarations into effect on a style.

use super::declare::{Declared, Origin, Property};
use super::style::{Length, LineHeight, ROOT_FONT, Style};

impl Style {
    /// Puts `declared` into effect; relative values refer to the `parent`.
    pub(super) fn apply(&mut self, declared: &Declared, parent: &Self) {
        // What refers to the root is settled here, where its size is known.
        let own = |length: Length| match length {
            Length::Rem(rem) => Length::Px(rem * parent.root),
            other => other,
        };
        match *declared {
            Declared::Display(display) => self.display = display,
            Declared::Visible(visible) => self.visible = visible,
            Declared::Opacity(opacity) => self.opacity = opacity,
            Declared::Colour(colour) => self.colour = colour,
            Declared::Background(colour) => self.background = colour,
            Declared::Picture(picture) => self.picture = picture,
            Declared::Font(Length::Percent(share)) => self.font = parent.font * share,
            Declared::Font(length) => {
                self.font = own(length).px(parent.font, 0.0).unwrap_or(ROOT_FONT);
            }
            Declared::FontFactor(factor) => self.font = parent.font * factor,
            Declared::Weight(weight) => self.weight = weight,
            Declared::Bolder(up) => {
                self.weight = if up {
                    parent.weight.max(400) + 300
                } else {
                    400.min(parent.weight)
                }
            }
            Declared::Italic(italic) => self.italic = italic,
            Declared::Mono(mono) => self.mono = mono,
            Declared::LineHeight(line) => self.line_height = line,
            Declared::LineLength(Length::Em(em)) => {
                self.line_height = LineHeight::Px(em * self.font);
            }
            Declared::LineLength(length) => {
                self.line_height =
                    LineHeight::Px(own(length).px(self.font, 0.0).unwrap_or(self.font));
            }
            Declared::Decoration { underline, strike } => {
                // A decoration goes through everything inside, so that a child cannot take it off.
                self.underline = underline;
                self.strike = strike || parent.strike;
            }
            Declared::Case(case) => self.case = case,
            Declared::Align(align) => self.align = align,
            Declared::Rtl(rtl) => self.rtl = rtl,
            Declared::White(white) => self.white_space = white,
            Declared::List(list) => self.list = list,
            Declared::Indent(length) => self.indent = own(length),
            Declared::Margin(side, length) => self.margin[side] = own(length),
            Declared::Padding(side, length) => self.padding[side] = own(length),
            Declared::BorderWidth(side, width) => self.border[side] = width,
            Declared::BorderOn(side, on) => self.border_on[side] = on,
            Declared::Width(length) => self.width = own(length),
            Declared::MaxWidth(length) => self.max_width = own(length),
            Declared::Height(length) => self.height = own(length),
            Declared::MinHeight(length) => self.min_height = own(length),
            Declared::MaxHeight(length) => self.max_height = own(length),
            Declared::Clips(clips) => self.clips = clips,
            Declared::Position { absolute, relative } => {
                (self.absolute, self.relative) = (absolute, relative);
            }
            Declared::Place(side, length) => self.place[side] = own(length),
            Declared::Cut(cut) => self.cut = cut,
            Declared::Vanished(vanished) => self.vanished = vanished,
            Declared::Floats(floats) => self.floats = floats,
            Declared::Vertical(vertical) => self.vertical = vertical,
            Declared::Spacing(spacing) => self.spacing = spacing,
            Declared::Collapse(collapse) => self.collapse = collapse,
            Declared::Like(property, origin) => self.take(property, origin, parent),
        }
    }

    fn take(&mut self, property: Property, origin: Origin, parent: &Self) {
        let initial = Self::default();
        let from = match origin {
            Origin::Parent => parent,
            Origin::Initial => &initial,
        };
        match property {
            Property::Colour => self.colour = from.colour,
            Property::Background => {
                (self.background, self.picture) = (from.background, from.picture);
            }
            Property::Font => self.font = from.font,
            Property::Weight => self.weight = from.weight,
            Property::Style => self.italic = from.italic,
            Property::LineHeight => self.line_height = from.line_height,
            Property::Align => self.align = from.align,
            Property::Decoration => self.underline = from.underline,
            Property::Case => self.case = from.case,
        }
    }
}
