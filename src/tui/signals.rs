//! What ends the program from outside: signals, and a terminal that hangs up.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// The ends that come from outside.
pub struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    gone: oneshot::Receiver<()>,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// If the system refuses a handler or a thread.
    pub fn listen() -> io::Result<Self> {
        let (tell, gone) = oneshot::channel();
        std::thread::Builder::new().name("hang-up".to_owned()).spawn(move || {
            wait_for_hang_up();
            let _ = tell.send(());
        })?;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            gone,
        })
    }

    /// Waits for the end; gives the number of the signal that brings it.
    pub async fn end(&mut self) -> u8 {
        let number = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            Ok(()) = &mut self.gone => SignalKind::hangup(),
        };
        u8::try_from(number.as_raw_value()).unwrap_or_default()
    }
}

/// Blocks until the terminal on stdin is gone.
///
/// A program started with SIGHUP ignored gets no signal then, and the event stream would spin on a
/// dead descriptor. This asks for no event but hang-up, so it sleeps without waking for keys.
fn wait_for_hang_up() {
    let stdin = rustix::stdio::stdin();
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return std::thread::park(),
        }
    }
}
