//! A backend that writes nothing when nothing changed,
//! and few bytes when something did.

mod screen;
mod sgr;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use unicode_width::UnicodeWidthStr;

use self::screen::{Row, Screen, Scroll, split_hyperlink, symbol_width};
use self::sgr::SgrState;
use crate::render::{HYPERLINK_MIDDLE, HYPERLINK_START};

/// Wraps the crossterm backend for slow lines.
///
/// A frame without changed cells writes no byte; a large one is a synchronised update, which
/// appears at once. Crossterm does not write the cells: it takes nine bytes for each of the sixteen
/// colours instead of five, one sequence for each attribute, and an absolute position for each
/// cell.
///
/// It knows what the terminal shows, so that it can write a short gap again instead of a move,
/// erase the blank end of a row, and let the terminal scroll rows that have only moved.
pub struct CompactBackend<W: Write> {
    inner: CrosstermBackend<W>,
    cursor_hidden: bool,
    sgr: SgrState,
    screen: Screen,
    /// Whether the terminal has margins at columns (DECLRMM).
    has_margins: bool,
}

/// The known position of the terminal's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorState {
    Cell(Position),
    /// This cell, unless the terminal draws East Asian ambiguous characters two columns
    /// wide. The next character may follow, so that a rule is one run; a move is to a column.
    Likely(Position),
    /// Only the row: terminals differ about the width of the last symbol.
    Row(u16),
    Unknown,
}

impl CursorState {
    fn after_write(self, text: &str, at: Position) -> Self {
        let next = |columns| Position::new(at.x + columns, at.y);
        match SymbolWidth::measure(text) {
            SymbolWidth::Agreed(columns) => match self {
                Self::Likely(_) => Self::Likely(next(columns)),
                _ => Self::Cell(next(columns)),
            },
            SymbolWidth::Ambiguous => Self::Likely(next(1)),
            SymbolWidth::Disputed => Self::Row(at.y),
        }
    }

    /// Where the cursor is, or most likely is.
    const fn position(self) -> Option<Position> {
        match self {
            Self::Cell(at) | Self::Likely(at) => Some(at),
            Self::Row(_) | Self::Unknown => None,
        }
    }

    const fn row(self) -> Option<u16> {
        match self {
            Self::Cell(Position { y, .. }) | Self::Likely(Position { y, .. }) | Self::Row(y) => {
                Some(y)
            }
            Self::Unknown => None,
        }
    }
}

/// How far terminals agree about the columns of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SymbolWidth {
    Agreed(u16),
    /// One column, except where East Asian users have chosen two.
    Ambiguous,
    /// Clusters of several characters, emoji, and symbols that some fonts draw wide.
    Disputed,
}

impl SymbolWidth {
    fn measure(text: &str) -> Self {
        /// Above it, symbols may be drawn as emoji.
        const MISCELLANEOUS_SYMBOLS: char = '\u{2600}';
        let mut chars = text.chars();
        let (Some(char), None) = (chars.next(), chars.next()) else {
            return Self::Disputed;
        };
        match (text.width(), text.width_cjk()) {
            (1, 1) => Self::Agreed(1),
            (1, _) if char < MISCELLANEOUS_SYMBOLS => Self::Ambiguous,
            (2, _) if is_east_asian_letter(char) => Self::Agreed(2),
            _ => Self::Disputed,
        }
    }
}

/// Whether the character is kana, hangul or a Han character:
/// wide in the first version of the standard, and on every terminal.
const fn is_east_asian_letter(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}')
}

impl<W: Write> CompactBackend<W> {
    /// Writes to `out`, which should buffer a frame.
    /// The cursor must be hidden, and the screen blank.
    pub fn new(out: W) -> Self {
        Self {
            inner: CrosstermBackend::new(out),
            cursor_hidden: true,
            sgr: SgrState::DEFAULT,
            screen: Screen::default(),
            has_margins: false,
        }
    }

    /// Scrolls a pane beside another one by margins at columns, which the terminal has.
    pub fn use_margins(&mut self) {
        self.has_margins = true;
    }

    fn write_frame(&mut self, screen: &mut Screen) -> io::Result<()> {
        /// So few bytes reach the terminal in one piece.
        const MAX_UNMARKED: usize = 1_000;
        let mut frame = String::new();
        screen.erase_clusters();
        if let Some(scroll) = screen.take_scroll(self.has_margins) {
            frame.push_str(&self.scroll(&scroll));
        }
        let mut writer = FrameWriter {
            out: &mut frame,
            sgr: &mut self.sgr,
            cursor: CursorState::Unknown,
            hyperlink: None,
        };
        for (y, row) in (0..).zip(&screen.rows) {
            writer.write_row(y, row);
        }
        writer.set_hyperlink(None);
        if frame.len() <= MAX_UNMARKED {
            return self.inner.write_all(frame.as_bytes());
        }
        write!(self.inner, "\x1b[?2026h{frame}\x1b[?2026l")
    }

    /// Scrolls by line feeds at the margin of a scroll region:
    /// the Linux console has no SU and SD. Without its mode (DECLRMM), margins at columns end.
    fn scroll(&mut self, scroll: &Scroll) -> String {
        let (top, bottom) = (scroll.region.start + 1, scroll.region.end);
        // The rows that appear have the current background.
        let blank = self.sgr.sequence_to(SgrState::DEFAULT);
        self.sgr = SgrState::DEFAULT;
        let (margin, step) = if scroll.is_up {
            (bottom, "\n")
        } else {
            (top, "\x1bM")
        };
        let steps = step.repeat(scroll.distance);
        if scroll.left == 0 {
            return format!("{blank}\x1b[{top};{bottom}r\x1b[{margin}H{steps}\x1b[r");
        }
        let left = scroll.left + 1;
        format!(
            "{blank}\x1b[?69h\x1b[{left}s\x1b[{top};{bottom}r\x1b[{margin};{left}H{steps}\x1b[?69l\x1b[r"
        )
    }
}

struct FrameWriter<'a> {
    out: &'a mut String,
    sgr: &'a mut SgrState,
    cursor: CursorState,
    /// The sequence that started the open hyperlink.
    hyperlink: Option<&'a str>,
}

impl<'a> FrameWriter<'a> {
    fn write_row(&mut self, y: u16, row: &'a Row) {
        /// Fewer spaces cost less than the sequence.
        const MIN_ERASED: usize = 4;
        if let Some(x) = row.erased_from {
            self.set_hyperlink(None);
            self.move_cursor(Position::new(x as u16, y), row);
            self.erase_to_end();
        }
        let blank_start = row.blank_start();
        let blanks = || row.changed_cells().filter(|(x, _)| *x >= blank_start);
        let is_erased = blanks().count() >= MIN_ERASED;
        for (x, cell) in row.changed_cells() {
            if is_erased && x >= blank_start {
                break;
            }
            self.write_cell(Position::new(x as u16, y), cell, row);
        }
        if let Some((x, _)) = blanks().next().filter(|_| is_erased) {
            self.set_hyperlink(None);
            // From any column of the blank end; that of the cursor is the nearest.
            let column = self
                .cursor
                .position()
                .map_or(x as u16, |at| at.x.clamp(blank_start as u16, x as u16));
            self.move_cursor(Position::new(column, y), row);
            self.erase_to_end();
        }
    }

    /// Erases the row from the cursor on.
    fn erase_to_end(&mut self) {
        if !self.sgr.is_blank() {
            self.set_sgr(SgrState::DEFAULT);
        }
        self.out.push_str("\x1b[K");
    }

    fn write_cell(&mut self, at: Position, cell: &'a Cell, row: &Row) {
        let (hyperlink, text) = split_hyperlink(cell.symbol());
        if hyperlink.is_none() {
            // A gap is not part of a hyperlink.
            self.set_hyperlink(None);
        }
        self.move_cursor(at, row);
        self.set_hyperlink(hyperlink);
        let sgr = SgrState::from_cell(cell);
        if !self.sgr.shows_alike(sgr, text) {
            self.set_sgr(sgr);
        }
        let columns = symbol_width(cell);
        if columns > 1 && text.chars().nth(1).is_some() {
            // A terminal that gives it one column would leave what was in the other one.
            let blank = format!("{:columns$}\x1b[{}G", "", at.x + 1);
            self.out.push_str(&blank);
        }
        self.out.push_str(text);
        self.cursor = self.cursor.after_write(text, at);
    }

    fn set_sgr(&mut self, to: SgrState) {
        let before = std::mem::replace(self.sgr, to);
        self.out.push_str(&before.sequence_to(to));
    }

    fn set_hyperlink(&mut self, hyperlink: Option<&'a str>) {
        if hyperlink == self.hyperlink {
            return;
        }
        self.hyperlink = hyperlink;
        let end = [HYPERLINK_START, HYPERLINK_MIDDLE].concat();
        self.out.push_str(hyperlink.unwrap_or(&end));
    }

    /// Moves the cursor to a cell of `row` with the fewest bytes.
    fn move_cursor(&mut self, to: Position, row: &Row) {
        /// No other move has fewer bytes.
        const MIN_MOVE: usize = 3;
        let at = self.cursor.position();
        if at == Some(to) {
            return;
        }
        let from = at.filter(|from| from.y == to.y && from.x < to.x);
        let gap = from.and_then(|from| self.gap(from.x, to.x, row));
        let gap = gap
            .filter(|gap| gap.len() <= MIN_MOVE || gap.len() <= self.shortest_move(to, row).len());
        let cursor = match self.cursor {
            CursorState::Likely(_) if gap.is_some() => CursorState::Likely(to),
            _ => CursorState::Cell(to),
        };
        let sequence = gap.unwrap_or_else(|| self.shortest_move(to, row));
        self.out.push_str(&sequence);
        self.cursor = cursor;
    }

    /// Returns the shortest sequence that moves the cursor, from a column that is not certain
    /// only to a column that is counted from the margin.
    fn shortest_move(&self, to: Position, row: &Row) -> String {
        let column = format!("\x1b[{}G", to.x + 1);
        let mut moves = vec![absolute(to)];
        match (self.cursor, self.cursor.row()) {
            (_, Some(y)) if y == to.y => {
                if let CursorState::Cell(from) = self.cursor
                    && from.x < to.x
                {
                    moves.push(forward(to.x - from.x));
                }
                moves.push(column);
            }
            (_, Some(y)) if y < to.y => {
                let down = "\n".repeat((to.y - y).into());
                let across = self.gap(0, to.x, row).into_iter();
                let across = across.chain([forward(to.x)]);
                moves.extend(across.map(|across| format!("\r{down}{across}")));
                if let CursorState::Cell(from) = self.cursor
                    && from.x == to.x
                {
                    moves.push(down.clone());
                }
                moves.push(down + &column);
            }
            _ => {}
        }
        let shortest = moves.into_iter().min_by_key(String::len);
        shortest.expect("there is the absolute position")
    }

    /// Returns the cells of a gap as text, if writing it again moves the cursor by its
    /// columns.
    fn gap(&self, start: u16, end: u16, row: &Row) -> Option<String> {
        /// More cells than the columns of a move have bytes.
        const MAX_COLUMNS: u16 = 10;
        if end - start > MAX_COLUMNS || self.hyperlink.is_some() {
            return None;
        }
        let end = usize::from(end);
        let mut text = String::new();
        let mut reached = usize::from(start);
        for (x, cell) in row.cells_from(reached).take_while(|(x, _)| *x < end) {
            let symbol = cell.symbol();
            let is_agreed = matches!(SymbolWidth::measure(symbol), SymbolWidth::Agreed(_));
            if !is_agreed || !self.sgr.shows_alike(SgrState::from_cell(cell), symbol) {
                return None;
            }
            text.push_str(symbol);
            reached = x + symbol_width(cell);
        }
        (reached == end).then_some(text)
    }
}

/// Returns the sequence that moves the cursor to a cell from anywhere.
fn absolute(to: Position) -> String {
    match to.x {
        0 => format!("\x1b[{}H", to.y + 1),
        x => format!("\x1b[{};{}H", to.y + 1, x + 1),
    }
}

/// Returns the sequence that moves the cursor to the right.
fn forward(columns: u16) -> String {
    match columns {
        0 => String::new(),
        1 => "\x1b[C".to_owned(),
        columns => format!("\x1b[{columns}C"),
    }
}

impl<W: Write> Backend for CompactBackend<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let mut screen = std::mem::take(&mut self.screen);
        let mut has_changes = false;
        for (x, y, cell) in content {
            screen.set_cell(x, y, cell);
            has_changes = true;
        }
        let written = if has_changes {
            self.write_frame(&mut screen)
        } else {
            Ok(())
        };
        self.screen = screen;
        written
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.cursor_hidden, true) {
            self.inner.hide_cursor()?;
        }
        Ok(())
    }

    /// Never fails: ratatui calls it when a terminal is dropped,
    /// and prints an error to stderr, which panics if stderr is the closed terminal. The next write
    /// fails anyway.
    fn show_cursor(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.cursor_hidden, false) {
            let _ = self.inner.show_cursor();
        }
        Ok(())
    }

    /// Does not query the terminal, whose answer would come among the keys:
    /// the cursor is hidden.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    /// Clears the screen in the default colours, without the margins that another
    /// program may have left. Ratatui clears all of it, or from its first cell on.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.sgr = SgrState::DEFAULT;
        self.screen = Screen::default();
        self.inner.write_all(b"\x1b[m\x1b[?6l\x1b[r")?;
        self.inner.clear_region(clear_type)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    /// Ends the frame once it is on its way: its rows are hashed after that.
    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)?;
        self.screen.finish_frame();
        Ok(())
    }
}
