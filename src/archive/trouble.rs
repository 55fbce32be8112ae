//! What `SQLite` reports, as a sentence and something to do about it.

use rusqlite::{ErrorCode, ffi};

use super::health::{PUT_ASIDE, REPAIR};
use crate::failure::{Failure, Kind};

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        // The words of SQLite may quote what is stored; its code does not.
        tracing::warn!(code = ?error.sqlite_error_code(), "the archive failed");
        let (sentence, hint) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                ("the disk is full, so the archive cannot take more mail", "free some space; what is stored is safe")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                ("the archive cannot be written", "check the owner and the mode of its file and folder")
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ("another program is holding the archive", "close it, or wait until it is done")
            }
            Some(ErrorCode::DatabaseCorrupt) => DAMAGED,
            None if is_nonsense(&error) => DAMAGED,
            Some(ErrorCode::NotADatabase) => ("the archive file is not an archive", PUT_ASIDE),
            Some(ErrorCode::SystemIoFailure) if is_write(&error) => (
                "the archive cannot take more mail: writing its file failed",
                "free some space, or raise the limit on the size of files (ulimit -f); what is stored is safe",
            ),
            Some(ErrorCode::SystemIoFailure) => ("the archive file could not be read or written", "check the disk"),
            _ => return Self::new(Kind::Archive, format!("the archive failed: {error}")),
        };
        Self::new(Kind::Archive, sentence).hint(hint)
    }
}

/// Nothing is thrown away for the person: the service may have deleted what is in there.
const DAMAGED: (&str, &str) = ("the archive file is damaged", REPAIR);

/// Whether a value was read that nobody has written so.
const fn is_nonsense(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

/// Whether the system refused to let a file grow or change.
fn is_write(error: &rusqlite::Error) -> bool {
    const WRITES: [i32; 5] =
        [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_TRUNCATE, ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_SHMMAP];
    error.sqlite_error().is_some_and(|error| WRITES.contains(&error.extended_code))
}
