//! `Lookup`: what the service says beside an email, asked for what is open and kept until the program ends.

use super::effect::{Pending, RequestId};
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
