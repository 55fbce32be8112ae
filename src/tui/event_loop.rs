//! `EventLoop`: takes messages, updates the model, runs its effects, draws.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::{Rect, Size};
use secrecy::zeroize::Zeroizing;
use tokio::time::{Instant, sleep_until};

use super::effect_runner::{EffectRunner, Environment};
use super::input::{Input, TerminalEvent};
use super::session::Session;
use crate::app::{Effect, Focus, Key, LoopEffect, Message, Model, MouseInput};
use crate::archive::ProcessLock;
use crate::config::{FaultPoint, SecretInput};
use crate::error::{Error, ErrorKind, Result};
use crate::view::linear::format_figures;
use crate::view::{self, RenderCtx};

/// The longest time for which input is handled without a frame.
/// A test expects that all its keys are handled, however slow the machine is.
const MAX_INPUT_TIME: Duration = Duration::from_millis(if cfg!(test) { 3_600_000 } else { 30 });
/// The shortest time between two frames that no key causes.
const MIN_FRAME_TIME: Duration = Duration::from_millis(16);

/// The shortest time between two frames of a terminal that is being resized.
const MIN_RESIZE_TIME: Duration = Duration::from_millis(50);

/// The running program: a model, the runner of its effects, and the terminal.
pub struct EventLoop<B: Backend, E> {
    model: Model,
    effects: EffectRunner,
    /// The effects of the first state, until they start.
    first_effects: Option<Vec<Effect>>,
    input: Input<E>,
    terminal: Terminal<B>,
    ctx: RenderCtx,
    panic_at: Option<FaultPoint>,
    /// When the last frame without a key was drawn.
    last_background_frame: Option<Instant>,
    /// Whether the user still waits for the result of a key.
    awaiting_response: bool,
    has_drawn: bool,
    /// The size of the next frame, if it has changed.
    resized_to: Option<Rect>,
    /// When the last frame of another size was drawn.
    last_resize: Option<Instant>,
    /// When the next frame without a key is due.
    frame_due: Option<Instant>,
    /// The effects that the owner of the terminal must run after the next frame,
    /// one by one.
    pending_exits: VecDeque<LoopEffect>,
    /// The first state and every message since, for replay.
    #[cfg(test)]
    pub recording: Box<(Model, Vec<Message>)>,
}

/// Why the loop returns.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopExit {
    /// The owner of the terminal must do this; never [`LoopEffect::Redraw`].
    Effect(LoopEffect),
    /// The input has ended.
    TerminalGone,
}

impl<B, E> EventLoop<B, E>
where
    B: Backend,
    E: Stream<Item = io::Result<TerminalEvent>> + Unpin,
{
    pub fn new(
        mut session: Session,
        env: Environment,
        events: E,
        mut terminal: Terminal<B>,
        ctx: RenderCtx,
    ) -> Self {
        let size = terminal.get_frame().area().as_size();
        let info = std::mem::take(&mut session.info);
        let (model, effects) = Model::start(info, size, ctx.now.clone());
        let panic_at = env.panic_at;
        let runner = EffectRunner::new(session, Arc::new(env));
        // The archive answers a search within a few milliseconds: the first frame waits for the
        // list.
        let frame_due = Some(Instant::now() + MIN_FRAME_TIME);
        Self {
            effects: runner,
            first_effects: Some(effects),
            input: Input::new(events),
            terminal,
            ctx,
            panic_at,
            last_background_frame: None,
            awaiting_response: true,
            has_drawn: false,
            resized_to: None,
            last_resize: None,
            frame_due,
            pending_exits: VecDeque::new(),
            #[cfg(test)]
            recording: Box::new((model.clone(), Vec::new())),
            model,
        }
    }

    /// The lock of the process that polls the service for this archive.
    pub fn process_lock(&self) -> &ProcessLock {
        self.effects.process_lock()
    }

    #[cfg(test)]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Whether only timers run, and the screen shows the model.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.effects.is_idle() && self.frame_due.is_none() && self.first_effects.is_none()
    }

    #[cfg(test)]
    pub const fn terminal(&self) -> &Terminal<B> {
        &self.terminal
    }

    /// Runs until the program ends, or the owner of the terminal must do something.
    pub async fn run(&mut self) -> Result<LoopExit, B::Error> {
        loop {
            if let Some(exit) = self.step().await? {
                return Ok(exit);
            }
        }
    }

    /// Waits for one message, takes all others that are ready, and draws once.
    ///
    /// Input comes first, so that keys do not wait for other messages. Taking all messages before
    /// drawing saves frames on a slow line; the keyboard's repeat rate limits how long a frame is
    /// put off.
    pub async fn step(&mut self) -> Result<Option<LoopExit>, B::Error> {
        if let Some(effects) = self.first_effects.take() {
            self.start(effects)?;
        }
        if let Some(effect) = self.pending_exits.pop_front() {
            return Ok(Some(LoopExit::Effect(effect)));
        }
        let due = self.frame_due;
        let mut input = None;
        tokio::select! {
            biased;
            message = self.input.next() => match message {
                Some(message) => input = Some(message),
                None => return Ok(Some(LoopExit::TerminalGone)),
            },
            message = self.effects.next() => self.handle_message(message)?,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
        let by_user = self.handle_input(input)?;
        while let Some(message) = self.effects.try_next() {
            self.handle_message(message)?;
        }
        if let Some(LoopEffect::Exit(_)) = self.pending_exits.back() {
            // What the keys before it have asked for comes first.
            return Ok(self.pending_exits.pop_front().map(LoopExit::Effect));
        }
        self.draw_when_due(by_user)?;
        Ok(self.pending_exits.pop_front().map(LoopExit::Effect))
    }

    /// Handles the first message, and all other input that is ready.
    /// Returns whether there was other input than sizes.
    ///
    /// Typed characters are inserted together: a search for each would be out of date before it
    /// begins. What comes while others are handled waits for the next frame after
    /// [`MAX_INPUT_TIME`].
    fn handle_input(&mut self, mut first: Option<Message>) -> Result<bool, B::Error> {
        let mut by_user = false;
        // They may be an API key, and a string that grows leaves copies behind that are never
        // wiped.
        let mut typed = Zeroizing::new(String::with_capacity(1_024));
        let mut last: Option<(Key, char)> = None;
        let frame_due = Instant::now() + MAX_INPUT_TIME;
        loop {
            let message = match first.take() {
                Some(message) => Some(message),
                None if Instant::now() >= frame_due => None,
                None => self.input.try_next(),
            };
            by_user |= message
                .as_ref()
                .is_some_and(|it| !matches!(it, Message::Resized(_)));
            if let Some(Message::KeyPressed(key)) = message
                && let (Focus::Prompt, Some(letter)) = (self.model.focus(), key.typed_char())
            {
                typed.extend(last.replace((key, letter)).map(|(_, before)| before));
                continue;
            }
            if let Some((key, _)) = last.take() {
                if !typed.is_empty() {
                    self.handle_message(Message::Typed(SecretInput::new(&typed)))?;
                    typed.clear();
                }
                self.handle_message(Message::KeyPressed(key))?;
            }
            match message {
                Some(message) => self.handle_message(message)?,
                None => return Ok(by_user),
            }
        }
    }

    /// Draws the first rows if they need no search, and then starts the first effects:
    /// their threads would delay the frame.
    fn start(&mut self, effects: Vec<Effect>) -> Result<(), B::Error> {
        let mut later = Vec::new();
        for effect in effects {
            let Some(message) = self.effects.run_at_once(&effect) else {
                later.push(effect);
                continue;
            };
            for message in self.timed(message) {
                later.extend(self.model.update(message));
            }
            self.draw()?;
        }
        for effect in later {
            match effect {
                Effect::Loop(effect) => self.run_loop_effect(effect)?,
                effect => self.effects.run(effect),
            }
        }
        Ok(())
    }

    /// Waits for a key, or for the end of the terminal.
    pub async fn wait_for_key(&mut self) {
        while let Some(message) = self.input.next().await {
            if let Message::KeyPressed(_) = message {
                return;
            }
        }
    }

    /// Continues after a command that had the terminal; `ended` is its end.
    pub fn resume_after(&mut self, ended: Message) -> Result<(), B::Error> {
        self.handle_message(ended)?;
        self.resume()
    }

    /// Continues after a suspension:
    /// the terminal may have other content and another size.
    pub fn resume(&mut self) -> Result<(), B::Error> {
        let size = self.terminal.backend().size()?;
        self.handle_message(Message::Resized(size))?;
        self.terminal.clear()?;
        self.draw()
    }

    pub const fn backend_mut(&mut self) -> &mut B {
        self.terminal.backend_mut()
    }

    /// Reads what a terminal reports late, so that the shell does not take it for typed
    /// text.
    pub async fn await_background(&mut self, max_wait: Duration) {
        let report = async {
            while let Some(message) = self.input.next().await {
                if matches!(message, Message::BackgroundReported(_)) {
                    break;
                }
            }
        };
        if self.model.terminal_background.is_none() {
            // A terminal that reports nothing is not an error.
            let _ = tokio::time::timeout(max_wait, report).await;
        }
    }

    fn handle_message(&mut self, message: Message) -> Result<(), B::Error> {
        let message = match message {
            Message::Resized(size) => match check_size(size) {
                Ok(()) => {
                    self.resized_to = Some(Rect::new(0, 0, size.width, size.height));
                    Message::Resized(size)
                }
                Err(error) => Message::Fatal(error),
            },
            Message::Mouse(MouseInput::Pressed(at)) => {
                match view::click_target(&self.model, &self.ctx, at) {
                    Some(target) => Message::Clicked(target, Some(at)),
                    None => message,
                }
            }
            Message::Mouse(MouseInput::SecondPressed(at)) => {
                match view::cell_target(&self.model, &self.ctx, at) {
                    Some(target) => Message::Clicked(target, None),
                    None => message,
                }
            }
            message => message,
        };
        if let Message::KeyPressed(_) = message {
            FaultPoint::panic_if_requested(self.panic_at, FaultPoint::Input);
        }
        let messages = self.timed(message);
        for effect in update_model(&mut self.model, &mut self.effects, &self.ctx, messages) {
            self.run_loop_effect(effect)?;
        }
        Ok(())
    }

    /// The message after one with its time.
    fn timed(&mut self, message: Message) -> [Message; 2] {
        let messages = [
            self.effects.clock_message(self.model.now.time_zone()),
            message,
        ];
        #[cfg(test)]
        self.recording.1.extend(messages.clone());
        messages
    }

    fn run_loop_effect(&mut self, effect: LoopEffect) -> Result<(), B::Error> {
        if effect == LoopEffect::Redraw {
            return self.terminal.clear();
        }
        // The first reason to end the program is the one that is reported.
        if !matches!(self.pending_exits.back(), Some(LoopEffect::Exit(_))) {
            self.pending_exits.push_back(effect);
        }
        Ok(())
    }

    /// Draws at once for input, and for a result after which nothing else runs;
    /// otherwise at most once a [`MIN_FRAME_TIME`], and at most once a [`MIN_RESIZE_TIME`] for
    /// another size.
    fn draw_when_due(&mut self, by_user: bool) -> Result<(), B::Error> {
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
        let resized = self
            .last_resize
            .map_or(now, |drawn| drawn + MIN_RESIZE_TIME);
        let is_resized = self.resized_to.is_some();
        if by_user || (is_resized && resized <= now) {
            self.awaiting_response = true;
            return self.draw();
        }
        if is_resized {
            self.frame_due = Some(resized);
            return Ok(());
        }
        if self.awaiting_response && self.effects.is_interactive_idle() {
            self.awaiting_response = false;
            return self.draw();
        }
        if next <= now || self.effects.is_idle() {
            self.last_background_frame = Some(now);
            return self.draw();
        }
        self.frame_due = Some(next);
        Ok(())
    }

    fn draw(&mut self) -> Result<(), B::Error> {
        self.ctx.now.clone_from(&self.model.now);
        if let Some(background) = self.model.terminal_background {
            self.ctx.theme.set_background(background);
        }
        if let Some(area) = self.resized_to.take() {
            self.last_resize = Some(Instant::now());
            // The terminal may have moved what it shows.
            self.terminal.backend_mut().clear()?;
            self.terminal.resize(area)?;
        }
        let (model, ctx) = (&self.model, &self.ctx);
        self.terminal.draw(|frame| {
            view::draw(model, ctx, frame);
            view::add_hyperlinks(model, ctx, frame);
        })?;
        self.has_drawn = true;
        self.frame_due = None;
        Ok(())
    }
}

/// Updates the model with the time and a message, and starts the effects;
/// returns those of the loop.
pub(super) fn update_model(
    model: &mut Model,
    runner: &mut EffectRunner,
    ctx: &RenderCtx,
    messages: [Message; 2],
) -> Vec<LoopEffect> {
    let mut of_loop = Vec::new();
    let mut messages = VecDeque::from(messages);
    while let Some(message) = messages.pop_front() {
        for effect in model.update(message) {
            match effect {
                Effect::Loop(LoopEffect::FormatFigures) => {
                    let figures = format_figures(model, ctx).join("\n");
                    messages.push_back(Message::FiguresFormatted(figures));
                }
                Effect::Loop(effect) => of_loop.push(effect),
                effect => runner.run(effect),
            }
        }
    }
    runner.cancel_unwanted(|kind, id| model.is_wanted(kind, id));
    of_loop
}

/// More cells than any screen has.
/// A terminal that reports more would take all memory.
const MAX_CELLS: u32 = 1 << 20;

pub(super) fn check_size(size: Size) -> Result<()> {
    if u32::from(size.width) * u32::from(size.height) <= MAX_CELLS {
        return Ok(());
    }
    let message = format!("terminal size {}x{} is too large", size.width, size.height);
    Err(Error::new(ErrorKind::Io, message).with_hint("set its size: stty cols 120 rows 40"))
}
