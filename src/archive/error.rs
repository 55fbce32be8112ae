//! What `SQLite` reports, as a message and something to do about it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use super::integrity::{REPAIR_HINT, START_NEW_HINT};
use crate::error::{Error, ErrorKind};

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        // The words of SQLite may quote what is stored; its code does not.
        tracing::warn!(code = ?error.sqlite_error().map(|error| error.extended_code), "the archive failed");
        let (message, hint) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => (
                "the disk is full, so the archive cannot take more mail",
                "free some space; what is stored is safe",
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => (
                "the archive cannot be written",
                "check the owner and the mode of its file and folder",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
                "another program is holding the archive",
                "close it, or wait until it is done",
            ),
            Some(ErrorCode::DatabaseCorrupt) => DAMAGED,
            None if is_decode_error(&error) => DAMAGED,
            Some(ErrorCode::NotADatabase) => ("the archive file is not an archive", START_NEW_HINT),
            Some(ErrorCode::SystemIoFailure) => {
                io_error_text(error.sqlite_error().map_or(0, |error| error.extended_code))
            }
            _ => return Self::new(ErrorKind::Archive, format!("the archive failed: {error}")),
        };
        Self::new(ErrorKind::Archive, message).with_hint(hint)
    }
}

/// Nothing is thrown away for the person: the service may have deleted what is in there.
const DAMAGED: (&str, &str) = ("the archive file is damaged", REPAIR_HINT);

const UNREADABLE: (&str, &str) = (
    "the system cannot read the archive file",
    "check the disk and its mount (dmesg, mount); the file itself may be whole",
);

/// Whether a value was read that nobody has written so.
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

/// The failure of a system call, by the extended code. A full disk has a code of its own; what is
/// left for a write is a broken disk, a quota or a limit, which `SQLite` does not tell apart.
const fn io_error_text(extended_code: i32) -> (&'static str, &'static str) {
    match extended_code {
        ffi::SQLITE_IOERR_WRITE
        | ffi::SQLITE_IOERR_FSYNC
        | ffi::SQLITE_IOERR_DIR_FSYNC
        | ffi::SQLITE_IOERR_TRUNCATE
        | ffi::SQLITE_IOERR_DELETE
        | ffi::SQLITE_IOERR_SHMOPEN
        | ffi::SQLITE_IOERR_SHMSIZE
        | ffi::SQLITE_IOERR_SHMMAP => (
            "the system cannot write the archive file, so it cannot take more mail",
            "check the disk (dmesg), the quota (quota) and the limit on the size of files (ulimit -f); what is stored is safe",
        ),
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
    }
}

/// The same failure, or the one that is behind it: a disk that cannot read is reported by `SQLite`
/// as damage, since it takes the error for one of the file system.
pub(super) fn explain_damage(failure: Error, path: &Path) -> Error {
    if failure.message != DAMAGED.0 {
        return failure;
    }
    match read_to_end(path) {
        Ok(()) => failure,
        Err(error) => Error::new(ErrorKind::Archive, format!("{}: {error}", UNREADABLE.0))
            .with_hint(UNREADABLE.1),
    }
}

/// Reads the file of the archive and the log beside it to their ends.
///
/// # Errors
///
/// If the system cannot read one of them; there need not be a log.
pub(super) fn read_to_end(path: &Path) -> io::Result<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    for path in [path, Path::new(&log)] {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let mut block = vec![0; 1 << 20];
        while file.read(&mut block)? > 0 {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(extended_code: i32) -> Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None).into()
    }

    #[test]
    fn failed_read_is_not_called_damage() {
        for code in [
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_SHORT_READ,
            ffi::SQLITE_IOERR_CORRUPTFS,
            ffi::SQLITE_IOERR_FSTAT,
        ] {
            let failure = reported(code);
            assert_eq!(failure.message, "the system cannot read the archive file");
            assert!(!failure.hint.contains("archive begin"), "{}", failure.hint);
        }
        assert_eq!(reported(ffi::SQLITE_CORRUPT).message, DAMAGED.0);
    }

    #[test]
    fn failed_write_is_not_called_full_disk() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC] {
            let failure = reported(code);
            assert!(
                failure.message.contains("cannot write") && !failure.hint.contains("free"),
                "{failure} {}",
                failure.hint
            );
        }
        assert!(
            reported(ffi::SQLITE_FULL)
                .message
                .contains("the disk is full")
        );
        assert!(reported(ffi::SQLITE_IOERR_LOCK).message.contains("lock"));
    }

    /// The memory of a process cannot be read at its beginning: the system reports EIO.
    #[cfg(target_os = "linux")]
    #[test]
    fn damage_behind_an_unreadable_file_is_a_failed_read() {
        let damaged = || reported(ffi::SQLITE_CORRUPT);
        let failure = explain_damage(damaged(), Path::new("/proc/self/mem"));
        assert!(
            failure
                .message
                .starts_with("the system cannot read the archive file: "),
            "{failure}"
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive.sqlite");
        std::fs::write(&path, "whole or not, it can be read").unwrap();
        assert_eq!(explain_damage(damaged(), &path), damaged());
    }
}
