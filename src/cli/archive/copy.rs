//! `archive copy`: copies an archive to another file or to PostgreSQL.

use std::path::PathBuf;

use serde::Serialize;

use crate::archive::{Archive, ArchiveLocation, CopyStep, RowCounts};
use crate::cli::args::CopyArgs;
use crate::cli::open_archive::require_disk;
use crate::cli::output::CommandExit;
use crate::cli::{ProfileContext, listen_for_signals};
use crate::error::{Error, ErrorKind};
use crate::mail::Mailbox;
use crate::text::format::plural;
use crate::text::sanitize::sanitize_line;

#[derive(Serialize)]
struct CopyJson {
    /// Emails in the copy, with received ones.
    emails: u64,
    /// Bodies in the copy.
    bodies: u64,
    /// Where the copy is.
    to: String,
}

/// Copies the archives of sent and received mail. A signal is seen between two steps.
pub(in crate::cli) fn copy(
    args: &CopyArgs,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let locate = |path: &Option<PathBuf>| match path {
        Some(path) => ctx.settings.server_options.locate(path),
        None => Ok(ctx.settings.archive.clone()),
    };
    let (from, to) = (locate(&args.from)?, locate(&args.to)?);
    for location in [&from, &to] {
        if *location == ArchiveLocation::Memory {
            ctx.settings.credentials.key.clone()?;
            require_disk(location, &ctx.settings)?;
        }
    }
    let mut signals = listen_for_signals()?;
    let mut interrupted = None;
    let copied = Archive::copy(&from, &to, |mailbox, step| {
        let mail = match mailbox {
            Mailbox::Sent => "",
            Mailbox::Received => ", received mail",
        };
        let done = match step {
            CopyStep::Compare(rows) => format!("{} compared", plural(rows, "row")),
            CopyStep::Copy(rows) => format!("{} copied", plural(rows, "row")),
            CopyStep::Index(emails) => format!("{} in the search index", plural(emails, "email")),
        };
        ctx.out.show_progress(&format!("{done}{mail}"));
        interrupted = signals.try_recv();
        interrupted.map_or(Ok(()), |_| Err(Error::new(ErrorKind::Io, "interrupted")))
    });
    ctx.out.show_progress("");
    if let Some(number) = interrupted {
        ctx.out
            .note("interrupted; the same command goes on from here");
        return Err(CommandExit::Signal(number));
    }
    let RowCounts { emails, bodies } = copied?;
    let report = CopyJson {
        emails,
        bodies,
        to: to.to_string(),
    };
    let (emails, bodies) = (plural(emails, "email"), plural(bodies, "body"));
    let text = format!("{emails} and {bodies} are in {to}");
    ctx.out.report(&report, sanitize_line(&text))?;
    if let (ArchiveLocation::Server(_), Some(url)) = (&to, &args.to) {
        let (url, profile) = (url.display(), &ctx.settings.profile);
        let note = format!("to use it, set archive = \"{url}\" in the profile {profile}");
        ctx.out.note(&note);
    }
    Ok(())
}
