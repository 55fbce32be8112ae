//! Saves the selected email as a file; the ending of its name chooses the format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::effect::{Effect, RequestId};
use super::model::Model;
use super::prompt::{Prompt, PromptKind};
use super::reader::ReaderState;
use crate::export::{self, ExportFormat};
use crate::mail::Email;

impl Model {
    pub(super) fn check_opened(&self) -> Result<(), String> {
        self.check_selected()?;
        match self.opened_email() {
            Some(_) => Ok(()),
            None => Err("the email is not loaded yet".to_owned()),
        }
    }

    fn opened_email(&self) -> Option<&Arc<Email>> {
        match self.reader_state() {
            ReaderState::Ready(opened, _) => Some(&opened.email),
            ReaderState::Empty
            | ReaderState::Debouncing
            | ReaderState::Loading
            | ReaderState::Failed(_) => None,
        }
    }

    /// Asks for the name of the file, with one made from the email.
    pub(super) fn open_save_prompt(&mut self) {
        let Some(email) = self.opened_email() else {
            return;
        };
        let name = export::file_name(&email.summary, self.now.time_zone(), ExportFormat::Eml);
        self.prompt = Some(Prompt::new(
            PromptKind::SaveEmail,
            &name,
            self.history_entry(),
        ));
    }

    /// Writes the file. A name without a known ending stays in the prompt.
    pub(super) fn save_email(&mut self, prompt: Prompt) {
        let Some(email) = self.opened_email().cloned() else {
            return self.notify("the email is not loaded any more");
        };
        let name = prompt.text().trim();
        let Some(format) = ExportFormat::from_path(Path::new(name)) else {
            self.prompt = Some(prompt.reject()).filter(|prompt| !prompt.text().trim().is_empty());
            return;
        };
        let path = match (name.strip_prefix("~/"), &self.session.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(name),
        };
        let request = self.email_save.start();
        let zone = self.now.time_zone().clone();
        self.outbox.push(Effect::SaveEmail {
            request,
            path,
            format,
            email,
            zone,
        });
    }

    pub(super) fn apply_email_saved(
        &mut self,
        request: RequestId,
        result: Result<PathBuf, String>,
    ) {
        if self.email_save.finish(request) {
            self.notify(match result {
                Ok(path) => format!("saved as {}, whole and unmasked", path.display()),
                Err(reason) => format!("not saved: {reason}"),
            });
        }
    }
}
