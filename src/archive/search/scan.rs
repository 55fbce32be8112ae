//! Walks candidates in the order of the list, in either direction, and no further than it must.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::count::COUNT_BETWEEN;
use super::held::BodyWords;
use super::matcher::RowMatcher;
use super::plan::{FtsExpr, Plan};
use super::slot;
use crate::archive::window::EmailRow;
use crate::archive::{SortKey, integrity};
use crate::error::Error;
use crate::query::Query;

/// As long as one of so many matches, the others are looked at one by one as well: the index would
/// gather hundreds of thousands of answers in memory for the ten thousand that are counted.
const DENSE_RATIO: usize = 4;

/// Whether a time is within the bounds, or is none that can be compared here.
macro_rules! within_times {
    () => {
        "(created_at BETWEEN ?3 AND ?4 OR typeof(created_at) <> 'integer')"
    };
}

pub(super) const ALL_OLDER: &str = concat!(
    "SELECT sort_key FROM mail WHERE sort_key > ?1 AND sort_key <= ?2 AND ",
    within_times!(),
    " ORDER BY sort_key"
);
pub(super) const ALL_NEWER: &str = concat!(
    "SELECT sort_key FROM mail WHERE sort_key < ?1 AND sort_key >= ?2 AND ",
    within_times!(),
    " ORDER BY sort_key DESC"
);
pub(super) const MISSING_OLDER: &str = concat!(
    "SELECT sort_key FROM mail INDEXED BY mail_missing_upstream WHERE missing_since IS NOT NULL AND sort_key > ?1 AND sort_key <= ?2 AND ",
    within_times!(),
    " ORDER BY sort_key"
);
pub(super) const MISSING_NEWER: &str = concat!(
    "SELECT sort_key FROM mail INDEXED BY mail_missing_upstream WHERE missing_since IS NOT NULL AND sort_key < ?1 AND sort_key >= ?2 AND ",
    within_times!(),
    " ORDER BY sort_key DESC"
);
pub(super) const INDEXED_OLDER: &str = concat!(
    "SELECT (SELECT sort_key FROM mail WHERE fts_rowid = search.rowid AND ",
    within_times!(),
    ") FROM search WHERE search MATCH ?5 AND rowid > ?1 AND rowid <= ?2 ORDER BY rowid"
);
pub(super) const INDEXED_NEWER: &str = concat!(
    "SELECT (SELECT sort_key FROM mail WHERE fts_rowid = search.rowid AND ",
    within_times!(),
    ") FROM search WHERE search MATCH ?5 AND rowid < ?1 AND rowid >= ?2 ORDER BY rowid DESC"
);
pub(super) const OUT_OF_ORDER_OLDER: &str =
    "SELECT sort_key FROM out_of_order WHERE sort_key > ?1 ORDER BY sort_key";
pub(super) const OUT_OF_ORDER_NEWER: &str =
    "SELECT sort_key FROM out_of_order WHERE sort_key < ?1 ORDER BY sort_key DESC";

/// Which way to walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To older emails.
    Older,
    /// To newer emails.
    Newer,
}

impl Direction {
    pub(super) const fn reverse(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }

    /// Whether `one` comes before `other`.
    fn precedes(self, one: SortKey, other: SortKey) -> bool {
        match self {
            Self::Older => one > other,
            Self::Newer => one < other,
        }
    }
}

/// A query that is ready to be answered on one state of the archive.
pub(super) struct Scan<'a> {
    connection: &'a Connection,
    query: &'a Query,
    plan: Plan,
    /// Candidates that cannot be read.
    unreadable: RefCell<BTreeSet<SortKey>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(connection: &'a Connection, query: &'a Query) -> Result<Self, Error> {
        Ok(Self {
            connection,
            query,
            plan: Plan::from_query(query, connection)?,
            unreadable: RefCell::default(),
        })
    }

    /// Hands each match past `from` to `take`, nearest first, until that wants no more.
    pub(super) fn for_each_match(
        &self,
        way: Direction,
        from: SortKey,
        mut take: impl FnMut(EmailRow) -> bool,
    ) -> Result<(), Error> {
        let held = BodyWords::new(self.connection, self.query, way);
        let mut judge = RowMatcher {
            connection: self.connection,
            query: self.query,
            plan: &self.plan,
            body_words: held,
        };
        let mut from = from;
        if let Some((first, at_once)) = &self.plan.prefilter {
            let (mut looked, mut found) = (0, 0);
            let (mut is_done, mut is_end) = (false, true);
            self.for_each_candidate(first, way, from, |place| {
                from = place;
                looked += 1;
                if let Some(row) = self.match_readable_row(&mut judge, place)? {
                    found += 1;
                    is_done = !take(row);
                }
                is_end = !is_done && (looked < *at_once || found * DENSE_RATIO >= looked);
                Ok(is_end)
            })?;
            if is_done || is_end {
                return Ok(());
            }
        }
        self.for_each_candidate(&self.plan.expr, way, from, |place| {
            Ok(self
                .match_readable_row(&mut judge, place)?
                .is_none_or(&mut take))
        })
    }

    /// The row at `place`, if it matches. One that cannot be read is noted, and the walk goes on.
    fn match_readable_row(
        &self,
        judge: &mut RowMatcher<'_>,
        place: SortKey,
    ) -> Result<Option<EmailRow>, Error> {
        match judge.match_row(place) {
            Err(failure) if integrity::is_damage_error(&failure) => {
                self.unreadable.borrow_mut().insert(place);
                Ok(None)
            }
            loaded => loaded,
        }
    }

    /// # Errors
    ///
    /// If emails could not be read, which may match.
    pub(super) fn report_unreadable(&self) -> Result<(), Error> {
        match self.unreadable.borrow().len() {
            0 => Ok(()),
            count => Err(integrity::unreadable_error(count)),
        }
    }

    /// How many match past `from`, as far as `most`.
    pub(super) fn count_matches(
        &self,
        way: Direction,
        from: SortKey,
        most: u64,
    ) -> Result<u64, Error> {
        let mut found = 0;
        if self.plan.is_exact {
            let (above, below) = match way {
                Direction::Older => (slot::rowid_at_or_newer(self.connection, from)?, i64::MAX),
                Direction::Newer => (i64::MIN, slot::rowid_at_or_older(self.connection, from)?),
            };
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = self.connection.prepare_cached(COUNT_BETWEEN)?;
            let count: i64 = statement.query_row(
                params![self.plan.expr.to_match_text(), above, below, most],
                |row| row.get(0),
            )?;
            found = count.unsigned_abs();
        } else if most > 0 {
            self.for_each_match(way, from, |_| {
                found += 1;
                found < most
            })?;
        }
        Ok(found)
    }

    /// At most `limit` matches past `from`, nearest first.
    pub(super) fn collect_rows(
        &self,
        way: Direction,
        from: SortKey,
        limit: usize,
    ) -> Result<Vec<EmailRow>, Error> {
        let mut found = Vec::new();
        if limit > 0 {
            self.for_each_match(way, from, |mut row| {
                row.summary.truncate_for_list();
                found.push(row);
                found.len() < limit
            })?;
        }
        Ok(found)
    }

    /// Whether anything past `from` matches.
    pub(super) fn has_match(&self, way: Direction, from: SortKey) -> Result<bool, Error> {
        Ok(!self.collect_rows(way, from, 1)?.is_empty())
    }

    /// Hands over the places that `ask` may mean, nearest first: those within the bounds of the query
    /// and, in their order, the displaced ones.
    fn for_each_candidate(
        &self,
        ask: &FtsExpr,
        way: Direction,
        from: SortKey,
        mut take: impl FnMut(SortKey) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let is_bounded = (self.plan.newest_key.0, self.plan.oldest_key.0) != (i64::MAX, i64::MIN);
        let displaced = if is_bounded {
            self.out_of_order_keys(way, from)?
        } else {
            Vec::new()
        };
        let mut displaced = displaced.into_iter().peekable();
        if *ask != FtsExpr::Nothing {
            let (first, last) = match way {
                Direction::Older => (
                    from.min(self.plan.newest_key.next_newer()),
                    self.plan.oldest_key,
                ),
                Direction::Newer => (
                    from.max(self.plan.oldest_key.next_older()),
                    self.plan.newest_key,
                ),
            };
            let slot = if way == Direction::Older {
                slot::rowid_at_or_newer
            } else {
                slot::rowid_at_or_older
            };
            let (since, until) = self.plan.times;
            let sql = match (way, *ask == FtsExpr::All) {
                (Direction::Older, true) if self.plan.only_missing_upstream => MISSING_OLDER,
                (Direction::Newer, true) if self.plan.only_missing_upstream => MISSING_NEWER,
                (Direction::Older, true) => ALL_OLDER,
                (Direction::Newer, true) => ALL_NEWER,
                (Direction::Older, false) => INDEXED_OLDER,
                (Direction::Newer, false) => INDEXED_NEWER,
            };
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = match ask {
                FtsExpr::All => statement.query(params![first, last, since, until])?,
                ask => statement.query(params![
                    slot(self.connection, first)?,
                    slot(self.connection, last)?,
                    since,
                    until,
                    ask.to_match_text()
                ])?,
            };
            while let Some(row) = rows.next()? {
                let Some(place) = row.get::<_, Option<SortKey>>(0)? else {
                    continue;
                };
                while let Some(other) =
                    displaced.next_if(|other| *other == place || way.precedes(*other, place))
                {
                    if other != place && !take(other)? {
                        return Ok(());
                    }
                }
                if !take(place)? {
                    return Ok(());
                }
            }
        }
        for place in displaced {
            if !take(place)? {
                break;
            }
        }
        Ok(())
    }

    fn out_of_order_keys(&self, way: Direction, from: SortKey) -> Result<Vec<SortKey>, Error> {
        let sql = if way == Direction::Older {
            OUT_OF_ORDER_OLDER
        } else {
            OUT_OF_ORDER_NEWER
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement
            .query_map([from], |row| row.get(0))?
            .collect::<Result<_, _>>()?)
    }
}
