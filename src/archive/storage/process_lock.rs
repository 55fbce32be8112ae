//! `ProcessLock`: of all processes on one archive, one does the work that is enough to be done once.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use crate::archive::ArchiveLocation;
use crate::error::{Error, ErrorKind};

/// A holder that has not asked for so long was stopped, perhaps by a shell; it no longer counts.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// A lock on a file beside the archive. The system takes it away from a process that ends, however
/// that ends, so that there is nothing to clean up. Clones are the same lease.
#[derive(Clone)]
pub(crate) struct ProcessLock {
    /// `None` if the archive belongs to this process alone.
    path: Option<PathBuf>,
    file: Arc<Mutex<Option<File>>>,
}

impl ProcessLock {
    /// The lease of the archive at `location` for the work of that name; nobody holds it yet.
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

    /// Whether it is this process that asks, as of `now`. It is from the moment on that nobody else
    /// does. Where files cannot be locked everybody asks: that is wasteful, and nobody goes without.
    pub(crate) fn try_acquire(&self, now: Timestamp) -> bool {
        let Some(path) = &self.path else { return true };
        let mut file_guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
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
        // A file that is not there was never locked; one that cannot be opened says nothing.
        File::open(path)
            .ok()
            .is_none_or(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Records for all processes that the service has answered, if it is held here. Returns whether
    /// that ends an outage.
    pub(crate) fn record_response(&self, now: Timestamp) -> bool {
        self.write_record(now, &format!("{now}\n"))
    }

    /// Records for all processes that the service cannot be reached, if it is held here. Returns whether
    /// that begins an outage.
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

    /// Writes the record; returns whether an outage begins or ends with it.
    fn write_record(&self, now: Timestamp, text: &str) -> bool {
        let before = self.outage().is_some();
        let mut file_guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *file_guard else {
            return false;
        };
        // Screens show what is in it, and nothing else depends on it.
        let _ = file
            .rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(text.as_bytes()));
        let _ = file.set_modified(SystemTime::from(now));
        before != (text.lines().count() > 1)
    }

    /// When the service has answered last whoever held this, if that was noted.
    pub(crate) fn last_response_at(&self) -> Option<Timestamp> {
        self.read_record()?.lines().next()?.parse().ok()
    }

    /// Why the service cannot be reached, if the process that held this last has recorded an outage.
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
        self.file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn read_record(&self) -> Option<String> {
        std::fs::read_to_string(self.path.as_ref()?).ok()
    }

    /// Gives it to whoever wants it next.
    pub(crate) fn release(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let location = ArchiveLocation::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (
            ProcessLock::new(&location, "lease"),
            ProcessLock::new(&location, "lease"),
        );
        assert!(
            one.try_acquire(now) && one.clone().try_acquire(now),
            "clones are the same lease"
        );
        assert!(!other.try_acquire(now));
        let later = now + ABANDONED_AFTER + SignedDuration::from_secs(1);
        assert!(other.try_acquire(later), "whoever holds it was stopped");
        assert!(
            one.try_acquire(later) && !other.try_acquire(later),
            "and goes on"
        );
        one.release();
        assert!(other.try_acquire(later) && !one.try_acquire(later));
        drop(other);
        assert!(one.try_acquire(later), "it ends with whoever has it");
    }

    #[test]
    fn the_last_answer_is_there_for_everybody() {
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
            "of whoever holds it"
        );
        let beside = ProcessLock::new(&location, "walk");
        assert!(
            beside.try_acquire(now) && beside.last_response_at().is_none(),
            "each work has a lease of its own"
        );
    }

    #[test]
    fn outage_is_recorded_until_the_next_answer() {
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
    fn an_archive_in_memory_belongs_to_its_process() {
        let (one, other) = (
            ProcessLock::new(&ArchiveLocation::Memory, "lease"),
            ProcessLock::new(&ArchiveLocation::Memory, "lease"),
        );
        assert!(one.try_acquire(Timestamp::UNIX_EPOCH) && other.try_acquire(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn where_no_file_can_be_made_everybody_asks() {
        let lease = ProcessLock::new(
            &ArchiveLocation::Disk("/proc/nowhere/mail.db".into()),
            "lease",
        );
        assert!(lease.try_acquire(Timestamp::UNIX_EPOCH));
    }
}
