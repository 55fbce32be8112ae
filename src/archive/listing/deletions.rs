//! Marks mail that the service no longer lists.
//! It stays in the archive, and the list shows the mark.
//!
//! An email is marked only on evidence: the service answers a retrieve with *no such email*, or a
//! page contains its neighbours on both sides (or the end of the listing on one) and not the email.
//! A page that contradicts the known order proves nothing. An email that is listed again loses its
//! mark.
//!
//! A retrieve alone contradicts the page that contained the email, so that deletion is
//! *unconfirmed*: the email counts as listed until a page that should contain it has been fetched
//! again.
//!
//! An empty first page has both ends of the listing, so it would mark all mail. Alone it
//! contradicts all earlier pages: the deletion of the newest email is unconfirmed then, and a later
//! empty page marks all. So it is with a first page that has none of the emails that were listed
//! for its time.
//!
//! In SQL a newer email has the *smaller* sort key, because the tables store keys negated
//! ([`super::SortKey`]): "above" is `<` there and `>` in Rust.

use std::collections::HashSet;

use jiff::SignedDuration;

use super::confirmations::{confirmed_at, latest_response_seq};
use super::coverage::{self, CoveredRange, ListingPage, PagePosition};
use super::{BOTTOM, RequestStamp, SortKey, TOP};
use crate::archive::Archive;
use crate::archive::incoming::{self, IncomingEmail};
use crate::archive::storage::db::{Transaction, params};
use crate::error::Result;
use crate::mail::EmailId;

pub(crate) const UNCONFIRMED: &str = "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND missing_since IS NOT NULL AND listed = 1 ORDER BY sort_key LIMIT 1";
const MARK_MISSING: &str = concat!(
    "UPDATE mail SET missing_since = ?2, response_seq = ?3 WHERE id = ?1 AND missing_since IS NULL AND ",
    latest_response_seq!(),
    " <= ?3"
);
/// Marks listed rows as missing;
/// they keep the time at which their run was confirmed.
macro_rules! set_missing {
    () => {
        concat!(
            "UPDATE mail SET missing_since = coalesce(missing_since, ?2), listed = 0, response_seq = ?3, confirmed_at = ",
            confirmed_at!()
        )
    };
}
const NEWEST_LISTED: &str =
    "SELECT id, missing_since FROM mail WHERE listed = 1 ORDER BY sort_key LIMIT 1";
const LISTED_ID_ABOVE: &str = "SELECT id FROM mail WHERE sort_key < ?1 AND sort_key >= ?2 AND listed = 1 AND missing_since IS NULL ORDER BY sort_key DESC LIMIT 1";

/// Shortest time between two such first pages of which the second one is believed:
/// less than between two refreshes, more than a repeated request takes.
const EMPTY_CONFIRMED_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// How old an email is at most that may be absent from a response:
/// the service has several copies of its data, and one may lag.
const MAX_LAG: SignedDuration = SignedDuration::from_secs(30);

/// Whether the service may not have known the email everywhere when it responded.
fn may_lag(key: SortKey, request: RequestStamp) -> bool {
    let requested = request.service_time().as_microsecond();
    i128::from(requested.abs_diff(key.micros())) < MAX_LAG.as_micros()
}

impl Archive {
    /// Records that the service answered a retrieve with *no such email*.
    ///
    /// A response to a later request that contained it wins. Of an email that is seconds old it
    /// proves nothing. A read-only archive records nothing.
    pub(crate) fn mark_missing(&self, email: &EmailId, request: RequestStamp) -> Result<()> {
        if self.read_only_reason().is_some() {
            return Ok(());
        }
        let params = params![email, request.micros(), request.seq];
        self.write(|tx| {
            let query = "SELECT sort_key FROM mail WHERE id = ?1";
            match tx.optional_value(query, [email])? {
                Some(key) if !may_lag(key, request) => tx.execute(MARK_MISSING, params),
                _ => Ok(()),
            }
        })
    }

    /// Counts the emails that responses to requests after `request` have confirmed to
    /// be missing.
    pub(crate) fn count_missing_after(&self, request: i64) -> Result<u64> {
        let query = "SELECT count(*) FROM mail WHERE missing_since IS NOT NULL AND listed = 0 AND response_seq > ?1";
        let count: i64 = self.read(|conn| conn.value(query, [request]))?;
        Ok(count.unsigned_abs())
    }

    /// Finds the newest unconfirmed deletion in `range` that is not older than `since`
    /// (microseconds since 1970), and the listed email above it.
    ///
    /// Returns `None` if no listed email is above it.
    pub(crate) fn unconfirmed_deletion(
        &self,
        range: &CoveredRange,
        since: i64,
    ) -> Result<Option<(SortKey, EmailId)>> {
        self.read(|conn| {
            let bottom = range.bottom.max(SortKey::oldest_at(since));
            let Some(key) = conn.optional_value(UNCONFIRMED, [range.top, bottom])? else {
                return Ok(None);
            };
            conn.optional(LISTED_ID_ABOVE, [key, range.top], |row| {
                Ok((key, row.get()?))
            })
        })
    }

    pub(crate) fn first_unconfirmed_deletion(&self) -> Result<Option<SortKey>> {
        self.read(|conn| conn.optional_value(UNCONFIRMED, [TOP, BOTTOM]))
    }

    /// Records that the service has nothing below `bottom`,
    /// and that `oldest` is the oldest email that it lists, if that is known.
    ///
    /// Covered ranges further down are deleted: the service no longer lists their emails, nor those
    /// of this range below `oldest`. Does nothing if no range ends at `bottom`. Returns whether emails
    /// were marked as missing.
    pub(crate) fn record_end(
        &self,
        bottom: SortKey,
        oldest: Option<&EmailId>,
        request: RequestStamp,
    ) -> Result<bool> {
        self.write(|tx| {
            let query = "UPDATE covered_range SET reaches_end = 1 WHERE bottom = ?1";
            if tx.execute_counted(query, [bottom])? > 0 {
                self.connections.mark_changed();
                tx.execute("DELETE FROM covered_range WHERE top > ?1", [bottom])?;
                if let Some(oldest) = oldest
                    && let Some(key) = coverage::find_listed(tx, oldest)?
                {
                    return mark_missing_below(tx, key, request);
                }
            }
            Ok(false)
        })
    }
}

/// Whether a page has none of the emails that were listed for its time:
/// the service may answer for another account.
///
/// More new mail than fits on a page is newer than all that was listed.
pub(crate) fn shares_nothing(
    tx: &Transaction,
    page: &ListingPage,
    emails: &mut [IncomingEmail],
) -> Result<bool> {
    if page.position != PagePosition::Top {
        return Ok(false);
    }
    incoming::find_existing(tx, emails)?;
    if emails.iter().any(|email| email.existing.is_some()) {
        return Ok(false);
    }
    // A single time may be wrong.
    let mut times: Vec<SortKey> = emails.iter().filter_map(|email| email.time_key).collect();
    times.sort_unstable();
    let Some(middle) = times.get(times.len() / 2) else {
        return Ok(false);
    };
    if coverage::newest_listed(tx, TOP, *middle)?.is_none() {
        return Ok(false);
    }
    // A service may spell the ids of the same mail in another case.
    for micros in times.iter().map(|key| key.micros()) {
        let keys = (SortKey::newest_at(micros), SortKey::oldest_at(micros));
        if coverage::newest_listed(tx, keys.0, keys.1)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an empty listing, or one of other mail, contradicts earlier pages,
/// and no earlier response agrees with it.
///
/// The deletion of the newest listed email is unconfirmed from the first such response on; an empty
/// page confirms it some time later.
pub(crate) fn doubt_listing(tx: &Transaction, request: RequestStamp) -> Result<bool> {
    let newest = tx.optional(NEWEST_LISTED, [], |row| Ok((row.get()?, row.get()?)))?;
    let Some((id, missing_since)): Option<(EmailId, Option<i64>)> = newest else {
        return Ok(false);
    };
    let Some(since) = missing_since else {
        let params = params![id, request.micros(), request.seq];
        tx.execute(MARK_MISSING, params)?;
        return Ok(true);
    };
    Ok(i128::from(request.micros().abs_diff(since)) < EMPTY_CONFIRMED_AFTER.as_micros())
}

/// Marks listed rows that lie between the emails of a page and are not among them;
/// returns whether there are any.
pub(crate) fn mark_missing_between(
    tx: &Transaction,
    page: &ListingPage,
    emails: &[IncomingEmail],
) -> Result<bool> {
    let mut contained: HashSet<SortKey> = emails.iter().map(|email| email.sort_key).collect();
    if contained.is_empty() {
        return Ok(false);
    }
    match &page.position {
        PagePosition::Top => _ = contained.insert(TOP),
        PagePosition::Bottom => _ = contained.insert(BOTTOM),
        PagePosition::Below { cursor, .. } | PagePosition::Above(cursor) => {
            contained.extend(coverage::find_listed(tx, cursor)?);
        }
        PagePosition::Unknown => return Ok(false),
    }
    // A row that the response to a later request contained is newer than this page.
    let query = concat!(
        "SELECT sort_key FROM mail WHERE sort_key BETWEEN ?1 AND ?2 AND listed = 1 AND ",
        latest_response_seq!(),
        " < ?3"
    );
    let request = page.requested;
    let params = params![contained.iter().max(), contained.iter().min(), request.seq];
    let mut missing: Vec<SortKey> = tx.values(query, params)?;
    missing.retain(|key| !contained.contains(key) && !may_lag(*key, request));
    let query = concat!(set_missing!(), " WHERE sort_key = ?1");
    for key in &missing {
        tx.execute(query, params![key, request.micros(), request.seq])?;
    }
    if !missing.is_empty() {
        coverage::shrink_ranges(tx, BOTTOM)?;
    }
    Ok(!missing.is_empty())
}

/// Marks the listed rows below `key`, of which a response has shown that the
/// service lists none; returns whether there are any.
pub(crate) fn mark_missing_below(
    tx: &Transaction,
    key: SortKey,
    request: RequestStamp,
) -> Result<bool> {
    let query = concat!(
        set_missing!(),
        " WHERE listed = 1 AND sort_key > ?1 AND ",
        latest_response_seq!(),
        " < ?3"
    );
    let params = params![key, request.micros(), request.seq];
    let is_any = tx.execute_counted(query, params)? > 0;
    if is_any {
        coverage::shrink_ranges(tx, BOTTOM)?;
    }
    Ok(is_any)
}

/// Removes the mark from an email that the service has after all.
pub(crate) fn mark_restored(
    tx: &Transaction,
    email: &IncomingEmail,
    request: RequestStamp,
) -> Result<()> {
    let existing = email.existing.as_ref();
    if existing.is_some_and(|existing| !existing.is_newer_than(request)) {
        let query = "UPDATE mail SET missing_since = NULL WHERE sort_key = ?1 AND missing_since IS NOT NULL";
        tx.execute(query, [email.sort_key])?;
    }
    Ok(())
}
