//! Runs the program: hooks, arguments, dispatch, exit code.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use crate::app::Keymap;
use crate::cli::{self, Args, CommandContext, CommandExit, Output, ParsedArgs, Verb};
use crate::config::Env;
use crate::config::clock::{self, Clock};
use crate::error::{Error, ErrorKind};
use crate::signals;
use crate::tui::terminal;
use crate::{launch, limits, logging, panic_hook};

/// The stack of the thread that does the work, which is what a main thread has.
const WORKER_STACK_SIZE: usize = 8 << 20;

/// Why the process ends.
enum ExitCause {
    /// Its work is done, or has panicked.
    Finished(thread::Result<u8>),
    /// A signal of this number came, and the work has not ended in time.
    DeadlineExpired(u8),
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
    let env = Env::from_process();
    let clock = clock::system_clock();
    let (report, errors) = color_eyre::config::HookBuilder::default()
        .display_env_section(false)
        .into_hooks();
    errors.install()?;
    panic_hook::install(report, &env, &clock);
    let (ends, end) = mpsc::channel();
    let (late, deadline) = mpsc::channel();
    signals::set_deadline_sender(late);
    let worked = ends.clone();
    let work = move || {
        worked.send(ExitCause::Finished(catch_unwind(AssertUnwindSafe(|| {
            execute(&env, &clock)
        }))))
    };
    let watch = move || {
        deadline
            .recv()
            .map(|number| ends.send(ExitCause::DeadlineExpired(number)))
    };
    let started = thread::Builder::new()
        .name("deadline".to_owned())
        .spawn(watch);
    let started = started.and_then(|_| {
        thread::Builder::new()
            .name("work".to_owned())
            .stack_size(WORKER_STACK_SIZE)
            .spawn(work)
    });
    if let Err(error) = started {
        let failure = Error::new(
            ErrorKind::Io,
            format!("the system refuses a thread: {error}"),
        )
        .with_hint("raise the limit: ulimit -u");
        Output::before_parsing(false).report_error(&failure);
        return Ok(ExitCode::from(failure.kind.exit_code()));
    }
    match end.recv()? {
        ExitCause::Finished(Ok(code)) => Ok(ExitCode::from(code)),
        ExitCause::Finished(Err(panic)) => resume_unwind(panic),
        ExitCause::DeadlineExpired(number) => {
            terminal::restore();
            Ok(ExitCode::from(128 + number))
        }
    }
}

/// Does what the arguments ask for, and returns the exit code.
fn execute(env: &Env, clock: &Clock) -> u8 {
    let (mut out, outcome) = match cli::parse_args(std::env::args_os()) {
        ParsedArgs::Run(args) => {
            let mut out = Output::from_process(&args.global, env);
            let outcome = logging::init(&args.global, env, clock)
                .map_err(CommandExit::from)
                .and_then(|log| {
                    if let Some(path) = log {
                        out.note(&format!("the log is {}", path.display()));
                    }
                    dispatch(&args, env, clock, &mut out)
                });
            (out, outcome)
        }
        ParsedArgs::Print(text) => {
            let mut out = Output::before_parsing(false);
            let outcome = out.write_data(&text).and_then(|()| out.flush());
            (out, outcome)
        }
        ParsedArgs::Invalid { failure, json } => (
            Output::before_parsing(json),
            Err(CommandExit::Failed(failure)),
        ),
    };
    match outcome {
        Ok(()) | Err(CommandExit::OutputClosed) => 0,
        Err(CommandExit::Failed(failure)) => {
            tracing::error!(kind = failure.kind.code(), "ends with a failure");
            out.report_error(&failure);
            failure.kind.exit_code()
        }
        Err(CommandExit::Signal(number)) => 128 + number,
    }
}

fn dispatch(args: &Args, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), CommandExit> {
    clock::check_system_clock()?;
    limits::raise_descriptor_limit()?;
    limits::ignore_sigxfsz();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        process = std::process::id(),
        "begins"
    );
    match &args.verb {
        Some(Verb::Command(command)) => cli::run(
            command,
            CommandContext {
                global: &args.global,
                env,
                clock,
                check_key_bindings: |changes| Keymap::with_overrides(changes).1,
                out,
            },
        ),
        Some(Verb::Demo(sample)) => launch::open_demo(sample, &args.global, env, clock, out),
        None => launch::open_profile(&args.query, &args.global, env, clock, out),
    }
}
