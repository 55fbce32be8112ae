//! Gives the body of an email to a shell command, which has the terminal until it
//! ends.
//!
//! The caller has restored the terminal and reads no keys meanwhile; [`super::terminal`] takes it
//! back.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::process::{Child, Command};

use super::desktop::feed;
use crate::app::{Message, PipedCommand};
use crate::config::remove_key_variables;
use crate::render::{self, LayoutOptions};

/// Time between two checks whether a command has ended after SIGTERM.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// The most checks: a process that a signal ends has little time.
const MAX_END_CHECKS: u32 = 50;

/// Runs the command; returns its end as a message.
pub(super) async fn run(piped: PipedCommand) -> Message {
    let options = LayoutOptions::from(piped.width).stacked();
    let options = options.masked(piped.masked);
    let input = render::lay_out(&piped.email, piped.body_view, options).unwrapped_text();
    let modes = SavedModes(tcgetattr(rustix::stdio::stdin()).ok());
    let ended = run_shell(&piped.command, &input).await;
    drop(modes);
    Message::CommandEnded {
        command: piped.command,
        input_len: input.chars().count() as u64,
        result: ended
            .map(|status| status.to_string())
            .map_err(|error| format!("sh cannot be run: {error}")),
    }
}

/// The modes of the terminal, which are set again when this is dropped:
/// a command that is killed may leave the terminal without echo.
struct SavedModes(Option<Termios>);

impl Drop for SavedModes {
    fn drop(&mut self) {
        if let Some(modes) = &self.0 {
            // `Flush` drops keys that the command did not read.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, modes);
        }
    }
}

/// A running command. If this is dropped, as after a signal to this process,
/// the command is ended first: it would go on reading the keys of the terminal.
struct RunningCommand(Child);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        // Without an id it has ended.
        let Some(id) = id.and_then(Pid::from_raw) else {
            return;
        };
        let _ = kill_process(id, Signal::TERM);
        for _ in 0..MAX_END_CHECKS {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(END_CHECK_INTERVAL);
        }
    }
}

async fn run_shell(command: &str, input: &str) -> io::Result<ExitStatus> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped());
    remove_key_variables(shell.as_std_mut());
    let mut child = RunningCommand(shell.spawn()?);
    feed(&mut child.0, input).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn command_reads_the_input_and_status_is_returned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body");
        let command = format!("cat > '{}'; exit 3", path.display());
        let status = run_shell(&command, "Your receipt").await.unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "Your receipt");
    }

    #[tokio::test]
    async fn command_is_ended_when_its_run_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let command = format!(
            "trap 'echo > {}; exit' TERM; echo > {}; while :; do :; done",
            path("ended").display(),
            path("started").display()
        );
        let started = async {
            while !path("started").exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = run_shell(&command, "") => unreachable!("it does not end"),
            () = started => {}
        }
        assert!(path("ended").exists());
    }

    #[tokio::test]
    async fn command_that_reads_nothing_ends() {
        let status = run_shell("exec true", &"x".repeat(1 << 20)).await.unwrap();
        assert!(status.success());
    }
}
