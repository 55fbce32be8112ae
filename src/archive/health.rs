//! Whether the file of the archive is whole.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::trouble::read_through;
use super::{Archive, schema};
use crate::failure::{Failure, Kind};

impl Archive {
    /// Reads the whole file and sees whether its parts fit together. A large one takes seconds.
    ///
    /// # Errors
    ///
    /// If it is damaged, or cannot be read.
    pub fn examine(&self) -> Result<(), Failure> {
        let found: String =
            self.connections.read(|connection| Ok(connection.pragma_query_value(None, "quick_check", |row| row.get(0))?))?;
        if found == "ok" {
            return Ok(());
        }
        Err(Failure::new(Kind::Archive, "the archive file is damaged").hint(PUT_ASIDE))
    }
}

/// What helps where a file is of no use any more.
pub(super) const PUT_ASIDE: &str =
    "sentbox archive begin puts it aside and begins a new one; what the service no longer has is in the old file alone";

/// Whether the file will never be of use to this version: it is damaged, no archive, or of a newer
/// version. One that somebody holds, or that may not be read, is none of these. Changes nothing.
#[must_use]
pub fn is_beyond_use(path: &Path) -> bool {
    let looked = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let is_whole = connection.pragma_query_value(None, "quick_check", |row| Ok(row.get::<_, String>(0)? == "ok"))?;
        Ok(is_whole && schema::format(&connection).is_ok())
    };
    match looked() {
        Ok(is_of_use) => !is_of_use,
        // A disk that cannot read the file says nothing about it.
        Err(_) if read_through(path).is_err() => false,
        Err(error) => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};

    use super::*;
    use crate::archive::Location;

    #[test]
    fn a_whole_archive_is_told_from_a_damaged_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("archive.sqlite");
        let location = Location::Disk(path.clone());
        Archive::open(&location).unwrap().examine().unwrap();
        // The second page is the root of some table; the first must stay for the file to open at all.
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(4096)).unwrap();
        file.write_all(&[0xff; 4096]).unwrap();
        drop(file);
        let failure = Archive::open(&location).and_then(|archive| archive.examine()).unwrap_err();
        assert_eq!(failure.sentence, "the archive file is damaged");
    }
}
