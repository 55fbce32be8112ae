//! Keeps the index as the emails are: whatever changed one, its tokens are made anew before the commit.

use rusqlite::{OptionalExtension, Transaction, params};

use super::index::{Index, IndexExtras};
use super::slot;
use crate::archive::SortKey;
use crate::archive::body_codec::CompressedBody;
use crate::archive::row_codec::{RowFields, row_columns, summary_columns};
use crate::archive::window::{BOTTOM, TOP};
use crate::error::Error;
use crate::mail::Summary;

pub(super) const DIRTY_KEYS: &str =
    "SELECT sort_key FROM dirty WHERE sort_key BETWEEN ?1 AND ?2 ORDER BY sort_key LIMIT ?3";
pub(super) const ROW_TO_INDEX: &str = concat!(
    "SELECT fts_rowid, status_changes, json, dictionary_id, ",
    row_columns!(),
    " FROM mail JOIN key_order USING (key_order_id) LEFT JOIN body USING (sort_key) WHERE mail.sort_key = ?1"
);

/// Indexes what has changed in this transaction.
pub(in crate::archive) fn reindex_dirty(change: &Transaction) -> Result<(), Error> {
    while reindex_batch(change, i64::MAX)? {}
    Ok(())
}

/// Indexes some of what is stale, if anything is. In the order of the list: the index writes a
/// segment for each step back.
fn reindex_batch(change: &Transaction, limit: i64) -> Result<bool, Error> {
    let found = dirty_keys(change, (TOP, BOTTOM), limit)?;
    let (Some(first), Some(last)) = (found.first(), found.last()) else {
        return Ok(false);
    };
    let mut slotless = Vec::new();
    for place in &found {
        if !slot::has_rowid(change, *place)? {
            slotless.push(*place);
        }
    }
    for (place, slot) in slotless.iter().zip(slot::assign_rowids(change, &slotless)?) {
        change
            .prepare_cached("UPDATE mail SET fts_rowid = ?2 WHERE sort_key = ?1")?
            .execute(params![place, slot])?;
    }
    let mut index = Index::new(change);
    // Some that had to move for the new slots may have joined them.
    for place in dirty_keys(change, (*first, *last), i64::MAX)? {
        reindex_row(change, &mut index, place)?;
    }
    change
        .prepare_cached("DELETE FROM dirty WHERE sort_key BETWEEN ?1 AND ?2")?
        .execute([first, last])?;
    Ok(true)
}

fn dirty_keys(
    change: &Transaction,
    within: (SortKey, SortKey),
    limit: i64,
) -> Result<Vec<SortKey>, Error> {
    let mut statement = change.prepare_cached(DIRTY_KEYS)?;
    Ok(statement
        .query_map(params![within.0, within.1, limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

fn reindex_row(change: &Transaction, index: &mut Index<'_>, place: SortKey) -> Result<(), Error> {
    let mut statement = change.prepare_cached(ROW_TO_INDEX)?;
    let row = statement.query_row([place], |row| {
        let body = CompressedBody::from_row(row, 2)?;
        Ok((
            row.get::<_, Option<i64>>(0)?,
            row.get::<_, i64>(1)?,
            body,
            RowFields::from_row(row, 4)?,
        ))
    });
    let Some((Some(slot), changes, body, fields)) = row.optional()? else {
        return Ok(());
    };
    // A body that cannot be read is not found by its words; opening it says that it is damaged.
    let whole = body.and_then(|body| body.to_email(change).ok());
    index.replace(
        place,
        slot,
        &Summary::from(&fields.summary),
        &IndexExtras {
            status_changed: changes > 0,
            email: whole.as_ref(),
        },
    )
}
