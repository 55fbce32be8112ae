//! The vertical position in the layout: margins collapse, boxes and lines add up.

use super::inline::LineBox;
use crate::render::html::NodeId;

/// The vertical position that the builder has reached on the page.
#[derive(Debug, Clone, Default)]
pub(super) struct VerticalCursor {
    /// Pixels from the top.
    pub(super) y: f32,
    /// The largest and the most negative margin that are not applied yet.
    positive_margin: f32,
    negative_margin: f32,
}

impl VerticalCursor {
    /// Adds a margin, which collapses with the adjacent ones.
    pub(super) fn add_margin(&mut self, px: f32) {
        self.positive_margin = self.positive_margin.max(px);
        self.negative_margin = self.negative_margin.min(px);
    }

    /// Applies the pending margins.
    pub(super) fn apply_margins(&mut self) {
        self.y += self.positive_margin + self.negative_margin;
        (self.positive_margin, self.negative_margin) = (0.0, 0.0);
    }

    /// Moves down by `px` pixels; zero keeps the margins pending.
    pub(super) fn advance(&mut self, px: f32) {
        if px > 0.0 {
            self.apply_margins();
            self.y += px;
        }
    }

    /// Moves down to `y`, unless it is above.
    pub(super) fn extend_to(&mut self, y: f32) {
        if self.y + self.positive_margin + self.negative_margin < y {
            (self.positive_margin, self.negative_margin) = (0.0, 0.0);
            self.y = y;
        }
    }

    /// Places a line; returns the top of its first letters and the bottom of its last.
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

/// Boxes that are side by side on the page, as far as they are laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatRow {
    pub(super) parent: Option<NodeId>,
    pub(super) top: f32,
    pub(super) bottom: f32,
    /// Sum of their widths in pixels.
    pub(super) width: f32,
}
