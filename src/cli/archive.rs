//! `archive`: what is kept, and how to keep less.

use crate::text::format::{group_digits, plural};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::ProfileContext;
use super::args::{ArchiveVerb, PurgeArgs};
use super::format::{describe_past_coverage, format_api_time};
use super::open_archive;
use super::output::{CommandExit, Output, OutputFormat};
use crate::archive::{
    Archive, ArchiveInfo, ArchiveLocation, BodyAvailability, Coverage, IdentityMismatch,
    OnMismatch, PurgeTarget, RepairOutcome, is_unusable,
};
use crate::config::Settings;
use crate::error::{Error, ErrorKind};
use crate::mail::ApiTime;
use crate::query::{ParseContext, ParsedQuery, parse};
use crate::sync::RecheckScope;
use crate::sync::recheck::find_due_runs;

/// Does it.
pub(super) fn run(verb: &ArchiveVerb, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let on_mismatch = match verb {
        ArchiveVerb::Adopt => OnMismatch::Adopt,
        ArchiveVerb::Begin => OnMismatch::BackUp,
        ArchiveVerb::Repair => return repair_archive(ctx.settings, ctx.out),
        ArchiveVerb::Info | ArchiveVerb::Purge(_) | ArchiveVerb::Vacuum => OnMismatch::Ask,
    };
    if on_mismatch != OnMismatch::Ask {
        check_mismatch_exists(on_mismatch, ctx.settings)?;
    }
    let archive = open_archive::open_with_answer(on_mismatch, ctx)?;
    match verb {
        ArchiveVerb::Adopt | ArchiveVerb::Begin | ArchiveVerb::Info | ArchiveVerb::Repair => {
            print_info(&archive, ctx.settings, (ctx.clock)(), ctx.out)
        }
        ArchiveVerb::Purge(purge) => {
            self::purge_emails(&archive, purge, ctx.settings, (ctx.clock)(), ctx.out)
        }
        ArchiveVerb::Vacuum => {
            let before = disk_size(ctx.settings);
            let emptied = archive.compact()?;
            note_remaining_wal(emptied, ctx.out);
            let after = disk_size(ctx.settings);
            write_report(
                &VacuumJson { before, after },
                &format!(
                    "{} before, {} now",
                    format_bytes(before),
                    format_bytes(after)
                ),
                ctx.out,
            )
        }
    }
}

#[derive(Serialize)]
struct RepairJson<'a> {
    /// Emails in the repaired archive.
    emails: u64,
    /// Bodies in the repaired archive.
    bodies: u64,
    /// Emails that could not be read.
    lost_emails: u64,
    /// Bodies that could not be read.
    lost_bodies: u64,
    /// Whether coverage is as before; if not, `sentbox sync --back all` fetches what is missing.
    complete: bool,
    /// Where the damaged file is now.
    damaged_file: &'a Path,
}

/// Writes the archive anew; it is not opened before, since that may fail.
fn repair_archive(settings: &Settings, out: &mut Output) -> Result<(), CommandExit> {
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return Err(
            Error::new(ErrorKind::Usage, "this needs an archive on disk")
                .with_hint("leave out --in-memory, or choose another profile")
                .into(),
        );
    };
    let repaired = Archive::repair(path, |written| {
        out.show_progress(&format!("{} written", plural(written, "email")));
    });
    out.show_progress("");
    let RepairOutcome {
        emails: count,
        bodies,
        lost_emails,
        lost_bodies,
        is_coverage_reset: is_unclaimed,
        backup: aside,
    } = repaired?;
    if lost_emails > 0 || lost_bodies > 0 {
        out.note(&format!(
            "could not be read: {}, bodies: {}",
            plural(lost_emails, "email"),
            group_digits(lost_bodies, ' ')
        ));
    }
    if is_unclaimed || lost_emails > 0 {
        out.note("sentbox sync --back all reads again what may be missing");
    }
    out.note(&format!(
        "the damaged file is now {}; remove it when nothing is missed",
        aside.display()
    ));
    let report = RepairJson {
        emails: count,
        bodies,
        lost_emails,
        lost_bodies,
        complete: !is_unclaimed && lost_emails == 0,
        damaged_file: &aside,
    };
    write_report(
        &report,
        &format!(
            "{} and {} bodies are in the repaired archive",
            plural(count, "email"),
            group_digits(bodies, ' ')
        ),
        out,
    )
}

fn check_mismatch_exists(on_mismatch: OnMismatch, settings: &Settings) -> Result<(), Error> {
    // Without a key or a directory for the archive, that error is the one to report.
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return Ok(());
    };
    if on_mismatch == OnMismatch::BackUp && path.exists() && is_unusable(path)
        || IdentityMismatch::find(settings)?.is_some()
    {
        return Ok(());
    }
    let message = format!(
        "profile {} has no archive of another key that would be in question",
        settings.profile
    );
    Err(Error::new(ErrorKind::Usage, message).with_hint("sentbox archive info says what it has"))
}

#[derive(Serialize)]
struct ArchiveJson<'a> {
    /// File of the archive; null in memory.
    path: Option<&'a Path>,
    /// Bytes on disk, including the write-ahead log.
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
    /// Whether the archive has everything that the service lists.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
    /// Statuses that are due to be confirmed again.
    statuses: DueStatuses,
    /// Base URL of the service.
    service: String,
    /// Fingerprint of the key; empty without a key.
    key: String,
    /// Version of the schema.
    version: u32,
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
    fn count(archive: &Archive, now: Timestamp) -> Result<Self, Error> {
        let (mut due, mut latest) = (0, None);
        for late in find_due_runs(
            &archive.confirmed_runs()?,
            RecheckScope::background(now),
            now,
        ) {
            let count = archive.count_listed(late.run.top, late.run.bottom, u32::MAX)?;
            if count > 0 {
                // The latest come first.
                latest.get_or_insert(late);
                due += u64::from(count);
            }
        }
        // What was never confirmed, or in the future, has no age.
        let known =
            latest.filter(|late| late.lateness.is_finite() && late.run.at > Timestamp::UNIX_EPOCH);
        Ok(Self {
            due,
            lateness: known.map(|late| (late.lateness * 10.0).round() / 10.0),
        })
    }

    /// `1 204 due, the oldest 2.3 times as old as it should be`.
    fn describe(&self) -> String {
        match self {
            Self { due: 0, .. } => "none due to be confirmed".to_owned(),
            Self {
                due,
                lateness: Some(lateness),
            } => {
                format!(
                    "{} due, the oldest {lateness:.1} times as old as it should be",
                    group_digits(*due, ' ')
                )
            }
            Self {
                due,
                lateness: None,
            } => format!(
                "{} due, some of which were never confirmed",
                group_digits(*due, ' ')
            ),
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

#[derive(Serialize)]
struct PurgeJson {
    /// Emails that were removed.
    removed: u64,
}

#[derive(Serialize)]
struct PurgePreviewJson {
    /// Emails that would be removed.
    would_remove: u64,
}

fn print_info(
    archive: &Archive,
    settings: &Settings,
    now: Timestamp,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let ArchiveInfo {
        version,
        emails,
        bodies,
        missing_upstream: gone,
        newest,
        oldest,
        coverage: complete,
    } = archive.info()?;
    let raw = |stamp: &ApiTime| {
        stamp
            .parsed
            .map_or_else(|| stamp.raw.to_string(), |at| at.to_string())
    };
    let key = settings
        .key
        .as_ref()
        .map(crate::config::ApiKey::fingerprint)
        .unwrap_or_default();
    let path = if let ArchiveLocation::Disk(path) = &settings.archive {
        Some(path.as_path())
    } else {
        None
    };
    let told_as = ArchiveJson {
        path,
        bytes: disk_size(settings),
        emails,
        bodies,
        gone,
        newest: newest.as_ref().map(raw),
        oldest: oldest.as_ref().map(raw),
        complete: complete == Coverage::Complete,
        since: if let Coverage::Since(stamp) = &complete {
            Some(raw(stamp))
        } else {
            None
        },
        statuses: DueStatuses::count(archive, now)?,
        service: settings.base_url.to_string(),
        key: key.clone(),
        version,
    };
    let when = |time: Option<&ApiTime>| {
        time.map_or_else(
            || "none".to_owned(),
            |time| format_api_time(time, &settings.zone),
        )
    };
    let lines = [
        (
            "path",
            path.map(|path| path.display().to_string())
                .unwrap_or_default(),
        ),
        ("size", format_bytes(told_as.bytes)),
        ("service", settings.base_url.to_string()),
        ("key", format!("fingerprint {key}")),
        ("emails", group_digits(emails, ' ')),
        ("bodies", group_digits(bodies, ' ')),
        (
            "gone",
            format!(
                "{} that the service no longer lists",
                group_digits(gone, ' ')
            ),
        ),
        ("newest", when(newest.as_ref())),
        ("oldest", when(oldest.as_ref())),
        (
            "reach",
            describe_past_coverage(&complete, archive.head_at()?, now, &settings.zone),
        ),
        ("statuses", told_as.statuses.describe()),
        ("format", version.to_string()),
    ];
    let text: Vec<String> = lines
        .iter()
        .map(|(name, value)| format!("{name:<8} {value}"))
        .collect();
    write_report(&told_as, &text.join("\n"), out)
}

fn purge_emails(
    archive: &Archive,
    purge: &PurgeArgs,
    settings: &Settings,
    now: Timestamp,
    out: &mut Output,
) -> Result<(), CommandExit> {
    let (removal, which) = purge_target(purge, settings, now)?;
    if let PurgeTarget::Matching(query) = &removal
        && query.needs_bodies()
    {
        let BodyAvailability { fetched, emails } = archive.body_availability()?;
        if fetched < emails {
            let words = format!(
                "bodies and tags are known of {} of {} emails; what the others say in theirs is not found",
                group_digits(fetched, ' '),
                group_digits(emails, ' ')
            );
            out.note(&words);
        }
    }
    if !purge.dry_run {
        open_archive::check_writable(archive)?;
    }
    let count = archive.count_purge(&removal)?;
    let would = format!("{} {which}", plural(count, "email"));
    if purge.dry_run {
        return write_report(
            &PurgePreviewJson {
                would_remove: count,
            },
            &format!("would remove {would}"),
            out,
        );
    }
    if !purge.yes {
        match out.confirm(&format!("remove {would} for good?"))? {
            Some(true) => {}
            Some(false) => return Err(Error::new(ErrorKind::Io, "nothing was removed").into()),
            None => {
                let failure = Error::new(
                    ErrorKind::Usage,
                    format!("this would remove {would} for good"),
                );
                return Err(failure.with_hint("add --yes to confirm").into());
            }
        }
    }
    let (removed, emptied) = archive.purge(&removal)?;
    note_remaining_wal(emptied, out);
    write_report(
        &PurgeJson { removed },
        &format!("{} removed", plural(removed, "email")),
        out,
    )
}

/// What is to be removed, and the same in words. A query that is not read as it may be meant removes
/// nothing, nor does one that everything matches.
fn purge_target(
    purge: &PurgeArgs,
    settings: &Settings,
    now: Timestamp,
) -> Result<(PurgeTarget, String), Error> {
    match (&purge.older, &purge.to) {
        (Some(age), _) => Ok((
            PurgeTarget::Before(now.checked_sub(*age).unwrap_or(Timestamp::MIN)),
            "that old".to_owned(),
        )),
        (None, Some(address)) => Ok((PurgeTarget::To(address.clone()), format!("to {address}"))),
        (None, None) => {
            let text = purge.words.join(" ");
            let ParsedQuery {
                query,
                diagnostics: notes,
                ..
            } = parse(&text, &ParseContext::new(now, settings.zone.clone()));
            if let Some(note) = notes.first() {
                let part = text.get(note.range.clone()).unwrap_or_default();
                let failure = Error::new(
                    ErrorKind::Usage,
                    format!(
                        "this query is not clear, so nothing was removed: {part}: {}",
                        note.message
                    ),
                );
                return Err(failure.with_hint("sentbox search shows what a query finds"));
            }
            if query.is_match_all() {
                let failure = Error::new(
                    ErrorKind::Usage,
                    "this query finds everything, so nothing was removed",
                );
                return Err(
                    failure.with_hint("to forget a whole team: sentbox profile remove NAME --yes")
                );
            }
            let which = format!("that match {query}");
            Ok((PurgeTarget::Matching(query), which))
        }
    }
}

fn note_remaining_wal(emptied: bool, out: &mut Output) {
    if !emptied {
        out.note("another sentbox has this archive open; what it still holds beside the file goes when that ends");
    }
}

fn write_report(report: &impl Serialize, text: &str, out: &mut Output) -> Result<(), CommandExit> {
    let text = match out.format {
        OutputFormat::Human => text.to_owned(),
        OutputFormat::Json | OutputFormat::JsonLines => {
            serde_json::to_string(report).expect("numbers and texts are JSON")
        }
    };
    out.write_data(&(text + "\n"))?;
    out.flush()
}

/// What the archive takes on the disk, with the log beside it.
fn disk_size(settings: &Settings) -> u64 {
    let ArchiveLocation::Disk(path) = &settings.archive else {
        return 0;
    };
    let log = path.with_extension("sqlite-wal");
    [path, &log]
        .into_iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|found| found.len())
        .sum()
}

fn format_bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", group_digits(count / 1_000, ' ')),
        _ => format!("{} MB", group_digits(count / 1_000_000, ' ')),
    }
}
