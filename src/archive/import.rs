//! Imports emails in JSON that were exported, or listed by another program.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufRead, Read as _};

use jiff::Timestamp;

use super::codec::dictionary;
use super::incoming::{self, IncomingEmail, InsertSource};
use super::json_stream::{self, MAX_EMAIL};
use super::listing::position;
use super::{Archive, purge, search};
use crate::api::ListedEmail;
use crate::api::wire::{LosslessSummary, OrderedObject};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;

/// Lines in one transaction:
/// with more, fewer pages of the id index are written twice.
const BATCH: usize = 10_000;

/// The most bytes of text in one transaction.
const BATCH_BYTES: usize = 16 << 20;

/// The index is merged if at least one in so many emails is new.
const MERGE_RATIO: u64 = 4;

/// The bytes that some editors write at the start of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// The most invalid lines that are reported one by one.
const MAX_REPORTED: usize = 100;

/// The import ends if so many items at the start are not imported:
/// it is the wrong file.
const MAX_LEADING_INVALID: u64 = 10;

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// How many emails were read, with what is none; blank lines are not counted.
    pub(crate) lines: u64,
    /// How many emails were new.
    pub(crate) new: u64,
    /// How many emails were purged before or are older than the retention.
    pub(crate) skipped: u64,
    /// How many of the items read were not an email, or one of the other mailbox.
    pub(crate) invalid: u64,
    /// How many of the invalid items were emails of the other mailbox.
    pub(crate) of_other_mailbox: u64,
    /// The first hundred invalid ones, each with its number and why it is invalid.
    pub(crate) invalid_lines: Vec<String>,
}

impl Archive {
    /// Imports sent mail, see [`import_from`](Self::import_from).
    ///
    /// # Errors
    ///
    /// Those of `import_from`.
    pub fn import(
        &self,
        input: impl BufRead,
        seen_at: Timestamp,
        mut progress: impl FnMut(&ImportReport),
    ) -> Result<ImportReport> {
        self.import_from(Mailbox::Sent, input, seen_at, |report| {
            progress(report);
            Ok(())
        })
    }

    /// Imports emails in the form of the list or of the retrieve operation:
    /// one on each line, or in one document.
    ///
    /// An item that is not an email, or is one of the other mailbox, is skipped and reported. An
    /// email that the archive already has gains the bodies and the addresses that it lacked, and
    /// otherwise stays as it is: the file may be older. `progress` is called after each batch. An
    /// interrupted import keeps what it committed, and can be repeated.
    ///
    /// Fails if the input cannot be read, has no email or none at its start, a document is not
    /// JSON, the archive cannot be written, or `progress` fails.
    pub(crate) fn import_from(
        &self,
        mailbox: Mailbox,
        mut input: impl BufRead,
        seen_at: Timestamp,
        mut progress: impl FnMut(&ImportReport) -> Result<()>,
    ) -> Result<ImportReport> {
        let mut import = Import {
            archive: self,
            mailbox,
            seen_at,
            batch: Vec::with_capacity(BATCH),
            bytes: 0,
            report: ImportReport::default(),
            progress: &mut progress,
        };
        let mut start = input.fill_buf().map_err(|error| read_error(1, &error))?;
        if start.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
            start = input.fill_buf().map_err(|error| read_error(1, &error))?;
        }
        if is_csv(start) {
            return Err(
                Error::new(ErrorKind::InvalidInput, "the input is CSV").with_hint(FORMAT_HINT)
            );
        }
        if json_stream::is_document(start) {
            import.add_documents(input)?;
        } else {
            import.add_lines(input)?;
        }
        if import.has_no_email() {
            return Err(import.no_email_error());
        }
        import.store()?;
        let report = import.report;
        // Each batch wrote a segment of the index. To merge them costs as much as the whole
        // archive.
        if report.new > 0 && report.new * MERGE_RATIO >= self.query_count()? {
            let mut has_more = self.write(|tx| search::merge_segments(tx, true))?;
            while has_more {
                progress(&report)?;
                has_more = self.write(|tx| search::merge_segments(tx, false))?;
            }
        }
        Ok(report)
    }
}

struct Import<'a> {
    archive: &'a Archive,
    mailbox: Mailbox,
    seen_at: Timestamp,
    batch: Vec<IncomingEmail>,
    bytes: usize,
    report: ImportReport,
    progress: &'a mut dyn FnMut(&ImportReport) -> Result<()>,
}

impl Import<'_> {
    /// Adds the emails of JSON documents; those before an error are stored.
    fn add_documents(&mut self, input: impl BufRead) -> Result<()> {
        let mut number = 0;
        let read = json_stream::for_each_email(input, |json| {
            number += 1;
            let parsed = parse_json(json, self.mailbox);
            self.add(json.len(), || format!("email {number}"), parsed)
        });
        if read.is_err() {
            self.store()?;
        }
        read
    }

    fn add_lines(&mut self, mut input: impl BufRead) -> Result<()> {
        let mut line = Vec::new();
        for number in 1.. {
            let read = read_line(&mut input, &mut line);
            if !read.map_err(|error| read_error(number, &error))? {
                break;
            }
            let label = || format!("line {number}");
            if line.len() > MAX_EMAIL {
                let why = format!("longer than {} MB", MAX_EMAIL >> 20);
                self.add(0, label, Err(Rejection::NoEmail(why)))?;
            } else if !line.trim_ascii().is_empty() {
                let text = std::str::from_utf8(&line)
                    .map_err(|error| Rejection::NoEmail(error.to_string()));
                let parsed = text.and_then(|text| parse_json(text, self.mailbox));
                self.add(line.len(), label, parsed)?;
            }
        }
        Ok(())
    }

    /// Adds an email, or why an item is none; `label` names its position in the input.
    fn add(
        &mut self,
        bytes: usize,
        label: impl FnOnce() -> String,
        parsed: Result<ListedEmail, Rejection>,
    ) -> Result<()> {
        self.report.lines += 1;
        match parsed {
            Ok(email) => self.batch.push(IncomingEmail::new(email, self.seen_at)),
            Err(why) => {
                self.report.invalid += 1;
                let why = match why {
                    Rejection::NoEmail(why) => why,
                    Rejection::OtherMailbox => {
                        self.report.of_other_mailbox += 1;
                        describe_other_mailbox(self.mailbox).to_owned()
                    }
                };
                if self.report.invalid_lines.len() < MAX_REPORTED {
                    let reason = format!("{}: {why}", label());
                    self.report.invalid_lines.push(reason);
                }
                if self.has_no_email() && self.report.lines == MAX_LEADING_INVALID {
                    return Err(self.no_email_error());
                }
            }
        }
        self.bytes += bytes;
        if self.batch.len() == BATCH || self.bytes > BATCH_BYTES {
            self.store()?;
        }
        Ok(())
    }

    /// Whether all items so far were rejected.
    const fn has_no_email(&self) -> bool {
        self.report.lines > 0 && self.report.invalid == self.report.lines
    }

    /// Creates the error for an input of which all items so far were rejected.
    fn no_email_error(&self) -> Error {
        let lines = self.report.lines;
        if self.report.of_other_mailbox == lines {
            let (message, hint) = match self.mailbox {
                Mailbox::Sent => (
                    "the input is received mail, and was not imported as sent mail",
                    "sentbox import --received FILE imports it",
                ),
                Mailbox::Received => (
                    "the input is sent mail, and was not imported as received mail",
                    "leave out --received",
                ),
            };
            return Error::new(ErrorKind::InvalidInput, message).with_hint(hint);
        }
        let first = &self.report.invalid_lines[0];
        let message = match lines {
            MAX_LEADING_INVALID => format!("the first {lines} items are not emails; {first}"),
            _ => format!("the input has no email; {first}"),
        };
        Error::new(ErrorKind::InvalidInput, message).with_hint(FORMAT_HINT)
    }

    /// Stores the batch and empties it.
    fn store(&mut self) -> Result<()> {
        let (archive, seen_at) = (self.archive, self.seen_at);
        let mut ids = HashSet::new();
        let emails = std::mem::take(&mut self.batch).into_iter();
        // What comes again adds what the first one lacks.
        let (first, again): (Vec<_>, Vec<_>) =
            emails.partition(|email| ids.insert(email.item.id.clone()));
        let (new, skipped) = archive.write(|tx| {
            let (mut new, mut skipped) = (0, 0);
            for mut emails in [first, again] {
                skipped += purge::filter_purged(tx, &mut emails, seen_at)?.total();
                position::assign_time_keys(tx, &mut emails, seen_at)?;
                let source = InsertSource::File(seen_at);
                new += incoming::insert_new(tx, &emails, source)?.len() as u64;
                for email in emails.iter().filter(|email| email.existing.is_some()) {
                    email.fill_missing(tx)?;
                    if let Some(json) = email.body_json() {
                        dictionary::store_body_if_missing(tx, email.sort_key, json)?;
                    }
                }
            }
            Ok((new, skipped))
        })?;
        self.bytes = 0;
        self.report.new += new;
        self.report.skipped += skipped;
        (self.progress)(&self.report)
    }
}

/// Reads the next line into `line`; false at the end.
/// Of a line that is too long, it keeps one byte too many.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = MAX_EMAIL as u64 + 1;
    let read = input.by_ref().take(most).read_until(b'\n', line)?;
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() > MAX_EMAIL {
        input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

fn read_error(line: u64, error: &io::Error) -> Error {
    let message = format!("line {line} cannot be read: {error}");
    Error::new(ErrorKind::Io, message)
}

/// The hint for an input that has other data.
const FORMAT_HINT: &str = "import reads JSON, as sentbox export --as jsonl writes it";

/// Whether a text starts like a table that sentbox has written:
/// with names of columns, `id` among them.
fn is_csv(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    let names: Vec<&str> = line.trim().split(',').collect();
    names.len() > 1 && names.contains(&"id")
}

/// Why an item is not imported.
enum Rejection {
    /// It is not an email, for this reason.
    NoEmail(String),
    /// It is an email of the other mailbox.
    OtherMailbox,
}

/// Describes an email that an import into `mailbox` rejects.
const fn describe_other_mailbox(mailbox: Mailbox) -> &'static str {
    match mailbox {
        Mailbox::Sent => "received mail, which import --received imports",
        Mailbox::Received => "sent mail, which import without --received imports",
    }
}

/// Describes the error without its line: an email is one line of the input.
fn describe_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&at).unwrap_or(&text);
    let what = if error.is_data() {
        "an email that cannot be read"
    } else {
        "not JSON"
    };
    format!("{what}: {reason}")
}

fn parse_json(text: &str, mailbox: Mailbox) -> Result<ListedEmail, Rejection> {
    let text = text.trim();
    let json = strip_annotations(text).map_or(Cow::Borrowed(text), Cow::Owned);
    let email = ListedEmail::parse_as(&json, mailbox)
        .map_err(|error| Rejection::NoEmail(describe_json_error(&error)))?;
    let parsed = email.parsed();
    let summary = &parsed.summary;
    // Any object with an id could be stored; a user who named the wrong file would find its lines
    // among the mail.
    let has_address = summary.to.is_some() || summary.from.is_some();
    if !has_address && summary.created_at.is_none() && summary.subject.is_none() {
        let why = "not an email: it has neither recipient, sender, time nor subject";
        return Err(Rejection::NoEmail(why.to_owned()));
    }
    if is_of_other_mailbox(&parsed, mailbox) {
        return Err(Rejection::OtherMailbox);
    }
    Ok(email)
}

/// Members that the service gives to received mail only.
const RECEIVED_MEMBERS: [&str; 4] = ["attachments", "headers", "received_for", "raw"];

/// Whether an email is not one of `mailbox`, as far as its members show it:
/// only sent mail has a status.
fn is_of_other_mailbox(email: &LosslessSummary, mailbox: Mailbox) -> bool {
    let has_status = email.key_order.contains("\"last_event\"");
    let mut names = email.summary.extra.iter().map(|(name, _)| name.as_str());
    match mailbox {
        Mailbox::Sent => !has_status && names.any(|name| RECEIVED_MEMBERS.contains(&name)),
        Mailbox::Received => has_status,
    }
}

/// The member in which `search` and `show` write when a status was confirmed.
const ANNOTATIONS_KEY: &str = "_sentbox";

/// Removes what sentbox has added to the JSON of an email;
/// `None` if there is nothing to remove.
fn strip_annotations(json: &str) -> Option<String> {
    if !json.contains(ANNOTATIONS_KEY) {
        return None;
    }
    let mut object = OrderedObject::parse(json).ok()?;
    object.remove(ANNOTATIONS_KEY).map(|_| object.to_json())
}
