//! The state of the connection to the service, in the words that title,
//! notices and empty screens show.
//!
//! `live` must be true: no state is better than the last answer of the service allows. Which rows count is
//! decided in [`super::freshness`].

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::freshness::Liveness;
use crate::app::model::Model;
use crate::app::session::StorageMode;
use crate::error::{ErrorKind, NOT_WRITABLE};

/// A request without a response for so long makes the list not live.
pub const NO_ANSWER_AFTER: Duration = Duration::from_secs(5);
/// A shorter pause is not worth a message.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// A longer pause is shown as a time and not counted down;
/// a refresh within it is a question.
pub const LONG_PAUSE: SignedDuration = SignedDuration::from_mins(2);

/// The state of the connection to the service; the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceState {
    /// The archive may not be written, so nothing is requested.
    ReadOnly,
    /// Nothing is requested: there is no key, no archive,
    /// or the service has rejected the key.
    Unavailable(ErrorKind),
    /// The archive cannot be read, so the list does not show what the service answers.
    ArchiveError,
    /// The service has asked to wait until this time, and nothing is requested until
    /// then.
    RateLimited(Timestamp),
    /// The archive can be read, and what the service answers cannot be stored.
    NotWritable,
    /// The last request has failed.
    Failing(ErrorKind),
    /// A request that was sent has no response for so long.
    NoAnswer(Duration),
    /// The service has not answered in this session yet.
    Checking,
    /// The service answers. Whether rows and statuses are current.
    Answering(Liveness),
}

impl ServiceState {
    /// The state in one to three words, without its times.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only archive",
            Self::Unavailable(kind) | Self::Failing(kind) => kind.service_state(),
            Self::ArchiveError => "archive error",
            Self::NotWritable => NOT_WRITABLE,
            Self::RateLimited(_) => ErrorKind::RateLimited.service_state(),
            Self::NoAnswer(_) => "no answer",
            Self::Checking => "checking",
            Self::Answering(Liveness::Live) => "live",
            Self::Answering(Liveness::ListAsOf(_) | Liveness::RowsAsOf(..)) => "as of",
        }
    }
}

impl Model {
    pub fn service_state(&self) -> ServiceState {
        let service = &self.service;
        if let Some(unavailable) = &service.unavailable {
            return match self.session.storage {
                StorageMode::ReadOnly(_) => ServiceState::ReadOnly,
                _ => ServiceState::Unavailable(unavailable.error.kind),
            };
        }
        if self.list.error().is_some() {
            return ServiceState::ArchiveError;
        }
        let error = service.error.as_ref();
        // The short pause after a used-up quota says less than the quota.
        let is_other_error = error.is_some_and(|error| error.kind != ErrorKind::RateLimited);
        let pause = self.rate_budget.map(|budget| budget.paused_for);
        if let Some(pause) = pause.filter(|pause| *pause > MIN_PAUSE && !is_other_error)
            && let Ok(until) = self.now.timestamp().checked_add(pause)
        {
            return ServiceState::RateLimited(until);
        }
        if let Some(error) = error {
            return if error.is_write_failure {
                ServiceState::NotWritable
            } else {
                ServiceState::Failing(error.kind)
            };
        }
        let waited = self.rate_budget.map(|budget| budget.unanswered_for);
        match waited.filter(|waited| *waited >= NO_ANSWER_AFTER) {
            Some(waited) => ServiceState::NoAnswer(waited),
            None if !service.has_answered => ServiceState::Checking,
            None => ServiceState::Answering(self.liveness()),
        }
    }

    /// The end of a pause that the service has asked for,
    /// if it is too long to be waited for.
    pub fn long_pause_until(&self) -> Option<Timestamp> {
        match self.service_state() {
            ServiceState::RateLimited(until)
                if until.duration_since(self.now.timestamp()) > LONG_PAUSE =>
            {
                Some(until)
            }
            _ => None,
        }
    }
}
