//! Draws a model, and changes nothing.

mod error_details;
mod help;
mod highlight;
mod list;
mod placeholders;
mod prompt;
mod reader;
mod recipient;
mod render_ctx;
mod saved_views;
mod start;
mod status_bar;
#[cfg(test)]
pub mod tests;
mod time;

pub use render_ctx::{Glyphs, RenderCtx, Theme};

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::app::{Arrangement, Layout, Model};

/// Draws the whole screen.
pub fn draw(model: &Model, look: &RenderCtx, frame: &mut Frame) {
    let layout = model.layout();
    status_bar::draw(model, &layout, look, frame);
    let over = [
        help::draw,
        error_details::draw,
        start::draw,
        saved_views::draw,
    ];
    if over.iter().any(|draw| draw(model, &layout, look, frame)) {
        return;
    }
    recipient::draw(model, &layout, look, frame);
    if !placeholders::draw(model, &layout, look, frame) {
        list::draw(model, &layout, look, frame);
        draw_divider(&layout, look, frame);
        reader::draw(model, &layout, look, frame);
    }
    prompt::draw(model, &layout, look, frame);
}

fn draw_divider(layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let Rect {
        x,
        y,
        width,
        height,
    } = layout.divider;
    let glyph = if layout.arrangement == Arrangement::Beside {
        look.glyphs.vertical_rule
    } else {
        look.glyphs.horizontal_rule
    };
    for row in y..y + height {
        for column in x..x + width {
            frame.buffer_mut()[(column, row)]
                .set_symbol(glyph)
                .set_style(Theme::chrome());
        }
    }
}
