//! Keeps retrieved emails with their bodies, which cost a request each and never change.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction};
use serde_json::value::RawValue;

use super::entry::{self, Entry, Source};
use super::members::{self, Members};
use super::packed::{Packed, Packer, damaged};
use super::{Archive, Place, RequestTime, confirmed, dictionary, gone, pack, removal, room};
use crate::api::{Retrieved, wire};
use crate::failure::Failure;
use crate::mail::{Email, EmailId, Status};

pub(super) const BODY: &str =
    "SELECT json, dictionary, last_event FROM mail JOIN body USING (place) WHERE id = ?1";

impl Archive {
    /// An email with its bodies, if they were kept; its status is the latest one known, in its JSON too.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read, or what it holds is damaged.
    pub fn email(&self, id: &EmailId) -> Result<Option<Email>, Failure> {
        let found = self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(BODY)?;
            let found = statement
                .query_row([pack::id(id.as_str())], |row| {
                    Ok((Packed::load(row, 0)?, row.get(2)?))
                })
                .optional()?;
            let Some((Some(packed), last_event)) = found else {
                return Ok(None);
            };
            let json: Arc<str> = packed.json(connection)?.into();
            Ok(Some((
                wire::Email::read(&json).map_err(|error| damaged(&error))?,
                json,
                last_event,
            )))
        })?;
        let Some((email, json, last_event)) = found else {
            return Ok(None);
        };
        let last_event: Option<String> = last_event;
        let json = if email.last_event == last_event {
            json
        } else {
            with_last_event(&json, last_event.as_deref())?.into()
        };
        let mut email = Email::from(Retrieved { email, json });
        email.summary.status = Status::parse(&last_event.unwrap_or_default());
        Ok(Some(email))
    }

    /// Keeps a retrieved email, and its status as it was when it was requested. Says whether the status
    /// changed.
    ///
    /// An email that no page has shown yet becomes a row of its own, outside all spans; one that was
    /// removed stays out.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn keep(&self, retrieved: &Retrieved, asked: RequestTime) -> Result<bool, Failure> {
        let mut entries = vec![Entry::take(&retrieved.json, asked.at, true)?];
        self.connections.write(|change| {
            if !removal::leave_out(change, &mut entries, self.keep, asked.at)?.is_empty() {
                return Ok(false);
            }
            room::by_time(change, &mut entries, asked.at)?;
            let entry = &entries[0];
            let changed = entry.refresh_status(change, asked)?;
            if entry.known.is_none() {
                entry::insert(change, &entries, Source::Answer(asked))?;
            } else {
                gone::is_back(change, entry, asked)?;
                confirmed::put_row(change, entry.place, asked)?;
            }
            if entry.known.is_some() || entry.whole().is_none() {
                bodies(change, &[(entry.place, &retrieved.json)])?;
            }
            Ok(changed)
        })
    }
}

/// The JSON of an email with this status in place of the one that it was retrieved with.
fn with_last_event(json: &str, last_event: Option<&str>) -> Result<String, Failure> {
    let Members(members) = Members::read(json).map_err(|error| damaged(&error))?;
    let last_event = last_event.map_or_else(|| "null".to_owned(), members::quoted);
    let value = |name: &str, raw: &RawValue| {
        if name == "last_event" {
            last_event.clone()
        } else {
            raw.get().to_owned()
        }
    };
    let mut pairs: Vec<(&str, String)> = members
        .iter()
        .map(|(name, raw)| (name.as_str(), value(name, raw)))
        .collect();
    if !pairs.iter().any(|(name, _)| *name == "last_event") {
        pairs.push(("last_event", last_event));
    }
    Ok(members::object(
        pairs.iter().map(|(name, value)| (*name, value.as_str())),
    ))
}

/// Keeps the bodies of an email that has none yet, as they came in some list or file.
pub(super) fn body_if_none(change: &Transaction, place: Place, json: &str) -> Result<(), Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM body WHERE place = ?1)";
    let has_body: bool = change
        .prepare_cached(sql)?
        .query_row([place], |row| row.get(0))?;
    if has_body {
        Ok(())
    } else {
        bodies(change, &[(place, json)])
    }
}

/// Keeps the bodies of these emails.
pub(super) fn bodies(change: &Transaction, emails: &[(Place, &str)]) -> Result<(), Failure> {
    if emails.is_empty() {
        return Ok(());
    }
    dictionary::grow(
        change,
        &emails.iter().map(|(_, json)| *json).collect::<Vec<_>>(),
    )?;
    let mut packer = Packer::new(change)?;
    for (place, json) in emails {
        packer.put(change, *place, json)?;
    }
    Ok(())
}
