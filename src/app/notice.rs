//! Notices in the status bar, and the last error, of which a key shows the details.

use super::commands::Command;
use super::model::Model;
use super::reader::ReaderState;
use super::session::StorageMode;
use crate::error::Error;

/// What the user starts and what can fail without the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Export,
    SaveEmail,
    ListAttachments,
    SaveAttachment,
    Pipe,
    Mark,
    SwitchMailbox,
}

impl Model {
    pub(super) fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some(text.into());
    }

    /// Notifies that what the user has asked for has failed. Some time after that, the
    /// user may be scrolling, so keys that only move leave the notice.
    pub(super) fn notify_failure(&mut self, text: String) {
        self.failure = Some(text.clone());
        self.notice = Some(text);
    }

    /// The notice, if it is an error whose details a key shows.
    pub fn failure_notice(&self) -> Option<&str> {
        let notice = self.notice.as_ref()?;
        let failures = [&self.failure, &self.service.failure_notice];
        let is_failure = failures
            .iter()
            .any(|failure| failure.as_ref() == Some(notice));
        (is_failure && self.current_error().is_some()).then_some(notice.as_str())
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

    /// Reports how an action has ended. Its error is the last one until the same action
    /// succeeds, or something else fails.
    pub(super) fn report_end(&mut self, action: Action, result: Result<String, Error>) {
        match result {
            Ok(text) => {
                self.clear_action_error(action);
                self.notify(text);
            }
            Err(error) => {
                self.notify_failure(error.message.clone());
                self.action_error = Some((action, error));
            }
        }
    }

    /// Forgets the error of an action, which has succeeded since.
    pub(super) fn clear_action_error(&mut self, action: Action) {
        self.action_error.take_if(|(failed, _)| *failed == action);
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

    /// The last error: of an action of the user, or else nearest to what is on the
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
        let action = self.action_error.as_ref().map(|(_, error)| error);
        action
            .or(reader)
            .or(self.service.last_error())
            .or(self.list.error())
            .or(storage)
    }
}
