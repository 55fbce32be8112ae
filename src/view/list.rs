//! Draws the list: one line a row, or two where the screen is narrow.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::buffer::LineWriter;
use super::render_ctx::{ISO_WIDTH, MEDIUM_WIDTH, RenderCtx, SHORT_WIDTH, Theme};
use super::status_bar::{format_coverage, format_status_check};
use crate::app::{Command, Focus, Layout, Model, is_stale};
use crate::archive::EmailRow;
use crate::mail::Status;
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
    for (n, (selected, row)) in model.list.visible_rows(layout.row_capacity()).enumerate() {
        let line = Rect {
            y: row_top(layout, n),
            height: layout.row_height,
            ..area
        };
        let row = RowContext {
            row,
            selected,
            focused: model.focus() == Focus::List,
            changed: model.list.has_changed(&row.summary.id),
            stale: is_stale(row, ctx.now),
            full_times: model.full_times,
            subject: model.shown_subject(row),
            query: model.list.filter.query(),
            ctx,
        };
        if layout.row_height == 1 {
            row.draw_one_line(line, frame);
        } else {
            row.draw_two_lines(line, frame);
        }
    }
    draw_load_more_row(model, layout, ctx, frame);
}

fn row_top(layout: &Layout, index: usize) -> u16 {
    layout.list.y + u16::try_from(index).unwrap_or(u16::MAX) * layout.row_height
}

/// Draws below the last row how far back was searched, and the key that searches older mail.
fn draw_load_more_row(model: &Model, layout: &Layout, ctx: &RenderCtx, frame: &mut Frame) {
    let Some((above, selected)) = model.list.load_more_row(layout.row_capacity()) else {
        return;
    };
    let area = Rect {
        y: row_top(layout, above),
        ..layout.list
    };
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

/// A row and its state.
struct RowContext<'a> {
    row: &'a EmailRow,
    selected: bool,
    focused: bool,
    changed: bool,
    stale: bool,
    full_times: bool,
    /// With its codes masked.
    subject: Cow<'a, str>,
    query: &'a Query,
    ctx: &'a RenderCtx,
}

impl RowContext<'_> {
    fn draw_one_line(&self, area: Rect, frame: &mut Frame) {
        let (ctx, created) = (self.ctx, &self.row.summary.created);
        let columns = ColumnWidths::new(area.width.into(), self.full_times, marker_width(ctx));
        let confirmed = self.row.confirmed_at;
        let time = match columns.time {
            SHORT_WIDTH if self.stale => ctx.format_short_as_of(confirmed),
            SHORT_WIDTH => ctx.format_short(created),
            MEDIUM_WIDTH if self.stale => ctx.format_as_of(confirmed),
            MEDIUM_WIDTH => ctx.format_medium(created),
            _ => ctx.format_iso(created),
        };
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
        let time = match self.full_times {
            true => ctx.format_iso(&summary.created),
            false if self.stale => ctx.format_as_of(self.row.confirmed_at),
            false => ctx.format_medium(&summary.created),
        };
        let lead = marker_width(ctx) + STATUS_WIDTH + 1;
        let mut writer = LineWriter::new(area, 0, frame);
        self.write_status(&mut writer, STATUS_WIDTH);
        let time = ctx.align_right(&time, width.saturating_sub(lead + 1));
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
        let shown = self
            .ctx
            .truncate(first, columns.saturating_sub(suffix.len()));
        let style = if self.selected {
            Theme::selected(self.focused)
        } else {
            Style::new()
        };
        writer.write_highlighted(&shown, style, first, &[Field::To, Field::Any], self.query);
        writer.write(&suffix, Style::new());
        let used = shown.width() + suffix.len();
        writer.write(&" ".repeat(columns.saturating_sub(used)), Style::new());
    }

    fn write_subject(&self, writer: &mut LineWriter, columns: usize) {
        let subject = &*self.subject;
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
    fn new(width: usize, full_times: bool, marker: usize) -> Self {
        let time = match width {
            _ if full_times && width >= 48 => ISO_WIDTH,
            0..=71 => SHORT_WIDTH,
            _ => MEDIUM_WIDTH,
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
