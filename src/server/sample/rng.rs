//! A deterministic random number generator (splitmix64) by seed, email and purpose.

/// The random numbers of one email for one purpose.
///
/// Purposes have separate streams, so that more draws for one of them never change another.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

/// The purpose of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    Template,
    Recipient,
    Envelope,
    Body,
    Lifecycle,
    AcceptedAt,
    Ids,
}

impl Rng {
    pub(super) fn new(seed: u64, number: u64, stream: Stream) -> Self {
        Self(mix64(mix64(mix64(seed) ^ number) ^ stream as u64))
    }

    /// Returns the next 64 bits, by splitmix64.
    pub(super) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix64(self.0)
    }

    /// Returns a number below `end`.
    ///
    /// The bias of the remainder is far too small to be visible.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// Returns a number from `low` to `high` inclusive.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with a probability of `parts` in a thousand.
    pub(super) const fn is_in_permille(&mut self, parts: u64) -> bool {
        self.below(1000) < parts
    }

    /// Returns a number from `low`, at least 1, to `high`; small ones are more common.
    ///
    /// Each doubling is as likely as the one before.
    pub(super) const fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low).ilog2() as u64;
        let floor = low << self.below(doublings.saturating_add(1));
        let value = floor + self.below(floor);
        if value > high { high } else { value }
    }
}

/// The finalizer of splitmix64: every bit of the input moves half of the output's.
pub(super) const fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
