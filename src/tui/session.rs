//! `Session`: an open profile with everything that is closed when it is left.

use super::state_files::StateFiles;
use crate::api::Client;
use crate::app::SessionInfo;
use crate::app::session::OpenOutcome;
use crate::archive::Archive;
use crate::config::ViewStore;
use crate::error::Result;
use crate::sync::Engine;

/// An open profile.
pub struct Session {
    /// The facts that the screens show; taken out when the model gets them.
    pub info: SessionInfo,
    pub archive: Archive,
    /// Stores mail of the service in the archive; an error without a usable API key.
    pub engine: Result<Engine<Client>>,
    pub state_files: StateFiles,
    pub view_store: ViewStore,
}

impl Session {
    /// Opens an archive for the screens: adds to `info` what the archive knows.
    pub fn new(info: SessionInfo, archive: Archive, engine: Result<Engine<Client>>) -> Self {
        let service_error = match &engine {
            // A read-only archive cannot store new mail, so none is requested, except an opened
            // email.
            Ok(_) => archive.read_only_reason(),
            Err(error) => Some(error.clone()),
        };
        let as_of = archive.head_at().ok().flatten();
        let newest = archive.latest_created().ok().flatten();
        Self {
            info: SessionInfo {
                service_error,
                as_of,
                newest,
                ..info
            },
            archive,
            engine,
            state_files: StateFiles::default(),
            view_store: ViewStore::default(),
        }
    }
}

pub type OpenedSession = OpenOutcome<Session>;
