//! The reader: the selected email as lines that can be scrolled.

mod address_lines;
pub(super) mod attachments;
pub(super) mod email_load;
mod find;
pub mod header;
mod header_field;
mod links;
pub(super) mod lookup;
pub(super) mod previous_email;
pub(super) mod text_match;

use std::sync::Arc;
use std::time::Duration;

use super::commands::{Motion, Side};
use super::effect::{Effect, Pending, RequestId, TimerKind};
use super::history::{ResizeOrigin, ScrollHistory, ScrollKey};
use super::message::OpenedEmail;
use super::session::SessionInfo;
use crate::archive::EmailRow;
use crate::error::{Error, Result};
use crate::mail::{Attachment, EmailId};
use crate::render::{Body, BodyView, LayoutOptions};
use crate::text::secrets::Secrets;
use email_load::{EmailLoad, LoadTime, PreviewRequest};
use header::{HeaderDetail, HeaderFacts, HeaderLine, HeaderPane};
use text_match::{FindState, SearchPattern, TextMatch};

/// How long the width rests before a second layout of the body.
const RESIZE_PAUSE: Duration = Duration::from_millis(50);

/// The widths of prose that a key steps through, in columns:
/// as on a phone, in a letter, on a desktop; then zero, the width of the pane.
const PROSE_WIDTHS: [u16; 3] = [40, 72, 100];
/// Empty columns on both sides of the text.
pub const MARGIN: u16 = 1;

/// The content and the state of the reader.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reader {
    pub id: Option<EmailId>,
    load: EmailLoad,
    body: Pending<Arc<Body>>,
    facts: HeaderFacts,
    pub body_view: BodyView,
    /// The scroll positions of the other views of the body.
    body_view_scrolls: Vec<(BodyView, usize)>,
    /// The scroll position for the view that is loading.
    pending_scroll: Option<usize>,
    /// Where the text was before the pane was resized.
    resized_from: Option<ResizeOrigin>,
    left_at: ScrollHistory,
    header_detail: HeaderDetail,
    /// Whether the tabs of the views are in the divider, and not in the header.
    pub has_tabs_above: bool,
    /// The text to find in the email, instead of the terms of the filter.
    find: Option<FindState>,
    matches: Pending<Vec<TextMatch>>,
    /// The body and the pattern of the matches.
    searched: Option<(Arc<Body>, SearchPattern)>,
    /// The index of the match that was visited last.
    pub current_match: Option<usize>,
    /// Whether the header shows when the status was confirmed.
    pub is_stale: bool,
    /// How those of each email are shown at first.
    default_secrets: Secrets,
    /// The largest width of a line of prose; zero is the width of the pane.
    pub prose_width: u16,
    /// Whether the lines are printed, to be read aloud: nothing is beside other text.
    is_linear: bool,
    /// How those of this email are shown.
    pub secrets: Secrets,
    pub scroll: usize,
    pub pan: u16,
    width: u16,
    height: u16,
    resize_pause: Pending<()>,
    /// Whether the body is laid out after the pause.
    is_layout_due: bool,
}

/// The state of the reader; each has its own screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReaderState<'a> {
    /// Nothing is selected.
    Empty,
    /// The selection still moves; nothing is shown.
    Debouncing,
    /// The email is loading.
    Loading,
    /// The email could not be loaded.
    Failed(&'a Error),
    /// The email is loaded; its body may still be in layout.
    Ready(&'a OpenedEmail, Option<&'a Body>),
}

impl<'a> ReaderState<'a> {
    /// The loaded email.
    pub const fn opened(self) -> Option<&'a OpenedEmail> {
        match self {
            Self::Ready(opened, _) => Some(opened),
            Self::Empty | Self::Debouncing | Self::Loading | Self::Failed(_) => None,
        }
    }

    /// The body in layout.
    pub const fn body(self) -> Option<&'a Body> {
        match self {
            Self::Ready(_, body) => body,
            Self::Empty | Self::Debouncing | Self::Loading | Self::Failed(_) => None,
        }
    }
}

impl Reader {
    pub fn new(session: &SessionInfo) -> Self {
        Self {
            default_secrets: session.secrets,
            prose_width: session.prose_width,
            is_linear: session.is_linear,
            ..Self::default()
        }
    }

    /// The state for the email `selected`, the only one that may be shown.
    pub fn state(&self, selected: &EmailId) -> ReaderState<'_> {
        if self.id.as_ref() != Some(selected) {
            return ReaderState::Debouncing;
        }
        if let Some(error) = self.load.email.error().or(self.body.error()) {
            return ReaderState::Failed(error);
        }
        match self.load.email.value() {
            Some(opened) if opened.email.summary.id == *selected => {
                ReaderState::Ready(opened, self.body.value().map(|body| &**body))
            }
            _ if self.load.is_loading() => ReaderState::Loading,
            _ => ReaderState::Debouncing,
        }
    }

    /// Loads the selected email.
    pub fn select_email(&mut self, id: Option<&EmailId>, time: LoadTime) -> Vec<Effect> {
        let is_first = self.id.as_ref() != id && !self.load.is_debouncing();
        if self.id.as_ref() != id {
            self.remember_scroll();
            self.id = id.cloned();
            self.load.reset();
            self.facts = HeaderFacts::default();
            self.body.reset();
            (self.scroll, self.pan, self.pending_scroll) = (0, 0, self.remembered_scroll());
            self.resized_from = None;
            self.body_view_scrolls.clear();
            self.secrets = self.default_secrets;
            self.reset_match();
        }
        id.map_or_else(Vec::new, |id| self.load.start(id, time, is_first))
    }

    /// Whether the selection has moved a moment ago.
    pub const fn is_debouncing(&self) -> bool {
        self.load.is_debouncing()
    }

    /// Loads the email after the pause of the selection, unless the archive has it.
    pub(super) fn debounce_elapsed(
        &mut self,
        request: RequestId,
        preview: PreviewRequest,
    ) -> Option<Effect> {
        let id = self.id.as_ref()?;
        self.load.debounce_elapsed(request, id, preview)
    }

    /// Loads the email again: after an error, or because its status changed.
    pub fn reload(&mut self) -> Option<Effect> {
        Some(self.load.load(self.id.as_ref()?))
    }

    /// Whether the body is in layout; the one shown is of another view or width.
    pub const fn is_rendering(&self) -> bool {
        self.body.is_pending()
    }

    /// Whether this request is the running one.
    pub const fn is_email_current(&self, request: RequestId) -> bool {
        self.load.email.is_current(request)
    }

    /// Whether the email could not be loaded, or is still requested although the
    /// service fails.
    pub fn needs_retry(&self, is_failing: bool) -> bool {
        let is_due = self.load.email.error().is_some() || self.body.error().is_some();
        is_due || (is_failing && self.load.email.is_pending())
    }

    /// Stores the email and starts the layout of its body.
    pub fn apply_email(
        &mut self,
        request: RequestId,
        result: Result<OpenedEmail>,
    ) -> Option<Effect> {
        if !self.load.email.resolve(request, result) {
            return None;
        }
        self.render_body()
    }

    /// Stores the email if the archive has it, and starts the layout of its body.
    pub fn apply_stored_email(
        &mut self,
        request: RequestId,
        result: Result<Option<OpenedEmail>>,
    ) -> Option<Effect> {
        if self.load.apply_stored(request, result) {
            return self.render_body();
        }
        self.load.take_due_request(self.id.as_ref()?)
    }

    /// Stores the laid-out body.
    pub fn apply_body(
        &mut self,
        request: RequestId,
        result: Result<Arc<Body>>,
        row: Option<&EmailRow>,
    ) {
        if self.body.resolve(request, result) {
            self.scroll = self.pending_scroll.take().unwrap_or(self.scroll);
            self.scroll_to_same_text(row);
        }
    }

    /// Shows another view at its last scroll position, or below the header.
    pub fn show_body_view(&mut self, view: BodyView, row: Option<&EmailRow>) -> Option<Effect> {
        if view == self.body_view {
            return None;
        }
        let scroll = self.pending_scroll.unwrap_or(self.scroll);
        self.body_view_scrolls
            .retain(|(other, _)| *other != self.body_view);
        self.body_view_scrolls.push((self.body_view, scroll));
        let mut scrolls = self.body_view_scrolls.iter();
        let last = scrolls.find(|(other, _)| *other == view);
        let header = self.header_len(row);
        self.pending_scroll = Some(last.map_or(scroll.min(header), |(_, scroll)| *scroll));
        self.body_view = view;
        (self.pan, self.resized_from) = (0, None);
        self.body.reset();
        self.render_body()
    }

    /// Shows more of the header, or its main lines again if there is no more.
    pub fn cycle_header_detail(&mut self, row: Option<&EmailRow>) {
        let before = self.header_len(row);
        self.header_detail = self.header_detail.next();
        if self.header_detail == HeaderDetail::Everything && self.header_len(row) == before {
            self.header_detail = self.header_detail.next();
        }
        self.clamp_scroll(row);
    }

    /// Sets the size of the pane. If the width changed, lays out the body again:
    /// at once after the first change, and after a pause if more follow.
    pub fn resize(&mut self, width: u16, height: u16, row: Option<&EmailRow>) -> Vec<Effect> {
        let width = width.saturating_sub(2 * MARGIN);
        let is_same = |origin: ResizeOrigin| origin.shown == self.scroll;
        if (width, height) != (self.width, self.height) && !self.resized_from.is_some_and(is_same) {
            self.resized_from = Some(ResizeOrigin {
                scroll: self.scroll,
                lines: row.map_or(0, |row| self.line_count(row)),
                width: self.width,
                shown: self.scroll,
            });
        }
        let before = std::mem::replace(&mut self.width, width);
        self.height = height;
        self.scroll_to_same_text(row);
        if before == self.width {
            return Vec::new();
        }
        let mut effects = Vec::new();
        if self.resize_pause.is_pending() {
            self.is_layout_due = true;
        } else {
            effects.extend(self.render_body());
        }
        if self.load.email.value().is_some() {
            let pending = &mut self.resize_pause;
            effects.push(pending.start_timer(TimerKind::Resize, RESIZE_PAUSE));
        }
        effects
    }

    /// Lays out the body at the width that the pane has had for a while.
    pub fn resize_timer_fired(&mut self, request: RequestId) -> Option<Effect> {
        let is_due = self.resize_pause.finish(request) && self.is_layout_due;
        is_due.then(|| self.render_body()).flatten()
    }

    /// Remembers the scroll position of the email in this view at this width,
    /// unless the body that is shown is that of another width.
    fn remember_scroll(&mut self) {
        let is_laid_out =
            self.body.value().is_some() && !self.body.is_pending() && !self.is_layout_due;
        if let Some(key) = self.scroll_key().filter(|_| is_laid_out) {
            self.left_at.remember(key, self.scroll);
        }
    }

    /// Where the email was left in this view at this width.
    fn remembered_scroll(&self) -> Option<usize> {
        self.left_at.scroll_of(&self.scroll_key()?)
    }

    fn scroll_key(&self) -> Option<ScrollKey> {
        Some((self.id.clone()?, self.body_view, self.width))
    }

    pub fn attachments(&self) -> &[Attachment] {
        &self.facts.attachments
    }

    /// Changes what the header says beside the email;
    /// unless its start is shown, the lines below it stay where they are.
    pub fn set_header_facts(&mut self, row: Option<&EmailRow>, set: impl FnOnce(&mut HeaderFacts)) {
        let mut facts = self.facts.clone();
        set(&mut facts);
        if self.facts == facts {
            return;
        }
        let before = self.header_len(row);
        self.facts = facts;
        if self.scroll > 0 {
            self.scroll = (self.scroll + self.header_len(row)).saturating_sub(before);
        }
    }

    /// The columns at which the body is laid out.
    pub const fn width(&self) -> u16 {
        self.width
    }

    /// Scrolls the text.
    pub fn scroll_by(&mut self, motion: Motion, row: Option<&EmailRow>) {
        let page = usize::from(self.height.max(2)) - 1;
        self.scroll = motion.apply(self.scroll, page);
        self.clamp_scroll(row);
    }

    /// Moves wide blocks sideways.
    pub fn pan_blocks(&mut self, side: Side) {
        const COLUMNS: u16 = 8;
        self.pan = match side {
            Side::Left => self.pan.saturating_sub(COLUMNS),
            Side::Right if self.overflow() > self.pan => self.pan + COLUMNS,
            Side::Right => self.pan,
        };
    }

    /// The lines above the body.
    pub fn header(&self, row: &EmailRow) -> Vec<HeaderLine> {
        let mut lines = self.header_with_tabs(row);
        if self.has_tabs_above {
            lines.pop();
        }
        lines
    }

    fn header_len(&self, row: Option<&EmailRow>) -> usize {
        row.map_or(0, |row| self.header(row).len())
    }

    /// The lines of the header, of which the last one are the tabs of the views.
    pub fn header_with_tabs(&self, row: &EmailRow) -> Vec<HeaderLine> {
        let opened = self
            .load
            .email
            .value()
            .filter(|opened| opened.email.summary.id == row.summary.id);
        let pane = HeaderPane {
            width: self.width,
            height: self.height,
            detail: self.header_detail,
            is_stale: self.is_stale,
            secrets: self.secrets,
        };
        let notices = self.body.value().map_or(&[][..], |body| &body.notices);
        header::header_lines(row, opened, &self.facts, notices, pane)
    }

    /// Reveals codes and single-use links until the email is left, or masks them again.
    pub fn toggle_reveal(&mut self) -> Option<Effect> {
        self.secrets = self.secrets.toggled();
        self.render_body()
    }

    /// Masks again what was revealed: the email is left.
    pub fn end_reveal(&mut self) -> Option<Effect> {
        let is_revealed = self.secrets != self.default_secrets;
        is_revealed.then(|| self.toggle_reveal()).flatten()
    }

    /// The number of lines of header and body together.
    pub fn line_count(&self, row: &EmailRow) -> usize {
        self.header(row).len() + self.body.value().map_or(0, |body| body.lines.len())
    }

    /// The columns by which the widest line does not fit.
    pub fn overflow(&self) -> u16 {
        let widest = self.body.value().map_or(0, |body| body.widest);
        u16::try_from(widest)
            .unwrap_or(u16::MAX)
            .saturating_sub(self.width)
    }

    fn render_body(&mut self) -> Option<Effect> {
        let email = self.load.email.value()?.email.clone();
        if self.width == 0 {
            return None;
        }
        self.is_layout_due = false;
        Some(Effect::RenderBody(
            self.body.start(),
            email,
            self.body_view,
            self.layout_options(),
        ))
    }

    fn layout_options(&self) -> LayoutOptions {
        let prose_width = match self.prose_width {
            0 => self.width,
            columns => columns,
        };
        LayoutOptions {
            width: self.width,
            prose_width,
            has_columns: !self.is_linear,
            for_screen: !self.is_linear,
            masked: self.secrets.are_masked(),
        }
    }

    /// Steps to the next preset of the width of prose, and lays out the body again.
    pub fn cycle_prose_width(&mut self) -> Option<Effect> {
        let next = PROSE_WIDTHS.iter().find(|width| **width > self.prose_width);
        self.prose_width = next.copied().unwrap_or(0);
        // The other emails have other lines now.
        self.left_at = ScrollHistory::default();
        self.pending_scroll = Some(self.scroll);
        self.render_body()
    }

    /// Shows the text from before the last changes of size, unless the user scrolled.
    fn scroll_to_same_text(&mut self, row: Option<&EmailRow>) {
        let origin = self.resized_from.filter(|it| it.shown == self.scroll);
        if let Some(it) = origin {
            let lines = row.map_or(0, |row| self.line_count(row));
            self.scroll = it.scroll_at(self.width, lines);
        }
        self.clamp_scroll(row);
        let shown = self.scroll;
        self.resized_from = origin.map(|it| ResizeOrigin { shown, ..it });
    }

    fn clamp_scroll(&mut self, row: Option<&EmailRow>) {
        if self.scroll == 0 {
            return;
        }
        let lines = row.map_or(0, |row| self.line_count(row));
        self.scroll = self
            .scroll
            .min(lines.saturating_sub(usize::from(self.height)));
    }
}
