//! The target of a batch of an export: a folder, a file or a stream.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt as _;

use super::csv::csv_line;
use super::job::{ExportJob, ExportProgress, SetFormat};
use super::{
    CompleteEmail, ExportFormat, describe_write_error, export_email, text_header, to_text,
    unique_file_name, write_file,
};
use crate::archive::{Archive, EmailRow};
use crate::config::{create_private_file, open_private_append};
use crate::error::Result;
use crate::text::json::escape_line;

/// The file of a folder that lists what was not exported, and why.
pub(crate) const NOT_EXPORTED: &str = "not-exported.txt";

/// Why an email has no file.
pub(super) const NO_BODY: &str = "its body is not stored";
pub(super) const GONE: &str = "it is no longer in the archive";

/// The end of a JSON document with all emails.
const DOCUMENT_END: &str = "\n],\"has_more\":false}\n";
/// The end of one after which the export has not ended. The next batch replaces it.
const PARTIAL_DOCUMENT_END: &str = "\n],\"has_more\":true}\n";

pub(super) struct Target<'a> {
    job: &'a ExportJob,
    archive: &'a Archive,
    pub(super) progress: &'a mut ExportProgress,
    /// The one file, or the list of what was not exported;
    /// `None` for a folder without such a list yet.
    sink: Option<Box<dyn Write + 'a>>,
    /// Whether what is written stays as it is.
    is_stream: bool,
}

impl<'a> Target<'a> {
    /// Creates the file or the folder, or continues it; the error is a sentence.
    pub(super) fn open(
        job: &'a ExportJob,
        stream: Option<&'a mut Vec<u8>>,
        archive: &'a Archive,
        progress: &'a mut ExportProgress,
    ) -> Result<Self, String> {
        let (has_started, is_stream) = (progress.has_started, stream.is_some());
        let opened: io::Result<Option<Box<dyn Write + 'a>>> = match (stream, job.format) {
            (Some(buffer), _) => {
                if !has_started {
                    buffer.extend_from_slice(job.format.start().as_bytes());
                }
                Ok(Some(Box::new(buffer)))
            }
            (None, SetFormat::Files(_)) if has_started => Ok(None),
            (None, SetFormat::Files(_)) => {
                let created = DirBuilder::new().mode(0o700).create(&job.path);
                created.map(|()| None)
            }
            (None, _) => {
                open_file(job, has_started).map(|file| Some(Box::new(file) as Box<dyn Write>))
            }
        };
        let sink = opened.map_err(|error| describe_write_error(&job.path, &error))?;
        progress.has_started = true;
        Ok(Self {
            job,
            archive,
            progress,
            sink,
            is_stream,
        })
    }

    /// Writes an email, and counts it.
    pub(super) fn write(
        &mut self,
        row: &EmailRow,
        email: Option<&CompleteEmail>,
    ) -> Result<(), String> {
        let (job, summary) = (self.job, &row.summary);
        let written = match (job.format, email) {
            (SetFormat::Files(format), Some(email)) => {
                match export_email(email, row.confirmed_at, format, &job.zone) {
                    Ok(contents) => {
                        let name = unique_file_name(summary, &job.zone, format);
                        let path = job.path.join(name);
                        write_file(&path, &contents)
                            .map_err(|error| describe_write_error(&path, &error))?;
                        if format == ExportFormat::Eml && !job.attaches {
                            self.progress.count_attachments(&email.email);
                        }
                        Ok(())
                    }
                    Err(reason) => Err(reason.to_owned()),
                }
            }
            (SetFormat::Files(_), None) => Err(NO_BODY.to_owned()),
            (SetFormat::Text, email) => {
                let text = if let Some(complete) = email {
                    to_text(&complete.email, row.confirmed_at, &job.zone)
                } else {
                    let header = text_header(summary, row.confirmed_at, &job.zone);
                    format!("{header}\n({NO_BODY})\n")
                };
                if self.progress.written > 0 {
                    self.append(&format!("\n{}\n\n", "=".repeat(72)))?;
                }
                self.append(&text)?;
                Ok(())
            }
            (SetFormat::Csv, _) => {
                self.append(&csv_line(summary, job.secrets))?;
                Ok(())
            }
            (SetFormat::Json | SetFormat::JsonLines, _) => {
                let stored = match email {
                    Some(CompleteEmail { email, .. }) => Ok(Some(email.json.to_string())),
                    None => self.archive.summary_json(&summary.id),
                };
                match stored {
                    Ok(Some(json)) => {
                        self.append(&self.json_item(&json))?;
                        Ok(())
                    }
                    Ok(None) => Err(GONE.to_owned()),
                    Err(error) => Err(error.message),
                }
            }
        };
        if let Err(reason) = written {
            return self.fail_row(row, &reason);
        }
        self.progress.done += 1;
        self.progress.written += 1;
        self.progress.last = Some(row.sort_key);
        Ok(())
    }

    pub(super) fn write_retrieved(
        mut self,
        row: &EmailRow,
        retrieved: Result<CompleteEmail>,
    ) -> Result<(), String> {
        self.progress.requests += 1;
        let goes_on = self.progress.invalid.record(&retrieved);
        match retrieved {
            Ok(email) => {
                // The response has confirmed the status.
                let stored = self.archive.row(&row.summary.id).ok().flatten();
                self.write(stored.as_ref().unwrap_or(row), Some(&email))?;
            }
            Err(error) => {
                if !goes_on {
                    self.progress.service_error = Some(error.message.clone());
                }
                self.write_without_body(row, &error.message)?;
            }
        }
        self.finish()
    }

    /// Writes what a file can have of an email without its body,
    /// or notes that it has no file.
    pub(super) fn write_without_body(
        &mut self,
        row: &EmailRow,
        reason: &str,
    ) -> Result<(), String> {
        if let SetFormat::Files(_) = self.job.format {
            return self.fail_row(row, reason);
        }
        let before = self.progress.written;
        self.write(row, None)?;
        self.progress.without_body += self.progress.written - before;
        if reason != NO_BODY {
            let id = row.summary.id.to_safe_text();
            let failure = || format!("{id}: {reason}");
            (self.progress.first_missing_body).get_or_insert_with(failure);
        }
        Ok(())
    }

    /// Formats an email for the one file.
    fn json_item(&self, json: &str) -> String {
        let json = escape_line(json.trim());
        match self.job.format {
            SetFormat::Json if self.progress.written == 0 => format!("\n{json}"),
            SetFormat::Json => format!(",\n{json}"),
            SetFormat::Files(_) | SetFormat::Text | SetFormat::JsonLines | SetFormat::Csv => {
                format!("{json}\n")
            }
        }
    }

    pub(super) fn fail_row(&mut self, row: &EmailRow, reason: &str) -> Result<(), String> {
        self.progress.last = Some(row.sort_key);
        self.fail(&row.summary.id.to_safe_text(), reason)
    }

    /// Counts an email that is not exported, and adds it to the list in the folder.
    pub(super) fn fail(&mut self, name: &str, reason: &str) -> Result<(), String> {
        let line = format!("{name}: {reason}");
        if let SetFormat::Files(_) = self.job.format {
            if self.sink.is_none() {
                let path = self.job.path.join(NOT_EXPORTED);
                let list = open_private_append(&path)
                    .map_err(|error| describe_write_error(&path, &error))?;
                self.sink = Some(Box::new(BufWriter::new(list)));
            }
            self.append(&format!("{line}\n"))?;
        }
        self.progress.done += 1;
        self.progress.failed += 1;
        self.progress.first_failure.get_or_insert(line);
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), String> {
        let sink = self.sink.as_mut().expect("the file was opened");
        sink.write_all(text.as_bytes())
            .map_err(|error| describe_write_error(&self.job.path, &error))
    }

    /// Completes the file of the batch. A stream is complete with the last batch only.
    pub(super) fn finish(mut self) -> Result<(), String> {
        match (self.job.format, self.progress.is_done, self.is_stream) {
            (SetFormat::Json, true, _) => self.append(DOCUMENT_END)?,
            (SetFormat::Json, false, false) => self.append(PARTIAL_DOCUMENT_END)?,
            _ => {}
        }
        self.sink
            .map_or(Ok(()), |mut sink| sink.flush())
            .map_err(|error| describe_write_error(&self.job.path, &error))
    }
}

/// Creates the one file, or opens it before its end, which the next email replaces.
fn open_file(job: &ExportJob, has_started: bool) -> io::Result<BufWriter<File>> {
    if !has_started {
        let mut file = BufWriter::new(create_private_file(&job.path)?);
        file.write_all(job.format.start().as_bytes())?;
        return Ok(file);
    }
    let mut file = OpenOptions::new().write(true).open(&job.path)?;
    let end = match job.format {
        SetFormat::Json => PARTIAL_DOCUMENT_END.len(),
        _ => 0,
    };
    file.seek(SeekFrom::End(-i64::try_from(end).unwrap_or(0)))?;
    Ok(BufWriter::new(file))
}
