//! Exports a set of emails, batch by batch: a folder with one file each, or one file with all.
//!
//! What must hold: nothing is overwritten, every email of the set is counted as written or as failed,
//! and the files are complete after each batch, so that an export may end after any of them.

use std::cmp::Reverse;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::csv::csv_line;
use super::set_format::SetFormat;
use super::{
    CompleteEmail, create_new_file, describe_write_error, export_email, unique_file_name,
    write_file,
};
use crate::api::InvalidResponses;
use crate::archive::{Archive, CancellationToken, EmailRow, SortKey, is_damage_error};
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;
use crate::query::{Query, SortOrder};
use crate::text::json::escape_line;

/// Emails of one batch.
const BATCH_LEN: usize = 200;
/// The most emails that the terminal program counts beforehand, and writes as files of one folder.
const MAX_COUNTED: u64 = 100_000;

/// The file of a folder that lists what was not exported, and why.
pub(crate) const NOT_EXPORTED: &str = "not-exported.txt";

/// The end of a JSON document. The next batch replaces it.
const DOCUMENT_END: &str = "\n],\"has_more\":false}\n";

/// Why an email has no file.
const NO_BODY: &str = "its body is not stored";
const NO_ATTACHMENTS: &str = "the service no longer has it, so its attachments are not known";
const UNREADABLE: &str = "it cannot be read from the archive";

fn gone_error() -> String {
    "it is no longer in the archive".to_owned()
}

/// Which emails are exported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExportScope {
    /// These, in this order.
    Emails(Arc<[EmailId]>),
    /// The matches of a query, in its order.
    Query(Arc<Query>),
}

/// An export of several emails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportJob {
    pub(crate) scope: ExportScope,
    pub(crate) format: SetFormat,
    /// The new file or folder.
    pub(crate) path: PathBuf,
    /// The zone of dates in names and in text.
    pub(crate) zone: TimeZone,
    /// Whether csv masks one-time codes; all other formats are whole.
    pub(crate) masks_codes: bool,
    /// Whether bodies that are not stored are requested from the service.
    pub(crate) retrieves: bool,
    /// Whether the attachments of each email are requested, too.
    pub(crate) attaches: bool,
}

/// What an export will do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportPlan {
    /// The scope, with single emails in the order of the list.
    pub(crate) scope: ExportScope,
    pub(crate) emails: u64,
    /// Whether there are more emails than were counted.
    pub(crate) is_capped: bool,
    /// Emails whose bodies are not stored.
    pub(crate) without_body: u64,
    /// Those of them that the service still has; each takes one request.
    pub(crate) retrievable: u64,
}

impl ExportPlan {
    fn count(&mut self, row: &EmailRow) {
        if !row.has_body {
            self.without_body += 1;
            self.retrievable += u64::from(row.missing.is_none());
        }
    }
}

/// How far an export has come.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ExportProgress {
    /// Whether the file or the folder was created.
    pub(super) has_started: bool,
    /// Emails written or failed.
    pub(crate) done: u64,
    pub(crate) written: u64,
    /// Emails written without a body, because it is not stored.
    pub(crate) without_body: u64,
    /// Emails that were not written.
    pub(crate) failed: u64,
    /// The first of them, and why.
    pub(crate) first_failure: Option<String>,
    /// Emails requested from the service.
    pub(crate) requests: u64,
    /// Its invalid responses.
    invalid: InvalidResponses,
    /// The position of the last email, if the scope is a query.
    pub(super) last: Option<SortKey>,
    pub(crate) is_done: bool,
    /// Why the service is not asked for any further body.
    service_error: Option<String>,
    /// Why the export has ended early.
    pub(crate) error: Option<String>,
}

/// What comes after a batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NextStep {
    /// The next batch, unless the export is done.
    Continue,
    /// The body of this email, or its attachments, must be retrieved first.
    Retrieve(Box<EmailRow>),
}

impl ExportJob {
    /// Counts the emails and those without a stored body.
    ///
    /// # Errors
    ///
    /// If the file or the folder exists, a folder would get too many files, or the archive cannot be
    /// read.
    pub(crate) fn plan(
        &self,
        archive: &Archive,
        cancel: &CancellationToken,
    ) -> Result<ExportPlan, Error> {
        let path = &self.path;
        if path.symlink_metadata().is_ok() {
            let exists = io::ErrorKind::AlreadyExists.into();
            return Err(Error::new(
                ErrorKind::Io,
                describe_write_error(path, &exists),
            ));
        }
        let plan = self.count(archive, MAX_COUNTED, cancel)?;
        if plan.is_capped && matches!(self.format, SetFormat::Files(_)) {
            return Err(Error::new(
                ErrorKind::Io,
                "more than 100 000 files for one folder; JSON lines make one file",
            ));
        }
        Ok(plan)
    }

    /// Counts at most `max` emails of a query, and those without a stored body.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn count(
        &self,
        archive: &Archive,
        max: u64,
        cancel: &CancellationToken,
    ) -> Result<ExportPlan, Error> {
        let mut plan = ExportPlan {
            scope: self.scope.clone(),
            emails: 0,
            is_capped: false,
            without_body: 0,
            retrievable: 0,
        };
        match &self.scope {
            ExportScope::Emails(ids) => {
                let mut found = Vec::with_capacity(ids.len());
                for id in &**ids {
                    let row = match archive.row(id) {
                        Err(error) if is_damage_error(&error) => None,
                        row => row?,
                    };
                    plan.emails += 1;
                    // Those that the archive does not have, or cannot read, come last.
                    let key = row.map(|row| {
                        plan.count(&row);
                        row.sort_key
                    });
                    found.push((key.is_none(), Reverse(key), id.clone()));
                }
                found.sort();
                plan.scope = ExportScope::Emails(found.into_iter().map(|(.., id)| id).collect());
            }
            ExportScope::Query(query) => {
                let scanned = archive.for_each_readable_match(None, query, cancel, |row| {
                    plan.is_capped = plan.emails == max;
                    if !plan.is_capped {
                        plan.emails += 1;
                        plan.count(&row);
                    }
                    !plan.is_capped
                })?;
                // The export counts them as failed.
                plan.emails += scanned.unreadable.len() as u64;
            }
        }
        Ok(plan)
    }

    /// Writes the next emails, up to a batch or up to an email whose body must be retrieved.
    ///
    /// With `stream`, what would be written to the one file is appended there, and no file is made. An
    /// error that ends the export is in `progress`.
    pub(crate) fn write_batch(
        &self,
        stream: Option<&mut Vec<u8>>,
        archive: &Archive,
        progress: &mut ExportProgress,
        cancel: &CancellationToken,
    ) -> NextStep {
        let written = Target::open(self, stream, progress)
            .and_then(|target| self.write_next_rows(archive, progress, cancel, target));
        written.unwrap_or_else(|error| {
            progress.error = Some(error);
            NextStep::Continue
        })
    }

    /// Writes the email that [`Self::write_batch`] has stopped at, or notes why it was not retrieved.
    pub(crate) fn write_retrieved(
        &self,
        stream: Option<&mut Vec<u8>>,
        archive: &Archive,
        progress: &mut ExportProgress,
        row: &EmailRow,
        retrieved: Result<impl Into<CompleteEmail>, Error>,
    ) {
        let retrieved = retrieved.map(Into::into);
        let written = Target::open(self, stream, progress)
            .and_then(|target| target.write_retrieved(archive, progress, row, retrieved));
        progress.error = written.err();
    }

    fn write_next_rows(
        &self,
        archive: &Archive,
        progress: &mut ExportProgress,
        cancel: &CancellationToken,
        mut target: Target<'_>,
    ) -> Result<NextStep, String> {
        let batch = self.load_batch(archive, progress, cancel)?;
        for item in batch {
            let row = match item {
                BatchItem::Row(row) => row,
                BatchItem::Unknown(id, reason) => {
                    target.fail(progress, &id.to_safe_text(), &reason)?;
                    continue;
                }
                BatchItem::Unreadable(key) => {
                    progress.last = Some(key);
                    target.fail(progress, "an email", UNREADABLE)?;
                    continue;
                }
            };
            let stored = if self.format.has_bodies() {
                archive.email(&row.summary.id)
            } else {
                Ok(None)
            };
            match (stored, &progress.service_error) {
                (Ok(None), _) if !self.format.has_bodies() => {
                    target.write(archive, progress, &row, None)?;
                }
                (Ok(Some(_)), None) if self.attaches && row.missing.is_none() => {
                    target.finish(progress)?;
                    return Ok(NextStep::Retrieve(row));
                }
                (Ok(Some(_)), Some(reason)) if self.attaches => {
                    let reason = reason.clone();
                    target.fail_row(progress, &row, &reason)?;
                }
                (Ok(Some(_)), _) if self.attaches => {
                    target.fail_row(progress, &row, NO_ATTACHMENTS)?;
                }
                (Ok(Some(email)), _) => {
                    target.write(archive, progress, &row, Some(&email.into()))?;
                }
                // A damaged body is retrieved again, too.
                (Ok(None) | Err(_), None) if self.retrieves && row.missing.is_none() => {
                    target.finish(progress)?;
                    return Ok(NextStep::Retrieve(row));
                }
                (Ok(None), None) => {
                    target.write_without_body(archive, progress, &row, NO_BODY)?;
                }
                (Ok(None), Some(reason)) => {
                    let reason = reason.clone();
                    target.write_without_body(archive, progress, &row, &reason)?;
                }
                (Err(error), _) => {
                    target.write_without_body(archive, progress, &row, &error.message)?;
                }
            }
        }
        target.finish(progress)?;
        Ok(NextStep::Continue)
    }

    /// Loads the next emails; after the last ones, the export is done.
    fn load_batch(
        &self,
        archive: &Archive,
        progress: &mut ExportProgress,
        cancel: &CancellationToken,
    ) -> Result<Vec<BatchItem>, String> {
        let mut batch = Vec::new();
        match &self.scope {
            ExportScope::Emails(ids) => {
                let done = usize::try_from(progress.done).unwrap_or(usize::MAX);
                for id in ids.iter().skip(done).take(BATCH_LEN) {
                    batch.push(match archive.row(id) {
                        Ok(Some(row)) => BatchItem::Row(Box::new(row)),
                        Ok(None) => BatchItem::Unknown(id.clone(), gone_error()),
                        Err(error) => BatchItem::Unknown(id.clone(), error.message),
                    });
                }
            }
            ExportScope::Query(query) => {
                let scanned =
                    archive.for_each_readable_match(progress.last, query, cancel, |row| {
                        batch.push(BatchItem::Row(Box::new(row)));
                        batch.len() < BATCH_LEN
                    });
                let unreadable = scanned.map_err(|error| error.message)?.unreadable;
                batch.extend(unreadable.into_iter().map(BatchItem::Unreadable));
                // In the order of the query, so that no batch has them again.
                batch.sort_by_key(BatchItem::sort_key);
                if query.sort == SortOrder::Newest {
                    batch.reverse();
                }
            }
        }
        progress.is_done = batch.is_empty() && !cancel.is_cancelled();
        Ok(batch)
    }
}

/// An email of a batch.
enum BatchItem {
    Row(Box<EmailRow>),
    /// It has no row, for this reason.
    Unknown(EmailId, String),
    /// Its row cannot be read; it may belong to the set.
    Unreadable(SortKey),
}

impl BatchItem {
    fn sort_key(&self) -> Option<SortKey> {
        match self {
            Self::Row(row) => Some(row.sort_key),
            Self::Unknown(..) => None,
            Self::Unreadable(key) => Some(*key),
        }
    }
}

impl ExportProgress {
    fn note_failure(&mut self, text: String) {
        self.failed += 1;
        self.first_failure.get_or_insert(text);
    }

    fn pass(&mut self, row: &EmailRow) {
        self.done += 1;
        self.last = Some(row.sort_key);
    }
}

/// What a batch is written to.
struct Target<'a> {
    job: &'a ExportJob,
    sink: Sink<'a>,
    /// Whether no email was written to the one file yet.
    is_first: bool,
}

/// The one file, or the list of what was not exported.
enum Sink<'a> {
    /// A folder without such a list yet.
    None,
    File(BufWriter<File>),
    /// A stream: what is written stays.
    Stream(&'a mut Vec<u8>),
}

impl<'a> Target<'a> {
    /// Creates the file or the folder, or continues it; the error is a sentence.
    fn open(
        job: &'a ExportJob,
        stream: Option<&'a mut Vec<u8>>,
        progress: &mut ExportProgress,
    ) -> Result<Self, String> {
        let has_started = progress.has_started;
        let open = || -> io::Result<Sink<'a>> {
            if let Some(buffer) = stream {
                if !has_started {
                    buffer.extend_from_slice(job.format.start().as_bytes());
                }
                return Ok(Sink::Stream(buffer));
            }
            if let SetFormat::Files(_) = job.format {
                if !has_started {
                    DirBuilder::new().mode(0o700).create(&job.path)?;
                }
                return Ok(Sink::None);
            }
            if has_started {
                let mut file = OpenOptions::new().write(true).open(&job.path)?;
                let end = if job.format == SetFormat::Json {
                    DOCUMENT_END.len()
                } else {
                    0
                };
                file.seek(SeekFrom::End(-i64::try_from(end).unwrap_or(0)))?;
                return Ok(Sink::File(BufWriter::new(file)));
            }
            let mut file = BufWriter::new(create_new_file(&job.path)?);
            file.write_all(job.format.start().as_bytes())?;
            Ok(Sink::File(file))
        };
        let sink = open().map_err(|error| describe_write_error(&job.path, &error))?;
        progress.has_started = true;
        Ok(Self {
            job,
            sink,
            is_first: progress.written == 0,
        })
    }

    /// Writes an email, and counts it.
    fn write(
        &mut self,
        archive: &Archive,
        progress: &mut ExportProgress,
        row: &EmailRow,
        email: Option<&CompleteEmail>,
    ) -> Result<(), String> {
        let summary = &row.summary;
        let text = match (self.job.format, email) {
            (SetFormat::Files(format), Some(email)) => {
                return match export_email(email, format, &self.job.zone) {
                    Ok(contents) => {
                        let name = unique_file_name(summary, &self.job.zone, format);
                        let path = self.job.path.join(name);
                        write_file(&path, &contents)
                            .map_err(|error| describe_write_error(&path, &error))?;
                        progress.written += 1;
                        progress.pass(row);
                        Ok(())
                    }
                    Err(reason) => self.fail_row(progress, row, reason),
                };
            }
            (SetFormat::Files(_), None) => {
                return self.fail_row(progress, row, NO_BODY);
            }
            (SetFormat::Csv, _) => csv_line(summary, self.job.masks_codes),
            (SetFormat::Json | SetFormat::JsonLines, _) => {
                let stored = match email {
                    Some(CompleteEmail { email, .. }) => Ok(Some(email.json.to_string())),
                    None => archive.summary_json(&summary.id),
                };
                match stored {
                    Ok(Some(json)) => self.json_item(&json),
                    Ok(None) => return self.fail_row(progress, row, &gone_error()),
                    Err(error) => return self.fail_row(progress, row, &error.message),
                }
            }
        };
        self.append(&text)?;
        self.is_first = false;
        progress.written += 1;
        progress.pass(row);
        Ok(())
    }

    fn write_retrieved(
        mut self,
        archive: &Archive,
        progress: &mut ExportProgress,
        row: &EmailRow,
        retrieved: Result<CompleteEmail, Error>,
    ) -> Result<(), String> {
        progress.requests += 1;
        let goes_on = progress.invalid.record(&retrieved);
        match retrieved {
            Ok(email) => self.write(archive, progress, row, Some(&email))?,
            Err(error) => {
                if !goes_on {
                    progress.service_error = Some(error.message.clone());
                }
                self.write_without_body(archive, progress, row, &error.message)?;
            }
        }
        self.finish(progress)
    }

    /// Writes what a file can have of an email without its body, or notes that it has no file.
    fn write_without_body(
        &mut self,
        archive: &Archive,
        progress: &mut ExportProgress,
        row: &EmailRow,
        reason: &str,
    ) -> Result<(), String> {
        if let SetFormat::Files(_) = self.job.format {
            return self.fail_row(progress, row, reason);
        }
        let before = progress.written;
        self.write(archive, progress, row, None)?;
        progress.without_body += progress.written - before;
        Ok(())
    }

    /// Formats an email for the one file.
    fn json_item(&self, json: &str) -> String {
        let json = escape_line(json.trim());
        match self.job.format {
            SetFormat::Json if self.is_first => format!("\n{json}"),
            SetFormat::Json => format!(",\n{json}"),
            SetFormat::Files(_) | SetFormat::JsonLines | SetFormat::Csv => format!("{json}\n"),
        }
    }

    fn fail_row(
        &mut self,
        progress: &mut ExportProgress,
        row: &EmailRow,
        reason: &str,
    ) -> Result<(), String> {
        progress.last = Some(row.sort_key);
        self.fail(progress, &row.summary.id.to_safe_text(), reason)
    }

    /// Counts an email that is not exported, and adds it to the list in the folder.
    fn fail(
        &mut self,
        progress: &mut ExportProgress,
        name: &str,
        reason: &str,
    ) -> Result<(), String> {
        let line = format!("{name}: {reason}");
        if let SetFormat::Files(_) = self.job.format {
            if let Sink::None = self.sink {
                let path = self.job.path.join(NOT_EXPORTED);
                let list = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(0o600)
                    .open(&path);
                let list = list.map_err(|error| describe_write_error(&path, &error))?;
                self.sink = Sink::File(BufWriter::new(list));
            }
            self.append(&format!("{line}\n"))?;
        }
        progress.done += 1;
        progress.note_failure(line);
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), String> {
        match &mut self.sink {
            Sink::File(file) => file
                .write_all(text.as_bytes())
                .map_err(|error| describe_write_error(&self.job.path, &error)),
            Sink::Stream(buffer) => {
                buffer.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Sink::None => unreachable!("the file was opened"),
        }
    }

    /// Completes the file of the batch. A stream is complete with the last batch only.
    fn finish(mut self, progress: &ExportProgress) -> Result<(), String> {
        let is_stream = matches!(self.sink, Sink::Stream(_));
        if self.job.format == SetFormat::Json && (progress.is_done || !is_stream) {
            self.append(DOCUMENT_END)?;
        }
        let path = &self.job.path;
        match &mut self.sink {
            Sink::File(file) => file
                .flush()
                .map_err(|error| describe_write_error(path, &error)),
            Sink::None | Sink::Stream(_) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
