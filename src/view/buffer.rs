//! Helpers that write lines, rules and highlights into the frame's buffer.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::render_ctx::RenderCtx;
use super::theme::Theme;
use crate::query::{Field, NormalizedText, Query};
use crate::text::width::DisplayWidth as _;

/// Removes columns at the left and right of `area`.
pub const fn inset(area: Rect, left: u16, right: u16) -> Rect {
    let left = if left < area.width { left } else { area.width };
    Rect {
        x: area.x + left,
        width: area.width.saturating_sub(left + right),
        ..area
    }
}

/// Draws lines from the top of `area`, cut at its right and bottom edge.
///
/// A `Text` or `Line` widget would style whole rows; each styled space is a byte for the terminal.
pub fn draw_lines<'a>(
    lines: impl IntoIterator<Item = &'a Line<'a>>,
    area: Rect,
    frame: &mut Frame,
) {
    for (line, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        frame.buffer_mut().set_line(area.x, y, line, area.width);
    }
}

/// Draws a horizontal rule on the first row of `area`.
pub fn draw_rule(area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let columns = usize::from(area.width);
    let rule = ctx.glyphs.horizontal_rule.repeat(columns);
    frame
        .buffer_mut()
        .set_stringn(area.x, area.y, rule, columns, ctx.theme.chrome());
}

/// Styles byte ranges of `text`, which is drawn in the row `area` without its first
/// `pan` columns.
pub fn style_ranges(
    text: &str,
    ranges: &[Range<usize>],
    pan: usize,
    style: Style,
    area: Rect,
    frame: &mut Frame,
) {
    let column = |byte: usize| {
        let column = text[..byte].width().saturating_sub(pan);
        u16::try_from(column).unwrap_or(u16::MAX).min(area.width)
    };
    for range in ranges {
        let (start, end) = (column(range.start), column(range.end));
        let area = Rect {
            x: area.x.saturating_add(start),
            width: end - start,
            ..area
        };
        frame.buffer_mut().set_style(area, style);
    }
}

/// Underlines in the row `area`, where `text` is drawn,
/// what `query` searches in one of `fields`.
pub fn highlight_matches(
    text: &str,
    fields: &[Field],
    query: &Query,
    area: Rect,
    frame: &mut Frame,
) {
    let terms = query.highlight_terms();
    if terms.is_empty() {
        return;
    }
    let normalized = NormalizedText::new(text);
    for (field, term) in terms {
        if field.is_none_or(|field| fields.contains(&field)) {
            let ranges = normalized.find_substrings(term);
            style_ranges(text, &ranges, 0, Theme::highlight(false), area, frame);
        }
    }
}

/// Writes from left to right and stops at the end of the line.
pub struct LineWriter<'a, 'b> {
    position: Position,
    right: u16,
    frame: &'a mut Frame<'b>,
}

impl<'a, 'b> LineWriter<'a, 'b> {
    /// Starts at the left of the given row of `area`.
    pub const fn new(area: Rect, row: u16, frame: &'a mut Frame<'b>) -> Self {
        Self {
            position: Position::new(area.x, area.y + row),
            right: area.x.saturating_add(area.width),
            frame,
        }
    }

    pub fn write(&mut self, text: &str, style: Style) {
        let columns = usize::from(self.right.saturating_sub(self.position.x));
        if columns > 0 && !text.is_empty() {
            let Position { x, y } = self.position;
            let buffer = self.frame.buffer_mut();
            (self.position.x, _) = buffer.set_stringn(x, y, text, columns, style);
        }
    }

    /// Writes `shown` in `style` and underlines matches of `query` in it.
    ///
    /// `text` is what `shown` was cut from: matches are found in it as a whole.
    pub fn write_highlighted(
        &mut self,
        shown: &str,
        style: Style,
        text: &str,
        fields: &[Field],
        query: &Query,
    ) {
        let area = Rect {
            x: self.position.x,
            y: self.position.y,
            width: u16::try_from(shown.width()).unwrap_or(u16::MAX),
            height: 1,
        };
        self.write(shown, style);
        highlight_matches(text, fields, query, area, self.frame);
    }
}
