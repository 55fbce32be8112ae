//! The command line: verbs and flags, from which help,
//! manual page and completions are made.

mod archive;
pub(super) mod command_line;
mod notes;
pub(super) mod suggested_commands;
mod synonyms;
pub(super) mod typed_query;
mod values;
mod verbs;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args as Group, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::tz::TimeZone;

pub use super::output::columns::{Column, TableArgs};
use super::output::jq::JqFilter;
pub use archive::{ArchiveVerb, CopyArgs, PurgeArgs};
use notes::after_help;
pub use values::Listen;
use values::{parse_rate, parse_time_zone};
pub use verbs::{
    AttachmentArgs, ConfigVerb, ExportArgs, ImportArgs, ListArgs, MailboxArgs, ProfileVerb,
    RenderArgs, SampleArgs, SearchArgs, ServeArgs, ShowArgs, ShowForm, StatsArgs, SyncArgs,
    WaitArgs, WatchArgs,
};

use crate::config::{Flags, Prompting};

/// The sent box of a team, in a terminal:
/// did we send it, what did it say, what became of it?
#[derive(Debug, Parser)]
#[command(name = "sentbox", version, max_term_width = 100, override_usage = USAGE, after_help = after_help())]
pub struct Args {
    /// Open the terminal program on what matches this; all words together are one query
    pub query: Vec<String>,
    /// The options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The verb; the terminal program without one.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

impl Args {
    /// Parses flags that open the terminal program, without a command or a query; `None` for
    /// everything else.
    ///
    /// The definitions of the commands, of which none is needed, take time at each start.
    fn from_flags_alone(words: &[OsString]) -> Option<Self> {
        #[derive(Parser)]
        struct FlagsAlone {
            #[command(flatten)]
            global: Global,
        }
        let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
        if !words.get(1).is_none_or(is_flag) {
            return None;
        }
        let FlagsAlone { global } = FlagsAlone::try_parse_from(words).ok()?;
        Some(Self {
            query: Vec::new(),
            global,
            verb: None,
        })
    }
}

const USAGE: &str = "\
sentbox [OPTIONS] [QUERY]...
       sentbox [OPTIONS] <COMMAND>";

/// Flags that are allowed before and after a command.
#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Use this profile, and no key from the environment
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Where the service is
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Use this archive (file or postgres://...); reading it needs no key
    #[arg(long, global = true, value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// Print one JSON document, and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print one JSON object a line, and errors as JSON
    #[arg(long, global = true, conflicts_with = "json")]
    pub jsonl: bool,
    /// Print what this expression of jq makes of the JSON document,
    /// or with --jsonl of each object
    #[arg(long, global = true, value_name = "EXPR", value_parser = JqFilter::parse)]
    pub jq: Option<JqFilter>,
    /// Style the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorMode,
    /// Draw with ASCII alone
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Print lines and read typed commands, for screen readers and terminals that
    /// cannot move the cursor
    #[arg(long, global = true)]
    pub linear: bool,
    /// Keep nothing on disk; for the screen, list, show and attachment
    #[arg(long, global = true, conflicts_with = "archive")]
    pub in_memory: bool,
    /// Print long text without a pager
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Show one-time codes and links that work once
    #[arg(long, global = true)]
    pub reveal: bool,
    /// Requests a second, shared with what your team sends
    #[arg(long, global = true, value_name = "N", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Trust the certificates in this file, too
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Show and read times in UTC
    #[arg(long, global = true, conflicts_with = "timezone")]
    pub utc: bool,
    /// Show and read times in this zone, as in Europe/Madrid;
    /// those in CSV, JSON and pipes are in UTC
    #[arg(long, global = true, value_name = "ZONE", value_parser = parse_time_zone)]
    pub timezone: Option<TimeZone>,
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

/// Values of `--color`.
///
/// The comments of values are not doc comments: those would be help, and make each help page a long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorMode {
    // On a terminal.
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open the terminal program on a sample mailbox; needs no key and keeps nothing
    #[command(after_help = "Example: sentbox demo --emails 100000")]
    Demo(SampleArgs),
    /// A command that needs no terminal.
    #[command(flatten)]
    Command(CliCommand),
}

/// The commands that need no terminal.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// List sent or received emails as the service has them, newest first
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Search the archive
    #[command(after_help = SEARCH_HELP)]
    Search(SearchArgs),
    /// Count what matches: by status, day, hour, domain, subject or tag
    #[command(after_help = STATS_HELP)]
    Stats(StatsArgs),
    /// Show one email: the service's answer, or else the copy in the archive
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// List the attachments of an email, or save one of them
    #[command(after_help = ATTACHMENT_HELP)]
    Attachment(AttachmentArgs),
    /// Lay out html (from a file or standard input) as text
    #[command(after_help = RENDER_HELP)]
    Render(RenderArgs),
    /// Mirror the service into the archive
    #[command(after_help = SYNC_HELP)]
    Sync(SyncArgs),
    /// Print each new email and each status change, until interrupted
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArgs),
    /// Wait for an email, or for its status, and print it
    #[command(after_help = WAIT_HELP)]
    Wait(WaitArgs),
    /// Take emails from JSON into the archive
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Write what matches to files, or as one stream
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Say what the archive holds, or keep less in it
    #[command(after_help = ARCHIVE_HELP)]
    Archive {
        /// What to do with it.
        #[command(subcommand)]
        verb: ArchiveVerb,
    },
    /// Serve the service's API from the archive, to a team, or over a sample mailbox
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Ask for an API key, check it, and store it in a profile
    #[command(after_help = LOGIN_HELP)]
    Login,
    /// List, choose or remove profiles
    #[command(after_help = "Example: sentbox profile use acme")]
    Profile {
        /// What to do with them.
        #[command(subcommand)]
        verb: ProfileVerb,
    },
    /// Find, check or edit the configuration file
    #[command(after_help = "Example: sentbox config edit")]
    Config {
        /// What to do with it.
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Check config, key, service, archive and terminal
    #[command(after_help = DOCTOR_HELP)]
    Doctor {
        /// Only look whether the archive's file is whole, not at each email
        #[arg(long)]
        quick: bool,
    },
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = MAN_HELP)]
    Man,
}

const LIST_HELP: &str = "\
On a terminal of less than 110 columns the id is on a line below its email. If there is more, the last line \
on stderr is the command that goes on. In a pipe a line has, between tabs: created, status, to, subject, id. \
Received mail has no status, and its sender in place of the recipient.

Examples:
  sentbox list --limit 50
  sentbox list --columns created,status,to | head -5
  sentbox list --received --limit 5
  sentbox list --all --csv > emails.csv
  sentbox list --jq '.data[].id'
  sentbox list --all --jsonl --jq '[.created_at, .to[0]] | @csv'";

const SEARCH_HELP: &str = "\
Words must all match: part of an address or subject, the start of a word in a body that was read.
  to: from: cc: bcc: reply-to: any:                  part of an address
  subject: body: id: message-id:                     text in one field
  status:bounced,failed  is:trouble  is:scheduled    what became of it
  tag:name=value  has:cc  domain:example.org         what it has
  recipient:ana@example.com                          to, cc or bcc, whole
  after:7d before:2026-11-02 on:mon seen-change:1d   times
  \"two words\"  a or b  ( )  not x, or -x after --    how terms go together

Statuses are those of the last time the service was asked. Where that is more than two minutes ago, \
stderr says when it was; --fresh checks again. In JSON, _sentbox.checked_at is when the service confirmed \
the status of an email (null: never).

All of it: sentbox help query.

Examples:
  sentbox search to:ana@example.com is:trouble after:7d
  sentbox search --exit-status to:ana@example.com subject:receipt && echo sent
  sentbox search --columns id is:bounced after:1d | sentbox show -";

const SHOW_HELP: &str = "\
The service is asked each time, and the answer is kept. The text, but not JSON, shows more for a request each: the \
attachments; of a problem, whether the address is blocked; and the activity of an opened, clicked or bounced email, \
which is the service's own count and may be 15 minutes old. If the service cannot be reached, or no longer has the \
email, the copy in the archive is shown, and stderr says how old its status is; one without a body is printed \
as JSON only if the service no longer has the email, or with --offline. In the JSON of a copy, \
_sentbox.checked_at is when the service confirmed the status (null: never).

Of several emails, those that cannot be shown are named on stderr, and the exit code tells the first reason. \
With --json several emails are one document, as list prints it.

Examples:
  sentbox show 49a3999c
  sentbox show --as html 49a3999c > email.html
  sentbox search --columns id to:ana@example.com | sentbox show --as text -";

const ATTACHMENT_HELP: &str = "\
Without --to, the attachments are listed. In a pipe a line has, between tabs: name, bytes, type, id.

The content is fetched from the link that the service gives, without the API key, and only over https (of a service on this machine: http, too). A file \
is written when all of it has arrived; nothing is overwritten. In a folder it gets a name of letters, digits \
and hyphens. sentbox never opens it.

Examples:
  sentbox attachment 49a3999c
  sentbox attachment 49a3999c invoice.pdf --to .
  sentbox attachment 49a3999c items.csv --to - | head -n 3";

const SYNC_HELP: &str = "\
A status that can still change is due when a quarter of the email's age has passed since it was confirmed. \
--recheck with a span, or all, reads every status of that age again, whether it is due or not, and so \
finds all mail that was deleted. With --watch, due statuses are read again as long as it stays, \
unless --recheck is off. With --quiet, nothing is printed unless something fails.

Examples:
  sentbox sync --back all --dry-run
  sentbox sync --watch --jq 'select(.event == \"changed\") | .email.id'";

const WATCH_HELP: &str = "\
The service is asked for new mail every 30 seconds, and for statuses that may have changed; what it says is kept \
in the archive. A change is printed when the email matches QUERY with its new status. In a pipe a line has, \
between tabs: when it was seen, new or changed, the status before, the status, to, subject, id. With --json or \
--jsonl a line is an object with event, at, email, and from and to of a change.

Examples:
  sentbox watch is:trouble
  sentbox watch --jq .email.subject domain:example.org";

const WAIT_HELP: &str = "\
It waits for the newest email that matches, and with --until for its status: delivered is reached by what was \
opened or clicked, too. Mail that was sent before counts, as far as the archive and the newest page have it; after:1h in the query leaves \
out what is older. The \
service is asked every second or two, within --rate.

The exit code is 0 when it has happened, 7 when it has not happened in time, 1 when it cannot happen any more: the email \
bounced, failed, was suppressed, canceled or deleted, was marked as spam before it was opened or clicked, or is \
delivered and older than 30 days.

Examples:
  sentbox wait to:e2e@example.com after:1h --until delivered --timeout 90s
  code=$(sentbox wait to:e2e@example.com subject:\"Your code\" after:5min --code)
  curl -fsS \"$(sentbox wait to:e2e@example.com after:5min --link)\"";

const IMPORT_HELP: &str = "\
It reads one object a line, or one document: what export writes as jsonl and json, and what list, search and \
show print with --json and --jsonl. Emails that the archive has already stay as they are. Received mail is \
imported with --received, and only so.

Examples:
  sentbox import mail.jsonl
  sentbox list --all --json | sentbox import -";

const STATS_HELP: &str = "\
The archive is counted, and stderr says what it has and how old its statuses are. In a pipe a line has, between \
tabs: the value, emails, delivered, in progress, bounced, complained, other, and the part that bounced. \
Bounced are also emails that failed or were suppressed; the bounce rate is of bounces alone. \
An email to two domains, or with two tags, is in two groups. Tags are known of fetched bodies only.

Examples:
  sentbox stats after:7d --by day
  sentbox stats is:trouble --by domain --limit 10
  sentbox stats --by hour --csv > hours.csv
  sentbox stats after:1d --jq .bounce_rate";

const EXPORT_HELP: &str = "\
eml, html and text make a new folder with one file for each email, or one file if its name ends so and one email \
matches; emails without a stored body are listed in not-exported.txt there, and the exit code is 1. txt (all emails \
to read or print, with what became of each and when that was confirmed), json, jsonl and csv make one file, or a \
stream with --to -. Codes are masked in csv only, unless --reveal is given. The columns \
of csv are all members of an email in the list, named as in the API; search --csv has some of them, and \
--columns chooses others.

Nothing but a folder with not-exported.txt alone is overwritten, and a second export to the same name is refused while the first one runs. The files are \
written as NAME.part and renamed when all are complete; after an interruption the same command with --resume \
continues, without newer mail. With --bodies the exit code is 1, too, if the service refuses a body.

Examples:
  sentbox export to:ana@example.com --to ana --as eml --bodies
  sentbox export to:ana@example.com sort:oldest --to ana.txt
  sentbox export --to mail.jsonl --resume
  sentbox export is:trouble after:7d --to - --as csv | head -n 3";

const RENDER_HELP: &str = "\
Examples:
  sentbox render newsletter.html
  sentbox render --width 72 --links < newsletter.html
  A line of ~/.mailcap: text/html; sentbox render --links %s; copiousoutput";

const ARCHIVE_HELP: &str = "\
Examples:
  sentbox archive info --jq .emails
  sentbox archive purge --older 180d --dry-run
  sentbox archive purge --to ana@example.com";

const ARCHIVE_COPY_HELP: &str = "\
A copy that was interrupted goes on when the same command runs again; nothing opens it before it is complete. \
A password comes from archive_password_command or archive_password_file of the profile.

Examples:
  sentbox archive copy --to 'postgres://sentbox@db.example.com/mail?schema=acme'
  sentbox archive copy --to archive-of-acme.sqlite";

const SERVE_HELP: &str = "\
Without --demo it is a mirror: it keeps the archive of a profile current and serves it to a team, so that \
many readers cost the service little more than one. Every client needs a key of --key-file; to delete its line \
revokes it. Statuses are confirmed for those who read them; the header x-sentbox-checked-at has the time. \
GET /healthz needs no key, GET /metrics is for Prometheus.

The first line of output is the base URL.

Examples:
  sentbox serve --profile acme --key-file ~/.config/sentbox/mirror.keys
  sentbox serve --key-file keys --listen 0.0.0.0:443 --allow-host mail.example.com \
    --tls-cert cert.pem --tls-key key.pem --access-log reads.jsonl
  sentbox serve --demo --listen 127.0.0.1:0
  SENTBOX_BASE_URL=http://127.0.0.1:8025 SENTBOX_API_KEY=re_demo sentbox list";

const COMPLETIONS_HELP: &str = "\
In zsh the script is for ~/.zshrc, after compinit.

Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  sentbox completions bash > ~/.local/share/bash-completion/completions/sentbox
  mkdir -p ~/.config/fish/completions
  sentbox completions fish > ~/.config/fish/completions/sentbox.fish
  source <(sentbox completions zsh)";

const MAN_HELP: &str = "\
Examples:
  mkdir -p ~/.local/share/man/man1
  sentbox man > ~/.local/share/man/man1/sentbox.1";

const DOCTOR_HELP: &str = "\
It sends one request, even during a pause that the service requested; a success ends that pause for all commands. Of the archive \
every email and body is read and compared with the search index and the counts, which takes minutes for a \
million; --quick looks only whether the pages of its file fit together. The exit code is that of the first check that failed, or 0.

Examples:
  sentbox doctor
  sentbox doctor --quick --json";

const LOGIN_HELP: &str = "\
The key is typed unseen, or read from standard input. It is tried with one small request and stored in a \
file that you alone can read.

Examples:
  sentbox login
  pass show acme | sentbox login --profile acme";

impl Global {
    /// Returns the flags that settings depend on.
    pub fn flags(&self) -> Flags {
        let utc = self.utc.then_some(TimeZone::UTC);
        Flags {
            profile: self.profile.clone(),
            base_url: self.base_url.clone(),
            archive: self.archive.clone(),
            in_memory: self.in_memory,
            reveal: self.reveal,
            rate: self.rate,
            ca_file: self.ca_file.clone(),
            prompting: Prompting::Allowed,
            zone: utc.or_else(|| self.timezone.clone()),
        }
    }
}
