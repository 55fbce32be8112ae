//! Stores retrieved emails with their bodies, and finds emails that lack them.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};
use serde_json::value::RawValue;

use super::codec::body::CompressedBody;
use super::codec::row::{self, OrderedObject};
use super::codec::{dictionary, id as id_codec};
use super::incoming::{self, EmailSource, IncomingEmail};
use super::listing::{confirmations, deletions, position};
use super::storage::error::damaged_error;
use super::{Archive, RequestTime, SortKey, purge};
use crate::api::{RetrievedEmail, wire};
use crate::error::Error;
use crate::mail::{Email, EmailId, Status};

pub(crate) const BODY_BY_ID: &str =
    "SELECT json, dictionary_id, last_event FROM mail JOIN body USING (sort_key) WHERE id = ?1";

impl Archive {
    /// An email with its bodies, if they were kept; its status is the latest one known, in its JSON too.
    pub(crate) fn email(&self, id: &EmailId) -> Result<Option<Email>, Error> {
        let found = self.connections.read(|connection| {
            let mut statement = connection.prepare_cached(BODY_BY_ID)?;
            let found = statement
                .query_row([id_codec::encode_id(id.as_str())], |row| {
                    Ok((CompressedBody::from_row(row, 0)?, row.get(2)?))
                })
                .optional()?;
            let Some((Some(compressed), last_event)) = found else {
                return Ok(None);
            };
            let json: Arc<str> = compressed.to_json(connection)?.into();
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
        let json = if email.last_event == last_event {
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
    pub(crate) fn put_body(
        &self,
        retrieved: &RetrievedEmail,
        request: RequestTime,
    ) -> Result<bool, Error> {
        let mut emails = vec![IncomingEmail::parse(&retrieved.json, request.at, true)?];
        self.connections.write(|transaction| {
            if !purge::filter_purged(transaction, &mut emails, self.retention, request.at)?
                .is_empty()
            {
                return Ok(false);
            }
            position::assign_time_keys(transaction, &mut emails, request.at)?;
            let email = &emails[0];
            let changed = email.update_status(transaction, request)?;
            if email.existing.is_none() {
                incoming::insert_new(transaction, &emails, EmailSource::Response(request))?;
            } else {
                deletions::mark_restored(transaction, email, request)?;
                confirmations::record_row(transaction, email.sort_key, request)?;
            }
            if email.existing.is_some() || email.body_json().is_none() {
                dictionary::store_bodies(transaction, &[(email.sort_key, &retrieved.json)])?;
            }
            Ok(changed)
        })
    }
}

/// The JSON of an email with this status in place of the one that it was retrieved with.
fn replace_last_event(json: &str, last_event: Option<&str>) -> Result<String, Error> {
    let OrderedObject(members) =
        OrderedObject::parse(json).map_err(|error| damaged_error(&error))?;
    let last_event = last_event.map_or_else(|| "null".to_owned(), row::quote);
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
    Ok(row::write_object(
        pairs.iter().map(|(name, value)| (*name, value.as_str())),
    ))
}

/// Emails without bodies that the service still has, newer than the second place.
macro_rules! without_body {
    ($what:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM mail WHERE sort_key > ?1 AND sort_key < ?2 AND missing_since IS NULL \
             AND NOT EXISTS (SELECT 1 FROM body WHERE body.sort_key = mail.sort_key)",
            $rest
        )
    };
}

impl Archive {
    /// At most `rows` emails whose bodies are not here, newest first, below the place `below` and not
    /// older than `since` (microseconds since 1970).
    pub(crate) fn without_body(
        &self,
        below: Option<SortKey>,
        since: i64,
        rows: u32,
    ) -> Result<Vec<(SortKey, EmailId)>, Error> {
        let (below, edge) = (below.unwrap_or(SortKey(i64::MAX)), key_before(since));
        self.connections.read(|connection| {
            let mut statement = connection
                .prepare_cached(without_body!("sort_key, id", " ORDER BY sort_key LIMIT ?3"))?;
            let found = statement.query_map(params![below, edge, rows], |row| {
                Ok((
                    row.get(0)?,
                    EmailId::new(id_codec::decode_id(row.get_ref(1)?)),
                ))
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// How many emails that are not older than `since` have no bodies here. Walks all of them.
    pub(crate) fn count_without_body(&self, since: i64) -> Result<u64, Error> {
        let everywhere = SortKey(i64::MAX);
        self.connections.read(|connection| {
            let count: i64 = connection.query_row(
                without_body!("count(*)", ""),
                params![everywhere, key_before(since)],
                |row| row.get(0),
            )?;
            Ok(count.unsigned_abs())
        })
    }

    /// The newest emails, and how often the status of each was seen to change.
    pub(crate) fn newest_changes(&self, rows: u32) -> Result<Vec<(EmailId, i64)>, Error> {
        self.connections.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, status_changes FROM mail ORDER BY sort_key LIMIT ?1")?;
            let found = statement.query_map([rows], |row| {
                Ok((
                    EmailId::new(id_codec::decode_id(row.get_ref(0)?)),
                    row.get(1)?,
                ))
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// The place right below all mail of that time and newer.
fn key_before(since: i64) -> SortKey {
    SortKey(SortKey::from_micros(since).map_or(i64::MIN, |key| key.0 - 1))
}
