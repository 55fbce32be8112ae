//! `Slot`: a value that is awaited, and the one door through which it arrives.

use crate::error::Error;

/// Names one attempt to fill one slot. A newer ticket of the same slot makes this one stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

/// A place for a value that comes later, or has come, or is being replaced.
///
/// Whoever asks for the value calls [`Slot::begin`] in the same statement that makes the effect;
/// the answer enters through [`Slot::settle`], which drops answers to questions nobody asks any
/// more. What was held stays until the new answer is there, so that a refresh does not blank the
/// screen; [`Slot::clear`] is for when it would be wrong to go on showing it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending<T> {
    last_id: u64,
    is_pending: bool,
    result: Option<Result<T, Error>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self {
            last_id: 0,
            is_pending: false,
            result: None,
        }
    }
}

impl<T> Pending<T> {
    /// Starts an attempt; every earlier ticket of this slot is stale from now on.
    pub fn start(&mut self) -> RequestId {
        self.last_id += 1;
        self.is_pending = true;
        RequestId(self.last_id)
    }

    /// Takes the outcome of the attempt, if it is still the current one; says whether it was.
    pub fn resolve(&mut self, ticket: RequestId, outcome: Result<T, Error>) -> bool {
        let current = self.is_current(ticket);
        if current {
            self.is_pending = false;
            self.result = Some(outcome);
        }
        current
    }

    /// Forgets what is held and what is awaited.
    pub fn reset(&mut self) {
        self.last_id += 1;
        self.is_pending = false;
        self.result = None;
    }

    /// Whether an answer is being waited for.
    pub const fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Whether the answer to this attempt is being waited for.
    pub const fn is_current(&self, ticket: RequestId) -> bool {
        self.is_pending && self.last_id == ticket.0
    }

    /// The value, if the last answer was one.
    pub fn value(&self) -> Option<&T> {
        self.result
            .as_ref()
            .and_then(|outcome| outcome.as_ref().ok())
    }

    /// The failure, if the last answer was one and nothing newer is awaited.
    pub fn error(&self) -> Option<&Error> {
        if self.is_pending {
            return None;
        }
        self.result
            .as_ref()
            .and_then(|outcome| outcome.as_ref().err())
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
        let ticket = slot.start();
        slot.resolve(ticket, Ok(1));
        let ticket = slot.start();
        assert_eq!(slot.value(), Some(&1));
        slot.reset();
        assert_eq!(slot.value(), None);
        assert!(!slot.resolve(ticket, Ok(2)));
    }

    #[test]
    fn a_failure_is_hidden_while_a_new_attempt_runs() {
        let mut slot = Pending::<()>::default();
        let ticket = slot.start();
        slot.resolve(ticket, Err(Error::new(ErrorKind::Server, "it failed")));
        assert!(slot.error().is_some());
        slot.start();
        assert!(slot.error().is_none());
    }
}
