//! What there is to know about the archive as a whole.

use rusqlite::{Connection, OptionalExtension};

use super::{Archive, Coverage, schema, time_codec};
use crate::error::Error;
use crate::mail::ApiTime;

/// What the archive holds. In part it is counted and not remembered: not for the hot path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveInfo {
    /// The version of its tables.
    pub(crate) version: u32,
    /// Emails.
    pub(crate) emails: u64,
    /// Emails with their bodies.
    pub(crate) bodies: u64,
    /// Emails that the service no longer lists.
    pub(crate) missing_upstream: u64,
    /// When the newest was created.
    pub(crate) newest: Option<ApiTime>,
    /// When the oldest was created.
    pub(crate) oldest: Option<ApiTime>,
    /// How far back it is complete.
    pub(crate) coverage: Coverage,
}

impl Archive {
    /// What the archive holds.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn info(&self) -> Result<ArchiveInfo, Error> {
        let reach = self.coverage()?;
        self.connections.read(|connection| {
            let count = |sql: &str| {
                connection
                    .query_row(sql, [], |row| row.get::<_, i64>(0))
                    .map(i64::unsigned_abs)
            };
            Ok(ArchiveInfo {
                version: schema::read_version(connection)?,
                emails: count("SELECT emails FROM row_counts")?,
                bodies: count("SELECT bodies FROM row_counts")?,
                missing_upstream: count(
                    "SELECT count(*) FROM mail WHERE missing_since IS NOT NULL",
                )?,
                newest: query_created_at(
                    connection,
                    "SELECT created_at FROM mail ORDER BY sort_key LIMIT 1",
                )?,
                oldest: query_created_at(
                    connection,
                    "SELECT created_at FROM mail ORDER BY sort_key DESC LIMIT 1",
                )?,
                coverage: reach,
            })
        })
    }
}

fn query_created_at(connection: &Connection, sql: &str) -> Result<Option<ApiTime>, Error> {
    let created = connection
        .query_row(sql, [], |row| Ok(time_codec::decode(row.get_ref(0)?)))
        .optional()?;
    Ok(created.map(|created| ApiTime::parse(&created.unwrap_or_default())))
}
