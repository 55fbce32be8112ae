//! Stage 3, the scan: candidates in the order of the list, in either direction,
//! no more than needed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::fts_engine::fts_engine;
use super::fts_expr::{FtsExpr, Prefilter};
use super::index::rowid_up_to;
use super::matcher::RowMatcher;
use super::periods::Period;
use super::plan::Plan;
use crate::archive::SortKey;
use crate::archive::listing::{ByDirection, Direction};
use crate::archive::storage::db::{Connection, Rows, params};
use crate::archive::storage::error::unreadable_error;
use crate::archive::window::{COUNT_ALL, EmailRow, RowSource};
use crate::error::{ErrorKind, Result};
use crate::query::Query;

/// Checks the time of an email, unless it is one that cannot be compared here.
macro_rules! within_times {
    () => {
        "(created_at BETWEEN ?3 AND ?4 OR typeof(created_at) <> 'integer')"
    };
}

/// Completes a SELECT between two keys for each [`Direction`].
#[rustfmt::skip] // one statement a line
macro_rules! both_directions {
    ($select:expr, $key:literal, $rest:expr) => {
        ByDirection {
            older: concat!($select, $key, " > ?1 AND ", $key, " <= ?2", $rest, " ORDER BY ", $key),
            newer: concat!($select, $key, " < ?1 AND ", $key, " >= ?2", $rest, " ORDER BY ", $key, " DESC"),
        }
    };
}

pub(super) const ALL_ROWS: ByDirection = both_directions!(
    "SELECT sort_key FROM mail WHERE ",
    "sort_key",
    concat!(" AND ", within_times!())
);
pub(super) const MISSING_ROWS: ByDirection = both_directions!(
    "SELECT sort_key FROM mail INDEXED BY mail_missing_upstream WHERE missing_since IS NOT NULL AND ",
    "sort_key",
    concat!(" AND ", within_times!())
);
pub(super) const INDEXED_ROWS: ByDirection = both_directions!(
    concat!(
        "SELECT (SELECT sort_key FROM mail WHERE fts_rowid = search.rowid AND ",
        within_times!(),
        ") FROM search WHERE search MATCH ?5 AND "
    ),
    "rowid",
    ""
);
/// The rowid of the last one of the next `?3` + 1 emails.
pub(super) const COMPARED_ROWID: ByDirection = ByDirection {
    older: "SELECT rowid FROM search WHERE rowid > ?1 AND rowid <= ?2 ORDER BY rowid LIMIT 1 OFFSET ?3",
    newer: "SELECT rowid FROM search WHERE rowid < ?1 AND rowid >= ?2 ORDER BY rowid DESC LIMIT 1 OFFSET ?3",
};

/// Emails that are compared without the index, and how many of them must match for
/// the next ones to be compared, too: with fewer, a window is not full after them.
const COMPARED: [(i64, u32); 2] = [(256, 7), (MOST_COMPARED, u32::MAX)];

/// Emails that a search compares before it reads the index.
pub(super) const MOST_COMPARED: i64 = 2_000;

/// The rowids of a partition: see `postgres.sql`.
const ROWIDS_OF_MONTH: i64 = 5_000_000;

pub(super) const OUT_OF_ORDER_ROWS: ByDirection = ByDirection {
    older: "SELECT sort_key FROM out_of_order WHERE sort_key > ?1 ORDER BY sort_key",
    newer: "SELECT sort_key FROM out_of_order WHERE sort_key < ?1 ORDER BY sort_key DESC",
};
pub(super) const CHANGED_ROWS: ByDirection = ByDirection {
    older: "SELECT sort_key FROM mail INDEXED BY mail_status_changes WHERE status_changes > 0 AND status_seen_at >= ?2 AND sort_key > ?1",
    newer: "SELECT sort_key FROM mail INDEXED BY mail_status_changes WHERE status_changes > 0 AND status_seen_at >= ?2 AND sort_key < ?1",
};

/// Visits a candidate.
///
/// It also gets those that come next, if their rows are better loaded together. It is not generic,
/// so that the scan is compiled once: a candidate costs far more than the call.
type CandidateVisitor<'v> = dyn FnMut(SortKey, &[SortKey]) -> Result<ControlFlow<()>> + 'v;

/// A planned query on one state of the archive.
pub(super) struct Scan<'a> {
    pub(super) connection: &'a Connection,
    pub(super) query: &'a Query,
    pub(super) plan: Plan,
    /// Candidates that cannot be read.
    unreadable: RefCell<BTreeSet<SortKey>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(connection: &'a Connection, query: &'a Query) -> Result<Self> {
        Ok(Self {
            connection,
            query,
            plan: Plan::from_query(query, connection)?,
            unreadable: RefCell::default(),
        })
    }

    pub(super) fn is_match(&self, key: SortKey) -> Result<bool> {
        let direction = Direction::Older;
        let mut matcher = RowMatcher::new(self.connection, self.query, &self.plan, direction);
        Ok(matcher.match_row(key)?.is_some())
    }

    /// Calls `visit` for each match past `from`, nearest first.
    pub(super) fn for_each_match(
        &self,
        direction: Direction,
        mut from: SortKey,
        visit: &mut dyn FnMut(EmailRow) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut matcher = RowMatcher::new(self.connection, self.query, &self.plan, direction);
        if let Some(prefilter) = &self.plan.prefilter {
            let emails: i64 = self.connection.value(COUNT_ALL, [])?;
            let emails = usize::try_from(emails).unwrap_or(0);
            let prefilter = (prefilter, emails);
            let last = self.try_prefilter(prefilter, &mut matcher, direction, from, visit)?;
            let Some(last) = last else { return Ok(()) };
            from = last;
        }
        let mut exprs: Vec<(Period, &FtsExpr)> = vec![(Period::ALL, &self.plan.expr)];
        if !self.plan.periods.is_empty() {
            let periods = self.plan.periods.iter();
            exprs = periods.map(|(period, expr)| (*period, expr)).collect();
        }
        self.for_each_candidate(exprs, direction, from, &mut |key, upcoming| {
            matcher.load_rows(upcoming)?;
            let row = self.match_readable_row(&mut matcher, key)?;
            Ok(row.map_or(ControlFlow::Continue(()), &mut *visit))
        })
    }

    /// Visits the matches of the prefilter while enough of its candidates match.
    ///
    /// Returns the last of them if then too few did;
    /// `None` if the visitor stopped, or no candidate is left.
    pub(super) fn try_prefilter(
        &self,
        (prefilter, emails): (&Prefilter, usize),
        matcher: &mut RowMatcher<'_>,
        direction: Direction,
        from: SortKey,
        visit: &mut dyn FnMut(EmailRow) -> ControlFlow<()>,
    ) -> Result<Option<SortKey>> {
        let (mut examined, mut found) = (0, 0);
        let mut last = None;
        let expr = vec![(Period::ALL, &prefilter.expr)];
        self.for_each_candidate(expr, direction, from, &mut |key, upcoming| {
            matcher.load_rows(upcoming)?;
            examined += 1;
            if let Some(row) = self.match_readable_row(matcher, key)? {
                found += 1;
                if visit(row).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if prefilter.goes_on(examined, found, emails) {
                return Ok(ControlFlow::Continue(()));
            }
            last = Some(key);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(last)
    }

    /// Loads the row if it matches; notes a row that cannot be read.
    pub(super) fn match_readable_row(
        &self,
        matcher: &mut RowMatcher<'_>,
        key: SortKey,
    ) -> Result<Option<EmailRow>> {
        match matcher.match_row(key) {
            Err(error) if error.kind == ErrorKind::ArchiveDamaged => {
                self.unreadable.borrow_mut().insert(key);
                Ok(None)
            }
            loaded => loaded,
        }
    }

    /// Returns the candidates that could not be read, which may match.
    pub(super) fn into_unreadable(self) -> BTreeSet<SortKey> {
        self.unreadable.into_inner()
    }

    /// Fails if emails could not be read, which may match.
    pub(super) fn report_unreadable(&self) -> Result<()> {
        match self.unreadable.borrow().len() {
            0 => Ok(()),
            count => Err(unreadable_error(count)),
        }
    }

    /// Visits each candidate of the expressions of some periods, nearest first.
    ///
    /// Candidates are the emails within the bounds of the query, merged with those out of order and
    /// with those whose status has changed.
    pub(super) fn for_each_candidate(
        &self,
        mut exprs: Vec<(Period, &FtsExpr)>,
        direction: Direction,
        from: SortKey,
        visit: &mut CandidateVisitor<'_>,
    ) -> Result<()> {
        let plan = &self.plan;
        let mut others = self.unbounded_keys(direction, from)?.into_iter().peekable();
        exprs.retain(|(_, expr)| **expr != FtsExpr::Nothing);
        if direction == Direction::Newer {
            exprs.reverse();
        }
        for (period, expr) in exprs {
            let Some((first, last)) = self.keys_within(period, direction, from) else {
                continue;
            };
            let (oldest, newest) = plan.times;
            let mut visit_merged = |key, upcoming: &[SortKey]| {
                while let Some(other) =
                    others.next_if(|other| *other == key || direction.precedes(*other, key))
                {
                    if other != key && visit(other, &[])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                visit(key, upcoming)
            };
            let is_finished = if *expr == FtsExpr::All {
                let sql = if plan.only_missing_upstream {
                    MISSING_ROWS
                } else {
                    ALL_ROWS
                };
                let mut statement = self.connection.prepare_cached(sql.get(direction))?;
                let rows = statement.query(params![first, last, oldest, newest])?;
                self.visit_rows(rows, &mut visit_merged)?.is_break()
            } else {
                self.for_each_indexed(expr, direction, (first, last), &mut visit_merged)?
                    .is_break()
            };
            if is_finished {
                return Ok(());
            }
        }
        for key in others {
            if visit(key, &[])?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the keys of a period past `from`, without the first and with the last,
    /// within the bounds of the query; `None` if there are none.
    pub(super) fn keys_within(
        &self,
        period: Period,
        direction: Direction,
        from: SortKey,
    ) -> Option<(SortKey, SortKey)> {
        let newest_key = period.newest_key.min(self.plan.newest_key);
        let oldest_key = period.oldest_key.max(self.plan.oldest_key);
        let (first, last) = match direction {
            Direction::Older => (from.min(newest_key.next_newer()), oldest_key),
            Direction::Newer => (from.max(oldest_key.next_older()), newest_key),
        };
        direction.precedes(first, last).then_some((first, last))
    }

    /// Visits what the index finds between two keys.
    ///
    /// Where the index is not in the order of the list, the nearest emails are first compared one
    /// by one: that finds enough of what many emails match. Then few others match, and are sorted:
    /// those of the nearest month, and if they are not enough, those of as many months again, and
    /// so on.
    fn for_each_indexed(
        &self,
        expr: &FtsExpr,
        direction: Direction,
        (first, last): (SortKey, SortKey),
        visit: &mut CandidateVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        let connection = self.connection;
        let (mut first, last) = self.rowids_within((first, last), direction)?;
        if first == last {
            return Ok(ControlFlow::Continue(()));
        }
        let (oldest, newest) = self.plan.times;
        let text = expr.to_match_text(connection);
        let mut statement = connection.prepare_cached(INDEXED_ROWS.get(direction))?;
        if fts_engine(connection).is_ordered {
            let rows = statement.query(params![first, last, oldest, newest, text])?;
            return self.visit_rows(rows, visit);
        }
        for (emails, enough) in COMPARED {
            let query = COMPARED_ROWID.get(direction);
            let params = [first, last, emails - 1];
            let compared: Option<i64> = connection.optional_value(query, params)?;
            let until = compared.unwrap_or(last);
            let rows = statement.query(params![first, until, oldest, newest, text])?;
            let mut found = 0;
            let visited = self.visit_rows(rows, &mut |key, upcoming: &[SortKey]| {
                found += 1;
                visit(key, upcoming)
            })?;
            if compared.is_none() || visited.is_break() {
                return Ok(visited);
            }
            first = until;
            if found < enough {
                break;
            }
        }
        let mut read: i64 = 0;
        while first != last {
            let months = read.max(1);
            let until = month_end(direction, first, months, last);
            let rows = connection
                .without_walks(|| statement.query(params![first, until, oldest, newest, text]))?;
            if self.visit_rows(rows, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            first = until;
            read = read.saturating_add(months);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the rowids of the emails between two keys,
    /// without the first and with the last.
    pub(super) fn rowids_within(
        &self,
        (first, last): (SortKey, SortKey),
        direction: Direction,
    ) -> Result<(i64, i64)> {
        let rowid = |key| rowid_up_to(self.connection, direction, key);
        Ok((rowid(first)?, rowid(last)?))
    }

    /// Visits rows of sort keys.
    /// Those of a server come together with the ones that follow.
    fn visit_rows(
        &self,
        mut rows: Rows<'_>,
        visit: &mut CandidateVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        let [mut size, most] = fts_engine(self.connection).chunk;
        let mut chunk: Vec<SortKey> = Vec::new();
        loop {
            chunk.clear();
            while chunk.len() < size
                && let Some(row) = rows.next()?
            {
                chunk.extend(row.get::<Option<SortKey>>()?);
            }
            if chunk.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let mut upcoming = if most > 1 { &chunk[..] } else { &[] };
            for key in chunk.iter().copied() {
                if visit(key, std::mem::take(&mut upcoming))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            size = (size * 4).min(most);
        }
    }

    /// Returns the candidates to which the bounds of the query do not apply,
    /// nearest first.
    fn unbounded_keys(&self, direction: Direction, from: SortKey) -> Result<Vec<SortKey>> {
        let plan = &self.plan;
        let mut keys = Vec::new();
        if plan.has_times {
            let query = OUT_OF_ORDER_ROWS.get(direction);
            keys = self.connection.values(query, [from])?;
        }
        if let Some(since) = plan.changed_since {
            let query = CHANGED_ROWS.get(direction);
            let changed: Vec<SortKey> = self.connection.values(query, params![from, since])?;
            keys.extend(changed);
        }
        let is_past = |key: &&SortKey| direction.precedes(from, **key);
        keys.extend(plan.incomplete.iter().filter(is_past));
        keys.sort_unstable();
        keys.dedup();
        if direction == Direction::Older {
            keys.reverse();
        }
        Ok(keys)
    }
}

impl RowSource for Scan<'_> {
    fn rows(&self, direction: Direction, from: SortKey, limit: usize) -> Result<Vec<EmailRow>> {
        let mut rows = Vec::new();
        if limit > 0 {
            self.for_each_match(direction, from, &mut |row| {
                rows.push(row.shorten());
                continue_while(rows.len() < limit)
            })?;
        }
        Ok(rows)
    }
}

/// Returns the last rowid of so many partitions past `first`, but none past `last`.
fn month_end(direction: Direction, first: i64, months: i64, last: i64) -> i64 {
    let past = |start: i64, months: i64| {
        let month = start.div_euclid(ROWIDS_OF_MONTH).saturating_add(months);
        month.saturating_mul(ROWIDS_OF_MONTH)
    };
    match direction {
        Direction::Older => (past(first.saturating_add(1), months) - 1).min(last),
        Direction::Newer => past(first.saturating_sub(1), 1 - months).max(last),
    }
}

pub(super) const fn continue_while(condition: bool) -> ControlFlow<()> {
    if condition {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_where_partitions_do() {
        let month = ROWIDS_OF_MONTH;
        for (first, months, older, newer) in [
            (0, 1, month - 1, -month),
            (1, 1, month - 1, 0),
            (-1, 1, month - 1, -month),
            (-2, 1, -1, -month),
            (month - 1, 1, 2 * month - 1, 0),
            (month, 4, 5 * month - 1, -3 * month),
            (i64::MAX - 9, 1, i64::MAX - 1, i64::MAX / month * month),
        ] {
            let last = (i64::MAX - 1, i64::MIN + 1);
            assert_eq!(month_end(Direction::Older, first, months, last.0), older);
            assert_eq!(month_end(Direction::Newer, first, months, last.1), newer);
        }
        assert_eq!(month_end(Direction::Older, 7, 64, 40), 40);
        assert_eq!(month_end(Direction::Newer, 7, 64, -40), -40);
    }
}
