//! `ProcessLock`: makes one of all processes on an archive do shared work, such as polling.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use crate::archive::ArchiveLocation;
use crate::error::{Error, ErrorKind, lock};

/// A holder that did not renew the lock for so long was stopped, perhaps by a shell; it no longer counts.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// A lock on a file beside the archive. The system releases it when the process ends, however it ends.
/// Clones share the lock.
#[derive(Clone)]
pub(crate) struct ProcessLock {
    /// `None` if the archive belongs to this process alone.
    path: Option<PathBuf>,
    file: Arc<Mutex<Option<File>>>,
}

impl ProcessLock {
    /// Creates the lock for the work `work` on an archive; it is free.
    pub(crate) fn new(location: &ArchiveLocation, work: &str) -> Self {
        let path = match location {
            ArchiveLocation::Disk(path) => Some(path.with_added_extension(work)),
            ArchiveLocation::Memory => None,
        };
        Self {
            path,
            file: Arc::default(),
        }
    }

    /// Acquires the lock if it is free; true if this process holds it.
    ///
    /// Where files cannot be locked every process acquires it: that costs requests, but loses nothing.
    pub(crate) fn try_acquire(&self, now: Timestamp) -> bool {
        let Some(path) = &self.path else { return true };
        let mut file_guard = lock(&self.file);
        if let Some(file) = &*file_guard {
            let _ = file.set_modified(SystemTime::from(now));
            return true;
        }
        let Ok(file) = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
        else {
            return true;
        };
        match file.try_lock() {
            Ok(()) => {
                let _ = file.set_modified(SystemTime::from(now));
                *file_guard = Some(file);
                true
            }
            Err(TryLockError::WouldBlock) => {
                let modified = file
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .ok();
                let request = modified.and_then(|modified| Timestamp::try_from(modified).ok());
                request.is_some_and(|request| now.duration_since(request) > ABANDONED_AFTER)
            }
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// Whether no process holds it now.
    pub(crate) fn is_free(&self) -> bool {
        let Some(path) = &self.path else { return true };
        // A missing file was never locked; one that cannot be opened proves nothing.
        File::open(path)
            .ok()
            .is_none_or(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Records for all processes that the service answered, if this process holds the lock; returns whether
    /// that ends an outage.
    pub(crate) fn record_response(&self, now: Timestamp) -> bool {
        self.write_record(now, &format!("{now}\n"))
    }

    /// Records for all processes that the service is unreachable, if this process holds the lock; returns
    /// whether that begins an outage.
    pub(crate) fn record_outage(&self, now: Timestamp, error: &Error) -> bool {
        let line = |text: &str| text.replace('\n', " ");
        let answered = self
            .last_response_at()
            .map(|at| at.to_string())
            .unwrap_or_default();
        self.write_record(
            now,
            &format!(
                "{answered}\n{}\n{}\n",
                line(&error.message),
                line(&error.hint)
            ),
        )
    }

    /// Writes the record; returns whether an outage begins or ends.
    fn write_record(&self, now: Timestamp, text: &str) -> bool {
        let before = self.outage().is_some();
        let mut file_guard = lock(&self.file);
        let Some(file) = &mut *file_guard else {
            return false;
        };
        // The record is only displayed, so an error is ignored.
        let _ = file
            .rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(text.as_bytes()));
        let _ = file.set_modified(SystemTime::from(now));
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
        let message = lines.next()?;
        Some(
            Error::new(ErrorKind::Unreachable, message).with_hint(lines.next().unwrap_or_default()),
        )
    }

    /// Whether this process holds it.
    pub(crate) fn is_held(&self) -> bool {
        lock(&self.file).is_some()
    }

    fn read_record(&self) -> Option<String> {
        std::fs::read_to_string(self.path.as_ref()?).ok()
    }

    /// Releases the lock.
    pub(crate) fn release(&self) {
        *lock(&self.file) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_lock_passes_to_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (
            ProcessLock::new(&location, "lease"),
            ProcessLock::new(&location, "lease"),
        );
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
        let folder = tempfile::tempdir().unwrap();
        let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (
            ProcessLock::new(&location, "lease"),
            ProcessLock::new(&location, "lease"),
        );
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
        let other_work = ProcessLock::new(&location, "walk");
        assert!(
            other_work.try_acquire(now) && other_work.last_response_at().is_none(),
            "each kind of work has its own lock"
        );
    }

    #[test]
    fn outage_is_recorded_until_next_response() {
        let folder = tempfile::tempdir().unwrap();
        let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (
            ProcessLock::new(&location, "lease"),
            ProcessLock::new(&location, "lease"),
        );
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
        assert_eq!(
            (other.outage(), other.last_response_at()),
            (Some(recorded), Some(now))
        );
        assert!(
            one.record_response(now) && !one.record_response(now),
            "it ends once"
        );
        assert_eq!(other.outage(), None);
    }

    #[test]
    fn lock_in_memory_is_always_free() {
        let (one, other) = (
            ProcessLock::new(&ArchiveLocation::Memory, "lease"),
            ProcessLock::new(&ArchiveLocation::Memory, "lease"),
        );
        assert!(one.try_acquire(Timestamp::UNIX_EPOCH) && other.try_acquire(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn lock_without_file_is_always_acquired() {
        let lock = ProcessLock::new(
            &ArchiveLocation::Disk("/proc/nowhere/mail.db".into()),
            "lease",
        );
        assert!(lock.try_acquire(Timestamp::UNIX_EPOCH));
    }
}
