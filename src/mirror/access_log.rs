//! Who read which email, when: one JSON line for each request, in a private file.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;

use crate::config::RotatingFile;
use crate::mail::EmailId;
use crate::tasks::lock;

/// The size at which the log is rotated: about a million lines for single emails.
const MAX_SIZE: u64 = 200 << 20;

pub(crate) struct AccessLog(Mutex<RotatingFile>);

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
        Ok(Self(Mutex::new(RotatingFile::open(path, MAX_SIZE)?)))
    }

    pub(super) fn write(&self, access: &Access<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(access)?;
        line.push(b'\n');
        lock(&self.0).write_all(&line)
    }
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
}
