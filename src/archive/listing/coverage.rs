//! Covered ranges: which parts of the service's listing are known completely.
//!
//! A covered range lies between two rows: every email that the service lists between them is in the
//! archive. The reverse is not true. A row may lie outside all ranges (an email that was retrieved
//! by its id, or imported), even between the keys of a range's ends; `mail.listed` tells the rows
//! that a page contained from those that only have a key in between.

use jiff::Timestamp;

use super::{ByDirection, Direction, RequestStamp, SortKey};
use crate::api::{ListedEmail, MAX_LIMIT};
use crate::archive::Archive;
use crate::archive::storage::db::{Connection, Transaction, params};
use crate::error::Result;
use crate::mail::{ApiTime, EmailId};

/// How far back the archive is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Coverage {
    /// The archive has everything that the service lists.
    Complete,
    /// The archive has everything of this time and later.
    /// Older mail may have the time of the oldest email, so it is the microsecond after that.
    Since(ApiTime),
    /// No part that begins at the newest email is known to be complete.
    #[default]
    Unknown,
}

/// A range of the listing of which every email is in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveredRange {
    /// Its newest email.
    pub top: SortKey,
    /// Its oldest email.
    pub bottom: SortKey,
    /// Whether the service listed nothing newer at the last request.
    pub(crate) reaches_top: bool,
    /// Whether the service listed nothing older at the last request.
    pub reaches_end: bool,
}

impl CoveredRange {
    /// Whether `key` lies within.
    /// A row there is part of the range only if it is listed.
    pub(crate) fn contains(&self, key: SortKey) -> bool {
        (self.bottom..=self.top).contains(&key)
    }
}

/// The known state of the service's listing; sync plans its requests from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoverageState {
    /// The ranges, newest first.
    pub ranges: Vec<CoveredRange>,
    /// The email after which the newest range is complete; others may have its time.
    pub(crate) complete_since: Option<SortKey>,
    /// Whether the service lists the oldest email first.
    pub(crate) oldest_first: bool,
    /// The length of the longest page that the service has sent; at most [`MAX_LIMIT`].
    ///
    /// A page with repeated emails is longer than a full one.
    pub(crate) max_page_len: usize,
}

/// A page of the listing and its position there.
#[derive(Debug, Clone)]
pub struct ListingPage {
    /// Its items, newest first.
    pub items: Vec<ListedEmail>,
    /// Its position in the listing.
    pub position: PagePosition,
    /// Whether the service lists the oldest first.
    /// A change of this discards what was known of the listing.
    pub oldest_first: bool,
    /// When it was requested.
    pub requested: RequestStamp,
}

impl ListingPage {
    /// Whether it shows that the service lists no email at all.
    pub(crate) fn is_empty_listing(&self) -> bool {
        self.items.is_empty() && matches!(self.position, PagePosition::Top | PagePosition::Bottom)
    }
}

/// The position of a page in the listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagePosition {
    /// It begins at the newest email.
    Top,
    /// It ends at the oldest email.
    Bottom,
    /// It begins right below this email.
    Below {
        /// The email.
        cursor: EmailId,
        /// Whether the service no longer has the emails of the range that are older than
        /// the cursor.
        is_end: bool,
    },
    /// It ends right above this email.
    Above(EmailId),
    /// Its position is not known.
    Unknown,
}

/// The longest time between the last two emails of a range for which that of the
/// last one is believed: 365 days, in microseconds.
const MAX_LAST_GAP: i64 = 365 * 24 * 3600 * 1_000_000;

const RANGES: &str = "SELECT top, bottom, reaches_top, reaches_end FROM covered_range ORDER BY top";
/// Finds one of the listed emails between two keys, for each [`Direction`] of
/// counting.
pub(crate) const NTH_LISTED: ByDirection = ByDirection {
    older: "SELECT sort_key, id FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 ORDER BY sort_key LIMIT 1 OFFSET ?3",
    newer: "SELECT sort_key, id FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 ORDER BY sort_key DESC LIMIT 1 OFFSET ?3",
};
pub(crate) const COUNT_LISTED: &str = "SELECT count(*) FROM (SELECT 1 FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 LIMIT ?3) AS found";

/// Returns the email after which `range` is complete:
/// its oldest one, or the one before it if the oldest is a year older, because its time may be
/// wrong and the email after it may be as new as the one before it.
fn complete_since(conn: &Connection, range: &CoveredRange) -> Result<SortKey> {
    let newer = nth_listed(conn, range.top, range.bottom, Direction::Newer, 1)?;
    let is_apart = |key: &SortKey| key.micros() - range.bottom.micros() > MAX_LAST_GAP;
    let newer = newer.map(|(key, _)| key).filter(is_apart);
    Ok(newer.unwrap_or(range.bottom))
}

/// Loads the time of the row at `key`.
/// The key has another time if the service does not list the email by its own.
fn load_created(conn: &Connection, key: SortKey) -> Result<ApiTime> {
    conn.value("SELECT created_at FROM mail WHERE sort_key = ?1", [key])
}

impl Archive {
    /// Returns how far back the archive is complete.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn coverage(&self) -> Result<Coverage> {
        self.read(|conn| {
            if conn.value("SELECT is_empty FROM listing", [])? {
                return Ok(Coverage::Complete);
            }
            let ranges = load_ranges(conn)?;
            let Some(range) = ranges.into_iter().find(|range| range.reaches_top) else {
                return Ok(Coverage::Unknown);
            };
            if range.reaches_end {
                return Ok(Coverage::Complete);
            }
            let oldest = load_created(conn, complete_since(conn, &range)?)?;
            Ok(Coverage::Since(oldest.next()))
        })
    }

    /// Returns the time of the oldest email that the service lists,
    /// if the archive has all that it lists.
    pub(crate) fn oldest_listed(&self) -> Result<Option<Timestamp>> {
        self.read(|conn| {
            let mut ranges = load_ranges(conn)?.into_iter();
            let all = ranges.find(|range| range.reaches_top && range.reaches_end);
            let Some(mut all) = all else { return Ok(None) };
            let Some(oldest) = oldest_listed(conn, all.top, all.bottom)? else {
                return Ok(None);
            };
            all.bottom = oldest;
            let created = load_created(conn, complete_since(conn, &all)?)?;
            Ok(created.parsed)
        })
    }

    /// Returns what is known of the service's listing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn coverage_state(&self) -> Result<CoverageState> {
        self.read(|conn| {
            let query = "SELECT oldest_first, max_page_len FROM listing";
            let (oldest_first, max_page_len): (bool, i64) =
                conn.one(query, [], |row| Ok((row.get()?, row.get()?)))?;
            let ranges = load_ranges(conn)?;
            let newest = ranges.iter().find(|range| range.reaches_top);
            Ok(CoverageState {
                complete_since: newest
                    .map(|range| complete_since(conn, range))
                    .transpose()?,
                ranges,
                oldest_first,
                max_page_len: usize::try_from(max_page_len)
                    .unwrap_or(0)
                    .min(MAX_LIMIT.into()),
            })
        })
    }

    /// Returns the listed email `steps` rows from the top of `range`,
    /// or up from its bottom.
    pub(crate) fn id_in_range(
        &self,
        range: &CoveredRange,
        direction: Direction,
        steps: u32,
    ) -> Result<Option<EmailId>> {
        let found =
            self.read(|conn| nth_listed(conn, range.top, range.bottom, direction, steps))?;
        Ok(found.map(|(_, id)| id))
    }

    /// Counts the listed rows from `top` down to `bottom`, up to `limit`.
    pub(crate) fn count_listed(&self, top: SortKey, bottom: SortKey, limit: u32) -> Result<u32> {
        self.read(|conn| count_listed(conn, top, bottom, limit))
    }

    /// Returns the newest listed row from `top` down to `bottom`.
    pub(crate) fn first_listed(&self, top: SortKey, bottom: SortKey) -> Result<Option<SortKey>> {
        self.read(|conn| newest_listed(conn, top, bottom))
    }

    /// Whether a page within a covered range contained the row at `key`.
    pub(crate) fn is_listed(&self, key: SortKey) -> Result<bool> {
        Ok(self.first_listed(key, key)?.is_some())
    }

    /// Returns the listed row `steps` rows above `key`, or the one nearest to that
    /// below `ceiling`.
    pub(crate) fn listed_above(
        &self,
        key: SortKey,
        ceiling: SortKey,
        steps: u32,
    ) -> Result<SortKey> {
        let query = "SELECT min(sort_key) FROM \
                     (SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 ORDER BY sort_key DESC LIMIT ?3) AS found";
        let params = params![ceiling, key, steps + 1];
        self.read(|conn| {
            let found: Option<SortKey> = conn.value(query, params)?;
            Ok(found.unwrap_or(key))
        })
    }

    /// Returns cursors for the page that begins at `key`, the nearest first.
    ///
    /// They are at most `limit` listed rows above it that the service still has; fewer if the
    /// listing begins there.
    pub(crate) fn cursors_above(&self, key: SortKey, limit: u32) -> Result<Vec<EmailId>> {
        let query = "SELECT id FROM mail WHERE sort_key < ?1 AND listed = 1 AND missing_since IS NULL ORDER BY sort_key DESC LIMIT ?2";
        self.read(|conn| conn.values(query, params![key, limit]))
    }

    /// Records that the service has nothing above `top`, if a range ends there.
    pub(crate) fn record_top(&self, top: SortKey, request: RequestStamp) -> Result<()> {
        self.write(|tx| {
            if mark_reaches_top(tx, top)? {
                self.connections.mark_changed();
            }
            record_head_request(tx, request)
        })
    }
}

/// Returns the listed email `steps` rows from the one end of the keys from `top`
/// down to `bottom`.
fn nth_listed(
    conn: &Connection,
    top: SortKey,
    bottom: SortKey,
    direction: Direction,
    steps: u32,
) -> Result<Option<(SortKey, EmailId)>> {
    let query = NTH_LISTED.get(direction);
    conn.optional(query, params![top, bottom, steps], |row| {
        Ok((row.get()?, row.get()?))
    })
}

/// Returns the newest listed row from `top` down to `bottom`.
pub(crate) fn newest_listed(
    conn: &Connection,
    top: SortKey,
    bottom: SortKey,
) -> Result<Option<SortKey>> {
    Ok(nth_listed(conn, top, bottom, Direction::Older, 0)?.map(|(key, _)| key))
}

/// Returns the oldest listed row from `top` down to `bottom`.
pub(crate) fn oldest_listed(
    conn: &Connection,
    top: SortKey,
    bottom: SortKey,
) -> Result<Option<SortKey>> {
    Ok(nth_listed(conn, top, bottom, Direction::Newer, 0)?.map(|(key, _)| key))
}

/// Counts the listed rows from `top` down to `bottom`, up to `limit`.
pub(crate) fn count_listed(
    conn: &Connection,
    top: SortKey,
    bottom: SortKey,
    limit: u32,
) -> Result<u32> {
    conn.value(COUNT_LISTED, params![top, bottom, limit])
}

pub(crate) fn find_listed(conn: &Connection, email: &EmailId) -> Result<Option<SortKey>> {
    let query = "SELECT sort_key FROM mail WHERE id = ?1 AND listed = 1";
    conn.optional_value(query, [email])
}

/// Records the time for which the newest page is known,
/// if its request was answered.
pub(crate) fn record_head_request(tx: &Transaction, request: RequestStamp) -> Result<()> {
    let query = "UPDATE listing SET head_requested_at = ?1";
    tx.execute(query, [request.listed_at.as_microsecond()])
}

/// Records that the service has nothing above `top`, if a range ends there;
/// returns whether that is new.
pub(crate) fn mark_reaches_top(tx: &Transaction, top: SortKey) -> Result<bool> {
    let query = "UPDATE covered_range SET reaches_top = 1 WHERE top = ?1 AND reaches_top = 0";
    Ok(tx.execute_counted(query, [top])? > 0)
}

/// Loads all ranges, newest first.
pub(crate) fn load_ranges(conn: &Connection) -> Result<Vec<CoveredRange>> {
    conn.all(RANGES, [], |row| {
        Ok(CoveredRange {
            top: row.get()?,
            bottom: row.get()?,
            reaches_top: row.get()?,
            reaches_end: row.get()?,
        })
    })
}

/// Inserts `range` if it is not there;
/// the caller has deleted the ranges that it replaces.
pub(crate) fn insert_range(tx: &Transaction, range: &CoveredRange) -> Result<()> {
    if load_ranges(tx)?.contains(range) {
        return Ok(());
    }
    let query =
        "INSERT INTO covered_range (top, bottom, reaches_top, reaches_end) VALUES (?1, ?2, ?3, ?4)";
    let params = params![
        range.top,
        range.bottom,
        range.reaches_top,
        range.reaches_end
    ];
    tx.execute(query, params)
}

/// Shrinks each range to its outermost listed rows that are not older than
/// `oldest`, and deletes one without any.
pub(crate) fn shrink_ranges(tx: &Transaction, oldest: SortKey) -> Result<()> {
    for range in load_ranges(tx)? {
        let last = range.bottom.max(oldest);
        let top = newest_listed(tx, range.top, last)?;
        let bottom = oldest_listed(tx, range.top, last)?;
        if (top, bottom) == (Some(range.top), Some(range.bottom)) {
            continue;
        }
        delete_range(tx, &range)?;
        if let (Some(top), Some(bottom)) = (top, bottom) {
            let shrunk = CoveredRange {
                top,
                bottom,
                ..range
            };
            insert_range(tx, &shrunk)?;
        }
    }
    Ok(())
}

pub(crate) fn delete_range(tx: &Transaction, range: &CoveredRange) -> Result<()> {
    let query = "DELETE FROM covered_range WHERE top = ?1";
    tx.execute(query, [range.top])
}
