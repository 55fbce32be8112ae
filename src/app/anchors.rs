//! Rows by their emails: how the list finds its place again when one window replaces another.

use std::cmp::Ordering;

use crate::archive::{EmailRow, RowWindow, SortKey};
use crate::mail::EmailId;
use crate::query::SortOrder;

/// Where the selection goes when the awaited window is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JumpTarget {
    /// It stays on its email.
    #[default]
    Keep,
    /// To the first email.
    First,
    /// To the last email.
    Last,
    /// To the first email that is not before this time, in microseconds since 1970, in the list's order.
    Time(i64),
    /// To where the person was before the filter, if it lets that email through; else to the first.
    Anchor,
}

/// An email and the topmost visible one when a filter began to change.
#[derive(Debug, Clone, PartialEq)]
pub struct ListAnchor {
    /// The selected email.
    pub cursor: RowAnchor,
    /// The topmost visible one.
    pub top: RowAnchor,
}

/// What a window says about itself, kept while the next one replaces it.
pub struct WindowAnchors {
    /// The selected row.
    pub cursor: Option<RowAnchor>,
    /// The topmost visible row.
    pub top: Option<RowAnchor>,
    offsets: Vec<(SortKey, u64)>,
}

/// A row, by its email, and by its place for when the email is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct RowAnchor {
    id: EmailId,
    /// Where it stands.
    pub sort_key: SortKey,
}

impl WindowAnchors {
    /// Of these rows, of which the first has this rank.
    pub fn new(rows: &[EmailRow], cursor: usize, top: usize, first_rank: Option<u64>) -> Self {
        let mark = |n: usize| {
            rows.get(n).map(|row| RowAnchor {
                id: row.summary.id.clone(),
                sort_key: row.sort_key,
            })
        };
        let ranked = |rank: u64| {
            rows.iter()
                .enumerate()
                .map(|(n, row)| (row.sort_key, rank + n as u64))
                .collect()
        };
        Self {
            cursor: mark(cursor),
            top: mark(top),
            offsets: first_rank.map_or_else(Vec::new, ranked),
        }
    }

    /// The rank of the first row of `window`, if a row of it was known before.
    pub fn offset_in(&self, window: &RowWindow, sort: SortOrder) -> Option<u64> {
        window.rows.iter().enumerate().find_map(|(n, row)| {
            let at = self
                .offsets
                .binary_search_by(|(place, _)| compare_in_order(row.sort_key, *place, sort))
                .ok()?;
            self.offsets[at].1.checked_sub(n as u64)
        })
    }
}

impl RowAnchor {
    /// The row of this email.
    pub fn position(&self, rows: &[EmailRow]) -> Option<usize> {
        rows.iter().position(|row| row.summary.id == self.id)
    }

    /// The row of this email, or else the next one, or the last.
    pub fn find_or_nearest(&self, rows: &[EmailRow], sort: SortOrder) -> usize {
        let next = || {
            rows.iter()
                .position(|row| compare_in_order(row.sort_key, self.sort_key, sort).is_le())
        };
        self.position(rows)
            .or_else(next)
            .unwrap_or_else(|| rows.len().saturating_sub(1))
    }
}

/// How two places compare, so that what stands further down a list of this order is less.
fn compare_in_order(one: SortKey, other: SortKey, sort: SortOrder) -> Ordering {
    match sort {
        SortOrder::Newest => one.cmp(&other),
        SortOrder::Oldest => other.cmp(&one),
    }
}
