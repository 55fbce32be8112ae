//! `Pending`: a value that is loading, and the one method through which it arrives.

use crate::error::Error;

/// Identifies one request for one [`Pending`] value. A newer request makes this one stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

/// A value that is loading, or was loaded, or is loading again.
///
/// The statement that makes the effect calls [`Pending::start`]; the answer enters through
/// [`Pending::resolve`], which drops answers to stale requests. The old value stays until the new
/// one arrives, so that a refresh does not blank the screen; [`Pending::reset`] is for values that
/// must not be shown any longer.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending<T> {
    last_id: u64,
    in_flight: bool,
    result: Option<Result<T, Error>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self {
            last_id: 0,
            in_flight: false,
            result: None,
        }
    }
}

impl<T> Pending<T> {
    /// Starts a request; every earlier one is stale from now on.
    pub fn start(&mut self) -> RequestId {
        self.last_id += 1;
        self.in_flight = true;
        RequestId(self.last_id)
    }

    /// Stores the result if the request is the current one; returns whether it is.
    pub fn resolve(&mut self, request: RequestId, result: Result<T, Error>) -> bool {
        let current = self.is_current(request);
        if current {
            self.in_flight = false;
            self.result = Some(result);
        }
        current
    }

    /// Drops the value and the running request.
    pub fn reset(&mut self) {
        self.last_id += 1;
        self.in_flight = false;
        self.result = None;
    }

    pub const fn is_pending(&self) -> bool {
        self.in_flight
    }

    /// Whether this request is the running one.
    pub const fn is_current(&self, request: RequestId) -> bool {
        self.in_flight && self.last_id == request.0
    }

    /// The value, if the last answer was one.
    pub fn value(&self) -> Option<&T> {
        self.result.as_ref().and_then(|result| result.as_ref().ok())
    }

    /// The failure, if the last answer was one and nothing newer is awaited.
    pub fn error(&self) -> Option<&Error> {
        if self.in_flight {
            return None;
        }
        self.result
            .as_ref()
            .and_then(|result| result.as_ref().err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_newer_attempt_makes_the_older_stale() {
        let mut slot = Pending::default();
        let first = slot.start();
        let second = slot.start();
        assert!(!slot.resolve(first, Ok("old")));
        assert!(slot.is_pending());
        assert!(slot.resolve(second, Ok("new")));
        assert_eq!(slot.value(), Some(&"new"));
        assert!(
            !slot.resolve(second, Ok("again")),
            "a ticket is good for one answer"
        );
    }

    #[test]
    fn what_was_held_stays_until_the_answer_and_goes_when_cleared() {
        let mut slot = Pending::default();
        let request = slot.start();
        slot.resolve(request, Ok(1));
        let request = slot.start();
        assert_eq!(slot.value(), Some(&1));
        slot.reset();
        assert_eq!(slot.value(), None);
        assert!(!slot.resolve(request, Ok(2)));
    }

    #[test]
    fn a_failure_is_hidden_while_a_new_attempt_runs() {
        let mut slot = Pending::<()>::default();
        let request = slot.start();
        slot.resolve(request, Err(Error::new(ErrorKind::Server, "it failed")));
        assert!(slot.error().is_some());
        slot.start();
        assert!(slot.error().is_none());
    }
}
