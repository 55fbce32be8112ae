//! Exports a set of emails, batch by batch:
//! a folder with one file each, or one file with all.
//!
//! Invariants: only what an earlier attempt of the same export wrote is replaced, every email of
//! the set is counted as written or as failed, and the files are complete after each batch, so that
//! an export may end after any of them.

use std::cmp::Reverse;
use std::io;

use super::job::{ExportJob, ExportPlan, ExportProgress, ExportScope, SetFormat};
use super::target::{GONE, NO_BODY, Target};
use super::{CompleteEmail, describe_write_error, resume};
use crate::archive::{Archive, CancellationToken, EmailRow, SortKey};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;
use crate::query::SortOrder;

const BATCH_LEN: usize = 200;
/// The most emails that the terminal program counts beforehand,
/// and writes as files of one folder.
const MAX_COUNTED: u64 = 100_000;

/// Why an email has no file.
const NO_ATTACHMENTS: &str = "the service no longer has it, so its attachments are not known";
const NOT_REQUESTED: &str = "not requested, because an earlier request failed";
const UNREADABLE: &str = "it cannot be read from the archive";

impl ExportJob {
    /// Counts the emails and those without a stored body.
    ///
    /// Fails if the file or another folder exists, a folder would get too many files, or the
    /// archive cannot be read.
    pub(crate) fn plan(&self, archive: &Archive, cancel: &CancellationToken) -> Result<ExportPlan> {
        if self.target().symlink_metadata().is_ok() {
            let error = io::ErrorKind::AlreadyExists.into();
            let message = describe_write_error(self.target(), &error);
            return Err(Error::new(ErrorKind::Io, message));
        }
        if self.target.is_some() {
            resume::check_no_part(self.target(), self.continues)?;
        }
        let plan = self.count(archive, MAX_COUNTED, &ExportProgress::default(), cancel)?;
        if plan.is_capped && matches!(self.format, SetFormat::Files(_)) {
            let message = "more than 100 000 files for one folder; JSON lines make one file";
            return Err(Error::new(ErrorKind::Io, message));
        }
        Ok(plan)
    }

    /// Counts at most `max` emails of a query after the `progress` so far,
    /// and those without a stored body; chosen emails are all counted and put in order,
    /// newest first.
    ///
    /// Fails if the archive cannot be read.
    pub(crate) fn count(
        &self,
        archive: &Archive,
        max: u64,
        progress: &ExportProgress,
        cancel: &CancellationToken,
    ) -> Result<ExportPlan> {
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
                        Err(error) if error.kind == ErrorKind::ArchiveDamaged => None,
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
                found.sort_unstable();
                plan.scope = ExportScope::Emails(found.into_iter().map(|(.., id)| id).collect());
            }
            ExportScope::Query(query) => {
                let mut ids = Vec::new();
                let scanned =
                    archive.for_each_readable_match(progress.last, query, cancel, &mut |row| {
                        plan.is_capped = plan.emails == max;
                        if !plan.is_capped {
                            plan.emails += 1;
                            plan.count(&row);
                            if plan.emails <= MAX_COUNTED {
                                ids.push(row.summary.id);
                            }
                        }
                        !plan.is_capped
                    })?;
                // The export counts them as failed.
                plan.emails += scanned.unreadable.len() as u64;
                if !plan.is_capped && ids.len() as u64 == plan.emails {
                    // Those that match later were not in the question before the export.
                    plan.scope = ExportScope::Emails(ids.into());
                }
            }
        }
        Ok(plan)
    }

    /// Writes the next emails, up to a batch. Returns an email whose body,
    /// or whose attachments, must be retrieved before the next batch.
    ///
    /// With `stream`, what would be written to the one file is appended there, and no file is made.
    /// An error that ends the export is in `progress`.
    pub(crate) fn write_batch(
        &self,
        stream: Option<&mut Vec<u8>>,
        archive: &Archive,
        progress: &mut ExportProgress,
        cancel: &CancellationToken,
    ) -> Option<Box<EmailRow>> {
        let written = self
            .remove_earlier(progress)
            .and_then(|()| Target::open(self, stream, archive, progress))
            .and_then(|target| self.write_next_rows(archive, cancel, target))
            .and_then(|next| self.complete(progress).map(|()| next));
        written.unwrap_or_else(|error| {
            progress.error = Some(error);
            None
        })
    }

    /// Removes what an export has written that this one continues:
    /// an email of it may have left the set.
    fn remove_earlier(&self, progress: &ExportProgress) -> Result<(), String> {
        if !self.continues || progress.has_started {
            return Ok(());
        }
        resume::remove_any(&self.path).map_err(|error| describe_write_error(&self.path, &error))
    }

    /// Gives a complete export its name.
    fn complete(&self, progress: &ExportProgress) -> Result<(), String> {
        match &self.target {
            Some(target) if progress.is_complete() => resume::name_complete(&self.path, target)
                .map_err(|error| {
                    let (error, part) = (describe_write_error(target, &error), self.path.display());
                    format!("{error}; the export is complete in {part}")
                }),
            _ => Ok(()),
        }
    }

    /// Writes the email that [`Self::write_batch`] has returned,
    /// or notes why it was not retrieved.
    pub(crate) fn write_retrieved(
        &self,
        stream: Option<&mut Vec<u8>>,
        archive: &Archive,
        progress: &mut ExportProgress,
        row: &EmailRow,
        retrieved: Result<impl Into<CompleteEmail>>,
    ) {
        let retrieved = retrieved.map(Into::into);
        let written = Target::open(self, stream, archive, progress)
            .and_then(|target| target.write_retrieved(row, retrieved));
        progress.error = written.err();
    }

    fn write_next_rows(
        &self,
        archive: &Archive,
        cancel: &CancellationToken,
        mut target: Target<'_>,
    ) -> Result<Option<Box<EmailRow>>, String> {
        for item in self.load_batch(archive, target.progress, cancel)? {
            let row = match item {
                BatchItem::Row(row) => row,
                BatchItem::Unknown(id, reason) => {
                    target.fail(&id.to_safe_text(), &reason)?;
                    continue;
                }
                BatchItem::Unreadable(key) => {
                    target.progress.last = Some(key);
                    target.fail("an email", UNREADABLE)?;
                    continue;
                }
            };
            if !self.format.has_bodies() {
                target.write(&row, None)?;
                continue;
            }
            let id = &row.summary.id;
            archive
                .record_opened(id, None)
                .map_err(|error| error.message)?;
            let stored = archive.email(id);
            // A damaged body is retrieved again, too.
            let is_requested = match stored {
                Ok(Some(_)) => self.attaches,
                Ok(None) | Err(_) => self.retrieves,
            };
            let has_service_failed = target.progress.service_error.is_some();
            if is_requested && !has_service_failed && row.missing_since.is_none() {
                target.finish()?;
                return Ok(Some(row));
            }
            let reason_or = |other| {
                if has_service_failed {
                    NOT_REQUESTED
                } else {
                    other
                }
            };
            match stored {
                Ok(Some(email)) if !self.attaches => target.write(&row, Some(&email.into()))?,
                Ok(Some(_)) => target.fail_row(&row, reason_or(NO_ATTACHMENTS))?,
                Ok(None) => target.write_without_body(&row, reason_or(NO_BODY))?,
                Err(error) => target.write_without_body(&row, &error.message)?,
            }
        }
        target.finish()?;
        Ok(None)
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
                        Ok(None) => BatchItem::Unknown(id.clone(), GONE.to_owned()),
                        Err(error) => BatchItem::Unknown(id.clone(), error.message),
                    });
                }
            }
            ExportScope::Query(query) => {
                let scanned =
                    archive.for_each_readable_match(progress.last, query, cancel, &mut |row| {
                        batch.push(BatchItem::Row(Box::new(row)));
                        batch.len() < BATCH_LEN
                    });
                let unreadable = scanned.map_err(|error| error.message)?.unreadable;
                batch.extend(unreadable.into_iter().map(BatchItem::Unreadable));
                // In the order of the query, so that no batch has them again.
                batch.sort_unstable_by_key(BatchItem::sort_key);
                if query.sort == SortOrder::Newest {
                    batch.reverse();
                }
            }
        }
        progress.is_done = batch.is_empty() && !cancel.is_cancelled();
        Ok(batch)
    }
}

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

#[cfg(test)]
#[path = "set_tests.rs"]
pub(super) mod tests;
