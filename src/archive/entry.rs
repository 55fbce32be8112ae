//! One email on its way into the archive: what it says, and what the archive already has of it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, ToSql, Transaction, params, params_from_iter};

use super::confirmed::latest_answer;
use super::fields::{Fields, Taken, columns, summary_columns};
use super::{Place, RequestTime, confirmed, keep, pack, search};
use crate::failure::{Failure, Kind};
use crate::mail::{EmailId, Stamp, Status};

/// How far (in microseconds) the service's clock may be ahead of ours.
const AHEAD: i64 = 86_400_000_000;

/// An email whose JSON is longer is taken apart again when its turn comes: its ten thousand recipients
/// need not stand in memory beside those of the rest of the page.
const LARGE: usize = 64 << 10;

/// One email on its way into the archive.
pub(super) struct Entry {
    id: String,
    json: Arc<str>,
    /// The JSON, taken apart, unless it is large.
    fields: Option<Fields>,
    /// Whether the JSON has bodies.
    has_bodies: bool,
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
    /// Whether the service was found not to have it.
    gone: bool,
    /// The number of the newest answer that has written or confirmed it.
    answer: i64,
}

pub(super) const KNOWN: &str = concat!(
    "SELECT place, listed, seen, changes, gone IS NOT NULL, ",
    latest_answer!(),
    " FROM mail WHERE id = ?1"
);
/// Where emails come from that the archive does not have yet.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A page within a span, for which a run is put.
    Page(RequestTime),
    /// Another answer of the service.
    Answer(RequestTime),
    /// A file, which says nothing about what the service has now.
    File(Timestamp),
}

pub(super) const FIELDS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM mail JOIN shape USING (shape) WHERE place = ?1"
);

impl Entry {
    /// Takes an email's JSON apart. It was seen at that time, so it was not created long after it: a
    /// time from the future would stand above all mail to come. Its fields are kept, if it is not large,
    /// unless there are too many beside it.
    pub(super) fn take(
        json: &Arc<str>,
        seen: Timestamp,
        keeps_fields: bool,
    ) -> Result<Self, Failure> {
        let Taken { fields, whole } = Fields::take(json).map_err(|error| {
            Failure::new(
                Kind::NotTheApi,
                format!("an email that cannot be read: {error}"),
            )
        })?;
        let created = fields
            .summary
            .created_at
            .as_deref()
            .and_then(|created| Stamp::parse(created).micros());
        let latest = seen.as_microsecond().saturating_add(AHEAD);
        let natural = created
            .filter(|created| *created <= latest)
            .and_then(Place::of);
        let id = fields.summary.id.clone();
        let fields = Some(fields).filter(|_| keeps_fields && json.len() <= LARGE);
        Ok(Self {
            id,
            json: Arc::clone(json),
            fields,
            has_bodies: whole,
            natural,
            known: None,
            place: Place(0),
        })
    }

    /// What it says.
    pub(super) fn fields(&self) -> Cow<'_, Fields> {
        match &self.fields {
            Some(fields) => Cow::Borrowed(fields),
            None => Cow::Owned(Fields::take(&self.json).expect("it was read before").fields),
        }
    }

    /// Its id as it came.
    pub(super) fn raw_id(&self) -> &str {
        &self.id
    }

    /// Its JSON, if that has bodies.
    pub(super) fn whole(&self) -> Option<&str> {
        self.has_bodies.then_some(&*self.json)
    }

    /// Whether its status may still change.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        confirmed::is_open(self.fields().summary.last_event.as_deref(), self.place, now)
    }

    pub(super) fn id(&self) -> EmailId {
        EmailId::new(&self.id)
    }

    /// Finds out what the archive has of it now.
    pub(super) fn look_up(&mut self, change: &Transaction) -> Result<(), Failure> {
        let known = change
            .prepare_cached(KNOWN)?
            .query_row([pack::id(&self.id)], |row| {
                Ok(Known {
                    place: row.get(0)?,
                    listed: row.get(1)?,
                    seen: row.get(2)?,
                    changes: row.get(3)?,
                    gone: row.get(4)?,
                    answer: row.get(5)?,
                })
            });
        self.known = known.optional()?;
        Ok(())
    }

    /// Writes it as a new row, which has that slot in the index.
    fn insert(
        &self,
        change: &Transaction,
        shared: &mut Shared,
        slot: i64,
        source: Source,
    ) -> Result<(), Failure> {
        let sql = "INSERT INTO mail (place, slot, listed, seen, changes, answer, checked, shape, id, created_at, last_event, sender, \
                   recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, odd) \
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
        let mut statement = change.prepare_cached(sql)?;
        let fields = self.fields();
        let shape = shared.shape(change, &fields.names)?;
        let (listed, seen, answer, checked) = match source {
            Source::Page(asked) => (true, asked.at, asked.order, None),
            Source::Answer(asked) => (false, asked.at, asked.order, Some(asked.micros())),
            Source::File(seen) => (false, seen, 0, None),
        };
        let head: [&dyn ToSql; 7] = [
            &self.place,
            &slot,
            &listed,
            &seen.as_microsecond(),
            &answer,
            &checked,
            &shape,
        ];
        let values = fields.values(shared.sender(change, fields.summary.from.as_deref())?);
        statement.execute(params_from_iter(
            head.into_iter()
                .chain(values.iter().map(|value| value as &dyn ToSql)),
        ))?;
        Ok(())
    }

    /// Brings the known row up to date and keeps the status that it had; says whether that changed.
    pub(super) fn refresh(
        &self,
        change: &Transaction,
        listed: bool,
        asked: RequestTime,
    ) -> Result<bool, Failure> {
        let Some(known) = &self.known else {
            return Ok(false);
        };
        let place = self.place;
        if known.is_newer_than(asked) {
            if listed && !known.listed && !known.gone {
                change
                    .prepare_cached("UPDATE mail SET listed = 1 WHERE place = ?1")?
                    .execute([place])?;
            }
            return Ok(false);
        }
        if (listed && !known.listed) || known.gone {
            let sql = "UPDATE mail SET listed = max(listed, ?2), gone = NULL, answer = ?3 WHERE place = ?1";
            change
                .prepare_cached(sql)?
                .execute(params![place, listed, asked.order])?;
        }
        let (fields, standing) = (self.fields(), standing(change, place)?);
        if standing == *fields {
            return Ok(false);
        }
        let sql = "UPDATE mail SET shape = ?2, id = ?3, created_at = ?4, last_event = ?5, sender = ?6, recipients = ?7, subject = ?8, \
                   message_id = ?9, cc = ?10, bcc = ?11, reply_to = ?12, scheduled_at = ?13, odd = ?14, answer = ?15 WHERE place = ?1";
        let mut shared = Shared::default();
        let shape = shared.shape(change, &fields.names)?;
        let head: [&dyn ToSql; 2] = [&place, &shape];
        let values = fields.values(shared.sender(change, fields.summary.from.as_deref())?);
        let values = values.iter().map(|value| value as &dyn ToSql);
        change.prepare_cached(sql)?.execute(params_from_iter(
            head.into_iter()
                .chain(values)
                .chain([&asked.order as &dyn ToSql]),
        ))?;
        let (before, after) = (
            standing.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        observe(change, place, known, (before, after), asked)
    }

    /// Takes over the status alone, from an answer that describes the email in another shape.
    pub(super) fn refresh_status(
        &self,
        change: &Transaction,
        asked: RequestTime,
    ) -> Result<bool, Failure> {
        let Some(known) = self
            .known
            .as_ref()
            .filter(|known| !known.is_newer_than(asked))
        else {
            return Ok(false);
        };
        let (fields, standing) = (self.fields(), standing(change, known.place)?);
        let (before, last_event) = (
            standing.summary.last_event.as_deref(),
            fields.summary.last_event.as_deref(),
        );
        if last_event.is_none()
            || !observe(change, known.place, known, (before, last_event), asked)?
        {
            return Ok(false);
        }
        change
            .prepare_cached("UPDATE mail SET last_event = ?2 WHERE place = ?1")?
            .execute(params![known.place, last_event])?;
        Ok(true)
    }
}

/// Writes those of the entries that are new, with their bodies and what search needs to find them.
pub(super) fn insert(
    change: &Transaction,
    entries: &[Entry],
    source: Source,
) -> Result<Vec<EmailId>, Failure> {
    let mut new: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.known.is_none())
        .collect();
    new.sort_unstable_by_key(|entry| Reverse(entry.place));
    let places: Vec<Place> = new.iter().map(|entry| entry.place).collect();
    let slots = search::slots(change, &places)?;
    let mut shared = Shared::default();
    for (entry, slot) in new.iter().zip(&slots) {
        entry.insert(change, &mut shared, *slot, source)?;
    }
    let whole: Vec<(Place, &str)> = new
        .iter()
        .filter_map(|entry| Some((entry.place, entry.whole()?)))
        .collect();
    keep::bodies(change, &whole)?;
    // After all rows: a statement that sets triggers off makes the index write what it has gathered.
    let mut index = search::Index::new(change);
    for (entry, slot) in new.iter().zip(slots) {
        index.add(entry.place, slot, &entry.fields().summary, entry.whole())?;
    }
    Ok(entries
        .iter()
        .filter(|entry| entry.known.is_none())
        .map(Entry::id)
        .collect())
}

impl Known {
    /// Whether a later request than this one has written or confirmed it already.
    pub(super) fn is_newer_than(&self, asked: RequestTime) -> bool {
        asked.order < self.answer
    }
}

/// What the row at `place` says.
fn standing(change: &Transaction, place: Place) -> Result<Fields, Failure> {
    Ok(change
        .prepare_cached(FIELDS)?
        .query_row([place], |row| Fields::load(row, 0))?)
}

/// Keeps the status that a row had, if it has another one after.
fn observe(
    change: &Transaction,
    place: Place,
    known: &Known,
    (before, after): (Option<&str>, Option<&str>),
    asked: RequestTime,
) -> Result<bool, Failure> {
    if Status::parse(before.unwrap_or_default()) == Status::parse(after.unwrap_or_default()) {
        return Ok(false);
    }
    let sql = "INSERT INTO observed (place, nth, seen, last_event) VALUES (?1, ?2, ?3, ?4)";
    change
        .prepare_cached(sql)?
        .execute(params![place, known.changes, known.seen, before])?;
    let sql = "UPDATE mail SET seen = ?2, changes = changes + 1, answer = ?3 WHERE place = ?1";
    change
        .prepare_cached(sql)?
        .execute(params![place, asked.micros(), asked.order])?;
    Ok(true)
}

/// What many emails share, remembered from one to the next.
#[derive(Default)]
pub(super) struct Shared {
    shape: Option<(String, i64)>,
    senders: HashMap<String, Value>,
}

impl Shared {
    /// The number of these member names.
    pub(super) fn shape(&mut self, change: &Transaction, names: &str) -> Result<i64, Failure> {
        if let Some((_, shape)) = self.shape.as_ref().filter(|(known, _)| known == names) {
            return Ok(*shape);
        }
        let sql = "SELECT shape FROM shape WHERE names = ?1";
        let known = change
            .prepare_cached(sql)?
            .query_row([names], |row| row.get(0))
            .optional()?;
        let shape = if let Some(shape) = known {
            shape
        } else {
            change.execute("INSERT INTO shape (names) VALUES (?1)", [names])?;
            change.last_insert_rowid()
        };
        self.shape = Some((names.to_owned(), shape));
        Ok(shape)
    }

    /// A sender as it is stored: as the number of a label, unless there are too many of those.
    pub(super) fn sender(
        &mut self,
        change: &Transaction,
        sender: Option<&str>,
    ) -> Result<Value, Failure> {
        let Some(sender) = sender else {
            return Ok(Value::Null);
        };
        if let Some(known) = self.senders.get(sender) {
            return Ok(known.clone());
        }
        let value = search::label(change, search::SENDER, sender)?
            .map_or_else(|| Value::Text(sender.to_owned()), Value::Integer);
        self.senders.insert(sender.to_owned(), value.clone());
        Ok(value)
    }
}
