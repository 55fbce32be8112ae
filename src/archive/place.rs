//! `Place`: where an email stands in the list, as one number.
//!
//! The tables hold it negated. The archive grows mostly backwards, page by older page, and a tree that
//! grows at its far end has full leaves; at its near end they would be half empty.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

/// Bits below a microsecond: room for a thousand emails between two neighbouring times.
const ROOM: u32 = 10;

/// Beyond this distance from 1970 (about the years 1827 to 2112) a time is no use as a place.
const FARTHEST: i64 = 1 << 52;

/// Where an email stands: the larger, the newer. Places do not say how far apart two emails are,
/// and one may change when the service contradicts what was believed of its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub(super) i64);

impl ToSql for Place {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.saturating_neg()))
    }
}

impl FromSql for Place {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|stored| Self(stored.saturating_neg()))
    }
}

impl Place {
    /// The natural place of an email of that time; `None` if the time is absurd.
    #[must_use]
    pub fn of(micros: i64) -> Option<Self> {
        (-FARTHEST..FARTHEST)
            .contains(&micros)
            .then_some(Self(micros << ROOM))
    }

    /// The newest place of that microsecond or, for an absurd time, of all.
    pub(super) fn last_of(micros: i64) -> Self {
        Self(Self::first_of(micros).0 | ((1 << ROOM) - 1))
    }

    /// The oldest place of that microsecond or, for an absurd time, of all.
    pub(super) fn first_of(micros: i64) -> Self {
        Self(micros.clamp(-FARTHEST, FARTHEST - 1) << ROOM)
    }

    /// The next newer place.
    pub(super) const fn above(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The next older place.
    pub(super) const fn below(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The time that the place stands for, in microseconds since 1970: nearly always the email's own.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0 >> ROOM
    }
}
