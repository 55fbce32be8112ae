//! The verbs: each a function of its arguments, the settings and an [`Output`];
//! none knows the screen.

mod archive;
pub mod args;
mod attachment;
mod completion;
mod config;
mod doctor;
mod export;
mod freshness;
mod list;
mod open_archive;
mod output;
mod profile;
mod search;
mod serve;
mod show;
mod stats;
mod sync;
mod wait;

use std::future::Future;
use std::io::{self, IsTerminal as _};
use std::path::Path;

use jiff::Timestamp;

use crate::api::{Client, ClientConfig, LimitOwner, RetryPolicy, WaitCause};
use crate::config::clock::Clock;
use crate::config::{ConfigFindings, Env, KeyBinding, Profiles, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::Mailbox;
use crate::signals::{self, Signals};
use crate::text::format::format_pause;
use args::{Global, ListArgs, MailboxArgs, SearchArgs, ShowForm};

pub use args::command_line::{ParsedArgs, parse_args};
pub(crate) use args::typed_query::TypedQuery;
pub use args::{Args, CliCommand, Verb};
pub use completion::complete_words;
pub(crate) use open_archive::check_named_archive;
pub use output::{CommandExit, Output};

pub struct CommandContext<'a> {
    pub global: &'a Global,
    pub env: &'a Env,
    pub clock: &'a Clock,
    /// Checks key bindings: only the terminal program knows its keys.
    pub check_key_bindings: fn(&[KeyBinding]) -> ConfigFindings,
    pub out: &'a mut Output,
}

impl<'a> CommandContext<'a> {
    /// Reads the profiles and prints the warnings of their file as notes.
    fn load_profiles(&mut self) -> Result<Profiles> {
        let profiles = Profiles::load(self.env)?;
        self.out.notes(&profiles.file.warnings);
        Ok(profiles)
    }

    /// Resolves the settings and prints their warnings as notes.
    fn with_profile(self) -> Result<ProfileContext<'a>> {
        let settings = Settings::resolve(&self.global.flags(), self.env)?;
        self.out.notes(&settings.warnings);
        Ok(ProfileContext {
            settings,
            mailbox: Mailbox::Sent,
            clock: self.clock,
            out: self.out,
        })
    }

    fn with_mailbox(self, args: MailboxArgs) -> Result<ProfileContext<'a>> {
        let mut ctx = self.with_profile()?;
        ctx.set_mailbox(args);
        Ok(ctx)
    }
}

struct ProfileContext<'a> {
    settings: Settings,
    /// Which emails it is about.
    mailbox: Mailbox,
    clock: &'a Clock,
    out: &'a mut Output,
}

impl ProfileContext<'_> {
    fn set_mailbox(&mut self, args: MailboxArgs) {
        self.mailbox = args.mailbox();
        self.out.set_mailbox(self.mailbox);
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Appends a next step that needs requests; without a key none is possible.
    fn with_next_step(&self, text: &str, next_step: &str) -> String {
        match self.settings.credentials.key {
            Ok(_) => format!("{text}; {next_step}"),
            Err(_) => text.to_owned(),
        }
    }

    fn client(&self, policy: RetryPolicy) -> Client {
        Client::new(
            ClientConfig::new(&self.settings, self.mailbox),
            policy,
            self.clock.clone(),
        )
    }

    /// Creates a client that prints a note about each long wait.
    fn client_with_notes(&self, policy: RetryPolicy) -> Client {
        let note = self.out.note_writer();
        let rate = self.settings.rate.per_second;
        self.client(policy).on_long_wait(move |wait, cause| {
            let pause = format_pause(wait);
            note(&match cause {
                WaitCause::RateLimit(LimitOwner::User) => {
                    format!("waiting {pause} for the rate of {rate} requests a second (--rate)")
                }
                WaitCause::RateLimit(LimitOwner::Service) => {
                    format!("waiting {pause} for the service's rate limit")
                }
                WaitCause::Retry => format!("a request failed; trying again in {pause}"),
            });
        })
    }
}

pub fn run(command: &CliCommand, context: CommandContext<'_>) -> Result<(), CommandExit> {
    let Global {
        json, jsonl, jq, ..
    } = &context.global;
    // With the others, errors may be JSON where the output is not.
    let is_text = matches!(
        command,
        CliCommand::Render(_) | CliCommand::Completions { .. } | CliCommand::Man
    );
    let flags = [
        ("--jq", jq.is_some() && !prints_json(command)),
        ("--json", *json && is_text),
        ("--jsonl", *jsonl && is_text),
    ];
    let refused = flags.iter().find(|(_, is_refused)| *is_refused);
    if let Some((flag, _)) = refused {
        let message = format!("{flag} needs JSON, which this does not print");
        let error = Error::new(ErrorKind::Usage, message);
        return Err(error.with_hint(format!("leave out {flag}")).into());
    }
    if is_paged(command) && !context.global.no_pager && !context.global.linear {
        context.out.use_pager(context.env);
    }
    if reads_stdin(command) && io::stdin().is_terminal() {
        let note = "reading from the terminal; Ctrl-D ends the input";
        context.out.note(note);
    }
    match command {
        CliCommand::List(args) => list::run(args, &mut context.with_mailbox(args.mailbox)?),
        CliCommand::Search(args) => search::run(args, &mut context.with_mailbox(args.mailbox)?),
        CliCommand::Stats(args) => stats::run(args, &mut context.with_profile()?),
        CliCommand::Show(args) => show::run(args, &mut context.with_mailbox(args.mailbox)?),
        CliCommand::Attachment(args) => {
            attachment::run(args, &mut context.with_mailbox(args.mailbox)?)
        }
        CliCommand::Sync(args) => {
            let ctx = &mut context.with_mailbox(args.mailbox)?;
            if args.dry_run {
                sync::plan::run(args, ctx)
            } else {
                sync::run(args, ctx)
            }
        }
        CliCommand::Watch(args) => sync::watch(args, &mut context.with_profile()?),
        CliCommand::Wait(args) => wait::run(args, &mut context.with_profile()?),
        CliCommand::Archive { verb } => archive::run(verb, &mut context.with_profile()?),
        CliCommand::Import(args) => archive::import(args, &mut context.with_mailbox(args.mailbox)?),
        CliCommand::Export(args) => export::run(args, &mut context.with_mailbox(args.mailbox)?),
        CliCommand::Render(args) => show::render(args, context.out),
        CliCommand::Serve(args) => block_on(serve::run(args, context))?,
        CliCommand::Login => profile::log_in(context),
        CliCommand::Profile { verb } => profile::run(verb, context),
        CliCommand::Config { verb } => config::run(*verb, context),
        CliCommand::Doctor { quick } => doctor::run(*quick, context),
        CliCommand::Completions { shell } => write_bytes(&completion::script(*shell), context.out),
        CliCommand::Man => {
            let page = args::command_line::man_page().map_err(|error| {
                Error::cannot("made", ErrorKind::Internal, "the manual page", &error)
            })?;
            write_bytes(&page, context.out)
        }
    }
}

/// Whether a command prints JSON if a flag says so.
fn prints_json(command: &CliCommand) -> bool {
    match command {
        CliCommand::Render(_) | CliCommand::Completions { .. } | CliCommand::Man => false,
        CliCommand::Export(args) => args.prints_json(),
        CliCommand::Attachment(args) => !args.is_stream(),
        _ => true,
    }
}

/// Whether a command reads its input from stdin, where a user may not expect that
/// it waits.
fn reads_stdin(command: &CliCommand) -> bool {
    match command {
        CliCommand::Render(args) => args
            .file
            .as_deref()
            .is_none_or(|path| path == Path::new("-")),
        CliCommand::Import(args) => args.file == Path::new("-"),
        CliCommand::Show(args) => args.ids.iter().any(|id| id.trim() == "-"),
        _ => false,
    }
}

/// Whether a command prints text for people that may be longer than the screen.
fn is_paged(command: &CliCommand) -> bool {
    match command {
        CliCommand::List(ListArgs { table, .. }) | CliCommand::Search(SearchArgs { table, .. }) => {
            !table.csv
        }
        CliCommand::Stats(args) => !args.csv,
        CliCommand::Show(args) => !matches!(args.form, Some(ShowForm::Json | ShowForm::Eml)),
        CliCommand::Man => true,
        _ => false,
    }
}

fn write_bytes(bytes: &[u8], out: &mut Output) -> Result<(), CommandExit> {
    out.write_exact(&String::from_utf8_lossy(bytes))?;
    out.flush()
}

/// Runs `work` as [`block_on`], until it ends or a signal arrives.
fn block_on_until_signal<T>(
    work: impl Future<Output = Result<T, CommandExit>>,
) -> Result<T, CommandExit> {
    block_on(async {
        let mut signals = listen_for_signals()?;
        tokio::select! {
            result = work => result,
            number = signals.recv() => Err(CommandExit::Signal(number)),
        }
    })?
}

fn listen_for_signals() -> Result<Signals> {
    Signals::listen(&signals::command_shutdown_signals())
}

/// Runs `work` on one thread: a verb does one step after another.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| runtime_error(&error))?;
    Ok(runtime.block_on(work))
}

/// Converts the error of a system that refuses the event loop.
pub fn runtime_error(error: &std::io::Error) -> Error {
    let message = format!("cannot create the event loop: {error}");
    Error::new(ErrorKind::Io, message).with_hint("raise its limits: ulimit -n 256")
}
