//! Makes the index forget removed mail: to delete an email from it alone only says that its tokens
//! no longer count.

use rusqlite::Connection;

use super::interned;
use super::tokens::{kind, status_token, tag_name_token, tag_value_token};
use crate::error::Error;
use crate::mail::Status;
use crate::query::normalize::normalize;

/// Writes the index anew without the tokens of deleted emails, and drops the labels that no email has
/// any more.
pub(in crate::archive) fn erase_deleted(writer: &Connection) -> Result<(), Error> {
    let change = writer.unchecked_transaction()?;
    let labels: Vec<(i64, String, String)> = {
        let mut statement = change.prepare("SELECT id, kind, value FROM interned")?;
        statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?
    };
    for (nth, of, text) in labels {
        let token = match of.strip_prefix("tag=") {
            Some(name) => tag_value_token(name, &normalize(&text)),
            None if of == interned::STORED_SENDER => continue,
            None if of == interned::TAG => tag_name_token(&normalize(&text)),
            None if of == interned::STATUS => status_token(&Status::parse(&text)),
            None => format!("{}{nth}", kind::LABEL),
        };
        let sql = "DELETE FROM interned WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM search WHERE search MATCH ?2)";
        change
            .prepare_cached(sql)?
            .execute((nth, format!("\"{}\"", token.replace('"', "\"\""))))?;
    }
    let sql = "DELETE FROM interned WHERE kind = ?1 AND id NOT IN (SELECT sender FROM mail WHERE typeof(sender) = 'integer')";
    change.execute(sql, [interned::STORED_SENDER])?;
    change.execute("INSERT INTO search (search) VALUES ('optimize')", [])?;
    change.commit()?;
    Ok(())
}
