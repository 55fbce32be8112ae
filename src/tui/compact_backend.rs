//! A backend that writes nothing when nothing changed, and few bytes when something did.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use crate::render::{HYPERLINK_MIDDLE, HYPERLINK_START};

/// Wraps the crossterm backend for slow lines.
///
/// A frame without changed cells writes no byte; others are synchronised updates, which appear at
/// once. Crossterm does not write the cells: it takes nine bytes for each of the sixteen colours
/// instead of five, one sequence for each attribute, and an absolute position for each cell.
pub struct CompactBackend<W: Write> {
    inner: CrosstermBackend<W>,
    cursor_hidden: bool,
    sgr: SgrState,
}

/// The colours and attributes of the next character (select graphic rendition).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SgrState {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

/// The known position of the terminal's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorState {
    Cell(Position),
    /// Only the row: terminals differ about the width of the last symbol.
    Row(u16),
    Unknown,
}

impl CursorState {
    /// The position after `symbol` was written at `at`.
    fn after_write(symbol: &str, at: Position) -> Self {
        if symbol.width() == 1 && symbol.width_cjk() == 1 {
            Self::Cell(Position::new(at.x + 1, at.y))
        } else {
            Self::Row(at.y)
        }
    }
}

impl SgrState {
    const DEFAULT: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
    };

    const fn from_cell(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }
}

impl<W: Write> CompactBackend<W> {
    /// Writes to `out`, which should buffer a frame. The cursor must be hidden already.
    pub const fn new(out: W) -> Self {
        Self {
            inner: CrosstermBackend::new(out),
            cursor_hidden: true,
            sgr: SgrState::DEFAULT,
        }
    }

    fn set_sgr(&mut self, to: SgrState) -> io::Result<()> {
        if to == self.sgr {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.sgr, to);
        if to == SgrState::DEFAULT {
            return self.inner.write_all(b"\x1b[m");
        }
        let mut codes = Vec::new();
        // Terminals differ in the codes that remove one attribute, so all are removed at once.
        let from = if to.modifier.contains(before.modifier) {
            before
        } else {
            SgrState::DEFAULT
        };
        if from != before {
            codes.push("0".to_owned());
        }
        let added = to.modifier - from.modifier;
        codes.extend(
            SGR_MODIFIERS
                .iter()
                .filter(|(modifier, _)| added.contains(*modifier))
                .map(|(_, code)| (*code).to_owned()),
        );
        if to.fg != from.fg {
            codes.push(sgr_colour(to.fg, 0));
        }
        if to.bg != from.bg {
            codes.push(sgr_colour(to.bg, 10));
        }
        write!(self.inner, "\x1b[{}m", codes.join(";"))
    }

    /// Moves the cursor to a cell with the shortest sequence.
    fn move_cursor(&mut self, cursor: CursorState, to: Position) -> io::Result<()> {
        match cursor {
            CursorState::Cell(from) if from == to => Ok(()),
            CursorState::Cell(from) if from.y == to.y && from.x < to.x => match to.x - from.x {
                1 => write!(self.inner, "\x1b[C"),
                columns => write!(self.inner, "\x1b[{columns}C"),
            },
            CursorState::Row(row) if row == to.y => write!(self.inner, "\x1b[{}G", to.x + 1),
            CursorState::Cell(Position { y: row, .. }) | CursorState::Row(row)
                if row + 1 == to.y && to.x == 0 =>
            {
                self.inner.write_all(b"\r\n")
            }
            CursorState::Cell(_) | CursorState::Row(_) | CursorState::Unknown => {
                write!(self.inner, "\x1b[{};{}H", to.y + 1, to.x + 1)
            }
        }
    }
}

/// Attributes and their codes (ECMA-48, SGR).
const SGR_MODIFIERS: [(Modifier, &str); 9] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::SLOW_BLINK, "5"),
    (Modifier::RAPID_BLINK, "6"),
    (Modifier::REVERSED, "7"),
    (Modifier::HIDDEN, "8"),
    (Modifier::CROSSED_OUT, "9"),
];

/// The code of a colour as foreground; as background with `shift` 10.
fn sgr_colour(colour: Color, shift: u8) -> String {
    let code = match colour {
        Color::Reset => 39,
        Color::Black => 30,
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Blue => 34,
        Color::Magenta => 35,
        Color::Cyan => 36,
        Color::Gray => 37,
        Color::DarkGray => 90,
        Color::LightRed => 91,
        Color::LightGreen => 92,
        Color::LightYellow => 93,
        Color::LightBlue => 94,
        Color::LightMagenta => 95,
        Color::LightCyan => 96,
        Color::White => 97,
        Color::Indexed(index) => return format!("{};5;{index}", 38 + shift),
        Color::Rgb(red, green, blue) => return format!("{};2;{red};{green};{blue}", 38 + shift),
    };
    (code + shift).to_string()
}

/// Splits the symbol of a cell into the sequence that starts its hyperlink and the text.
fn split_hyperlink(symbol: &str) -> (Option<&str>, &str) {
    let end = symbol
        .strip_prefix(HYPERLINK_START)
        .and_then(|rest| rest.find(HYPERLINK_MIDDLE));
    match end {
        Some(end) => {
            let (sequence, text) =
                symbol.split_at(HYPERLINK_START.len() + end + HYPERLINK_MIDDLE.len());
            (Some(sequence), text)
        }
        None => (None, symbol),
    }
}

impl<W: Write> Backend for CompactBackend<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        self.inner.write_all(b"\x1b[?2026h")?;
        let mut cursor = CursorState::Unknown;
        let mut open_hyperlink = None;
        for (x, y, cell) in content {
            let to = Position::new(x, y);
            self.move_cursor(cursor, to)?;
            self.set_sgr(SgrState::from_cell(cell))?;
            let (hyperlink, text) = split_hyperlink(cell.symbol());
            if hyperlink != open_hyperlink {
                let end = [HYPERLINK_START, HYPERLINK_MIDDLE].concat();
                self.inner.write_all(hyperlink.unwrap_or(&end).as_bytes())?;
                open_hyperlink = hyperlink;
            }
            self.inner.write_all(text.as_bytes())?;
            cursor = CursorState::after_write(text, to);
        }
        if open_hyperlink.is_some() {
            self.inner.write_all(HYPERLINK_START.as_bytes())?;
            self.inner.write_all(HYPERLINK_MIDDLE.as_bytes())?;
        }
        self.inner.write_all(b"\x1b[?2026l")
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.cursor_hidden, true) {
            self.inner.hide_cursor()?;
        }
        Ok(())
    }

    /// Never fails: ratatui calls it when a terminal is dropped, and prints an error to stderr, which
    /// panics if stderr is the closed terminal. The next write fails anyway.
    fn show_cursor(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.cursor_hidden, false) {
            let _ = self.inner.show_cursor();
        }
        Ok(())
    }

    /// Does not query the terminal, whose answer would come among the keys: the cursor is hidden.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    /// Clears the screen in the default colours.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.sgr = SgrState::DEFAULT;
        self.inner.write_all(b"\x1b[m")?;
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

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::buffer::{Buffer, CellDiffOption};
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use std::num::NonZeroU16;

    const AREA: Rect = Rect::new(0, 0, 12, 5);

    /// The terminal after the bytes of these frames.
    fn shown(frames: &[Buffer]) -> vt100::Parser {
        let mut bytes = Vec::new();
        let mut backend = CompactBackend::new(&mut bytes);
        let mut before = Buffer::empty(AREA);
        for frame in frames {
            backend.draw(before.diff(frame).into_iter()).unwrap();
            before = frame.clone();
        }
        let cells = |count| NonZeroU16::new(count).unwrap();
        let mut terminal = vt100::Parser::new(cells(AREA.height), cells(AREA.width), 0);
        terminal.process(&bytes);
        terminal
    }

    fn frame() -> impl Strategy<Value = Buffer> {
        let text = prop::sample::select(vec!["plain", "é…│", "ご注", "✓ ok", " ", "a b", "👩x"]);
        let colours = prop::sample::select(vec![
            Color::Reset,
            Color::Green,
            Color::LightRed,
            Color::Indexed(99),
            Color::Rgb(1, 2, 3),
        ]);
        let modifiers = prop::sample::select(vec![
            Modifier::empty(),
            Modifier::BOLD,
            Modifier::REVERSED | Modifier::UNDERLINED,
            Modifier::ITALIC,
        ]);
        let piece = (
            0..AREA.width,
            0..AREA.height,
            text,
            colours.clone(),
            colours,
            modifiers,
        );
        prop::collection::vec(piece, 0..14).prop_map(|pieces| {
            let mut buffer = Buffer::empty(AREA);
            for (x, y, text, fg, bg, modifier) in pieces {
                buffer.set_stringn(
                    x,
                    y,
                    text,
                    usize::from(AREA.width - x),
                    Style::new().fg(fg).bg(bg).add_modifier(modifier),
                );
            }
            buffer
        })
    }

    proptest! {
        #[test]
        fn terminal_shows_drawn_cells(frames in prop::collection::vec(frame(), 1..4)) {
            let terminal = shown(&frames);
            let last = frames.last().unwrap();
            for y in 0..AREA.height {
                let mut x = 0;
                while x < AREA.width {
                    let wanted = &last[(x, y)];
                    let cell = terminal.screen().cell(y, x).unwrap();
                    let text = if cell.contents().is_empty() { " " } else { cell.contents() };
                    prop_assert_eq!(text, wanted.symbol(), "{},{}", x, y);
                    // Half of an overwritten wide character is a space; its attributes are
                    // undefined.
                    if text == " " {
                        x += 1;
                        continue;
                    }
                    prop_assert_eq!(cell.bold(), wanted.modifier.contains(Modifier::BOLD));
                    prop_assert_eq!(cell.inverse(), wanted.modifier.contains(Modifier::REVERSED));
                    prop_assert_eq!(cell.underline(), wanted.modifier.contains(Modifier::UNDERLINED));
                    prop_assert_eq!(cell.italic(), wanted.modifier.contains(Modifier::ITALIC));
                    prop_assert_eq!(cell.fgcolor(), emulated(wanted.fg));
                    prop_assert_eq!(cell.bgcolor(), emulated(wanted.bg));
                    x += u16::try_from(wanted.symbol().width()).unwrap().max(1);
                }
            }
        }
    }

    #[test]
    fn hyperlink_is_written_once_for_a_run_of_cells() {
        let mut next = Buffer::empty(AREA);
        next.set_string(0, 0, "see a ok here", Style::new());
        for x in 4..8 {
            let symbol = format!("\x1b]8;;https://example.com\x1b\\{}", next[(x, 0)].symbol());
            next[(x, 0)]
                .set_symbol(&symbol)
                .set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
        }
        let mut bytes = Vec::new();
        let empty = Buffer::empty(AREA);
        let mut backend = CompactBackend::new(&mut bytes);
        backend.draw(empty.diff(&next).into_iter()).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "\x1b[?2026h\x1b[1;1Hsee\x1b[C\x1b]8;;https://example.com\x1b\\a ok\x1b[C\x1b]8;;\x1b\\her\x1b[?2026l"
        );
    }

    fn emulated(colour: Color) -> vt100::Color {
        match colour {
            Color::Green => vt100::Color::Idx(2),
            Color::LightRed => vt100::Color::Idx(9),
            Color::Indexed(index) => vt100::Color::Idx(index),
            Color::Rgb(red, green, blue) => vt100::Color::Rgb(red, green, blue),
            _ => vt100::Color::Default,
        }
    }
}
