//! When the service confirmed the statuses that may still change.

use jiff::Timestamp;

use super::window::EmailRow;
use crate::mail::Finality;
use crate::text::format::group_digits;

/// The oldest confirmations of the statuses of several emails.
///
/// Those that cannot change any more are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StatusAge {
    /// Of emails whose status is expected to change, whatever their age.
    pub(crate) recent: OldestConfirmation,
    /// Of emails whose status is final by their age alone,
    /// so that it is seldom confirmed.
    pub(crate) old: OldestConfirmation,
    /// Of emails that can no longer be asked for.
    pub(crate) gone: GoneStatuses,
}

/// The oldest confirmation of several statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OldestConfirmation {
    /// `None` if the service confirmed none of them.
    pub(crate) at: Option<Timestamp>,
    /// The number of those that the service never confirmed.
    pub(crate) unconfirmed: u64,
}

impl OldestConfirmation {
    /// Adds a status; `None` if the service never confirmed it.
    pub(crate) fn add(&mut self, confirmed_at: Option<Timestamp>) {
        self.unconfirmed += u64::from(confirmed_at.is_none());
        self.at = self.at.into_iter().chain(confirmed_at).min();
    }
}

impl StatusAge {
    /// Adds the status of an email. A confirmation in the future counts as none:
    /// the clock was set.
    pub(crate) fn add(&mut self, row: &EmailRow, now: Timestamp) {
        let confirmed_at = row.confirmed_at.filter(|at| *at <= now);
        if self.gone.add(row, now) {
            return;
        }
        if row.finality(now) != Finality::Final {
            self.recent.add(confirmed_at);
        } else if row.is_final_by_age(now) {
            self.old.add(confirmed_at);
        }
    }

    /// The number of statuses that the service never confirmed.
    pub(crate) const fn unconfirmed(&self) -> u64 {
        self.recent.unconfirmed + self.old.unconfirmed
    }

    /// Formats it as `statuses as of TIME or later`, and adds
    /// `of delivered mail older than 30 days as of TIME or later` if that is earlier.
    ///
    /// `None` if none was confirmed, or `is_shown` is false for the time of each.
    pub(crate) fn describe(
        &self,
        format: impl Fn(Timestamp) -> String,
        is_shown: impl Fn(Timestamp) -> bool,
    ) -> Option<String> {
        const OF_OLD: &str = "of delivered mail older than 30 days";
        let as_of = |oldest: OldestConfirmation| {
            let at = oldest.at.filter(|at| is_shown(*at))?;
            Some(format!("as of {} or later", format(at)))
        };
        Some(match (as_of(self.recent), as_of(self.old)) {
            (None, None) => return None,
            (Some(recent), Some(old)) if self.old.at < self.recent.at && old != recent => {
                format!("statuses {recent}, {OF_OLD} {old}")
            }
            (Some(recent), _) => format!("statuses {recent}"),
            (None, Some(old)) if self.recent == OldestConfirmation::default() => {
                format!("statuses {old}")
            }
            (None, Some(old)) => format!("statuses {OF_OLD} {old}"),
        })
    }
}

/// The statuses of emails that the service deleted before they were final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GoneStatuses {
    /// The number of emails.
    pub count: u64,
    last_confirmed: OldestConfirmation,
}

impl GoneStatuses {
    /// Adds the status of an email if it is such a one; returns whether it is.
    pub(crate) fn add(&mut self, row: &EmailRow, now: Timestamp) -> bool {
        let is_gone = row.missing_since.is_some() && !row.summary.status.is_final();
        if is_gone {
            self.count += 1;
            self.last_confirmed
                .add(row.confirmed_at.filter(|at| *at <= now));
        }
        is_gone
    }

    /// Formats `their statuses as of TIME`, the oldest of their times, or `never checked`.
    pub(crate) fn describe(&self, format: impl Fn(Timestamp) -> String) -> String {
        match (self.last_confirmed.unconfirmed, self.last_confirmed.at) {
            (0, Some(at)) => format!("their statuses as of {}", format(at)),
            (some, Some(_)) => format!("{} of them never checked", group_digits(some, ' ')),
            (_, None) => "never checked".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_delivered_mail_has_an_earlier_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let words = |recent: &[i64], old: &[i64]| {
            let mut age = StatusAge::default();
            for second in recent {
                age.recent.add(Some(at(*second)));
            }
            for second in old {
                age.old.add(Some(at(*second)));
            }
            age.describe(|at| at.as_second().to_string(), |shown| shown < at(100))
        };
        assert_eq!(words(&[], &[]), None);
        assert_eq!(words(&[100], &[100]), None);
        for (recent, old, text) in [
            (&[9, 5, 100][..], &[][..], "statuses as of 5 or later"),
            (&[], &[7], "statuses as of 7 or later"),
            (&[7], &[7], "statuses as of 7 or later"),
            // One of the others, as one sent long ago, may be the oldest.
            (&[5], &[100], "statuses as of 5 or later"),
            (&[5], &[7], "statuses as of 5 or later"),
            (
                &[100],
                &[7],
                "statuses of delivered mail older than 30 days as of 7 or later",
            ),
            (
                &[7],
                &[5],
                "statuses as of 7 or later, of delivered mail older than 30 days as of 5 or later",
            ),
        ] {
            assert_eq!(words(recent, old).as_deref(), Some(text));
        }
    }
}
