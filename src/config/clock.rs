//! The one place where the time is read; everybody else is handed a [`Clock`].

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time. Cheap to clone; tests hand in one that stands still.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of this machine.
#[must_use]
pub fn system() -> Clock {
    Arc::new(now)
}

/// The time by the clock of this machine.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn now() -> Timestamp {
    Timestamp::now()
}
