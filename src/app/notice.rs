//! Notices in the status bar, and the error of which a key shows the details.

use super::commands::Command;
use super::model::Model;
use super::reader::ReaderState;
use super::session::StorageMode;
use crate::error::Error;
use crate::text::width::DisplayWidth as _;

impl Model {
    pub(super) fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some(text.into());
    }

    /// Notifies that what the user has asked for has failed. Some time after that, the
    /// user may be scrolling, so keys that only move leave the notice.
    pub(super) fn notify_failure(&mut self, error: Error) {
        self.notice = Some(error.message.clone());
        self.failure = Some(error);
    }

    /// The failure, while the notice is about it.
    pub(super) fn shown_failure(&self) -> Option<&Error> {
        let failure = self.failure.as_ref()?;
        (self.notice.as_ref() == Some(&failure.message)).then_some(failure)
    }

    /// The notice, if it is an error whose details a key shows.
    pub fn failure_notice(&self) -> Option<&str> {
        let notice = self.notice.as_deref()?;
        let is_of_service = self.service.failure_notice.as_deref() == Some(notice);
        (self.shown_failure().is_some() || is_of_service && self.current_error().is_some())
            .then_some(notice)
    }

    /// The notice, if it is wider than the status bar; a key shows the whole of it.
    pub fn wide_notice(&self) -> Option<&str> {
        let notice = self.notice.as_deref()?;
        (notice.width() >= self.size.width.into()).then_some(notice)
    }

    /// Notifies with the key of a command and what it does: `text; KEY does`.
    pub(super) fn notify_with(&mut self, text: &str, command: Command, does: &str) {
        self.notice = Some(self.with_hint(text, command, does));
    }

    /// `text; KEY does`, or `text` alone if the command has no key in this focus.
    pub(super) fn with_hint(&self, text: &str, command: Command, does: &str) -> String {
        self.session
            .keymap
            .with_hint(text, self.focus(), command, does)
    }

    /// Notifies how something has ended that the user has asked for.
    pub(super) fn notify_end(&mut self, result: Result<String, Error>) {
        match result {
            Ok(text) => self.notify(text),
            Err(error) => self.notify_failure(error),
        }
    }

    pub(super) fn check_error(&self) -> Result<(), String> {
        match (self.current_error(), self.freshness.due_count) {
            (Some(_), _) => Ok(()),
            (None, 0) => Err("no error".to_owned()),
            (None, due) => Err(format!(
                "no error; pages with {due} emails are due to be read again"
            )),
        }
    }

    /// The error that the notice is about, or else the one nearest to what is on the
    /// screen.
    pub(super) fn current_error(&self) -> Option<&Error> {
        let reader = match self.reader_state() {
            ReaderState::Failed(error) => Some(error),
            _ => None,
        };
        let storage = match &self.session.storage {
            StorageMode::Unavailable(error) | StorageMode::ReadOnly(error) => Some(error),
            StorageMode::InFile(_) | StorageMode::OnServer(_) | StorageMode::InMemory => None,
        };
        self.shown_failure()
            .or(reader)
            .or(self.service.last_error())
            .or(self.list.error())
            .or(storage)
    }
}
