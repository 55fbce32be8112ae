//! `archive`: what is kept, and how to keep less.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::archive;
use super::args::{Purge, Upkeep};
use super::output::{Output, Shape, Stop};
use super::words::{emails, grouped, reach_then, stamp};
use crate::archive::{
    Archive, Info, Location, Reach, Removal, Repaired, Said, Scope, Stranger, is_beyond_use,
    looks_inside,
};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::Stamp;
use crate::query::{Context, Parsed, parse};
use crate::sync::Recheck;
use crate::sync::recheck::due_runs;

/// Does it.
///
/// # Errors
///
/// If the archive cannot be used, or nobody says that mail may be removed.
pub(super) fn run(
    verb: &Upkeep,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    let said = match verb {
        Upkeep::Adopt => Said::SameTeam,
        Upkeep::Begin => Said::OtherTeam,
        Upkeep::Repair => return repair(settings, out),
        Upkeep::Info | Upkeep::Purge(_) | Upkeep::Vacuum => Said::Nothing,
    };
    if said != Said::Nothing {
        asked_about(said, settings)?;
    }
    let archive = archive::open_as(settings, said, clock, out)?;
    match verb {
        Upkeep::Adopt | Upkeep::Begin | Upkeep::Info | Upkeep::Repair => {
            info(&archive, settings, clock(), out)
        }
        Upkeep::Purge(purge) => self::purge(&archive, purge, settings, clock(), out),
        Upkeep::Vacuum => {
            let before = size(settings);
            let emptied = archive.compact()?;
            note_log(emptied, out);
            let after = size(settings);
            told(
                &Vacuumed { before, after },
                &format!("{} before, {} now", bytes(before), bytes(after)),
                out,
            )
        }
    }
}

#[derive(Serialize)]
struct RepairReport<'a> {
    emails: u64,
    bodies: u64,
    lost_emails: u64,
    lost_bodies: u64,
    complete: bool,
    damaged_file: &'a Path,
}

/// Writes the archive anew; it is not opened before, since that may fail.
fn repair(settings: &Settings, out: &mut Output) -> Result<(), Stop> {
    let Location::Disk(path) = &settings.archive else {
        return Err(Failure::new(Kind::Usage, "this needs an archive on disk")
            .hint("leave out --in-memory, or choose another profile")
            .into());
    };
    let repaired = Archive::repair(path, |written| {
        out.progress(&format!("{} written", emails(written)));
    });
    out.progress("");
    let Repaired {
        emails: count,
        bodies,
        lost_emails,
        lost_bodies,
        is_unclaimed,
        aside,
    } = repaired?;
    if lost_emails > 0 || lost_bodies > 0 {
        out.note(&format!(
            "could not be read: {}, bodies: {}",
            emails(lost_emails),
            grouped(lost_bodies)
        ));
    }
    if is_unclaimed || lost_emails > 0 {
        out.note("sentbox sync --back all reads again what may be missing");
    }
    out.note(&format!(
        "the damaged file is now {}; remove it when nothing is missed",
        aside.display()
    ));
    let report = RepairReport {
        emails: count,
        bodies,
        lost_emails,
        lost_bodies,
        complete: !is_unclaimed && lost_emails == 0,
        damaged_file: &aside,
    };
    told(
        &report,
        &format!(
            "{} and {} bodies are in the repaired archive",
            emails(count),
            grouped(bodies)
        ),
        out,
    )
}

/// # Errors
///
/// If there is no archive to say something about: of another key, or one that is of no use.
fn asked_about(said: Said, settings: &Settings) -> Result<(), Failure> {
    // Where there is no key or no place for an archive, that is what is said.
    let Location::Disk(path) = &settings.archive else {
        return Ok(());
    };
    if said == Said::OtherTeam && path.exists() && is_beyond_use(path)
        || Stranger::before(settings)?.is_some()
    {
        return Ok(());
    }
    let sentence = format!(
        "profile {} has no archive of another key that would be in question",
        settings.profile
    );
    Err(Failure::new(Kind::Usage, sentence).hint("sentbox archive info says what it has"))
}

#[derive(Serialize)]
struct Told<'a> {
    path: Option<&'a Path>,
    bytes: u64,
    emails: u64,
    bodies: u64,
    gone: u64,
    newest: Option<String>,
    oldest: Option<String>,
    complete: bool,
    since: Option<String>,
    statuses: Due,
    service: String,
    key: String,
    version: u32,
}

/// Statuses that are due to be confirmed.
#[derive(Serialize)]
struct Due {
    due: u64,
    /// How old the oldest is, where 1 is as old as it should be at most; `None` if that is not known.
    lateness: Option<f64>,
}

impl Due {
    fn of(archive: &Archive, now: Timestamp) -> Result<Self, Failure> {
        let (mut due, mut latest) = (0, None);
        for late in due_runs(&archive.confirmed_runs()?, Recheck::background(now), now) {
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
    fn words(&self) -> String {
        match self {
            Self { due: 0, .. } => "none due to be confirmed".to_owned(),
            Self {
                due,
                lateness: Some(lateness),
            } => {
                format!(
                    "{} due, the oldest {lateness:.1} times as old as it should be",
                    grouped(*due)
                )
            }
            Self {
                due,
                lateness: None,
            } => format!("{} due, some of which were never confirmed", grouped(*due)),
        }
    }
}

#[derive(Serialize)]
struct Vacuumed {
    before: u64,
    after: u64,
}

#[derive(Serialize)]
struct Purged {
    removed: u64,
}

#[derive(Serialize)]
struct Found {
    would_remove: u64,
}

fn info(
    archive: &Archive,
    settings: &Settings,
    now: Timestamp,
    out: &mut Output,
) -> Result<(), Stop> {
    let Info {
        version,
        emails,
        bodies,
        gone,
        newest,
        oldest,
        reach: complete,
    } = archive.info()?;
    let raw = |stamp: &Stamp| {
        stamp
            .at
            .map_or_else(|| stamp.raw.to_string(), |at| at.to_string())
    };
    let key = settings
        .key
        .as_ref()
        .map(crate::config::ApiKey::fingerprint)
        .unwrap_or_default();
    let path = if let Location::Disk(path) = &settings.archive {
        Some(path.as_path())
    } else {
        None
    };
    let told_as = Told {
        path,
        bytes: size(settings),
        emails,
        bodies,
        gone,
        newest: newest.as_ref().map(raw),
        oldest: oldest.as_ref().map(raw),
        complete: complete == Reach::Everything,
        since: if let Reach::Since(stamp) = &complete {
            Some(raw(stamp))
        } else {
            None
        },
        statuses: Due::of(archive, now)?,
        service: settings.base_url.to_string(),
        key: key.clone(),
        version,
    };
    let when = |time: Option<&Stamp>| {
        time.map_or_else(|| "none".to_owned(), |time| stamp(time, &settings.zone))
    };
    let lines = [
        (
            "path",
            path.map(|path| path.display().to_string())
                .unwrap_or_default(),
        ),
        ("size", bytes(told_as.bytes)),
        ("service", settings.base_url.to_string()),
        ("key", format!("fingerprint {key}")),
        ("emails", grouped(emails)),
        ("bodies", grouped(bodies)),
        (
            "gone",
            format!("{} that the service no longer lists", grouped(gone)),
        ),
        ("newest", when(newest.as_ref())),
        ("oldest", when(oldest.as_ref())),
        (
            "reach",
            reach_then(&complete, archive.head_at()?, now, &settings.zone),
        ),
        ("statuses", told_as.statuses.words()),
        ("format", version.to_string()),
    ];
    let text: Vec<String> = lines
        .iter()
        .map(|(name, value)| format!("{name:<8} {value}"))
        .collect();
    told(&told_as, &text.join("\n"), out)
}

fn purge(
    archive: &Archive,
    purge: &Purge,
    settings: &Settings,
    now: Timestamp,
    out: &mut Output,
) -> Result<(), Stop> {
    let (removal, which) = meant(purge, settings, now)?;
    if let Removal::Matching(query) = &removal
        && looks_inside(query)
    {
        let Scope { fetched, emails } = archive.scope()?;
        if fetched < emails {
            let words = format!(
                "bodies and tags are known of {} of {} emails; what the others say in theirs is not found",
                grouped(fetched),
                grouped(emails)
            );
            out.note(&words);
        }
    }
    if !purge.dry_run {
        archive::check_writable(archive)?;
    }
    let count = archive.count_removal(&removal)?;
    let would = format!("{} {which}", emails(count));
    if purge.dry_run {
        return told(
            &Found {
                would_remove: count,
            },
            &format!("would remove {would}"),
            out,
        );
    }
    if !purge.yes {
        match out.ask(&format!("remove {would} for good?"))? {
            Some(true) => {}
            Some(false) => return Err(Failure::new(Kind::Io, "nothing was removed").into()),
            None => {
                let failure =
                    Failure::new(Kind::Usage, format!("this would remove {would} for good"));
                return Err(failure.hint("say --yes if that is meant").into());
            }
        }
    }
    let (removed, emptied) = archive.remove(&removal)?;
    note_log(emptied, out);
    told(
        &Purged { removed },
        &format!("{} removed", emails(removed)),
        out,
    )
}

/// What is to be removed, and the same in words. A query that is not read as it may be meant removes
/// nothing, nor does one that everything matches.
fn meant(purge: &Purge, settings: &Settings, now: Timestamp) -> Result<(Removal, String), Failure> {
    match (&purge.older, &purge.to) {
        (Some(age), _) => Ok((
            Removal::Before(now.checked_sub(*age).unwrap_or(Timestamp::MIN)),
            "that old".to_owned(),
        )),
        (None, Some(address)) => Ok((Removal::To(address.clone()), format!("to {address}"))),
        (None, None) => {
            let text = purge.words.join(" ");
            let Parsed { query, notes, .. } =
                parse(&text, &Context::new(now, settings.zone.clone()));
            if let Some(note) = notes.first() {
                let part = text.get(note.range.clone()).unwrap_or_default();
                let failure = Failure::new(
                    Kind::Usage,
                    format!(
                        "this query is not clear, so nothing was removed: {part}: {}",
                        note.words
                    ),
                );
                return Err(failure.hint("sentbox search shows what a query finds"));
            }
            if query.is_everything() {
                let failure = Failure::new(
                    Kind::Usage,
                    "this query finds everything, so nothing was removed",
                );
                return Err(
                    failure.hint("to forget a whole team: sentbox profile remove NAME --yes")
                );
            }
            let which = format!("that match {query}");
            Ok((Removal::Matching(query), which))
        }
    }
}

fn note_log(emptied: bool, out: &mut Output) {
    if !emptied {
        out.note("another sentbox has this archive open; what it still holds beside the file goes when that ends");
    }
}

fn told(report: &impl Serialize, text: &str, out: &mut Output) -> Result<(), Stop> {
    let text = match out.shape {
        Shape::Human => text.to_owned(),
        Shape::Json | Shape::JsonLines => {
            serde_json::to_string(report).expect("numbers and texts are JSON")
        }
    };
    out.data(&(text + "\n"))?;
    out.flush()
}

/// What the archive takes on the disk, with the log beside it.
fn size(settings: &Settings) -> u64 {
    let Location::Disk(path) = &settings.archive else {
        return 0;
    };
    let log = path.with_extension("sqlite-wal");
    [path, &log]
        .into_iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|found| found.len())
        .sum()
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", grouped(count / 1_000)),
        _ => format!("{} MB", grouped(count / 1_000_000)),
    }
}
