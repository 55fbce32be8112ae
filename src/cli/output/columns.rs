//! The columns of `list` and `search`: their names, and what they say of an email.
//!
//! A column is a value for programs: one line without tabs, and times in UTC. `table.rs` has the rows for people.

use clap::{Args as Group, ValueEnum};
use jiff::Timestamp;

use crate::archive::EmailRow;
use crate::error::{Error, ErrorKind, Result};
use crate::export::{csv_record, join_addresses};
use crate::mail::{Address, ApiTime, Mailbox, Summary};
use crate::text::format::format_timestamp;
use crate::text::secrets::{Secrets, shown_text};

/// The columns of `--csv` without `--columns`.
const DEFAULT_CSV_COLUMNS: [Column; 5] = [
    Column::Created,
    Column::Status,
    Column::To,
    Column::Subject,
    Column::Id,
];

/// The columns of `--csv` for received mail, without `--columns`.
const RECEIVED_CSV_COLUMNS: [Column; 5] = [
    Column::Created,
    Column::From,
    Column::To,
    Column::Subject,
    Column::Id,
];

/// The columns of `list` and `search`.
#[derive(Debug, Group)]
pub struct TableArgs {
    /// Print a table for spreadsheets
    #[arg(long)]
    pub csv: bool,
    /// Print these, between tabs or with --csv;
    /// checked is when the service confirmed the status
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<Column>,
}

impl TableArgs {
    /// Returns the columns to print; none for the layout of the program's own.
    ///
    /// Fails if JSON is printed, which has no columns, or a column is about the status of received mail.
    pub(in crate::cli) fn columns(&self, is_json: bool, mailbox: Mailbox) -> Result<&[Column]> {
        if is_json && (self.csv || !self.columns.is_empty()) {
            let message = "JSON has all members of an email, so it goes neither with --csv nor with --columns";
            return Err(Error::new(ErrorKind::Usage, message).with_hint("leave one of them out"));
        }
        let is_of_status = |column: &&Column| {
            matches!(
                column,
                Column::Status | Column::Changed | Column::Checked | Column::Reason
            )
        };
        if mailbox == Mailbox::Received
            && let Some(column) = self.columns.iter().find(is_of_status)
        {
            let message = format!(
                "received mail has no status, and no column {}",
                column.name()
            );
            return Err(Error::new(ErrorKind::Usage, message).with_hint("leave it out"));
        }
        Ok(match self.columns.as_slice() {
            [] if self.csv && mailbox == Mailbox::Received => &RECEIVED_CSV_COLUMNS,
            [] if self.csv => &DEFAULT_CSV_COLUMNS,
            columns => columns,
        })
    }

    /// Returns the first line of a table for spreadsheets.
    pub(in crate::cli) fn header(&self, columns: &[Column]) -> Option<String> {
        let header = || csv_record(columns.iter().map(|column| column.name())) + "\n";
        self.csv.then(header)
    }

    pub(in crate::cli) fn join(&self, values: impl Iterator<Item = String>) -> String {
        if self.csv {
            csv_record(values)
        } else {
            values.collect::<Vec<_>>().join("\t")
        }
    }
}

/// A column of `--columns`. A doc comment of a value would be help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    // Time of acceptance by the service, in UTC.
    Created,
    // The status, by its name in the API.
    Status,
    // Time at which the status was seen to change, in UTC.
    Changed,
    // Time at which the service confirmed the status, in UTC.
    Checked,
    // Time at which the service was found to list it no more, in UTC.
    Gone,
    // Recipients.
    To,
    // Copy recipients.
    Cc,
    // Blind-copy recipients.
    Bcc,
    // The sender.
    From,
    // Addresses for replies.
    ReplyTo,
    // Domains of the recipients.
    Domain,
    // The subject.
    Subject,
    // Time of sending, in UTC.
    Scheduled,
    // Why the email bounced, if the service says so.
    Reason,
    // Tags, as `name=value`; empty as long as the email was not retrieved.
    Tags,
    // The id.
    Id,
    // The message id.
    MessageId,
}

impl Column {
    /// Returns the name in `--columns` and in the header.
    pub(in crate::cli) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether only the archive knows it, and not the list of the service.
    pub(in crate::cli) const fn is_archived(self) -> bool {
        matches!(
            self,
            Self::Changed | Self::Checked | Self::Gone | Self::Tags
        )
    }

    /// Returns the value of an email in the archive; it has no tab or newline.
    pub(in crate::cli) fn value(self, row: &EmailRow, secrets: Secrets) -> String {
        let utc = |time: Option<Timestamp>| time.map(format_timestamp).unwrap_or_default();
        match self {
            Self::Changed => utc(row.last_change.as_ref().map(|change| change.seen)),
            Self::Checked => utc(row.confirmed_at),
            Self::Gone => utc(row.missing_since),
            Self::Tags => {
                let tags = row.tags.as_deref().unwrap_or_default();
                shown_text(tags, secrets).into_owned()
            }
            _ => self.listed_value(&row.summary, secrets).unwrap_or_default(),
        }
    }

    /// Returns the value of an email as the service lists it;
    /// `None` if only the archive knows it.
    pub(in crate::cli) fn listed_value(self, mail: &Summary, secrets: Secrets) -> Option<String> {
        Some(match self {
            Self::Changed | Self::Checked | Self::Gone | Self::Tags => return None,
            Self::Created => mail.created.format_utc(),
            Self::Status => mail.status.api_name().to_owned(),
            Self::To => join_addresses(&mail.to),
            Self::Cc => join_addresses(&mail.cc),
            Self::Bcc => join_addresses(&mail.bcc),
            Self::From => mail.shown_from(secrets),
            Self::ReplyTo => join_addresses(&mail.reply_to),
            Self::Domain => {
                let mut domains: Vec<&str> = mail.to.iter().map(Address::domain).collect();
                domains.retain(|domain| !domain.is_empty());
                domains.sort_unstable();
                domains.dedup();
                domains.join(",")
            }
            Self::Subject => mail.shown_subject(secrets).into_owned(),
            Self::Scheduled => mail
                .scheduled
                .as_ref()
                .map(ApiTime::format_utc)
                .unwrap_or_default(),
            Self::Reason => mail
                .bounce_reason()
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            Self::Id => mail.id.to_safe_text().to_string(),
            Self::MessageId => mail.message_id.to_string(),
        })
    }
}
