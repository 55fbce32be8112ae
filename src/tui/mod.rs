//! The rim of the terminal program: its loop, its performer of effects, its hold on the terminal.

mod bodies;
mod history;
mod house;
mod input;
mod performer;
mod program;
mod questions;
mod session;
pub mod terminal;
#[cfg(test)]
pub mod tests;
mod thrifty;

use std::io::{self, BufWriter, IsTerminal};
use std::sync::Arc;

use crossterm::event::EventStream;
use jiff::tz::TimeZone;
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};

pub use house::House;
pub use performer::sleep;
pub use program::{Program, Request, Turn};
pub use session::{Doors, Session};
pub use thrifty::Thrifty;

use crate::api::Service;
use crate::app::Ending;
use crate::config::clock::Clock;
use crate::config::{Palette, PanicAt};
use crate::failure::{Failure, Kind};
use crate::signals::{self, Signals};
use crate::view::{Glyphs, Look, Theme};
use terminal::{Device, Hold};

/// Bytes of a frame that are gathered before they are written: more than a full repaint takes.
const FRAME_BYTES: usize = 1 << 16;

/// What the terminal program is started with.
pub struct Start<S: Service> {
    /// What is shown first.
    pub session: Session<S>,
    /// Where one can go from there.
    pub doors: Arc<dyn Doors<S>>,
    /// Tells the time.
    pub clock: Clock,
    /// The zone in which times are shown.
    pub zone: TimeZone,
    /// The colours, if there are to be any.
    pub palette: Option<Palette>,
    /// Whether to keep to ASCII.
    pub ascii: bool,
    /// Where a debug build is told to panic.
    pub panic_at: Option<PanicAt>,
}

/// How the terminal program ended, when it ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
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
pub async fn run<S: Service>(start: Start<S>) -> Result<Exit, Failure> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Failure::new(
            Kind::Usage,
            "the terminal program needs a terminal for its input and output",
        )
        .hint("in a script, use: sentbox list, sentbox show"));
    }
    let mut signals = Signals::listen(&signals::ENDS).map_err(|error| lost(&error))?;
    signals.watch_terminal().map_err(|error| lost(&error))?;
    let ended = drive(start, &mut signals).await;
    // Before anything else ends: that may take its time.
    terminal::give_back();
    match ended {
        Ok(exit) => exit,
        // A terminal that fails because of the signal, or is gone, is no error of its own.
        Err(error) => match signals.try_recv() {
            Some(number) => Ok(Exit::Signal(number)),
            None if is_gone(&error) => Ok(Exit::Signal(signals::number(Signal::HUP))),
            None => Err(lost(&error)),
        },
    }
}

/// Runs until somebody leaves the program, a signal ends it, or the terminal fails.
async fn drive<S: Service>(
    start: Start<S>,
    signals: &mut Signals,
) -> io::Result<Result<Exit, Failure>> {
    let (columns, rows) = crossterm::terminal::size()?;
    let size = Size::new(columns, rows);
    if let Err(failure) = program::is_drawable(size) {
        return Ok(Err(failure));
    }
    let Start {
        session,
        doors,
        clock,
        zone,
        palette,
        ascii,
        panic_at,
    } = start;
    let look = Look {
        theme: Theme::new(palette),
        glyphs: if ascii {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
        now: clock(),
        zone,
    };

    let mut hold = Hold::take(true)?;
    let backend = Thrifty::new(BufWriter::with_capacity(FRAME_BYTES, Device));
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let mut program = Program::start(
        session,
        doors,
        sleep(),
        EventStream::new(),
        (terminal, size),
        look,
        clock,
        panic_at,
    );
    loop {
        let turn = tokio::select! {
            biased;
            number = signals.recv() => return Ok(Ok(Exit::Signal(number))),
            turn = program.run() => turn?,
        };
        match turn {
            Turn::Again(Request::Mouse(ours)) => terminal::set_mouse(ours)?,
            Turn::Again(Request::Suspend) => {
                drop(hold);
                // Who is stopped asks for nothing; somebody else may.
                program.lease().release();
                // The whole job stops here, and goes on here when the shell continues it.
                let _ = kill_current_process_group(Signal::TSTP);
                hold = Hold::take(program.model().mouse)?;
                program.wake()?;
            }
            Turn::Over(Ending::Quit) => return Ok(Ok(Exit::Quit)),
            Turn::Over(Ending::Broken(failure)) => return Ok(Err(failure)),
            Turn::Gone => return Ok(Ok(Exit::Signal(signals::number(Signal::HUP)))),
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(Kind::Io, format!("the terminal cannot be used: {error}"))
}

/// Whether the other end of the terminal is closed.
fn is_gone(error: &io::Error) -> bool {
    [Errno::IO, Errno::NXIO, Errno::NODEV, Errno::PIPE]
        .iter()
        .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}
