//! Labels: values that many emails share, each kept once and known in the index by its number.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Error;
use crate::query::SearchText;
use crate::query::normalize::normalize;

/// So many senders, and addresses for answers, are labels; further ones are indexed as recipients are.
/// A question may have to name them all.
const MAX_ADDRESSES: usize = 64;

/// So many values of any other kind are labels.
const MAX_VALUES: usize = 4096;

/// The folded sender of an email.
pub(super) const FROM: &str = "from";
/// A folded address for answers.
pub(super) const REPLY_TO: &str = "reply-to";
/// The word of a status.
pub(super) const STATUS: &str = "status";
/// The name of a tag.
pub(super) const TAG: &str = "tag";
/// A sender as it came, which the table of emails knows by this number. The index does not.
pub(in crate::archive) const STORED_SENDER: &str = "sender";

/// What the values of a tag are labels of.
pub(super) fn tag_value_kind(tag: &str) -> String {
    format!("{TAG}={}", normalize(tag))
}

pub(super) const FIND_ID: &str = "SELECT id FROM interned WHERE kind = ?1 AND value = ?2";
pub(super) const HAS_ROW_AT: &str = "SELECT 1 FROM interned WHERE kind = ?1 LIMIT 1 OFFSET ?2";
pub(super) const IDS_CONTAINING: &str =
    "SELECT id FROM interned WHERE kind = ?1 AND instr(value, ?2) > 0";
pub(super) const ALL_OF_KIND: &str = "SELECT id, value FROM interned WHERE kind = ?1";

/// The number of a label, which is new if need be; `None` if there are too many of its kind.
pub(in crate::archive) fn intern(
    change: &Connection,
    kind: &str,
    text: &str,
) -> Result<Option<i64>, Error> {
    let known = find_id(change, kind, text)?;
    if known.is_some() || !has_capacity(change, kind)? {
        return Ok(known);
    }
    // One plain row: see `Index` for what a statement that may be undone in part would cost.
    change
        .prepare_cached("INSERT INTO interned (kind, value) VALUES (?1, ?2)")?
        .execute([kind, text])?;
    Ok(Some(change.last_insert_rowid()))
}

/// The number of a label, if there is one.
pub(super) fn find_id(
    connection: &Connection,
    kind: &str,
    text: &str,
) -> Result<Option<i64>, Error> {
    Ok(connection
        .prepare_cached(FIND_ID)?
        .query_row([kind, text], |row| row.get(0))
        .optional()?)
}

/// Whether there may be more labels of a kind.
pub(super) fn has_capacity(connection: &Connection, kind: &str) -> Result<bool, Error> {
    let most = if kind == FROM || kind == REPLY_TO {
        MAX_ADDRESSES
    } else {
        MAX_VALUES
    };
    let last = i64::try_from(most - 1).unwrap_or(i64::MAX);
    Ok(!connection
        .prepare_cached(HAS_ROW_AT)?
        .exists(params![kind, last])?)
}

/// The labels that hold the needle; `None` if they are too many to be asked for.
pub(super) fn ids_containing(
    connection: &Connection,
    kind: &str,
    needle: &SearchText,
) -> Result<Option<Vec<i64>>, Error> {
    let mut statement = connection.prepare_cached(IDS_CONTAINING)?;
    let found: Vec<i64> = statement
        .query_map([kind, needle.normalized()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok((found.len() <= MAX_ADDRESSES).then_some(found))
}

/// Every label of a kind.
pub(super) fn all_of_kind(
    connection: &Connection,
    kind: &str,
) -> Result<Vec<(i64, String)>, Error> {
    let mut statement = connection.prepare_cached(ALL_OF_KIND)?;
    let rows = statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
