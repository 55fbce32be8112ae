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
static TAKEN: AtomicBool = AtomicBool::new(false);

/// How long one look at a terminal that takes no bytes lasts.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// So many of these looks the last sequences wait before what is queued in front of them is dropped.
const LAST_LOOKS: u32 = 6;

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
        execute!(Device, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
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
/// anywhere, also twice, also from a panic hook. It never waits long for a terminal that is not
/// read. Errors are ignored: the terminal may be gone.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut last = Vec::new();
        let _ = queue!(
            last,
            EndSynchronizedUpdate,
            Mouse(false),
            DisableBracketedPaste,
            Show,
            ResetColor,
            LeaveAlternateScreen
        );
        if matches!(is_ready_within(LAST_LOOKS), Ok(false)) {
            // Nobody reads; what is queued would never be seen, and the modes must not wait for it.
            let _ = tcflush(device(), QueueSelector::OFlush);
        }
        let mut rest = last.as_slice();
        while let Ok(count @ 1..) = write_within(rest, LAST_LOOKS) {
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
pub fn set_mouse(ours: bool) -> io::Result<()> {
    execute!(Device, Mouse(ours))
}

/// Writes to the terminal while it is ours, and nothing afterwards. A write waits for a terminal
/// that is not read, but not beyond a signal that ends the process.
#[derive(Debug)]
pub struct Device;

impl Write for Device {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while TAKEN.load(Ordering::SeqCst) {
            match write_within(bytes, 1)? {
                0 if signals::is_ending() => {
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

/// Writes what the terminal takes within so many [`LOOK`]s: zero bytes if it takes none.
fn write_within(bytes: &[u8], looks: u32) -> io::Result<usize> {
    if bytes.is_empty() || !is_ready_within(looks)? {
        return Ok(0);
    }
    match rustix::io::write(device(), bytes) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        written => Ok(written?),
    }
}

/// Whether the terminal takes bytes, or an error, within so many [`LOOK`]s.
fn is_ready_within(looks: u32) -> io::Result<bool> {
    for _ in 0..looks {
        match poll(&mut [PollFd::new(&device(), PollFlags::OUT)], Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// The terminal of stdout, opened a second time so that writes do not block: the flag belongs to
/// what was opened, and the shell shares the first. Where that is refused, it is stdout itself.
fn device() -> BorrowedFd<'static> {
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
struct Mouse(bool);

impl Command for Mouse {
    fn write_ansi(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        f.write_str(if self.0 {
            "\x1b[?1000h\x1b[?1002h\x1b[?1006h"
        } else {
            "\x1b[?1006l\x1b[?1002l\x1b[?1000l"
        })
    }
}
