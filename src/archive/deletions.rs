//! Marks mail that the service no longer lists. It stays; whoever looks at it is told.
//!
//! Nothing is marked on a guess. An email is gone if the service says so when it is asked for, or if
//! a page holds its neighbours on both sides (or the end of the listing on one) and not the email. A
//! page that contradicts what is known of the order says nothing. An email that is listed again
//! loses its mark.
//!
//! The first is one word against another, since a page has held it: such an email is in *doubt*. It
//! counts as listed until a page that should hold it has been read again.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Transaction, params};

use super::confirmations::latest_response_seq;
use super::incoming::IncomingEmail;
use super::merge::{ListingPage, PagePosition};
use super::{Archive, CoveredRange, RequestTime, SortKey, coverage, id_codec};
use crate::error::Error;
use crate::mail::EmailId;

pub(super) const UNCONFIRMED: &str = "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND missing_since IS NOT NULL AND listed ORDER BY sort_key LIMIT 1";
const LISTED_ID_ABOVE: &str = "SELECT id FROM mail WHERE sort_key < ?1 AND sort_key >= ?2 AND listed AND missing_since IS NULL ORDER BY sort_key DESC LIMIT 1";

/// How near to the end of the listing an email counts as expired and not as deleted: mail expires while
/// the listing is read, and its end is not read every day.
const EXPIRY_MARGIN: SignedDuration = SignedDuration::from_hours(24);

/// An email that the service does not have any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingUpstream {
    /// When that was noticed.
    pub(crate) noticed: Timestamp,
    /// Why, as far as its position tells.
    pub(crate) reason: MissingReason,
}

/// Why the service does not have an email any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingReason {
    /// It is newer than the oldest email that the service lists, so it was deleted.
    Deleted,
    /// It is older than that: the service does not keep mail for so long.
    Expired,
    /// The end of the listing was never reached.
    Unknown,
}

impl MissingReason {
    /// What to tell people about it.
    #[must_use]
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Deleted => "deleted from the service; kept here",
            Self::Expired => "no longer kept by the service, as it is too old; kept here",
            Self::Unknown => "no longer listed by the service; kept here",
        }
    }
}

/// The sort key of the oldest listed email, if the row of `mail` is gone, as an SQL expression.
macro_rules! listing_end_if_missing {
    () => {
        "iif(missing_since IS NULL OR listed, NULL, (SELECT bottom FROM covered_range WHERE reaches_end))"
    };
}
pub(super) use listing_end_if_missing;

impl MissingUpstream {
    /// From the columns of a row; `None` if the service has it, or if that is only in doubt.
    pub(super) fn from_columns(
        place: SortKey,
        gone: Option<i64>,
        end: Option<SortKey>,
    ) -> Option<Self> {
        let near_end = |end: SortKey| {
            end.micros()
                .saturating_add(i64::try_from(EXPIRY_MARGIN.as_micros()).unwrap_or(i64::MAX))
        };
        let kind = match end {
            None => MissingReason::Unknown,
            Some(end) if place.micros() <= near_end(end) => MissingReason::Expired,
            Some(_) => MissingReason::Deleted,
        };
        Some(Self {
            noticed: Timestamp::from_microsecond(gone?).unwrap_or_default(),
            reason: kind,
        })
    }
}

impl Archive {
    /// Notes that the service answered a retrieve with *no such email*. An answer to a later request
    /// that held it counts more. In a read-only archive nothing is noted.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub(crate) fn mark_missing(&self, id: &EmailId, asked: RequestTime) -> Result<(), Error> {
        if self.read_only_reason().is_some() {
            return Ok(());
        }
        self.connections.write(|change| {
            let sql = concat!(
                "UPDATE mail SET missing_since = ?2, response_seq = ?3 WHERE id = ?1 AND missing_since IS NULL AND ",
                latest_response_seq!(),
                " <= ?3"
            );
            change.execute(
                sql,
                params![id_codec::encode_id(id.as_str()), asked.micros(), asked.seq],
            )?;
            Ok(())
        })
    }

    /// The newest email of `span` that is in doubt and not older than `since` (microseconds since 1970),
    /// and the email of the listing that it stands below. None if it has nothing above it.
    ///
    /// # Errors
    ///
    /// If the archive cannot be read.
    pub(crate) fn unconfirmed_deletion(
        &self,
        span: &CoveredRange,
        since: i64,
    ) -> Result<Option<(SortKey, EmailId)>, Error> {
        self.connections.read(|connection| {
            let bottom = span.bottom.max(SortKey::oldest_at(since));
            let doubtful: Option<SortKey> = connection
                .prepare_cached(UNCONFIRMED)?
                .query_row([span.top, bottom], |row| row.get(0))
                .optional()?;
            let Some(place) = doubtful else {
                return Ok(None);
            };
            let id = |row: &rusqlite::Row| {
                Ok((place, EmailId::new(id_codec::decode_id(row.get_ref(0)?))))
            };
            Ok(connection
                .prepare_cached(LISTED_ID_ABOVE)?
                .query_row([place, span.top], id)
                .optional()?)
        })
    }
}

/// Marks what lies between the emails of a page and is not among them.
pub(super) fn mark_missing_between(
    change: &Transaction,
    stretch: &ListingPage,
    entries: &[IncomingEmail],
) -> Result<(), Error> {
    let places = || entries.iter().map(|entry| entry.sort_key);
    let (Some(newest), Some(oldest)) = (places().max(), places().min()) else {
        return Ok(());
    };
    let cursor = |id: &EmailId| -> rusqlite::Result<Option<SortKey>> {
        let sql = "SELECT sort_key FROM mail WHERE id = ?1 AND listed";
        change
            .prepare_cached(sql)?
            .query_row([id_codec::encode_id(id.as_str())], |row| row.get(0))
            .optional()
    };
    let mut held: HashSet<SortKey> = places().collect();
    let (mut top, mut bottom) = (newest, oldest);
    match &stretch.position {
        PagePosition::Top => top = SortKey(i64::MAX),
        PagePosition::Bottom => bottom = SortKey(i64::MIN),
        PagePosition::Below { cursor: id, .. } | PagePosition::Above(id) => {
            if let Some(cursor) = cursor(id)? {
                held.insert(cursor);
                (top, bottom) = (top.max(cursor), bottom.min(cursor));
            }
        }
        PagePosition::Unknown => return Ok(()),
    }
    let standing: Vec<SortKey> = {
        // A row that the answer to a later request has held is newer than this page.
        let sql = concat!(
            "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed AND ",
            latest_response_seq!(),
            " < ?3"
        );
        let mut statement = change.prepare_cached(sql)?;
        let rows = statement.query_map(params![top, bottom, stretch.requested.seq], |row| {
            row.get(0)
        })?;
        rows.collect::<Result<_, _>>()?
    };
    let missing: Vec<SortKey> = standing
        .into_iter()
        .filter(|place| !held.contains(place))
        .collect();
    let mut statement = change.prepare_cached(
        "UPDATE mail SET missing_since = ifnull(missing_since, ?2), listed = 0, response_seq = ?3 WHERE sort_key = ?1",
    )?;
    for place in &missing {
        statement.execute(params![
            place,
            stretch.requested.micros(),
            stretch.requested.seq
        ])?;
    }
    if missing.is_empty() {
        Ok(())
    } else {
        coverage::shrink_ranges(change)
    }
}

/// Marks what is older than `last`, the oldest email that the service lists.
pub(super) fn mark_missing_below(
    change: &Transaction,
    last: &EmailId,
    asked: RequestTime,
) -> Result<(), Error> {
    let sql = concat!(
        "UPDATE mail SET missing_since = ifnull(missing_since, ?2), listed = 0, response_seq = ?3 \
         WHERE listed AND sort_key > (SELECT sort_key FROM mail WHERE id = ?1 AND listed) AND ",
        latest_response_seq!(),
        " < ?3"
    );
    if change.execute(
        sql,
        params![
            id_codec::encode_id(last.as_str()),
            asked.micros(),
            asked.seq
        ],
    )? > 0
    {
        coverage::shrink_ranges(change)?;
    }
    Ok(())
}

/// Takes the mark from an email that the service has after all.
pub(super) fn mark_restored(
    change: &Transaction,
    entry: &IncomingEmail,
    asked: RequestTime,
) -> Result<(), Error> {
    if entry
        .existing
        .as_ref()
        .is_some_and(|known| !known.is_newer_than(asked))
    {
        change
            .prepare_cached("UPDATE mail SET missing_since = NULL WHERE sort_key = ?1 AND missing_since IS NOT NULL")?
            .execute([entry.sort_key])?;
    }
    Ok(())
}
