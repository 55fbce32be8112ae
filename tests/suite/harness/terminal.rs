//! Programs on a pseudo-terminal.

use std::time::Duration;

use portable_pty::{CommandBuilder, PtyPair, PtySize, native_pty_system};
use tokio::time::Instant;

/// The longest wait; a passing test never reaches it.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub const SENTBOX: &str = env!("CARGO_BIN_EXE_sentbox");

pub const fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

pub fn open(columns: u16, rows: u16) -> PtyPair {
    let system = native_pty_system();
    system.openpty(size(columns, rows)).unwrap()
}

pub fn command(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> CommandBuilder {
    let mut command = CommandBuilder::new(program);
    command.args(arguments);
    command.env_clear();
    for (name, value) in environment {
        command.env(name, value);
    }
    command
}

/// Repeats `poll` up to the longest wait, until it returns something.
pub fn poll_until<T>(what: &str, poll: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}
