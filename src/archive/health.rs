//! Whether the file of the archive is whole.

use super::Archive;
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
        Err(Failure::new(Kind::Archive, "the archive file is damaged")
            .hint("move it away and sync again; the service still has its own copy"))
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
