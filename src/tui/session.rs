//! `Session`: one profile that is open, with all that is let go when it is left.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::api::EmailApi;
use crate::app::start::{ConfirmAnswer, ConfirmDialog, OpenOutcome};
use crate::app::{Keymap, ProfileChoice, SessionTarget, StartScreen, StorageMode};
use crate::archive::Archive;
use crate::config::{HistorySpan, SavedViews, SecretInput, ViewStore};
use crate::error::Error;
use crate::sync::Engine;

/// A profile that is open, and what is said about it when it is shown.
pub struct Session<S: EmailApi> {
    /// The profile, in the person's words.
    pub profile: String,
    /// The door that leads here.
    pub target: SessionTarget,
    /// Where everything that is looked at is kept.
    pub archive: Archive,
    /// The same in words.
    pub storage: StorageMode,
    /// Carries the service into the archive; or why the service cannot be asked.
    pub engine: Result<Engine<S>, Error>,
    /// How often the service is asked for what is new.
    pub refresh: Duration,
    /// How far back the archive is to reach by itself.
    pub backfill: HistorySpan,
    /// A word to the person, until the first key.
    pub notice: Option<String>,
    /// What each key means.
    pub keys: Arc<Keymap>,
    /// What the list is narrowed to at first; blank for all mail.
    pub query: String,
    /// What stands before the mail, if something does.
    pub start_screen: Option<StartScreen>,
    /// Where the filters that are typed are kept, if they are.
    pub history: Option<PathBuf>,
    /// The saved views.
    pub views: SavedViews,
    /// Where they are kept, if they are.
    pub view_file: ViewStore,
    /// What runs beside it, and ends with it: the embedded server of the sample mailbox.
    pub background_tasks: JoinSet<()>,
}

/// Opens sessions. Its calls ask the disk and block, but for the check of a key.
pub trait SessionOpener<S: EmailApi>: Send + Sync {
    /// The profiles that one can switch to.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be read.
    fn list_profiles(&self) -> Result<Vec<ProfileChoice>, Error>;

    /// Has the service asked whether it takes this key.
    fn verify_key(&self, base_url: String, key: SecretInput) -> KeyCheck;

    /// Opens a door, or says what must be known before.
    ///
    /// # Errors
    ///
    /// If what is behind it cannot be used.
    fn open(
        &self,
        target: &SessionTarget,
        answer: ConfirmAnswer,
    ) -> Result<OpenedSession<S>, Error>;
}

/// A key that is being tried.
pub type KeyCheck = std::pin::Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// What a door leads to.
pub enum OpenedSession<S: EmailApi> {
    /// A profile.
    Ready(Box<Session<S>>),
    /// A question that stands before it.
    NeedsConfirm(ConfirmDialog),
}

impl<S: EmailApi> OpenedSession<S> {
    /// The session, if there is one, and what the person is told.
    pub(super) fn into_parts(self) -> (Option<Session<S>>, OpenOutcome) {
        match self {
            Self::Ready(session) => (Some(*session), OpenOutcome::Opened),
            Self::NeedsConfirm(question) => (None, OpenOutcome::NeedsConfirm(question)),
        }
    }
}
