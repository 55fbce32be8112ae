//! Watches a folder for files that come and go.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// What happened in the folder.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Names of files that came, were renamed or went.
    pub(super) names: Vec<OsString>,
    /// Whether the system has dropped events.
    pub(super) overflow: bool,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use inotify::Watch;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use nothing::Watch;

/// By inotify: the system wakes this process up, and only for events in the folder. Writing to a file
/// that exists is none.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod inotify {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    use tokio::io::unix::AsyncFd;

    use super::{Events, OsString, Path, io};

    pub(in crate::archive) struct Watch {
        /// Until the first wait, which has a runtime.
        fresh: Option<OwnedFd>,
        registered: Option<AsyncFd<OwnedFd>>,
    }

    impl Watch {
        pub(in crate::archive) fn start(folder: &Path) -> io::Result<Self> {
            let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let comes_and_goes = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO;
            let own = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
            add_watch(&inotify, folder, comes_and_goes | own)?;
            Ok(Self {
                fresh: Some(inotify),
                registered: None,
            })
        }

        /// The next events; waits for ever if there can be none any more.
        pub(in crate::archive) async fn next(&mut self) -> Events {
            match self.wait().await {
                Ok(events) => events,
                Err(_) => std::future::pending().await,
            }
        }

        async fn wait(&mut self) -> io::Result<Events> {
            if let Some(inotify) = self.fresh.take() {
                self.registered = Some(register(inotify)?);
            }
            let Some(registered) = &self.registered else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            loop {
                let mut ready = registered.readable().await?;
                if let Ok(events) = ready.try_io(|inotify| read(inotify.get_ref())) {
                    return events;
                }
            }
        }
    }

    #[expect(
        deprecated,
        reason = "the replacement is unsafe, for descriptors that may close while they are registered; this type's do not"
    )]
    fn register(inotify: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::new(inotify)
    }

    /// All events that are there; an error if there are none.
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

/// Where this program knows no way to watch a folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod nothing {
    use super::{Events, Path, io};

    pub(in crate::archive) struct Watch;

    impl Watch {
        pub(in crate::archive) fn start(_folder: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::archive) async fn next(&mut self) -> Events {
            std::future::pending().await
        }
    }
}
