//! What narrowing the list does to the model: the prompt, rows like this one, and the way back.

use std::time::Duration;

use super::commands::{Command, Direction, RowField};
use super::effect::Effect;
use super::filter::Filter;
use super::model::Model;
use super::pending::RequestId;
use super::prompt::{LineEdit, Prompt, PromptKind};
use super::start::LoginForm;
use crate::archive::Coverage;
use crate::query::{Completion, DateExpr, Field, Node, Query, SearchText, SortOrder, Term};

impl Model {
    pub(super) fn open_date_prompt(&mut self) {
        self.prompt = Some(Prompt::new(PromptKind::Date, "", self.history_entry()));
    }

    pub(super) fn open_filter_prompt(&mut self) {
        let prompt = Prompt::new(
            PromptKind::Filter,
            self.list.filter.text(),
            self.history_entry(),
        );
        self.request_suggestions(&prompt);
        self.prompt = Some(prompt);
    }

    /// Opens a line for text to look for in the email from here on. What was looked for last stays
    /// until something is typed.
    pub(super) fn open_find_prompt(&mut self) {
        self.reader.find_from_here();
        self.prompt = Some(Prompt::new(PromptKind::Find, "", self.history_entry()));
    }

    fn request_suggestions(&mut self, prompt: &Prompt) {
        self.outbox.push(Effect::LoadSuggestions {
            request: self.suggestions.start(),
            text: prompt.text().to_owned(),
            cursor: prompt.cursor(),
        });
    }

    /// What could stand at the cursor of the prompt.
    pub fn suggestions(&self) -> &[Completion] {
        self.suggestions.value().map_or(&[], |offers| offers)
    }

    /// Takes what could stand at the cursor.
    pub(super) fn apply_suggestions(&mut self, request: RequestId, offers: Vec<Completion>) {
        if self.prompt.is_some() {
            self.suggestions.resolve(request, Ok(offers));
        }
    }

    pub(super) fn cycle_suggestion(&mut self, side: Direction) {
        if self.is_form_open() {
            self.edit_form_with(LoginForm::next_field);
            return;
        }
        // Offers for another line would be put in the wrong place.
        let offers = self
            .suggestions
            .value()
            .filter(|offers| !self.suggestions.is_pending() && !offers.is_empty());
        let (Some(prompt), Some(offers)) = (&mut self.prompt, offers) else {
            return;
        };
        prompt.cycle_suggestion(side, offers);
        self.apply_prompt_filter();
    }

    pub(super) fn recall_filter(&mut self, side: Direction) {
        let Some(prompt) = self
            .prompt
            .as_mut()
            .filter(|prompt| prompt.kind == PromptKind::Filter)
        else {
            return;
        };
        prompt.recall_filter(side, &self.filter_history);
        self.apply_prompt_change(false);
    }

    /// Takes text that was typed or pasted. Where nothing is typed it is not taken for keys.
    pub(super) fn insert_text(&mut self, text: &str) {
        if self.is_form_open() && self.help.is_none() {
            self.edit_form_with(|form| form.insert(text));
            return;
        }
        let Some(prompt) = self.prompt.as_mut().filter(|_| self.help.is_none()) else {
            self.notify_with("nothing to paste into", Command::Filter, "opens a prompt");
            return;
        };
        prompt.insert(text);
        self.apply_prompt_change(true);
    }

    pub(super) fn edit_prompt(&mut self, edit: LineEdit) {
        if self.is_form_open() {
            self.edit_form_with(|form| form.edit(edit));
            return;
        }
        if let Some(prompt) = &mut self.prompt {
            prompt.edit(edit);
        }
        self.apply_prompt_change(true);
    }

    /// The line is another: by hand, or from the history.
    fn apply_prompt_change(&mut self, by_hand: bool) {
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        if by_hand {
            prompt.accept_suggestion();
        }
        match prompt.kind {
            PromptKind::Date | PromptKind::SaveView => {
                self.prompt = Some(prompt);
                return;
            }
            PromptKind::Find => {
                self.reader.set_find_text(prompt.text());
                self.prompt = Some(prompt);
                return;
            }
            PromptKind::Filter => {}
        }
        self.prompt = Some(prompt.clone());
        self.apply_prompt_filter();
        self.request_suggestions(&prompt);
    }

    /// The list follows what is typed.
    fn apply_prompt_filter(&mut self) {
        let Some(prompt) = &self.prompt else {
            return;
        };
        let filter = Filter::parse(prompt.text(), &self.now);
        self.set_filter(filter);
    }

    /// Keeps the filter. The name of an operator alone is none yet: its value is to be typed.
    pub(super) fn accept_prompt(&mut self) {
        /// How many filters are remembered.
        const MOST: usize = 100;
        if self.is_form_open() {
            self.log_in();
            return;
        }
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        match prompt.kind {
            PromptKind::Date => return self.go_to_date(prompt),
            PromptKind::SaveView => return self.save_view(prompt),
            PromptKind::Find => return,
            PromptKind::Filter => {}
        }
        if prompt.accept_suggestion() && prompt.text()[..prompt.cursor()].ends_with(':') {
            self.request_suggestions(&prompt);
            self.prompt = Some(prompt);
            return;
        }
        self.suggestions.reset();
        self.record_history(prompt.origin.clone());
        let text = self.list.filter.text().to_owned();
        if text.is_empty() || self.filter_history.last() == Some(&text) {
            return;
        }
        self.filter_history.retain(|earlier| *earlier != text);
        self.filter_history.push(text.clone());
        let surplus = self.filter_history.len().saturating_sub(MOST);
        self.filter_history.drain(..surplus);
        self.outbox
            .push(Effect::SaveHistory(self.history_save.start(), text));
    }

    /// Goes to the newest email of that time, or the oldest where the oldest come first. What is no
    /// time stays in the line.
    fn go_to_date(&mut self, prompt: Prompt) {
        if prompt.text().trim().is_empty() {
            return;
        }
        let Some(moment) =
            DateExpr::parse(prompt.text().trim()).and_then(|when| when.resolve(&self.now))
        else {
            self.prompt = Some(prompt.reject());
            return;
        };
        if let Some(Coverage::Since(stamp)) = self.service.reach.as_ref()
            && let Some(at) = stamp.parsed.filter(|at| *at > moment.start)
        {
            let day = at
                .to_zoned(self.now.time_zone().clone())
                .strftime("%-d %b %Y")
                .to_string();
            let text = format!("mail is loaded since {day}");
            self.notify_with(&text, Command::LoadOlder, "searches older mail");
        }
        let micros = match self.list.filter.query().sort {
            SortOrder::Newest => moment.start.max(moment.end - Duration::from_micros(1)),
            SortOrder::Oldest => moment.start,
        };
        self.history.push(self.history_entry());
        let effect = self.list.jump_to_time(micros.as_microsecond());
        self.outbox.push(effect);
    }

    pub(super) fn cancel_prompt(&mut self) {
        if self.is_form_open() {
            self.close_start_layer();
            return;
        }
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        match prompt.kind {
            PromptKind::Filter => {
                self.suggestions.reset();
                self.set_filter(prompt.origin.filter.clone());
            }
            PromptKind::Find => self.reader.cancel_find(),
            PromptKind::Date | PromptKind::SaveView => {}
        }
    }

    /// Only emails that have this in common with the selected one, of those that are shown.
    pub(super) fn filter_by(&mut self, cell: RowField) {
        let Some(row) = self.list.selected() else {
            return;
        };
        let summary = &row.summary;
        let text =
            |field, text: &str| SearchText::new(text).map(|needle| Term::Text(field, needle));
        let recipient = summary.to.first();
        let term = match cell {
            RowField::Recipient => recipient.and_then(|to| text(Field::To, &to.email)),
            RowField::Domain => recipient
                .and_then(|to| SearchText::new(to.domain()))
                .map(Term::Domain),
            RowField::Subject => text(Field::Subject, &summary.subject),
            RowField::Sender => text(Field::From, &summary.from.email),
            RowField::Status => Some(Term::Status(vec![summary.status.clone()])),
        };
        let Some(term) = term else {
            self.notify("this email has no such field");
            return;
        };
        let query = self.list.filter.query();
        let filter = Node::all([query.filter.clone(), Node::Term(term)]);
        self.show_filter(Filter::from_query(
            Query {
                filter,
                sort: query.sort,
            },
            &self.now,
        ));
    }
}
