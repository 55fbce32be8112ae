//! What a `sync` has brought so far, as a line that moves and as the report at the end.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::output::{Output, Shape, Stop};
use super::words::{emails, grouped, reach};
use crate::archive::Reach;
use crate::sync::{Back, Synced};

/// What was brought.
pub(super) struct Tally {
    started: Timestamp,
    /// How far back the archive was complete at the start.
    began: Reach,
    new: u64,
    changes: u64,
    pages: u64,
    /// New emails, changes and pages of the walk under way.
    pub(super) walked: Option<(u64, u64, u64)>,
    pub(super) bodies: u64,
    pub(super) bad: u64,
    pub(super) reach: Reach,
    /// Whether the service has answered at all.
    pub(super) asked: bool,
    /// What reading statuses again has brought.
    pub(super) rechecked: Option<Rechecked>,
}

/// What reading statuses again has brought.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Rechecked {
    /// Statuses that were confirmed.
    pub(super) statuses: u64,
    /// Emails whose status has changed.
    pub(super) changes: u64,
    /// Emails that the service does not have any more.
    pub(super) gone: u64,
    /// Statuses that are still to be confirmed.
    pub(super) left: u64,
}

/// The report as JSON.
#[derive(Serialize)]
struct Report {
    new: u64,
    changes: u64,
    pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bodies: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck: Option<Rechecked>,
    complete: bool,
    since: Option<String>,
}

impl Tally {
    /// Nothing yet.
    pub(super) const fn new(started: Timestamp, began: Reach) -> Self {
        let reach = Reach::Nothing;
        Self {
            started,
            began,
            new: 0,
            changes: 0,
            pages: 0,
            walked: None,
            bodies: 0,
            bad: 0,
            reach,
            asked: false,
            rechecked: None,
        }
    }

    /// Adds what a walk has brought that is over.
    pub(super) fn take(&mut self, synced: &Synced) {
        self.walked = None;
        self.new += synced.new;
        self.changes += synced.changes;
        self.pages += synced.pages;
        self.reach = synced.reach.clone();
        self.asked = true;
    }

    /// New emails, changes and pages.
    fn totals(&self) -> (u64, u64, u64) {
        let (new, changes, pages) = self.walked.unwrap_or_default();
        (self.new + new, self.changes + changes, self.pages + pages)
    }

    /// `1 200 emails new, 3 changed; re-read 350 statuses, 2 changed, 1 gone; all mail since 3 May 2026 09:14 is here`.
    pub(super) fn words(&self, bodies: bool, zone: &TimeZone) -> String {
        let (new, changes, _) = self.totals();
        let noun = if self.bodies == 1 { "body" } else { "bodies" };
        let bodies = if bodies {
            format!(", {} {noun}", grouped(self.bodies))
        } else {
            String::new()
        };
        let rechecked = match self.rechecked {
            Some(Rechecked {
                statuses,
                changes,
                gone,
                ..
            }) if statuses + changes + gone > 0 => {
                let noun = if statuses == 1 { "status" } else { "statuses" };
                format!(
                    "; re-read {} {noun}, {} changed, {} gone",
                    grouped(statuses),
                    grouped(changes),
                    grouped(gone)
                )
            }
            Some(_) | None => String::new(),
        };
        format!(
            "{} new, {} changed{bodies}{rechecked}; {}",
            emails(new),
            grouped(changes),
            reach(&self.reach, zone)
        )
    }

    /// The same with the rate, and with the time left where it can be known.
    pub(super) fn progress(&self, now: Timestamp, back: Back, zone: &TimeZone) -> String {
        let elapsed = now.duration_since(self.started).as_secs();
        let mut line = self.words(false, zone);
        let (new, ..) = self.totals();
        if elapsed > 0 && new > 0 {
            line = format!("{line}; {} a second", grouped(new / elapsed.unsigned_abs()));
        }
        line + &self.left(elapsed, back).map(remaining).unwrap_or_default()
    }

    /// Seconds until the walk has come as far back as it is to go, if it goes on as it went.
    fn left(&self, elapsed: i64, back: Back) -> Option<i128> {
        let Back::Until(until) = back else {
            return None;
        };
        let at = |reach: &Reach| match reach {
            Reach::Since(stamp) => stamp.at,
            Reach::Everything | Reach::Nothing => None,
        };
        let now_at = at(&self.reach)?;
        // Without an archive the walk began at the present.
        let began_at = at(&self.began).unwrap_or(self.started).max(now_at);
        let covered = began_at.duration_since(now_at).as_secs();
        let ahead = now_at.duration_since(until).as_secs();
        (covered > 0 && ahead > 0 && elapsed > 0)
            .then(|| i128::from(elapsed) * i128::from(ahead) / i128::from(covered))
    }

    /// The report at the end.
    pub(super) fn report(
        &self,
        bodies: bool,
        zone: &TimeZone,
        out: &mut Output,
    ) -> Result<(), Stop> {
        let text = match out.shape {
            Shape::Human => self.words(bodies, zone),
            Shape::Json | Shape::JsonLines => {
                let (new, changes, pages) = self.totals();
                let since = match &self.reach {
                    Reach::Since(stamp) => Some(
                        stamp
                            .at
                            .map_or_else(|| stamp.raw.to_string(), |at| at.to_string()),
                    ),
                    Reach::Everything | Reach::Nothing => None,
                };
                let complete = self.reach == Reach::Everything;
                let report = Report {
                    new,
                    changes,
                    pages,
                    bodies: bodies.then_some(self.bodies),
                    recheck: self.rechecked,
                    complete,
                    since,
                };
                serde_json::to_string(&report).expect("numbers and texts are JSON")
            }
        };
        out.data(&(text + "\n"))?;
        out.flush()
    }
}

/// `; about 3 min left`; nothing if it is only a moment.
pub(super) fn remaining(seconds: i128) -> String {
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
    use crate::mail::Stamp;

    #[test]
    fn the_time_left_is_said_where_it_can_be_known() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = |text: &str| Reach::Since(Stamp::parse(text));
        let mut tally = Tally::new(at("2026-11-20T12:00:00Z"), since("2026-11-19T12:00:00Z"));
        tally.walked = Some((600, 2, 6));
        tally.reach = since("2026-11-18T12:00:00Z");
        let now = at("2026-11-20T12:01:00Z");
        let until = Back::Until(at("2026-11-15T12:00:00Z"));
        assert_eq!(
            tally.progress(now, until, &TimeZone::UTC),
            "600 emails new, 2 changed; all mail since 18 Nov 2026 12:00 is here; 10 a second; about 3 min left"
        );
        tally.walked = Some((1, 0, 1));
        assert!(
            tally
                .words(true, &TimeZone::UTC)
                .starts_with("1 email new, 0 changed, 0 bodies; ")
        );
        tally.walked = Some((600, 2, 6));
        let line = tally.progress(now, Back::All, &TimeZone::UTC);
        assert!(
            line.ends_with("10 a second"),
            "nobody knows how much there is: {line}"
        );
        assert_eq!(remaining(0), "");
        assert_eq!(remaining(7200), "; about 2 h left");
    }
}
