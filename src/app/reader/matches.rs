//! What is looked for in the email, where it stands, and the way from one place to the next.

use std::sync::Arc;

use super::Reader;
use crate::app::commands::Direction;
use crate::app::effect::Effect;
use crate::app::pending::RequestId;
use crate::app::text_match::{SearchPattern, TextMatch};
use crate::archive::EmailRow;
use crate::query::{Query, SearchText};

/// Text that a person looks for in the email.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FindState {
    text: SearchText,
    /// Where the text stood when the search began: what is found first is looked for from there.
    start_line: usize,
    /// Whether what is found first is still to be gone to. In the next email it is not: one begins
    /// to read that at its start.
    jump_to_first: bool,
}

impl Reader {
    /// Looks for text in the email, from here on; without any, for what the filter looks for.
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

    /// Takes where the text stands now for where a search begins.
    pub fn find_from_here(&mut self) {
        if let Some(find) = &mut self.find {
            find.start_line = self.scroll;
        }
    }

    /// Another email is turned to, and no mark of it was gone to yet.
    pub(super) fn reset_match(&mut self) {
        self.current_match = None;
        if let Some(find) = &mut self.find {
            find.jump_to_first = false;
        }
    }

    /// Looks no more for text, and says whether it did.
    pub fn clear_find(&mut self) -> bool {
        self.find.take().is_some()
    }

    /// Goes back to where the text stood before it was looked for.
    pub fn cancel_find(&mut self) {
        if let Some(find) = self.find.take() {
            self.scroll = find.start_line;
        }
    }

    /// The text that is looked for.
    #[must_use]
    pub fn find_text(&self) -> Option<&str> {
        self.find.as_ref().map(|find| find.text.text())
    }

    /// Asks for the marks in the body, unless that was done or there is nothing to mark.
    pub fn request_matches(&mut self, query: &Arc<Query>) -> Option<Effect> {
        let sought = match &self.find {
            Some(find) => SearchPattern::Text(find.text.clone()),
            None => SearchPattern::Filter(query.clone()),
        };
        let wanted = self.body.value().filter(|_| !sought.is_empty());
        let same = match (&self.searched, wanted) {
            (Some((body, before)), Some(wanted)) => Arc::ptr_eq(body, wanted) && *before == sought,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if same {
            return None;
        }
        let other_text = self
            .searched
            .as_ref()
            .is_none_or(|(_, before)| *before != sought);
        self.searched = wanted.map(|body| (body.clone(), sought));
        self.matches.reset();
        if other_text {
            self.current_match = None;
        }
        let (body, sought) = self.searched.clone()?;
        Some(Effect::FindMatches {
            ticket: self.matches.start(),
            body,
            sought,
        })
    }

    /// Takes the marks. What a person looks for in the email is gone to at once.
    pub fn apply_matches(
        &mut self,
        ticket: RequestId,
        marks: Vec<TextMatch>,
        row: Option<&EmailRow>,
    ) {
        if !self.matches.resolve(ticket, Ok(marks)) {
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

    /// Whether the marks are on their way.
    #[must_use]
    pub const fn is_searching(&self) -> bool {
        self.matches.is_pending()
    }

    /// What is looked for, where it stands in the body that is shown.
    #[must_use]
    pub fn matches(&self) -> &[TextMatch] {
        self.matches.value().map_or(&[], |marks| marks)
    }

    /// The mark that was gone to last.
    #[must_use]
    pub const fn current_match(&self) -> Option<usize> {
        self.current_match
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
