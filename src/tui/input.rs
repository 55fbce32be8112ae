//! What the person does, as messages: keys, mouse, a new size.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use futures_util::{Stream, StreamExt};
use ratatui::layout::{Position, Size};
use tokio::time::{Instant, sleep_until};

use crate::app::{Key, Message, MouseInput};
use crate::config::SecretInput;

/// How long a lone Esc waits for the rest of an escape sequence that a slow line split in two.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(25);
/// No sequence a keyboard sends is longer than this.
const MAX_SEQUENCE_LEN: usize = 8;

/// The terminal's events as messages.
pub struct Input<E> {
    events: E,
    /// Keys that may be the start of a split sequence, and when to stop waiting for the rest.
    pending_keys: Vec<KeyEvent>,
    deadline: Option<Instant>,
    ready: std::collections::VecDeque<Message>,
}

impl<E: Stream<Item = io::Result<Event>> + Unpin> Input<E> {
    /// Reads from `events`.
    pub const fn new(events: E) -> Self {
        Self {
            events,
            pending_keys: Vec::new(),
            deadline: None,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// The next message; `None` when the terminal is gone. Safe to cancel.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(msg) = self.ready.pop_front() {
                return Some(msg);
            }
            let event = match self.deadline {
                None => self.events.next().await,
                Some(until) => tokio::select! {
                    biased;
                    event = self.events.next() => event,
                    () = sleep_until(until) => {
                        self.flush_pending_keys();
                        continue;
                    }
                },
            };
            self.handle_event(&event?.ok()?);
        }
    }

    /// A message that is there already.
    ///
    /// It looks with the waker of the running task. An event stream remembers the first waker it is
    /// given until something happens: one that wakes nobody would swallow the next key.
    pub async fn try_next(&mut self) -> Option<Message> {
        let mut next = pin!(self.next());
        poll_fn(|context| {
            Poll::Ready(match next.as_mut().poll(context) {
                Poll::Ready(msg) => msg,
                Poll::Pending => None,
            })
        })
        .await
    }

    fn handle_event(&mut self, event: &Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.handle_key_event(*key),
            Event::Mouse(mouse) => self.ready.extend(to_pointer(*mouse).map(Message::Mouse)),
            Event::Resize(width, height) => self
                .ready
                .push_back(Message::Resized(Size::new(*width, *height))),
            Event::Paste(text) => self
                .ready
                .push_back(Message::Pasted(SecretInput::new(text))),
            Event::Key(_) | Event::FocusGained | Event::FocusLost => {}
        }
    }

    fn handle_key_event(&mut self, key: KeyEvent) {
        if self.pending_keys.is_empty() && key.code != KeyCode::Esc {
            self.ready.push_back(key_message(key));
            return;
        }
        self.pending_keys.push(key);
        match parse_sequence(&self.pending_keys) {
            EscapeSequence::Incomplete => self.deadline = Some(escape_deadline()),
            EscapeSequence::Key(key) => {
                self.pending_keys.clear();
                self.deadline = None;
                self.ready.push_back(Message::KeyPressed(key));
            }
            EscapeSequence::Invalid => self.flush_pending_keys(),
        }
    }

    /// What was held was no sequence: each key counts for itself.
    fn flush_pending_keys(&mut self) {
        self.deadline = None;
        self.ready
            .extend(self.pending_keys.drain(..).map(key_message));
    }
}

fn escape_deadline() -> Instant {
    Instant::now() + ESCAPE_TIMEOUT
}

fn key_message(key: KeyEvent) -> Message {
    Message::KeyPressed(Key::new(key.code, key.modifiers))
}

/// What keys that began with Esc amount to.
#[derive(Debug, PartialEq, Eq)]
enum EscapeSequence {
    /// More may follow.
    Incomplete,
    /// One key.
    Key(Key),
    /// Nothing together.
    Invalid,
}

/// Reads what the terminal library would have read, had the bytes come in one piece.
fn parse_sequence(keys: &[KeyEvent]) -> EscapeSequence {
    let mut letters = Vec::with_capacity(keys.len());
    for key in keys.iter().skip(1) {
        match key.code {
            KeyCode::Char(letter) if key.modifiers - KeyModifiers::SHIFT == KeyModifiers::NONE => {
                letters.push(letter);
            }
            _ => return EscapeSequence::Invalid,
        }
    }
    let plain = |code| EscapeSequence::Key(Key::new(code, KeyModifiers::NONE));
    match letters.as_slice() {
        [] | ['[' | 'O'] => EscapeSequence::Incomplete,
        ['[' | 'O', letter] if letter.is_ascii_alphabetic() => match letter {
            'A' => plain(KeyCode::Up),
            'B' => plain(KeyCode::Down),
            'C' => plain(KeyCode::Right),
            'D' => plain(KeyCode::Left),
            'H' => plain(KeyCode::Home),
            'F' => plain(KeyCode::End),
            'P' => plain(KeyCode::F(1)),
            'Z' => EscapeSequence::Key(Key::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
            _ => EscapeSequence::Invalid,
        },
        ['[', number @ .., '~'] => match String::from_iter(number).as_str() {
            "1" | "7" => plain(KeyCode::Home),
            "4" | "8" => plain(KeyCode::End),
            "5" => plain(KeyCode::PageUp),
            "6" => plain(KeyCode::PageDown),
            "11" => plain(KeyCode::F(1)),
            "15" => plain(KeyCode::F(5)),
            _ => EscapeSequence::Invalid,
        },
        ['[', rest @ ..]
            if rest.len() < MAX_SEQUENCE_LEN
                && rest.iter().all(|c| c.is_ascii_digit() || *c == ';') =>
        {
            EscapeSequence::Incomplete
        }
        [letter] => EscapeSequence::Key(Key::new(KeyCode::Char(*letter), KeyModifiers::ALT)),
        _ => EscapeSequence::Invalid,
    }
}

fn to_pointer(mouse: MouseEvent) -> Option<MouseInput> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(MouseInput::Pressed(at)),
        MouseEventKind::Drag(MouseButton::Left) => Some(MouseInput::Dragged(at)),
        MouseEventKind::Up(MouseButton::Left) => Some(MouseInput::Released),
        MouseEventKind::ScrollDown => Some(MouseInput::Scrolled { at, down: true }),
        MouseEventKind::ScrollUp => Some(MouseInput::Scrolled { at, down: false }),
        MouseEventKind::Down(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    fn events(letters: &str) -> Vec<io::Result<Event>> {
        letters
            .chars()
            .map(|letter| {
                let code = if letter == '\u{1b}' {
                    KeyCode::Esc
                } else {
                    KeyCode::Char(letter)
                };
                Ok(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
            })
            .collect()
    }

    async fn read(letters: &str) -> Vec<String> {
        let mut input = Input::new(stream::iter(events(letters)).chain(stream::pending()));
        let mut keys = Vec::new();
        while let Ok(Some(msg)) = tokio::time::timeout(ESCAPE_TIMEOUT * 2, input.next()).await {
            if let Message::KeyPressed(key) = msg {
                keys.push(key.to_string());
            }
        }
        keys
    }

    #[tokio::test(start_paused = true)]
    async fn a_split_sequence_is_put_together() {
        assert_eq!(read("\u{1b}[A").await, ["Up"]);
        assert_eq!(read("j\u{1b}[6~k").await, ["j", "PgDn", "k"]);
        assert_eq!(read("\u{1b}j").await, ["Alt-j"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lone_escape_is_a_key_after_a_moment() {
        assert_eq!(read("\u{1b}").await, ["Esc"]);
        assert_eq!(read("j").await, ["j"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_sequence_loses_nothing() {
        assert_eq!(read("\u{1b}[;x").await, ["Esc", "[", ";", "x"]);
    }
}
