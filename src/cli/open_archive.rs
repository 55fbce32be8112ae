//! Opens the archive that the settings mean.

use super::ProfileContext;
use super::output::{CommandExit, Output};
use crate::archive::{Archive, ArchiveLocation, OnMismatch, OpenResult};
use crate::config::Settings;
use crate::error::{Error, ErrorKind};

/// Opens the archive on disk, for a command that is of no use without one.
pub(super) fn open_on_disk(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    open_with_answer(OnMismatch::Ask, ctx)
}

/// The same for a command that brings mail; the first time it says where that is kept.
pub(super) fn open_for_writing(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    let new = if let ArchiveLocation::Disk(path) = &ctx.settings.archive {
        Some(path).filter(|path| !path.exists())
    } else {
        None
    };
    let archive = open_on_disk(ctx)?;
    check_writable(&archive)?;
    if let Some(path) = new {
        ctx.out.note(&format!(
            "what comes is kept in {}, for you alone",
            path.display()
        ));
    }
    Ok(archive)
}

pub(super) fn check_writable(archive: &Archive) -> Result<(), Error> {
    archive.read_only_reason().map_or(Ok(()), Err)
}

/// Opens the archive; `on_mismatch` decides about one that belongs to another key. With `Ask`, the user
/// is asked.
pub(super) fn open_with_answer(
    on_mismatch: OnMismatch,
    ctx: &mut ProfileContext<'_>,
) -> Result<Archive, CommandExit> {
    // The archive belongs to a key, so without one it is not known which.
    ctx.settings.key.as_ref().map_err(Clone::clone)?;
    match &ctx.settings.archive {
        ArchiveLocation::Disk(_) => match open_and_note_backup(ctx.settings, on_mismatch, ctx.out)?
        {
            OpenResult::Opened(archive) => {
                Ok(archive.with_retention(ctx.settings.retention, (ctx.clock)())?)
            }
            OpenResult::Mismatch(stranger) => {
                let question = format!(
                    "{}; is the key of the same team, to go on with it?",
                    stranger.message()
                );
                match ctx.out.confirm(&question)? {
                    Some(true) => open_with_answer(OnMismatch::Adopt, ctx),
                    Some(false) | None => Err(Error::from(stranger).into()),
                }
            }
        },
        ArchiveLocation::Memory if ctx.settings.no_home => {
            Err(Error::new(ErrorKind::Archive, NO_HOME)
                .with_hint("set HOME or XDG_DATA_HOME")
                .into())
        }
        ArchiveLocation::Memory => Err(Error::new(
            ErrorKind::Usage,
            "this needs an archive on disk",
        )
        .with_hint("leave out --in-memory, or choose another profile")
        .into()),
    }
}

/// Opens the archive for a command that can go on without one; notes why there is none.
pub(super) fn open_or_note(ctx: &mut ProfileContext<'_>) -> Option<Archive> {
    if ctx.settings.archive == ArchiveLocation::Memory {
        if ctx.settings.no_home {
            ctx.out.note(NO_HOME);
        }
        return None;
    }
    open_with_retention(ctx)
        .inspect_err(|failure| ctx.out.note(&failure.message))
        .ok()
}

fn open_with_retention(ctx: &mut ProfileContext<'_>) -> Result<Archive, Error> {
    match open_and_note_backup(ctx.settings, OnMismatch::Ask, ctx.out)? {
        OpenResult::Opened(archive) => {
            archive.with_retention(ctx.settings.retention, (ctx.clock)())
        }
        OpenResult::Mismatch(stranger) => Err(stranger.into()),
    }
}

fn open_and_note_backup(
    settings: &Settings,
    on_mismatch: OnMismatch,
    out: &mut Output,
) -> Result<OpenResult, Error> {
    let opened = Archive::open_for(settings, on_mismatch)?;
    if let OpenResult::Opened(archive) = &opened
        && let Some(path) = archive.outdated_backup()
    {
        out.note(&format!(
            "the archive of an older version is now {}; its mail is fetched again",
            path.display()
        ));
    }
    Ok(opened)
}

const NO_HOME: &str = "there is no home directory, so nothing is kept on disk";
