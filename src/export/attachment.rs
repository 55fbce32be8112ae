//! Saves an attachment as a new file, chunk by chunk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{join_words, resume};
use crate::api::Client;
use crate::config::create_temp_file;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{Attachment, EmailId};
use crate::tasks;

/// The most bytes of a file name before its ending, and of the ending.
const MAX_STEM_BYTES: usize = 100;
const MAX_ENDING_BYTES: usize = 12;

/// Returns a file name for the attachment, which is a plain name on every file
/// system: letters in their case, digits, hyphens, and its ending. It is never a path, and never
/// hidden.
pub(crate) fn attachment_file_name(attachment: &Attachment) -> String {
    let name = &*attachment.name;
    // Some programs send the path of their own machine.
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !join_words(ending.chars(), MAX_ENDING_BYTES).is_empty() => {
            (stem, ending)
        }
        _ => (name, ""),
    };
    let mut file = join_words(stem.chars(), MAX_STEM_BYTES);
    if file.is_empty() {
        "attachment".clone_into(&mut file);
    }
    let ending = join_words(ending.chars(), MAX_ENDING_BYTES);
    if !ending.is_empty() {
        file = format!("{file}.{ending}");
    }
    file
}

/// Returns where an attachment is saved: `path`, or a file in it if it is a folder.
pub(crate) fn attachment_path(path: &Path, attachment: &Attachment) -> PathBuf {
    if path.is_dir() {
        path.join(attachment_file_name(attachment))
    } else {
        path.to_owned()
    }
}

/// Downloads an attachment to a new file that only its owner can read;
/// returns its length.
///
/// Fails if the file exists already, cannot be written, or the attachment does not arrive whole; no
/// part of it is left then.
pub(crate) async fn save_attachment(
    client: &Client,
    email: &EmailId,
    attachment: &Attachment,
    path: &Path,
) -> Result<u64> {
    let error =
        |error: &io::Error| Error::new(ErrorKind::Io, super::describe_write_error(path, error));
    let mut file = NewFile::create(path).map_err(|cause| error(&cause))?;
    let length = client.download_to(email, attachment, &mut file).await?;
    let committed = tasks::run_blocking(move || file.commit()).await;
    committed.map_err(|cause| error(&cause))?;
    Ok(length)
}

/// A new file that has a temporary name, and is removed unless it is committed.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    beside: PathBuf,
    path: PathBuf,
}

impl NewFile {
    /// Creates a file that only its owner can read;
    /// an error if something of its name exists.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            // A folder was meant, and it does not exist.
            return Err(io::ErrorKind::NotFound.into());
        }
        let (file, beside) = create_temp_file(path, 0o600)?;
        Ok(Self {
            file,
            beside,
            path: path.to_owned(),
        })
    }

    /// Gives the complete file its name.
    pub(super) fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        resume::rename_new(&self.beside, &self.path)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After a commit nothing is there.
        let _ = fs::remove_file(&self.beside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire;

    #[test]
    fn file_name_is_plain_and_keeps_its_ending() {
        let name = |filename: &str| {
            let wire = wire::Attachment {
                filename: Some(filename.to_owned()),
                ..wire::Attachment::default()
            };
            attachment_file_name(&(wire, "{}".into()).into())
        };
        for (filename, expected) in [
            ("RE 90001.PDF", "RE-90001.PDF"),
            ("../../.ssh/authorized_keys", "authorized-keys"),
            ("C:\\Users\\ana\\Report.csv", "Report.csv"),
            (".bashrc", "attachment.bashrc"),
            ("", "attachment"),
            ("..", "attachment"),
            ("-rf.txt", "rf.txt"),
            ("a\u{202e}fdp.exe", "a-fdp.exe"),
            ("請求書.pdf", "請求書.pdf"),
            ("dump.tar.gz", "dump-tar.gz"),
            ("nul\0byte\n.txt", "nul-byte.txt"),
        ] {
            assert_eq!(name(filename), expected, "{filename:?}");
        }
        let long = name(&format!("{}.{}", "é".repeat(300), "x".repeat(300)));
        assert!(
            long.len() <= MAX_STEM_BYTES + 1 + MAX_ENDING_BYTES,
            "{long}"
        );
    }

    #[test]
    fn file_without_commit_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"a").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"b").unwrap();
        // Another program was faster.
        fs::write(&path, "c").unwrap();
        let error = file.commit().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let error = NewFile::create(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"c");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
