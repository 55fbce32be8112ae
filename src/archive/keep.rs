//! Keeps retrieved emails with their bodies, which cost a request each and never change.

use std::io::{Read, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};

use super::entry::Entry;
use super::{Archive, Place, gone, pack, removal, room};
use crate::api::{Retrieved, wire};
use crate::failure::{Failure, Kind};
use crate::mail::{Email, EmailId, Status};

/// Beyond this level mail gets hardly smaller and takes twice the time.
const LEVEL: Compression = Compression::new(3);

pub(super) const BODY: &str = "SELECT json, last_event FROM mail JOIN body USING (place) WHERE id = ?1";

impl Archive {
    /// An email with its bodies, if they were kept; its status is the latest one known.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read, or what it holds is damaged.
    pub fn email(&self, id: &EmailId) -> Result<Option<Email>, Failure> {
        let found: Option<(Vec<u8>, Option<String>)> = self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(BODY)?;
            Ok(statement.query_row([pack::id(id.as_str())], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
        })?;
        let Some((packed, last_event)) = found else { return Ok(None) };
        let mut email = unpacked(&packed)?;
        email.summary.status = Status::parse(&last_event.unwrap_or_default());
        Ok(Some(email))
    }

    /// Keeps a retrieved email, and its status as seen at `asked`, when it was asked for. Says whether
    /// the status changed.
    ///
    /// An email that no page has shown yet becomes a row of its own, outside all spans; one that was
    /// removed stays out.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn keep(&self, retrieved: &Retrieved, asked: Timestamp) -> Result<bool, Failure> {
        let mut entries = vec![Entry::take(&retrieved.json, asked)?];
        let packed = deflated(&retrieved.json)?;
        self.connections.write(|change| {
            if !removal::leave_out(change, &mut entries, self.keep, asked)?.is_empty() {
                return Ok(false);
            }
            room::by_time(change, &mut entries, asked)?;
            let entry = &entries[0];
            let changed = entry.refresh_status(change, asked)?;
            gone::is_back(change, entry)?;
            if entry.known.is_none() {
                entry.insert(change, false, asked)?;
            }
            let sql = "INSERT INTO body (place, json) VALUES (?1, ?2) ON CONFLICT (place) DO UPDATE SET json = excluded.json";
            change.prepare_cached(sql)?.execute(params![entry.place, packed])?;
            Ok(changed)
        })
    }
}

/// Keeps the bodies of an email that has none yet, as they came in some list or file.
pub(super) fn body_if_none(change: &Transaction, place: Place, json: &str) -> Result<(), Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM body WHERE place = ?1)";
    let has_body: bool = change.prepare_cached(sql)?.query_row([place], |row| row.get(0))?;
    if !has_body {
        change.prepare_cached("INSERT INTO body (place, json) VALUES (?1, ?2)")?.execute(params![place, deflated(json)?])?;
    }
    Ok(())
}

/// An email as it was kept, with the status that it had then.
pub(super) fn unpacked(packed: &[u8]) -> Result<Email, Failure> {
    let json: Arc<str> = inflated(packed)?.into();
    let email = wire::Email::read(&json).map_err(|error| damaged(&error))?;
    Ok(Email::from(Retrieved { email, json }))
}

fn deflated(json: &str) -> Result<Vec<u8>, Failure> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(json.len() / 3), LEVEL);
    encoder.write_all(json.as_bytes()).and_then(|()| encoder.finish()).map_err(|error| damaged(&error))
}

fn inflated(packed: &[u8]) -> Result<String, Failure> {
    let mut json = String::new();
    DeflateDecoder::new(packed).read_to_string(&mut json).map_err(|error| damaged(&error))?;
    Ok(json)
}

fn damaged(error: &dyn std::error::Error) -> Failure {
    Failure::new(Kind::Archive, format!("an email in the archive is damaged: {error}"))
        .hint("open it again while online; it is then fetched anew")
}
