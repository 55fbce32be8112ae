//! Draws a model, and changes nothing.

mod bars;
mod card;
mod cut;
mod details;
mod found;
mod hall;
mod help;
mod list;
mod look;
mod prompt;
mod reader;
mod screens;
#[cfg(test)]
pub mod tests;
mod time;
mod views;

pub use look::{Glyphs, Look, Theme};

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::app::{Arrangement, Layout, Model};

/// Draws the whole screen.
pub fn draw(model: &Model, look: &Look, frame: &mut Frame) {
    let layout = model.layout();
    bars::draw(model, &layout, look, frame);
    let over = [help::draw, details::draw, hall::draw, views::draw];
    if over.iter().any(|draw| draw(model, &layout, look, frame)) {
        return;
    }
    card::draw(model, &layout, look, frame);
    if !screens::draw(model, &layout, look, frame) {
        list::draw(model, &layout, look, frame);
        divider(&layout, look, frame);
        reader::draw(model, &layout, look, frame);
    }
    prompt::draw(model, &layout, look, frame);
}

fn divider(layout: &Layout, look: &Look, frame: &mut Frame) {
    let Rect {
        x,
        y,
        width,
        height,
    } = layout.divider;
    let glyph = if layout.arrangement == Arrangement::Beside {
        look.glyphs.vertical
    } else {
        look.glyphs.horizontal
    };
    for row in y..y + height {
        for column in x..x + width {
            frame.buffer_mut()[(column, row)]
                .set_symbol(glyph)
                .set_style(Theme::chrome());
        }
    }
}
