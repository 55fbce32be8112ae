//! The log: a rotating file. A new one gets mode 0600;
//! one that exists keeps its mode. Only a regular file rotates. `run.rs` starts it.
//!
//! It has only events of sentbox itself, which name requests, pages and causes, never an email, a
//! person or a key. Libraries do not follow this rule, so their events are left out.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::cli::args::Global;
use crate::config::clock::Clock;
use crate::config::{Env, Paths, RotatingFile};
use crate::error::{Error, ErrorKind, Result};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;

const MAX_SIZE: u64 = 2 << 20;

/// Starts the log if the flags request one, and returns its path.
pub fn init(global: &Global, env: &Env, clock: &Clock) -> Result<Option<PathBuf>> {
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
            .with_hint("name another file with --log")
    };
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
