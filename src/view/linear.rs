//! Formats a model as lines of text for a screen reader or a terminal that cannot
//! move its cursor.
//!
//! No symbol, no colour and no alignment carries meaning. `tui/linear/commands.rs` prints the
//! lines.

use ratatui::text::Line;

use super::overlays::describe_error;
use super::placeholders::describe_known_bodies;
use super::prompt::parse_input;
use super::reader::{build_header_line, describe_body};
use super::recipient::build_lines;
use super::render_ctx::{Glyphs, RenderCtx};
use super::statistics::{format_heading, format_summary};
use super::wording::{
    TitleDetail, build_service_state, format_ages, format_count, format_filter_check,
    format_list_age, format_oldest_listed, format_searched,
};
use crate::app::commands::line_commands::{LINE_COMMANDS, copy_fields};
use crate::app::reader::header::HeaderLine;
use crate::app::start::StartScreenKind;
use crate::app::{ChooserKind, Command, Model, StorageMode, count_other_recipients, is_stale};
use crate::archive::{EmailRow, Outcome, PURGED};
use crate::error::Error;
use crate::mail::{Address, ApiTime, NO_SUBJECT, Status};
use crate::text::format::{group_digits, plural};
use crate::text::width::wrap;

pub use super::wording::format_load_older;

/// Formats a row as
/// `bounced, to ana@example.com, Reset your password, today 21:30`.
pub fn format_row(row: &EmailRow, model: &Model, ctx: &RenderCtx) -> String {
    let summary = &row.summary;
    let has_status = summary.status.exists();
    let (label, role) = if has_status {
        ("to", "recipient")
    } else {
        ("from", "sender")
    };
    let is_marked = model.marks.contains(&summary.id);
    let mut parts = Vec::from_iter(is_marked.then(|| "marked".to_owned()));
    parts.extend(format_status(row, ctx));
    let first = model.shown_correspondent(row);
    let mut to = first.map_or_else(
        || format!("no {role}"),
        |to| format!("{label} {}", to.email),
    );
    if let Some(why) = first.and_then(Address::lookalike_warning) {
        to = format!("{to} (look-alike: {why})");
    }
    let more = count_other_recipients(row, first);
    if more > 0 {
        to = format!("{to} and {more} more");
    }
    parts.push(to);
    parts.push(match &*model.shown_subject(row) {
        "" => NO_SUBJECT.to_owned(),
        subject => subject.to_owned(),
    });
    parts.push(match &summary.scheduled {
        Some(due) if summary.status == Status::Scheduled => {
            format!("due {}", format_day_and_clock(due, ctx))
        }
        _ => format_day_and_clock(&summary.created, ctx),
    });
    parts.join(", ")
}

/// Formats a status, if there is one, with what must be known beside it:
/// `delivered as of 3 May`.
fn format_status(row: &EmailRow, ctx: &RenderCtx) -> Option<String> {
    let status = &row.summary.status;
    let label = status.exists().then(|| status.label().to_owned());
    match row.missing_since {
        Some(_) => {
            let parts = label
                .into_iter()
                .chain(["no longer at the service".to_owned()]);
            Some(parts.collect::<Vec<_>>().join(", "))
        }
        None if is_stale(row, ctx.now.timestamp()) => {
            label.map(|label| format!("{label} {}", ctx.format_as_of(row.confirmed_at)))
        }
        None => label,
    }
}

fn format_day_and_clock(time: &ApiTime, ctx: &RenderCtx) -> String {
    let Some(at) = time.parsed else {
        return time.raw.to_string();
    };
    let day = ctx.format_day(Some(at.to_zoned(ctx.now.time_zone().clone()).date()));
    format!("{day} {}", ctx.format_clock(time))
}

/// Formats what the list shows: `acme, all mail, 300 emails since 3 May, live`.
pub fn format_title(model: &Model, ctx: &RenderCtx) -> String {
    let mail = format_mail(model, ctx);
    let state = format_state(model, ctx);
    format!("{}, {mail}, {state}", model.session.profile)
}

/// Formats the filter, how much mail it shows, and how far statuses were checked
/// for it.
fn format_mail(model: &Model, ctx: &RenderCtx) -> String {
    let filter = match model.list.filter.text() {
        "" => model.list_name().to_owned(),
        text if model.is_received() => format!("{}, filter {text}", model.list_name()),
        text => format!("filter {text}"),
    };
    let checked = format_filter_check(model, ctx);
    let parts = [
        Some(filter),
        format_ages(model, ctx),
        format_count(model),
        checked,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats the state of the list: `live`, `offline since 14:02, as of 13:58`.
pub fn format_state(model: &Model, ctx: &RenderCtx) -> String {
    let separator = format!(" {} ", ctx.glyphs.separator);
    build_service_state(model, ctx, TitleDetail::Everything)
        .content
        .replace(&separator, ", ")
}

/// Explains an empty list, or an end of it.
pub fn format_end(model: &Model, is_empty: bool, ctx: &RenderCtx) -> Vec<String> {
    let list = &model.list;
    let hint = |text: &str| {
        if model.can_load_older() {
            model.with_list_hint(text, Command::LoadOlder, "searches older mail")
        } else {
            text.to_owned()
        }
    };
    match list.error().or(model.service.last_error()) {
        Some(error) if is_empty && (list.filter.is_empty() || list.error().is_some()) => {
            vec![format_error(error)]
        }
        _ if !is_empty => vec![hint("no more emails")],
        _ if list.filter.is_empty() => vec![model.empty_text().to_owned()],
        _ if list.filter.has_impossible_value() => {
            let doubt = list.filter.doubt(false).unwrap_or_default();
            vec![format!("not understood: {doubt}")]
        }
        _ => {
            let all = list.archive_total.unwrap_or_default();
            let coverage = format_searched(model);
            let searched = plural(all, "email");
            let as_of = format_list_age(model.service.as_of, ctx);
            let doubt = list.filter.doubt(false).map(str::to_owned);
            let nothing = format!("nothing matches; searched {searched}{coverage}{as_of}");
            let known = describe_known_bodies(model);
            doubt
                .into_iter()
                .chain([hint(&nothing)])
                .chain(list.is_purged.then(|| PURGED.to_owned()))
                .chain(format_oldest_listed(model, ctx))
                .chain(known)
                .collect()
        }
    }
}

pub fn format_error(error: &Error) -> String {
    match error.hint.as_str() {
        "" => format!("error: {}", error.message),
        hint => format!("error: {}; {hint}", error.message),
    }
}

/// Formats the header of the selected email.
pub fn format_head(model: &Model, ctx: &RenderCtx) -> Vec<String> {
    let Some(row) = model.list.selected() else {
        return Vec::new();
    };
    let mut lines: Vec<String> = Vec::new();
    for line in model.reader.header(row) {
        lines.push(match &line {
            HeaderLine::Subject { text, .. } if text.is_empty() => NO_SUBJECT.to_owned(),
            HeaderLine::Subject { is_first, text } => {
                let label = if *is_first { "subject:" } else { " " };
                format!("{label} {text}")
            }
            HeaderLine::BodyViewTabs(_) => continue,
            line => format_header_line(line, row, model, ctx),
        });
    }
    lines
}

/// Formats `to: ana@example.com`; further lines of a field are indented.
fn format_header_line(line: &HeaderLine, row: &EmailRow, model: &Model, ctx: &RenderCtx) -> String {
    let text = build_header_line(line, row, model, usize::from(u16::MAX), ctx);
    match text.spans.as_slice() {
        [label, value] if !matches!(line, HeaderLine::Status { .. }) => {
            match label.content.trim() {
                "" => format!("  {}", value.content),
                label => format!("{label}: {}", value.content),
            }
        }
        _ => plain(&text),
    }
}

/// Formats the body of the selected email in the current view,
/// and before it what is known about it.
pub fn format_body(model: &Model) -> Vec<String> {
    let Some(body) = model.body() else {
        return Vec::new();
    };
    let mut about = vec![format!("{} view", model.reader.body_view.label())];
    about.extend(describe_body(body));
    let mut lines = vec![about.join(", "), String::new()];
    lines.extend(
        body.lines
            .iter()
            .map(|line| line.text().trim_end().to_owned()),
    );
    lines
}

/// Formats the lines of the body with the searched text.
pub fn format_found(model: &Model) -> Vec<String> {
    let (Some(body), Some(text)) = (model.body(), model.reader.find_text()) else {
        return Vec::new();
    };
    let parts = model.reader.matches().iter().flat_map(|found| &found.parts);
    let mut found: Vec<usize> = parts.map(|(line, _)| *line).collect();
    found.sort_unstable();
    found.dedup();
    let view = model.reader.body_view.label();
    let part = if body.is_cut() {
        "shown part of the "
    } else {
        ""
    };
    let mut lines = vec![match found.len() {
        0 => format!("{part}{view} view, no line has {text}"),
        1 => format!("{part}{view} view, 1 line has {text}"),
        count => format!("{part}{view} view, {count} lines have {text}"),
    }];
    let found = found.iter().filter_map(|line| body.lines.get(*line));
    lines.extend(found.map(|line| line.text().trim().to_owned()));
    lines
}

/// Formats the profiles, or the question before a session opens,
/// with numbered items.
pub fn format_start_screen(model: &Model) -> Vec<String> {
    let Some(screen) = &model.start_screen else {
        return Vec::new();
    };
    let mut lines = match &screen.kind {
        StartScreenKind::Confirm { question, .. } => question.lines.clone(),
        StartScreenKind::Profiles(_) | StartScreenKind::SetUp { .. } => Vec::new(),
    };
    lines.extend(screen.error.as_ref().map(format_error));
    let items = screen.items(&model.session.target).into_iter().zip(1..);
    lines.extend(items.map(|(item, number)| {
        let mut parts = item.columns;
        parts.insert(0, item.label);
        parts.retain(|part| !part.is_empty());
        format!("{number}. {}", parts.join(", "))
    }));
    lines
}

/// Formats everything that is known of an error, for a report to the support of the
/// service.
pub fn format_error_details(error: &Error) -> Vec<String> {
    let facts = describe_error(error).into_iter();
    let facts = facts.map(|(label, value)| format!("{label}: {value}"));
    [format_error(error)].into_iter().chain(facts).collect()
}

/// Formats the open list with its numbered items:
/// links, watched emails, statistics, answers to a question.
pub fn format_choices(model: &Model, ctx: &RenderCtx) -> Vec<String> {
    let mut lines = match model.chooser_kind() {
        Some(ChooserKind::Statistics) => {
            let mut lines = format_statistics(model, ctx, |number| format!("{number}. "));
            if let Some(first) = lines.first_mut() {
                first.push_str(&format_list_age(model.statistics.as_of, ctx));
            }
            return lines;
        }
        Some(ChooserKind::Links) => Vec::new(),
        _ => vec![model.chooser_title()],
    };
    lines.push(model.chooser_note());
    let items = model.chooser_items().into_iter().zip(1..);
    lines.extend(items.map(|(item, number)| {
        let parts = [item.label, item.detail.replace("  ", ", ")];
        let parts: Vec<&str> = parts
            .iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        format!("{number}. {}", parts.join(", "))
    }));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Formats the card or the open statistics for the clipboard: with full dates, for a
/// reader who has neither the screen nor the day.
pub fn format_figures(model: &Model, ctx: &RenderCtx) -> Vec<String> {
    let ctx = RenderCtx {
        now: model.now.clone(),
        glyphs: Glyphs::spoken(false),
        is_copied: true,
        ..ctx.clone()
    };
    if model.chooser_kind() != Some(&ChooserKind::Statistics) {
        return format_card(model, &ctx);
    }
    let lines = format_statistics(model, &ctx, |_| "- ".to_owned());
    [vec![format_heading(model, &ctx)], lines].concat()
}

/// Formats `1. Fri 20 Nov 2026: 12, delivered 10, bounced 2` by section.
fn format_statistics(
    model: &Model,
    ctx: &RenderCtx,
    label: impl Fn(usize) -> String,
) -> Vec<String> {
    let result = &model.statistics.result;
    let statistics = match (result.value(), result.error()) {
        (Some(statistics), _) => statistics,
        (None, Some(error)) => return vec![format_error(error)],
        (None, None) => return Vec::new(),
    };
    let mut lines = format_summary(statistics, model, ctx).concat();
    let mut section = None;
    for (item, number) in model.statistics_items().into_iter().zip(1..) {
        if section.replace(item.section) != Some(item.section) {
            lines.push(item.section.title().to_owned());
        }
        let outcomes = Outcome::ALL.into_iter().filter_map(|outcome| {
            let count = item.outcomes.get(outcome);
            (count > 0).then(|| format!(", {} {}", outcome.label(), group_digits(count, ' ')))
        });
        let outcomes: String = outcomes.collect();
        let bounced = item.bounced.filter(|share| share.part > 0);
        let rate = bounced.map_or_else(String::new, |share| format!(", {}", share.percent()));
        lines.push(format!(
            "{}{}: {}{rate}{outcomes}",
            label(number),
            item.label,
            item.count
        ));
    }
    lines
}

pub fn format_card(model: &Model, ctx: &RenderCtx) -> Vec<String> {
    let Some(address) = &model.recipient_card.address else {
        return Vec::new();
    };
    let lines = build_lines(address.text(), model, ctx, usize::from(u16::MAX), u16::MAX);
    let lines = lines.iter().map(|line| {
        let text = plain(line);
        let parts = text.split("  ").map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// Formats where mail is kept, how far back it is loaded,
/// and whether the list is live.
pub fn format_status_lines(model: &Model, ctx: &RenderCtx) -> Vec<String> {
    let storage = match &model.session.storage {
        StorageMode::InFile(file) => format!("kept in {file}"),
        StorageMode::OnServer(url) => format!("kept in {url}, where others may read it"),
        StorageMode::InMemory => "not kept on disk".to_owned(),
        StorageMode::Unavailable(error) => format!("not kept on disk: {}", error.message),
        StorageMode::ReadOnly(error) => format!("read-only: {}", error.message),
    };
    let mut state = vec![format_state(model, ctx)];
    if let Some(at) = model.service.as_of {
        state.push(format!("last refresh {}", ctx.format_date_time(at)));
    }
    state.extend(model.service.clock_warning.clone());
    let mut lines = vec![
        format!("{}, {storage}", model.session.profile),
        format_mail(model, ctx),
        state.join(", "),
    ];
    lines.extend(model.service.last_error().map(format_error));
    lines
}

/// Formats why the prompt has refused its text.
pub fn format_rejection(model: &Model) -> Option<String> {
    let prompt = model.prompt.as_ref()?;
    Some(parse_input(prompt, model).1?.message)
}

/// Formats the commands, each with its words and what it does.
pub fn format_help(columns: u16) -> Vec<String> {
    let mut lines = Vec::new();
    for row in LINE_COMMANDS {
        let (name, short) = row.words.split_at(1);
        let mut usage = name[0].to_owned();
        if !row.argument.is_empty() {
            usage = format!("{usage} {}", row.argument);
        }
        if !short.is_empty() {
            usage = format!("{usage} (or {})", short.join(" or "));
        }
        lines.push(format!("{usage}: {}", row.help));
    }
    let fields: Vec<&str> = copy_fields().map(|(name, _)| name).collect();
    lines.push(format!("PART is one of: {}", fields.join(", ")));
    lines
        .iter()
        .flat_map(|line| wrap(line, usize::from(columns)))
        .collect()
}

fn plain(line: &Line) -> String {
    line.to_string().trim().to_owned()
}
