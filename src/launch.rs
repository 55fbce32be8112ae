//! Opens the terminal program: on a profile, or on the sample mailbox.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use crate::api::Client;
use crate::app::Keys;
use crate::cli::args::{Global, Sample};
use crate::cli::{self, Output, Stop};
use crate::config::clock::Clock;
use crate::config::{Env, PanicAt, Profiles};
use crate::failure::{Failure, Kind};
use crate::server::sample::DEFAULT_EMAILS;
use crate::tui::{self, ExitReason, Session, SessionFactory, TuiOptions};
use tokio::runtime::Runtime;

/// Opens the terminal program on the profile that is meant, or sets one up.
///
/// # Errors
///
/// If the settings or the terminal cannot be used.
pub fn profile(
    query: &[String],
    global: &Global,
    env: &Env,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    usable(env)?;
    let settings = cli::settle(global, env, out)?;
    if settings.is_new && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        // There is nobody to set anything up: what is missing is the key.
        settings.key.as_ref().map_err(Clone::clone)?;
    }
    let house = house(global, env, clock, (DEFAULT_EMAILS, 1))?;
    show(&house, global, env, out, |_| {
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
pub fn demo(
    sample: &Sample,
    global: &Global,
    env: &Env,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    usable(env)?;
    let house = house(global, env, clock, (sample.emails, sample.seed))?;
    show(&house, global, env, out, |_| house.open_demo())
}

/// # Errors
///
/// If the configuration binds keys to what there is not.
fn house(
    global: &Global,
    env: &Env,
    clock: &Clock,
    sample: (u32, u64),
) -> Result<SessionFactory, Failure> {
    // Without a home directory, or with a file that cannot be used, the keys are the usual ones.
    let changes = Profiles::look(env)
        .map(|profiles| profiles.keys().to_vec())
        .unwrap_or_default();
    let (keys, wrong) = Keys::with(&changes);
    match wrong.into_iter().next() {
        Some(wrong) => Err(Failure::new(Kind::Config, wrong)
            .hint("sentbox config check says all that is wrong, sentbox config edit mends it")),
        None => Ok(SessionFactory {
            flags: global.flags(),
            env: env.clone(),
            clock: clock.clone(),
            keys: Arc::new(keys),
            sample,
        }),
    }
}

fn show(
    house: &SessionFactory,
    global: &Global,
    env: &Env,
    out: &mut Output,
    first: impl FnOnce(&mut Output) -> Result<Session<Client>, Failure>,
) -> Result<(), Stop> {
    let runtime = runtime()?;
    let session = {
        let _inside = runtime.enter();
        first(out)?
    };
    let start = TuiOptions {
        session,
        opener: Arc::new(house.clone()),
        clock: house.clock.clone(),
        zone: house.flags.zone.clone().unwrap_or_else(|| env.zone()),
        palette: out.colour.then(|| {
            Profiles::look(env)
                .map(|profiles| profiles.palette())
                .unwrap_or_default()
        }),
        ascii: ascii(global, env),
        panic_at: PanicAt::of(env),
    };
    let ended = runtime.block_on(tui::run(start));
    // Work that waits for an archive which another process has locked is not waited for.
    runtime.shutdown_timeout(LAST_WORK);
    match ended? {
        ExitReason::Quit => Ok(()),
        ExitReason::Signal(number) => Err(Stop::Signal(number)),
    }
}

/// How long work may take that is under way when the program is left.
const LAST_WORK: Duration = Duration::from_secs(1);

/// One thread for the loop is enough; requests and the embedded server run beside it on another.
fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cli::no_runtime(&error))
}

/// # Errors
///
/// If the terminal says that it can do nothing.
fn usable(env: &Env) -> Result<(), Failure> {
    match env.get("TERM") {
        Some("dumb") => Err(Failure::new(
            Kind::Usage,
            "this terminal (TERM=dumb) cannot show the terminal program",
        )
        .hint("use: sentbox list, sentbox show")),
        _ => Ok(()),
    }
}

/// Whether to keep to ASCII: asked for, or a terminal whose fonts have little else.
fn ascii(global: &Global, env: &Env) -> bool {
    global.ascii
        || env
            .get("TERM")
            .is_some_and(|term| term == "linux" || term.starts_with("vt"))
}
