//! What is looked for in the email, where it stands, and the way from one place to the next.

use std::sync::Arc;

use super::Reader;
use crate::app::command::Side;
use crate::app::effect::Effect;
use crate::app::mark::{Mark, Sought};
use crate::app::slot::Ticket;
use crate::archive::Row;
use crate::query::{Needle, Query};

/// Text that a person looks for in the email.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Find {
    needle: Needle,
    /// Where the text stood when the search began: what is found first is looked for from there.
    from: usize,
    /// Whether what is found first is still to be gone to. In the next email it is not: one begins
    /// to read that at its start.
    leaps: bool,
}

impl Reader {
    /// Looks for text in the email, from here on; without any, for what the filter looks for.
    pub fn find(&mut self, text: &str) {
        let from = self.find.as_ref().map_or(self.scroll, |find| find.from);
        self.find = Needle::new(text).map(|needle| Find {
            needle,
            from,
            leaps: true,
        });
    }

    /// Takes where the text stands now for where a search begins.
    pub fn find_from_here(&mut self) {
        if let Some(find) = &mut self.find {
            find.from = self.scroll;
        }
    }

    /// Another email is turned to, and no mark of it was gone to yet.
    pub(super) fn start_anew(&mut self) {
        self.at = None;
        if let Some(find) = &mut self.find {
            find.leaps = false;
        }
    }

    /// Looks no more for text, and says whether it did.
    pub fn forget(&mut self) -> bool {
        self.find.take().is_some()
    }

    /// Goes back to where the text stood before it was looked for.
    pub fn forget_and_return(&mut self) {
        if let Some(find) = self.find.take() {
            self.scroll = find.from;
        }
    }

    /// The text that is looked for.
    #[must_use]
    pub fn finds(&self) -> Option<&str> {
        self.find.as_ref().map(|find| find.needle.text())
    }

    /// Asks for the marks in the body, unless that was done or there is nothing to mark.
    pub fn seek(&mut self, query: &Arc<Query>) -> Option<Effect> {
        let sought = match &self.find {
            Some(find) => Sought::Text(find.needle.clone()),
            None => Sought::Filter(query.clone()),
        };
        let wanted = self.body.ready().filter(|_| !sought.is_nothing());
        let same = match (&self.sought, wanted) {
            (Some((body, before)), Some(wanted)) => Arc::ptr_eq(body, wanted) && *before == sought,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if same {
            return None;
        }
        let other_text = self
            .sought
            .as_ref()
            .is_none_or(|(_, before)| *before != sought);
        self.sought = wanted.map(|body| (body.clone(), sought));
        self.marks.clear();
        if other_text {
            self.at = None;
        }
        let (body, sought) = self.sought.clone()?;
        Some(Effect::Seek {
            ticket: self.marks.begin(),
            body,
            sought,
        })
    }

    /// Takes the marks. What a person looks for in the email is gone to at once.
    pub fn settle_marks(&mut self, ticket: Ticket, marks: Vec<Mark>, row: Option<&Row>) {
        if !self.marks.settle(ticket, Ok(marks)) {
            return;
        }
        self.at = self.at.filter(|at| *at < self.marks().len());
        let Some(find) = self.find.as_mut().filter(|find| find.leaps) else {
            return;
        };
        find.leaps = false;
        let from = find.from;
        let head = row.map_or(0, |row| self.head(row).len());
        self.scroll = from;
        if !self.marks().is_empty() {
            let below = self
                .marks()
                .iter()
                .position(|mark| head + mark.line() >= from);
            self.go_to(below.unwrap_or(0), row);
        }
        self.clamp(row);
    }

    /// Whether the marks are on their way.
    #[must_use]
    pub const fn is_seeking(&self) -> bool {
        self.marks.is_awaiting()
    }

    /// What is looked for, where it stands in the body that is shown.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        self.marks.ready().map_or(&[], |marks| marks)
    }

    /// The mark that was gone to last.
    #[must_use]
    pub const fn mark(&self) -> Option<usize> {
        self.at
    }

    /// Goes to the next or the previous mark, past the last to the first; says in words which it is.
    pub fn go_to_mark(&mut self, side: Side, row: Option<&Row>) -> String {
        if self.is_seeking() {
            return "still looking".to_owned();
        }
        let Some(last) = self.marks().len().checked_sub(1) else {
            return match (&self.find, self.sought.is_some()) {
                (Some(find), _) => format!("{} is not in this text", find.needle.text()),
                (None, true) => "nothing of the filter is in this text".to_owned(),
                (None, false) => "nothing is looked for; / finds in this text".to_owned(),
            };
        };
        let at = match (self.at, side) {
            (None, Side::Right) => 0,
            (None, Side::Left) => last,
            (Some(at), Side::Right) if at >= last => 0,
            (Some(at), Side::Right) => at + 1,
            (Some(0), Side::Left) => last,
            (Some(at), Side::Left) => at - 1,
        };
        self.go_to(at, row);
        format!("match {} of {}", at + 1, last + 1)
    }

    fn go_to(&mut self, at: usize, row: Option<&Row>) {
        self.at = Some(at);
        let line = self.marks()[at].line() + row.map_or(0, |row| self.head(row).len());
        let height = usize::from(self.height);
        if line < self.scroll || line >= self.scroll + height {
            self.scroll = line.saturating_sub(height / 3);
            self.clamp(row);
        }
    }
}
