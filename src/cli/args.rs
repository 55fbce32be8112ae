//! The command line: verbs and flags, from which help, manual page and completions are made.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args as Group, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::SignedDuration;

use crate::api::Cursor;
use crate::config::{self, Flags};
use crate::mail::EmailId;
use crate::query::Sort;

pub use super::column::Column;

/// The sent box of a team, in a terminal: did we send it, what did it say, what became of it?
#[derive(Debug, Parser)]
#[command(name = "sentbox", version, disable_help_subcommand = true, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Args {
    /// What is said about any command.
    #[command(flatten)]
    pub global: Global,
    /// What to do; the terminal program if nothing is said.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

const AFTER_HELP: &str = "\
Without a command, the terminal program opens.

The API key comes from SENTBOX_API_KEY (its service: SENTBOX_BASE_URL), from RESEND_API_KEY
(RESEND_BASE_URL), or from a profile, which `sentbox login` makes. No flag takes one.

Exit codes: 0 done, 1 could not, 2 wrong usage, 3 key missing, rejected or not allowed to read,
4 no such email, 5 service unreachable or not answering as this API does, 6 rate limit or quota,
8 archive or configuration unusable, 101 internal error.";

/// Flags that may stand anywhere.
#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Use this profile, and no key from the environment
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Where the service is
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Print one JSON document, and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print one JSON object a line, and errors as JSON
    #[arg(long, global = true, conflicts_with = "json")]
    pub jsonl: bool,
    /// Style the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// Draw with ASCII alone
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Keep nothing on disk
    #[arg(long, global = true)]
    pub in_memory: bool,
    /// Requests a second, shared with what your team sends
    #[arg(long, global = true, value_name = "N")]
    pub rate: Option<f64>,
    /// Trust the certificates in this file, too
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Keep a log and tell more about errors; -vv logs everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Keep the log in this file
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// A word that speaks for itself; one with help would make every help page a long one.
pub(super) const NO_HELP: Option<&str> = None;

/// When to style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    #[value(help = NO_HELP)]
    Auto,
    /// Always.
    #[value(help = NO_HELP)]
    Always,
    /// Never.
    #[value(help = NO_HELP)]
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open the terminal program on a sample mailbox; needs no key and keeps nothing
    Demo(Sample),
    /// What needs no terminal.
    #[command(flatten)]
    Command(Command),
}

/// What needs no terminal.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List sent emails as the service has them, newest first
    #[command(after_help = "On a terminal of less than 110 columns the ids are left out; a pipe and JSON always have them.")]
    List(List),
    /// Search the archive
    #[command(after_help = SEARCH_HELP)]
    Search(Search),
    /// Show one email, from the archive or else from the service
    Show(Show),
    /// Lay out html (from a file or standard input) as text
    Render(Render),
    /// Mirror the service into the archive
    Sync(Sync),
    /// Take emails from JSON lines into the archive
    Import(Import),
    /// Say what the archive holds, or keep less in it
    Archive {
        /// What to do with it.
        #[command(subcommand)]
        verb: Upkeep,
    },
    /// Serve the service's API over a sample mailbox
    Serve(Serve),
    /// Ask for an API key, check it, and store it in a profile
    #[command(after_help = LOGIN)]
    Login,
    /// List, choose or remove profiles
    Profile {
        /// What to do with them.
        #[command(subcommand)]
        verb: ProfileVerb,
    },
    /// Find, check or edit the configuration file
    Config {
        /// What to do with it.
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Say of everything that must work whether it does
    #[command(after_help = "The service is asked once. The exit code is that of the first thing that failed, or 0.")]
    Doctor,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

const SEARCH_HELP: &str = "\
Words must all match: part of an address or subject, the start of a word in a body that was read.
  to: from: cc: bcc: reply-to: any: subject: body: id: message-id:   text in one field
  status:bounced,failed  is:trouble  is:scheduled  tag:name=value  has:cc  domain:example.org
  after:7d before:2026-11-02 on:yesterday seen-change:1d             times
  \"two words\"  a or b  ( )  not x, or -x after --                  how terms go together

Example: sentbox search to:ana@example.com is:trouble after:7d";

const LOGIN: &str = "\
The key is typed unseen, or read from standard input: pass show acme | sentbox login --profile acme.
It is tried with one small request and stored in a file that you alone can read.";

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

/// `list`.
#[derive(Debug, Group)]
pub struct List {
    /// How many emails; the service gives 100 a request
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "all")]
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
    /// What somebody looks for who does not know `search`.
    #[arg(hide = true)]
    pub words: Vec<String>,
}

impl List {
    /// Where to begin.
    #[must_use]
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
pub struct Search {
    /// What to look for; all words together are one query
    #[arg(required = true, value_name = "QUERY")]
    pub words: Vec<String>,
    /// At most so many emails
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "count")]
    pub limit: Option<u64>,
    /// Which come first
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<Order>,
    /// Print only how many there are
    #[arg(long, conflicts_with_all = ["csv", "columns"])]
    pub count: bool,
    /// Print a table for spreadsheets
    #[arg(long)]
    pub csv: bool,
    /// Print these, between tabs or with --csv
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<Column>,
    /// First fetch what is missing: all, or a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "SPAN", value_parser = super::sync::back)]
    pub back: Option<super::sync::Back>,
}

/// Which emails come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The newest.
    #[value(help = NO_HELP)]
    Newest,
    /// The oldest.
    #[value(help = NO_HELP)]
    Oldest,
}

impl From<Order> for Sort {
    fn from(order: Order) -> Self {
        match order {
            Order::Newest => Self::Newest,
            Order::Oldest => Self::Oldest,
        }
    }
}

/// `show`.
#[derive(Debug, Group)]
pub struct Show {
    /// The email's id
    pub id: String,
    /// How to show it
    #[arg(long = "as", value_name = "FORM", default_value = "rendered")]
    pub form: Form,
    /// Lay out for this many columns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=1000))]
    pub width: Option<u16>,
    /// Ask the service even if the archive has it
    #[arg(long, conflicts_with = "offline")]
    pub fresh: bool,
    /// Ask the archive alone
    #[arg(long)]
    pub offline: bool,
}

/// How an email is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// As the recipient saw it.
    #[value(help = NO_HELP)]
    Rendered,
    /// The plain-text part.
    #[value(help = NO_HELP)]
    Text,
    /// The html part, as written.
    #[value(help = NO_HELP)]
    Html,
    /// The service's JSON.
    #[value(help = NO_HELP)]
    Json,
}

/// `render`.
#[derive(Debug, Group)]
pub struct Render {
    /// Lay out for this many columns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=1000))]
    pub width: Option<u16>,
    /// Number the links and list them at the end
    #[arg(long)]
    pub links: bool,
    /// The html file; standard input if there is none, or -
    pub file: Option<PathBuf>,
}

/// `sync`.
#[derive(Debug, Group)]
pub struct Sync {
    /// How far back: all, or a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "SPAN", default_value = "30d", value_parser = super::sync::back)]
    pub back: super::sync::Back,
    /// Fetch the bodies too, the newest first; that is a request for each email
    #[arg(long)]
    pub bodies: bool,
    /// Stay, and go on with what is new until interrupted
    #[arg(long)]
    pub watch: bool,
}

/// `import`.
#[derive(Debug, Group)]
pub struct Import {
    /// A file of emails, one JSON object a line; - is standard input
    pub file: PathBuf,
}

/// `archive`.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum Upkeep {
    /// Say where it is, what it holds and how far back it is complete
    Info,
    /// Remove mail from it for good; sync does not bring it back
    Purge(Purge),
    /// Write its file anew, without the room that removed mail has left
    Vacuum,
}

/// `archive purge`.
#[derive(Debug, Group)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["older", "to"]))]
pub struct Purge {
    /// Mail older than this: a number of hours (h), days (d) or weeks (w)
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older: Option<SignedDuration>,
    /// Mail that went to this address, alone or with others; not what the archive has yet to fetch
    #[arg(long, value_name = "ADDRESS")]
    pub to: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

fn age(text: &str) -> Result<SignedDuration, String> {
    config::age(text).ok_or_else(|| format!("say {}", config::AGES))
}

/// `serve`.
#[derive(Debug, Group)]
pub struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8025")]
    pub listen: SocketAddr,
    /// Serve the sample mailbox; its key is `re_demo`
    #[arg(long, required = true)]
    pub demo: bool,
    /// The mailbox.
    #[command(flatten)]
    pub sample: Sample,
}

/// What a sample mailbox is made of.
#[derive(Debug, Clone, Copy, Group)]
pub struct Sample {
    /// How many emails the mailbox begins with
    #[arg(long, value_name = "N", default_value_t = crate::server::sample::DEFAULT_EMAILS)]
    pub emails: u32,
    /// Another seed is another mailbox
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl Global {
    /// The part that settles where to go.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let Self { profile, base_url, json: _, jsonl: _, color: _, in_memory, rate, ca_file, quiet: _, ascii: _, verbose: _, log: _ } =
            self;
        Flags { profile: profile.clone(), base_url: base_url.clone(), in_memory: *in_memory, rate: *rate, ca_file: ca_file.clone() }
    }
}
