//! The second list: received mail, where the service has it.
//! It is a session of its own, like another profile.

use super::chooser::Leave;
use super::commands::Command;
use super::effect::{Effect, Pending, RequestId};
use super::history::{HistoryEntry, NavHistory};
use super::list::changes::Changes;
use super::list::filter::Filter;
use super::model::Model;
use super::session::{OpenOutcome, StorageMode};
use crate::error::{ErrorKind, Result};
use crate::mail::Mailbox;

/// The change between the two lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct MailboxSwitch {
    pub(super) request: Pending<()>,
    requested: Mailbox,
    /// The error of a service without received mail.
    no_received: Option<String>,
    /// The other list as it was left.
    other: Option<LeftList>,
    /// The filter that it gets when it opens.
    filter: Option<Filter>,
}

/// The state of a list while the list of the other mailbox is shown.
#[derive(Debug, Clone, PartialEq)]
struct LeftList {
    entry: HistoryEntry,
    history: NavHistory,
    changes: Changes,
}

impl Model {
    /// Whether the list has received mail, and so no status.
    pub fn is_received(&self) -> bool {
        self.session.mailbox == Mailbox::Received
    }

    /// The name of the list without a filter.
    pub fn list_name(&self) -> &'static str {
        match self.session.mailbox {
            Mailbox::Sent => "all mail",
            Mailbox::Received => "Received",
        }
    }

    /// The text of an empty list without a filter.
    pub fn empty_text(&self) -> &'static str {
        match self.session.mailbox {
            _ if self.list.left_out.has_omitted_old || self.list.left_out.purged => {
                "the mail was purged"
            }
            Mailbox::Sent => "nothing was sent yet",
            Mailbox::Received => "nothing was received yet",
        }
    }

    /// Fails for received mail, because it has no status.
    pub(super) fn check_has_status(&self) -> Result<(), String> {
        if self.is_received() {
            let text = "received mail has no status";
            return Err(self.with_hint(text, Command::SentMail, "shows sent mail"));
        }
        self.check_selected()
    }

    /// Fails for received mail, which has no statuses to count.
    pub(super) fn check_sent(&self) -> Result<(), String> {
        if self.is_received() {
            let text = "only for sent mail";
            return Err(self.with_hint(text, Command::SentMail, "shows sent mail"));
        }
        Ok(())
    }

    pub(super) fn check_mailbox(&self, mailbox: Mailbox) -> Result<(), String> {
        match (&self.mailbox_switch.no_received, mailbox) {
            (Some(reason), Mailbox::Received) => Err(reason.clone()),
            _ if self.session.mailbox == mailbox && mailbox == Mailbox::Sent => {
                let text = "this is the sent mail";
                Err(self.with_hint(text, Command::ReceivedMail, "shows received mail"))
            }
            _ => Ok(()),
        }
    }

    /// Shows this list, after a question if an export is running.
    pub(super) fn show_mailbox(&mut self, mailbox: Mailbox) {
        self.mailbox_switch.filter = None;
        if !self.ask_to_leave(Leave::ShowMailbox(mailbox)) {
            self.open_mailbox(mailbox);
        }
    }

    /// Shows sent mail with this filter, after the same question.
    pub(super) fn show_sent_mail(&mut self, filter: Filter) {
        self.show_mailbox(Mailbox::Sent);
        self.mailbox_switch.filter = Some(filter);
    }

    pub(super) fn open_mailbox(&mut self, mailbox: Mailbox) {
        if mailbox == Mailbox::Received {
            self.notify("opening received mail");
        }
        self.request_mailbox(mailbox);
    }

    /// Opens an archive again that could only be read: the disk may have space by now.
    pub(super) fn reopen_read_only(&mut self) {
        if matches!(self.session.storage, StorageMode::ReadOnly(_)) {
            self.request_mailbox(self.session.mailbox);
        }
    }

    fn request_mailbox(&mut self, mailbox: Mailbox) {
        self.mailbox_switch.requested = mailbox;
        self.outbox.push(Effect::OpenMailbox(
            self.mailbox_switch.request.start(),
            self.session.target.clone(),
            mailbox,
        ));
    }

    /// Switches to the opened list; without received mail, stays where it is.
    pub(super) fn apply_mailbox_opened(&mut self, request: RequestId, result: Result<OpenOutcome>) {
        if !self.mailbox_switch.request.finish(request) {
            return;
        }
        if self.mailbox_switch.requested == self.session.mailbox {
            return self.apply_reopened(request, result);
        }
        let filter = self.mailbox_switch.filter.take();
        match result {
            Ok(OpenOutcome::Opened(info)) => {
                // The user goes on: to change the list is no look at all that is new.
                let left = LeftList {
                    entry: self.history_entry(),
                    history: std::mem::take(&mut self.history),
                    changes: std::mem::take(&mut self.changes),
                };
                let other = self.mailbox_switch.other.take();
                self.switch_session(request, *info);
                self.mailbox_switch.other = Some(left);
                if let Some(other) = other {
                    (self.history, self.changes) = (other.history, other.changes);
                    self.user_acted = true;
                    self.restore_entry(other.entry);
                }
                if let Some(filter) = filter {
                    self.show_filter(filter);
                    let text = "this is sent mail";
                    self.notify_with(text, Command::ReceivedMail, "shows received mail");
                }
            }
            Ok(OpenOutcome::NeedsConfirm(question)) => self.ask_before_opening(question),
            Err(error) => {
                if error.kind == ErrorKind::Unsupported {
                    self.mailbox_switch.no_received = Some(error.message.clone());
                }
                self.notify_failure(error);
            }
        }
    }

    /// Goes on with the archive if it can be written by now, with the same filter.
    fn apply_reopened(&mut self, request: RequestId, result: Result<OpenOutcome>) {
        let Ok(OpenOutcome::Opened(mut info)) = result else {
            return;
        };
        let is_writable = matches!(
            info.storage,
            StorageMode::InFile(_) | StorageMode::OnServer(_)
        );
        if is_writable && self.is_free_to_leave() && self.is_free_to_ask() {
            self.list.filter.text().clone_into(&mut info.query);
            self.switch_session(request, *info);
            self.notify("the archive can be written again");
        }
    }
}
