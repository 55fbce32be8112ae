//! Notices from one process to the others that have the same archive open.
//!
//! A notice is a file that is created beside the archive and removed at once. Its name contains the
//! sender and the subject, so that a watch on the folder gets the whole message and no process has
//! to lock, read or poll. A killed process may leave an empty file, which the next watch removes.
//! Where a folder cannot be watched, a process sees changes at its next refresh.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use crate::archive::Archive;
use crate::config::folder_of;
use crate::error::Result;

/// The most notices that are received at once.
const MAX_NOTICES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerNotice {
    /// It committed a change to the archive.
    Changed,
    /// It could not reach the service, or has reached it again.
    ServiceState,
    /// The archive file was removed or replaced.
    Removed,
}

impl PeerNotice {
    pub(super) fn parse(word: &str) -> Option<Self> {
        let notices = [Self::Changed, Self::ServiceState];
        notices.into_iter().find(|notice| notice.as_str() == word)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::ServiceState => "service",
            Self::Removed => "removed",
        }
    }
}

/// Sends notices to other processes.
#[derive(Debug)]
pub(crate) struct PeerNotifier {
    path: PathBuf,
    /// The prefix of the names of all notices:
    /// the name of the archive file and a suffix.
    prefix: String,
    /// Distinguishes the notices of this archive handle from those of others.
    sender: String,
    sent: AtomicU64,
}

impl PeerNotifier {
    pub(crate) fn new(path: &Path) -> Self {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let sender = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        Self {
            path: path.to_owned(),
            prefix: format!("{name}.notice-"),
            sender,
            sent: AtomicU64::new(0),
        }
    }

    /// Sends a notice. If the folder cannot be written, other processes see the change
    /// later.
    pub(crate) fn send(&self, notice: PeerNotice) {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let path = self.path.with_file_name(format!(
            "{}{}-{number}-{}",
            self.prefix,
            self.sender,
            notice.as_str()
        ));
        if OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .is_ok()
        {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Parses the name of a file;
    /// `None` if it is not a notice, or was sent by this handle.
    pub(crate) fn parse(&self, name: &OsStr) -> Option<PeerNotice> {
        let (sender, rest) = name.to_str()?.strip_prefix(&self.prefix)?.split_once('-')?;
        let (_, word) = rest.split_once('-')?;
        PeerNotice::parse(word).filter(|_| sender != self.sender)
    }

    /// Removes the files of killed processes.
    pub(crate) fn remove_leftovers(&self) {
        let entries = std::fs::read_dir(folder_of(&self.path));
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(&self.prefix) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

impl Archive {
    /// Starts to watch other processes;
    /// `None` if the archive is in memory or its folder cannot be watched. Needs a runtime with
    /// I/O.
    pub(crate) fn watch_peers(&self) -> Option<PeerNoticeReceiver> {
        let source = if let Some(server) = self.connections.server() {
            NoticeSource::Server(server.listen())
        } else {
            let notifier = self.connections.notifier.as_ref()?;
            let watch = Watch::start(folder_of(&notifier.path)).ok()?;
            notifier.remove_leftovers();
            NoticeSource::Folder(watch)
        };
        Some(PeerNoticeReceiver {
            source,
            archive: self.clone(),
        })
    }

    /// Makes other processes check the service's state again.
    pub(crate) fn notify_service_state(&self) {
        self.connections.notify(PeerNotice::ServiceState);
    }

    /// Fails if the archive file was removed or replaced since it was opened.
    pub(crate) fn check_file(&self) -> Result<()> {
        self.connections.check_file()
    }
}

pub(crate) struct PeerNoticeReceiver {
    source: NoticeSource,
    archive: Archive,
}

enum NoticeSource {
    Folder(Watch),
    Server(UnboundedReceiver<PeerNotice>),
}

impl PeerNoticeReceiver {
    /// Waits for the next notices, without duplicates and without waking up before.
    /// Safe to cancel.
    pub(crate) async fn next(&mut self) -> Vec<PeerNotice> {
        let watch = match &mut self.source {
            NoticeSource::Folder(watch) => watch,
            NoticeSource::Server(receiver) => {
                let mut notices = Vec::new();
                receiver.recv_many(&mut notices, MAX_NOTICES).await;
                notices.dedup();
                return notices;
            }
        };
        loop {
            let mut notices = Vec::new();
            let events = watch.next().await;
            for name in &events.names {
                let notifier = self.archive.connections.notifier.as_ref();
                let notice = notifier.and_then(|notifier| notifier.parse(name));
                notices.extend(notice.filter(|notice| !notices.contains(notice)));
            }
            if events.overflow && !notices.contains(&PeerNotice::Changed) {
                notices.push(PeerNotice::Changed);
            }
            if self.archive.check_file().is_err() {
                notices.push(PeerNotice::Removed);
            }
            if !notices.is_empty() {
                return notices;
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Names of files that were created, renamed or deleted.
    pub(crate) names: Vec<OsString>,
    /// Whether the system dropped events.
    pub(crate) overflow: bool,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use inotify::Watch;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use nothing::Watch;

/// Uses inotify: the system wakes this process up only for events in the folder.
/// Writing to an existing file is not an event.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod inotify {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    use tokio::io::unix::AsyncFd;

    use super::{Events, OsString, Path, io};

    pub(crate) struct Watch(AsyncFd<OwnedFd>);

    impl Watch {
        pub(crate) fn start(folder: &Path) -> io::Result<Self> {
            let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let comes_and_goes = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO;
            let own = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
            add_watch(&inotify, folder, comes_and_goes | own)?;
            register(inotify).map(Self)
        }

        /// Waits for the next events; for ever if the watch failed.
        pub(crate) async fn next(&mut self) -> Events {
            while let Ok(mut ready) = self.0.readable().await {
                match ready.try_io(|inotify| read(inotify.get_ref())) {
                    Ok(Ok(events)) => return events,
                    Ok(Err(_)) => break,
                    Err(_) => {}
                }
            }
            std::future::pending().await
        }
    }

    #[expect(
        deprecated,
        reason = "the replacement is unsafe, for descriptors that may close while they are registered; this type's do not"
    )]
    fn register(inotify: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::new(inotify)
    }

    /// Reads all pending events; an error if there are none.
    fn read(inotify: &OwnedFd) -> io::Result<Events> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut events = Events::default();
        let mut any = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    any = true;
                    events.overflow |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    events.names.extend(
                        event.file_name().map(|name| {
                            OsString::from(std::ffi::OsStr::from_bytes(name.to_bytes()))
                        }),
                    );
                }
                Err(rustix::io::Errno::AGAIN) if any => return Ok(events),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// On systems where this program cannot watch a folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod nothing {
    use super::{Events, Path, io};

    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn start(_folder: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) async fn next(&mut self) -> Events {
            std::future::pending().await
        }
    }
}

// Elsewhere, there is no watch to test.
#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::archive::tests::{at, import_lines, item_with, memory, open_file, temp_path};

    fn two() -> (tempfile::TempDir, PathBuf, Archive, Archive) {
        let (folder, path) = temp_path("archive.sqlite");
        let (one, other) = (open_file(&path), open_file(&path));
        (folder, path, one, other)
    }

    async fn next(notices: &mut PeerNoticeReceiver) -> Vec<PeerNotice> {
        tokio::time::timeout(Duration::from_secs(30), notices.next())
            .await
            .expect("a notice arrives")
    }

    fn import(archive: &Archive, id: &str) {
        import_lines(archive, [item_with(id, Some(0), "sent").json], at(0));
    }

    #[tokio::test]
    async fn only_changes_by_other_handles_arrive() {
        let (_folder, _path, one, other) = two();
        let (mut for_one, mut for_other) =
            (one.watch_peers().unwrap(), other.watch_peers().unwrap());
        import(&one, "a");
        assert_eq!(next(&mut for_other).await, [PeerNotice::Changed]);
        import(&other, "b");
        // The own change came first, and is not among what arrives.
        other.notify_service_state();
        let mut arrived = next(&mut for_one).await;
        while !arrived.contains(&PeerNotice::ServiceState) {
            arrived.extend(next(&mut for_one).await);
        }
        arrived.dedup();
        assert_eq!(arrived, [PeerNotice::Changed, PeerNotice::ServiceState]);
    }

    #[tokio::test]
    async fn commit_without_change_sends_nothing() {
        let (_folder, _path, one, other) = two();
        let mut notices = other.watch_peers().unwrap();
        one.stamp_request(at(0)).unwrap();
        import(&one, "a");
        assert_eq!(next(&mut notices).await, [PeerNotice::Changed]);
        import(&one, "a");
        one.stamp_request(at(0)).unwrap();
        one.notify_service_state();
        assert_eq!(next(&mut notices).await, [PeerNotice::ServiceState]);
    }

    #[tokio::test]
    async fn removed_file_is_reported_and_rejects_writes() {
        let (_folder, path, one, other) = two();
        let mut notices = other.watch_peers().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(next(&mut notices).await, [PeerNotice::Removed]);
        let failure = one.stamp_request(at(0)).unwrap_err();
        let expected = "the archive file was removed: new mail is not stored";
        assert_eq!(failure.message, expected);
    }

    #[test]
    fn replaced_file_rejects_writes() {
        let (folder, path, one, _other) = two();
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(copy, &path).unwrap();
        let failure = one.stamp_request(at(0)).unwrap_err();
        let expected = "the archive file was replaced: new mail is not stored";
        assert_eq!(failure.message, expected);
    }

    #[tokio::test]
    async fn removed_folder_is_reported() {
        let (folder, _path, _one, other) = two();
        let mut notices = other.watch_peers().unwrap();
        folder.close().unwrap();
        assert_eq!(next(&mut notices).await, [PeerNotice::Removed]);
    }

    #[tokio::test]
    async fn watch_removes_files_of_killed_processes() {
        let (folder, path, one, _other) = two();
        let left = path.with_file_name("archive.sqlite.notice-00-1-changed");
        std::fs::write(&left, "").unwrap();
        let kept = folder.path().join("archive.sqlite.poll");
        std::fs::write(&kept, "").unwrap();
        drop(one.watch_peers());
        assert!(!left.exists() && kept.exists());
    }

    #[test]
    fn archive_in_memory_has_no_notices() {
        let archive = memory();
        assert!(archive.watch_peers().is_none());
        archive.notify_service_state();
        archive.check_file().unwrap();
    }
}
