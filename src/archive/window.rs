//! Windows onto the list: rows around a position, found by key and never by
//! counting, with all that the list shows.

use jiff::Timestamp;

use super::codec::row::{self, row_columns, summary_columns};
use super::listing::confirmations::{self, confirmed_at};
use super::listing::{ByDirection, Direction};
use super::storage::db::{Connection, Row as SqlRow, params};
use super::{Archive, SortKey};
use crate::error::Result;
use crate::mail::{ApiTime, Bounce, EmailId, Finality, SafeText, Status, Summary};
use crate::query::SortOrder;

/// One email of the archive, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailRow {
    /// Its position in the list.
    pub sort_key: SortKey,
    /// The fields in the list; shortened in a window ([`Summary::truncate_for_list`]).
    pub summary: Summary,
    /// Whether `summary` has only the first recipients of a field.
    pub(crate) is_shortened: bool,
    /// How many recipients it has, those in copy, too.
    pub(crate) recipient_count: usize,
    /// The latest change of its status;
    /// `None` if the status never changed since it was first seen.
    pub(crate) last_change: Option<ObservedStatus>,
    /// Whether its bodies are in the archive.
    pub(crate) has_body: bool,
    /// Set if the service no longer has it;
    /// `None` too while the deletion is unconfirmed.
    pub(crate) missing_since: Option<Timestamp>,
    /// When the latest request was sent whose response confirmed the status.
    pub(crate) confirmed_at: Option<Timestamp>,
    /// The tags as `name=value`, separated by spaces;
    /// `None` unless [`Archive::load_details`] has found them.
    pub(crate) tags: Option<SafeText>,
}

impl EmailRow {
    /// Truncates the summary for a window of rows.
    pub(crate) fn shorten(mut self) -> Self {
        self.is_shortened |= self.summary.truncate_for_list();
        self
    }

    /// Whether its body is to be retrieved: it is not here, and the service has the email.
    pub(crate) const fn lacks_body(&self) -> bool {
        !self.has_body && self.missing_since.is_none()
    }

    /// Returns why it bounced, by the list or by the retrieved email `full`.
    ///
    /// The list seldom has the reason; and a part of the recipients does not tell which one alone
    /// the reason names.
    pub(crate) fn find_bounce(&self, full: &Summary) -> Option<Bounce> {
        let first = if self.is_shortened {
            full
        } else {
            &self.summary
        };
        first.bounce().or_else(|| full.bounce())
    }

    /// Whether its status can still change. An email that is missing upstream is final.
    pub(crate) fn finality(&self, now: Timestamp) -> Finality {
        let age = now.duration_since(self.summary.created.parsed.unwrap_or(now));
        if self.missing_since.is_some() {
            Finality::Final
        } else {
            self.summary.status.finality(age)
        }
    }

    /// Whether its status counts as final by its age alone:
    /// it may have changed, but is seldom asked for.
    pub(crate) fn is_final_by_age(&self, now: Timestamp) -> bool {
        self.missing_since.is_none()
            && !self.summary.status.is_final()
            && self.finality(now) == Finality::Final
    }
}

/// A status and when it was first seen, which is later than when it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedStatus {
    pub(crate) status: Status,
    /// When it was first seen.
    pub(crate) seen: Timestamp,
}

/// Where a window begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowAnchor {
    /// From the first email of the list on:
    /// the newest one, unless the query has `sort:oldest`.
    Top,
    /// Up to the last email of the list.
    Bottom,
    /// Around this key, with so many rows above it.
    Around {
        /// The key; if no email has it any more, the next row below is used.
        sort_key: SortKey,
        /// How many rows above it.
        above: usize,
    },
    /// From the newest email at or before this time (microseconds since 1970) on,
    /// or with `sort:oldest` from the oldest at or after it.
    AtTime(i64),
}

/// A part of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowWindow {
    /// The rows, in the order of the list.
    pub rows: Vec<EmailRow>,
    /// Whether the list has rows above them.
    pub(crate) more_above: bool,
    /// Whether the list has rows below them.
    pub(crate) more_below: bool,
    /// The index of a row that does not match, but is shown.
    pub(crate) unmatched: Option<usize>,
}

impl RowWindow {
    /// Adds a row that does not match, where it would be in this order.
    pub(crate) fn insert_unmatched(&mut self, row: EmailRow, order: SortOrder) {
        let row = row.shorten();
        let at = self.rows.partition_point(|above| match order {
            SortOrder::Newest => above.sort_key > row.sort_key,
            SortOrder::Oldest => above.sort_key < row.sort_key,
        });
        self.rows.insert(at, row);
        self.unmatched = Some(at);
    }

    /// Removes the row that does not match.
    pub(crate) fn without_unmatched(mut self) -> Self {
        if let Some(at) = self.unmatched.take() {
            self.rows.remove(at);
        }
        self
    }

    pub(crate) fn matching(&self) -> impl Iterator<Item = &EmailRow> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(n, row)| (self.unmatched != Some(n)).then_some(row))
    }
}

/// The columns of a row and the tables that they come from.
macro_rules! select_rows {
    ($rest:literal) => {
        concat!(
            "SELECT mail.sort_key, status_seen_at, status_changes, EXISTS (SELECT 1 FROM body WHERE body.sort_key = mail.sort_key), \
             ",
            summary_columns!(),
            ", iif(listed = 1, NULL, missing_since), ",
            confirmed_at!(),
            " FROM mail ",
            $rest
        )
    };
}

/// The rows past a key, by direction.
pub(crate) const PAST: ByDirection = ByDirection {
    older: select_rows!("WHERE mail.sort_key > ?1 ORDER BY mail.sort_key LIMIT ?2"),
    newer: select_rows!("WHERE mail.sort_key < ?1 ORDER BY mail.sort_key DESC LIMIT ?2"),
};
pub(crate) const BY_ID: &str = select_rows!("WHERE id = ?1");
pub(crate) const BY_KEY: &str = select_rows!("WHERE mail.sort_key = ?1");

/// Returns the statement for the rows at some keys.
pub(crate) fn by_keys(marks: &str) -> String {
    format!(select_rows!("WHERE mail.sort_key IN ({})"), marks)
}

pub(crate) const COUNT_ALL: &str = "SELECT emails FROM row_counts";
pub(crate) const COUNT_NEWER: &str = "SELECT count(*) FROM mail WHERE fts_rowid <= (SELECT fts_rowid FROM mail WHERE sort_key < ?1 ORDER BY sort_key DESC LIMIT 1)";
/// The times of the emails at the top of the list, and of those at its bottom.
const TOP_TIMES: &str = "SELECT created_at FROM mail ORDER BY sort_key LIMIT 100";
const BOTTOM_TIMES: &str = "SELECT created_at FROM mail ORDER BY sort_key DESC LIMIT 100";
pub(crate) const OBSERVED: &str = "SELECT status_history.last_event, status_history.seen_at FROM status_history JOIN mail USING (sort_key) WHERE id = ?1 ORDER BY seq";

impl Archive {
    /// Loads at most `limit` rows at `anchor`.
    /// A window at an end of the list is filled from the other side.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn window(&self, anchor: &WindowAnchor, limit: usize) -> Result<RowWindow> {
        self.read(|conn| read_window(conn, Direction::Older, anchor, limit))
    }

    /// Returns the latest creation time of the top 100 emails.
    /// The first one may be earlier: services may list out of order.
    pub(crate) fn latest_created(&self) -> Result<Option<Timestamp>> {
        Ok(self.created_times(TOP_TIMES)?.max())
    }

    /// Returns the earliest creation time of the last 100 emails.
    pub(crate) fn earliest_created(&self) -> Result<Option<Timestamp>> {
        Ok(self.created_times(BOTTOM_TIMES)?.min())
    }

    fn created_times(&self, sql: &str) -> Result<impl Iterator<Item = Timestamp> + use<>> {
        let times = self.read(|conn| conn.values::<ApiTime>(sql, []))?;
        Ok(times.into_iter().filter_map(|time| time.parsed))
    }

    /// Counts all emails.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn query_count(&self) -> Result<u64> {
        self.read(|conn| conn.value(COUNT_ALL, []))
            .map(i64::unsigned_abs)
    }

    /// Counts the emails that are newer than `key`. Reads all of them:
    /// not for the hot path.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn rank(&self, key: SortKey) -> Result<u64> {
        self.read(|conn| conn.value(COUNT_NEWER, [key]))
            .map(i64::unsigned_abs)
    }

    /// Loads the row of one email, if the archive has it.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn row(&self, id: &EmailId) -> Result<Option<EmailRow>> {
        self.read(|conn| conn.optional(BY_ID, [id], read_row))
    }

    /// Returns the id of the email at this position.
    pub(crate) fn id_at(&self, key: SortKey) -> Result<Option<EmailId>> {
        self.read(|conn| {
            let query = "SELECT id FROM mail WHERE sort_key = ?1";
            conn.optional_value(query, [key])
        })
    }

    /// Loads every status that was seen of an email, oldest first;
    /// empty if the archive does not have it.
    pub(crate) fn history(&self, id: &EmailId) -> Result<Vec<ObservedStatus>> {
        self.read(|conn| {
            let read = |row: &SqlRow| Ok(observed_status(row.get()?, row.get()?));
            let mut history = conn.all(OBSERVED, [id], read)?;
            let now = "SELECT last_event, status_seen_at FROM mail WHERE id = ?1";
            history.extend(conn.optional(now, [id], read)?);
            Ok(history)
        })
    }

    /// Returns the JSON of an email's summary as the service sent it:
    /// the same members in the same order with equal values.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub fn summary_json(&self, id: &EmailId) -> Result<Option<String>> {
        let query = concat!(
            "SELECT ",
            row_columns!(),
            " FROM mail JOIN key_order USING (key_order_id) WHERE id = ?1"
        );
        let to_json = |row: &SqlRow| Ok(row::read_fields(row)?.to_json());
        self.read(|conn| conn.optional(query, [id], to_json))
    }
}

/// Converts a status from its columns.
pub(crate) fn observed_status(last_event: Option<String>, seen_at: i64) -> ObservedStatus {
    ObservedStatus {
        status: Status::parse(&last_event.unwrap_or_default()),
        seen: Timestamp::from_microsecond(seen_at).unwrap_or_default(),
    }
}

/// A list of rows that can be read in both directions.
pub(super) trait RowSource {
    /// Loads at most `limit` rows past `from`, nearest first.
    fn rows(&self, direction: Direction, from: SortKey, limit: usize) -> Result<Vec<EmailRow>>;
}

/// Every email of the archive.
impl RowSource for Connection {
    fn rows(&self, direction: Direction, from: SortKey, limit: usize) -> Result<Vec<EmailRow>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let params = params![from, limit];
        self.all(PAST.get(direction), params, |row| {
            read_row(row).map(EmailRow::shorten)
        })
    }
}

/// Reads a window of a list whose top to bottom direction is `forward`.
pub(super) fn read_window(
    source: &impl RowSource,
    forward: Direction,
    anchor: &WindowAnchor,
    limit: usize,
) -> Result<RowWindow> {
    match *anchor {
        WindowAnchor::Top => read_end(source, forward, forward, limit),
        WindowAnchor::Bottom => read_end(source, forward, forward.reverse(), limit),
        WindowAnchor::Around { sort_key, above } => {
            read_around(source, forward, sort_key, above, limit)
        }
        WindowAnchor::AtTime(micros) => {
            let key = match forward {
                Direction::Older => SortKey::newest_at(micros),
                Direction::Newer => SortKey::oldest_at(micros),
            };
            read_around(source, forward, key, 0, limit)
        }
    }
}

/// Reads the rows from an end of the list on, in one direction.
fn read_end(
    source: &impl RowSource,
    forward: Direction,
    direction: Direction,
    limit: usize,
) -> Result<RowWindow> {
    let end = direction.reverse().end();
    let mut rows = source.rows(direction, end, limit.saturating_add(1))?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    if direction != forward {
        rows.reverse();
    }
    Ok(RowWindow {
        rows,
        more_above: has_more && direction != forward,
        more_below: has_more && direction == forward,
        unmatched: None,
    })
}

/// Reads `lead` rows before `key` and the others from it on;
/// one side fills up for the other.
fn read_around(
    source: &impl RowSource,
    forward: Direction,
    key: SortKey,
    lead: usize,
    limit: usize,
) -> Result<RowWindow> {
    let back = forward.reverse();
    let edge = back.next_key(key);
    let lead = lead.min(limit.saturating_sub(1));
    // One row more than needed shows whether there are more: to read again may cost as much as the
    // rows.
    let mut before = source.rows(back, forward.next_key(edge), lead + 1)?;
    let below = limit - before.len().min(lead);
    let mut after = source.rows(forward, edge, below + 1)?;
    let more_below = after.len() > below;
    after.truncate(below);
    let above = limit - after.len();
    if let Some(farthest) = before.get(lead)
        && above > lead
    {
        let from = farthest.sort_key;
        before.extend(source.rows(back, from, above - lead)?);
    }
    let more_above = before.len() > above;
    before.truncate(above);
    before.reverse();
    before.append(&mut after);
    Ok(RowWindow {
        rows: before,
        more_above,
        more_below,
        unmatched: None,
    })
}

/// Reads a row of [`select_rows!`].
pub(crate) fn read_row(row: &SqlRow) -> rusqlite::Result<EmailRow> {
    let sort_key = row.get()?;
    let (seen_at, changes): (i64, i64) = (row.get()?, row.get()?);
    let has_body = row.get()?;
    let (summary, _) = row::read_summary(row)?;
    let last_change = observed_status(summary.last_event.clone(), seen_at);
    let summary = Summary::from(&summary);
    Ok(EmailRow {
        sort_key,
        last_change: Some(last_change).filter(|_| changes > 0),
        has_body,
        missing_since: confirmations::to_timestamp(row.get()?),
        confirmed_at: confirmations::to_timestamp(row.get()?),
        recipient_count: summary.count_recipients(),
        summary,
        is_shortened: false,
        tags: None,
    })
}
