//! `SessionInfo`: what the screens need to know of an open profile; plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::microsecond;
use serde::{Deserialize, Serialize};

use super::commands::keymap::Keymap;
use crate::archive::EmailRow;
use crate::config::{
    ClipboardRoute, HistorySpan, ListColumn, NotifyRoute, SavedViews, SecretInput,
};
use crate::error::{Error, Result};
use crate::mail::{EmailId, Mailbox};
use crate::text::secrets::Secrets;

/// An open profile, as the screens need it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionInfo {
    pub profile: String,
    pub target: SessionTarget,
    /// The flags by which a command has the same emails, each with a space after it.
    pub command_flags: String,
    /// Which emails the list has.
    pub mailbox: Mailbox,
    pub storage: StorageMode,
    /// Why no request is possible, for example because there is no API key.
    pub service_error: Option<Error>,
    /// The interval between two refreshes.
    pub refresh: Duration,
    /// How far back mail is loaded in the background.
    pub backfill: HistorySpan,
    /// The time of the last refresh, from the archive.
    pub as_of: Option<Timestamp>,
    /// When the newest stored email was created.
    pub newest: Option<Timestamp>,
    pub keymap: Arc<Keymap>,
    pub saved_views: SavedViews,
    /// The state that earlier sessions have kept.
    pub saved: SavedState,
    /// A notice, shown until the first key.
    pub notice: Option<String>,
    /// The errors in the colours of the configuration file,
    /// shown until the first key.
    pub theme_errors: Vec<String>,
    /// Whether no session of the profile was kept before: then the start shows a tip.
    pub is_first: bool,
    /// The first filter; empty for all mail.
    pub query: String,
    pub first_screen: FirstScreen,
    /// The address of the service.
    pub base_url: String,
    /// The variable of the environment that has the key, if one has.
    pub key_variable: Option<String>,
    pub clipboard: ClipboardRoute,
    /// The columns of the list; empty for the default.
    pub columns: Vec<ListColumn>,
    /// Lines of prose in an email are at most this wide; zero is the width of the pane.
    pub prose_width: u16,
    /// Whether the program prints lines, as for screen readers.
    pub is_linear: bool,
    /// How the terminal reports a change of a watched email.
    pub notify: NotifyRoute,
    pub secrets: Secrets,
    /// The program that opens a URL, if it can reach a screen.
    pub browser: Option<String>,
    /// The folder that `~/` means in the name of a file.
    pub home: Option<PathBuf>,
}

impl SessionInfo {
    /// Adapts it to a front end that prints lines and reads typed ones.
    pub fn make_linear(&mut self) {
        self.keymap = Arc::new(Keymap::typed());
        self.clipboard = ClipboardRoute::Terminal { multiplexer: None };
        self.notify = NotifyRoute::Bell;
        // Nothing is coloured.
        self.theme_errors.clear();
        self.is_linear = true;
    }
}

/// The most filters that are recalled.
pub const MAX_FILTERS: usize = 100;

/// The state that earlier sessions of the profile have kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedState {
    /// Typed filters, the latest last.
    pub filters: Vec<String>,
    /// Watched emails, the latest last.
    pub watched: Vec<WatchRecord>,
    /// The user has seen all that changed before this time.
    pub seen_until: Option<Timestamp>,
}

/// The time when the user last looked, and the newest email then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastLook {
    pub at: Timestamp,
    /// The end of the second in which the newest stored email was created, if known.
    pub newest: Option<Timestamp>,
}

impl LastLook {
    pub fn new(at: Timestamp, newest: Option<Timestamp>) -> Self {
        let end = |at: Timestamp| Timestamp::from_second(at.as_second() + 1).ok();
        let newest = newest.and_then(end);
        Self { at, newest }
    }

    /// The earliest time at which a new email may have been created.
    pub fn new_since(&self) -> Timestamp {
        self.newest.map_or(self.at, |newest| newest.min(self.at))
    }

    pub fn is_new(&self, row: &EmailRow) -> bool {
        let created = row.summary.created.parsed;
        created.is_some_and(|at| at >= self.new_since())
    }

    pub fn has_other_status(&self, row: &EmailRow) -> bool {
        let change = row.last_change.as_ref();
        change.is_some_and(|change| change.seen > self.at)
    }
}

/// A record for the next session of the profile:
/// a filter is stored as it is, all else as JSON, with times in microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateRecord {
    /// A typed filter.
    #[serde(skip)]
    Filter(String),
    /// An email is watched; replaces an earlier record of it.
    #[serde(rename = "watch")]
    Watched(WatchRecord),
    /// It is not watched any more.
    #[serde(rename = "unwatch")]
    Unwatched { id: EmailId },
    /// The user has seen all that changed before this time.
    #[serde(rename = "seen")]
    Seen {
        #[serde(with = "microsecond::required")]
        at: Timestamp,
    },
}

/// A watched email.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchRecord {
    pub id: EmailId,
    /// Since when it is watched.
    #[serde(with = "microsecond::required")]
    pub since: Timestamp,
    /// The label of the status that was reported last.
    pub status: String,
}

/// The screen with which a session opens.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum FirstScreen {
    #[default]
    Mail,
    SetUp(SetupInfo),
    Confirm(ConfirmDialog),
}

/// A session that can be opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SessionTarget {
    /// The one that flags and environment select, as when the program starts.
    #[default]
    Default,
    /// The profile of this name, whatever the environment selects.
    Profile(String),
    /// The sample mailbox.
    Demo,
    /// A new profile with this key, which is stored.
    NewKey { base_url: String, key: SecretInput },
}

/// Where the mail is stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StorageMode {
    /// In the file of this path.
    InFile(String),
    /// In a database of this address, without its password, that others may read.
    OnServer(String),
    /// In memory, by choice.
    #[default]
    InMemory,
    /// In memory, because the file cannot be used.
    Unavailable(Error),
    /// In a file that can only be read.
    ReadOnly(Error),
}

/// A session in the list of profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileChoice {
    pub target: SessionTarget,
    pub name: String,
    pub base_url: String,
    /// Where the key comes from; not the key.
    pub key_source: String,
    /// How much of the mail is stored.
    pub storage: String,
}

/// The text of the set-up screen.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupInfo {
    /// The default address of the service.
    pub base_url: String,
    /// What is stored and where, each with its label; or why nothing can be stored.
    pub storage: Result<Vec<(&'static str, String)>>,
    /// The profiles that exist, each with the address of its service.
    pub profiles: Vec<(String, String)>,
    /// How to take the key from a command.
    pub key_command_hint: String,
}

/// A question that must be answered before a session opens.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmDialog {
    pub target: SessionTarget,
    pub lines: Vec<String>,
}

/// The result of opening a session without an error: the session, or what the
/// screens show of it.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenOutcome<T = SessionInfo> {
    Opened(Box<T>),
    NeedsConfirm(ConfirmDialog),
}
