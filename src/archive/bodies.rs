//! Keeps retrieved emails with their bodies, which cost a request each and never change.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction};
use serde_json::value::RawValue;

use super::body_codec::{BodyCompressor, CompressedBody, damaged_error};
use super::incoming::{self, EmailSource, IncomingEmail};
use super::ordered_object::{self, OrderedObject};
use super::{
    Archive, RequestTime, SortKey, confirmations, deletions, dictionary, id_codec, purge, renumber,
};
use crate::api::{RetrievedEmail, wire};
use crate::error::Error;
use crate::mail::{Email, EmailId, Status};

pub(super) const BODY_BY_ID: &str =
    "SELECT json, dictionary, last_event FROM mail JOIN body USING (place) WHERE id = ?1";

impl Archive {
    /// An email with its bodies, if they were kept; its status is the latest one known, in its JSON too.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read, or what it holds is damaged.
    pub(crate) fn email(&self, id: &EmailId) -> Result<Option<Email>, Error> {
        let found = self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(BODY_BY_ID)?;
            let found = statement
                .query_row([id_codec::encode_id(id.as_str())], |row| {
                    Ok((CompressedBody::from_row(row, 0)?, row.get(2)?))
                })
                .optional()?;
            let Some((Some(packed), last_event)) = found else {
                return Ok(None);
            };
            let json: Arc<str> = packed.to_json(connection)?.into();
            Ok(Some((
                wire::Email::parse(&json).map_err(|error| damaged_error(&error))?,
                json,
                last_event,
            )))
        })?;
        let Some((email, json, last_event)) = found else {
            return Ok(None);
        };
        let last_event: Option<String> = last_event;
        let json = if email.summary.last_event == last_event {
            json
        } else {
            replace_last_event(&json, last_event.as_deref())?.into()
        };
        let mut email = Email::from(RetrievedEmail { email, json });
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
    pub(crate) fn put_body(
        &self,
        retrieved: &RetrievedEmail,
        asked: RequestTime,
    ) -> Result<bool, Error> {
        let mut entries = vec![IncomingEmail::parse(&retrieved.json, asked.at, true)?];
        self.connections.write(|change| {
            if !purge::filter_purged(change, &mut entries, self.retention, asked.at)?.is_empty() {
                return Ok(false);
            }
            renumber::assign_time_keys(change, &mut entries, asked.at)?;
            let entry = &entries[0];
            let changed = entry.update_status(change, asked)?;
            if entry.existing.is_none() {
                incoming::insert_new(change, &entries, EmailSource::Response(asked))?;
            } else {
                deletions::mark_restored(change, entry, asked)?;
                confirmations::record_row(change, entry.sort_key, asked)?;
            }
            if entry.existing.is_some() || entry.body_json().is_none() {
                put_bodies(change, &[(entry.sort_key, &retrieved.json)])?;
            }
            Ok(changed)
        })
    }
}

/// The JSON of an email with this status in place of the one that it was retrieved with.
fn replace_last_event(json: &str, last_event: Option<&str>) -> Result<String, Error> {
    let OrderedObject(members) =
        OrderedObject::parse(json).map_err(|error| damaged_error(&error))?;
    let last_event = last_event.map_or_else(|| "null".to_owned(), ordered_object::quote);
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
    Ok(ordered_object::write_object(
        pairs.iter().map(|(name, value)| (*name, value.as_str())),
    ))
}

/// Keeps the bodies of an email that has none yet, as they came in some list or file.
pub(super) fn put_body_if_missing(
    change: &Transaction,
    place: SortKey,
    json: &str,
) -> Result<(), Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM body WHERE place = ?1)";
    let has_body: bool = change
        .prepare_cached(sql)?
        .query_row([place], |row| row.get(0))?;
    if has_body {
        Ok(())
    } else {
        put_bodies(change, &[(place, json)])
    }
}

/// Keeps the bodies of these emails.
pub(super) fn put_bodies(change: &Transaction, emails: &[(SortKey, &str)]) -> Result<(), Error> {
    if emails.is_empty() {
        return Ok(());
    }
    dictionary::learn_if_due(
        change,
        &emails.iter().map(|(_, json)| *json).collect::<Vec<_>>(),
    )?;
    let mut packer = BodyCompressor::new(change)?;
    for (place, json) in emails {
        packer.store(change, *place, json)?;
    }
    Ok(())
}
