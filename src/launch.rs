//! Opens the terminal program: on a profile, or on the sample mailbox.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use crate::api::Client;
use crate::app::Keymap;
use crate::cli::args::{Global, SampleArgs};
use crate::cli::{self, CommandExit, Output};
use crate::config::clock::Clock;
use crate::config::{Env, FaultPoint, Profiles};
use crate::error::{Error, ErrorKind};
use crate::server::sample::DEFAULT_EMAILS;
use crate::tui::{self, ProgramExit, Session, SessionFactory, TuiOptions};
use tokio::runtime::Runtime;

/// Opens the terminal program on the profile that is meant, or sets one up.
///
/// # Errors
///
/// If the settings or the terminal cannot be used.
pub fn open_profile(
    query: &[String],
    global: &Global,
    env: &Env,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), CommandExit> {
    check_terminal(env)?;
    let settings = cli::resolve_settings(global, env, out)?;
    if settings.is_unconfigured && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        // There is nobody to set anything up: what is missing is the key.
        settings.key.as_ref().map_err(Clone::clone)?;
    }
    let house = build_session_factory(global, env, clock, (DEFAULT_EMAILS, 1))?;
    run_tui(&house, global, env, out, |_| {
        Ok(Session {
            query: query.join(" "),
            ..house.open_initial(&settings)?
        })
    })
}

/// Opens the terminal program on an embedded server with a sample mailbox; nothing is kept.
///
/// # Errors
///
/// If the terminal cannot be used.
pub fn open_demo(
    sample: &SampleArgs,
    global: &Global,
    env: &Env,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), CommandExit> {
    check_terminal(env)?;
    let house = build_session_factory(global, env, clock, (sample.emails, sample.seed))?;
    run_tui(&house, global, env, out, |_| house.open_demo())
}

/// # Errors
///
/// If the configuration binds keys to what there is not.
fn build_session_factory(
    global: &Global,
    env: &Env,
    clock: &Clock,
    sample: (u32, u64),
) -> Result<SessionFactory, Error> {
    // Without a home directory, or with a file that cannot be used, the keys are the usual ones.
    let changes = Profiles::load_with_errors(env)
        .map(|profiles| profiles.keys().to_vec())
        .unwrap_or_default();
    let (keys, wrong) = Keymap::with_overrides(&changes);
    match wrong.into_iter().next() {
        Some(wrong) => Err(Error::new(ErrorKind::Config, wrong).with_hint(
            "sentbox config check says all that is wrong, sentbox config edit mends it",
        )),
        None => Ok(SessionFactory {
            flags: global.flags(),
            env: env.clone(),
            clock: clock.clone(),
            keys: Arc::new(keys),
            sample,
        }),
    }
}

fn run_tui(
    house: &SessionFactory,
    global: &Global,
    env: &Env,
    out: &mut Output,
    first: impl FnOnce(&mut Output) -> Result<Session<Client>, Error>,
) -> Result<(), CommandExit> {
    let runtime = build_runtime()?;
    let session = {
        let _inside = runtime.enter();
        first(out)?
    };
    let start = TuiOptions {
        session,
        opener: Arc::new(house.clone()),
        clock: house.clock.clone(),
        zone: house.flags.zone.clone().unwrap_or_else(|| env.time_zone()),
        palette: out.colour.then(|| {
            Profiles::load_with_errors(env)
                .map(|profiles| profiles.palette())
                .unwrap_or_default()
        }),
        ascii: use_ascii(global, env),
        panic_at: FaultPoint::from_env(env),
    };
    let ended = runtime.block_on(tui::run(start));
    // Work that waits for an archive which another process has locked is not waited for.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    match ended? {
        ProgramExit::Quit => Ok(()),
        ProgramExit::Signal(number) => Err(CommandExit::Signal(number)),
    }
}

/// How long work may take that is under way when the program is left.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// One thread for the loop is enough; requests and the embedded server run beside it on another.
fn build_runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cli::runtime_error(&error))
}

/// # Errors
///
/// If the terminal says that it can do nothing.
fn check_terminal(env: &Env) -> Result<(), Error> {
    match env.get("TERM") {
        Some("dumb") => Err(Error::new(
            ErrorKind::Usage,
            "this terminal (TERM=dumb) cannot show the terminal program",
        )
        .with_hint("use: sentbox list, sentbox show")),
        _ => Ok(()),
    }
}

/// Whether to keep to ASCII: asked for, or a terminal whose fonts have little else.
fn use_ascii(global: &Global, env: &Env) -> bool {
    global.ascii
        || env
            .get("TERM")
            .is_some_and(|term| term == "linux" || term.starts_with("vt"))
}
