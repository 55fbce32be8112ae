//! How many: of what a query finds, and of what the archive knows.

use super::halt::Halt;
use super::walk::{Walk, Way};
use crate::archive::window::TOP;
use crate::archive::{Archive, Place};
use crate::failure::Failure;
use crate::query::Query;

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// So many.
    Exactly(u64),
    /// More than so many; nobody counted further.
    MoreThan(u64),
}

/// How much of the archive the operators on bodies and tags look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Emails whose bodies and tags are known.
    pub fetched: u64,
    /// Emails.
    pub emails: u64,
}

pub(super) const PAST: &str = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid < ?3 LIMIT ?4)";
pub(super) const TOKENS: &str =
    "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2)";

impl Archive {
    /// How many emails match, as far as `most`; `None` if `halt` broke it off.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn count_matching(
        &self,
        query: &Query,
        most: u64,
        halt: &Halt,
    ) -> Result<Option<Counted>, Failure> {
        if query.is_everything() {
            return Ok(Some(Counted::Exactly(self.count()?)));
        }
        self.count_past(query, Way::Down, TOP, most, halt)
    }

    /// How many matches are newer than `place`, as far as `most`; `None` if `halt` broke it off.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn rank_matching(
        &self,
        query: &Query,
        place: Place,
        most: u64,
        halt: &Halt,
    ) -> Result<Option<Counted>, Failure> {
        self.count_past(query, Way::Up, place, most, halt)
    }

    fn count_past(
        &self,
        query: &Query,
        way: Way,
        from: Place,
        most: u64,
        halt: &Halt,
    ) -> Result<Option<Counted>, Failure> {
        self.connections.search(halt, |connection| {
            let walk = Walk::new(connection, query)?;
            let found = walk.count(way, from, most.saturating_add(1))?;
            walk.check()?;
            Ok(if found > most {
                Counted::MoreThan(most)
            } else {
                Counted::Exactly(found)
            })
        })
    }

    /// For how many emails the operators on bodies and tags can tell.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn scope(&self) -> Result<Scope, Failure> {
        self.connections.read(|connection| {
            let sql = "SELECT bodies, emails FROM tally";
            let (fetched, emails): (i64, i64) =
                connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Scope {
                fetched: fetched.unsigned_abs(),
                emails: emails.unsigned_abs(),
            })
        })
    }
}
