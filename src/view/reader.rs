//! Draws the email: head, the faces of the body, the body.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::render_ctx::{RenderCtx, Theme};
use super::{highlight, placeholders, time};
use crate::app::Focus;
use crate::app::email_header::{HeaderLine, LABEL_WIDTH};
use crate::app::keymap::key_hints;
use crate::app::{Command, Layout, MARGIN, Model, ReaderState, is_stale, line_width};
use crate::archive::{EmailRow, ObservedStatus};
use crate::query::Field;
use crate::render::{Body, BodyView};
use crate::text::width;

/// Draws the reader's pane.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let pane = layout.reader;
    let Some(row) = model.list.selected().filter(|_| !pane.is_empty()) else {
        return;
    };
    let area = Rect {
        x: pane.x + MARGIN.min(pane.width),
        width: pane.width.saturating_sub(2 * MARGIN),
        ..pane
    };
    match model.reader_state() {
        ReaderState::Empty | ReaderState::Debouncing => {}
        ReaderState::Loading => draw_document(
            model,
            row,
            None,
            Some("loading this email"),
            area,
            look,
            frame,
        ),
        ReaderState::Ready(_, body) => draw_document(model, row, body, None, area, look, frame),
        ReaderState::Failed(failure) => {
            draw_document(model, row, None, None, area, look, frame);
            let head = u16::try_from(model.reader.header(row).len())
                .unwrap_or(u16::MAX)
                .min(area.height);
            let below = Rect {
                y: area.y + head,
                height: area.height - head,
                ..area
            };
            let again = key_hints(
                &model.keymap,
                Focus::Reader,
                [(Command::Refresh, "tries again")],
            );
            placeholders::draw_error(
                failure,
                "this email could not be loaded",
                &again,
                below,
                look,
                frame,
            );
        }
    }
}

fn draw_document(
    model: &Model,
    row: &EmailRow,
    body: Option<&Body>,
    note: Option<&str>,
    area: Rect,
    look: &RenderCtx,
    frame: &mut Frame,
) {
    let head = model.reader.header(row);
    let scroll = model.reader.scroll();
    let unfold = model
        .keymap
        .key_for(Focus::Reader, Command::FoldHeader)
        .unwrap_or_default();
    let as_of = is_stale(row, look.now).then(|| time::format_as_of(row.confirmed_at, look));
    let mut lines: Vec<Line> = Vec::with_capacity(usize::from(area.height));
    for line in head.iter().skip(scroll) {
        lines.push(build_head_line(
            line,
            as_of.as_deref(),
            model.reader.view(),
            &unfold,
            usize::from(area.width),
            look,
        ));
    }
    let room = usize::from(area.height).saturating_sub(lines.len());
    if let Some(body) = body {
        let pan = usize::from(model.reader.pan());
        let skipped = scroll.saturating_sub(head.len());
        lines.extend(
            body.lines
                .iter()
                .skip(skipped)
                .take(room)
                .map(|line| build_body_line(line, pan, usize::from(area.width), look)),
        );
    } else if let Some(note) = note {
        lines.push(Line::styled(
            format!("{note}{}", look.glyphs.ellipsis),
            Theme::chrome(),
        ));
    }
    lines.truncate(usize::from(area.height));
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        frame.buffer_mut().set_line(area.x, y, line, area.width);
    }
    if model.reader.find_text().is_none() {
        highlight_head(model, &head, area, frame);
    }
    if let Some(body) = body {
        highlight_body(model, body, head.len(), area, frame);
    }
}

/// Underlines what is looked for in the lines of the body that are visible.
fn highlight_body(model: &Model, body: &Body, head: usize, area: Rect, frame: &mut Frame) {
    for (nth, mark) in model.reader.matches().iter().enumerate() {
        let style = Theme::highlight(model.reader.current_match() == Some(nth));
        for (at, range) in &mark.parts {
            let y = (head + at)
                .checked_sub(model.reader.scroll())
                .and_then(|y| u16::try_from(y).ok());
            let (Some(y), Some(line)) = (y.filter(|y| *y < area.height), body.lines.get(*at))
            else {
                continue;
            };
            let pan = if line.wide {
                usize::from(model.reader.pan())
            } else {
                0
            };
            let text = line.text();
            let column = |byte: usize| {
                unicode_width::UnicodeWidthStr::width(&text[..byte])
                    .saturating_sub(pan)
                    .min(usize::from(area.width))
            };
            let (start, end) = (column(range.start), column(range.end));
            let x = area.x + u16::try_from(start).unwrap_or(0);
            let place = Rect {
                x,
                y: area.y + y,
                width: u16::try_from(end - start).unwrap_or(0),
                height: 1,
            };
            frame.buffer_mut().set_style(place, style);
        }
    }
}

/// Underlines what the filter looks for in the subject and the addresses.
fn highlight_head(model: &Model, head: &[HeaderLine], area: Rect, frame: &mut Frame) {
    let sought = model.list.filter().query().highlight_terms();
    let mut label = "";
    for (nth, line) in head.iter().enumerate() {
        let (text, fields, lead): (&str, &[Field], u16) = match line {
            HeaderLine::Subject(subject) => (subject, &[Field::Subject], 0),
            HeaderLine::Addresses(named, text) => {
                label = if named.is_empty() { label } else { named };
                (text, fields_for_label(label), LABEL_WIDTH)
            }
            HeaderLine::Sent(_)
            | HeaderLine::Scheduled(_)
            | HeaderLine::Status(..)
            | HeaderLine::Text(..)
            | HeaderLine::Gone(_)
            | HeaderLine::History(_)
            | HeaderLine::Tags(_)
            | HeaderLine::Field(..)
            | HeaderLine::MoreFields(_)
            | HeaderLine::ViewBar(_) => continue,
        };
        let y = nth
            .checked_sub(model.reader.scroll())
            .and_then(|y| u16::try_from(y).ok())
            .filter(|y| *y < area.height);
        let Some(y) = y else { continue };
        let at = Position::new(area.x + lead, area.y + y);
        let columns = usize::from(area.width.saturating_sub(lead));
        highlight::underline_ranges(
            text,
            &highlight::match_ranges(text, fields, &sought),
            at,
            columns,
            frame,
        );
    }
}

/// What a filter can look for in a line of addresses.
fn fields_for_label(label: &str) -> &'static [Field] {
    match label {
        "to" => &[Field::To, Field::Any],
        "cc" => &[Field::Cc, Field::Any],
        "bcc" => &[Field::Bcc, Field::Any],
        "from" => &[Field::From, Field::Any],
        _ => &[Field::ReplyTo, Field::Any],
    }
}

fn build_head_line<'a>(
    line: &'a HeaderLine,
    as_of: Option<&str>,
    view: BodyView,
    unfold: &str,
    width: usize,
    look: &RenderCtx,
) -> Line<'a> {
    let theme = &look.theme;
    match line {
        HeaderLine::Subject(subject) if subject.is_empty() => {
            Line::styled("(no subject)", Theme::chrome())
        }
        HeaderLine::Subject(subject) => Line::styled(
            width::truncate(subject, width, look.glyphs.ellipsis),
            Theme::title(),
        ),
        HeaderLine::Addresses(label, line) | HeaderLine::Text(label, line) => {
            build_labelled_line(label, line, Style::new(), width, look)
        }
        HeaderLine::Sent(stamp) => build_labelled_line(
            "created",
            &time::format_fitting(stamp, look, value_width(width)),
            Style::new(),
            width,
            look,
        ),
        HeaderLine::Scheduled(stamp) => build_labelled_line(
            "scheduled",
            &time::format_fitting(stamp, look, value_width(width)),
            Style::new(),
            width,
            look,
        ),
        HeaderLine::Status(status, meaning) => {
            let as_of = as_of.map_or_else(String::new, |as_of| format!(", {as_of}"));
            let words = format!("{} {}{as_of}: ", look.glyphs.status(status), status.label());
            let room = width.saturating_sub(unicode_width::UnicodeWidthStr::width(words.as_str()));
            let meaning = width::truncate(meaning, room, look.glyphs.ellipsis);
            Line::from(vec![
                Span::styled(
                    words,
                    theme
                        .status(status)
                        .add_modifier(ratatui::style::Modifier::BOLD),
                ),
                Span::raw(meaning),
            ])
        }
        HeaderLine::Gone(gone) => {
            let words = format!(
                "{} (noticed {})",
                gone.reason.description(),
                time::format_date_time(gone.noticed, look)
            );
            build_labelled_line("gone", &words, Style::new(), width, look)
        }
        HeaderLine::History(history) => build_labelled_line(
            "seen",
            &format_history(history, look),
            Style::new(),
            width,
            look,
        ),
        HeaderLine::Tags(tags) => {
            let tags: Vec<String> = tags
                .iter()
                .map(|tag| format!("{}={}", tag.name, tag.value))
                .collect();
            build_labelled_line("tags", &tags.join("  "), Style::new(), width, look)
        }
        HeaderLine::Field(name, value) => {
            build_labelled_line(name, value, Style::new(), width, look)
        }
        HeaderLine::MoreFields(1) => build_labelled_line(
            "",
            "1 more field in the raw view",
            Theme::chrome(),
            width,
            look,
        ),
        HeaderLine::MoreFields(count) => build_labelled_line(
            "",
            &format!("{count} more fields in the raw view"),
            Theme::chrome(),
            width,
            look,
        ),
        HeaderLine::ViewBar(hidden) => build_view_tabs(view, *hidden, unfold, width, look),
    }
}

fn build_labelled_line<'a>(
    label: &str,
    value: &str,
    style: Style,
    width: usize,
    look: &RenderCtx,
) -> Line<'a> {
    let columns = usize::from(LABEL_WIDTH);
    let label = if label.len() < columns {
        width::align_left(label, columns, "")
    } else {
        format!("{label} ")
    };
    let room = width.saturating_sub(unicode_width::UnicodeWidthStr::width(label.as_str()));
    Line::from(vec![
        Span::styled(label, Theme::chrome()),
        Span::styled(width::truncate(value, room, look.glyphs.ellipsis), style),
    ])
}

/// Columns of a value beside its label.
fn value_width(width: usize) -> usize {
    width.saturating_sub(usize::from(LABEL_WIDTH))
}

/// What was seen and when: never the time of the event, which the service does not tell.
fn format_history(history: &[ObservedStatus], look: &RenderCtx) -> String {
    let seen: Vec<String> = history
        .iter()
        .map(|seen| {
            format!(
                "{} {}",
                seen.status.label(),
                time::format_date_time(seen.seen, look)
            )
        })
        .collect();
    seen.join(&format!(" {} ", look.glyphs.arrow))
}

/// The rule between head and body, with the faces of the body on it, and what is folded away above it.
fn build_view_tabs<'a>(
    shown: BodyView,
    hidden: usize,
    key: &str,
    width: usize,
    look: &RenderCtx,
) -> Line<'a> {
    let rule = look.glyphs.horizontal_rule;
    let mut spans = vec![Span::styled(rule, Theme::chrome())];
    let mut used = 1;
    for view in BodyView::ALL {
        let style = if view == shown {
            look.theme.accent()
        } else {
            Theme::chrome()
        };
        spans.push(Span::styled(format!(" {} ", view.label()), style));
        spans.push(Span::styled(rule, Theme::chrome()));
        used += view.label().len() + 3;
    }
    let more = if hidden == 1 { "line" } else { "lines" };
    let room = width.saturating_sub(used);
    let forms = [
        format!(" {key} shows {hidden} more {more} "),
        format!(" {key} +{hidden} "),
        format!(" +{hidden}"),
    ];
    let words = forms
        .iter()
        .find(|words| words.len() < room)
        .unwrap_or(&forms[2])
        .clone();
    if hidden > 0 && words.len() < room {
        spans.push(Span::styled(
            rule.repeat(room - words.len() - 1),
            Theme::chrome(),
        ));
        spans.push(Span::raw(words));
        spans.push(Span::styled(rule, Theme::chrome()));
    } else {
        spans.push(Span::styled(rule.repeat(room), Theme::chrome()));
    }
    Line::from(spans)
}

/// A line of the body; a wide one is moved to the left by `pan` columns.
fn build_body_line<'a>(
    line: &'a crate::render::BodyLine,
    pan: usize,
    width: usize,
    look: &RenderCtx,
) -> Line<'a> {
    let overflows = line.wide && line_width(line) > width;
    if !line.wide || pan == 0 {
        let mut spans: Vec<Span> = line
            .spans
            .iter()
            .map(|span| Span::styled(&*span.text, look.theme.body_span(&span.style)))
            .collect();
        if overflows {
            truncate_spans(&mut spans, width, look);
        }
        return Line::from(spans);
    }
    let mut left = pan;
    let mut spans = Vec::with_capacity(line.spans.len());
    for span in &line.spans {
        let columns = unicode_width::UnicodeWidthStr::width(&*span.text);
        spans.push(Span::styled(
            width::skip_columns(&span.text, left),
            look.theme.body_span(&span.style),
        ));
        left = left.saturating_sub(columns);
    }
    if line_width(line) > width + pan {
        truncate_spans(&mut spans, width, look);
    }
    Line::from(spans)
}

/// Ends a line that goes on beyond the pane with an ellipsis.
fn truncate_spans(spans: &mut Vec<Span>, width: usize, look: &RenderCtx) {
    let mut room = width;
    for n in 0..spans.len() {
        let columns = spans[n].width();
        if columns >= room {
            let text = width::truncate(
                &format!("{}{}", spans[n].content, "  "),
                room,
                look.glyphs.ellipsis,
            );
            spans[n].content = text.into();
            spans.truncate(n + 1);
            return;
        }
        room -= columns;
    }
}
