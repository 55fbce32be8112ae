//! Draws the title bar and the status bar: position, activity, key hints.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::render_ctx::RenderCtx;
use super::wording::{
    MIN_DETAIL_WIDTH, build_title_left, build_title_right, format_load_older, format_status_check,
    format_stop_hint,
};
use crate::app::commands::keymap::format_sequence;
use crate::app::{CheckState, Command, Focus, Layout, Model, Reader, ServiceState, StatusCheck};
use crate::archive::{Coverage, EmailRow};
use crate::mail::ApiTime;
use crate::text::format::{format_pause, group_digits, plural};
use crate::text::width::DisplayWidth as _;

/// From this many columns on, the rate of background requests is shown.
const MIN_RATE_WIDTH: u16 = 80;
/// From this many columns on, an error leaves enough columns for a remark before
/// the keys.
const MIN_RETRY_NOTE_WIDTH: u16 = 140;

/// With fewer columns for an error, its label says more than the start of its
/// message.
const MIN_ERROR_WIDTH: usize = 20;
/// The fewest columns for the start of an error and the key of its details.
const MIN_FAILURE_WIDTH: usize = 32;
/// Columns of the key of the help, with the space before it.
const HELP_WIDTH: usize = 8;

/// Columns reserved for information about a body, so that the keys beside it do not
/// move.
const BODY_INFO_WIDTH: usize = 40;

/// Draws both bars.
pub fn draw(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let columns = layout.title.width;
    let left = build_title_left(model, ctx, columns);
    let right = build_title_right(model, ctx, &left, columns);
    draw_bar(left, right, layout.title, ctx, frame);
    if model.focus() == Focus::Prompt {
        // The prompt is drawn here, with its own keys.
        return;
    }
    let (left, right) = build_bottom(model, layout, ctx);
    draw_bar(left, right, layout.bottom, ctx, frame);
}

/// Returns the command whose key or hint is drawn in this column of the status bar.
pub fn command_at(model: &Model, layout: &Layout, ctx: &RenderCtx, column: u16) -> Option<Command> {
    let (left, _) = build_bottom(model, layout, ctx);
    let hints = model.key_hints();
    let mut end = 0;
    let mut last = None;
    for span in &left {
        let hint = hints.iter().find(|(key, ..)| *key == span.content);
        last = hint.map(|(_, command, _)| *command).or(last);
        end += span.width();
        if usize::from(column) < end {
            return last;
        }
    }
    None
}

/// The spans at the left and the right end of the status bar.
fn build_bottom<'a>(
    model: &Model,
    layout: &Layout,
    ctx: &RenderCtx,
) -> (Vec<Span<'a>>, Vec<Span<'a>>) {
    let columns = layout.bottom.width;
    if !model.pending_keys.is_empty() && model.notice_text().is_none() {
        return (build_bottom_left(model, ctx, columns, columns), Vec::new());
    }
    // On a narrow screen, the key that goes back is worth more than information.
    let share = if columns < 60 { 5 } else { 2 };
    let mut right = build_bottom_right(model, ctx, usize::from(columns) / share);
    let notice_width = model.notice_text().map_or(0, str::width);
    let right_width = |right: &[Span]| right.iter().map(Span::width).sum::<usize>();
    let is_cut = notice_width + right_width(&right) + 2 > columns.into();
    if is_cut && model.failure_notice().is_none() {
        right.clear();
    }
    let reserved = if model.focus() == Focus::Reader && share == 2 {
        usize::from(columns * 2 / 5).min(BODY_INFO_WIDTH)
    } else {
        0
    };
    let right_width = right_width(&right);
    let taken = right_width + usize::from(right_width > 0);
    let rest = |used: usize| columns.saturating_sub(u16::try_from(used).unwrap_or(u16::MAX));
    let left = build_bottom_left(model, ctx, rest(taken), rest(taken.max(reserved)));
    (left, right)
}

/// Draws `left` and `right` at the ends of `area`;
/// cuts the left one if both do not fit.
fn draw_bar(left: Vec<Span>, right: Vec<Span>, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    if area.is_empty() {
        return;
    }
    let columns = usize::from(area.width);
    let right = Line::from(right);
    let mut rest = columns.saturating_sub(right.width() + usize::from(right.width() > 0));
    let buffer = frame.buffer_mut();
    let mut x = area.x;
    for span in left {
        let text = ctx.truncate(&span.content, rest);
        let start = x;
        (x, _) = buffer.set_stringn(x, area.y, text, columns, span.style);
        rest = rest.saturating_sub(usize::from(x - start));
    }
    let width = u16::try_from(right.width()).unwrap_or(area.width);
    let start = area.right() - width.min(area.width);
    buffer.set_line(start, area.y, &right, area.width);
}

/// Builds the left end: a notice or running work in `notice_width` columns,
/// or keys in `width`.
fn build_bottom_left<'a>(
    model: &Model,
    ctx: &RenderCtx,
    notice_width: u16,
    width: u16,
) -> Vec<Span<'a>> {
    let mut spans = vec![Span::raw(format_position(model, width.into()))];
    spans.extend(format_marks(model, width).map(|text| Span::styled(text, ctx.theme.accent())));
    let used: usize = spans.iter().map(Span::width).sum();
    if let Some(mut activity) = build_activity(model, ctx, notice_width) {
        let mut columns = usize::from(notice_width).saturating_sub(used);
        if activity.iter().map(Span::width).sum::<usize>() > columns {
            let failure = model.failure_notice();
            if failure.is_none() || columns < MIN_FAILURE_WIDTH {
                // The end of a message is worth more than the position.
                spans = vec![Span::raw(" ")];
                columns = usize::from(notice_width).saturating_sub(1);
            }
            // On a very narrow screen, the start of a notice is worth more than the key.
            let wide = model.wide_notice().filter(|_| columns >= MIN_FAILURE_WIDTH);
            if let Some(text) = failure.or(wide) {
                activity = build_short_notice(text, model, ctx, notice_width, columns);
            }
        }
        spans.extend(activity);
        return spans;
    }
    push_service_state(model, ctx, &mut spans, width);
    push_key_hints(model, ctx, &mut spans, width);
    spans
}

/// Adds what the service does or why it does not answer, beside the key hints.
fn push_service_state(model: &Model, ctx: &RenderCtx, spans: &mut Vec<Span<'_>>, width: u16) {
    let used: usize = spans.iter().map(Span::width).sum();
    let rest = usize::from(width).saturating_sub(used);
    if let Some(pause) = format_rate_limit(model) {
        spans.push(Span::styled(pause, ctx.theme.error()));
    } else if let Some(problem) = model
        .service
        .error
        .as_ref()
        .or(model.service.refusal())
        .filter(|_| model.focus() == Focus::List && !model.list.rows().is_empty())
    {
        let is_retrying = model.service.refusal().is_none();
        // An error can last: the keys are worth more than this remark.
        let remark = if is_retrying && width >= MIN_RETRY_NOTE_WIDTH {
            "retrying; "
        } else {
            ""
        };
        let keys = [
            (Command::ErrorDetails, details_label(width)),
            (Command::Refresh, "retries now"),
        ];
        let details = model.list_hints(&keys[..1]);
        let both = model.list_hints(&[keys[1], keys[0]]);
        // The details show the whole message: position, keys and help stay.
        let columns = rest.saturating_sub(remark.len() + both.width() + 5 + HELP_WIDTH);
        let label = problem.service_state();
        let (text, help) = match columns {
            MIN_ERROR_WIDTH.. if is_retrying => (ctx.truncate(&problem.message, columns), both),
            _ if label.width() + both.width() + 3 <= rest => (label.to_owned(), both),
            _ => (label.to_owned(), details),
        };
        spans.push(Span::styled(
            format!("{text} {} ", ctx.glyphs.separator),
            ctx.theme.error(),
        ));
        spans.push(Span::raw(format!("{remark}{help}  ")));
    } else if model.service.is_loading_older() && model.list.is_near_end(&model.list_viewport()) {
        let text = format!("fetching older emails{}", ctx.glyphs.ellipsis);
        let stop = fit_stop_hint(model, rest.saturating_sub(text.width()));
        spans.push(Span::styled(text, ctx.theme.accent()));
        spans.push(Span::raw(format!("{stop}  ")));
    } else if model.service.is_backfilling() && model.focus() == Focus::List {
        spans.push(build_backfill(model, width, rest));
    } else if model.service.is_backfill_used_up()
        && model.focus() == Focus::List
        && width >= MIN_RETRY_NOTE_WIDTH
    {
        let reached = format_mirrored(model);
        spans.push(Span::raw(format!("{reached}; goes on tomorrow  ")));
    }
}

/// Builds the start of a notice, and the key that shows the whole of it.
fn build_short_notice<'a>(
    text: &str,
    model: &Model,
    ctx: &RenderCtx,
    width: u16,
    columns: usize,
) -> Vec<Span<'a>> {
    let does = details_label(width);
    let keymap = &model.session.keymap;
    let hint = keymap.with_hint("", model.focus(), Command::ErrorDetails, does);
    let text = ctx.truncate(text, columns.saturating_sub(hint.width()));
    vec![Span::styled(text, ctx.theme.accent()), Span::raw(hint)]
}

/// The label of the key for the details, in a bar of this width.
const fn details_label(width: u16) -> &'static str {
    if width < MIN_DETAIL_WIDTH {
        "details"
    } else {
        "shows details"
    }
}

/// Builds what is shown instead of key hints:
/// a notice, running work, typed keys.
fn build_activity<'a>(model: &Model, ctx: &RenderCtx, width: u16) -> Option<Vec<Span<'a>>> {
    let accent = ctx.theme.accent();
    let work = format_work(model, ctx, width);
    if let Some(notice) = model.notice_text() {
        let backfill = || {
            model
                .service
                .is_backfilling()
                .then(|| format_mirrored(model))
        };
        let work = work.or_else(backfill).map(|work| {
            let text = format!(" {} {work}", ctx.glyphs.separator);
            let position = format_position(model, width.into());
            let columns = position.width() + notice.width() + text.width();
            Span::raw(if columns <= width.into() {
                text
            } else {
                String::new()
            })
        });
        let notice = Span::styled(notice.to_owned(), accent);
        return Some(std::iter::once(notice).chain(work).collect());
    }
    let Some(work) = work else {
        let is_prefix = !model.pending_keys.is_empty();
        return is_prefix.then(|| build_continuations(model, ctx, width));
    };
    let stop = format_stop_hint(model, model.focus());
    // The key is worth more than the end of the text; a space is at the start of the bar.
    let columns = usize::from(width).saturating_sub(stop.width() + 1);
    let text = ctx.truncate(&work, columns);
    Some(vec![Span::styled(text, accent), Span::raw(stop)])
}

/// Formats how far the work is that the user has started.
fn format_work(model: &Model, ctx: &RenderCtx, width: u16) -> Option<String> {
    let is_checking =
        |check: &&StatusCheck| check.state == CheckState::Running && check.requests > 0;
    let check = model.status_check.current.as_ref().filter(is_checking);
    Some(if let Some(export) = model.export_progress() {
        export
    } else if model.export.is_planning() {
        format!("counting the emails{}", ctx.glyphs.ellipsis)
    } else if let Some(load) = model.load_older.running {
        format_load_older(load, model, width)
    } else if let Some(fetch) = &model.body_fetch.running {
        let requests = group_digits(fetch.requests, ' ');
        let total = group_digits(fetch.total, ' ');
        format!("fetching bodies: {requests} of {total}")
    } else if let Some(check) = check {
        let requests = plural(check.requests.into(), "request");
        if width < MIN_DETAIL_WIDTH {
            requests
        } else {
            format!("{}, {requests}", format_status_check(check, model, ctx))
        }
    } else {
        return None;
    })
}

/// Builds the typed keys and, if they fit, those that may follow.
fn build_continuations<'a>(model: &Model, ctx: &RenderCtx, width: u16) -> Vec<Span<'a>> {
    let accent = ctx.theme.accent();
    let keys = format_sequence(&model.pending_keys);
    let mut spans = vec![Span::styled(
        format!("{keys} {}", ctx.glyphs.ellipsis),
        accent,
    )];
    if continuations_fit(model, ctx, width) {
        for (key, hint) in model.continuations() {
            spans.push(Span::styled(format!("  {key}"), accent));
            spans.push(Span::raw(format!(" {hint}")));
        }
    }
    spans
}

/// Whether the keys that may follow fit into the status bar with their labels.
pub fn continuations_fit(model: &Model, ctx: &RenderCtx, width: u16) -> bool {
    let next = model.continuations();
    let columns = |(key, hint): &(String, &str)| key.width() + hint.width() + 3;
    let typed = format_sequence(&model.pending_keys).width() + ctx.glyphs.ellipsis.width() + 1;
    typed + 1 + next.iter().map(columns).sum::<usize>() <= width.into()
}

/// Formats `3 marked  `, and that a range has begun; nothing beside a notice.
fn format_marks(model: &Model, width: u16) -> Option<String> {
    if model.notice_text().is_some() || matches!(model.focus(), Focus::Details | Focus::Choice) {
        return None;
    }
    let marked = match model.marks.len() as u64 {
        0 if !model.marks.has_range() => return None,
        count => format!("{} marked", group_digits(count, ' ')),
    };
    if !model.marks.has_range() || width < MIN_DETAIL_WIDTH {
        return Some(format!("{marked}  "));
    }
    let hints = [(Command::MarkRange, "ends the range")];
    let hint = model.session.keymap.hints(model.focus(), &hints);
    Some(format!("{marked}, {hint}  "))
}

/// Formats a pause that the service has asked for:
/// `rate limited: retrying in 12 s  `.
fn format_rate_limit(model: &Model) -> Option<String> {
    let state = model.service_state();
    let ServiceState::RateLimited(until) = state else {
        return None;
    };
    let label = state.label();
    Some(if model.long_pause_until().is_some() {
        let until = model.format_until(until);
        let text = format!("{label} until {until}");
        let hint = match model.focus() {
            // The question may be the one that the key opens.
            Focus::Choice => None,
            focus => (model.session.keymap).hint(focus, Command::Refresh, "tries now"),
        };
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        format!("{text}{hint}  ")
    } else {
        let left = format_pause(model.rate_budget?.paused_for);
        format!("{label}: retrying in {left}  ")
    })
}

/// Builds how far the backfill is, its rate, and the key that stops it.
fn build_backfill<'a>(model: &Model, width: u16, rest: usize) -> Span<'a> {
    let rate = model
        .rate_budget
        .filter(|_| width >= MIN_RATE_WIDTH)
        .map_or_else(String::new, |budget| {
            format!(", {:.1}/s", budget.background)
        });
    let text = format_mirrored(model) + &rate;
    let stop = fit_stop_hint(model, rest.saturating_sub(text.width()));
    Span::raw(format!("{text}{stop}  "))
}

/// Formats the key that stops work, if it fits; a part of it would be of no use.
fn fit_stop_hint(model: &Model, columns: usize) -> String {
    let stop = format_stop_hint(model, model.focus());
    Some(stop)
        .filter(|stop| stop.width() <= columns)
        .unwrap_or_default()
}

/// Formats how far back the backfill is: `mirrored to 3 May`.
fn format_mirrored(model: &Model) -> String {
    match &model.service.coverage {
        Some(Coverage::Since(ApiTime {
            parsed: Some(at), ..
        })) => format!("mirrored to {}", model.format_since(*at)),
        _ => "fetching older mail".to_owned(),
    }
}

/// Formats position and total: ` 1/48 310   `;
/// its width does not change as the position grows, if there is space for that and the key of the
/// help.
fn format_position(model: &Model, columns: usize) -> String {
    if matches!(model.focus(), Focus::Details | Focus::Choice) {
        return " ".to_owned();
    }
    let list = &model.list;
    let Some(mut total) = list.total else {
        return " ".to_owned();
    };
    let position = match list.position() {
        Some(position) => {
            // The rows may be newer than the count.
            total = total.max(position);
            group_digits(position, ' ')
        }
        None if list.is_selected_unmatched() => "-".to_owned(),
        None => return " ".to_owned(),
    };
    let is_complete = model.service.known_coverage() == Some(&Coverage::Complete);
    let older = list.is_capped || !is_complete;
    let total = group_digits(total, ' ') + if older { "+" } else { " " };
    let width = total.len().min(7);
    let aligned = format!(" {position:>width$}/{total}  ");
    if aligned.len() + HELP_WIDTH <= columns {
        return aligned;
    }
    let short = format!(" {position}/{}  ", total.trim_end());
    let fits = short.len() <= columns;
    if fits { short } else { " ".to_owned() }
}

/// Adds the most important keys of the focus, as many as fit;
/// there is always space for the help key.
fn push_key_hints(model: &Model, ctx: &RenderCtx, spans: &mut Vec<Span>, width: u16) {
    let used: usize = spans.iter().map(Span::width).sum();
    let mut rest = usize::from(width).saturating_sub(used);
    let hints = model.key_hints();
    let last = hints.len().saturating_sub(1);
    for (n, (key, _, hint)) in hints.into_iter().enumerate() {
        let gap = if n == last { "" } else { "  " };
        let hint = format!(" {hint}{gap}");
        let columns = key.width() + hint.trim_end().width() + 2;
        if columns + if n == last { 0 } else { HELP_WIDTH } > rest {
            continue;
        }
        rest -= columns;
        spans.push(Span::styled(key, ctx.theme.accent()));
        spans.push(Span::raw(hint));
    }
}

/// Builds the position among the matches, if it fits, and the scroll position.
fn build_bottom_right<'a>(model: &Model, ctx: &RenderCtx, columns: usize) -> Vec<Span<'a>> {
    let Some((row, reader)) = model.shown_email() else {
        return Vec::new();
    };
    let body = reader.state(&row.summary.id).body();
    if body.is_none() || model.focus() != Focus::Reader {
        return Vec::new();
    }
    let mut parts = Vec::new();
    if let (Some(current), count @ 1..) = (reader.current_match, reader.matches().len()) {
        parts.push(format!("{}/{count}", current + 1));
    }
    // Always of one width, so that the keys beside it do not move while scrolling.
    parts.push(format!("{:>4}", format_scroll_position(model, row, reader)));
    let separator = format!(" {} ", ctx.glyphs.separator);
    loop {
        let text = Span::raw(format!(" {} ", parts.join(&separator)));
        if parts.len() == 1 || text.width() <= columns {
            return vec![text];
        }
        parts.remove(0);
    }
}

/// Formats how much of the email was scrolled through: `all`, `end` or `40%`.
fn format_scroll_position(model: &Model, row: &EmailRow, reader: &Reader) -> String {
    let lines = reader.line_count(row);
    let height = usize::from(model.layout().reader.height);
    let end = (reader.scroll + height).min(lines);
    if lines <= height {
        "all".to_owned()
    } else if end == lines {
        "end".to_owned()
    } else {
        format!("{}%", end * 100 / lines)
    }
}
