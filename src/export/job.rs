//! What an export is about: its emails, format and place, and how far it has come.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::set_format::SetFormat;
use crate::api::InvalidResponses;
use crate::archive::{EmailRow, SortKey};
use crate::mail::EmailId;
use crate::query::Query;

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
    pub(super) fn count(&mut self, row: &EmailRow) {
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
    pub(super) invalid: InvalidResponses,
    /// The position of the last email, if the scope is a query.
    pub(super) last: Option<SortKey>,
    pub(crate) is_done: bool,
    /// Why the service is not asked for any further body.
    pub(super) service_error: Option<String>,
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

impl ExportProgress {
    pub(super) fn note_failure(&mut self, text: String) {
        self.failed += 1;
        self.first_failure.get_or_insert(text);
    }

    pub(super) fn pass(&mut self, row: &EmailRow) {
        self.done += 1;
        self.last = Some(row.sort_key);
    }
}
