//! Draws the reader: header, tabs of the body views, body.

use std::num::NonZeroU16;

use ratatui::Frame;
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::buffer::{draw_lines, highlight_matches, inset, style_ranges};
use super::placeholders::draw_error;
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use crate::app::reader::header::{HeaderLine, LABEL_WIDTH};
use crate::app::{
    ClickTarget, Command, Focus, Layout, MARGIN, Model, Reader, ReaderState, ServiceState,
    split_top,
};
use crate::archive::{EmailRow, ObservedStatus};
use crate::error::ErrorKind;
use crate::mail::{ApiTime, NO_SUBJECT, Status};
use crate::query::Field;
use crate::render::{Body, BodyLine, BodyView};
use crate::text::format::{format_pause, group_digits, plural};
use crate::text::width::{self, DisplayWidth as _, wrap};

/// Columns of the label of the recipient in a low pane.
const TO_WIDTH: u16 = 3;

/// Draws the reader's pane.
pub fn draw(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let pane = layout.reader;
    let Some((row, reader)) = model.shown_email().filter(|_| !pane.is_empty()) else {
        return;
    };
    let area = inset(pane, MARGIN, MARGIN);
    let state = reader.state(&row.summary.id);
    let body = match state {
        ReaderState::Empty | ReaderState::Debouncing => return,
        ReaderState::Loading | ReaderState::Failed(_) => None,
        ReaderState::Ready(_, body) => body,
    };
    let header = reader.header(row);
    let (width, scroll) = (usize::from(area.width), reader.scroll);
    let mut lines: Vec<Line> = header
        .iter()
        .skip(scroll)
        .map(|line| build_header_line(line, row, model, width, ctx))
        .collect();
    if let Some(body) = body {
        let pan = usize::from(reader.pan);
        let skipped = scroll.saturating_sub(header.len());
        let visible = body.lines.iter().skip(skipped).take(area.height.into());
        lines.extend(visible.map(|line| build_body_line(line, pan, width, ctx)));
    } else if matches!(state, ReaderState::Loading | ReaderState::Ready(..)) {
        let note = wrap(&format_loading(state, row, model, ctx), width);
        lines.extend(
            note.into_iter()
                .map(|line| Line::styled(line, ctx.theme.chrome())),
        );
    }
    draw_lines(&lines, area, frame);
    if reader.find_text().is_none() {
        highlight_header(model, reader, &header, area, frame);
    }
    if let Some(body) = body {
        highlight_body(reader, body, header.len(), area, frame);
    }
    if let ReaderState::Failed(error) = state {
        let used = u16::try_from(header.len()).unwrap_or(u16::MAX);
        let (_, below) = split_top(area, used);
        let retry = [(Command::Refresh, "tries again")];
        let help = model.session.keymap.hints(Focus::Reader, &retry);
        // The id is that of the list, so the user cannot check it.
        let error = match error.kind {
            ErrorKind::NotFound => error.clone().with_hint(
                "it listed this email before, and may have deleted it; what it listed is kept here",
            ),
            _ => error.clone(),
        };
        draw_error(
            &error,
            "this email could not be loaded",
            &help,
            below,
            ctx,
            frame,
        );
    }
}

/// Formats why an email is not shown yet.
///
/// It is loading, its request waits for the rate limit and how long, or it is not stored and the
/// service was not reached.
fn format_loading(
    state: ReaderState<'_>,
    row: &EmailRow,
    model: &Model,
    ctx: &RenderCtx,
) -> String {
    let paused = model.rate_budget.map(|budget| budget.paused_for);
    match (state, model.service_state(), paused) {
        (ReaderState::Loading, ServiceState::RateLimited(until), Some(paused)) => {
            let wait = if model.long_pause_until().is_some() {
                format!("until {}", model.format_until(until))
            } else {
                format_pause(paused)
            };
            format!("waiting for the rate limit, {wait}")
        }
        (ReaderState::Loading, ServiceState::Failing(ErrorKind::Unreachable), _)
            if !row.has_body =>
        {
            let text = "the body of this email is not stored here, and the service does not answer";
            model.with_list_hint(text, Command::Refresh, "tries again")
        }
        _ => format!("loading this email{}", ctx.glyphs.ellipsis),
    }
}

/// Draws the tabs of the views between list and reader.
pub fn draw_tabs_above(model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let tabs = model
        .shown_email()
        .map(|(row, reader)| reader.header_with_tabs(row));
    let hidden = match tabs.as_deref() {
        Some([.., HeaderLine::BodyViewTabs(hidden)]) => *hidden,
        _ => 0,
    };
    let tabs = build_body_view_tabs(model, hidden, area.width.into(), ctx);
    draw_lines([&tabs], area, frame);
}

/// Returns what is at this position of the reader or of the divider:
/// a tab or a link. The previous email has no targets.
pub fn target_at(model: &Model, layout: &Layout, at: Position) -> Option<ClickTarget> {
    if model.shows_previous_email() {
        return None;
    }
    let tab = |column: u16, width: u16| {
        let mut end = 1;
        let views = tab_body_views(model, width.into()).iter();
        views.copied().find_map(|view| {
            let start = end;
            end += view.label().len() + 3;
            let label = start..end - 1;
            let command = match view {
                BodyView::Rendered => Command::ShowRendered,
                BodyView::Text => Command::ShowText,
                BodyView::Source => Command::ShowSource,
                BodyView::Raw => Command::ShowRaw,
            };
            label
                .contains(&usize::from(column))
                .then_some(ClickTarget::Command(command))
        })
    };
    if layout.has_tabs_in_divider() && layout.divider.contains(at) {
        return tab(at.x - layout.divider.x, layout.divider.width);
    }
    let area = inset(layout.reader, MARGIN, MARGIN);
    let row = model.list.selected().filter(|_| area.contains(at))?;
    let header = model.reader.header(row);
    let line = usize::from(at.y - area.y) + model.reader.scroll;
    if let Some(line) = header.get(line) {
        let is_tabs = matches!(line, HeaderLine::BodyViewTabs(_));
        return tab(at.x - area.x, area.width).filter(|_| is_tabs);
    }
    let (_, links) = visible_links(model, layout)?;
    let (_, link) = links.into_iter().find(|(row, _)| row.contains(at))?;
    Some(ClickTarget::Link(link.into()))
}

/// Returns the body, and where parts of its links are on the screen.
fn visible_links<'a>(model: &'a Model, layout: &Layout) -> Option<(&'a Body, Vec<(Rect, u16)>)> {
    let area = inset(layout.reader, MARGIN, MARGIN);
    let (row, reader) = model.shown_email()?;
    let body = reader.state(&row.summary.id).body()?;
    let header = reader.header(row).len();
    let skipped = reader.scroll.saturating_sub(header);
    let lines = body.lines.iter().enumerate().skip(skipped);
    let mut links = Vec::new();
    for (index, line) in lines.take(area.height.into()) {
        let Some(row) = visible_row(header + index, reader, area) else {
            break;
        };
        let pan = if line.wide { reader.pan } else { 0 };
        let column = |column: usize| {
            let column = column.saturating_sub(pan.into()).min(area.width.into());
            u16::try_from(column).unwrap_or(u16::MAX)
        };
        let mut end = 0;
        for span in &line.spans {
            let start = column(end);
            end += span.text.width();
            if let Some(link) = span.style.link {
                let part = inset(row, start, area.width - column(end));
                links.push((part, link));
            }
        }
    }
    Some((body, links))
}

/// Makes the visible links hyperlinks of the terminal,
/// which it can open or copy on its own. A link with a masked part is none while it is masked.
///
/// The symbol of each cell starts with the sequence that starts the hyperlink, so that a frame
/// differs from the last one where only a URL differs; the backend writes the sequence once for a
/// run of cells.
pub fn add_hyperlinks(model: &Model, layout: &Layout, buffer: &mut Buffer) {
    let Some((body, links)) = visible_links(model, layout) else {
        return;
    };
    for (part, link) in links {
        let Some(link) = body.links.get(usize::from(link)) else {
            continue;
        };
        let is_masked = model.reader.secrets.are_masked() && link.masked_target().is_some();
        let Some(sequence) = link.hyperlink().filter(|_| !is_masked) else {
            continue;
        };
        let mut x = part.x;
        while x < part.right() {
            let cell = &mut buffer[(x, part.y)];
            let width = cell.symbol().width();
            let columns = u16::try_from(width).ok().and_then(NonZeroU16::new);
            let columns = columns.unwrap_or(NonZeroU16::MIN);
            let symbol = format!("{sequence}{}", cell.symbol());
            cell.set_symbol(&symbol)
                .set_diff_option(CellDiffOption::ForcedWidth(columns));
            x += columns.get();
        }
    }
}

/// Returns the screen row of a line of the email, if it is visible.
fn visible_row(line: usize, reader: &Reader, area: Rect) -> Option<Rect> {
    let y = u16::try_from(line.checked_sub(reader.scroll)?).ok()?;
    (y < area.height).then(|| Rect {
        y: area.y + y,
        height: 1,
        ..area
    })
}

/// Underlines the matches of a search in the visible lines of the body.
fn highlight_body(reader: &Reader, body: &Body, header: usize, area: Rect, frame: &mut Frame) {
    for (nth, found) in reader.matches().iter().enumerate() {
        let style = Theme::highlight(reader.current_match == Some(nth));
        for (index, range) in &found.parts {
            let row = visible_row(header + index, reader, area);
            let (Some(row), Some(line)) = (row, body.lines.get(*index)) else {
                continue;
            };
            let pan = if line.wide { reader.pan } else { 0 };
            let ranges = std::slice::from_ref(range);
            style_ranges(&line.text(), ranges, pan.into(), style, row, frame);
        }
    }
}

/// Underlines the matches of the filter in the subject and the addresses.
fn highlight_header(
    model: &Model,
    reader: &Reader,
    header: &[HeaderLine],
    area: Rect,
    frame: &mut Frame,
) {
    for (nth, line) in header.iter().enumerate() {
        let (text, fields, indent): (&str, &[Field], u16) = match line {
            HeaderLine::Subject { text, .. } => (text, &[Field::Subject], 0),
            HeaderLine::Text { field, text, .. } if !field.query_fields.is_empty() => {
                (text, field.query_fields, LABEL_WIDTH)
            }
            HeaderLine::ToAndCreated(to, _) => (to, &[Field::To, Field::Any], TO_WIDTH),
            _ => continue,
        };
        if let Some(row) = visible_row(nth, reader, area) {
            let query = model.list.filter.query();
            highlight_matches(text, fields, query, inset(row, indent, 0), frame);
        }
    }
}

pub fn build_header_line<'a>(
    line: &HeaderLine,
    row: &EmailRow,
    model: &Model,
    width: usize,
    ctx: &RenderCtx,
) -> Line<'a> {
    let labelled =
        |label: &str, value: &str| build_labelled_line(label, value, Style::new(), width, ctx);
    let value_width = width.saturating_sub(usize::from(LABEL_WIDTH));
    match line {
        HeaderLine::Subject { text, .. } if text.is_empty() => {
            Line::styled(NO_SUBJECT, ctx.theme.chrome())
        }
        HeaderLine::Subject { text, .. } => Line::styled(ctx.truncate(text, width), Theme::title()),
        HeaderLine::Text {
            field,
            is_first,
            text,
        } => labelled(if *is_first { field.label } else { "" }, text),
        HeaderLine::ToAndCreated(to, created) => build_to_and_created(to, created, width, ctx),
        HeaderLine::Created(time) => labelled("created", &ctx.format_fitting(time, value_width)),
        HeaderLine::Scheduled(time) => {
            labelled("scheduled", &ctx.format_fitting(time, value_width))
        }
        HeaderLine::Status {
            status,
            is_stale,
            meaning,
        } => {
            let as_of = if *is_stale {
                format!(", {}", ctx.format_as_of(row.confirmed_at))
            } else {
                String::new()
            };
            build_status_line(status, &as_of, meaning, width, ctx)
        }
        HeaderLine::MissingUpstream(noticed) => {
            let noticed = ctx.format_date_time(*noticed);
            let long = format!("no longer at the service; kept here (noticed {noticed})");
            let short = || format!("not at the service, noticed {noticed}");
            let text = Some(long).filter(|text| text.width() <= value_width);
            labelled("gone", &text.unwrap_or_else(short))
        }
        HeaderLine::History(history) => {
            labelled("observed", &format_history(history, value_width, ctx))
        }
        HeaderLine::Indented(text) => Line::raw(ctx.truncate(&format!("  {text}"), width)),
        HeaderLine::Field(name, value) => labelled(name, value),
        HeaderLine::MoreFields(count) => {
            let text = format!("{} in the raw view", plural(*count as u64, "more field"));
            build_labelled_line("", &text, ctx.theme.chrome(), width, ctx)
        }
        HeaderLine::BodyViewTabs(hidden) => build_body_view_tabs(model, *hidden, width, ctx),
    }
}

/// Builds the line with the first recipient and the time, of which the time is
/// shortened first.
fn build_to_and_created<'a>(
    to: &str,
    created: &ApiTime,
    width: usize,
    ctx: &RenderCtx,
) -> Line<'a> {
    /// With fewer columns, an address says less than the zone and the date.
    const MIN_TO: usize = 12;
    let rest = width.saturating_sub(usize::from(TO_WIDTH) + 3);
    let forms = [ctx.format_with_zone(created), ctx.format_medium(created)];
    let mut forms = forms.into_iter();
    let created = forms
        .find(|form| form.width() + MIN_TO <= rest)
        .unwrap_or_else(|| ctx.format_short(created));
    let columns = rest.saturating_sub(created.width());
    let to = ctx.truncate_address(to, columns);
    Line::from(vec![
        Span::styled("to ", ctx.theme.chrome()),
        Span::raw(to),
        Span::raw(format!(" {} {created}", ctx.glyphs.separator)),
    ])
}

fn build_status_line<'a>(
    status: &Status,
    as_of: &str,
    meaning: &str,
    width: usize,
    ctx: &RenderCtx,
) -> Line<'a> {
    let mut line = ctx.build_status(status);
    let as_of = Span::styled(format!("{as_of}: "), ctx.theme.status(status));
    line.push_span(as_of);
    for span in &mut line.spans {
        span.style = span.style.add_modifier(Modifier::BOLD);
    }
    let meaning = ctx.truncate(meaning, width.saturating_sub(line.width()));
    line.push_span(Span::raw(meaning));
    line
}

fn build_labelled_line<'a>(
    label: &str,
    value: &str,
    style: Style,
    width: usize,
    ctx: &RenderCtx,
) -> Line<'a> {
    let columns = usize::from(LABEL_WIDTH);
    let label = if label.len() < columns {
        width::align_left(label, columns, "")
    } else {
        format!("{label} ")
    };
    let value = ctx.truncate(value, width.saturating_sub(label.width()));
    Line::from(vec![
        Span::styled(label, ctx.theme.chrome()),
        Span::styled(value, style),
    ])
}

/// Formats statuses with the time of observation;
/// the service does not give the time of the event. The earliest ones are left out if not all fit.
fn format_history(history: &[ObservedStatus], width: usize, ctx: &RenderCtx) -> String {
    let mut observed: Vec<String> = history
        .iter()
        .map(|seen| {
            format!(
                "{} {}",
                seen.status.label(),
                ctx.format_date_time(seen.seen)
            )
        })
        .collect();
    let arrow = format!(" {} ", ctx.glyphs.arrow);
    let mut text = observed.join(&arrow);
    while text.width() > width && observed.len() > 1 {
        observed.remove(0);
        text = format!("{}{arrow}{}", ctx.glyphs.ellipsis, observed.join(&arrow));
    }
    text
}

/// Returns the views that have a tab:
/// all, or only the shown one where what is known of the body needs the columns of the others.
fn tab_body_views(model: &Model, width: usize) -> &'static [BodyView] {
    const SEPARATOR_WIDTH: usize = 3;
    let tabs: usize = BodyView::ALL
        .iter()
        .map(|view| view.label().len() + 3)
        .sum();
    let labels = shown_body(model).map(notice_labels).unwrap_or_default();
    let facts = labels.iter().map(|label| label.width() + SEPARATOR_WIDTH);
    let facts: usize = facts.sum();
    if facts == 0 || 1 + tabs + facts < width {
        return &BodyView::ALL;
    }
    let shown = BodyView::ALL
        .iter()
        .position(|view| *view == model.reader.body_view);
    shown.map_or(&BodyView::ALL, |at| &BodyView::ALL[at..=at])
}

fn shown_body(model: &Model) -> Option<&Body> {
    let (row, reader) = model.shown_email()?;
    reader.state(&row.summary.id).body()
}

/// Builds the rule above the body:
/// tabs of the body views, and at its right what is known about the body, and the key for more of
/// the header.
pub fn build_body_view_tabs<'a>(
    model: &Model,
    hidden: usize,
    width: usize,
    ctx: &RenderCtx,
) -> Line<'a> {
    let rule = ctx.glyphs.horizontal_rule;
    let mut spans = vec![Span::styled(rule, ctx.theme.chrome())];
    let mut used = 1;
    for view in tab_body_views(model, width) {
        let style = if *view == model.reader.body_view {
            ctx.theme.accent()
        } else {
            ctx.theme.chrome()
        };
        spans.push(Span::styled(format!(" {} ", view.label()), style));
        spans.push(Span::styled(rule, ctx.theme.chrome()));
        used += view.label().len() + 3;
    }
    let key = model
        .session
        .keymap
        .key_for(Focus::Reader, Command::FoldHeader)
        .filter(|_| hidden > 0)
        .map(|key| format!("{key} {} more", group_digits(hidden as u64, ' ')));
    let mut parts = shown_body(model).map(describe_body).unwrap_or_default();
    // The links are worth less than trackers and parts that differ.
    if shown_body(model).is_some_and(|body| !body.links.is_empty()) {
        parts.rotate_left(1);
    }
    parts.extend(key);
    let rest = width.saturating_sub(used);
    let separator = format!(" {} ", ctx.glyphs.separator);
    let mut text = parts.join(&separator);
    while !parts.is_empty() && text.width() + 4 > rest {
        parts.pop();
        text = parts.join(&separator);
    }
    if parts.is_empty() {
        spans.push(Span::styled(rule.repeat(rest), ctx.theme.chrome()));
    } else {
        let left = rule.repeat(rest - text.width() - 3);
        spans.push(Span::styled(left, ctx.theme.chrome()));
        spans.push(Span::raw(format!(" {text} ")));
        spans.push(Span::styled(rule, ctx.theme.chrome()));
    }
    Line::from(spans)
}

/// Lists what is known about a body: `text part differs`, `1 tracker`, `2 links`.
pub fn describe_body(body: &Body) -> Vec<String> {
    let links = match body.links.len() {
        0 => None,
        count => Some(plural(count as u64, "link")),
    };
    links.into_iter().chain(notice_labels(body)).collect()
}

/// Returns each label once: a body may be cut for two reasons.
fn notice_labels(body: &Body) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for notice in &body.notices {
        if !labels.contains(&notice.label) {
            labels.push(notice.label.clone());
        }
    }
    labels
}

/// Builds a line of the body; a wide one without its first `pan` columns.
fn build_body_line<'a>(line: &'a BodyLine, pan: usize, width: usize, ctx: &RenderCtx) -> Line<'a> {
    let pan = if line.wide { pan } else { 0 };
    let mut skip = pan;
    let mut spans: Vec<Span> = Vec::with_capacity(line.spans.len());
    for span in &line.spans {
        let style = ctx.theme.body_span(&span.style);
        spans.push(if skip == 0 {
            Span::styled(&*span.text, style)
        } else {
            Span::styled(width::skip_columns(&span.text, skip), style)
        });
        skip = skip.saturating_sub(span.text.width());
    }
    let columns = || -> usize { line.spans.iter().map(|span| span.text.width()).sum() };
    if line.wide && columns() > width + pan {
        truncate_spans(&mut spans, width, ctx);
    }
    Line::from(spans)
}

/// Ends a line that is wider than the pane with an ellipsis.
fn truncate_spans(spans: &mut Vec<Span>, width: usize, ctx: &RenderCtx) {
    let mut rest = width;
    for n in 0..spans.len() {
        let columns = spans[n].width();
        if columns >= rest {
            // The spaces make the text too wide, so that it is cut even where it would fit.
            let text = ctx.truncate(&format!("{}  ", spans[n].content), rest);
            spans[n].content = text.into();
            spans.truncate(n + 1);
            return;
        }
        rest -= columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Status;

    #[test]
    fn earliest_observed_statuses_are_left_out() {
        let ctx = crate::view::tests::render_ctx();
        let seen = |(status, clock): (Status, &str)| ObservedStatus {
            status,
            seen: format!("2026-11-20T{clock}:00Z").parse().unwrap(),
        };
        let history = [
            (Status::Queued, "09:27"),
            (Status::Sent, "09:28"),
            (Status::Delivered, "09:29"),
        ];
        let history = history.map(seen);
        let all = "queued 09:27 → sent 09:28 → delivered 09:29";
        assert_eq!(format_history(&history, 43, &ctx), all);
        let latest = "… → sent 09:28 → delivered 09:29";
        assert_eq!(format_history(&history, 42, &ctx), latest);
        assert_eq!(format_history(&history, 5, &ctx), "… → delivered 09:29");
    }
}
