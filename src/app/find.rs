//! What narrowing the list does to the model: the prompt, rows like this one, and the way back.

use super::command::Cell;
use super::effect::Effects;
use super::filter::Filter;
use super::model::Model;
use super::prompt::{Edit, Prompt};
use crate::query::{Field, Needle, Node, Query, Term};

impl Model {
    pub(super) fn begin_filter(&mut self) {
        self.prompt = Some(Prompt::new(self.list.filter().clone()));
    }

    /// Takes text that was typed or pasted. Where nothing is typed it is not taken for keys.
    pub(super) fn paste(&mut self, text: &str) -> Effects {
        let Some(prompt) = self.prompt.as_mut().filter(|_| self.help.is_none()) else {
            self.notice = Some("pasted text means nothing here; / opens a line for it".to_owned());
            return Effects::new();
        };
        prompt.insert(text);
        self.edited()
    }

    pub(super) fn edit(&mut self, edit: Edit) -> Effects {
        if let Some(prompt) = &mut self.prompt {
            prompt.edit(edit);
        }
        self.edited()
    }

    /// The list follows what is typed.
    fn edited(&mut self) -> Effects {
        let Some(prompt) = &self.prompt else { return Effects::new() };
        let filter = Filter::read(prompt.text(), &self.now);
        self.narrow(filter)
    }

    pub(super) fn accept(&mut self) {
        let Some(prompt) = self.prompt.take() else { return };
        self.leave(prompt.before().clone());
    }

    pub(super) fn cancel(&mut self) -> Effects {
        let Some(prompt) = self.prompt.take() else { return Effects::new() };
        self.narrow(prompt.before().clone())
    }

    /// Only emails that have this in common with the selected one, of those that are shown.
    pub(super) fn only(&mut self, cell: Cell) -> Effects {
        let Some(row) = self.list.selected() else {
            self.notice = Some("there is no email here to go by".to_owned());
            return Effects::new();
        };
        let summary = &row.summary;
        let text = |field, text: &str| Needle::new(text).map(|needle| Term::Text(field, needle));
        let recipient = summary.to.first();
        let term = match cell {
            Cell::Recipient => recipient.and_then(|to| text(Field::To, &to.email)),
            Cell::Domain => recipient.and_then(|to| Needle::new(to.domain())).map(Term::Domain),
            Cell::Subject => text(Field::Subject, &summary.subject),
            Cell::Sender => text(Field::From, &summary.from.email),
            Cell::Status => Some(Term::Status(vec![summary.status.clone()])),
        };
        let Some(term) = term else {
            self.notice = Some("this email has nothing there to go by".to_owned());
            return Effects::new();
        };
        let query = self.list.filter().query();
        let filter = Node::all([query.filter.clone(), Node::Term(term)]);
        self.show(Filter::of(Query { filter, sort: query.sort }))
    }

    pub(super) fn undo(&mut self) -> Effects {
        let Some(filter) = self.past.pop() else {
            self.notice = Some("there is nothing to undo".to_owned());
            return Effects::new();
        };
        self.future.push(self.list.filter().clone());
        self.narrow(filter)
    }

    pub(super) fn redo(&mut self) -> Effects {
        let Some(filter) = self.future.pop() else {
            self.notice = Some("there is nothing to redo".to_owned());
            return Effects::new();
        };
        self.past.push(self.list.filter().clone());
        self.narrow(filter)
    }

    /// Shows another filter, and remembers the one that was left.
    pub(super) fn show(&mut self, filter: Filter) -> Effects {
        let before = self.list.filter().clone();
        let effects = self.narrow(filter);
        self.leave(before);
        effects
    }

    fn leave(&mut self, before: Filter) {
        if before.query() != self.list.filter().query() {
            self.past.push(before);
            self.future.clear();
        }
    }

    fn narrow(&mut self, filter: Filter) -> Effects {
        let asked = self.list.narrow(filter);
        if asked.is_some() {
            self.look_back = None;
            self.counts.clear();
        }
        asked.into_iter().collect()
    }
}
