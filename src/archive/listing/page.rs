//! Pages of the service's listing from the rows, as far as they are covered,
//! for a server of the archive.
//!
//! A page has listed rows of one covered range only, so it never leaves out an email that the
//! service lists, nor one whose deletion is unconfirmed: to the client its absence would confirm
//! it. Where it reaches the end of its range, it names what has to be requested to go on.

use jiff::Timestamp;

use super::confirmations::{self, confirmed_at};
use super::coverage::{self, CoveredRange};
use super::{ByDirection, Direction, SortKey, TOP};
use crate::api::Cursor;
use crate::archive::Archive;
use crate::archive::codec::row::{self, row_columns};
use crate::archive::storage::db::{Connection, params};
use crate::error::Result;
use crate::mail::EmailId;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StoredPage {
    /// The summaries as the service sent them, newest first, each with its id.
    pub(crate) items: Vec<(EmailId, String)>,
    /// The oldest confirmation time of the items' statuses; `None` if one is unknown.
    pub(crate) checked_at: Option<Timestamp>,
    /// Whether the status of at least one item is not final.
    pub(crate) may_change: bool,
    /// When the newest page of the listing was read; `None` if that is unknown.
    pub(crate) listed_at: Option<Timestamp>,
    /// The continuation in the direction of the cursor.
    pub(crate) next: NextRows,
}

/// The continuation of a [`StoredPage`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum NextRows {
    /// More rows of the range.
    More,
    /// Nothing: the listing ends here.
    #[default]
    End,
    /// Emails that the archive may not have.
    Gap(Gap),
}

/// A part of the listing that is not covered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Gap {
    /// Above the newest range.
    Top,
    Below {
        /// Its oldest row.
        bottom: SortKey,
        /// Its oldest email that the service has;
        /// `None` for the newest range, which sync extends by itself.
        cursor: Option<EmailId>,
    },
}

macro_rules! listed_page {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            row_columns!(),
            ", ",
            confirmed_at!(),
            ", mail.sort_key FROM mail JOIN key_order USING (key_order_id) WHERE listed = 1 AND ",
            $rest
        )
    };
}

/// The rows of a range on one side of a key, nearest first, for each [`Direction`].
#[rustfmt::skip] // one statement a line
pub(crate) const LISTED_PAGE: ByDirection = ByDirection {
    older: listed_page!("mail.sort_key > ?1 AND mail.sort_key <= ?2 ORDER BY mail.sort_key LIMIT ?3"),
    newer: listed_page!("mail.sort_key < ?1 AND mail.sort_key >= ?2 ORDER BY mail.sort_key DESC LIMIT ?3"),
};
const OLDEST_LIVE: &str = "SELECT id FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 AND missing_since IS NULL ORDER BY sort_key DESC LIMIT 1";

impl Archive {
    /// Loads at most `limit` summaries at `cursor`;
    /// `None` if no listed email is the cursor's.
    pub(crate) fn stored_page(
        &self,
        cursor: &Cursor,
        limit: u8,
        now: Timestamp,
    ) -> Result<Option<StoredPage>> {
        self.read(|conn| {
            let ranges = coverage::load_ranges(conn)?;
            let (key, direction, at) = match cursor {
                Cursor::Start => (TOP, Direction::Older, 0),
                Cursor::After(id) | Cursor::Before(id) => {
                    let Some(key) = coverage::find_listed(conn, id)? else {
                        return Ok(None);
                    };
                    let Some(at) = ranges.iter().position(|range| range.contains(key)) else {
                        return Ok(None);
                    };
                    match cursor {
                        Cursor::Before(_) => (key, Direction::Newer, at),
                        _ => (key, Direction::Older, at),
                    }
                }
            };
            let Some(range) = ranges.get(at) else {
                return empty_page(conn).map(Some);
            };
            if *cursor == Cursor::Start && !range.reaches_top {
                return Ok(Some(StoredPage {
                    next: NextRows::Gap(Gap::Top),
                    ..StoredPage::default()
                }));
            }
            let mut page = read_page(conn, direction, key, range, limit, now)?;
            if page.next == NextRows::End {
                page.next = match direction {
                    Direction::Older if range.reaches_end => NextRows::End,
                    Direction::Newer if range.reaches_top => NextRows::End,
                    Direction::Older => NextRows::Gap(gap_below(conn, &ranges, at)?),
                    Direction::Newer if at == 0 => NextRows::Gap(Gap::Top),
                    Direction::Newer => NextRows::Gap(gap_below(conn, &ranges, at - 1)?),
                };
            }
            Ok(Some(page))
        })
    }
}

/// Returns the page of a listing without a covered range.
fn empty_page(conn: &Connection) -> Result<StoredPage> {
    let query = "SELECT is_empty, head_requested_at FROM listing";
    let (is_empty, at): (bool, Option<i64>) =
        conn.one(query, [], |row| Ok((row.get()?, row.get()?)))?;
    let next = if is_empty {
        NextRows::End
    } else {
        NextRows::Gap(Gap::Top)
    };
    Ok(StoredPage {
        checked_at: confirmations::to_timestamp(at).filter(|_| is_empty),
        listed_at: confirmations::to_timestamp(at),
        next,
        ..StoredPage::default()
    })
}

/// Reads the rows of `range` past `key`, as if the listing ended with the range.
fn read_page(
    conn: &Connection,
    direction: Direction,
    key: SortKey,
    range: &CoveredRange,
    limit: u8,
    now: Timestamp,
) -> Result<StoredPage> {
    let params = params![key, direction.end_of(range), u32::from(limit) + 1];
    let mut rows = conn.all(LISTED_PAGE.get(direction), params, |row| {
        let fields = row::read_fields(row)?;
        let confirmed: Option<i64> = row.get()?;
        let last_event = fields.summary.last_event.as_deref();
        let may_change = confirmations::may_change(last_event, row.get()?, now);
        let item = (EmailId::new(&fields.summary.id), fields.to_json());
        Ok((item, confirmed.unwrap_or_default(), may_change))
    })?;
    let limit = usize::from(limit);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    if direction == Direction::Newer {
        rows.reverse();
    }
    let oldest = rows.iter().map(|(_, at, _)| *at);
    let oldest = oldest.min().filter(|at| *at > 0);
    Ok(StoredPage {
        may_change: rows.iter().any(|(_, _, may_change)| *may_change),
        items: rows.into_iter().map(|(item, ..)| item).collect(),
        checked_at: confirmations::to_timestamp(oldest),
        listed_at: confirmations::load_head_at(conn)?,
        next: if has_more {
            NextRows::More
        } else {
            NextRows::End
        },
    })
}

/// Returns the gap below the range at this index.
fn gap_below(conn: &Connection, ranges: &[CoveredRange], at: usize) -> Result<Gap> {
    let range = &ranges[at];
    let cursor = if at == 0 {
        None
    } else {
        conn.optional_value(OLDEST_LIVE, [range.top, range.bottom])?
    };
    Ok(Gap::Below {
        bottom: range.bottom,
        cursor,
    })
}
