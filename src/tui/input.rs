//! Events of the terminal as messages: keys, mouse, paste, resize.

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

/// How long a lone Esc waits for the rest of an escape sequence that a slow line has split.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(25);
/// The most characters of a sequence that a keyboard sends.
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
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
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

    /// The next message, if there is one already.
    ///
    /// Polls with the waker of the running task: an event stream remembers the first waker until the
    /// next event, so a waker that does nothing would lose the next key.
    pub async fn try_next(&mut self) -> Option<Message> {
        let mut next = pin!(self.next());
        poll_fn(|context| {
            Poll::Ready(match next.as_mut().poll(context) {
                Poll::Ready(message) => message,
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

    /// Handles the pending keys one by one, because they are no sequence.
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

/// The meaning of keys that begin with Esc.
#[derive(Debug, PartialEq, Eq)]
enum EscapeSequence {
    Incomplete,
    Key(Key),
    Invalid,
}

/// Parses the sequence as the terminal library does if its bytes arrive together.
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
    async fn split_escape_sequence_is_one_key() {
        assert_eq!(read("\u{1b}[A").await, ["Up"]);
        assert_eq!(read("j\u{1b}[6~k").await, ["j", "PgDn", "k"]);
        assert_eq!(read("\u{1b}j").await, ["Alt-j"]);
    }

    #[tokio::test(start_paused = true)]
    async fn lone_escape_is_a_key_after_timeout() {
        assert_eq!(read("\u{1b}").await, ["Esc"]);
        assert_eq!(read("j").await, ["j"]);
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_sequence_keeps_all_keys() {
        assert_eq!(read("\u{1b}[;x").await, ["Esc", "[", ";", "x"]);
    }
}
