//! `sync`: mirrors the service into the archive, and says how far that got.

use crate::text::format::group_digits;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep, sleep_until};

use super::ProfileContext;
use super::args;
use super::format::describe_coverage;
use super::output::{CommandExit, Output};
use super::progress::{RecheckTotals, SyncTotals, format_remaining};
use crate::api::{Client, ClientConfig, EmailApi, MAX_LIMIT, Priority, RequestHandle, RetryPolicy};
use crate::archive::{Archive, CancellationToken, Coverage, MatchCount, ProcessLock};
use crate::config::clock::Clock;
use crate::config::{self, Backfill};
use crate::error::{Error, ErrorKind};
use crate::query::{EmailClass, Node, Query, SortOrder, Term};
use crate::sync::{self, Engine, RecheckScope, StopReason};

/// How often the newest hundred emails are read again.
const REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// Bodies of mail of this age are fetched with `--bodies --watch`.
const RECENT_AGE: SignedDuration = SignedDuration::from_hours(72);
/// Due pages that are read between two looks for new mail.
const RECHECK_PAGES: u32 = 10;
/// Requests for due statuses after the sync run, unless a flag says otherwise.
const MAX_DUE_REQUESTS: u32 = 100;

/// How far back to go, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackSpan {
    /// To the very first email.
    All,
    /// So long before now.
    Last(SignedDuration),
}

/// Reads `all`, or a number of hours, days or weeks.
pub fn parse_back(text: &str) -> Result<BackSpan, String> {
    if text == "all" {
        return Ok(BackSpan::All);
    }
    config::parse_duration(text)
        .map(BackSpan::Last)
        .ok_or_else(|| format!("say all, or {}", config::DURATION_SYNTAX))
}

/// Which statuses to read again, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecheckSpan {
    /// None.
    Off,
    /// Those of all mail.
    All,
    /// Those of mail that is not older than this.
    Last(SignedDuration),
}

/// Reads `off`, `all`, or a number of hours, days or weeks.
pub fn parse_recheck(text: &str) -> Result<RecheckSpan, String> {
    match text {
        "off" => Ok(RecheckSpan::Off),
        "all" => Ok(RecheckSpan::All),
        text => config::parse_duration(text)
            .map(RecheckSpan::Last)
            .ok_or_else(|| format!("say all, off, or {}", config::DURATION_SYNTAX)),
    }
}

/// Fetches what is new, then what is older, then bodies if they are wanted, until it is all there or
/// something ends it; with `--watch`, nothing but a signal or a fault of this machine does.
///
/// # Errors
///
/// If the service or the archive fails; what was fetched until then is kept, and reported first.
pub(super) async fn run(
    sync: &args::SyncArgs,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let (tally, outcome) = run_sync(sync, archive, ctx).await?;
    if matches!(outcome, Err(CommandExit::Signal(_))) && !sync.watch {
        let is_whole = matches!(sync.recheck, Some(RecheckSpan::All | RecheckSpan::Last(_)));
        ctx.out.note(if is_whole {
            "interrupted; what was read is kept"
        } else {
            "interrupted; the same command goes on from here"
        });
    }
    if tally.has_answer {
        tally.write_report(sync.bodies, &ctx.settings.zone, ctx.out)?;
    }
    outcome
}

/// Fetches back to `back` without a report, for a command that needs those emails.
pub(super) async fn load_older(
    back: BackSpan,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<(), CommandExit> {
    let sync = args::SyncArgs {
        back,
        recheck: Some(RecheckSpan::Off),
        bodies: false,
        watch: false,
    };
    run_sync(&sync, archive, ctx).await?.1
}

/// How often it is looked whether another process still walks back.
const LOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What was brought, and how it ended.
type SyncOutcome = (SyncTotals, Result<(), CommandExit>);

async fn run_sync(
    sync: &args::SyncArgs,
    archive: &Archive,
    ctx: &mut ProfileContext<'_>,
) -> Result<SyncOutcome, CommandExit> {
    // Nobody waits at a screen, and the team's own sending goes first.
    let client = Client::new(
        ClientConfig::from(ctx.settings),
        RetryPolicy::LONG_RUNNING,
        ctx.clock.clone(),
    );
    let client = super::with_wait_notes(client, ctx.out)
        .with_priority(&RequestHandle::new(Priority::Backfill));
    let reach = archive.coverage()?;
    let engine = Engine::new(client, archive.clone(), ctx.clock.clone());
    let mut signals = super::listen_for_signals()?;
    let back = match sync.back {
        BackSpan::All => sync::SyncDepth::All,
        BackSpan::Last(span) => {
            sync::SyncDepth::Until((ctx.clock)().checked_sub(span).unwrap_or(Timestamp::MIN))
        }
    };
    let tally = SyncTotals::new((ctx.clock)(), reach);
    let mut mirror = SyncCommand {
        engine,
        back,
        backfill: ctx.settings.backfill,
        clock: ctx.clock.clone(),
        zone: ctx.settings.zone.clone(),
        totals: tally,
        out: &mut *ctx.out,
    };
    let outcome = tokio::select! {
        outcome = mirror.run(sync) => outcome,
        number = signals.recv() => Err(CommandExit::Signal(number)),
    };
    mirror.out.show_progress("");
    Ok((mirror.totals, outcome))
}

/// One run of the command.
struct SyncCommand<'a, S> {
    engine: Engine<S>,
    back: sync::SyncDepth,
    /// How far back the profile's `backfill` setting reaches.
    backfill: Backfill,
    clock: Clock,
    zone: TimeZone,
    totals: SyncTotals,
    out: &'a mut Output,
}

impl<S: EmailApi> SyncCommand<'_, S> {
    async fn run(&mut self, sync: &args::SyncArgs) -> Result<(), CommandExit> {
        let started = (self.clock)();
        let mut stop = self.sync_when_unlocked().await.err();
        if stop.is_none() {
            stop = self.recheck_statuses(sync.recheck, started).await.err();
        }
        if stop.is_none() && sync.bodies {
            stop = self.fetch_bodies(self.back).await.err();
        }
        match stop {
            Some(failure) if !(sync.watch && failure.kind.is_service_error()) => {
                Err(failure.into())
            }
            stop if sync.watch => self.watch(sync, stop).await,
            _ => Ok(()),
        }
    }

    /// Walks back, unless another process does: then that one is waited for, and what it leaves is walked.
    async fn sync_when_unlocked(&mut self) -> Result<(), Error> {
        let lease = self.engine.archive().backfill_lock().clone();
        let mut reported = false;
        while !lease.try_acquire((self.clock)()) {
            if !std::mem::replace(&mut reported, true) {
                self.out.note(
                    "another sentbox is fetching older mail already; waiting until it is done",
                );
            }
            let line = format!(
                "waiting for another sentbox; {}",
                describe_coverage(&self.engine.archive().coverage()?, &self.zone)
            );
            self.out.show_progress(&line);
            sleep(LOCK_POLL_INTERVAL).await;
        }
        let walked = self.sync_locked(&lease).await;
        lease.release();
        walked
    }

    async fn sync_locked(&mut self, lease: &ProcessLock) -> Result<(), Error> {
        let Self {
            engine,
            back,
            clock,
            zone,
            totals: tally,
            out,
            ..
        } = self;
        let synced = engine.full_sync(*back, |synced| {
            // Renewed with each page: a process that stops for long loses the lock.
            let _ = lease.try_acquire(clock());
            tally.coverage = synced.coverage.clone();
            tally.current_run = Some((synced.new, synced.changes, synced.pages));
            tally.has_answer = true;
            out.show_progress(&tally.progress_line(clock(), *back, zone));
        });
        let synced = synced.await?;
        tally.add_run(&synced);
        stop_error(&synced.stop_reason).map_or(Ok(()), Err)
    }

    /// Re-reads the statuses that are due, or all of the given age, which this run has not
    /// confirmed since it `started`.
    async fn recheck_statuses(
        &mut self,
        again: Option<RecheckSpan>,
        started: Timestamp,
    ) -> Result<(), Error> {
        let since = |span| {
            started
                .checked_sub(span)
                .unwrap_or(Timestamp::MIN)
                .as_microsecond()
        };
        let all = |since| RecheckScope::All {
            since,
            before: started,
        };
        let (recheck, most) = match again {
            Some(RecheckSpan::Off) => return Ok(()),
            Some(RecheckSpan::All) => (all(i64::MIN), u32::MAX),
            Some(RecheckSpan::Last(span)) => (all(since(span)), u32::MAX),
            None => (
                RecheckScope::Due {
                    since: since(RECENT_AGE),
                },
                MAX_DUE_REQUESTS,
            ),
        };
        let engine = self
            .engine
            .with_priority(&RequestHandle::new(Priority::Recheck));
        let due = engine.count_due(recheck).await?;
        // Pages hold more than what is due, so that other rows are confirmed with them.
        let unconfirmed = match recheck {
            RecheckScope::Due { since } if due > 0 => all(since),
            recheck => recheck,
        };
        let before = if unconfirmed == recheck {
            due
        } else {
            engine.count_due(unconfirmed).await?
        };
        let (gone, begun) = (self.count_deleted()?, (self.clock)());
        let (mut requests, mut changes, mut failed) = (0, 0, None);
        while requests < most {
            match engine.recheck(recheck).await {
                Ok(Some(synced)) => {
                    (requests, changes) = (requests + 1, changes + synced.changes);
                    self.totals.add_run(&synced);
                }
                Ok(None) => break,
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
            let left = due
                .saturating_sub(u64::from(requests) * u64::from(MAX_LIMIT))
                .min(u64::from(most - requests) * u64::from(MAX_LIMIT));
            let each = (self.clock)().duration_since(begun).as_millis() / i128::from(requests);
            let time = format_remaining(each * i128::from(left.div_ceil(MAX_LIMIT.into())) / 1000);
            self.out.show_progress(&format!(
                "re-reading statuses: {} to go, {} changed{time}",
                group_digits(left, ' '),
                group_digits(changes, ' ')
            ));
        }
        let left = engine.count_due(recheck).await?;
        let statuses = before.saturating_sub(if unconfirmed == recheck {
            left
        } else {
            engine.count_due(unconfirmed).await?
        });
        self.totals.recheck = Some(RecheckTotals {
            statuses,
            changes,
            gone: self.count_deleted()?.saturating_sub(gone),
            left,
        });
        if left > 0 {
            self.out.show_progress("");
            self.out.note(&match again {
                None => format!(
                    "{} of the last 72 h are due; --recheck 72h reads them all",
                    format_statuses(left)
                ),
                Some(_) => format!(
                    "{} could not be read again; the next run retries them",
                    format_statuses(left)
                ),
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// How many emails the service does not have any more.
    fn count_deleted(&self) -> Result<u64, Error> {
        let query = Query {
            filter: Node::Term(Term::Is(EmailClass::Gone)),
            sort: SortOrder::Newest,
        };
        Ok(
            match self.engine.archive().count_matches(
                &query,
                u64::MAX,
                &CancellationToken::default(),
            )? {
                Some(MatchCount::Exactly(count) | MatchCount::MoreThan(count)) => count,
                None => 0,
            },
        )
    }

    async fn fetch_bodies(&mut self, back: sync::SyncDepth) -> Result<(), Error> {
        let Self {
            engine,
            clock,
            totals: tally,
            out,
            ..
        } = self;
        let started = clock();
        let (before, bad) = (tally.bodies, tally.unreadable_bodies);
        let done = engine.fetch_bodies(back, |done| {
            (tally.bodies, tally.unreadable_bodies) = (before + done.stored, bad + done.invalid);
            let each = clock().duration_since(started).as_millis()
                / i128::from((done.stored + done.missing + done.invalid).max(1));
            let left = format_remaining(each * i128::from(done.remaining) / 1000);
            out.show_progress(&format!(
                "{} bodies here, {} to go{left}",
                group_digits(tally.bodies, ' '),
                group_digits(done.remaining, ' ')
            ));
        });
        let done = done.await?;
        if done.invalid > 0 {
            out.note(&format!(
                "{} bodies could not be read; the next run retries them",
                group_digits(done.invalid, ' ')
            ));
        }
        done.error.map_or(Ok(()), Err)
    }

    /// Goes on with what is new, and with the statuses that are due. A service that fails is asked again
    /// later.
    async fn watch(
        &mut self,
        sync: &args::SyncArgs,
        mut trouble: Option<Error>,
    ) -> Result<(), CommandExit> {
        let mut failures = 0;
        loop {
            match &trouble {
                None if failures > 0 => self.out.note("the service answers again"),
                Some(failure) if failures == 0 => self
                    .out
                    .note(&format!("{}; it is asked again later", failure.message)),
                _ => {}
            }
            failures = if trouble.is_some() { failures + 1 } else { 0 };
            let asked_for = trouble
                .take()
                .map(|failure| failure.cooldown())
                .unwrap_or_default();
            let pause = REFRESH_INTERVAL
                .saturating_mul(1 << failures.min(2))
                .max(asked_for);
            let pause = pause.mul_f64(1.0 + fastrand::f64() / 4.0);
            if failures == 0 {
                self.backfill_during_pause(pause).await?;
            } else {
                sleep(pause).await;
            }
            if let Err(failure) = self.refresh_once(sync).await {
                if !failure.kind.is_service_error() {
                    return Err(failure.into());
                }
                trouble = Some(failure);
            }
        }
    }

    /// Fetches older mail during a pause, if the profile says so; a page that fails is requested
    /// again after the next refresh.
    async fn backfill_during_pause(&mut self, pause: Duration) -> Result<(), Error> {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.is_backfilled()? {
            match self.engine.backfill().await {
                Ok(Some(synced)) => {
                    let (before, over) = (self.totals.coverage.clone(), synced.new == 0);
                    self.totals.add_run(&synced);
                    self.out
                        .show_progress(&self.totals.summary(false, &self.zone));
                    if over && before == synced.coverage {
                        break;
                    }
                }
                Ok(None) | Err(_) => break,
            }
        }
        sleep_until(until).await;
        Ok(())
    }

    /// Whether the archive reaches as far back as the profile's `backfill`.
    fn is_backfilled(&self) -> Result<bool, Error> {
        let until = match self.backfill {
            Backfill::Off => return Ok(true),
            Backfill::Last(span) => (self.clock)().checked_sub(span).unwrap_or(Timestamp::MIN),
            Backfill::All => Timestamp::MIN,
        };
        Ok(match self.engine.archive().coverage()? {
            Coverage::Complete => true,
            Coverage::Since(stamp) => stamp.parsed.is_none_or(|at| at <= until),
            Coverage::Unknown => false,
        })
    }

    async fn refresh_once(&mut self, sync: &args::SyncArgs) -> Result<(), Error> {
        let synced = self
            .engine
            .with_priority(&RequestHandle::new(Priority::Refresh))
            .refresh()
            .await?;
        self.totals.add_run(&synced);
        if synced.stop_reason == StopReason::OtherProcess {
            let line = format!(
                "another sentbox process is syncing; {}",
                describe_coverage(&synced.coverage, &self.zone)
            );
            self.out.show_progress(&line);
            return Ok(());
        }
        if let StopReason::Failed(failure) = synced.stop_reason {
            return Err(failure);
        }
        let now = (self.clock)();
        self.out
            .show_progress(&self.totals.summary(sync.bodies, &self.zone));
        let pages = if sync.recheck == Some(RecheckSpan::Off) {
            0
        } else {
            RECHECK_PAGES
        };
        for _ in 0..pages {
            let Some(synced) = self
                .engine
                .with_priority(&RequestHandle::new(Priority::Recheck))
                .recheck(RecheckScope::background(now))
                .await?
            else {
                break;
            };
            self.totals.add_run(&synced);
        }
        if sync.bodies {
            self.fetch_bodies(sync::SyncDepth::Until(
                now.checked_sub(RECENT_AGE).unwrap_or(Timestamp::MIN),
            ))
            .await
        } else {
            Ok(())
        }
    }
}

/// `1 204 statuses`.
fn format_statuses(number: u64) -> String {
    format!(
        "{} {}",
        group_digits(number, ' '),
        if number == 1 { "status" } else { "statuses" }
    )
}

/// Why the walk did not get as far as it was asked to, if it did not.
pub(super) fn stop_error(stopped: &StopReason) -> Option<Error> {
    match stopped {
        StopReason::Done | StopReason::End | StopReason::OtherProcess => None,
        StopReason::PageLimit => Some(
            Error::new(
                ErrorKind::RateLimited,
                "there is more than one run may ask for",
            )
            .with_hint("run it again to go on"),
        ),
        StopReason::NoProgress => {
            let failure = Error::new(
                ErrorKind::NotTheApi,
                "the service says that there is more, but sends nothing new",
            );
            Some(failure.with_hint("what is here is kept; there may be more"))
        }
        StopReason::Unreadable => {
            let failure = Error::new(
                ErrorKind::NotTheApi,
                "not every email on the service's pages could be read",
            );
            Some(
                failure
                    .with_hint("the others are kept; run it again later to fetch what is missing"),
            )
        }
        StopReason::NoLiveCursor => Some(
            Error::new(
                ErrorKind::NotFound,
                "the service no longer knows where to go on from",
            )
            .with_hint("run it again to start from the newest"),
        ),
        StopReason::Failed(failure) => Some(failure.clone()),
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
