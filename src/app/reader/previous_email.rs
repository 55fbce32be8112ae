//! Keeps the previous email in the reader's pane until the selected one can be
//! drawn.
//!
//! Header and body then come in one frame. It stays for [`MAX_PAUSE`] at most, and only on the
//! screen: commands apply to the selected email.

use std::time::Duration;

use ratatui::layout::Rect;

use super::email_load::LoadTime;
use super::{Reader, ReaderState};
use crate::app::effect::{Pending, RequestId, TimerKind};
use crate::app::layout::Layout;
use crate::app::model::Model;
use crate::archive::EmailRow;
use crate::mail::EmailId;

/// How long the pane may show the previous email.
/// With the pause between two frames, users see it for less than 50 ms.
const MAX_PAUSE: Duration = Duration::from_millis(30);

/// The email that the pane still shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::app) struct PreviousEmail {
    shown: Option<Box<(EmailRow, Reader, Rect)>>,
    timer: Pending<()>,
}

impl Model {
    /// The email that the reader's pane shows:
    /// the selected one, or for a moment the previous one.
    pub fn shown_email(&self) -> Option<(&EmailRow, &Reader)> {
        match self.previous_email.shown.as_deref() {
            Some((row, reader, _)) => Some((row, reader)),
            None => Some((self.list.selected()?, &self.reader)),
        }
    }

    /// Whether the pane still shows the previous email.
    pub const fn shows_previous_email(&self) -> bool {
        self.previous_email.shown.is_some()
    }

    /// Gives the selected email to the reader.
    pub(in crate::app) fn update_reader_email(&mut self, layout: &Layout) {
        let selected = self.list.selected_id().cloned();
        let is_browsing = self.user_acted && self.prompt.is_none();
        let load_time = if is_browsing {
            LoadTime::StoredAtOnce
        } else {
            LoadTime::AfterPause
        };
        if is_browsing && self.reader.id != selected {
            self.keep_previous_email(layout.reader);
        }
        let effects = self.reader.select_email(selected.as_ref(), load_time);
        self.outbox.extend(effects);
        self.drop_previous_email(layout.reader);
    }

    /// Keeps the email on the screen if its body is loaded,
    /// unless that is an earlier one already; not in linear mode.
    fn keep_previous_email(&mut self, pane: Rect) {
        let has_id = |row: &&EmailRow, id: &EmailId| row.summary.id == *id;
        let id = self.reader.id.as_ref();
        let row = id.and_then(|id| self.list.rows().iter().find(|row| has_id(row, id)));
        let Some(row) = row.filter(|_| !self.shows_previous_email() && !self.session.is_linear)
        else {
            return;
        };
        if self.reader.state(&row.summary.id).body().is_some() {
            let shown = (row.clone(), self.reader.clone(), pane);
            self.previous_email.shown = Some(Box::new(shown));
            let pending = &mut self.previous_email.timer;
            let timer = pending.start_timer(TimerKind::PreviousEmail, MAX_PAUSE);
            self.outbox.push(timer);
        }
    }

    /// Drops the previous email if the pane has something else to show.
    fn drop_previous_email(&mut self, pane: Rect) {
        let is_loading = matches!(
            self.reader_state(),
            ReaderState::Debouncing | ReaderState::Ready(_, None)
        );
        let shown = &mut self.previous_email.shown;
        shown.take_if(|shown| !is_loading || shown.2 != pane);
    }

    /// Drops the previous email after its time.
    pub(in crate::app) fn previous_email_timer_fired(&mut self, request: RequestId) {
        if self.previous_email.timer.finish(request) {
            self.previous_email.shown = None;
        }
    }
}
