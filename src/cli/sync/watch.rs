//! `sync --watch` and `watch`: refreshes until a signal ends them.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::SyncCommand;
use crate::api::{ChangeStream, EmailApi, Priority};
use crate::archive::{PeerNotice, PeerNoticeReceiver};
use crate::cli::args::SyncArgs;
use crate::cli::output::CommandExit;
use crate::cli::output::format::describe_coverage_as_of;
use crate::config::HistorySpan;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{RECHECK_PAGES, RecheckScope, StopReason, refresh_pause};
use crate::tasks::result_of_joined;

/// Time in which the changes of other processes are collected.
const NOTICE_PAUSE: Duration = Duration::from_millis(500);

impl<S: EmailApi> SyncCommand<'_, S> {
    /// Continues with new mail and due statuses.
    ///
    /// If the service fails, or the server of the archive, it retries after a pause.
    pub(super) async fn watch(
        &mut self,
        args: &SyncArgs,
        mut last_error: Option<Error>,
    ) -> Result<(), CommandExit> {
        let (mut failing, mut failures) = (None, 0);
        loop {
            if let Some(exit) = self.closed.take() {
                return Err(exit);
            }
            self.note_failure(failing, last_error.as_ref());
            failing = last_error.as_ref().map(|error| error.kind);
            failures = failing.map_or(0, |_| failures + 1);
            let cooldown = last_error.take().map(|error| error.cooldown());
            let pause = refresh_pause(failures, cooldown.unwrap_or_default());
            match self.refresh_after(pause, failing.is_some(), args).await {
                Err(error) if !error.kind.may_pass() => return Err(error.into()),
                result => last_error = result.err(),
            }
        }
    }

    /// Notes the first of several failures, and their end.
    fn note_failure(&mut self, before: Option<ErrorKind>, now: Option<&Error>) {
        let note = match (before, now) {
            (None, Some(error)) => format!("{}; retrying", error.message),
            (Some(kind), None) if kind.is_archive_error() => "the archive answers again".to_owned(),
            (Some(_), None) => "the service answers again".to_owned(),
            (None, None) | (Some(_), Some(_)) => return,
        };
        self.out.note(&note);
    }

    /// Refreshes after a pause, in which older mail is fetched unless something failed.
    async fn refresh_after(
        &mut self,
        pause: Duration,
        has_failed: bool,
        args: &SyncArgs,
    ) -> Result<()> {
        if has_failed {
            sleep(pause).await;
        } else {
            self.backfill_during_pause(pause).await?;
        }
        self.refresh_once(args).await
    }

    /// Fetches older mail during a pause, if the profile says so.
    ///
    /// A page that fails is requested again after the next refresh, which reports the error if it lasts.
    async fn backfill_during_pause(&mut self, pause: Duration) -> Result<()> {
        let until = Instant::now() + pause;
        let start = self.backfill.start((self.clock)());
        let engine = self.engine.clone();
        let backfill = engine.backfill_until(start, until, |report| {
            self.add_run(report);
            self.print_page((report.new, report.changes), report);
            let now = (self.clock)();
            self.out
                .show_progress(&self.totals.summary(false, now, &self.zone));
        });
        let _ = backfill.await;
        self.follow_until(until).await
    }

    /// Waits. What a mirror reports meanwhile is stored and printed,
    /// and what other processes store is printed.
    pub(super) async fn follow_until(&mut self, until: Instant) -> Result<()> {
        if self.following.is_empty() {
            self.follow(None);
        }
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                Some(stream) = self.following.join_next() => {
                    self.print_changes_of_others().await?;
                    self.follow(result_of_joined(stream));
                }
                () = wait_for_change(&mut self.peers) => {
                    self.print_changes_of_others().await?;
                    sleep_until((Instant::now() + NOTICE_PAUSE).min(until)).await;
                }
            }
        }
    }

    /// Waits in the background for the next changes, if the service is a mirror.
    fn follow(&mut self, stream: Option<ChangeStream>) {
        if self.engine.service().is_mirror() {
            self.following.spawn(self.engine.follower().follow(stream));
        }
    }

    fn has_gap(&self) -> Result<bool> {
        let archive = self.engine.archive();
        self.events
            .as_ref()
            .map_or(Ok(false), |events| events.has_gap(archive))
    }

    /// Prints what others have stored: to a request of this process, it is not new.
    pub(super) async fn print_changes_of_others(&mut self) -> Result<()> {
        let report = self.engine.poll_changes().await?;
        self.add_run(&report);
        Ok(())
    }

    async fn refresh_once(&mut self, args: &SyncArgs) -> Result<()> {
        let engine = self.engine.with_priority(Priority::Refresh);
        self.print_changes_of_others().await?;
        let mut report = engine.refresh().await?;
        self.add_run(&report);
        if report.stop_reason == StopReason::PageLimit {
            // More has arrived than one refresh may read.
            while self.has_gap()? && report.new > 0 {
                report = engine.load_older().await?;
                self.add_run(&report);
            }
        }
        if let StopReason::Failed(error) = report.stop_reason {
            return Err(error);
        }
        if report.stop_reason == StopReason::OtherProcess {
            let (refreshed, now) = (report.refreshed_at, (self.clock)());
            let coverage = describe_coverage_as_of(&report.coverage, refreshed, now, &self.zone);
            let line = format!("another sentbox process is syncing; {coverage}");
            self.out.show_progress(&line);
            return self.fetch_missing_bodies(args).await;
        }
        self.print_changes_of_others().await?;
        let now = (self.clock)();
        self.out
            .show_progress(&self.totals.summary(args.bodies, now, &self.zone));
        let is_off = args.recheck == Some(HistorySpan::Off);
        let engine = self.engine.with_priority(Priority::Recheck);
        for _ in 0..if is_off { 0 } else { RECHECK_PAGES } {
            let scope = RecheckScope::background(now);
            let Some(report) = engine.recheck(scope).await? else {
                break;
            };
            self.add_run(&report);
        }
        self.fetch_missing_bodies(args).await
    }

    async fn fetch_missing_bodies(&mut self, args: &SyncArgs) -> Result<()> {
        if args.bodies {
            self.fetch_bodies().await?;
        }
        Ok(())
    }
}

/// Waits until another process has changed the archive; forever without `peers`.
async fn wait_for_change(peers: &mut Option<PeerNoticeReceiver>) {
    match peers {
        Some(peers) => while !peers.next().await.contains(&PeerNotice::Changed) {},
        None => pending().await,
    }
}
