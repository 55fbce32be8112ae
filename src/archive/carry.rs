//! Takes a page of the service's listing into the archive: rows, span and observed changes at once.

use std::collections::HashSet;

use rusqlite::Transaction;

use super::claim::{Claim, Whole};
use super::entry::{self, Entry, Source};
use super::span::{self, Span};
use super::{Archive, RequestTime, confirmed, gone, keep, removal, room};
use crate::api::Item;
use crate::failure::Failure;
use crate::mail::EmailId;

/// A page, and where in the listing it was asked for.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Its items, newest first.
    pub items: Vec<Item>,
    /// What it continues.
    pub joins: Joins,
    /// Whether the service lists the oldest first. If that is news, what was believed of the
    /// listing is forgotten.
    pub rising: bool,
    /// When it was requested.
    pub asked: RequestTime,
}

/// What a page continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joins {
    /// It begins at the newest email.
    Top,
    /// It ends at the oldest email.
    Bottom,
    /// It begins right below this email.
    Below {
        /// The email.
        cursor: EmailId,
        /// Whether the service knows none of the span's emails that are older than it.
        cut: bool,
    },
    /// It ends right above this email.
    Above(EmailId),
    /// Nobody knows.
    Nothing,
}

/// What a page has brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Carried {
    /// Emails that the archive did not have.
    pub new: Vec<EmailId>,
    /// Emails that stay out: they were removed from the archive before.
    pub removed: u64,
    /// Emails that stay out because they are older than the archive keeps.
    pub too_old: u64,
    /// Emails it had, whose status has changed.
    pub changed: Vec<EmailId>,
    /// The span that the page is part of now; `None` if it contradicts what it was asked for, so that
    /// nothing can be claimed from it.
    pub span: Option<Span>,
    /// Whether more of the listing is known whole than before.
    pub grew: bool,
    /// Whether nothing of that span is older than the page.
    pub is_lowest: bool,
}

/// A service that ignores limits may give everything at once: then each email is taken apart again when
/// its turn comes.
const LONGEST_PAGE: usize = 1000;

/// No page needs so many rounds of making room; after them a page is taken without its order.
const ROUNDS: usize = 100;

impl Archive {
    /// Takes a page into the archive, all of it or nothing.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn carry(&self, stretch: &Stretch) -> Result<Carried, Failure> {
        let mut seen = HashSet::new();
        let once = stretch
            .items
            .iter()
            .filter(|item| seen.insert(item.id.as_str()));
        let is_page = stretch.items.len() <= LONGEST_PAGE;
        let asked = stretch.asked;
        let mut entries = once
            .map(|item| Entry::take(&item.json, asked.at, is_page))
            .collect::<Result<Vec<_>, _>>()?;
        self.connections.write(|change| {
            let listed = entries.len();
            removal::expire(change, self.keep, asked.at)?;
            // First of all, since it may say of rows that no page has held them.
            note_listing(change, stretch, listed)?;
            let out = removal::leave_out(change, &mut entries, self.keep, asked.at)?;
            let Settled {
                span,
                grew,
                in_order,
            } = settle(change, stretch, &mut entries)?;
            let is_lowest = span.is_some_and(|span| {
                entries
                    .last()
                    .is_some_and(|entry| entry.place == span.bottom)
            });
            let (removed, too_old) = (out.removed, out.too_old);
            let is_listed = span.is_some();
            if grew {
                self.connections.mark_changed();
            }
            let new = entry::insert(
                change,
                &entries,
                if is_listed {
                    Source::Page(asked)
                } else {
                    Source::Answer(asked)
                },
            )?;
            let mut carried = Carried {
                new,
                removed,
                too_old,
                span,
                grew,
                is_lowest,
                ..Carried::default()
            };
            for entry in entries.iter().filter(|entry| entry.known.is_some()) {
                if entry.refresh(change, is_listed, asked)? {
                    carried.changed.push(entry.id());
                }
                if let Some(json) = entry.whole() {
                    keep::body_if_none(change, entry.place, json)?;
                }
            }
            if let Some(span) = &span {
                span::put(change, span)?;
            }
            if in_order {
                gone::between(change, stretch, &entries)?;
                if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
                    let open = entries.iter().any(|entry| entry.is_open(asked.at));
                    confirmed::put(change, (first.place, last.place), asked, open)?;
                }
                let holds =
                    |span: &Span| entries.first().is_some_and(|entry| span.holds(entry.place));
                let spans = span::load(change)?;
                carried.span = spans.iter().copied().find(holds).or(span);
                // What was above the newest page is gone.
                if let Some(newest) = carried
                    .span
                    .as_mut()
                    .filter(|newest| stretch.joins == Joins::Top && spans.first() == Some(*newest))
                {
                    span::reach_top(change, newest.top)?;
                    newest.reaches_top = true;
                }
            } else {
                for entry in &entries {
                    confirmed::put_row(change, entry.place, asked)?;
                    if is_listed {
                        confirmed::cover(change, entry.place)?;
                    }
                }
            }
            Ok(carried)
        })
    }
}

/// What a page says about the listing, now that its emails have their places.
#[derive(Default)]
struct Settled {
    span: Option<Span>,
    /// Whether more is known whole than before.
    grew: bool,
    /// Whether the page agrees with what was known of the order.
    in_order: bool,
}

/// Gives the emails their places: by what the page says or, if it says nothing, by their times.
fn settle(
    change: &Transaction,
    stretch: &Stretch,
    entries: &mut [Entry],
) -> Result<Settled, Failure> {
    for _ in 0..ROUNDS {
        let Some(claim) = Claim::of(change, stretch, entries)? else {
            break;
        };
        match claim.settle(change, entries)? {
            Ok(Whole { span, in_order }) => {
                return Ok(Settled {
                    span: Some(span),
                    grew: claim.grows(entries),
                    in_order,
                });
            }
            Err(no_room) => room::make(change, no_room)?,
        }
        for entry in &mut *entries {
            entry.look_up(change)?;
        }
    }
    room::by_time(change, entries, stretch.asked.at)?;
    Ok(Settled::default())
}

/// Notes that the newest page was answered.
pub(super) fn note_head(change: &Transaction, asked: RequestTime) -> Result<(), Failure> {
    change
        .prepare_cached("UPDATE listing SET head_at = ?1")?
        .execute([asked.micros()])?;
    Ok(())
}

fn note_listing(change: &Transaction, stretch: &Stretch, width: usize) -> Result<(), Failure> {
    let sql = "SELECT rising, widest, empty FROM listing";
    let before: (bool, i64, bool) = change
        .prepare_cached(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let width = i64::try_from(width).unwrap_or(i64::MAX);
    let is_whole = matches!(stretch.joins, Joins::Top | Joins::Bottom);
    let after = (
        stretch.rising,
        before.1.max(width),
        width == 0 && (is_whole || before.2),
    );
    if before.0 != after.0 {
        change.execute_batch(
            "DELETE FROM span; DELETE FROM confirmed; UPDATE mail SET listed = 0 WHERE listed",
        )?;
    }
    if before != after {
        change.execute(
            "UPDATE listing SET rising = ?1, widest = ?2, empty = ?3",
            after,
        )?;
    }
    if stretch.joins == Joins::Top {
        note_head(change, stretch.asked)?;
    }
    Ok(())
}
