//! Gives the body of an email to a shell command, which has the terminal until it
//! ends.
//!
//! The caller has restored the terminal and reads no keys meanwhile; [`super::terminal`] takes it back.

use std::io;
use std::process::{ExitStatus, Stdio};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::app::{Message, PipedCommand};
use crate::config::remove_key_variables;
use crate::render::{self, LayoutOptions};

/// Runs the command; returns its end as a message.
pub(super) async fn run(piped: PipedCommand) -> Message {
    let PipedCommand {
        command,
        email,
        view,
        width,
        masked,
    } = piped;
    let options = LayoutOptions::from(width).stacked().masked(masked);
    let input = render::lay_out(&email, view, options).unwrapped_text();
    // A command that is killed may leave the terminal without echo.
    let modes = tcgetattr(rustix::stdio::stdin());
    let ended = run_shell(&command, &input).await;
    if let Ok(modes) = modes {
        // `Flush` drops keys that the command did not read.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &modes);
    }
    Message::CommandEnded {
        command,
        input_len: input.chars().count() as u64,
        result: ended
            .map(|status| status.to_string())
            .map_err(|error| format!("sh cannot be run: {error}")),
    }
}

async fn run_shell(command: &str, input: &str) -> io::Result<ExitStatus> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped());
    remove_key_variables(shell.as_std_mut());
    let mut child = shell.spawn()?;
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    // A command need not read its input: `head -1`.
    let write = async {
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
    };
    let ((), status) = tokio::join!(write, child.wait());
    status
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
    async fn command_that_reads_nothing_ends() {
        let status = run_shell("exec true", &"x".repeat(1 << 20)).await.unwrap();
        assert!(status.success());
    }
}
