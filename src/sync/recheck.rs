//! Which statuses are read again, and when: pure, so that any listing and any clock can be tried.
//!
//! A row that is not final is due when its confirmation is older than a quarter of its age. So a page is
//! read each time when its age has grown by a quarter: 26 times in 30 days at a thousand emails a day.
//! Due runs are taken by their relative lateness, (now - confirmed) / interval. Where the budget does not
//! suffice all of them become late alike: the quarter of the age becomes a half, and so on, and none starves.

use jiff::{SignedDuration, Timestamp};

use crate::archive::{ConfirmedRun, SortKey};
use crate::mail::FINAL_AFTER;

/// No row is due sooner than this after it was confirmed.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_mins(2);

/// The interval is this part of the age.
const AGE_DIVISOR: i64 = 4;

/// Rows right above a due row are read with it if they are at least so late: they are due soon.
const MIN_NEIGHBOUR_LATENESS: f64 = 0.5;

/// Which rows to read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecheckScope {
    /// Rows that are not final, not older than this, and due.
    Due {
        /// The oldest time of interest, in microseconds since 1970.
        since: i64,
    },
    /// All rows not older than `since` that no request sent at `before` or later has confirmed.
    All {
        /// The oldest time of interest, in microseconds since 1970.
        since: i64,
        /// The time of the run that reads them.
        before: Timestamp,
    },
}

impl RecheckScope {
    /// The rule for the background: everything that may still change.
    #[must_use]
    pub(crate) fn background(now: Timestamp) -> Self {
        Self::Due {
            since: now.as_microsecond().saturating_sub(to_micros(FINAL_AFTER)),
        }
    }
}

/// A run that is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DueRun {
    /// The run.
    pub(crate) run: ConfirmedRun,
    /// Not above this row: what lies between it and the run is due soon, too.
    pub(crate) ceiling: SortKey,
    /// How late it is: 1 is due, 2 is confirmed half as often as it should be.
    pub(crate) lateness: f64,
}

/// The due runs, the latest first.
#[must_use]
pub(crate) fn find_due_runs(
    runs: &[ConfirmedRun],
    recheck: RecheckScope,
    now: Timestamp,
) -> Vec<DueRun> {
    let mut due = Vec::new();
    let mut ceiling = None;
    for run in runs {
        let lateness = match recheck {
            RecheckScope::Due { since } if run.may_change && run.top.micros() >= since => {
                lateness(run, run.top, now)
            }
            RecheckScope::All { since, before }
                if run.top.micros() >= since && (run.at < before || run.at > now) =>
            {
                1.0
            }
            RecheckScope::Due { .. } | RecheckScope::All { .. } => 0.0,
        };
        ceiling = (lateness >= MIN_NEIGHBOUR_LATENESS).then(|| ceiling.unwrap_or(run.top));
        if let Some(ceiling) = ceiling.filter(|_| lateness >= 1.0) {
            due.push(DueRun {
                run: *run,
                ceiling,
                lateness,
            });
        }
    }
    due.sort_by(|one, other| other.lateness.total_cmp(&one.lateness));
    due
}

/// How late a row of `run` is. A confirmation from the future is none: the clock has jumped.
#[must_use]
pub(crate) fn lateness(run: &ConfirmedRun, row: SortKey, now: Timestamp) -> f64 {
    let age = now.as_microsecond().saturating_sub(row.micros());
    let interval = (age / AGE_DIVISOR).max(to_micros(MIN_INTERVAL));
    let waited = now.as_microsecond().saturating_sub(run.at.as_microsecond());
    if waited < 0 {
        return f64::INFINITY;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio of times needs no microseconds"
    )]
    let ratio = waited as f64 / interval as f64;
    ratio
}

fn to_micros(span: SignedDuration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
