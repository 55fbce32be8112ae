//! Draws the list of saved views.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::render_ctx::{RenderCtx, Theme};
use crate::app::{Layout, Model};
use crate::text::width;

/// Draws the list if it is shown; says whether it is.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) -> bool {
    let Some(chosen) = model.view_chooser() else {
        return false;
    };
    let area = layout.main;
    let left = 1.min(area.width);
    let inner = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    let width = usize::from(inner.width);
    let names = model
        .saved_views()
        .values()
        .map(|view| view.name.width())
        .max()
        .unwrap_or(0)
        .min(width / 3);
    let mut lines = vec![Line::styled("Saved views", Theme::title()), Line::default()];
    for (nth, (number, view)) in model.saved_views().iter().enumerate() {
        let is_chosen = nth == chosen;
        let bar = if is_chosen {
            look.glyphs.selection_bar
        } else {
            " "
        };
        let room = width.saturating_sub(names + 7);
        lines.push(Line::from(vec![
            Span::styled(bar, look.theme.accent()),
            Span::styled(format!("{number}  "), look.theme.accent()),
            Span::styled(
                width::truncate(&view.name, names, look.glyphs.ellipsis),
                if is_chosen {
                    Theme::selected(true)
                } else {
                    Style::new()
                },
            ),
            Span::raw(" ".repeat(names.saturating_sub(view.name.width()) + 2)),
            Span::styled(
                width::truncate(&view.query, room, look.glyphs.ellipsis),
                Style::new(),
            ),
        ]));
    }
    if model.saved_views().is_empty() {
        lines.push(Line::raw(
            "There are none. / narrows the list, W saves what it shows.",
        ));
    }
    // Where there is little room, what is chosen matters more than the title.
    for (line, y) in lines
        .iter()
        .skip(model.view_chooser_scroll(inner.height))
        .zip(inner.top()..inner.bottom())
    {
        frame.buffer_mut().set_line(inner.x, y, line, inner.width);
    }
    true
}
