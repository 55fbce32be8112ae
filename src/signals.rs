//! The signals that end the process, and the deadline by which it has ended.
//!
//! A thread of its own receives them, so that they are seen while every other thread is blocked: by
//! a terminal that is not read, or by an archive that another process has locked.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// The signals that ask a command to end in order.
pub const SHUTDOWN_SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The signals that end a process unless it handles them and that do not report a defect of its own.
/// `abort` ends the process all the same: it raises its signal again, by default, when the handler
/// has returned.
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

/// How long the process may take to end in order; after that it ends without waiting for its work.
const GRACE_PERIOD: Duration = Duration::from_millis(1500);

/// Whether a signal ends the process now.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);

/// Receives the number of a signal whose [`GRACE`] has passed.
static DEADLINE_SENDER: OnceLock<mpsc::Sender<u8>> = OnceLock::new();

/// Receives signals from its creation on.
pub(crate) struct Signals {
    receiver: UnboundedReceiver<u8>,
    sender: UnboundedSender<u8>,
}

impl Signals {
    /// Installs handlers for `signals` in place of their default action.
    ///
    /// # Errors
    ///
    /// If the system refuses a handler, a descriptor or a thread.
    pub(crate) fn listen(signals: &'static [Signal]) -> io::Result<Self> {
        let (sender, received) = unbounded_channel();
        let (ready, installed) = mpsc::channel();
        let forward = sender.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || match install_handlers(signals) {
                Ok((runtime, mut handlers)) => {
                    let _ = ready.send(Ok(()));
                    if let Some(Ok(Some(number))) = runtime.block_on(handlers.join_next()) {
                        begin_shutdown(number, &forward);
                    }
                }
                Err(error) => drop(ready.send(Err(error))),
            })?;
        installed
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the thread for signals has ended")))?;
        Ok(Self {
            receiver: received,
            sender,
        })
    }

    /// Treats a hang-up of the terminal on stdin like SIGHUP.
    ///
    /// A program started with SIGHUP ignored receives no signal then, and the event stream would
    /// spin on a dead descriptor.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(crate) fn watch_terminal_hangup(&self) -> io::Result<()> {
        let forward = self.sender.clone();
        thread::Builder::new()
            .name("hang-up".to_owned())
            .spawn(move || {
                wait_for_hangup();
                begin_shutdown(signal_number(Signal::HUP), &forward);
            })?;
        Ok(())
    }

    /// Waits for the first signal and returns its number. Safe to cancel.
    pub(crate) async fn recv(&mut self) -> u8 {
        self.receiver
            .recv()
            .await
            .expect("this value holds a sender")
    }

    /// The number of a signal that has arrived already.
    pub(crate) fn try_recv(&mut self) -> Option<u8> {
        self.receiver.try_recv().ok()
    }
}

/// Whether a signal ends the process now, so that no write may wait any longer.
#[must_use]
pub(crate) fn is_shutting_down() -> bool {
    SHUTTING_DOWN.load(Ordering::SeqCst)
}

/// Sends the number of a signal to `late` when the process has not ended in time after it. Only the
/// first call has an effect.
pub(crate) fn set_deadline_sender(late: mpsc::Sender<u8>) {
    let _ = DEADLINE_SENDER.set(late);
}

/// The number of `signal` as exit codes use it.
#[must_use]
pub fn signal_number(signal: Signal) -> u8 {
    u8::try_from(signal.as_raw()).expect("a signal's number is small")
}

fn install_handlers(signals: &[Signal]) -> io::Result<(Runtime, JoinSet<Option<u8>>)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let mut handlers = JoinSet::new();
    {
        let _inside = runtime.enter();
        for kind in signals {
            let mut handler = signal(SignalKind::from_raw(kind.as_raw()))?;
            let number = signal_number(*kind);
            handlers.spawn(async move { handler.recv().await.map(|()| number) });
        }
    }
    Ok((runtime, handlers))
}

/// Announces the end, and enforces it after [`GRACE`].
fn begin_shutdown(number: u8, forward: &UnboundedSender<u8>) {
    SHUTTING_DOWN.store(true, Ordering::SeqCst);
    // A command that no longer listens is at its end.
    let _ = forward.send(number);
    thread::sleep(GRACE_PERIOD);
    if let Some(late) = DEADLINE_SENDER.get() {
        let _ = late.send(number);
    }
}

/// Blocks until the terminal on stdin has hung up. It polls for no event but that, so it sleeps
/// without waking for keys.
fn wait_for_hangup() {
    let stdin = rustix::stdio::stdin();
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_)
                if watched[0]
                    .revents()
                    .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) =>
            {
                return;
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return thread::park(),
        }
    }
}
