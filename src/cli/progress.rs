//! What a `sync` has brought so far, as a line that moves and as the report at the end.

use crate::text::format::{group_digits, plural};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::format::describe_coverage;
use super::output::{CommandExit, Output, OutputFormat};
use crate::archive::Coverage;
use crate::sync::{SyncDepth, SyncReport};

/// What was brought.
pub(super) struct SyncTotals {
    started: Timestamp,
    /// How far back the archive was complete at the start.
    initial_coverage: Coverage,
    new: u64,
    changes: u64,
    pages: u64,
    /// New emails, changes and pages of the current sync run.
    pub(super) current_run: Option<(u64, u64, u64)>,
    pub(super) bodies: u64,
    pub(super) unreadable_bodies: u64,
    pub(super) coverage: Coverage,
    /// Whether the service has answered at all.
    pub(super) has_answer: bool,
    /// What reading statuses again has brought.
    pub(super) recheck: Option<RecheckTotals>,
}

/// What reading statuses again has brought.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct RecheckTotals {
    /// Statuses that were confirmed.
    pub(super) statuses: u64,
    /// Emails whose status has changed.
    pub(super) changes: u64,
    /// Emails that the service no longer has.
    pub(super) gone: u64,
    /// Statuses that are still to be confirmed.
    pub(super) left: u64,
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
    /// Result of reading statuses again, if that was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck: Option<RecheckTotals>,
    /// Whether the archive has everything that the service lists.
    complete: bool,
    /// Time from which on the archive is complete, if not `complete`.
    since: Option<String>,
}

impl SyncTotals {
    /// Nothing yet.
    pub(super) const fn new(started: Timestamp, began: Coverage) -> Self {
        let reach = Coverage::Unknown;
        Self {
            started,
            initial_coverage: began,
            new: 0,
            changes: 0,
            pages: 0,
            current_run: None,
            bodies: 0,
            unreadable_bodies: 0,
            coverage: reach,
            has_answer: false,
            recheck: None,
        }
    }

    /// Adds what a walk has brought that is over.
    pub(super) fn add_run(&mut self, synced: &SyncReport) {
        self.current_run = None;
        self.new += synced.new;
        self.changes += synced.changes;
        self.pages += synced.pages;
        self.coverage = synced.coverage.clone();
        self.has_answer = true;
    }

    /// New emails, changes and pages.
    fn totals(&self) -> (u64, u64, u64) {
        let (new, changes, pages) = self.current_run.unwrap_or_default();
        (self.new + new, self.changes + changes, self.pages + pages)
    }

    /// `1 200 emails new, 3 changed; re-read 350 statuses, 2 changed, 1 gone; all mail since 3 May 2026 09:14 is here`.
    pub(super) fn summary(&self, bodies: bool, zone: &TimeZone) -> String {
        let (new, changes, _) = self.totals();
        let noun = if self.bodies == 1 { "body" } else { "bodies" };
        let bodies = if bodies {
            format!(", {} {noun}", group_digits(self.bodies, ' '))
        } else {
            String::new()
        };
        let rechecked = match self.recheck {
            Some(RecheckTotals {
                statuses,
                changes,
                gone,
                ..
            }) if statuses + changes + gone > 0 => {
                let noun = if statuses == 1 { "status" } else { "statuses" };
                format!(
                    "; re-read {} {noun}, {} changed, {} gone",
                    group_digits(statuses, ' '),
                    group_digits(changes, ' '),
                    group_digits(gone, ' ')
                )
            }
            Some(_) | None => String::new(),
        };
        format!(
            "{} new, {} changed{bodies}{rechecked}; {}",
            plural(new, "email"),
            group_digits(changes, ' '),
            describe_coverage(&self.coverage, zone)
        )
    }

    /// The same with the rate, and with the time left where it can be known.
    pub(super) fn progress_line(&self, now: Timestamp, back: SyncDepth, zone: &TimeZone) -> String {
        let elapsed = now.duration_since(self.started).as_secs();
        let mut line = self.summary(false, zone);
        let (new, ..) = self.totals();
        if elapsed > 0 && new > 0 {
            line = format!(
                "{line}; {} a second",
                group_digits(new / elapsed.unsigned_abs(), ' ')
            );
        }
        line + &self
            .seconds_left(elapsed, back)
            .map(format_remaining)
            .unwrap_or_default()
    }

    /// Seconds until the walk has come as far back as it is to go, if it goes on as it went.
    fn seconds_left(&self, elapsed: i64, back: SyncDepth) -> Option<i128> {
        let SyncDepth::Until(until) = back else {
            return None;
        };
        let at = |reach: &Coverage| match reach {
            Coverage::Since(stamp) => stamp.parsed,
            Coverage::Complete | Coverage::Unknown => None,
        };
        let now_at = at(&self.coverage)?;
        // Without an archive the walk began at the present.
        let began_at = at(&self.initial_coverage)
            .unwrap_or(self.started)
            .max(now_at);
        let covered = began_at.duration_since(now_at).as_secs();
        let ahead = now_at.duration_since(until).as_secs();
        (covered > 0 && ahead > 0 && elapsed > 0)
            .then(|| i128::from(elapsed) * i128::from(ahead) / i128::from(covered))
    }

    /// The report at the end.
    pub(super) fn write_report(
        &self,
        bodies: bool,
        zone: &TimeZone,
        out: &mut Output,
    ) -> Result<(), CommandExit> {
        let text = match out.format {
            OutputFormat::Human => self.summary(bodies, zone),
            OutputFormat::Json | OutputFormat::JsonLines => {
                let (new, changes, pages) = self.totals();
                let since = match &self.coverage {
                    Coverage::Since(stamp) => Some(
                        stamp
                            .parsed
                            .map_or_else(|| stamp.raw.to_string(), |at| at.to_string()),
                    ),
                    Coverage::Complete | Coverage::Unknown => None,
                };
                let complete = self.coverage == Coverage::Complete;
                let report = SyncJson {
                    new,
                    changes,
                    pages,
                    bodies: bodies.then_some(self.bodies),
                    recheck: self.recheck,
                    complete,
                    since,
                };
                serde_json::to_string(&report).expect("numbers and texts are JSON")
            }
        };
        out.write_data(&(text + "\n"))?;
        out.flush()
    }
}

/// `; about 3 min left`; nothing if it is only a moment.
pub(super) fn format_remaining(seconds: i128) -> String {
    match seconds {
        ..1 => String::new(),
        1..90 => format!("; about {seconds} s left"),
        90..5400 => format!("; about {} min left", seconds / 60),
        _ => format!("; about {} h left", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::ApiTime;

    #[test]
    fn remaining_time_is_shown_when_total_is_known() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = |text: &str| Coverage::Since(ApiTime::parse(text));
        let mut tally = SyncTotals::new(at("2026-11-20T12:00:00Z"), since("2026-11-19T12:00:00Z"));
        tally.current_run = Some((600, 2, 6));
        tally.coverage = since("2026-11-18T12:00:00Z");
        let now = at("2026-11-20T12:01:00Z");
        let until = SyncDepth::Until(at("2026-11-15T12:00:00Z"));
        assert_eq!(
            tally.progress_line(now, until, &TimeZone::UTC),
            "600 emails new, 2 changed; all mail since 18 Nov 2026 12:00 is here; 10 a second; about 3 min left"
        );
        tally.current_run = Some((1, 0, 1));
        assert!(
            tally
                .summary(true, &TimeZone::UTC)
                .starts_with("1 email new, 0 changed, 0 bodies; ")
        );
        tally.current_run = Some((600, 2, 6));
        let line = tally.progress_line(now, SyncDepth::All, &TimeZone::UTC);
        assert!(
            line.ends_with("10 a second"),
            "the total is unknown: {line}"
        );
        assert_eq!(format_remaining(0), "");
        assert_eq!(format_remaining(7200), "; about 2 h left");
    }
}
