//! `TerminalGuard`: takes the terminal, and restores it on every exit.

use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{Command, execute, queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush, ttyname};

use crate::signals;

/// Whether the terminal is taken; the panic hook reads it, which has no guard.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// How long one poll waits for a terminal that accepts no bytes.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Polls before queued output is dropped, so that the last sequences can be
/// written.
const FINAL_POLLS: u32 = 6;

/// Proof that the terminal is taken. Dropping it restores the terminal.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal: raw mode, alternate screen, no cursor,
    /// mouse capture if `mouse`.
    ///
    /// On an error, the terminal is restored.
    pub fn acquire(mouse: bool) -> io::Result<Self> {
        Self::acquire_keys()?.enter_screen(mouse)
    }

    /// Takes the keys alone: raw mode on the screen as it is.
    pub fn acquire_keys() -> io::Result<Self> {
        let guard = Self(());
        IS_ACTIVE.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        Ok(guard)
    }

    /// Takes the screen after [`Self::acquire_keys`].
    ///
    /// A row that the terminal draws wider than expected must not continue on the next one, so
    /// lines do not wrap. The Linux console and others have no alternate screen: theirs is cleared.
    pub fn enter_screen(self, mouse: bool) -> io::Result<Self> {
        let mut modes = Vec::new();
        queue!(
            modes,
            EnterAlternateScreen,
            Clear(ClearType::All),
            DisableLineWrap,
            EnableBracketedPaste,
            Hide,
            MouseCapture(mouse)
        )?;
        TerminalWriter.write_all(&modes)?;
        Ok(self)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal if it is taken;
/// otherwise does nothing, so a panic hook may call it too.
///
/// Never waits long for a terminal that accepts no bytes. Ignores errors: the terminal may be gone.
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
            EnableLineWrap,
            LeaveAlternateScreen
        );
        if matches!(wait_until_writable(FINAL_POLLS), Ok(false)) {
            // The queued output would not be read, and the modes must not wait for it.
            let _ = tcflush(terminal_fd(), QueueSelector::OFlush);
        }
        let mut rest = last.as_slice();
        while let Ok(count @ 1..) = try_write(rest, FINAL_POLLS) {
            rest = &rest[count..];
        }
        let _ = disable_raw_mode();
    }
}

/// Queries whether the terminal has margins at columns (DECRQM of mode 69), and then its
/// background (OSC 11); `input/parser.rs` reads the reports.
///
/// With BEL at the end, terminals end the second report with BEL, too.
pub fn query_features() -> io::Result<()> {
    TerminalWriter.write_all(b"\x1b[?69$p\x1b]11;?\x07")
}

pub fn set_mouse_capture(capture: bool) -> io::Result<()> {
    execute!(TerminalWriter, MouseCapture(capture))
}

/// Writes to the terminal while it is taken, and nothing afterwards.
/// A write waits for a terminal that accepts no bytes, until a signal ends the process.
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

/// Writes what the terminal accepts within `polls`; zero bytes if it accepts none.
fn try_write(bytes: &[u8], polls: u32) -> io::Result<usize> {
    if bytes.is_empty() || !wait_until_writable(polls)? {
        return Ok(0);
    }
    match rustix::io::write(terminal_fd(), bytes) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        written => Ok(written?),
    }
}

/// Whether the terminal accepts bytes, or reports an error, within `polls`.
fn wait_until_writable(polls: u32) -> io::Result<bool> {
    for _ in 0..polls {
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

/// The terminal of stdout, opened again for writes that do not block:
/// the flag belongs to the open file, which the shell shares. If it cannot be opened, stdout
/// itself.
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

/// Reports of presses, drags and the wheel, in the extended encoding.
/// Crossterm's own command also turns on reports of every movement, which are a stream of useless
/// bytes over SSH.
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
