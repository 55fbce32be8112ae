//! The rim of the terminal program: its loop, its performer of effects, its hold on the terminal.

mod clipboard;
mod compact_backend;
mod disputed_rows;
mod effect_runner;
mod event_loop;
mod filter_history;
mod input;
mod queries;
mod render_cache;
mod session;
mod sessions;
pub mod terminal;
#[cfg(test)]
pub mod tests;

use std::io::{self, BufWriter, IsTerminal};
use std::sync::Arc;

use crossterm::event::EventStream;
use jiff::tz::TimeZone;
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};

pub use compact_backend::CompactBackend;
pub use effect_runner::system_timer;
pub use event_loop::{EventLoop, LoopExit, TerminalRequest};
pub use session::{Session, SessionOpener};
pub use sessions::SessionFactory;

use crate::api::EmailApi;
use crate::app::ExitReason;
use crate::config::clock::Clock;
use crate::config::{FaultPoint, Palette};
use crate::error::{Error, ErrorKind};
use crate::signals::{self, Signals};
use crate::view::{Glyphs, RenderCtx, Theme};
use terminal::{TerminalGuard, TerminalWriter};

/// Bytes of a frame that are gathered before they are written: more than a full repaint takes.
const FRAME_BUFFER_BYTES: usize = 1 << 16;

/// What the terminal program is started with.
pub struct TuiOptions<S: EmailApi> {
    /// What is shown first.
    pub session: Session<S>,
    /// Where one can go from there.
    pub opener: Arc<dyn SessionOpener<S>>,
    /// Tells the time.
    pub clock: Clock,
    /// The zone in which times are shown.
    pub zone: TimeZone,
    /// The colours, if there are to be any.
    pub palette: Option<Palette>,
    /// Whether to keep to ASCII.
    pub ascii: bool,
    /// Where a debug build is told to panic.
    pub panic_at: Option<FaultPoint>,
}

/// How the terminal program ended, when it ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramExit {
    /// Somebody left it.
    Quit,
    /// A signal of this number ended it.
    Signal(u8),
}

/// Runs the terminal program until somebody leaves it or a signal ends it.
///
/// # Errors
///
/// If there is no terminal, or it cannot be written, or a task of the program has panicked.
pub async fn run<S: EmailApi>(start: TuiOptions<S>) -> Result<ProgramExit, Error> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Error::new(
            ErrorKind::Usage,
            "the terminal program needs a terminal for its input and output",
        )
        .with_hint("in a script, use: sentbox list, sentbox show"));
    }
    let mut signals =
        Signals::listen(&signals::TERMINATING_SIGNALS).map_err(|error| terminal_error(&error))?;
    signals
        .watch_terminal_hangup()
        .map_err(|error| terminal_error(&error))?;
    let ended = run_in_terminal(start, &mut signals).await;
    // Before anything else ends: that may take its time.
    terminal::restore();
    match ended {
        Ok(exit) => exit,
        // A terminal that fails because of the signal, or is gone, is no error of its own.
        Err(error) => match signals.try_recv() {
            Some(number) => Ok(ProgramExit::Signal(number)),
            None if is_hangup(&error) => {
                Ok(ProgramExit::Signal(signals::signal_number(Signal::HUP)))
            }
            None => Err(terminal_error(&error)),
        },
    }
}

/// Runs until somebody leaves the program, a signal ends it, or the terminal fails.
async fn run_in_terminal<S: EmailApi>(
    start: TuiOptions<S>,
    signals: &mut Signals,
) -> io::Result<Result<ProgramExit, Error>> {
    let (columns, rows) = crossterm::terminal::size()?;
    let size = Size::new(columns, rows);
    if let Err(failure) = event_loop::check_size(size) {
        return Ok(Err(failure));
    }
    let TuiOptions {
        session,
        opener,
        clock,
        zone,
        palette,
        ascii,
        panic_at,
    } = start;
    let look = RenderCtx {
        theme: Theme::new(palette),
        glyphs: if ascii {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
        now: clock(),
        zone,
    };

    let mut mouse = true;
    let mut guard = TerminalGuard::acquire(mouse)?;
    let backend = CompactBackend::new(BufWriter::with_capacity(FRAME_BUFFER_BYTES, TerminalWriter));
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let mut program = EventLoop::new(
        session,
        opener,
        system_timer(),
        EventStream::new(),
        (terminal, size),
        look,
        clock,
        panic_at,
    );
    loop {
        let turn = tokio::select! {
            biased;
            number = signals.recv() => return Ok(Ok(ProgramExit::Signal(number))),
            turn = program.run() => turn?,
        };
        match turn {
            LoopExit::TerminalRequest(TerminalRequest::Mouse(ours)) => {
                mouse = ours;
                terminal::set_mouse_capture(mouse)?;
            }
            LoopExit::TerminalRequest(TerminalRequest::Suspend) => {
                drop(guard);
                // A suspended process sends no requests; another process may.
                program.process_lock().release();
                // The whole job stops here, and goes on here when the shell continues it.
                let _ = kill_current_process_group(Signal::TSTP);
                guard = TerminalGuard::acquire(mouse)?;
                program.resume()?;
            }
            LoopExit::Ended(ExitReason::Quit) => return Ok(Ok(ProgramExit::Quit)),
            LoopExit::Ended(ExitReason::Fatal(failure)) => return Ok(Err(failure)),
            LoopExit::TerminalGone => {
                return Ok(Ok(ProgramExit::Signal(signals::signal_number(Signal::HUP))));
            }
        }
    }
}

fn terminal_error(error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the terminal cannot be used: {error}"),
    )
}

/// Whether the other end of the terminal is closed.
fn is_hangup(error: &io::Error) -> bool {
    [Errno::IO, Errno::NXIO, Errno::NODEV, Errno::PIPE]
        .iter()
        .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}
