//! `ProcessLock`: makes one of all processes on an archive do shared work,
//! such as polling.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use super::db::Connection;
use super::db::postgres::PostgresServer;
use crate::archive::ArchiveLocation;
use crate::config::{open_private, open_regular, read_regular};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::lock;

/// A holder that did not renew the lock for so long was stopped,
/// perhaps by a shell; it no longer counts.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// The most bytes of a record that is read.
const MAX_RECORD: usize = 64 << 10;

/// A lock on a file beside the archive, or on its server.
/// It is released when the process ends, however it ends. Clones share the lock.
#[derive(Clone)]
pub(crate) enum ProcessLock {
    /// The archive belongs to this process alone.
    Process,
    File {
        path: PathBuf,
        held: Arc<Mutex<Option<File>>>,
    },
    Server {
        server: Arc<PostgresServer>,
        work: &'static str,
        /// Whether this process may only read, and leaves the work to others.
        is_reader: bool,
        session: Arc<Mutex<Option<Session>>>,
    },
}

/// A connection that has the lock, or waits for it.
pub(crate) struct Session {
    connection: Connection,
    is_held: bool,
}

impl ProcessLock {
    /// Creates the lock for the work `work` on an archive; it is free.
    pub(crate) fn new(location: &ArchiveLocation, work: &str) -> Self {
        match location {
            ArchiveLocation::Disk(path) => Self::File {
                path: path.with_added_extension(work),
                held: Arc::default(),
            },
            _ => Self::Process,
        }
    }

    /// Acquires the lock if it is free; true if this process holds it.
    ///
    /// Where files cannot be locked every process acquires it: that costs requests, but loses
    /// nothing. A server that cannot be reached has no lock to give.
    pub(crate) fn try_acquire(&self, now: Timestamp) -> bool {
        match self {
            Self::Process => true,
            Self::File { path, held } => try_lock_file(path, held, now),
            Self::Server {
                is_reader: true, ..
            } => false,
            Self::Server { .. } => self
                .on_session(|session, work| {
                    if !session.is_held {
                        let query = "SELECT pg_try_advisory_lock(hashtext(current_setting('search_path')), hashtext(?1))";
                        session.is_held = session.connection.value(query, [work])?;
                    }
                    Ok(session.is_held)
                })
                .unwrap_or(false),
        }
    }

    /// Whether no process holds it now.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            Self::Process => true,
            // A missing file was never locked; one that cannot be opened proves nothing.
            Self::File { path, .. } => open_regular(path, OpenOptions::new().read(true))
                .ok()
                .is_none_or(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock))),
            Self::Server { .. } if self.is_held() => false,
            Self::Server { .. } => {
                let is_free = self.try_acquire(Timestamp::UNIX_EPOCH);
                self.release();
                is_free
            }
        }
    }

    /// Records for all processes that the service answered,
    /// if this process holds the lock; returns whether that ends an outage.
    pub(crate) fn record_response(&self, now: Timestamp) -> bool {
        self.write_record(now, &format!("{now}\n"))
    }

    /// Records for all processes that the service is unreachable,
    /// if this process holds the lock; returns whether that begins an outage.
    pub(crate) fn record_outage(&self, now: Timestamp, error: &Error) -> bool {
        let line = |text: &str| text.replace('\n', " ");
        let answered = self.last_response_at().map(|at| at.to_string());
        let answered = answered.unwrap_or_default();
        let (message, hint) = (line(&error.message), line(&error.hint));
        self.write_record(now, &format!("{answered}\n{message}\n{hint}\n"))
    }

    /// Writes the record; returns whether an outage begins or ends.
    fn write_record(&self, now: Timestamp, text: &str) -> bool {
        let before = self.outage().is_some();
        // The record is only displayed, so an error is ignored.
        match self {
            Self::Process => return false,
            Self::File { held, .. } => {
                let mut held = lock(held);
                let Some(file) = &mut *held else {
                    return false;
                };
                let _ = file
                    .rewind()
                    .and_then(|()| file.set_len(0))
                    .and_then(|()| file.write_all(text.as_bytes()));
                let _ = file.set_modified(SystemTime::from(now));
            }
            Self::Server { .. } => {
                let query = "INSERT INTO poller_record (work, record) VALUES (?1, ?2) \
                             ON CONFLICT (work) DO UPDATE SET record = excluded.record";
                let written = self.on_session(|session, work| {
                    if session.is_held {
                        session.connection.execute_counted(query, [work, text])?;
                    }
                    Ok(session.is_held)
                });
                if written != Some(true) {
                    return false;
                }
            }
        }
        before != (text.lines().count() > 1)
    }

    /// Returns when the service last answered a holder of the lock.
    pub(crate) fn last_response_at(&self) -> Option<Timestamp> {
        self.read_record()?.lines().next()?.parse().ok()
    }

    /// Returns why the service is unreachable, if the last holder recorded an outage.
    pub(crate) fn outage(&self) -> Option<Error> {
        let recorded = self.read_record()?;
        let mut lines = recorded.lines().skip(1);
        let error = Error::new(ErrorKind::Unreachable, lines.next()?);
        Some(error.with_hint(lines.next().unwrap_or_default()))
    }

    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::Process => false,
            Self::File { held, .. } => lock(held).is_some(),
            Self::Server { session, .. } => lock(session)
                .as_ref()
                .is_some_and(|session| session.is_held && !session.connection.is_closed()),
        }
    }

    fn read_record(&self) -> Option<String> {
        match self {
            Self::Process => None,
            Self::File { path, .. } => String::from_utf8(read_regular(path, MAX_RECORD).ok()?).ok(),
            Self::Server { .. } => self
                .on_session(|session, work| {
                    let query = "SELECT record FROM poller_record WHERE work = ?1";
                    session.connection.optional_value(query, [work])
                })
                .flatten(),
        }
    }

    pub(crate) fn release(&self) {
        match self {
            Self::Process => {}
            Self::File { held, .. } => *lock(held) = None,
            Self::Server { session, .. } => {
                if self.is_held() {
                    // At once; the end of the connection would release it a little later.
                    self.on_session(|session, work| {
                        let query = "SELECT pg_advisory_unlock(hashtext(current_setting('search_path')), hashtext(?1))";
                        session.connection.value::<bool>(query, [work])
                    });
                }
                *lock(session) = None;
            }
        }
    }

    /// Uses the connection of the lock, which is opened first if there is none;
    /// `None` if that fails.
    fn on_session<T>(
        &self,
        work: impl FnOnce(&mut Session, &'static str) -> Result<T>,
    ) -> Option<T> {
        let Self::Server {
            server,
            work: name,
            session,
            ..
        } = self
        else {
            return None;
        };
        let mut session = lock(session);
        if session
            .as_ref()
            .is_none_or(|session| session.connection.is_closed())
        {
            *session = Some(Session {
                connection: server.connect().ok()?,
                is_held: false,
            });
        }
        work(session.as_mut()?, name).ok()
    }
}

fn try_lock_file(path: &Path, held: &Mutex<Option<File>>, now: Timestamp) -> bool {
    let mut held = lock(held);
    if let Some(file) = &*held {
        let _ = file.set_modified(SystemTime::from(now));
        return true;
    }
    let Ok(file) = open_private(path) else {
        return true;
    };
    match file.try_lock() {
        Ok(()) => {
            let _ = file.set_modified(SystemTime::from(now));
            *held = Some(file);
            true
        }
        Err(TryLockError::WouldBlock) => {
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            let request = modified.ok().and_then(|at| Timestamp::try_from(at).ok());
            request.is_some_and(|request| now.duration_since(request) > ABANDONED_AFTER)
        }
        Err(TryLockError::Error(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::tests::{at, temp_path};

    /// Two processes that may do the same work on one archive.
    fn two_locks() -> (tempfile::TempDir, ArchiveLocation, [ProcessLock; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
        let locks = [(); 2].map(|()| ProcessLock::new(&location, "poll"));
        (folder, location, locks)
    }

    #[test]
    fn released_lock_passes_to_next_process() {
        let (_folder, _, [one, other]) = two_locks();
        let now = at(0);
        assert!(
            one.try_acquire(now) && one.clone().try_acquire(now),
            "clones share the lock"
        );
        assert!(!other.try_acquire(now));
        let later = now + ABANDONED_AFTER + SignedDuration::from_secs(1);
        assert!(other.try_acquire(later), "the holder was stopped");
        assert!(
            one.try_acquire(later) && !other.try_acquire(later),
            "and goes on"
        );
        one.release();
        assert!(other.try_acquire(later) && !one.try_acquire(later));
        drop(other);
        assert!(one.try_acquire(later), "it is released when dropped");
    }

    #[test]
    fn last_response_is_visible_to_all() {
        let (_folder, location, [one, other]) = two_locks();
        let now = at(0);
        assert!(one.try_acquire(now));
        assert_eq!(other.last_response_at(), None);
        let _ = one.record_response(now + SignedDuration::from_nanos(5));
        let _ = one.record_response(now);
        let _ = other.record_response(Timestamp::UNIX_EPOCH);
        assert_eq!(
            (one.last_response_at(), other.last_response_at()),
            (Some(now), Some(now)),
            "as the holder recorded"
        );
        let other_work = ProcessLock::new(&location, "backfill");
        assert!(
            other_work.try_acquire(now) && other_work.last_response_at().is_none(),
            "each kind of work has its own lock"
        );
    }

    #[test]
    fn outage_is_recorded_until_next_response() {
        let (_folder, _, [one, other]) = two_locks();
        let now = at(0);
        assert!(one.try_acquire(now));
        assert!(!one.record_response(now), "there was no outage");
        let error = Error::new(ErrorKind::Unreachable, "connection refused\nby the host")
            .with_hint("check the network");
        assert!(!other.record_outage(now, &error), "only the holder records");
        assert!(
            one.record_outage(now, &error) && !one.record_outage(now, &error),
            "it begins once"
        );
        let recorded = Error::new(ErrorKind::Unreachable, "connection refused by the host")
            .with_hint("check the network");
        assert_eq!(other.outage(), Some(recorded));
        assert_eq!(other.last_response_at(), Some(now));
        assert!(
            one.record_response(now) && !one.record_response(now),
            "it ends once"
        );
        assert_eq!(other.outage(), None);
    }

    #[test]
    fn pipe_instead_of_lock_file_is_ignored() {
        let (folder, path) = temp_path("archive.sqlite");
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join("archive.sqlite.poll"))
            .status();
        assert!(made.unwrap().success());
        let lock = ProcessLock::new(&ArchiveLocation::Disk(path), "poll");
        assert!(lock.is_free() && lock.try_acquire(Timestamp::UNIX_EPOCH));
        assert_eq!(lock.last_response_at(), None);
    }

    #[test]
    fn lock_without_file_is_always_acquired() {
        let missing = ArchiveLocation::Disk("/proc/nowhere/mail.db".into());
        for location in [ArchiveLocation::Memory, missing] {
            let [one, other] = [(); 2].map(|()| ProcessLock::new(&location, "poll"));
            assert!(one.try_acquire(at(0)) && other.try_acquire(at(0)));
        }
    }
}
