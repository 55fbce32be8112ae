//! `Halt`: how a newer question breaks off an older one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that breaks off the searches it was given to; clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Breaks them off, soon and for good.
    pub fn halt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they are broken off.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
