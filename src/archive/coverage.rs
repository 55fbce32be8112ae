//! Spans: which stretches of the service's listing are known whole.
//!
//! A span lies between two rows and says: every email that the service lists between them is in
//! the archive. It says nothing the other way round. A row may lie outside all spans (an email that
//! was retrieved by its id, or imported), even between the places of a span's ends; `mail.listed`
//! tells those that a page has held from those that have only come to lie there.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{Archive, RequestTime, SortKey, deletions, id_codec, merge, time_codec};
use crate::error::Error;
use crate::mail::{ApiTime, EmailId};

/// How far back the archive is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Everything that the service lists.
    Complete,
    /// Everything from the newest email down to the one of this time.
    Since(ApiTime),
    /// Nothing is known to be complete.
    Unknown,
}

/// A stretch of the listing of which every email is in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveredRange {
    /// Its newest email.
    pub top: SortKey,
    /// Its oldest email.
    pub bottom: SortKey,
    /// Whether the service listed nothing newer when it was last asked.
    pub(crate) reaches_top: bool,
    /// Whether the service listed nothing older when it was last asked.
    pub reaches_end: bool,
}

impl CoveredRange {
    /// Whether `place` lies within. That a row is part of the span is known only if it is listed.
    #[must_use]
    pub(crate) fn contains(&self, place: SortKey) -> bool {
        (self.bottom..=self.top).contains(&place)
    }
}

/// What sync stands on when it decides what to ask next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoverageState {
    /// The spans, newest first.
    pub ranges: Vec<CoveredRange>,
    /// Whether the service lists the oldest first.
    pub(crate) oldest_first: bool,
    /// The longest page that the service has given.
    pub(crate) max_page_len: usize,
}

pub(super) const NTH_ABOVE_BOTTOM: &str = "SELECT id FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed ORDER BY sort_key DESC LIMIT 1 OFFSET ?3";
pub(super) const NTH_BELOW_TOP: &str = "SELECT id FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed ORDER BY sort_key LIMIT 1 OFFSET ?3";

const NEWEST_LISTED: &str = "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed ORDER BY sort_key LIMIT 1";
const OLDEST_LISTED: &str = "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?2 AND ?1 AND listed ORDER BY sort_key DESC LIMIT 1";

impl Archive {
    /// How far back the archive is complete.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn coverage(&self) -> Result<Coverage, Error> {
        self.connections.read(|connection| {
            let lists_nothing: bool =
                connection.query_row("SELECT is_empty FROM listing", [], |row| row.get(0))?;
            if lists_nothing {
                return Ok(Coverage::Complete);
            }
            let Some(span) = load_ranges(connection)?
                .into_iter()
                .find(|span| span.reaches_top)
            else {
                return Ok(Coverage::Unknown);
            };
            if span.reaches_end {
                return Ok(Coverage::Complete);
            }
            let sql = "SELECT created_at FROM mail WHERE sort_key = ?1";
            let created = connection.query_row(sql, [span.bottom], |row| {
                Ok(time_codec::decode(row.get_ref(0)?))
            })?;
            Ok(Coverage::Since(ApiTime::parse(
                &created.unwrap_or_default(),
            )))
        })
    }

    /// What is known of the service's listing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn coverage_state(&self) -> Result<CoverageState, Error> {
        self.connections.read(|connection| {
            let spans = load_ranges(connection)?;
            let (rising, widest): (bool, i64) = connection.query_row(
                "SELECT oldest_first, max_page_len FROM listing",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            Ok(CoverageState {
                ranges: spans,
                oldest_first: rising,
                max_page_len: usize::try_from(widest).unwrap_or(0),
            })
        })
    }

    /// The email `steps` rows above the bottom of `span`; zero is the bottom itself.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn id_above_bottom(
        &self,
        span: &CoveredRange,
        steps: u32,
    ) -> Result<Option<EmailId>, Error> {
        self.nth_listed(NTH_ABOVE_BOTTOM, span, steps)
    }

    /// The email `steps` rows below the top of `span`; zero is the top itself.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn id_below_top(
        &self,
        span: &CoveredRange,
        steps: u32,
    ) -> Result<Option<EmailId>, Error> {
        self.nth_listed(NTH_BELOW_TOP, span, steps)
    }

    fn nth_listed(
        &self,
        sql: &str,
        span: &CoveredRange,
        steps: u32,
    ) -> Result<Option<EmailId>, Error> {
        self.connections.read(|connection| {
            let id = |row: &rusqlite::Row| Ok(EmailId::new(id_codec::decode_id(row.get_ref(0)?)));
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
    pub(crate) fn record_end(
        &self,
        bottom: SortKey,
        last: Option<&EmailId>,
        asked: RequestTime,
    ) -> Result<(), Error> {
        self.connections.write(|change| {
            if change.execute(
                "UPDATE covered_range SET reaches_end = 1 WHERE bottom = ?1",
                [bottom],
            )? > 0
            {
                self.connections.mark_changed();
                change.execute("DELETE FROM covered_range WHERE top > ?1", [bottom])?;
                if let Some(last) = last {
                    deletions::mark_missing_below(change, last, asked)?;
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
    pub(crate) fn record_top(&self, top: SortKey, asked: RequestTime) -> Result<(), Error> {
        self.connections.write(|change| {
            if mark_reaches_top(change, top)? {
                self.connections.mark_changed();
            }
            merge::record_head_request(change, asked)
        })
    }
}

/// Notes that the service has nothing above `top`, if a span ends there; says whether that is news.
pub(super) fn mark_reaches_top(change: &Transaction, top: SortKey) -> Result<bool, Error> {
    let sql = "UPDATE covered_range SET reaches_top = 1 WHERE top = ?1 AND NOT reaches_top";
    Ok(change.prepare_cached(sql)?.execute([top])? > 0)
}

/// All spans, newest first.
pub(super) fn load_ranges(connection: &Connection) -> Result<Vec<CoveredRange>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT top, bottom, reaches_top, reaches_end FROM covered_range ORDER BY top",
    )?;
    let spans = statement.query_map([], |row| {
        Ok(CoveredRange {
            top: row.get(0)?,
            bottom: row.get(1)?,
            reaches_top: row.get(2)?,
            reaches_end: row.get(3)?,
        })
    })?;
    Ok(spans.collect::<Result<_, _>>()?)
}

/// Writes `span`, unless it stands there already; those that it is made of are gone.
pub(super) fn insert_range(change: &Transaction, span: &CoveredRange) -> Result<(), Error> {
    if load_ranges(change)?.contains(span) {
        return Ok(());
    }
    let mut statement = change.prepare_cached(
        "INSERT INTO covered_range (top, bottom, reaches_top, reaches_end) VALUES (?1, ?2, ?3, ?4)",
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
pub(super) fn shrink_ranges(change: &Transaction) -> Result<(), Error> {
    for span in load_ranges(change)? {
        let outermost = |sql: &str| -> rusqlite::Result<Option<SortKey>> {
            change
                .prepare_cached(sql)?
                .query_row([span.bottom, span.top], |row| row.get(0))
                .optional()
        };
        let (top, bottom) = (outermost(NEWEST_LISTED)?, outermost(OLDEST_LISTED)?);
        if (top, bottom) == (Some(span.top), Some(span.bottom)) {
            continue;
        }
        delete_range(change, &span)?;
        if let (Some(top), Some(bottom)) = (top, bottom) {
            insert_range(
                change,
                &CoveredRange {
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
pub(super) fn delete_range(change: &Transaction, span: &CoveredRange) -> Result<(), Error> {
    change
        .prepare_cached("DELETE FROM covered_range WHERE top = ?1")?
        .execute([span.top])?;
    Ok(())
}
