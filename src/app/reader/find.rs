//! Finds text in the open email, and goes from match to match.

use std::sync::Arc;

use super::Reader;
use super::text_match::{FindState, SearchPattern, TextMatch};
use crate::app::commands::Side;
use crate::app::effect::{Effect, RequestId};
use crate::archive::EmailRow;
use crate::query::{Query, SearchText};

impl Reader {
    /// Searches text from the current line on; without text, the terms of the filter.
    pub fn set_find_text(&mut self, text: &str) {
        let start_line = self.find.as_ref().map(|find| find.start_line);
        self.find = SearchText::new(text).map(|text| FindState {
            text,
            start_line: start_line.unwrap_or(self.scroll),
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
    pub(super) fn reset_match(&mut self) {
        self.current_match = None;
        if let Some(find) = &mut self.find {
            find.jump_to_first = false;
        }
    }

    /// Ends the search for text.
    pub fn clear_find(&mut self) {
        self.find = None;
    }

    /// Ends the search and restores the scroll position before it.
    pub fn cancel_find(&mut self) {
        if let Some(find) = self.find.take() {
            self.scroll = find.start_line;
        }
    }

    /// The searched text.
    pub fn find_text(&self) -> Option<&str> {
        self.find.as_ref().map(|find| find.text.text())
    }

    /// Requests the matches in the body, unless they are known or there is no pattern.
    pub fn request_matches(&mut self, query: &Arc<Query>) -> Option<Effect> {
        let pattern = match &self.find {
            Some(find) => SearchPattern::Text(find.text.clone()),
            None => SearchPattern::Filter(query.clone()),
        };
        let body = self.body.value().filter(|_| !pattern.is_empty());
        let is_same = match (&self.searched, body) {
            (Some((other, before)), Some(body)) => Arc::ptr_eq(other, body) && *before == pattern,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if is_same {
            return None;
        }
        let before = self.searched.as_ref().map(|(_, before)| before);
        if before != Some(&pattern) {
            self.current_match = None;
        }
        self.searched = body.map(|body| (body.clone(), pattern));
        self.matches.reset();
        let (body, pattern) = self.searched.clone()?;
        Some(Effect::FindMatches(self.matches.start(), body, pattern))
    }

    /// Stores the matches and scrolls to the first one of a search for text.
    pub fn apply_matches(
        &mut self,
        request: RequestId,
        matches: Vec<TextMatch>,
        row: Option<&EmailRow>,
    ) {
        if !self.matches.resolve(request, Ok(matches)) {
            return;
        }
        self.current_match = self.current_match.filter(|at| *at < self.matches().len());
        // At another width it is in another line.
        if let Some(at) = self.current_match.filter(|_| self.find.is_some()) {
            self.scroll_to_match(at, row);
        }
        let Some(find) = self.find.as_mut().filter(|find| find.jump_to_first) else {
            return;
        };
        find.jump_to_first = false;
        let (start, header) = (find.start_line, self.header_len(row));
        self.scroll = start;
        if !self.matches().is_empty() {
            let mut matches = self.matches().iter();
            let below = matches.position(|found| header + found.first_line() >= start);
            self.scroll_to_match(below.unwrap_or(0), row);
        }
        self.clamp_scroll(row);
    }

    /// Whether the matches are loading.
    pub const fn is_searching(&self) -> bool {
        self.matches.is_pending()
    }

    pub fn matches(&self) -> &[TextMatch] {
        self.matches.value().map_or(&[], |matches| matches)
    }

    /// Whether the matches of a text or of the filter were requested.
    pub const fn is_searched(&self) -> bool {
        self.searched.is_some()
    }

    /// Goes to the next or the previous match, around the ends;
    /// returns its number and the total, or `None` while the matches are loading or if there are
    /// none.
    pub fn go_to_match(&mut self, side: Side, row: Option<&EmailRow>) -> Option<(usize, usize)> {
        let count = self.matches().len();
        if self.is_searching() || count == 0 {
            return None;
        }
        let at = match (self.current_match, side) {
            (None, Side::Right) => 0,
            (Some(at), Side::Right) => (at + 1) % count,
            (at, Side::Left) => (at.unwrap_or(0) + count - 1) % count,
        };
        self.scroll_to_match(at, row);
        Some((at + 1, count))
    }

    fn scroll_to_match(&mut self, at: usize, row: Option<&EmailRow>) {
        self.current_match = Some(at);
        let line = self.matches()[at].first_line() + self.header_len(row);
        let height = usize::from(self.height);
        if line < self.scroll || line >= self.scroll + height {
            self.scroll = line.saturating_sub(height / 3);
            self.clamp_scroll(row);
        }
    }
}
