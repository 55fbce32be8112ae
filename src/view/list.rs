//! Draws the list: one line a row, or two where the screen is narrow.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::buffer::LineWriter;
use super::placeholders::OLDER_NEXT;
use super::render_ctx::{CLOCK_WIDTH, ISO_WIDTH, MEDIUM_WIDTH, RenderCtx, SHORT_WIDTH};
use super::theme::Theme;
use super::wording::format_stop_hint;
use super::wording::{format_list_coverage, format_status_check};
use crate::app::{Command, Focus, Layout, ListLine, Model, count_other_recipients, is_stale};
use crate::archive::EmailRow;
use crate::config::{ColumnField, ListColumn};
use crate::mail::{Address, NO_SUBJECT, Status};
use crate::query::{Field, Query};
use crate::text::secrets::{Secrets, shown_text};
use crate::text::width::DisplayWidth as _;

/// The least width of the last column and of each column without a width.
const MIN_WIDTH: usize = 4;
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
                writer.write(&ctx.format_day(day), ctx.theme.chrome());
                continue;
            }
            ListLine::LoadMore { selected } => {
                draw_load_more_line(model, selected, line_area, ctx, frame);
                continue;
            }
        };
        let row = RowContext::new(model, layout, row, selected, ctx);
        if layout.row_height == 1 {
            row.draw_one_line(line_area, frame);
        } else {
            row.draw_two_lines(line_area, frame);
        }
    }
}

/// Returns the command that finds rows like the cell at this position of the list.
pub fn cell_command(
    model: &Model,
    layout: &Layout,
    ctx: &RenderCtx,
    at: Position,
) -> Option<Command> {
    let viewport = model.list_viewport();
    let lines = model.list.visible_lines(&viewport);
    let y = at.y - layout.list.y;
    let line = usize::from(y / layout.row_height);
    let ListLine::Row { row, selected } = lines.get(line)? else {
        return None;
    };
    let row = RowContext::new(model, layout, row, *selected, ctx);
    let width = usize::from(layout.list.width);
    let (start, columns) = match (layout.row_height, y % layout.row_height) {
        (1, _) => {
            let line = row.lay_out_one_line(width);
            (line.status_width(ctx), line.columns)
        }
        (_, 0) => (marker_width(ctx), row.lay_out_two_lines(width).first),
        _ => (marker_width(ctx), row.lay_out_two_lines(width).second),
    };
    let x = usize::from(at.x - layout.list.x);
    if x < start {
        return Some(Command::OnlyStatus).filter(|_| !model.is_received());
    }
    let mut end = start;
    let (field, _) = columns.into_iter().find(|(_, width)| {
        end += width + 1;
        x < end
    })?;
    match field {
        ColumnField::To | ColumnField::Name if model.is_received() => Some(Command::OnlySender),
        ColumnField::From if model.is_received() => Some(Command::OnlyRecipient),
        ColumnField::To | ColumnField::Name => Some(Command::OnlyRecipient),
        ColumnField::Domain => Some(Command::OnlyDomain),
        ColumnField::From => Some(Command::OnlySender),
        ColumnField::Subject => Some(Command::OnlySubject),
        ColumnField::Tags | ColumnField::Id => None,
    }
}

/// Draws below the last row how far back was searched,
/// and the key that searches older mail.
fn draw_load_more_line(
    model: &Model,
    selected: bool,
    area: Rect,
    ctx: &RenderCtx,
    frame: &mut Frame,
) {
    let columns = usize::from(area.width).saturating_sub(2);
    let with_hint = |text: &str, does| model.with_list_hint(text, Command::Open, does);
    let check = model.status_check.paused();
    let long = match (model.load_older.running, check) {
        (None, Some(check)) => with_hint(&format_status_check(check, model, ctx), "goes on"),
        (Some(_), _) => format!(
            "searching older mail{}{}",
            ctx.glyphs.ellipsis,
            format_stop_hint(model, Focus::List)
        ),
        (None, None) if model.load_older.is_about_to_start() => OLDER_NEXT.to_owned(),
        (None, None) => {
            let text = format!("searched all mail{}", format_list_coverage(model));
            with_hint(&text, "searches older mail")
        }
    };
    let text = if long.width() > columns {
        let does = if check.is_some() {
            "checks further"
        } else {
            "searches older mail"
        };
        model.list_hints(&[(Command::Open, does)])
    } else {
        long
    };
    let style = if selected && model.focus() == Focus::List {
        Theme::selected(true)
    } else {
        ctx.theme.chrome()
    };
    let mut writer = LineWriter::new(area, 0, frame);
    writer.write(ctx.glyphs.bar(selected), ctx.theme.bar(selected));
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

struct RowContext<'a> {
    row: &'a EmailRow,
    selected: bool,
    focused: bool,
    marked: bool,
    changed: bool,
    watched: bool,
    stale: bool,
    time_form: TimeForm,
    /// With its codes masked.
    subject: Cow<'a, str>,
    /// How codes in tags are shown.
    secrets: Secrets,
    query: &'a Query,
    /// The recipient that it shows; the sender of received mail.
    correspondent: Option<&'a Address>,
    columns: &'a [ListColumn],
    ctx: &'a RenderCtx,
}

/// The widths of the parts of a row of one line.
struct OneLine {
    /// Zero without a label.
    label: usize,
    columns: Vec<(ColumnField, usize)>,
    time: String,
    time_columns: usize,
}

impl OneLine {
    /// Columns up to the end of the label, with the space behind it.
    fn status_width(&self, ctx: &RenderCtx) -> usize {
        marker_width(ctx) + self.label + usize::from(self.label > 0)
    }
}

/// The parts of a row of two lines.
struct TwoLines {
    /// The last column, beside which the time is.
    first: Vec<(ColumnField, usize)>,
    time: String,
    /// All others.
    second: Vec<(ColumnField, usize)>,
    /// Whether the status label is behind them.
    has_label: bool,
}

impl<'a> RowContext<'a> {
    fn new(
        model: &'a Model,
        layout: &Layout,
        row: &'a EmailRow,
        selected: bool,
        ctx: &'a RenderCtx,
    ) -> Self {
        Self {
            row,
            selected,
            focused: model.focus() == Focus::List,
            marked: model.marks.contains(&row.summary.id),
            changed: model.has_changed(row),
            watched: model.is_watched(&row.summary.id),
            stale: is_stale(row, ctx.now.timestamp()),
            time_form: if model.full_times && layout.fits_full_times() {
                TimeForm::Full
            } else if layout.day_headings {
                TimeForm::Clock
            } else {
                TimeForm::DayAndClock
            },
            subject: model.shown_subject(row),
            secrets: model.session.secrets,
            query: model.list.filter.query(),
            correspondent: model.shown_correspondent(row),
            columns: model.columns(),
            ctx,
        }
    }

    fn lay_out_one_line(&self, width: usize) -> OneLine {
        let ctx = self.ctx;
        let time_columns = match self.time_form {
            TimeForm::Full => ISO_WIDTH,
            TimeForm::Clock => CLOCK_WIDTH,
            TimeForm::DayAndClock if width >= 72 => MEDIUM_WIDTH,
            TimeForm::DayAndClock => SHORT_WIDTH,
        };
        let has_label = width >= 48 && self.row.summary.status.exists();
        let label = if has_label { STATUS_WIDTH } else { 0 };
        // After the label, before the time, and at the end.
        let spaces = 2 + usize::from(label > 0);
        let rest = width.saturating_sub(marker_width(ctx) + label + time_columns + spaces);
        let mut columns = column_widths(self.columns, rest, rest.saturating_sub(1) / 2);
        // A text that is wider than a time takes what the columns leave, and then cells of the last
        // one.
        let used: usize = columns.iter().map(|(_, width)| width + 1).sum();
        let free = (rest + time_columns + 1).saturating_sub(used);
        let spare = columns
            .last()
            .map_or(0, |(_, last)| last - last.min(&MIN_WIDTH));
        let is_short = time_columns == SHORT_WIDTH;
        let times = [is_short, true].map(|is_short| self.format_time(is_short));
        let time = times.into_iter().find(|time| time.width() <= free + spare);
        let time = time.unwrap_or_else(|| ctx.format_short(&self.row.summary.created));
        let missing = time.width().saturating_sub(free).min(spare);
        if let Some((_, last)) = columns.last_mut() {
            *last -= missing;
        }
        OneLine {
            label,
            columns,
            time,
            time_columns: free + missing,
        }
    }

    fn draw_one_line(&self, area: Rect, frame: &mut Frame) {
        let line = self.lay_out_one_line(area.width.into());
        let mut writer = LineWriter::new(area, 0, frame);
        self.write_status(&mut writer, line.label);
        self.write_columns(&mut writer, &line.columns);
        writer.write(" ", Style::new());
        let time = self.ctx.align_right(&line.time, line.time_columns);
        writer.write(&time, Style::new());
    }

    /// Puts the last column, such as the subject, above the others;
    /// the symbol shows the status, whose word comes before a long address. Beside more
    /// columns, only a problem has its word.
    fn lay_out_two_lines(&self, width: usize) -> TwoLines {
        /// A subject of fewer cells says less than the time.
        const MIN_LAST: usize = 16;
        /// With fewer cells beside the word, the columns say less than the word.
        const MIN_OTHERS: usize = 16;
        let summary = &self.row.summary;
        let rest = width.saturating_sub(marker_width(self.ctx) + 1);
        let (others, last) = self.columns.split_at(self.columns.len().saturating_sub(1));
        let time = self.format_time(false);
        let least = match self.time_form {
            TimeForm::Full if !self.stale => MIN_WIDTH,
            TimeForm::Full | TimeForm::Clock | TimeForm::DayAndClock => MIN_LAST,
        };
        let is_short = time.width() + 1 + least > rest;
        let time = if is_short {
            self.format_time(true)
        } else {
            time
        };
        let columns = rest.saturating_sub(time.width() + 1);
        let label = summary.status.label();
        let is_to_alone = matches!(others, [column] if column.field == ColumnField::To);
        let has_label = summary.status.exists()
            && (is_to_alone || summary.status.is_problem())
            && MIN_OTHERS + label.width() < rest;
        let others_columns = if has_label {
            rest - label.width() - 1
        } else {
            rest
        };
        TwoLines {
            first: last.iter().map(|last| (last.field, columns)).collect(),
            time,
            second: column_widths(others, others_columns, others_columns),
            has_label,
        }
    }

    fn draw_two_lines(&self, area: Rect, frame: &mut Frame) {
        let (ctx, status) = (self.ctx, &self.row.summary.status);
        let lines = self.lay_out_two_lines(area.width.into());
        let mut writer = LineWriter::new(area, 0, frame);
        self.write_status(&mut writer, 0);
        self.write_columns(&mut writer, &lines.first);
        writer.write(" ", Style::new());
        writer.write(&lines.time, Style::new());

        let mut writer = LineWriter::new(area, 1, frame);
        writer.write(ctx.glyphs.bar(self.selected), ctx.theme.bar(self.selected));
        writer.write(&" ".repeat(marker_width(ctx) - 1), Style::new());
        self.write_columns(&mut writer, &lines.second);
        if lines.has_label {
            writer.write(" ", Style::new());
            writer.write(status.label(), ctx.theme.status(status));
        }
    }

    /// Writes the columns with a space between them.
    fn write_columns(&self, writer: &mut LineWriter, columns: &[(ColumnField, usize)]) {
        let summary = &self.row.summary;
        let first = self.correspondent;
        let (others, team) = if summary.status.exists() {
            (Field::To, Field::From)
        } else {
            (Field::From, Field::To)
        };
        for (n, (field, width)) in columns.iter().enumerate() {
            if n > 0 {
                writer.write(" ", Style::new());
            }
            let (text, fields): (&str, &[Field]) = match field {
                ColumnField::To => {
                    self.write_correspondent(writer, others, *width);
                    continue;
                }
                ColumnField::Name => {
                    let text = first.map_or("", |to| match &*to.name {
                        "" => &to.email,
                        name => name,
                    });
                    (text, &[others, Field::Any])
                }
                ColumnField::Domain => (first.map_or("", Address::domain), &[others, Field::Any]),
                ColumnField::From => {
                    let address = summary.team_address();
                    (address.map_or("", |from| &from.email), &[team, Field::Any])
                }
                ColumnField::Subject => match &*self.subject {
                    "" => (NO_SUBJECT, &[]),
                    subject => (subject, &[Field::Subject]),
                },
                ColumnField::Tags => {
                    let tags = self.row.tags.as_deref().unwrap_or("?");
                    (&shown_text(tags, self.secrets), &[])
                }
                ColumnField::Id => (&summary.id.to_safe_text(), &[]),
            };
            let shown = self.ctx.align_left(text, *width);
            writer.write_highlighted(&shown, Style::new(), text, fields, self.query);
        }
    }

    /// The time of the email; for a status that may be outdated, when it was confirmed;
    /// for an email that waits, when it is due, in any form. Other short forms have six cells.
    fn format_time(&self, is_short: bool) -> String {
        let (ctx, summary) = (self.ctx, &self.row.summary);
        let confirmed = self.row.confirmed_at;
        let is_full = self.time_form == TimeForm::Full;
        match &summary.scheduled {
            _ if self.stale && is_short => ctx.format_short_as_of(confirmed),
            _ if self.stale && is_full => ctx.format_iso_as_of(confirmed),
            _ if self.stale => ctx.format_as_of(confirmed),
            Some(due) if summary.status == Status::Scheduled => {
                let due = match (is_short, is_full) {
                    (true, _) => ctx.format_short(due),
                    (false, true) => ctx.format_iso(due),
                    (false, false) => ctx.format_medium(due),
                };
                format!("due {due}")
            }
            _ if is_full && !is_short => ctx.format_iso(&summary.created),
            _ if self.time_form == TimeForm::Clock => ctx.format_clock(&summary.created),
            _ if is_short => ctx.format_short(&summary.created),
            _ => ctx.format_medium(&summary.created),
        }
    }

    /// Writes bar, symbol, the mark of a change, and the label in so many columns.
    fn write_status(&self, writer: &mut LineWriter, label_width: usize) {
        let (glyphs, theme) = (self.ctx.glyphs, self.ctx.theme);
        let status = &self.row.summary.status;
        let start = glyphs.row_start(self.selected, self.marked);
        writer.write(start, theme.bar(self.selected || self.marked));
        if status.exists() {
            writer.write(glyphs.status(status), theme.status_symbol(status));
        } else {
            writer.write(&" ".repeat(marker_width(self.ctx) - 2), Style::new());
        }
        if self.row.missing_since.is_some() {
            writer.write(glyphs.missing_upstream, Style::new());
        } else if self.watched {
            writer.write(glyphs.watched, theme.accent());
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

    /// Writes the recipient and how many more there are,
    /// or the sender of received mail.
    ///
    /// Only the text is styled as selected: every styled cell costs bytes each time the
    /// selection moves.
    fn write_correspondent(&self, writer: &mut LineWriter, field: Field, columns: usize) {
        let more = count_other_recipients(self.row, self.correspondent);
        let first = self.correspondent;
        let mut suffix = String::new();
        if first.is_some_and(|to| to.lookalike_warning().is_some()) {
            suffix = format!(" {}", self.ctx.glyphs.warning);
        }
        if more > 0 {
            suffix = format!("{suffix} +{more}");
        }
        let missing = match field {
            Field::From => "(no sender)",
            _ => "(no recipient)",
        };
        let first = first.map_or(missing, |address| &*address.email);
        let shown = (self.ctx).truncate_address(first, columns.saturating_sub(suffix.width()));
        let style = if self.selected {
            Theme::selected(self.focused)
        } else {
            Style::new()
        };
        // The middle of an address may be missing.
        writer.write_highlighted(&shown, style, &shown, &[field, Field::Any], self.query);
        writer.write(&suffix, Style::new());
        let used = shown.width() + suffix.width();
        writer.write(&" ".repeat(columns.saturating_sub(used)), Style::new());
    }
}

/// Columns of bar, symbol and mark.
fn marker_width(ctx: &RenderCtx) -> usize {
    2 + ctx.glyphs.status(&Status::Delivered).width()
}

/// Divides `cells` among columns, with a space between two of them.
///
/// Columns with a width come first. The address has at most `to_cells` of the rest, the last column
/// without a width all others. A column that does not fit has no cells.
fn column_widths(
    columns: &[ListColumn],
    cells: usize,
    to_cells: usize,
) -> Vec<(ColumnField, usize)> {
    /// A longer address is rare.
    const MAX_TO: usize = 38;
    let width = |column: &ListColumn| column.width.or(column.field.default_width());
    let flexible = |column: &&ListColumn| width(column).is_none();
    let count = columns.iter().filter(flexible).count();
    let cells = cells.saturating_sub(columns.len().saturating_sub(1));
    let reserved = cells.min(count * MIN_WIDTH);
    let mut rest = cells - reserved;
    let fixed: Vec<Option<usize>> = columns
        .iter()
        .map(|column| {
            let width = usize::from(width(column)?).min(rest);
            rest -= width;
            Some(width)
        })
        .collect();
    rest += reserved;
    let mut flexible_left = count;
    let widths = columns.iter().zip(fixed).map(|(column, fixed)| {
        let width = fixed.unwrap_or_else(|| {
            flexible_left -= 1;
            let width = match (flexible_left, column.field) {
                (0, _) => rest,
                (_, ColumnField::To) => to_cells.min(MAX_TO).min(rest),
                (others, _) => rest / (others + 1),
            };
            rest -= width;
            width
        });
        (column.field, width)
    });
    widths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_and_spaces_never_exceed_their_cells(
            names in prop::collection::vec("(to|name|domain|from|subject|tags|id)(:[1-9][0-9]?)?", 1..7),
            cells in 0_usize..200,
        ) {
            let columns = ListColumn::parse_list(&names.join(" ")).unwrap();
            let spaces = columns.len() - 1;
            let widths = column_widths(&columns, cells, cells / 2);
            let used: usize = widths.iter().map(|(_, width)| width).sum();
            prop_assert!(used <= cells.saturating_sub(spaces), "{:?}", widths);
        }
    }
}
