//! The rim of the terminal program: its loop, its performer of effects, its hold on the terminal.

mod bodies;
mod history;
mod house;
mod input;
mod performer;
mod program;
mod questions;
mod session;
mod signals;
pub mod terminal;
mod thrifty;

use std::io::{self, BufWriter, IsTerminal};
use std::sync::Arc;

use crossterm::event::EventStream;
use jiff::tz::TimeZone;
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::process::{Signal, kill_current_process_group};

pub use history::History;
pub use house::House;
pub use performer::{Pause, Performer, sleep};
pub use program::{Program, Request, Turn};
pub use session::{Check, Doors, Entry, Session};
pub use thrifty::Thrifty;

use crate::api::Service;
use crate::app::Ending;
use crate::config::clock::Clock;
use crate::config::{Palette, PanicAt};
use crate::failure::{Failure, Kind};
use crate::view::{Glyphs, Look, Theme};
use signals::Signals;
use terminal::Hold;

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
        return Err(Failure::new(Kind::Usage, "the terminal program needs a terminal for its input and output")
            .hint("in a script, use: sentbox list, sentbox show"));
    }
    let (columns, rows) = crossterm::terminal::size().map_err(|error| lost(&error))?;
    let mut signals = Signals::listen().map_err(|error| lost(&error))?;
    let size = Size::new(columns, rows);
    let Start { session, doors, clock, zone, palette, ascii, panic_at } = start;
    let look = Look { theme: Theme::new(palette), glyphs: if ascii { Glyphs::ASCII } else { Glyphs::UNICODE }, now: clock(), zone };

    let mut hold = Hold::take(true).map_err(|error| lost(&error))?;
    let backend = Thrifty::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).map_err(|error| lost(&error))?;
    let mut program = Program::start(session, doors, sleep(), EventStream::new(), (terminal, size), look, clock, panic_at);
    loop {
        let turn = tokio::select! {
            biased;
            number = signals.end() => return Ok(Exit::Signal(number)),
            turn = program.run() => turn.map_err(|error| lost(&error))?,
        };
        match turn {
            Turn::Again(Request::Mouse(ours)) => terminal::set_mouse(ours).map_err(|error| lost(&error))?,
            Turn::Again(Request::Suspend) => {
                drop(hold);
                // Who is stopped asks for nothing; somebody else may.
                program.lease().release();
                // The whole job stops here, and goes on here when the shell continues it.
                let _ = kill_current_process_group(Signal::TSTP);
                hold = Hold::take(program.model().mouse).map_err(|error| lost(&error))?;
                program.wake().map_err(|error| lost(&error))?;
            }
            Turn::Over(Ending::Quit) => return Ok(Exit::Quit),
            Turn::Over(Ending::Broken(failure)) => return Err(failure),
            Turn::Gone => return Ok(Exit::Signal(1)),
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(Kind::Io, format!("the terminal cannot be used: {error}"))
}
