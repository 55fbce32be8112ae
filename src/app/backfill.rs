//! Filling: the archive reaches further back by itself, as far as the profile wants it to.

use jiff::Timestamp;

use super::effect::Effect;
use super::pending::{Pending, RequestId};
use crate::archive::Coverage;
use crate::config::Backfill;

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BackfillState {
    setting: Backfill,
    request: Pending<()>,
    /// There was something to fetch the last time that was asked.
    active: bool,
    /// Nothing more until the next refresh: the service failed, or another process does it.
    paused: bool,
}

impl BackfillState {
    pub(super) fn new(wanted: Backfill) -> Self {
        Self {
            setting: wanted,
            request: Pending::default(),
            active: false,
            paused: false,
        }
    }

    /// Whether it is being done.
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// The next page, unless it is on its way, or the archive reaches far enough.
    pub(super) fn next_request(
        &mut self,
        reach: Option<&Coverage>,
        now: Timestamp,
    ) -> Option<Effect> {
        if self.request.is_pending() || self.paused {
            return None;
        }
        self.active = match (self.setting, reach) {
            (Backfill::Off, _) | (_, None | Some(Coverage::Complete)) => false,
            (Backfill::All, Some(_)) => true,
            // Of a time that cannot be read nobody knows whether it is far enough.
            (Backfill::Last(span), Some(Coverage::Since(stamp))) => stamp
                .parsed
                .is_some_and(|at| now.checked_sub(span).is_ok_and(|until| at > until)),
            (Backfill::Last(_), Some(Coverage::Unknown)) => true,
        };
        self.active.then(|| Effect::Backfill {
            ticket: self.request.start(),
        })
    }

    /// Whether this attempt is waited for.
    pub(super) const fn is_current(&self, ticket: RequestId) -> bool {
        self.request.is_current(ticket) && self.active
    }

    /// The attempt is over; false if it was not the current one.
    pub(super) fn finish(&mut self, ticket: RequestId) -> bool {
        self.request.resolve(ticket, Ok(()))
    }

    /// Nothing more until the next refresh.
    pub(super) const fn pause(&mut self) {
        (self.active, self.paused) = (false, true);
    }

    /// The service answers.
    pub(super) const fn resume(&mut self) {
        self.paused = false;
    }

    /// Nothing more at all; says whether there was something to be stopped.
    pub(super) const fn stop(&mut self) -> bool {
        self.setting = Backfill::Off;
        std::mem::replace(&mut self.active, false)
    }
}
