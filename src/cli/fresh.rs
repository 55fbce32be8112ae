//! `search --fresh`: asks the service for the statuses of what a query may find, before that is printed.

use std::sync::Arc;

use jiff::Timestamp;

use super::args::Search;
use super::freshness::{is_fresh, may_change};
use super::output::{Output, Stop};
use super::sync::failed;
use super::words::{emails, grouped, moment};
use crate::api::{Access, Client, MAX_LIMIT, Patience, Service};
use crate::archive::{Anchor, Archive, Halt, Place, Row};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::failure::Failure;
use crate::query::Query;
use crate::sync::{Back, Engine, Stopped};

/// Requests between two looks at how far it is.
const STEP: u32 = 5;
/// More requests than this are announced before they are made.
const FEW: u32 = 5;
/// It is not estimated beyond this number of requests.
const MOST_ESTIMATED: u32 = 1000;
/// Where so many emails are printed at most, only these are confirmed if the query finds them in any case.
const FEW_PRINTED: u64 = 1000;

/// How far the statuses were confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    /// All that was needed.
    Wholly,
    /// Not all of them; that was reported.
    Partly,
}

/// Asks for what is new, and then for the statuses of all emails that the query may find and that are
/// not final.
///
/// # Errors
///
/// If the service or the archive fails, or a signal ends it.
pub(super) async fn confirm(
    search: &Search,
    query: &Query,
    archive: &Archive,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<Checked, Stop> {
    let client = super::patient(
        Client::new(Access::from(settings), Patience::ONE_SHOT, clock.clone()),
        out,
    );
    let engine = Engine::new(Arc::new(client), archive.clone(), clock.clone());
    let mut signals = super::signals()?;
    let mut run = Run {
        engine,
        search,
        query: query.without_status(),
        started: clock(),
        clock,
        settings,
        out,
    };
    let outcome = tokio::select! {
        outcome = run.confirm(query) => outcome,
        number = signals.recv() => Err(Stop::Signal(number)),
    };
    run.out.progress("");
    outcome
}

/// One run of the command.
struct Run<'a, S> {
    engine: Engine<S>,
    search: &'a Search,
    /// What finds all candidates.
    query: Query,
    /// What was confirmed since then needs no request.
    started: Timestamp,
    clock: &'a Clock,
    settings: &'a Settings,
    out: &'a mut Output,
}

/// Emails whose statuses are to be confirmed.
struct Waiting {
    emails: u64,
    /// Whether there are more than that.
    is_more: bool,
    /// About how many requests that takes; more than [`MOST_ESTIMATED`] are not counted.
    requests: u32,
}

impl<S: Service> Run<'_, S> {
    async fn confirm(&mut self, query: &Query) -> Result<Checked, Stop> {
        self.head().await?;
        let depends = query.depends_on_status();
        if self.search.count && !depends {
            return Ok(Checked::Wholly);
        }
        let most = self.search.max_requests;
        if let Some(limit) = self
            .search
            .limit
            .filter(|limit| !depends && *limit <= FEW_PRINTED)
        {
            let printed = self.engine.archive().search(
                query,
                &Anchor::Newest,
                usize::try_from(limit).unwrap_or(0),
                &Halt::default(),
            )?;
            let rows = printed.map(|window| window.rows).unwrap_or_default();
            let ids = rows
                .iter()
                .filter(|row| needs_request(row, self.started, (self.clock)()))
                .map(|row| row.summary.id.clone());
            let ids: Vec<_> = ids.collect();
            let wanted = ids.len() as u64;
            let confirmed = self.engine.confirm(ids, most).await?;
            if confirmed.is_done {
                return Ok(Checked::Wholly);
            }
            let words = format!(
                "{} of {} statuses checked; --max-requests allows more",
                grouped(confirmed.rows.into()),
                grouped(wanted)
            );
            self.out.note(&words);
            return Ok(Checked::Partly);
        }
        let first = self.waiting(None)?;
        if first.requests > FEW {
            let allowed = if first.requests > most {
                format!("; --max-requests {most} allows the newest of them")
            } else {
                String::new()
            };
            self.out.note(&format!(
                "confirming {} first, with {}{allowed}",
                first.statuses(),
                first.about()
            ));
        }
        let (mut spent, mut rows, mut below) = (0, 0, None);
        while spent < most {
            let step = (most - spent).min(STEP);
            let query = self.query.clone();
            let confirmed = self
                .engine
                .confirm_candidates(query, below, self.started, step, u32::MAX)
                .await?;
            (spent, rows, below) = (
                spent + confirmed.requests,
                rows + confirmed.rows,
                confirmed.down_to.or(below),
            );
            if confirmed.is_done {
                return Ok(Checked::Wholly);
            }
            self.out.progress(&format!(
                "{} confirmed, {} of {}",
                emails(rows.into()),
                grouped(spent.into()),
                first.about()
            ));
        }
        let left = self.waiting(below)?;
        if left.emails == 0 {
            return Ok(Checked::Wholly);
        }
        let at = below.and_then(|place| Timestamp::from_microsecond(place.micros()).ok());
        let back = at.map_or_else(
            || "not checked".to_owned(),
            |at| {
                format!(
                    "checked back to {}",
                    moment(at, (self.clock)(), &self.settings.zone)
                )
            },
        );
        let enough = spent + left.requests;
        let hint = if left.requests > MOST_ESTIMATED {
            String::new()
        } else {
            format!("; --max-requests {} checks all", enough + enough / 10)
        };
        let words = format!(
            "statuses {back}; {} older ones not checked{hint}",
            left.count()
        );
        self.out.note(&words);
        Ok(Checked::Partly)
    }

    /// Asks for what is new, unless another process has just done so.
    async fn head(&mut self) -> Result<(), Failure> {
        let mut stopped = self.engine.head().await?.stopped;
        if stopped == Stopped::Elsewhere
            && !self
                .engine
                .archive()
                .head_at()?
                .is_some_and(|at| is_fresh(at, (self.clock)()))
        {
            stopped = self
                .engine
                .all(Back::Until(self.started), |_| ())
                .await?
                .stopped;
        }
        match stopped {
            // What is below is said to be a gap in any case.
            Stopped::Budget => Ok(()),
            stopped => failed(&stopped).map_or(Ok(()), Err),
        }
    }

    /// What is still to be confirmed below a row.
    fn waiting(&self, below: Option<Place>) -> Result<Waiting, Failure> {
        let (archive, now) = (self.engine.archive(), (self.clock)());
        let found = archive.candidates(&self.query, below, usize::MAX, |row| {
            needs_request(row, self.started, now)
        })?;
        let (page, mut requests, mut rest) = (u32::from(MAX_LIMIT), 0, found.rows.as_slice());
        while let Some(first) = rest.first().filter(|_| requests <= MOST_ESTIMATED) {
            // At least the first one is on the page, and as many of the others as lie near enough.
            let (mut on_page, mut most) = (1, rest.len().min(MAX_LIMIT.into()));
            while on_page < most {
                let middle = (on_page + most).div_ceil(2);
                let is_near =
                    archive.count_listed(first.place, rest[middle - 1].place, page + 1)? <= page;
                (on_page, most) = if is_near {
                    (middle, most)
                } else {
                    (on_page, middle - 1)
                };
            }
            (requests, rest) = (requests + 1, &rest[on_page..]);
        }
        Ok(Waiting {
            emails: found.rows.len() as u64,
            is_more: !found.is_end,
            requests,
        })
    }
}

/// Whether the service may have another status of a row, and was not asked for it since `started`.
fn needs_request(row: &Row, started: Timestamp, now: Timestamp) -> bool {
    may_change(row, now)
        && !row
            .confirmed
            .is_some_and(|at| (started..=now).contains(&at))
}

impl Waiting {
    /// `2 300`, `more than 2 300`.
    fn count(&self) -> String {
        format!(
            "{}{}",
            if self.is_more { "more than " } else { "" },
            grouped(self.emails)
        )
    }

    fn statuses(&self) -> String {
        format!(
            "{} {}",
            self.count(),
            if self.emails == 1 {
                "status"
            } else {
                "statuses"
            }
        )
    }

    /// `about 24 requests`.
    fn about(&self) -> String {
        let more = self.is_more || self.requests > MOST_ESTIMATED;
        format!(
            "{} {} requests",
            if more { "more than" } else { "about" },
            grouped(self.requests.min(MOST_ESTIMATED).into())
        )
    }
}
