//! What choosing in the hall does to the model.

use super::{Act, Answer, Arrival, Choice, Door, Face, Form, Hall, Question};
use crate::app::command::Side;
use crate::app::effect::Effect;
use crate::app::model::{Ending, Model};
use crate::app::prompt::Edit;
use crate::app::slot::{Slot, Ticket};
use crate::failure::{Failure, Kind};

impl Model {
    /// Opens the chooser of profiles.
    pub(in crate::app) fn choose_profile(&mut self) -> Effect {
        let mut choices = Slot::default();
        let asked = Effect::Doors {
            ticket: choices.begin(),
        };
        self.hall = Some(Hall::new(Face::Profiles(choices)));
        asked
    }

    /// Takes the profiles; the one that is shown is marked.
    pub(in crate::app) fn learn_doors(
        &mut self,
        ticket: Ticket,
        outcome: Result<Vec<Choice>, Failure>,
    ) {
        let Some(hall) = &mut self.hall else { return };
        let Face::Profiles(choices) = &mut hall.face else {
            return;
        };
        hall.trouble = outcome.as_ref().err().cloned();
        if choices.settle(ticket, outcome) {
            let here = choices
                .ready()
                .and_then(|choices| choices.iter().position(|choice| choice.door == self.door));
            hall.chosen = here.unwrap_or(0);
        }
    }

    /// Marks the next or the previous item.
    pub(in crate::app) fn mark_item(&mut self, side: Side) {
        let Some(hall) = &mut self.hall else { return };
        let last = hall.items(&self.door).len().saturating_sub(1);
        hall.chosen = match side {
            Side::Left => hall.chosen.saturating_sub(1),
            Side::Right => (hall.chosen + 1).min(last),
        };
    }

    /// Takes the marked item.
    pub(in crate::app) fn take_item(&mut self) -> Option<Effect> {
        let hall = self.hall.as_mut().filter(|hall| !hall.is_waiting())?;
        hall.trouble = None;
        match hall.items(&self.door).into_iter().nth(hall.chosen)?.act {
            Act::LogIn => {
                if let Face::SetUp { welcome, form } = &mut hall.face {
                    *form = Some(Form::new(&welcome.base_url));
                }
            }
            Act::Enter(door, answer) => {
                return Some(Effect::Enter {
                    ticket: hall.waiting.begin(),
                    door,
                    answer,
                });
            }
            Act::Stay => self.hall = None,
            Act::Leave => self.ending = Some(Ending::Quit),
        }
        None
    }

    /// Goes back one step in the hall; says whether there was one.
    pub(in crate::app) fn peel_hall(&mut self) -> bool {
        let Some(hall) = &mut self.hall else {
            return false;
        };
        if hall.is_waiting() {
            hall.waiting.clear();
            return true;
        }
        if let Face::SetUp { form, .. } = &mut hall.face
            && form.take().is_some()
        {
            hall.trouble = None;
            return true;
        }
        let over_mail = hall.is_over_mail();
        if over_mail {
            self.hall = None;
        }
        over_mail
    }

    /// Whether the form is being filled in, so that letters are letters.
    #[must_use]
    pub const fn fills_in(&self) -> bool {
        match &self.hall {
            Some(hall) => hall.form().is_some(),
            None => false,
        }
    }

    /// Changes the form, unless its key is being tried.
    pub(in crate::app) fn fill_in(&mut self, change: impl FnOnce(&mut Form)) {
        let Some(hall) = self.hall.as_mut().filter(|hall| !hall.is_waiting()) else {
            return;
        };
        if let Face::SetUp {
            form: Some(form), ..
        } = &mut hall.face
        {
            change(form);
        }
    }

    pub(in crate::app) fn edit_form(&mut self, edit: Edit) {
        self.fill_in(|form| form.edit(edit));
    }

    /// Has the key tried.
    pub(in crate::app) fn log_in(&mut self) -> Option<Effect> {
        let hall = self.hall.as_mut().filter(|hall| !hall.is_waiting())?;
        let Face::SetUp {
            form: Some(form), ..
        } = &hall.face
        else {
            return None;
        };
        let (base_url, key) = (form.base_url().to_owned(), form.key().clone());
        if key.letters() == 0 {
            hall.trouble = Some(
                Failure::new(Kind::KeyMissing, "there is no key yet")
                    .hint("type it or paste it; it is not shown"),
            );
            return None;
        }
        hall.trouble = None;
        Some(Effect::Check {
            ticket: hall.waiting.begin(),
            base_url,
            key,
        })
    }

    /// The key was tried: a good one opens its door.
    pub(in crate::app) fn checked(
        &mut self,
        ticket: Ticket,
        outcome: Result<(), Failure>,
    ) -> Option<Effect> {
        let hall = self.hall.as_mut()?;
        if !hall.waiting.settle(ticket, Ok(())) {
            return None;
        }
        let Face::SetUp {
            form: Some(form), ..
        } = &hall.face
        else {
            return None;
        };
        match outcome {
            Ok(()) => {
                let door = Door::New {
                    base_url: form.base_url().to_owned(),
                    key: form.key().clone(),
                };
                Some(Effect::Enter {
                    ticket: hall.waiting.begin(),
                    door,
                    answer: Answer::None,
                })
            }
            Err(failure) => {
                hall.trouble = Some(failure);
                None
            }
        }
    }

    /// A door is open, or asks, or stays shut.
    pub(in crate::app) fn entered(&mut self, ticket: Ticket, outcome: Result<Arrival, Failure>) {
        let Some(hall) = &mut self.hall else { return };
        if !hall.waiting.settle(ticket, Ok(())) {
            return;
        }
        match outcome {
            Ok(Arrival::Open) => self.leaving = true,
            Ok(Arrival::Asks(question)) => self.ask(question),
            Err(failure) => hall.trouble = Some(failure),
        }
    }

    fn ask(&mut self, question: Question) {
        let over_mail = self.hall.as_ref().is_some_and(Hall::is_over_mail);
        self.hall = Some(Hall::new(Face::Question {
            question,
            over_mail,
        }));
    }
}
