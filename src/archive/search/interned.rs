//! Interned values: each value that many emails share is stored once and indexed by
//! its id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::archive::storage::db::Connection;
use crate::error::Result;
use crate::query::normalize::normalize;

/// The most senders, and reply-to addresses; others are indexed by trigrams.
/// An expression of the index may have to list all ids.
pub(super) const MAX_ADDRESSES: usize = 64;

/// The most values of any other kind.
const MAX_VALUES: usize = 4096;

/// Normalised senders.
pub(super) const FROM: &str = "from";
/// Normalised reply-to addresses.
pub(super) const REPLY_TO: &str = "reply-to";
pub(super) const STATUS: &str = "status";
pub(super) const TAG: &str = "tag";
/// Senders as they came, to which `mail.sender` refers. They are not indexed.
pub(crate) const STORED_SENDER: &str = "sender";

pub(super) fn tag_value_kind(tag: &str) -> String {
    format!("{TAG}={}", normalize(tag))
}

pub(super) const FIND_ID: &str = "SELECT id FROM interned WHERE kind = ?1 AND value = ?2";
pub(super) const COUNT_OF_KIND: &str = "SELECT count(*) FROM interned WHERE kind = ?1";
pub(super) const IDS_CONTAINING: &str =
    "SELECT id FROM interned WHERE kind = ?1 AND instr(value, ?2) > 0";
pub(super) const ALL_OF_KIND: &str = "SELECT value FROM interned WHERE kind = ?1";

/// The values that one transaction has met.
#[derive(Default)]
pub(crate) struct Interner {
    ids: HashMap<(String, String), Option<i64>>,
    /// How many more values may be interned, by kind:
    /// to count them for each value takes as long as there are values.
    capacities: HashMap<String, usize>,
}

impl Interner {
    /// Finds a value, or stores it if `may_store`;
    /// `None` if it is not there, and may not be stored or there are too many of its kind.
    pub(crate) fn intern(
        &mut self,
        connection: &Connection,
        may_store: bool,
        kind: &str,
        value: &str,
    ) -> Result<Option<i64>> {
        let entry = (kind.to_owned(), value.to_owned());
        if let Some(known) = self.ids.get(&entry) {
            return Ok(*known);
        }
        let mut id = connection.optional_value(FIND_ID, [kind, value])?;
        if id.is_none() && may_store {
            let capacity = match self.capacities.entry(kind.to_owned()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(capacity(connection, kind)?),
            };
            if let Some(less) = capacity.checked_sub(1) {
                *capacity = less;
                // A plain INSERT of one row: see `Index` for the cost of other statements.
                let query = "INSERT INTO interned (kind, value) VALUES (?1, ?2)";
                connection.execute(query, [kind, value])?;
                id = Some(connection.last_insert_rowid()?);
            }
        }
        self.ids.insert(entry, id);
        Ok(id)
    }
}

/// Whether the index has the ids of these values.
pub(crate) fn is_indexed_by_id(kind: &str) -> bool {
    kind == FROM || kind == REPLY_TO
}

/// Counts how many more values of a kind may be stored.
pub(super) fn capacity(connection: &Connection, kind: &str) -> Result<usize> {
    let most = if is_indexed_by_id(kind) {
        MAX_ADDRESSES
    } else {
        MAX_VALUES
    };
    let count: Option<i64> = connection.optional_value(COUNT_OF_KIND, [kind])?;
    let count = count.and_then(|count| usize::try_from(count).ok());
    Ok(most.saturating_sub(count.unwrap_or_default()))
}

pub(super) fn all_of_kind(connection: &Connection, kind: &str) -> Result<Vec<String>> {
    connection.values(ALL_OF_KIND, [kind])
}
