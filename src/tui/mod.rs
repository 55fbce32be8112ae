//! The terminal program: its event loop, its effect runner, the terminal guard.

mod compact_backend;
mod desktop;
mod effect_runner;
mod email_thread;
mod event_loop;
mod input;
mod linear;
mod piped_command;
mod profile_list;
mod session;
mod sessions;
mod state_files;
mod suspension;
pub mod terminal;
#[cfg(test)]
pub mod tests;
mod work;

use std::io::{self, BufWriter, Write as _};
use std::time::Duration;

use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

pub use compact_backend::CompactBackend;

pub use effect_runner::{Environment, system_timer};
pub use event_loop::{EventLoop, LoopExit};
pub use input::Parser as InputParser;
pub use linear::{LinearIo, read_stdin, run_linear};
pub use session::Session;
pub use sessions::{Memory, SessionFactory};

use crate::app::{ExitReason, LoopEffect, PipedCommand};
use crate::error::{Error, ErrorKind, Result};
use crate::signals::{self, InterruptsIgnored, Signals};
use crate::view::RenderCtx;
use input::TerminalEvents;
use terminal::{TerminalGuard, TerminalWriter};

/// The size of the output buffer: more bytes than a full repaint takes.
const FRAME_BUFFER_BYTES: usize = 1 << 16;

/// A report of the background is not expected any more after this time.
const LATE_REPORT: Duration = Duration::from_secs(1);

/// How long a user who leaves at once waits for that report.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// How the terminal program ended, if not with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramExit {
    Quit,
    /// The user quit while an export was running; the text names its file.
    ExportStopped(String),
    /// A signal of this number ended it.
    Signal(u8),
}

impl ProgramExit {
    fn from_reason(reason: ExitReason) -> Result<Self> {
        match reason {
            ExitReason::Quit => Ok(Self::Quit),
            ExitReason::ExportStopped(text) => Ok(Self::ExportStopped(text)),
            ExitReason::Fatal(error) => Err(error),
        }
    }
}

/// Runs the terminal program until the user quits or a signal ends it.
pub async fn run(session: Session, env: Environment, ctx: RenderCtx) -> Result<ProgramExit> {
    let (sender, mut continued) = unbounded_channel();
    let handled = [&signals::TERMINATING_SIGNALS[..], &suspension::JOB_SIGNALS].concat();
    let handle = move |number| suspension::handle_signal(number, &sender);
    let mut signals = Signals::listen_with(&handled, handle)?;
    let ended = run_in_terminal(session, env, ctx, &mut signals, &mut continued).await;
    // Before the rest ends, which may take time.
    terminal::restore();
    match ended {
        Ok(exit) => exit,
        // A terminal that fails because of the signal, or is gone, is not an error of its own.
        Err(error) => match signals.try_recv() {
            Some(number) => Ok(ProgramExit::Signal(number)),
            None if is_hangup(&error) => {
                Ok(ProgramExit::Signal(signals::signal_number(Signal::HUP)))
            }
            None => Err(Error::cannot("used", ErrorKind::Io, "the terminal", &error)),
        },
    }
}

async fn run_in_terminal(
    session: Session,
    env: Environment,
    ctx: RenderCtx,
    signals: &mut Signals,
    continued: &mut UnboundedReceiver<()>,
) -> io::Result<Result<ProgramExit>> {
    let (columns, rows) = crossterm::terminal::size()?;
    if let Err(error) = event_loop::check_size(Size::new(columns, rows)) {
        return Ok(Err(error));
    }
    let mut mouse = true;
    let mut guard = TerminalGuard::acquire(mouse)?;
    let query_sent = ctx.theme.follows_background().then(Instant::now);
    if query_sent.is_some() {
        terminal::query_features()?;
    }
    let backend = CompactBackend::new(BufWriter::with_capacity(FRAME_BUFFER_BYTES, TerminalWriter));
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let mut program = EventLoop::new(session, env, TerminalEvents::new()?, terminal, ctx);
    loop {
        let exit = tokio::select! {
            biased;
            number = signals.recv() => return Ok(Ok(ProgramExit::Signal(number))),
            Some(()) = continued.recv() => {
                drop(guard);
                guard = TerminalGuard::acquire(mouse)?;
                program.resume()?;
                continue;
            }
            exit = program.run() => exit?,
        };
        let LoopExit::Effect(effect) = exit else {
            return Ok(Ok(ProgramExit::Signal(signals::signal_number(Signal::HUP))));
        };
        match effect {
            LoopEffect::Redraw | LoopEffect::FormatFigures => {
                unreachable!("the event loop does that itself")
            }
            LoopEffect::CaptureMouse(capture) => {
                mouse = capture;
                terminal::set_mouse_capture(mouse)?;
            }
            LoopEffect::UseMargins => program.backend_mut().use_margins(),
            LoopEffect::SetClipboard { text, multiplexer } => {
                TerminalWriter.write_all(desktop::osc52(&text, multiplexer).as_bytes())?;
            }
            LoopEffect::Notify(route, text) => {
                TerminalWriter.write_all(desktop::notification(route, &text).as_bytes())?;
            }
            LoopEffect::Suspend => {
                terminal::restore();
                // A suspended process sends no requests; another process may.
                program.process_lock().release();
                // The whole job stops: this process by its handler.
                let _ = kill_current_process_group(Signal::TSTP);
            }
            LoopEffect::RunCommand(piped) => {
                // The keys are for the command: nothing reads them while the program does not run.
                drop(guard);
                guard = tokio::select! {
                    biased;
                    number = signals.recv() => return Ok(Ok(ProgramExit::Signal(number))),
                    guard = run_piped_command(piped, &mut program, mouse) => guard?,
                };
            }
            LoopEffect::Exit(reason) => {
                if query_sent.is_some_and(|sent| sent.elapsed() < LATE_REPORT) {
                    program.await_background(LAST_WAIT).await;
                }
                return Ok(ProgramExit::from_reason(reason));
            }
        }
    }
}

/// Gives the terminal to a command until it has ended and a key is pressed.
async fn run_piped_command(
    piped: PipedCommand,
    program: &mut EventLoop<CompactBackend<BufWriter<TerminalWriter>>, TerminalEvents>,
    mouse: bool,
) -> io::Result<TerminalGuard> {
    program.process_lock().release();
    // Ctrl-C is for the command. Its signal may be read after the end of the command,
    // so it is ignored until the next key.
    let _ignored = InterruptsIgnored::new();
    let ended = piped_command::run(piped).await;
    let keys = TerminalGuard::acquire_keys()?;
    TerminalWriter.write_all(b"\r\n[press a key to return to sentbox]")?;
    program.wait_for_key().await;
    // The output of the next command begins on a line of its own.
    TerminalWriter.write_all(b"\r\n")?;
    let guard = keys.enter_screen(mouse)?;
    program.resume_after(ended)?;
    Ok(guard)
}

/// Whether the other end of the terminal is closed.
fn is_hangup(error: &io::Error) -> bool {
    [Errno::IO, Errno::NXIO, Errno::NODEV, Errno::PIPE]
        .iter()
        .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}
