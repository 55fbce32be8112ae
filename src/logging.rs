//! The log: a rotating file. A new one gets mode 0600; one that exists keeps its mode. Only a regular file
//! rotates. `run.rs` starts it.
//!
//! It has only events of sentbox itself, which name requests, pages and causes, never an email, a person or a
//! key. Libraries do not follow this rule, so their events are left out.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::cli::args::Global;
use crate::config::clock::Clock;
use crate::config::{Env, Paths, create_private_dir};
use crate::error::{Error, ErrorKind};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;

/// A log of this size is renamed to `.1`, which replaces the older `.1`.
const MAX_SIZE: u64 = 2 << 20;

/// Starts the log if the flags request one, and returns its path.
pub fn init(global: &Global, env: &Env, clock: &Clock) -> Result<Option<PathBuf>, Error> {
    if global.verbose == 0 && global.log.is_none() {
        return Ok(None);
    }
    let default_path = || {
        Paths::from_env(env)
            .state
            .map(|state| state.join("sentbox.log"))
    };
    let path = global.log.clone().or_else(default_path).ok_or_else(|| {
        Error::new(ErrorKind::Io, "there is no home directory for the log")
            .with_hint("name a file with --log, or set HOME")
    })?;
    let unwritable = |error: io::Error| {
        let name = format!("the log {}", path.display());
        Error::cannot("written", ErrorKind::Io, name, &error)
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        create_private_dir(folder).map_err(unwritable)?;
    }
    let file = RotatingFile::open(&path, MAX_SIZE).map_err(unwritable)?;
    let level = if global.verbose > 1 {
        LevelFilter::TRACE
    } else {
        LevelFilter::DEBUG
    };
    // Errors of the log must not be printed over the terminal UI.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false);
    let lines = lines
        .with_timer(ClockTimer(clock.clone()))
        .with_writer(Mutex::new(file));
    let filter = Targets::new().with_target("sentbox", level);
    tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(filter).with(lines),
    )
    .map_err(|error| Error::cannot("started", ErrorKind::Internal, "the log", &error))?;
    Ok(Some(path))
}

/// Formats the time of the program's clock.
struct ClockTimer(Clock);

impl FormatTime for ClockTimer {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", self.0())
    }
}

/// A file that is rotated when it is full.
///
/// Several processes may write to the same one.
struct RotatingFile {
    path: PathBuf,
    file: File,
    max_size: u64,
}

impl RotatingFile {
    fn open(path: &Path, max_size: u64) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: open_append(path)?,
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
            let mut rotated = self.path.clone().into_os_string();
            rotated.push(".1");
            fs::rename(&self.path, rotated)?;
        }
        self.file = open_append(&self.path)?;
        Ok(())
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
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
