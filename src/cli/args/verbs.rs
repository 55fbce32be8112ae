//! The arguments of each verb.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, Args as Group, Subcommand, ValueEnum};
use url::Host;

use super::values::{
    Listen, parse_back, parse_charset, parse_host, parse_listen, parse_number, parse_recheck,
    parse_status, parse_timeout, parse_width,
};
use super::{Column, TableArgs};
use crate::api::Cursor;
use crate::archive::Grouping;
use crate::config::HistorySpan;
use crate::export::SetFormat;
use crate::mail::{EmailId, Mailbox, Status};
use crate::query::SortOrder;

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
    #[command(
        after_help = "An archive in PostgreSQL stays there; the owner of its schema deletes it with DROP SCHEMA, \
                            which is printed."
    )]
    Remove {
        /// Its name
        name: String,
        /// Remove it although it has an archive, which is deleted if it is on disk
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
#[command(mut_arg("columns", with_listed_columns))]
pub struct ListArgs {
    /// How many emails; the service gives 100 a request
    #[arg(long, value_name = "N", default_value_t = Self::DEFAULT_LIMIT, value_parser = parse_number::<u32, 1>, conflicts_with = "all")]
    pub limit: u32,
    /// Only emails older than the one with this id, which must be whole
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "before")]
    pub after: Option<String>,
    /// Only the emails right above (newer than) the one with this whole id
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "all")]
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

/// Offers only the columns that the service lists; the others are accepted, to be explained.
fn with_listed_columns(arg: Arg) -> Arg {
    let columns = Column::value_variants().iter();
    let columns = columns.filter_map(|it| Some(it.to_possible_value()?.hide(it.is_archived())));
    let parser = PossibleValuesParser::new(columns).try_map(|name| Column::from_str(&name, false));
    arg.value_parser(parser)
        .help("Print these, between tabs or with --csv")
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
    /// First fetch what is missing:
    /// all, or a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "SPAN", value_parser = parse_back)]
    pub back: Option<HistorySpan>,
    /// First ask the service for new mail, and for every status that may have changed
    /// among what QUERY may find
    #[arg(long)]
    pub fresh: bool,
    /// With --fresh: at most so many requests for statuses, 1 or more;
    /// a request confirms up to 100 of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = parse_number::<u32, 1>, requires = "fresh")]
    pub max_requests: u32,
}

/// `show`.
#[derive(Debug, Group)]
pub struct ShowArgs {
    /// The email's id, or its beginning, or the message id, of an email in the archive;
    /// - reads ids from standard input
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
    /// Fail if the service does not answer, or has no such email,
    /// even if the archive has a copy
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
    /// How far back: all, or a number of hours (h), days (d) or weeks (w);
    /// 30d by default
    #[arg(long, value_name = "SPAN", value_parser = parse_back)]
    pub back: Option<HistorySpan>,
    /// Which statuses to read again after that:
    /// all, those of a number of hours (h), days (d) or weeks (w), or off for none. By default those of the
    /// last 72 h that are due, with at most 100 requests
    #[arg(long, value_name = "SPAN", value_parser = parse_recheck)]
    pub recheck: Option<HistorySpan>,
    /// Fetch the missing bodies too, the newest first, a request each:
    /// of all mail in the archive, or with --back of the mail of that time
    #[arg(long)]
    pub bodies: bool,
    /// Stay, and go on with what is new until interrupted;
    /// print a line for each page, new email and change
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
    /// Fetch the bodies that the archive lacks;
    /// that is a request for each of these emails
    #[arg(long)]
    pub bodies: bool,
    /// Fetch the attachments, for eml;
    /// that is a request for each email, and one for each attachment
    #[arg(long)]
    pub attachments: bool,
    /// Continue this export after an interruption
    #[arg(long)]
    pub resume: bool,
}

/// `import`.
#[derive(Debug, Group)]
pub struct ImportArgs {
    /// A file of emails, as export, list and search write them in JSON;
    /// - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub mailbox: MailboxArgs,
}

/// `serve`.
#[derive(Debug, Group)]
pub struct ServeArgs {
    /// Where to listen: an address, whose port 0 takes a free one,
    /// or unix:PATH for a mirror
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8025", value_parser = parse_listen)]
    pub listen: Listen,
    /// A name that other machines may use for this server, beside localhost;
    /// may be repeated
    #[arg(long, value_name = "NAME", value_parser = parse_host)]
    pub allow_host: Vec<Host>,
    /// Serve the sample mailbox; its key is `re_demo`
    #[arg(long)]
    pub demo: bool,
    /// The mailbox.
    #[command(flatten)]
    pub sample: SampleArgs,
    /// The keys of a mirror, a line NAME = KEY each;
    /// if it is missing, it is created with one
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
    /// Receive the service's events at /webhooks;
    /// the file has their signing secret, or several, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub webhooks: Option<PathBuf>,
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
