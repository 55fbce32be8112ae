//! Draws screens that cover the mail:
//! help, details of an error, lists to choose from.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::bars::continuations_fit;
use super::buffer::{draw_lines, draw_rule, inset};
use super::render_ctx::RenderCtx;
use super::theme::Theme;
use crate::app::commands::help::HelpLine;
use crate::app::{ChooserItem, Command, Model, Prompt, WRONG_COLOURS, split_top};
use crate::error::{Error, RequestDetails};
use crate::text::width::{DisplayWidth as _, split_columns, wrap};

/// Columns of the keys in the help, of which a wide screen may have a fifth.
const KEYS_WIDTH: std::ops::RangeInclusive<usize> = 22..=24;

/// Draws the help above the line that names the chosen command.
pub fn draw_help(prompt: &Prompt, model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let width = usize::from(area.width);
    let columns = (width / 5).clamp(*KEYS_WIDTH.start(), *KEYS_WIDTH.end());
    let columns = columns.min(width * 2 / 5);
    let rest = usize::from(area.width).saturating_sub(columns + 3);
    let (theme, glyphs) = (ctx.theme, ctx.glyphs);
    let top = prompt.help.top(model.help_height());
    let lines = model.help_lines().into_iter().enumerate().skip(top);
    let lines: Vec<Line> = lines
        .take(usize::from(area.height).saturating_sub(1))
        .map(|(n, line)| {
            let is_chosen = prompt.help.chosen == Some(n);
            let entry = |key: &str, style: Style, text: &str| {
                Line::from(vec![
                    Span::styled(format!("{} ", glyphs.bar(is_chosen)), theme.accent()),
                    Span::styled(ctx.align_left(key, columns), style),
                    Span::raw(" "),
                    Span::styled(ctx.truncate(text, rest), Theme::item(is_chosen)),
                ])
            };
            match line {
                HelpLine::Title(title) => Line::styled(format!("  {title}"), Theme::title()),
                HelpLine::Blank => Line::default(),
                HelpLine::Status(status) => {
                    let mut line = ctx.build_status(&status);
                    let gap = columns.saturating_sub(line.width()) + 1;
                    line.spans.insert(0, Span::raw("  "));
                    let meaning = ctx.truncate(status.meaning(), rest);
                    line.push_span(Span::raw(format!("{:gap$}{meaning}", "")));
                    line
                }
                HelpLine::Changed(text) => entry(glyphs.changed, theme.new_mail(), text),
                HelpLine::Marked(text) => entry(&glyphs.mark.join(" "), theme.accent(), text),
                HelpLine::Watched(text) => entry(glyphs.watched, theme.accent(), text),
                HelpLine::MissingUpstream(text) => {
                    entry(glyphs.missing_upstream, Style::new(), text)
                }
                HelpLine::Keys(keys, spec) => {
                    // The first keys that fit: none is cut.
                    let fits = |n: &usize| keys[..*n].join("  ").width() <= columns;
                    let shown = (1..=keys.len()).rev().find(fits).unwrap_or(1);
                    entry(&keys[..shown].join("  "), theme.accent(), spec.help)
                }
            }
        })
        .collect();
    draw_lines(&lines, area, frame);
}

/// Draws texts over the upper part of the screen, the first one as their title.
pub fn draw_banner(texts: &[String], area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let columns = usize::from(area.width.saturating_sub(2));
    let mut lines = Vec::new();
    let is_error = texts.iter().any(|text| text == WRONG_COLOURS);
    let title = is_error.then(|| ctx.theme.error());
    let title = title.unwrap_or_else(Theme::title);
    let styles = std::iter::once(title).chain(std::iter::repeat(Style::new()));
    for (text, style) in texts.iter().zip(styles) {
        let wrapped = wrap(text, columns).into_iter();
        lines.extend(wrapped.map(|line| Line::styled(line, style)));
    }
    let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
    let (area, _) = split_top(area, height);
    frame.render_widget(Clear, area);
    draw_lines(&lines, inset(area, 1, 1), frame);
    let last = area.rows().next_back().unwrap_or(Rect::ZERO);
    draw_rule(last, ctx, frame);
}

/// Draws the keys that may follow the typed ones, with their labels in columns.
///
/// They are above the status bar, if that is too narrow for them.
pub fn draw_continuations(model: &Model, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    if model.pending_keys.is_empty()
        || model.notice_text().is_some()
        || area.is_empty()
        || continuations_fit(model, ctx, area.width)
    {
        return;
    }
    let next = model.continuations();
    let keys = next.iter().map(|(key, _)| key.width()).max().unwrap_or(0);
    let hints = next.iter().map(|(_, hint)| hint.width()).max().unwrap_or(0);
    let cell = keys + hints + 3;
    let columns = (usize::from(area.width) / cell).max(1);
    let rows = next.len().div_ceil(columns);
    let lines: Vec<Line> = (0..rows)
        .map(|row| {
            let cells = next.iter().skip(row).step_by(rows);
            let spans = cells.flat_map(|(key, hint)| {
                [
                    Span::styled(format!(" {key:>keys$} "), ctx.theme.accent()),
                    Span::raw(format!("{hint:<hints$} ")),
                ]
            });
            spans.collect()
        })
        .collect();
    let height = u16::try_from(rows + 1).unwrap_or(u16::MAX);
    let (_, area) = split_top(area, area.height.saturating_sub(height));
    frame.render_widget(Clear, area);
    draw_rule(area, ctx, frame);
    draw_lines(&lines, split_top(area, 1).1, frame);
}

/// Draws everything that is known of an error, for a report to the support of the
/// service.
pub fn draw_error_details(error: &Error, area: Rect, ctx: &RenderCtx, frame: &mut Frame) {
    let mut lines = vec![
        Line::styled("What failed", Theme::title()),
        Line::default(),
        Line::styled(&*error.message, ctx.theme.error()),
    ];
    if !error.hint.is_empty() {
        lines.push(Line::raw(&*error.hint));
    }
    lines.push(Line::default());
    lines.extend(describe_error(error).into_iter().map(|(label, value)| {
        let label = Span::styled(format!("{label:<14}"), ctx.theme.chrome());
        Line::from(vec![label, Span::raw(value)])
    }));
    frame.render_widget(
        Paragraph::new(Text::from(lines)).wrap(Wrap { trim: true }),
        inset(area, 2, 0),
    );
}

/// Returns what is known of an error beside its message, each with its name.
pub fn describe_error(error: &Error) -> Vec<(&'static str, String)> {
    let mut facts = vec![("kind", error.kind.code().to_owned())];
    if let Some(details) = &error.details {
        let RequestDetails {
            endpoint,
            status,
            request_id,
            attempts,
        } = &**details;
        let status = status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
        let request_id = request_id.as_deref().unwrap_or("none");
        facts.extend([
            ("request", (*endpoint).to_owned()),
            ("status", status),
            ("request id", request_id.to_owned()),
            ("attempts", attempts.to_string()),
        ]);
    }
    let wait = error.retry_after;
    let seconds = wait.map(|wait| wait.as_secs_f64().ceil());
    facts.extend(seconds.map(|seconds| ("retry after", format!("{seconds} s"))));
    facts
}

/// Draws a list from which one item is chosen.
pub fn draw_chooser(
    selected: usize,
    model: &Model,
    area: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) {
    let area = inset(area, 1, 0);
    let width = usize::from(area.width);
    // On a low screen, the selected item is worth more than the title.
    let scroll = model.chooser_scroll(area.height);
    let items = model.chooser_items_in(&model.visible_items(area.height));
    let widest = |column: fn(&ChooserItem) -> &str| {
        let widths = items.iter().map(|item| column(item).width());
        widths.max().unwrap_or(0)
    };
    let leads = widest(|item| &item.lead);
    let has_details = widest(|item| &item.detail) > 0;
    let labels = widest(|item| &item.label).min(if has_details { width / 3 } else { width });
    let full_title = model.chooser_title();
    let title = ctx.truncate(&full_title, width);
    let note = ctx.truncate(&model.chooser_note(), width);
    let mut lines = vec![Line::styled(title, Theme::title()), Line::raw(note)];
    for (index, item) in items.iter().enumerate() {
        let is_selected = index == selected;
        let bar = ctx.glyphs.bar(is_selected);
        let lead = format!("{bar}{:>leads$}  ", item.lead);
        let rest = width.saturating_sub(lead.width() + labels + 2);
        let label = ctx.truncate(&item.label, labels);
        let gap = labels.saturating_sub(label.width()) + 2;
        lines.push(Line::from(vec![
            Span::styled(lead, ctx.theme.accent()),
            Span::styled(label, Theme::item(is_selected)),
            Span::raw(" ".repeat(gap)),
            Span::raw(ctx.truncate(&item.detail, rest)),
        ]));
    }
    if items.is_empty() {
        let text = model.with_list_hint("No saved views", Command::Filter, "filters the list");
        let text = model.with_list_hint(&text, Command::SaveView, "saves the filter");
        lines.push(Line::raw(text));
    }
    let mut lines: Vec<Line> = lines
        .into_iter()
        .skip(scroll)
        .take(model.chooser_lines(area.height))
        .collect();
    // What does not fit into the line of the selected item or into the title, such as the target of
    // a link.
    let mut cut = Vec::new();
    if let Some(item) = items.get(selected) {
        let is_detail_cut = item.detail.width() + leads + labels + 5 > width;
        cut.extend((item.label.width() > labels).then_some(item.label.as_str()));
        cut.extend(is_detail_cut.then_some(item.detail.as_str()));
    }
    if cut.is_empty() && full_title.width() > width {
        cut.push(&full_title);
    }
    let free = usize::from(area.height) - lines.len();
    lines.extend(wrap_below(&cut, width, free, ctx).map(Line::raw));
    draw_lines(lines.iter(), area, frame);
}

/// Wraps texts for the `free` lines below a list;
/// they begin with an empty line if a line is left for it.
fn wrap_below(
    texts: &[&str],
    width: usize,
    free: usize,
    ctx: &RenderCtx,
) -> impl Iterator<Item = String> {
    let wrapped = texts.iter().flat_map(|text| wrap(text, width));
    let mut below: Vec<String> = wrapped
        .flat_map(|line| split_columns(&line, width))
        .collect();
    let has_gap = !below.is_empty() && below.len() < free;
    if below.len() > free {
        below.truncate(free);
        if let Some(last) = below.last_mut() {
            *last = ctx.truncate(&format!("{last}…"), width);
        }
    }
    has_gap.then(String::new).into_iter().chain(below)
}
