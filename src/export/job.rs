//! The export of several emails:
//! its emails, format and path, and how far it has come.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::ExportFormat;
use super::csv::csv_header;
use crate::api::InvalidResponses;
use crate::archive::{EmailRow, SortKey};
use crate::error::Result;
use crate::mail::{Email, EmailId};
use crate::query::Query;
use crate::text::format::{group_digits, plural};
use crate::text::secrets::Secrets;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExportScope {
    /// These, in this order.
    Emails(Arc<[EmailId]>),
    /// The matches of a query, in its order.
    Query(Arc<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SetFormat {
    /// One file for each email in a new folder.
    Files(ExportFormat),
    /// One text file with all, to read or print.
    Text,
    /// One JSON document, in the envelope of the service's list.
    Json,
    /// One JSON object a line, as `sentbox import` reads it.
    JsonLines,
    /// One record a line, with masked codes and without bodies.
    Csv,
}

impl SetFormat {
    /// All formats; the first is the default.
    pub(crate) const ALL: [Self; 7] = [
        Self::Files(ExportFormat::Eml),
        Self::Files(ExportFormat::Html),
        Self::Files(ExportFormat::Text),
        Self::Text,
        Self::Json,
        Self::JsonLines,
        Self::Csv,
    ];

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Files(ExportFormat::Eml) => "eml",
            Self::Files(ExportFormat::Html) => "html",
            Self::Files(ExportFormat::Text) => "text",
            Self::Text => "one text",
            Self::Files(ExportFormat::Json) | Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Csv => "csv",
        }
    }

    /// Returns the name as it is typed: `jsonl`.
    pub(crate) fn name(self) -> &'static str {
        self.extension().unwrap_or(self.label())
    }

    /// Returns the ending of the file, without the dot; a folder has none.
    pub(crate) const fn extension(self) -> Option<&'static str> {
        match self {
            Self::Files(_) => None,
            Self::Text => Some("txt"),
            Self::Json => Some("json"),
            Self::JsonLines => Some("jsonl"),
            Self::Csv => Some("csv"),
        }
    }

    /// Returns what a file begins with.
    pub(super) fn start(self) -> String {
        match self {
            Self::Files(_) | Self::Text | Self::JsonLines => String::new(),
            Self::Json => "{\"object\":\"list\",\"data\":[".to_owned(),
            Self::Csv => csv_header(),
        }
    }

    pub(crate) fn has_bodies(self) -> bool {
        self != Self::Csv
    }
}

/// An export of several emails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportJob {
    pub(crate) scope: ExportScope,
    pub(crate) format: SetFormat,
    /// The file or folder to write.
    pub(crate) path: PathBuf,
    /// The name that a complete export gets; `None` if its caller renames it.
    pub(crate) target: Option<PathBuf>,
    /// The zone of dates in names and in text.
    pub(crate) zone: TimeZone,
    /// How csv shows codes; all other formats are whole.
    pub(crate) secrets: Secrets,
    /// Whether bodies that are not stored are requested from the service.
    pub(crate) retrieves: bool,
    /// Whether the attachments of each email are requested, too.
    pub(crate) attaches: bool,
    /// Whether `path` is of the same export, which has ended early.
    /// It is written again.
    pub(crate) continues: bool,
}

impl ExportJob {
    /// The file or folder that a complete export is.
    pub(crate) fn target(&self) -> &Path {
        self.target.as_deref().unwrap_or(&self.path)
    }
}

/// The extent of an export before it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExportPlan {
    /// The counted emails, in the order of the list; the query, if there are too many.
    pub(crate) scope: ExportScope,
    pub(crate) emails: u64,
    /// Whether there are more emails than were counted.
    pub(crate) is_capped: bool,
    /// Emails whose bodies are not stored.
    pub(crate) without_body: u64,
    /// Emails without a stored body that the service still has; each takes one request.
    pub(crate) retrievable: u64,
}

impl ExportPlan {
    /// Formats the number of emails, as `more than 50 000 emails`.
    pub(crate) fn total(&self) -> String {
        let more = if self.is_capped { "more than " } else { "" };
        format!("{more}{}", plural(self.emails, "email"))
    }

    pub(super) fn count(&mut self, row: &EmailRow) {
        if !row.has_body {
            self.without_body += 1;
            self.retrievable += u64::from(row.missing_since.is_none());
        }
    }
}

impl ExportProgress {
    /// Counts an email whose attachments are not written, unless it has none.
    pub(crate) fn count_attachments(&mut self, email: &Email) {
        match email.summary.count_attachments() {
            Some(0) => {}
            Some(_) => self.without_attachments += 1,
            None => self.attachments_unknown += 1,
        }
    }

    /// Describes how many emails had attachments that were not written, if any may have.
    pub(crate) fn describe_attachments(&self) -> Option<String> {
        let text = match (self.without_attachments, self.attachments_unknown) {
            (0, 0) => return None,
            (some, 0) => format!(
                "the attachments of {} were not saved",
                plural(some, "email")
            ),
            _ => "attachments, if there are any, were not saved".to_owned(),
        };
        Some(format!("{text}; --attachments saves them"))
    }

    /// Formats `exporting: 120 of 300 emails, 5 requests`.
    pub(crate) fn describe(&self, plan: &ExportPlan) -> String {
        let done = group_digits(self.done, ' ');
        let requests = match self.requests {
            0 => String::new(),
            requests => format!(", {}", plural(requests, "request")),
        };
        format!("exporting: {done} of {}{requests}", plan.total())
    }

    /// Whether it has ended, and not early: by a stop or a failed request.
    pub(crate) const fn is_complete(&self) -> bool {
        self.is_done && self.service_error.is_none() && self.error.is_none()
    }

    /// Whether the export continues after this response; the response is then written.
    pub(crate) fn goes_on_after<T>(&self, response: &Result<T>) -> bool {
        let mut invalid = self.invalid;
        invalid.record(response)
    }
}

/// How far an export has come. A checkpoint on disk has what is not skipped.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ExportProgress {
    /// Whether the file or the folder was created.
    pub(crate) has_started: bool,
    /// Emails written or failed.
    pub(crate) done: u64,
    pub(crate) written: u64,
    /// Emails written without a body, because it is not stored.
    pub(crate) without_body: u64,
    /// Emails that were not written.
    pub(crate) failed: u64,
    /// The first email that was not written, and why.
    pub(crate) first_failure: Option<String>,
    /// The first written email whose body could not be read or fetched, and why.
    pub(crate) first_missing_body: Option<String>,
    /// Emails written without the attachments that they have.
    #[serde(default)]
    pub(crate) without_attachments: u64,
    /// Emails written without attachments, of which it is not known whether they have any.
    #[serde(default)]
    pub(crate) attachments_unknown: u64,
    /// Emails requested from the service.
    pub(crate) requests: u64,
    #[serde(skip)]
    pub(super) invalid: InvalidResponses,
    /// The position of the last email, if the scope is a query.
    #[serde(skip)]
    pub(super) last: Option<SortKey>,
    pub(crate) is_done: bool,
    /// Why the service is not asked for any further body.
    #[serde(skip)]
    pub(crate) service_error: Option<String>,
    /// Why the export has ended early.
    #[serde(skip)]
    pub(crate) error: Option<String>,
}
