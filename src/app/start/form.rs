//! The form of the set-up screen: a key, which is not shown, and the address it belongs to.

use tui_input::{Input, InputRequest};

use crate::app::prompt::LineEdit;
use crate::config::SecretInput;
use crate::text::sanitize;

/// No address is longer than this.
const MAX_URL_LEN: usize = 500;

/// What is put in.
#[derive(Debug, Clone, Default)]
pub struct LoginForm {
    key: SecretInput,
    base_url: Input,
    field: FormField,
}

/// Which line of it has the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormField {
    /// The key.
    #[default]
    Key,
    /// The address.
    BaseUrl,
}

impl PartialEq for LoginForm {
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

impl LoginForm {
    /// Without a key, for this service.
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: Input::new(base_url.to_owned()),
            ..Self::default()
        }
    }

    /// The key so far.
    pub const fn key(&self) -> &SecretInput {
        &self.key
    }

    /// The address so far.
    pub fn base_url(&self) -> &str {
        self.base_url.value()
    }

    /// Which line has the cursor.
    pub const fn field(&self) -> FormField {
        self.field
    }

    /// The column of the cursor in its line, and the first column that is visible, where so many are.
    pub fn cursor_columns(&self, width: usize) -> (usize, usize) {
        (
            self.base_url.visual_cursor(),
            self.base_url.visual_scroll(width.saturating_sub(1)),
        )
    }

    /// Moves the cursor to the other line.
    pub const fn next_field(&mut self) {
        self.field = match self.field {
            FormField::Key => FormField::BaseUrl,
            FormField::BaseUrl => FormField::Key,
        };
    }

    /// Puts text in at the cursor.
    pub fn insert(&mut self, text: &str) {
        match self.field {
            FormField::Key => self.key.push(text),
            FormField::BaseUrl => {
                let room = MAX_URL_LEN.saturating_sub(self.base_url().len());
                for letter in text
                    .chars()
                    .filter(|c| !c.is_whitespace() && sanitize::is_safe_char(*c))
                    .take(room)
                {
                    self.base_url.handle(InputRequest::InsertChar(letter));
                }
            }
        }
    }

    /// Edits the line. One does not move about in a key that one cannot see.
    pub fn edit(&mut self, edit: LineEdit) {
        match self.field {
            FormField::BaseUrl => {
                self.base_url.handle(edit.input_request());
            }
            FormField::Key => match edit {
                LineEdit::Backspace => self.key.pop(),
                LineEdit::DeleteWord | LineEdit::DeleteBefore => self.key.clear(),
                LineEdit::Left
                | LineEdit::Right
                | LineEdit::WordLeft
                | LineEdit::WordRight
                | LineEdit::Start
                | LineEdit::End => {}
                LineEdit::Delete | LineEdit::DeleteAfter => {}
            },
        }
    }
}
