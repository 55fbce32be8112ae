//! `Bucket`: tokens that flow in at a rate, and are taken out one for each request.

use std::time::Duration;

/// A bucket of tokens.
#[derive(Debug)]
pub(super) struct TokenBucket {
    tokens: f64,
    refilled_at: Duration,
}

impl TokenBucket {
    /// A bucket that holds so many at first.
    pub(super) const fn new(tokens: f64) -> Self {
        Self {
            tokens,
            refilled_at: Duration::ZERO,
        }
    }

    /// Lets flow in what has come since the last time, up to `most`.
    pub(super) fn refill(&mut self, now: Duration, per_second: f64, most: f64) {
        let passed = now.saturating_sub(self.refilled_at).as_secs_f64();
        self.tokens = (self.tokens + passed * per_second).min(most);
        self.refilled_at = self.refilled_at.max(now);
    }

    /// Takes so much; what is not there is owed.
    pub(super) fn consume(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Leaves no more than this in it.
    pub(super) fn cap(&mut self, tokens: f64) {
        self.tokens = self.tokens.min(tokens);
    }

    /// How long it takes until there is as much as `needed`; zero if there is.
    pub(super) fn time_until(&self, needed: f64, per_second: f64) -> Duration {
        if self.tokens >= needed {
            return Duration::ZERO;
        }
        Duration::from_secs_f64((needed - self.tokens) / per_second).max(Duration::from_millis(1))
    }
}
