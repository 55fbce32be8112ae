//! What there is to know about the archive as a whole.

use rusqlite::{Connection, OptionalExtension};

use super::{Archive, Reach, moment, schema};
use crate::failure::Failure;
use crate::mail::Stamp;

/// What the archive holds. In part it is counted and not remembered: not for the hot path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The version of its tables.
    pub version: u32,
    /// Emails.
    pub emails: u64,
    /// Emails with their bodies.
    pub bodies: u64,
    /// Emails that the service no longer lists.
    pub gone: u64,
    /// When the newest was created.
    pub newest: Option<Stamp>,
    /// When the oldest was created.
    pub oldest: Option<Stamp>,
    /// How far back it is complete.
    pub reach: Reach,
}

impl Archive {
    /// What the archive holds.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn info(&self) -> Result<Info, Failure> {
        let reach = self.reach()?;
        self.connections.read(|connection| {
            let count = |sql: &str| {
                connection
                    .query_row(sql, [], |row| row.get::<_, i64>(0))
                    .map(i64::unsigned_abs)
            };
            Ok(Info {
                version: schema::version(connection)?,
                emails: count("SELECT emails FROM tally")?,
                bodies: count("SELECT bodies FROM tally")?,
                gone: count("SELECT count(*) FROM mail WHERE gone IS NOT NULL")?,
                newest: created(
                    connection,
                    "SELECT created_at FROM mail ORDER BY place LIMIT 1",
                )?,
                oldest: created(
                    connection,
                    "SELECT created_at FROM mail ORDER BY place DESC LIMIT 1",
                )?,
                reach,
            })
        })
    }
}

fn created(connection: &Connection, sql: &str) -> Result<Option<Stamp>, Failure> {
    let created = connection
        .query_row(sql, [], |row| Ok(moment::back(row.get_ref(0)?)))
        .optional()?;
    Ok(created.map(|created| Stamp::parse(&created.unwrap_or_default())))
}
