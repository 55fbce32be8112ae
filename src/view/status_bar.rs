//! Draws the line at the top (whose mail, how far back, how it stands) and the line at the bottom
//! (where one is, what goes on, which keys help).

use crate::text::format::{group_digits, plural};
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::render_ctx::{RenderCtx, Theme};
use super::time;
use crate::app::keymap::{format_sequence, key_hints};
use crate::app::start::StartScreenKind;
use crate::app::{
    CheckState, Command, Focus, Layout, Liveness, Model, ReaderState, SessionTarget, StatusCheck,
    StorageMode,
};
use crate::archive::Coverage;
use crate::text::width;

/// Below this many columns there is no room for what can be had otherwise.
const MIN_DETAIL_WIDTH: u16 = 50;
/// From this many columns on there is room for figures that few people look for.
const MIN_RATE_WIDTH: u16 = 80;
/// From this many columns on there is room in the title for how far statuses were checked.
const MIN_STATUS_CHECK_WIDTH: u16 = 100;
/// From this many columns on there is room for keys beside long words about trouble.
const MIN_RETRY_NOTE_WIDTH: u16 = 140;

/// Columns that are left, if there are so many, for what there is to know about a body: the keys beside
/// it stay where they are from email to email.
const BODY_INFO_WIDTH: usize = 40;

/// Draws both lines.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    draw_bar(
        build_title_left(model, look, layout.title.width),
        build_title_right(model, look, layout.title.width),
        layout.title,
        look,
        frame,
    );
    if model.focus() == Focus::Prompt {
        // Who types sees the keys where the line is.
        return;
    }
    // Where there is little room, the way back is worth more than what there is to know.
    let share = if layout.bottom.width < 60 { 5 } else { 2 };
    let right = build_bottom_right(model, look, usize::from(layout.bottom.width) / share);
    let taken: usize = right.iter().map(Span::width).sum();
    let kept_free = if model.focus() == Focus::Reader && share == 2 {
        usize::from(layout.bottom.width * 2 / 5).min(BODY_INFO_WIDTH)
    } else {
        0
    };
    let taken = taken.max(kept_free);
    let room = layout
        .bottom
        .width
        .saturating_sub(u16::try_from(taken).unwrap_or(u16::MAX));
    draw_bar(
        build_bottom_left(model, look, room),
        right,
        layout.bottom,
        look,
        frame,
    );
}

/// `left` from the left, `right` from the right; the left gives way where both do not fit.
fn draw_bar(left: Vec<Span>, right: Vec<Span>, area: Rect, look: &RenderCtx, frame: &mut Frame) {
    if area.is_empty() {
        return;
    }
    let mut right = Line::from(right);
    if right.width() + 2 > usize::from(area.width) {
        right = Line::default();
    }
    let room =
        usize::from(area.width).saturating_sub(right.width() + usize::from(right.width() > 0));
    let buffer = frame.buffer_mut();
    let mut x = area.x;
    let mut left_room = room;
    for span in left {
        let text = width::truncate(&span.content, left_room, look.glyphs.ellipsis);
        left_room -= unicode_width::UnicodeWidthStr::width(text.as_str()).min(left_room);
        (x, _) = buffer.set_stringn(x, area.y, text, usize::from(area.width), span.style);
    }
    let start = area.right() - u16::try_from(right.width()).unwrap_or(area.width);
    buffer.set_line(start, area.y, &right, area.width);
}

fn build_title_left<'a>(model: &Model, look: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    let filter = model.list.filter();
    if let Some(hall) = &model.start_screen {
        let (whose, what) = match &hall.kind {
            StartScreenKind::SetUp { .. } => ("sentbox", "set-up"),
            StartScreenKind::Profiles(_) => (model.profile.as_str(), "profiles"),
            StartScreenKind::Confirm { .. } => (model.profile.as_str(), "a question"),
        };
        return vec![
            Span::styled(format!(" {whose}"), Theme::title()),
            Span::raw(format!(" {} {what} ", look.glyphs.breadcrumb)),
        ];
    }
    let view = model.shown_view();
    let shown = view.map_or(
        if filter.is_empty() {
            "all mail"
        } else {
            filter.text()
        },
        |(_, view)| &view.name,
    );
    let kept = match model.storage {
        _ if model.target == SessionTarget::Demo => "",
        StorageMode::InFile(_) => "",
        StorageMode::ReadOnly(_) => " (read-only)",
        StorageMode::InMemory | StorageMode::Unavailable(_) => " (not kept)",
    };
    let mut spans = vec![
        Span::styled(format!(" {}", model.profile), Theme::title()),
        Span::raw(kept),
        Span::raw(format!(" {} {shown} ", look.glyphs.breadcrumb)),
    ];
    if view.is_some() && width >= MIN_DETAIL_WIDTH {
        spans.push(Span::styled(
            format!(" {} ", filter.text()),
            Theme::chrome(),
        ));
    }
    spans
}

fn build_title_right<'a>(model: &Model, look: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    if model
        .start_screen
        .as_ref()
        .is_some_and(|hall| !hall.has_mail_behind())
    {
        return Vec::new();
    }
    let dot = format!(" {} ", look.glyphs.separator);
    let mut parts: Vec<Span> = Vec::new();
    if let Some(count) = format_count(model, look).filter(|_| width >= MIN_DETAIL_WIDTH) {
        parts.push(Span::raw(count));
    }
    if width >= MIN_STATUS_CHECK_WIDTH
        && let Some(words) = format_filter_check(model, look)
    {
        parts.push(Span::raw(words));
    }
    if model.list.unseen_above() > 0 {
        parts.push(Span::styled(
            format!("{} new", group_digits(model.list.unseen_above(), ' ')),
            look.theme.new_mail(),
        ));
    }
    let service = &model.service;
    parts.push(match (service.unavailable(), service.error()) {
        (Some(_), _) if matches!(model.storage, StorageMode::ReadOnly(_)) => {
            Span::styled("nothing new is kept", look.theme.error())
        }
        (Some(_), _) => Span::styled("not connected", look.theme.error()),
        (None, Some(failure)) if failure.is_offline() => Span::styled(
            format_outage("offline", model, look, width),
            look.theme.error(),
        ),
        (None, Some(_)) => Span::styled(
            format_outage("in trouble", model, look, width),
            look.theme.error(),
        ),
        (None, None) if service.has_answered() => build_liveness(model, look, width),
        (None, None) => Span::styled(format!("asking{}", look.glyphs.ellipsis), Theme::chrome()),
    });
    let mut spans = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        if n > 0 {
            spans.push(Span::styled(dot.clone(), Theme::chrome()));
        }
        spans.push(part);
    }
    spans.push(Span::raw(" "));
    spans
}

/// `live`, or since when it is not, and why.
fn build_liveness<'a>(model: &Model, look: &RenderCtx, width: u16) -> Span<'a> {
    let words = match model.liveness() {
        Liveness::Live => return Span::raw("live"),
        Liveness::ListAsOf(at) => format!("as of {}", time::format_date_time(at, look)),
        Liveness::RowsAsOf(1, since) if width >= MIN_DETAIL_WIDTH => {
            format!("1 status {}", time::format_as_of(since, look))
        }
        Liveness::RowsAsOf(rows, since) if width >= MIN_DETAIL_WIDTH => {
            format!("{rows} statuses {}", time::format_as_of(since, look))
        }
        Liveness::RowsAsOf(_, since) => time::format_as_of(since, look),
    };
    Span::styled(words, look.theme.error())
}

/// For a filter that depends on the status: how far the statuses behind it were checked.
fn format_filter_check(model: &Model, look: &RenderCtx) -> Option<String> {
    if model.prompt.is_some()
        || model.recipient_card.is_some()
        || !model.list.filter().query().depends_on_status()
    {
        return None;
    }
    Some(
        model
            .status_check()
            .filter(|_| model.service.can_confirm())
            .map_or_else(
                || "statuses not checked".to_owned(),
                |check| format_status_check(check, look),
            ),
    )
}

/// `statuses checked 21:46`, `statuses checked back to 18 Nov 09:14`.
pub fn format_status_check(check: &StatusCheck, look: &RenderCtx) -> String {
    match (check.state(), check.checked_back_to()) {
        (CheckState::Done, _) => format!(
            "statuses checked {}",
            time::format_date_time(check.started(), look)
        ),
        (_, Some(back_to)) => format!(
            "statuses checked back to {}",
            time::format_date_time(back_to, look)
        ),
        (CheckState::Running, None) => format!("checking statuses{}", look.glyphs.ellipsis),
        (CheckState::Paused, None) => "statuses not checked".to_owned(),
    }
}

/// `offline since 14:02 · as of 13:58`: since when, and how old what is shown may be.
fn format_outage(how: &str, model: &Model, look: &RenderCtx, width: u16) -> String {
    let Some(since) = model.service.failing_since() else {
        return how.to_owned();
    };
    let since = time::format_date_time(since, look);
    match model
        .service
        .as_of()
        .map(|as_of| time::format_date_time(as_of, look))
    {
        Some(as_of) if width >= MIN_DETAIL_WIDTH => {
            format!(
                "{how} since {since} {} as of {as_of}",
                look.glyphs.separator
            )
        }
        _ => format!("{how} since {since}"),
    }
}

/// How many emails there are, and how far back: `48 310 emails since 3 May`, `12 of 48 310 since 3 May`.
pub fn format_count(model: &Model, look: &RenderCtx) -> Option<String> {
    let list = &model.list;
    let total = list.total()?;
    let reach = model
        .service
        .reach()
        .map(|reach| format_coverage(reach, look))
        .unwrap_or_default();
    Some(
        match list.archive_total().filter(|_| !list.filter().is_empty()) {
            Some(all) => format!(
                "{}{} of {}{reach}",
                if list.is_capped() { "more than " } else { "" },
                group_digits(total, ' '),
                group_digits(all, ' ')
            ),
            None => format!("{}{reach}", plural(total, "email")),
        },
    )
}

/// How far back the archive is complete: ` since 3 May`, or nothing if it is whole.
pub fn format_coverage(reach: &Coverage, look: &RenderCtx) -> String {
    match reach {
        Coverage::Complete => ", complete".to_owned(),
        Coverage::Since(stamp) => stamp.parsed.map_or_else(String::new, |at| {
            format!(" since {}", time::format_date(at, look))
        }),
        Coverage::Unknown => String::new(),
    }
}

fn build_bottom_left<'a>(model: &Model, look: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    let mut spans = vec![Span::raw(format_position(model))];
    if let Some(notice) = &model.notice {
        spans.push(Span::styled(notice.clone(), look.theme.accent()));
        return spans;
    }
    if let Some(look_back) = &model.load_older {
        let reach = model
            .service
            .reach()
            .map(|reach| format_coverage(reach, look))
            .unwrap_or_default();
        let brought = plural(look_back.loaded(), "email");
        let long = format!(
            "looking back: {brought}{}",
            reach.replace(" since", ", since")
        );
        let short = format!("{brought} back");
        let words = if width < MIN_DETAIL_WIDTH {
            short
        } else {
            long
        };
        spans.push(Span::styled(words, look.theme.accent()));
        let stop = model
            .keymap
            .with_hint("", model.focus(), Command::Stop, "stops");
        spans.push(Span::raw(stop));
        return spans;
    }
    if let Some(check) = model
        .status_check()
        .filter(|check| check.state() == CheckState::Running && check.requests() > 0)
    {
        let stop = model
            .keymap
            .with_hint("", model.focus(), Command::Stop, "stops");
        let requests = if check.requests() == 1 {
            "1 request".to_owned()
        } else {
            format!("{} requests", check.requests())
        };
        let words = if width < MIN_DETAIL_WIDTH {
            requests
        } else {
            format!("{}, {requests}", format_status_check(check, look))
        };
        spans.push(Span::styled(words, look.theme.accent()));
        spans.push(Span::raw(format!("{stop}  ")));
        return spans;
    }
    if !model.pending_keys.is_empty() {
        spans.push(Span::styled(
            format!(
                "{} {}",
                format_sequence(&model.pending_keys),
                look.glyphs.ellipsis
            ),
            look.theme.accent(),
        ));
        return spans;
    }
    if let Some(pause) = format_pause(model) {
        spans.push(Span::styled(pause, look.theme.error()));
    } else if let Some(trouble) = model
        .service
        .error()
        .filter(|_| model.focus() == Focus::List && !model.list.rows().is_empty())
    {
        spans.push(Span::styled(
            format!("{} {} ", trouble.message, look.glyphs.separator),
            look.theme.error(),
        ));
        // Trouble can last; who works on with what is here needs the keys more than that comfort.
        let comfort = if width >= MIN_RETRY_NOTE_WIDTH {
            "asking again by itself; "
        } else {
            ""
        };
        let help = key_hints(
            &model.keymap,
            model.focus(),
            [
                (Command::Refresh, "asks now"),
                (Command::ErrorDetails, "tells more"),
            ],
        );
        spans.push(Span::raw(format!("{comfort}{help}  ")));
        push_key_hints(model, look, &mut spans, width);
        return spans;
    }
    if model.service.is_loading_older() && model.list.is_near_end(model.list_height()) {
        spans.push(Span::styled(
            format!("fetching older emails{} ", look.glyphs.ellipsis),
            look.theme.accent(),
        ));
    } else if model.service.is_backfilling() && model.focus() == Focus::List {
        spans.extend(build_backfill(model, look, width));
    }
    push_key_hints(model, look, &mut spans, width);
    spans
}

/// What the service has asked for, counted down: `the service asks to wait 12 s  `.
fn format_pause(model: &Model) -> Option<String> {
    let pause = model.rate_budget()?.paused_for;
    // A second goes by unnoticed.
    if pause <= Duration::from_secs(1) {
        return None;
    }
    let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
    let left = match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    };
    Some(format!("the service asks to wait {left}  "))
}

/// Older mail that is fetched by itself, at which rate, and the key that stops it.
fn build_backfill<'a>(model: &Model, look: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    let rate = model
        .rate_budget()
        .map(|budget| format!(", {:.1}/s", budget.background))
        .filter(|_| width >= MIN_RATE_WIDTH);
    let words = if width >= MIN_DETAIL_WIDTH {
        "fetching older mail"
    } else {
        "older mail"
    };
    let stop = model
        .keymap
        .with_hint("", Focus::List, Command::Stop, "stops");
    vec![
        Span::styled(
            format!("{words}{}", rate.unwrap_or_default()),
            look.theme.accent(),
        ),
        Span::raw(format!("{stop}  ")),
    ]
}

/// Position and total: ` 1/48 310   `, as wide while one moves as it will get.
fn format_position(model: &Model) -> String {
    if matches!(model.focus(), Focus::Help | Focus::Choice) {
        return " ".to_owned();
    }
    match (model.list.position(), model.list.total()) {
        (Some(position), Some(total)) => {
            let older =
                model.list.is_capped() || model.service.reach() != Some(&Coverage::Complete);
            let total = format!(
                "{}{}",
                group_digits(total, ' '),
                if older { "+" } else { " " }
            );
            format!(
                " {:>width$}/{total}  ",
                group_digits(position, ' '),
                width = total.len().min(7)
            )
        }
        _ => " ".to_owned(),
    }
}

/// The keys that matter most for the focus, as many as fit; the key of the help always has room.
fn push_key_hints(model: &Model, look: &RenderCtx, spans: &mut Vec<Span>, width: u16) {
    const HELP_WIDTH: usize = 8;
    let used: usize = spans.iter().map(Span::width).sum();
    let mut room = usize::from(width).saturating_sub(used);
    let hints = model.key_hints();
    let last = hints.len().saturating_sub(1);
    for (n, (key, hint)) in hints.into_iter().enumerate() {
        let gap = if n == last { "" } else { "  " };
        let hint = format!(" {hint}{gap}");
        let columns = key.width() + hint.trim_end().width() + 2;
        if columns + if n == last { 0 } else { HELP_WIDTH } > room {
            continue;
        }
        room -= columns;
        spans.push(Span::styled(key, look.theme.accent()));
        spans.push(Span::raw(hint));
    }
}

/// What there is to know about the body, as much as fits, and how much of the email has been seen.
fn build_bottom_right<'a>(model: &Model, look: &RenderCtx, room: usize) -> Vec<Span<'a>> {
    let (ReaderState::Ready(_, Some(body)), Some(row)) =
        (model.reader_state(), model.list.selected())
    else {
        return Vec::new();
    };
    if model.focus() != Focus::Reader {
        return Vec::new();
    }
    let mut words: Vec<String> = body.notices.iter().map(|note| note.label.clone()).collect();
    match body.links.len() {
        0 => {}
        1 => words.push("1 link".to_owned()),
        n => words.push(format!("{n} links")),
    }
    if let (Some(at), of @ 1..) = (model.reader.current_match(), model.reader.matches().len()) {
        words.push(format!("{}/{of}", at + 1));
    }
    // As wide as it gets, so that the keys beside it stay where they are while one scrolls.
    words.push(format!("{:>4}", format_scroll_position(model, row)));
    let join =
        |words: &[String]| format!(" {} ", words.join(&format!(" {} ", look.glyphs.separator)));
    while words.len() > 1 && unicode_width::UnicodeWidthStr::width(join(&words).as_str()) > room {
        words.remove(0);
    }
    vec![Span::raw(join(&words))]
}

/// How much of the email has been seen.
fn format_scroll_position(model: &Model, row: &crate::archive::EmailRow) -> String {
    let lines = model.reader.line_count(row);
    let height = usize::from(model.layout().reader.height);
    let end = (model.reader.scroll() + height).min(lines);
    if lines <= height {
        "all".to_owned()
    } else if end == lines {
        "end".to_owned()
    } else {
        format!("{}%", end * 100 / lines)
    }
}
