//! What the process asks of the system before it begins: no core dumps, descriptors, no death by a full file.

use crate::error::{Error, ErrorKind};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::SignalKind;

/// The screen with an archive, a service and its timers takes about half as many descriptors.
const MIN_DESCRIPTORS: u64 = 64;

/// Forbids core dumps: memory holds the API key and mail.
pub fn forbid_core_dumps() {
    // What cannot be lowered is zero already.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            ..getrlimit(Resource::Core)
        },
    );
}

/// Raises the limit on open descriptors as far as the program needs.
///
/// # Errors
///
/// If it may not be raised so far: the libraries below would panic.
pub fn raise_descriptor_limit() -> Result<(), Error> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < MIN_DESCRIPTORS) else {
        return Ok(());
    };
    let wanted = maximum.map_or(MIN_DESCRIPTORS, |maximum| maximum.min(MIN_DESCRIPTORS));
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(wanted),
            maximum,
        },
    );
    if wanted == MIN_DESCRIPTORS && raised.is_ok() {
        return Ok(());
    }
    let message = format!(
        "this process may open only {} files, and sentbox needs {MIN_DESCRIPTORS}",
        wanted.max(current)
    );
    Err(Error::new(ErrorKind::Io, message).with_hint("raise the limit: ulimit -n 256"))
}

/// Makes a write beyond the limit on the size of files an error like that of a full disk; by default
/// its signal ends the process. The handler stays when the runtime that it is installed from is gone.
pub fn ignore_sigxfsz() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return;
    };
    let _inside = runtime.enter();
    let _ = tokio::signal::unix::signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}
