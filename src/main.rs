//! The program: hooks, arguments, dispatch, exit code.

mod crash;
mod log;
mod open;

use std::process::ExitCode;

use rustix::process::Signal;
use sentbox::app::Keys;
use sentbox::cli::{self, Args, Output, Parsed, Stop, Verb, World};
use sentbox::config::Env;
use sentbox::config::clock::{self, Clock};
use tokio::signal::unix::SignalKind;

fn main() -> color_eyre::Result<ExitCode> {
    let env = Env::of_process();
    let clock = clock::system();
    let (report, errors) = color_eyre::config::HookBuilder::default().display_env_section(false).into_hooks();
    errors.install()?;
    crash::install(report, &env, &clock);
    outlive_file_limits();
    let (mut out, outcome) = match cli::parse(std::env::args_os()) {
        Parsed::Do(args) => {
            let mut out = Output::of_process(&args.global, &env);
            let outcome = log::begin(&args.global, &env, &clock).map_err(Stop::from).and_then(|log| {
                if let Some(path) = log {
                    out.note(&format!("the log is {}", path.display()));
                }
                run(&args, &env, &clock, &mut out)
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
    Ok(match outcome {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::Failed(failure)) => {
            tracing::error!(kind = failure.kind.word(), "ends with a failure");
            out.failure(&failure);
            ExitCode::from(failure.kind.exit_code())
        }
        Err(Stop::Signal(number)) => ExitCode::from(128 + number),
    })
}

fn run(args: &Args, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "begins");
    match &args.verb {
        Some(Verb::Command(command)) => {
            cli::run(command, World { global: &args.global, env, clock, wrong_keys: |changes| Keys::with(changes).1, out })
        }
        Some(Verb::Demo(sample)) => open::demo(sample, &args.global, env, clock, out),
        None => open::profile(&args.query, &args.global, env, clock, out),
    }
}

/// Makes a write beyond the limit on the size of files an error like that of a full disk; by default
/// its signal ends the process. The handler stays when the runtime that it is installed from is gone.
fn outlive_file_limits() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let _inside = runtime.enter();
    let _ = tokio::signal::unix::signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}
