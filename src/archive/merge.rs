//! Takes a page of the service's listing into the archive: rows, span and observed changes at once.

use std::collections::HashSet;

use rusqlite::Transaction;

use super::coverage::{self, CoveredRange};
use super::coverage_update::{CoverageUpdate, MergedRange};
use super::incoming::{self, EmailSource, IncomingEmail};
use super::{Archive, RequestTime, bodies, confirmations, deletions, purge, renumber};
use crate::api::ListedEmail;
use crate::error::Error;
use crate::mail::EmailId;

/// A page, and where in the listing it was asked for.
#[derive(Debug, Clone)]
pub struct ListingPage {
    /// Its items, newest first.
    pub items: Vec<ListedEmail>,
    /// What it continues.
    pub position: PagePosition,
    /// Whether the service lists the oldest first. If that is news, what was believed of the
    /// listing is forgotten.
    pub oldest_first: bool,
    /// When it was requested.
    pub requested: RequestTime,
}

/// What a page continues.
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
        /// Whether the service knows none of the span's emails that are older than it.
        is_end: bool,
    },
    /// It ends right above this email.
    Above(EmailId),
    /// Nobody knows.
    Unknown,
}

/// What a page has brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeResult {
    /// Emails that the archive did not have.
    pub(crate) new: Vec<EmailId>,
    /// Emails that stay out: they were removed from the archive before.
    pub(crate) purged: u64,
    /// Emails that stay out because they are older than the archive keeps.
    pub(crate) too_old: u64,
    /// Emails it had, whose status has changed.
    pub(crate) changed: Vec<EmailId>,
    /// The span that the page is part of now; `None` if it contradicts what it was asked for, so that
    /// nothing can be claimed from it.
    pub(crate) range: Option<CoveredRange>,
    /// Whether more of the listing is known whole than before.
    pub(crate) extended: bool,
    /// Whether nothing of that span is older than the page.
    pub(crate) is_lowest: bool,
}

/// A service that ignores limits may give everything at once: then each email is taken apart again when
/// its turn comes.
const MAX_PAGE_WITH_FIELDS: usize = 1000;

/// No page needs so many rounds of making room; after them a page is taken without its order.
const MAX_RENUMBERINGS: usize = 100;

impl Archive {
    /// Takes a page into the archive, all of it or nothing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn merge_page(&self, stretch: &ListingPage) -> Result<MergeResult, Error> {
        let mut seen = HashSet::new();
        let once = stretch
            .items
            .iter()
            .filter(|item| seen.insert(item.id.as_str()));
        let is_page = stretch.items.len() <= MAX_PAGE_WITH_FIELDS;
        let asked = stretch.requested;
        let mut entries = once
            .map(|item| IncomingEmail::parse(&item.json, asked.at, is_page))
            .collect::<Result<Vec<_>, _>>()?;
        self.connections.write(|change| {
            let listed = entries.len();
            purge::delete_expired(change, self.retention, asked.at)?;
            // First of all, since it may say of rows that no page has held them.
            update_listing(change, stretch, listed)?;
            let out = purge::filter_purged(change, &mut entries, self.retention, asked.at)?;
            let PlacedPage {
                range: span,
                extended: grew,
                in_order,
            } = place_emails(change, stretch, &mut entries)?;
            let is_lowest = span.is_some_and(|span| {
                entries
                    .last()
                    .is_some_and(|entry| entry.sort_key == span.bottom)
            });
            let (removed, too_old) = (out.purged, out.too_old);
            let is_listed = span.is_some();
            if grew {
                self.connections.mark_changed();
            }
            let new = incoming::insert_new(
                change,
                &entries,
                if is_listed {
                    EmailSource::Page(asked)
                } else {
                    EmailSource::Response(asked)
                },
            )?;
            let mut carried = MergeResult {
                new,
                purged: removed,
                too_old,
                range: span,
                extended: grew,
                is_lowest,
                ..MergeResult::default()
            };
            for entry in entries.iter().filter(|entry| entry.existing.is_some()) {
                if entry.update(change, is_listed, asked)? {
                    carried.changed.push(entry.id());
                }
                if let Some(json) = entry.body_json() {
                    bodies::put_body_if_missing(change, entry.sort_key, json)?;
                }
            }
            if let Some(span) = &span {
                coverage::insert_range(change, span)?;
            }
            if in_order {
                deletions::mark_missing_between(change, stretch, &entries)?;
                if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
                    let open = entries.iter().any(|entry| entry.may_change(asked.at));
                    confirmations::record_run(
                        change,
                        (first.sort_key, last.sort_key),
                        asked,
                        open,
                    )?;
                }
                let holds = |span: &CoveredRange| {
                    entries
                        .first()
                        .is_some_and(|entry| span.contains(entry.sort_key))
                };
                let spans = coverage::load_ranges(change)?;
                carried.range = spans.iter().copied().find(holds).or(span);
                // What was above the newest page is gone.
                if let Some(newest) = carried.range.as_mut().filter(|newest| {
                    stretch.position == PagePosition::Top && spans.first() == Some(*newest)
                }) {
                    coverage::mark_reaches_top(change, newest.top)?;
                    newest.reaches_top = true;
                }
            } else {
                for entry in &entries {
                    confirmations::record_row(change, entry.sort_key, asked)?;
                    if is_listed {
                        confirmations::ensure_run(change, entry.sort_key)?;
                    }
                }
            }
            Ok(carried)
        })
    }
}

/// What a page says about the listing, now that its emails have their places.
#[derive(Default)]
struct PlacedPage {
    range: Option<CoveredRange>,
    /// Whether more is known whole than before.
    extended: bool,
    /// Whether the page agrees with what was known of the order.
    in_order: bool,
}

/// Gives the emails their places: by what the page says or, if it says nothing, by their times.
fn place_emails(
    change: &Transaction,
    stretch: &ListingPage,
    entries: &mut [IncomingEmail],
) -> Result<PlacedPage, Error> {
    for _ in 0..MAX_RENUMBERINGS {
        let Some(claim) = CoverageUpdate::from_page(change, stretch, entries)? else {
            break;
        };
        match claim.apply(change, entries)? {
            Ok(MergedRange {
                range: span,
                in_order,
            }) => {
                return Ok(PlacedPage {
                    range: Some(span),
                    extended: claim.extends(entries),
                    in_order,
                });
            }
            Err(no_room) => renumber::renumber(change, no_room)?,
        }
        for entry in &mut *entries {
            entry.find_existing(change)?;
        }
    }
    renumber::assign_time_keys(change, entries, stretch.requested.at)?;
    Ok(PlacedPage::default())
}

/// Notes that the newest page was answered.
pub(super) fn record_head_request(change: &Transaction, asked: RequestTime) -> Result<(), Error> {
    change
        .prepare_cached("UPDATE listing SET head_requested_at = ?1")?
        .execute([asked.micros()])?;
    Ok(())
}

fn update_listing(change: &Transaction, stretch: &ListingPage, width: usize) -> Result<(), Error> {
    let sql = "SELECT oldest_first, max_page_len, is_empty FROM listing";
    let before: (bool, i64, bool) = change
        .prepare_cached(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let width = i64::try_from(width).unwrap_or(i64::MAX);
    let is_whole = matches!(stretch.position, PagePosition::Top | PagePosition::Bottom);
    let after = (
        stretch.oldest_first,
        before.1.max(width),
        width == 0 && (is_whole || before.2),
    );
    if before.0 != after.0 {
        change.execute_batch(
            "DELETE FROM covered_range; DELETE FROM confirmed_run; UPDATE mail SET listed = 0 WHERE listed",
        )?;
    }
    if before != after {
        change.execute(
            "UPDATE listing SET oldest_first = ?1, max_page_len = ?2, is_empty = ?3",
            after,
        )?;
    }
    if stretch.position == PagePosition::Top {
        record_head_request(change, stretch.requested)?;
    }
    Ok(())
}
