//! Draws the statistics: stacked bars by outcome, which differ by character and by
//! colour.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::buffer::{draw_lines, inset};
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use super::wording::{
    add_purged, format_coverage, format_filter_check, format_known_bodies, format_list_age,
    format_since,
};
use crate::app::list::statistics::{StatisticsItem, TWO_COLUMNS_WIDTH};
use crate::app::{Model, split_top};
use crate::archive::{Outcome, Outcomes, Share, Statistics};
use crate::mail::Status;
use crate::text::format::{group_digits, plural};
use crate::text::width::{DisplayWidth as _, wrap};

/// With fewer lines for the first section, the legend is below all bars.
const MIN_BAR_LINES: usize = 6;
/// With fewer columns, a bar is worth more than a rate.
const MIN_RATE_WIDTH: usize = 50;

/// Draws the statistics of the filter.
pub fn draw(selected: usize, model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let area = inset(area, 1, 1);
    let width = usize::from(area.width);
    let Some(statistics) = model.statistics.result.value() else {
        let line = ctx.build_counting(model.statistics.result.error(), width);
        return draw_lines(&[build_title(model, ctx, width), line], area, frame);
    };
    let header = build_header(statistics, model, ctx, width);
    let mut legend = build_legend(ctx, width);
    let items = model.statistics_items();
    if area.width < TWO_COLUMNS_WIDTH - 2 {
        let (mut lines, at) = build_sections(&items, 0, selected, width, ctx);
        if header.len() + legend.len() + MIN_BAR_LINES > area.height.into() {
            lines.append(&mut legend);
        }
        let header_lines = header.len() + legend.len();
        let lines: Vec<Line> = [header, legend, lines].concat();
        // At the first item, the header is worth more than the mark of the item.
        let is_last = selected + 1 == items.len();
        let shown = |at| {
            if is_last {
                lines.len() - 1
            } else {
                at + header_lines
            }
        };
        let at = at.filter(|_| selected > 0).map(shown);
        return draw_scrolled(&lines, at, area, frame);
    }
    let header = [header, legend].concat();
    draw_lines(&header, area, frame);
    let (_, below) = split_top(area, u16::try_from(header.len()).unwrap_or(0));
    let half = (area.width - 2) / 2;
    let left = Rect {
        width: half,
        ..below
    };
    let times = items
        .iter()
        .take_while(|item| item.section.is_time())
        .count();
    for (area, items, first) in [
        (left, &items[..times], 0),
        (inset(below, half + 2, 0), &items[times..], times),
    ] {
        let (lines, at) = build_sections(items, first, selected, area.width.into(), ctx);
        draw_scrolled(&lines, at, area, frame);
    }
}

/// Draws lines so that line `at` is visible.
fn draw_scrolled(lines: &[Line], at: Option<usize>, area: Rect, frame: &mut Frame) {
    let scroll = at.map_or(0, |at| (at + 1).saturating_sub(area.height.into()));
    draw_lines(&lines[scroll..], area, frame);
}

fn build_title<'a>(model: &Model, ctx: &RenderCtx, width: usize) -> Line<'a> {
    Line::styled(
        ctx.truncate(&format_heading(model, ctx), width),
        Theme::title(),
    )
}

/// Formats `Statistics of to:ana, as of 09:41`.
pub fn format_heading(model: &Model, ctx: &RenderCtx) -> String {
    let filter = model.list.filter.text();
    let of = if filter.is_empty() {
        "all mail"
    } else {
        filter
    };
    let as_of = format_list_age(model.statistics.as_of, ctx);
    format!("Statistics of {of}{as_of}")
}

/// Formats what was counted, and its rates.
/// Those of emails that were chosen by their status mean nothing.
pub fn format_summary(statistics: &Statistics, model: &Model, ctx: &RenderCtx) -> [Vec<String>; 2] {
    let since = |at| format_since(at, model, ctx);
    let mut coverage = format_coverage(model.statistics.coverage.as_ref(), model, since);
    if coverage.is_empty() {
        // The service may have others.
        coverage.push_str(" stored here");
    }
    let coverage = format!(
        "{}{}{}",
        plural(statistics.total, "email"),
        add_purged(coverage, model),
        format_known_bodies(model.statistics.bodies_known, model)
    );
    let mut texts = vec![coverage];
    // A filter by status is right as far as the statuses of all its candidates are.
    let freshness = (statistics.total > 0).then(|| format_freshness(statistics, ctx));
    texts.extend(format_filter_check(model, ctx).or(freshness));
    if statistics.undated > 0 {
        texts.push(format!("{} without a date", statistics.undated));
    }
    let rates = if model.list.filter.query().depends_on_status() {
        Vec::new()
    } else {
        vec![
            statistics.bounces().describe("bounce rate", "handed over"),
            statistics
                .complaints()
                .describe("complaint rate", "delivered"),
        ]
    };
    [texts, rates]
}

/// Builds title, coverage and rates.
fn build_header<'a>(
    statistics: &Statistics,
    model: &Model,
    ctx: &RenderCtx,
    width: usize,
) -> Vec<Line<'a>> {
    let mut lines = vec![build_title(model, ctx, width)];
    for texts in format_summary(statistics, model, ctx) {
        let joined = texts.join("; ");
        if joined.width() > width {
            let texts = texts.iter().map(|text| shorten(text, width));
            let texts = texts.flat_map(|text| wrap(&text, width));
            lines.extend(texts.map(|text| Line::raw(ctx.truncate(&text, width))));
        } else if !joined.is_empty() {
            lines.push(Line::raw(joined));
        }
    }
    lines
}

/// Shortens `bounce rate 2.50 % (1 of 40 handed over)` to its numbers,
/// or to the rate, if it does not fit.
fn shorten(text: &str, width: usize) -> String {
    let Some((rate, _)) = text.rsplit_once(" (").filter(|_| text.width() > width) else {
        return text.to_owned();
    };
    let numbers = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let numbers = format!("{numbers})");
    if numbers.width() <= width {
        numbers
    } else {
        rate.to_owned()
    }
}

/// Formats of which time the statuses are that may still change.
fn format_freshness(statistics: &Statistics, ctx: &RenderCtx) -> String {
    let age = &statistics.age;
    let as_of = age.describe(|at| ctx.format_date_time(at), |_| true);
    let unconfirmed = age.unconfirmed();
    let unconfirmed =
        (unconfirmed > 0).then(|| format!("{} unconfirmed", plural(unconfirmed, "status")));
    let gone = (age.gone.count > 0).then(|| {
        let checked = age.gone.describe(|at| ctx.format_date_time(at));
        format!("{} gone, {checked}", group_digits(age.gone.count, ' '))
    });
    let parts: Vec<String> = [as_of, unconfirmed, gone].into_iter().flatten().collect();
    match parts.as_slice() {
        [] => "all statuses final".to_owned(),
        parts => parts.join(", "),
    }
}

/// Builds the characters of the bars with their meanings,
/// on as many lines as needed.
fn build_legend<'a>(ctx: &RenderCtx, width: usize) -> Vec<Line<'a>> {
    let mut lines = vec![Line::default()];
    for outcome in Outcome::ALL {
        let bar = Span::styled(ctx.glyphs.outcome(outcome), style(outcome, ctx));
        let text = format!(" {}  ", outcome.label());
        if lines
            .last()
            .is_some_and(|line| line.width() + 1 + text.trim_end().width() > width)
        {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            line.spans.extend([bar, Span::raw(text)]);
        }
    }
    lines
}

fn style(outcome: Outcome, ctx: &RenderCtx) -> Style {
    match outcome {
        Outcome::Delivered => ctx.theme.status_symbol(&Status::Delivered),
        Outcome::InProgress => ctx.theme.status_symbol(&Status::Sent),
        Outcome::Bounced => ctx.theme.status_symbol(&Status::Bounced),
        Outcome::Complained => ctx.theme.status_symbol(&Status::Complained),
        Outcome::Other => Style::new(),
    }
}

/// Builds the sections of items, of which the first has the index `first`,
/// and the line of the selected one.
fn build_sections<'a>(
    items: &[StatisticsItem],
    first: usize,
    selected: usize,
    width: usize,
    ctx: &RenderCtx,
) -> (Vec<Line<'a>>, Option<usize>) {
    let mut lines = Vec::new();
    let mut selected_line = None;
    let mut index = first;
    for section in items.chunk_by(|a, b| a.section == b.section) {
        lines.extend([
            Line::default(),
            Line::styled(section[0].section.title(), Theme::title()),
        ]);
        let labels = section.iter().map(|item| item.label.width()).max();
        let labels = labels.unwrap_or(0).min(width * 2 / 5);
        let largest = section.iter().map(|item| item.outcomes.total()).max();
        let largest = largest.unwrap_or(0);
        let counts = section.iter().map(|item| item.count.width()).max();
        let counts = counts.unwrap_or(0);
        let percents = section.iter().map(|item| format_rate(item, width));
        let percents: Vec<String> = percents.collect();
        let rates = percents.iter().map(String::len).max().unwrap_or(0);
        let ratio = |item: &StatisticsItem| item.bounced.and_then(Share::ratio).unwrap_or(0.0);
        let worst = section.iter().map(ratio).fold(0.0, f64::max);
        let bar_width = width.saturating_sub(labels + counts + rates + 4);
        for (item, percent) in section.iter().zip(percents) {
            let is_selected = index == selected;
            if is_selected {
                selected_line = Some(lines.len());
            }
            let label = ctx.truncate(&item.label, labels);
            let gap = labels - label.width();
            let mut spans = vec![
                Span::styled(ctx.glyphs.bar(is_selected), ctx.theme.accent()),
                Span::styled(label, Theme::item(is_selected)),
                Span::raw(format!("{} {:>counts$} ", " ".repeat(gap), item.count)),
                Span::styled(
                    format!("{percent:>rates$}"),
                    rate_style(ratio(item) >= worst, ctx),
                ),
            ];
            spans.extend(build_bar(item.outcomes, largest, bar_width, ctx));
            lines.push(Line::from(spans));
            index += 1;
        }
    }
    (lines, selected_line)
}

/// Formats which part of a domain or a subject bounced, with a space after it;
/// empty if none did, or it does not fit.
fn format_rate(item: &StatisticsItem, width: usize) -> String {
    let share = item.bounced.filter(|share| share.part > 0);
    let share = share.filter(|_| width >= MIN_RATE_WIDTH);
    share.map_or_else(String::new, |share| format!("{} ", share.percent()))
}

/// Styles a rate, so that the worst one of a section is found.
fn rate_style(is_worst: bool, ctx: &RenderCtx) -> Style {
    if is_worst {
        style(Outcome::Bounced, ctx).patch(Theme::title())
    } else {
        Style::new()
    }
}

/// Builds a stacked bar; the largest takes `width`.
/// A few emails of an outcome still take one cell.
fn build_bar<'a>(outcomes: Outcomes, largest: u64, width: usize, ctx: &RenderCtx) -> Vec<Span<'a>> {
    let cells = |count: u64| {
        let scaled = u128::from(count) * width as u128 / u128::from(largest.max(1));
        usize::try_from(scaled)
            .unwrap_or(width)
            .max(usize::from(count > 0))
    };
    let bar = |outcome: Outcome| {
        let cells = cells(outcomes.get(outcome));
        Span::styled(
            ctx.glyphs.outcome(outcome).repeat(cells),
            style(outcome, ctx),
        )
    };
    Outcome::ALL.map(bar).into()
}
