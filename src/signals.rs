//! The signals that end the process, and the deadline by which it has ended.
//!
//! A thread of its own receives them, so that they work while every other thread is blocked: by a
//! terminal that does not read, or by an archive that another process has locked.

use std::fs;
use std::future::pending;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::{Error, ErrorKind, Result};

/// The signals that end a command.
pub const SHUTDOWN_SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The signals that end a process by default, but for those that report a bug in
/// it.
///
/// `abort` still ends the process: when the handler has returned, it raises the signal again with
/// the default action.
pub const TERMINATING_SIGNALS: [Signal; 11] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::ABORT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
];

/// The time for an orderly end; after that, the process does not wait for its work.
const GRACE_PERIOD: Duration = Duration::from_millis(1500);

/// Whether a signal has started the end of the process.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);

/// Receives the number of a signal after its [`GRACE_PERIOD`].
static ON_DEADLINE: OnceLock<Box<dyn Fn(u8) + Send + Sync>> = OnceLock::new();

pub(crate) struct Signals {
    receiver: UnboundedReceiver<u8>,
}

impl Signals {
    /// Installs handlers for `signals` in place of their default action.
    pub(crate) fn listen(signals: &[Signal]) -> Result<Self> {
        Self::listen_with(signals, |_| false)
    }

    /// Installs handlers as [`Self::listen`]; `handle` gets the number of each signal
    /// first, and returns whether the process continues.
    pub(crate) fn listen_with(
        signals: &[Signal],
        handle: impl Fn(i32) -> bool + Send + 'static,
    ) -> Result<Self> {
        let cannot_listen = |error| Error::cannot("received", ErrorKind::Io, "signals", &error);
        let (sender, receiver) = unbounded_channel();
        let numbers = signals.iter().map(|signal| signal.as_raw());
        let mut handlers = signal_hook::iterator::Signals::new(numbers).map_err(cannot_listen)?;
        let thread = thread::Builder::new().name("signals".to_owned());
        let spawned = thread.spawn(move || {
            let ends = |number: &i32| !is_ignored(*number) && !handle(*number);
            let number = handlers.forever().find(ends);
            if let Some(Ok(number)) = number.map(u8::try_from) {
                begin_shutdown(number, &sender);
            }
        });
        spawned.map_err(cannot_listen)?;
        Ok(Self { receiver })
    }

    /// Waits for the first signal and returns its number. Safe to cancel.
    pub(crate) async fn recv(&mut self) -> u8 {
        match self.receiver.recv().await {
            Some(number) => number,
            // The thread has ended with the first signal.
            None => pending().await,
        }
    }

    /// Returns the number of a signal that has already arrived.
    pub(crate) fn try_recv(&mut self) -> Option<u8> {
        self.receiver.try_recv().ok()
    }
}

/// Returns the signals that end a command: under `nohup`, a hang-up does not.
///
/// Where the system does not say what the process was started to ignore (it is not Linux), it
/// returns all. The terminal UI ends by all.
#[must_use]
pub fn command_shutdown_signals() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = (status.lines()).find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let ignores_hangup = mask.unwrap_or(0) >> (Signal::HUP.as_raw() - 1) & 1 == 1;
    let signals = SHUTDOWN_SIGNALS.into_iter();
    signals
        .filter(|signal| !(ignores_hangup && *signal == Signal::HUP))
        .collect()
}

/// Whether Ctrl-C and Ctrl-\ are for a command that has the terminal.
static IGNORES_INTERRUPTS: AtomicBool = AtomicBool::new(false);

/// While it lives, the signals of Ctrl-C and Ctrl-\ do not end the process:
/// the terminal sends them to the command that it runs, too.
pub(crate) struct InterruptsIgnored(());

impl InterruptsIgnored {
    pub(crate) fn new() -> Self {
        IGNORES_INTERRUPTS.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for InterruptsIgnored {
    fn drop(&mut self) {
        IGNORES_INTERRUPTS.store(false, Ordering::SeqCst);
    }
}

fn is_ignored(number: i32) -> bool {
    IGNORES_INTERRUPTS.load(Ordering::SeqCst)
        && [Signal::INT.as_raw(), Signal::QUIT.as_raw()].contains(&number)
}

/// Whether the process is ending by a signal, so that no write may block.
pub(crate) fn is_shutting_down() -> bool {
    SHUTTING_DOWN.load(Ordering::SeqCst)
}

/// Sets the function that is called if the process has not ended in time.
///
/// It gets the number of the signal. Only the first call has an effect.
pub(crate) fn on_deadline(end: impl Fn(u8) + Send + Sync + 'static) {
    let _ = ON_DEADLINE.set(Box::new(end));
}

/// Returns the number of `signal` as exit codes use it.
#[must_use]
pub fn signal_number(signal: Signal) -> u8 {
    u8::try_from(signal.as_raw()).expect("a signal number is small")
}

/// Starts the end of the process, and enforces it after [`GRACE_PERIOD`].
fn begin_shutdown(number: u8, forward: &UnboundedSender<u8>) {
    SHUTTING_DOWN.store(true, Ordering::SeqCst);
    // A command that no longer listens has ended.
    let _ = forward.send(number);
    thread::sleep(GRACE_PERIOD);
    if let Some(end) = ON_DEADLINE.get() {
        end(number);
    }
}
