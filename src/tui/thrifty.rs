//! A backend that writes nothing when nothing changed, and each frame as one piece.

use std::io::{self, Write};

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// Wraps the crossterm backend for slow lines: a frame without changed cells costs no byte, and
/// one with changes is bracketed as a synchronised update, so that it appears at once.
pub struct Thrifty<W: Write> {
    inner: CrosstermBackend<W>,
    cursor_hidden: bool,
}

impl<W: Write> Thrifty<W> {
    /// Writes to `out`, which should buffer a frame. The cursor is taken to be hidden already.
    pub const fn new(out: W) -> Self {
        Self { inner: CrosstermBackend::new(out), cursor_hidden: true }
    }
}

impl<W: Write> Backend for Thrifty<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        queue!(self.inner, BeginSynchronizedUpdate)?;
        self.inner.draw(content)?;
        queue!(self.inner, EndSynchronizedUpdate)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.cursor_hidden, true) {
            self.inner.hide_cursor()?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.cursor_hidden, false) {
            self.inner.show_cursor()?;
        }
        Ok(())
    }

    /// Not asked of the terminal: that would wait for an answer among the keys, and the cursor, being
    /// hidden, has no position that matters.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
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
