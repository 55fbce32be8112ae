//! How often the open email was opened and clicked, and how it bounced: in its header.

use jiff::Timestamp;

use super::effect::Effect;
use super::lookup::Lookup;
use super::model::Model;
use super::reader::ReaderState;
use crate::mail::{EmailId, Metrics, Status};

/// The counts of the emails that were open, each with the time at which it came. They are requested again
/// when the status changes.
pub(super) type MetricsLookup = Lookup<Key, (Metrics, Timestamp)>;

/// An email, its status, and the time from which it counts.
type Key = (EmailId, Status, Timestamp);

impl Model {
    /// Gives the reader what is counted of its email, and requests it when the email is open.
    pub(super) fn update_metrics(&mut self) {
        let row = self.list.selected();
        let key = row.filter(|row| row.missing.is_none()).and_then(|row| {
            let ReaderState::Ready(opened, _) = self.reader_state() else {
                return None;
            };
            let status = &row.summary.status;
            let start = Metrics::start(status, &opened.email.summary)?;
            Some((row.summary.id.clone(), status.clone(), start))
        });
        let text = key.as_ref().map(|key| self.describe_metrics(key));
        let text = text.unwrap_or_default();
        self.reader
            .set_looked_up(row, |found| found.activity = text);
        let wanted = key.filter(|_| self.may_look_up());
        if let Some((request, (id, _, since))) = self.metrics.start_due(wanted) {
            self.outbox.push(Effect::LoadMetrics {
                request,
                id,
                since,
                priority: self.lookup_priority(),
            });
        }
    }

    /// Writes `opened once, clicked 0 times; the service's count, 09:42`, with the time of the answer.
    fn describe_metrics(&self, key: &Key) -> String {
        let Some((metrics, asked)) = self.metrics.get(key) else {
            return String::new();
        };
        match metrics.describe(&key.1) {
            text if text.is_empty() => text,
            text => format!("{text}, {}", self.format_answered(*asked)),
        }
    }
}
