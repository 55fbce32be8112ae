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

use super::disputed_rows::DisputedRows;
use super::effect_runner::{EffectRunner, TimerFn};
use super::filter_history::FilterHistory;
use super::input::Input;
use super::session::{Session, SessionOpener};
use crate::api::EmailApi;
use crate::app::{Effect, ExitReason, LoopEffect, Message, Model, SessionInfo};
use crate::archive::ProcessLock;
use crate::config::FaultPoint;
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::view::{self, RenderCtx};

/// The shortest time between two frames that nobody asked for with a key.
const MIN_FRAME_TIME: Duration = Duration::from_millis(16);

/// The running program: a model, the world it acts in, and the screen it is drawn on.
pub struct EventLoop<S: EmailApi, B: Backend, E> {
    model: Model,
    effects: EffectRunner<S>,
    input: Input<E>,
    terminal: Terminal<B>,
    ctx: RenderCtx,
    clock: Clock,
    panic_at: Option<FaultPoint>,
    /// When the last frame was drawn for something that the world did, if there was one.
    last_background_frame: Option<Instant>,
    /// Whether something that a person did is still being answered.
    awaiting_response: bool,
    /// Whether there was a frame at all.
    has_drawn: bool,
    disputed_rows: DisputedRows,
    /// When a frame is due for something that the world did.
    frame_due: Option<Instant>,
    /// Why the loop returns after the next frame.
    pending_exit: Option<LoopExit>,
    /// The first state of the session and every message since, for replay.
    #[cfg(test)]
    pub recording: Box<(Model, Vec<Message>)>,
}

/// What the loop comes back with.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopExit {
    /// The program goes on; the terminal may have to be treated otherwise.
    TerminalRequest(TerminalRequest),
    /// It is over.
    Ended(ExitReason),
    /// The terminal is gone.
    TerminalGone,
}

/// What only the owner of the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalRequest {
    /// Stop until the shell continues the program.
    Suspend,
    /// Take or free the mouse.
    Mouse(bool),
}

impl<S, B, E> EventLoop<S, B, E>
where
    S: EmailApi,
    B: Backend,
    E: Stream<Item = io::Result<Event>> + Unpin,
{
    /// Starts with a session. A terminal comes with its size.
    #[expect(
        clippy::too_many_arguments,
        reason = "these are the parts of the world, and each is needed once"
    )]
    pub fn new(
        session: Session<S>,
        opener: Arc<dyn SessionOpener<S>>,
        pause: TimerFn,
        events: E,
        (terminal, size): (Terminal<B>, Size),
        look: RenderCtx,
        clock: Clock,
        panic_at: Option<FaultPoint>,
    ) -> Self {
        let now = look.now.to_zoned(look.zone.clone());
        let (model, performer) = start_session(session, opener, pause, panic_at, (size, now));
        // The archive answers within a few milliseconds: the first frame waits for it, so that the
        // first thing to be seen is the list and not an empty frame.
        let due = Some(Instant::now() + MIN_FRAME_TIME);
        Self {
            effects: performer,
            input: Input::new(events),
            terminal,
            ctx: look,
            clock,
            panic_at,
            last_background_frame: None,
            awaiting_response: true,
            has_drawn: false,
            disputed_rows: DisputedRows::default(),
            frame_due: due,
            pending_exit: None,
            #[cfg(test)]
            recording: Box::new((model.clone(), Vec::new())),
            model,
        }
    }

    /// Replaces the session by the one that was opened last. Work of the old one ends, and its
    /// archive is closed.
    fn switch_session(&mut self) {
        let Some(session) = self.effects.take_opened_session() else {
            return;
        };
        let (opener, pause) = self.effects.opener_and_timer();
        let now = (self.clock)().to_zoned(self.ctx.zone.clone());
        (self.model, self.effects) = start_session(
            session,
            opener,
            pause,
            self.panic_at,
            (self.model.size, now),
        );
        #[cfg(test)]
        {
            *self.recording = (self.model.clone(), Vec::new());
        }
        self.awaiting_response = true;
    }

    /// Who asks the service for what is new in the archive that is shown.
    pub const fn process_lock(&self) -> &ProcessLock {
        self.effects.process_lock()
    }

    #[cfg(test)]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Whether nothing is going on but pauses, and everything that happened is on the screen.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.effects.is_idle() && self.frame_due.is_none()
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
    pub async fn run(&mut self) -> Result<LoopExit, B::Error> {
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
    pub async fn step(&mut self) -> Result<Option<LoopExit>, B::Error> {
        let due = self.frame_due;
        let mut by_hand = false;
        tokio::select! {
            biased;
            msg = self.input.next() => match msg {
                Some(msg) => {
                    by_hand = true;
                    self.handle_message(msg)?;
                }
                None => return Ok(Some(LoopExit::TerminalGone)),
            },
            msg = self.effects.next() => self.handle_message(msg)?,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
        while let Some(msg) = self.input.try_next().await {
            by_hand = true;
            self.handle_message(msg)?;
        }
        while let Some(msg) = self.effects.try_next() {
            self.handle_message(msg)?;
        }
        if let Some(LoopExit::Ended(_)) = self.pending_exit {
            return Ok(self.pending_exit.take());
        }
        self.draw_when_due(by_hand)?;
        Ok(self.pending_exit.take())
    }

    /// Goes on after a stop: the terminal may show anything by now, and have another size.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be written.
    pub fn resume(&mut self) -> Result<(), B::Error> {
        let size = self.terminal.backend().size()?;
        self.handle_message(Message::Resized(size))?;
        self.terminal.clear()?;
        self.draw()
    }

    fn handle_message(&mut self, message: Message) -> Result<(), B::Error> {
        let message = match message {
            Message::Resized(size) => match check_size(size) {
                Ok(()) => {
                    let area = Rect::new(0, 0, size.width, size.height);
                    // The next frame reports a terminal that cannot be resized.
                    let _ = self.terminal.resize(area);
                    Message::Resized(size)
                }
                Err(error) => Message::Fatal(error),
            },
            message => message,
        };
        if let Message::KeyPressed(_) = message {
            FaultPoint::panic_if_requested(self.panic_at, FaultPoint::Input);
        }
        let opens_session = matches!(message, Message::SessionOpened(..));
        let clock = Message::Clock {
            now: (self.clock)().to_zoned(self.ctx.zone.clone()),
            budget: self.effects.budget(),
        };
        for message in [clock, message] {
            #[cfg(test)]
            self.recording.1.push(message.clone());
            for effect in self.model.update(message) {
                match effect {
                    Effect::Loop(effect) => self.run_loop_effect(effect)?,
                    effect => self.effects.run(effect),
                }
            }
        }
        if opens_session {
            // A session that is not switched to is closed.
            drop(self.effects.take_opened_session());
        }
        self.effects
            .cancel_unwanted(|kind, id| self.model.is_wanted(kind, id));
        Ok(())
    }

    fn run_loop_effect(&mut self, effect: LoopEffect) -> Result<(), B::Error> {
        let exit = match effect {
            LoopEffect::Redraw => return self.terminal.clear(),
            LoopEffect::SwitchSession => {
                self.switch_session();
                return Ok(());
            }
            LoopEffect::Suspend => LoopExit::TerminalRequest(TerminalRequest::Suspend),
            LoopEffect::CaptureMouse(ours) => {
                LoopExit::TerminalRequest(TerminalRequest::Mouse(ours))
            }
            LoopEffect::Exit(reason) => LoopExit::Ended(reason),
        };
        // The first reason to end the program is the one that is reported.
        if !matches!(self.pending_exit, Some(LoopExit::Ended(_))) {
            self.pending_exit = Some(exit);
        }
        Ok(())
    }

    /// At once for what a person did, and for what comes of it as soon as it is there whole; for
    /// everything else, at most once a [`MIN_FRAME_TIME`].
    fn draw_when_due(&mut self, by_hand: bool) -> Result<(), B::Error> {
        let now = Instant::now();
        let waits_for_rows = !self.has_drawn
            && self.model.list.is_loading()
            && self.frame_due.is_some_and(|due| now < due);
        if waits_for_rows {
            return Ok(());
        }
        let next = self
            .last_background_frame
            .map_or(now, |drawn| drawn + MIN_FRAME_TIME);
        if by_hand {
            self.awaiting_response = true;
            return self.draw();
        }
        if self.awaiting_response && self.effects.is_interactive_idle() {
            self.awaiting_response = false;
            return self.draw();
        }
        if next <= now {
            self.last_background_frame = Some(now);
            return self.draw();
        }
        self.frame_due = Some(next);
        Ok(())
    }

    fn draw(&mut self) -> Result<(), B::Error> {
        self.ctx.now = self.model.now.timestamp();
        let Self {
            terminal,
            model,
            ctx: look,
            disputed_rows,
            ..
        } = self;
        terminal.draw(|frame| {
            view::draw(model, look, frame);
            disputed_rows.mark_changed(frame.buffer_mut());
        })?;
        self.has_drawn = true;
        self.frame_due = None;
        Ok(())
    }
}

/// More cells than this no screen has; a terminal that claims more would take all memory.
const MAX_CELLS: u32 = 1 << 20;

pub(super) fn check_size(size: Size) -> Result<(), Error> {
    if u32::from(size.width) * u32::from(size.height) <= MAX_CELLS {
        return Ok(());
    }
    let message = format!("terminal size {}x{} is too large", size.width, size.height);
    Err(Error::new(ErrorKind::Io, message).with_hint("set its size: stty cols 120 rows 40"))
}

/// The first state of a session, and who performs what it asks for.
fn start_session<S: EmailApi>(
    session: Session<S>,
    opener: Arc<dyn SessionOpener<S>>,
    pause: TimerFn,
    panic_at: Option<FaultPoint>,
    (size, now): (Size, Zoned),
) -> (Model, EffectRunner<S>) {
    let Session {
        profile,
        target,
        archive,
        storage: kept,
        engine,
        refresh,
        backfill,
        notice,
        keys,
        query,
        start_screen: hall,
        history,
        views,
        view_file,
        background_tasks: beside,
    } = session;
    let (engine, no_service) = match engine {
        // What is new cannot be kept in a read-only archive, so it is not asked for; an email that is opened is.
        Ok(engine) => (Some(engine), archive.read_only_reason()),
        Err(failure) => (None, Some(failure)),
    };
    let history = FilterHistory::new(history);
    // A history that cannot be read is no reason not to start.
    let typed = history.load().unwrap_or_default();
    let as_of = archive.head_at().ok().flatten();
    let (model, effects) = Model::start(SessionInfo {
        size,
        profile,
        service_error: no_service,
        refresh,
        backfill,
        as_of,
        now,
        notice,
        keymap: keys,
        query,
        filter_history: typed,
        saved_views: views,
        target,
        storage: kept,
        start_screen: hall,
    });
    let mut performer = EffectRunner::new(
        archive,
        engine,
        beside,
        (history, view_file),
        opener,
        pause,
        panic_at,
    );
    for effect in effects {
        performer.run(effect);
    }
    (model, performer)
}
