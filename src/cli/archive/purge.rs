//! `archive purge`: removes emails for good, of sent and of received mail.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use crate::archive::{PurgeTarget, RowCounts, find_backups};
use crate::cli::ProfileContext;
use crate::cli::args::PurgeArgs;
use crate::cli::args::typed_query::TypedQuery;
use crate::cli::open_archive::{
    check_changeable, note_remaining_wal, open_for_removal, open_received,
};
use crate::cli::output::format::format_time;
use crate::cli::output::{CommandExit, Output};
use crate::config::{HISTORY_FILE, LineFile, STATE_FILE, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::query::ParseContext;
use crate::text::format::{group_digits, plural, shell_word};

#[derive(Serialize)]
struct PurgeJson<'a> {
    /// Emails that were removed.
    removed: u64,
    /// Backups and damaged files of the archive, which still contain mail:
    /// delete them yourself.
    backups: &'a [PathBuf],
}

#[derive(Serialize)]
struct PurgePreviewJson {
    /// Emails that would be removed.
    would_remove: u64,
}

/// Returns what to purge of received mail: all to and from an address, nothing by a
/// status, which it does not have, and otherwise the same.
fn received_target(target: &PurgeTarget) -> Option<PurgeTarget> {
    match target {
        PurgeTarget::To(address) => Some(PurgeTarget::With(address.clone())),
        PurgeTarget::Matching(query) if query.needs_status() => None,
        target => Some(target.clone()),
    }
}

/// Purges sent mail, and received mail if there is any.
pub(in crate::cli) fn purge(
    args: &PurgeArgs,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let archive = open_for_removal(ctx)?;
    let received = open_received(&ctx.settings)?;
    let (target, description) = purge_target(args, &ctx.settings, ctx.now())?;
    if let PurgeTarget::Matching(query) = &target
        && query.needs_bodies()
    {
        note_unknown_bodies(archive.row_counts()?, ctx.out);
    }
    let has_received = received.is_some();
    let received = received.and_then(|archive| Some((archive, received_target(&target)?)));
    if has_received && received.is_none() {
        ctx.out
            .note("received mail has no status, so none of it is removed");
    }
    let mut parts = vec![(archive, target)];
    parts.extend(received);
    let counts = parts.iter().map(|(part, target)| part.count_purge(target));
    let counts = counts.collect::<Result<Vec<u64>, _>>()?;
    let would_remove = counts.iter().sum();
    let from_received = counts[1..].iter().sum();
    if !args.dry_run {
        for (part, _) in &parts {
            check_changeable(part)?;
        }
    }
    let mut emails = format!("{} {description}", plural(would_remove, "email"));
    if from_received > 0 {
        if let Some(address) = &args.to {
            emails = format!("{} to or from {address}", plural(would_remove, "email"));
        }
        let count = group_digits(from_received, ' ');
        emails = format!("{emails}, {count} of them received,");
    }
    if args.dry_run {
        return ctx.out.report(
            &PurgePreviewJson { would_remove },
            format!("would remove {emails}"),
        );
    }
    if !args.yes {
        confirm_removal(&emails, ctx.out)?;
    }
    // Before anything can fail: the addresses are in the typed filters, too.
    forget_filters(args, &ctx.settings)?;
    let (mut removed, mut is_wal_empty) = (0, true);
    for (part, target) in parts {
        let (count, is_empty) = part.purge(&target)?;
        removed += count;
        is_wal_empty &= is_empty;
    }
    note_remaining_wal(is_wal_empty, ctx.out);
    let backups = find_backups(&ctx.settings);
    if !backups.is_empty() {
        let paths = backups
            .iter()
            .map(|path| shell_word(&path.to_string_lossy()));
        let paths = paths.collect::<Vec<_>>().join(" ");
        ctx.out.note(&format!(
            "backups of the archive still contain the mail that they had; to delete them: rm -r {paths}"
        ));
    }
    if args.older.is_none() {
        note_state_files(&ctx.settings, ctx.out);
    }
    let report = PurgeJson {
        removed,
        backups: &backups,
    };
    let emails = plural(removed, "email");
    ctx.out.report(&report, format!("{emails} removed"))
}

/// Notes that a query of bodies or tags does not find all emails.
fn note_unknown_bodies(RowCounts { emails, bodies }: RowCounts, out: &mut Output) {
    if bodies < emails {
        let (fetched, emails) = (group_digits(bodies, ' '), group_digits(emails, ' '));
        out.note(&format!(
            "bodies and tags are known of {fetched} of {emails} emails; the others are not found by theirs"
        ));
    }
}

/// Requires the consent of the user to remove the emails.
fn confirm_removal(emails: &str, out: &mut Output) -> Result<(), CommandExit> {
    match out.confirm(&format!("remove {emails} for good?"))? {
        Some(true) => Ok(()),
        Some(false) => Err(Error::new(ErrorKind::Declined, "nothing was removed").into()),
        None => {
            let message = format!("this would remove {emails} for good");
            let error = Error::new(ErrorKind::Usage, message);
            Err(error.with_hint("add --yes to confirm").into())
        }
    }
}

/// The words of a query, whatever operators and quotes are around them.
fn words(query: &str) -> impl Iterator<Item = &str> {
    query.split(|c: char| c.is_whitespace() || "\"'(),:<>".contains(c))
}

fn is_address(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

/// Removes the typed filters that name an address of the purge from the file beside
/// the archive.
fn forget_filters(args: &PurgeArgs, settings: &Settings) -> Result<()> {
    let Some(folder) = settings.state_folder() else {
        return Ok(());
    };
    let text = args.to.clone().unwrap_or_else(|| args.words.join(" "));
    let text = text.to_lowercase();
    let addresses: Vec<&str> = words(&text).filter(|word| is_address(word)).collect();
    let names_address = |line: &String| {
        let line = line.to_lowercase();
        words(&line).any(|word| addresses.contains(&word))
    };
    let file = LineFile::new(&folder, HISTORY_FILE);
    file.update(|mut lines| {
        lines.retain(|line| !names_address(line));
        lines
    })
    .map_err(|error| {
        let message = format!("the mail was removed, but typed filters were not: {error}");
        Error::new(ErrorKind::Io, message)
            .with_hint("they are in the file history beside the archive")
    })
}

/// Notes what the screen has stored: filters by a name, and which emails are watched.
fn note_state_files(settings: &Settings, out: &mut Output) {
    let Some(folder) = settings.state_folder() else {
        return;
    };
    let filters = "typed filters, which may still name a person of the removed mail, are in";
    let watched = "ids of emails that are or were watched are in";
    for (contents, name, record) in [(filters, HISTORY_FILE, ""), (watched, STATE_FILE, "watch")] {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if !text.is_empty() && text.contains(record) {
            out.note(&format!("{contents} {}", path.display()));
        }
    }
}

/// Returns the target with its description.
///
/// A query with a diagnostic, or one that matches everything, removes nothing.
fn purge_target(
    args: &PurgeArgs,
    settings: &Settings,
    now: Timestamp,
) -> Result<(PurgeTarget, String)> {
    if let Some(age) = args.older {
        let cutoff = now.checked_sub(age).unwrap_or(Timestamp::MIN);
        let date = format_time(cutoff, now, &settings.zone);
        return Ok((PurgeTarget::Before(cutoff), format!("older than {date}")));
    }
    if let Some(address) = &args.to {
        return Ok((PurgeTarget::To(address.clone()), format!("to {address}")));
    }
    let context = ParseContext::new(now, settings.zone.clone());
    let query = TypedQuery::parse_in(&args.words, &context)?.check_for_removal()?;
    if query.is_match_all() {
        let message = "this query finds everything, so nothing was removed";
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("to forget a whole team: sentbox profile remove NAME --yes"));
    }
    let description = format!("matching {query}");
    Ok((PurgeTarget::Matching(query), description))
}
