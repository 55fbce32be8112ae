//! Draws a model; changes nothing.

mod bars;
mod buffer;
pub mod linear;
mod list;
mod overlays;
mod placeholders;
mod prompt;
mod reader;
mod recipient;
mod render_ctx;
mod start;
mod statistics;
#[cfg(test)]
pub mod tests;
mod theme;
mod wording;

pub use render_ctx::{Glyphs, RenderCtx};
pub use theme::Theme;

use ratatui::Frame;
use ratatui::layout::Position;

use crate::app::{Arrangement, Chooser, ChooserKind, ClickTarget, Focus, Layout, Model};

/// Draws the whole screen.
pub fn draw(model: &Model, ctx: &RenderCtx, frame: &mut Frame) {
    let layout = model.layout();
    bars::draw(model, &layout, ctx, frame);
    if let Some(help) = model.prompt.as_ref().filter(|_| model.is_help_open()) {
        overlays::draw_help(help, model, layout.main, ctx, frame);
        prompt::draw(model, &layout, ctx, frame);
    } else if let Some(error) = &model.error_details {
        overlays::draw_error_details(error, layout.main, ctx, frame);
    } else if let Some(screen) = &model.start_screen {
        start::draw(screen, model, layout.main, ctx, frame);
    } else if let Some(Chooser { kind, selected, .. }) = &model.chooser {
        let draw_list = match kind {
            ChooserKind::Statistics => statistics::draw,
            _ => overlays::draw_chooser,
        };
        draw_list(*selected, model, layout.main, ctx, frame);
    } else {
        recipient::draw(model, &layout, ctx, frame);
        if model.list.rows().is_empty() {
            placeholders::draw(model, layout.main, ctx, frame);
        } else {
            list::draw(model, &layout, ctx, frame);
            draw_divider(model, &layout, ctx, frame);
            reader::draw(model, &layout, ctx, frame);
        }
        prompt::draw(model, &layout, ctx, frame);
    }
    overlays::draw_continuations(model, layout.main, ctx, frame);
    if !model.banner.is_empty() {
        overlays::draw_banner(&model.banner, layout.main, ctx, frame);
    }
    ctx.glyphs.replace_symbols(frame.buffer_mut());
}

/// Makes the links of the open email hyperlinks of the terminal,
/// if nothing is in front of it. Browsing the list draws many emails for a moment, where the URLs
/// would only cost bytes.
pub fn add_hyperlinks(model: &Model, ctx: &RenderCtx, frame: &mut Frame) {
    if ctx.hyperlinks && model.focus() == Focus::Reader && model.banner.is_empty() {
        reader::add_hyperlinks(model, &model.layout(), frame.buffer_mut());
    }
}

/// Returns what a press of the mouse hits: a key hint, a tab, a link.
/// Rows and panes are known to the model itself.
pub fn click_target(model: &Model, ctx: &RenderCtx, at: Position) -> Option<ClickTarget> {
    let layout = model.layout();
    if model.focus() == Focus::Prompt || !model.banner.is_empty() {
        None
    } else if layout.bottom.contains(at) {
        bars::command_at(model, &layout, ctx, at.x).map(ClickTarget::Command)
    } else if matches!(model.focus(), Focus::List | Focus::Reader) {
        reader::target_at(model, &layout, at)
    } else {
        None
    }
}

/// Returns the filter that a press of the second mouse button on a cell of the list
/// sets.
pub fn cell_target(model: &Model, ctx: &RenderCtx, at: Position) -> Option<ClickTarget> {
    let layout = model.layout();
    let has_panes = matches!(model.focus(), Focus::List | Focus::Reader) && model.banner.is_empty();
    if !has_panes || !layout.list.contains(at) {
        return None;
    }
    let command = list::cell_command(model, &layout, ctx, at)?;
    Some(ClickTarget::Cell(at, command))
}

fn draw_divider(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    if layout.has_tabs_in_divider() {
        return reader::draw_tabs_above(model, layout.divider, ctx, frame);
    }
    let glyph = if layout.arrangement == Arrangement::Beside {
        ctx.glyphs.vertical_rule
    } else {
        ctx.glyphs.horizontal_rule
    };
    for position in layout.divider.positions() {
        frame.buffer_mut()[position]
            .set_symbol(glyph)
            .set_style(ctx.theme.chrome());
    }
}
