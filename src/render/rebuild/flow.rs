//! How far down the page things stand: margins collapse, boxes and lines add up.

use super::line::Line;
use crate::render::judge::{BOTTOM, Display, LEFT, Length, RIGHT, Style, TOP};

/// The place on the page that the walk has come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    /// Pixels from the top.
    pub(super) y: f32,
    /// The largest margin that waits for something to follow it, and the most negative one.
    above: f32,
    below: f32,
}

impl Page {
    /// Leaves a margin, which takes the place of smaller ones beside it.
    pub(super) fn margin(&mut self, px: f32) {
        self.above = self.above.max(px);
        self.below = self.below.min(px);
    }

    /// Makes the margins that wait count.
    pub(super) fn settle(&mut self) {
        self.y += self.above + self.below;
        (self.above, self.below) = (0.0, 0.0);
    }

    /// Takes up `px` pixels, if any.
    pub(super) fn solid(&mut self, px: f32) {
        if px > 0.0 {
            self.settle();
            self.y += px;
        }
    }

    /// Goes down to `y`, if that is further down.
    pub(super) fn reach(&mut self, y: f32) {
        if self.y + self.above + self.below < y {
            (self.above, self.below) = (0.0, 0.0);
            self.y = y;
        }
    }

    /// Sets a line; returns the top of its first letters and the bottom of its last ones.
    pub(super) fn line(&mut self, line: &Line, strut: f32, width: f32) -> (f32, f32) {
        self.settle();
        let height = line.height.max(strut);
        let wraps = (line.length / width.max(16.0)).ceil().clamp(1.0, 1_000.0);
        let (first, last) = line.glyphs.unwrap_or((height, height));
        let top = self.y + (height - first) / 2.0;
        self.y += height * wraps;
        (top, self.y - (height - last) / 2.0)
    }
}

/// Whether nothing of a box can be seen, however large its content is.
pub(super) fn is_away(style: &Style, around: f32) -> bool {
    let px = |length: Length| match length {
        Length::Percent(share) if share > 0.0 => None,
        length => length.px(style.font, around),
    };
    if (style.vanished && !matches!(style.display, Display::Inline | Display::Contents))
        || (style.cut && style.absolute)
    {
        return true;
    }
    if (style.absolute || style.relative)
        && [LEFT, TOP]
            .iter()
            .any(|side| px(style.place[*side]).is_some_and(|px| px < -400.0))
    {
        return true;
    }
    if px(style.indent).is_some_and(|px| px < -500.0)
        || [LEFT, TOP]
            .iter()
            .any(|side| px(style.margin[*side]).is_some_and(|px| px < -1_000.0))
    {
        return true;
    }
    if !style.clips
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
    let upright = style.inset(TOP, around) + style.inset(BOTTOM, around);
    let across = style.inset(RIGHT, around) + style.inset(LEFT, around);
    small(style.height, upright)
        || small(style.max_height, upright)
        || small(style.width, across)
        || small(style.max_width, across)
}
