//! `Lookup`: what the service says beside an email, requested for what is open and
//! kept until the program ends.
//!
//! Two of them are here: whether the service still sends to the address of a bounced email, and how
//! often the open email was opened and clicked. [`super::attachments`] has the third one.

use jiff::Timestamp;

use crate::api::Priority;
use crate::app::effect::{Effect, Pending, RequestId};
use crate::app::model::Model;
use crate::error::{ErrorKind, Result};
use crate::mail::{EmailId, Metrics, Status, Suppression};
use crate::text::format::format_by_age;

/// The most answers that are kept in memory.
const MAX_KNOWN: usize = 200;

/// The answers about some keys, and the running request.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct Lookup<K, V> {
    /// The latest is the last.
    known: Vec<(K, V)>,
    pub(in crate::app) request: Pending<()>,
    /// The key of the last request; no other one follows by itself if that has failed.
    requested: Option<K>,
    /// Whether the service has no such operation.
    pub(super) is_unsupported: bool,
}

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            request: Pending::default(),
            requested: None,
            is_unsupported: false,
        }
    }
}

impl<K: Clone + PartialEq, V: Clone> Lookup<K, V> {
    pub(in crate::app) fn get(&self, key: &K) -> Option<&V> {
        let mut known = self.known.iter();
        known
            .find(|(other, _)| other == key)
            .map(|(_, value)| value)
    }

    /// Whether the service was not asked about the key, and may be.
    pub(in crate::app) fn is_due(&self, key: &K) -> bool {
        !self.is_unsupported && self.requested.as_ref() != Some(key) && self.get(key).is_none()
    }

    /// Forgets a request about another key; returns whether there was one.
    pub(super) fn leave_others(&mut self, key: Option<&K>) -> bool {
        let is_other = self.requested.as_ref() != key;
        if is_other {
            self.requested = None;
            self.request.reset();
        }
        is_other
    }

    /// Starts the request about a key if it is due, and forgets one about another key.
    pub(super) fn start_due(&mut self, key: Option<K>) -> Option<(RequestId, K)> {
        self.leave_others(key.as_ref());
        let key = key.filter(|key| self.is_due(key))?;
        Some((self.start(key.clone()), key))
    }

    pub(in crate::app) fn start(&mut self, key: K) -> RequestId {
        self.requested = Some(key);
        self.request.start()
    }

    /// Stores an answer and returns it, unless it is obsolete.
    pub(in crate::app) fn apply(
        &mut self,
        request: RequestId,
        result: Result<V>,
    ) -> Option<Result<V>> {
        let key = self.requested.clone()?;
        if !self.request.finish(request) {
            return None;
        }
        Some(match result {
            Ok(value) => {
                if self.known.len() == MAX_KNOWN {
                    self.known.remove(0);
                }
                self.known.push((key, value.clone()));
                Ok(value)
            }
            Err(error) => {
                self.is_unsupported |= error.kind == ErrorKind::Unsupported;
                Err(error)
            }
        })
    }
}

/// The answers about addresses, each with the time at which it came.
pub(in crate::app) type Suppressions = Lookup<String, (Option<Suppression>, Timestamp)>;

/// The counts of the emails that were open, each with the time at which it came.
/// They are requested again when the status changes.
pub(in crate::app) type MetricsLookup = Lookup<MetricsKey, (Metrics, Timestamp)>;

/// An email, its status, and the time from which it counts.
type MetricsKey = (EmailId, Status, Timestamp);

impl Model {
    /// Whether the selected email is open and read, so that its user may want to know
    /// more.
    pub(super) fn may_look_up(&self) -> bool {
        self.panes.reader_open && self.body().is_some() && self.service.is_answering()
    }

    /// The priority of what is shown beside an email.
    /// A printed header cannot be completed later.
    pub(super) const fn lookup_priority(&self) -> Priority {
        if self.session.is_linear {
            Priority::Interactive
        } else {
            Priority::Recheck
        }
    }

    /// Stores an answer with its time.
    /// An error is not reported, because no key has requested it.
    pub(in crate::app) fn apply_lookup<K: Clone + PartialEq, V: Clone>(
        &mut self,
        lookup: impl FnOnce(&mut Self) -> &mut Lookup<K, (V, Timestamp)>,
        request: RequestId,
        result: Result<V>,
    ) {
        let now = self.now.timestamp();
        let result = result.map(|value| (value, now));
        _ = lookup(self).apply(request, result);
    }

    /// Writes the time of an answer.
    fn format_answered(&self, at: Timestamp) -> String {
        format_by_age(at, &self.now, ["%H:%M"; 4])
    }

    /// Shows in the reader what is known of its recipient;
    /// requests it for an open email or card.
    pub(in crate::app) fn update_suppression(&mut self) {
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
            .set_header_facts(row, |facts| facts.suppression = text);
        let card = || {
            let summary = self.recipient_card.summary.value()?;
            let is_due = summary
                .statuses
                .iter()
                .any(|(status, _)| status.may_suppress());
            let address = self.recipient_card.address.as_ref().filter(|_| is_due)?;
            Some(address.text().to_owned())
        };
        let is_card = !self.panes.reader_open && self.service.is_answering();
        let address = if is_card {
            card()
        } else {
            recipient.filter(|_| self.may_look_up())
        };
        if let Some((request, address)) = self.suppressions.start_due(address) {
            self.outbox.push(Effect::LoadSuppression {
                request,
                address,
                priority: self.lookup_priority(),
            });
        }
    }

    /// Writes `ana@example.com, since 3 May, after a bounce`,
    /// or `no (ana@example.com, 09:42)` with the time of the answer; empty if the service was not
    /// asked.
    fn describe_suppression(&self, address: &String) -> String {
        match self.suppressions.get(address) {
            None => String::new(),
            Some((None, answered_at)) => {
                format!("no ({address}, {})", self.format_answered(*answered_at))
            }
            Some((Some(found), _)) => {
                let since = found.created.parsed;
                let since = since.map(|at| format!(", since {}", self.format_day(at)));
                let why = found.reason();
                format!("{address}{}, {why}", since.unwrap_or_default())
            }
        }
    }

    /// Returns the entry of the card's address, if it has one,
    /// and the time of the answer; `None` if it was not requested.
    pub fn card_suppression(&self) -> Option<&(Option<Suppression>, Timestamp)> {
        let address = self.recipient_card.address.as_ref()?.text().to_owned();
        self.suppressions.get(&address)
    }

    /// Gives the reader what is counted of its email, and requests it when the email is
    /// open.
    pub(in crate::app) fn update_metrics(&mut self) {
        let row = self.list.selected();
        let key = row
            .filter(|row| row.missing_since.is_none())
            .and_then(|row| {
                let opened = self.reader_state().opened()?;
                let status = &row.summary.status;
                let start = Metrics::start(status, &opened.email.summary)?;
                Some((row.summary.id.clone(), status.clone(), start))
            });
        let text = key.as_ref().map(|key| self.describe_metrics(key));
        let text = text.unwrap_or_default();
        self.reader
            .set_header_facts(row, |facts| facts.activity = text);
        let key = key.filter(|_| self.may_look_up());
        if let Some((request, (id, _, created))) = self.metrics.start_due(key) {
            self.outbox.push(Effect::LoadMetrics {
                request,
                id,
                created,
                priority: self.lookup_priority(),
            });
        }
    }

    /// Writes `opened once, clicked 0 times; the service's count, 09:42`,
    /// with the time of the answer.
    fn describe_metrics(&self, key: &MetricsKey) -> String {
        let Some((metrics, answered_at)) = self.metrics.get(key) else {
            return String::new();
        };
        match metrics.describe(&key.1) {
            text if text.is_empty() => text,
            text => format!("{text}, {}", self.format_answered(*answered_at)),
        }
    }
}
