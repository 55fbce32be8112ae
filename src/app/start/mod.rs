//! The start screens, before the mail or over it, where the user chooses a session.
//!
//! There are three: the set-up screen without a configuration, the list of profiles, and a question
//! that must be answered before a session opens.

mod actions;
mod form;
mod target;

pub use form::{FormField, LoginForm};
pub use target::{
    ConfirmAnswer, ConfirmDialog, OpenOutcome, ProfileChoice, SessionTarget, SetupInfo, StorageMode,
};

use super::pending::Pending;
use crate::error::Error;

/// A screen before the mail, or over it.
#[derive(Debug, Clone, PartialEq)]
pub struct StartScreen {
    pub kind: StartScreenKind,
    /// The index of the selected item.
    pub selected: usize,
    /// Why the last session was not opened.
    pub error: Option<Error>,
    /// The session that is opening, or the key that is being verified.
    pub(super) pending: Pending<()>,
}

/// The three start screens.
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
    /// A question; without mail behind it there is no way back.
    Confirm {
        /// What is asked.
        question: ConfirmDialog,
        /// Whether there is mail behind it.
        over_mail: bool,
    },
}

/// One item to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct StartItem {
    /// The name of it.
    pub label: String,
    /// More about it, in columns.
    pub columns: Vec<String>,
    pub(super) action: StartAction,
}

/// What an item does when it is confirmed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StartAction {
    /// Opens the form.
    LogIn,
    /// Opens a session.
    OpenSession(SessionTarget, ConfirmAnswer),
    /// Closes the screen and shows the mail behind it.
    Close,
    /// Ends the program.
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

    /// The items, from top to bottom. `here` is the target of the session behind the screen.
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
                    let target = SessionTarget::Profile(name.clone());
                    item(
                        &format!("Open {name}"),
                        base_url,
                        StartAction::OpenSession(target, ConfirmAnswer::None),
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
