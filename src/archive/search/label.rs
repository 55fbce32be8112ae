//! Labels: values that many emails share, each kept once and known in the index by its number.

use rusqlite::{Connection, OptionalExtension, params};

use crate::failure::Failure;
use crate::query::Needle;
use crate::query::fold::fold;

/// So many senders, and addresses for answers, are labels; further ones are indexed as recipients are.
/// A question may have to name them all.
const ADDRESSES: usize = 64;

/// So many values of any other kind are labels.
const VALUES: usize = 4096;

/// The folded sender of an email.
pub(super) const FROM: &str = "from";
/// A folded address for answers.
pub(super) const REPLY_TO: &str = "reply-to";
/// The word of a status.
pub(super) const STATUS: &str = "status";
/// The name of a tag.
pub(super) const TAG: &str = "tag";
/// A sender as it came, which the table of emails knows by this number. The index does not.
pub(in crate::archive) const SENDER: &str = "sender";

/// What the values of a tag are labels of.
pub(super) fn value_of(tag: &str) -> String {
    format!("{TAG}={}", fold(tag))
}

pub(super) const KNOWN: &str = "SELECT nth FROM label WHERE kind = ?1 AND text = ?2";
pub(super) const NTH: &str = "SELECT 1 FROM label WHERE kind = ?1 LIMIT 1 OFFSET ?2";
pub(super) const HOLDING: &str = "SELECT nth FROM label WHERE kind = ?1 AND instr(text, ?2) > 0";
pub(super) const OF_KIND: &str = "SELECT nth, text FROM label WHERE kind = ?1";

/// The number of a label, which is new if need be; `None` if there are too many of its kind.
pub(in crate::archive) fn number(
    change: &Connection,
    kind: &str,
    text: &str,
) -> Result<Option<i64>, Failure> {
    let known = known(change, kind, text)?;
    if known.is_some() || !has_room(change, kind)? {
        return Ok(known);
    }
    // One plain row: see `Index` for what a statement that may be undone in part would cost.
    change
        .prepare_cached("INSERT INTO label (kind, text) VALUES (?1, ?2)")?
        .execute([kind, text])?;
    Ok(Some(change.last_insert_rowid()))
}

/// The number of a label, if there is one.
pub(super) fn known(
    connection: &Connection,
    kind: &str,
    text: &str,
) -> Result<Option<i64>, Failure> {
    Ok(connection
        .prepare_cached(KNOWN)?
        .query_row([kind, text], |row| row.get(0))
        .optional()?)
}

/// Whether there may be more labels of a kind.
pub(super) fn has_room(connection: &Connection, kind: &str) -> Result<bool, Failure> {
    let most = if kind == FROM || kind == REPLY_TO {
        ADDRESSES
    } else {
        VALUES
    };
    let last = i64::try_from(most - 1).unwrap_or(i64::MAX);
    Ok(!connection
        .prepare_cached(NTH)?
        .exists(params![kind, last])?)
}

/// The labels that hold the needle; `None` if they are too many to be asked for.
pub(super) fn holding(
    connection: &Connection,
    kind: &str,
    needle: &Needle,
) -> Result<Option<Vec<i64>>, Failure> {
    let mut statement = connection.prepare_cached(HOLDING)?;
    let found: Vec<i64> = statement
        .query_map([kind, needle.folded()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok((found.len() <= ADDRESSES).then_some(found))
}

/// Every label of a kind.
pub(super) fn all(connection: &Connection, kind: &str) -> Result<Vec<(i64, String)>, Failure> {
    let mut statement = connection.prepare_cached(OF_KIND)?;
    let rows = statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
