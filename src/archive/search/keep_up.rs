//! Keeps the index as the emails are: whatever changed one, its tokens are made anew before the commit.

use rusqlite::{OptionalExtension, Transaction, params};

use super::index::{Beyond, Index};
use super::slot;
use crate::archive::Place;
use crate::archive::fields::{Fields, columns, summary_columns};
use crate::archive::packed::Packed;
use crate::archive::window::{BOTTOM, TOP};
use crate::failure::Failure;
use crate::mail::Summary;

pub(super) const STALE: &str =
    "SELECT place FROM stale WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3";
pub(super) const ROW: &str = concat!(
    "SELECT slot, changes, json, dictionary, ",
    columns!(),
    " FROM mail JOIN shape USING (shape) LEFT JOIN body USING (place) WHERE mail.place = ?1"
);

/// Indexes what has changed in this transaction.
pub(in crate::archive) fn keep_up(change: &Transaction) -> Result<(), Failure> {
    while index(change, i64::MAX)? {}
    Ok(())
}

/// Indexes some of what is stale, if anything is. In the order of the list: the index writes a
/// segment for each step back.
fn index(change: &Transaction, limit: i64) -> Result<bool, Failure> {
    let found = stale(change, (TOP, BOTTOM), limit)?;
    let (Some(first), Some(last)) = (found.first(), found.last()) else {
        return Ok(false);
    };
    let mut slotless = Vec::new();
    for place in &found {
        if !slot::is_given(change, *place)? {
            slotless.push(*place);
        }
    }
    for (place, slot) in slotless.iter().zip(slot::slots(change, &slotless)?) {
        change
            .prepare_cached("UPDATE mail SET slot = ?2 WHERE place = ?1")?
            .execute(params![place, slot])?;
    }
    let mut index = Index::new(change);
    // Some that had to move for the new slots may have joined them.
    for place in stale(change, (*first, *last), i64::MAX)? {
        one(change, &mut index, place)?;
    }
    change
        .prepare_cached("DELETE FROM stale WHERE place BETWEEN ?1 AND ?2")?
        .execute([first, last])?;
    Ok(true)
}

fn stale(change: &Transaction, within: (Place, Place), limit: i64) -> Result<Vec<Place>, Failure> {
    let mut statement = change.prepare_cached(STALE)?;
    Ok(statement
        .query_map(params![within.0, within.1, limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

fn one(change: &Transaction, index: &mut Index<'_>, place: Place) -> Result<(), Failure> {
    let mut statement = change.prepare_cached(ROW)?;
    let row = statement.query_row([place], |row| {
        let body = Packed::load(row, 2)?;
        Ok((
            row.get::<_, Option<i64>>(0)?,
            row.get::<_, i64>(1)?,
            body,
            Fields::load(row, 4)?,
        ))
    });
    let Some((Some(slot), changes, body, fields)) = row.optional()? else {
        return Ok(());
    };
    // A body that cannot be read is not found by its words; opening it says that it is damaged.
    let whole = body.and_then(|body| body.email(change).ok());
    index.renew(
        place,
        slot,
        &Summary::from(&fields.summary),
        &Beyond {
            changed: changes > 0,
            whole: whole.as_ref(),
        },
    )
}
