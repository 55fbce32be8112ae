//! The program: hooks, arguments, dispatch, exit code.

use std::process::ExitCode;

use sentbox::cli::{self, Args, Output, Parsed, Stop, Verb, World};
use sentbox::config::Env;
use sentbox::config::clock::{self, Clock};

fn main() -> color_eyre::Result<ExitCode> {
    color_eyre::config::HookBuilder::default().display_env_section(false).install()?;
    let env = Env::of_process();
    let (mut out, outcome) = match cli::parse(std::env::args_os()) {
        Parsed::Do(args) => {
            let mut out = Output::of_process(&args.global, &env);
            let outcome = run(&args, &env, &clock::system(), &mut out);
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
            out.failure(&failure);
            ExitCode::from(failure.kind.exit_code())
        }
        Err(Stop::Signal(number)) => ExitCode::from(128 + number),
    })
}

fn run(args: &Args, env: &Env, clock: &Clock, out: &mut Output) -> Result<(), Stop> {
    match &args.verb {
        Some(Verb::Command(command)) => cli::run(command, World { global: &args.global, env, clock, out }),
        Some(Verb::Demo(_)) | None => {
            Err(sentbox::failure::Failure::new(sentbox::failure::Kind::Internal, "the terminal program is not in this build").into())
        }
    }
}
