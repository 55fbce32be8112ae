//! Draws the prompt, and above it hints and suggestions.
//!
//! `bars` leaves the bottom line free while a prompt has the focus.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use unicode_segmentation::UnicodeSegmentation;

use super::buffer::{draw_lines, draw_rule};
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use super::wording;
use crate::app::{
    Command, Focus, Layout, Model, Prompt, PromptKind, parse_numbered_name, parse_query,
};
use crate::config::ListColumn;
use crate::export::SetFormat;
use crate::query::{DateExpr, Diagnostic, SyntaxRole, SyntaxSpan};
use crate::text::format::group_digits;
use crate::text::width::{DisplayWidth as _, wrap};

/// More suggestions would hide too much of the list.
const MAX_SUGGESTIONS: u16 = 7;

/// Draws the prompt on the bottom line, if it is open.
pub fn draw(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let area = layout.bottom;
    let Some(prompt) = model.prompt.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let columns = usize::from(area.width);
    let (label, right) = match prompt.kind {
        PromptKind::Filter => {
            // A short filter leaves columns beside itself and some more letters.
            let free = columns.saturating_sub(prompt.text().width() + 16);
            let free = free.max(columns / 2);
            let count = wording::format_count(model);
            (" / ", build_key_hints(count, model, ctx, free))
        }
        PromptKind::Date => (" date ", Line::default()),
        PromptKind::Find => (" find ", format_match_position(model).into()),
        PromptKind::Columns => (" columns ", Line::default()),
        PromptKind::SaveView => (" save as ", Line::default()),
        PromptKind::SaveEmail | PromptKind::SaveAttachment(_) => (" save to ", Line::default()),
        PromptKind::Export(_) => (" export to ", Line::default()),
        PromptKind::Pipe => (" | ", Line::default()),
        PromptKind::Help => (" help ", build_key_hints(None, model, ctx, columns * 2 / 3)),
    };
    let label_width = u16::try_from(label.len()).unwrap_or(0);
    let right_width = u16::try_from(right.width()).unwrap_or(area.width);
    let text_width = usize::from(area.width.saturating_sub(label_width + right_width));
    let (cursor, scroll) = prompt.cursor_columns(text_width);

    let (spans, hint) = parse_input(prompt, model);
    // Input that is still being typed is not yet an error.
    let is_error = !hint.as_ref().is_none_or(|hint| hint.is_incomplete)
        || prompt.cursor() != prompt.text().len()
        || prompt.is_rejected;

    let buffer = frame.buffer_mut();
    buffer.set_stringn(area.x, area.y, label, columns, ctx.theme.accent());
    let start = area.x + label_width.min(area.width);
    if scroll > 0 {
        // The space before the text shows that its start is cut.
        let style = ctx.theme.chrome();
        buffer.set_stringn(start - 1, area.y, ctx.glyphs.ellipsis, 1, style);
    }
    let style_at = |byte| style_at(&spans, byte, is_error, ctx);
    let at = Position::new(start, area.y);
    draw_text(prompt.text(), scroll, text_width, style_at, at, buffer);
    let right_start = area.right().saturating_sub(right_width);
    buffer.set_line(right_start, area.y, &right, area.width);
    let x = start + u16::try_from(cursor.saturating_sub(scroll)).unwrap_or(0);
    frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));

    // The next key ends a notice about the input; a failure would hide the hint for long.
    let notice = model
        .notice_text()
        .filter(|_| model.failure_notice().is_none());
    let message = notice.or(hint.as_ref().map(|hint| hint.message.as_str()));
    let hint_rows = message.map_or(0, |message| {
        let style = if is_error && notice.is_none() {
            ctx.theme.error()
        } else {
            Style::new()
        };
        // The chosen line of the help stays visible.
        let end = prompt.help.top(model.help_height()) + usize::from(layout.main.height);
        let below = |chosen: usize| end.saturating_sub(chosen + 1);
        let max_lines = prompt.help.chosen.map_or(usize::MAX, below);
        let max_lines = max_lines.min(usize::from(area.y / 2));
        draw_hint(message, style, max_lines, area, ctx, frame)
    });
    let y = area.y.saturating_sub(hint_rows).saturating_sub(1);
    draw_suggestions(model, prompt, Rect { y, ..area }, ctx, frame);
}

/// Draws as much of the text from the column `scroll` on as fits into `width` columns.
fn draw_text(
    text: &str,
    scroll: usize,
    width: usize,
    style_at: impl Fn(usize) -> Style,
    at: Position,
    buffer: &mut Buffer,
) {
    let mut column = 0_usize;
    for (byte, grapheme) in text.grapheme_indices(true) {
        let shown = column
            .checked_sub(scroll)
            .filter(|shown| shown + grapheme.width() <= width);
        if let Some(x) = shown.and_then(|shown| u16::try_from(shown).ok()) {
            buffer.set_string(at.x + x, at.y, grapheme, style_at(byte));
        }
        column += grapheme.width();
    }
}

/// Draws a hint in the rows above the prompt; returns how many it takes.
fn draw_hint(
    text: &str,
    style: Style,
    max_lines: usize,
    prompt: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) -> u16 {
    let lines = wrap_hint(text, prompt.width.into(), max_lines, ctx);
    let lines = lines.into_iter().map(|line| Line::styled(line, style));
    let lines: Vec<Line> = lines.collect();
    let height = u16::try_from(lines.len()).unwrap_or(1);
    let y = prompt.y.saturating_sub(height);
    let area = Rect {
        y,
        height,
        ..prompt
    };
    draw_lines(&lines, area, frame);
    height
}

/// Wraps a hint into at most `max_lines` lines of all columns;
/// the last one has an ellipsis if it is cut.
fn wrap_hint(text: &str, columns: usize, max_lines: usize, ctx: &RenderCtx) -> Vec<String> {
    let mut lines = wrap(text, columns.saturating_sub(2).max(1));
    if lines.len() > max_lines.max(1) {
        let rest = lines.split_off(max_lines.max(1) - 1).join(" ");
        lines.push(rest);
    }
    let lines = lines.iter().map(|line| format!(" {line}"));
    lines.map(|line| ctx.align_left(&line, columns)).collect()
}

/// Draws the suggestions from the row `lowest` upwards, under a rule.
fn draw_suggestions(
    model: &Model,
    prompt: &Prompt,
    lowest: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) {
    let suggestions = model.suggestions();
    let chosen = prompt.chosen_suggestion();
    let typed = &prompt.text()[..prompt.cursor()];
    // After a space everything could follow; a key opens the list.
    let begun = typed.is_empty() || !typed.ends_with(' ') || chosen.is_some();
    let complete =
        suggestions.len() == 1 && chosen.is_none() && typed.ends_with(&suggestions[0].text);
    let height = u16::try_from(suggestions.len())
        .unwrap_or(u16::MAX)
        .min(MAX_SUGGESTIONS)
        .min(lowest.y / 3);
    if !begun || complete || height == 0 {
        return;
    }
    let first = chosen.map_or(0, |nth| (nth + 1).saturating_sub(usize::from(height)));
    let visible = suggestions.iter().enumerate().skip(first);
    let visible = visible.take(usize::from(height));
    let widest = visible.clone().map(|(_, item)| item.text.width()).max();
    let columns = widest.unwrap_or(0).min(usize::from(lowest.width) / 2);
    let rest = usize::from(lowest.width).saturating_sub(columns + 4);
    let lines: Vec<Line> = visible
        .map(|(nth, item)| {
            let is_chosen = chosen == Some(nth);
            let description = ctx.truncate(&item.description, rest);
            let example = if item.example.is_empty() {
                String::new()
            } else {
                format!("  {}", item.example)
            };
            let example = ctx.align_left(&example, rest.saturating_sub(description.width()));
            Line::from(vec![
                Span::styled(
                    format!("{} ", ctx.glyphs.bar(is_chosen)),
                    ctx.theme.accent(),
                ),
                Span::styled(ctx.align_left(&item.text, columns), Theme::item(is_chosen)),
                Span::raw(format!("  {description}")),
                Span::styled(example, ctx.theme.chrome()),
            ])
        })
        .collect();
    let y = lowest.y + 1 - height;
    let area = Rect {
        y,
        height,
        ..lowest
    };
    frame.render_widget(Clear, area);
    draw_lines(&lines, area, frame);
    let y = y.saturating_sub(1);
    let rule = Rect { y, ..lowest };
    draw_rule(rule, ctx, frame);
    let hidden = suggestions.len().saturating_sub(height.into());
    if hidden > 0 {
        let text = format!(" {} more ", group_digits(hidden as u64, ' '));
        let width = u16::try_from(text.len()).unwrap_or(rule.width);
        let x = rule.right().saturating_sub(width + 1);
        let buffer = frame.buffer_mut();
        buffer.set_stringn(x, y, text, rule.width.into(), Style::new());
    }
}

/// Parses the input: styled ranges of a filter, and the hint above the prompt.
pub fn parse_input(prompt: &Prompt, model: &Model) -> (Vec<SyntaxSpan>, Option<Diagnostic>) {
    const DATES: &str = "2026-11-02, 3 nov, yesterday, mon, last-week, 7d";
    const VIEW: &str = "a number from 1 to 9 and a name, such as 3 Trouble";
    let hint = match prompt.kind {
        PromptKind::Filter => {
            let parsed = parse_query(prompt.text(), &model.now, model.session.mailbox);
            let hint = parsed
                .diagnostic_at(prompt.cursor())
                .or(parsed.diagnostics.first())
                .cloned();
            return (parsed.spans, hint);
        }
        PromptKind::Date if prompt.is_rejected => Some(format!("not a date; examples: {DATES}")),
        PromptKind::Date if DateExpr::parse_local(prompt.text().trim(), &model.now).is_some() => {
            None
        }
        PromptKind::Date => Some(format!("a date, such as {DATES}")),
        PromptKind::Columns if prompt.is_rejected => {
            Some(format!("not a column; a column is {}", ListColumn::SYNTAX))
        }
        PromptKind::Columns => Some(ListColumn::SYNTAX.to_owned()),
        PromptKind::Find => None,
        PromptKind::Help => Some(match (model.chosen_command(), prompt.text().trim()) {
            (Some((spec, Some(reason))), _) => format!("{}: not now, {reason}", spec.name),
            (Some((spec, None)), _) => spec.name.to_owned(),
            (None, "") => "type to search".to_owned(),
            (None, text) => format!("no command matches {text}"),
        }),
        PromptKind::SaveEmail if prompt.is_rejected => {
            Some("not saved: end the name with .eml, .html, .txt or .json".to_owned())
        }
        PromptKind::SaveEmail => Some("a new file ending in .eml, .html, .txt or .json".to_owned()),
        PromptKind::SaveAttachment(_) => Some("a new file, or a folder to put it in".to_owned()),
        PromptKind::Export(SetFormat::Files(_)) => {
            Some("a new folder, with one file for each email".to_owned())
        }
        PromptKind::Export(_) => Some("a new file".to_owned()),
        PromptKind::Pipe => Some("a shell command that reads the body, such as less".to_owned()),
        PromptKind::SaveView => match parse_numbered_name(prompt.text()) {
            None if prompt.is_rejected => Some(format!("not saved: type {VIEW}")),
            None => Some(VIEW.to_owned()),
            Some((number, _)) => model.replaced_view(number).map(|view| {
                let again = match (prompt.is_rejected, model.session.is_linear) {
                    (false, _) => "",
                    (true, false) => "Enter again ",
                    (true, true) => "the same line again ",
                };
                format!("{again}replaces {} ({})", view.name, view.query)
            }),
        },
    };
    let hint = hint.map(|message| Diagnostic {
        range: 0..prompt.text().len(),
        message,
        is_incomplete: true,
        meant: None,
        value: None,
    });
    (Vec::new(), hint)
}

/// Formats which match in the email is shown, and how many there are.
fn format_match_position(model: &Model) -> String {
    let reader = &model.reader;
    match (reader.find_text(), reader.current_match) {
        (None, _) => String::new(),
        (Some(_), Some(current)) => format!("{}/{} ", current + 1, reader.matches().len()),
        (Some(_), None) if reader.is_searching() => String::new(),
        (Some(_), None) => "no match ".to_owned(),
    }
}

/// Builds the number of matches, if there is one, and the keys, as much as fits.
fn build_key_hints<'a>(
    count: Option<String>,
    model: &Model,
    ctx: &RenderCtx,
    columns: usize,
) -> Line<'a> {
    let mut spans: Vec<Span> = Vec::new();
    spans.extend(count.map(Span::raw));
    let is_empty = (model.prompt.as_ref()).is_none_or(|prompt| prompt.text().is_empty());
    let clear = (!is_empty && !model.is_help_open()).then_some(Command::DeleteAllBefore);
    for command in [Command::Accept, Command::Cancel].into_iter().chain(clear) {
        let Some(key) = model.session.keymap.key_for(Focus::Prompt, command) else {
            continue;
        };
        spans.push(Span::styled(format!("  {key}"), ctx.theme.accent()));
        spans.push(Span::raw(format!(" {}", command.spec().hint)));
    }
    // A key without its label says nothing.
    while !spans.is_empty() && spans.iter().map(Span::width).sum::<usize>() >= columns {
        spans.truncate(spans.len().saturating_sub(2));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}

/// Returns the style of the character at a byte of the input.
fn style_at(spans: &[SyntaxSpan], byte: usize, is_error: bool, ctx: &RenderCtx) -> Style {
    let span = spans.iter().find(|span| span.range.contains(&byte));
    span.map_or_else(Style::new, |span| match span.role {
        SyntaxRole::Error if !is_error => ctx.theme.query_token(SyntaxRole::Word),
        role => ctx.theme.query_token(role),
    })
}
