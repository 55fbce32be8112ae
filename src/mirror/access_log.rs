//! Who read which email, when: one JSON line for each request, in a private file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;

use crate::config::RotatingFile;
use crate::mail::EmailId;
use crate::tasks::lock;

/// The size at which the log is rotated: about a million lines for single emails.
const MAX_SIZE: u64 = 200 << 20;

pub(crate) struct AccessLog {
    path: PathBuf,
    file: Mutex<LogFile>,
}

struct LogFile {
    file: RotatingFile,
    /// Whether the last line may be cut off: before the first write, and after one that failed.
    may_be_cut: bool,
}

/// One request. It has no key, and nothing of a query but ids of emails.
#[derive(Debug, Serialize)]
pub(super) struct Access<'a> {
    pub(super) time: String,
    /// The name of the key; null without a valid one.
    pub(super) key: Option<&'a str>,
    pub(super) client: Option<&'a str>,
    pub(super) operation: &'static str,
    pub(super) emails: &'a [EmailId],
    pub(super) status: u16,
    pub(super) seconds: f64,
}

impl AccessLog {
    /// Opens the log, and creates it with mode 0600 if there is none.
    ///
    /// # Errors
    ///
    /// Also if the file has something else in it: lines of a log would make a file of keys useless.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut start = Vec::new();
        // A pipe or a terminal would make the reader wait.
        if path.is_file() {
            File::open(path)?.take(1).read_to_end(&mut start)?;
        }
        if !matches!(start[..], [] | [b'{']) {
            return Err(io::Error::other("it has something else in it"));
        }
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(LogFile {
                file: RotatingFile::open(path, MAX_SIZE)?,
                may_be_cut: true,
            }),
        })
    }

    pub(super) fn write(&self, access: &Access<'_>) -> io::Result<()> {
        let mut log = lock(&self.file);
        let mut line = Vec::new();
        if log.may_be_cut && ends_within_line(&self.path).unwrap_or(false) {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, access)?;
        line.push(b'\n');
        let written = log.file.write_all(&line);
        log.may_be_cut = written.is_err();
        written
    }
}

/// Whether the last line is cut off, as a full disk leaves it: the next one would be lost in it.
fn ends_within_line(path: &Path) -> io::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last != [b'\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_log_is_continued() {
        let folder = tempfile::tempdir().unwrap();
        for (content, is_log) in [("", true), ("{}\n", true), ("ana = mk_1\n", false)] {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            assert_eq!(AccessLog::open(&path).is_ok(), is_log, "{content:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        AccessLog::open(&folder.path().join("new")).unwrap();
    }

    #[test]
    fn line_after_a_cut_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let access = Access {
            time: "2026-11-20T09:41:07Z".to_owned(),
            key: Some("ana"),
            client: None,
            operation: "list",
            emails: &[],
            status: 200,
            seconds: 0.25,
        };
        let line = serde_json::to_string(&access).unwrap();
        for before in ["", "{}\n", "{\"time\":\"2026"] {
            std::fs::write(&path, before).unwrap();
            let log = AccessLog::open(&path).unwrap();
            log.write(&access).unwrap();
            log.write(&access).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let expected = before.lines().chain([line.as_str(), &line]);
            assert!(text.lines().eq(expected), "{text}");
        }
    }
}
