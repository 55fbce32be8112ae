//! The verbs: each a function of its arguments, the settings and an [`Output`]; none knows the screen.

mod archive;
pub mod args;
mod column;
mod config;
mod csv;
mod doctor;
mod fresh;
mod freshness;
mod import;
mod json;
mod list;
mod login;
mod man;
mod output;
mod profile;
mod render;
mod rows;
mod safe;
mod search;
mod serve;
mod show;
mod sync;
mod tally;
mod upkeep;
mod usage;
mod words;

use std::future::Future;

use clap::CommandFactory as _;

pub use args::{Args, Command, Verb};
pub use output::{Output, Stop};
pub use usage::{Parsed, parse};

use crate::api::{Access, Client, Patience, spelled};
use crate::config::clock::Clock;
use crate::config::{Env, KeyChange, Settings};
use crate::failure::{Failure, Kind};
use crate::signals::{REQUESTS, Signals};
use args::Global;

/// What every command is given.
pub struct World<'a> {
    /// The flags that may stand anywhere.
    pub global: &'a Global,
    /// The environment.
    pub env: &'a Env,
    /// The clock.
    pub clock: &'a Clock,
    /// What is wrong with keys that the configuration binds: only the terminal program knows its keys.
    pub wrong_keys: fn(&[KeyChange]) -> Vec<String>,
    /// The streams.
    pub out: &'a mut Output,
}

/// Runs one command to its end.
///
/// # Errors
///
/// Whatever keeps it from doing what was asked, and what ends it early.
pub fn run(command: &Command, world: World<'_>) -> Result<(), Stop> {
    let World {
        global,
        env,
        clock,
        wrong_keys,
        out,
    } = world;
    match command {
        Command::List(list) => {
            let settings = settle(global, env, out)?;
            let client = patient(
                Client::new(Access::from(&settings), Patience::ONE_SHOT, clock.clone()),
                out,
            );
            let columns = rows::Columns {
                width: out.columns.unwrap_or(80),
                colour: out.colour,
                zone: settings.zone,
                now: clock(),
            };
            wait_for(list::run(&client, list, &columns, out))
        }
        Command::Search(search) => search::run(search, &settle(global, env, out)?, clock, out),
        Command::Show(show) => show::run(show, &settle(global, env, out)?, clock, out),
        Command::Sync(sync) => {
            let settings = settle(global, env, out)?;
            let archive = archive::open_to_fill(&settings, clock, out)?;
            wait_for(sync::run(sync, &archive, &settings, clock, out))
        }
        Command::Archive { verb } => upkeep::run(verb, &settle(global, env, out)?, clock, out),
        Command::Import(import) => import::run(import, &settle(global, env, out)?, clock, out),
        Command::Render(render) => render::run(render, out),
        Command::Serve(serve) => wait_for(serve::run(serve, clock, out)),
        Command::Login => login::run(World {
            global,
            env,
            clock,
            wrong_keys,
            out,
        }),
        Command::Profile { verb } => profile::run(verb, env, out),
        Command::Config { verb } => config::run(
            *verb,
            World {
                global,
                env,
                clock,
                wrong_keys,
                out,
            },
        ),
        Command::Doctor { quick } => doctor::run(
            *quick,
            World {
                global,
                env,
                clock,
                wrong_keys,
                out,
            },
        ),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "sentbox", &mut script);
            print(&script, out)
        }
        Command::Man => {
            let page = man::page().map_err(|error| {
                Failure::new(
                    Kind::Internal,
                    format!("the manual page cannot be made: {error}"),
                )
            })?;
            print(&page, out)
        }
    }
}

/// Settles where to go, and says what the person should know about it.
///
/// # Errors
///
/// If a flag, a variable or the file holds what is not allowed.
pub fn settle(global: &Global, env: &Env, out: &mut Output) -> Result<Settings, Failure> {
    let settings = Settings::resolve(&global.flags(), env)?;
    for warning in &settings.warnings {
        out.note(warning);
    }
    Ok(settings)
}

/// Listens for the signals that end a command which otherwise runs on.
fn signals() -> Result<Signals, Failure> {
    Signals::listen(&REQUESTS)
        .map_err(|error| Failure::new(Kind::Io, format!("signals cannot be received: {error}")))
}

fn print(bytes: &[u8], out: &mut Output) -> Result<(), Stop> {
    out.exact(&String::from_utf8_lossy(bytes))?;
    out.flush()
}

/// The client with its long waits reported.
fn patient(client: Client, out: &Output) -> Client {
    let note = out.notes();
    client.on_long_wait(move |wait| {
        note(&format!(
            "waiting {} for the service's rate limit",
            spelled(wait)
        ));
    })
}

/// One thread is enough for what does one thing after the other.
fn wait_for<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| no_runtime(&error))?.block_on(work)
}

/// Why nothing can wait for the network or a timer.
#[must_use]
pub fn no_runtime(error: &std::io::Error) -> Failure {
    Failure::new(
        Kind::Io,
        format!("the system refuses what it takes to wait for events: {error}"),
    )
    .hint("raise its limits: ulimit -n 256")
}
