//! A private file of lines that does not grow without end:
//! the log, and the access log of a mirror.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::private_fs::{create_private_dir, folder_of, open_private_append};

/// A file that is renamed to `.1` when it is full, which replaces the older `.1`.
///
/// Several processes may write to the same one.
pub(crate) struct RotatingFile {
    path: PathBuf,
    file: File,
    max_size: u64,
}

impl RotatingFile {
    /// Opens the file, and creates it with its folders if there is none.
    pub(crate) fn open(path: &Path, max_size: u64) -> io::Result<Self> {
        create_private_dir(folder_of(path))?;
        Ok(Self {
            path: path.to_owned(),
            file: open_private_append(path)?,
            max_size,
        })
    }

    fn rotate_if_full(&mut self) -> io::Result<()> {
        let current = self.file.metadata()?;
        if !current.is_file() || current.len() < self.max_size {
            return Ok(());
        }
        // If another process has rotated the file already, this one opens the new file.
        if fs::metadata(&self.path).is_ok_and(|named| named.ino() == current.ino()) {
            fs::rename(&self.path, self.path.with_added_extension("1"))?;
        }
        self.file = open_private_append(&self.path)?;
        Ok(())
    }
}

impl Write for RotatingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rotate_if_full()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_log_of_several_writers_is_rotated_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut writers = [
            RotatingFile::open(&path, 10).unwrap(),
            RotatingFile::open(&path, 10).unwrap(),
        ];
        for line in ["one..\n", "two..\n", "three\n", "four.\n", "five.\n"] {
            for writer in &mut writers {
                writer.write_all(line.as_bytes()).unwrap();
            }
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(text(&path), "five.\nfive.\n");
        assert_eq!(text(&dir.path().join("log.1")), "four.\nfour.\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
