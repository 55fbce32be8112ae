//! Opens the terminal UI: on a profile, or on the sample mailbox.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::api::Client;
use crate::app::Keymap;
use crate::cli::args::SampleArgs;
use crate::cli::{self, CommandContext, CommandExit};
use crate::config::{Env, FaultPoint, Profiles};
use crate::error::{Error, ErrorKind};
use crate::server::sample::DEFAULT_EMAILS;
use crate::tui::{self, Environment, ProgramExit, Session, SessionFactory};
use crate::view::{Glyphs, RenderCtx, Theme};

/// Time for tasks to finish after the user has quit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the terminal UI on the selected profile, or with its setup.
pub fn open_profile(query: &[String], context: &mut CommandContext<'_>) -> Result<(), CommandExit> {
    check_terminal(context.env)?;
    let settings = context.resolve_settings()?;
    if settings.credentials.is_unconfigured
        && !(io::stdin().is_terminal() && io::stdout().is_terminal())
    {
        // Without a terminal there is no setup: the error is the missing key.
        settings.credentials.key.as_ref().map_err(Clone::clone)?;
    }
    let sessions = build_session_factory(context, (DEFAULT_EMAILS, 1))?;
    run_tui(&sessions, context, || {
        let mut session = sessions.open_initial(&settings)?;
        session.info.query = query.join(" ");
        Ok(session)
    })
}

/// Opens the terminal UI on a sample mailbox; nothing is stored.
pub fn open_demo(sample: &SampleArgs, context: &mut CommandContext<'_>) -> Result<(), CommandExit> {
    check_terminal(context.env)?;
    let sessions = build_session_factory(context, (sample.emails, sample.seed))?;
    run_tui(&sessions, context, || sessions.open_demo())
}

fn build_session_factory(
    context: &CommandContext<'_>,
    sample: (u32, u64),
) -> Result<SessionFactory, Error> {
    // Without a usable configuration file, the keys are the default ones.
    let changes = Profiles::load_with_errors(context.env)
        .map(|profiles| profiles.file.keys)
        .unwrap_or_default();
    let (keymap, errors) = Keymap::with_overrides(&changes);
    if let Some(message) = errors.into_iter().next() {
        return Err(Error::new(ErrorKind::Config, message).with_hint(
            "sentbox config check lists all errors, sentbox config edit opens the file",
        ));
    }
    Ok(SessionFactory {
        flags: context.global.flags(),
        env: context.env.clone(),
        clock: context.clock.clone(),
        keymap: Arc::new(keymap),
        sample,
    })
}

fn run_tui(
    sessions: &SessionFactory,
    context: &CommandContext<'_>,
    open: impl FnOnce() -> Result<Session<Client>, Error>,
) -> Result<(), CommandExit> {
    let env = context.env;
    let runtime = build_runtime()?;
    let session = {
        let _guard = runtime.enter();
        open()?
    };
    let clock = sessions.clock.clone();
    let palette = context.out.colour.then(|| {
        Profiles::load_with_errors(env)
            .map(|profiles| profiles.file.palette)
            .unwrap_or_default()
    });
    let zone = sessions.flags.zone.clone();
    let ctx = RenderCtx {
        theme: Theme::new(palette),
        glyphs: if context.global.ascii || has_ascii_font(env) {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
        now: clock(),
        zone: zone.unwrap_or_else(|| env.time_zone()),
    };
    let environment = Environment {
        opener: Arc::new(sessions.clone()),
        timer: tui::system_timer(),
        clock,
        panic_at: FaultPoint::from_env(env),
    };
    let result = runtime.block_on(tui::run(session, environment, ctx));
    // A task may be blocked by an archive that another process has locked.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    match result? {
        ProgramExit::Quit => Ok(()),
        ProgramExit::Signal(number) => Err(CommandExit::Signal(number)),
    }
}

/// Builds a runtime with one thread beside the event loop.
fn build_runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cli::runtime_error(&error))
}

fn check_terminal(env: &Env) -> Result<(), Error> {
    if env.get("TERM") != Some("dumb") {
        return Ok(());
    }
    let message = "this terminal (TERM=dumb) cannot show the terminal program";
    Err(Error::new(ErrorKind::Usage, message).with_hint("use: sentbox list, sentbox show"))
}

/// Whether the terminal is one whose fonts have little but ASCII.
fn has_ascii_font(env: &Env) -> bool {
    env.get("TERM")
        .is_some_and(|term| term == "linux" || term.starts_with("vt"))
}
