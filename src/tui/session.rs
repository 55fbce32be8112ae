//! `Session`: an open profile with everything that is closed when it is left; and `Environment`, which stays.

use std::fs::{self, OpenOptions};
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::api::EmailApi;
use crate::app::session::{ConfirmAnswer, ConfirmDialog};
use crate::app::{ProfileChoice, SessionInfo, SessionTarget, TimerKind};
use crate::archive::Archive;
use crate::config::clock::Clock;
use crate::config::{FaultPoint, SecretInput, ViewStore};
use crate::error::Error;
use crate::sync::Engine;

/// An open profile.
pub struct Session<S: EmailApi> {
    /// What the screens show; taken out when the model gets it.
    pub info: SessionInfo,
    pub archive: Archive,
    /// Stores mail of the service in the archive; `None` without an API key.
    pub engine: Option<Engine<S>>,
    pub filter_history: FilterHistory,
    pub view_store: ViewStore,
    /// Tasks that end with the session: the embedded server of the sample mailbox.
    pub _background_tasks: JoinSet<()>,
}

impl<S: EmailApi> Session<S> {
    /// Opens an archive for the screens: adds to `info` what the archive knows.
    pub fn new(info: SessionInfo, archive: Archive, engine: Result<Engine<S>, Error>) -> Self {
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
            filter_history: FilterHistory::default(),
            view_store: ViewStore::default(),
            _background_tasks: JoinSet::new(),
        }
    }
}

/// What the program uses of the outside, in every session.
pub struct Environment<S: EmailApi> {
    pub opener: Arc<dyn SessionOpener<S>>,
    pub timer: TimerFn,
    pub clock: Clock,
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
            | TimerKind::AutomaticSearch
            | TimerKind::Countdown
            | TimerKind::Freshness => pause,
        };
        Box::pin(tokio::time::sleep(pause))
    })
}

/// Opens sessions. Its methods block, except the check of a key.
pub trait SessionOpener<S: EmailApi>: Send + Sync {
    fn list_profiles(&self) -> Result<Vec<ProfileChoice>, Error>;

    /// Asks the service whether it accepts this key.
    fn verify_key(&self, base_url: String, key: SecretInput) -> KeyCheck;

    fn open(
        &self,
        target: &SessionTarget,
        answer: ConfirmAnswer,
    ) -> Result<OpenedSession<S>, Error>;
}

/// A running check of a key.
pub type KeyCheck = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// The result of opening a session.
pub enum OpenedSession<S: EmailApi> {
    Ready(Box<Session<S>>),
    NeedsConfirm(ConfirmDialog),
}

/// The most filters that are recalled.
const MAX_FILTERS: usize = 100;
/// A longer file is written again with the recalled filters only.
const MAX_FILE_LINES: usize = 1_000;

/// The file of typed filters, one on each line, the oldest first; without a file, none are stored.
///
/// Lines are only appended, so that two processes do not lose the filters of each other.
#[derive(Debug, Clone, Default)]
pub struct FilterHistory(Option<PathBuf>);

impl FilterHistory {
    pub const fn new(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    /// The stored filters, each once, the latest last.
    pub fn load(&self) -> io::Result<Vec<String>> {
        let Some(path) = &self.0 else {
            return Ok(Vec::new());
        };
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut filters: Vec<String> = Vec::new();
        for line in text.lines().rev().filter(|line| !line.is_empty()) {
            if filters.len() < MAX_FILTERS && !filters.iter().any(|later| later == line) {
                filters.push(line.to_owned());
            }
        }
        filters.reverse();
        if text.lines().count() > MAX_FILE_LINES {
            let fresh = path.with_extension("new");
            set_private_mode(OpenOptions::new().write(true).create(true).truncate(true))
                .open(&fresh)?
                .write_all((filters.join("\n") + "\n").as_bytes())?;
            fs::rename(fresh, path)?;
        }
        Ok(filters)
    }

    pub fn append(&self, text: &str) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        set_private_mode(OpenOptions::new().append(true).create(true))
            .open(path)?
            .write_all(format!("{text}\n").as_bytes())
    }
}

/// Filters are personal data, as the mail is.
fn set_private_mode(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn history_file_is_private_and_loads_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let history = FilterHistory::new(Some(path.clone()));
        assert_eq!(history.load().unwrap(), Vec::<String>::new());
        for text in ["to:ana", "佐藤", "to:ana"] {
            history.append(text).unwrap();
        }
        assert_eq!(history.load().unwrap(), ["佐藤", "to:ana"]);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn long_history_file_is_shortened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let history = FilterHistory::new(Some(path.clone()));
        for n in 0..=MAX_FILE_LINES {
            history.append(&format!("number {n}")).unwrap();
        }
        let filters = history.load().unwrap();
        assert_eq!(
            (filters.len(), filters.last().map(String::as_str)),
            (MAX_FILTERS, Some("number 1000"))
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap().lines().count(),
            MAX_FILTERS
        );
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn no_filter_is_stored_without_a_file() {
        let history = FilterHistory::default();
        history.append("to:ana").unwrap();
        assert_eq!(history.load().unwrap(), Vec::<String>::new());
    }
}
