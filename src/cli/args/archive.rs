//! The arguments of `archive`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};
use jiff::SignedDuration;

use super::values::{parse_address, parse_age};
use super::verbs::MailboxArgs;

/// `archive`.
#[derive(Debug, Subcommand)]
pub enum ArchiveVerb {
    /// Say where it is, what it holds and how far back it is complete
    Info(MailboxArgs),
    /// Remove mail from it for good, sent and received; sync does not bring it back
    #[command(after_help = super::ARCHIVE_HELP)]
    Purge(PurgeArgs),
    /// Rewrite the file without the space of removed mail
    Vacuum,
    /// Copy it, with received mail: from a file to PostgreSQL, or back
    #[command(after_help = super::ARCHIVE_COPY_HELP)]
    Copy(CopyArgs),
    /// Rebuild its file from what can be read of it, and forget what cannot:
    /// sync reads that again
    #[command(
        after_help = "For an archive that is damaged, as sentbox doctor finds out. The search index and the counts are rebuilt. \
                            The damaged file stays beside the new one; remove it when nothing is missed."
    )]
    Repair(MailboxArgs),
    /// Go on with the archive of the profile's former key:
    /// the new key is of the same team
    Adopt,
    /// Begin a new archive where the present one is damaged, or of another team;
    /// that one stays, renamed to a backup if it is in the way
    Begin,
}

/// `archive copy`.
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("places").required(true).multiple(true).args(["from", "to"]))]
pub struct CopyArgs {
    /// The archive to copy (file or postgres://...); without it, that of the profile
    #[arg(long, value_name = "ARCHIVE")]
    pub from: Option<PathBuf>,
    /// Where it goes (file or postgres://...);
    /// without it, to the archive of the profile
    #[arg(long, value_name = "ARCHIVE")]
    pub to: Option<PathBuf>,
}

/// `archive purge`.
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["words", "older", "to"]))]
pub struct PurgeArgs {
    /// What to remove; all words together are one query
    #[arg(value_name = "QUERY")]
    pub words: Vec<String>,
    /// Mail older than this: a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub older: Option<SignedDuration>,
    /// Mail that went to this address, alone or with others, or was received from it;
    /// not what the archive has yet to fetch
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub to: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Only say how many emails it would remove
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
}
