//! Draws the list: one line a row, or two where the screen is narrow.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::buffer::LineWriter;
use super::render_ctx::{CLOCK_WIDTH, ISO_WIDTH, MEDIUM_WIDTH, RenderCtx, SHORT_WIDTH, Theme};
use super::status_bar::{format_coverage, format_status_check};
use crate::app::{Command, Focus, Layout, ListLine, Model, is_stale};
use crate::archive::EmailRow;
use crate::mail::{NO_SUBJECT, Status};
use crate::query::{Field, Query};
use crate::text::width::DisplayWidth as _;

/// Columns of the status label.
const STATUS_WIDTH: usize = 10;

/// Draws the visible rows.
pub fn draw(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let area = layout.list;
    if area.is_empty() {
        return;
    }
    let viewport = model.list_viewport();
    let lines = model.list.visible_lines(&viewport);
    for (line, y) in lines
        .iter()
        .zip((area.y..).step_by(layout.row_height.into()))
    {
        let line_area = Rect {
            y,
            height: layout.row_height,
            ..area
        };
        let (row, selected) = match *line {
            ListLine::Row { row, selected } => (row, selected),
            ListLine::Day(day) => {
                let mut writer = LineWriter::new(line_area, 0, frame);
                writer.write("  ", Style::new());
                writer.write(&ctx.format_day(day), Theme::chrome());
                continue;
            }
            ListLine::LoadMore { selected } => {
                draw_load_more_line(model, selected, line_area, ctx, frame);
                continue;
            }
        };
        let row = RowContext {
            row,
            selected,
            focused: model.focus() == Focus::List,
            changed: model.list.has_changed(&row.summary.id),
            stale: is_stale(row, ctx.now),
            time_form: match () {
                () if model.full_times => TimeForm::Full,
                () if layout.day_headings => TimeForm::Clock,
                () => TimeForm::DayAndClock,
            },
            subject: model.shown_subject(row),
            query: model.list.filter.query(),
            ctx,
        };
        if layout.row_height == 1 {
            row.draw_one_line(line_area, frame);
        } else {
            row.draw_two_lines(line_area, frame);
        }
    }
}

/// Draws below the last row how far back was searched, and the key that searches older mail.
fn draw_load_more_line(
    model: &Model,
    selected: bool,
    area: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) {
    let columns = usize::from(area.width).saturating_sub(2);
    let key = model
        .session
        .keymap
        .key_for(Focus::List, Command::Open)
        .unwrap_or_default();
    let check = model
        .status_check
        .as_ref()
        .filter(|_| model.is_status_check_paused());
    let long = match (model.load_older, check) {
        (None, Some(check)) => format!("{}; {key} goes on", format_status_check(check, ctx)),
        (Some(_), _) => format!("searching older mail{}", ctx.glyphs.ellipsis),
        (None, None) => format!(
            "searched all mail{}; {key} searches older mail",
            format_coverage(model, ctx)
        ),
    };
    let short = if check.is_some() {
        format!("{key} checks further")
    } else {
        format!("{key} searches older mail")
    };
    let text = if long.width() > columns { short } else { long };
    let style = if selected && model.focus() == Focus::List {
        Theme::selected(true)
    } else {
        Theme::chrome()
    };
    let mut writer = LineWriter::new(area, 0, frame);
    writer.write(ctx.glyphs.bar(selected), ctx.theme.accent());
    writer.write(&ctx.truncate(&text, columns), style);
}

/// How much of the time of an email its row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeForm {
    /// Its day has a heading.
    Clock,
    DayAndClock,
    /// With seconds and zone.
    Full,
}

/// A row and its state.
struct RowContext<'a> {
    row: &'a EmailRow,
    selected: bool,
    focused: bool,
    changed: bool,
    stale: bool,
    time_form: TimeForm,
    /// With its codes masked.
    subject: Cow<'a, str>,
    query: &'a Query,
    ctx: &'a RenderCtx,
}

impl RowContext<'_> {
    fn draw_one_line(&self, area: Rect, frame: &mut Frame) {
        let ctx = self.ctx;
        let columns = ColumnWidths::new(area.width.into(), self.time_form, marker_width(ctx));
        let time = self.format_time(columns.time);
        // A text that is wider than a time takes columns from the subject.
        let time_columns = columns
            .time
            .max(time.width().min(columns.time + columns.subject / 2));
        let subject_columns = columns.subject - (time_columns - columns.time);
        let mut writer = LineWriter::new(area, 0, frame);
        self.write_status(&mut writer, columns.status);
        self.write_recipient(&mut writer, columns.recipient);
        writer.write(" ", Style::new());
        self.write_subject(&mut writer, subject_columns);
        writer.write(" ", Style::new());
        writer.write(&ctx.align_right(&time, time_columns), Style::new());
    }

    fn draw_two_lines(&self, area: Rect, frame: &mut Frame) {
        let (ctx, summary) = (self.ctx, &self.row.summary);
        let width = usize::from(area.width);
        let lead = marker_width(ctx) + STATUS_WIDTH + 1;
        let mut writer = LineWriter::new(area, 0, frame);
        self.write_status(&mut writer, STATUS_WIDTH);
        let columns = width.saturating_sub(lead + 1);
        let time = ctx.align_right(&self.format_time(columns), columns);
        writer.write(&time, Style::new());

        let mut writer = LineWriter::new(area, 1, frame);
        writer.write(ctx.glyphs.bar(self.selected), ctx.theme.accent());
        let rest = width.saturating_sub(2);
        let more = if summary.to.len() > 1 { 4 } else { 0 };
        let first = summary.to.first().map_or(8, |to| to.email.width());
        let columns = (first + more).min(rest * 3 / 5).max(rest.min(8));
        self.write_recipient(&mut writer, columns);
        writer.write(" ", Style::new());
        self.write_subject(&mut writer, rest.saturating_sub(columns));
    }

    /// The time of the email for a column of so many cells; for a status that may be outdated, when it
    /// was confirmed; for an email that waits, when it is due.
    fn format_time(&self, columns: usize) -> String {
        let (ctx, summary) = (self.ctx, &self.row.summary);
        let is_short = columns <= SHORT_WIDTH && self.time_form == TimeForm::DayAndClock;
        match &summary.scheduled {
            _ if self.time_form == TimeForm::Full => ctx.format_iso(&summary.created),
            _ if self.stale && is_short => ctx.format_short_as_of(self.row.confirmed_at),
            _ if self.stale => ctx.format_as_of(self.row.confirmed_at),
            Some(due) if summary.status == Status::Scheduled && !is_short => {
                format!("due {}", ctx.format_medium(due))
            }
            _ if self.time_form == TimeForm::Clock => ctx.format_clock(&summary.created),
            _ if is_short => ctx.format_short(&summary.created),
            _ => ctx.format_medium(&summary.created),
        }
    }

    /// Writes bar, symbol, the mark of a change, and the label in so many columns.
    fn write_status(&self, writer: &mut LineWriter, label_width: usize) {
        let (glyphs, theme) = (self.ctx.glyphs, self.ctx.theme);
        let status = &self.row.summary.status;
        writer.write(glyphs.bar(self.selected), theme.accent());
        writer.write(glyphs.status(status), theme.status(status));
        if self.row.missing.is_some() {
            writer.write(glyphs.deleted, Style::new());
        } else if self.changed {
            writer.write(glyphs.changed, theme.new_mail());
        } else {
            writer.write(" ", Style::new());
        }
        if label_width > 0 {
            let label = self.ctx.align_left(status.label(), label_width);
            writer.write(&label, theme.status(status));
            writer.write(" ", Style::new());
        }
    }

    /// Writes the first recipient and how many more there are.
    ///
    /// Only the text is styled as selected: every styled cell costs bytes each time the
    /// selection moves.
    fn write_recipient(&self, writer: &mut LineWriter, columns: usize) {
        let more = self.row.to_count.saturating_sub(1);
        let suffix = if more == 0 {
            String::new()
        } else {
            format!(" +{more}")
        };
        let first = self.row.summary.to.first();
        let first = first.map_or("(no recipient)", |address| &*address.email);
        let shown = (self.ctx).truncate_address(first, columns.saturating_sub(suffix.len()));
        let style = if self.selected {
            Theme::selected(self.focused)
        } else {
            Style::new()
        };
        // The middle of an address may be missing.
        writer.write_highlighted(&shown, style, &shown, &[Field::To, Field::Any], self.query);
        writer.write(&suffix, Style::new());
        let used = shown.width() + suffix.len();
        writer.write(&" ".repeat(columns.saturating_sub(used)), Style::new());
    }

    fn write_subject(&self, writer: &mut LineWriter, columns: usize) {
        let subject = match &*self.subject {
            "" => NO_SUBJECT,
            subject => subject,
        };
        let shown = self.ctx.align_left(subject, columns);
        writer.write_highlighted(&shown, Style::new(), subject, &[Field::Subject], self.query);
    }
}

/// Columns of bar, symbol and mark.
fn marker_width(ctx: &RenderCtx) -> usize {
    2 + ctx.glyphs.status(&Status::Delivered).width()
}

/// Columns of the parts of a one-line row.
struct ColumnWidths {
    status: usize,
    recipient: usize,
    subject: usize,
    time: usize,
}

impl ColumnWidths {
    fn new(width: usize, time_form: TimeForm, marker: usize) -> Self {
        let time = match time_form {
            TimeForm::Full if width >= 48 => ISO_WIDTH,
            TimeForm::Clock => CLOCK_WIDTH,
            TimeForm::DayAndClock if width >= 72 => MEDIUM_WIDTH,
            TimeForm::DayAndClock | TimeForm::Full => SHORT_WIDTH,
        };
        let status = if width < 48 { 0 } else { STATUS_WIDTH };
        // After the label, between recipient and subject, subject and time, and at the end.
        let spaces = 3 + usize::from(status > 0);
        let rest = width.saturating_sub(marker + status + time + spaces);
        let recipient = (rest / 2).min(38);
        Self {
            status,
            recipient,
            subject: rest - recipient,
            time,
        }
    }
}
