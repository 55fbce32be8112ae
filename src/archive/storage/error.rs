//! Turns errors of `SQLite` into messages with a hint.

use rusqlite::{ErrorCode, ffi};

use super::ReadOnlyCause;
use crate::error::{Error, ErrorKind};

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        // The message of SQLite may quote stored data; its code does not.
        tracing::warn!(code = ?error.sqlite_error().map(|error| error.extended_code), "the archive failed");
        let (message, hint) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                return write_error(
                    "the disk is full, so the archive cannot be changed",
                    "free some space; what is stored is safe",
                );
            }
            Some(ErrorCode::ReadOnly) => {
                return write_error("the archive cannot be written", PERMISSIONS_HINT);
            }
            Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                ("the archive cannot be opened", PERMISSIONS_HINT)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
                "the archive is locked by another program",
                "close that program, or wait until it is done",
            ),
            Some(ErrorCode::DatabaseCorrupt) => return damage_error(DAMAGED_FILE),
            None if is_decode_error(&error) => return damage_error(DAMAGED_FILE),
            Some(ErrorCode::NotADatabase) => return not_archive_error(START_NEW_HINT),
            // The module that keeps the index has no code for a damaged one.
            _ if error.to_string().contains("fts5") => return damage_error(DAMAGED_FILE),
            Some(ErrorCode::SystemIoFailure) => {
                return io_error(error.sqlite_error().map_or(0, |error| error.extended_code));
            }
            _ => return Self::new(ErrorKind::Archive, format!("the archive failed: {error}")),
        };
        archive_error(message, hint)
    }
}

const PERMISSIONS_HINT: &str = "check the owner and the mode of its file and folder";

/// The hint for a damaged file. Nothing is deleted:
/// the service may no longer have what is in it.
pub(crate) const REPAIR_HINT: &str = "sentbox archive repair keeps what can be read, and sync fetches the rest again; \
     sentbox archive begin moves it to a backup and creates a new one";

/// The hint for a file that cannot be used any more.
pub(crate) const START_NEW_HINT: &str = "sentbox archive begin moves it to a backup and creates a new one; mail that the service no longer has is only in the backup";

pub(crate) const DAMAGED_FILE: &str = "the archive file is damaged";

pub(crate) fn archive_error(message: impl Into<String>, hint: &str) -> Error {
    Error::new(ErrorKind::Archive, message).with_hint(hint)
}

/// Writing has failed, which says nothing about reading.
pub(crate) fn write_error(message: &str, hint: &str) -> Error {
    Error {
        is_write_failure: true,
        ..archive_error(message, hint)
    }
}

pub(crate) fn read_only_error(cause: ReadOnlyCause, is_on_server: bool) -> Error {
    if cause == ReadOnlyCause::DiskFull {
        return archive_error(
            "the disk is full, or a quota or a limit is reached: new mail is not stored",
            "free some space and try again; what is stored is safe",
        );
    }
    archive_error(
        "read-only archive: new mail is not stored",
        if is_on_server {
            "its server is a standby, or its owner has granted your role SELECT alone"
        } else {
            "to change that, make its file and folder writable for you"
        },
    )
}

/// The error for a file that has something else.
pub(super) fn not_archive_error(hint: &str) -> Error {
    let message = "the archive file is not an archive";
    Error::new(ErrorKind::NotAnArchive, message).with_hint(hint)
}

/// Something in the archive cannot be read any more.
pub(crate) fn damage_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::ArchiveDamaged, message).with_hint(REPAIR_HINT)
}

/// Emails that a search should have examined cannot be read.
pub(crate) fn unreadable_error(count: usize) -> Error {
    let emails = if count == 1 { "email" } else { "emails" };
    damage_error(format!(
        "{count} {emails} in the archive cannot be read, so matches may be missing"
    ))
}

/// An email whose stored JSON cannot be read.
pub(crate) fn damaged_error(error: impl std::error::Error) -> Error {
    damage_error(format!("an email in the archive is damaged: {error}"))
        .with_hint("open it while online to fetch it again")
}

pub(crate) fn in_use_error(message: impl Into<String>) -> Error {
    archive_error(message, "end it first")
}

pub(super) const UNREADABLE: (&str, &str) = (
    "the system cannot read the archive file",
    "check the disk and its mount (dmesg, mount); the file itself may be whole",
);

/// Whether a stored value has a type that this program never writes.
const fn is_decode_error(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

/// Maps the extended code of a failed system call.
/// A full disk has a code of its own; a broken disk, a quota and a file size limit are the same to
/// `SQLite`.
fn io_error(extended_code: i32) -> Error {
    let (message, hint) = match extended_code {
        ffi::SQLITE_IOERR_WRITE
        | ffi::SQLITE_IOERR_FSYNC
        | ffi::SQLITE_IOERR_DIR_FSYNC
        | ffi::SQLITE_IOERR_TRUNCATE
        | ffi::SQLITE_IOERR_DELETE
        | ffi::SQLITE_IOERR_SHMOPEN
        | ffi::SQLITE_IOERR_SHMSIZE
        | ffi::SQLITE_IOERR_SHMMAP => {
            return write_error(
                "the system cannot write the archive file, so it cannot be changed",
                "check the disk (dmesg), the quota (quota) and the limit on the size of files (ulimit -f); what is stored is safe",
            );
        }
        ffi::SQLITE_IOERR_LOCK
        | ffi::SQLITE_IOERR_UNLOCK
        | ffi::SQLITE_IOERR_RDLOCK
        | ffi::SQLITE_IOERR_CHECKRESERVEDLOCK
        | ffi::SQLITE_IOERR_SHMLOCK => (
            "the system cannot lock the archive file",
            "keep it on a local disk: --archive, or XDG_DATA_HOME for all profiles",
        ),
        ffi::SQLITE_IOERR_NOMEM => (
            "there is not enough memory to use the archive",
            "end other programs, or raise the limit (ulimit -v)",
        ),
        _ => UNREADABLE,
    };
    archive_error(message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::checks::TextChecks as _;

    fn reported(extended_code: i32) -> Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None).into()
    }

    #[test]
    fn file_that_cannot_be_opened_may_be_unreadable() {
        let opened = reported(ffi::SQLITE_CANTOPEN);
        assert_eq!(opened.message, "the archive cannot be opened");
        let written = reported(ffi::SQLITE_READONLY);
        assert_eq!(written.message, "the archive cannot be written");
        assert_eq!(opened.hint, written.hint);
    }

    #[test]
    fn failed_read_is_not_called_damage() {
        for code in [
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_SHORT_READ,
            ffi::SQLITE_IOERR_CORRUPTFS,
            ffi::SQLITE_IOERR_FSTAT,
        ] {
            let error = reported(code);
            assert_eq!(error.message, "the system cannot read the archive file");
            assert!(!error.hint.contains("archive begin"), "{}", error.hint);
        }
        let kind = reported(ffi::SQLITE_CORRUPT).kind;
        assert_eq!(kind, ErrorKind::ArchiveDamaged);
    }

    #[test]
    fn failure_of_the_index_is_damage() {
        let text = "invalid fts5 file format (found 0, expected 4 or 5) - run 'rebuild'";
        let code = ffi::Error::new(ffi::SQLITE_ERROR);
        let error: Error = rusqlite::Error::SqliteFailure(code, Some(text.to_owned())).into();
        assert_eq!(error.kind, ErrorKind::ArchiveDamaged);
    }

    #[test]
    fn only_errors_of_writing_are_write_errors() {
        for (code, is_write_failure) in [
            (ffi::SQLITE_FULL, true),
            (ffi::SQLITE_READONLY_DBMOVED, true),
            (ffi::SQLITE_IOERR_WRITE, true),
            (ffi::SQLITE_IOERR_READ, false),
            (ffi::SQLITE_CANTOPEN, false),
            (ffi::SQLITE_CORRUPT, false),
        ] {
            assert_eq!(reported(code).is_write_failure, is_write_failure, "{code}");
        }
    }

    #[test]
    fn failed_write_is_not_called_full_disk() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC] {
            let error = reported(code);
            assert!(
                error.message.contains("cannot write") && !error.hint.contains("free"),
                "{error} {}",
                error.hint
            );
        }
        reported(ffi::SQLITE_FULL)
            .message
            .assert_contains("the disk is full");
        assert!(reported(ffi::SQLITE_IOERR_LOCK).message.contains("lock"));
    }

    /// The memory of a process cannot be read at its beginning: the system reports EIO.
    #[cfg(target_os = "linux")]
    #[test]
    fn damage_in_unreadable_file_is_a_read_error() {
        use std::path::Path;

        use crate::archive::storage::files::explain_damage;
        use crate::archive::tests::temp_path;

        let damaged = || reported(ffi::SQLITE_CORRUPT);
        let error = explain_damage(damaged(), Path::new("/proc/self/mem"));
        error
            .message
            .assert_starts("the system cannot read the archive file: ");
        let (_dir, path) = temp_path("archive.sqlite");
        std::fs::write(&path, "whole or not, it can be read").unwrap();
        assert_eq!(explain_damage(damaged(), &path), damaged());
    }
}
