//! Opens the archive that the settings mean.

use super::output::{Output, Stop};
use crate::archive::{Archive, Location, Opened, Said};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};

/// Opens the archive on disk, for a command that is of no use without one.
pub(super) fn open(settings: &Settings, clock: &Clock, out: &mut Output) -> Result<Archive, Stop> {
    open_as(settings, Said::Nothing, clock, out)
}

/// The same for a command that brings mail; the first time it says where that is kept.
pub(super) fn open_to_fill(
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<Archive, Stop> {
    let new = if let Location::Disk(path) = &settings.archive {
        Some(path).filter(|path| !path.exists())
    } else {
        None
    };
    let archive = open(settings, clock, out)?;
    check_writable(&archive)?;
    if let Some(path) = new {
        out.note(&format!(
            "what comes is kept in {}, for you alone",
            path.display()
        ));
    }
    Ok(archive)
}

/// # Errors
///
/// If the archive may only be read.
pub(super) fn check_writable(archive: &Archive) -> Result<(), Failure> {
    archive.read_only().map_or(Ok(()), Err)
}

/// Opens it on what was `said` about an archive that belongs to another key; if nothing was, a person
/// is asked.
pub(super) fn open_as(
    settings: &Settings,
    said: Said,
    clock: &Clock,
    out: &mut Output,
) -> Result<Archive, Stop> {
    // The archive belongs to a key, so without one it is not known which.
    settings.key.as_ref().map_err(Clone::clone)?;
    match &settings.archive {
        Location::Disk(_) => match opened(settings, said, out)? {
            Opened::Ours(archive) => Ok(archive.keeping(settings.keep, clock())?),
            Opened::Strange(stranger) => {
                let question = format!(
                    "{}; is the key of the same team, to go on with it?",
                    stranger.sentence()
                );
                match out.ask(&question)? {
                    Some(true) => open_as(settings, Said::SameTeam, clock, out),
                    Some(false) | None => Err(Failure::from(stranger).into()),
                }
            }
        },
        Location::Memory if settings.no_home => Err(Failure::new(Kind::Archive, NO_HOME)
            .hint("set HOME or XDG_DATA_HOME")
            .into()),
        Location::Memory => Err(Failure::new(Kind::Usage, "this needs an archive on disk")
            .hint("leave out --in-memory, or choose another profile")
            .into()),
    }
}

/// Opens the archive for a command that goes on without one; why there is none is said.
pub(super) fn open_if_possible(
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Option<Archive> {
    if settings.archive == Location::Memory {
        if settings.no_home {
            out.note(NO_HOME);
        }
        return None;
    }
    kept(settings, clock, out)
        .inspect_err(|failure| out.note(&failure.sentence))
        .ok()
}

fn kept(settings: &Settings, clock: &Clock, out: &mut Output) -> Result<Archive, Failure> {
    match opened(settings, Said::Nothing, out)? {
        Opened::Ours(archive) => archive.keeping(settings.keep, clock()),
        Opened::Strange(stranger) => Err(stranger.into()),
    }
}

fn opened(settings: &Settings, said: Said, out: &mut Output) -> Result<Opened, Failure> {
    let opened = Archive::open_for(settings, said)?;
    if let Opened::Ours(archive) = &opened
        && let Some(path) = archive.put_aside()
    {
        out.note(&format!(
            "the archive of an older version is now {}; its mail is fetched again",
            path.display()
        ));
    }
    Ok(opened)
}

const NO_HOME: &str = "there is no home directory, so nothing is kept on disk";
