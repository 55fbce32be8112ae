//! Finds the oldest email of a covered range that the service still knows,
//! where a run can go on.
//!
//! Mail expires from the bottom up, so the expired rows are contiguous: galloping up to a known row,
//! then bisection, find the boundary in about as many requests as the range's length has bits.

/// The state of a search. Rows are offsets from the bottom of the range.
#[derive(Debug, Default)]
pub(super) struct CursorSearch {
    start: u32,
    /// The highest row that the service is known not to have.
    highest_unknown: Option<u32>,
    /// The lowest row that it has, or that is beyond the range.
    lowest_known: Option<u32>,
}

impl CursorSearch {
    /// Creates a search that begins at row `first`.
    pub(super) const fn starting_at(first: u32) -> Self {
        Self {
            start: first,
            highest_unknown: None,
            lowest_known: None,
        }
    }

    /// Returns the row to request next, and whether the boundary is less than a page of
    /// `page_len` below it, so that the run can go on there. `None` if all rows were tried.
    pub(super) fn next_offset(&self, page_len: u32) -> Option<(u32, bool)> {
        let (unknown, row) = match (self.highest_unknown, self.lowest_known) {
            (None, None) => return Some((self.start, false)),
            (None, Some(_)) => return Some((0, false)),
            (Some(unknown), None) => (unknown, unknown.saturating_mul(4).max(1)),
            (Some(unknown), Some(known)) if known - unknown > 1 => {
                (unknown, unknown + (known - unknown) / 2)
            }
            (Some(_), Some(_)) => return None,
        };
        Some((row, row - unknown <= page_len))
    }

    /// Records that the service does not know this row.
    pub(super) const fn mark_unknown(&mut self, row: u32) {
        self.highest_unknown = Some(row);
    }

    /// Records that the service knows this row, or that the range does not reach it.
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
        fn boundary_is_found_in_32_steps(length in 1..1_000_000_u32, expired in 0..1_000_000_u32, page_len in 1..=100_u32) {
            let mut search = CursorSearch::starting_at(0);
            let mut steps = 0;
            while let Some((row, enough)) = search.next_offset(page_len) {
                steps += 1;
                prop_assert!(steps <= 32);
                if row >= length {
                    search.mark_known(row);
                } else if row < expired {
                    search.mark_unknown(row);
                } else if row == expired || enough {
                    prop_assert!(expired <= row && row - expired < page_len);
                    return Ok(());
                } else {
                    search.mark_known(row);
                }
            }
            prop_assert!(expired >= length, "only a range without known rows has no boundary");
        }
    }
}
