//! The service's listing: the order of its emails, which ranges of it are known,
//! and what left it.
//!
//! [`SortKey`] is the position of an email in the list, [`RequestStamp`] the order of requests.

pub(crate) mod confirmations;
pub(crate) mod coverage;
pub(crate) mod coverage_update;
pub(crate) mod deletions;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod position;

use jiff::{SignedDuration, Timestamp};
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

use crate::archive::Archive;
use crate::archive::storage::db::{Transaction, params};
use crate::error::Result;

/// Bits below a microsecond: a thousand keys between two neighbouring times.
const FRACTION_BITS: u32 = 10;

/// Beyond this distance from 1970 (about the years 1827 to 2112) a time gives no
/// key.
const MAX_MICROS: i64 = 1 << 52;

/// The position of an email in the list: the larger, the newer.
///
/// The tables store sort keys negated. The archive grows mostly backwards, page by older page, and
/// a tree that grows at its far end has full leaves; at its near end they would be half empty.
///
/// Keys do not show how far apart two emails are, and one may change when the service contradicts
/// the known order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(pub(crate) i64);

impl ToSql for SortKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.saturating_neg()))
    }
}

impl FromSql for SortKey {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|stored| Self(stored.saturating_neg()))
    }
}

impl SortKey {
    /// Returns the key of an email of that time; `None` if the time is absurd.
    pub(crate) fn from_micros(micros: i64) -> Option<Self> {
        (-MAX_MICROS..MAX_MICROS)
            .contains(&micros)
            .then_some(Self(micros << FRACTION_BITS))
    }

    /// Returns the newest key of that microsecond or, for an absurd time, of all.
    pub(crate) fn newest_at(micros: i64) -> Self {
        Self(Self::oldest_at(micros).0 | ((1 << FRACTION_BITS) - 1))
    }

    /// Returns the oldest key of that microsecond or, for an absurd time, of all.
    pub(crate) fn oldest_at(micros: i64) -> Self {
        Self(micros.clamp(-MAX_MICROS, MAX_MICROS - 1) << FRACTION_BITS)
    }

    pub(crate) const fn next_newer(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    pub(crate) const fn next_older(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Returns the time of the key in microseconds since 1970:
    /// nearly always the email's own.
    pub(crate) const fn micros(self) -> i64 {
        self.0 >> FRACTION_BITS
    }
}

/// One past either end of the list.
pub(crate) const TOP: SortKey = SortKey(i64::MAX);
pub(crate) const BOTTOM: SortKey = SortKey(i64::MIN);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Older,
    Newer,
}

impl Direction {
    pub(crate) const fn reverse(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }

    /// Returns the key past the last email in this direction.
    pub(crate) const fn end(self) -> SortKey {
        match self {
            Self::Older => BOTTOM,
            Self::Newer => TOP,
        }
    }

    /// Whether `key` comes before `other`.
    pub(crate) fn precedes(self, key: SortKey, other: SortKey) -> bool {
        match self {
            Self::Older => key > other,
            Self::Newer => key < other,
        }
    }

    pub(crate) fn next_key(self, key: SortKey) -> SortKey {
        match self {
            Self::Older => key.next_older(),
            Self::Newer => key.next_newer(),
        }
    }
}

/// A statement for each [`Direction`]. Stored sort keys are negated, so the larger
/// one is the older.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByDirection {
    pub(crate) older: &'static str,
    pub(crate) newer: &'static str,
}

impl ByDirection {
    pub(crate) const fn get(self, direction: Direction) -> &'static str {
        match direction {
            Direction::Older => self.older,
            Direction::Newer => self.newer,
        }
    }
}

/// When a request was sent. The wall clock may jump, so the archive numbers the
/// requests: a response with a smaller number is older, whatever the clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestStamp {
    /// When the service gave the response, by the wall clock; a mirror's may be older.
    /// Decides confirmation, retention and clock skew.
    pub(crate) as_of: Timestamp,
    /// Whether the service is known to have confirmed the statuses of the response at
    /// that time.
    is_confirmed: bool,
    is_of_mirror: bool,
    /// How far the service's clock is ahead of ours, if that is known.
    clock_skew: Option<SignedDuration>,
    /// The number: microseconds since 1970 as long as the clock moves forward.
    pub(crate) seq: i64,
    /// The time for which the response says which emails are the newest.
    pub(crate) listed_at: Timestamp,
}

impl From<Timestamp> for RequestStamp {
    /// Creates a request whose number is its time: for a clock that does not jump.
    fn from(at: Timestamp) -> Self {
        Self {
            as_of: at,
            is_confirmed: true,
            is_of_mirror: false,
            clock_skew: None,
            seq: at.as_microsecond(),
            listed_at: at,
        }
    }
}

impl RequestStamp {
    /// Returns it with the time at which a mirror had the response from the service.
    /// The service itself reports none; if a mirror reports none, the response confirms nothing.
    ///
    /// Of a page, `listed_at` is the time at which the mirror read the newest page: a status may be
    /// older. A mirror of an older version does not report it.
    pub(crate) fn known_by(
        self,
        mirrored_at: Option<Timestamp>,
        listed_at: Option<Timestamp>,
        is_mirror: bool,
    ) -> Self {
        let [at, listed_at] = [mirrored_at, listed_at.or(mirrored_at)]
            .map(|at| at.map_or(self.as_of, |at| at.min(self.as_of)));
        Self {
            as_of: at,
            is_confirmed: mirrored_at.is_some() || !is_mirror,
            is_of_mirror: is_mirror,
            listed_at,
            ..self
        }
    }

    pub(crate) fn with_clock_skew(self, clock_skew: Option<SignedDuration>) -> Self {
        Self { clock_skew, ..self }
    }

    /// Returns the time of the response by the service's clock,
    /// or by ours if the other is not known.
    pub(crate) fn service_time(self) -> Timestamp {
        let skew = self.clock_skew.unwrap_or_default();
        self.as_of.saturating_add(skew).unwrap_or(self.as_of)
    }

    pub(crate) fn micros(self) -> i64 {
        self.as_of.as_microsecond()
    }

    /// Returns when the service confirmed the statuses of the response,
    /// if that is known.
    pub(crate) fn confirmed_at(self) -> Option<Timestamp> {
        self.is_confirmed.then_some(self.as_of)
    }
}

/// Records an answer: ages count from the last one,
/// and the first one decides whether the archive is a copy of a mirror.
pub(crate) fn record_answer(tx: &Transaction, request: RequestStamp) -> Result<()> {
    let query = "UPDATE listing SET answered_at = ?1, is_mirror = coalesce(is_mirror, ?2)";
    let answered_at = request.service_time().min(request.as_of).as_microsecond();
    tx.execute(query, params![answered_at, request.is_of_mirror])
}

impl Archive {
    /// Whether it is a copy of a mirror, whose purges it follows;
    /// `None` before the first answer.
    pub(crate) fn follows_mirror(&self) -> Result<Option<bool>> {
        self.read(|conn| conn.value("SELECT is_mirror FROM listing", []))
    }

    /// Numbers a request that is about to be sent at `now`.
    /// No two requests of all processes get the same number; in a read-only archive the time is
    /// enough.
    pub(crate) fn stamp_request(&self, now: Timestamp) -> Result<RequestStamp> {
        if self.read_only_reason().is_some() {
            return Ok(now.into());
        }
        let query = "UPDATE listing SET last_request_seq = max(?1, last_request_seq + 1) RETURNING last_request_seq";
        let seq = self.write(|tx| tx.value(query, [now.as_microsecond()]))?;
        Ok(RequestStamp {
            seq,
            ..RequestStamp::from(now)
        })
    }

    /// Returns the number of the latest request of any process.
    pub(crate) fn latest_request(&self) -> Result<i64> {
        self.read(|conn| conn.value("SELECT last_request_seq FROM listing", []))
    }

    /// Adds requests to those that the backfill of any process has sent on the day
    /// (UTC) of `now`, unless there are then more than `limit`; returns whether it did.
    pub(crate) fn count_backfill(&self, now: Timestamp, requests: u64, limit: u64) -> Result<bool> {
        let query = "UPDATE listing SET backfill_requests = iif(backfill_day = ?1, backfill_requests, 0) + ?2, backfill_day = ?1 \
             WHERE iif(backfill_day = ?1, backfill_requests, 0) + ?2 <= ?3 RETURNING 1";
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let day = now.as_second().div_euclid(24 * 60 * 60);
        let params = [day, number(requests), number(limit)];
        let counted: Option<i64> = self.write(|tx| tx.optional_value(query, params))?;
        Ok(counted.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::tests::{memory, open_file};

    #[test]
    fn later_request_has_larger_number_whatever_the_clock() {
        let archive = memory();
        let at = |second| Timestamp::from_second(second).unwrap();
        let orders: Vec<i64> = [100, 200, 50, 50, 201]
            .map(|second| archive.stamp_request(at(second)).unwrap().seq)
            .into();
        assert!(orders.is_sorted_by(|one, other| one < other), "{orders:?}");
        assert_eq!(orders[1], 200_000_000);
    }

    #[test]
    fn backfill_requests_are_counted_by_day_in_file() {
        let folder = tempfile::tempdir().unwrap();
        let open = || open_file(&folder.path().join("mail.db"));
        let evening = "2026-11-20T23:00:00Z".parse().unwrap();
        let morning = "2026-11-21T00:00:00Z".parse().unwrap();
        let other = open();
        assert!(open().count_backfill(evening, 2, 3).unwrap());
        assert!(
            !open().count_backfill(evening, 2, 3).unwrap(),
            "after a restart"
        );
        assert!(
            other.count_backfill(evening, 1, 3).unwrap(),
            "another process"
        );
        assert!(!other.count_backfill(evening, 1, 3).unwrap());
        assert!(other.count_backfill(morning, 3, 3).unwrap(), "the next day");
    }
}
