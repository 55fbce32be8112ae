//! Opens an archive that may be read and not written: on a read-only mount, or by its file modes.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::ErrorCode;

use super::Archive;
use super::connections::sidecar_path;
use super::peer_notice::parent_dir;
use crate::error::{Error, ErrorKind};

/// Bits of a file mode that let anyone write.
const WRITE_BITS: u32 = 0o222;

/// Whether the mode of the file keeps everyone from writing it. The superuser may write it all the same,
/// and is not meant to.
pub(super) fn has_no_write_bits(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & WRITE_BITS == 0)
}

/// Whether this error of the system may mean that the file can be read all the same.
pub(super) fn is_permission_error(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// The same for an error of `SQLite`.
pub(super) fn is_cannot_open_error(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

/// How `SQLite` is to open the file now.
///
/// The journal mode of the archive needs the files `-wal` and `-shm` beside it, and `SQLite` would create
/// them. Where it cannot or had better not, and no other process can be writing, the file is opened as
/// one that does not change (<https://sqlite.org/uri.html#uriimmutable>).
pub(super) fn uri_parameters(path: &Path) -> &'static str {
    let metadata = |suffix: &str| std::fs::metadata(sidecar_path(path, suffix)).ok();
    let is_folder_writable =
        rustix::fs::access(parent_dir(path), rustix::fs::Access::WRITE_OK).is_ok();
    let is_immutable = match metadata("-wal") {
        None => !is_folder_writable || has_no_write_bits(path),
        Some(log) => log.len() == 0 && !is_folder_writable && metadata("-shm").is_none(),
    };
    if is_immutable {
        "?mode=ro&immutable=1"
    } else {
        "?mode=ro"
    }
}

/// What is wrong with a file that can be neither written nor read as it is.
pub(super) fn unreadable_wal_error(path: &Path, error: &rusqlite::Error) -> Option<Error> {
    let has_log = std::fs::metadata(sidecar_path(path, "-wal")).is_ok_and(|log| log.len() > 0);
    (is_cannot_open_error(error) && has_log).then(|| {
        Error::new(
            ErrorKind::Archive,
            "the archive cannot be read here: its latest changes are in the file -wal beside it",
        )
        .with_hint("copy the archive with the files beside it to a folder that you can write to")
    })
}

pub(super) fn read_only_error() -> Error {
    Error::new(ErrorKind::Archive, "read-only archive: nothing new is kept")
        .with_hint("to change that, make its file and folder writable for you")
}

impl Archive {
    /// Why nothing is kept, if the archive was opened for reading only.
    #[must_use]
    pub(crate) fn read_only_reason(&self) -> Option<Error> {
        self.connections.is_read_only().then(read_only_error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use jiff::Timestamp;

    use super::*;
    use crate::archive::{ArchiveLocation, RequestTime};
    use crate::mail::EmailId;

    const MAIL: &str = r#"{"id":"a","to":["a@b.example"],"subject":"Hello","created_at":"2026-11-20T09:00:00Z","last_event":"sent"}"#;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A folder with an archive of one email, closed.
    fn filled() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.sqlite");
        Archive::open(&ArchiveLocation::Disk(path.clone()))
            .unwrap()
            .import(MAIL.as_bytes(), Timestamp::UNIX_EPOCH, |_| ())
            .unwrap();
        (folder, path)
    }

    #[test]
    fn file_without_write_bits_is_read_and_left_alone() {
        let (folder, path) = filled();
        set_mode(&path, 0o400);
        let before = (names(folder.path()), fs::read(&path).unwrap());
        let archive = Archive::open(&ArchiveLocation::Disk(path.clone()))
            .unwrap()
            .with_retention(Some(jiff::SignedDuration::ZERO), Timestamp::MAX)
            .unwrap();
        assert_eq!(
            archive.read_only_reason().unwrap().message,
            "read-only archive: nothing new is kept"
        );
        assert_eq!(
            (
                archive.query_count().unwrap(),
                archive.info().unwrap().emails
            ),
            (1, 1)
        );
        assert!(archive.row(&EmailId::new("a")).unwrap().is_some());
        archive.quick_check().unwrap();
        drop(archive);
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), before);
        set_mode(&path, 0o600);
        assert!(
            Archive::open(&ArchiveLocation::Disk(path))
                .unwrap()
                .read_only_reason()
                .is_none()
        );
    }

    #[test]
    fn writing_read_only_archive_says_so() {
        let (_folder, path) = filled();
        set_mode(&path, 0o444);
        let archive = Archive::open(&ArchiveLocation::Disk(path)).unwrap();
        for failure in [
            archive
                .import(MAIL.as_bytes(), Timestamp::UNIX_EPOCH, |_| ())
                .unwrap_err(),
            archive.compact().unwrap_err(),
            archive
                .purge(&crate::archive::PurgeTarget::To("a@b.example".to_owned()))
                .unwrap_err(),
        ] {
            assert_eq!(
                (failure.message.as_str(), failure.kind),
                ("read-only archive: nothing new is kept", ErrorKind::Archive)
            );
        }
        let now = Timestamp::from_second(9).unwrap();
        assert_eq!(archive.stamp_request(now).unwrap(), RequestTime::from(now));
        archive
            .mark_missing(&EmailId::new("a"), now.into())
            .unwrap();
    }

    #[test]
    fn read_only_archive_sees_what_a_writer_commits() {
        let (_folder, path) = filled();
        let writer = Archive::open(&ArchiveLocation::Disk(path.clone())).unwrap();
        writer.query_count().unwrap();
        set_mode(&path, 0o400);
        let reader = Archive::open(&ArchiveLocation::Disk(path)).unwrap();
        assert_eq!(
            (
                reader.query_count().unwrap(),
                reader.read_only_reason().is_some()
            ),
            (1, true)
        );
        writer
            .import(
                MAIL.replace(r#""a""#, r#""b""#).as_bytes(),
                Timestamp::UNIX_EPOCH,
                |_| (),
            )
            .unwrap();
        assert_eq!(reader.query_count().unwrap(), 2);
        drop(writer);
        assert_eq!(reader.query_count().unwrap(), 2);
    }

    #[test]
    fn folder_without_write_bits_is_read() {
        let (folder, path) = filled();
        set_mode(folder.path(), 0o500);
        let archive = Archive::open(&ArchiveLocation::Disk(path)).unwrap();
        // The superuser writes all the same.
        assert_eq!(
            (
                archive.query_count().unwrap(),
                archive.read_only_reason().is_some()
            ),
            (1, !rustix::process::geteuid().is_root())
        );
        drop(archive);
        set_mode(folder.path(), 0o700);
    }

    #[test]
    fn empty_file_without_write_bits_is_no_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.sqlite");
        fs::write(&path, "").unwrap();
        set_mode(&path, 0o400);
        let failure = Archive::open(&ArchiveLocation::Disk(path)).unwrap_err();
        assert_eq!(
            failure.message,
            "the archive is empty and cannot be written"
        );
    }
}
