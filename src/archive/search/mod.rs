//! Search: the emails that match a query, in the order of the list,
//! from any position of it.
//!
//! A search has four stages:
//!
//! 1. [`plan`] has the query translated to an FTS expression that finds a superset of the matches ([`translate`]), with
//!    bounds of keys and times, and to one that finds only matches: [`count`] counts these in the index.
//!    [`vocabulary`] replaces the start of a word by the words that the index has, if they are few.
//! 2. [`fts_expr::Prefilter`] is a cheap superset of a costly expression. It is tried first, and kept
//!    while at least one in four candidates matches.
//! 3. [`scan`] reads candidates in list order from the index or the table, merged with the few emails
//!    that are out of order.
//! 4. [`matcher`] loads each candidate and evaluates the query ([`query::matches`]). It loads a body only
//!    if the query depends on it, and looks up words and phrases in the index
//!    before.
//!
//! So the result is right whatever the index knows, nothing is sorted, and the scan ends when the
//! window is full.
//! [`fts_engine`] has what the indexes of the two databases do differently.
//!
//! [`query::matches`]: crate::query::matches

mod body_lookup;
mod count;
mod fts_engine;
mod fts_expr;
mod index;
mod interned;
mod matcher;
mod nearest;
mod periods;
mod plan;
mod scan;
mod suggest;
#[cfg(test)]
mod tests;
mod text_expr;
mod tokens;
mod translate;
mod vocabulary;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use self::scan::{Scan, continue_while};
use super::listing::{Direction, TOP};
use super::storage::error::unreadable_error;
use super::window::{EmailRow, read_window};
use super::{Archive, RowWindow, SortKey, WindowAnchor};
use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::mail::Status;
use crate::query::{Node, Query, SortOrder, Term};

pub use tokio_util::sync::CancellationToken;

pub(super) use index::{
    Index, IndexChecksum, TokenizedEmail, assign_rowids, erase_deleted, is_out_of_order,
    merge_segments, reindex_dirty,
};
pub(crate) use nearest::Unmatched;

pub(super) use interned::{Interner, STORED_SENDER, is_indexed_by_id};

/// A number of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchCount {
    Exactly(u64),
    /// There are more; they were not counted.
    MoreThan(u64),
}

/// Chosen matches of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CandidateRows {
    /// Newest first.
    pub(crate) rows: Vec<EmailRow>,
    /// `None` if there was no match.
    pub(crate) last_examined: Option<SortKey>,
    /// Whether there is no older match.
    pub(crate) is_exhausted: bool,
}

/// The outcome of a visit to the matches of a query.
pub(crate) struct ScannedMatches {
    /// Whether neither the visitor stopped nor the search was cancelled.
    pub(crate) is_complete: bool,
    /// Emails that cannot be read and may match.
    pub(crate) unreadable: BTreeSet<SortKey>,
}

/// The most matches that [`Archive::find_candidates`] examines.
const MAX_EXAMINED: usize = 20_000;

impl Archive {
    /// Loads at most `limit` of the matches at `anchor`; `None` if it was cancelled.
    ///
    /// The query of the empty text costs no more than [`Archive::window`]. With `sort:oldest` the
    /// list is reversed: [`WindowAnchor::Top`] is its top with the oldest email,
    /// [`WindowAnchor::AtTime`] starts with the oldest email at or after that time.
    ///
    /// # Errors
    ///
    /// If the archive or an email that may match cannot be read.
    pub fn search(
        &self,
        query: &Query,
        anchor: &WindowAnchor,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Option<RowWindow>> {
        if query.is_default() {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            return self.window(anchor, limit).map(Some);
        }
        self.connections.read_cancellable(cancel, |connection| {
            let scan = Scan::new(connection, query)?;
            let window = read_window(&scan, forward_direction(query), anchor, limit)?;
            scan.report_unreadable()?;
            Ok(window)
        })
    }

    /// Calls `visit` for each match in the order of the query, until it returns false.
    ///
    /// Only one row is in memory at a time. Returns false if the visitor stopped or the search was
    /// cancelled. Fails for emails that cannot be read after it visited all others.
    pub(crate) fn for_each_match(
        &self,
        query: &Query,
        cancel: &CancellationToken,
        visit: impl FnMut(EmailRow) -> bool,
    ) -> Result<bool> {
        self.for_each_match_past(None, query, cancel, visit)
    }

    /// Calls `visit` as [`Self::for_each_match`], for matches past the position `from`,
    /// without it.
    pub(crate) fn for_each_match_past(
        &self,
        from: Option<SortKey>,
        query: &Query,
        cancel: &CancellationToken,
        mut visit: impl FnMut(EmailRow) -> bool,
    ) -> Result<bool> {
        let scanned = self.for_each_readable_match(from, query, cancel, &mut visit)?;
        match scanned.unreadable.len() {
            0 => Ok(scanned.is_complete),
            count => Err(unreadable_error(count)),
        }
    }

    /// Calls `visit` as [`Self::for_each_match_past`];
    /// emails that cannot be read are not an error.
    pub(crate) fn for_each_readable_match(
        &self,
        from: Option<SortKey>,
        query: &Query,
        cancel: &CancellationToken,
        visit: &mut dyn FnMut(EmailRow) -> bool,
    ) -> Result<ScannedMatches> {
        let mut is_complete = true;
        let unreadable = self.connections.read_cancellable(cancel, |connection| {
            let direction = forward_direction(query);
            let scan = Scan::new(connection, query)?;
            let from = from.unwrap_or(direction.reverse().end());
            scan.for_each_match(direction, from, &mut |row| {
                is_complete = visit(row);
                continue_while(is_complete)
            })?;
            Ok(scan.into_unreadable())
        })?;
        Ok(ScannedMatches {
            is_complete: unreadable.is_some() && is_complete,
            unreadable: unreadable.unwrap_or_default(),
        })
    }

    pub(crate) fn is_match(&self, query: &Query, key: SortKey) -> Result<bool> {
        self.connections
            .read(|connection| Scan::new(connection, query)?.is_match(key))
    }

    /// Finds at most `limit` matches older than `from` that `choose` accepts.
    pub(crate) fn find_candidates(
        &self,
        query: &Query,
        from: Option<SortKey>,
        limit: usize,
        mut choose: impl FnMut(&EmailRow) -> bool,
    ) -> Result<CandidateRows> {
        self.connections.read(|connection| {
            let mut found = CandidateRows {
                rows: Vec::new(),
                last_examined: None,
                is_exhausted: true,
            };
            let mut examined = 0;
            let scan = Scan::new(connection, query)?;
            scan.for_each_match(Direction::Older, from.unwrap_or(TOP), &mut |row| {
                if found.rows.len() == limit || examined == MAX_EXAMINED {
                    found.is_exhausted = false;
                    return ControlFlow::Break(());
                }
                examined += 1;
                found.last_examined = Some(row.sort_key);
                if choose(&row) {
                    found.rows.push(row);
                }
                ControlFlow::Continue(())
            })?;
            Ok(found)
        })
    }

    /// Counts the matches up to `most`; `None` if it was cancelled.
    ///
    /// # Errors
    ///
    /// If the archive or an email that may match cannot be read.
    pub fn count_matches(
        &self,
        query: &Query,
        most: u64,
        cancel: &CancellationToken,
    ) -> Result<Option<MatchCount>> {
        if query.is_match_all() {
            return Ok(Some(MatchCount::Exactly(self.query_count()?)));
        }
        self.count_matches_past(query, Direction::Older, TOP, most, cancel)
    }

    /// Counts as [`Self::count_matches`], for matches past the position `from` in one
    /// direction.
    pub(crate) fn count_matches_past(
        &self,
        query: &Query,
        direction: Direction,
        from: SortKey,
        most: u64,
        cancel: &CancellationToken,
    ) -> Result<Option<MatchCount>> {
        self.connections.read_cancellable(cancel, |connection| {
            let scan = Scan::new(connection, query)?;
            let found = scan.count_matches(direction, from, most.saturating_add(1))?;
            scan.report_unreadable()?;
            Ok(if found > most {
                MatchCount::MoreThan(most)
            } else {
                MatchCount::Exactly(found)
            })
        })
    }

    /// Explains why a query has no match: which conditions match nothing by
    /// themselves, such as a misspelled name, and what may be meant.
    pub(crate) fn find_unmatched(
        &self,
        query: &Query,
        cancel: &CancellationToken,
    ) -> Result<Unmatched> {
        let left_out = self.left_out()?;
        let mut unmatched = Unmatched::default();
        // The list of the service has what was purged, too.
        if !left_out.purged && !left_out.has_omitted_old {
            unmatched.oldest_listed = self.oldest_listed()?;
        }
        let (nodes, is_single) = match &query.filter {
            Node::And(nodes) => (&**nodes, false),
            node => (std::slice::from_ref(node), true),
        };
        // What is wrong with an unknown status is shown beside it.
        let is_unknown = |node: &&Node| match node {
            Node::Term(Term::Status(statuses)) => {
                statuses.iter().any(|it| matches!(it, Status::Other(_)))
            }
            _ => false,
        };
        let mut matching = Vec::new();
        for node in nodes.iter().filter(|node| !is_unknown(node)) {
            let alone = Query {
                filter: node.clone(),
                sort: query.sort,
            };
            let most = &MatchCount::Exactly(0);
            if !is_single && self.count_matches(&alone, 1, cancel)?.as_ref() != Some(most) {
                matching.push(node);
                continue;
            }
            let nearest = |connection: &Connection| nearest::find_nearest(node, connection);
            let nearest = self.connections.read_cancellable(cancel, nearest)?;
            unmatched.nearest.extend(nearest.into_iter().flatten());
            if !is_single {
                unmatched.conditions.push(node.to_string());
            }
        }
        // A misspelled word among others is one condition with what is near to it.
        let is_misspelled = unmatched.conditions.len() == 1 && !unmatched.nearest.is_empty();
        if let Some(reference) =
            nearest::find_reference(nodes, &matching).filter(|_| !is_misspelled)
        {
            (unmatched.nearest, unmatched.is_whole) = (vec![reference], true);
        }
        Ok(unmatched)
    }
}

/// Returns the keys of all matches, newest first.
pub(super) fn matching_keys(connection: &Connection, query: &Query) -> Result<Vec<SortKey>> {
    let mut keys = Vec::new();
    let scan = Scan::new(connection, query)?;
    scan.for_each_match(Direction::Older, TOP, &mut |row| {
        keys.push(row.sort_key);
        ControlFlow::Continue(())
    })?;
    scan.report_unreadable()?;
    Ok(keys)
}

/// Returns the direction down the list.
const fn forward_direction(query: &Query) -> Direction {
    match query.sort {
        SortOrder::Newest => Direction::Older,
        SortOrder::Oldest => Direction::Newer,
    }
}
