//! One email that is to be stored:
//! its content, and the row that the archive has of it.
//!
//! The calls have an order: create it from the service's JSON, find the row that exists, assign the
//! sort key, then insert or update. Until then its key is a placeholder. An older response never
//! overwrites a newer one: `response_seq` decides.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::ToSql as _;
use rusqlite::types::{ToSqlOutput, Value};
use serde_json::value::RawValue;

use super::codec::row::{self, row_columns};
use super::codec::{self, dictionary, members};
use super::listing::confirmations::{self, latest_response_seq};
use super::storage::db::{Transaction, params};
use super::storage::error::damaged_error;
use super::{RequestStamp, SortKey, search};
use crate::api::ListedEmail;
use crate::api::wire::LosslessSummary;
use crate::error::Result;
use crate::mail::{BOUNCE_FIELD, EmailId, Status};
use crate::tasks::map_ahead;

/// How far (in microseconds) the service's clock may be ahead of ours.
const MAX_CLOCK_SKEW: i64 = 86_400_000_000;

pub(crate) struct IncomingEmail {
    pub(crate) item: ListedEmail,
    /// The key that its time gives it.
    pub(crate) time_key: Option<SortKey>,
    /// The row that the archive has of it, as it was found.
    pub(crate) existing: Option<ExistingRow>,
    /// The key that it gets.
    pub(crate) sort_key: SortKey,
}

/// The row that the archive has of an email.
pub(crate) struct ExistingRow {
    /// The key at which it was found; a page may give it another one.
    pub(crate) sort_key: SortKey,
    /// Whether a page within a covered range contained it.
    pub(crate) listed: bool,
    status_seen: i64,
    changes: i64,
    /// Whether the service was found not to have it.
    is_missing: bool,
    /// The number of the newest response that wrote or confirmed it.
    response_seq: i64,
}

pub(crate) const EXISTING: &str = concat!(
    "SELECT sort_key, listed, status_seen_at, status_changes, missing_since IS NOT NULL, ",
    latest_response_seq!(),
    " FROM mail WHERE id = ?1"
);

/// The columns of a row that are not from the email's JSON.
pub(crate) struct RowState {
    pub(crate) sort_key: SortKey,
    pub(crate) fts_rowid: Option<i64>,
    pub(crate) listed: bool,
    pub(crate) status_seen_at: i64,
    pub(crate) status_changes: i64,
    pub(crate) response_seq: i64,
    pub(crate) confirmed_at: Option<i64>,
    pub(crate) missing_since: Option<i64>,
}

/// Where emails come from that are new to the archive.
#[derive(Clone, Copy)]
pub(crate) enum InsertSource {
    /// A page within a covered range, for which a run is recorded.
    Page(RequestStamp),
    /// Another response of the service.
    Response(RequestStamp),
    /// A file, which proves nothing about what the service has now.
    File(Timestamp),
}

pub(crate) const FIELDS_BY_KEY: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM mail JOIN key_order USING (key_order_id) WHERE sort_key = ?1"
);

impl IncomingEmail {
    /// Prepares an email that was received at `seen_at`.
    ///
    /// A creation time far in the future is ignored: the email would stay above all later mail.
    pub(crate) fn new(item: ListedEmail, seen_at: Timestamp) -> Self {
        let latest = seen_at.as_microsecond().saturating_add(MAX_CLOCK_SKEW);
        let created = item.created.map(Timestamp::as_microsecond);
        Self {
            time_key: created
                .filter(|created| *created <= latest)
                .and_then(SortKey::from_micros),
            item,
            existing: None,
            sort_key: SortKey(0),
        }
    }

    /// Returns the JSON if it has bodies.
    pub(crate) fn body_json(&self) -> Option<&str> {
        self.item.has_body.then_some(&*self.item.json)
    }

    pub(crate) fn may_change(&self, now: Timestamp) -> bool {
        let parsed = self.item.parsed();
        confirmations::may_change(parsed.summary.last_event.as_deref(), self.sort_key, now)
    }

    pub(crate) fn id(&self) -> EmailId {
        EmailId::new(&self.item.id)
    }

    fn insert_row(
        &self,
        tx: &Transaction,
        cache: &mut ValueCache,
        fts_rowid: i64,
        source: InsertSource,
    ) -> Result<()> {
        let (listed, seen_at, response_seq, confirmed_at) = match source {
            InsertSource::Page(request) => (true, request.as_of, request.seq, None),
            InsertSource::Response(request) => {
                (false, request.as_of, request.seq, request.confirmed_at())
            }
            InsertSource::File(seen_at) => (false, seen_at, 0, None),
        };
        let state = RowState {
            sort_key: self.sort_key,
            fts_rowid: Some(fts_rowid),
            listed,
            status_seen_at: seen_at.as_microsecond(),
            status_changes: 0,
            response_seq,
            confirmed_at: confirmed_at.map(Timestamp::as_microsecond),
            missing_since: None,
        };
        cache.insert_row(tx, &state, &self.item.parsed())
    }

    /// Whether the service did not have it before `request`, and has it again.
    pub(crate) fn is_restored(&self, request: RequestStamp) -> bool {
        let existing = self.existing.as_ref();
        existing.is_some_and(|existing| existing.is_missing && !existing.is_newer_than(request))
    }

    /// Updates the existing row and records an earlier status;
    /// returns whether the status changed.
    pub(crate) fn update(
        &self,
        tx: &Transaction,
        listed: bool,
        request: RequestStamp,
    ) -> Result<bool> {
        let Some(existing) = &self.existing else {
            return Ok(false);
        };
        let key = self.sort_key;
        if existing.is_newer_than(request) {
            if listed && !existing.listed && !existing.is_missing {
                tx.execute("UPDATE mail SET listed = 1 WHERE sort_key = ?1", [key])?;
            }
            return Ok(false);
        }
        if (listed && !existing.listed) || existing.is_missing {
            let query = "UPDATE mail SET listed = max(listed, ?2), missing_since = NULL, response_seq = ?3 WHERE sort_key = ?1";
            tx.execute(query, params![key, listed, request.seq])?;
        }
        let (mut fields, current) = (self.item.parsed(), load_fields(tx, key)?);
        // What the list lacks is known from a retrieved email or a webhook.
        let mut known = members::missing_members(&fields.summary, &current.summary);
        if let (Some(bounce), None) = (current.bounce(), fields.bounce()) {
            let bounce = RawValue::from_string(bounce.to_owned());
            known.push((BOUNCE_FIELD, bounce.map_err(damaged_error)?));
        }
        if !known.is_empty() {
            fields = Arc::new(members::with_members(&fields, &known)?);
        }
        if current == *fields {
            return Ok(false);
        }
        write_fields(tx, key, &fields, request.seq)?;
        let statuses = [&current, &*fields].map(|it| it.summary.last_event.as_deref());
        existing.record_status_change(tx, key, statuses, request)
    }

    /// Updates the status alone, from a response that describes the email in another
    /// form.
    pub(crate) fn update_status(&self, tx: &Transaction, request: RequestStamp) -> Result<bool> {
        let existing = self.existing.as_ref();
        let Some(existing) = existing.filter(|existing| !existing.is_newer_than(request)) else {
            return Ok(false);
        };
        let key = self.sort_key;
        let (fields, current) = (self.item.parsed(), load_fields(tx, key)?);
        let statuses = [&current, &*fields].map(|it| it.summary.last_event.as_deref());
        let after = statuses[1];
        let changed =
            after.is_some() && existing.record_status_change(tx, key, statuses, request)?;
        if changed {
            let query = "UPDATE mail SET last_event = ?2 WHERE sort_key = ?1";
            tx.execute(query, params![key, after])?;
        }
        Ok(changed)
    }

    /// Adds the members that the row lacks, from a file.
    pub(crate) fn fill_missing(&self, tx: &Transaction) -> Result<()> {
        let Some(existing) = &self.existing else {
            return Ok(());
        };
        let current = load_fields(tx, self.sort_key)?;
        let missing = members::missing_members(&current.summary, &self.item.parsed().summary);
        if missing.is_empty() {
            return Ok(());
        }
        let fields = members::with_members(&current, &missing)?;
        write_fields(tx, self.sort_key, &fields, existing.response_seq)
    }

    /// Updates the status, the due time, and what the list lacks, from a retrieved email;
    /// returns whether the status changed.
    pub(crate) fn update_retrieved(&self, tx: &Transaction, request: RequestStamp) -> Result<bool> {
        let is_current = |existing: &&ExistingRow| !existing.is_newer_than(request);
        let Some(existing) = self.existing.as_ref().filter(is_current) else {
            return Ok(false);
        };
        let changed = self.update_status(tx, request)?;
        let current = load_fields(tx, existing.sort_key)?;
        let newer = members::newer_members(&current.summary, &self.item.parsed().summary);
        if !newer.is_empty() {
            let fields = members::with_members(&current, &newer)?;
            write_fields(tx, self.sort_key, &fields, request.seq)?;
        }
        Ok(changed)
    }
}

/// Replaces the fields of a row by those of this response.
fn write_fields(
    tx: &Transaction,
    key: SortKey,
    fields: &LosslessSummary,
    response_seq: i64,
) -> Result<()> {
    let query = "UPDATE mail SET key_order_id = ?2, id = ?3, created_at = ?4, last_event = ?5, sender = ?6, recipients = ?7, subject = ?8, \
               message_id = ?9, cc = ?10, bcc = ?11, reply_to = ?12, scheduled_at = ?13, extra_json = ?14, response_seq = ?15 WHERE sort_key = ?1";
    let mut values = vec![key.to_sql()?];
    values.extend(ValueCache::default().row_values(tx, fields)?);
    values.push(response_seq.into());
    tx.execute(query, values)
}

/// Loads the rows that the archive has of these emails now.
pub(crate) fn find_existing(tx: &Transaction, emails: &mut [IncomingEmail]) -> Result<()> {
    let ids: Vec<_> = emails
        .iter()
        .map(|email| [codec::encode_id(&email.item.id)])
        .collect();
    let rows = tx.optional_each(EXISTING, ids, |row| {
        Ok(ExistingRow {
            sort_key: row.get()?,
            listed: row.get()?,
            status_seen: row.get()?,
            changes: row.get()?,
            is_missing: row.get()?,
            response_seq: row.get()?,
        })
    })?;
    for (email, existing) in emails.iter_mut().zip(rows) {
        email.existing = existing;
    }
    Ok(())
}

/// Inserts the emails that are new, with their bodies and index entries.
pub(crate) fn insert_new(
    tx: &Transaction,
    emails: &[IncomingEmail],
    source: InsertSource,
) -> Result<Vec<EmailId>> {
    let new_emails = || emails.iter().filter(|email| email.existing.is_none());
    let mut new: Vec<&IncomingEmail> = new_emails().collect();
    new.sort_unstable_by_key(|email| Reverse(email.sort_key));
    let keys: Vec<SortKey> = new.iter().map(|email| email.sort_key).collect();
    let fts_rowids = search::assign_rowids(tx, &keys)?;
    let mut cache = ValueCache::default();
    for (email, fts_rowid) in new.iter().zip(&fts_rowids) {
        email.insert_row(tx, &mut cache, *fts_rowid, source)?;
    }
    let with_body: Vec<(SortKey, &str)> = new
        .iter()
        .filter_map(|email| Some((email.sort_key, email.body_json()?)))
        .collect();
    dictionary::store_bodies(tx, &with_body)?;
    // After all rows: a statement that fires a trigger makes the index write its pending tokens.
    let mut index = search::Index::new(tx);
    let mut fts_rowids = fts_rowids.into_iter();
    map_ahead(
        &new,
        || {
            |email: &&IncomingEmail| {
                let summary = &email.item.parsed().summary;
                search::TokenizedEmail::new(email.sort_key, summary, email.body_json())
            }
        },
        |email, tokenized| {
            let fts_rowid = fts_rowids.next().expect("each email has one");
            index.insert(email.sort_key, fts_rowid, &tokenized)
        },
    )?;
    Ok(new_emails().map(IncomingEmail::id).collect())
}

impl ExistingRow {
    /// Whether a later request than this one has already written or confirmed it.
    pub(crate) fn is_newer_than(&self, request: RequestStamp) -> bool {
        request.seq < self.response_seq
    }

    /// Whether this request has written or confirmed it last.
    pub(crate) fn is_written_by(&self, request: RequestStamp) -> bool {
        request.seq == self.response_seq
    }

    /// Records the status before, if it is another one now; returns whether it is.
    ///
    /// The page may have moved the row, so `key` need not be the one at which it was found.
    fn record_status_change(
        &self,
        tx: &Transaction,
        key: SortKey,
        [before, after]: [Option<&str>; 2],
        request: RequestStamp,
    ) -> Result<bool> {
        if Status::parse(before.unwrap_or_default()) == Status::parse(after.unwrap_or_default()) {
            return Ok(false);
        }
        let query = "INSERT INTO status_history (sort_key, seq, seen_at, last_event) VALUES (?1, ?2, ?3, ?4)";
        let params = params![key, self.changes, self.status_seen, before];
        tx.execute(query, params)?;
        let query = "UPDATE mail SET status_seen_at = ?2, status_changes = status_changes + 1, response_seq = ?3 WHERE sort_key = ?1";
        tx.execute(query, params![key, request.micros(), request.seq])?;
        Ok(true)
    }
}

pub(crate) fn load_fields(tx: &Transaction, key: SortKey) -> Result<LosslessSummary> {
    tx.one(FIELDS_BY_KEY, [key], row::read_fields)
}

/// Ids of values that many emails share, cached for one transaction.
#[derive(Default)]
pub(crate) struct ValueCache {
    key_order: Option<(String, i64)>,
    senders: search::Interner,
}

impl ValueCache {
    pub(crate) fn insert_row(
        &mut self,
        tx: &Transaction,
        state: &RowState,
        fields: &LosslessSummary,
    ) -> Result<()> {
        let query = "INSERT INTO mail (sort_key, fts_rowid, listed, status_seen_at, status_changes, response_seq, confirmed_at, missing_since, \
                   key_order_id, id, created_at, last_event, sender, recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, extra_json) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";
        let mut values = vec![
            state.sort_key.to_sql()?,
            state.fts_rowid.to_sql()?,
            state.listed.into(),
            state.status_seen_at.into(),
            state.status_changes.into(),
            state.response_seq.into(),
            state.confirmed_at.to_sql()?,
            state.missing_since.to_sql()?,
        ];
        values.extend(self.row_values(tx, fields)?);
        tx.execute(query, values)
    }

    /// Returns the column `key_order_id` and those of the fields.
    fn row_values<'a>(
        &mut self,
        tx: &Transaction,
        fields: &'a LosslessSummary,
    ) -> Result<Vec<ToSqlOutput<'a>>> {
        let mut values = vec![self.key_order_id(tx, &fields.key_order)?.into()];
        let sender = self.sender_value(tx, fields.summary.from.as_deref())?;
        values.extend(row::to_params(fields, sender));
        Ok(values)
    }

    /// Returns the id of this order of keys, and stores a new one.
    pub(crate) fn key_order_id(&mut self, tx: &Transaction, names: &str) -> Result<i64> {
        if let Some((known, id)) = &self.key_order
            && known == names
        {
            return Ok(*id);
        }
        let query = "SELECT key_order_id FROM key_order WHERE keys = ?1";
        let id = tx.optional_value(query, [names])?;
        if id.is_none() {
            tx.execute("INSERT INTO key_order (keys) VALUES (?1)", [names])?;
        }
        let id = id.map_or_else(|| tx.last_insert_rowid(), Ok)?;
        self.key_order = Some((names.to_owned(), id));
        Ok(id)
    }

    /// Returns a sender as it is stored:
    /// the id of an interned value, or text once there are too many.
    fn sender_value(&mut self, tx: &Transaction, sender: Option<&str>) -> Result<Value> {
        let Some(sender) = sender else {
            return Ok(Value::Null);
        };
        let id = (self.senders).intern(tx, true, search::STORED_SENDER, sender)?;
        Ok(id.map_or_else(|| Value::Text(sender.to_owned()), Value::Integer))
    }
}
