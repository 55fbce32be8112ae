//! Notices in the status bar, and the error of which a key shows the details.

use super::commands::keymap::KeyMatch;
use super::commands::{Command, Focus};
use super::model::Model;
use super::reader::ReaderState;
use super::service::state::ServiceState;
use super::session::StorageMode;
use crate::api::paused_error;
use crate::error::{Error, ErrorKind, Result};
use crate::text::width::DisplayWidth as _;

/// A text in the status bar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Notice {
    text: String,
    kind: NoticeKind,
}

/// The subject of a notice, which decides what ends it.
///
/// The next key ends every notice, except a `Failure`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NoticeKind {
    Other,
    /// True until the list changes.
    ListState,
    /// The selected email no longer matches the filter; true until the user leaves it.
    KeptEmail,
    /// A saved view has changed; where it was stored follows.
    ViewChange,
    /// The status of a watched email.
    WatchReport,
    /// A request of the user has failed. Some time after that, the user may be
    /// scrolling, so keys that only move leave the notice.
    Failure(Error),
    /// A refresh that the user has asked for is running. A countdown replaces it.
    Refreshing,
    /// A refresh that the user has asked for has failed; true until one succeeds.
    RefreshFailure,
}

impl Model {
    pub fn notice_text(&self) -> Option<&str> {
        self.notice.as_ref().map(|notice| notice.text.as_str())
    }

    /// Removes the notice if it is of this kind.
    pub(super) fn take_notice_of(&mut self, kind: &NoticeKind) -> Option<String> {
        let notice = self.notice.take_if(|notice| notice.kind == *kind);
        notice.map(|notice| notice.text)
    }

    /// Removes the notice, for a screen that prints it instead.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take().map(|notice| notice.text)
    }

    pub(super) fn notify(&mut self, text: impl Into<String>) {
        self.notify_as(NoticeKind::Other, text);
    }

    pub(super) fn notify_as(&mut self, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        self.notice = Some(Notice { text, kind });
    }

    pub(super) fn notify_failure(&mut self, error: Error) {
        let text = error.message.clone();
        self.notify_as(NoticeKind::Failure(error), text);
    }

    /// Notifies that the selected email stays in the list.
    /// The end of a watched email, or what has failed, is worth more.
    pub(super) fn notify_kept_email(&mut self) {
        if self.notice_kind() != Some(&NoticeKind::WatchReport) && self.failure_notice().is_none() {
            let text =
                "the selected email no longer matches the filter; it stays until you leave it";
            self.notify_as(NoticeKind::KeptEmail, text);
        }
    }

    /// Ends a notice of this kind: it is no longer true.
    pub(super) fn end_notice(&mut self, kind: &NoticeKind) {
        self.notice.take_if(|notice| notice.kind == *kind);
    }

    /// Takes the notice that stays after this key.
    pub(super) fn take_lasting_notice(&mut self, found: KeyMatch) -> Option<Notice> {
        let keeps_failure = self.focus() == Focus::Details
            || matches!(found, KeyMatch::Command(command)
                if command == Command::ErrorDetails || command.is_movement());
        self.notice
            .take_if(|notice| keeps_failure && matches!(notice.kind, NoticeKind::Failure(_)))
    }

    /// A click has read the notice, as a key does; a failure stays, as for keys that move.
    pub(super) fn end_notice_by_click(&mut self) {
        let is_failure = |notice: &mut Notice| matches!(notice.kind, NoticeKind::Failure(_));
        self.notice = self.notice.take_if(is_failure);
    }

    fn notice_kind(&self) -> Option<&NoticeKind> {
        self.notice.as_ref().map(|notice| &notice.kind)
    }

    /// The notice, if it is an error whose details a key shows.
    pub fn failure_notice(&self) -> Option<&str> {
        let has_details = match self.notice_kind()? {
            NoticeKind::Failure(_) => true,
            NoticeKind::RefreshFailure => self.current_error().is_some(),
            _ => false,
        };
        self.notice_text().filter(|_| has_details)
    }

    /// The notice, if it is wider than the status bar; a key shows the whole of it.
    pub fn wide_notice(&self) -> Option<&str> {
        let is_wide = |text: &&str| text.width() >= self.size.width.into();
        self.notice_text().filter(is_wide)
    }

    /// Notifies with the key of a command and what it does: `text; KEY does`.
    pub(super) fn notify_with(&mut self, text: &str, command: Command, does: &str) {
        self.notify(self.with_hint(text, command, does));
    }

    /// `text; KEY does`, or `text` alone if the command has no key in this focus.
    pub(super) fn with_hint(&self, text: &str, command: Command, does: &str) -> String {
        self.session
            .keymap
            .with_hint(text, self.focus(), command, does)
    }

    /// Notifies how something has ended that the user has asked for.
    pub(super) fn notify_end(&mut self, result: Result<String>) {
        match result {
            Ok(text) => self.notify(text),
            Err(error) => self.notify_failure(error),
        }
    }

    pub(super) fn check_error(&self) -> Result<(), String> {
        match (self.current_error(), self.freshness.due_count) {
            (Some(_), _) => Ok(()),
            (None, _) if self.service.clock_warning.is_some() => {
                Err(self.service.clock_warning.clone().unwrap_or_default())
            }
            (None, 0) => Err("no error".to_owned()),
            (None, due) => Err(format!(
                "no error; pages with {due} emails are due to be read again"
            )),
        }
    }

    /// The error that the notice is about, or else the one nearest to what is on the
    /// screen.
    pub(super) fn current_error(&self) -> Option<Error> {
        let reader = match self.reader_state() {
            ReaderState::Failed(error) => Some(error),
            _ => None,
        };
        let storage = match &self.session.storage {
            StorageMode::Unavailable(error) | StorageMode::ReadOnly(error) => Some(error),
            StorageMode::InFile(_) | StorageMode::OnServer(_) | StorageMode::InMemory => None,
        };
        let failure = match self.notice_kind() {
            Some(NoticeKind::Failure(error)) => Some(error),
            _ => None,
        };
        failure
            .or(reader)
            .or(self.service.last_error())
            .or(self.list.error())
            .or(storage)
            .cloned()
            .or_else(|| self.pause_error())
            .map(|error| self.with_context(error))
    }

    /// Adds to the hint of an error the key that does not wait for a long pause, or the file
    /// that cannot be written.
    fn with_context(&self, error: Error) -> Error {
        let hint = match &self.session.storage {
            _ if error.kind == ErrorKind::RateLimited && self.long_pause_until().is_some() => {
                let keymap = &self.session.keymap;
                keymap.with_hint(&error.hint, Focus::List, Command::Refresh, "tries now")
            }
            StorageMode::InFile(file) if error.is_write_failure => {
                format!("{}; the file is {file}", error.hint)
            }
            _ => return error,
        };
        Error { hint, ..error }
    }

    /// The error that the service has answered to a request which waits to be repeated.
    fn pause_error(&self) -> Option<Error> {
        match (self.service_state(), self.rate_budget) {
            (ServiceState::RateLimited(_), Some(budget)) => Some(paused_error(budget.paused_for)),
            _ => None,
        }
    }
}
