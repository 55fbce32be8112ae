//! The arguments of each verb.

use std::fmt;
use std::net::SocketAddr;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, PossibleValue};
use clap::{Args as Group, Subcommand, ValueEnum};
use jiff::SignedDuration;
use url::Host;

use super::TableArgs;
use crate::api::Cursor;
use crate::archive::Grouping;
use crate::config::{DURATION_SYNTAX, HistorySpan, parse_duration};
use crate::export::SetFormat;
use crate::mail::{EmailId, Mailbox, Status};
use crate::query::SortOrder;
use crate::text::format::suggest;

/// `profile`.
#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the profiles; a star marks the default
    List,
    /// Make a profile the default
    Use {
        /// Its name
        name: String,
    },
    /// Remove a profile with its stored key and its archive
    Remove {
        /// Its name
        name: String,
        /// Delete its archive, too, if there is one
        #[arg(long)]
        yes: bool,
    },
}

/// `config`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigVerb {
    /// Print where the file is
    Path,
    /// Read the file and say what is wrong with it
    Check,
    /// Open the file in $VISUAL or $EDITOR, and check it afterwards
    Edit,
}

/// Which emails a command is about.
#[derive(Debug, Clone, Copy, Default, Group)]
pub struct MailboxArgs {
    /// Mail that was received, and not sent, where the service lists it
    #[arg(long)]
    received: bool,
}

impl MailboxArgs {
    pub(in crate::cli) const fn mailbox(self) -> Mailbox {
        if self.received {
            Mailbox::Received
        } else {
            Mailbox::Sent
        }
    }
}

/// `list`.
#[derive(Debug, Group)]
pub struct ListArgs {
    /// How many emails; the service gives 100 a request
    #[arg(long, value_name = "N", default_value_t = Self::DEFAULT_LIMIT, value_parser = parse_number::<u32, 1>, conflicts_with = "all")]
    pub limit: u32,
    /// Only emails older than this one
    #[arg(long, value_name = "ID", conflicts_with = "before")]
    pub after: Option<String>,
    /// Only the emails right above (newer than) this one
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub before: Option<String>,
    /// All of them, page by page
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    #[command(flatten)]
    pub table: TableArgs,
    /// An alias of `search`, hidden.
    #[arg(hide = true)]
    pub words: Vec<String>,
}

impl ListArgs {
    pub(in crate::cli) const DEFAULT_LIMIT: u32 = 20;

    pub fn cursor(&self) -> Cursor {
        match (&self.after, &self.before) {
            (Some(id), _) => Cursor::After(EmailId::new(id)),
            (None, Some(id)) => Cursor::Before(EmailId::new(id)),
            (None, None) => Cursor::Start,
        }
    }
}

/// `search`.
#[derive(Debug, Group)]
pub struct SearchArgs {
    /// What to look for; all words together are one query
    #[arg(required = true, value_name = "QUERY")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    /// At most so many emails
    #[arg(long, value_name = "N", value_parser = parse_number::<u64, 1>, conflicts_with = "count")]
    pub limit: Option<u64>,
    /// Which come first
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<SortOrder>,
    /// Print only how many there are
    #[arg(long, conflicts_with_all = ["csv", "columns"])]
    pub count: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// End with code 1 if nothing matches
    #[arg(long)]
    pub exit_status: bool,
    /// First fetch what is missing: all, or a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "SPAN", value_parser = parse_back)]
    pub back: Option<HistorySpan>,
    /// First ask the service for new mail, and for every status that may have changed among what QUERY may find
    #[arg(long)]
    pub fresh: bool,
    /// With --fresh: at most so many requests for statuses, 1 or more; a request confirms up to 100 of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = parse_number::<u32, 1>, requires = "fresh")]
    pub max_requests: u32,
}

impl ValueEnum for SortOrder {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()))
    }
}

/// `show`.
#[derive(Debug, Group)]
pub struct ShowArgs {
    /// The email's id, or its beginning, or the message id, of an email in the archive; - reads ids from standard input
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    /// How to show it; by default rendered
    #[arg(long = "as", value_name = "FORM")]
    pub form: Option<ShowForm>,
    /// Lay out for this many columns
    #[arg(long, value_name = "N", value_parser = parse_width)]
    pub width: Option<u16>,
    /// Fail if the service does not answer, or has no such email, even if the archive has a copy
    #[arg(long, conflicts_with = "offline")]
    pub fresh: bool,
    /// Show the copy of the archive, and do not ask the service
    #[arg(long)]
    pub offline: bool,
}

/// How an email is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowForm {
    // As the recipient saw it.
    Rendered,
    // The plain-text part.
    Text,
    // The html part, as written.
    Html,
    // The html part, an element a line, in colour on a terminal.
    Source,
    // The service's JSON.
    Json,
    // A message for mail programs.
    Eml,
}

/// `attachment`.
#[derive(Debug, Group)]
pub struct AttachmentArgs {
    /// The email's id, or its beginning, or the message id, of an email in the archive
    #[arg(value_name = "ID")]
    pub id: String,
    /// The name or the id of the attachment; not needed if there is only one
    #[arg(value_name = "NAME")]
    pub attachment: Option<String>,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    /// Save it as this new file, or in this folder; - is standard output
    #[arg(long, value_name = "PATH")]
    pub to: Option<PathBuf>,
}

fn parse_charset(name: &str) -> Result<&'static encoding_rs::Encoding, String> {
    encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
        .ok_or_else(|| "not a charset of the web, such as latin1 or shift_jis".to_owned())
}

/// `render`.
#[derive(Debug, Group)]
pub struct RenderArgs {
    /// Lay out for this many columns
    #[arg(long, value_name = "N", value_parser = parse_width)]
    pub width: Option<u16>,
    /// Number the links and list them at the end
    #[arg(long)]
    pub links: bool,
    /// Read the html in this charset, not in the one that it declares
    #[arg(long, value_name = "NAME", value_parser = parse_charset)]
    pub charset: Option<&'static encoding_rs::Encoding>,
    /// The html file; standard input if there is none, or -
    pub file: Option<PathBuf>,
}

/// `sync`.
#[derive(Debug, Default, Group)]
pub struct SyncArgs {
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    /// How far back: all, or a number of hours (h), days (d) or weeks (w); 30d by default
    #[arg(long, value_name = "SPAN", value_parser = parse_back)]
    pub back: Option<HistorySpan>,
    /// Which statuses to read again after that: all, those of a number of hours (h), days (d) or weeks (w), or
    /// off for none. By default those of the last 72 h that are due, with at most 100 requests
    #[arg(long, value_name = "SPAN", value_parser = parse_recheck)]
    pub recheck: Option<HistorySpan>,
    /// Fetch the missing bodies too, the newest first, a request each: of all mail in the archive, or with --back
    /// of the mail of that time
    #[arg(long)]
    pub bodies: bool,
    /// Stay, and go on with what is new until interrupted; print a line for each page, new email and change
    #[arg(long)]
    pub watch: bool,
    /// Only say what it would fetch
    #[arg(long, conflicts_with = "watch")]
    pub dry_run: bool,
}

/// `watch`.
#[derive(Debug, Group)]
pub struct WatchArgs {
    /// Only emails that match, all mail without it; all words together are one query
    #[arg(value_name = "QUERY")]
    pub words: Vec<String>,
}

/// `wait`.
#[derive(Debug, Group)]
pub struct WaitArgs {
    /// The email to wait for; all words together are one query
    #[arg(required = true, value_name = "QUERY")]
    pub words: Vec<String>,
    /// Wait until the newest match has reached this status
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub until: Option<Status>,
    /// How long to wait: a number of seconds (s), minutes (m) or hours (h)
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_timeout)]
    pub timeout: Duration,
    /// Print the first link of its body
    #[arg(long, conflicts_with = "code")]
    pub link: bool,
    /// Print its one-time code
    #[arg(long)]
    pub code: bool,
}

/// Parses a known status, by its name in the API or in sentbox.
fn parse_status(text: &str) -> Result<Status, String> {
    let known = |status: &&Status| text == status.label() || text == status.api_name();
    let names = || Status::KNOWN.iter().map(Status::api_name);
    match Status::KNOWN.iter().find(known) {
        Some(status) => Ok(status.clone()),
        None => Err(match suggest(text, names()) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("expected one of {}", names().collect::<Vec<_>>().join(", ")),
        }),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_secs(u64::from(number) * seconds))
    });
    parsed.ok_or_else(|| {
        "expected a number of seconds, minutes or hours, such as 90s, 2m, 1h".to_owned()
    })
}

/// `stats`.
#[derive(Debug, Group)]
pub struct StatsArgs {
    /// What to count, all mail without it; all words together are one query
    #[arg(value_name = "QUERY")]
    pub words: Vec<String>,
    /// What to group by
    #[arg(long, value_name = "WHAT", default_value = "status")]
    pub by: Grouping,
    /// At most so many groups
    #[arg(long, value_name = "N", value_parser = parse_number::<u32, 1>)]
    pub limit: Option<u32>,
    /// Print a table for spreadsheets
    #[arg(long)]
    pub csv: bool,
}

impl ValueEnum for Grouping {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Day,
            Self::Hour,
            Self::Status,
            Self::Domain,
            Self::Subject,
            Self::Tag,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(grouping_name(*self)))
    }
}

/// Returns the name of a grouping in `stats --by`, and in its JSON.
pub const fn grouping_name(by: Grouping) -> &'static str {
    match by {
        Grouping::Day => "day",
        Grouping::Hour => "hour",
        Grouping::Status => "status",
        Grouping::Domain => "domain",
        Grouping::Subject => "subject",
        Grouping::Tag => "tag",
    }
}

/// `export`.
#[derive(Debug, Group)]
pub struct ExportArgs {
    /// What to export, all mail without it; all words together are one query
    #[arg(value_name = "QUERY")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
    /// The new file or folder; - is standard output
    #[arg(long, value_name = "PATH")]
    pub to: PathBuf,
    /// The format; by default that of the file's name
    #[arg(long = "as", value_name = "FORM")]
    pub form: Option<SetFormat>,
    /// Fetch the bodies that the archive lacks; that is a request for each of these emails
    #[arg(long)]
    pub bodies: bool,
    /// Fetch the attachments, for eml; that is a request for each email, and one for each attachment
    #[arg(long)]
    pub attachments: bool,
    /// Continue this export after an interruption
    #[arg(long)]
    pub resume: bool,
}

impl ValueEnum for SetFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// `import`.
#[derive(Debug, Group)]
pub struct ImportArgs {
    /// A file of emails, as export, list and search write them in JSON; - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
}

/// Parses a whole number from `MIN` on.
fn parse_number<N, const MIN: u8>(text: &str) -> Result<N, String>
where
    N: FromStr<Err = ParseIntError> + From<u8> + PartialOrd,
{
    match text.parse() {
        Ok(number) if number >= N::from(MIN) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err("the number is too large".to_owned())
        }
        _ => Err(format!("expected a whole number, {MIN} or more")),
    }
}

fn parse_width(text: &str) -> Result<u16, &'static str> {
    let width = text.parse().ok();
    width
        .filter(|width| (10..=1000).contains(width))
        .ok_or("expected a whole number from 10 to 1000")
}

fn parse_back(text: &str) -> Result<HistorySpan, String> {
    HistorySpan::parse(text)
        .filter(|span| *span != HistorySpan::Off)
        .ok_or_else(|| format!("expected all, or {DURATION_SYNTAX}"))
}

fn parse_recheck(text: &str) -> Result<HistorySpan, String> {
    HistorySpan::parse(text).ok_or_else(|| format!("expected all, off, or {DURATION_SYNTAX}"))
}

/// `archive`.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
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
    /// Rebuild its file from what can be read of it, and forget what cannot: sync reads that again
    #[command(
        after_help = "For an archive that is damaged, as sentbox doctor finds out. The search index and the counts are rebuilt. \
                            The damaged file stays beside the new one; remove it when nothing is missed."
    )]
    Repair(MailboxArgs),
    /// Go on with the archive of the profile's former key: the new key is of the same team
    Adopt,
    /// Begin a new archive where the present one is damaged, or of another team; that one is renamed to a backup
    Begin,
}

/// `archive copy`.
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("places").required(true).multiple(true).args(["from", "to"]))]
pub struct CopyArgs {
    /// The archive to copy (file or postgres://...); without it, that of the profile
    #[arg(long, value_name = "ARCHIVE")]
    pub from: Option<PathBuf>,
    /// Where it goes (file or postgres://...); without it, to the archive of the profile
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
    /// Mail that went to this address, alone or with others, or was received from it; not what the archive
    /// has yet to fetch
    #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
    pub to: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Only say how many emails it would remove
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
}

fn parse_age(text: &str) -> Result<SignedDuration, String> {
    parse_duration(text).ok_or_else(|| format!("expected {DURATION_SYNTAX}"))
}

/// `serve`.
#[derive(Debug, Group)]
pub struct ServeArgs {
    /// Where to listen: an address, whose port 0 takes a free one, or unix:PATH for a mirror
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8025", value_parser = parse_listen)]
    pub listen: Listen,
    /// A name that other machines may use for this server, beside localhost; may be repeated
    #[arg(long, value_name = "NAME", value_parser = parse_host)]
    pub allow_host: Vec<Host>,
    /// Serve the sample mailbox; its key is `re_demo`
    #[arg(long)]
    pub demo: bool,
    /// The mailbox.
    #[command(flatten)]
    pub sample: SampleArgs,
    /// The keys of a mirror, a line NAME = KEY each; if it is missing, it is created with one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["demo", "SampleArgs"])]
    pub key_file: Option<PathBuf>,
    /// A mirror's certificate and the chain to its authority, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "demo"
    )]
    pub tls_cert: Option<PathBuf>,
    /// The private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Let other machines send a mirror's keys and read its mail unencrypted
    #[arg(long, conflicts_with_all = ["demo", "tls_cert"])]
    pub allow_plain_http: bool,
    /// Log who read which email, when, as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub access_log: Option<PathBuf>,
    /// Receive the service's events at /webhooks; the file has their signing secret, or several, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub webhooks: Option<PathBuf>,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Parses an address with its port, or a path; `localhost` is the loopback address.
fn parse_listen(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return Ok(Listen::Unix(PathBuf::from(path)));
    }
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    };
    address
        .map(Listen::Tcp)
        .map_err(|_| "an address has a port, as in 127.0.0.1:8025 or localhost:0".to_owned())
}

/// Parses a name or an address without its port.
fn parse_host(text: &str) -> Result<Host, String> {
    Host::parse(text)
        .map_err(|error| format!("{error}; a name without a port belongs here, or an address"))
}

/// What a sample mailbox is made of.
#[derive(Debug, Clone, Copy, Group)]
pub struct SampleArgs {
    /// How many emails the mailbox begins with
    #[arg(long, value_name = "N", default_value_t = crate::server::sample::DEFAULT_EMAILS, value_parser = parse_number::<u32, 0>)]
    pub emails: u32,
    /// Another seed is another mailbox
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_number::<u64, 0>)]
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_hours_days_and_weeks() {
        assert_eq!(parse_back("all"), Ok(HistorySpan::All));
        assert_eq!(parse_recheck("off"), Ok(HistorySpan::Off));
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("0d", 0)] {
            let span = HistorySpan::Last(SignedDuration::from_hours(hours));
            assert_eq!(parse_back(text), Ok(span), "{text}");
        }
        for text in [
            "",
            "d",
            "-1d",
            "30",
            "3m",
            "1.5d",
            "99999999d",
            "All",
            "off",
        ] {
            assert!(parse_back(text).is_err(), "{text}");
        }
    }
}
