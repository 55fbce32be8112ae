//! The totals of a `sync`, as a progress line and as the report at the end.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::archive::{Coverage, LeftOut};
use crate::cli::output::format::{
    add_left_out, coverage_time, covered_since, describe_coverage_as_of, format_remaining,
};
use crate::cli::output::{CommandExit, Output};
use crate::sync::{StopReason, SyncDepth, SyncReport};
use crate::text::format::{group_digits, plural};

pub(super) struct SyncTotals {
    started: Timestamp,
    initial_coverage: Coverage,
    /// The counts of the finished runs.
    finished: RunCounts,
    /// The counts of the finished runs, and of a run that goes on.
    counts: RunCounts,
    pub(in crate::cli) bodies: u64,
    pub(in crate::cli) purged: u64,
    pub(in crate::cli) coverage: Coverage,
    pub(super) left_out: LeftOut,
    /// Time of the newest page that `coverage` is about.
    refreshed_at: Option<Timestamp>,
    /// Whether the service has answered at all.
    pub(super) has_answer: bool,
    pub(in crate::cli) recheck: Option<RecheckTotals>,
}

#[derive(Debug, Clone, Copy, Default)]
struct RunCounts {
    new: u64,
    changes: u64,
    pages: u64,
    expired: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct RecheckTotals {
    /// Statuses of the requested time that were confirmed below the newest page;
    /// older ones of the same pages do not count.
    pub(in crate::cli) statuses: u64,
    /// Emails whose status has changed.
    pub(in crate::cli) changes: u64,
    /// Emails that, as this run found, the service no longer has.
    pub(in crate::cli) gone: u64,
    /// Statuses that are still to be confirmed.
    pub(in crate::cli) left: u64,
}

/// The report as JSON.
#[derive(Serialize)]
struct SyncJson {
    /// Emails that the archive did not have.
    new: u64,
    /// Emails whose status has changed.
    changes: u64,
    /// Pages that were fetched.
    pages: u64,
    /// Bodies that were fetched; only with `--bodies`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bodies: Option<u64>,
    /// Emails that were removed because the mirror has purged them.
    purged: u64,
    /// Emails that were removed because they were older than the profile keeps.
    expired: u64,
    /// Result of reading statuses again, if that was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck: Option<RecheckTotals>,
    /// Whether the archive has everything that the service lists,
    /// except what `archive info` has in `omitted`.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
    /// Time of `complete` and `since`, if it is more than five seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

impl SyncTotals {
    pub(in crate::cli) fn new(started: Timestamp, initial_coverage: Coverage) -> Self {
        Self {
            started,
            initial_coverage,
            finished: RunCounts::default(),
            counts: RunCounts::default(),
            bodies: 0,
            purged: 0,
            coverage: Coverage::Unknown,
            left_out: LeftOut::default(),
            refreshed_at: None,
            has_answer: false,
            recheck: None,
        }
    }

    /// Counts what a run has done so far.
    /// Returns the new emails and the changes since the last call.
    pub(super) fn count_run(&mut self, run: &SyncReport) -> (u64, u64) {
        let (before, finished) = (self.counts, self.finished);
        self.counts = RunCounts {
            new: finished.new + run.new,
            changes: finished.changes + run.changes,
            pages: finished.pages + run.pages,
            expired: finished.expired + run.expired,
        };
        // A listing without an email may be right, and no email be left. One without an end may have more.
        self.coverage = match (&run.stop_reason, &run.coverage) {
            (StopReason::OtherListing, _) | (StopReason::NoProgress, Coverage::Complete) => {
                Coverage::Unknown
            }
            (_, coverage) => coverage.clone(),
        };
        self.refreshed_at = run.refreshed_at.or(self.refreshed_at);
        self.has_answer = true;
        (
            self.counts.new.saturating_sub(before.new),
            self.counts.changes.saturating_sub(before.changes),
        )
    }

    pub(super) const fn expired(&self) -> u64 {
        self.counts.expired
    }

    pub(super) fn add_run(&mut self, run: &SyncReport) {
        self.count_run(run);
        self.finished = self.counts;
    }

    /// Formats the totals on one line.
    ///
    /// As in `1 200 emails new, 3 changed; re-read 350 statuses, 2 changed, 1 gone; all mail since 3 May
    /// 2026 09:14 is here`.
    pub(in crate::cli) fn summary(&self, bodies: bool, now: Timestamp, zone: &TimeZone) -> String {
        let counts = self.counts;
        let bodies = if bodies {
            format!(", {}", plural(self.bodies, "body"))
        } else {
            String::new()
        };
        let recheck = self
            .recheck
            .filter(|recheck| recheck.statuses + recheck.changes + recheck.gone > 0);
        let recheck = recheck.map(|recheck| {
            format!(
                "; re-read {}, {} changed, {} gone",
                plural(recheck.statuses, "status"),
                group_digits(recheck.changes, ' '),
                group_digits(recheck.gone, ' ')
            )
        });
        let reach = describe_coverage_as_of(&self.coverage, self.refreshed_at, now, zone);
        format!(
            "{} new, {} changed{bodies}{}; {}",
            plural(counts.new, "email"),
            group_digits(counts.changes, ' '),
            recheck.unwrap_or_default(),
            add_left_out(&reach, &self.coverage, self.left_out)
        )
    }

    /// Formats the summary with the rate and the estimated time left.
    pub(super) fn progress_line(&self, now: Timestamp, back: SyncDepth, zone: &TimeZone) -> String {
        let elapsed = now.duration_since(self.started).as_secs();
        let mut line = self.summary(false, now, zone);
        let new = self.counts.new;
        if elapsed > 0 && new > 0 {
            let rate = group_digits(new / elapsed.unsigned_abs(), ' ');
            line = format!("{line}; {rate} a second");
        }
        let left = self.seconds_left(elapsed, back);
        line + &left.map(format_remaining).unwrap_or_default()
    }

    /// Estimates the seconds until the run reaches its depth.
    fn seconds_left(&self, elapsed: i64, back: SyncDepth) -> Option<i128> {
        let SyncDepth::Until(until) = back else {
            return None;
        };
        let start = |coverage: &Coverage| match coverage {
            Coverage::Since(oldest) => oldest.parsed,
            Coverage::Complete | Coverage::Unknown => None,
        };
        let reached = start(&self.coverage)?;
        // Without an archive the run began at the present.
        let began = start(&self.initial_coverage).unwrap_or(self.started);
        let covered = began.max(reached).duration_since(reached).as_secs();
        let ahead = reached.duration_since(until).as_secs();
        (covered > 0 && ahead > 0 && elapsed > 0)
            .then(|| i128::from(elapsed) * i128::from(ahead) / i128::from(covered))
    }

    pub(super) fn write_report(
        &self,
        bodies: bool,
        now: Timestamp,
        zone: &TimeZone,
        out: &mut Output,
    ) -> Result<(), CommandExit> {
        let counts = self.counts;
        let report = SyncJson {
            new: counts.new,
            changes: counts.changes,
            pages: counts.pages,
            bodies: bodies.then_some(self.bodies),
            purged: self.purged,
            expired: counts.expired,
            recheck: self.recheck,
            complete: self.coverage == Coverage::Complete,
            since: covered_since(&self.coverage),
            as_of: coverage_time(self.refreshed_at, now),
        };
        out.report(&report, self.summary(bodies, now, zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::ApiTime;

    #[test]
    fn run_without_end_is_not_called_complete() {
        let mut totals = SyncTotals::new(Timestamp::UNIX_EPOCH, Coverage::Unknown);
        totals.add_run(&SyncReport {
            coverage: Coverage::Complete,
            stop_reason: StopReason::NoProgress,
            ..SyncReport::default()
        });
        let summary = totals.summary(false, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
        assert!(summary.ends_with("what is here is not confirmed to be complete"));
    }

    #[test]
    fn old_newest_page_has_its_time() {
        let now: Timestamp = "2026-11-20T12:54:00Z".parse().unwrap();
        let mut totals = SyncTotals::new(now, Coverage::Unknown);
        let mut summary = |coverage: Coverage, seconds| {
            totals.add_run(&SyncReport {
                coverage,
                refreshed_at: Some(now - jiff::SignedDuration::from_secs(seconds)),
                ..SyncReport::default()
            });
            totals.summary(false, now, &TimeZone::UTC)
        };
        let text = summary(Coverage::Complete, 5);
        assert!(text.ends_with("; everything the service has is here"));
        let text = summary(Coverage::Complete, 10);
        assert!(text.ends_with("; everything the service had at 12:53 is here"));
        let text = summary(Coverage::Unknown, 10);
        assert!(text.ends_with("; what is here is not confirmed to be complete"));
    }

    #[test]
    fn remaining_time_is_shown_when_total_is_known() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = |text: &str| Coverage::Since(ApiTime::parse(text));
        let counts = |new, changes, pages| RunCounts {
            new,
            changes,
            pages,
            expired: 0,
        };
        let mut totals = SyncTotals::new(at("2026-11-20T12:00:00Z"), since("2026-11-19T12:00:00Z"));
        totals.counts = counts(600, 2, 6);
        totals.coverage = since("2026-11-18T12:00:00Z");
        let now = at("2026-11-20T12:01:00Z");
        let until = SyncDepth::Until(at("2026-11-15T12:00:00Z"));
        let expected = "600 emails new, 2 changed; all mail since 18 Nov 2026 12:00 is here; 10 a second; about 3 min left";
        assert_eq!(totals.progress_line(now, until, &TimeZone::UTC), expected);
        totals.counts = counts(1, 0, 1);
        assert!(
            totals
                .summary(true, now, &TimeZone::UTC)
                .starts_with("1 email new, 0 changed, 0 bodies; ")
        );
        totals.counts = counts(600, 2, 6);
        let line = totals.progress_line(now, SyncDepth::All, &TimeZone::UTC);
        assert!(
            line.ends_with("10 a second"),
            "the total is unknown: {line}"
        );
        assert_eq!(format_remaining(0), "");
        assert_eq!(format_remaining(7200), "; about 2 h left");
    }
}
