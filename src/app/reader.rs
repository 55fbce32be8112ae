//! The reader: one email, always the selected one, as lines that can be scrolled.

mod matches;

use std::sync::Arc;
use std::time::Duration;

use super::commands::{Direction, Motion};
use super::effect::{Effect, TimerKind};
use super::email_header::{self, HeaderLine};
use super::message::OpenedEmail;
use super::pending::{Pending, RequestId};
use super::text_match::{SearchPattern, TextMatch};
use crate::api::Priority;
use crate::archive::EmailRow;
use crate::error::Error;
use crate::mail::EmailId;
use crate::render::{Body, BodyView};

use matches::FindState;

/// How long a selection stands still before its email is asked for, so that a held key costs one
/// request and not one for each row it passes.
const DEBOUNCE: Duration = Duration::from_millis(80);

/// Lines of text longer than this tire the eye, however wide the pane is.
const MAX_TEXT_COLUMNS: u16 = 100;
/// Columns left free at the left of the text.
pub const MARGIN: u16 = 1;

/// What the reader shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reader {
    id: Option<EmailId>,
    debounce: Pending<()>,
    email: Pending<OpenedEmail>,
    /// Whether nobody has asked for the email that is awaited.
    is_preview: bool,
    body: Pending<Arc<Body>>,
    view: BodyView,
    /// Where the text stood in the other faces of the body.
    view_scrolls: Vec<(BodyView, usize)>,
    /// Where it is to stand when the face that was asked for is there.
    pending_scroll: Option<usize>,
    /// Whether the head is folded; by the height of the pane if nobody said so.
    is_header_folded: Option<bool>,
    /// What is looked for in the email itself, instead of what the filter looks for.
    find: Option<FindState>,
    matches: Pending<Vec<TextMatch>>,
    /// What the marks are of, and in which body.
    searched: Option<(Arc<Body>, SearchPattern)>,
    /// The mark that was gone to last.
    current_match: Option<usize>,
    scroll: usize,
    pan: u16,
    width: u16,
    height: u16,
}

/// How far the reader is with its email. Each is a screen of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReaderState<'a> {
    /// Nothing is selected.
    Empty,
    /// The selection has not come to rest yet; nothing is shown, least of all another email.
    Debouncing,
    /// The email is on its way.
    Loading,
    /// It could not be had.
    Failed(&'a Error),
    /// It is there, its body perhaps still being laid out.
    Ready(&'a OpenedEmail, Option<&'a Body>),
}

impl Reader {
    /// The face of the body that is shown.
    #[must_use]
    pub const fn view(&self) -> BodyView {
        self.view
    }

    /// The first line that is visible.
    #[must_use]
    pub const fn scroll(&self) -> usize {
        self.scroll
    }

    /// Columns that wide blocks are moved to the left.
    #[must_use]
    pub const fn pan(&self) -> u16 {
        self.pan
    }

    /// The email the reader is turned to.
    #[must_use]
    pub const fn id(&self) -> Option<&EmailId> {
        self.id.as_ref()
    }

    /// How far the reader is with the email `selected`, the only one it may show.
    #[must_use]
    pub fn state(&self, selected: &EmailId) -> ReaderState<'_> {
        if self.id.as_ref() != Some(selected) {
            return ReaderState::Debouncing;
        }
        if let Some(failure) = self.email.error().or(self.body.error()) {
            return ReaderState::Failed(failure);
        }
        match self.email.value() {
            Some(opened) if opened.email.summary.id == *selected => {
                ReaderState::Ready(opened, self.body.value().map(|body| &**body))
            }
            _ if self.email.is_pending() => ReaderState::Loading,
            _ => ReaderState::Debouncing,
        }
    }

    /// Turns to the selected email: at once if somebody asked to read it, else after a rest.
    pub fn select_email(&mut self, id: Option<&EmailId>, at_once: bool) -> Option<Effect> {
        let same = self.id.as_ref() == id;
        if !same {
            self.id = id.cloned();
            self.email.reset();
            self.body.reset();
            self.debounce.reset();
            (self.scroll, self.pan, self.pending_scroll) = (0, 0, None);
            self.view_scrolls.clear();
            self.reset_match();
        }
        let id = id?;
        // Who opens it asks more urgently than the preview did, and again if it could not be had.
        let pressing = at_once
            && ((self.is_preview && self.email.is_pending()) || self.email.error().is_some());
        let needed = self.email.value().is_none()
            && !self.email.is_pending()
            && self.email.error().is_none();
        if !needed && !pressing {
            return None;
        }
        if at_once {
            self.debounce.reset();
            self.is_preview = false;
            return Some(Effect::LoadEmail {
                ticket: self.email.start(),
                id: id.clone(),
                urgency: Priority::Interactive,
            });
        }
        (!self.debounce.is_pending()).then(|| Effect::Timer {
            ticket: self.debounce.start(),
            what: TimerKind::Selection,
            pause: DEBOUNCE,
        })
    }

    /// The selection stood still.
    pub fn debounce_elapsed(&mut self, ticket: RequestId, urgency: Priority) -> Option<Effect> {
        let current = self.debounce.resolve(ticket, Ok(()));
        let id = self.id.clone().filter(|_| current)?;
        self.is_preview = urgency.is_background();
        Some(Effect::LoadEmail {
            ticket: self.email.start(),
            id,
            urgency,
        })
    }

    /// Asks again for the email: after a failure, or because its status changed.
    pub fn reload(&mut self) -> Option<Effect> {
        let id = self.id.clone()?;
        Some(Effect::LoadEmail {
            ticket: self.email.start(),
            id,
            urgency: Priority::Interactive,
        })
    }

    /// Whether the email of this attempt is still waited for.
    #[must_use]
    pub const fn is_email_current(&self, ticket: RequestId) -> bool {
        self.email.is_current(ticket)
    }

    /// Whether the email could not be had.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.email.error().is_some() || self.body.error().is_some()
    }

    /// Takes the email.
    pub fn apply_email(
        &mut self,
        ticket: RequestId,
        outcome: Result<OpenedEmail, Error>,
    ) -> Option<Effect> {
        if !self.email.resolve(ticket, outcome) {
            return None;
        }
        self.render_body()
    }

    /// Takes the laid-out body.
    pub fn apply_body(
        &mut self,
        ticket: RequestId,
        outcome: Result<Arc<Body>, Error>,
        row: Option<&EmailRow>,
    ) {
        if self.body.resolve(ticket, outcome) {
            if let Some(wanted) = self.pending_scroll.take() {
                self.scroll = wanted;
            }
            self.clamp_scroll(row);
        }
    }

    /// Shows another face of the body: where that was left, or from where the head ends.
    pub fn show_view(&mut self, view: BodyView, row: Option<&EmailRow>) -> Option<Effect> {
        if view == self.view {
            return None;
        }
        let here = self.pending_scroll.unwrap_or(self.scroll);
        self.view_scrolls.retain(|(face, _)| *face != self.view);
        self.view_scrolls.push((self.view, here));
        let left = self
            .view_scrolls
            .iter()
            .find(|(face, _)| *face == view)
            .map(|(_, scroll)| *scroll);
        let head = row.map_or(0, |row| self.header(row).len());
        self.pending_scroll = Some(left.unwrap_or(here.min(head)));
        self.view = view;
        self.pan = 0;
        self.body.reset();
        self.render_body()
    }

    /// Folds the head to the few lines that matter most, or unfolds it.
    pub fn toggle_header_fold(&mut self, row: Option<&EmailRow>) {
        self.is_header_folded = Some(
            !self
                .is_header_folded
                .unwrap_or(email_header::is_low_pane(self.height)),
        );
        self.clamp_scroll(row);
    }

    /// Takes the size of the pane; the body is laid out again if the width is another.
    pub fn resize(&mut self, width: u16, height: u16, row: Option<&EmailRow>) -> Option<Effect> {
        let before = std::mem::replace(&mut self.width, text_width(width));
        self.height = height;
        self.clamp_scroll(row);
        (before != self.width).then(|| self.render_body()).flatten()
    }

    /// Scrolls the text.
    pub fn scroll_by(&mut self, motion: Motion, row: Option<&EmailRow>) {
        let page = usize::from(self.height.max(2)) - 1;
        self.scroll = motion.apply(self.scroll, page);
        self.clamp_scroll(row);
    }

    /// Moves wide blocks sideways.
    pub fn pan_blocks(&mut self, side: Direction) {
        const COLUMNS: u16 = 8;
        self.pan = match side {
            Direction::Left => self.pan.saturating_sub(COLUMNS),
            Direction::Right if self.overflow() > self.pan => self.pan + COLUMNS,
            Direction::Right => self.pan,
        };
    }

    /// The lines above the body.
    #[must_use]
    pub fn header(&self, row: &EmailRow) -> Vec<HeaderLine> {
        let opened = self
            .email
            .value()
            .filter(|opened| opened.email.summary.id == row.summary.id);
        email_header::header_lines(
            row,
            opened,
            self.width,
            self.is_header_folded
                .unwrap_or(email_header::is_low_pane(self.height)),
        )
    }

    /// Lines of head and body together.
    #[must_use]
    pub fn line_count(&self, row: &EmailRow) -> usize {
        self.header(row).len() + self.body.value().map_or(0, |body| body.lines.len())
    }

    /// Whether there is a block that is wider than the pane.
    #[must_use]
    pub fn has_wide_block(&self) -> bool {
        self.overflow() > 0
    }

    /// Columns by which the widest line does not fit.
    fn overflow(&self) -> u16 {
        let widest = |body: &Body| {
            body.lines
                .iter()
                .filter(|line| line.wide)
                .map(super::line_width)
                .max()
                .unwrap_or(0)
        };
        let widest = self.body.value().map_or(0, |body| widest(body));
        u16::try_from(widest)
            .unwrap_or(u16::MAX)
            .saturating_sub(self.width)
    }

    fn render_body(&mut self) -> Option<Effect> {
        let email = self.email.value()?.email.clone();
        if self.width == 0 {
            return None;
        }
        Some(Effect::RenderBody {
            ticket: self.body.start(),
            email,
            view: self.view,
            width: self.width,
        })
    }

    fn clamp_scroll(&mut self, row: Option<&EmailRow>) {
        if self.pending_scroll.is_some() {
            // How long the text will be is not known yet.
            return;
        }
        let lines = row.map_or(0, |row| self.line_count(row));
        self.scroll = self
            .scroll
            .min(lines.saturating_sub(usize::from(self.height)));
    }
}

/// Columns for the text in a pane of this width.
const fn text_width(pane: u16) -> u16 {
    let inner = pane.saturating_sub(2 * MARGIN);
    if inner > MAX_TEXT_COLUMNS {
        MAX_TEXT_COLUMNS
    } else {
        inner
    }
}
