//! The columns of a row, by name, for whoever chooses them.

use clap::ValueEnum;

use super::args::NO_HELP;
use crate::archive::EmailRow;
use crate::mail::{Address, ApiTime};

/// A column that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// When the service accepted it, in UTC.
    #[value(help = NO_HELP)]
    Created,
    /// The status in one word.
    #[value(help = NO_HELP)]
    Status,
    /// When the status was seen to change, in UTC.
    #[value(help = NO_HELP)]
    Changed,
    /// When the service has confirmed the status, in UTC.
    #[value(help = NO_HELP)]
    Checked,
    /// When the service was found to list it no more, in UTC.
    #[value(help = NO_HELP)]
    Gone,
    /// Recipients.
    #[value(help = NO_HELP)]
    To,
    /// Copy recipients.
    #[value(help = NO_HELP)]
    Cc,
    /// Blind-copy recipients.
    #[value(help = NO_HELP)]
    Bcc,
    /// The sender.
    #[value(help = NO_HELP)]
    From,
    /// Where answers go.
    #[value(help = NO_HELP)]
    ReplyTo,
    /// The subject.
    #[value(help = NO_HELP)]
    Subject,
    /// When it is to be sent, in UTC.
    #[value(help = NO_HELP)]
    Scheduled,
    /// The id.
    #[value(help = NO_HELP)]
    Id,
    /// The message id.
    #[value(help = NO_HELP)]
    MessageId,
}

impl Column {
    /// Its name, as it is asked for and as it stands above the column.
    #[must_use]
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// What it holds for an email; without tabs and line feeds.
    #[must_use]
    pub(super) fn value(self, row: &EmailRow) -> String {
        let mail = &row.summary;
        match self {
            Self::Created => format_utc(&mail.created),
            Self::Status => mail.status.label().to_owned(),
            Self::Changed => row
                .last_change
                .as_ref()
                .map(|change| change.seen.to_string())
                .unwrap_or_default(),
            Self::Checked => row
                .confirmed_at
                .map(|at| at.to_string())
                .unwrap_or_default(),
            Self::Gone => row
                .missing
                .map(|gone| gone.noticed.to_string())
                .unwrap_or_default(),
            Self::To => join_addresses(&mail.to),
            Self::Cc => join_addresses(&mail.cc),
            Self::Bcc => join_addresses(&mail.bcc),
            Self::From => mail.from.to_string(),
            Self::ReplyTo => join_addresses(&mail.reply_to),
            Self::Subject => mail.subject.to_string(),
            Self::Scheduled => mail.scheduled.as_ref().map(format_utc).unwrap_or_default(),
            Self::Id => mail.id.to_safe_text().to_string(),
            Self::MessageId => mail.message_id.to_string(),
        }
    }
}

fn join_addresses(addresses: &[Address]) -> String {
    addresses
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn format_utc(stamp: &ApiTime) -> String {
    stamp
        .parsed
        .map_or_else(|| stamp.raw.to_string(), |at| at.to_string())
}
