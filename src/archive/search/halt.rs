//! `Halt`: how a newer question breaks off an older one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that breaks off the searches it was given to; clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct CancellationToken(Arc<AtomicBool>);

impl CancellationToken {
    /// Breaks them off, soon and for good.
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they are broken off.
    #[must_use]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
