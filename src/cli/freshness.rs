//! How old the statuses are that a command prints, in words.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::ProfileContext;
use super::args::SearchArgs;
use super::format::format_time;
use super::output::{CommandExit, Output};
use super::sync::stop_error;
use crate::api::{Client, ClientConfig, EmailApi, MAX_LIMIT, RetryPolicy};
use crate::archive::{Archive, CancellationToken, ConfirmedRun, EmailRow, SortKey, WindowAnchor};
use crate::config::Settings;
use crate::config::clock::Clock;
use crate::error::Error;
use crate::mail::Finality;
use crate::query::Query;
use crate::sync::{Engine, StopReason, SyncDepth};
use crate::text::format::{group_digits, plural};

/// Statuses that were confirmed within this time need no words.
pub(super) const FRESH_FOR: SignedDuration = SignedDuration::from_mins(2);

/// The oldest confirmation of several statuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OldestConfirmation {
    /// There was none.
    #[default]
    Nothing,
    /// The oldest was then.
    At(Timestamp),
    /// The service never confirmed at least one of the statuses.
    Never,
}

impl OldestConfirmation {
    /// The one of all emails that `query` may find once their statuses are others, except of those
    /// whose status is final.
    pub(super) fn from_candidates(
        archive: &Archive,
        query: &Query,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut oldest = Self::default();
        // None is chosen, so that all are looked at, as far as that is bounded.
        let looked = archive.find_candidates(&query.without_status(), None, 1, |row| {
            if may_change(row, now) {
                oldest.add(row.confirmed_at);
            }
            false
        })?;
        if !looked.is_exhausted {
            let is_below = |run: &ConfirmedRun| {
                run.may_change
                    && looked
                        .last_examined
                        .is_some_and(|passed| run.bottom < passed)
            };
            let mut below: Vec<ConfirmedRun> = archive
                .confirmed_runs()?
                .into_iter()
                .filter(is_below)
                .collect();
            below.sort_by_key(|run| run.at);
            for run in below {
                if archive.count_listed(run.top, run.bottom, 1)? > 0 {
                    oldest.add(Some(run.at).filter(|at| *at > Timestamp::UNIX_EPOCH));
                    break;
                }
            }
        }
        Ok(oldest)
    }

    /// Takes one more into account; `None` if the service never confirmed that status.
    pub(super) fn add(&mut self, confirmed: Option<Timestamp>) {
        *self = match (*self, confirmed) {
            (Self::Never, _) | (_, None) => Self::Never,
            (Self::Nothing, Some(at)) => Self::At(at),
            (Self::At(oldest), Some(at)) => Self::At(oldest.min(at)),
        };
    }

    /// `statuses as of 18 Nov 09:14 or later`; `None` if all of them are fresh.
    pub(super) fn describe(self, now: Timestamp, zone: &TimeZone) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Never => Some("the service never confirmed some of the statuses".to_owned()),
            Self::At(at) if is_fresh(at, now) => None,
            Self::At(at) => Some(format!(
                "statuses as of {} or later",
                format_time(at, now, zone)
            )),
        }
    }
}

/// Whether a status that was confirmed at `at` needs no words about its age.
pub(super) fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at).abs() <= FRESH_FOR
}

/// Whether the service may have another status by now.
pub(super) fn may_change(row: &EmailRow, now: Timestamp) -> bool {
    row.finality(now) != Finality::Final
}

/// Requests between two looks at how far it is.
const REQUESTS_PER_STEP: u32 = 5;
/// More requests than this are announced before they are made.
const ANNOUNCE_ABOVE: u32 = 5;
/// It is not estimated beyond this number of requests.
const MAX_ESTIMATED_REQUESTS: u32 = 1000;
/// Where so many emails are printed at most, only these are confirmed if the query finds them in any case.
const MAX_ROWS_CONFIRMED_BY_ID: u64 = 1000;

/// How far the statuses were confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfirmOutcome {
    /// All that was needed.
    Complete,
    /// Not all of them; that was reported.
    Partial,
}

/// Asks for what is new, and then for the statuses of all emails that the query may find and that are
/// not final.
pub(super) async fn confirm_statuses(
    search: &SearchArgs,
    query: &Query,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<ConfirmOutcome, CommandExit> {
    let client = super::with_wait_notes(
        Client::new(
            ClientConfig::from(ctx.settings),
            RetryPolicy::ONE_SHOT,
            ctx.clock.clone(),
        ),
        ctx.out,
    );
    let engine = Engine::new(client, archive.clone(), ctx.clock.clone());
    let mut signals = super::listen_for_signals()?;
    let mut run = StatusRefresh {
        engine,
        search,
        query: query.without_status(),
        started: (ctx.clock)(),
        clock: ctx.clock,
        settings: ctx.settings,
        out: &mut *ctx.out,
    };
    let outcome = tokio::select! {
        outcome = run.confirm(query) => outcome,
        number = signals.recv() => Err(CommandExit::Signal(number)),
    };
    run.out.show_progress("");
    outcome
}

/// One run of the command.
struct StatusRefresh<'a, S> {
    engine: Engine<S>,
    search: &'a SearchArgs,
    /// What finds all candidates.
    query: Query,
    /// What was confirmed since then needs no request.
    started: Timestamp,
    clock: &'a Clock,
    settings: &'a Settings,
    out: &'a mut Output,
}

/// Emails whose statuses are to be confirmed.
struct PendingStatuses {
    emails: u64,
    /// Whether there are more than that.
    is_more: bool,
    /// About how many requests that takes; more than [`MAX_ESTIMATED_REQUESTS`] are not counted.
    requests: u32,
}

impl<S: EmailApi> StatusRefresh<'_, S> {
    async fn confirm(&mut self, query: &Query) -> Result<ConfirmOutcome, CommandExit> {
        self.refresh().await?;
        let depends = query.depends_on_status();
        if self.search.count && !depends {
            return Ok(ConfirmOutcome::Complete);
        }
        let most = self.search.max_requests;
        if let Some(limit) = self
            .search
            .limit
            .filter(|limit| !depends && *limit <= MAX_ROWS_CONFIRMED_BY_ID)
        {
            let printed = self.engine.archive().search(
                query,
                &WindowAnchor::Newest,
                usize::try_from(limit).unwrap_or(0),
                &CancellationToken::default(),
            )?;
            let rows = printed.map(|window| window.rows).unwrap_or_default();
            let ids = rows
                .iter()
                .filter(|row| needs_request(row, self.started, (self.clock)()))
                .map(|row| row.summary.id.clone());
            let ids: Vec<_> = ids.collect();
            let wanted = ids.len() as u64;
            let confirmed = self.engine.confirm_emails(ids, most).await?;
            if confirmed.is_done {
                return Ok(ConfirmOutcome::Complete);
            }
            let words = format!(
                "{} of {} statuses checked; --max-requests allows more",
                group_digits(confirmed.confirmed_rows.into(), ' '),
                group_digits(wanted, ' ')
            );
            self.out.note(&words);
            return Ok(ConfirmOutcome::Partial);
        }
        let first = self.count_pending(None)?;
        if first.requests > ANNOUNCE_ABOVE {
            let allowed = if first.requests > most {
                format!("; --max-requests {most} allows the newest of them")
            } else {
                String::new()
            };
            self.out.note(&format!(
                "confirming {} first, with {}{allowed}",
                first.format_statuses(),
                first.format_requests()
            ));
        }
        let (mut spent, mut rows, mut below) = (0, 0, None);
        while spent < most {
            let step = (most - spent).min(REQUESTS_PER_STEP);
            let query = self.query.clone();
            let confirmed = self
                .engine
                .confirm_candidates(query, below, self.started, step, u32::MAX)
                .await?;
            (spent, rows, below) = (
                spent + confirmed.requests,
                rows + confirmed.confirmed_rows,
                confirmed.confirmed_down_to.or(below),
            );
            if confirmed.is_done {
                return Ok(ConfirmOutcome::Complete);
            }
            self.out.show_progress(&format!(
                "{} confirmed, {} of {}",
                plural(rows.into(), "email"),
                group_digits(spent.into(), ' '),
                first.format_requests()
            ));
        }
        let left = self.count_pending(below)?;
        if left.emails == 0 {
            return Ok(ConfirmOutcome::Complete);
        }
        let at = below.and_then(|key| Timestamp::from_microsecond(key.micros()).ok());
        let back = at.map_or_else(
            || "not checked".to_owned(),
            |at| {
                format!(
                    "checked back to {}",
                    format_time(at, (self.clock)(), &self.settings.zone)
                )
            },
        );
        let enough = spent + left.requests;
        let hint = if left.requests > MAX_ESTIMATED_REQUESTS {
            String::new()
        } else {
            format!("; --max-requests {} checks all", enough + enough / 10)
        };
        let words = format!(
            "statuses {back}; {} older ones not checked{hint}",
            left.format_count()
        );
        self.out.note(&words);
        Ok(ConfirmOutcome::Partial)
    }

    /// Asks for what is new, unless another process has just done so.
    async fn refresh(&mut self) -> Result<(), Error> {
        let mut stopped = self.engine.refresh().await?.stop_reason;
        if stopped == StopReason::OtherProcess
            && !self
                .engine
                .archive()
                .head_at()?
                .is_some_and(|at| is_fresh(at, (self.clock)()))
        {
            stopped = self
                .engine
                .full_sync(SyncDepth::Until(self.started), |_| ())
                .await?
                .stop_reason;
        }
        match stopped {
            // The rest below is reported as a gap in any case.
            StopReason::PageLimit => Ok(()),
            stopped => stop_error(&stopped).map_or(Ok(()), Err),
        }
    }

    /// What is still to be confirmed below a row.
    fn count_pending(&self, below: Option<SortKey>) -> Result<PendingStatuses, Error> {
        let (archive, now) = (self.engine.archive(), (self.clock)());
        let found = archive.find_candidates(&self.query, below, usize::MAX, |row| {
            needs_request(row, self.started, now)
        })?;
        let (page, mut requests, mut rest) = (u32::from(MAX_LIMIT), 0, found.rows.as_slice());
        while let Some(first) = rest.first().filter(|_| requests <= MAX_ESTIMATED_REQUESTS) {
            // At least the first one is on the page, and as many of the others as lie near enough.
            let (mut on_page, mut most) = (1, rest.len().min(MAX_LIMIT.into()));
            while on_page < most {
                let middle = (on_page + most).div_ceil(2);
                let is_near =
                    archive.count_listed(first.sort_key, rest[middle - 1].sort_key, page + 1)?
                        <= page;
                (on_page, most) = if is_near {
                    (middle, most)
                } else {
                    (on_page, middle - 1)
                };
            }
            (requests, rest) = (requests + 1, &rest[on_page..]);
        }
        Ok(PendingStatuses {
            emails: found.rows.len() as u64,
            is_more: !found.is_exhausted,
            requests,
        })
    }
}

/// Whether the service may have another status of a row, and was not asked for it since `started`.
fn needs_request(row: &EmailRow, started: Timestamp, now: Timestamp) -> bool {
    may_change(row, now)
        && !row
            .confirmed_at
            .is_some_and(|at| (started..=now).contains(&at))
}

impl PendingStatuses {
    /// `2 300`, `more than 2 300`.
    fn format_count(&self) -> String {
        format!(
            "{}{}",
            if self.is_more { "more than " } else { "" },
            group_digits(self.emails, ' ')
        )
    }

    fn format_statuses(&self) -> String {
        format!(
            "{} {}",
            self.format_count(),
            if self.emails == 1 {
                "status"
            } else {
                "statuses"
            }
        )
    }

    /// `about 24 requests`.
    fn format_requests(&self) -> String {
        let more = self.is_more || self.requests > MAX_ESTIMATED_REQUESTS;
        format!(
            "{} {} requests",
            if more { "more than" } else { "about" },
            group_digits(self.requests.min(MAX_ESTIMATED_REQUESTS).into(), ' ')
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_confirmation_is_named_unless_fresh() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let now = at("2026-11-20T20:41:00Z").unwrap();
        let words = |confirmed: &[Option<Timestamp>]| {
            let mut oldest = OldestConfirmation::default();
            for confirmed in confirmed {
                oldest.add(*confirmed);
            }
            oldest.describe(now, &TimeZone::UTC)
        };
        let (fresh, old) = (at("2026-11-20T20:39:30Z"), at("2026-11-18T09:14:00Z"));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[fresh]), None);
        assert_eq!(
            words(&[fresh, old, fresh]).as_deref(),
            Some("statuses as of 18 Nov 09:14 or later")
        );
        assert_eq!(
            words(&[old, None]).as_deref(),
            Some("the service never confirmed some of the statuses")
        );
    }
}
