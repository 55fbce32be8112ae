//! Draws the recipient card: one address, and what became of all mail to it.

use crate::text::format::{group_digits, plural};
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::render_ctx::{RenderCtx, Theme};
use super::{status_bar, time};
use crate::app::{
    Command, EmailRef, Focus, Layout, Model, RecipientCard, RecipientSummary, StatusCheck,
};
use crate::mail::{ApiTime, Status};
use crate::text::width;

/// Draws the card and the rule below it, if there is one.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let area = layout.card;
    let Some(card) = model.recipient_card.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let width = usize::from(area.width).saturating_sub(2);
    let rule = area.bottom() - 1;
    for (line, y) in build_lines(card, model, look, width, usize::from(area.height) - 1)
        .iter()
        .zip(area.y..rule)
    {
        frame
            .buffer_mut()
            .set_line(area.x + 1, y, line, area.width.saturating_sub(2));
    }
    let line = look.glyphs.horizontal_rule.repeat(usize::from(area.width));
    frame
        .buffer_mut()
        .set_stringn(area.x, rule, line, usize::from(area.width), Theme::chrome());
}

/// As many lines as there is room for, those that matter most.
fn build_lines<'a>(
    card: &'a RecipientCard,
    model: &Model,
    look: &RenderCtx,
    width: usize,
    height: usize,
) -> Vec<Line<'a>> {
    let mut lines = vec![build_heading(card, look, width)];
    let Some(tally) = card.summary() else {
        lines.push(match card.error() {
            Some(failure) => Line::styled(failure.message.as_str(), look.theme.error()),
            None => Line::styled(format!("counting{}", look.glyphs.ellipsis), Theme::chrome()),
        });
        return lines;
    };
    let reach = Line::raw(width::truncate(
        &format_totals(tally, model, look, width),
        width,
        look.glyphs.ellipsis,
    ));
    let trouble = build_problem(tally, model, look, width);
    let statuses = build_status_counts(tally, look, width);
    match height {
        0 | 1 => {}
        2 => lines.push(trouble),
        3 if tally.newest_problem.is_some() => lines.extend([reach, trouble]),
        3 => lines.extend([reach, statuses]),
        4 => lines.extend([reach, statuses, trouble]),
        _ => lines.extend([reach, statuses, trouble, build_latest(tally, look, width)]),
    }
    lines
}

/// Who it is, and when the first and the last email were accepted.
fn build_heading<'a>(card: &'a RecipientCard, look: &RenderCtx, width: usize) -> Line<'a> {
    let name = card
        .summary()
        .map(|tally| &*tally.name)
        .filter(|name| !name.is_empty());
    let who = name.map_or_else(
        || card.address().to_owned(),
        |name| format!("{name} <{}>", card.address()),
    );
    // The address matters more than the name, and both more than the times.
    let who = if who.width() <= width {
        who
    } else {
        card.address().to_owned()
    };
    let forms = card
        .summary()
        .map(|tally| format_time_variants(tally, look))
        .unwrap_or_default();
    let times = forms
        .into_iter()
        .find(|times| who.width() + times.width() + 2 <= width)
        .unwrap_or_default();
    let mut spans = vec![Span::styled(
        width::truncate(&who, width, look.glyphs.ellipsis),
        Theme::title(),
    )];
    if !times.is_empty() {
        spans.push(Span::raw(" ".repeat(width - who.width() - times.width())));
        spans.push(Span::raw(times));
    }
    Line::from(spans)
}

/// `first 3 May, last 09:41`, and shorter.
fn format_time_variants(tally: &RecipientSummary, look: &RenderCtx) -> Vec<String> {
    let at = |stamp: &ApiTime| time::format_medium(stamp, look);
    let Some(last) = tally.newest.as_ref().map(|last| at(&last.created)) else {
        return Vec::new();
    };
    match &tally.oldest_at {
        Some(first) if tally.total > 1 && !tally.is_capped => {
            vec![
                format!("first {}, last {last}", at(first)),
                format!("{} to {last}", at(first)),
                last,
            ]
        }
        _ if tally.total > 1 => vec![format!("last {last}"), last],
        _ => vec![last],
    }
}

/// `12 of 48 310 emails since 3 May; b looks further back`.
fn format_totals(
    tally: &RecipientSummary,
    model: &Model,
    look: &RenderCtx,
    width: usize,
) -> String {
    let more = if tally.is_capped { "more than " } else { "" };
    let total = group_digits(tally.total, ' ');
    let reach = model
        .service
        .reach()
        .map(|reach| status_bar::format_coverage(reach, look))
        .unwrap_or_default();
    let of = model.list.archive_total().map_or_else(
        || plural(tally.total, "email"),
        |all| format!("of {}", plural(all, "email")),
    );
    let said = if model.list.archive_total().is_some() {
        format!("{more}{total} {of}{reach}")
    } else {
        format!("{more}{of}{reach}")
    };
    let key = model
        .keymap
        .key_for(Focus::List, Command::LoadOlder)
        .filter(|_| model.may_find_older());
    let hint = key
        .map(|key| format!("; {key} looks further back"))
        .unwrap_or_default();
    if said.width() + hint.width() <= width {
        said + &hint
    } else {
        said
    }
}

/// Blanks between two counts.
const GAP: &str = "   ";

/// `✓ delivered 9   ✕ bounced 2`, and a sign if there are more than fit.
fn build_status_counts<'a>(tally: &RecipientSummary, look: &RenderCtx, width: usize) -> Line<'a> {
    let mut spans = Vec::new();
    let mut room = width;
    for (nth, (status, count)) in tally.statuses.iter().enumerate() {
        let (word, count) = (
            build_status(status, look),
            format!(" {}", group_digits(*count, ' ')),
        );
        let more = if nth + 1 < tally.statuses.len() {
            GAP.len() + look.glyphs.ellipsis.width()
        } else {
            0
        };
        let columns = word.width() + count.width();
        if columns + more > room {
            spans.push(Span::raw(look.glyphs.ellipsis));
            break;
        }
        room = room.saturating_sub(columns + GAP.len());
        spans.extend([word, Span::raw(count + GAP)]);
    }
    if spans.is_empty() {
        spans.push(Span::styled(
            "no email to this address is known",
            Style::new(),
        ));
    }
    Line::from(spans)
}

/// What went wrong, said plainly; and just as plainly that nothing did.
fn build_problem<'a>(
    tally: &RecipientSummary,
    model: &Model,
    look: &RenderCtx,
    width: usize,
) -> Line<'a> {
    let Some(last) = &tally.newest_problem else {
        return Line::styled(
            width::truncate(
                &format_no_problem(tally, model, look),
                width,
                look.glyphs.ellipsis,
            ),
            Style::new(),
        );
    };
    let count = tally
        .statuses
        .iter()
        .find(|(status, _)| *status == last.status)
        .map_or(0, |(_, count)| *count);
    let reason = last
        .reason
        .as_ref()
        .map_or_else(|| last.status.meaning().to_owned(), ToString::to_string);
    let which = if count == 1 { "of" } else { "last of" };
    let words = format!(
        " {}, {which} {}: {reason}",
        group_digits(count, ' '),
        time::format_medium(&last.created, look)
    );
    let lead = build_status(&last.status, look);
    let room = width.saturating_sub(lead.width());
    Line::from(vec![
        lead,
        Span::raw(width::truncate(&words, room, look.glyphs.ellipsis)),
    ])
}

/// That nothing went wrong, as far as it was checked, and as of when: never more than is known.
fn format_no_problem(tally: &RecipientSummary, model: &Model, look: &RenderCtx) -> String {
    let (checked, total) = (
        group_digits(tally.checked, ' '),
        group_digits(tally.total, ' '),
    );
    let key = model
        .keymap
        .key_for(Focus::List, Command::Open)
        .filter(|_| model.is_status_check_paused());
    let more = key
        .map(|key| format!("; {key} on the last row checks more"))
        .unwrap_or_default();
    match (tally.total, tally.checked) {
        (0, _) => String::new(),
        (_, 0) => format!("no trouble known; none of {total} checked{more}"),
        (all, some) if some < all => format!("no trouble in {checked} of {total} checked{more}"),
        _ => {
            let as_of = tally
                .as_of
                .or(model.status_check().map(StatusCheck::started))
                .or(model.service.as_of());
            let as_of = as_of
                .map(|at| format!(" as of {}", time::format_date_time(at, look)))
                .unwrap_or_default();
            format!("nothing bounced, no complaints{as_of} ({checked} of {total} checked)")
        }
    }
}

/// `latest ✓ delivered 09:41  Your receipt`.
fn build_latest<'a>(tally: &RecipientSummary, look: &RenderCtx, width: usize) -> Line<'a> {
    let Some(EmailRef {
        status,
        created,
        subject,
        ..
    }) = &tally.newest
    else {
        return Line::default();
    };
    let lead = Span::styled("latest ", Theme::chrome());
    let word = build_status(status, look);
    let words = format!(" {}  {subject}", time::format_medium(created, look));
    let room = width.saturating_sub(lead.width() + word.width());
    Line::from(vec![
        lead,
        word,
        Span::raw(width::truncate(&words, room, look.glyphs.ellipsis)),
    ])
}

fn build_status<'a>(status: &Status, look: &RenderCtx) -> Span<'a> {
    Span::styled(
        format!("{} {}", look.glyphs.status(status), status.label()),
        look.theme.status(status),
    )
}
