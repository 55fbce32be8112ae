//! Warming: the emails beside the one that is read are fetched before anybody asks for them.

use super::effect::Effect;
use super::slot::{Slot, Ticket};
use crate::archive::Row;
use crate::mail::EmailId;

/// Which emails were warmed around the one that is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Warming {
    around: Option<EmailId>,
    asked: Vec<EmailId>,
    slot: Slot<()>,
}

impl Warming {
    /// Asks for the emails right below and right above `id` among `rows`, one after the other, if they
    /// are not here yet.
    pub(super) fn next(&mut self, id: &EmailId, rows: &[Row]) -> Option<Effect> {
        if self.around.as_ref() != Some(id) {
            self.stop();
            self.around = Some(id.clone());
        }
        if self.slot.is_awaiting() {
            return None;
        }
        let at = rows.iter().position(|row| row.summary.id == *id)?;
        let mut beside = [Some(at + 1), at.checked_sub(1)]
            .into_iter()
            .flatten()
            .filter_map(|n| rows.get(n));
        let wanted = |row: &&Row| {
            !row.has_body && row.gone.is_none() && !self.asked.contains(&row.summary.id)
        };
        let id = beside.find(wanted)?.summary.id.clone();
        self.asked.push(id.clone());
        Some(Effect::Warm {
            ticket: self.slot.begin(),
            id,
        })
    }

    /// Somebody reads something else, or nothing.
    pub(super) fn stop(&mut self) {
        *self = Self {
            slot: std::mem::take(&mut self.slot),
            ..Self::default()
        };
        self.slot.clear();
    }

    /// It is there, or could not be had.
    pub(super) fn settle(&mut self, ticket: Ticket) {
        self.slot.settle(ticket, Ok(()));
    }

    /// Whether this attempt is still wanted.
    pub(super) const fn awaits(&self, ticket: Ticket) -> bool {
        self.slot.awaits(ticket)
    }
}
