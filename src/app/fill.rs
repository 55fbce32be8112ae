//! Filling: the archive reaches further back by itself, as far as the profile wants it to.

use jiff::Timestamp;

use super::effect::Effect;
use super::slot::{Slot, Ticket};
use crate::archive::Reach;
use crate::config::Backfill;

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fill {
    wanted: Backfill,
    slot: Slot<()>,
    /// There was something to fetch the last time that was asked.
    going_on: bool,
    /// Nothing more until the next refresh: the service failed, or another process does it.
    resting: bool,
}

impl Fill {
    pub(super) fn new(wanted: Backfill) -> Self {
        Self {
            wanted,
            slot: Slot::default(),
            going_on: false,
            resting: false,
        }
    }

    /// Whether it is being done.
    pub(super) const fn is_going_on(&self) -> bool {
        self.going_on
    }

    /// The next page, unless it is on its way, or the archive reaches far enough.
    pub(super) fn next(&mut self, reach: Option<&Reach>, now: Timestamp) -> Option<Effect> {
        if self.slot.is_awaiting() || self.resting {
            return None;
        }
        self.going_on = match (self.wanted, reach) {
            (Backfill::Off, _) | (_, None | Some(Reach::Everything)) => false,
            (Backfill::All, Some(_)) => true,
            // Of a time that cannot be read nobody knows whether it is far enough.
            (Backfill::Span(span), Some(Reach::Since(stamp))) => stamp
                .at
                .is_some_and(|at| now.checked_sub(span).is_ok_and(|until| at > until)),
            (Backfill::Span(_), Some(Reach::Nothing)) => true,
        };
        self.going_on.then(|| Effect::Fill {
            ticket: self.slot.begin(),
        })
    }

    /// Whether this attempt is waited for.
    pub(super) const fn awaits(&self, ticket: Ticket) -> bool {
        self.slot.awaits(ticket) && self.going_on
    }

    /// The attempt is over; false if it was not the current one.
    pub(super) fn settle(&mut self, ticket: Ticket) -> bool {
        self.slot.settle(ticket, Ok(()))
    }

    /// Nothing more until the next refresh.
    pub(super) const fn rest(&mut self) {
        (self.going_on, self.resting) = (false, true);
    }

    /// The service answers.
    pub(super) const fn may_go_on(&mut self) {
        self.resting = false;
    }

    /// Nothing more at all; says whether there was something to be stopped.
    pub(super) const fn stop(&mut self) -> bool {
        self.wanted = Backfill::Off;
        std::mem::replace(&mut self.going_on, false)
    }
}
