//! Warming: the emails beside the one that is read are fetched before anybody asks for them.

use super::effect::Effect;
use super::pending::{Pending, RequestId};
use crate::archive::EmailRow;
use crate::mail::EmailId;

/// Which emails were warmed around the one that is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Prefetch {
    center: Option<EmailId>,
    requested: Vec<EmailId>,
    request: Pending<()>,
}

impl Prefetch {
    /// Asks for the emails right below and right above `id` among `rows`, one after the other, if they
    /// are not here yet.
    pub(super) fn next_request(&mut self, id: &EmailId, rows: &[EmailRow]) -> Option<Effect> {
        if self.center.as_ref() != Some(id) {
            self.reset();
            self.center = Some(id.clone());
        }
        if self.request.is_pending() {
            return None;
        }
        let at = rows.iter().position(|row| row.summary.id == *id)?;
        let mut beside = [Some(at + 1), at.checked_sub(1)]
            .into_iter()
            .flatten()
            .filter_map(|n| rows.get(n));
        let wanted = |row: &&EmailRow| {
            !row.has_body && row.missing.is_none() && !self.requested.contains(&row.summary.id)
        };
        let id = beside.find(wanted)?.summary.id.clone();
        self.requested.push(id.clone());
        Some(Effect::PrefetchEmail {
            ticket: self.request.start(),
            id,
        })
    }

    /// Somebody reads something else, or nothing.
    pub(super) fn reset(&mut self) {
        *self = Self {
            request: std::mem::take(&mut self.request),
            ..Self::default()
        };
        self.request.reset();
    }

    /// It is there, or could not be had.
    pub(super) fn finish(&mut self, ticket: RequestId) {
        self.request.resolve(ticket, Ok(()));
    }

    /// Whether this attempt is still wanted.
    pub(super) const fn is_current(&self, ticket: RequestId) -> bool {
        self.request.is_current(ticket)
    }
}
