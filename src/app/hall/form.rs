//! The form of the set-up screen: a key, which is not shown, and the address it belongs to.

use tui_input::{Input, InputRequest};

use crate::app::prompt::Edit;
use crate::config::Hidden;
use crate::mail::clean;

/// No address is longer than this.
const LONGEST: usize = 500;

/// What is put in.
#[derive(Debug, Clone, Default)]
pub struct Form {
    key: Hidden,
    base_url: Input,
    field: Field,
}

/// Which line of it has the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Field {
    /// The key.
    #[default]
    Key,
    /// The address.
    BaseUrl,
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        let seen = |form: &Self| {
            (
                form.base_url.value().to_owned(),
                form.base_url.cursor(),
                form.field,
            )
        };
        seen(self) == seen(other) && self.key == other.key
    }
}

impl Form {
    /// Without a key, for this service.
    #[must_use]
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: Input::new(base_url.to_owned()),
            ..Self::default()
        }
    }

    /// The key so far.
    #[must_use]
    pub const fn key(&self) -> &Hidden {
        &self.key
    }

    /// The address so far.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base_url.value()
    }

    /// Which line has the cursor.
    #[must_use]
    pub const fn field(&self) -> Field {
        self.field
    }

    /// The column of the cursor in its line, and the first column that is visible, where so many are.
    #[must_use]
    pub fn columns(&self, width: usize) -> (usize, usize) {
        (
            self.base_url.visual_cursor(),
            self.base_url.visual_scroll(width.saturating_sub(1)),
        )
    }

    /// Moves the cursor to the other line.
    pub const fn turn(&mut self) {
        self.field = match self.field {
            Field::Key => Field::BaseUrl,
            Field::BaseUrl => Field::Key,
        };
    }

    /// Puts text in at the cursor.
    pub fn insert(&mut self, text: &str) {
        match self.field {
            Field::Key => self.key.push(text),
            Field::BaseUrl => {
                let room = LONGEST.saturating_sub(self.base_url().len());
                for letter in text
                    .chars()
                    .filter(|c| !c.is_whitespace() && clean::is_safe(*c))
                    .take(room)
                {
                    self.base_url.handle(InputRequest::InsertChar(letter));
                }
            }
        }
    }

    /// Edits the line. One does not move about in a key that one cannot see.
    pub fn edit(&mut self, edit: Edit) {
        match self.field {
            Field::BaseUrl => {
                self.base_url.handle(edit.request());
            }
            Field::Key => match edit {
                Edit::Backspace => self.key.pop(),
                Edit::DeleteWord | Edit::DeleteBefore => self.key.clear(),
                Edit::Left
                | Edit::Right
                | Edit::WordLeft
                | Edit::WordRight
                | Edit::Start
                | Edit::End => {}
                Edit::Delete | Edit::DeleteAfter => {}
            },
        }
    }
}
