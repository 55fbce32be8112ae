//! Doors, what is behind them, and what a person is told about it: plain data.

use super::{StartAction, StartItem};
use crate::config::SecretInput;
use crate::error::Error;

/// Where one can go.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionTarget {
    /// Where flags and environment lead, as when the program was started.
    Default,
    /// The profile of this name, whatever the environment says.
    Profile(String),
    /// The sample mailbox.
    Demo,
    /// The profile that is made of this key, which is stored for it.
    NewKey {
        /// Where the service is.
        base_url: String,
        /// The key.
        key: SecretInput,
    },
}

/// A door as the chooser shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileChoice {
    /// Where it leads.
    pub target: SessionTarget,
    /// The name of the profile.
    pub name: String,
    /// Where its service is.
    pub base_url: String,
    /// Where its key comes from, in words; nothing secret.
    pub key_source: String,
    /// What is kept of its mail, in words.
    pub storage: String,
}

impl ProfileChoice {
    pub(super) fn to_item(&self, is_here: bool) -> StartItem {
        let Self {
            target,
            name,
            base_url,
            key_source: key_from,
            storage: kept,
        } = self;
        let act = if is_here {
            StartAction::Close
        } else {
            StartAction::OpenSession(target.clone(), ConfirmAnswer::None)
        };
        let label = if is_here {
            format!("{name} (here)")
        } else {
            name.clone()
        };
        StartItem {
            label,
            columns: vec![base_url.clone(), kept.clone(), key_from.clone()],
            action: act,
        }
    }
}

/// What the set-up screen has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupInfo {
    /// The service that is offered, which may be changed.
    pub base_url: String,
    /// What would be kept and where, each with its label; or why nothing can be stored.
    pub storage: Result<Vec<(&'static str, String)>, Error>,
    /// Profiles that are set up already, each with where its service is.
    pub profiles: Vec<(String, String)>,
    /// How the key can come from a command, in words.
    pub key_command_hint: String,
}

/// What must be known before a door opens.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmDialog {
    /// Where one wants to go.
    pub target: SessionTarget,
    /// What is asked about, a message each.
    pub lines: Vec<String>,
    /// What may be answered, in words.
    pub answers: Vec<(ConfirmAnswer, String)>,
}

/// What a person says to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmAnswer {
    /// Nothing was asked.
    None,
    /// The archive of another key belongs to this team: go on with it.
    SameTeam,
    /// It does not: begin another archive.
    OtherTeam,
}

/// What came of opening a door.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenOutcome {
    /// It is open, and what is behind it is waiting.
    Opened,
    /// It opens if a question is answered.
    NeedsConfirm(ConfirmDialog),
}

/// Where the mail that is shown is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageMode {
    /// In this file.
    InFile(String),
    /// Nowhere: it is gone when the program ends, and that is what somebody wants.
    InMemory,
    /// Nowhere, because the file cannot be used.
    Unavailable(Error),
    /// Nowhere, because the file that is shown may only be read.
    ReadOnly(Error),
}
