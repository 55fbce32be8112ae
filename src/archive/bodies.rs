//! Stores retrieved emails with their bodies, and finds emails that lack them.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::codec::body::CompressedBody;
use super::codec::row::{self, summary_columns};
use super::codec::{dictionary, members};
use super::incoming::{self, IncomingEmail, InsertSource};
use super::listing::confirmations::{self, confirmed_at};
use super::listing::{TOP, deletions, position};
use super::storage::db::{Row, params};
use super::storage::error::damaged_error;
use super::{Archive, EmailRow, RequestStamp, SortKey, purge};
use crate::api::RetrievedEmail;
use crate::api::wire::{self, OrderedObject};
use crate::error::{Error, ErrorKind, Result};
use crate::mail::{ApiTime, BOUNCE_FIELD, Email, EmailId, RECEIVED_EVENT, SafeText, Status};

pub(crate) const STORED_BY_ID: &str = concat!(
    "SELECT json, dictionary_id, missing_since IS NOT NULL, ",
    confirmed_at!(),
    ", mail.sort_key, ",
    summary_columns!(),
    " FROM mail LEFT JOIN body USING (sort_key) WHERE id = ?1"
);

/// An email as a server of the archive needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredEmail {
    /// The response of the retrieve operation; `None` if the bodies are not stored.
    pub(crate) json: Option<Arc<str>>,
    /// Whether the service was found not to have it.
    pub(crate) is_missing: bool,
    /// When the service confirmed its status.
    pub(crate) checked_at: Option<Timestamp>,
    /// Whether its status is not final.
    pub(crate) may_change: bool,
}

impl Archive {
    /// Loads an email with its bodies, if they are stored.
    /// Its status is the latest one, in its JSON too.
    pub(crate) fn email(&self, id: &EmailId) -> Result<Option<Email>> {
        let Some((Some(retrieved), row)) = self.load_stored(id)? else {
            return Ok(None);
        };
        let mut email = Email::from(retrieved);
        email.summary.status = Status::parse(&row.summary.last_event.unwrap_or_default());
        Ok(Some(email))
    }

    /// Loads the JSON of an email as the service would send it, with the latest status;
    /// `None` if no row has the id.
    pub(crate) fn stored_email(&self, id: &EmailId, now: Timestamp) -> Result<Option<StoredEmail>> {
        let found = self.load_stored(id)?;
        Ok(found.map(|(retrieved, row)| StoredEmail {
            json: retrieved.map(|retrieved| retrieved.json),
            is_missing: row.is_missing,
            checked_at: row.confirmed_at,
            may_change: confirmations::may_change(
                row.summary.last_event.as_deref(),
                row.sort_key,
                now,
            ),
        }))
    }

    /// Loads the email, if its bodies are stored, with its row.
    fn load_stored(&self, id: &EmailId) -> Result<Option<(Option<RetrievedEmail>, ListedRow)>> {
        self.read(|conn| {
            let found = conn.optional(STORED_BY_ID, [id], |row| {
                Ok((CompressedBody::read(row)?, ListedRow::read(row)?))
            })?;
            let Some((compressed, row)) = found else {
                return Ok(None);
            };
            let json = compressed.map(|body| body.to_json(conn)).transpose()?;
            let updated = json.map(|json| update_members(json, &row)).transpose()?;
            Ok(Some((updated, row)))
        })
    }

    /// Loads what no list has, the tags and the reason of a bounce,
    /// for the rows whose bodies are stored; it stays unknown for an unreadable body.
    pub(crate) fn load_details(&self, rows: &mut [EmailRow]) {
        for row in rows.iter_mut().filter(|row| row.has_body) {
            let Ok(Some(email)) = self.email(&row.summary.id) else {
                continue;
            };
            let tags: Vec<String> = email.tags.iter().map(ToString::to_string).collect();
            row.tags = Some(SafeText::new(&tags.join(" ")));
            if row.summary.bounce().is_none() {
                let mut extra = email.summary.extra.into_iter();
                row.summary
                    .extra
                    .extend(extra.find(|(name, _)| &**name == BOUNCE_FIELD));
            }
        }
    }

    /// Stores a retrieved email and its status at the time of the request;
    /// returns whether the status changed.
    ///
    /// An email that no page has contained yet becomes a row outside all covered ranges; a purged
    /// one is not stored.
    pub(crate) fn put_body(
        &self,
        retrieved: &RetrievedEmail,
        request: RequestStamp,
    ) -> Result<bool> {
        let email = retrieved.to_listed().map_err(damaged_error)?;
        let mut emails = vec![IncomingEmail::new(email, request.as_of)];
        self.write_answer(request, |tx| {
            purge::filter_purged(tx, &mut emails, request.as_of)?;
            position::assign_time_keys(tx, &mut emails, request.as_of)?;
            let Some(email) = emails.first() else {
                return Ok(false);
            };
            if let Some(existing) = &email.existing {
                let listed = incoming::load_fields(tx, existing.sort_key)?;
                check_same_email(&listed.summary, &email.item.parsed().summary)?;
            }
            let changed = email.update_retrieved(tx, request)?;
            if email.existing.is_none() {
                incoming::insert_new(tx, &emails, InsertSource::Response(request))?;
            } else {
                deletions::mark_restored(tx, email, request)?;
                confirmations::record_row(tx, email.sort_key, request)?;
            }
            if email.existing.is_some() || email.body_json().is_none() {
                dictionary::store_bodies(tx, &[(email.sort_key, &retrieved.json)])?;
            }
            Ok(changed)
        })
    }
}

/// The row of an email, which takes precedence over its stored JSON.
struct ListedRow {
    summary: wire::Summary,
    is_missing: bool,
    confirmed_at: Option<Timestamp>,
    sort_key: SortKey,
}

impl ListedRow {
    /// Reads the columns of [`STORED_BY_ID`] after those of the body.
    fn read(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self {
            is_missing: row.get()?,
            confirmed_at: confirmations::to_timestamp(row.get()?),
            sort_key: row.get()?,
            summary: row::read_summary(row)?.0,
        })
    }
}

/// Parses the JSON of an email, and gives it what is known later: the latest status, the due time,
/// and what it lacks, such as the reason of a bounce.
fn update_members(json: String, listed: &ListedRow) -> Result<RetrievedEmail> {
    let stored = RetrievedEmail::parse(json).map_err(damaged_error)?;
    let summary = &stored.email.summary;
    let mut members = members::newer_members(summary, &listed.summary);
    let last_event = listed.summary.last_event.as_deref();
    if summary.last_event.as_deref() != last_event && last_event != Some(RECEIVED_EVENT) {
        let last_event = serde_json::value::to_raw_value(&last_event).map_err(damaged_error)?;
        members.push(("last_event", last_event));
    }
    let bounce = |summary: &wire::Summary| {
        let mut extra = summary.extra.iter();
        let (_, json) = extra.find(|(name, _)| name == BOUNCE_FIELD)?;
        RawValue::from_string(json.clone()).ok()
    };
    if bounce(summary).is_none() {
        members.extend(bounce(&listed.summary).map(|bounce| (BOUNCE_FIELD, bounce)));
    }
    if members.is_empty() {
        return Ok(stored);
    }
    let mut object = OrderedObject::parse(&stored.json).map_err(damaged_error)?;
    for (name, value) in &members {
        object.set(name, value);
    }
    RetrievedEmail::parse(object.to_json()).map_err(damaged_error)
}

/// Emails without bodies that the service still has, below a first key and above a
/// second one.
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
    /// Finds emails without bodies, newest first, below the key `below` and not older
    /// than `since` (microseconds since 1970).
    pub(crate) fn without_body(
        &self,
        below: Option<SortKey>,
        since: i64,
        rows: u32,
    ) -> Result<Vec<(SortKey, EmailId)>> {
        let query = without_body!("sort_key, id", " ORDER BY sort_key LIMIT ?3");
        let below = below.unwrap_or(TOP);
        let params = params![below, key_before(since), rows];
        self.read(|conn| conn.all(query, params, |row| Ok((row.get()?, row.get()?))))
    }

    /// Counts emails without bodies that are not older than `since`. Reads all of them.
    pub(crate) fn count_without_body(&self, since: i64) -> Result<u64> {
        let params = [TOP, key_before(since)];
        self.read(|conn| conn.value(without_body!("count(*)", ""), params))
            .map(i64::unsigned_abs)
    }

    /// Loads the newest emails, and how often the status of each was seen to change.
    pub(crate) fn newest_changes(&self, rows: u32) -> Result<Vec<(EmailId, i64)>> {
        let query = "SELECT id, status_changes FROM mail ORDER BY sort_key LIMIT ?1";
        self.read(|conn| conn.all(query, [rows], |row| Ok((row.get()?, row.get()?))))
    }
}

/// Returns the key right below all mail of that time and newer.
fn key_before(since: i64) -> SortKey {
    SortKey(SortKey::from_micros(since).map_or(i64::MIN, |key| key.0 - 1))
}

/// Fails if a retrieved email is another one than the listed email with its id:
/// none of recipients, subject and time is the same.
fn check_same_email(listed: &wire::Summary, retrieved: &wire::Summary) -> Result<()> {
    let time = |summary: &wire::Summary| {
        let text = summary.created_at.as_deref()?;
        ApiTime::parse(text).parsed
    };
    let is_known = |summary: &wire::Summary| {
        summary.to.as_ref().is_some_and(|to| !to.is_empty()) && time(summary).is_some()
    };
    let is_other = listed.to != retrieved.to
        && listed.subject != retrieved.subject
        && time(listed) != time(retrieved);
    if !is_other || !is_known(listed) || !is_known(retrieved) {
        return Ok(());
    }
    let message = "the answer has the id of this email, but other recipients, another subject and another time";
    Err(Error::new(ErrorKind::NotTheApi, message)
        .with_hint("nothing of it was stored; if it stays so, tell those who run the service"))
}
