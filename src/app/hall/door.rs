//! Doors, what is behind them, and what a person is told about it: plain data.

use super::{Act, Item};
use crate::config::Hidden;
use crate::failure::Failure;

/// Where one can go.
#[derive(Debug, Clone, PartialEq)]
pub enum Door {
    /// Where flags and environment lead, as when the program was started.
    Usual,
    /// The profile of this name, whatever the environment says.
    Profile(String),
    /// The sample mailbox.
    Demo,
    /// The profile that is made of this key, which is stored for it.
    New {
        /// Where the service is.
        base_url: String,
        /// The key.
        key: Hidden,
    },
}

/// A door as the chooser shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Where it leads.
    pub door: Door,
    /// The name of the profile.
    pub name: String,
    /// Where its service is.
    pub base_url: String,
    /// Where its key comes from, in words; nothing secret.
    pub key_from: String,
    /// What is kept of its mail, in words.
    pub kept: String,
}

impl Choice {
    pub(super) fn item(&self, is_here: bool) -> Item {
        let Self {
            door,
            name,
            base_url,
            key_from,
            kept,
        } = self;
        let act = if is_here {
            Act::Stay
        } else {
            Act::Enter(door.clone(), Answer::None)
        };
        let label = if is_here {
            format!("{name} (here)")
        } else {
            name.clone()
        };
        Item {
            label,
            words: vec![base_url.clone(), kept.clone(), key_from.clone()],
            act,
        }
    }
}

/// What the set-up screen has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Welcome {
    /// The service that is offered, which may be changed.
    pub base_url: String,
    /// What would be kept and where, each with its label; or why nothing can be stored.
    pub place: Result<Vec<(&'static str, String)>, Failure>,
    /// Profiles that are set up already, each with where its service is.
    pub profiles: Vec<(String, String)>,
    /// How the key can come from a command, in words.
    pub otherwise: String,
}

/// What must be known before a door opens.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Where one wants to go.
    pub door: Door,
    /// What is asked about, a sentence each.
    pub about: Vec<String>,
    /// What may be answered, in words.
    pub answers: Vec<(Answer, String)>,
}

/// What a person says to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Nothing was asked.
    None,
    /// The archive of another key belongs to this team: go on with it.
    SameTeam,
    /// It does not: begin another archive.
    OtherTeam,
}

/// What came of opening a door.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// It is open, and what is behind it is waiting.
    Open,
    /// It opens if a question is answered.
    Asks(Question),
}

/// Where the mail that is shown is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// In this file.
    InFile(String),
    /// Nowhere: it is gone when the program ends, and that is what somebody wants.
    Nowhere,
    /// Nowhere, because the file cannot be used.
    NotThisTime(Failure),
    /// Nowhere, because the file that is shown may only be read.
    ReadOnly(Failure),
}
