//! Draws the line that is being typed, and above it what is not understood of it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::render_ctx::{RenderCtx, Theme};
use super::status_bar;
use crate::app::Focus;
use crate::app::{Command, Layout, Model, Prompt, PromptKind, parse_numbered_name, parse_query};
use crate::query::{DateExpr, Diagnostic, ParsedQuery, SyntaxRole};
use crate::text::width;

/// Draws the prompt on the bottom line, if there is one.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let area = layout.bottom;
    let Some(prompt) = model.prompt.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let text = prompt.text();
    let meaning = parse_input(prompt, model);
    let (sign, right) = match prompt.kind() {
        PromptKind::Filter => (
            " / ",
            build_key_hints(model, look, usize::from(area.width) / 2),
        ),
        PromptKind::Date => (" date ", Line::default()),
        PromptKind::Find => (" find ", build_match_position(model)),
        PromptKind::SaveView => (" save as ", Line::default()),
    };
    let sign_width = u16::try_from(sign.len()).unwrap_or(0);
    let room = area
        .width
        .saturating_sub(sign_width + u16::try_from(right.width()).unwrap_or(area.width));
    let (cursor, scroll) = prompt.cursor_columns(usize::from(room));

    // What is still being typed is no mistake yet.
    let at_end = prompt.cursor() == text.len() && !prompt.is_rejected();
    let note = meaning
        .diagnostic_at(prompt.cursor())
        .or(meaning.diagnostics.first());
    let is_calm = note.is_none_or(|note| note.is_incomplete) && at_end;

    let buffer = frame.buffer_mut();
    buffer.set_stringn(
        area.x,
        area.y,
        sign,
        usize::from(area.width),
        look.theme.accent(),
    );
    let start = area.x + sign_width.min(area.width);
    let (mut column, end) = (0_usize, usize::from(room));
    for (at, letter) in text.grapheme_indices(true) {
        let shown = column
            .checked_sub(scroll)
            .filter(|shown| shown + letter.width() <= end);
        if let Some(x) = shown.and_then(|shown| u16::try_from(shown).ok()) {
            buffer.set_string(
                start + x,
                area.y,
                letter,
                style_at(&meaning, at, is_calm, look),
            );
        }
        column += letter.width();
    }
    buffer.set_line(
        area.right() - u16::try_from(right.width()).unwrap_or(0),
        area.y,
        &right,
        area.width,
    );
    let x = start + u16::try_from(cursor.saturating_sub(scroll)).unwrap_or(0);
    frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));
    let mut above = Rect {
        y: area.y.saturating_sub(1),
        ..area
    };
    if let Some(note) = note {
        let words = width::align_left(
            &format!(" {}", note.message),
            usize::from(above.width),
            look.glyphs.ellipsis,
        );
        let style = if is_calm {
            Style::new()
        } else {
            look.theme.error()
        };
        frame
            .buffer_mut()
            .set_stringn(above.x, above.y, words, usize::from(above.width), style);
        above.y = above.y.saturating_sub(1);
    }
    draw_suggestions(model, prompt, above, look, frame);
}

/// Draws what could stand at the cursor, upwards from the line `lowest`.
fn draw_suggestions(
    model: &Model,
    prompt: &Prompt,
    lowest: Rect,
    look: &RenderCtx,
    frame: &mut Frame,
) {
    /// More would hide what is found.
    const MOST: u16 = 7;
    let offers = model.suggestions();
    let typed = &prompt.text()[..prompt.cursor()];
    // After a blank anything could follow; who wants to see all of it asks for it.
    let begun = typed.is_empty() || !typed.ends_with(' ') || prompt.chosen_suggestion().is_some();
    let whole = offers.len() == 1
        && prompt.chosen_suggestion().is_none()
        && typed.ends_with(&offers[0].text);
    let height = MOST
        .min(lowest.y / 3)
        .min(u16::try_from(offers.len()).unwrap_or(MOST));
    if !begun || whole || height == 0 {
        return;
    }
    let first = prompt
        .chosen_suggestion()
        .map_or(0, |nth| (nth + 1).saturating_sub(usize::from(height)));
    let columns = offers
        .iter()
        .skip(first)
        .take(usize::from(height))
        .map(|offer| offer.text.width())
        .max()
        .unwrap_or(0);
    let columns = columns.min(usize::from(lowest.width) / 2);
    let top = lowest.y + 1 - height;
    draw_rule(
        Rect {
            y: top.saturating_sub(1),
            ..lowest
        },
        look,
        frame,
    );
    for (y, (nth, offer)) in (top..=lowest.y).zip(offers.iter().enumerate().skip(first)) {
        let chosen = prompt.chosen_suggestion() == Some(nth);
        let bar = if chosen {
            look.glyphs.selection_bar
        } else {
            " "
        };
        let example = if offer.example.is_empty() {
            String::new()
        } else {
            format!("  {}", offer.example)
        };
        let text = width::align_left(&offer.text, columns, look.glyphs.ellipsis);
        let room = usize::from(lowest.width).saturating_sub(columns + 4);
        let words = width::truncate(&offer.description, room, look.glyphs.ellipsis);
        let example = width::align_left(
            &example,
            room.saturating_sub(words.width()),
            look.glyphs.ellipsis,
        );
        let line = Line::from(vec![
            Span::styled(format!("{bar} "), look.theme.accent()),
            Span::styled(
                text,
                if chosen {
                    Theme::selected(true)
                } else {
                    Style::new()
                },
            ),
            Span::raw(format!("  {words}")),
            Span::styled(example, Theme::chrome()),
        ]);
        frame
            .buffer_mut()
            .set_line(lowest.x, y, &line, lowest.width);
    }
}

fn draw_rule(area: Rect, look: &RenderCtx, frame: &mut Frame) {
    let line = look.glyphs.horizontal_rule.repeat(usize::from(area.width));
    frame.buffer_mut().set_stringn(
        area.x,
        area.y,
        line,
        usize::from(area.width),
        Theme::chrome(),
    );
}

/// What is understood of the line.
fn parse_input(prompt: &Prompt, model: &Model) -> ParsedQuery {
    match prompt.kind() {
        PromptKind::Filter => parse_query(prompt.text(), model.now()),
        PromptKind::Date => {
            let when = DateExpr::parse(prompt.text().trim());
            let what = if prompt.is_rejected() {
                "this is no date; dates are"
            } else {
                "a date, as in"
            };
            let words = format!("{what} 2026-11-02, yesterday, mon, last-week, 7d");
            let notes = if when.is_some() {
                Vec::new()
            } else {
                vec![Diagnostic {
                    range: 0..prompt.text().len(),
                    message: words,
                    is_incomplete: true,
                }]
            };
            ParsedQuery {
                diagnostics: notes,
                ..parse_query("", model.now())
            }
        }
        PromptKind::Find => parse_query("", model.now()),
        PromptKind::SaveView => {
            let words = match parse_numbered_name(prompt.text()) {
                None if prompt.is_rejected() => Some(
                    "not saved yet: it takes a number from 1 to 9 and a name, as in 3 Trouble"
                        .to_owned(),
                ),
                None => Some("a number from 1 to 9 and a name, as in 3 Trouble".to_owned()),
                Some((number, _)) => {
                    let before = model
                        .saved_views()
                        .get(&number)
                        .filter(|view| view.query != model.list.filter().text());
                    before.map(|view| format!("in the place of {} ({})", view.name, view.query))
                }
            };
            let notes = words
                .map(|words| Diagnostic {
                    range: 0..prompt.text().len(),
                    message: words,
                    is_incomplete: true,
                })
                .into_iter()
                .collect();
            ParsedQuery {
                diagnostics: notes,
                ..parse_query("", model.now())
            }
        }
    }
}

/// Which of how many places in the email is shown.
fn build_match_position<'a>(model: &Model) -> Line<'a> {
    let words = match (
        model.reader.find_text(),
        model.reader.current_match(),
        model.reader.matches().len(),
    ) {
        (None, ..) => return Line::default(),
        (Some(_), Some(at), of) => format!("{}/{of} ", at + 1),
        (Some(_), None, _) if model.reader.is_searching() => String::new(),
        (Some(_), None, _) => "not in this text ".to_owned(),
    };
    Line::styled(words, Style::new())
}

/// How many are found, and the keys, as much of it as fits.
fn build_key_hints<'a>(model: &Model, look: &RenderCtx, room: usize) -> Line<'a> {
    let key = |command: Command| {
        let key = model
            .keymap
            .key_for(Focus::Prompt, command)
            .unwrap_or_default();
        [
            Span::styled(format!("  {key}"), look.theme.accent()),
            Span::raw(format!(" {}", command.spec().hint)),
        ]
    };
    let mut spans: Vec<Span> = status_bar::format_count(model, look)
        .map(Span::raw)
        .into_iter()
        .collect();
    spans.extend(key(Command::Accept));
    spans.extend(key(Command::Cancel));
    spans.push(Span::raw(" "));
    while spans.iter().map(Span::width).sum::<usize>() > room && !spans.is_empty() {
        spans.pop();
    }
    Line::from(spans)
}

/// How the letter at this byte looks.
fn style_at(meaning: &ParsedQuery, at: usize, is_calm: bool, look: &RenderCtx) -> Style {
    let span = meaning.spans.iter().find(|span| span.range.contains(&at));
    let role = span.map(|span| {
        if is_calm && span.role == SyntaxRole::Error {
            SyntaxRole::Word
        } else {
            span.role
        }
    });
    role.map_or_else(Style::new, |role| look.theme.query_token(role))
}
