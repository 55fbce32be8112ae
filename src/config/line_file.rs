//! Private files of lines that several processes append to.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::private_fs::{lock_folder, open_private_append, read_regular, replace_file};

/// The file of typed filters, beside an archive.
pub(crate) const HISTORY_FILE: &str = "history";

/// The file of watched emails and the time of the last look, beside it.
pub(crate) const STATE_FILE: &str = "state.jsonl";

/// The most bytes of a file that is read.
const MAX_FILE: usize = 64 << 20;

/// A file of lines that only its owner can read.
///
/// Writers lock its folder: where locks fail, a line that is appended during an update may be lost.
pub(crate) struct LineFile(PathBuf);

impl LineFile {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self(folder.join(name))
    }

    /// Returns the lines; none if there is no file.
    pub(crate) fn read(&self) -> io::Result<Vec<String>> {
        match read_regular(&self.0, MAX_FILE) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes)
                .lines()
                .map(str::to_owned)
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Appends a line, or lines, and creates the file if there is none.
    /// A full disk leaves no part of them.
    pub(crate) fn append(&self, line: &str) -> io::Result<()> {
        let _lock = lock_folder(&self.0);
        let mut file = open_private_append(&self.0)?;
        let before = file.metadata()?.len();
        file.write_all(format!("{line}\n").as_bytes())
            .inspect_err(|_| _ = file.set_len(before))
    }

    /// Replaces the lines if `change` returns others.
    /// No line that another process appends is lost.
    ///
    /// Fails if the file cannot be read or written; it stays as it is then.
    pub(crate) fn update(&self, change: impl FnOnce(Vec<String>) -> Vec<String>) -> io::Result<()> {
        let _lock = lock_folder(&self.0);
        let lines = self.read()?;
        let changed = change(lines.clone());
        if changed == lines {
            return Ok(());
        }
        let text: String = changed.into_iter().map(|line| line + "\n").collect();
        replace_file(&self.0, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn appended_line_survives_concurrent_update() {
        let folder = tempfile::tempdir().unwrap();
        let file = || LineFile::new(folder.path(), HISTORY_FILE);
        file().append("old").unwrap();
        let writer = std::thread::scope(|scope| {
            let update = |lines: Vec<String>| {
                let writer = scope.spawn(|| file().append("new").unwrap());
                // Without the lock, the other thread appends to the file that is replaced.
                std::thread::sleep(std::time::Duration::from_millis(200));
                assert_eq!(lines, ["old"]);
                drop(writer);
                vec!["shortened".to_owned()]
            };
            file().update(update)
        });
        writer.unwrap();
        assert_eq!(file().read().unwrap(), ["shortened", "new"]);
    }

    #[test]
    fn unchanged_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = LineFile::new(folder.path(), HISTORY_FILE);
        file.update(|lines| lines).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
