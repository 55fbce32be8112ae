//! Confirms statuses: reads due pages again in the background, and rows that a user looks at.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::journey::{Brought, is_about_the_cursor};
use super::recheck::{Recheck, due_runs, lateness};
use super::{Engine, Stopped, Synced, held};
use crate::api::{Cursor, MAX_LIMIT, Service};
use crate::archive::{Archive, Candidates, Joins, Place, Row, Stretch};
use crate::failure::{Failure, Kind};
use crate::mail::{EmailId, Finality};
use crate::query::Query;

/// Cursors that are tried for a page, from the row right above it up; then the newest page is read.
const CURSORS: u32 = 3;

/// A page that could not be read is left alone for so long, and the next one is read.
const LEFT_ALONE: SignedDuration = SignedDuration::from_mins(10);

/// Candidates of a query that are looked at together.
const CANDIDATES: usize = 200;

/// Pages that could not be confirmed lately, by their first row, and when that was tried.
pub(super) type Unconfirmable = HashMap<Place, Timestamp>;

/// What confirming statuses has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// New and changed emails, as in any other run of sync.
    pub synced: Synced,
    /// How many requests it took.
    pub requests: u32,
    /// How many of the rows were confirmed.
    pub rows: u32,
    /// How far down the candidates are confirmed; `None` if none was.
    pub down_to: Option<Place>,
    /// Whether no row is left to confirm.
    pub is_done: bool,
}

/// One request that confirms rows.
#[derive(Debug, PartialEq, Eq)]
enum Reading {
    /// The page that begins at this row, with so many of the wanted rows on it.
    Page(Place, usize),
    /// One email.
    Email(EmailId),
}

impl<S: Service> Engine<S> {
    /// Reads the most overdue page or email again, and marks what the service does not have any more. `None`, and
    /// no request, if nothing is due.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn recheck(&self, recheck: Recheck) -> Result<Option<Synced>, Failure> {
        let now = (self.clock)();
        let unconfirmable = self.unconfirmable.clone();
        let next = self.blocking(move |archive| {
            let mut left_alone = held(&unconfirmable);
            left_alone.retain(|_, tried| now.duration_since(*tried).abs() < LEFT_ALONE);
            next_due(&archive, recheck, now, &left_alone)
        });
        let Some(reading) = next.await? else {
            return Ok(None);
        };
        let mut brought = Brought::default();
        match reading {
            Reading::Page(start, _) => {
                if !self.read_page(start, &mut brought).await? {
                    held(&self.unconfirmable).insert(start, now);
                }
            }
            Reading::Email(id) => self.read_email(&id, &mut brought).await?,
        }
        self.blocking(move |archive| brought.synced(&archive, Stopped::Done).map(Some))
            .await
    }

    /// The same for the background: what may still change is read when it is due, by the process that asks
    /// for new mail. Returns how many rows are due then, beside what was read.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn recheck_background(&self) -> Result<(Option<Synced>, u64), Failure> {
        let now = (self.clock)();
        if !self
            .blocking(move |archive| Ok(archive.lease().hold(now)))
            .await?
        {
            return Ok((None, 0));
        }
        let recheck = Recheck::background(now);
        let synced = self.recheck(recheck).await?;
        Ok((synced, self.count_due(recheck).await?))
    }

    /// How many rows are due.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn count_due(&self, recheck: Recheck) -> Result<u64, Failure> {
        let now = (self.clock)();
        self.blocking(move |archive| {
            let due = due_runs(&archive.confirmed_runs()?, recheck, now);
            let counts = due.iter().map(|due| {
                archive
                    .count_listed(due.run.top, due.run.bottom, u32::MAX)
                    .map(u64::from)
            });
            counts.sum()
        })
        .await
    }

    /// Confirms these emails with at most `most` requests, by page or by id, whichever takes fewer.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn confirm(&self, ids: Vec<EmailId>, most: u32) -> Result<Confirmed, Failure> {
        let rows = self.blocking(move |archive| {
            let mut rows = ids
                .iter()
                .filter_map(|id| archive.row(id).transpose())
                .collect::<Result<Vec<Row>, _>>()?;
            rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.place));
            Ok(rows)
        });
        let rows = rows.await?;
        self.confirm_rows(
            Candidates {
                rows,
                passed: None,
                is_end: true,
            },
            most,
        )
        .await
    }

    /// Confirms emails that `query` finds, newest first from below `below` on, with at most `most`
    /// requests. Emails that are final, or confirmed at `fresh_since` or later, need none. At most
    /// `most_rows` are confirmed.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn confirm_candidates(
        &self,
        query: Query,
        below: Option<Place>,
        fresh_since: Timestamp,
        most: u32,
        most_rows: u32,
    ) -> Result<Confirmed, Failure> {
        let now = (self.clock)();
        let most_rows = usize::try_from(most_rows).unwrap_or(usize::MAX);
        let found = self.blocking(move |archive| {
            archive.candidates(&query, below, CANDIDATES.min(most_rows), |row| {
                needs_confirming(row, fresh_since, now)
            })
        });
        let candidates = found.await?;
        self.confirm_rows(candidates, most).await
    }

    async fn confirm_rows(&self, candidates: Candidates, most: u32) -> Result<Confirmed, Failure> {
        let Candidates {
            rows,
            passed,
            is_end,
        } = candidates;
        let (mut brought, mut requests, mut done) = (Brought::default(), 0, 0);
        while done < rows.len() && requests < most {
            let pending = rows[done..].to_vec();
            let reading = self
                .blocking(move |archive| next_reading(&archive, &pending))
                .await?;
            match reading {
                Reading::Page(start, rows) => {
                    self.read_page(start, &mut brought).await?;
                    done += rows;
                }
                Reading::Email(id) => {
                    self.read_email(&id, &mut brought).await?;
                    done += 1;
                }
            }
            requests += 1;
        }
        let is_all = done == rows.len();
        let down_to = if is_all {
            passed
        } else {
            done.checked_sub(1).map(|last| rows[last].place)
        };
        let rows = u32::try_from(done).unwrap_or(u32::MAX);
        let synced = self
            .blocking(move |archive| brought.synced(&archive, Stopped::Done))
            .await?;
        Ok(Confirmed {
            synced,
            requests,
            rows,
            down_to,
            is_done: is_end && is_all,
        })
    }

    /// Reads the page that begins at the row `start`. Says whether its statuses could be confirmed: not
    /// if the service knows none of the rows above it.
    async fn read_page(&self, start: Place, brought: &mut Brought) -> Result<bool, Failure> {
        let cursors = self
            .blocking(move |archive| archive.cursors_above(start, CURSORS))
            .await?;
        let is_near_top = u32::try_from(cursors.len()).unwrap_or(CURSORS) < CURSORS;
        for id in cursors {
            let (asked, answer) = self.list(&Cursor::After(id.clone())).await;
            let page = match answer {
                Ok(page) if page.items.is_empty() && page.unreadable == 0 => continue,
                Ok(page) => page,
                Err(failure) if is_about_the_cursor(&failure) => {
                    self.blocking(move |archive| archive.mark_gone(&id, asked))
                        .await?;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let unreadable = page.unreadable;
            let carried = self.blocking(move |archive| {
                let is_last = page.has_more == Some(false)
                    && page.unreadable == 0
                    && page.items.len() < archive.ground()?.widest;
                let last = page
                    .items
                    .last()
                    .map(|item| EmailId::new(&item.id))
                    .filter(|_| is_last);
                let joins = if page.unreadable > 0 {
                    Joins::Nothing
                } else {
                    Joins::Below {
                        cursor: id,
                        cut: false,
                    }
                };
                let carried = archive.carry(&Stretch {
                    items: page.items,
                    joins,
                    rising: false,
                    asked,
                })?;
                if let (Some(span), Some(last)) = (carried.span, last) {
                    archive.conclude_end(span.bottom, Some(&last), asked)?;
                }
                Ok(carried)
            });
            let carried = carried.await?;
            brought.add(&carried, unreadable);
            return Ok(carried.span.is_some());
        }
        // The listing begins here, or the service knows none of these cursors.
        let synced = self.walk(super::exchange::Goal::Head, |_| ()).await?;
        brought.add_synced(&synced);
        Ok(is_near_top)
    }

    /// Retrieves one email. That it does not exist is an answer, too.
    async fn read_email(&self, id: &EmailId, brought: &mut Brought) -> Result<(), Failure> {
        let before = self.status_of(id).await?;
        match self.fetch(id).await {
            Ok((_, kept)) => kept?,
            Err(failure) if failure.kind == Kind::NotFound => {}
            Err(failure) => return Err(failure),
        }
        if self.status_of(id).await? != before {
            brought.follow(0, vec![id.clone()]);
        }
        Ok(())
    }

    async fn status_of(&self, id: &EmailId) -> Result<Option<crate::mail::Status>, Failure> {
        let id = id.clone();
        self.blocking(move |archive| Ok(archive.row(&id)?.map(|row| row.summary.status)))
            .await
    }
}

/// Whether a row is neither final nor confirmed since then.
fn needs_confirming(row: &Row, fresh_since: Timestamp, now: Timestamp) -> bool {
    let is_fresh = row
        .confirmed
        .is_some_and(|at| (fresh_since..=now).contains(&at));
    !is_fresh && row.finality(now) != Finality::Final
}

/// Unlisted emails that are looked at for the most overdue one.
const MOST_UNLISTED: u32 = 500;

/// The page or email that is to be read next.
fn next_due(
    archive: &Archive,
    recheck: Recheck,
    now: Timestamp,
    left_alone: &Unconfirmable,
) -> Result<Option<Reading>, Failure> {
    // A service that lists the oldest first gives newer emails after a cursor: no page begins at a row.
    if !archive.ground()?.rising
        && let Some(start) = next_page(archive, recheck, now, left_alone)?
    {
        return Ok(Some(Reading::Page(start, 0)));
    }
    let unlisted = archive.unlisted(MOST_UNLISTED)?;
    let due = unlisted.into_iter().find(|(_, run)| {
        !due_runs(&[*run], recheck, now).is_empty() && !left_alone.contains_key(&run.top)
    });
    Ok(due.map(|(id, _)| Reading::Email(id)))
}

fn next_page(
    archive: &Archive,
    recheck: Recheck,
    now: Timestamp,
    left_alone: &Unconfirmable,
) -> Result<Option<Place>, Failure> {
    if let Some(doubt) = archive
        .first_doubt()?
        .filter(|doubt| !left_alone.contains_key(doubt))
    {
        return Ok(Some(doubt));
    }
    for due in due_runs(&archive.confirmed_runs()?, recheck, now) {
        let row = match recheck {
            Recheck::Due { .. } => archive.first_open_row(due.run.top, due.run.bottom, now)?,
            Recheck::All { .. } => archive.first_listed(due.run.top, due.run.bottom)?,
        };
        let is_due = |row: &Place| {
            !matches!(recheck, Recheck::Due { .. }) || lateness(&due.run, *row, now) >= 1.0
        };
        if let Some(row) = row.filter(is_due) {
            let start = archive.listed_above(row, due.ceiling, u32::from(MAX_LIMIT) - 1)?;
            if !left_alone.contains_key(&start) {
                return Ok(Some(start));
            }
        }
    }
    Ok(None)
}

/// The request that confirms the first of these rows, and as many of those below it as it can.
fn next_reading(archive: &Archive, rows: &[Row]) -> Result<Reading, Failure> {
    let first = &rows[0];
    let email = || Ok(Reading::Email(first.summary.id.clone()));
    if archive.ground()?.rising || !archive.is_listed(first.place)? {
        return email();
    }
    let limit = u32::from(MAX_LIMIT);
    let mut on_page = 1;
    for row in &rows[1..] {
        if archive.count_listed(first.place, row.place, limit + 1)? > limit
            || !archive.is_listed(row.place)?
        {
            break;
        }
        on_page += 1;
    }
    if on_page > 1 {
        Ok(Reading::Page(first.place, on_page))
    } else {
        email()
    }
}
