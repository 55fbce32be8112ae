//! One email on its way into the archive: its content, and the row that the archive has of it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, ToSql, Transaction, params, params_from_iter};

use super::codec::row::{ParsedEmail, RowFields, row_columns, summary_columns};
use super::codec::{dictionary, id as id_codec};
use super::listing::confirmations::{self, latest_response_seq};
use super::{RequestTime, SortKey, search};
use crate::error::{Error, ErrorKind};
use crate::mail::{ApiTime, EmailId, Status};

/// How far (in microseconds) the service's clock may be ahead of ours.
const MAX_CLOCK_SKEW: i64 = 86_400_000_000;

/// An email whose JSON is longer is taken apart again when its turn comes: its ten thousand recipients
/// need not stand in memory beside those of the rest of the page.
const LARGE_JSON: usize = 64 << 10;

/// One email on its way into the archive.
pub(crate) struct IncomingEmail {
    id: String,
    json: Arc<str>,
    /// The JSON, taken apart, unless it is large.
    fields: Option<RowFields>,
    /// Whether the JSON has bodies.
    has_body: bool,
    /// Where its time would put it.
    pub(crate) time_key: Option<SortKey>,
    /// What the archive has of it.
    pub(crate) existing: Option<ExistingRow>,
    /// Where it is going to stand.
    pub(crate) sort_key: SortKey,
}

/// A row as it stands in the archive.
pub(crate) struct ExistingRow {
    pub(crate) sort_key: SortKey,
    /// Whether a page within a span has held it.
    pub(crate) listed: bool,
    status_seen: i64,
    changes: i64,
    /// Whether the service was found not to have it.
    is_missing: bool,
    /// The number of the newest answer that has written or confirmed it.
    response_seq: i64,
}

pub(crate) const EXISTING: &str = concat!(
    "SELECT sort_key, listed, status_seen_at, status_changes, missing_since IS NOT NULL, ",
    latest_response_seq!(),
    " FROM mail WHERE id = ?1"
);
/// Where emails come from that the archive does not have yet.
#[derive(Clone, Copy)]
pub(crate) enum EmailSource {
    /// A page within a span, for which a run is put.
    Page(RequestTime),
    /// Another answer of the service.
    Response(RequestTime),
    /// A file, which says nothing about what the service has now.
    File(Timestamp),
}

pub(crate) const FIELDS_BY_KEY: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM mail JOIN key_order USING (key_order_id) WHERE sort_key = ?1"
);

impl IncomingEmail {
    /// Takes an email's JSON apart. It was seen at that time, so it was not created long after it: a
    /// time from the future would stand above all mail to come. Its fields are kept, if it is not large,
    /// unless there are too many beside it.
    pub(crate) fn parse(
        json: &Arc<str>,
        seen_at: Timestamp,
        keeps_fields: bool,
    ) -> Result<Self, Error> {
        let ParsedEmail {
            fields,
            has_body: with_body,
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
        let latest = seen_at.as_microsecond().saturating_add(MAX_CLOCK_SKEW);
        let time_key = created
            .filter(|created| *created <= latest)
            .and_then(SortKey::from_micros);
        let id = fields.summary.id.clone();
        let fields = Some(fields).filter(|_| keeps_fields && json.len() <= LARGE_JSON);
        Ok(Self {
            id,
            json: Arc::clone(json),
            fields,
            has_body: with_body,
            time_key,
            existing: None,
            sort_key: SortKey(0),
        })
    }

    /// What it says.
    pub(crate) fn fields(&self) -> Cow<'_, RowFields> {
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
    pub(crate) fn id_str(&self) -> &str {
        &self.id
    }

    /// Its JSON, if that has bodies.
    pub(crate) fn body_json(&self) -> Option<&str> {
        self.has_body.then_some(&*self.json)
    }

    /// Whether its status may still change.
    pub(crate) fn may_change(&self, now: Timestamp) -> bool {
        confirmations::may_change(
            self.fields().summary.last_event.as_deref(),
            self.sort_key,
            now,
        )
    }

    pub(crate) fn id(&self) -> EmailId {
        EmailId::new(&self.id)
    }

    /// Finds out what the archive has of it now.
    pub(crate) fn find_existing(&mut self, transaction: &Transaction) -> Result<(), Error> {
        let existing = transaction.prepare_cached(EXISTING)?.query_row(
            [id_codec::encode_id(&self.id)],
            |row| {
                Ok(ExistingRow {
                    sort_key: row.get(0)?,
                    listed: row.get(1)?,
                    status_seen: row.get(2)?,
                    changes: row.get(3)?,
                    is_missing: row.get(4)?,
                    response_seq: row.get(5)?,
                })
            },
        );
        self.existing = existing.optional()?;
        Ok(())
    }

    /// Writes it as a new row, which has that slot in the index.
    fn insert_row(
        &self,
        transaction: &Transaction,
        cache: &mut ValueCache,
        fts_rowid: i64,
        source: EmailSource,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO mail (sort_key, fts_rowid, listed, status_seen_at, status_changes, response_seq, confirmed_at, key_order_id, id, created_at, last_event, sender, \
                   recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, extra_json) \
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
        let mut statement = transaction.prepare_cached(sql)?;
        let fields = self.fields();
        let key_order_id = cache.key_order_id(transaction, &fields.key_order)?;
        let (listed, seen_at, response_seq, confirmed_at) = match source {
            EmailSource::Page(request) => (true, request.at, request.seq, None),
            EmailSource::Response(request) => {
                (false, request.at, request.seq, Some(request.micros()))
            }
            EmailSource::File(seen_at) => (false, seen_at, 0, None),
        };
        let head: [&dyn ToSql; 7] = [
            &self.sort_key,
            &fts_rowid,
            &listed,
            &seen_at.as_microsecond(),
            &response_seq,
            &confirmed_at,
            &key_order_id,
        ];
        let values =
            fields.to_params(cache.sender_value(transaction, fields.summary.from.as_deref())?);
        statement.execute(params_from_iter(
            head.into_iter()
                .chain(values.iter().map(|value| value as &dyn ToSql)),
        ))?;
        Ok(())
    }

    /// Brings the known row up to date and keeps the status that it had; says whether that changed.
    pub(crate) fn update(
        &self,
        transaction: &Transaction,
        listed: bool,
        request: RequestTime,
    ) -> Result<bool, Error> {
        let Some(existing) = &self.existing else {
            return Ok(false);
        };
        let key = self.sort_key;
        if existing.is_newer_than(request) {
            if listed && !existing.listed && !existing.is_missing {
                transaction
                    .prepare_cached("UPDATE mail SET listed = 1 WHERE sort_key = ?1")?
                    .execute([key])?;
            }
            return Ok(false);
        }
        if (listed && !existing.listed) || existing.is_missing {
            let sql = "UPDATE mail SET listed = max(listed, ?2), missing_since = NULL, response_seq = ?3 WHERE sort_key = ?1";
            transaction
                .prepare_cached(sql)?
                .execute(params![key, listed, request.seq])?;
        }
        let (fields, current) = (self.fields(), load_fields(transaction, key)?);
        if current == *fields {
            return Ok(false);
        }
        let sql = "UPDATE mail SET key_order_id = ?2, id = ?3, created_at = ?4, last_event = ?5, sender = ?6, recipients = ?7, subject = ?8, \
                   message_id = ?9, cc = ?10, bcc = ?11, reply_to = ?12, scheduled_at = ?13, extra_json = ?14, response_seq = ?15 WHERE sort_key = ?1";
        let mut cache = ValueCache::default();
        let key_order_id = cache.key_order_id(transaction, &fields.key_order)?;
        let head: [&dyn ToSql; 2] = [&key, &key_order_id];
        let values =
            fields.to_params(cache.sender_value(transaction, fields.summary.from.as_deref())?);
        let values = values.iter().map(|value| value as &dyn ToSql);
        transaction.prepare_cached(sql)?.execute(params_from_iter(
            head.into_iter()
                .chain(values)
                .chain([&request.seq as &dyn ToSql]),
        ))?;
        let (before, after) = (
            current.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        record_status_change(transaction, key, existing, (before, after), request)
    }

    /// Takes over the status alone, from an answer that describes the email in another shape.
    pub(crate) fn update_status(
        &self,
        transaction: &Transaction,
        request: RequestTime,
    ) -> Result<bool, Error> {
        let Some(existing) = self
            .existing
            .as_ref()
            .filter(|existing| !existing.is_newer_than(request))
        else {
            return Ok(false);
        };
        let (fields, current) = (self.fields(), load_fields(transaction, existing.sort_key)?);
        let (before, last_event) = (
            current.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        if last_event.is_none()
            || !record_status_change(
                transaction,
                existing.sort_key,
                existing,
                (before, last_event),
                request,
            )?
        {
            return Ok(false);
        }
        transaction
            .prepare_cached("UPDATE mail SET last_event = ?2 WHERE sort_key = ?1")?
            .execute(params![existing.sort_key, last_event])?;
        Ok(true)
    }
}

/// Writes those of the entries that are new, with their bodies and what search needs to find them.
pub(crate) fn insert_new(
    transaction: &Transaction,
    emails: &[IncomingEmail],
    source: EmailSource,
) -> Result<Vec<EmailId>, Error> {
    let mut new: Vec<&IncomingEmail> = emails
        .iter()
        .filter(|email| email.existing.is_none())
        .collect();
    new.sort_unstable_by_key(|email| Reverse(email.sort_key));
    let keys: Vec<SortKey> = new.iter().map(|email| email.sort_key).collect();
    let fts_rowids = search::assign_rowids(transaction, &keys)?;
    let mut cache = ValueCache::default();
    for (email, fts_rowid) in new.iter().zip(&fts_rowids) {
        email.insert_row(transaction, &mut cache, *fts_rowid, source)?;
    }
    let with_body: Vec<(SortKey, &str)> = new
        .iter()
        .filter_map(|email| Some((email.sort_key, email.body_json()?)))
        .collect();
    dictionary::store_bodies(transaction, &with_body)?;
    // After all rows: a statement that sets triggers off makes the index write what it has gathered.
    let mut index = search::Index::new(transaction);
    for (email, fts_rowid) in new.iter().zip(fts_rowids) {
        index.insert(
            email.sort_key,
            fts_rowid,
            &email.fields().summary,
            email.body_json(),
        )?;
    }
    Ok(emails
        .iter()
        .filter(|email| email.existing.is_none())
        .map(IncomingEmail::id)
        .collect())
}

impl ExistingRow {
    /// Whether a later request than this one has written or confirmed it already.
    pub(crate) fn is_newer_than(&self, request: RequestTime) -> bool {
        request.seq < self.response_seq
    }
}

/// What the row at `place` says.
fn load_fields(transaction: &Transaction, key: SortKey) -> Result<RowFields, Error> {
    Ok(transaction
        .prepare_cached(FIELDS_BY_KEY)?
        .query_row([key], |row| RowFields::from_row(row, 0))?)
}

/// Keeps the status that a row had, if it has another one after.
fn record_status_change(
    transaction: &Transaction,
    key: SortKey,
    existing: &ExistingRow,
    (before, after): (Option<&str>, Option<&str>),
    request: RequestTime,
) -> Result<bool, Error> {
    if Status::parse(before.unwrap_or_default()) == Status::parse(after.unwrap_or_default()) {
        return Ok(false);
    }
    let sql =
        "INSERT INTO status_history (sort_key, seq, seen_at, last_event) VALUES (?1, ?2, ?3, ?4)";
    transaction.prepare_cached(sql)?.execute(params![
        key,
        existing.changes,
        existing.status_seen,
        before
    ])?;
    let sql = "UPDATE mail SET status_seen_at = ?2, status_changes = status_changes + 1, response_seq = ?3 WHERE sort_key = ?1";
    transaction
        .prepare_cached(sql)?
        .execute(params![key, request.micros(), request.seq])?;
    Ok(true)
}

/// What many emails share, remembered from one to the next.
#[derive(Default)]
pub(crate) struct ValueCache {
    key_order: Option<(String, i64)>,
    senders: HashMap<String, Value>,
}

impl ValueCache {
    /// The number of these member names.
    pub(crate) fn key_order_id(
        &mut self,
        transaction: &Transaction,
        names: &str,
    ) -> Result<i64, Error> {
        if let Some((_, key_order_id)) = self
            .key_order
            .as_ref()
            .filter(|(existing, _)| existing == names)
        {
            return Ok(*key_order_id);
        }
        let sql = "SELECT key_order_id FROM key_order WHERE keys = ?1";
        let existing = transaction
            .prepare_cached(sql)?
            .query_row([names], |row| row.get(0))
            .optional()?;
        let key_order_id = if let Some(key_order_id) = existing {
            key_order_id
        } else {
            transaction.execute("INSERT INTO key_order (keys) VALUES (?1)", [names])?;
            transaction.last_insert_rowid()
        };
        self.key_order = Some((names.to_owned(), key_order_id));
        Ok(key_order_id)
    }

    /// A sender as it is stored: as the number of a label, unless there are too many of those.
    pub(crate) fn sender_value(
        &mut self,
        transaction: &Transaction,
        sender: Option<&str>,
    ) -> Result<Value, Error> {
        let Some(sender) = sender else {
            return Ok(Value::Null);
        };
        if let Some(existing) = self.senders.get(sender) {
            return Ok(existing.clone());
        }
        let value = search::intern(transaction, search::STORED_SENDER, sender)?
            .map_or_else(|| Value::Text(sender.to_owned()), Value::Integer);
        self.senders.insert(sender.to_owned(), value.clone());
        Ok(value)
    }
}
