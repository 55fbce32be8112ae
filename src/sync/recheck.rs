//! Decides which statuses to read again, and when:
//! pure, so that tests can use any listing and clock.
//!
//! A row that is not final is due when the request for its status is older than a quarter of its age. So a page is
//! read each time its age has grown by a quarter: 26 times in 30 days at a thousand emails a day.
//! The latest run is read first, by (now - requested) / interval. If the rate budget is too small, all
//! become late alike: the quarter of the age becomes a half, and so on, and none starves.

use jiff::{SignedDuration, Timestamp};

use crate::archive::{ConfirmedRun, SortKey};
use crate::mail::FINAL_AFTER;

/// Shortest interval between two confirmations of a row.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_mins(2);

/// The interval is the age divided by this.
const AGE_DIVISOR: i64 = 4;

/// Rows above a due row are read with it from this lateness on.
const MIN_NEIGHBOUR_LATENESS: f64 = 0.5;

/// The rows to read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecheckScope {
    /// Rows that are not final, not older than this, and due.
    Due {
        /// The oldest time, in microseconds since 1970.
        since: i64,
    },
    /// All rows not older than `since` that no request after number `before` has confirmed.
    All {
        /// The oldest time, in microseconds since 1970.
        since: i64,
        /// The latest request before the command that reads them:
        /// while it runs, the clock may be set back.
        before: i64,
    },
}

impl RecheckScope {
    /// Returns the scope of the background: everything that may still change.
    pub(crate) fn background(now: Timestamp) -> Self {
        Self::Due {
            since: now.as_microsecond().saturating_sub(to_micros(FINAL_AFTER)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DueRun {
    /// Neighbouring rows with the same confirmation, without those that are too old.
    pub(crate) run: ConfirmedRun,
    /// The highest row to read with it: the rows between are due soon.
    pub(crate) ceiling: SortKey,
    /// Time since the request, divided by the interval; a run is due from 1 on.
    pub(crate) lateness: f64,
}

/// Returns the due runs, the latest first.
pub(crate) fn find_due_runs(
    runs: &[ConfirmedRun],
    scope: RecheckScope,
    now: Timestamp,
) -> Vec<DueRun> {
    let mut due = Vec::new();
    let mut ceiling = None;
    let (RecheckScope::Due { since } | RecheckScope::All { since, .. }) = scope;
    for run in runs {
        let lateness = match scope {
            _ if run.top.micros() < since => 0.0,
            RecheckScope::Due { .. } if run.may_change => lateness(run, run.top, now),
            RecheckScope::All { before, .. } if run.response_seq <= before => 1.0,
            RecheckScope::Due { .. } | RecheckScope::All { .. } => 0.0,
        };
        ceiling = (lateness >= MIN_NEIGHBOUR_LATENESS).then(|| ceiling.unwrap_or(run.top));
        if let Some(ceiling) = ceiling.filter(|_| lateness >= 1.0) {
            due.push(DueRun {
                run: ConfirmedRun {
                    bottom: run.bottom.max(SortKey::oldest_at(since)),
                    ..*run
                },
                ceiling,
                lateness,
            });
        }
    }
    due.sort_by(|one, other| other.lateness.total_cmp(&one.lateness));
    due
}

/// Returns the lateness of a row of `run`; infinite after a change of the clock.
pub(crate) fn lateness(run: &ConfirmedRun, row: SortKey, now: Timestamp) -> f64 {
    let age = now.as_microsecond().saturating_sub(row.micros());
    let interval = (age / AGE_DIVISOR).max(to_micros(MIN_INTERVAL));
    let requested = run.last_requested_at(now).as_microsecond();
    let waited = now.as_microsecond().saturating_sub(requested);
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
