//! `Place`: where an email stands in the list, as one number.
//!
//! The tables hold it negated. The archive grows mostly backwards, page by older page, and a tree that
//! grows at its far end has full leaves; at its near end they would be half empty.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

/// Bits below a microsecond: room for a thousand emails between two neighbouring times.
const FRACTION_BITS: u32 = 10;

/// Beyond this distance from 1970 (about the years 1827 to 2112) a time is no use as a place.
const MAX_MICROS: i64 = 1 << 52;

/// Where an email stands: the larger, the newer. Places do not say how far apart two emails are,
/// and one may change when the service contradicts what was believed of its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(pub(super) i64);

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
    /// The natural place of an email of that time; `None` if the time is absurd.
    #[must_use]
    pub(crate) fn from_micros(micros: i64) -> Option<Self> {
        (-MAX_MICROS..MAX_MICROS)
            .contains(&micros)
            .then_some(Self(micros << FRACTION_BITS))
    }

    /// The newest place of that microsecond or, for an absurd time, of all.
    pub(super) fn newest_at(micros: i64) -> Self {
        Self(Self::oldest_at(micros).0 | ((1 << FRACTION_BITS) - 1))
    }

    /// The oldest place of that microsecond or, for an absurd time, of all.
    pub(super) fn oldest_at(micros: i64) -> Self {
        Self(micros.clamp(-MAX_MICROS, MAX_MICROS - 1) << FRACTION_BITS)
    }

    /// The next newer place.
    pub(super) const fn next_newer(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The next older place.
    pub(super) const fn next_older(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The time that the place stands for, in microseconds since 1970: nearly always the email's own.
    #[must_use]
    pub(crate) const fn micros(self) -> i64 {
        self.0 >> FRACTION_BITS
    }
}
