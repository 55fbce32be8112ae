//! What narrowing the list does to the model: the prompt, rows like this one, and the way back.

use std::time::Duration;

use super::command::{Command, Direction, RowField};
use super::effect::{Effect, Effects};
use super::filter::Filter;
use super::key::Focus;
use super::keymap::key_hints;
use super::model::Model;
use super::pending::RequestId;
use super::prompt::{LineEdit, Prompt, PromptKind};
use crate::archive::Coverage;
use crate::query::{Completion, DateExpr, Field, Node, Query, SearchText, SortOrder, Term};

impl Model {
    pub(super) fn open_filter_prompt(&mut self) -> Effect {
        let prompt = Prompt::new(
            PromptKind::Filter,
            self.list.filter().text(),
            self.history_entry(),
        );
        let asked = self.request_suggestions(&prompt);
        self.prompt = Some(prompt);
        asked
    }

    /// Opens a line for text to look for in the email from here on. What was looked for last stays
    /// until something is typed.
    pub(super) fn open_find_prompt(&mut self) {
        self.reader.find_from_here();
        self.prompt = Some(Prompt::new(PromptKind::Find, "", self.history_entry()));
    }

    fn request_suggestions(&mut self, prompt: &Prompt) -> Effect {
        Effect::LoadSuggestions {
            ticket: self.suggestions.start(),
            text: prompt.text().to_owned(),
            cursor: prompt.cursor(),
        }
    }

    /// What could stand at the cursor of the prompt.
    #[must_use]
    pub fn suggestions(&self) -> &[Completion] {
        self.suggestions.value().map_or(&[], |offers| offers)
    }

    /// Takes what could stand at the cursor.
    pub(super) fn apply_suggestions(&mut self, ticket: RequestId, offers: Vec<Completion>) {
        if self.prompt.is_some() {
            self.suggestions.resolve(ticket, Ok(offers));
        }
    }

    pub(super) fn cycle_suggestion(&mut self, side: Direction) -> Effects {
        // Offers for another line would be put in the wrong place.
        let offers = self
            .suggestions
            .value()
            .filter(|offers| !self.suggestions.is_pending() && !offers.is_empty());
        let (Some(prompt), Some(offers)) = (&mut self.prompt, offers) else {
            return Effects::new();
        };
        prompt.cycle_suggestion(side, offers);
        self.apply_prompt_filter()
    }

    pub(super) fn recall_filter(&mut self, side: Direction) -> Effects {
        let Some(prompt) = self
            .prompt
            .as_mut()
            .filter(|prompt| prompt.kind() == PromptKind::Filter)
        else {
            return Effects::new();
        };
        prompt.recall_filter(side, &self.filter_history);
        self.apply_prompt_change(false)
    }

    /// Takes text that was typed or pasted. Where nothing is typed it is not taken for keys.
    pub(super) fn insert_text(&mut self, text: &str) -> Effects {
        if self.is_form_open() && self.help.is_none() {
            self.edit_form_with(|form| form.insert(text));
            return Effects::new();
        }
        let Some(prompt) = self.prompt.as_mut().filter(|_| self.help.is_none()) else {
            let help = key_hints(
                &self.keymap,
                Focus::List,
                [(Command::Filter, "opens a line for it")],
            );
            self.notice = Some(format!("pasted text means nothing here; {help}"));
            return Effects::new();
        };
        prompt.insert(text);
        self.apply_prompt_change(true)
    }

    pub(super) fn edit_prompt(&mut self, edit: LineEdit) -> Effects {
        if let Some(prompt) = &mut self.prompt {
            prompt.edit(edit);
        }
        self.apply_prompt_change(true)
    }

    /// The line is another: by hand, or from the history.
    fn apply_prompt_change(&mut self, by_hand: bool) -> Effects {
        let Some(mut prompt) = self.prompt.take() else {
            return Effects::new();
        };
        if by_hand {
            prompt.accept_suggestion();
        }
        match prompt.kind() {
            PromptKind::Date | PromptKind::SaveView => {
                self.prompt = Some(prompt);
                return Effects::new();
            }
            PromptKind::Find => {
                self.reader.set_find_text(prompt.text());
                self.prompt = Some(prompt);
                return Effects::new();
            }
            PromptKind::Filter => {}
        }
        let asked = self.request_suggestions(&prompt);
        self.prompt = Some(prompt);
        let mut effects = self.apply_prompt_filter();
        effects.push(asked);
        effects
    }

    /// The list follows what is typed.
    fn apply_prompt_filter(&mut self) -> Effects {
        let Some(prompt) = &self.prompt else {
            return Effects::new();
        };
        let filter = Filter::parse(prompt.text(), &self.now);
        self.set_filter(filter)
    }

    /// Keeps the filter. The name of an operator alone is none yet: its value is to be typed.
    pub(super) fn accept_prompt(&mut self) -> Effects {
        /// So many filters are remembered.
        const MOST: usize = 100;
        let Some(mut prompt) = self.prompt.take() else {
            return Effects::new();
        };
        match prompt.kind() {
            PromptKind::Date => return self.go_to_date(prompt),
            PromptKind::SaveView => return self.save_view(prompt).into_iter().collect(),
            PromptKind::Find => return Effects::new(),
            PromptKind::Filter => {}
        }
        if prompt.accept_suggestion() && prompt.text()[..prompt.cursor()].ends_with(':') {
            let asked = self.request_suggestions(&prompt);
            self.prompt = Some(prompt);
            return vec![asked];
        }
        self.suggestions.reset();
        self.record_history(prompt.origin().clone());
        let text = self.list.filter().text().to_owned();
        if text.is_empty() || self.filter_history.last() == Some(&text) {
            return Effects::new();
        }
        self.filter_history.retain(|earlier| *earlier != text);
        self.filter_history.push(text.clone());
        let surplus = self.filter_history.len().saturating_sub(MOST);
        self.filter_history.drain(..surplus);
        vec![Effect::SaveHistory {
            ticket: self.history_save.start(),
            text,
        }]
    }

    /// Goes to the newest email of that time, or the oldest where the oldest come first. What is no
    /// time stays in the line.
    fn go_to_date(&mut self, prompt: Prompt) -> Effects {
        if prompt.text().trim().is_empty() {
            return Effects::new();
        }
        let Some(moment) =
            DateExpr::parse(prompt.text().trim()).and_then(|when| when.resolve(&self.now))
        else {
            self.prompt = Some(prompt.reject());
            return Effects::new();
        };
        if let Some(Coverage::Since(stamp)) = self.service.reach()
            && let Some(at) = stamp.parsed.filter(|at| *at > moment.start)
        {
            let day = at
                .to_zoned(self.now.time_zone().clone())
                .strftime("%-d %b %Y")
                .to_string();
            self.notice = Some(format!(
                "what is known begins on {day}; b looks further back"
            ));
        }
        let micros = match self.list.filter().query().sort {
            SortOrder::Newest => moment.start.max(moment.end - Duration::from_micros(1)),
            SortOrder::Oldest => moment.start,
        };
        self.history.push(self.history_entry());
        vec![self.list.jump_to_time(micros.as_microsecond())]
    }

    pub(super) fn cancel_prompt(&mut self) -> Effects {
        let Some(prompt) = self.prompt.take() else {
            return Effects::new();
        };
        match prompt.kind() {
            PromptKind::Filter => {
                self.suggestions.reset();
                self.set_filter(prompt.origin().filter.clone())
            }
            PromptKind::Find => {
                self.reader.cancel_find();
                Effects::new()
            }
            PromptKind::Date | PromptKind::SaveView => Effects::new(),
        }
    }

    /// Only emails that have this in common with the selected one, of those that are shown.
    pub(super) fn filter_by(&mut self, cell: RowField) -> Effects {
        let Some(row) = self.list.selected() else {
            self.notice = Some("there is no email here to go by".to_owned());
            return Effects::new();
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
            self.notice = Some("this email has nothing there to go by".to_owned());
            return Effects::new();
        };
        let query = self.list.filter().query();
        let filter = Node::all([query.filter.clone(), Node::Term(term)]);
        self.show_filter(Filter::from_query(
            Query {
                filter,
                sort: query.sort,
            },
            &self.now,
        ))
    }
}
