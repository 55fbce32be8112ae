//! The reader: one email, always the selected one, as lines that can be scrolled.

use std::sync::Arc;
use std::time::Duration;

use super::commands::{Direction, Motion};
use super::effect::{Effect, Pending, RequestId, TimerKind};
use super::email_header::{self, HeaderLine};
use super::message::OpenedEmail;
use super::text_match::{SearchPattern, TextMatch};
use crate::api::Priority;
use crate::archive::EmailRow;
use crate::error::Error;
use crate::mail::EmailId;
use crate::query::{Query, SearchText};
use crate::render::{Body, BodyView};

/// How long the selection rests before its email is requested, so that a held key costs one
/// request and not one for each row it passes.
const DEBOUNCE: Duration = Duration::from_millis(80);

/// Lines of text longer than this tire the eye, however wide the pane is.
const MAX_TEXT_COLUMNS: u16 = 100;
/// Columns left free at the left of the text.
pub const MARGIN: u16 = 1;

/// What the reader shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reader {
    pub id: Option<EmailId>,
    debounce: Pending<()>,
    email: Pending<OpenedEmail>,
    /// Whether the loading email is only a preview.
    is_preview: bool,
    body: Pending<Arc<Body>>,
    pub view: BodyView,
    /// The scroll positions of the other views of the body.
    view_scrolls: Vec<(BodyView, usize)>,
    /// The scroll position for the view that is loading.
    pending_scroll: Option<usize>,
    /// Whether the header is folded; by default the height of the pane decides.
    is_header_folded: Option<bool>,
    /// The text to find in the email, instead of the terms of the filter.
    find: Option<FindState>,
    matches: Pending<Vec<TextMatch>>,
    /// What the marks are of, and in which body.
    searched: Option<(Arc<Body>, SearchPattern)>,
    /// The index of the match that was visited last.
    pub current_match: Option<usize>,
    /// Whether the header shows when the status was confirmed.
    pub is_stale: bool,
    pub scroll: usize,
    pub pan: u16,
    width: u16,
    height: u16,
}

/// A search for text in the email.
#[derive(Debug, Clone, PartialEq)]
struct FindState {
    text: SearchText,
    /// The scroll position at the start of the search, where it begins.
    start_line: usize,
    /// Whether what is found first is still to be gone to. In the next email it is not: one begins
    /// to read that at its start.
    jump_to_first: bool,
}

/// How far the reader is with its email. Each is a screen of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReaderState<'a> {
    /// Nothing is selected.
    Empty,
    /// The selection has not come to rest yet; nothing is shown, least of all another email.
    Debouncing,
    /// The email is loading.
    Loading,
    /// The email could not be loaded.
    Failed(&'a Error),
    /// It is there, its body perhaps still being laid out.
    Ready(&'a OpenedEmail, Option<&'a Body>),
}

impl Reader {
    /// How far the reader is with the email `selected`, the only one it may show.
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

    /// Loads the selected email: at once if the user opens it, else after a pause.
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
        // Opening it raises the priority of the preview, and retries after an error.
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
                request: self.email.start(),
                id: id.clone(),
                priority: Priority::Interactive,
            });
        }
        (!self.debounce.is_pending()).then(|| Effect::Timer {
            request: self.debounce.start(),
            kind: TimerKind::Selection,
            pause: DEBOUNCE,
        })
    }

    /// The selection stood still.
    pub fn debounce_elapsed(&mut self, request: RequestId, priority: Priority) -> Option<Effect> {
        let current = self.debounce.finish(request);
        let id = self.id.clone().filter(|_| current)?;
        self.is_preview = priority.is_background();
        Some(Effect::LoadEmail {
            request: self.email.start(),
            id,
            priority,
        })
    }

    /// Asks again for the email: after a failure, or because its status changed.
    pub fn reload(&mut self) -> Option<Effect> {
        let id = self.id.clone()?;
        Some(Effect::LoadEmail {
            request: self.email.start(),
            id,
            priority: Priority::Interactive,
        })
    }

    /// Whether the email of this attempt is still waited for.
    pub const fn is_email_current(&self, request: RequestId) -> bool {
        self.email.is_current(request)
    }

    /// Whether the email could not be had.
    pub fn has_failed(&self) -> bool {
        self.email.error().is_some() || self.body.error().is_some()
    }

    /// Takes the email.
    pub fn apply_email(
        &mut self,
        request: RequestId,
        result: Result<OpenedEmail, Error>,
    ) -> Option<Effect> {
        if !self.email.resolve(request, result) {
            return None;
        }
        self.render_body()
    }

    /// Takes the laid-out body.
    pub fn apply_body(
        &mut self,
        request: RequestId,
        result: Result<Arc<Body>, Error>,
        row: Option<&EmailRow>,
    ) {
        if self.body.resolve(request, result) {
            if let Some(wanted) = self.pending_scroll.take() {
                self.scroll = wanted;
            }
            self.clamp_scroll(row);
        }
    }

    /// Shows another view of the body at its last scroll position, or from the end of the header.
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

    /// Folds the header to its main lines, or unfolds it.
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
            self.is_stale,
        )
    }

    /// Lines of head and body together.
    pub fn line_count(&self, row: &EmailRow) -> usize {
        self.header(row).len() + self.body.value().map_or(0, |body| body.lines.len())
    }

    /// Whether there is a block that is wider than the pane.
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
            request: self.body.start(),
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

    /// Searches text in the email from here on; without text, the terms of the filter.
    pub fn set_find_text(&mut self, text: &str) {
        let from = self
            .find
            .as_ref()
            .map_or(self.scroll, |find| find.start_line);
        self.find = SearchText::new(text).map(|needle| FindState {
            text: needle,
            start_line: from,
            jump_to_first: true,
        });
    }

    /// Starts the next search at the current scroll position.
    pub fn find_from_here(&mut self) {
        if let Some(find) = &mut self.find {
            find.start_line = self.scroll;
        }
    }

    /// Forgets the visited match, for another email.
    fn reset_match(&mut self) {
        self.current_match = None;
        if let Some(find) = &mut self.find {
            find.jump_to_first = false;
        }
    }

    /// Ends the search for text; false if there was none.
    pub fn clear_find(&mut self) -> bool {
        self.find.take().is_some()
    }

    /// Ends the search and restores the scroll position before it.
    pub fn cancel_find(&mut self) {
        if let Some(find) = self.find.take() {
            self.scroll = find.start_line;
        }
    }

    /// The text that is looked for.
    pub fn find_text(&self) -> Option<&str> {
        self.find.as_ref().map(|find| find.text.text())
    }

    /// Requests the matches in the body, unless they are known or there is no pattern.
    pub fn request_matches(&mut self, query: &Arc<Query>) -> Option<Effect> {
        let pattern = match &self.find {
            Some(find) => SearchPattern::Text(find.text.clone()),
            None => SearchPattern::Filter(query.clone()),
        };
        let wanted = self.body.value().filter(|_| !pattern.is_empty());
        let same = match (&self.searched, wanted) {
            (Some((body, before)), Some(wanted)) => Arc::ptr_eq(body, wanted) && *before == pattern,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if same {
            return None;
        }
        let other_text = self
            .searched
            .as_ref()
            .is_none_or(|(_, before)| *before != pattern);
        self.searched = wanted.map(|body| (body.clone(), pattern));
        self.matches.reset();
        if other_text {
            self.current_match = None;
        }
        let (body, pattern) = self.searched.clone()?;
        Some(Effect::FindMatches {
            request: self.matches.start(),
            body,
            pattern,
        })
    }

    /// Stores the matches and scrolls to the first one of a search for text.
    pub fn apply_matches(
        &mut self,
        request: RequestId,
        marks: Vec<TextMatch>,
        row: Option<&EmailRow>,
    ) {
        if !self.matches.resolve(request, Ok(marks)) {
            return;
        }
        self.current_match = self.current_match.filter(|at| *at < self.matches().len());
        let Some(find) = self.find.as_mut().filter(|find| find.jump_to_first) else {
            return;
        };
        find.jump_to_first = false;
        let from = find.start_line;
        let head = row.map_or(0, |row| self.header(row).len());
        self.scroll = from;
        if !self.matches().is_empty() {
            let below = self
                .matches()
                .iter()
                .position(|mark| head + mark.first_line() >= from);
            self.scroll_to_match(below.unwrap_or(0), row);
        }
        self.clamp_scroll(row);
    }

    /// Whether the matches are loading.
    pub const fn is_searching(&self) -> bool {
        self.matches.is_pending()
    }

    pub fn matches(&self) -> &[TextMatch] {
        self.matches.value().map_or(&[], |marks| marks)
    }

    /// Whether the matches of a text or of the filter were requested.
    pub const fn is_searched(&self) -> bool {
        self.searched.is_some()
    }

    /// Goes to the next or the previous match, around the ends; returns its number and the total,
    /// or `None` while the matches are loading or if there are none.
    pub fn go_to_match(
        &mut self,
        direction: Direction,
        row: Option<&EmailRow>,
    ) -> Option<(usize, usize)> {
        let last = self.matches().len().checked_sub(1)?;
        if self.is_searching() {
            return None;
        }
        let at = match (self.current_match, direction) {
            (None, Direction::Right) => 0,
            (None, Direction::Left) => last,
            (Some(at), Direction::Right) if at >= last => 0,
            (Some(at), Direction::Right) => at + 1,
            (Some(0), Direction::Left) => last,
            (Some(at), Direction::Left) => at - 1,
        };
        self.scroll_to_match(at, row);
        Some((at + 1, last + 1))
    }

    fn scroll_to_match(&mut self, at: usize, row: Option<&EmailRow>) {
        self.current_match = Some(at);
        let line = self.matches()[at].first_line() + row.map_or(0, |row| self.header(row).len());
        let height = usize::from(self.height);
        if line < self.scroll || line >= self.scroll + height {
            self.scroll = line.saturating_sub(height / 3);
            self.clamp_scroll(row);
        }
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
