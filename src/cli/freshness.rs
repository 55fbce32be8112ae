//! How old the statuses are that a command prints, in words.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::format::format_time;
use crate::archive::{Archive, ConfirmedRun, EmailRow};
use crate::error::Error;
use crate::mail::Finality;
use crate::query::Query;

/// Statuses that were confirmed within this time need no words.
pub(super) const FRESH_FOR: SignedDuration = SignedDuration::from_mins(2);

/// The oldest confirmation of several statuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OldestConfirmation {
    /// There was none.
    #[default]
    Nothing,
    /// The oldest was then.
    At(Timestamp),
    /// The service never confirmed at least one of the statuses.
    Never,
}

impl OldestConfirmation {
    /// The one of all emails that `query` may find once their statuses are others, except of those
    /// whose status is final.
    pub(super) fn from_candidates(
        archive: &Archive,
        query: &Query,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut oldest = Self::default();
        // None is chosen, so that all are looked at, as far as that is bounded.
        let looked = archive.find_candidates(&query.without_status(), None, 1, |row| {
            if may_change(row, now) {
                oldest.add(row.confirmed_at);
            }
            false
        })?;
        if !looked.is_exhausted {
            let is_below = |run: &ConfirmedRun| {
                run.may_change
                    && looked
                        .last_examined
                        .is_some_and(|passed| run.bottom < passed)
            };
            let mut below: Vec<ConfirmedRun> = archive
                .confirmed_runs()?
                .into_iter()
                .filter(is_below)
                .collect();
            below.sort_by_key(|run| run.at);
            for run in below {
                if archive.count_listed(run.top, run.bottom, 1)? > 0 {
                    oldest.add(Some(run.at).filter(|at| *at > Timestamp::UNIX_EPOCH));
                    break;
                }
            }
        }
        Ok(oldest)
    }

    /// Takes one more into account; `None` if the service never confirmed that status.
    pub(super) fn add(&mut self, confirmed: Option<Timestamp>) {
        *self = match (*self, confirmed) {
            (Self::Never, _) | (_, None) => Self::Never,
            (Self::Nothing, Some(at)) => Self::At(at),
            (Self::At(oldest), Some(at)) => Self::At(oldest.min(at)),
        };
    }

    /// `statuses as of 18 Nov 09:14 or later`; `None` if all of them are fresh.
    pub(super) fn describe(self, now: Timestamp, zone: &TimeZone) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Never => Some("the service never confirmed some of the statuses".to_owned()),
            Self::At(at) if is_fresh(at, now) => None,
            Self::At(at) => Some(format!(
                "statuses as of {} or later",
                format_time(at, now, zone)
            )),
        }
    }
}

/// Whether a status that was confirmed at `at` needs no words about its age.
pub(super) fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at).abs() <= FRESH_FOR
}

/// Whether the service may have another status by now.
pub(super) fn may_change(row: &EmailRow, now: Timestamp) -> bool {
    row.finality(now) != Finality::Final
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_confirmation_is_named_unless_fresh() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let now = at("2026-11-20T20:41:00Z").unwrap();
        let words = |confirmed: &[Option<Timestamp>]| {
            let mut oldest = OldestConfirmation::default();
            for confirmed in confirmed {
                oldest.add(*confirmed);
            }
            oldest.describe(now, &TimeZone::UTC)
        };
        let (fresh, old) = (at("2026-11-20T20:39:30Z"), at("2026-11-18T09:14:00Z"));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[fresh]), None);
        assert_eq!(
            words(&[fresh, old, fresh]).as_deref(),
            Some("statuses as of 18 Nov 09:14 or later")
        );
        assert_eq!(
            words(&[old, None]).as_deref(),
            Some("the service never confirmed some of the statuses")
        );
    }
}
