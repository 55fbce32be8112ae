//! Walks candidates in the order of the list, in either direction, and no further than it must.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::count::PAST;
use super::held::Held;
use super::judge::Judge;
use super::plan::{Ask, Plan};
use super::slot;
use crate::archive::window::Row;
use crate::archive::{Place, health};
use crate::failure::Failure;
use crate::query::Query;

/// As long as one of so many matches, the others are looked at one by one as well: the index would
/// gather hundreds of thousands of answers in memory for the ten thousand that are counted.
const DENSE: usize = 4;

/// Whether a time is within the bounds, or is none that can be compared here.
macro_rules! timely {
    () => {
        "(created_at BETWEEN ?3 AND ?4 OR typeof(created_at) <> 'integer')"
    };
}

pub(super) const ROWS_DOWN: &str = concat!(
    "SELECT place FROM mail WHERE place > ?1 AND place <= ?2 AND ",
    timely!(),
    " ORDER BY place"
);
pub(super) const ROWS_UP: &str = concat!(
    "SELECT place FROM mail WHERE place < ?1 AND place >= ?2 AND ",
    timely!(),
    " ORDER BY place DESC"
);
pub(super) const GONE_DOWN: &str = concat!(
    "SELECT place FROM mail INDEXED BY mail_gone WHERE gone IS NOT NULL AND place > ?1 AND place <= ?2 AND ",
    timely!(),
    " ORDER BY place"
);
pub(super) const GONE_UP: &str = concat!(
    "SELECT place FROM mail INDEXED BY mail_gone WHERE gone IS NOT NULL AND place < ?1 AND place >= ?2 AND ",
    timely!(),
    " ORDER BY place DESC"
);
pub(super) const FOUND_DOWN: &str = concat!(
    "SELECT (SELECT place FROM mail WHERE slot = search.rowid AND ",
    timely!(),
    ") FROM search WHERE search MATCH ?5 AND rowid > ?1 AND rowid <= ?2 ORDER BY rowid"
);
pub(super) const FOUND_UP: &str = concat!(
    "SELECT (SELECT place FROM mail WHERE slot = search.rowid AND ",
    timely!(),
    ") FROM search WHERE search MATCH ?5 AND rowid < ?1 AND rowid >= ?2 ORDER BY rowid DESC"
);
pub(super) const DISPLACED_DOWN: &str =
    "SELECT place FROM displaced WHERE place > ?1 ORDER BY place";
pub(super) const DISPLACED_UP: &str =
    "SELECT place FROM displaced WHERE place < ?1 ORDER BY place DESC";

/// Which way to walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To older emails.
    Down,
    /// To newer emails.
    Up,
}

impl Way {
    pub(super) const fn back(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// Whether `one` comes before `other`.
    fn is_before(self, one: Place, other: Place) -> bool {
        match self {
            Self::Down => one > other,
            Self::Up => one < other,
        }
    }
}

/// A query that is ready to be answered on one state of the archive.
pub(super) struct Walk<'a> {
    connection: &'a Connection,
    query: &'a Query,
    plan: Plan,
    /// Candidates that cannot be read.
    unreadable: RefCell<BTreeSet<Place>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(connection: &'a Connection, query: &'a Query) -> Result<Self, Failure> {
        Ok(Self {
            connection,
            query,
            plan: Plan::of(query, connection)?,
            unreadable: RefCell::default(),
        })
    }

    /// Hands each match past `from` to `take`, nearest first, until that wants no more.
    pub(super) fn each(
        &self,
        way: Way,
        from: Place,
        mut take: impl FnMut(Row) -> bool,
    ) -> Result<(), Failure> {
        let held = Held::new(self.connection, self.query, way);
        let mut judge = Judge {
            connection: self.connection,
            query: self.query,
            plan: &self.plan,
            held,
        };
        let mut from = from;
        if let Some((first, at_once)) = &self.plan.first {
            let (mut looked, mut found) = (0, 0);
            let (mut is_done, mut is_end) = (false, true);
            self.candidates(first, way, from, |place| {
                from = place;
                looked += 1;
                if let Some(row) = self.load(&mut judge, place)? {
                    found += 1;
                    is_done = !take(row);
                }
                is_end = !is_done && (looked < *at_once || found * DENSE >= looked);
                Ok(is_end)
            })?;
            if is_done || is_end {
                return Ok(());
            }
        }
        self.candidates(&self.plan.ask, way, from, |place| {
            Ok(self.load(&mut judge, place)?.is_none_or(&mut take))
        })
    }

    /// The row at `place`, if it matches. One that cannot be read is noted, and the walk goes on.
    fn load(&self, judge: &mut Judge<'_>, place: Place) -> Result<Option<Row>, Failure> {
        match judge.row(place) {
            Err(failure) if health::is_damage(&failure) => {
                self.unreadable.borrow_mut().insert(place);
                Ok(None)
            }
            loaded => loaded,
        }
    }

    /// # Errors
    ///
    /// If emails could not be read, which may match.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.unreadable.borrow().len() {
            0 => Ok(()),
            count => Err(health::unreadable(count)),
        }
    }

    /// How many match past `from`, as far as `most`.
    pub(super) fn count(&self, way: Way, from: Place, most: u64) -> Result<u64, Failure> {
        let mut found = 0;
        if self.plan.exact {
            let (above, below) = match way {
                Way::Down => (slot::floor(self.connection, from)?, i64::MAX),
                Way::Up => (i64::MIN, slot::ceiling(self.connection, from)?),
            };
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = self.connection.prepare_cached(PAST)?;
            let count: i64 = statement
                .query_row(params![self.plan.ask.text(), above, below, most], |row| {
                    row.get(0)
                })?;
            found = count.unsigned_abs();
        } else if most > 0 {
            self.each(way, from, |_| {
                found += 1;
                found < most
            })?;
        }
        Ok(found)
    }

    /// At most `limit` matches past `from`, nearest first.
    pub(super) fn rows(&self, way: Way, from: Place, limit: usize) -> Result<Vec<Row>, Failure> {
        let mut found = Vec::new();
        if limit > 0 {
            self.each(way, from, |mut row| {
                row.summary.shorten();
                found.push(row);
                found.len() < limit
            })?;
        }
        Ok(found)
    }

    /// Whether anything past `from` matches.
    pub(super) fn any(&self, way: Way, from: Place) -> Result<bool, Failure> {
        Ok(!self.rows(way, from, 1)?.is_empty())
    }

    /// Hands over the places that `ask` may mean, nearest first: those within the bounds of the query
    /// and, in their order, the displaced ones.
    fn candidates(
        &self,
        ask: &Ask,
        way: Way,
        from: Place,
        mut take: impl FnMut(Place) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let is_bounded = (self.plan.newest.0, self.plan.oldest.0) != (i64::MAX, i64::MIN);
        let displaced = if is_bounded {
            self.displaced(way, from)?
        } else {
            Vec::new()
        };
        let mut displaced = displaced.into_iter().peekable();
        if *ask != Ask::Nothing {
            let (first, last) = match way {
                Way::Down => (from.min(self.plan.newest.above()), self.plan.oldest),
                Way::Up => (from.max(self.plan.oldest.below()), self.plan.newest),
            };
            let slot = if way == Way::Down {
                slot::floor
            } else {
                slot::ceiling
            };
            let (since, until) = self.plan.times;
            let sql = match (way, *ask == Ask::All) {
                (Way::Down, true) if self.plan.gone => GONE_DOWN,
                (Way::Up, true) if self.plan.gone => GONE_UP,
                (Way::Down, true) => ROWS_DOWN,
                (Way::Up, true) => ROWS_UP,
                (Way::Down, false) => FOUND_DOWN,
                (Way::Up, false) => FOUND_UP,
            };
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = match ask {
                Ask::All => statement.query(params![first, last, since, until])?,
                ask => statement.query(params![
                    slot(self.connection, first)?,
                    slot(self.connection, last)?,
                    since,
                    until,
                    ask.text()
                ])?,
            };
            while let Some(row) = rows.next()? {
                let Some(place) = row.get::<_, Option<Place>>(0)? else {
                    continue;
                };
                while let Some(other) =
                    displaced.next_if(|other| *other == place || way.is_before(*other, place))
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

    fn displaced(&self, way: Way, from: Place) -> Result<Vec<Place>, Failure> {
        let sql = if way == Way::Down {
            DISPLACED_DOWN
        } else {
            DISPLACED_UP
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement
            .query_map([from], |row| row.get(0))?
            .collect::<Result<_, _>>()?)
    }
}
