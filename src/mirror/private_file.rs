//! A private file of secrets, one a line, that is read again when it changes.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::config::{open_secret, read_at_most};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::lock;

/// The most bytes of a file that is read.
const MAX_FILE: usize = 16 << 20;

/// Prints a note for the user who runs the mirror.
pub(crate) type NoteWriter = Box<dyn Fn(&str) + Send + Sync>;

/// A file whose lines are parsed to values of one type.
pub(super) struct PrivateFile<T> {
    path: PathBuf,
    /// Its name in messages, such as `the key file`.
    kind: &'static str,
    parse: fn(&str) -> Result<Vec<T>>,
    note: NoteWriter,
    loaded: Mutex<Loaded<T>>,
}

struct Loaded<T> {
    /// The version that was read last, also if it could not be parsed.
    version: Option<FileVersion>,
    entries: Vec<T>,
    /// The last report, while the file has an error.
    report: Option<String>,
}

/// A version of a file: device and inode, length, time of change.
type FileVersion = [i64; 5];

impl<T> PrivateFile<T> {
    /// Reads the file; `note` reports its later errors.
    ///
    /// Fails if others may read it, or `parse` refuses it.
    pub(super) fn open(
        kind: &'static str,
        path: &Path,
        parse: fn(&str) -> Result<Vec<T>>,
        note: NoteWriter,
    ) -> Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            kind,
            parse,
            note,
            loaded: Mutex::new(Loaded {
                version: None,
                entries: Vec::new(),
                report: None,
            }),
        };
        if let Some((version, text)) = file.read_if_changed(None)? {
            file.loaded = Mutex::new(Loaded {
                version: Some(version),
                entries: file.parse(&text)?,
                report: None,
            });
        }
        Ok(file)
    }

    /// Calls `read` with what the file has now.
    ///
    /// A file that is missing or refused has nothing: a deleted line must not come back. One with a
    /// wrong line has what it had before, since one typing error must not lock everyone out.
    pub(super) fn with<R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        let mut loaded = lock(&self.loaded);
        self.reload(&mut loaded);
        read(&loaded.entries)
    }

    /// Reads the file if it has changed; reports each error once.
    fn reload(&self, loaded: &mut Loaded<T>) {
        let error = match self.read_if_changed(loaded.version) {
            Ok(None) => return,
            Ok(Some((version, text))) => {
                loaded.version = Some(version);
                match self.parse(&text) {
                    Ok(entries) => {
                        (loaded.entries, loaded.report) = (entries, None);
                        return;
                    }
                    Err(error) => {
                        if numbered_lines(&text).next().is_none() {
                            loaded.entries.clear();
                        }
                        error
                    }
                }
            }
            Err(error) => {
                loaded.version = None;
                loaded.entries.clear();
                error
            }
        };
        let outcome = if loaded.entries.is_empty() {
            "nothing of it is accepted"
        } else {
            "what was read before stays accepted"
        };
        let report = format!("{}; {outcome}", error.message);
        if loaded.report.as_ref() != Some(&report) {
            tracing::error!("{report}");
            (self.note)(&report);
            loaded.report = Some(report);
        }
    }

    fn parse(&self, text: &str) -> Result<Vec<T>> {
        (self.parse)(text).map_err(|error| error.prefixed(&self.name()))
    }

    fn name(&self) -> String {
        format!("{} {}", self.kind, self.path.display())
    }

    /// Reads the file unless it still has that version.
    fn read_if_changed(&self, known: Option<FileVersion>) -> Result<Option<(FileVersion, String)>> {
        let name = self.name();
        let file = open_secret(&self.path, &name)?
            .ok_or_else(|| Error::new(ErrorKind::Config, format!("{name} does not exist")))?;
        let unreadable = |error: io::Error| Error::cannot("read", ErrorKind::Config, &name, &error);
        let metadata = file.metadata().map_err(unreadable)?;
        let version = [
            metadata.dev().cast_signed(),
            metadata.ino().cast_signed(),
            metadata.size().cast_signed(),
            metadata.mtime(),
            metadata.ctime() ^ metadata.ctime_nsec().rotate_left(32),
        ];
        if known == Some(version) {
            return Ok(None);
        }
        let text = read_at_most(file, MAX_FILE)
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            .map_err(unreadable)?;
        Ok(Some((version, text)))
    }
}

/// Returns the lines with their numbers, without comments and what is then blank.
///
/// A comment begins with `#`, at the start of a line or after a blank: a secret may contain one.
pub(super) fn numbered_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1..).zip(text.lines().map(|line| {
        let is_blank = |before: &str| before.is_empty() || before.ends_with(char::is_whitespace);
        let mut signs = line.match_indices('#').map(|(at, _)| &line[..at]);
        signs.find(|before| is_blank(before)).unwrap_or(line).trim()
    }));
    lines.filter(|(_, line)| !line.is_empty())
}
