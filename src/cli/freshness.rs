//! The age of the statuses that a command prints, and their confirmation by the
//! service.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::args::SearchArgs;
use super::output::CommandExit;
use super::output::format::{format_time, is_fresh};
use super::{ProfileContext, block_on_until_signal};
use crate::api::{Client, MAX_LIMIT, RetryPolicy};
use crate::archive::{Archive, CancellationToken, SortKey, StatusAge, WindowAnchor};
use crate::error::Result;
use crate::mail::FINAL_AFTER;
use crate::query::Query;
use crate::sync::{ConfirmScope, Engine, StopReason, SyncDepth, needs_confirming};
use crate::text::format::{group_digits, plural};

/// Requests between two progress reports.
const REQUESTS_PER_STEP: u32 = 5;
/// More requests than this are announced before they are sent.
const ANNOUNCE_ABOVE: u32 = 5;
/// More requests than this are not counted.
const MAX_ESTIMATED_REQUESTS: u32 = 1000;
/// With a limit up to this, only the emails that will be printed are confirmed.
///
/// Not if the query depends on their statuses.
const MAX_ROWS_CONFIRMED_BY_ID: u64 = 1000;

/// Finds when the statuses were confirmed of the emails that `query` may match
/// after a status change.
pub(super) fn find_oldest_confirmation(
    archive: &Archive,
    query: &Query,
    now: Timestamp,
) -> Result<StatusAge> {
    let mut age = StatusAge::default();
    // None is chosen before the answer is certain, so that all are examined, as far as that is bounded.
    let candidates = archive.find_candidates(&query.without_status(), None, 1, |row| {
        age.add(row, now);
        age.unconfirmed() > 0
    })?;
    if candidates.is_exhausted || age.unconfirmed() > 0 {
        return Ok(age);
    }
    let final_before = (now - FINAL_AFTER).as_microsecond();
    let mut below = archive.confirmed_runs()?;
    let oldest = query.without_status().filter.time_bounds(true).oldest;
    below.retain(|run| {
        (candidates.last_examined).is_some_and(|last| run.bottom < last)
            && oldest.is_none_or(|oldest| run.top.micros() >= oldest.as_microsecond())
    });
    // The oldest one of each group is enough.
    below.sort_unstable_by_key(|run| run.at);
    let (mut needs_recent, mut needs_old) = (true, true);
    for run in below {
        let is_recent = needs_recent && run.may_change;
        let is_old = needs_old && run.bottom.micros() < final_before;
        if (is_recent || is_old) && archive.count_listed(run.top, run.bottom, 1)? > 0 {
            let at = Some(run.at).filter(|at| *at > Timestamp::UNIX_EPOCH);
            if is_recent {
                age.recent.add(at);
                needs_recent = false;
            }
            if is_old {
                age.old.add(at);
                needs_old = false;
            }
        }
    }
    Ok(age)
}

/// Formats it as `statuses as of 18 Nov 09:14 or later`; `None` if all are fresh.
pub(super) fn describe_age(age: &StatusAge, now: Timestamp, zone: &TimeZone) -> Option<String> {
    if age.unconfirmed() > 0 {
        return Some("the service never confirmed some of the statuses".to_owned());
    }
    age.describe(|at| format_time(at, now, zone), |at| !is_fresh(at, now))
}

/// Appends the command that confirms the statuses of `query` again:
/// of its time and an hour more, which passes until it runs.
pub(super) fn with_recheck(
    age: &str,
    query: &Query,
    now: Timestamp,
    ctx: &ProfileContext<'_>,
) -> String {
    let oldest = query.without_status().filter.time_bounds(true).oldest;
    let span = match oldest.map(|oldest| now.duration_since(oldest).as_hours() + 2) {
        Some(hours @ 1..=72) => format!("{hours}h"),
        Some(hours @ 73..=8760) => format!("{}d", hours / 24 + 1),
        _ => "all".to_owned(),
    };
    ctx.with_next_step(age, &format!("sentbox sync --recheck {span} updates them"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfirmResult {
    /// All statuses are confirmed.
    Complete,
    /// All are, except for those that count as final by their age; that was reported.
    WithoutOld,
    /// Some are not; that was reported.
    Partial,
}

/// Fetches new mail, then the statuses that may change what the query matches.
pub(super) fn confirm_statuses(
    search: &SearchArgs,
    query: &Query,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<ConfirmResult, CommandExit> {
    let client = ctx.client_with_notes(RetryPolicy::ONE_SHOT);
    let mut refresh = StatusRefresh {
        engine: Engine::new(client, archive.clone(), ctx.clock.clone()),
        search,
        candidates: query.without_status(),
        started: ctx.now(),
        leaves_out_old: false,
        ctx: &mut *ctx,
    };
    let result = block_on_until_signal(refresh.run(query));
    ctx.out.show_progress("");
    result
}

struct StatusRefresh<'a, 'c> {
    engine: Engine<Client>,
    search: &'a SearchArgs,
    candidates: Query,
    /// A status confirmed since this time needs no request.
    started: Timestamp,
    /// Whether some count as final by their age, so that they are not confirmed.
    leaves_out_old: bool,
    ctx: &'a mut ProfileContext<'c>,
}

/// The emails whose statuses are still to be confirmed.
struct PendingStatuses {
    emails: u64,
    is_more: bool,
    /// An estimate, which ends above [`MAX_ESTIMATED_REQUESTS`].
    requests: u32,
}

impl StatusRefresh<'_, '_> {
    async fn run(&mut self, query: &Query) -> Result<ConfirmResult, CommandExit> {
        self.refresh().await?;
        let (count, limit) = (self.search.count, self.search.limit);
        let result = match limit.filter(|limit| *limit <= MAX_ROWS_CONFIRMED_BY_ID) {
            _ if query.depends_on_status() => self.confirm_candidates().await,
            _ if count => return Ok(ConfirmResult::Complete),
            Some(limit) => self.confirm_first(query, limit).await,
            None => self.confirm_candidates().await,
        };
        let message = result?;
        if let Some(message) = &message {
            self.ctx.out.note(message);
        }
        if self.leaves_out_old {
            let note = "delivered mail older than 30 days was not checked; sentbox sync --recheck all does that";
            self.ctx.out.note(note);
        }
        Ok(match (message, self.leaves_out_old) {
            (Some(_), _) => ConfirmResult::Partial,
            (None, true) => ConfirmResult::WithoutOld,
            (None, false) => ConfirmResult::Complete,
        })
    }

    /// Confirms the first matches. Returns a message if there were not enough requests.
    async fn confirm_first(&self, query: &Query, limit: u64) -> Result<Option<String>> {
        let limit = usize::try_from(limit).unwrap_or(0);
        let token = CancellationToken::default();
        let archive = self.engine.archive();
        let window = archive.search(query, &WindowAnchor::Top, limit, &token)?;
        let rows = window.map(|window| window.rows).unwrap_or_default();
        let now = self.ctx.now();
        let ids = (rows.iter()).filter(|row| needs_confirming(row, self.started, now));
        let ids: Vec<_> = ids.map(|row| row.summary.id.clone()).collect();
        let total = ids.len() as u64;
        let max_requests = self.search.max_requests;
        let confirmed = self.engine.confirm_emails(ids, max_requests).await?;
        Ok((!confirmed.is_done).then(|| {
            format!(
                "{} of {} statuses checked; --max-requests allows more",
                group_digits(confirmed.confirmed_rows.into(), ' '),
                group_digits(total, ' ')
            )
        }))
    }

    /// Confirms all candidates, newest first.
    ///
    /// Returns a message if there were not enough requests.
    async fn confirm_candidates(&mut self) -> Result<Option<String>> {
        let max_requests = self.search.max_requests;
        let pending = self.count_pending(None)?;
        if pending.requests > ANNOUNCE_ABOVE {
            let allowed = if pending.requests > max_requests {
                format!("; --max-requests {max_requests} allows the newest of them")
            } else {
                String::new()
            };
            self.ctx.out.note(&format!(
                "confirming {}{} first, with {}{allowed}",
                pending.more_than(),
                plural(pending.emails, "status"),
                pending.format_requests()
            ));
        }
        let (mut requests, mut rows, mut below) = (0, 0, None);
        let scope = ConfirmScope {
            fresh_since: self.started,
            any_age: false,
        };
        while requests < max_requests {
            let step = (max_requests - requests).min(REQUESTS_PER_STEP);
            let query = self.candidates.clone();
            let confirmed = self
                .engine
                .confirm_candidates(query, below, scope, step)
                .await?;
            self.leaves_out_old |= confirmed.leaves_out_old;
            if confirmed.is_done {
                return Ok(None);
            }
            requests += confirmed.requests;
            rows += confirmed.confirmed_rows;
            below = confirmed.confirmed_down_to.or(below);
            self.ctx.out.show_progress(&format!(
                "{} confirmed, {} of {}",
                plural(rows.into(), "email"),
                group_digits(requests.into(), ' '),
                pending.format_requests()
            ));
        }
        let left = self.count_pending(below)?;
        Ok((left.emails > 0).then(|| self.describe_rest(&left, below, requests)))
    }

    fn describe_rest(
        &self,
        left: &PendingStatuses,
        below: Option<SortKey>,
        requests: u32,
    ) -> String {
        let at = below.and_then(|key| Timestamp::from_microsecond(key.micros()).ok());
        let checked = match at {
            Some(at) => {
                let at = format_time(at, self.ctx.now(), &self.ctx.settings.zone);
                format!("checked back to {at}")
            }
            None => "not checked".to_owned(),
        };
        let enough = requests + left.requests;
        let hint = if left.requests > MAX_ESTIMATED_REQUESTS {
            String::new()
        } else {
            format!("; --max-requests {} checks them", enough + enough / 10)
        };
        format!(
            "statuses {checked}; {}{} older ones not checked{hint}",
            left.more_than(),
            group_digits(left.emails, ' ')
        )
    }

    /// Fetches new mail, unless another process has just done so.
    async fn refresh(&self) -> Result<()> {
        let mut reason = self.engine.refresh().await?.stop_reason;
        if reason == StopReason::OtherProcess {
            let refreshed = self.engine.archive().head_at()?;
            if !refreshed.is_some_and(|at| is_fresh(at, self.ctx.now())) {
                let depth = SyncDepth::Until(self.started);
                reason = self.engine.full_sync(depth, |_| ()).await?.stop_reason;
            }
        }
        match reason {
            // The gap below is reported in any case.
            StopReason::PageLimit => Ok(()),
            reason => reason.into_error().map_or(Ok(()), Err),
        }
    }

    /// Counts what is still to be confirmed below a row.
    fn count_pending(&self, below: Option<SortKey>) -> Result<PendingStatuses> {
        let (archive, now) = (self.engine.archive(), self.ctx.now());
        let found = archive.find_candidates(&self.candidates, below, usize::MAX, |row| {
            needs_confirming(row, self.started, now)
        })?;
        // With the oldest first, each one is retrieved by its id.
        let is_by_id = archive.coverage_state()?.oldest_first;
        let page = if is_by_id { 1 } else { u32::from(MAX_LIMIT) };
        let (mut requests, mut rest) = (0, found.rows.as_slice());
        while let Some(first) = rest.first().filter(|_| requests <= MAX_ESTIMATED_REQUESTS) {
            // At least the first one is on the page, and as many of the others as lie near enough.
            let (mut on_page, mut most) = (1, rest.len().min(page as usize));
            while on_page < most {
                let middle = (on_page + most).div_ceil(2);
                let last = rest[middle - 1].sort_key;
                if archive.count_listed(first.sort_key, last, page + 1)? <= page {
                    on_page = middle;
                } else {
                    most = middle - 1;
                }
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

impl PendingStatuses {
    fn more_than(&self) -> &'static str {
        if self.is_more { "more than " } else { "" }
    }

    /// Formats the estimate, as `about 24 requests`.
    fn format_requests(&self) -> String {
        let is_more = self.is_more || self.requests > MAX_ESTIMATED_REQUESTS;
        let about = if is_more { "more than" } else { "about" };
        let requests = self.requests.min(MAX_ESTIMATED_REQUESTS);
        format!("{about} {} requests", group_digits(requests.into(), ' '))
    }
}
