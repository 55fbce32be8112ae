//! Draws the list: one line a row, or two where the screen is narrow.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::highlight::{self, SearchTerms};
use super::render_ctx::{RenderCtx, Theme};
use super::{status_bar, time};
use crate::app::{Command, Focus, Layout, Model, is_stale};
use crate::archive::EmailRow;
use crate::mail::Address;
use crate::query::Field;
use crate::text::width;

/// Columns before the recipient: bar, symbol, blank, status word, blank.
const STATUS_WIDTH: usize = 10;

/// Draws the visible rows.
pub fn draw(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let area = layout.list;
    if area.is_empty() {
        return;
    }
    let focused = model.focus() == Focus::List;
    let sought = model.list.filter().query().highlight_terms();
    for (n, (selected, row)) in model.list.visible_rows(layout.row_capacity()).enumerate() {
        let y = area.y + u16::try_from(n).unwrap_or(u16::MAX) * layout.row_height;
        let line = Rect {
            y,
            height: layout.row_height,
            ..area
        };
        let drawn = RowContext {
            row,
            selected,
            focused,
            changed: model.list.has_changed(&row.summary.id),
            full_times: model.full_times,
            search_terms: &sought,
        };
        if layout.row_height == 1 {
            draw_one_line(&drawn, line, look, frame);
        } else {
            draw_two_lines(&drawn, line, look, frame);
        }
    }
    draw_load_more_row(model, layout, look, frame);
}

/// The line below the last row: how far back was looked, and that one can look further.
fn draw_load_more_row(model: &Model, layout: &Layout, look: &RenderCtx, frame: &mut Frame) {
    let Some((above, selected)) = model.list.load_more_row(layout.row_capacity()) else {
        return;
    };
    let area = layout.list;
    let y = area.y + u16::try_from(above).unwrap_or(u16::MAX) * layout.row_height;
    let width = usize::from(area.width).saturating_sub(2);
    let since = model
        .service
        .reach()
        .map(|reach| status_bar::format_coverage(reach, look))
        .unwrap_or_default();
    let key = model
        .keymap
        .key_for(Focus::List, Command::Open)
        .unwrap_or_default();
    let check = model
        .status_check()
        .filter(|_| model.is_status_check_paused());
    let long = match (model.load_older, check) {
        (None, Some(check)) => format!(
            "{}; {key} goes on",
            status_bar::format_status_check(check, look)
        ),
        (Some(_), _) => format!("looking further back{}", look.glyphs.ellipsis),
        (None, None) => format!("looked at all mail{since}; {key} looks further back"),
    };
    let short = if check.is_some() {
        format!("{key} checks further")
    } else {
        format!("{key} looks further back")
    };
    let words = if long.width() > width { short } else { long };
    let bar = if selected {
        look.glyphs.selection_bar
    } else {
        " "
    };
    let style = if selected && model.focus() == Focus::List {
        Theme::selected(true)
    } else {
        Theme::chrome()
    };
    let mut pen = LineWriter {
        position: Position::new(area.x, y),
        right: area.right(),
        frame,
    };
    pen.write(bar, look.theme.accent());
    pen.write(&width::truncate(&words, width, look.glyphs.ellipsis), style);
}

/// A row and what is special about it.
struct RowContext<'a> {
    row: &'a EmailRow,
    selected: bool,
    focused: bool,
    changed: bool,
    full_times: bool,
    search_terms: &'a SearchTerms<'a>,
}

impl RowContext<'_> {
    fn is_stale(&self, look: &RenderCtx) -> bool {
        is_stale(self.row, look.now)
    }
}

fn draw_one_line(drawn: &RowContext, area: Rect, look: &RenderCtx, frame: &mut Frame) {
    let width = usize::from(area.width);
    let ellipsis = look.glyphs.ellipsis;
    let summary = &drawn.row.summary;
    let columns = ColumnWidths::for_width(width, drawn.full_times, status_marker_width(look));
    let confirmed = drawn.row.confirmed_at;
    let time = match columns.time {
        time::SHORT_WIDTH if drawn.is_stale(look) => time::format_short_as_of(confirmed, look),
        time::SHORT_WIDTH => time::format_short(&summary.created, look),
        time::MEDIUM_WIDTH if drawn.is_stale(look) => time::format_as_of(confirmed, look),
        time::MEDIUM_WIDTH => time::format_medium(&summary.created, look),
        _ => time::format_iso(&summary.created, look),
    };
    // What takes more columns than a time takes them from the subject.
    let time_columns = columns
        .time
        .max(time.width().min(columns.time + columns.subject / 2));
    let subject_columns = columns.subject - (time_columns - columns.time);
    let mut pen = LineWriter {
        position: Position::new(area.x, area.y),
        right: area.right(),
        frame,
    };
    draw_status(drawn, &mut pen, columns.status, look);
    draw_recipient(drawn, &mut pen, columns.recipient, look);
    pen.write(" ", Style::new());
    draw_subject(drawn, &mut pen, subject_columns, look);
    pen.write(" ", Style::new());
    pen.write(
        &width::align_right(&time, time_columns, ellipsis),
        Style::new(),
    );
}

fn draw_two_lines(drawn: &RowContext, area: Rect, look: &RenderCtx, frame: &mut Frame) {
    let width = usize::from(area.width);
    let summary = &drawn.row.summary;
    let ellipsis = look.glyphs.ellipsis;
    let time = match drawn.full_times {
        true => time::format_iso(&summary.created, look),
        false if drawn.is_stale(look) => time::format_as_of(drawn.row.confirmed_at, look),
        false => time::format_medium(&summary.created, look),
    };
    let lead = status_marker_width(look) + STATUS_WIDTH + 1;
    let mut pen = LineWriter {
        position: Position::new(area.x, area.y),
        right: area.right(),
        frame: &mut *frame,
    };
    draw_status(drawn, &mut pen, STATUS_WIDTH, look);
    pen.write(
        &width::align_right(&time, width.saturating_sub(lead + 1), ellipsis),
        Style::new(),
    );
    let mut pen = LineWriter {
        position: Position::new(area.x, area.y + 1),
        right: area.right(),
        frame,
    };
    pen.write(selection_glyph(drawn, look), look.theme.accent());
    let room = width.saturating_sub(2);
    let wanted = recipients_width(&summary.to);
    let columns = wanted.min(room * 3 / 5).max(room.min(8));
    draw_recipient(drawn, &mut pen, columns, look);
    pen.write(" ", Style::new());
    draw_subject(drawn, &mut pen, room.saturating_sub(columns), look);
}

/// Bar, symbol, the mark of a change, and the word.
fn draw_status(drawn: &RowContext, pen: &mut LineWriter, word: usize, look: &RenderCtx) {
    let status = &drawn.row.summary.status;
    let style = look.theme.status(status);
    pen.write(selection_glyph(drawn, look), look.theme.accent());
    pen.write(look.glyphs.status(status), style);
    let (mark, style_of_mark) = if drawn.row.missing.is_some() {
        (look.glyphs.deleted, Style::new())
    } else if drawn.changed {
        (look.glyphs.changed, look.theme.new_mail())
    } else {
        (" ", Style::new())
    };
    pen.write(mark, style_of_mark);
    if word > 0 {
        pen.write(
            &width::align_left(status.label(), word, look.glyphs.ellipsis),
            style,
        );
        pen.write(" ", Style::new());
    }
}

/// Columns of bar, symbol and mark.
fn status_marker_width(look: &RenderCtx) -> usize {
    2 + unicode_width::UnicodeWidthStr::width(look.glyphs.status(&crate::mail::Status::Delivered))
}

const fn selection_glyph(drawn: &RowContext, look: &RenderCtx) -> &'static str {
    if drawn.selected {
        look.glyphs.selection_bar
    } else {
        " "
    }
}

/// The first recipient and how many more; only the words are marked as selected, since every
/// marked cell costs bytes on the line each time the selection moves.
fn draw_recipient(drawn: &RowContext, pen: &mut LineWriter, columns: usize, look: &RenderCtx) {
    let to = &drawn.row.summary.to;
    let more = drawn.row.to_count.saturating_sub(1);
    let suffix = if more == 0 {
        String::new()
    } else {
        format!(" +{more}")
    };
    let room = columns.saturating_sub(suffix.len());
    let first = to.first().map_or("(nobody)", |address| &*address.email);
    let name = width::truncate(first, room, look.glyphs.ellipsis);
    let used = name.width() + suffix.len();
    let style = if drawn.selected {
        Theme::selected(drawn.focused)
    } else {
        Style::new()
    };
    let at = pen.position;
    pen.write(&name, style);
    let columns_of_name = used - suffix.len();
    highlight::underline_ranges(
        first,
        &highlight::match_ranges(first, &[Field::To, Field::Any], drawn.search_terms),
        at,
        columns_of_name,
        pen.frame,
    );
    pen.write(&suffix, Style::new());
    pen.write(&" ".repeat(columns.saturating_sub(used)), Style::new());
}

fn draw_subject(drawn: &RowContext, pen: &mut LineWriter, columns: usize, look: &RenderCtx) {
    let subject = &drawn.row.summary.subject;
    let at = pen.position;
    pen.write(
        &width::align_left(subject, columns, look.glyphs.ellipsis),
        Style::new(),
    );
    highlight::underline_ranges(
        subject,
        &highlight::match_ranges(subject, &[Field::Subject], drawn.search_terms),
        at,
        columns,
        pen.frame,
    );
}

fn recipients_width(to: &[Address]) -> usize {
    let more = if to.len() > 1 { 4 } else { 0 };
    to.first().map_or(8, |address| address.email.width()) + more
}

/// How the columns of a one-line row share a width.
struct ColumnWidths {
    status: usize,
    recipient: usize,
    subject: usize,
    time: usize,
}

impl ColumnWidths {
    fn for_width(width: usize, full_times: bool, lead: usize) -> Self {
        let time = match width {
            _ if full_times && width >= 48 => time::ISO_WIDTH,
            0..=71 => time::SHORT_WIDTH,
            _ => time::MEDIUM_WIDTH,
        };
        let word = if width < 48 { 0 } else { STATUS_WIDTH };
        // Blanks: after the word, between recipient and subject, subject and time, and at the end.
        let blanks = 3 + usize::from(word > 0);
        let rest = width.saturating_sub(lead + word + time + blanks);
        let recipient = (rest / 2).min(38);
        Self {
            status: word,
            recipient,
            subject: rest - recipient,
            time,
        }
    }
}

/// Writes from left to right and stops at the end of the line.
struct LineWriter<'a, 'b> {
    position: Position,
    right: u16,
    frame: &'a mut Frame<'b>,
}

impl LineWriter<'_, '_> {
    fn write(&mut self, text: &str, style: Style) {
        let room = usize::from(self.right.saturating_sub(self.position.x));
        if room > 0 && !text.is_empty() {
            (self.position.x, _) = self.frame.buffer_mut().set_stringn(
                self.position.x,
                self.position.y,
                text,
                room,
                style,
            );
        }
    }
}
