//! The log: what sentbox did, for its owner alone, in a file that does not grow without end.
//!
//! Only events of sentbox itself are written. They name requests, pages and causes, never an email,
//! a person or a key; what libraries would log is not known to keep to that, so it is left out.

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

/// A log that has reached this size is put aside, in place of the one put aside before.
const MAX_SIZE: u64 = 2 << 20;

/// Begins a log if one is wanted, and returns where it is.
///
/// # Errors
///
/// If the file cannot be written.
pub fn init(global: &Global, env: &Env, clock: &Clock) -> Result<Option<PathBuf>, Error> {
    if global.verbose == 0 && global.log.is_none() {
        return Ok(None);
    }
    let usual = || {
        Paths::from_env(env)
            .state
            .map(|state| state.join("sentbox.log"))
    };
    let path = global.log.clone().or_else(usual).ok_or_else(|| {
        Error::new(ErrorKind::Io, "there is no home directory to keep a log in")
            .with_hint("name a file with --log, or set HOME")
    })?;
    let unwritable = |error| {
        Error::new(
            ErrorKind::Io,
            format!("the log {} cannot be written: {error}", path.display()),
        )
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
    // A log that cannot be written must not say so on a screen that is not its own.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false);
    let lines = lines
        .with_timer(ClockTimer(clock.clone()))
        .with_writer(Mutex::new(file));
    let ours = Targets::new().with_target("sentbox", level);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ours).with(lines))
        .map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("the log cannot begin: {error}"),
            )
        })?;
    Ok(Some(path))
}

/// The time by the program's clock.
struct ClockTimer(Clock);

impl FormatTime for ClockTimer {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", self.0())
    }
}

/// A file that is put aside when it is full. Several processes may write to the same one.
struct RotatingFile {
    path: PathBuf,
    file: File,
    max_size: u64,
}

impl RotatingFile {
    fn open(path: &Path, most: u64) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: open_append(path)?,
            max_size: most,
        })
    }

    fn rotate_if_full(&mut self) -> io::Result<()> {
        let held = self.file.metadata()?;
        if !held.is_file() || held.len() < self.max_size {
            return Ok(());
        }
        // Another process may have put the file aside already; then the new one is joined.
        if fs::metadata(&self.path).is_ok_and(|named| named.ino() == held.ino()) {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            fs::rename(&self.path, aside)?;
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
    fn a_full_log_is_put_aside_once_however_many_write_to_it() {
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
