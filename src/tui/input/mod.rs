//! Events of the terminal as messages:
//! keys, mouse, paste, resize, the report of its background.
//!
//! Crossterm's own events are not used: its parser waits for ever for the end of a sequence or a
//! paste that was cut, and takes each key for a part of it; and its stream takes a whole processor
//! when the terminal is gone.

mod parser;
mod terminal_events;

use std::io;

use futures_util::FutureExt as _;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

pub use parser::Parser;
pub use terminal_events::{TerminalEvent, TerminalEvents};

use crate::app::Message;

/// The terminal's events as messages.
pub struct Input<E> {
    events: E,
    parser: Parser,
    /// When to stop waiting for the rest of a sequence.
    deadline: Option<Instant>,
}

impl<E: Stream<Item = io::Result<TerminalEvent>> + Unpin> Input<E> {
    pub fn new(events: E) -> Self {
        Self {
            events,
            parser: Parser::new(),
            deadline: None,
        }
    }

    /// The next message; `None` when the terminal is gone. Safe to cancel.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.parser.next() {
                self.deadline = None;
                return Some(message);
            }
            if self.deadline.is_none() {
                self.deadline = self.parser.timeout().map(|wait| Instant::now() + wait);
            }
            let event = match self.deadline {
                None => self.events.next().await,
                Some(until) => tokio::select! {
                    biased;
                    event = self.events.next() => event,
                    () = sleep_until(until) => {
                        self.deadline = None;
                        if let Some(message) = self.parser.give_up() {
                            return Some(message);
                        }
                        continue;
                    }
                },
            };
            match event?.ok()? {
                TerminalEvent::Bytes(bytes) => {
                    self.parser.push(&bytes);
                    self.deadline = None;
                }
                TerminalEvent::Resized(size) => return Some(Message::Resized(size)),
            }
        }
    }

    /// The next message, if there is one already.
    pub fn try_next(&mut self) -> Option<Message> {
        self.next().now_or_never().flatten()
    }
}

#[cfg(test)]
pub mod tests;
