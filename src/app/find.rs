//! What narrowing the list does to the model: the prompt, rows like this one, and the way back.

use std::time::Duration;

use super::command::{Cell, Command, Side};
use super::effect::{Effect, Effects};
use super::filter::Filter;
use super::keymap::told;
use super::keys::Focus;
use super::model::Model;
use super::prompt::{Asked, Edit, Prompt};
use super::slot::Ticket;
use crate::archive::Reach;
use crate::query::{Completion, Field, Needle, Node, Query, Sort, Term, When};

impl Model {
    pub(super) fn begin_filter(&mut self) -> Effect {
        let prompt = Prompt::new(Asked::Filter, self.list.filter().text(), self.spot());
        let asked = self.ask_for_offers(&prompt);
        self.prompt = Some(prompt);
        asked
    }

    /// Opens a line for text to look for in the email from here on. What was looked for last stays
    /// until something is typed.
    pub(super) fn begin_find(&mut self) {
        self.reader.find_from_here();
        self.prompt = Some(Prompt::new(Asked::Text, "", self.spot()));
    }

    fn ask_for_offers(&mut self, prompt: &Prompt) -> Effect {
        Effect::Complete {
            ticket: self.offers.begin(),
            text: prompt.text().to_owned(),
            cursor: prompt.cursor(),
        }
    }

    /// What could stand at the cursor of the prompt.
    #[must_use]
    pub fn offers(&self) -> &[Completion] {
        self.offers.ready().map_or(&[], |offers| offers)
    }

    /// Takes what could stand at the cursor.
    pub(super) fn offered(&mut self, ticket: Ticket, offers: Vec<Completion>) {
        if self.prompt.is_some() {
            self.offers.settle(ticket, Ok(offers));
        }
    }

    pub(super) fn complete(&mut self, side: Side) -> Effects {
        // Offers for another line would be put in the wrong place.
        let offers = self
            .offers
            .ready()
            .filter(|offers| !self.offers.is_awaiting() && !offers.is_empty());
        let (Some(prompt), Some(offers)) = (&mut self.prompt, offers) else {
            return Effects::new();
        };
        prompt.choose(side, offers);
        self.follow()
    }

    pub(super) fn recall(&mut self, side: Side) -> Effects {
        let Some(prompt) = self
            .prompt
            .as_mut()
            .filter(|prompt| prompt.asked() == Asked::Filter)
        else {
            return Effects::new();
        };
        prompt.recall(side, &self.history);
        self.edited(false)
    }

    /// Takes text that was typed or pasted. Where nothing is typed it is not taken for keys.
    pub(super) fn paste(&mut self, text: &str) -> Effects {
        if self.fills_in() && self.help.is_none() {
            self.fill_in(|form| form.insert(text));
            return Effects::new();
        }
        let Some(prompt) = self.prompt.as_mut().filter(|_| self.help.is_none()) else {
            let help = told(
                &self.keys,
                Focus::List,
                [(Command::Filter, "opens a line for it")],
            );
            self.notice = Some(format!("pasted text means nothing here; {help}"));
            return Effects::new();
        };
        prompt.insert(text);
        self.edited(true)
    }

    pub(super) fn edit(&mut self, edit: Edit) -> Effects {
        if let Some(prompt) = &mut self.prompt {
            prompt.edit(edit);
        }
        self.edited(true)
    }

    /// The line is another: by hand, or from the history.
    fn edited(&mut self, by_hand: bool) -> Effects {
        let Some(mut prompt) = self.prompt.take() else {
            return Effects::new();
        };
        if by_hand {
            prompt.keep();
        }
        match prompt.asked() {
            Asked::Date | Asked::View => {
                self.prompt = Some(prompt);
                return Effects::new();
            }
            Asked::Text => {
                self.reader.find(prompt.text());
                self.prompt = Some(prompt);
                return Effects::new();
            }
            Asked::Filter => {}
        }
        let asked = self.ask_for_offers(&prompt);
        self.prompt = Some(prompt);
        let mut effects = self.follow();
        effects.push(asked);
        effects
    }

    /// The list follows what is typed.
    fn follow(&mut self) -> Effects {
        let Some(prompt) = &self.prompt else {
            return Effects::new();
        };
        let filter = Filter::read(prompt.text(), &self.now);
        self.narrow(filter)
    }

    /// Keeps the filter. The name of an operator alone is none yet: its value is to be typed.
    pub(super) fn accept(&mut self) -> Effects {
        /// So many filters are remembered.
        const MOST: usize = 100;
        let Some(mut prompt) = self.prompt.take() else {
            return Effects::new();
        };
        match prompt.asked() {
            Asked::Date => return self.go_to_date(prompt),
            Asked::View => return self.save_view(prompt).into_iter().collect(),
            Asked::Text => return Effects::new(),
            Asked::Filter => {}
        }
        if prompt.keep() && prompt.text()[..prompt.cursor()].ends_with(':') {
            let asked = self.ask_for_offers(&prompt);
            self.prompt = Some(prompt);
            return vec![asked];
        }
        self.offers.clear();
        self.leave(prompt.before().clone());
        let text = self.list.filter().text().to_owned();
        if text.is_empty() || self.history.last() == Some(&text) {
            return Effects::new();
        }
        self.history.retain(|earlier| *earlier != text);
        self.history.push(text.clone());
        let surplus = self.history.len().saturating_sub(MOST);
        self.history.drain(..surplus);
        vec![Effect::Remember {
            ticket: self.remembered.begin(),
            text,
        }]
    }

    /// Goes to the newest email of that time, or the oldest where the oldest come first. What is no
    /// time stays in the line.
    fn go_to_date(&mut self, prompt: Prompt) -> Effects {
        if prompt.text().trim().is_empty() {
            return Effects::new();
        }
        let Some(moment) = When::parse(prompt.text().trim()).and_then(|when| when.at(&self.now))
        else {
            self.prompt = Some(prompt.refused());
            return Effects::new();
        };
        if let Some(Reach::Since(stamp)) = self.service.reach()
            && let Some(at) = stamp.at.filter(|at| *at > moment.start)
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
            Sort::Newest => moment.start.max(moment.end - Duration::from_micros(1)),
            Sort::Oldest => moment.start,
        };
        self.trail.leave(self.spot());
        vec![self.list.go_to(micros.as_microsecond())]
    }

    pub(super) fn cancel(&mut self) -> Effects {
        let Some(prompt) = self.prompt.take() else {
            return Effects::new();
        };
        match prompt.asked() {
            Asked::Filter => {
                self.offers.clear();
                self.narrow(prompt.before().filter.clone())
            }
            Asked::Text => {
                self.reader.forget_and_return();
                Effects::new()
            }
            Asked::Date | Asked::View => Effects::new(),
        }
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
            Cell::Domain => recipient
                .and_then(|to| Needle::new(to.domain()))
                .map(Term::Domain),
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
        self.show(Filter::of(
            Query {
                filter,
                sort: query.sort,
            },
            &self.now,
        ))
    }
}
