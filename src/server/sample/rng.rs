//! `Chance`: numbers that look thrown and are the same every time, so that nothing has to be stored.

/// A stream of numbers for one email and one matter. Each matter has a stream of its own, so that
/// drawing more for one of them never changes another.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

/// What a stream is drawn for.
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
    pub(super) fn new(seed: u64, number: u64, matter: Stream) -> Self {
        Self(mix64(mix64(mix64(seed) ^ number) ^ matter as u64))
    }

    /// The next 64 bits, by splitmix64.
    pub(super) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix64(self.0)
    }

    /// A number below `end`. The bias of the remainder is far below what anybody could see.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// A number from `low` to `high`, both possible.
    pub(super) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `parts` of a thousand cases.
    pub(super) const fn is_in_permille(&mut self, parts: u64) -> bool {
        self.below(1000) < parts
    }

    /// A number from `low` to about `high`, small ones being far more common: each doubling is as
    /// likely as the one before. `low` is at least 1.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matters_do_not_share_a_stream() {
        let first = |matter| Rng::new(1, 7, matter).next_u64();
        assert_eq!(first(Stream::Lifecycle), first(Stream::Lifecycle));
        assert_ne!(first(Stream::Lifecycle), first(Stream::Body));
        assert_ne!(
            Rng::new(1, 8, Stream::Lifecycle).next_u64(),
            first(Stream::Lifecycle)
        );
        assert_ne!(
            Rng::new(2, 7, Stream::Lifecycle).next_u64(),
            first(Stream::Lifecycle)
        );
    }

    #[test]
    fn a_long_tail_is_mostly_short_and_never_beyond_its_ends() {
        let mut chance = Rng::new(0, 0, Stream::Lifecycle);
        let drawn: Vec<u64> = (0..2000).map(|_| chance.log_uniform(10, 10_000)).collect();
        assert!(drawn.iter().all(|n| (10..=10_000).contains(n)));
        assert!(drawn.iter().filter(|&&n| n < 320).count() > 700);
        assert!(drawn.iter().any(|&n| n > 5000));
    }
}
