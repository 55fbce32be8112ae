//! Imports emails in JSON that were exported, or listed by another program.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufRead};

use jiff::Timestamp;

use super::codec::dictionary;
use super::incoming::{self, IncomingEmail, InsertSource};
use super::listing::position;
use super::{Archive, json_stream, purge, search};
use crate::api::ListedEmail;
use crate::api::wire::{self, OrderedObject};
use crate::error::{Error, ErrorKind, Result};

/// Lines in one transaction: with more, fewer pages of the id index are written twice.
const BATCH: usize = 10_000;

/// The most bytes of text in one transaction.
const BATCH_BYTES: usize = 16 << 20;

/// The index is merged if at least one in so many emails is new.
const MERGE_RATIO: u64 = 4;

/// The most invalid lines that are reported one by one.
const MAX_REPORTED: usize = 100;

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// How many emails were read, with what is none; blank lines are not counted.
    pub(crate) lines: u64,
    /// How many emails were new.
    pub(crate) new: u64,
    /// How many emails were purged before or are older than the retention.
    pub(crate) skipped: u64,
    /// How many of them were not an email.
    pub(crate) invalid: u64,
    /// The first hundred of those, each with its number and why it is invalid.
    pub(crate) invalid_lines: Vec<String>,
}

impl Archive {
    /// Imports emails in the form of the list or of the retrieve operation: one on each line, or in one
    /// document.
    ///
    /// What is not an email is skipped and reported. An email that the archive already has gains the
    /// bodies that it lacked, and otherwise stays as it is: the file may be older. `progress` is called after
    /// each batch. An interrupted import keeps what it committed, and can be repeated.
    ///
    /// # Errors
    ///
    /// If the input cannot be read, a document is no JSON, or the archive cannot be written.
    pub fn import(
        &self,
        mut input: impl BufRead,
        seen_at: Timestamp,
        progress: impl FnMut(&ImportReport),
    ) -> Result<ImportReport> {
        let mut import = Import {
            archive: self,
            seen_at,
            batch: Vec::with_capacity(BATCH),
            bytes: 0,
            report: ImportReport::default(),
            progress,
        };
        let start = input.fill_buf().map_err(|error| read_error(1, &error))?;
        if json_stream::is_document(start) {
            let mut number = 0;
            let read = json_stream::for_each_email(input, |json| {
                number += 1;
                import.add(json.len(), || format!("email {number}"), parse_json(json))
            });
            if let Err(error) = read {
                import.store()?;
                return Err(error);
            }
        } else {
            for (number, line) in (1..).zip(input.split(b'\n')) {
                let line = line.map_err(|error| read_error(number, &error))?;
                if !line.trim_ascii().is_empty() {
                    let text = std::str::from_utf8(&line).map_err(|error| error.to_string());
                    let parsed = text.and_then(parse_json);
                    import.add(line.len(), || format!("line {number}"), parsed)?;
                }
            }
        }
        import.store()?;
        let report = import.report;
        // Each batch wrote a segment of the index. To merge them costs as much as the whole archive.
        if report.new > 0 && report.new * MERGE_RATIO >= self.query_count()? {
            let mut has_more = self.write(|tx| search::merge_segments(tx, true))?;
            while has_more {
                has_more = self.write(|tx| search::merge_segments(tx, false))?;
            }
        }
        Ok(report)
    }
}

/// An import that is running.
struct Import<'a, P> {
    archive: &'a Archive,
    seen_at: Timestamp,
    batch: Vec<IncomingEmail>,
    /// Bytes of text in the batch.
    bytes: usize,
    report: ImportReport,
    progress: P,
}

impl<P: FnMut(&ImportReport)> Import<'_, P> {
    fn add(
        &mut self,
        bytes: usize,
        label: impl FnOnce() -> String,
        parsed: Result<ListedEmail, String>,
    ) -> Result<()> {
        self.report.lines += 1;
        match parsed {
            Ok(email) => self.batch.push(IncomingEmail::new(email, self.seen_at)),
            Err(why) => {
                self.report.invalid += 1;
                if self.report.invalid_lines.len() < MAX_REPORTED {
                    let reason = format!("{}: {why}", label());
                    self.report.invalid_lines.push(reason);
                }
            }
        }
        self.bytes += bytes;
        if self.batch.len() == BATCH || self.bytes > BATCH_BYTES {
            self.store()?;
        }
        Ok(())
    }

    /// Stores the batch and empties it.
    fn store(&mut self) -> Result<()> {
        let (archive, seen_at) = (self.archive, self.seen_at);
        let mut ids = HashSet::new();
        let mut emails = std::mem::take(&mut self.batch);
        emails.retain(|email| ids.insert(email.item.id.clone()));
        let (new, skipped) = archive.write(|tx| {
            let filtered = purge::filter_purged(tx, &mut emails, archive.retention, seen_at)?;
            position::assign_time_keys(tx, &mut emails, seen_at)?;
            let new = incoming::insert_new(tx, &emails, InsertSource::File(seen_at))?;
            for email in emails.iter().filter(|email| email.existing.is_some()) {
                if let Some(json) = email.body_json() {
                    dictionary::store_body_if_missing(tx, email.sort_key, json)?;
                }
            }
            Ok((new.len() as u64, filtered.total()))
        })?;
        self.bytes = 0;
        self.report.new += new;
        self.report.skipped += skipped;
        (self.progress)(&self.report);
        Ok(())
    }
}

fn read_error(line: u64, error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("line {line} cannot be read: {error}"),
    )
}

fn parse_json(text: &str) -> Result<ListedEmail, String> {
    let text = text.trim();
    let json = strip_annotations(text).map_or(Cow::Borrowed(text), Cow::Owned);
    let email = ListedEmail::parse(&json)
        .map_err(|error| format!("an email that cannot be read: {error}"))?;
    let parsed = email.parsed();
    let wire::Summary {
        to,
        from,
        created_at,
        subject,
        ..
    } = &parsed.summary;
    // Any object with an id could be stored; a user who named the wrong file would find its lines among
    // the mail.
    if to.is_none() && from.is_none() && created_at.is_none() && subject.is_none() {
        return Err("not an email: it has neither recipient, sender, time nor subject".to_owned());
    }
    Ok(email)
}

/// The member in which `search` and `show` write when a status was confirmed.
const ANNOTATIONS_KEY: &str = "_sentbox";

/// Removes what sentbox has added to the JSON of an email; `None` if there is nothing to remove.
fn strip_annotations(json: &str) -> Option<String> {
    if !json.contains(ANNOTATIONS_KEY) {
        return None;
    }
    let mut object = OrderedObject::parse(json).ok()?;
    object.remove(ANNOTATIONS_KEY).map(|_| object.to_json())
}
