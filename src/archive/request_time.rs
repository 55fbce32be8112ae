//! `RequestTime`: when a request was sent, and which of two requests was sent later.

use jiff::Timestamp;
use rusqlite::Transaction;

use super::Archive;
use crate::error::Error;

/// When a request was sent. The wall clock may jump, so the order of requests is a number that the
/// archive counts: an answer with a smaller number is older, whatever the clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTime {
    /// By the wall clock, for display.
    pub(crate) at: Timestamp,
    /// The number: microseconds since 1970 as long as the clock moves forward.
    pub(super) seq: i64,
}

impl From<Timestamp> for RequestTime {
    /// A request whose order is its time: for a clock that is known not to jump.
    fn from(at: Timestamp) -> Self {
        Self {
            at,
            seq: at.as_microsecond(),
        }
    }
}

impl RequestTime {
    pub(super) fn micros(self) -> i64 {
        self.at.as_microsecond()
    }
}

impl Archive {
    /// Numbers a request that is about to be sent at `now`. No number is given twice, by any process; where
    /// nothing is kept, the time will do.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub(crate) fn stamp_request(&self, now: Timestamp) -> Result<RequestTime, Error> {
        if self.read_only_reason().is_some() {
            return Ok(now.into());
        }
        let order = self.connections.write(|change| next_seq(change, now))?;
        Ok(RequestTime {
            at: now,
            seq: order,
        })
    }
}

fn next_seq(change: &Transaction, now: Timestamp) -> Result<i64, Error> {
    let sql = "UPDATE listing SET last_request_seq = max(?1, last_request_seq + 1) RETURNING last_request_seq";
    Ok(change
        .prepare_cached(sql)?
        .query_row([now.as_microsecond()], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ArchiveLocation;

    #[test]
    fn later_request_has_larger_number_whatever_the_clock() {
        let archive = Archive::open(&ArchiveLocation::Memory).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        let orders: Vec<i64> = [100, 200, 50, 50, 201]
            .map(|second| archive.stamp_request(at(second)).unwrap().seq)
            .into();
        assert!(orders.is_sorted_by(|one, other| one < other), "{orders:?}");
        assert_eq!(orders[1], 200_000_000);
    }
}
