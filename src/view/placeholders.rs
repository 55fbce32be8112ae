//! The screens without emails: loading, empty, failed, and no way to ask the service.

use crate::text::format::{group_digits, plural};
use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::render_ctx::{RenderCtx, Theme};
use super::status_bar;
use crate::app::keymap::key_hints;
use crate::app::{Command, Focus, Layout, Model, StorageMode};
use crate::archive::Coverage;
use crate::error::Error;

/// Draws what there is to say instead of rows; says whether there was something.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) -> bool {
    let area = layout.main;
    if !model.list.rows().is_empty() {
        return false;
    }
    if let Some(problem) = model.list.error() {
        let help = key_hints(
            &model.keymap,
            Focus::List,
            [(Command::Refresh, "tries again")],
        );
        draw_error(
            problem,
            "the archive cannot be read",
            &help,
            area,
            look,
            frame,
        );
    } else if !model.list.filter().is_empty() && !model.list.is_loading() {
        draw_no_matches(model, area, look, frame);
    } else if let Some(problem) = model.service.unavailable() {
        let (again, leave) = ((Command::Refresh, "tries again"), (Command::Back, "leaves"));
        let help = if model.service.is_refused() {
            key_hints(&model.keymap, Focus::List, [again, leave])
        } else {
            key_hints(&model.keymap, Focus::List, [leave])
        };
        draw_error(
            problem,
            "the service cannot be asked",
            &help,
            area,
            look,
            frame,
        );
    } else if let Some(problem) = model.service.error() {
        let help = key_hints(
            &model.keymap,
            Focus::List,
            [(Command::Refresh, "tries now")],
        );
        draw_error(
            problem,
            "there is nothing to show yet",
            &format!("sentbox tries again by itself; {help}"),
            area,
            look,
            frame,
        );
    } else if model.list.is_loading() {
        // The archive answers within a few milliseconds; a word would only flicker.
    } else if model.service.has_answered() {
        let lines = vec![
            Line::styled("Nothing was sent yet", Theme::title()),
            Line::default(),
            Line::raw("The service answers, but its list is empty."),
            Line::raw("New emails appear here by themselves."),
        ];
        draw_centered(lines, area, frame);
    } else {
        let lines = vec![
            Line::styled(
                format!("Asking for the newest emails{}", look.glyphs.ellipsis),
                Theme::title(),
            ),
            Line::default(),
            Line::raw(match &model.storage {
                StorageMode::InFile(file) => format!(
                    "What comes is kept in {file}, for you alone, and is there at once next time."
                ),
                StorageMode::InMemory | StorageMode::Unavailable(_) | StorageMode::ReadOnly(_) => {
                    "What comes is not kept: it is gone when you leave.".to_owned()
                }
            }),
        ];
        draw_centered(lines, area, frame);
    }
    true
}

/// Nothing matches: of how many, and what helps.
fn draw_no_matches(model: &Model, area: Rect, look: &RenderCtx, frame: &mut Frame) {
    let list = &model.list;
    let mut lines = vec![
        Line::styled("Nothing matches", Theme::title()),
        Line::raw(list.filter().text().to_owned()),
        Line::default(),
    ];
    if let Some(all) = list.archive_total() {
        let reach = model.service.reach();
        let whole = reach == Some(&Coverage::Complete);
        let since = reach
            .filter(|_| !whole)
            .map(|reach| status_bar::format_coverage(reach, look))
            .unwrap_or_default();
        let all_of = if whole { "all " } else { "" };
        lines.push(Line::raw(format!(
            "Looked at {all_of}{}{since}.",
            plural(all, "email")
        )));
        if let Some(fetched) = list
            .bodies_known()
            .filter(|fetched| *fetched < all && list.filter().needs_bodies())
        {
            lines.push(Line::raw(format!(
                "Bodies and tags are known for {} of them.",
                group_digits(fetched, ' ')
            )));
        }
    }
    let key = |command| {
        model
            .keymap
            .key_for(Focus::List, command)
            .unwrap_or_default()
    };
    if model.prompt.is_none() && list.filter().query().depends_on_status() {
        let words = match model.status_check().filter(|_| model.service.can_confirm()) {
            Some(check) => status_bar::format_status_check(check, look),
            None => "statuses not checked: the service does not answer".to_owned(),
        };
        lines.push(Line::raw(format!("{}.", capitalize(&words))));
    }
    if model.prompt.is_none() {
        let back = if model.is_status_check_paused() {
            format!("{} checks further; ", key(Command::Open))
        } else if model.may_find_older() {
            format!("{} looks further back; ", key(Command::Open))
        } else {
            String::new()
        };
        lines.extend([
            Line::default(),
            Line::raw(format!(
                "{back}{} shows all mail again",
                key(Command::CloseLayer)
            )),
        ]);
    }
    draw_centered(lines, area, frame);
}

/// Draws a failure: what it means here, what happened, what helps.
pub fn draw_error(
    failure: &Error,
    here: &str,
    key: &str,
    area: Rect,
    look: &RenderCtx,
    frame: &mut Frame,
) {
    let mut lines = vec![
        Line::styled(capitalize(here), look.theme.error()),
        Line::default(),
        Line::raw(capitalize(&failure.message)),
    ];
    if !failure.hint.is_empty() {
        lines.push(Line::raw(capitalize(&failure.hint)));
    }
    lines.extend([Line::default(), Line::styled(key.to_owned(), Style::new())]);
    draw_centered(lines, area, frame);
}

fn draw_centered(lines: Vec<Line>, area: Rect, frame: &mut Frame) {
    let width = area.width.saturating_sub(4).min(76);
    let needed: usize = lines
        .iter()
        .map(|line| line.width().div_ceil(usize::from(width.max(1))).max(1))
        .sum();
    let height = u16::try_from(needed).unwrap_or(u16::MAX).min(area.height);
    let inner = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 3,
        width,
        height,
    };
    frame.render_widget(
        Paragraph::new(Text::from(lines))
            .alignment(Alignment::Center)
            .wrap(Wrap { trim: true }),
        inner,
    );
}

/// With a large first letter, unless it begins with an address, which has its own spelling.
fn capitalize(message: &str) -> String {
    if message
        .split_whitespace()
        .next()
        .is_some_and(|word| word.contains("://"))
    {
        return message.to_owned();
    }
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
