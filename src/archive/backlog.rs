//! What sync asks about single emails: which lack their bodies, and how the newest ones stand.

use rusqlite::params;

use super::{Archive, SortKey, id_codec};
use crate::error::Error;
use crate::mail::EmailId;

/// Emails without bodies that the service still has, newer than the second place.
macro_rules! without_body {
    ($what:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM mail WHERE sort_key > ?1 AND sort_key < ?2 AND missing_since IS NULL \
             AND NOT EXISTS (SELECT 1 FROM body WHERE body.sort_key = mail.sort_key)",
            $rest
        )
    };
}

impl Archive {
    /// At most `rows` emails whose bodies are not here, newest first, below the place `below` and not
    /// older than `since` (microseconds since 1970).
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn without_body(
        &self,
        below: Option<SortKey>,
        since: i64,
        rows: u32,
    ) -> Result<Vec<(SortKey, EmailId)>, Error> {
        let (below, edge) = (below.unwrap_or(SortKey(i64::MAX)), key_before(since));
        self.connections.read(|connection| {
            let mut statement = connection
                .prepare_cached(without_body!("sort_key, id", " ORDER BY sort_key LIMIT ?3"))?;
            let found = statement.query_map(params![below, edge, rows], |row| {
                Ok((
                    row.get(0)?,
                    EmailId::new(id_codec::decode_id(row.get_ref(1)?)),
                ))
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// How many emails that are not older than `since` have no bodies here. Walks all of them.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn count_without_body(&self, since: i64) -> Result<u64, Error> {
        let everywhere = SortKey(i64::MAX);
        self.connections.read(|connection| {
            let count: i64 = connection.query_row(
                without_body!("count(*)", ""),
                params![everywhere, key_before(since)],
                |row| row.get(0),
            )?;
            Ok(count.unsigned_abs())
        })
    }

    /// The newest emails, and how often the status of each was seen to change.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn newest_changes(&self, rows: u32) -> Result<Vec<(EmailId, i64)>, Error> {
        self.connections.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, status_changes FROM mail ORDER BY sort_key LIMIT ?1")?;
            let found = statement.query_map([rows], |row| {
                Ok((
                    EmailId::new(id_codec::decode_id(row.get_ref(0)?)),
                    row.get(1)?,
                ))
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// The place right below all mail of that time and newer.
fn key_before(since: i64) -> SortKey {
    SortKey(SortKey::from_micros(since).map_or(i64::MIN, |place| place.0 - 1))
}
