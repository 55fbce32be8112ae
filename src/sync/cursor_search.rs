//! Looks for the oldest email of a span that the service still knows, where a walk can go on.
//!
//! Mail expires from the bottom up, so the rows that are gone lie together: strides up to a row that
//! is known, then halving, find the border in about as many requests as the span's length has bits.

use crate::api::MAX_LIMIT;

/// A search for such an email, by rows above the bottom of the span.
#[derive(Debug, Default)]
pub(super) struct CursorSearch {
    start: u32,
    /// The highest row that the service does not know.
    highest_unknown: Option<u32>,
    /// The lowest row that it knows or that lies beyond the span.
    lowest_known: Option<u32>,
}

impl CursorSearch {
    /// Begins at that row.
    pub(super) const fn starting_at(first: u32) -> Self {
        Self {
            start: first,
            highest_unknown: None,
            lowest_known: None,
        }
    }

    /// The row to try, and whether to go on from there if it is known: the border is less than a page
    /// away. `None` if all were tried.
    pub(super) fn next_offset(&self) -> Option<(u32, bool)> {
        let (gone, row) = match (self.highest_unknown, self.lowest_known) {
            (None, None) => return Some((self.start, false)),
            (None, Some(_)) => return Some((0, false)),
            (Some(gone), None) => (gone, gone.saturating_mul(4).max(1)),
            (Some(gone), Some(beyond)) if beyond - gone > 1 => (gone, gone + (beyond - gone) / 2),
            (Some(_), Some(_)) => return None,
        };
        Some((row, row - gone <= u32::from(MAX_LIMIT)))
    }

    /// The service does not know this row.
    pub(super) const fn mark_unknown(&mut self, row: u32) {
        self.highest_unknown = Some(row);
    }

    /// The service knows this row, or the span has none there.
    pub(super) const fn mark_known(&mut self, row: u32) {
        self.lowest_known = Some(row);
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
            let mut search = CursorSearch::starting_at(0);
            let mut steps = 0;
            while let Some((row, enough)) = search.next_offset() {
                steps += 1;
                prop_assert!(steps <= 32);
                if row >= length {
                    search.mark_known(row);
                } else if row < expired {
                    search.mark_unknown(row);
                } else if row == expired || enough {
                    prop_assert!(expired <= row && row - expired < 100);
                    return Ok(());
                } else {
                    search.mark_known(row);
                }
            }
            prop_assert!(expired >= length, "only a span of which nothing is left has no border");
        }
    }
}
