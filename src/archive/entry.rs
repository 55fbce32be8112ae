//! One email on its way into the archive: what it says, and what the archive already has of it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Transaction, params};

use super::fields::{Fields, Taken};
use super::{Place, pack};
use crate::failure::{Failure, Kind};
use crate::mail::{EmailId, Stamp, Status};

/// No request lasts longer. An answer asked for before a change was seen, within this time, is older
/// than the change; one from longer before says that the clock was set back, and is believed.
const LONGEST_REQUEST: SignedDuration = SignedDuration::from_mins(10);

/// How far (in microseconds) the service's clock may be ahead of ours.
const AHEAD: i64 = 86_400_000_000;

/// One email on its way into the archive.
pub(super) struct Entry {
    pub(super) fields: Fields,
    /// Its JSON, if that has bodies.
    pub(super) whole: Option<Arc<str>>,
    /// Where its time would put it.
    pub(super) natural: Option<Place>,
    /// What the archive has of it.
    pub(super) known: Option<Known>,
    /// Where it is going to stand.
    pub(super) place: Place,
}

/// A row as it stands in the archive.
pub(super) struct Known {
    pub(super) place: Place,
    /// Whether a page within a span has held it.
    pub(super) listed: bool,
    seen: i64,
    changes: i64,
    fields: Fields,
    /// Whether the service was found to list it no more.
    gone: bool,
}

pub(super) const KNOWN: &str = "SELECT place, listed, seen, changes, id, created_at, last_event, sender, recipients, subject, message_id, cc, bcc, \
     reply_to, scheduled_at, odd, names, gone IS NOT NULL FROM mail JOIN shape USING (shape) WHERE id = ?1";

impl Entry {
    /// Takes an email's JSON apart. It was seen at that time, so it was not created long after it: a
    /// time from the future would stand above all mail to come.
    pub(super) fn take(json: &Arc<str>, seen: Timestamp) -> Result<Self, Failure> {
        let Taken { fields, whole } =
            Fields::take(json).map_err(|error| Failure::new(Kind::NotTheApi, format!("an email that cannot be read: {error}")))?;
        let created = fields.summary.created_at.as_deref().and_then(|created| Stamp::parse(created).micros());
        let latest = seen.as_microsecond().saturating_add(AHEAD);
        let natural = created.filter(|created| *created <= latest).and_then(Place::of);
        Ok(Self { fields, whole: whole.then(|| Arc::clone(json)), natural, known: None, place: Place(0) })
    }

    pub(super) fn id(&self) -> EmailId {
        EmailId::new(&self.fields.summary.id)
    }

    /// Finds out what the archive has of it now.
    pub(super) fn look_up(&mut self, change: &Transaction) -> Result<(), Failure> {
        let known = change.prepare_cached(KNOWN)?.query_row([pack::id(&self.fields.summary.id)], |row| {
            Ok(Known {
                place: row.get(0)?,
                listed: row.get(1)?,
                seen: row.get(2)?,
                changes: row.get(3)?,
                fields: Fields::load(row, 4)?,
                gone: row.get(17)?,
            })
        });
        self.known = known.optional()?;
        Ok(())
    }

    /// Writes it as a new row.
    pub(super) fn insert(&self, change: &Transaction, listed: bool, seen: Timestamp) -> Result<(), Failure> {
        let sql = "INSERT INTO mail (place, listed, seen, changes, shape, id, created_at, last_event, sender, recipients, subject, message_id, \
                   cc, bcc, reply_to, scheduled_at, odd) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        let mut statement = change.prepare_cached(sql)?;
        let shape = shape(change, &self.fields.names)?;
        let head: [&dyn rusqlite::ToSql; 4] = [&self.place, &listed, &seen.as_microsecond(), &shape];
        let values = self.fields.values();
        statement.execute(rusqlite::params_from_iter(head.into_iter().chain(values.iter().map(|value| &**value))))?;
        Ok(())
    }

    /// Brings the known row up to date and keeps the status that it had; says whether that changed.
    pub(super) fn refresh(&self, change: &Transaction, listed: bool, asked: Timestamp) -> Result<bool, Failure> {
        let Some(known) = &self.known else { return Ok(false) };
        let place = self.place;
        if (listed && !known.listed) || known.gone {
            let sql = "UPDATE mail SET listed = max(listed, ?2), gone = NULL WHERE place = ?1";
            change.prepare_cached(sql)?.execute(params![place, listed])?;
        }
        if known.fields == self.fields || known.is_newer_than(asked) {
            return Ok(false);
        }
        let sql = "UPDATE mail SET shape = ?2, id = ?3, created_at = ?4, last_event = ?5, sender = ?6, recipients = ?7, subject = ?8, \
                   message_id = ?9, cc = ?10, bcc = ?11, reply_to = ?12, scheduled_at = ?13, odd = ?14 WHERE place = ?1";
        let shape = shape(change, &self.fields.names)?;
        let head: [&dyn rusqlite::ToSql; 2] = [&place, &shape];
        let values = self.fields.values();
        change.prepare_cached(sql)?.execute(rusqlite::params_from_iter(head.into_iter().chain(values.iter().map(|value| &**value))))?;
        observe(change, self.place, known, self.fields.summary.last_event.as_deref(), asked)
    }

    /// Takes over the status alone, from an answer that describes the email in another shape.
    pub(super) fn refresh_status(&self, change: &Transaction, asked: Timestamp) -> Result<bool, Failure> {
        let Some(known) = self.known.as_ref().filter(|known| !known.is_newer_than(asked)) else { return Ok(false) };
        let last_event = self.fields.summary.last_event.as_deref();
        if last_event.is_none() || !observe(change, known.place, known, last_event, asked)? {
            return Ok(false);
        }
        change.prepare_cached("UPDATE mail SET last_event = ?2 WHERE place = ?1")?.execute(params![known.place, last_event])?;
        Ok(true)
    }
}

impl Known {
    /// Whether an answer asked for at that time was given before the present status was.
    fn is_newer_than(&self, asked: Timestamp) -> bool {
        let seen = Timestamp::from_microsecond(self.seen).unwrap_or_default();
        asked < seen && seen.duration_since(asked) < LONGEST_REQUEST
    }
}

/// Keeps the status that a row had, if `last_event` is another one.
fn observe(change: &Transaction, place: Place, known: &Known, last_event: Option<&str>, asked: Timestamp) -> Result<bool, Failure> {
    let before = known.fields.summary.last_event.as_deref();
    if Status::parse(before.unwrap_or_default()) == Status::parse(last_event.unwrap_or_default()) {
        return Ok(false);
    }
    let sql = "INSERT INTO observed (place, nth, seen, last_event) VALUES (?1, ?2, ?3, ?4)";
    change.prepare_cached(sql)?.execute(params![place, known.changes, known.seen, before])?;
    let sql = "UPDATE mail SET seen = ?2, changes = changes + 1 WHERE place = ?1";
    change.prepare_cached(sql)?.execute(params![place, asked.as_microsecond()])?;
    Ok(true)
}

fn shape(change: &Transaction, names: &str) -> Result<i64, Failure> {
    let known = change.prepare_cached("SELECT shape FROM shape WHERE names = ?1")?.query_row([names], |row| row.get(0)).optional()?;
    if let Some(shape) = known {
        return Ok(shape);
    }
    change.execute("INSERT INTO shape (names) VALUES (?1)", [names])?;
    Ok(change.last_insert_rowid())
}
