//! `AppHarness`: a model with its mailbox, driven by keys and messages.

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::Size;

use super::env::{Mailbox, now, session};
use crate::api::RateBudget;
use crate::app::{Effect, ExitReason, LoopEffect, Message, Model, SessionInfo};
use crate::view::tests::screen;

/// A model with its mailbox and the effects that run.
#[derive(Clone)]
pub struct AppHarness {
    pub model: Model,
    pub mailbox: Mailbox,
    pub pending: Vec<Effect>,
    /// Every effect so far.
    pub effects: Vec<Effect>,
    /// Why the program has ended.
    pub exit: Option<ExitReason>,
    /// Whether the session was replaced.
    pub switched: bool,
}

impl AppHarness {
    /// Starts the program; nothing is answered yet.
    pub fn start((width, height): (u16, u16), session: SessionInfo, mailbox: Mailbox) -> Self {
        let (model, effects) = Model::start(session, Size::new(width, height), now());
        Self {
            model,
            mailbox,
            pending: effects.clone(),
            effects,
            exit: None,
            switched: false,
        }
    }

    /// Starts the program and answers everything.
    pub fn at_rest(width: u16, height: u16, mailbox: Mailbox) -> Self {
        let mut app = Self::start((width, height), session(), mailbox);
        app.settle();
        app
    }

    /// Sends a message to the model.
    pub fn happen(&mut self, msg: Message) {
        for effect in self.model.update(msg) {
            self.effects.push(effect.clone());
            match effect {
                Effect::Loop(LoopEffect::Exit(reason)) => self.exit = Some(reason),
                Effect::SwitchSession(_) => self.switched = true,
                Effect::Loop(_) => {}
                effect => self.pending.push(effect),
            }
        }
    }

    /// Changes the time.
    pub fn set_time(&mut self, now: jiff::Zoned) {
        let budget = self.model.rate_budget().copied();
        self.happen(Message::Clock { now, budget });
    }

    /// Changes the rate budget.
    pub fn set_rate_budget(&mut self, budget: Option<RateBudget>) {
        let now = self.model.now.clone();
        self.happen(Message::Clock { now, budget });
    }

    /// Presses keys, written as in the key table and separated by blanks.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.happen(Message::KeyPressed(
                crate::app::Key::parse(key).expect("a key of the table"),
            ));
        }
        self
    }

    /// Types letters.
    pub fn write(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.happen(Message::KeyPressed(crate::app::Key::new(
                KeyCode::Char(letter),
                KeyModifiers::NONE,
            )));
        }
        self
    }

    /// Answers the `n`th running effect.
    pub fn answer(&mut self, n: usize) {
        let effect = self.pending.remove(n % self.pending.len());
        self.mailbox.clock = self.model.now.timestamp();
        let msg = self.mailbox.answer(&effect);
        self.happen(msg);
    }

    /// Answers the running effects in order until one is found that is not to be
    /// answered.
    pub fn answer_until<T>(&mut self, find: impl Fn(&Effect) -> Option<T>) -> T {
        loop {
            match self.pending.iter().find_map(&find) {
                Some(found) => return found,
                None => self.answer(0),
            }
        }
    }

    /// Answers everything but timers, in order.
    pub fn answer_all(&mut self) {
        let is_work = |effect: &Effect| !matches!(effect, Effect::Timer { .. });
        while let Some(n) = self.pending.iter().position(is_work) {
            self.answer(n);
        }
    }

    /// Answers everything but timers of requests, in order, until nothing else runs.
    pub fn settle(&mut self) -> &mut Self {
        use crate::app::TimerKind;
        let clock = |effect: &Effect| {
            matches!(
                effect,
                Effect::Timer {
                    kind: TimerKind::Refresh
                        | TimerKind::LoadOlder
                        | TimerKind::AutomaticSearch
                        | TimerKind::Countdown
                        | TimerKind::Freshness,
                    ..
                }
            )
        };
        while let Some(n) = self.pending.iter().position(|effect| !clock(effect)) {
            self.answer(n);
        }
        self
    }

    /// Answers the effects that only read the archive.
    pub fn answer_archive(&mut self) -> &mut Self {
        let archive = |effect: &Effect| {
            matches!(
                effect,
                Effect::LoadWindow { .. }
                    | Effect::CountEmails { .. }
                    | Effect::SummarizeRecipient { .. }
                    | Effect::LoadSuggestions { .. }
            )
        };
        while let Some(n) = self.pending.iter().position(archive) {
            self.answer(n);
        }
        self
    }

    /// Fires the timer of the next refresh, and answers everything.
    pub fn wait_for_refresh(&mut self) -> &mut Self {
        use crate::app::TimerKind;
        if let Some(n) = self.pending.iter().rposition(|effect| {
            matches!(
                effect,
                Effect::Timer {
                    kind: TimerKind::Refresh,
                    ..
                }
            )
        }) {
            self.answer(n);
        }
        self.settle()
    }

    /// Checks that the screen has each of these texts.
    #[track_caller]
    pub fn shows(&self, texts: &[&str]) {
        let screen = screen(self);
        for text in texts {
            assert!(screen.contains(text), "no {text:?}:\n{screen}");
        }
    }

    /// Checks that the screen has none of these texts.
    #[track_caller]
    pub fn hides(&self, texts: &[&str]) {
        let screen = screen(self);
        for text in texts {
            assert!(!screen.contains(text), "{text:?}:\n{screen}");
        }
    }

    /// How many effects of this kind were requested.
    pub fn count(&self, of: impl Fn(&Effect) -> bool) -> usize {
        self.effects.iter().filter(|effect| of(effect)).count()
    }

    pub fn email_loads(&self) -> usize {
        self.count(|effect| matches!(effect, Effect::LoadEmail { .. }))
    }

    pub fn window_loads(&self) -> usize {
        self.count(|effect| matches!(effect, Effect::LoadWindow { .. }))
    }

    pub fn filter(&self) -> &str {
        self.model.list.filter.text()
    }

    /// The number of the selected email.
    pub fn selected(&self) -> i64 {
        self.model
            .list
            .selected()
            .map_or(-1, |row| row.sort_key.micros())
    }

    /// Numbers of the emails on the screen.
    pub fn visible(&self) -> Vec<i64> {
        self.model
            .list
            .visible_rows(&self.model.list_viewport())
            .map(|row| row.sort_key.micros())
            .collect()
    }
}
