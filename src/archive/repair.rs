//! Repairs a damaged archive: what can be read is written to a new file, which takes its name.

use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params, params_from_iter};

use super::connections::{Connections, beside, connect_to_read, unused_name};
use super::entry::Shared;
use super::fields::{Fields, columns, summary_columns};
use super::health::{self, Damage};
use super::packed::Packed;
use super::span::{self, Span};
use super::{Archive, Lease, Location, Place, keep, pack, schema};
use crate::failure::{Failure, Kind};

/// Emails that are written in one transaction, and bytes of their bodies.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// What a repair has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Emails that are in the archive now.
    pub emails: u64,
    /// Bodies that are in the archive now.
    pub bodies: u64,
    /// Emails that could not be read, as far as their number is known.
    pub lost_emails: u64,
    /// Bodies that could not be read.
    pub lost_bodies: u64,
    /// Whether nothing is claimed to be complete any more, so that sync reads the whole list again.
    pub is_unclaimed: bool,
    /// Where the file is that was damaged.
    pub aside: PathBuf,
}

/// One email with all that the new file takes over.
struct Salvaged {
    place: Place,
    fields: Fields,
    /// `listed`, `seen`, `changes`, `answer`, `checked` and `gone`.
    state: [Value; 6],
    json: Option<String>,
}

/// An email without its body, which may be on a page that cannot be read.
const EMAIL: &str = concat!(
    "SELECT mail.place, listed, seen, changes, answer, checked, gone, ",
    columns!(),
    " FROM mail LEFT JOIN shape USING (shape) WHERE mail.place "
);

const BODY: &str = "SELECT json, dictionary FROM body WHERE place = ?1";

/// One of the two directions through the emails.
struct Way {
    emails: &'static str,
    /// Finds the next sort key.
    next: &'static str,
    step: i64,
    back: &'static Way,
}

/// From newer to older emails, by rising sort key.
static DOWN: Way = Way {
    emails: "> ?1 ORDER BY mail.place",
    next: "SELECT place FROM mail WHERE place > ?1 ORDER BY place LIMIT 1",
    step: 1,
    back: &UP,
};
static UP: Way = Way {
    emails: "< ?1 ORDER BY mail.place DESC",
    next: "SELECT place FROM mail WHERE place < ?1 ORDER BY place DESC LIMIT 1",
    step: -1,
    back: &DOWN,
};

/// Tables that are taken over as they are, without what contradicts the new file.
const PLAIN: [(&str, &str); 4] = [
    ("owner", "service, key"),
    ("removed", "mark"),
    ("confirmed", "top, bottom, at, answer, open"),
    ("observed", "place, nth, seen, last_event"),
];

impl Archive {
    /// Writes the archive at `path` anew from the emails that can be read: rows, bodies, search index and
    /// counts. What cannot be read is no longer claimed to be here, so that the next sync reads it again.
    /// The damaged file stays under another name. `progress` gets the number of emails that were written.
    ///
    /// # Errors
    ///
    /// If another process uses the archive, no email can be read, or the new file cannot be written. Then
    /// the archive is as it was.
    pub fn repair(path: &Path, mut progress: impl FnMut(u64)) -> Result<Repaired, Failure> {
        let lease = Lease::on(&Location::Disk(path.to_owned()), "lease");
        if !lease.is_free() {
            return Err(
                Failure::new(Kind::Archive, "another sentbox is using the archive")
                    .hint("end it first"),
            );
        }
        let new = path.with_added_extension("repair");
        discard(&new);
        let source = connect_to_read(path)?;
        if schema::format(&source)? == schema::Format::Older || !schema::exists(&source)? {
            return Err(Failure::new(
                Kind::Archive,
                "the archive is of an older version or empty, so there is nothing to repair",
            ));
        }
        let damage = health::inspect(&source, |_| ())?;
        let copied = Self::open(&Location::Disk(new.clone())).and_then(|target| {
            let mut copy = Copy {
                source: &source,
                target: &target.connections,
                damage,
                done: 0,
                lost: Vec::new(),
                lost_bodies: 0,
            };
            copy.emails(&mut progress)?;
            let is_unclaimed = copy.rest()?;
            let (lost_emails, lost_bodies) = (copy.lost_emails(), copy.lost_bodies);
            target.connections.compact()?;
            let info = target.info()?;
            Ok((
                info.emails,
                info.bodies,
                lost_emails,
                lost_bodies,
                is_unclaimed,
            ))
        });
        drop(source);
        let (emails, bodies, lost_emails, lost_bodies, is_unclaimed) =
            copied.inspect_err(|_| discard(&new))?;
        let aside = replace(path, &new).inspect_err(|_| discard(&new))?;
        Ok(Repaired {
            emails,
            bodies,
            lost_emails,
            lost_bodies,
            is_unclaimed,
            aside,
        })
    }
}

/// A copy from a damaged file to a new one.
struct Copy<'a> {
    source: &'a Connection,
    target: &'a Connections,
    damage: Damage,
    done: u64,
    /// Where emails were that could not be read.
    lost: Vec<Place>,
    lost_bodies: u64,
}

impl Copy<'_> {
    /// Copies all emails that can be read: downwards from the newest one, and if that does not come to the
    /// end, upwards from the oldest one.
    fn emails(&mut self, progress: &mut impl FnMut(u64)) -> Result<(), Failure> {
        let reached = self.pass(&DOWN, i64::MIN, i64::MAX, progress)?;
        if let Some(reached) = reached {
            self.damage.file = true;
            self.pass(&UP, i64::MAX, reached, progress)?;
        }
        if self.done == 0 && self.damage.file {
            return Err(
                Failure::new(Kind::Archive, "no email in the archive can be read")
                    .hint(health::PUT_ASIDE),
            );
        }
        Ok(())
    }

    /// Copies from the sort key `start` on, one way, until `end`. Behind a page that cannot be read it goes
    /// on, and from there back to that page. `None` if it has come to the end; else the last sort key.
    fn pass(
        &mut self,
        way: &Way,
        start: i64,
        end: i64,
        progress: &mut impl FnMut(u64),
    ) -> Result<Option<i64>, Failure> {
        let mut from = start;
        loop {
            let Err(broken_at) = self.run(way, from, end, progress)? else {
                return Ok(None);
            };
            let found = if broken_at == start {
                None
            } else {
                self.next_readable(way, broken_at, end)
            };
            let Some(found) = found else {
                return Ok(Some(broken_at));
            };
            let _ = self.run(way.back, found, broken_at, progress)?;
            // Again with the email that was found.
            from = found - way.step;
        }
    }

    /// Copies emails from `from` on until `end` or a page that cannot be read; then the sort key of the last
    /// email before that is the error.
    fn run(
        &mut self,
        way: &Way,
        from: i64,
        end: i64,
        progress: &mut impl FnMut(u64),
    ) -> Result<Result<(), i64>, Failure> {
        let mut last = from;
        let mut batch: Vec<Salvaged> = Vec::new();
        let mut bytes = 0;
        let source = self.source;
        let Ok(mut statement) = source.prepare(&format!("{EMAIL}{}", way.emails)) else {
            return Ok(Err(last));
        };
        let outcome = match statement.query([from]) {
            Err(_) => Err(last),
            Ok(mut rows) => loop {
                let row = match rows.next() {
                    Ok(Some(row)) => row,
                    Ok(None) => break Ok(()),
                    Err(_) => break Err(last),
                };
                let Ok(place) = row.get::<_, i64>(0) else {
                    continue;
                };
                if place == end {
                    break Ok(());
                }
                last = place;
                match self.salvage(row) {
                    Ok(email) => {
                        bytes += email.json.as_ref().map_or(0, String::len);
                        batch.push(email);
                    }
                    Err(_) => self.lost.push(row.get(0)?),
                }
                if batch.len() == BATCH || bytes > BATCH_BYTES {
                    bytes = 0;
                    self.write(&mut batch)?;
                    progress(self.done);
                }
            },
        };
        self.write(&mut batch)?;
        Ok(outcome)
    }

    /// The sort key of some email behind a break: the search goes twice as far with each step.
    fn next_readable(&self, way: &Way, broken_at: i64, end: i64) -> Option<i64> {
        let steps = (0..62).map(|bits| way.step << bits);
        let mut from = steps.filter_map(|step| broken_at.checked_add(step));
        let found = from.find_map(|from| {
            self.source
                .query_row(way.next, [from], |row| row.get::<_, i64>(0))
                .ok()
        });
        found.filter(|found| {
            if way.step > 0 {
                *found < end
            } else {
                *found > end
            }
        })
    }

    fn salvage(&mut self, row: &Row) -> Result<Salvaged, Failure> {
        let fields = Fields::load(row, 7)?;
        fields
            .check()
            .map_err(|error| super::packed::damaged(&error))?;
        let mut state = [const { Value::Null }; 6];
        for (at, value) in state.iter_mut().enumerate() {
            *value = row
                .get::<_, Option<i64>>(1 + at)?
                .map_or(Value::Null, Value::Integer);
        }
        let place = row.get(0)?;
        let json = self.body(place);
        self.lost_bodies += u64::from(json.is_err());
        Ok(Salvaged {
            place,
            fields,
            state,
            json: json.ok().flatten(),
        })
    }

    fn body(&self, place: Place) -> Result<Option<String>, Failure> {
        let packed = self
            .source
            .prepare_cached(BODY)?
            .query_row([place], |row| Packed::load(row, 0))
            .optional()?
            .flatten();
        let Some(packed) = packed else {
            return Ok(None);
        };
        packed.email(self.source)?;
        packed.json(self.source).map(Some)
    }

    /// Writes emails and empties the batch. One whose id is there already is lost.
    fn write(&mut self, batch: &mut Vec<Salvaged>) -> Result<(), Failure> {
        let lost = &mut self.lost;
        let done = self.target.write(|change| {
            let mut shared = Shared::default();
            let mut written = Vec::new();
            for email in batch.iter() {
                // An email that was copied from the other side of a break, or another one of the same id.
                let mut known =
                    change.prepare_cached("SELECT place FROM mail WHERE id = ?1 OR place = ?2")?;
                let known = known
                    .query_row(
                        params![pack::id(&email.fields.summary.id), email.place],
                        |row| row.get::<_, Place>(0),
                    )
                    .optional()?;
                if let Some(known) = known {
                    lost.extend((known != email.place).then_some(email.place));
                    continue;
                }
                insert(change, &mut shared, email)?;
                written.push(email);
            }
            let bodies: Vec<(Place, &str)> = written
                .iter()
                .filter_map(|email| Some((email.place, email.json.as_deref()?)))
                .collect();
            keep::bodies(change, &bodies)?;
            Ok(written.len() as u64)
        })?;
        self.done += done;
        batch.clear();
        Ok(())
    }

    /// Copies what is not an email. Returns whether nothing is claimed to be complete: if emails may be
    /// missing that left no trace.
    fn rest(&mut self) -> Result<bool, Failure> {
        let (source, lost) = (self.source, &self.lost);
        let is_unclaimed = self.damage.file || self.damage.counts;
        self.target.write(|change| {
            for (table, names) in PLAIN {
                // What cannot be read any more is given up: a time of confirmation, an earlier status.
                let _ = copy_table(source, change, table, names);
            }
            let sql = "SELECT rising, widest, horizon, head_at, answers FROM listing";
            let listing =
                source.query_row(sql, [], |row| Ok([row.get::<_, Value>(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]));
            if let Ok(listing) = listing {
                let sql = "UPDATE listing SET rising = ?1, widest = ?2, horizon = ?3, head_at = ?4, answers = ?5";
                let _ = change.execute(sql, params_from_iter(listing));
            }
            if is_unclaimed {
                change
                    .execute_batch("DELETE FROM confirmed; UPDATE mail SET listed = 0 WHERE listed; UPDATE listing SET head_at = NULL")?;
                return Ok(());
            }
            for span in span::load(source)? {
                for part in without(change, span, lost)? {
                    span::put(change, &part)?;
                }
            }
            Ok(())
        })?;
        Ok(is_unclaimed)
    }

    fn lost_emails(&self) -> u64 {
        let counted = self
            .source
            .query_row("SELECT emails FROM tally", [], |row| row.get::<_, i64>(0))
            .unwrap_or(0);
        // A damaged count may be anything.
        let missing = if self.damage.file {
            0
        } else {
            counted.unsigned_abs().saturating_sub(self.done)
        };
        missing.max(self.lost.len() as u64)
    }
}

fn insert(change: &Transaction, shared: &mut Shared, email: &Salvaged) -> Result<(), Failure> {
    let sql = "INSERT INTO mail (place, listed, seen, changes, answer, checked, gone, shape, id, created_at, last_event, sender, \
               recipients, subject, message_id, cc, bcc, reply_to, scheduled_at, odd) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    let shape = shared.shape(change, &email.fields.names)?;
    let values = email
        .fields
        .values(shared.sender(change, email.fields.summary.from.as_deref())?);
    let head = [&email.place as &dyn ToSql]
        .into_iter()
        .chain(email.state.iter().map(|value| value as &dyn ToSql));
    let values = values.iter().map(|value| value as &dyn ToSql);
    change.prepare_cached(sql)?.execute(params_from_iter(
        head.chain([&shape as &dyn ToSql]).chain(values),
    ))?;
    Ok(())
}

/// Copies rows until one cannot be read; one that the new table refuses is left out.
fn copy_table(
    source: &Connection,
    change: &Transaction,
    table: &str,
    names: &str,
) -> Result<(), Failure> {
    let count = names.split(',').count();
    let marks = vec!["?"; count].join(", ");
    let mut insert = change.prepare(&format!(
        "INSERT OR IGNORE INTO {table} ({names}) SELECT {marks}"
    ))?;
    let mut statement = source.prepare(&format!("SELECT {names} FROM {table}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..count)
            .map(|at| row.get::<_, Value>(at))
            .collect::<Result<Vec<_>, _>>()?;
        let _ = insert.execute(params_from_iter(values));
    }
    Ok(())
}

/// The parts of a span between the emails that were lost, each from listed row to listed row.
fn without(change: &Transaction, span: Span, lost: &[Place]) -> Result<Vec<Span>, Failure> {
    let mut breaks: Vec<Place> = lost
        .iter()
        .copied()
        .filter(|place| span.holds(*place))
        .collect();
    breaks.sort_unstable_by(|one, other| other.cmp(one));
    let mut parts = Vec::new();
    let mut top = span.top;
    for bottom in breaks.iter().map(|lost| Some(*lost)).chain([None]) {
        let low = bottom.map_or(span.bottom, Place::above);
        let ends =
            "SELECT min(place), max(place) FROM mail WHERE place BETWEEN ?1 AND ?2 AND listed";
        let (first, last): (Option<Place>, Option<Place>) = change
            .prepare_cached(ends)?
            .query_row([top, low], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if let (Some(first), Some(last)) = (first, last) {
            let reaches_top = span.reaches_top && first == span.top;
            let reaches_end = span.reaches_end && last == span.bottom;
            parts.push(Span {
                top: first,
                bottom: last,
                reaches_top,
                reaches_end,
            });
        }
        top = bottom.map_or(top, Place::below);
    }
    Ok(parts)
}

/// Gives the new file the name of the old one, which keeps another name.
fn replace(path: &Path, new: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(
            Kind::Archive,
            format!(
                "the repaired archive cannot take the place of {}: {error}",
                path.display()
            ),
        )
        .hint("check the owner and the mode of the folder")
    };
    let aside = unused_name(path, "damaged");
    std::fs::hard_link(path, &aside)
        .or_else(|_| std::fs::copy(path, &aside).map(|_| ()))
        .map_err(failed)?;
    // A log that was left behind must not be applied to the new file.
    for suffix in ["-wal", "-shm"] {
        match std::fs::rename(beside(path, suffix), beside(&aside, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
    }
    std::fs::rename(new, path).map_err(failed)?;
    Ok(aside)
}

/// Removes what an interrupted repair has left.
fn discard(new: &Path) {
    for suffix in ["", "-wal", "-shm", ".lease", ".walk"] {
        let _ = std::fs::remove_file(beside(new, suffix));
    }
}
