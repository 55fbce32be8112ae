//! `sync`: mirrors the service into the archive, and reports how far that got.

mod events;
pub(super) mod plan;
mod progress;
mod watch;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::args::typed_query::TypedQuery;
use super::args::{SyncArgs, WatchArgs};
use super::output::format::{describe_coverage, estimate_remaining};
use super::output::{CommandExit, Output, wait_for_closed_stdout};
use super::{ProfileContext, block_on_until_signal, open_archive};
use crate::api::{ChangeStream, EmailApi, MAX_LIMIT, Priority, RetryPolicy};
use crate::archive::{Archive, PeerNoticeReceiver, ProcessLock, expired_text};
use crate::config::HistorySpan;
use crate::config::clock::Clock;
use crate::error::{Error, Result};
use crate::sync::{
    Engine, PurgeReport, REFRESH_INTERVAL, RecheckScope, StopReason, SyncDepth, SyncReport,
};
use crate::text::format::{group_digits, plural};
use events::EventLog;
use plan::recheck_scope;
use progress::{RecheckTotals, SyncTotals};

/// Bodies of mail of this age are fetched with `--bodies --watch`.
const RECENT_AGE: HistorySpan = HistorySpan::Last(SignedDuration::from_hours(72));
/// Requests for due statuses after the sync run, unless a flag says otherwise.
pub(super) const MAX_DUE_REQUESTS: u32 = 100;
/// Time between two attempts to get the lock of another process.
const LOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Fetches new mail, then older mail, then bodies if requested.
///
/// With `--watch`, only a signal or an error of this machine ends it. What was fetched before
/// an error is kept, and reported first.
pub(super) fn run(args: &SyncArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    let archive = open_archive::open_for_writing(ctx)?;
    let is_quiet = ctx.out.is_quiet();
    let settings = &ctx.settings;
    let events = (args.watch && !is_quiet)
        .then(|| EventLog::new(None, settings.zone.clone(), settings.secrets));
    let (mut totals, result) = run_sync(args, &archive, events, RetryPolicy::LONG_RUNNING, ctx)?;
    if matches!(result, Err(CommandExit::Signal(_))) && !args.watch {
        let is_recheck = matches!(args.recheck, Some(HistorySpan::All | HistorySpan::Last(_)));
        ctx.out.note(if is_recheck {
            "interrupted; what was read is kept"
        } else {
            "interrupted; the same command goes on from here"
        });
    }
    // --quiet hides the report, unless --json requests it.
    let is_wanted = !is_quiet || ctx.out.is_json();
    if totals.has_answer && is_wanted && result != Err(CommandExit::OutputClosed) {
        if let Some(text) = expired_text(totals.expired()) {
            ctx.out.note(&text);
        }
        let now = ctx.now();
        totals.left_out = archive.left_out()?;
        totals.write_report(args.bodies, now, &ctx.settings.zone, ctx.out)?;
    }
    result
}

/// `watch`: prints each new email and each status change until it is interrupted.
pub(super) fn watch(args: &WatchArgs, ctx: &mut ProfileContext<'_>) -> Result<(), CommandExit> {
    ctx.settings.credentials.key.clone()?;
    let typed = TypedQuery::parse(&args.words, ctx.now(), ctx)?;
    let archive = open_archive::open_for_writing(ctx)?;
    let query = typed.check(&archive, ctx.out)?;
    if query.has_body_operator() {
        let message =
            "bodies and tags of new emails are not fetched, so that they match by others only";
        ctx.out.note(message);
    }
    if io::stderr().is_terminal() {
        let seconds = REFRESH_INTERVAL.as_secs();
        let message = format!("watching: new mail every {seconds} s; Ctrl-C ends");
        ctx.out.note(&message);
    }
    let settings = &ctx.settings;
    let events = EventLog::new(Some(query), settings.zone.clone(), settings.secrets);
    let sync = SyncArgs {
        back: Some(HistorySpan::Last(SignedDuration::ZERO)),
        watch: true,
        ..SyncArgs::default()
    };
    let policy = RetryPolicy::LONG_RUNNING;
    run_sync(&sync, &archive, Some(events), policy, ctx)?.1
}

/// Fetches back to `back` without a report, for a command that needs those emails.
pub(super) fn load_older(
    back: HistorySpan,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let args = SyncArgs {
        back: Some(back),
        recheck: Some(HistorySpan::Off),
        ..SyncArgs::default()
    };
    run_sync(&args, archive, None, RetryPolicy::ONE_SHOT, ctx)?.1
}

/// Returns the totals, and what the run has ended with.
fn run_sync(
    args: &SyncArgs,
    archive: &Archive,
    events: Option<EventLog>,
    policy: RetryPolicy,
    ctx: &mut ProfileContext<'_>,
) -> Result<(SyncTotals, Result<(), CommandExit>), CommandExit> {
    // No user waits at a screen, so the team's own sending goes first.
    let client = ctx.client_with_notes(policy);
    let engine = Engine::new(client, archive.clone(), ctx.clock.clone());
    let now = ctx.now();
    let mut totals = SyncTotals::new(now, archive.coverage()?);
    totals.left_out = archive.left_out()?;
    let mut command = SyncCommand {
        engine: engine.with_priority(Priority::Backfill),
        back: depth(args.summary_span(), now),
        bodies_back: Some(depth(args.body_span(), now)),
        // `watch` looks at what is new.
        backfill: match &events {
            Some(events) if !events.shows_pages() => HistorySpan::Off,
            _ => ctx.settings.backfill,
        },
        clock: ctx.clock.clone(),
        zone: ctx.settings.zone.clone(),
        totals,
        events,
        following: JoinSet::new(),
        peers: None,
        closed: None,
        out: &mut *ctx.out,
    };
    let prints = command.events.is_some();
    let result = block_on_until_signal(async {
        tokio::select! {
            result = command.run(args) => result,
            () = wait_for_closed_stdout(), if prints => Err(CommandExit::OutputClosed),
        }
    });
    command.out.show_progress("");
    Ok((command.totals, result))
}

impl SyncArgs {
    /// Returns how far back summaries are fetched.
    pub(super) fn summary_span(&self) -> HistorySpan {
        let default = HistorySpan::Last(SignedDuration::from_hours(30 * 24));
        self.back.unwrap_or(default)
    }

    /// Returns how far back bodies are fetched:
    /// without `--back`, of all mail in the archive.
    pub(super) fn body_span(&self) -> HistorySpan {
        self.back.unwrap_or(HistorySpan::All)
    }
}

fn depth(span: HistorySpan, now: Timestamp) -> SyncDepth {
    match span {
        HistorySpan::All => SyncDepth::All,
        span => SyncDepth::Until(span.start(now).unwrap_or(now)),
    }
}

/// Adds the service's own text to the error of a run whose cursors it refused.
fn with_refusal(mut error: Error, refusal: Option<String>) -> Error {
    if let Some(text) = refusal {
        error.message = format!("{} ({text})", error.message);
    }
    error
}

struct SyncCommand<'a, S> {
    engine: Engine<S>,
    back: SyncDepth,
    /// How far back bodies are fetched;
    /// `None` once that was done: then those of recent mail are.
    bodies_back: Option<SyncDepth>,
    /// The `backfill` setting of the profile.
    backfill: HistorySpan,
    clock: Clock,
    zone: TimeZone,
    totals: SyncTotals,
    /// With `--watch`.
    events: Option<EventLog>,
    /// With `--watch` in front of a mirror: waits for its next changes.
    following: JoinSet<Option<ChangeStream>>,
    /// With `--watch`: what other processes report.
    peers: Option<PeerNoticeReceiver>,
    /// Why no event can be printed any more.
    closed: Option<CommandExit>,
    out: &'a mut Output,
}

impl<S: EmailApi> SyncCommand<'_, S> {
    async fn run(&mut self, args: &SyncArgs) -> Result<(), CommandExit> {
        if let Some(events) = &mut self.events {
            // What arrives from now on is new, even if the first answer is late.
            self.engine.poll_changes().await?;
            events.start((self.clock)(), self.engine.archive())?;
            self.peers = self.engine.archive().watch_peers();
        }
        match self.run_once(args).await {
            Err(error) if !(args.watch && error.kind.may_pass()) => Err(error.into()),
            result if args.watch => self.watch(args, result.err()).await,
            _ => Ok(()),
        }
    }

    async fn run_once(&mut self, args: &SyncArgs) -> Result<()> {
        let started = (self.clock)();
        let latest_request = self.engine.archive().latest_request()?;
        let synced = self.sync_when_unlocked().await?;
        let unreadable = match synced.stop_reason {
            // The emails that could be read still need their statuses and bodies.
            StopReason::Unreadable => StopReason::Unreadable.into_error(),
            StopReason::NoLiveCursor => StopReason::NoLiveCursor
                .into_error()
                .map_or(Ok(None), |error| Err(with_refusal(error, synced.refusal)))?,
            reason => reason.into_error().map_or(Ok(None), Err)?,
        };
        if let Err(error) = self.engine.apply_purges().await {
            let text = "what the mirror has purged may still be here";
            self.out.note(&format!("{text}: {}", error.message));
        }
        self.note_purges(self.engine.take_purges());
        if self.totals.purged > 0 {
            self.totals.coverage = self.engine.archive().coverage()?;
        }
        if let Some(events) = &mut self.events {
            let mut report = self.engine.poll_changes().await?;
            // They may be older than this run.
            report.changed_ids.clear();
            let (archive, now) = (self.engine.archive(), (self.clock)());
            let printed = events.print_report(&report, archive, now, self.out);
            self.closed = printed.err().or(self.closed.take());
            events.mark_known(archive)?;
        }
        self.recheck_statuses(args.recheck, started, latest_request)
            .await?;
        if args.bodies {
            // A watch goes on with new mail, while another process fetches the bodies.
            if !args.watch {
                let lock = self.engine.archive().bodies_lock().clone();
                self.acquire(&lock).await?;
            }
            if !self.fetch_bodies().await? {
                self.out
                    .note("another sentbox is fetching bodies; what it leaves is fetched later");
            }
        }
        unreadable.map_or(Ok(()), Err)
    }

    /// Fetches what is still missing while no other process does.
    async fn sync_when_unlocked(&mut self) -> Result<SyncReport> {
        let lock = self.engine.archive().backfill_lock().clone();
        self.acquire(&lock).await?;
        let result = self.sync_locked(&lock).await;
        lock.release();
        result
    }

    /// Waits until no other process has the lock, and acquires it.
    /// A watch prints meanwhile what that process stores.
    async fn acquire(&mut self, lock: &ProcessLock) -> Result<()> {
        let mut is_reported = false;
        while !lock.try_acquire((self.clock)()) {
            if !std::mem::replace(&mut is_reported, true) {
                self.out.note(match self.events {
                    Some(_) => "another sentbox sends the requests; changes come from the archive",
                    None => "another sentbox is syncing already; waiting until it is done",
                });
            }
            if self.events.is_some() {
                self.print_changes_of_others().await?;
            }
            let coverage = self.engine.archive().coverage()?;
            let coverage = describe_coverage(&coverage, &self.zone);
            self.out
                .show_progress(&format!("waiting for another sentbox; {coverage}"));
            sleep(LOCK_POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn sync_locked(&mut self, lock: &ProcessLock) -> Result<SyncReport> {
        let (engine, back) = (self.engine.clone(), self.back);
        let report = engine.full_sync(back, |progress| {
            let now = (self.clock)();
            // Renewed with each page: a process that stops for long loses the lock.
            let _ = lock.try_acquire(now);
            let counts = self.totals.count_run(progress);
            self.print_page(counts, progress);
            let line = self.totals.progress_line(now, back, &self.zone);
            self.out.show_progress(&line);
        });
        let report = report.await?;
        self.totals.add_run(&report);
        Ok(report)
    }

    /// Confirms the due statuses, or all in a span not confirmed after `latest_request`.
    ///
    /// Counts the emails that responses to requests after `latest_request` have shown to be gone.
    async fn recheck_statuses(
        &mut self,
        span: Option<HistorySpan>,
        started: Timestamp,
        latest_request: i64,
    ) -> Result<()> {
        let Some(scope) = recheck_scope(span, started, latest_request) else {
            return Ok(());
        };
        let max_requests = match scope {
            RecheckScope::Due { .. } => MAX_DUE_REQUESTS,
            RecheckScope::All { .. } => u32::MAX,
        };
        let engine = self.engine.with_priority(Priority::Recheck);
        let due = engine.count_due(scope).await?;
        // Pages have more emails than the due ones; they are confirmed, too.
        let whole_scope = match scope {
            RecheckScope::Due { since } if due > 0 => RecheckScope::All {
                since,
                before: latest_request,
            },
            scope => scope,
        };
        let unconfirmed = engine.count_due(whole_scope).await?;
        let begun = (self.clock)();
        let (mut requests, mut changes) = (0, 0);
        let error = loop {
            if requests == max_requests {
                break None;
            }
            match engine.recheck(scope).await {
                Ok(Some(report)) => {
                    (requests, changes) = (requests + 1, changes + report.changes);
                    self.add_run(&report);
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            let page = u64::from(MAX_LIMIT);
            let left = due
                .saturating_sub(u64::from(requests) * page)
                .min(u64::from(max_requests - requests) * page);
            let elapsed = (self.clock)().duration_since(begun);
            let time = estimate_remaining(elapsed, requests.into(), left.div_ceil(page));
            self.out.show_progress(&format!(
                "re-reading statuses: {} to go, {} changed{time}",
                group_digits(left, ' '),
                group_digits(changes, ' ')
            ));
        };
        let left = engine.count_due(scope).await?;
        let still_unconfirmed = engine.count_due(whole_scope).await?;
        self.totals.recheck = Some(RecheckTotals {
            statuses: unconfirmed.saturating_sub(still_unconfirmed),
            changes,
            gone: (self.engine.archive()).count_missing_after(latest_request)?,
            left,
        });
        if left > 0 {
            let emails = plural(left, "email");
            self.out.show_progress("");
            self.out.note(&match span {
                None => {
                    format!("pages with {emails} of the last 72 h are due; --recheck 72h reads them all")
                }
                Some(_) => {
                    format!("the statuses of {emails} could not be read again; the next run retries them")
                }
            });
        }
        error.map_or(Ok(()), Err)
    }

    fn note_purges(&mut self, purges: PurgeReport) {
        self.totals.purged += purges.removed;
        if let Some(text) = purges.text() {
            self.out.note(&text);
        }
    }

    /// Adds a run to the totals, and prints what arrived and changed in it.
    fn add_run(&mut self, report: &SyncReport) {
        self.totals.add_run(report);
        self.note_purges(report.purges);
        if let Some(events) = &self.events {
            let (archive, now) = (self.engine.archive(), (self.clock)());
            let printed = events.print_report(report, archive, now, self.out);
            self.closed = printed.err().or(self.closed.take());
        }
    }

    /// Prints a page with so many new emails and changes.
    fn print_page(&mut self, counts: (u64, u64), report: &SyncReport) {
        if let Some(events) = &self.events {
            let now = (self.clock)();
            let printed = events.print_page(counts, report, self.totals.left_out, now, self.out);
            self.closed = printed.err().or(self.closed.take());
        }
    }

    /// Fetches the missing bodies. False if another process fetches bodies now.
    async fn fetch_bodies(&mut self) -> Result<bool> {
        let (lock, now) = (self.engine.archive().bodies_lock().clone(), (self.clock)());
        if !lock.try_acquire(now) {
            return Ok(false);
        }
        let back = self.bodies_back.unwrap_or_else(|| depth(RECENT_AGE, now));
        let result = self.fetch_bodies_locked(back, &lock).await;
        lock.release();
        result?;
        self.bodies_back = None;
        Ok(true)
    }

    async fn fetch_bodies_locked(&mut self, back: SyncDepth, lock: &ProcessLock) -> Result<()> {
        let (started, before) = ((self.clock)(), self.totals.bodies);
        let done = self.engine.fetch_bodies(back, |done| {
            let now = (self.clock)();
            let _ = lock.try_acquire(now);
            self.totals.bodies = before + done.stored;
            let tried = done.stored + done.missing + done.withheld + done.invalid;
            let left = estimate_remaining(now.duration_since(started), tried, done.remaining);
            self.out.show_progress(&format!(
                "{} bodies here, {} to go{left}",
                group_digits(self.totals.bodies, ' '),
                group_digits(done.remaining, ' ')
            ));
        });
        let done = done.await?;
        if done.invalid > 0 {
            self.out.note(&format!(
                "{} bodies could not be read; the next run retries them",
                group_digits(done.invalid, ' ')
            ));
        }
        // A watch would repeat it every half minute.
        if done.withheld > 0 && self.events.is_none() {
            let emails = plural(done.withheld, "email");
            self.out.note(&format!(
                "the service withholds the bodies of {emails}; the next run retries them"
            ));
        }
        done.error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
