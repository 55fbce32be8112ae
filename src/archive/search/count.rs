//! How many: of what a query finds, and of what the archive knows.

use super::halt::CancellationToken;
use super::scan::{Direction, Scan};
use crate::archive::window::TOP;
use crate::archive::{Archive, SortKey};
use crate::error::Error;
use crate::query::Query;

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchCount {
    /// So many.
    Exactly(u64),
    /// More than so many; nobody counted further.
    MoreThan(u64),
}

/// How much of the archive the operators on bodies and tags look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyAvailability {
    /// Emails whose bodies and tags are known.
    pub(crate) fetched: u64,
    /// Emails.
    pub(crate) emails: u64,
}

pub(super) const COUNT_BETWEEN: &str = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid < ?3 LIMIT ?4)";
pub(super) const COUNT_MATCHES: &str =
    "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2)";

impl Archive {
    /// How many emails match, as far as `most`; `None` if `halt` broke it off.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn count_matches(
        &self,
        query: &Query,
        most: u64,
        halt: &CancellationToken,
    ) -> Result<Option<MatchCount>, Error> {
        if query.is_match_all() {
            return Ok(Some(MatchCount::Exactly(self.query_count()?)));
        }
        self.count_matches_from(query, Direction::Older, TOP, most, halt)
    }

    /// How many matches are newer than `place`, as far as `most`; `None` if `halt` broke it off.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn count_newer_matches(
        &self,
        query: &Query,
        place: SortKey,
        most: u64,
        halt: &CancellationToken,
    ) -> Result<Option<MatchCount>, Error> {
        self.count_matches_from(query, Direction::Newer, place, most, halt)
    }

    fn count_matches_from(
        &self,
        query: &Query,
        way: Direction,
        from: SortKey,
        most: u64,
        halt: &CancellationToken,
    ) -> Result<Option<MatchCount>, Error> {
        self.connections.read_cancellable(halt, |connection| {
            let walk = Scan::new(connection, query)?;
            let found = walk.count_matches(way, from, most.saturating_add(1))?;
            walk.report_unreadable()?;
            Ok(if found > most {
                MatchCount::MoreThan(most)
            } else {
                MatchCount::Exactly(found)
            })
        })
    }

    /// For how many emails the operators on bodies and tags can tell.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn body_availability(&self) -> Result<BodyAvailability, Error> {
        self.connections.read(|connection| {
            let sql = "SELECT bodies, emails FROM row_counts";
            let (fetched, emails): (i64, i64) =
                connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(BodyAvailability {
                fetched: fetched.unsigned_abs(),
                emails: emails.unsigned_abs(),
            })
        })
    }
}
