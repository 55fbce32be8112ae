//! What is asked of the service without a key for it, and what of all that is asked is still wanted.

use std::time::Duration;

use super::effect::{Effect, Effects, Errand, Rest};
use super::model::Model;
use super::msg::Opened;
use super::reader::Stage;
use super::slot::Ticket;
use crate::api::Budget;
use crate::failure::Failure;

impl Model {
    /// What may be asked of the service at present, as far as is known.
    #[must_use]
    pub const fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// Whether somebody still wants what this attempt is to bring. What nobody wants and was not sent yet
    /// is not sent at all.
    #[must_use]
    pub fn wants(&self, errand: Errand, ticket: Ticket) -> bool {
        match errand {
            Errand::Read => self.reader.awaits(ticket),
            Errand::Warm => self.warming.awaits(ticket),
            Errand::Extend => {
                self.service.extends(ticket) && (self.look_back.is_some() || self.needs_older())
            }
            Errand::Fill => self.service.fills(ticket),
            Errand::Refresh => self.service.refreshes(ticket),
            Errand::Confirm => self.freshness.awaits(ticket),
            Errand::Recheck => self.freshness.rechecks(ticket),
            Errand::CheckStatuses => self
                .check
                .as_ref()
                .is_some_and(|check| check.awaits(ticket)),
        }
    }

    /// Whether the list may soon come to an end that is not the end of all mail.
    fn needs_older(&self) -> bool {
        self.list.filter().is_none()
            && (self.list.is_awaiting() || self.list.nears_the_end(self.list_height()))
    }

    /// What was not sent because nobody wanted it may be wanted again.
    pub(super) fn drop_errand(&mut self, errand: Errand, ticket: Ticket) {
        match errand {
            // Whoever wants another email, or the same more urgently, has asked for it already.
            Errand::Read | Errand::Refresh => {}
            Errand::Warm => self.warming.settle(ticket),
            Errand::Extend => self.service.extend_dropped(ticket),
            Errand::Fill => self.service.fill_dropped(ticket),
            Errand::Confirm => self.freshness.drop_request(ticket),
            Errand::CheckStatuses => self.drop_check(ticket),
            Errand::Recheck => self.freshness.drop_recheck(ticket),
        }
    }

    /// Takes an email that was to be read. One that was not here came from the service, which is
    /// therefore back if it was away.
    pub(super) fn take_email(
        &mut self,
        ticket: Ticket,
        outcome: Result<Opened, Failure>,
    ) -> Effects {
        let fetched = outcome.is_ok() && self.list.selected().is_some_and(|row| !row.has_body);
        let mut effects: Effects = self
            .reader
            .settle_email(ticket, outcome)
            .into_iter()
            .collect();
        if fetched {
            effects.extend(self.service.is_back());
            // Its status has come along: row, head, history and card show the same.
            effects.extend(self.list.renew());
            effects.extend(self.tally());
        }
        effects
    }

    /// What goes on beside what the person does.
    pub(super) fn in_the_background(&mut self) -> Effects {
        let mut effects: Effects = self
            .service
            .fill(self.now.timestamp())
            .into_iter()
            .collect();
        let id = self.list.selected().map(|row| row.summary.id.clone());
        match id.filter(|_| {
            self.touched
                && matches!(self.stage(), Stage::Ready(..))
                && self.service.trouble().is_none()
        }) {
            Some(id) if self.service.has_answered() => {
                effects.extend(self.warming.next(&id, self.list.rows()));
            }
            _ => self.warming.stop(),
        }
        let paused = self
            .budget
            .is_some_and(|budget| !budget.paused_for.is_zero());
        // A pause may begin while an answer is waited for; who waits is to see that.
        let waits = self.budget.is_some()
            && (matches!(self.stage(), Stage::Loading) || self.service.is_extending());
        if (paused || waits) && !self.second.is_awaiting() {
            let ticket = self.second.begin();
            effects.push(Effect::Rest {
                ticket,
                what: Rest::Second,
                pause: Duration::from_secs(1),
            });
        }
        effects
    }
}
