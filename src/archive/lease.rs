//! `Lease`: of all processes on one archive, one does what is enough to be done once; the others read.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use super::Location;
use crate::failure::{Failure, Kind};

/// A holder that has not asked for so long was stopped, perhaps by a shell; it no longer counts.
const STALE: SignedDuration = SignedDuration::from_mins(5);

/// A lock on a file beside the archive. The system takes it away from a process that ends, however
/// that ends, so that there is nothing to clean up. Clones are the same lease.
#[derive(Clone)]
pub struct Lease {
    /// `None` if the archive belongs to this process alone.
    path: Option<PathBuf>,
    held: Arc<Mutex<Option<File>>>,
}

impl Lease {
    /// The lease of the archive at `location` for the work of that name; nobody holds it yet.
    pub(super) fn on(location: &Location, work: &str) -> Self {
        let path = match location {
            Location::Disk(path) => Some(path.with_added_extension(work)),
            Location::Memory => None,
        };
        Self {
            path,
            held: Arc::default(),
        }
    }

    /// Whether it is this process that asks, as of `now`. It is from the moment on that nobody else
    /// does. Where files cannot be locked everybody asks: that is wasteful, and nobody goes without.
    #[must_use]
    pub fn hold(&self, now: Timestamp) -> bool {
        let Some(path) = &self.path else { return true };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*held {
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
                *held = Some(file);
                true
            }
            Err(TryLockError::WouldBlock) => {
                let modified = file
                    .metadata()
                    .and_then(|metadata| metadata.modified())
                    .ok();
                let asked = modified.and_then(|modified| Timestamp::try_from(modified).ok());
                asked.is_some_and(|asked| now.duration_since(asked) > STALE)
            }
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// Whether no process holds it now.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let Some(path) = &self.path else { return true };
        // A file that is not there was never locked; one that cannot be opened says nothing.
        File::open(path)
            .ok()
            .is_none_or(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Records for all processes that the service has answered, if it is held here. Returns whether
    /// that ends an outage.
    #[must_use]
    pub fn note_answer(&self, now: Timestamp) -> bool {
        self.record(now, &format!("{now}\n"))
    }

    /// Records for all processes that the service cannot be reached, if it is held here. Returns whether
    /// that begins an outage.
    #[must_use]
    pub fn note_outage(&self, now: Timestamp, failure: &Failure) -> bool {
        let line = |text: &str| text.replace('\n', " ");
        let answered = self
            .answered_at()
            .map(|at| at.to_string())
            .unwrap_or_default();
        self.record(
            now,
            &format!(
                "{answered}\n{}\n{}\n",
                line(&failure.sentence),
                line(&failure.hint)
            ),
        )
    }

    /// Writes the record; returns whether an outage begins or ends with it.
    fn record(&self, now: Timestamp, text: &str) -> bool {
        let before = self.outage().is_some();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *held else { return false };
        // Screens show what is in it, and nothing else depends on it.
        let _ = file
            .rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(text.as_bytes()));
        let _ = file.set_modified(SystemTime::from(now));
        before != (text.lines().count() > 1)
    }

    /// When the service has answered last whoever held this, if that was noted.
    #[must_use]
    pub fn answered_at(&self) -> Option<Timestamp> {
        self.recorded()?.lines().next()?.parse().ok()
    }

    /// Why the service cannot be reached, if the process that held this last has recorded an outage.
    #[must_use]
    pub fn outage(&self) -> Option<Failure> {
        let recorded = self.recorded()?;
        let mut lines = recorded.lines().skip(1);
        let sentence = lines.next()?;
        Some(Failure::new(Kind::Unreachable, sentence).hint(lines.next().unwrap_or_default()))
    }

    /// Whether this process holds it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn recorded(&self) -> Option<String> {
        std::fs::read_to_string(self.path.as_ref()?).ok()
    }

    /// Gives it to whoever wants it next.
    pub fn release(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (Lease::on(&location, "lease"), Lease::on(&location, "lease"));
        assert!(
            one.hold(now) && one.clone().hold(now),
            "clones are the same lease"
        );
        assert!(!other.hold(now));
        let later = now + STALE + SignedDuration::from_secs(1);
        assert!(other.hold(later), "whoever holds it was stopped");
        assert!(one.hold(later) && !other.hold(later), "and goes on");
        one.release();
        assert!(other.hold(later) && !one.hold(later));
        drop(other);
        assert!(one.hold(later), "it ends with whoever has it");
    }

    #[test]
    fn the_last_answer_is_there_for_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (Lease::on(&location, "lease"), Lease::on(&location, "lease"));
        assert!(one.hold(now));
        assert_eq!(other.answered_at(), None);
        let _ = one.note_answer(now + SignedDuration::from_nanos(5));
        let _ = one.note_answer(now);
        let _ = other.note_answer(Timestamp::UNIX_EPOCH);
        assert_eq!(
            (one.answered_at(), other.answered_at()),
            (Some(now), Some(now)),
            "of whoever holds it"
        );
        let beside = Lease::on(&location, "walk");
        assert!(
            beside.hold(now) && beside.answered_at().is_none(),
            "each work has a lease of its own"
        );
    }

    #[test]
    fn outage_is_recorded_until_the_next_answer() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Disk(folder.path().join("mail.db"));
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let (one, other) = (Lease::on(&location, "lease"), Lease::on(&location, "lease"));
        assert!(one.hold(now));
        assert!(!one.note_answer(now), "there was no outage");
        let failure = Failure::new(Kind::Unreachable, "connection refused\nby the host")
            .hint("check the network");
        assert!(!other.note_outage(now, &failure), "only the holder records");
        assert!(
            one.note_outage(now, &failure) && !one.note_outage(now, &failure),
            "it begins once"
        );
        let recorded = Failure::new(Kind::Unreachable, "connection refused by the host")
            .hint("check the network");
        assert_eq!(
            (other.outage(), other.answered_at()),
            (Some(recorded), Some(now))
        );
        assert!(
            one.note_answer(now) && !one.note_answer(now),
            "it ends once"
        );
        assert_eq!(other.outage(), None);
    }

    #[test]
    fn an_archive_in_memory_belongs_to_its_process() {
        let (one, other) = (
            Lease::on(&Location::Memory, "lease"),
            Lease::on(&Location::Memory, "lease"),
        );
        assert!(one.hold(Timestamp::UNIX_EPOCH) && other.hold(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn where_no_file_can_be_made_everybody_asks() {
        let lease = Lease::on(&Location::Disk("/proc/nowhere/mail.db".into()), "lease");
        assert!(lease.hold(Timestamp::UNIX_EPOCH));
    }
}
