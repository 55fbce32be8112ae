//! Spans: which stretches of the service's listing are known whole.
//!
//! A span lies between two rows and says: every email that the service lists between them is in
//! the archive. It says nothing the other way round. A row may lie outside all spans (an email that
//! was retrieved by its id, or imported), even between the places of a span's ends; `mail.listed`
//! tells those that a page has held from those that have only come to lie there.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{Archive, Place, RequestTime, carry, gone, moment, pack};
use crate::failure::Failure;
use crate::mail::{EmailId, Stamp};

/// How far back the archive is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Everything that the service lists.
    Everything,
    /// Everything from the newest email down to the one of this time.
    Since(Stamp),
    /// Nothing is known to be complete.
    Nothing,
}

/// A stretch of the listing of which every email is in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its newest email.
    pub top: Place,
    /// Its oldest email.
    pub bottom: Place,
    /// Whether the service listed nothing newer when it was last asked.
    pub reaches_top: bool,
    /// Whether the service listed nothing older when it was last asked.
    pub reaches_end: bool,
}

impl Span {
    /// Whether `place` lies within. That a row is part of the span is known only if it is listed.
    #[must_use]
    pub fn holds(&self, place: Place) -> bool {
        (self.bottom..=self.top).contains(&place)
    }
}

/// What sync stands on when it decides what to ask next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ground {
    /// The spans, newest first.
    pub spans: Vec<Span>,
    /// Whether the service lists the oldest first.
    pub rising: bool,
    /// The longest page that the service has given.
    pub widest: usize,
}

pub(super) const LISTED_ABOVE: &str = "SELECT id FROM mail WHERE place BETWEEN ?2 AND ?1 AND listed ORDER BY place DESC LIMIT 1 OFFSET ?3";
pub(super) const LISTED_BELOW: &str =
    "SELECT id FROM mail WHERE place BETWEEN ?2 AND ?1 AND listed ORDER BY place LIMIT 1 OFFSET ?3";

const TOPMOST: &str =
    "SELECT place FROM mail WHERE place BETWEEN ?2 AND ?1 AND listed ORDER BY place LIMIT 1";
const LOWEST: &str =
    "SELECT place FROM mail WHERE place BETWEEN ?2 AND ?1 AND listed ORDER BY place DESC LIMIT 1";

impl Archive {
    /// How far back the archive is complete.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn reach(&self) -> Result<Reach, Failure> {
        self.connections.read(|connection| {
            let lists_nothing: bool =
                connection.query_row("SELECT empty FROM listing", [], |row| row.get(0))?;
            if lists_nothing {
                return Ok(Reach::Everything);
            }
            let Some(span) = load(connection)?.into_iter().find(|span| span.reaches_top) else {
                return Ok(Reach::Nothing);
            };
            if span.reaches_end {
                return Ok(Reach::Everything);
            }
            let sql = "SELECT created_at FROM mail WHERE place = ?1";
            let created = connection
                .query_row(sql, [span.bottom], |row| Ok(moment::back(row.get_ref(0)?)))?;
            Ok(Reach::Since(Stamp::parse(&created.unwrap_or_default())))
        })
    }

    /// What is known of the service's listing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn ground(&self) -> Result<Ground, Failure> {
        self.connections.read(|connection| {
            let spans = load(connection)?;
            let (rising, widest): (bool, i64) =
                connection.query_row("SELECT rising, widest FROM listing", [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            Ok(Ground {
                spans,
                rising,
                widest: usize::try_from(widest).unwrap_or(0),
            })
        })
    }

    /// The email `steps` rows above the bottom of `span`; zero is the bottom itself.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn above_bottom(&self, span: &Span, steps: u32) -> Result<Option<EmailId>, Failure> {
        self.stepped(LISTED_ABOVE, span, steps)
    }

    /// The email `steps` rows below the top of `span`; zero is the top itself.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn below_top(&self, span: &Span, steps: u32) -> Result<Option<EmailId>, Failure> {
        self.stepped(LISTED_BELOW, span, steps)
    }

    fn stepped(&self, sql: &str, span: &Span, steps: u32) -> Result<Option<EmailId>, Failure> {
        self.connections.read(|connection| {
            let id = |row: &rusqlite::Row| Ok(EmailId::new(pack::id_back(row.get_ref(0)?)));
            Ok(connection
                .prepare_cached(sql)?
                .query_row(params![span.bottom, span.top, steps], id)
                .optional()?)
        })
    }

    /// Notes that the service has nothing below `bottom`, and that `last` is the oldest email that it
    /// lists, if that is known. Spans further down are forgotten: they hold what the service no longer
    /// lists, and so does the rest of this one. Nothing happens if no span ends there any more.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn conclude_end(
        &self,
        bottom: Place,
        last: Option<&EmailId>,
        asked: RequestTime,
    ) -> Result<(), Failure> {
        self.connections.write(|change| {
            if change.execute(
                "UPDATE span SET reaches_end = 1 WHERE bottom = ?1",
                [bottom],
            )? > 0
            {
                self.connections.mark_changed();
                change.execute("DELETE FROM span WHERE top > ?1", [bottom])?;
                if let Some(last) = last {
                    gone::below(change, last, asked)?;
                }
            }
            Ok(())
        })
    }

    /// Notes that the service has nothing above `top`, if a span ends there.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn conclude_top(&self, top: Place, asked: RequestTime) -> Result<(), Failure> {
        self.connections.write(|change| {
            if reach_top(change, top)? {
                self.connections.mark_changed();
            }
            carry::note_head(change, asked)
        })
    }
}

/// Notes that the service has nothing above `top`, if a span ends there; says whether that is news.
pub(super) fn reach_top(change: &Transaction, top: Place) -> Result<bool, Failure> {
    let sql = "UPDATE span SET reaches_top = 1 WHERE top = ?1 AND NOT reaches_top";
    Ok(change.prepare_cached(sql)?.execute([top])? > 0)
}

/// All spans, newest first.
pub(super) fn load(connection: &Connection) -> Result<Vec<Span>, Failure> {
    let mut statement = connection
        .prepare_cached("SELECT top, bottom, reaches_top, reaches_end FROM span ORDER BY top")?;
    let spans = statement.query_map([], |row| {
        Ok(Span {
            top: row.get(0)?,
            bottom: row.get(1)?,
            reaches_top: row.get(2)?,
            reaches_end: row.get(3)?,
        })
    })?;
    Ok(spans.collect::<Result<_, _>>()?)
}

/// Writes `span`, unless it stands there already; those that it is made of are gone.
pub(super) fn put(change: &Transaction, span: &Span) -> Result<(), Failure> {
    if load(change)?.contains(span) {
        return Ok(());
    }
    let mut statement = change.prepare_cached(
        "INSERT INTO span (top, bottom, reaches_top, reaches_end) VALUES (?1, ?2, ?3, ?4)",
    )?;
    statement.execute(params![
        span.top,
        span.bottom,
        span.reaches_top,
        span.reaches_end
    ])?;
    Ok(())
}

/// Draws spans in whose outermost rows are listed no more; one that holds no listed row is gone.
pub(super) fn draw_in(change: &Transaction) -> Result<(), Failure> {
    for span in load(change)? {
        let outermost = |sql: &str| -> rusqlite::Result<Option<Place>> {
            change
                .prepare_cached(sql)?
                .query_row([span.bottom, span.top], |row| row.get(0))
                .optional()
        };
        let (top, bottom) = (outermost(TOPMOST)?, outermost(LOWEST)?);
        if (top, bottom) == (Some(span.top), Some(span.bottom)) {
            continue;
        }
        remove(change, &span)?;
        if let (Some(top), Some(bottom)) = (top, bottom) {
            put(
                change,
                &Span {
                    top,
                    bottom,
                    ..span
                },
            )?;
        }
    }
    Ok(())
}

/// Takes `span` away.
pub(super) fn remove(change: &Transaction, span: &Span) -> Result<(), Failure> {
    change
        .prepare_cached("DELETE FROM span WHERE top = ?1")?
        .execute([span.top])?;
    Ok(())
}
