//! The prompt: a line of text that is being typed. While it is open, letters are letters.

use std::ops::Range;

use tui_input::{Input, InputRequest};

use super::commands::Direction;
use super::history::HistoryEntry;
use crate::query::Completion;
use crate::text::sanitize;

/// A change of the line, or a way through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEdit {
    /// To the letter before.
    Left,
    /// To the letter after.
    Right,
    /// To the start of the word.
    WordLeft,
    /// To the start of the next word.
    WordRight,
    /// To the start of the line.
    Start,
    /// To the end of the line.
    End,
    /// Delete the letter before.
    Backspace,
    /// Delete the letter after.
    Delete,
    /// Delete the word before.
    DeleteWord,
    /// Delete everything before.
    DeleteBefore,
    /// Delete everything after.
    DeleteAfter,
}

impl LineEdit {
    /// The same for a line of text.
    pub(super) const fn input_request(self) -> InputRequest {
        match self {
            Self::Left => InputRequest::GoToPrevChar,
            Self::Right => InputRequest::GoToNextChar,
            Self::WordLeft => InputRequest::GoToPrevWord,
            Self::WordRight => InputRequest::GoToNextWord,
            Self::Start => InputRequest::GoToStart,
            Self::End => InputRequest::GoToEnd,
            Self::Backspace => InputRequest::DeletePrevChar,
            Self::Delete => InputRequest::DeleteNextChar,
            Self::DeleteWord => InputRequest::DeletePrevWord,
            Self::DeleteBefore => InputRequest::DeleteFromStart,
            Self::DeleteAfter => InputRequest::DeleteTillEnd,
        }
    }
}

/// What a line is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptKind {
    /// What the list is narrowed to.
    Filter,
    /// The time to go to.
    Date,
    /// What to look for in the email.
    Find,
    /// The number and the name of a view.
    SaveView,
}

/// What is being typed, and what was there before.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub kind: PromptKind,
    input: Input,
    pub origin: HistoryEntry,
    /// The offer that stands in the line, and the line and the cursor without it.
    suggestion: Option<(usize, String, usize)>,
    /// Whether it was tried to keep what is typed, and could not be.
    pub is_rejected: bool,
    /// How far back in the history the line is from, and the line without it.
    recalled: Option<(usize, String)>,
}

/// Two prompts are the same if a person could not tell them apart.
impl PartialEq for Prompt {
    fn eq(&self, other: &Self) -> bool {
        let seen = |prompt: &Self| {
            (
                prompt.kind,
                prompt.text().to_owned(),
                prompt.input.cursor(),
                prompt.origin.clone(),
                prompt.suggestion.clone(),
                prompt.is_rejected,
            )
        };
        seen(self) == seen(other)
    }
}

/// No query is longer than this; more is a paste gone wrong.
const MAX_CHARS: usize = 1_000;

impl Prompt {
    /// Opens with a text, from a place.
    pub fn new(asked: PromptKind, text: &str, before: HistoryEntry) -> Self {
        Self {
            kind: asked,
            input: Input::new(text.to_owned()),
            origin: before,
            suggestion: None,
            is_rejected: false,
            recalled: None,
        }
    }

    /// What is typed so far.
    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// Where the cursor is, as a byte of the text.
    pub fn cursor(&self) -> usize {
        let text = self.text();
        text.char_indices()
            .nth(self.input.cursor())
            .map_or(text.len(), |(at, _)| at)
    }

    /// The column of the cursor, and the first column that is visible, where so many are.
    pub fn cursor_columns(&self, width: usize) -> (usize, usize) {
        (
            self.input.visual_cursor(),
            self.input.visual_scroll(width.saturating_sub(1)),
        )
    }

    /// Takes note that what is typed cannot be kept.
    pub fn reject(self) -> Self {
        Self {
            is_rejected: true,
            ..self
        }
    }

    /// Puts text in at the cursor, on one line and without anything that a terminal would obey.
    pub fn insert(&mut self, text: &str) {
        let room = MAX_CHARS.saturating_sub(self.text().chars().count());
        let letters = text
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .filter(|c| sanitize::is_safe_char(*c));
        for letter in letters.take(room) {
            self.input.handle(InputRequest::InsertChar(letter));
        }
    }

    /// Which offer stands in the line.
    pub fn chosen_suggestion(&self) -> Option<usize> {
        self.suggestion.as_ref().map(|(nth, ..)| *nth)
    }

    /// Puts the next or the previous offer into the line; past either end stands what was typed.
    pub fn cycle_suggestion(&mut self, side: Direction, offers: &[Completion]) {
        let (before, text, cursor) = match self.suggestion.take() {
            Some((nth, text, cursor)) => (Some(nth), text, cursor),
            None => (None, self.text().to_owned(), self.cursor()),
        };
        let next = match (before, side) {
            (None, Direction::Right) => Some(0),
            (None, Direction::Left) => offers.len().checked_sub(1),
            (Some(nth), Direction::Right) => Some(nth + 1),
            (Some(nth), Direction::Left) => nth.checked_sub(1),
        };
        match next.and_then(|nth| Some((nth, offers.get(nth)?))) {
            Some((nth, offer)) => {
                let Range { start, end } = offer.range.clone();
                self.replace_text(
                    format!("{}{}{}", &text[..start], offer.text, &text[end..]),
                    start + offer.text.len(),
                );
                self.suggestion = Some((nth, text, cursor));
            }
            None => self.replace_text(text, cursor),
        }
    }

    /// Keeps the offer that stands in the line as if it had been typed; says whether there is one.
    pub fn accept_suggestion(&mut self) -> bool {
        self.recalled = None;
        self.is_rejected = false;
        self.suggestion.take().is_some()
    }

    /// Puts an earlier or a later text of the history, which is oldest first, into the line.
    pub fn recall_filter(&mut self, side: Direction, history: &[String]) {
        let (back, typed) = self
            .recalled
            .take()
            .unwrap_or_else(|| (0, self.text().to_owned()));
        let back = match side {
            Direction::Left => (back + 1).min(history.len()),
            Direction::Right => back.saturating_sub(1),
        };
        let text = if back == 0 {
            &typed
        } else {
            &history[history.len() - back]
        };
        self.replace_text(text.clone(), text.len());
        self.recalled = (back > 0).then_some((back, typed));
    }

    /// Puts another text in the place of all.
    fn replace_text(&mut self, text: String, cursor: usize) {
        let letters = text[..cursor].chars().count();
        self.input = std::mem::take(&mut self.input)
            .with_value(text)
            .with_cursor(letters);
    }

    /// Edits the line.
    pub fn edit(&mut self, edit: LineEdit) {
        self.input.handle(edit.input_request());
    }
}
