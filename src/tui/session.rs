//! `Session`: an open profile with everything that is closed when it is left; and `Environment`, which stays.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::sessions::SessionFactory;
use super::state_files::StateFiles;
use crate::api::Client;
use crate::app::session::ConfirmDialog;
use crate::app::{SessionInfo, TimerKind};
use crate::archive::Archive;
use crate::config::{FaultPoint, ViewStore};
use crate::error::Error;
use crate::sync::Engine;

/// An open profile.
pub struct Session {
    /// What the screens show; taken out when the model gets it.
    pub info: SessionInfo,
    pub archive: Archive,
    /// Stores mail of the service in the archive; `None` without an API key.
    pub engine: Option<Engine<Client>>,
    pub state_files: StateFiles,
    pub view_store: ViewStore,
}

impl Session {
    /// Opens an archive for the screens: adds to `info` what the archive knows.
    pub fn new(info: SessionInfo, archive: Archive, engine: Result<Engine<Client>, Error>) -> Self {
        let (engine, service_error) = match engine {
            // A read-only archive cannot store new mail, so none is requested, except an opened email.
            Ok(engine) => (Some(engine), archive.read_only_reason()),
            Err(error) => (None, Some(error)),
        };
        let as_of = archive.head_at().ok().flatten();
        Self {
            info: SessionInfo {
                service_error,
                as_of,
                ..info
            },
            archive,
            engine,
            state_files: StateFiles::default(),
            view_store: ViewStore::default(),
        }
    }
}

/// What the program uses of the outside, in every session.
pub struct Environment {
    pub sessions: SessionFactory,
    pub timer: TimerFn,
    /// Where a debug build panics, for tests.
    pub panic_at: Option<FaultPoint>,
}

/// Waits until a timer fires. Tests pass one that they fire themselves.
pub type TimerFn =
    Arc<dyn Fn(TimerKind, Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Waits on the real clock. Timers that end in a request take up to a quarter longer, so that the
/// requests of several users are not sent at the same moment.
pub fn system_timer() -> TimerFn {
    Arc::new(|kind, pause| {
        let pause = match kind {
            TimerKind::Refresh | TimerKind::LoadOlder => pause.mul_f64(1.0 + fastrand::f64() / 4.0),
            TimerKind::Selection
            | TimerKind::PreviousEmail
            | TimerKind::Resize
            | TimerKind::AutomaticSearch
            | TimerKind::Count
            | TimerKind::Countdown
            | TimerKind::Freshness => pause,
        };
        Box::pin(tokio::time::sleep(pause))
    })
}

/// The result of opening a session.
pub enum OpenedSession {
    Ready(Box<Session>),
    NeedsConfirm(ConfirmDialog),
}
