//! Rows by their emails: how the list finds its place again when one window replaces another.

use std::cmp::Ordering;

use crate::archive::{Place, Row, Window};
use crate::mail::EmailId;
use crate::query::Sort;

/// Where the selection goes when the awaited window is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aim {
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
    Home,
}

/// An email and the topmost visible one when a filter began to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Home {
    /// The selected email.
    pub cursor: RowMark,
    /// The topmost visible one.
    pub top: RowMark,
}

/// What a window says about itself, kept while the next one replaces it.
pub struct Marks {
    /// The selected row.
    pub cursor: Option<RowMark>,
    /// The topmost visible row.
    pub top: Option<RowMark>,
    ranks: Vec<(Place, u64)>,
}

/// A row, by its email, and by its place for when the email is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct RowMark {
    id: EmailId,
    /// Where it stands.
    pub place: Place,
}

impl Marks {
    /// Of these rows, of which the first has this rank.
    pub fn of(rows: &[Row], cursor: usize, top: usize, first_rank: Option<u64>) -> Self {
        let mark = |n: usize| {
            rows.get(n).map(|row| RowMark {
                id: row.summary.id.clone(),
                place: row.place,
            })
        };
        let ranked = |rank: u64| {
            rows.iter()
                .enumerate()
                .map(|(n, row)| (row.place, rank + n as u64))
                .collect()
        };
        Self {
            cursor: mark(cursor),
            top: mark(top),
            ranks: first_rank.map_or_else(Vec::new, ranked),
        }
    }

    /// The rank of the first row of `window`, if a row of it was known before.
    pub fn rank_in(&self, window: &Window, sort: Sort) -> Option<u64> {
        window.rows.iter().enumerate().find_map(|(n, row)| {
            let at = self
                .ranks
                .binary_search_by(|(place, _)| in_order(row.place, *place, sort))
                .ok()?;
            self.ranks[at].1.checked_sub(n as u64)
        })
    }
}

impl RowMark {
    /// The row of this email.
    pub fn position(&self, rows: &[Row]) -> Option<usize> {
        rows.iter().position(|row| row.summary.id == self.id)
    }

    /// The row of this email, or else the next one, or the last.
    pub fn find(&self, rows: &[Row], sort: Sort) -> usize {
        let next = || {
            rows.iter()
                .position(|row| in_order(row.place, self.place, sort).is_le())
        };
        self.position(rows)
            .or_else(next)
            .unwrap_or_else(|| rows.len().saturating_sub(1))
    }
}

/// How two places compare, so that what stands further down a list of this order is less.
fn in_order(one: Place, other: Place, sort: Sort) -> Ordering {
    match sort {
        Sort::Newest => one.cmp(&other),
        Sort::Oldest => other.cmp(&one),
    }
}
