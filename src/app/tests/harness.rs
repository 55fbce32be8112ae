//! `AppHarness`: a model with its service, driven by keys and messages.

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::layout::{Position, Size};

use super::env::{FakeService, now, session};
use crate::api::RateBudget;
use crate::app::reader::header::HeaderLine;
use crate::app::{
    Effect, ExitReason, LoopEffect, Message, Model, MouseInput, SessionInfo, TimerKind,
};
use crate::error::Error;
use crate::view::tests::screen;

/// A closure that finds a part of an effect, or tells whether it is of this kind.
macro_rules! effect {
    ($pattern:pat => $part:expr) => {
        |effect| match effect {
            $pattern => Some($part),
            _ => None,
        }
    };
    ($pattern:pat) => {
        |effect: &$crate::app::Effect| matches!(effect, $pattern)
    };
}
pub(crate) use effect;

/// A model with its service and the effects that run.
#[derive(Clone)]
pub struct AppHarness {
    pub model: Model,
    pub service: FakeService,
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
    pub fn start((width, height): (u16, u16), session: SessionInfo, service: FakeService) -> Self {
        let (model, effects) = Model::start(session, Size::new(width, height), now());
        Self {
            model,
            service,
            pending: effects.clone(),
            effects,
            exit: None,
            switched: false,
        }
    }

    /// Starts the program and answers everything.
    pub fn at_rest(width: u16, height: u16, service: FakeService) -> Self {
        Self::settled((width, height), session(), service)
    }

    /// Starts the program with this session and answers everything.
    pub fn settled(size: (u16, u16), session: SessionInfo, service: FakeService) -> Self {
        let mut app = Self::start(size, session, service);
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
        let budget = self.model.rate_budget;
        self.happen(Message::Clock { now, budget });
    }

    /// Lets this time pass.
    pub fn pass(&mut self, seconds: i64) {
        let pause = jiff::SignedDuration::from_secs(seconds);
        self.set_time(self.model.now.checked_add(pause).unwrap());
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

    /// Presses a key so many times.
    pub fn press_times(&mut self, key: &str, times: usize) -> &mut Self {
        for _ in 0..times {
            self.press(key);
        }
        self
    }

    /// Filters the list by this text, or finds it in the open email.
    pub fn search(&mut self, text: &str) -> &mut Self {
        self.press("/").write(text).press("Enter").settle()
    }

    pub fn click(&mut self, at: Position) {
        self.happen(Message::Mouse(MouseInput::Pressed(at)));
    }

    pub fn scroll(&mut self, at: Position, down: bool) {
        self.happen(Message::Mouse(MouseInput::Scrolled { at, down }));
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
        self.service.clock = self.model.now.timestamp();
        let msg = self.service.answer(&effect);
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

    /// Answers the first pending effect of this kind.
    #[track_caller]
    pub fn answer_first(&mut self, is_wanted: impl Fn(&Effect) -> bool) {
        let found = self.pending.iter().position(is_wanted);
        self.answer(found.expect("such an effect is pending"));
    }

    /// Removes the first pending effect that has such a part, and returns the part.
    #[track_caller]
    pub fn take<T>(&mut self, find: impl Fn(&Effect) -> Option<T>) -> T {
        let found = self
            .pending
            .iter()
            .position(|effect| find(effect).is_some());
        let effect = self
            .pending
            .remove(found.expect("such an effect is pending"));
        find(&effect).unwrap()
    }

    /// Such a part of the last pending effect that has one.
    #[track_caller]
    pub fn find<T>(&self, find: impl Fn(&Effect) -> Option<T>) -> T {
        let found = self.pending.iter().rev().find_map(find);
        found.expect("such an effect is pending")
    }

    pub fn is_pending(&self, is_wanted: impl Fn(&Effect) -> bool) -> bool {
        self.pending.iter().any(is_wanted)
    }

    pub fn has_timer(&self, kind: TimerKind) -> bool {
        self.is_pending(|effect| matches!(effect, Effect::Timer(_, found, _) if *found == kind))
    }

    /// Ends the last timer of this kind, if one runs.
    pub fn fire(&mut self, kind: TimerKind) {
        let is_timer =
            |effect: &Effect| matches!(effect, Effect::Timer(_, found, _) if *found == kind);
        if let Some(n) = self.pending.iter().rposition(is_timer) {
            self.answer(n);
        }
    }

    /// Fails the first pending refresh.
    #[track_caller]
    pub fn fail_refresh(&mut self, error: Error) {
        let request = self.take(effect!(Effect::Refresh(request, _) => *request));
        self.happen(Message::Refreshed(request, Err(error)));
    }

    /// Answers everything but timers, in order.
    pub fn answer_all(&mut self) {
        let is_work = |effect: &Effect| !matches!(effect, Effect::Timer(_, _, _));
        while let Some(n) = self.pending.iter().position(is_work) {
            self.answer(n);
        }
    }

    /// Answers everything but timers of requests, in order, until nothing else runs.
    pub fn settle(&mut self) -> &mut Self {
        let clock = |effect: &Effect| {
            matches!(
                effect,
                Effect::Timer(
                    _,
                    TimerKind::Refresh
                        | TimerKind::LoadOlder
                        | TimerKind::AutomaticSearch
                        | TimerKind::Countdown
                        | TimerKind::Freshness,
                    _
                )
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
        self.fire(TimerKind::Refresh);
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

    /// The first line of the screen.
    pub fn title(&self) -> String {
        screen(self).lines().next().unwrap().trim().to_owned()
    }

    /// Checks the end of the title.
    #[track_caller]
    pub fn title_ends(&self, text: &str) {
        let title = self.title();
        assert!(title.ends_with(text), "no {text:?} at the end: {title}");
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

    /// Such a part of every effect that has one.
    pub fn requested<'a, T>(&'a self, find: impl Fn(&'a Effect) -> Option<T>) -> Vec<T> {
        self.effects.iter().filter_map(find).collect()
    }

    pub fn email_loads(&self) -> usize {
        self.count(|effect| matches!(effect, Effect::LoadEmail { .. }))
    }

    pub fn window_loads(&self) -> usize {
        self.count(|effect| matches!(effect, Effect::LoadWindow { .. }))
    }

    /// The notice at the bottom; empty if there is none.
    pub fn notice(&self) -> &str {
        self.model.notice_text().unwrap_or_default()
    }

    /// Checks the notice at the bottom.
    #[track_caller]
    pub fn shows_notice(&self, text: &str) {
        assert_eq!(self.notice(), text);
    }

    /// The text in the open prompt.
    #[track_caller]
    pub fn prompt_text(&self) -> &str {
        self.model.prompt.as_ref().expect("a prompt is open").text()
    }

    /// The texts of the lines with this label in the header of the selected email.
    pub fn header_lines(&self, label: &str) -> Vec<String> {
        let row = self.model.list.selected().unwrap();
        let lines = self.model.reader.header(row).into_iter();
        lines
            .filter_map(|line| match line {
                HeaderLine::Text {
                    field,
                    is_first: true,
                    text,
                } if field.label == label => Some(text),
                _ => None,
            })
            .collect()
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

    /// The index of the selected item of the open list.
    #[track_caller]
    pub fn selected_item(&self) -> usize {
        self.model
            .chooser
            .as_ref()
            .expect("a list is open")
            .selected
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
