//! The hold on the terminal: taken once, given back whatever happens.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::ResetColor;
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{Command, execute};

/// Whether the terminal is ours now; read by the panic hook, which has no guard to ask.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Evidence that the terminal is ours. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Takes the terminal: raw mode, the alternate screen, no cursor, and the mouse if wanted.
    ///
    /// # Errors
    ///
    /// If the terminal refuses; it is given back before this returns.
    pub fn take(mouse: bool) -> io::Result<Self> {
        let hold = Self(());
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        set_mouse(mouse)?;
        Ok(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back if it is ours; does nothing otherwise, so it may be called from
/// anywhere, also twice, also from a panic hook. Errors are ignored: the terminal may be gone.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, EndSynchronizedUpdate, Mouse(false), DisableBracketedPaste, Show, ResetColor, LeaveAlternateScreen);
        let _ = disable_raw_mode();
        let _ = out.flush();
    }
}

/// Takes or frees the mouse.
///
/// # Errors
///
/// If the terminal cannot be written.
pub fn set_mouse(ours: bool) -> io::Result<()> {
    execute!(io::stdout(), Mouse(ours))
}

/// Presses, drags and the wheel, in the extended encoding. Crossterm's own command also asks for
/// every movement of the pointer, which over SSH is a stream of bytes that nobody needs.
struct Mouse(bool);

impl Command for Mouse {
    fn write_ansi(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        f.write_str(if self.0 { "\x1b[?1000h\x1b[?1002h\x1b[?1006h" } else { "\x1b[?1006l\x1b[?1002l\x1b[?1000l" })
    }
}
