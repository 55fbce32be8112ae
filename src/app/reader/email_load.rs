//! `EmailLoad`: when the selected email is loaded, from the archive or from the
//! service.
//!
//! The first key press after a pause loads it from the archive at once. A held key loads nothing
//! before it rests, and a request to the service always waits for the rest, unless the user opens
//! the email.

use std::time::Duration;

use crate::api::Priority;
use crate::app::effect::{Effect, Pending, RequestId, TimerKind};
use crate::app::message::OpenedEmail;
use crate::app::model::Model;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;

/// The selection rests for this time before its email is requested,
/// so that a held key costs one request and not one for each row.
const DEBOUNCE: Duration = Duration::from_millis(80);

/// When an email is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadTime {
    /// The user opens it.
    AtOnce,
    /// The user moves to it: at once if the archive has it and no key is held.
    StoredAtOnce,
    AfterPause,
}

/// A request for an email that the user has moved to.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct PreviewRequest {
    pub(in crate::app) priority: Priority,
    /// Why only the archive may be asked for it.
    pub(in crate::app) refusal: Option<Error>,
}

/// The loading of the selected email.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct EmailLoad {
    debounce: Pending<()>,
    /// Whether the archive has the email.
    stored: Pending<bool>,
    /// The request that follows if it has not, after the pause.
    due_request: Option<PreviewRequest>,
    pub(in crate::app) email: Pending<OpenedEmail>,
    /// Whether the loading email is only a preview.
    is_preview: bool,
}

impl EmailLoad {
    /// Forgets the email, for another one.
    pub(in crate::app) fn reset(&mut self) {
        self.debounce.reset();
        self.stored.reset();
        self.due_request = None;
        self.email.reset();
    }

    /// Whether the selection has moved a moment ago.
    pub(in crate::app) const fn is_debouncing(&self) -> bool {
        self.debounce.is_pending()
    }

    /// Whether the email is requested, or will be as soon as the selection rests.
    pub(in crate::app) fn is_loading(&self) -> bool {
        self.email.is_pending() || self.stored.value() == Some(&false)
    }

    /// Loads the email `id`; `is_first` if the selection has moved to it after a pause.
    pub(in crate::app) fn start(
        &mut self,
        id: &EmailId,
        time: LoadTime,
        is_first: bool,
    ) -> Vec<Effect> {
        let is_new = self.email.value().is_none() && self.email.error().is_none();
        let is_unloaded = is_new && !self.email.is_pending() && self.due_request.is_none();
        if time == LoadTime::AtOnce {
            // Opening it raises the priority of the preview, and retries after an error.
            let is_urgent = (self.is_preview && self.email.is_pending())
                || self.due_request.is_some()
                || self.email.error().is_some();
            if !is_unloaded && !is_urgent {
                return Vec::new();
            }
            self.debounce.reset();
            self.due_request = None;
            return vec![self.load(id)];
        }
        let mut effects = Vec::new();
        if is_unloaded && !self.debounce.is_pending() {
            effects.push(self.debounce.start_timer(TimerKind::Selection, DEBOUNCE));
        }
        if is_unloaded && is_first && time == LoadTime::StoredAtOnce {
            effects.push(Effect::LoadStoredEmail(self.stored.start(), id.clone()));
        }
        effects
    }

    /// Loads the email after the pause, unless the archive has it.
    pub(in crate::app) fn debounce_elapsed(
        &mut self,
        request: RequestId,
        id: &EmailId,
        preview: PreviewRequest,
    ) -> Option<Effect> {
        let is_unloaded = self.debounce.finish(request) && self.email.value().is_none();
        if is_unloaded && self.stored.is_pending() {
            self.due_request = Some(preview);
            return None;
        }
        is_unloaded.then(|| self.request(id, preview))
    }

    /// Loads the email from the archive or the service, because the user waits for it.
    pub(in crate::app) fn load(&mut self, id: &EmailId) -> Effect {
        self.request(
            id,
            PreviewRequest {
                priority: Priority::Interactive,
                refusal: None,
            },
        )
    }

    fn request(&mut self, id: &EmailId, preview: PreviewRequest) -> Effect {
        let PreviewRequest { priority, refusal } = preview;
        self.is_preview = priority.is_background();
        Effect::LoadEmail {
            request: self.email.start(),
            id: id.clone(),
            priority,
            refusal,
        }
    }

    /// Stores the email if the archive has it; returns whether it does.
    /// Otherwise, also if it is damaged, it is requested after the pause.
    pub(super) fn apply_stored(
        &mut self,
        request: RequestId,
        result: Result<Option<OpenedEmail>>,
    ) -> bool {
        let found = result.ok().flatten();
        if !self.stored.resolve(request, Ok(found.is_some())) || self.email.value().is_some() {
            return false;
        }
        let Some(opened) = found else {
            return false;
        };
        self.due_request = None;
        let request = self.email.start();
        self.email.resolve(request, Ok(opened))
    }

    /// Returns the request that has waited for the archive.
    pub(super) fn take_due_request(&mut self, id: &EmailId) -> Option<Effect> {
        let preview = self.due_request.take_if(|_| !self.stored.is_pending())?;
        Some(self.request(id, preview))
    }
}

impl Model {
    /// Shows a loaded email. If it was not stored, the service has answered,
    /// so a failed refresh is tried again.
    pub(in crate::app) fn apply_email(&mut self, request: RequestId, result: Result<OpenedEmail>) {
        let error = result.as_ref().err().map(|error| error.kind);
        self.outbox.extend(self.reader.apply_email(request, result));
        if error.is_some_and(ErrorKind::is_key_error) {
            // Whether the service rejects the key altogether.
            let refresh = self.service.request_refresh(Priority::Refresh);
            self.outbox.extend(refresh);
        } else if error.is_none() && self.reload_fetched_row() {
            self.outbox.extend(self.service.refresh_if_failing());
        }
    }

    /// Shows an email of the archive, if it is there.
    pub(in crate::app) fn apply_stored_email(
        &mut self,
        request: RequestId,
        result: Result<Option<OpenedEmail>>,
    ) {
        let found = matches!(result, Ok(Some(_)));
        self.outbox
            .extend(self.reader.apply_stored_email(request, result));
        if found {
            self.reload_fetched_row();
        }
    }

    /// Loads the rows again if the selected one is from before its body was fetched.
    ///
    /// The email came with its status, which the rows and the recipient card show too. Returns
    /// whether the row is so old.
    fn reload_fetched_row(&mut self) -> bool {
        let is_older = self.list.selected().is_some_and(|row| !row.has_body);
        if is_older {
            self.outbox.extend(self.list.reload());
            self.request_recipient_summary();
        }
        is_older
    }
}
