//! A private file of secrets, one a line, that is read again when it changes.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::config::{open_secret, read_at_most};
use crate::error::{Error, ErrorKind, Result, lock};

/// The most bytes of a file that is read.
const MAX_FILE: usize = 16 << 20;

/// What the lines of the file are parsed to.
pub(super) struct PrivateFile<T> {
    path: PathBuf,
    /// What it is, such as `the key file`.
    kind: &'static str,
    parse: fn(&str) -> Result<Vec<T>>,
    loaded: Mutex<Loaded<T>>,
}

struct Loaded<T> {
    version: Option<FileVersion>,
    entries: Vec<T>,
}

/// What differs when a file was changed: device and inode, length, time of change.
type FileVersion = [i64; 5];

impl<T> PrivateFile<T> {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If others may read it, or `parse` refuses it.
    pub(super) fn open(
        kind: &'static str,
        path: &Path,
        parse: fn(&str) -> Result<Vec<T>>,
    ) -> Result<Self> {
        let file = Self {
            path: path.to_owned(),
            kind,
            parse,
            loaded: Mutex::new(Loaded {
                version: None,
                entries: Vec::new(),
            }),
        };
        file.reload(&mut lock(&file.loaded))?;
        Ok(file)
    }

    /// Calls `read` with what the file has now.
    ///
    /// A file that cannot be used has nothing: a deleted line must not come back.
    pub(super) fn with<R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        let mut loaded = lock(&self.loaded);
        if let Err(error) = self.reload(&mut loaded) {
            tracing::error!(%error, "no line of the file is accepted");
            loaded.version = None;
            loaded.entries.clear();
        }
        read(&loaded.entries)
    }

    /// Reads the file if it has changed.
    fn reload(&self, loaded: &mut Loaded<T>) -> Result<()> {
        let name = format!("{} {}", self.kind, self.path.display());
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
        if loaded.version == Some(version) {
            return Ok(());
        }
        let text = read_at_most(file, MAX_FILE)
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            .map_err(unreadable)?;
        loaded.entries = (self.parse)(&text).map_err(|error| {
            let message = format!("{name}: {}", error.message);
            Error { message, ..error }
        })?;
        loaded.version = Some(version);
        Ok(())
    }
}

/// Returns the lines with their numbers, without blank ones and those that begin
/// with `#`.
pub(super) fn numbered_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
