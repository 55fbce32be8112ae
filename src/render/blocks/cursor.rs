//! How far down the page things stand: margins collapse, boxes and lines add up.

use super::inline::LineBox;
use crate::render::css::{BOTTOM, ComputedStyle, Display, LEFT, Length, RIGHT, TOP};

/// The place on the page that the walk has come to.
#[derive(Debug, Clone, Default)]
pub(super) struct VerticalCursor {
    /// Pixels from the top.
    pub(super) y: f32,
    /// The largest margin that waits for something to follow it, and the most negative one.
    positive_margin: f32,
    negative_margin: f32,
}

impl VerticalCursor {
    /// Leaves a margin, which takes the place of smaller ones beside it.
    pub(super) fn add_margin(&mut self, px: f32) {
        self.positive_margin = self.positive_margin.max(px);
        self.negative_margin = self.negative_margin.min(px);
    }

    /// Makes the margins that wait count.
    pub(super) fn apply_margins(&mut self) {
        self.y += self.positive_margin + self.negative_margin;
        (self.positive_margin, self.negative_margin) = (0.0, 0.0);
    }

    /// Takes up `px` pixels, if any.
    pub(super) fn advance(&mut self, px: f32) {
        if px > 0.0 {
            self.apply_margins();
            self.y += px;
        }
    }

    /// Goes down to `y`, if that is further down.
    pub(super) fn extend_to(&mut self, y: f32) {
        if self.y + self.positive_margin + self.negative_margin < y {
            (self.positive_margin, self.negative_margin) = (0.0, 0.0);
            self.y = y;
        }
    }

    /// Sets a line; returns the top of its first letters and the bottom of its last ones.
    pub(super) fn place_line(&mut self, line: &LineBox, strut: f32, width: f32) -> (f32, f32) {
        self.apply_margins();
        let height = line.height.max(strut);
        let wraps = (line.width_px / width.max(16.0)).ceil().clamp(1.0, 1_000.0);
        let (first, last) = line.glyph_heights.unwrap_or((height, height));
        let top = self.y + (height - first) / 2.0;
        self.y += height * wraps;
        (top, self.y - (height - last) / 2.0)
    }
}

/// Whether nothing of a box can be seen, however large its content is.
pub(super) fn is_hidden_box(style: &ComputedStyle, around: f32) -> bool {
    let px = |length: Length| match length {
        Length::Percent(share) if share > 0.0 => None,
        length => length.to_px(style.font_size, around),
    };
    if (style.clipped_or_shrunk && !matches!(style.display, Display::Inline | Display::Contents))
        || (style.clipped && style.out_of_flow)
    {
        return true;
    }
    if (style.out_of_flow || style.relatively_positioned)
        && [LEFT, TOP]
            .iter()
            .any(|side| px(style.offsets[*side]).is_some_and(|px| px < -400.0))
    {
        return true;
    }
    if px(style.text_indent).is_some_and(|px| px < -500.0)
        || [LEFT, TOP]
            .iter()
            .any(|side| px(style.margin[*side]).is_some_and(|px| px < -1_000.0))
    {
        return true;
    }
    if !style.overflow_clipped
        || matches!(
            style.display,
            Display::Inline
                | Display::Table
                | Display::Cell
                | Display::Row
                | Display::RowGroup
                | Display::Contents
        )
    {
        return false;
    }
    let small = |length: Length, insets: f32| px(length).is_some_and(|px| px + insets <= 1.5);
    let upright = style.padding_and_border(TOP, around) + style.padding_and_border(BOTTOM, around);
    let across = style.padding_and_border(RIGHT, around) + style.padding_and_border(LEFT, around);
    small(style.height, upright)
        || small(style.max_height, upright)
        || small(style.width, across)
        || small(style.max_width, across)
}
