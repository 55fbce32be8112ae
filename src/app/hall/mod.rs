//! The hall: what stands before the mail, with a door to each place one can go to.
//!
//! It has three faces: the set-up screen where nothing is set up yet, the chooser of profiles, and a
//! question that must be answered before a door opens.

mod act;
mod door;
mod form;

pub use door::{Answer, Arrival, Choice, Door, Kept, Question, Welcome};
pub use form::{Field, Form};

use super::slot::Slot;
use crate::failure::Failure;

/// What is shown before the mail, or over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Hall {
    /// Which face it has.
    pub face: Face,
    /// The item that is marked.
    pub chosen: usize,
    /// Why the last door did not open.
    pub trouble: Option<Failure>,
    /// The door that is being opened, or the key that is being tried.
    pub(super) waiting: Slot<()>,
}

/// Which of its faces the hall shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Face {
    /// Nothing is set up yet.
    SetUp {
        /// What there is to say.
        welcome: Welcome,
        /// The key and the address, while they are put in.
        form: Option<Form>,
    },
    /// The profiles, once they are known.
    Profiles(Slot<Vec<Choice>>),
    /// A question; whoever has no mail behind it cannot go back.
    Question {
        /// What is asked.
        question: Question,
        /// Whether there is mail behind it.
        over_mail: bool,
    },
}

/// What can be marked and taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The name of it.
    pub label: String,
    /// More about it, in columns.
    pub words: Vec<String>,
    /// What comes of taking it.
    pub(super) act: Act,
}

/// What comes of taking an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    /// The form opens.
    LogIn,
    /// A door opens.
    Enter(Door, Answer),
    /// The hall closes, and the mail behind it is shown.
    Stay,
    /// The program ends.
    Leave,
}

impl Hall {
    fn new(face: Face) -> Self {
        Self {
            face,
            chosen: 0,
            trouble: None,
            waiting: Slot::default(),
        }
    }

    /// The set-up screen.
    #[must_use]
    pub fn set_up(welcome: Welcome) -> Self {
        Self::new(Face::SetUp {
            welcome,
            form: None,
        })
    }

    /// A question before there is any mail.
    #[must_use]
    pub fn question(question: Question) -> Self {
        Self::new(Face::Question {
            question,
            over_mail: false,
        })
    }

    /// What can be marked and taken, top to bottom. `here` is the door that the mail behind belongs to.
    #[must_use]
    pub fn items(&self, here: &Door) -> Vec<Item> {
        let item = |label: &str, words: &str, act| Item {
            label: label.to_owned(),
            words: vec![words.to_owned()],
            act,
        };
        match &self.face {
            Face::SetUp { welcome, .. } => {
                let mut items = Vec::new();
                if welcome.place.is_ok() {
                    items.push(item("Log in", "type or paste an API key", Act::LogIn));
                }
                items.extend(welcome.profiles.iter().map(|(name, base_url)| {
                    let door = Door::Profile(name.clone());
                    item(
                        &format!("Open {name}"),
                        base_url,
                        Act::Enter(door, Answer::None),
                    )
                }));
                items.push(item(
                    "Look around",
                    "a sample mailbox: no key, nothing kept",
                    Act::Enter(Door::Demo, Answer::None),
                ));
                items.push(item("Leave", "", Act::Leave));
                items
            }
            Face::Profiles(choices) => {
                let choices = choices.ready().map_or(&[][..], |choices| choices);
                choices
                    .iter()
                    .map(|choice| choice.item(choice.door == *here))
                    .collect()
            }
            Face::Question {
                question,
                over_mail,
            } => {
                let mut items: Vec<Item> = question
                    .answers
                    .iter()
                    .map(|(answer, words)| {
                        item(words, "", Act::Enter(question.door.clone(), *answer))
                    })
                    .collect();
                items.push(if *over_mail {
                    item("Stay here", "", Act::Stay)
                } else {
                    item("Leave", "nothing is changed", Act::Leave)
                });
                items
            }
        }
    }

    /// Whether something is being waited for.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.waiting.is_awaiting()
    }

    /// The form, while it is filled in.
    #[must_use]
    pub const fn form(&self) -> Option<&Form> {
        match &self.face {
            Face::SetUp { form, .. } => form.as_ref(),
            Face::Profiles(_) | Face::Question { .. } => None,
        }
    }

    /// Whether there is mail behind it to go back to.
    #[must_use]
    pub const fn is_over_mail(&self) -> bool {
        match &self.face {
            Face::SetUp { .. } => false,
            Face::Profiles(_) => true,
            Face::Question { over_mail, .. } => *over_mail,
        }
    }
}
