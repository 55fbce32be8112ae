//! Anchors: how the list finds its rows again by their emails when one window
//! replaces another.

use std::cmp::Ordering;

use crate::archive::{EmailRow, RowWindow, SortKey};
use crate::mail::EmailId;
use crate::query::SortOrder;

/// Where the selection goes when the loading window arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JumpTarget {
    /// It stays on its email.
    #[default]
    Keep,
    /// To the first email.
    First,
    /// To the last email.
    Last,
    /// To the first email at or after this time, in microseconds since 1970.
    Time(i64),
    /// To the email before the filter, if it matches; else to the first.
    Anchor,
}

/// The selected email and the topmost visible one.
#[derive(Debug, Clone, PartialEq)]
pub struct ListAnchor {
    pub cursor: RowAnchor,
    pub top: RowAnchor,
}

/// The anchors of a window, kept while the next one replaces it.
pub struct WindowAnchors {
    /// The selected row.
    pub cursor: Option<RowAnchor>,
    /// The topmost visible row.
    pub top: Option<RowAnchor>,
    /// Each row with the number of emails before it.
    offsets: Vec<(SortKey, u64)>,
}

/// A row by its email, and by its sort key in case the email is deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct RowAnchor {
    pub id: EmailId,
    pub sort_key: SortKey,
}

impl ListAnchor {
    /// This row, selected and topmost.
    pub fn from_row(row: &EmailRow) -> Self {
        let cursor = RowAnchor::from(row);
        Self {
            top: cursor.clone(),
            cursor,
        }
    }
}

impl WindowAnchors {
    /// `offset` is the number of emails before the first row.
    pub fn new(window: &RowWindow, cursor: usize, top: usize, offset: Option<u64>) -> Self {
        let anchor = |n: usize| window.rows.get(n).map(RowAnchor::from);
        let offsets = offset.into_iter().flat_map(|offset| {
            let keys = window.matching().map(|row| row.sort_key);
            keys.zip(offset..)
        });
        Self {
            cursor: anchor(cursor),
            top: anchor(top),
            offsets: offsets.collect(),
        }
    }

    /// The number of emails before the first row of `window`,
    /// if a row of it was known before.
    pub fn offset_in(&self, window: &RowWindow, sort: SortOrder) -> Option<u64> {
        window.matching().enumerate().find_map(|(n, row)| {
            let at = self
                .offsets
                .binary_search_by(|(key, _)| compare_in_order(row.sort_key, *key, sort))
                .ok()?;
            self.offsets[at].1.checked_sub(n as u64)
        })
    }
}

impl From<&EmailRow> for RowAnchor {
    fn from(row: &EmailRow) -> Self {
        Self {
            id: row.summary.id.clone(),
            sort_key: row.sort_key,
        }
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

/// Compares two sort keys; what is further down a list of this order is less.
fn compare_in_order(one: SortKey, other: SortKey, sort: SortOrder) -> Ordering {
    match sort {
        SortOrder::Newest => one.cmp(&other),
        SortOrder::Oldest => other.cmp(&one),
    }
}
