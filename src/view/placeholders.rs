//! Draws screens without emails: loading, empty, failed, no connection.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::render_ctx::RenderCtx;
use super::theme::Theme;
use super::wording::{
    COMPLETE, format_changes, format_filter_check, format_list_age, format_oldest_listed,
    format_searched, format_stop_hint,
};
use crate::app::{Command, Focus, Model, PromptKind, ServiceState, StorageMode};
use crate::archive::PURGED;
use crate::error::Error;
use crate::query::Node;
use crate::text::format::{format_pause, group_digits, plural};
use crate::text::width::{DisplayWidth as _, wrap};

/// Shown in place of an offer to search older mail that is about to begin anyway.
pub const OLDER_NEXT: &str = "older mail is searched next";

/// Draws why there are no rows.
pub fn draw(model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let hint = |command, label| model.list_hints(&[(command, label)]);
    let service = &model.service;
    if let Some(error) = model.list.error() {
        let help = hint(Command::Refresh, "tries again");
        let title = "the archive cannot be read";
        draw_error(error, title, &help, area, ctx, frame);
    } else if !model.list.filter.is_empty() && !model.list.is_loading() {
        draw_no_matches(model, area, ctx, frame);
    } else if let Some(unavailable) = &service.unavailable {
        let keys = [(Command::Refresh, "tries again"), (Command::Back, "leaves")];
        let possible = usize::from(!unavailable.is_refused);
        let help = model.list_hints(&keys[possible..]);
        let title = model.service_state().label();
        draw_error(&unavailable.error, title, &help, area, ctx, frame);
    } else if let Some(error) = service.error.as_ref() {
        let help = hint(Command::Refresh, "tries now");
        let next = model.long_pause_until().map_or_else(
            || "retrying automatically".to_owned(),
            |until| format!("the next request is at {}", model.format_until(until)),
        );
        let title = format!("{}: nothing to show yet", model.service_state().label());
        draw_error(error, &title, &format!("{next}; {help}"), area, ctx, frame);
    } else if model.list.is_loading() {
        // The archive responds within a few milliseconds; a text would only flicker.
    } else if service.has_answered && service.has_unreadable_top() {
        let lines = vec![
            Line::styled("No email could be read", Theme::title()),
            Line::default(),
            Line::raw("The service lists emails, but they have no id, or are too long."),
            Line::raw(hint(Command::Refresh, "tries again")),
        ];
        draw_centered(lines, area, frame);
    } else if service.has_answered && model.list.total == Some(0) {
        let left_out = model.list.left_out;
        let text = if left_out.has_omitted_old || left_out.purged {
            "The archive leaves out what was purged and what is older than it keeps."
        } else {
            "The service responds, but its list is empty."
        };
        let lines = vec![
            Line::styled(capitalize(model.empty_text()), Theme::title()),
            Line::default(),
            Line::raw(text),
            Line::raw("New emails appear here automatically."),
        ];
        draw_centered(lines, area, frame);
    } else {
        draw_first_load(model, area, ctx, frame);
    }
}

/// Draws that the first page loads, and where emails are stored.
fn draw_first_load(model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let title = format!("Loading the newest emails{}", ctx.glyphs.ellipsis);
    let storage = match &model.session.storage {
        StorageMode::InFile(file) => format!(
            "Emails are stored in {file}, readable only by you, and shown at once next time."
        ),
        StorageMode::OnServer(url) => {
            format!("Emails are stored in {url}, where others may read them.")
        }
        StorageMode::InMemory | StorageMode::Unavailable(_) | StorageMode::ReadOnly(_) => {
            "Emails are not stored: they are gone when you leave.".to_owned()
        }
    };
    let mut lines = vec![
        Line::styled(title, Theme::title()),
        Line::default(),
        Line::raw(storage),
    ];
    if let ServiceState::NoAnswer(waited) = model.service_state() {
        let waited = format_pause(waited);
        lines.push(Line::raw(format!(
            "The service has not answered for {waited}."
        )));
    }
    draw_centered(lines, area, frame);
}

/// Draws that nothing matches: how much was searched, and which keys help.
fn draw_no_matches(model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let list = &model.list;
    let is_understood = !list.filter.has_impossible_value();
    let title = if is_understood {
        "Nothing matches"
    } else {
        "Not understood"
    };
    let mut lines = match format_changes(model, ctx) {
        Some(changes) => vec![Line::styled(format!("Nothing {changes}"), Theme::title())],
        None => vec![
            Line::styled(title, Theme::title()),
            Line::raw(list.filter.text().to_owned()),
        ],
    };
    // While the user types, the prompt says what is not understood.
    let is_typing = model.prompt.is_some();
    let doubt = list.filter.doubt(is_typing);
    // What is meant instead is below, with its key.
    let doubt = doubt.filter(|_| list.filter.meant().is_none() || list.total.is_none());
    if let Some(doubt) = doubt.filter(|_| is_understood || !is_typing) {
        lines.push(Line::styled(doubt.to_owned(), ctx.theme.error()));
    }
    lines.push(Line::default());
    let as_of = format_list_age(model.service.as_of, ctx);
    if let Some(all) = list.archive_total.filter(|_| is_understood) {
        let emails = plural(all, "email");
        let coverage = format_searched(model);
        lines.push(Line::raw(if coverage == COMPLETE {
            format!("Searched all {emails}{as_of}.")
        } else {
            format!("Searched {emails}{coverage}{as_of}.")
        }));
        if let Some(text) = format_oldest_listed(model, ctx) {
            lines.push(Line::raw(format!("{}.", capitalize(&text))));
        }
        if let Some(text) = describe_known_bodies(model) {
            lines.push(Line::raw(format!("{text}.")));
        }
    }
    if list.total.is_some() && is_understood {
        // The user's own text is not changed.
        let condition = list.unmatched.conditions.first();
        let unmatched = list.unmatched.lines().map(|line| match condition {
            Some(condition) if line.starts_with(condition) => format!("{line}."),
            _ if line.ends_with('?') => {
                format!("{}{}", capitalize(&line), format_suggestion_hint(model))
            }
            _ => end_sentence(&line),
        });
        let purged = list.is_purged.then(|| end_sentence(PURGED));
        lines.extend(unmatched.chain(purged).map(Line::raw));
        let has_parts = matches!(&list.filter.query().filter, Node::And(parts) if parts.len() > 1);
        let is_filter = (model.prompt.as_ref()).is_some_and(|it| it.kind == PromptKind::Filter);
        if condition.is_none() && has_parts && is_filter {
            // Typed words narrow the filter before them, which may not be meant.
            let (command, does) = (Command::DeleteAllBefore, "deletes what is typed.");
            let keymap = &model.session.keymap;
            let text = "No email has all of it";
            lines.push(keymap.with_hint(text, Focus::Prompt, command, does).into());
        }
    }
    lines.extend(describe_limits(model, ctx).map(Line::raw));
    if model.prompt.is_none() {
        lines.extend([Line::default(), Line::raw(format_next_step(model, ctx))]);
    }
    draw_centered(lines, area, frame);
}

/// Formats the key that searches what may be meant, if one does.
fn format_suggestion_hint(model: &Model) -> String {
    let (focus, command) = match &model.prompt {
        None => (Focus::List, Command::SwitchPane),
        Some(_) if model.accepts_suggested_filter() => (Focus::Prompt, Command::NextSuggestion),
        Some(_) => return String::new(),
    };
    let Some((_, other)) = model.suggested_filter() else {
        return String::new();
    };
    let does = if model.list.unmatched.nearest.len() > 1 {
        format!("searches {other}")
    } else {
        "searches it".to_owned()
    };
    let hint = model.session.keymap.hints(focus, &[(command, &does)]);
    if hint.is_empty() {
        hint
    } else {
        format!(" {hint}.")
    }
}

/// Describes why emails may not match: statuses that are not checked, older mail.
fn describe_limits(model: &Model, ctx: &RenderCtx) -> impl Iterator<Item = String> {
    let has_no_status = model.is_received() && model.list.filter.query().depends_on_status();
    let statuses = match format_filter_check(model, ctx) {
        None => has_no_status.then(|| "Received mail has no status.".to_owned()),
        Some(check) if model.service.is_answering() => Some(format!("{}.", capitalize(&check))),
        Some(check) => {
            let state = model.service_state().label();
            Some(format!("{}: {state}.", capitalize(&check)))
        }
    };
    let older = model.covered_filter_start().map(|start| {
        let day = model.format_day(start);
        format!("Nothing older can match: the filter begins at {day}.")
    });
    statuses.into_iter().chain(older)
}

/// Formats what happens next if nothing matches, and which keys help.
fn format_next_step(model: &Model, ctx: &RenderCtx) -> String {
    let shows = match model.recipient_card.address {
        Some(_) => "goes back",
        None => "shows all mail again",
    };
    let close = Command::CloseLayer;
    let open = |does| model.list_hints(&[(Command::Open, does), (close, shows)]);
    if model.load_older.is_retrieving_by_id() {
        let stop = format_stop_hint(model, Focus::List);
        format!(
            "asking the service for this id{}{stop}",
            ctx.glyphs.ellipsis
        )
    } else if model.load_older.running.is_some() {
        let stop = format_stop_hint(model, Focus::List);
        format!("searching older mail{}{stop}", ctx.glyphs.ellipsis)
    } else if model.status_check.paused().is_some() {
        open("checks further")
    } else if model.load_older.is_about_to_start() {
        model.with_list_hint(OLDER_NEXT, close, shows)
    } else if model.may_find_older() {
        open("searches older mail")
    } else {
        model.list_hints(&[(close, shows)])
    }
}

/// Draws an error: what is missing because of it, what happened, which keys help.
pub fn draw_error(
    error: &Error,
    title: &str,
    keys: &str,
    area: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) {
    let mut lines = vec![
        Line::styled(capitalize(title), ctx.theme.error()),
        Line::default(),
        Line::raw(capitalize(&error.message)),
    ];
    if !error.hint.is_empty() {
        lines.push(Line::raw(capitalize(&error.hint)));
    }
    lines.extend([Line::default(), Line::raw(keys)]);
    draw_centered(lines, area, frame);
}

fn draw_centered(lines: Vec<Line>, area: Rect, frame: &mut Frame) {
    let width = area.width.saturating_sub(4).min(76);
    let columns = usize::from(width.max(1));
    let rows = |line: &Line| -> usize {
        let wrapped = wrap(&line.to_string(), columns);
        let rows = wrapped.iter().map(|row| row.width().div_ceil(columns));
        rows.sum::<usize>().max(1)
    };
    let needed: usize = lines.iter().map(rows).sum();
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

fn end_sentence(text: &str) -> String {
    let end = if text.ends_with('?') { "" } else { "." };
    format!("{}{end}", capitalize(text))
}

/// Capitalises a text, unless it starts with a URL.
fn capitalize(text: &str) -> String {
    let first = text.split_whitespace().next();
    if first.is_some_and(|word| word.contains("://")) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// Says how many bodies and tags the filter was searched in,
/// and how to fetch the others; `None` if that is all.
pub fn describe_known_bodies(model: &Model) -> Option<String> {
    let known = group_digits(model.list.count_known_bodies()?, ' ');
    let text = format!("Bodies and tags are known for {known} of them");
    let does = match &model.prompt {
        Some(prompt) if prompt.kind == PromptKind::Filter => "fetches the others, after Enter",
        // Enter does something else there.
        Some(_) => return Some(text),
        None => "fetches the others",
    };
    Some(model.with_list_hint(&text, Command::FetchBodies, does))
}
