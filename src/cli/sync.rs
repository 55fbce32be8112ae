//! `sync`: mirrors the service into the archive, and says how far that got.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep, sleep_until};

use super::args;
use super::output::{Output, Stop};
use super::tally::{Rechecked, Tally, remaining};
use super::words::{grouped, reach};
use crate::api::{Access, Client, MAX_LIMIT, Patience, Service, Urgency, Wish, jitter};
use crate::archive::{Archive, Counted, Halt, Lease, Reach};
use crate::config::clock::Clock;
use crate::config::{self, Backfill, Settings};
use crate::failure::{Failure, Kind};
use crate::query::{Is, Node, Query, Sort, Term};
use crate::sync::{self, Engine, Recheck, Stopped};

/// How often the newest hundred emails are read again.
const REFRESH: Duration = Duration::from_secs(30);
/// Bodies of mail of this age are fetched with `--bodies --watch`.
const RECENT: SignedDuration = SignedDuration::from_hours(72);
/// Due pages that are read between two looks for new mail.
const RECHECK_PAGES: u32 = 10;
/// Requests for due statuses that are made after the walk if nothing else is said.
const DUE_REQUESTS: u32 = 100;

/// How far back to go, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// To the very first email.
    All,
    /// So long before now.
    Span(SignedDuration),
}

/// Reads `all`, or a number of hours, days or weeks.
///
/// # Errors
///
/// If it is neither; the text says what is allowed.
pub fn back(text: &str) -> Result<Back, String> {
    if text == "all" {
        return Ok(Back::All);
    }
    config::age(text)
        .map(Back::Span)
        .ok_or_else(|| format!("say all, or {}", config::AGES))
}

/// Which statuses to read again, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// None.
    Off,
    /// Those of all mail.
    All,
    /// Those of mail that is not older than this.
    Span(SignedDuration),
}

/// Reads `off`, `all`, or a number of hours, days or weeks.
///
/// # Errors
///
/// If it is none of these; the text says what is allowed.
pub fn again(text: &str) -> Result<Again, String> {
    match text {
        "off" => Ok(Again::Off),
        "all" => Ok(Again::All),
        text => config::age(text)
            .map(Again::Span)
            .ok_or_else(|| format!("say all, off, or {}", config::AGES)),
    }
}

/// Fetches what is new, then what is older, then bodies if they are wanted, until it is all there or
/// something ends it; with `--watch`, nothing but a signal or a fault of this machine does.
///
/// # Errors
///
/// If the service or the archive fails; what was fetched until then is kept, and reported first.
pub(super) async fn run(
    sync: &args::Sync,
    archive: &Archive,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    let (tally, outcome) = mirror(sync, archive, settings, clock, out).await?;
    if matches!(outcome, Err(Stop::Signal(_))) && !sync.watch {
        let is_whole = matches!(sync.recheck, Some(Again::All | Again::Span(_)));
        out.note(if is_whole {
            "interrupted; what was read is kept"
        } else {
            "interrupted; the same command goes on from here"
        });
    }
    if tally.asked {
        tally.report(sync.bodies, &settings.zone, out)?;
    }
    outcome
}

/// The same as far `back` as is said and without a report, for a command that needs what is fetched.
///
/// # Errors
///
/// As [`run`].
pub(super) async fn extend(
    back: Back,
    archive: &Archive,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<(), Stop> {
    let sync = args::Sync {
        back,
        recheck: Some(Again::Off),
        bodies: false,
        watch: false,
    };
    mirror(&sync, archive, settings, clock, out).await?.1
}

/// How often it is looked whether another process still walks back.
const LOOK: Duration = Duration::from_secs(1);

/// What was brought, and how it ended.
type Mirrored = (Tally, Result<(), Stop>);

async fn mirror(
    sync: &args::Sync,
    archive: &Archive,
    settings: &Settings,
    clock: &Clock,
    out: &mut Output,
) -> Result<Mirrored, Stop> {
    // Nobody waits at a screen, and the team's own sending goes first.
    let client = Client::new(Access::from(settings), Patience::STEADY, clock.clone());
    let client = super::patient(client, out).wanted(&Wish::of(Urgency::Extend));
    let reach = archive.reach()?;
    let engine = Engine::new(Arc::new(client), archive.clone(), clock.clone());
    let mut signals = super::signals()?;
    let back = match sync.back {
        Back::All => sync::Back::All,
        Back::Span(span) => sync::Back::Until(clock().checked_sub(span).unwrap_or(Timestamp::MIN)),
    };
    let tally = Tally::new(clock(), reach);
    let mut mirror = Mirror {
        engine,
        back,
        backfill: settings.backfill,
        clock: clock.clone(),
        zone: settings.zone.clone(),
        tally,
        out,
    };
    let outcome = tokio::select! {
        outcome = mirror.run(sync) => outcome,
        number = signals.recv() => Err(Stop::Signal(number)),
    };
    mirror.out.progress("");
    Ok((mirror.tally, outcome))
}

/// One run of the command.
struct Mirror<'a, S> {
    engine: Engine<S>,
    back: sync::Back,
    /// How far back the profile wants mail to be fetched in any case.
    backfill: Backfill,
    clock: Clock,
    zone: TimeZone,
    tally: Tally,
    out: &'a mut Output,
}

impl<S: Service> Mirror<'_, S> {
    async fn run(&mut self, sync: &args::Sync) -> Result<(), Stop> {
        let started = (self.clock)();
        let mut stop = self.walk().await.err();
        if stop.is_none() {
            stop = self.recheck(sync.recheck, started).await.err();
        }
        if stop.is_none() && sync.bodies {
            stop = self.bodies(self.back).await.err();
        }
        match stop {
            Some(failure) if !(sync.watch && passes(&failure)) => Err(failure.into()),
            stop if sync.watch => self.watch(sync, stop).await,
            _ => Ok(()),
        }
    }

    /// Walks back, unless another process does: then that one is waited for, and what it leaves is walked.
    async fn walk(&mut self) -> Result<(), Failure> {
        let lease = self.engine.archive().walk().clone();
        let mut told = false;
        while !lease.hold((self.clock)()) {
            if !std::mem::replace(&mut told, true) {
                self.out.note(
                    "another sentbox is fetching older mail already; waiting until it is done",
                );
            }
            let line = format!(
                "waiting for another sentbox; {}",
                reach(&self.engine.archive().reach()?, &self.zone)
            );
            self.out.progress(&line);
            sleep(LOOK).await;
        }
        let walked = self.walk_alone(&lease).await;
        lease.release();
        walked
    }

    async fn walk_alone(&mut self, lease: &Lease) -> Result<(), Failure> {
        let Self {
            engine,
            back,
            clock,
            zone,
            tally,
            out,
            ..
        } = self;
        let synced = engine.all(*back, |synced| {
            // Held anew with each page: whoever is stopped for long has lost it.
            let _ = lease.hold(clock());
            tally.reach = synced.reach.clone();
            tally.walked = Some((synced.new, synced.changes, synced.pages));
            tally.asked = true;
            out.progress(&tally.progress(clock(), *back, zone));
        });
        let synced = synced.await?;
        tally.take(&synced);
        failed(&synced.stopped).map_or(Ok(()), Err)
    }

    /// Reads the statuses again that are due; or all of the age that is said, which this run has not
    /// confirmed since it `started`.
    async fn recheck(&mut self, again: Option<Again>, started: Timestamp) -> Result<(), Failure> {
        let since = |span| {
            started
                .checked_sub(span)
                .unwrap_or(Timestamp::MIN)
                .as_microsecond()
        };
        let all = |since| Recheck::All {
            since,
            before: started,
        };
        let (recheck, most) = match again {
            Some(Again::Off) => return Ok(()),
            Some(Again::All) => (all(i64::MIN), u32::MAX),
            Some(Again::Span(span)) => (all(since(span)), u32::MAX),
            None => (
                Recheck::Due {
                    since: since(RECENT),
                },
                DUE_REQUESTS,
            ),
        };
        let engine = self.engine.wanted(&Wish::of(Urgency::Status));
        let due = engine.count_due(recheck).await?;
        // Pages hold more than what is due, so that other rows are confirmed with them.
        let unconfirmed = match recheck {
            Recheck::Due { since } if due > 0 => all(since),
            recheck => recheck,
        };
        let before = if unconfirmed == recheck {
            due
        } else {
            engine.count_due(unconfirmed).await?
        };
        let (gone, begun) = (self.gone()?, (self.clock)());
        let (mut requests, mut changes, mut failed) = (0, 0, None);
        while requests < most {
            match engine.recheck(recheck).await {
                Ok(Some(synced)) => {
                    (requests, changes) = (requests + 1, changes + synced.changes);
                    self.tally.take(&synced);
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
            let time = remaining(each * i128::from(left.div_ceil(MAX_LIMIT.into())) / 1000);
            self.out.progress(&format!(
                "re-reading statuses: {} to go, {} changed{time}",
                grouped(left),
                grouped(changes)
            ));
        }
        let left = engine.count_due(recheck).await?;
        let statuses = before.saturating_sub(if unconfirmed == recheck {
            left
        } else {
            engine.count_due(unconfirmed).await?
        });
        self.tally.rechecked = Some(Rechecked {
            statuses,
            changes,
            gone: self.gone()?.saturating_sub(gone),
            left,
        });
        if left > 0 {
            self.out.progress("");
            self.out.note(&match again {
                None => format!(
                    "{} of the last 72 h are due; --recheck 72h reads them all",
                    statuses_of(left)
                ),
                Some(_) => format!(
                    "{} could not be read again; the next run asks for them once more",
                    statuses_of(left)
                ),
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// How many emails the service does not have any more.
    fn gone(&self) -> Result<u64, Failure> {
        let query = Query {
            filter: Node::Term(Term::Is(Is::Gone)),
            sort: Sort::Newest,
        };
        Ok(
            match self
                .engine
                .archive()
                .count_matching(&query, u64::MAX, &Halt::default())?
            {
                Some(Counted::Exactly(count) | Counted::MoreThan(count)) => count,
                None => 0,
            },
        )
    }

    async fn bodies(&mut self, back: sync::Back) -> Result<(), Failure> {
        let Self {
            engine,
            clock,
            tally,
            out,
            ..
        } = self;
        let started = clock();
        let (before, bad) = (tally.bodies, tally.bad);
        let done = engine.bodies(back, |done| {
            (tally.bodies, tally.bad) = (before + done.kept, bad + done.bad);
            let each = clock().duration_since(started).as_millis()
                / i128::from((done.kept + done.gone + done.bad).max(1));
            let left = remaining(each * i128::from(done.left) / 1000);
            out.progress(&format!(
                "{} bodies here, {} to go{left}",
                grouped(tally.bodies),
                grouped(done.left)
            ));
        });
        let done = done.await?;
        if done.bad > 0 {
            out.note(&format!(
                "{} bodies could not be read; the next run asks for them again",
                grouped(done.bad)
            ));
        }
        done.failed.map_or(Ok(()), Err)
    }

    /// Goes on with what is new, and with the statuses that are due. A service that fails is asked again
    /// later.
    async fn watch(&mut self, sync: &args::Sync, mut trouble: Option<Failure>) -> Result<(), Stop> {
        let mut failures = 0;
        loop {
            match &trouble {
                None if failures > 0 => self.out.note("the service answers again"),
                Some(failure) if failures == 0 => self
                    .out
                    .note(&format!("{}; it is asked again later", failure.sentence)),
                _ => {}
            }
            failures = if trouble.is_some() { failures + 1 } else { 0 };
            let asked_for = trouble
                .take()
                .map(|failure| failure.rest())
                .unwrap_or_default();
            let pause = REFRESH.saturating_mul(1 << failures.min(2)).max(asked_for);
            let pause = pause.mul_f64(1.0 + jitter() / 4.0);
            if failures == 0 {
                self.fill(pause).await?;
            } else {
                sleep(pause).await;
            }
            if let Err(failure) = self.tick(sync).await {
                if !passes(&failure) {
                    return Err(failure.into());
                }
                trouble = Some(failure);
            }
        }
    }

    /// Spends a pause with fetching older mail, if the profile wants that; a page that fails is asked for
    /// again after the next refresh.
    async fn fill(&mut self, pause: Duration) -> Result<(), Failure> {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.reaches_far_enough()? {
            match self.engine.fill().await {
                Ok(Some(synced)) => {
                    let (before, over) = (self.tally.reach.clone(), synced.new == 0);
                    self.tally.take(&synced);
                    self.out.progress(&self.tally.words(false, &self.zone));
                    if over && before == synced.reach {
                        break;
                    }
                }
                Ok(None) | Err(_) => break,
            }
        }
        sleep_until(until).await;
        Ok(())
    }

    /// Whether the archive reaches as far back as the profile wants.
    fn reaches_far_enough(&self) -> Result<bool, Failure> {
        let until = match self.backfill {
            Backfill::Off => return Ok(true),
            Backfill::Span(span) => (self.clock)().checked_sub(span).unwrap_or(Timestamp::MIN),
            Backfill::All => Timestamp::MIN,
        };
        Ok(match self.engine.archive().reach()? {
            Reach::Everything => true,
            Reach::Since(stamp) => stamp.at.is_none_or(|at| at <= until),
            Reach::Nothing => false,
        })
    }

    async fn tick(&mut self, sync: &args::Sync) -> Result<(), Failure> {
        let synced = self.engine.wanted(&Wish::of(Urgency::Head)).head().await?;
        self.tally.take(&synced);
        if synced.stopped == Stopped::Elsewhere {
            let line = format!(
                "another sentbox asks the service; {}",
                reach(&synced.reach, &self.zone)
            );
            self.out.progress(&line);
            return Ok(());
        }
        if let Stopped::Failed(failure) = synced.stopped {
            return Err(failure);
        }
        let now = (self.clock)();
        self.out
            .progress(&self.tally.words(sync.bodies, &self.zone));
        let pages = if sync.recheck == Some(Again::Off) {
            0
        } else {
            RECHECK_PAGES
        };
        for _ in 0..pages {
            let Some(synced) = self
                .engine
                .wanted(&Wish::of(Urgency::Status))
                .recheck(Recheck::background(now))
                .await?
            else {
                break;
            };
            self.tally.take(&synced);
        }
        if sync.bodies {
            self.bodies(sync::Back::Until(
                now.checked_sub(RECENT).unwrap_or(Timestamp::MIN),
            ))
            .await
        } else {
            Ok(())
        }
    }
}

/// Whether a failure is one that may be over the next time. A redirect or a refusal may come from
/// something in between, such as the log-in page of a network.
const fn passes(failure: &Failure) -> bool {
    match failure.kind {
        Kind::RateLimited
        | Kind::Quota
        | Kind::Server
        | Kind::Unreachable
        | Kind::NotTheApi
        | Kind::Redirected
        | Kind::InvalidRequest
        | Kind::TimedOut
        | Kind::NotFound => true,
        Kind::Usage
        | Kind::KeyMissing
        | Kind::KeyRejected
        | Kind::KeySendOnly
        | Kind::NoSuchPart
        | Kind::Archive
        | Kind::Config
        | Kind::Io
        | Kind::Internal => false,
    }
}

/// `1 204 statuses`.
fn statuses_of(number: u64) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { "status" } else { "statuses" }
    )
}

/// Why the walk did not get as far as it was asked to, if it did not.
pub(super) fn failed(stopped: &Stopped) -> Option<Failure> {
    match stopped {
        Stopped::Done | Stopped::End | Stopped::Elsewhere => None,
        Stopped::Budget => Some(
            Failure::new(Kind::RateLimited, "there is more than one run may ask for")
                .hint("run it again to go on"),
        ),
        Stopped::NoProgress => {
            let failure = Failure::new(
                Kind::NotTheApi,
                "the service says that there is more, but sends nothing new",
            );
            Some(failure.hint("what is here is kept; there may be more"))
        }
        Stopped::Unreadable => {
            let failure = Failure::new(
                Kind::NotTheApi,
                "not every email on the service's pages could be read",
            );
            Some(failure.hint("the others are kept; run it again later to fetch what is missing"))
        }
        Stopped::CursorGone => Some(
            Failure::new(
                Kind::NotFound,
                "the service no longer knows where to go on from",
            )
            .hint("run it again to start from the newest"),
        ),
        Stopped::Failed(failure) => Some(failure.clone()),
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
