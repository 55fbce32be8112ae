//! The reader: one email, always the selected one, as lines that can be scrolled.

mod find;

use std::sync::Arc;
use std::time::Duration;

use super::command::{Side, Step};
use super::effect::{Effect, Rest};
use super::head::{self, Head};
use super::mark::{Mark, Sought};
use super::msg::Opened;
use super::slot::{Slot, Ticket};
use crate::api::Urgency;
use crate::archive::Row;
use crate::failure::Failure;
use crate::mail::EmailId;
use crate::render::{Body, BodyView};

use find::Find;

/// How long a selection stands still before its email is asked for, so that a held key costs one
/// request and not one for each row it passes.
const REST: Duration = Duration::from_millis(80);

/// Lines of text longer than this tire the eye, however wide the pane is.
const MOST_COLUMNS: u16 = 100;
/// Columns left free at the left of the text.
pub const MARGIN: u16 = 1;

/// What the reader shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reader {
    id: Option<EmailId>,
    rest: Slot<()>,
    email: Slot<Opened>,
    /// Whether nobody has asked for the email that is awaited.
    unasked: bool,
    body: Slot<Arc<Body>>,
    view: BodyView,
    /// Where the text stood in the other faces of the body.
    left: Vec<(BodyView, usize)>,
    /// Where it is to stand when the face that was asked for is there.
    wanted: Option<usize>,
    /// Whether the head is folded; by the height of the pane if nobody said so.
    folded: Option<bool>,
    /// What is looked for in the email itself, instead of what the filter looks for.
    find: Option<Find>,
    marks: Slot<Vec<Mark>>,
    /// What the marks are of, and in which body.
    sought: Option<(Arc<Body>, Sought)>,
    /// The mark that was gone to last.
    at: Option<usize>,
    scroll: usize,
    pan: u16,
    width: u16,
    height: u16,
}

/// How far the reader is with its email. Each is a screen of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage<'a> {
    /// Nothing is selected.
    Empty,
    /// The selection has not come to rest yet; nothing is shown, least of all another email.
    Resting,
    /// The email is on its way.
    Loading,
    /// It could not be had.
    Failed(&'a Failure),
    /// It is there, its body perhaps still being laid out.
    Ready(&'a Opened, Option<&'a Body>),
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
    pub fn stage(&self, selected: &EmailId) -> Stage<'_> {
        if self.id.as_ref() != Some(selected) {
            return Stage::Resting;
        }
        if let Some(failure) = self.email.failure().or(self.body.failure()) {
            return Stage::Failed(failure);
        }
        match self.email.ready() {
            Some(opened) if opened.email.summary.id == *selected => {
                Stage::Ready(opened, self.body.ready().map(|body| &**body))
            }
            _ if self.email.is_awaiting() => Stage::Loading,
            _ => Stage::Resting,
        }
    }

    /// Turns to the selected email: at once if somebody asked to read it, else after a rest.
    pub fn turn_to(&mut self, id: Option<&EmailId>, at_once: bool) -> Option<Effect> {
        let same = self.id.as_ref() == id;
        if !same {
            self.id = id.cloned();
            self.email.clear();
            self.body.clear();
            self.rest.clear();
            (self.scroll, self.pan, self.wanted) = (0, 0, None);
            self.left.clear();
            self.start_anew();
        }
        let id = id?;
        // Who opens it asks more urgently than the preview did, and again if it could not be had.
        let pressing = at_once
            && ((self.unasked && self.email.is_awaiting()) || self.email.failure().is_some());
        let needed = self.email.ready().is_none()
            && !self.email.is_awaiting()
            && self.email.failure().is_none();
        if !needed && !pressing {
            return None;
        }
        if at_once {
            self.rest.clear();
            self.unasked = false;
            return Some(Effect::Read {
                ticket: self.email.begin(),
                id: id.clone(),
                urgency: Urgency::Person,
            });
        }
        (!self.rest.is_awaiting()).then(|| Effect::Rest {
            ticket: self.rest.begin(),
            what: Rest::Selection,
            pause: REST,
        })
    }

    /// The selection stood still.
    pub fn rested(&mut self, ticket: Ticket, urgency: Urgency) -> Option<Effect> {
        let current = self.rest.settle(ticket, Ok(()));
        let id = self.id.clone().filter(|_| current)?;
        self.unasked = urgency.is_background();
        Some(Effect::Read {
            ticket: self.email.begin(),
            id,
            urgency,
        })
    }

    /// Asks again for the email: after a failure, or because its status changed.
    pub fn read_again(&mut self) -> Option<Effect> {
        let id = self.id.clone()?;
        Some(Effect::Read {
            ticket: self.email.begin(),
            id,
            urgency: Urgency::Person,
        })
    }

    /// Whether the email of this attempt is still waited for.
    #[must_use]
    pub const fn awaits(&self, ticket: Ticket) -> bool {
        self.email.awaits(ticket)
    }

    /// Whether the email could not be had.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.email.failure().is_some() || self.body.failure().is_some()
    }

    /// Takes the email.
    pub fn settle_email(
        &mut self,
        ticket: Ticket,
        outcome: Result<Opened, Failure>,
    ) -> Option<Effect> {
        if !self.email.settle(ticket, outcome) {
            return None;
        }
        self.lay_out()
    }

    /// Takes the laid-out body.
    pub fn settle_body(
        &mut self,
        ticket: Ticket,
        outcome: Result<Arc<Body>, Failure>,
        row: Option<&Row>,
    ) {
        if self.body.settle(ticket, outcome) {
            if let Some(wanted) = self.wanted.take() {
                self.scroll = wanted;
            }
            self.clamp(row);
        }
    }

    /// Shows another face of the body: where that was left, or from where the head ends.
    pub fn show_view(&mut self, view: BodyView, row: Option<&Row>) -> Option<Effect> {
        if view == self.view {
            return None;
        }
        let here = self.wanted.unwrap_or(self.scroll);
        self.left.retain(|(face, _)| *face != self.view);
        self.left.push((self.view, here));
        let left = self
            .left
            .iter()
            .find(|(face, _)| *face == view)
            .map(|(_, scroll)| *scroll);
        let head = row.map_or(0, |row| self.head(row).len());
        self.wanted = Some(left.unwrap_or(here.min(head)));
        self.view = view;
        self.pan = 0;
        self.body.clear();
        self.lay_out()
    }

    /// Folds the head to the few lines that matter most, or unfolds it.
    pub fn fold(&mut self, row: Option<&Row>) {
        self.folded = Some(!self.folded.unwrap_or(head::is_low(self.height)));
        self.clamp(row);
    }

    /// Takes the size of the pane; the body is laid out again if the width is another.
    pub fn resized(&mut self, width: u16, height: u16, row: Option<&Row>) -> Option<Effect> {
        let before = std::mem::replace(&mut self.width, text_width(width));
        self.height = height;
        self.clamp(row);
        (before != self.width).then(|| self.lay_out()).flatten()
    }

    /// Moves the text; says whether it moved.
    pub fn go(&mut self, step: Step, row: Option<&Row>) -> bool {
        let page = usize::from(self.height.max(2)) - 1;
        let before = self.scroll;
        self.scroll = match step {
            Step::Down => before + 1,
            Step::Up => before.saturating_sub(1),
            Step::HalfDown => before + page / 2,
            Step::HalfUp => before.saturating_sub(page / 2),
            Step::PageDown => before + page,
            Step::PageUp => before.saturating_sub(page),
            Step::First => 0,
            Step::Last => usize::MAX,
        };
        self.clamp(row);
        self.scroll != before
    }

    /// Moves wide blocks sideways.
    pub fn pan_to(&mut self, side: Side) {
        const COLUMNS: u16 = 8;
        self.pan = match side {
            Side::Left => self.pan.saturating_sub(COLUMNS),
            Side::Right if self.overflow() > self.pan => self.pan + COLUMNS,
            Side::Right => self.pan,
        };
    }

    /// The lines above the body.
    #[must_use]
    pub fn head(&self, row: &Row) -> Vec<Head> {
        let opened = self
            .email
            .ready()
            .filter(|opened| opened.email.summary.id == row.summary.id);
        head::of(
            row,
            opened,
            self.width,
            self.folded.unwrap_or(head::is_low(self.height)),
        )
    }

    /// Lines of head and body together.
    #[must_use]
    pub fn lines(&self, row: &Row) -> usize {
        self.head(row).len() + self.body.ready().map_or(0, |body| body.lines.len())
    }

    /// Whether there is a block that is wider than the pane.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.overflow() > 0
    }

    /// Columns by which the widest line does not fit.
    fn overflow(&self) -> u16 {
        let widest = |body: &Body| {
            body.lines
                .iter()
                .filter(|line| line.wide)
                .map(super::width_of)
                .max()
                .unwrap_or(0)
        };
        let widest = self.body.ready().map_or(0, |body| widest(body));
        u16::try_from(widest)
            .unwrap_or(u16::MAX)
            .saturating_sub(self.width)
    }

    fn lay_out(&mut self) -> Option<Effect> {
        let email = self.email.ready()?.email.clone();
        if self.width == 0 {
            return None;
        }
        Some(Effect::LayOut {
            ticket: self.body.begin(),
            email,
            view: self.view,
            width: self.width,
        })
    }

    fn clamp(&mut self, row: Option<&Row>) {
        if self.wanted.is_some() {
            // How long the text will be is not known yet.
            return;
        }
        let lines = row.map_or(0, |row| self.lines(row));
        self.scroll = self
            .scroll
            .min(lines.saturating_sub(usize::from(self.height)));
    }
}

/// Columns for the text in a pane of this width.
const fn text_width(pane: u16) -> u16 {
    let inner = pane.saturating_sub(2 * MARGIN);
    if inner > MOST_COLUMNS {
        MOST_COLUMNS
    } else {
        inner
    }
}
