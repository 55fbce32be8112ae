//! `Upkeep`: work that opening an older archive takes, and how far it is.

use std::fmt;

/// Work on an archive of an older version, which takes a while if that is large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    work: Work,
    done: i64,
    all: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Converting,
    Indexing,
}

impl Upkeep {
    pub(super) const fn converting(done: i64, all: i64) -> Self {
        Self { work: Work::Converting, done, all }
    }

    pub(super) const fn indexing(done: i64, all: i64) -> Self {
        Self { work: Work::Indexing, done, all }
    }

    /// How much of it is done, in percent.
    #[must_use]
    pub const fn percent(&self) -> i64 {
        if self.all > 0 { self.done * 100 / self.all } else { 100 }
    }
}

impl fmt::Display for Upkeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Converting => "bringing the archive to this version",
            Work::Indexing => "indexing the archive for search",
        };
        write!(f, "{work}: {} % of {} emails", self.percent(), self.all)
    }
}
