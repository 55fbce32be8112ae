//! Opens the archive of the settings, and counts its emails.

use std::path::{Path, PathBuf};

use super::ProfileContext;
use super::output::{CommandExit, Output};
use crate::archive::{
    Archive, ArchiveLocation, CancellationToken, IdentityMismatch, MatchCount, OnMismatch,
    OnOutdated, OpenResult, drop_key_of_unbound, find_stored_archive,
};
use crate::config::{ArchiveOrigin, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{EmailId, Mailbox};
use crate::query::Query;

const NO_HOME: &str = "there is no home directory, so nothing is kept on disk";

/// Checks that an archive that a user has named exists:
/// a file or a schema that was misspelt has no mail, and must not say so.
pub(crate) fn check_named_archive(settings: &Settings, mailbox: Mailbox) -> Result<()> {
    let location = settings.archive.for_mailbox(mailbox);
    if !settings.is_named_archive() || Archive::exists(&location)? {
        return Ok(());
    }
    let (message, hint) = match location {
        ArchiveLocation::Server(url) => (
            format!("there is no archive at {url} that this role may use"),
            "sync and import make one there; if there is one, its owner grants USAGE on the schema",
        ),
        location => (
            format!("there is no archive {location}"),
            "sync and import make one there",
        ),
    };
    Err(Error::new(ErrorKind::Archive, message).with_hint(hint))
}

/// Opens the archive on disk, for a command that reads it.
///
/// A named archive of another key is read without a key, and nothing in it is changed; a request to the service
/// fails with that reason.
pub(super) fn open_on_disk(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    replace_outdated(OnOutdated::ReplaceIfFetched, ctx)?;
    open_current(ctx)
}

/// Opens the archive on disk as it is: one of an older version is an error.
fn open_current(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    check_named_archive(&ctx.settings, ctx.mailbox)?;
    if ctx.settings.is_named_archive()
        && let OpenResult::Mismatch(mismatch) = open(OnMismatch::Ask, ctx)?
    {
        mismatch.drop_key(&mut ctx.settings);
    }
    let archive = open_with_answer(OnMismatch::Ask, ctx)?;
    note_full_disk(&archive, ctx.out);
    Ok(archive)
}

/// Opens the archive for a command that stores nothing:
/// if there is none yet, an empty one in memory, so that no file is made.
pub(super) fn open_to_read(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    replace_outdated(OnOutdated::ReplaceIfFetched, ctx)?;
    open_to_describe(ctx)
}

/// Opens the archive like [`open_to_read`]; one of an older version stays,
/// and is an error.
pub(super) fn open_to_describe(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    check_named_archive(&ctx.settings, ctx.mailbox)?;
    let is_missing = match &ctx.settings.archive {
        location @ ArchiveLocation::Disk(_) => {
            let [sent, received] = Mailbox::ALL.map(|mailbox| location.for_mailbox(mailbox));
            !Archive::exists(&sent)? && !Archive::exists(&received)?
        }
        // To look for one on a server would take a connection more.
        ArchiveLocation::Server(_) | ArchiveLocation::Memory => false,
    };
    if is_missing && IdentityMismatch::find(&ctx.settings)?.is_none() {
        return Ok(Archive::open(&ArchiveLocation::Memory)?);
    }
    open_current(ctx)
}

/// Notes that nothing that the command loads is stored, because the disk is full.
fn note_full_disk(archive: &Archive, out: &mut Output) {
    if let Some(error) = archive
        .read_only_reason()
        .filter(|_| archive.is_disk_full())
    {
        out.note(&error.message);
    }
}

/// Opens an existing archive for a command that removes mail or frees space;
/// one of an older version stays, and is an error.
pub(super) fn open_for_removal(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    check_named_archive(&ctx.settings, Mailbox::Sent)?;
    drop_key_of_unbound(&mut ctx.settings)?;
    open_with_answer(OnMismatch::Ask, ctx)
}

/// Opens the archive for a command that adds mail; notes the path of a new one.
pub(super) fn open_for_writing(ctx: &mut ProfileContext<'_>) -> Result<Archive, CommandExit> {
    let (archive, new_path) = open_or_create(ctx)?;
    if let Some(path) = new_path {
        note_new_archive(&path, ctx.out);
    }
    Ok(archive)
}

/// Opens the archive for a command that adds mail;
/// returns the path of a new one, too.
pub(super) fn open_or_create(
    ctx: &mut ProfileContext<'_>,
) -> Result<(Archive, Option<PathBuf>), CommandExit> {
    replace_outdated(OnOutdated::ReplaceIfFetched, ctx)?;
    let new_path = archive_path(ctx).filter(|path| !path.exists());
    let archive = open_with_answer(OnMismatch::Ask, ctx)?;
    check_writable(&archive)?;
    let now = ctx.now();
    if let Some(note) = archive.purge_expired_of(&ctx.settings, ctx.mailbox, now) {
        ctx.out.note(&note);
    }
    let is_used = new_path == archive_path(ctx);
    Ok((archive, new_path.filter(|_| is_used)))
}

pub(super) fn note_new_archive(path: &Path, out: &mut Output) {
    let path = path.display();
    out.note(&format!("mail is stored in {path}, readable by you only"));
}

/// Returns the file of the emails that the command is about, if they are on disk.
pub(super) fn archive_path(ctx: &ProfileContext<'_>) -> Option<PathBuf> {
    match &ctx.settings.archive {
        ArchiveLocation::Disk(path) => Some(ctx.mailbox.archive_path(path)),
        ArchiveLocation::Server(_) | ArchiveLocation::Memory => None,
    }
}

pub(super) fn check_writable(archive: &Archive) -> Result<()> {
    let Some(error) = archive.read_only_reason() else {
        return Ok(());
    };
    Err(if archive.is_disk_full() {
        let message = "the disk is full, or a quota or a limit is reached: nothing was changed";
        Error::new(error.kind, message).with_hint("free some space; what is stored is safe")
    } else {
        error
    })
}

/// Fails as [`check_writable`], for a command that adds nothing, but changes data.
pub(super) fn check_changeable(archive: &Archive) -> Result<()> {
    check_writable(archive).map_err(|error| {
        if archive.is_disk_full() {
            return error;
        }
        let message = "read-only archive: nothing was changed".to_owned();
        Error { message, ..error }
    })
}

/// Replaces archives of an older version. That is reported to every user, also with `-q`:
/// their mail is elsewhere now.
pub(super) fn replace_outdated(
    on_outdated: OnOutdated,
    ctx: &mut ProfileContext<'_>,
) -> Result<bool> {
    let replaced = Archive::replace_outdated(&ctx.settings, on_outdated)?;
    for replaced in &replaced {
        let message = replaced.message(|path| path.display().to_string());
        let quiet = std::mem::take(&mut ctx.out.quiet);
        ctx.out.note(&message);
        ctx.out.quiet = quiet;
    }
    Ok(!replaced.is_empty())
}

/// Opens the archive.
///
/// If it belongs to another key, `on_mismatch` decides; with `Ask`, the user does.
pub(super) fn open_with_answer(
    on_mismatch: OnMismatch,
    ctx: &mut ProfileContext<'_>,
) -> Result<Archive, CommandExit> {
    if let (Err(error), false) = (
        &ctx.settings.credentials.key,
        ctx.settings.is_named_archive(),
    ) {
        // The archive belongs to a key, so without one only an archive that exists is known.
        let path = find_stored_archive(&ctx.settings).ok_or_else(|| error.clone())?;
        let message = format!("{}; this is the archive {}", error.message, path.display());
        ctx.out.note(&message);
        ctx.settings.archive = ArchiveLocation::Disk(path);
    }
    require_storage(&ctx.settings)?;
    match open(on_mismatch, ctx)? {
        OpenResult::Opened(archive) => Ok(archive),
        OpenResult::Mismatch(mismatch) => {
            let message = mismatch.message();
            let same = if mismatch.is_of_same_key() {
                "is it the same service at another address"
            } else {
                "is the key of the same team"
            };
            let question = format!("{message}; {same}, to go on with it?");
            match ctx.out.confirm(&question)? {
                Some(true) => open_with_answer(OnMismatch::Adopt, ctx),
                Some(false) => Err(Error::from(mismatch).into_declined().into()),
                None => Err(Error::from(mismatch).into()),
            }
        }
    }
}

/// Opens the archive of received mail beside that of sent mail, if there is one.
pub(super) fn open_received(settings: &Settings) -> Result<Option<Archive>> {
    let location = settings.archive.for_mailbox(Mailbox::Received);
    Archive::exists(&location)?
        .then(|| Archive::open(&location))
        .transpose()
}

/// Notes that the write-ahead log is not empty, because another process uses the
/// archive.
pub(super) fn note_remaining_wal(is_empty: bool, out: &mut Output) {
    if !is_empty {
        out.note("another sentbox has this archive open; its write-ahead log is emptied when that one ends");
    }
}

/// Fails if nothing of the mail is kept.
pub(super) fn require_storage(settings: &Settings) -> Result<()> {
    match &settings.archive {
        ArchiveLocation::Memory => require_disk(&settings.archive, settings).map(drop),
        ArchiveLocation::Disk(_) | ArchiveLocation::Server(_) => Ok(()),
    }
}

pub(super) fn require_disk<'a>(
    location: &'a ArchiveLocation,
    settings: &Settings,
) -> Result<&'a Path> {
    match location {
        ArchiveLocation::Disk(path) => Ok(path),
        ArchiveLocation::Server(_) => Err(Error::new(
            ErrorKind::Unsupported,
            "an archive in PostgreSQL has no file",
        )
        .with_hint("use the tools of the database: pg_dump, pg_amcheck, VACUUM")),
        ArchiveLocation::Memory if settings.archive_origin == ArchiveOrigin::NoHome => {
            Err(Error::new(ErrorKind::Archive, NO_HOME).with_hint("set HOME or XDG_DATA_HOME"))
        }
        ArchiveLocation::Memory => {
            let origin = &settings.archive_origin;
            let hint = if *origin == (ArchiveOrigin::InMemory { by_profile: true }) {
                let profile = &settings.profile;
                format!(
                    "the profile {profile} has archive = \"memory\"; choose another one with -p, or a file with --archive"
                )
            } else {
                "leave out --in-memory".to_owned()
            };
            Err(Error::new(ErrorKind::Usage, "this needs an archive on disk").with_hint(hint))
        }
    }
}

/// Opens the archive if there is one; notes why there is none.
pub(super) fn open_or_note(ctx: &mut ProfileContext<'_>) -> Option<Archive> {
    if ctx.settings.archive == ArchiveLocation::Memory {
        if ctx.settings.archive_origin == ArchiveOrigin::NoHome {
            ctx.out.note(NO_HOME);
        }
        return None;
    }
    let replaced = replace_outdated(OnOutdated::ReplaceIfFetched, ctx);
    let error = match replaced.and_then(|_| open(OnMismatch::Ask, ctx)) {
        Ok(OpenResult::Opened(archive)) => {
            note_full_disk(&archive, ctx.out);
            return Some(archive);
        }
        Ok(OpenResult::Mismatch(mismatch)) if ctx.settings.is_named_archive() => {
            mismatch.drop_key(&mut ctx.settings);
            return open_or_note(ctx);
        }
        Ok(OpenResult::Mismatch(mismatch)) => mismatch.into(),
        Err(error) => error,
    };
    ctx.out.note(&error.message);
    None
}

pub(super) fn record_opened(
    archive: Option<&Archive>,
    id: &EmailId,
    ctx: &ProfileContext<'_>,
) -> Result<()> {
    match archive {
        Some(archive) => archive.record_opened(id, None),
        None if ctx.settings.server_options.access.is_audited => Err(Error::new(
            ErrorKind::Archive,
            "the email is not shown, because it cannot be recorded who opens it",
        )),
        None => Ok(()),
    }
}

/// Opens the archive with its retention; notes that its file was empty.
fn open(on_mismatch: OnMismatch, ctx: &mut ProfileContext<'_>) -> Result<OpenResult> {
    let opened = Archive::open_for(&ctx.settings, ctx.mailbox, on_mismatch)?;
    let OpenResult::Opened(archive) = opened else {
        return Ok(opened);
    };
    for replaced in archive.replaced() {
        ctx.out
            .note(&replaced.message(|path| path.display().to_string()));
    }
    let archive = archive.with_retention_of(&ctx.settings)?;
    Ok(OpenResult::Opened(archive))
}

pub(super) fn count_matches(archive: &Archive, query: &Query) -> Result<u64> {
    let count = archive.count_matches(query, u64::MAX, &CancellationToken::default())?;
    let (MatchCount::Exactly(count) | MatchCount::MoreThan(count)) =
        count.expect("it is never cancelled");
    Ok(count)
}
