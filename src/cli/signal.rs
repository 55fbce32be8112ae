//! The signals that end a command which otherwise runs on.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, Kind};

/// Listens for SIGINT, SIGTERM and SIGHUP from its making on.
pub(super) struct Ending {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Ending {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::new(Kind::Io, format!("signals cannot be awaited: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them and returns its number.
    pub(super) async fn await_one(mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => 1,
        }
    }
}
