//! Runs the program: hooks, arguments, dispatch, exit code.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use crate::app::Keys;
use crate::cli::{self, Args, Output, Parsed, Stop, Verb, World};
use crate::config::Env;
use crate::config::clock::{self, Clock};
use crate::failure::{Failure, Kind};
use crate::signals;
use crate::tui::terminal;
use crate::{launch, limits, log, panic_hook};

/// The stack of the thread that does the work, which is what a main thread has.
const STACK: usize = 8 << 20;

/// Why the process ends.
enum End {
    /// Its work is done, or has panicked.
    Worked(thread::Result<u8>),
    /// A signal of this number came, and the work has not ended in time.
    Late(u8),
}

/// Runs the program with the arguments of the process and returns its exit code.
///
/// The work runs on a thread of its own, so that the process can end while it is blocked.
///
/// # Errors
///
/// If the hooks for panic reports cannot be installed.
pub fn run() -> color_eyre::Result<ExitCode> {
    limits::forbid_core_dumps();
    let env = Env::of_process();
    let clock = clock::system();
    let (report, errors) = color_eyre::config::HookBuilder::default()
        .display_env_section(false)
        .into_hooks();
    errors.install()?;
    panic_hook::install(report, &env, &clock);
    let (ends, end) = mpsc::channel();
    let (late, deadline) = mpsc::channel();
    signals::on_deadline(late);
    let worked = ends.clone();
    let work = move || {
        worked.send(End::Worked(catch_unwind(AssertUnwindSafe(|| {
            work(&env, &clock)
        }))))
    };
    let watch = move || deadline.recv().map(|number| ends.send(End::Late(number)));
    let started = thread::Builder::new()
        .name("deadline".to_owned())
        .spawn(watch);
    let started = started.and_then(|_| {
        thread::Builder::new()
            .name("work".to_owned())
            .stack_size(STACK)
            .spawn(work)
    });
    if let Err(error) = started {
        let failure = Failure::new(Kind::Io, format!("the system refuses a thread: {error}"))
            .hint("raise the limit: ulimit -u");
        Output::plain(false).failure(&failure);
        return Ok(ExitCode::from(failure.kind.exit_code()));
    }
    match end.recv()? {
        End::Worked(Ok(code)) => Ok(ExitCode::from(code)),
        End::Worked(Err(panic)) => resume_unwind(panic),
        End::Late(number) => {
            terminal::restore();
            Ok(ExitCode::from(128 + number))
        }
    }
}

/// Does what the arguments ask for, and returns the exit code.
fn work(env: &Env, clock: &Clock) -> u8 {
    let (mut out, outcome) = match cli::parse(std::env::args_os()) {
        Parsed::Do(args) => {
            let mut out = Output::of_process(&args.global, env);
            let outcome = log::begin(&args.global, env, clock)
                .map_err(Stop::from)
                .and_then(|log| {
                    if let Some(path) = log {
                        out.note(&format!("the log is {}", path.display()));
                    }
                    dispatch(&args, env, clock, &mut out)
                });
            (out, outcome)
        }
        Parsed::Tell(text) => {
            let mut out = Output::plain(false);
            let outcome = out.data(&text).and_then(|()| out.flush());
            (out, outcome)
        }
        Parsed::Wrong { failure, json } => (Output::plain(json), Err(Stop::Failed(failure))),
    };
    match outcome {
        Ok(()) | Err(Stop::Closed) => 0,
        Err(Stop::Failed(failure)) => {
            tracing::error!(kind = failure.kind.word(), "ends with a failure");
            out.failure(&failure);
            failure.kind.exit_code()
        }
        Err(Stop::Signal(number)) => 128 + number,
    }
}

fn dispatch(args: &Args, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    clock::is_plausible()?;
    limits::ensure_descriptors()?;
    limits::outlive_file_limits();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        process = std::process::id(),
        "begins"
    );
    match &args.verb {
        Some(Verb::Command(command)) => cli::run(
            command,
            World {
                global: &args.global,
                env,
                clock,
                wrong_keys: |changes| Keys::with(changes).1,
                out,
            },
        ),
        Some(Verb::Demo(sample)) => launch::demo(sample, &args.global, env, clock, out),
        None => launch::profile(&args.query, &args.global, env, clock, out),
    }
}
