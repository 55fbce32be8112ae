//! Draws the line that is being typed, and above it what is not understood of it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::look::Look;
use super::{bars, cut};
use crate::app::keys::{Focus, key_for};
use crate::app::{Command, Layout, Model, parsed};
use crate::query::Parsed;

/// Columns of the sign at the start, with a blank on both sides.
const SIGN: u16 = 3;

/// Draws the prompt on the bottom line, if there is one.
pub fn draw(model: &Model, layout: &Layout, look: &Look, frame: &mut Frame) {
    let area = layout.bottom;
    let Some(prompt) = model.prompt.as_ref().filter(|_| !area.is_empty()) else { return };
    let text = prompt.text();
    let meaning = parsed(text, model.now());
    let right = right(model, look, usize::from(area.width) / 2);
    let room = area.width.saturating_sub(SIGN + u16::try_from(right.width()).unwrap_or(area.width));
    let (cursor, scroll) = prompt.columns(usize::from(room));

    let buffer = frame.buffer_mut();
    buffer.set_stringn(area.x, area.y, " / ", usize::from(area.width), look.theme.accent());
    let start = area.x + SIGN.min(area.width);
    let (mut column, end) = (0_usize, usize::from(room));
    for (at, letter) in text.grapheme_indices(true) {
        let shown = column.checked_sub(scroll).filter(|shown| shown + letter.width() <= end);
        if let Some(x) = shown.and_then(|shown| u16::try_from(shown).ok()) {
            buffer.set_string(start + x, area.y, letter, style(&meaning, at, look));
        }
        column += letter.width();
    }
    buffer.set_line(area.right() - u16::try_from(right.width()).unwrap_or(0), area.y, &right, area.width);
    let x = start + u16::try_from(cursor.saturating_sub(scroll)).unwrap_or(0);
    frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));
    if let Some(note) = meaning.note_at(prompt.cursor()).or(meaning.notes.first()) {
        let above = Rect { y: area.y.saturating_sub(1), ..area };
        let words = cut::fit(&format!(" {}", note.words), usize::from(above.width), look.glyphs.ellipsis);
        frame.buffer_mut().set_stringn(above.x, above.y, words, usize::from(above.width), look.theme.trouble());
    }
}

/// How many are found, and the keys, as much of it as fits.
fn right<'a>(model: &Model, look: &Look, room: usize) -> Line<'a> {
    let key = |command: Command| {
        let key = key_for(Focus::Prompt, command).unwrap_or_default();
        [Span::styled(format!("  {key}"), look.theme.accent()), Span::styled(format!(" {}", command.hint()), look.theme.text())]
    };
    let mut spans: Vec<Span> = bars::count(model, look).map(|count| Span::styled(count, look.theme.text())).into_iter().collect();
    spans.extend(key(Command::Accept));
    spans.extend(key(Command::Cancel));
    spans.push(Span::raw(" "));
    while spans.iter().map(Span::width).sum::<usize>() > room && !spans.is_empty() {
        spans.pop();
    }
    Line::from(spans)
}

/// How the letter at this byte looks.
fn style(meaning: &Parsed, at: usize, look: &Look) -> Style {
    let span = meaning.spans.iter().find(|span| span.range.contains(&at));
    span.map_or_else(Style::new, |span| look.theme.typed(span.role))
}
