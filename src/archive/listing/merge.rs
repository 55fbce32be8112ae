//! Merges a page of the service's listing into the archive:
//! rows, coverage and status changes at once.
//!
//! One page is one transaction. The order matters: positions ([`super::position`]), then rows
//! ([`crate::archive::incoming`]), then coverage ([`super::coverage_update`]), then confirmations,
//! so that after a crash at any instant no range covers an absent email.

use std::collections::HashSet;

use super::coverage::{self, CoveredRange, ListingPage, PagePosition};
use super::coverage_update::{CoverageUpdate, PlacedPage};
use super::{RequestStamp, TOP, confirmations, deletions, position};
use crate::archive::codec::dictionary;
use crate::archive::incoming::{self, IncomingEmail, InsertSource};
use crate::archive::storage::db::{Transaction, params};
use crate::archive::{Archive, purge};
use crate::error::Result;
use crate::mail::EmailId;

/// The result of merging a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeResult {
    /// Emails that the archive did not have.
    pub(crate) new: Vec<EmailId>,
    /// How many emails were deleted because they were older than the retention.
    pub(crate) expired: u64,
    /// How many emails were left out because they were purged from the archive before.
    pub(crate) purged: u64,
    /// How many emails were left out because they are older than the retention.
    pub(crate) too_old: u64,
    /// Emails whose status changed.
    pub(crate) changed: Vec<EmailId>,
    /// Whether emails were marked as missing upstream, or restored.
    pub(crate) deletions_changed: bool,
    /// The covered range that contains the page;
    /// `None` if the page contradicts its request, so that it proves nothing.
    pub(crate) range: Option<CoveredRange>,
    /// Whether more of the listing is covered than before.
    pub(crate) extended: bool,
    /// Whether nothing in that range is older than the page.
    pub(crate) is_lowest: bool,
    /// Whether the page is an empty listing, or one of other mail,
    /// that is not believed yet, so that it changed nothing.
    pub(crate) is_doubted: bool,
}

/// After so many renumberings, which no page needs, a page is stored without its
/// order.
const MAX_RENUMBERINGS: usize = 100;

impl Archive {
    /// Merges a page into the archive, all of it or nothing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn merge_page(&self, page: &ListingPage) -> Result<MergeResult> {
        let mut ids = HashSet::new();
        let request = page.requested;
        let unique = page
            .items
            .iter()
            .filter(|item| ids.insert(item.id.as_str()));
        let mut emails: Vec<_> = unique
            .map(|item| IncomingEmail::new(item.clone(), request.as_of))
            .collect();
        self.write_answer(request, |tx| {
            let expired = purge::delete_expired(tx, request.as_of)?;
            let is_other =
                page.is_empty_listing() || deletions::shares_nothing(tx, page, &mut emails)?;
            if is_other && deletions::doubt_listing(tx, request)? {
                return Ok(MergeResult {
                    is_doubted: true,
                    expired,
                    ..MergeResult::default()
                });
            }
            // First of all, since it may reset which rows are listed.
            update_listing(tx, page, emails.len())?;
            let filtered = purge::filter_purged(tx, &mut emails, request.as_of)?;
            let placed = place_emails(tx, page, &mut emails)?;
            if placed.extended {
                self.connections.mark_changed();
            }
            let mut result = MergeResult {
                expired,
                purged: filtered.purged,
                too_old: filtered.too_old,
                range: placed.range,
                extended: placed.extended,
                is_lowest: placed
                    .range
                    .zip(emails.last())
                    .is_some_and(|(range, last)| last.sort_key == range.bottom),
                ..MergeResult::default()
            };
            store_rows(tx, page, &emails, &mut result)?;
            if page.is_empty_listing() {
                result.deletions_changed |= deletions::mark_missing_below(tx, TOP, request)?;
            }
            if placed.in_order {
                result.deletions_changed |= deletions::mark_missing_between(tx, page, &emails)?;
                confirm_page(tx, request, &emails)?;
                result.range = find_range(tx, page, &emails, placed.range)?;
            } else {
                for email in &emails {
                    confirmations::record_row(tx, email.sort_key, request)?;
                    if placed.range.is_some() {
                        confirmations::ensure_run(tx, email.sort_key)?;
                    }
                }
            }
            Ok(result)
        })
    }
}

/// Assigns the emails their keys:
/// by the order of the page or, if that proves nothing, by their times.
fn place_emails(
    tx: &Transaction,
    page: &ListingPage,
    emails: &mut [IncomingEmail],
) -> Result<PlacedPage> {
    for _ in 0..MAX_RENUMBERINGS {
        let Some(update) = CoverageUpdate::from_page(tx, page, emails)? else {
            break;
        };
        match update.apply(tx, emails)? {
            Ok(placed) => return Ok(placed),
            Err(exhausted) => position::renumber(tx, exhausted)?,
        }
        incoming::find_existing(tx, emails)?;
    }
    position::assign_time_keys(tx, emails, page.requested.as_of)?;
    Ok(PlacedPage::default())
}

/// Inserts new rows, updates the others, stores bodies that were missing,
/// and inserts the covered range.
fn store_rows(
    tx: &Transaction,
    page: &ListingPage,
    emails: &[IncomingEmail],
    result: &mut MergeResult,
) -> Result<()> {
    let source = if result.range.is_some() {
        InsertSource::Page(page.requested)
    } else {
        InsertSource::Response(page.requested)
    };
    result.new = incoming::insert_new(tx, emails, source)?;
    for email in emails.iter().filter(|email| email.existing.is_some()) {
        result.deletions_changed |= email.is_restored(page.requested);
        if email.update(tx, result.range.is_some(), page.requested)? {
            result.changed.push(email.id());
        }
        if let Some(json) = email.body_json() {
            dictionary::store_body_if_missing(tx, email.sort_key, json)?;
        }
    }
    if let Some(range) = &result.range {
        coverage::insert_range(tx, range)?;
    }
    Ok(())
}

fn confirm_page(tx: &Transaction, request: RequestStamp, emails: &[IncomingEmail]) -> Result<()> {
    let (Some(first), Some(last)) = (emails.first(), emails.last()) else {
        return Ok(());
    };
    let may_change = emails.iter().any(|email| email.may_change(request.as_of));
    let keys = (first.sort_key, last.sort_key);
    confirmations::record_run(tx, keys, request, may_change)
}

/// Finds the covered range of the page, which may have shrunk;
/// the newest page makes it reach the top.
fn find_range(
    tx: &Transaction,
    page: &ListingPage,
    emails: &[IncomingEmail],
    placed: Option<CoveredRange>,
) -> Result<Option<CoveredRange>> {
    let ranges = coverage::load_ranges(tx)?;
    let first = emails.first();
    let contains =
        |range: &&CoveredRange| first.is_some_and(|email| range.contains(email.sort_key));
    let mut found = ranges.iter().find(contains).copied().or(placed);
    // The emails above the newest page are missing upstream.
    if page.position == PagePosition::Top
        && let Some(newest) = &mut found
        && ranges.first() == Some(newest)
    {
        coverage::mark_reaches_top(tx, newest.top)?;
        newest.reaches_top = true;
    }
    Ok(found)
}

fn update_listing(tx: &Transaction, page: &ListingPage, page_len: usize) -> Result<()> {
    let query = "SELECT oldest_first, max_page_len, is_empty FROM listing";
    let before: (bool, i64, bool) =
        tx.one(query, [], |row| Ok((row.get()?, row.get()?, row.get()?)))?;
    let (oldest_first, max_page_len, is_empty) = before;
    let after = (
        page.oldest_first,
        max_page_len.max(i64::try_from(page_len).unwrap_or(i64::MAX)),
        page.is_empty_listing() || (page_len == 0 && is_empty),
    );
    if oldest_first != page.oldest_first {
        tx.execute_batch(
            "DELETE FROM covered_range; DELETE FROM confirmed_run; UPDATE mail SET listed = 0 WHERE listed = 1",
        )?;
    }
    if before != after {
        let query = "UPDATE listing SET oldest_first = ?1, max_page_len = ?2, is_empty = ?3";
        tx.execute(query, params![after.0, after.1, after.2])?;
    }
    if page.position == PagePosition::Top {
        coverage::record_head_request(tx, page.requested)?;
    }
    Ok(())
}
