//! Events of the terminal as messages: keys, mouse, paste, resize, the report of its background.
//!
//! Crossterm does not know reports of colours: it returns `ESC ]` as Alt-], and the rest as typed characters.
//! So the keys of a report are put together here, as those of a sequence that a slow line has split. They
//! never become typed keys, whenever the report comes. Reading it before the stream of events begins would
//! delay the first frame by the time of a round trip, and take keys that were typed ahead.

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
use crate::config::{Background, SecretInput};

/// How long a lone Esc waits for the rest of an escape sequence that a slow line has split.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(25);
/// The most characters of a sequence that a keyboard sends.
const MAX_SEQUENCE_LEN: usize = 8;
/// How long the start of a report waits for its end.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// The most characters of a report: `11;rgba:` and four numbers of four digits.
const MAX_REPORT_LEN: usize = 32;

/// The terminal's events as messages.
pub struct Input<E> {
    /// `None` while a command has the terminal.
    events: Option<E>,
    /// Keys that may be the start of a split sequence, and when to stop waiting for the rest.
    pending_keys: Vec<KeyEvent>,
    deadline: Option<Instant>,
    ready: std::collections::VecDeque<Message>,
}

impl<E: Stream<Item = io::Result<Event>> + Unpin> Input<E> {
    pub const fn new(events: E) -> Self {
        Self {
            events: Some(events),
            pending_keys: Vec::new(),
            deadline: None,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Reads the events of another stream, or none at all.
    pub fn replace_events(&mut self, events: Option<E>) {
        self.events = events;
    }

    /// The next message; `None` when the terminal is gone. Safe to cancel.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let Some(events) = &mut self.events else {
                return std::future::pending().await;
            };
            let event = match self.deadline {
                None => events.next().await,
                Some(until) => tokio::select! {
                    biased;
                    event = events.next() => event,
                    () = sleep_until(until) => {
                        if parse_sequence(&self.pending_keys) == EscapeSequence::IncompleteReport {
                            self.pending_keys.clear();
                        }
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
            Event::Mouse(mouse) => self
                .ready
                .extend(to_mouse_input(*mouse).map(Message::Mouse)),
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
        if self.pending_keys.is_empty() && !starts_sequence(key) {
            self.ready.push_back(key_message(key));
            return;
        }
        self.pending_keys.push(key);
        let message = match parse_sequence(&self.pending_keys) {
            EscapeSequence::Incomplete => {
                self.deadline = Some(Instant::now() + ESCAPE_TIMEOUT);
                return;
            }
            EscapeSequence::IncompleteReport => {
                self.deadline = Some(Instant::now() + REPORT_TIMEOUT);
                return;
            }
            EscapeSequence::Invalid => return self.flush_pending_keys(),
            EscapeSequence::Key(key) => Some(Message::KeyPressed(key)),
            EscapeSequence::Report(background) => background.map(Message::BackgroundReported),
        };
        self.pending_keys.clear();
        self.deadline = None;
        self.ready.extend(message);
    }

    /// Handles the pending keys one by one, because they are no sequence.
    fn flush_pending_keys(&mut self) {
        self.deadline = None;
        self.ready
            .extend(self.pending_keys.drain(..).map(key_message));
    }
}

/// Whether this is Esc, or the start of a report.
fn starts_sequence(key: KeyEvent) -> bool {
    key.code == KeyCode::Esc || to_terminal_text(&[key]).as_deref() == Some("\x1b]")
}

fn key_message(key: KeyEvent) -> Message {
    Message::KeyPressed(Key::new(key.code, key.modifiers))
}

/// The meaning of keys that begin with Esc.
#[derive(Debug, PartialEq, Eq)]
enum EscapeSequence {
    Incomplete,
    Key(Key),
    /// The start of a report, which no key has.
    IncompleteReport,
    /// A whole report; `None` if it names no colour.
    Report(Option<Background>),
    Invalid,
}

/// The characters that the terminal has sent for these keys, as far as reports have them.
fn to_terminal_text(keys: &[KeyEvent]) -> Option<String> {
    let mut text = String::new();
    for key in keys {
        match (key.code, key.modifiers - KeyModifiers::SHIFT) {
            (KeyCode::Esc, KeyModifiers::NONE) => text.push('\x1b'),
            (KeyCode::Char('g'), KeyModifiers::CONTROL) => text.push('\x07'),
            (KeyCode::Char(letter), KeyModifiers::NONE) => text.push(letter),
            (KeyCode::Char(letter), KeyModifiers::ALT) => text.extend(['\x1b', letter]),
            _ => return None,
        }
    }
    Some(text)
}

/// Parses a report such as `ESC ] 11;rgb:1e1e/1e1e/1e1e BEL`; `None` if the keys are none.
fn parse_report(keys: &[KeyEvent]) -> Option<EscapeSequence> {
    let text = to_terminal_text(keys)?;
    let report = text.strip_prefix("\x1b]")?;
    let Some(colour) = report.strip_prefix("11;") else {
        return "11;"
            .starts_with(report)
            .then_some(EscapeSequence::Incomplete);
    };
    let end = colour
        .strip_suffix('\x07')
        .or(colour.strip_suffix("\x1b\\"));
    if let Some(colour) = end {
        return Some(EscapeSequence::Report(Background::parse(colour)));
    }
    (report.len() <= MAX_REPORT_LEN).then_some(EscapeSequence::IncompleteReport)
}

/// Parses the sequence as the terminal library does if its bytes arrive together.
fn parse_sequence(keys: &[KeyEvent]) -> EscapeSequence {
    if let Some(report) = parse_report(keys) {
        return report;
    }
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

fn to_mouse_input(mouse: MouseEvent) -> Option<MouseInput> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Some(MouseInput::Pressed(at)),
        MouseEventKind::Down(MouseButton::Right) => Some(MouseInput::SecondPressed(at)),
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
        read_events(events(letters)).await
    }

    async fn read_events(events: Vec<io::Result<Event>>) -> Vec<String> {
        let mut input = Input::new(stream::iter(events).chain(stream::pending()));
        let mut read = Vec::new();
        while let Ok(Some(message)) = tokio::time::timeout(REPORT_TIMEOUT * 2, input.next()).await {
            match message {
                Message::KeyPressed(key) => read.push(key.to_string()),
                Message::BackgroundReported(background) => read.push(background.label().to_owned()),
                other => panic!("{other:?}"),
            }
        }
        read
    }

    /// The events that crossterm makes of these bytes, read at once.
    fn events_of(text: &str) -> Vec<io::Result<Event>> {
        let mut letters = text.chars();
        let mut events = Vec::new();
        while let Some(letter) = letters.next() {
            let (letter, modifiers) = match letter {
                '\u{1b}' => (letters.next().unwrap(), KeyModifiers::ALT),
                '\u{7}' => ('g', KeyModifiers::CONTROL),
                letter => (letter, KeyModifiers::NONE),
            };
            let key = KeyEvent::new(KeyCode::Char(letter), modifiers);
            events.push(Ok(Event::Key(key)));
        }
        events
    }

    #[tokio::test(start_paused = true)]
    async fn report_of_background_is_no_keys() {
        let dark = "\u{1b}]11;rgb:1e1e/1e1e/1E1E";
        for end in ["\u{7}", "\u{1b}\\"] {
            let text = format!("j{dark}{end}k");
            assert_eq!(read_events(events_of(&text)).await, ["j", "dark", "k"]);
        }
        assert_eq!(read(&format!("{dark}\u{1b}\\k")).await, ["dark", "k"]);
        let light = events_of("\u{1b}]11;rgba:ffff/ffff/ffff/ffff\u{7}");
        assert_eq!(read_events(light).await, ["light"]);
    }

    #[tokio::test(start_paused = true)]
    async fn unreadable_report_is_dropped() {
        let unreadable = events_of("\u{1b}]11;white\u{7}j");
        assert_eq!(read_events(unreadable).await, ["j"]);
        let unfinished = events_of("\u{1b}]11;rgb:1e1e/1e");
        assert_eq!(read_events(unfinished).await, [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn typed_keys_are_no_report() {
        assert_eq!(read_events(events_of("\u{1b}]")).await, ["Alt-]"]);
        assert_eq!(
            read_events(events_of("\u{1b}]1j")).await,
            ["Alt-]", "1", "j"]
        );
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
