//! The loop: what happens, what follows, what is drawn.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use futures_util::Stream;
use jiff::Zoned;
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::{Rect, Size};
use tokio::time::{Instant, sleep_until};

use super::history::History;
use super::input::Input;
use super::performer::{Pause, Performer};
use super::session::{Doors, Session};
use crate::api::Service;
use crate::app::{Ending, Model, Msg, Opening};
use crate::archive::Lease;
use crate::config::PanicAt;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::view::{self, Look};

/// The shortest time between two frames that nobody asked for with a key.
const FRAME: Duration = Duration::from_millis(16);

/// The running program: a model, the world it acts in, and the screen it is drawn on.
pub struct Program<S: Service, B: Backend, E> {
    model: Model,
    performer: Performer<S>,
    input: Input<E>,
    terminal: Terminal<B>,
    look: Look,
    clock: Clock,
    panic_at: Option<PanicAt>,
    /// When the last frame was drawn for something that the world did, if there was one.
    drawn: Option<Instant>,
    /// Whether something that a person did is still being answered.
    answering: bool,
    /// Whether there was a frame at all.
    begun: bool,
    /// When a frame is due for something that the world did.
    due: Option<Instant>,
}

/// What the loop comes back with.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// The program goes on; the terminal may have to be treated otherwise.
    Again(Request),
    /// It is over.
    Over(Ending),
    /// The terminal is gone.
    Gone,
}

/// What only the owner of the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Stop until the shell continues the program.
    Suspend,
    /// Take or free the mouse.
    Mouse(bool),
}

impl<S, B, E> Program<S, B, E>
where
    S: Service,
    B: Backend,
    E: Stream<Item = io::Result<Event>> + Unpin,
{
    /// Starts with a session. A terminal comes with its size.
    #[expect(
        clippy::too_many_arguments,
        reason = "these are the parts of the world, and each is needed once"
    )]
    pub fn start(
        session: Session<S>,
        doors: Arc<dyn Doors<S>>,
        pause: Pause,
        events: E,
        (terminal, size): (Terminal<B>, Size),
        look: Look,
        clock: Clock,
        panic_at: Option<PanicAt>,
    ) -> Self {
        let now = look.now.to_zoned(look.zone.clone());
        let (model, performer) = opened(session, doors, pause, panic_at, (size, now));
        // The archive answers within a few milliseconds: the first frame waits for it, so that the
        // first thing to be seen is the list and not an empty frame.
        let due = Some(Instant::now() + FRAME);
        Self {
            model,
            performer,
            input: Input::new(events),
            terminal,
            look,
            clock,
            panic_at,
            drawn: None,
            answering: true,
            begun: false,
            due,
        }
    }

    /// Leaves the session for the one behind the door that was opened, if the person still wants to
    /// go there. Work of the old one ends, and its archive is given back.
    fn follow(&mut self) {
        let Some(session) = self.performer.entered().filter(|_| self.model.leaving) else {
            return;
        };
        let (doors, pause) = self.performer.ways();
        let now = (self.clock)().to_zoned(self.look.zone.clone());
        (self.model, self.performer) = opened(
            session,
            doors,
            pause,
            self.panic_at,
            (self.model.size(), now),
        );
        self.answering = true;
    }

    /// Who asks the service for what is new in the archive that is shown.
    pub const fn lease(&self) -> &Lease {
        self.performer.lease()
    }

    /// The state, for looking at.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Whether nothing is going on but pauses, and everything that happened is on the screen.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.performer.is_idle() && self.due.is_none()
    }

    /// The screen, for looking at.
    #[cfg(test)]
    pub const fn terminal(&self) -> &Terminal<B> {
        &self.terminal
    }

    /// Runs until the person or the terminal ends it, or asks for something of the terminal.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be written.
    pub async fn run(&mut self) -> Result<Turn, B::Error> {
        loop {
            if let Some(turn) = self.step().await? {
                return Ok(turn);
            }
        }
    }

    /// Waits for one thing to happen, takes everything else that is there already, and draws once.
    ///
    /// Input is looked at first: a person who types must not wait for the world. Taking all that is
    /// pending before drawing costs nothing on a fast line and everything but one frame on a slow
    /// one; the risk, a frame that never comes while a key repeats, is bounded by the keyboard.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be written.
    pub async fn step(&mut self) -> Result<Option<Turn>, B::Error> {
        let before = (self.model.suspensions, self.model.mouse, self.model.redraws);
        let due = self.due;
        let mut by_hand = false;
        tokio::select! {
            biased;
            msg = self.input.next() => match msg {
                Some(msg) => {
                    by_hand = true;
                    self.take(msg);
                }
                None => return Ok(Some(Turn::Gone)),
            },
            msg = self.performer.next() => self.take(msg),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
        while let Some(msg) = self.input.try_next().await {
            by_hand = true;
            self.take(msg);
        }
        while let Some(msg) = self.performer.try_next() {
            self.take(msg);
        }
        if let Some(ending) = self.model.ending.clone() {
            return Ok(Some(Turn::Over(ending)));
        }
        if self.model.redraws != before.2 {
            self.terminal.clear()?;
        }
        self.draw_when_due(by_hand)?;
        if self.model.mouse != before.1 {
            return Ok(Some(Turn::Again(Request::Mouse(self.model.mouse))));
        }
        Ok((self.model.suspensions != before.0).then_some(Turn::Again(Request::Suspend)))
    }

    /// Goes on after a stop: the terminal may show anything by now, and have another size.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be written.
    pub fn wake(&mut self) -> Result<(), B::Error> {
        let size = self.terminal.backend().size()?;
        self.take(Msg::Resized(size));
        self.terminal.clear()?;
        self.draw()
    }

    fn take(&mut self, msg: Msg) {
        match &msg {
            Msg::Resized(size) => {
                if let Err(failure) = is_drawable(*size) {
                    self.model.ending = Some(Ending::Broken(failure));
                    return;
                }
                let area = Rect::new(0, 0, size.width, size.height);
                // A terminal that cannot be resized is found out by the next frame.
                let _ = self.terminal.resize(area);
            }
            Msg::Pressed(_) => PanicAt::strike(self.panic_at, PanicAt::Input),
            _ => {}
        }
        self.model
            .at((self.clock)().to_zoned(self.look.zone.clone()));
        let was_entered = matches!(msg, Msg::Entered { .. });
        self.model.allowed(self.performer.budget());
        for effect in self.model.update(msg) {
            self.performer.perform(effect);
        }
        if was_entered {
            self.follow();
        }
        self.performer
            .withdraw(|errand, ticket| self.model.wants(errand, ticket));
    }

    /// At once for what a person did, and for what comes of it as soon as it is there whole; for
    /// everything else, at most once a [`FRAME`].
    fn draw_when_due(&mut self, by_hand: bool) -> Result<(), B::Error> {
        let now = Instant::now();
        let waits_for_rows =
            !self.begun && self.model.list.is_loading() && self.due.is_some_and(|due| now < due);
        if waits_for_rows {
            return Ok(());
        }
        let next = self.drawn.map_or(now, |drawn| drawn + FRAME);
        if by_hand {
            self.answering = true;
            return self.draw();
        }
        if self.answering && self.performer.has_answered() {
            self.answering = false;
            return self.draw();
        }
        if next <= now {
            self.drawn = Some(now);
            return self.draw();
        }
        self.due = Some(next);
        Ok(())
    }

    fn draw(&mut self) -> Result<(), B::Error> {
        self.look.now = (self.clock)();
        let Self {
            terminal,
            model,
            look,
            ..
        } = self;
        terminal.draw(|frame| view::draw(model, look, frame))?;
        self.begun = true;
        self.due = None;
        Ok(())
    }
}

/// More cells than this no screen has; a terminal that claims more would take all memory.
const MOST_CELLS: u32 = 1 << 20;

/// # Errors
///
/// If the terminal says that it is too large to be drawn on.
pub(super) fn is_drawable(size: Size) -> Result<(), Failure> {
    if u32::from(size.width) * u32::from(size.height) <= MOST_CELLS {
        return Ok(());
    }
    let sentence = format!(
        "the terminal says that it has {} columns and {} rows, which is too large to be drawn on",
        size.width, size.height
    );
    Err(Failure::new(Kind::Io, sentence).hint("set its size: stty cols 120 rows 40"))
}

/// The first state of a session, and who performs what it asks for.
fn opened<S: Service>(
    session: Session<S>,
    doors: Arc<dyn Doors<S>>,
    pause: Pause,
    panic_at: Option<PanicAt>,
    (size, now): (Size, Zoned),
) -> (Model, Performer<S>) {
    let Session {
        profile,
        door,
        archive,
        kept,
        engine,
        refresh,
        backfill,
        notice,
        keys,
        query,
        hall,
        history,
        views,
        view_file,
        beside,
    } = session;
    let (engine, no_service) = match engine {
        // What is new cannot be kept in a read-only archive, so it is not asked for; an email that is opened is.
        Ok(engine) => (Some(engine), archive.read_only()),
        Err(failure) => (None, Some(failure)),
    };
    let history = History::new(history);
    // A history that cannot be read is no reason not to start.
    let typed = history.load().unwrap_or_default();
    let as_of = archive.head_at().ok().flatten();
    let (model, effects) = Model::start(Opening {
        size,
        profile,
        no_service,
        refresh,
        backfill,
        as_of,
        now,
        notice,
        keys,
        query,
        history: typed,
        views,
        door,
        kept,
        hall,
    });
    let mut performer = Performer::new(
        archive,
        engine,
        beside,
        (history, view_file),
        doors,
        pause,
        panic_at,
    );
    for effect in effects {
        performer.perform(effect);
    }
    (model, performer)
}
