//! Runs the program: hooks, arguments, limits of the process, dispatch, exit code.

use std::process::ExitCode;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::app::Keymap;
use crate::cli::{self, Args, CommandContext, CommandExit, Output, ParsedArgs, Verb};
use crate::config::clock::{self, Clock};
use crate::config::{ConfigFindings, Env};
use crate::error::{Error, ErrorKind, Result};
use crate::tui::terminal;
use crate::{launch, logging, panic_hook, signals};

/// Twice as many descriptors as the terminal UI uses.
const MIN_DESCRIPTORS: u64 = 64;

/// Runs the program with the arguments of the process and returns its exit code.
///
/// The thread that receives signals ends the process while this one is blocked.
#[expect(
    clippy::disallowed_methods,
    reason = "only this ends a process whose main thread is blocked"
)]
#[must_use]
pub fn run() -> ExitCode {
    forbid_core_dumps();
    let env = Env::from_process();
    let clock = clock::system_clock();
    panic_hook::install(&env, &clock);
    signals::on_deadline(|number| {
        terminal::restore();
        std::process::exit(128 + i32::from(number))
    });
    ExitCode::from(execute(&env, &clock))
}

/// Runs the command line and returns the exit code.
fn execute(env: &Env, clock: &Clock) -> u8 {
    let (mut out, result) = match cli::parse_args(std::env::args_os()) {
        ParsedArgs::Run(args) => {
            let mut out = Output::from_process(&args.global, env);
            let result = logging::init(&args.global, env, clock)
                .map_err(CommandExit::from)
                .and_then(|log| {
                    if let Some(path) = log {
                        out.note(&format!("the log is {}", path.display()));
                    }
                    dispatch(&args, env, clock, &mut out)
                });
            (out, result)
        }
        ParsedArgs::Print { text, is_paged } => print_text(&text, is_paged, env),
        ParsedArgs::Complete(words) => print_text(&cli::complete_words(&words, env), false, env),
        ParsedArgs::Invalid { error, json } => (
            Output::before_parsing(json, env),
            Err(CommandExit::Failed(error)),
        ),
    };
    let paged = out.end_pager().map_err(CommandExit::from);
    let result = match result {
        // A user who leaves the pager early has read enough.
        Ok(()) | Err(CommandExit::OutputClosed) => paged,
        Err(exit) => Err(exit),
    };
    match result {
        Ok(()) if out.has_jq_failed() => ErrorKind::Usage.exit_code(),
        Ok(()) | Err(CommandExit::OutputClosed) => 0,
        Err(CommandExit::Failed(error)) => {
            tracing::error!(kind = error.kind.code(), "failed");
            out.report_error(&error);
            error.kind.exit_code()
        }
        Err(CommandExit::NothingFound) => 1,
        Err(CommandExit::Signal(number)) => 128 + number,
    }
}

fn print_text(text: &str, is_paged: bool, env: &Env) -> (Output, Result<(), CommandExit>) {
    let mut out = Output::before_parsing(false, env);
    if is_paged {
        out.use_pager(env);
    }
    let result = out.write_data(text).and_then(|()| out.flush());
    (out, result)
}

fn dispatch(args: &Args, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), CommandExit> {
    clock::check_system_clock()?;
    raise_descriptor_limit()?;
    ignore_sigxfsz();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        process = std::process::id(),
        "started"
    );
    let mut context = CommandContext {
        global: &args.global,
        env,
        clock,
        check_key_bindings: |changes| ConfigFindings {
            errors: Keymap::with_overrides(changes).1,
            warnings: Keymap::replaced_sequences(changes),
        },
        out,
    };
    match &args.verb {
        Some(Verb::Command(command)) => cli::run(command, context),
        Some(Verb::Demo(sample)) => launch::open_demo(sample, &mut context),
        None => launch::open_profile(&args.query, &mut context),
    }
}

/// Forbids core dumps: memory holds the API key and mail.
fn forbid_core_dumps() {
    // A limit that cannot be lowered is zero already.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            ..getrlimit(Resource::Core)
        },
    );
}

/// Raises the limit on open descriptors; below the minimum, libraries would panic.
fn raise_descriptor_limit() -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < MIN_DESCRIPTORS) else {
        return Ok(());
    };
    let target = maximum.map_or(MIN_DESCRIPTORS, |maximum| maximum.min(MIN_DESCRIPTORS));
    let limit = Rlimit {
        current: Some(target),
        maximum,
    };
    if setrlimit(Resource::Nofile, limit).is_ok() && target == MIN_DESCRIPTORS {
        return Ok(());
    }
    let limit = target.max(current);
    let message = format!("open file limit too low: {limit}, sentbox needs {MIN_DESCRIPTORS}");
    Err(Error::new(ErrorKind::Io, message).with_hint("raise the limit: ulimit -n 256"))
}

/// Makes a write beyond the file size limit fail like one to a full disk.
///
/// By default, its signal ends the process.
fn ignore_sigxfsz() {
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
}
