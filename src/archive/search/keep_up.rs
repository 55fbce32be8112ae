//! Keeps the index as the emails are: whatever changed one, its tokens are made anew before the commit.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::label;
use super::plan::DRIFT;
use super::tokens::{Tokens, kind};
use crate::archive::fields::Fields;
use crate::archive::{Place, keep};
use crate::failure::Failure;
use crate::mail::{Email, Status, Summary};
use crate::query::Bodies;
use crate::query::fold::fold;
use crate::render;

/// Emails in one transaction when an older archive is indexed for the first time.
const BATCH: i64 = 10_000;

pub(super) const STALE: &str = "SELECT place FROM stale ORDER BY place LIMIT ?1";
pub(super) const ROW: &str = "SELECT changes, json, id, created_at, last_event, sender, recipients, subject, message_id, cc, bcc, reply_to, \
     scheduled_at, odd, names FROM mail JOIN shape USING (shape) LEFT JOIN body USING (place) WHERE mail.place = ?1";

/// Indexes what has changed in this transaction.
pub(in crate::archive) fn keep_up(change: &Transaction) -> Result<(), Failure> {
    index(change, -1)
}

/// Indexes what no transaction has: the emails of an archive from before there was an index. Broken
/// off, it goes on where it was.
pub(in crate::archive) fn rebuild(writer: &mut Connection) -> Result<(), Failure> {
    while writer.query_row("SELECT EXISTS (SELECT 1 FROM stale)", [], |row| row.get(0))? {
        let change = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        index(&change, BATCH)?;
        change.commit()?;
    }
    Ok(())
}

/// In the order of the table: the index writes a segment for each step back.
fn index(change: &Transaction, limit: i64) -> Result<(), Failure> {
    let stale: Vec<Place> = {
        let mut statement = change.prepare_cached(STALE)?;
        statement.query_map([limit], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    let (Some(first), Some(last)) = (stale.first(), stale.last()) else { return Ok(()) };
    for place in &stale {
        one(change, *place)?;
    }
    change.prepare_cached("DELETE FROM stale WHERE place BETWEEN ?1 AND ?2")?.execute([first, last])?;
    Ok(())
}

fn one(change: &Transaction, place: Place) -> Result<(), Failure> {
    let mut statement = change.prepare_cached(ROW)?;
    let row = statement.query_row([place], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<Vec<u8>>>(1)?, Fields::load(row, 2)?)));
    let Some((changes, packed, fields)) = row.optional()? else { return Ok(()) };
    let mail = Summary::from(&fields.summary);
    let mut tokens = Tokens::new();
    tokens.summary(&mail, changes > 0);
    label_status(change, &mail.status)?;
    for (field, address) in std::iter::once(("from", &mail.from)).chain(mail.reply_to.iter().map(|address| ("reply-to", address))) {
        let folded = fold(&address.to_string());
        match label::number(change, field, &folded)? {
            Some(nth) => tokens.label(nth),
            None => tokens.grams(if field == "from" { kind::SENDER } else { kind::RECIPIENT }, &folded),
        }
    }
    // A body that cannot be read is not found by its words; opening it says that it is damaged.
    if let Some(email) = packed.and_then(|packed| keep::unpacked(&packed).ok()) {
        let html = email.html.as_deref().map(render::plain);
        tokens.fetched(&Bodies { text: email.text.as_deref(), html: html.as_deref() }, &email.tags);
        label_tags(change, &email)?;
    }
    change.prepare_cached("INSERT OR REPLACE INTO search (rowid, tokens) VALUES (?1, ?2)")?.execute(params![place, tokens.0])?;
    note_displaced(change, place, &mail)
}

fn label_status(change: &Transaction, status: &Status) -> Result<(), Failure> {
    label::number(change, "status", status.word()).map(|_| ())
}

fn label_tags(change: &Transaction, email: &Email) -> Result<(), Failure> {
    for tag in &email.tags {
        label::number(change, "tag", &tag.name)?;
        label::number(change, &format!("tag={}", fold(&tag.name)), &tag.value)?;
    }
    Ok(())
}

fn note_displaced(change: &Transaction, place: Place, mail: &Summary) -> Result<(), Failure> {
    let is_displaced = mail.created.micros().is_some_and(|micros| micros.abs_diff(place.micros()) > DRIFT.unsigned_abs());
    let sql = if is_displaced { "INSERT OR IGNORE INTO displaced VALUES (?1)" } else { "DELETE FROM displaced WHERE place = ?1" };
    change.prepare_cached(sql)?.execute([place])?;
    Ok(())
}
