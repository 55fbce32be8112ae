//! Draws the help over everything else.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::render_ctx::{RenderCtx, Theme};
use crate::app::keymap::{HelpLine, help_lines};
use crate::app::{Layout, Model};
use crate::text::width;

/// Columns of the keys.
const MAX_KEYS_WIDTH: usize = 22;

/// Draws the help if it is shown; says whether it is.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) -> bool {
    let Some(scroll) = model.help else {
        return false;
    };
    let area = layout.main;
    let keys = MAX_KEYS_WIDTH.min(usize::from(area.width) * 2 / 5);
    let mut lines = vec![Line::styled("Keys", Theme::title()), Line::default()];
    lines.extend(
        help_lines(&model.keymap)
            .into_iter()
            .skip(scroll)
            .map(|line| match line {
                HelpLine::Title(title) => Line::styled(title, Theme::title()),
                HelpLine::Blank => Line::default(),
                HelpLine::Status(status) => Line::from(vec![
                    Span::styled(
                        width::align_left(
                            &format!("{} {}", look.glyphs.status(&status), status.label()),
                            keys,
                            look.glyphs.ellipsis,
                        ),
                        look.theme.status(&status),
                    ),
                    Span::raw(format!(" {}", status.meaning())),
                ]),
                HelpLine::Changed(words) => Line::from(vec![
                    Span::styled(
                        width::align_left(look.glyphs.changed, keys, ""),
                        look.theme.new_mail(),
                    ),
                    Span::raw(format!(" {words}")),
                ]),
                HelpLine::Gone(words) => Line::from(vec![
                    Span::raw(width::align_left(look.glyphs.deleted, keys, "")),
                    Span::raw(format!(" {words}")),
                ]),
                HelpLine::Keys(all, spec) => Line::from(vec![
                    Span::styled(
                        width::align_left(&all, keys, look.glyphs.ellipsis),
                        look.theme.accent(),
                    ),
                    Span::raw(format!(" {}", spec.help)),
                ]),
            }),
    );
    let left = area.x + 2.min(area.width);
    let inner = Rect {
        x: left,
        width: area.width.saturating_sub(2),
        ..area
    };
    for (line, y) in lines.iter().zip(inner.top()..inner.bottom()) {
        frame.buffer_mut().set_line(inner.x, y, line, inner.width);
    }
    true
}
