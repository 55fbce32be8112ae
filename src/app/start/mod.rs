//! The hall: what stands before the mail, with a door to each place one can go to.
//!
//! It has three faces: the set-up screen where nothing is set up yet, the chooser of profiles, and a
//! question that must be answered before a door opens.

mod actions;
mod form;
mod target;

pub use form::{FormField, LoginForm};
pub use target::{
    ConfirmAnswer, ConfirmDialog, OpenOutcome, ProfileChoice, SessionTarget, SetupInfo, StorageMode,
};

use super::pending::Pending;
use crate::error::Error;

/// What is shown before the mail, or over it.
#[derive(Debug, Clone, PartialEq)]
pub struct StartScreen {
    /// Which face it has.
    pub kind: StartScreenKind,
    /// The item that is marked.
    pub selected: usize,
    /// Why the last door did not open.
    pub error: Option<Error>,
    /// The door that is being opened, or the key that is being tried.
    pub(super) pending: Pending<()>,
}

/// Which of its faces the hall shows.
#[derive(Debug, Clone, PartialEq)]
pub enum StartScreenKind {
    /// Nothing is set up yet.
    SetUp {
        /// What there is to say.
        welcome: SetupInfo,
        /// The key and the address, while they are put in.
        form: Option<LoginForm>,
    },
    /// The profiles, once they are known.
    Profiles(Pending<Vec<ProfileChoice>>),
    /// A question; whoever has no mail behind it cannot go back.
    Confirm {
        /// What is asked.
        question: ConfirmDialog,
        /// Whether there is mail behind it.
        over_mail: bool,
    },
}

/// What can be marked and taken.
#[derive(Debug, Clone, PartialEq)]
pub struct StartItem {
    /// The name of it.
    pub label: String,
    /// More about it, in columns.
    pub columns: Vec<String>,
    /// What comes of taking it.
    pub(super) action: StartAction,
}

/// What comes of taking an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StartAction {
    /// The form opens.
    LogIn,
    /// A door opens.
    OpenSession(SessionTarget, ConfirmAnswer),
    /// The hall closes, and the mail behind it is shown.
    Close,
    /// The program ends.
    Quit,
}

impl StartScreen {
    fn new(face: StartScreenKind) -> Self {
        Self {
            kind: face,
            selected: 0,
            error: None,
            pending: Pending::default(),
        }
    }

    /// The set-up screen.
    pub fn setup(welcome: SetupInfo) -> Self {
        Self::new(StartScreenKind::SetUp {
            welcome,
            form: None,
        })
    }

    /// A question before there is any mail.
    pub fn confirm(question: ConfirmDialog) -> Self {
        Self::new(StartScreenKind::Confirm {
            question,
            over_mail: false,
        })
    }

    /// What can be marked and taken, top to bottom. `here` is the door that the mail behind belongs to.
    pub fn items(&self, here: &SessionTarget) -> Vec<StartItem> {
        let item = |label: &str, words: &str, act| StartItem {
            label: label.to_owned(),
            columns: vec![words.to_owned()],
            action: act,
        };
        match &self.kind {
            StartScreenKind::SetUp { welcome, .. } => {
                let mut items = Vec::new();
                if welcome.storage.is_ok() {
                    items.push(item(
                        "Log in",
                        "type or paste an API key",
                        StartAction::LogIn,
                    ));
                }
                items.extend(welcome.profiles.iter().map(|(name, base_url)| {
                    let door = SessionTarget::Profile(name.clone());
                    item(
                        &format!("Open {name}"),
                        base_url,
                        StartAction::OpenSession(door, ConfirmAnswer::None),
                    )
                }));
                items.push(item(
                    "Look around",
                    "a sample mailbox: no key, nothing kept",
                    StartAction::OpenSession(SessionTarget::Demo, ConfirmAnswer::None),
                ));
                items.push(item("Leave", "", StartAction::Quit));
                items
            }
            StartScreenKind::Profiles(choices) => {
                let choices = choices.value().map_or(&[][..], |choices| choices);
                choices
                    .iter()
                    .map(|choice| choice.to_item(choice.target == *here))
                    .collect()
            }
            StartScreenKind::Confirm {
                question,
                over_mail,
            } => {
                let mut items: Vec<StartItem> = question
                    .answers
                    .iter()
                    .map(|(answer, words)| {
                        item(
                            words,
                            "",
                            StartAction::OpenSession(question.target.clone(), *answer),
                        )
                    })
                    .collect();
                items.push(if *over_mail {
                    item("Stay here", "", StartAction::Close)
                } else {
                    item("Leave", "nothing is changed", StartAction::Quit)
                });
                items
            }
        }
    }

    /// Whether something is being waited for.
    pub const fn is_pending(&self) -> bool {
        self.pending.is_pending()
    }

    /// The form, while it is filled in.
    pub const fn form(&self) -> Option<&LoginForm> {
        match &self.kind {
            StartScreenKind::SetUp { form, .. } => form.as_ref(),
            StartScreenKind::Profiles(_) | StartScreenKind::Confirm { .. } => None,
        }
    }

    /// Whether there is mail behind it to go back to.
    pub const fn has_mail_behind(&self) -> bool {
        match &self.kind {
            StartScreenKind::SetUp { .. } => false,
            StartScreenKind::Profiles(_) => true,
            StartScreenKind::Confirm { over_mail, .. } => *over_mail,
        }
    }
}
