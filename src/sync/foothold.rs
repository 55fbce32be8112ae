//! Looks for the oldest email of a span that the service still knows, where a walk can go on.
//!
//! Mail expires from the bottom up, so the rows that are gone lie together: strides up to a row that
//! is known, then halving, find the border in about as many requests as the span's length has bits.

use crate::api::MAX_LIMIT;

/// A search for such an email, by rows above the bottom of the span.
#[derive(Debug, Default)]
pub(super) struct Foothold {
    first: u32,
    /// The highest row that the service does not know.
    gone: Option<u32>,
    /// The lowest row that it knows or that lies beyond the span.
    beyond: Option<u32>,
}

impl Foothold {
    /// Begins at that row.
    pub(super) const fn at(first: u32) -> Self {
        Self {
            first,
            gone: None,
            beyond: None,
        }
    }

    /// The row to try, and whether to go on from there if it is known: the border is less than a page
    /// away. `None` if all were tried.
    pub(super) fn next(&self) -> Option<(u32, bool)> {
        let (gone, row) = match (self.gone, self.beyond) {
            (None, None) => return Some((self.first, false)),
            (None, Some(_)) => return Some((0, false)),
            (Some(gone), None) => (gone, gone.saturating_mul(4).max(1)),
            (Some(gone), Some(beyond)) if beyond - gone > 1 => (gone, gone + (beyond - gone) / 2),
            (Some(_), Some(_)) => return None,
        };
        Some((row, row - gone <= u32::from(MAX_LIMIT)))
    }

    /// The service does not know this row.
    pub(super) const fn is_gone(&mut self, row: u32) {
        self.gone = Some(row);
    }

    /// The service knows this row, or the span has none there.
    pub(super) const fn is_beyond(&mut self, row: u32) {
        self.beyond = Some(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_border_is_found_in_few_steps(length in 1..1_000_000_u32, expired in 0..1_000_000_u32) {
            let mut search = Foothold::at(0);
            let mut steps = 0;
            while let Some((row, enough)) = search.next() {
                steps += 1;
                prop_assert!(steps <= 32);
                if row >= length {
                    search.is_beyond(row);
                } else if row < expired {
                    search.is_gone(row);
                } else if row == expired || enough {
                    prop_assert!(expired <= row && row - expired < 100);
                    return Ok(());
                } else {
                    search.is_beyond(row);
                }
            }
            prop_assert!(expired >= length, "only a span of which nothing is left has no border");
        }
    }
}
