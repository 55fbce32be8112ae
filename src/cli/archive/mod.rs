//! `archive` and `import`: shows, reduces, repairs and fills the archive.

mod copy;
mod purge;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::args::{ArchiveVerb, ImportArgs};
use super::open_archive::{
    archive_path, check_changeable, check_named_archive, note_new_archive, note_remaining_wal,
    open_for_removal, open_or_create, open_received, open_to_describe, open_with_answer,
    replace_outdated, require_disk,
};
use super::output::format::{
    add_left_out, covered_since, describe_past_coverage, format_api_time, format_time,
};
use super::output::{CommandExit, Output};
use super::{ProfileContext, listen_for_signals};
use crate::archive::{
    Archive, ArchiveInfo, ArchiveLocation, Coverage, IdentityMismatch, ImportReport, LeftOut,
    OnMismatch, OnOutdated, RepairOutcome, backup_path, drop_key_of_unbound, find_backups,
    is_answered, is_no_archive, is_unusable, remove_archive, sidecar_path,
};
use crate::config::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{ApiTime, Mailbox};
use crate::signals::Signals;
use crate::sync::{RecheckScope, count_due};
use crate::text::format::{format_bytes, format_timestamp, group_digits, plural};
use crate::text::sanitize::sanitize_line;
use copy::copy;
use purge::purge;

pub(super) fn run(verb: &ArchiveVerb, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    match verb {
        ArchiveVerb::Info(args) => {
            ctx.set_mailbox(*args);
            let archive = open_to_describe(ctx)?;
            if archive_path(ctx).is_some_and(|path| !path.exists()) {
                ctx.out
                    .note("there is no archive yet; sync and import make one");
            }
            print_info(&archive, ctx)
        }
        ArchiveVerb::Purge(args) => purge(args, ctx),
        ArchiveVerb::Vacuum => vacuum(ctx),
        ArchiveVerb::Copy(args) => copy(args, ctx),
        ArchiveVerb::Repair(args) => {
            ctx.set_mailbox(*args);
            repair(ctx)
        }
        ArchiveVerb::Adopt => resolve_mismatch(OnMismatch::Adopt, ctx),
        ArchiveVerb::Begin => resolve_mismatch(OnMismatch::BackUp, ctx),
    }
}

/// Goes on with the archives of another key, or begins new ones,
/// of sent and received mail.
fn resolve_mismatch(
    on_mismatch: OnMismatch,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    if let (ArchiveLocation::Server(_), OnMismatch::BackUp) = (&ctx.settings.archive, on_mismatch) {
        let message = "an archive in PostgreSQL is not moved aside";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("name another schema in its address, or rename the schema in the database")
            .into());
    }
    check_named_archive(&ctx.settings, Mailbox::Received)
        .or_else(|_| check_named_archive(&ctx.settings, Mailbox::Sent))?;
    if !replace_outdated(OnOutdated::Replace, ctx)? {
        check_mismatch_exists(on_mismatch, &ctx.settings)?;
    }
    let mut backup = None;
    if let (ArchiveLocation::Disk(path), OnMismatch::BackUp) = (&ctx.settings.archive, on_mismatch)
    {
        confirm_move(path, ctx.settings.is_named_archive(), ctx.out)?;
        backup = Some(backup_path(&ctx.settings, path));
    }
    let archive = open_with_answer(on_mismatch, ctx)?;
    check_changeable(&archive)?;
    if Archive::exists(&ctx.settings.archive.for_mailbox(Mailbox::Received))? {
        Archive::open_for(&ctx.settings, Mailbox::Received, on_mismatch)?;
    }
    if let Some(backup) = backup.filter(|path| path.exists()) {
        let message = format!("what was there before is now {}", backup.display());
        ctx.out.note(&message);
    }
    print_info(&archive, ctx)
}

/// Requires the consent of the user to move a file that a flag names,
/// and that may never have been an archive.
fn confirm_move(path: &Path, is_named: bool, out: &mut Output) -> Result<(), CommandExit> {
    if !is_named || !is_no_archive(path) {
        return Ok(());
    }
    let path = path.display();
    let question =
        format!("{path} is not an archive; move it aside, and begin an archive in its place?");
    let error = Error::new(ErrorKind::Archive, format!("{path} is not an archive"))
        .with_hint("name another file, or move this one away first");
    match out.confirm(&question)? {
        Some(true) => Ok(()),
        Some(false) => Err(error.into_declined().into()),
        None => Err(error.into()),
    }
}

fn vacuum(ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let archive = open_for_removal(ctx)?;
    archive.check_owner()?;
    let received = open_received(&ctx.settings)?;
    let before = size(&archive, received.as_ref(), &ctx.settings)?;
    let mut is_wal_empty = true;
    let parts = || std::iter::once(&archive).chain(&received);
    parts().try_for_each(check_changeable)?;
    for archive in parts() {
        is_wal_empty &= archive.compact()?;
    }
    note_remaining_wal(is_wal_empty, ctx.out);
    let after = size(&archive, received.as_ref(), &ctx.settings)?;
    let (was, now) = (format_bytes(before), format_bytes(after));
    ctx.out.report(
        &VacuumJson { before, after },
        format!("{was} before, {now} now"),
    )
}

#[derive(Serialize)]
struct ImportJson {
    /// Items that were read, those of `bad` among them.
    lines: u64,
    /// Emails that the archive did not have.
    new: u64,
    /// Emails that were left out: purged before, or older than the archive keeps.
    #[serde(rename = "out")]
    skipped: u64,
    /// Items of `lines` that are not emails, or received where sent mail is imported,
    /// or sent where received is.
    #[serde(rename = "bad")]
    invalid: u64,
}

/// `import`: adds emails from JSON.
///
/// Items that are not emails are reported at the end. A signal is seen between two batches.
pub(super) fn import(args: &ImportArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let path = args.file.as_path();
    let lines = open_input(path)?;
    replace_outdated(OnOutdated::ReplaceForImport, ctx)?;
    drop_key_of_unbound(&mut ctx.settings)?;
    let (archive, new_path) = open_or_create(ctx)?;
    // At a terminal that is read, Ctrl-C ends it at once.
    let is_typed = path == Path::new("-") && io::stdin().is_terminal();
    let mut signals = (!is_typed).then(listen_for_signals).transpose()?;
    let mut interrupted = None;
    let imported = archive.import_from(ctx.mailbox, lines, ctx.now(), |done| {
        let emails = plural(done.lines - done.invalid, "email");
        ctx.out.show_progress(&format!("{emails} read"));
        let Some(number) = signals.as_mut().and_then(Signals::try_recv) else {
            return Ok(());
        };
        interrupted = Some((number, done.clone()));
        Err(Error::new(ErrorKind::Io, "interrupted"))
    });
    ctx.out.show_progress("");
    if let Some(path) = new_path {
        if archive.query_count().is_ok_and(|count| count == 0) {
            drop(archive);
            remove_archive(&path);
        } else {
            note_new_archive(&path, ctx.out);
        }
    }
    let imported = match &interrupted {
        Some((_, done)) => done.clone(),
        None => imported?,
    };
    ctx.out.notes(&imported.invalid_lines);
    if interrupted.is_some() {
        ctx.out
            .note("interrupted; the same command imports the rest, if there is any");
    }
    report_import(&imported, ctx.out)?;
    match interrupted {
        Some((number, _)) => Err(CommandExit::Signal(number)),
        None => Ok(check_all_imported(&imported, ctx.mailbox)?),
    }
}

fn open_input(path: &Path) -> Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path)
        .map_err(|error| Error::cannot("read", ErrorKind::Io, path.display(), &error))?;
    Ok(Box::new(BufReader::new(file)))
}

fn report_import(imported: &ImportReport, out: &mut Output) -> Result<(), CommandExit> {
    let report = ImportJson {
        lines: imported.lines,
        new: imported.new,
        skipped: imported.skipped,
        invalid: imported.invalid,
    };
    if report.lines == 0 {
        out.note("the input has no line: there is nothing to import");
    }
    if report.skipped > 0 {
        out.note(&format!(
            "{} of them are left out: purged before, or older than this archive keeps",
            group_digits(report.skipped, ' ')
        ));
    }
    let emails = plural(report.lines - report.invalid, "email");
    let new = group_digits(report.new, ' ');
    out.report(&report, format!("{emails} read, {new} of them new"))
}

/// Fails if an item is not an email of the mailbox.
fn check_all_imported(imported: &ImportReport, mailbox: Mailbox) -> Result<()> {
    if imported.invalid == 0 {
        return Ok(());
    }
    let (is_one, items) = (imported.invalid == 1, plural(imported.lines, "item"));
    let bad = group_digits(imported.invalid, ' ');
    let kind = match (imported.of_other_mailbox, mailbox) {
        (0, _) if is_one => "is not an email",
        (0, _) => "are not emails",
        (_, Mailbox::Sent) if is_one => "is not a sent email",
        (_, Mailbox::Sent) => "are not sent emails",
        (_, Mailbox::Received) if is_one => "is not a received email",
        (_, Mailbox::Received) => "are not received emails",
    };
    let message = format!("{bad} of {items} {kind}");
    Err(Error::new(ErrorKind::InvalidInput, message))
}

#[derive(Serialize)]
struct RepairJson<'a> {
    /// Emails in the repaired archive.
    emails: u64,
    /// Bodies in the repaired archive.
    bodies: u64,
    /// Emails that could not be read; null if the file does not show how many.
    lost_emails: Option<u64>,
    /// Bodies that could not be read; null if the file does not show how many.
    lost_bodies: Option<u64>,
    /// Emails that are kept without their sender or other fields, which could not be read.
    incomplete_emails: u64,
    /// Whether coverage is as before;
    /// if not, `sentbox sync --back all` fetches what is missing.
    complete: bool,
    /// Where the damaged file is now;
    /// null if nothing was damaged, so that nothing was changed.
    damaged_file: Option<&'a Path>,
}

/// Rewrites the archive. It is not opened before, since that may fail.
fn repair(ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let path = ctx
        .mailbox
        .archive_path(require_disk(&ctx.settings.archive, &ctx.settings)?);
    let repaired = Archive::repair(&path, |written| {
        ctx.out
            .show_progress(&format!("{} written", plural(written, "email")));
    });
    ctx.out.show_progress("");
    let RepairOutcome {
        emails,
        bodies,
        lost_emails,
        lost_bodies,
        incomplete_emails,
        is_coverage_reset,
        backup,
    } = repaired?;
    let complete = !is_coverage_reset && lost_emails == Some(0) && incomplete_emails == 0;
    if !complete {
        ctx.out
            .note("sentbox sync --back all reads again what may be missing");
    }
    if let Some(backup) = &backup {
        ctx.out.note(&format!(
            "the damaged file is now {}; remove it when nothing is missed",
            backup.display()
        ));
    }
    let report = RepairJson {
        emails,
        bodies,
        lost_emails,
        lost_bodies,
        incomplete_emails,
        complete,
        damaged_file: backup.as_deref(),
    };
    let (emails, bodies) = (plural(emails, "email"), plural(bodies, "body"));
    if backup.is_none() {
        let older = find_backups(&ctx.settings);
        if report.emails == 0 && !older.is_empty() {
            let older: Vec<_> = older
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let older = older.join(", ");
            ctx.out.note(&format!(
                "the archive that was there before is kept: {older}"
            ));
        }
        let text =
            format!("nothing is damaged: the archive of {emails} and {bodies} stays as it is");
        return ctx.out.report(&report, text);
    }
    let lost = describe_lost(lost_emails, lost_bodies, incomplete_emails);
    ctx.out.report(
        &report,
        format!("{emails} and {bodies} are in the repaired archive; {lost}"),
    )
}

/// Describes what a repair could not read.
fn describe_lost(emails: Option<u64>, bodies: Option<u64>, incomplete: u64) -> String {
    let lost = match (emails, bodies) {
        (Some(0), Some(0)) if incomplete == 0 => return "nothing was lost".to_owned(),
        (Some(0), Some(0)) => "no email and no body was lost".to_owned(),
        (Some(emails), Some(bodies)) => {
            let (emails, bodies) = (plural(emails, "email"), plural(bodies, "body"));
            format!("{emails} and {bodies} were lost")
        }
        _ => "it is not known how many were lost".to_owned(),
    };
    if incomplete == 0 {
        return lost;
    }
    let emails = plural(incomplete, "email");
    format!("{lost}; of {emails}, the sender or other fields could not be read")
}

/// Fails if there is no archive of another key to adopt or replace.
fn check_mismatch_exists(on_mismatch: OnMismatch, settings: &Settings) -> Result<()> {
    // Without a key or a folder for the archive, that error is the one to report.
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return Ok(());
    };
    let paths = Mailbox::ALL.map(|mailbox| mailbox.archive_path(path));
    let is_damaged = |path: &PathBuf| path.exists() && is_unusable(path);
    if on_mismatch == OnMismatch::BackUp && paths.iter().any(is_damaged)
        || IdentityMismatch::find(settings)?.is_some()
    {
        return Ok(());
    }
    let message = if settings.is_named_archive() {
        format!("the archive {} belongs to no other key", path.display())
    } else {
        format!("profile {} has no archive of another key", settings.profile)
    };
    Err(Error::new(ErrorKind::Usage, message)
        .with_hint("sentbox archive info describes its archive"))
}

#[derive(Serialize)]
struct ArchiveJson {
    /// File of the archive; null on a server.
    path: Option<String>,
    /// Bytes on disk, including the write-ahead logs, and the archive of received mail.
    bytes: u64,
    /// Emails in the archive.
    emails: u64,
    /// Bodies in the archive.
    bodies: u64,
    /// Emails that the service no longer lists.
    gone: u64,
    /// Time of the newest email.
    newest: Option<String>,
    /// Time of the oldest email.
    oldest: Option<String>,
    /// Whether the archive has everything that the service lists, except `omitted`.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
    /// Time of `complete` and `since`: of the last answer with the newest page;
    /// null if it is not known.
    as_of: Option<String>,
    /// Mail that is left out, though the service may have it.
    omitted: OmittedJson,
    /// Statuses that are due to be confirmed again.
    statuses: DueStatuses,
    /// Base URL of the service that the archive belongs to;
    /// empty before it belongs to one.
    service: String,
    /// Fingerprint of the key that the archive belongs to;
    /// empty before it belongs to one.
    key: String,
    /// Version of the schema.
    version: u32,
}

/// Mail that the archive leaves out, though the service may have it.
#[derive(Serialize)]
struct OmittedJson {
    /// Emails that were purged on demand; their ids are recognised.
    purged: u64,
    /// Time before which mail is left out, by `keep` or `archive purge --older`;
    /// null if none is.
    before: Option<String>,
}

/// Statuses that are due to be confirmed.
#[derive(Serialize)]
struct DueStatuses {
    /// Their number.
    due: u64,
    /// Age of the oldest, where 1 is the age at which it was due; null if unknown.
    lateness: Option<f64>,
}

impl DueStatuses {
    fn count(archive: &Archive, now: Timestamp) -> Result<Self> {
        let (due, latest) = count_due(archive, RecheckScope::background(now), now)?;
        // What was never confirmed, or in the future, has no age.
        let known =
            latest.filter(|late| late.lateness.is_finite() && late.run.at > Timestamp::UNIX_EPOCH);
        let lateness = known.map(|late| (late.lateness * 10.0).round() / 10.0);
        Ok(Self { due, lateness })
    }

    /// Formats it as `1 204 due, the oldest 2.3 times as old as it should be`.
    fn describe(&self) -> String {
        let due = group_digits(self.due, ' ');
        match self.lateness {
            _ if self.due == 0 => "none due to be confirmed".to_owned(),
            Some(lateness) => {
                format!("{due} due, the oldest {lateness:.1} times as old as it should be")
            }
            None => format!("{due} due, some of which were never confirmed"),
        }
    }
}

#[derive(Serialize)]
struct VacuumJson {
    /// Bytes on disk before.
    before: u64,
    /// Bytes on disk now.
    after: u64,
}

fn print_info(archive: &Archive, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let (settings, now) = (&ctx.settings, ctx.now());
    let info = archive.info()?;
    let (refreshed, left_out) = (archive.head_at_by(now)?, archive.left_out()?);
    let identity = archive.identity()?;
    let is_answered = is_answered(&settings.archive, identity.as_ref())?;
    let (service, key) = identity
        .map(|identity| (identity.service, identity.key_fingerprint))
        .unwrap_or_default();
    let path = archive_path(ctx);
    let report = ArchiveJson {
        path: path.as_ref().map(|path| path.display().to_string()),
        bytes: match &settings.archive {
            ArchiveLocation::Server(_) => {
                size(archive, open_received(settings)?.as_ref(), settings)?
            }
            _ => disk_size(settings),
        },
        emails: info.emails,
        bodies: info.bodies,
        gone: info.missing_upstream,
        newest: info.newest.as_ref().map(ApiTime::format_utc),
        oldest: info.oldest.as_ref().map(ApiTime::format_utc),
        complete: info.coverage == Coverage::Complete,
        since: covered_since(&info.coverage),
        as_of: refreshed.map(format_timestamp),
        omitted: OmittedJson {
            purged: info.purged,
            before: left_out.limit.map(format_timestamp),
        },
        statuses: DueStatuses::count(archive, now)?,
        service,
        key,
        version: info.version,
    };
    let lines = describe_info(&info, &report, is_answered, left_out, refreshed, ctx);
    ctx.out.report(&report, lines)
}

fn describe_info(
    info: &ArchiveInfo,
    report: &ArchiveJson,
    is_answered: bool,
    left_out: LeftOut,
    refreshed: Option<Timestamp>,
    ctx: &ProfileContext<'_>,
) -> String {
    let settings = &ctx.settings;
    let time = |time: Option<&ApiTime>| match time {
        Some(time) => format_api_time(time, &settings.zone),
        None => "none".to_owned(),
    };
    let count = |count| group_digits(count, ' ');
    let location = settings.archive.for_mailbox(ctx.mailbox).to_string();
    let (service_line, key_line) = match report.key.as_str() {
        "" => ("none yet".to_owned(), "none yet".to_owned()),
        key if is_answered => (report.service.clone(), format!("fingerprint {key}")),
        key => (
            report.service.clone(),
            format!("fingerprint {key}; the archive has no answer to it yet"),
        ),
    };
    let reach = describe_past_coverage(
        &info.coverage,
        info.emails,
        refreshed,
        ctx.now(),
        &settings.zone,
    );
    let purged = format!("{} by archive purge", plural(info.purged, "email"));
    let purged = match left_out.purged_before {
        Some(before) => {
            let before = format_time(before, ctx.now(), &settings.zone);
            format!("{purged}, and all mail before {before}")
        }
        None => purged,
    };
    let lines = [
        ("path", location),
        (
            "size",
            format!("{}, sent and received", format_bytes(report.bytes)),
        ),
        ("service", service_line),
        ("key", key_line),
        ("emails", count(info.emails)),
        ("bodies", count(info.bodies)),
        (
            "gone",
            format!(
                "{} that the service no longer lists",
                count(info.missing_upstream)
            ),
        ),
        ("newest", time(info.newest.as_ref())),
        ("oldest", time(info.oldest.as_ref())),
        ("reach", add_left_out(&reach, &info.coverage, left_out)),
        ("purged", purged),
        (
            "statuses",
            match ctx.mailbox {
                Mailbox::Sent => report.statuses.describe(),
                Mailbox::Received => "none: the mail was received".to_owned(),
            },
        ),
        ("version", info.version.to_string()),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<8} {}", sanitize_line(&value)));
    lines.join("\n")
}

/// Returns the bytes of both archives, wherever they are.
fn size(archive: &Archive, received: Option<&Archive>, settings: &Settings) -> Result<u64> {
    let archives = std::iter::once(archive).chain(received);
    let on_server = archives
        .map(Archive::server_size)
        .collect::<Result<Option<Vec<_>>, _>>()?;
    Ok(on_server.map_or_else(|| disk_size(settings), |sizes| sizes.iter().sum()))
}

/// Returns the bytes of both archives on disk, including the write-ahead logs.
fn disk_size(settings: &Settings) -> u64 {
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return 0;
    };
    let files = Mailbox::ALL.map(|mailbox| mailbox.archive_path(path));
    let logs = files.clone().map(|path| sidecar_path(&path, "-wal"));
    let metadata = |path: PathBuf| path.metadata().ok();
    let files = files.into_iter().chain(logs).filter_map(metadata);
    files.map(|metadata| metadata.len()).sum()
}
