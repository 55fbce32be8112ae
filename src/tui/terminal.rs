//! The hold on the terminal: taken once, given back whatever happens.

use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{Command, execute, queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush, ttyname};

use crate::signals;

/// Whether the terminal is ours now; read by the panic hook, which has no guard to ask.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// How long one look at a terminal that takes no bytes lasts.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// So many of these looks the last sequences wait before what is queued in front of them is dropped.
const FINAL_POLLS: u32 = 6;

/// Evidence that the terminal is ours. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal: raw mode, the alternate screen, no cursor, and the mouse if wanted.
    ///
    /// # Errors
    ///
    /// If the terminal refuses; it is given back before this returns.
    pub fn acquire(mouse: bool) -> io::Result<Self> {
        let hold = Self(());
        IS_ACTIVE.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(
            TerminalWriter,
            EnterAlternateScreen,
            EnableBracketedPaste,
            Hide
        )?;
        set_mouse_capture(mouse)?;
        Ok(hold)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back if it is ours; does nothing otherwise, so it may be called from
/// anywhere, also twice, also from a panic hook. It never waits long for a terminal that is not
/// read. Errors are ignored: the terminal may be gone.
pub fn restore() {
    if IS_ACTIVE.swap(false, Ordering::SeqCst) {
        let mut last = Vec::new();
        let _ = queue!(
            last,
            EndSynchronizedUpdate,
            MouseCapture(false),
            DisableBracketedPaste,
            Show,
            ResetColor,
            LeaveAlternateScreen
        );
        if matches!(wait_until_writable(FINAL_POLLS), Ok(false)) {
            // Nobody reads; what is queued would never be seen, and the modes must not wait for it.
            let _ = tcflush(terminal_fd(), QueueSelector::OFlush);
        }
        let mut rest = last.as_slice();
        while let Ok(count @ 1..) = try_write(rest, FINAL_POLLS) {
            rest = &rest[count..];
        }
        let _ = disable_raw_mode();
    }
}

/// Takes or frees the mouse.
///
/// # Errors
///
/// If the terminal cannot be written.
pub fn set_mouse_capture(ours: bool) -> io::Result<()> {
    execute!(TerminalWriter, MouseCapture(ours))
}

/// Writes to the terminal while it is ours, and nothing afterwards. A write waits for a terminal
/// that is not read, but not beyond a signal that ends the process.
#[derive(Debug)]
pub struct TerminalWriter;

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while IS_ACTIVE.load(Ordering::SeqCst) {
            match try_write(bytes, 1)? {
                0 if signals::is_shutting_down() => {
                    return Err(io::Error::other("the terminal is not read"));
                }
                0 => {}
                count => return Ok(count),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what the terminal takes within so many [`POLL_INTERVAL`]s: zero bytes if it takes none.
fn try_write(bytes: &[u8], looks: u32) -> io::Result<usize> {
    if bytes.is_empty() || !wait_until_writable(looks)? {
        return Ok(0);
    }
    match rustix::io::write(terminal_fd(), bytes) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        written => Ok(written?),
    }
}

/// Whether the terminal takes bytes, or an error, within so many [`POLL_INTERVAL`]s.
fn wait_until_writable(looks: u32) -> io::Result<bool> {
    for _ in 0..looks {
        match poll(
            &mut [PollFd::new(&terminal_fd(), PollFlags::OUT)],
            Some(&POLL_INTERVAL),
        ) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// The terminal of stdout, opened a second time so that writes do not block: the flag belongs to
/// what was opened, and the shell shares the first. Where that is refused, it is stdout itself.
fn terminal_fd() -> BorrowedFd<'static> {
    static DEVICE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let reopen = || {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let by_name = ttyname(rustix::stdio::stdout(), Vec::new())
            .and_then(|name| open(name, flags, Mode::empty()));
        by_name
            .or_else(|_| open("/dev/tty", flags, Mode::empty()))
            .ok()
    };
    DEVICE
        .get_or_init(reopen)
        .as_ref()
        .map_or_else(rustix::stdio::stdout, |device| device.as_fd())
}

/// Presses, drags and the wheel, in the extended encoding. Crossterm's own command also asks for
/// every movement of the pointer, which over SSH is a stream of bytes that nobody needs.
struct MouseCapture(bool);

impl Command for MouseCapture {
    fn write_ansi(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        f.write_str(if self.0 {
            "\x1b[?1000h\x1b[?1002h\x1b[?1006h"
        } else {
            "\x1b[?1006l\x1b[?1002l\x1b[?1000l"
        })
    }
}
