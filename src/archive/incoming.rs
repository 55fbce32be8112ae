//! One email on its way into the archive: what it says, and what the archive already has of it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, ToSql, Transaction, params, params_from_iter};

use super::confirmations::latest_response_seq;
use super::row_codec::{ParsedEmail, RowFields, row_columns, summary_columns};
use super::{RequestTime, SortKey, bodies, confirmations, id_codec, search};
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, EmailId, Status};

/// How far (in microseconds) the service's clock may be ahead of ours.
const MAX_CLOCK_SKEW: i64 = 86_400_000_000;

/// An email whose JSON is longer is taken apart again when its turn comes: its ten thousand recipients
/// need not stand in memory beside those of the rest of the page.
const LARGE_JSON: usize = 64 << 10;

/// One email on its way into the archive.
pub(super) struct IncomingEmail {
    id: String,
    json: Arc<str>,
    /// The JSON, taken apart, unless it is large.
    fields: Option<RowFields>,
    /// Whether the JSON has bodies.
    has_body: bool,
    /// Where its time would put it.
    pub(super) time_key: Option<SortKey>,
    /// What the archive has of it.
    pub(super) existing: Option<ExistingRow>,
    /// Where it is going to stand.
    pub(super) sort_key: SortKey,
}

/// A row as it stands in the archive.
pub(super) struct ExistingRow {
    pub(super) sort_key: SortKey,
    /// Whether a page within a span has held it.
    pub(super) listed: bool,
    status_seen: i64,
    changes: i64,
    /// Whether the service was found not to have it.
    is_missing: bool,
    /// The number of the newest answer that has written or confirmed it.
    response_seq: i64,
}

pub(super) const EXISTING: &str = concat!(
    "SELECT sort_key, listed, status_seen_at, status_changes, missing_since IS NOT NULL, ",
    latest_response_seq!(),
    " FROM mail WHERE id = ?1"
);
/// Where emails come from that the archive does not have yet.
#[derive(Clone, Copy)]
pub(super) enum EmailSource {
    /// A page within a span, for which a run is put.
    Page(RequestTime),
    /// Another answer of the service.
    Response(RequestTime),
    /// A file, which says nothing about what the service has now.
    File(Timestamp),
}

pub(super) const FIELDS_BY_KEY: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM mail JOIN key_order USING (key_order_id) WHERE sort_key = ?1"
);

impl IncomingEmail {
    /// Takes an email's JSON apart. It was seen at that time, so it was not created long after it: a
    /// time from the future would stand above all mail to come. Its fields are kept, if it is not large,
    /// unless there are too many beside it.
    pub(super) fn parse(
        json: &Arc<str>,
        seen: Timestamp,
        keeps_fields: bool,
    ) -> Result<Self, Error> {
        let ParsedEmail {
            fields,
            has_body: whole,
        } = RowFields::parse(json).map_err(|error| {
            Error::new(
                ErrorKind::NotTheApi,
                format!("an email that cannot be read: {error}"),
            )
        })?;
        let created = fields
            .summary
            .created_at
            .as_deref()
            .and_then(|created| ApiTime::parse(created).as_micros());
        let latest = seen.as_microsecond().saturating_add(MAX_CLOCK_SKEW);
        let natural = created
            .filter(|created| *created <= latest)
            .and_then(SortKey::from_micros);
        let id = fields.summary.id.clone();
        let fields = Some(fields).filter(|_| keeps_fields && json.len() <= LARGE_JSON);
        Ok(Self {
            id,
            json: Arc::clone(json),
            fields,
            has_body: whole,
            time_key: natural,
            existing: None,
            sort_key: SortKey(0),
        })
    }

    /// What it says.
    pub(super) fn fields(&self) -> Cow<'_, RowFields> {
        match &self.fields {
            Some(fields) => Cow::Borrowed(fields),
            None => Cow::Owned(
                RowFields::parse(&self.json)
                    .expect("it was read before")
                    .fields,
            ),
        }
    }

    /// Its id as it came.
    pub(super) fn id_str(&self) -> &str {
        &self.id
    }

    /// Its JSON, if that has bodies.
    pub(super) fn body_json(&self) -> Option<&str> {
        self.has_body.then_some(&*self.json)
    }

    /// Whether its status may still change.
    pub(super) fn may_change(&self, now: Timestamp) -> bool {
        confirmations::may_change(
            self.fields().summary.last_event.as_deref(),
            self.sort_key,
            now,
        )
    }

    pub(super) fn id(&self) -> EmailId {
        EmailId::new(&self.id)
    }

    /// Finds out what the archive has of it now.
    pub(super) fn find_existing(&mut self, change: &Transaction) -> Result<(), Error> {
        let known =
            change
                .prepare_cached(EXISTING)?
                .query_row([id_codec::encode_id(&self.id)], |row| {
                    Ok(ExistingRow {
                        sort_key: row.get(0)?,
                        listed: row.get(1)?,
                        status_seen: row.get(2)?,
                        changes: row.get(3)?,
                        is_missing: row.get(4)?,
                        response_seq: row.get(5)?,
                    })
                });
        self.existing = known.optional()?;
        Ok(())
    }

    /// Writes it as a new row, which has that slot in the index.
    fn insert_row(
        &self,
        change: &Transaction,
        shared: &mut ValueCache,
        slot: i64,
        source: EmailSource,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO mail (sort_key, fts_rowid, listed, status_seen_at, status_changes, response_seq, confirmed_at, key_order_id, id, created_at, last_event, sender, \
                   recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, extra_json) \
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
        let mut statement = change.prepare_cached(sql)?;
        let fields = self.fields();
        let shape = shared.key_order_id(change, &fields.key_order)?;
        let (listed, seen, answer, checked) = match source {
            EmailSource::Page(asked) => (true, asked.at, asked.seq, None),
            EmailSource::Response(asked) => (false, asked.at, asked.seq, Some(asked.micros())),
            EmailSource::File(seen) => (false, seen, 0, None),
        };
        let head: [&dyn ToSql; 7] = [
            &self.sort_key,
            &slot,
            &listed,
            &seen.as_microsecond(),
            &answer,
            &checked,
            &shape,
        ];
        let values = fields.to_params(shared.sender_value(change, fields.summary.from.as_deref())?);
        statement.execute(params_from_iter(
            head.into_iter()
                .chain(values.iter().map(|value| value as &dyn ToSql)),
        ))?;
        Ok(())
    }

    /// Brings the known row up to date and keeps the status that it had; says whether that changed.
    pub(super) fn update(
        &self,
        change: &Transaction,
        listed: bool,
        asked: RequestTime,
    ) -> Result<bool, Error> {
        let Some(known) = &self.existing else {
            return Ok(false);
        };
        let place = self.sort_key;
        if known.is_newer_than(asked) {
            if listed && !known.listed && !known.is_missing {
                change
                    .prepare_cached("UPDATE mail SET listed = 1 WHERE sort_key = ?1")?
                    .execute([place])?;
            }
            return Ok(false);
        }
        if (listed && !known.listed) || known.is_missing {
            let sql = "UPDATE mail SET listed = max(listed, ?2), missing_since = NULL, response_seq = ?3 WHERE sort_key = ?1";
            change
                .prepare_cached(sql)?
                .execute(params![place, listed, asked.seq])?;
        }
        let (fields, standing) = (self.fields(), load_fields(change, place)?);
        if standing == *fields {
            return Ok(false);
        }
        let sql = "UPDATE mail SET key_order_id = ?2, id = ?3, created_at = ?4, last_event = ?5, sender = ?6, recipients = ?7, subject = ?8, \
                   message_id = ?9, cc = ?10, bcc = ?11, reply_to = ?12, scheduled_at = ?13, extra_json = ?14, response_seq = ?15 WHERE sort_key = ?1";
        let mut shared = ValueCache::default();
        let shape = shared.key_order_id(change, &fields.key_order)?;
        let head: [&dyn ToSql; 2] = [&place, &shape];
        let values = fields.to_params(shared.sender_value(change, fields.summary.from.as_deref())?);
        let values = values.iter().map(|value| value as &dyn ToSql);
        change.prepare_cached(sql)?.execute(params_from_iter(
            head.into_iter()
                .chain(values)
                .chain([&asked.seq as &dyn ToSql]),
        ))?;
        let (before, after) = (
            standing.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        record_status_change(change, place, known, (before, after), asked)
    }

    /// Takes over the status alone, from an answer that describes the email in another shape.
    pub(super) fn update_status(
        &self,
        change: &Transaction,
        asked: RequestTime,
    ) -> Result<bool, Error> {
        let Some(known) = self
            .existing
            .as_ref()
            .filter(|known| !known.is_newer_than(asked))
        else {
            return Ok(false);
        };
        let (fields, standing) = (self.fields(), load_fields(change, known.sort_key)?);
        let (before, last_event) = (
            standing.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        if last_event.is_none()
            || !record_status_change(change, known.sort_key, known, (before, last_event), asked)?
        {
            return Ok(false);
        }
        change
            .prepare_cached("UPDATE mail SET last_event = ?2 WHERE sort_key = ?1")?
            .execute(params![known.sort_key, last_event])?;
        Ok(true)
    }
}

/// Writes those of the entries that are new, with their bodies and what search needs to find them.
pub(super) fn insert_new(
    change: &Transaction,
    entries: &[IncomingEmail],
    source: EmailSource,
) -> Result<Vec<EmailId>, Error> {
    let mut new: Vec<&IncomingEmail> = entries
        .iter()
        .filter(|entry| entry.existing.is_none())
        .collect();
    new.sort_unstable_by_key(|entry| Reverse(entry.sort_key));
    let places: Vec<SortKey> = new.iter().map(|entry| entry.sort_key).collect();
    let slots = search::assign_rowids(change, &places)?;
    let mut shared = ValueCache::default();
    for (entry, slot) in new.iter().zip(&slots) {
        entry.insert_row(change, &mut shared, *slot, source)?;
    }
    let whole: Vec<(SortKey, &str)> = new
        .iter()
        .filter_map(|entry| Some((entry.sort_key, entry.body_json()?)))
        .collect();
    bodies::put_bodies(change, &whole)?;
    // After all rows: a statement that sets triggers off makes the index write what it has gathered.
    let mut index = search::Index::new(change);
    for (entry, slot) in new.iter().zip(slots) {
        index.insert(
            entry.sort_key,
            slot,
            &entry.fields().summary,
            entry.body_json(),
        )?;
    }
    Ok(entries
        .iter()
        .filter(|entry| entry.existing.is_none())
        .map(IncomingEmail::id)
        .collect())
}

impl ExistingRow {
    /// Whether a later request than this one has written or confirmed it already.
    pub(super) fn is_newer_than(&self, asked: RequestTime) -> bool {
        asked.seq < self.response_seq
    }
}

/// What the row at `place` says.
fn load_fields(change: &Transaction, place: SortKey) -> Result<RowFields, Error> {
    Ok(change
        .prepare_cached(FIELDS_BY_KEY)?
        .query_row([place], |row| RowFields::from_row(row, 0))?)
}

/// Keeps the status that a row had, if it has another one after.
fn record_status_change(
    change: &Transaction,
    place: SortKey,
    known: &ExistingRow,
    (before, after): (Option<&str>, Option<&str>),
    asked: RequestTime,
) -> Result<bool, Error> {
    if Status::parse(before.unwrap_or_default()) == Status::parse(after.unwrap_or_default()) {
        return Ok(false);
    }
    let sql =
        "INSERT INTO status_history (sort_key, seq, seen_at, last_event) VALUES (?1, ?2, ?3, ?4)";
    change.prepare_cached(sql)?.execute(params![
        place,
        known.changes,
        known.status_seen,
        before
    ])?;
    let sql = "UPDATE mail SET status_seen_at = ?2, status_changes = status_changes + 1, response_seq = ?3 WHERE sort_key = ?1";
    change
        .prepare_cached(sql)?
        .execute(params![place, asked.micros(), asked.seq])?;
    Ok(true)
}

/// What many emails share, remembered from one to the next.
#[derive(Default)]
pub(super) struct ValueCache {
    key_order: Option<(String, i64)>,
    senders: HashMap<String, Value>,
}

impl ValueCache {
    /// The number of these member names.
    pub(super) fn key_order_id(&mut self, change: &Transaction, names: &str) -> Result<i64, Error> {
        if let Some((_, shape)) = self.key_order.as_ref().filter(|(known, _)| known == names) {
            return Ok(*shape);
        }
        let sql = "SELECT key_order_id FROM key_order WHERE keys = ?1";
        let known = change
            .prepare_cached(sql)?
            .query_row([names], |row| row.get(0))
            .optional()?;
        let shape = if let Some(shape) = known {
            shape
        } else {
            change.execute("INSERT INTO key_order (keys) VALUES (?1)", [names])?;
            change.last_insert_rowid()
        };
        self.key_order = Some((names.to_owned(), shape));
        Ok(shape)
    }

    /// A sender as it is stored: as the number of a label, unless there are too many of those.
    pub(super) fn sender_value(
        &mut self,
        change: &Transaction,
        sender: Option<&str>,
    ) -> Result<Value, Error> {
        let Some(sender) = sender else {
            return Ok(Value::Null);
        };
        if let Some(known) = self.senders.get(sender) {
            return Ok(known.clone());
        }
        let value = search::label(change, search::STORED_SENDER, sender)?
            .map_or_else(|| Value::Text(sender.to_owned()), Value::Integer);
        self.senders.insert(sender.to_owned(), value.clone());
        Ok(value)
    }
}
