//! `Lookup`: what the service says beside an email, asked for what is open and kept until the program ends.

use jiff::Timestamp;

use super::effect::{Pending, RequestId};
use super::model::Model;
use crate::error::{Error, ErrorKind};

/// The most answers that are kept in memory.
const MAX_KNOWN: usize = 200;

/// The answers about some keys, and the running request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lookup<K, V> {
    /// The latest is the last.
    known: Vec<(K, V)>,
    pub(super) request: Pending<()>,
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
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let mut known = self.known.iter();
        known
            .find(|(other, _)| other == key)
            .map(|(_, value)| value)
    }

    /// Whether the service was not asked about the key, and may be.
    pub(super) fn is_due(&self, key: &K) -> bool {
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

    pub(super) fn start(&mut self, key: K) -> RequestId {
        self.requested = Some(key);
        self.request.start()
    }

    /// Stores an answer, unless it is obsolete; `Err` with whether the operation was just found to be missing.
    pub(super) fn apply(
        &mut self,
        request: RequestId,
        result: Result<V, Error>,
    ) -> Option<Result<V, (Error, bool)>> {
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
                let is_missing = error.kind == ErrorKind::Unsupported && !self.is_unsupported;
                self.is_unsupported |= is_missing;
                Err((error, is_missing))
            }
        })
    }
}

impl Model {
    /// Stores an answer with its time; says once that the service has no such operation.
    pub(super) fn apply_lookup<K: Clone + PartialEq, V: Clone>(
        &mut self,
        lookup: impl FnOnce(&mut Self) -> &mut Lookup<K, (V, Timestamp)>,
        request: RequestId,
        result: Result<V, Error>,
    ) {
        let now = self.now.timestamp();
        let result = result.map(|value| (value, now));
        if let Some(Err((error, is_missing))) = lookup(self).apply(request, result) {
            self.report_missing_operation(&error, is_missing);
        }
    }

    /// Writes the time of an answer.
    pub(super) fn format_answered(&self, at: Timestamp) -> String {
        let at = at.to_zoned(self.now.time_zone().clone());
        at.strftime("%H:%M").to_string()
    }
}
