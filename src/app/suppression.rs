//! Whether the service still sends to the address of a bounced email: in its header and on the recipient card.

use jiff::Timestamp;

use super::effect::Effect;
use super::lookup::Lookup;
use super::model::Model;
use crate::mail::Suppression;

/// The answers about addresses, each with the time at which it came.
pub(super) type Suppressions = Lookup<String, (Option<Suppression>, Timestamp)>;

impl Model {
    /// Shows in the reader what is known of its recipient; requests it for an open email or card.
    pub(super) fn update_suppression(&mut self) {
        let row = self.list.selected();
        let recipient = row
            .filter(|row| row.summary.status.may_suppress())
            .and_then(|row| Some(row.summary.to.first()?.email.to_string()));
        let text = recipient
            .as_ref()
            .map(|address| self.describe_suppression(address));
        let text = text.unwrap_or_default();
        let row = self.list.selected();
        self.reader
            .set_looked_up(row, |found| found.suppression = text);
        let card = || {
            let summary = self.recipient_summary.value()?;
            let is_due = summary
                .statuses
                .iter()
                .any(|(status, _)| status.may_suppress());
            let address = self.recipient_card.as_ref().filter(|_| is_due)?;
            Some(address.text().to_owned())
        };
        let is_card = !self.reader_open && self.service.is_answering();
        let wanted = if is_card {
            card()
        } else {
            recipient.filter(|_| self.may_look_up())
        };
        if let Some((request, address)) = self.suppressions.start_due(wanted) {
            self.outbox.push(Effect::LoadSuppression {
                request,
                address,
                priority: self.lookup_priority(),
            });
        }
    }

    /// Writes `ana@example.com, since 3 May, after a bounce`, or `no (ana@example.com, 09:42)` with the time of
    /// the answer; empty if the service was not asked.
    fn describe_suppression(&self, address: &String) -> String {
        match self.suppressions.get(address) {
            None => String::new(),
            Some((None, asked)) => format!("no ({address}, {})", self.format_answered(*asked)),
            Some((Some(found), _)) => {
                let since = found.created.parsed;
                let since = since.map(|at| format!(", since {}", self.format_day(at)));
                let why = found.reason();
                format!("{address}{}, {why}", since.unwrap_or_default())
            }
        }
    }

    /// Returns the entry of the card's address, if it has one, and the time of the answer; `None` if it was
    /// not requested.
    pub fn card_suppression(&self) -> Option<&(Option<Suppression>, Timestamp)> {
        let address = self.recipient_card.as_ref()?.text().to_owned();
        self.suppressions.get(&address)
    }
}
