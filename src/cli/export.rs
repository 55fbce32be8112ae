//! `export`: writes what matches a query to files, or as one stream to stdout.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::args::ExportArgs;
use super::args::typed_query::TypedQuery;
use super::freshness::{describe_age, find_oldest_confirmation, with_recheck};
use super::output::format::{estimate_remaining, format_request_time, format_time};
use super::output::{CommandExit, Output};
use super::search::describe_scope;
use super::{ProfileContext, block_on, block_on_until_signal, open_archive};
use crate::api::{Client, Priority, RetryPolicy};
use crate::archive::{
    Archive, ArchiveLocation, CancellationToken, EmailRow, WindowAnchor, find_stored_archive,
};
use crate::config::clock::Clock;
use crate::config::folder_of;
use crate::error::{Error, ErrorKind, Result};
use crate::export::resume::{ExportRequest, PartialExport, is_complete};
use crate::export::{
    CompleteEmail, ExportFormat, ExportJob, ExportPlan, ExportProgress, ExportScope, NOT_EXPORTED,
    SetFormat, fetch_attachments, save_email,
};
use crate::mail::{Email, EmailId};
use crate::query::Query;
use crate::sync::Engine;
use crate::text::format::{format_timestamp, group_digits, plural};
use crate::text::sanitize::sanitize_line;

/// Emails between two checkpoints, each of which waits for the disk.
const CHECKPOINT_EMAILS: u64 = 5_000;

/// The report as JSON.
#[derive(Serialize)]
struct ExportJson {
    /// The file or the folder.
    path: String,
    /// Emails that were written.
    emails: u64,
    /// Emails of them whose bodies are not stored.
    without_body: u64,
    /// Emails that were not written.
    failed: u64,
    /// Emails that were requested from the service.
    requests: u64,
    /// When the export began, if it was resumed; newer mail may be missing, and mail
    /// purged since then may be in it.
    resumed_from: Option<String>,
}

pub(super) fn run(args: &ExportArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    let format = args.format()?;
    check_usage(args, format)?;
    if args.bodies || args.attachments {
        ctx.settings.credentials.key.clone()?;
    }
    let to_file = match format {
        SetFormat::Files(file) if !args.to.is_dir() => {
            Some(file).filter(|file| ExportFormat::from_path(&args.to) == Some(*file))
        }
        _ => None,
    };
    let is_complete = args.resume && to_file.is_none() && is_complete(&args.to, format);
    let part = if args.is_stream() || to_file.is_some() || is_complete {
        None
    } else {
        Some(open_part(args, format, ctx)?)
    };
    let started = part
        .as_ref()
        .map_or_else(|| ctx.now(), PartialExport::started);
    let typed = TypedQuery::parse(&args.words, started, ctx)?;
    if is_complete {
        return report_complete(&args.to, ctx.out);
    }
    let archive = if args.bodies || args.attachments {
        open_archive::open_on_disk(ctx)?
    } else {
        open_archive::open_to_read(ctx)?
    };
    if args.bodies {
        open_archive::check_writable(&archive)?;
    }
    let query = typed.check(&archive, ctx.out)?;
    let mut scope = describe_age_and_scope(&archive, &query, ctx)?;
    if part.as_ref().is_some_and(PartialExport::is_resumed) {
        let began = format_time(started, ctx.now(), &ctx.settings.zone);
        scope.push(format!(
            "this export began at {began}: newer mail may be missing, and mail purged since then may be in it"
        ));
    }
    let client = ctx.client_with_notes(RetryPolicy::LONG_RUNNING);
    let engine = Engine::new(client, archive.clone(), ctx.clock.clone());
    let engine = engine.with_priority(Priority::Backfill);
    if let Some(file) = to_file {
        export_one(args, file, &query, &scope, &engine, ctx)?;
        ctx.out.notes(&scope);
        return Ok(());
    }
    let job = ExportJob {
        scope: ExportScope::Query(Arc::new(query)),
        format,
        path: part
            .as_ref()
            .map_or_else(|| args.to.clone(), |part| part.part().to_owned()),
        target: None,
        zone: ctx.settings.zone.clone(),
        secrets: ctx.settings.secrets,
        retrieves: args.bodies,
        attaches: args.attachments,
        continues: false,
    };
    export_set(args, job, part, &scope, engine, ctx)
}

/// Reports that an export was complete before.
fn report_complete(path: &Path, out: &mut Output) -> Result<(), CommandExit> {
    let path = path.display().to_string();
    let text = format!("nothing was left to do: {path} exists, and no export to it is unfinished");
    let report = ExportJson {
        path,
        emails: 0,
        without_body: 0,
        failed: 0,
        requests: 0,
        resumed_from: None,
    };
    out.report(&report, sanitize_line(&text))?;
    Ok(())
}

/// Exports all matches, to `part` or as a stream.
fn export_set(
    args: &ExportArgs,
    job: ExportJob,
    part: Option<PartialExport>,
    scope: &[String],
    engine: Engine<Client>,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    ctx.out.show_progress("counting emails");
    let archive = engine.archive();
    let progress = match &part {
        Some(part) => part.restore(&job, archive)?,
        None => ExportProgress::default(),
    };
    let cancel = CancellationToken::default();
    let mut plan = job.count(archive, u64::MAX, &progress, &cancel)?;
    note_cost(&job, &plan, ctx);
    plan.emails += progress.done;
    let mut export = ExportRun {
        job,
        plan,
        engine,
        progress,
        part,
        saved: 0,
        clock: ctx.clock.clone(),
        started: ctx.now(),
        out: &mut *ctx.out,
    };
    export.saved = export.progress.done;
    let result = block_on_until_signal(export.write());
    export.out.show_progress("");
    if let Err(exit) = result {
        return Err(export.interrupt(exit));
    }
    let removed = export.plan.emails.saturating_sub(export.progress.done);
    let result = export.finish(args);
    if removed > 0 {
        let emails = plural(removed, "email");
        ctx.out.note(&format!(
            "not in it: {emails} that left the archive meanwhile"
        ));
    }
    ctx.out.notes(scope);
    result
}

/// Opens the files of a new export, or those of the same request to resume.
fn open_part(
    args: &ExportArgs,
    format: SetFormat,
    ctx: &ProfileContext<'_>,
) -> Result<PartialExport> {
    let (zone, settings) = (&ctx.settings.zone, &ctx.settings);
    // Another archive has other mail.
    let path = match &settings.archive {
        ArchiveLocation::Memory => find_stored_archive(settings),
        ArchiveLocation::Disk(path) => Some(path.clone()),
        ArchiveLocation::Server(_) => None,
    };
    let path = path.and_then(|path| path.canonicalize().ok());
    let archive = path.map(ArchiveLocation::Disk);
    let archive = archive.as_ref().unwrap_or(&settings.archive);
    let request = ExportRequest {
        source: format!(
            "{} {} {}",
            settings.profile,
            settings.credentials.base_url,
            archive.for_mailbox(ctx.mailbox)
        ),
        query: args.words.join(" "),
        format: format.label().to_owned(),
        zone: zone
            .iana_name()
            .map_or_else(|| format!("{zone:?}"), str::to_owned),
        masks_codes: settings.secrets.are_masked(),
        retrieves: args.bodies,
        attaches: args.attachments,
    };
    let now = ctx.now();
    check_parent(&args.to)?;
    PartialExport::open(&args.to, format, request, now, args.resume)
}

/// Describes how old the statuses are, and how much is searched for emails to
/// export; nothing if that is not printed.
fn describe_age_and_scope(
    archive: &Archive,
    query: &Query,
    ctx: &ProfileContext<'_>,
) -> Result<Vec<String>> {
    // To count all emails takes longer than to export some.
    if ctx.out.is_quiet() {
        return Ok(Vec::new());
    }
    let (now, zone) = (ctx.now(), &ctx.settings.zone);
    let age = describe_age(&find_oldest_confirmation(archive, query, now)?, now, zone);
    let next_step = "sentbox sync fetches the last 30 days";
    let scope = describe_scope(archive, query, now, next_step, ctx)?;
    let age = age.map(|age| with_recheck(&age, query, now, ctx));
    Ok(age.into_iter().chain([scope]).collect())
}

fn check_usage(args: &ExportArgs, format: SetFormat) -> Result<()> {
    let usage =
        |message: &str, hint: &str| Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
    match format {
        SetFormat::Files(_) if args.is_stream() => usage(
            "eml, html and text are files",
            "for one stream: --as txt, jsonl, json or csv",
        ),
        format if args.attachments && format != SetFormat::Files(ExportFormat::Eml) => usage(
            "only eml has attachments",
            "--as eml, or leave out --attachments",
        ),
        SetFormat::Csv if args.bodies => usage("csv has no bodies", "leave out --bodies"),
        _ if args.is_stream() && args.resume => {
            usage("a stream cannot be resumed", "give a file with --to")
        }
        _ => Ok(()),
    }
}

/// Fails if the folder that will have the export does not exist.
fn check_parent(target: &Path) -> Result<()> {
    let folder = folder_of(target);
    if !folder.is_dir() {
        let (target, folder) = (target.display(), folder.display());
        let message = format!("cannot write {target}: there is no folder {folder}");
        return Err(Error::new(ErrorKind::Io, message));
    }
    Ok(())
}

/// Notes how many bodies are missing, and what it costs to fetch them and the
/// attachments.
fn note_cost(job: &ExportJob, plan: &ExportPlan, ctx: &mut ProfileContext<'_>) {
    let (emails, requests) = (plan.emails, plan.retrievable);
    if job.attaches {
        let text = format!(
            "fetching attachments: {} at least, and one for each attachment",
            plural(emails, "request")
        );
        ctx.out.note(&text);
    }
    if plan.without_body == 0 || job.format == SetFormat::Csv {
        return;
    }
    let missing = format!(
        "the bodies of {} of {} are not stored",
        group_digits(plan.without_body, ' '),
        plural(emails, "email")
    );
    let cost = format!(
        "{}, about {}",
        plural(requests, "request"),
        format_request_time(requests, ctx.settings.rate)
    );
    let text = match (job.retrieves, requests) {
        (_, 0) => format!("{missing}, and the service no longer has these emails"),
        (true, _) => format!("{missing}; fetching them first: {cost}"),
        (false, _) if ctx.settings.credentials.key.is_err() => missing,
        (false, _) => format!("{missing}; --bodies fetches them: {cost}"),
    };
    ctx.out.note(&text);
}

/// Exports the only match to a file.
fn export_one(
    args: &ExportArgs,
    format: ExportFormat,
    query: &Query,
    scope: &[String],
    engine: &Engine<Client>,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let path = args.to.as_path();
    let archive = engine.archive();
    let cancel = CancellationToken::default();
    let found = archive.search(query, &WindowAnchor::Top, 2, &cancel)?;
    let rows = found.map(|found| found.rows).unwrap_or_default();
    let row = match rows.as_slice() {
        [row] => row,
        [] => {
            let message = "no email of the archive matches";
            return Err(Error::new(ErrorKind::NotFound, message)
                .with_hint(scope.join("; "))
                .into());
        }
        _ => {
            let message = format!("{} is one file, but several emails match", path.display());
            let hint = match format {
                ExportFormat::Text => "one file with all of them is --as txt",
                _ => "give a folder with --to, or a query that only one email matches",
            };
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint).into());
        }
    };
    check_parent(path)?;
    let id = &row.summary.id;
    archive.record_opened(id, None)?;
    let stored = archive.email(id)?;
    if stored.is_none() && !args.bodies {
        let message = "the body of this email is not stored";
        let error = Error::new(ErrorKind::NoSuchPart, message);
        let hint = match ctx.settings.credentials.key {
            Ok(_) => "--bodies fetches it",
            Err(_) => "",
        };
        return Err(error.with_hint(hint).into());
    }
    let requests = u64::from(stored.is_none());
    let email = block_on(complete_email(engine, id, stored, args.attachments))??;
    // A request has confirmed the status.
    let row = archive.row(id)?;
    let confirmed_at = row.and_then(|row| row.confirmed_at);
    save_email(path, format, &email, confirmed_at, &ctx.settings.zone)
        .map_err(|message| Error::new(ErrorKind::Io, message))?;
    let report = ExportJson {
        path: path.display().to_string(),
        emails: 1,
        without_body: 0,
        failed: 0,
        requests,
        resumed_from: None,
    };
    let text = format!("exported 1 email to {}", path.display());
    ctx.out.report(&report, sanitize_line(&text))?;
    let mut progress = ExportProgress::default();
    if format == ExportFormat::Eml && !args.attachments {
        progress.count_attachments(&email.email);
    }
    ctx.out.notes(progress.describe_attachments().as_slice());
    Ok(())
}

/// Returns an email with its body, which is requested unless it is stored,
/// and with its attachments if requested.
async fn complete_email(
    engine: &Engine<Client>,
    id: &EmailId,
    stored: Option<Email>,
    attaches: bool,
) -> Result<CompleteEmail> {
    let email = match stored {
        Some(email) => email,
        None => engine.fetch_email(id).await?,
    };
    let files = if attaches {
        fetch_attachments(engine.service(), id).await?
    } else {
        Vec::new()
    };
    Ok(CompleteEmail { email, files })
}

struct ExportRun<'a> {
    job: ExportJob,
    plan: ExportPlan,
    engine: Engine<Client>,
    progress: ExportProgress,
    /// `None` for a stream to stdout.
    part: Option<PartialExport>,
    /// Emails at the last checkpoint.
    saved: u64,
    clock: Clock,
    started: Timestamp,
    out: &'a mut Output,
}

impl ExportRun<'_> {
    async fn write(&mut self) -> Result<(), CommandExit> {
        let archive = self.engine.archive().clone();
        let before = self.progress.done;
        if !self.progress.has_started {
            self.save(&archive)?;
        }
        while !self.progress.is_done {
            if let Some(row) = self.write_batch(&archive)? {
                // What was written is shown before a request, which may take long.
                self.show_progress(before);
                self.retrieve(&archive, &row).await?;
            }
            if self.progress.done >= self.saved + CHECKPOINT_EMAILS {
                self.save(&archive)?;
            }
            self.show_progress(before);
            // A signal is seen between two batches.
            tokio::task::yield_now().await;
        }
        self.save(&archive)
    }

    fn write_batch(&mut self, archive: &Archive) -> Result<Option<Box<EmailRow>>, CommandExit> {
        let mut buffer = Vec::new();
        let stream = self.part.is_none().then_some(&mut buffer);
        let cancel = CancellationToken::default();
        let next = self
            .job
            .write_batch(stream, archive, &mut self.progress, &cancel);
        self.print_stream(buffer)?;
        Ok(next)
    }

    /// Prints what was written of a stream, and returns the error that has ended the
    /// export.
    fn print_stream(&mut self, bytes: Vec<u8>) -> Result<(), CommandExit> {
        if !bytes.is_empty() {
            let text = String::from_utf8(bytes).expect("one file has text");
            self.out.write_exact(&text)?;
            self.out.flush()?;
        }
        match self.progress.error.clone() {
            Some(message) => Err(Error::new(ErrorKind::Io, message).into()),
            None => Ok(()),
        }
    }

    async fn retrieve(&mut self, archive: &Archive, row: &EmailRow) -> Result<(), CommandExit> {
        let id = &row.summary.id;
        // A damaged body is fetched again, too.
        let stored = archive.email(id).ok().flatten();
        let retrieved = complete_email(&self.engine, id, stored, self.job.attaches).await;
        if !self.progress.goes_on_after(&retrieved) {
            retrieved?;
            return Ok(());
        }
        let mut buffer = Vec::new();
        let stream = self.part.is_none().then_some(&mut buffer);
        self.job
            .write_retrieved(stream, archive, &mut self.progress, row, retrieved);
        self.print_stream(buffer)
    }

    fn save(&mut self, archive: &Archive) -> Result<(), CommandExit> {
        self.saved = self.progress.done;
        match &mut self.part {
            Some(part) => Ok(part.save(&self.job, archive, &self.progress)?),
            None => Ok(()),
        }
    }

    fn show_progress(&mut self, before: u64) {
        let done = self.progress.done;
        let elapsed = (self.clock)().duration_since(self.started);
        let left = self.plan.emails.saturating_sub(done);
        let left = estimate_remaining(elapsed, done - before, left);
        let progress = self.progress.describe(&self.plan);
        self.out.show_progress(&format!("{progress}{left}"));
    }

    /// Records how far the export has come, and adds a hint how to resume it.
    fn interrupt(&mut self, exit: CommandExit) -> CommandExit {
        let archive = self.engine.archive().clone();
        if self.part.is_none() {
            return exit;
        }
        // After a failed write, the last checkpoint, or the start, is the one to resume from.
        if self.progress.error.is_none() {
            let _ = self.save(&archive);
        }
        let hint = "the same command with --resume continues it";
        match exit {
            CommandExit::Failed(error) => error.add_hint(hint).into(),
            CommandExit::Signal(_) => {
                self.out.note(&format!("interrupted; {hint}"));
                exit
            }
            exit => exit,
        }
    }

    fn finish(mut self, args: &ExportArgs) -> Result<(), CommandExit> {
        let is_stream = self.part.is_none();
        let resumed = self.part.as_ref().filter(|part| part.is_resumed());
        let resumed_from = resumed.map(|part| format_timestamp(part.started()));
        if let Some(part) = self.part.take() {
            part.finish()?;
        }
        let attachments = self.progress.describe_attachments();
        let progress = self.progress;
        let path = args.to.as_path();
        let without = match progress.without_body {
            0 => String::new(),
            count => format!("; {} without body", group_digits(count, ' ')),
        };
        let text = format!("exported {}", plural(progress.written, "email"));
        if is_stream {
            self.out.flush()?;
            self.out.note(&format!("{text}{without}"));
        } else {
            let report = ExportJson {
                path: path.display().to_string(),
                emails: progress.written,
                without_body: progress.without_body,
                failed: progress.failed,
                requests: progress.requests,
                resumed_from,
            };
            let text = format!("{text} to {}{without}", path.display());
            self.out.report(&report, sanitize_line(&text))?;
        }
        self.out.notes(attachments.as_slice());
        if progress.failed == 0 {
            return progress.first_missing_body.map_or(Ok(()), |first| {
                let message = format!("bodies are missing; the first is {first}");
                Err(Error::new(ErrorKind::Io, message).into())
            });
        }
        let first = progress.first_failure.unwrap_or_default();
        let failed = plural(progress.failed, "email");
        let message = format!("not exported: {failed}; the first is {first}");
        let hint = match self.job.format {
            SetFormat::Files(_) => format!("{} lists them", path.join(NOT_EXPORTED).display()),
            _ => "sentbox doctor checks each email of the archive".to_owned(),
        };
        Err(Error::new(ErrorKind::Io, message).with_hint(hint).into())
    }
}

impl ExportArgs {
    /// Whether the emails go to stdout.
    fn is_stream(&self) -> bool {
        self.to == Path::new("-")
    }

    /// Whether stdout gets JSON: a report, or the emails themselves.
    pub(super) fn prints_json(&self) -> bool {
        !self.is_stream() || matches!(self.form, Some(SetFormat::Json | SetFormat::JsonLines))
    }

    /// Returns the format, by default that of the name of the file.
    fn format(&self) -> Result<SetFormat> {
        let by_name = || {
            let ending = self.to.extension()?.to_str()?.to_ascii_lowercase();
            let is_one = |format: &SetFormat| format.extension() == Some(&ending);
            let one = SetFormat::ALL.into_iter().find(is_one);
            one.or_else(|| ExportFormat::from_path(&self.to).map(SetFormat::Files))
        };
        self.form.or_else(by_name).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "which format to write is not known")
                .with_hint("give --as eml, html, text, txt, json, jsonl or csv")
        })
    }
}
