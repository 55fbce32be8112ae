//! Opens the archive that the settings mean.

use super::output::Output;
use crate::archive::{Archive, Location};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};

/// Opens the archive on disk, for a command that is of no use without one.
pub(super) fn open(settings: &Settings, clock: &Clock, out: &mut Output) -> Result<Archive, Failure> {
    // The archive belongs to a key, so without one it is not known which.
    settings.key.as_ref().map_err(Clone::clone)?;
    match &settings.archive {
        Location::Disk(_) => kept(settings, clock, out),
        Location::Memory if settings.no_home => Err(Failure::new(Kind::Archive, NO_HOME).hint("set HOME or XDG_DATA_HOME")),
        Location::Memory => {
            Err(Failure::new(Kind::Usage, "this needs an archive on disk").hint("leave out --in-memory, or choose another profile"))
        }
    }
}

/// Opens the archive for a command that goes on without one; why there is none is said.
pub(super) fn open_if_possible(settings: &Settings, clock: &Clock, out: &mut Output) -> Option<Archive> {
    if settings.archive == Location::Memory {
        if settings.no_home {
            out.note(NO_HOME);
        }
        return None;
    }
    kept(settings, clock, out).inspect_err(|failure| out.note(&failure.sentence)).ok()
}

fn kept(settings: &Settings, clock: &Clock, out: &mut Output) -> Result<Archive, Failure> {
    opened(settings, out)?.keeping(settings.keep, clock())
}

/// Opens the archive, and shows how far it is if an older one takes its time.
///
/// # Errors
///
/// If the archive cannot be used.
pub fn opened(settings: &Settings, out: &mut Output) -> Result<Archive, Failure> {
    let mut told = false;
    let archive = Archive::open_telling(&settings.archive, &mut |upkeep| {
        told = true;
        out.progress(&upkeep.to_string());
    });
    if told {
        out.progress("");
    }
    archive
}

const NO_HOME: &str = "there is no home directory, so nothing is kept on disk";
