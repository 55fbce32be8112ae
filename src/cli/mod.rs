//! The verbs: each a function of its arguments, the settings and an [`Output`]; none knows the screen.

mod archive;
pub mod args;
mod config;
mod doctor;
mod escape;
mod format;
mod freshness;
mod import;
mod list;
mod login;
mod man;
mod open_archive;
mod output;
mod parse;
mod profile;
mod progress;
mod render;
mod search;
mod serve;
mod show;
mod sync;
mod table;

use std::future::Future;

use clap::CommandFactory as _;

pub use args::{Args, CliCommand, Verb};
pub use output::{CommandExit, Output};
pub use parse::{ParsedArgs, parse_args};

use crate::api::{Client, ClientConfig, RetryPolicy};
use crate::config::clock::Clock;
use crate::config::{Env, KeyBinding, Settings};
use crate::error::{Error, ErrorKind};
use crate::signals::{SHUTDOWN_SIGNALS, Signals};
use crate::text::format::format_pause;
use args::Global;

/// What every command is given.
pub struct CommandContext<'a> {
    /// The flags that may stand anywhere.
    pub global: &'a Global,
    /// The environment.
    pub env: &'a Env,
    /// The clock.
    pub clock: &'a Clock,
    /// What is wrong with keys that the configuration binds: only the terminal program knows its keys.
    pub check_key_bindings: fn(&[KeyBinding]) -> Vec<String>,
    /// The streams.
    pub out: &'a mut Output,
}

/// What a command that uses a profile is given.
struct ProfileContext<'a> {
    settings: &'a Settings,
    clock: &'a Clock,
    out: &'a mut Output,
}

/// Runs one command to its end.
pub fn run(command: &CliCommand, context: CommandContext<'_>) -> Result<(), CommandExit> {
    let CommandContext {
        global, env, clock, ..
    } = context;
    let out = &mut *context.out;
    match command {
        CliCommand::List(list) => {
            let settings = resolve_settings(global, env, out)?;
            let client = with_wait_notes(
                Client::new(
                    ClientConfig::from(&settings),
                    RetryPolicy::ONE_SHOT,
                    clock.clone(),
                ),
                out,
            );
            let columns = table::RowLayout {
                width: out.columns.unwrap_or(80),
                colour: out.colour,
                zone: settings.zone,
                now: clock(),
            };
            block_on(list::run(&client, list, &columns, out))
        }
        CliCommand::Search(search) => with_profile(context, |ctx| search::run(search, ctx)),
        CliCommand::Show(show) => with_profile(context, |ctx| show::run(show, ctx)),
        CliCommand::Sync(sync) => with_profile(context, |ctx| {
            let archive = open_archive::open_for_writing(ctx)?;
            block_on(sync::run(sync, &archive, ctx))
        }),
        CliCommand::Archive { verb } => with_profile(context, |ctx| archive::run(verb, ctx)),
        CliCommand::Import(import) => with_profile(context, |ctx| import::run(import, ctx)),
        CliCommand::Render(render) => render::run(render, out),
        CliCommand::Serve(serve) => block_on(serve::run(serve, clock, out)),
        CliCommand::Login => login::run(context),
        CliCommand::Profile { verb } => profile::run(verb, env, out),
        CliCommand::Config { verb } => config::run(*verb, context),
        CliCommand::Doctor { quick } => doctor::run(*quick, context),
        CliCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "sentbox", &mut script);
            write_bytes(&script, out)
        }
        CliCommand::Man => {
            let page = man::render_man_page().map_err(|error| {
                Error::new(
                    ErrorKind::Internal,
                    format!("the manual page cannot be made: {error}"),
                )
            })?;
            write_bytes(&page, out)
        }
    }
}

/// Resolves the settings and runs a command with them.
fn with_profile(
    context: CommandContext<'_>,
    command: impl FnOnce(&mut ProfileContext<'_>) -> Result<(), CommandExit>,
) -> Result<(), CommandExit> {
    let CommandContext {
        global,
        env,
        clock,
        out,
        ..
    } = context;
    let settings = resolve_settings(global, env, out)?;
    command(&mut ProfileContext {
        settings: &settings,
        clock,
        out,
    })
}

/// Resolves the settings and prints their warnings as notes.
pub fn resolve_settings(global: &Global, env: &Env, out: &mut Output) -> Result<Settings, Error> {
    let settings = Settings::resolve(&global.flags(), env)?;
    for warning in &settings.warnings {
        out.note(warning);
    }
    Ok(settings)
}

/// Listens for the signals that end a command which otherwise runs on.
fn listen_for_signals() -> Result<Signals, Error> {
    Signals::listen(&SHUTDOWN_SIGNALS).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("signals cannot be received: {error}"),
        )
    })
}

fn write_bytes(bytes: &[u8], out: &mut Output) -> Result<(), CommandExit> {
    out.write_exact(&String::from_utf8_lossy(bytes))?;
    out.flush()
}

/// The client with its long waits reported.
fn with_wait_notes(client: Client, out: &Output) -> Client {
    let note = out.note_writer();
    client.on_long_wait(move |wait| {
        note(&format!(
            "waiting {} for the service's rate limit",
            format_pause(wait)
        ));
    })
}

/// Runs `work` on one thread: a verb does one step after another.
fn block_on<T>(work: impl Future<Output = Result<T, CommandExit>>) -> Result<T, CommandExit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|error| runtime_error(&error))?
        .block_on(work)
}

/// The error of a system that refuses the event loop.
pub fn runtime_error(error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot create the event loop: {error}"),
    )
    .with_hint("raise its limits: ulimit -n 256")
}
