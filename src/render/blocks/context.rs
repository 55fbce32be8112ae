//! The properties that an element gets from the elements around it, and whether
//! text is seen there.

use super::visibility::{background_inside, is_indented_away};
use crate::render::css::{Color, ComputedStyle, Display, Rgba};
use crate::render::html::NodeId;

/// Colours that differ by this sum over red, green and blue look the same.
const SAME_COLOUR: u16 = 12;

/// The properties that an element gets from the elements around it.
#[derive(Clone, Copy)]
pub(super) struct LayoutContext {
    /// Content takes up space but is invisible.
    pub(super) hidden: bool,
    pub(super) opacity: f32,
    /// The colour behind the text; `None` if it cannot be computed, as for an image.
    pub(super) background: Option<Rgba>,
    /// The first line of the block starts outside of the page.
    pub(super) indented_away: bool,
    /// The number of line breaks before the block.
    pub(super) line_breaks: u32,
    /// Width of the containing block in pixels.
    pub(super) available_width: f32,
    pub(super) link: Option<u16>,
    /// The element whose content is the label of the button.
    pub(super) button: Option<NodeId>,
    pub(super) heading: bool,
    /// Borders of blocks are drawn as rules.
    pub(super) rules: bool,
    /// Height of an empty line in the containing block, in pixels.
    pub(super) strut: f32,
}

impl LayoutContext {
    pub(super) const fn root() -> Self {
        Self {
            hidden: false,
            opacity: 1.0,
            background: Some(Rgba::WHITE),
            indented_away: false,
            line_breaks: 0,
            available_width: 800.0,
            link: None,
            button: None,
            heading: false,
            rules: true,
            strut: 18.0,
        }
    }

    /// Returns the context inside an element of this style.
    pub(super) fn enter(mut self, style: &ComputedStyle) -> Self {
        // There is no box.
        if style.display == Display::Contents {
            return self;
        }
        if !style.animated {
            self.opacity *= style.opacity;
        }
        self.hidden |= self.opacity < 0.05;
        self.background = background_inside(self.background, style);
        if style.display != Display::Inline {
            self.indented_away = is_indented_away(style, self.available_width);
        }
        self
    }
}

/// True if text of this style leaves no mark.
pub(super) fn is_invisible_text(style: &ComputedStyle, context: &LayoutContext) -> bool {
    context.hidden
        || context.indented_away
        || !style.visible
        || !(contrasts(style.text_colour(), context) || contrasts(style.text_outline, context))
}

/// True if a colour is seen on the background, or if one of the two is not known.
pub(super) fn contrasts(colour: Color, context: &LayoutContext) -> bool {
    match (colour, context.background) {
        (Color::Known(colour), _) if colour.alpha < 0.05 => false,
        (Color::Known(colour), Some(behind)) => colour.over(behind).distance(behind) > SAME_COLOUR,
        (Color::Known(_), None) | (Color::Current | Color::Unknown, _) => true,
    }
}
