//! Restores the modes of the terminal after work that changes them, however it ends.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::panic::resume_unwind;
use std::thread;

use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::zeroize::Zeroizing;
use tokio::sync::oneshot;

use super::CommandExit;
use crate::cli::block_on_until_signal;
use crate::error::{Error, ErrorKind};

/// The longest line that a terminal gives to a program.
const MAX_LINE: usize = 4096;

/// The modes of the terminal of stdin; dropping them restores them.
struct SavedModes {
    modes: Termios,
    /// Whether input that no program has read is dropped:
    /// the start of a key must not reach the shell.
    drops_input: bool,
}

impl Drop for SavedModes {
    fn drop(&mut self) {
        set_modes(&self.modes, self.drops_input);
    }
}

/// Sets the modes. A terminal that is gone has none.
fn set_modes(modes: &Termios, drops_input: bool) {
    let action = if drops_input {
        OptionalActions::Flush
    } else {
        OptionalActions::Now
    };
    let _ = tcsetattr(stdin(), action, modes);
}

/// Runs `work`, which changes the modes of the terminal of stdin and may block.
///
/// # Errors
///
/// The signal, if one ends the command meanwhile.
pub(in crate::cli) fn keep_modes<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandExit> {
    let failed =
        |error: io::Error| Error::cannot("read", ErrorKind::Io, "the terminal's modes", &error);
    let mut saved = SavedModes {
        modes: tcgetattr(stdin()).map_err(|error| failed(error.into()))?,
        drops_input: true,
    };
    restore_while_stopped(saved.modes.clone()).map_err(failed)?;
    let result = block_on_until_signal(async {
        let (done, finished) = oneshot::channel::<()>();
        let worker = thread::spawn(move || {
            // It is dropped by a panic, too.
            let _done = done;
            work()
        });
        let _ = finished.await;
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    saved.drops_input = result.is_err();
    result
}

/// Restores `modes` while Ctrl-Z has stopped the process.
fn restore_while_stopped(modes: Termios) -> io::Result<()> {
    let (stop, cont) = (Signal::TSTP.as_raw(), Signal::CONT.as_raw());
    let mut signals = signal_hook::iterator::Signals::new([stop, cont])?;
    thread::spawn(move || {
        let mut changed = None;
        for number in signals.forever() {
            if number == stop {
                changed = tcgetattr(stdin()).ok();
                set_modes(&modes, true);
                let _ = kill_process(getpid(), Signal::STOP);
            } else if let Some(changed) = changed.take() {
                set_modes(&changed, false);
            }
        }
    });
    Ok(())
}

/// Asks for a line that the terminal does not show; empty at the end of the input.
pub(in crate::cli) fn read_hidden_line(
    prompt: String,
) -> Result<io::Result<Zeroizing<String>>, CommandExit> {
    keep_modes(move || {
        let mut modes = tcgetattr(stdin())?;
        modes.local_modes -= LocalModes::ECHO;
        // The end of the line is shown.
        modes.local_modes |= LocalModes::ECHONL;
        // A key that was typed before is kept.
        set_modes(&modes, false);
        let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
        terminal.write_all(prompt.as_bytes())?;
        let mut line = Zeroizing::new(vec![0; MAX_LINE]);
        let len = terminal.read(&mut line)?;
        let text = str::from_utf8(&line[..len]).map_err(io::Error::other)?;
        Ok(Zeroizing::new(text.to_owned()))
    })
}
