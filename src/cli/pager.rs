//! The pager: the program through which a user reads long output on a terminal.

use std::io::BufWriter;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::config::{Env, remove_key_variables};
use crate::error::{Error, ErrorKind};
use crate::signals::InterruptsIgnored;

/// The exit code of a shell that cannot run a command, or does not find it.
const CANNOT_RUN: [i32; 2] = [126, 127];

/// A pager that runs.
pub(super) struct Pager {
    child: Child,
    /// Ctrl-C is for the pager, which has the terminal.
    _interrupts: InterruptsIgnored,
}

/// Returns the command of the user's pager; `None` if there shall be none.
pub(super) fn pager_command(env: &Env) -> Option<Command> {
    let named = ["SENTBOX_PAGER", "PAGER"].map(|name| env.get_or_blank(name));
    let mut command = match named.into_iter().flatten().next() {
        Some("" | "cat") => return None,
        // It may have arguments, so the shell reads it.
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", pager]);
            shell
        }
        None => Command::new("less"),
    };
    if env.get_or_blank("LESS").is_none() {
        // Quit if it fits on the screen, show colours, leave the text on the screen.
        command.env("LESS", "FRX");
    }
    remove_key_variables(&mut command);
    Some(command)
}

impl Pager {
    /// Starts the pager; returns it with its input. `None` if it is not installed.
    pub(super) fn start(mut command: Command) -> Option<(Self, BufWriter<ChildStdin>)> {
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = BufWriter::new(child.stdin.take().expect("its input is a pipe"));
        for signal in [SIGINT, SIGQUIT] {
            // A handler replaces the default action; if there can be none, Ctrl-C ends both.
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
        let pager = Self {
            child,
            _interrupts: InterruptsIgnored::new(),
        };
        Some((pager, input))
    }

    /// Waits until the user leaves the pager, whose input must be closed.
    pub(super) fn wait(mut self) -> Result<(), Error> {
        let status = self.child.wait().ok();
        let code = status.and_then(|status| status.code());
        if code.is_some_and(|code| CANNOT_RUN.contains(&code)) {
            let error = Error::new(ErrorKind::Io, "the pager cannot be run");
            return Err(error.with_hint("SENTBOX_PAGER or PAGER names it; --no-pager does without"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_pager_variable_wins_and_empty_disables() {
        let words = |variables: &[(&str, &str)]| {
            let command = pager_command(&variables.iter().copied().collect())?;
            let words = [command.get_program()]
                .into_iter()
                .chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            let mut set = command.get_envs().filter(|(_, value)| value.is_some());
            Some((words.join(" "), set.next().is_some()))
        };
        let of = |text: &str, sets_less| Some((text.to_owned(), sets_less));
        assert_eq!(words(&[]), of("less", true));
        assert_eq!(words(&[("LESS", "")]), of("less", false));
        assert_eq!(words(&[("PAGER", "most -s")]), of("sh -c most -s", true));
        let both = [("PAGER", "most"), ("SENTBOX_PAGER", "more")];
        assert_eq!(words(&both), of("sh -c more", true));
        for none in [("PAGER", "cat"), ("PAGER", " "), ("SENTBOX_PAGER", "")] {
            assert_eq!(words(&[none]), None);
        }
        assert_eq!(words(&[("SENTBOX_PAGER", ""), ("PAGER", "most")]), None);
    }
}
