//! The attachments of the open email:
//! named in its header, chosen from a list, and saved as a file.
//!
//! Their list costs a request, so it is made when the user opens an email, not for each row, and
//! kept until the program ends. Nothing of an attachment is fetched before the user saves it.

use std::path::PathBuf;
use std::sync::Arc;

use super::lookup::Lookup;
use crate::api::Priority;
use crate::app::chooser::{ChooserItem, ChooserKind};
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::model::Model;
use crate::app::prompt::{Prompt, PromptKind};
use crate::error::Result;
use crate::export::attachment_file_name;
use crate::mail::{Attachment, Email, EmailId};
use crate::text::format::format_bytes;

/// The attachments of the emails that were open.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct AttachmentLists {
    pub(in crate::app) lookup: Lookup<EmailId, Arc<[Attachment]>>,
    /// Whether the user waits for the list.
    is_awaited: bool,
    pub(in crate::app) save: Pending<()>,
}

impl Model {
    /// Gives the reader the attachments of its email, and requests them when the email
    /// is open.
    pub(in crate::app) fn update_attachments(&mut self) {
        let Some(row) = self.list.selected() else {
            return;
        };
        let id = row.summary.id.clone();
        let lookup = &mut self.attachments.lookup;
        self.attachments.is_awaited &= !lookup.leave_others(Some(&id));
        let known = lookup.get(&id).cloned().unwrap_or_default();
        let is_due = lookup.is_due(&id) && row.missing_since.is_none();
        let row = self.list.selected();
        self.reader
            .set_header_facts(row, |facts| facts.attachments = known);
        if is_due && self.may_look_up() {
            self.request_attachments(id, self.lookup_priority());
        }
    }

    fn request_attachments(&mut self, id: EmailId, priority: Priority) {
        self.outbox.push(Effect::LoadAttachments(
            self.attachments.lookup.start(id.clone()),
            id,
            priority,
        ));
    }

    pub(in crate::app) fn apply_attachments(
        &mut self,
        request: RequestId,
        result: Result<Arc<[Attachment]>>,
    ) {
        let Some(result) = self.attachments.lookup.apply(request, result) else {
            return;
        };
        let is_awaited = std::mem::take(&mut self.attachments.is_awaited);
        match result {
            Ok(all) if is_awaited => {
                let row = self.list.selected();
                self.reader
                    .set_header_facts(row, |facts| facts.attachments = all);
                self.show_attachments();
            }
            Err(error) if is_awaited => self.notify_failure(error),
            Ok(_) | Err(_) => {}
        }
    }

    pub(in crate::app) fn check_attachments(&self) -> Result<(), String> {
        self.check_opened()?;
        if self.attachments.lookup.is_unsupported {
            return Err("the service does not list attachments".to_owned());
        }
        Ok(())
    }

    /// Shows the attachments of the email, as soon as they are known.
    pub(in crate::app) fn open_attachments(&mut self) {
        let Some(id) = self.list.selected_id().cloned() else {
            return;
        };
        if self.attachments.lookup.get(&id).is_some() {
            return self.show_attachments();
        }
        self.request_attachments(id, Priority::Interactive);
        self.attachments.is_awaited = true;
        self.notify("asking the service for the attachments");
    }

    /// Counts the attachments of an email, as far as the service has named them.
    pub(in crate::app) fn count_attachments(&self, email: &Email) -> usize {
        let summary = &email.summary;
        let listed = self.attachments.lookup.get(&summary.id);
        let listed = listed.map(|listed| listed.len());
        listed.or(summary.count_attachments()).unwrap_or_default()
    }

    fn show_attachments(&mut self) {
        if self.reader.attachments().is_empty() {
            self.notify("this email has no attachments");
        } else if self.is_free_to_ask() {
            self.notice = None;
            self.open_chooser(ChooserKind::Attachments);
        }
    }

    pub(in crate::app) fn attachment_items(&self) -> Vec<ChooserItem> {
        let items = self.reader.attachments().iter().zip(1..);
        items
            .map(|(attachment, number)| {
                let size = attachment.size.map(format_bytes);
                let inline = attachment.is_inline.then(|| "in the text".to_owned());
                let kind = Some(attachment.content_type.to_string());
                let details = [size, kind.filter(|kind| !kind.is_empty()), inline];
                let details: Vec<String> = details.into_iter().flatten().collect();
                let number: usize = number;
                ChooserItem::new(number.to_string(), attachment.label(), details.join(", "))
            })
            .collect()
    }

    /// Asks for the name of the file or the folder, with one made from that of the
    /// attachment.
    pub(in crate::app) fn open_attachment_prompt(&mut self, index: usize) {
        self.chooser = None;
        let Some(attachment) = self.reader.attachments().get(index) else {
            return;
        };
        let name = attachment_file_name(attachment);
        self.open_path_prompt(PromptKind::SaveAttachment(index), name);
    }

    pub(in crate::app) fn save_attachment(&mut self, prompt: &Prompt, index: usize) {
        let name = prompt.text().trim();
        let id = self.reader.id.clone().filter(|_| !name.is_empty());
        let attachment = self.reader.attachments().get(index).cloned();
        let (Some(email), Some(attachment)) = (id, attachment) else {
            return;
        };
        let path = self.expand_home(name);
        self.notify(format!("saving {attachment}"));
        self.outbox.push(Effect::SaveAttachment {
            request: self.attachments.save.start(),
            email,
            attachment,
            path,
        });
    }

    pub(in crate::app) fn apply_attachment_saved(
        &mut self,
        request: RequestId,
        result: Result<(PathBuf, u64)>,
    ) {
        if self.attachments.save.finish(request) {
            self.unwritten_path.take_if(|_| result.is_ok());
            let result = match result {
                Ok((path, bytes)) => {
                    let bytes = format!(", {}", format_bytes(bytes));
                    Ok(self.format_written("saved as ", &path, &bytes))
                }
                Err(error) => Err(error.prefixed("not saved")),
            };
            self.notify_end(result);
        }
    }

    /// Stops saving an attachment, or waiting for the list of them; false if neither runs.
    pub(in crate::app) fn stop_saving(&mut self) -> bool {
        if std::mem::take(&mut self.attachments.is_awaited) {
            // It is not requested again while this email is open, unless by a key.
            self.attachments.lookup.request.reset();
            self.notify("stopped asking for the attachments");
            return true;
        }
        let is_saving = self.attachments.save.is_pending();
        if is_saving {
            self.attachments.save.reset();
            self.notify("stopped; nothing of the attachment is kept");
        }
        is_saving
    }
}
