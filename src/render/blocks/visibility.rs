//! Decides what a reader cannot see, by the colours, boxes and positions of the
//! page.
//!
//! Text whose visibility cannot be computed counts as visible: a filler that shows costs less than
//! a text that does not.

use crate::render::css::{
    BOTTOM, Color, ComputedStyle, Display, LEFT, Length, RIGHT, Rgba, Styles, TOP,
};
use crate::render::html::{Dom, NodeId};

/// An indent of a first line below this moves it out of the page.
const MIN_TEXT_INDENT: f32 = -500.0;

/// A box that is moved to the left by the width of the page is out of it.
const MIN_LEFT: f32 = -799.0;

/// Returns the background inside an element; `None` if it cannot be computed.
pub(super) fn background_inside(outside: Option<Rgba>, style: &ComputedStyle) -> Option<Rgba> {
    let outside = outside.filter(|_| !style.is_moved());
    match style.background {
        _ if style.background_image => None,
        Color::Known(colour) if colour.alpha >= 1.0 => Some(colour),
        Color::Known(colour) => outside.map(|behind| colour.over(behind)),
        Color::Current | Color::Unknown => None,
    }
}

/// True if the first line of a block starts far outside of the page,
/// or behind the end of a box that clips it.
pub(super) fn is_indented_away(style: &ComputedStyle, available_width: f32) -> bool {
    let width = style.used_width(available_width, available_width);
    let clipped_from = if style.overflow_clipped && style.nowrap {
        width
    } else {
        f32::MAX
    };
    let indent = style.px(style.text_indent, width);
    indent.is_some_and(|px| px < MIN_TEXT_INDENT || (px > 0.0 && px >= clipped_from))
}

/// True if a box at `y` shows nothing, however large its content is.
pub(super) fn is_hidden_box(style: &ComputedStyle, available_width: f32, y: f32) -> bool {
    is_removed(style, available_width, y) || is_shut(style, available_width)
}

/// True if a hidden box shows the absolutely positioned boxes in it,
/// because it is not the block that contains them.
pub(super) fn clips_only_its_flow(style: &ComputedStyle, available_width: f32, y: f32) -> bool {
    style.display != Display::None
        && !style.is_positioned()
        && !is_removed(style, available_width, y)
}

/// Returns a length in pixels; `None` for a share of a size that may not be known.
fn known_px(style: &ComputedStyle, length: Length, available_width: f32) -> Option<f32> {
    match length {
        Length::Percent(share) if share > 0.0 => None,
        length => style.px(length, available_width),
    }
}

/// True if a box at `y` is outside of the page or clipped or shrunk to nothing.
fn is_removed(style: &ComputedStyle, available_width: f32, y: f32) -> bool {
    let px = |length: Length| known_px(style, length, available_width);
    let below = |length: Length, limit: f32| px(length).is_some_and(|px| px < limit);
    let is_outside = (style.is_positioned()
        && (below(style.offsets[LEFT], MIN_LEFT)
            || below(style.offsets[RIGHT], MIN_LEFT)
            || below(style.offsets[TOP], (-400.0_f32).min(-y))))
        || (style.out_of_flow && px(style.offsets[RIGHT]).is_some_and(|px| px > -MIN_LEFT))
        || below(style.margin[LEFT], MIN_LEFT)
        || below(style.margin[TOP], (-1_000.0_f32).min(-y));
    let is_inline = matches!(style.display, Display::Inline | Display::Contents);
    ((style.clipped_or_shrunk || style.filtered_out) && !is_inline && !style.animated)
        || (style.clipped && style.out_of_flow)
        || is_outside
}

/// True if a box has no height or no width and clips its content.
fn is_shut(style: &ComputedStyle, available_width: f32) -> bool {
    let px = |length: Length| known_px(style, length, available_width);
    let is_inline = matches!(style.display, Display::Inline | Display::Contents);
    let is_table_part = matches!(
        style.display,
        Display::Table | Display::Cell | Display::Row | Display::RowGroup
    );
    if !style.overflow_clipped || is_inline || is_table_part {
        return false;
    }
    let insets = |one: usize, other: usize| {
        style.padding_and_border(one, available_width)
            + style.padding_and_border(other, available_width)
    };
    let (vertical, horizontal) = (insets(TOP, BOTTOM), insets(RIGHT, LEFT));
    let small = |length: Length, insets: f32| px(length).is_some_and(|px| px + insets <= 1.5);
    let is_kept_high = px(style.min_height).is_some_and(|px| px + vertical > 1.5);
    (!is_kept_high && (small(style.height, vertical) || small(style.max_height, vertical)))
        || small(style.width, horizontal)
        || small(style.max_width, horizontal)
}

/// Returns, by index, the elements in which something with a background or an image
/// is laid out of the flow, so that any of it may be behind their text.
pub(super) fn find_layered_elements(dom: &Dom, styles: &Styles) -> Vec<bool> {
    let mut layered = vec![false; dom.len()];
    for id in dom.nodes() {
        let style = &styles[id];
        let is_layer = style.out_of_flow
            && style.display != Display::None
            && style.visible
            && style.opacity > 0.0
            && !is_hidden_box(style, 800.0, f32::MAX)
            && is_painted(dom, styles, id);
        if !is_layer {
            continue;
        }
        let container = dom.ancestors(id).find(|id| {
            let style = &styles[*id];
            style.is_positioned() || dom.tag_name(*id) == "body"
        });
        if let Some(container) = container {
            layered[container.index()] = true;
        }
    }
    layered
}

/// True if an element has a background, or is or has only a picture.
fn is_painted(dom: &Dom, styles: &Styles, id: NodeId) -> bool {
    let style = &styles[id];
    let is_dot = |length: Length| matches!(length, Length::Px(px) if px <= 2.0);
    let is_picture = |id: NodeId| {
        let style = &styles[id];
        dom.tag_name(id) == "img" && !is_dot(style.width) && !is_dot(style.height)
    };
    style.background_image
        || style.background != Color::TRANSPARENT
        || is_picture(id)
        || dom.children(id).any(is_picture)
}
