//! `Slot`: a value that is awaited, and the one door through which it arrives.

use crate::failure::Failure;

/// Names one attempt to fill one slot. A newer ticket of the same slot makes this one stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// A place for a value that comes later, or has come, or is being replaced.
///
/// Whoever asks for the value calls [`Slot::begin`] in the same statement that makes the effect;
/// the answer enters through [`Slot::settle`], which drops answers to questions nobody asks any
/// more. What was held stays until the new answer is there, so that a refresh does not blank the
/// screen; [`Slot::clear`] is for when it would be wrong to go on showing it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot<T> {
    minted: u64,
    awaiting: bool,
    held: Option<Result<T, Failure>>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            minted: 0,
            awaiting: false,
            held: None,
        }
    }
}

impl<T> Slot<T> {
    /// Starts an attempt; every earlier ticket of this slot is stale from now on.
    pub fn begin(&mut self) -> Ticket {
        self.minted += 1;
        self.awaiting = true;
        Ticket(self.minted)
    }

    /// Takes the outcome of the attempt, if it is still the current one; says whether it was.
    pub fn settle(&mut self, ticket: Ticket, outcome: Result<T, Failure>) -> bool {
        let current = self.awaits(ticket);
        if current {
            self.awaiting = false;
            self.held = Some(outcome);
        }
        current
    }

    /// Forgets what is held and what is awaited.
    pub fn clear(&mut self) {
        self.minted += 1;
        self.awaiting = false;
        self.held = None;
    }

    /// Whether an answer is being waited for.
    #[must_use]
    pub const fn is_awaiting(&self) -> bool {
        self.awaiting
    }

    /// Whether the answer to this attempt is being waited for.
    #[must_use]
    pub const fn awaits(&self, ticket: Ticket) -> bool {
        self.awaiting && self.minted == ticket.0
    }

    /// The value, if the last answer was one.
    #[must_use]
    pub fn ready(&self) -> Option<&T> {
        self.held.as_ref().and_then(|outcome| outcome.as_ref().ok())
    }

    /// The failure, if the last answer was one and nothing newer is awaited.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        if self.awaiting {
            return None;
        }
        self.held
            .as_ref()
            .and_then(|outcome| outcome.as_ref().err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;

    #[test]
    fn a_newer_attempt_makes_the_older_stale() {
        let mut slot = Slot::default();
        let first = slot.begin();
        let second = slot.begin();
        assert!(!slot.settle(first, Ok("old")));
        assert!(slot.is_awaiting());
        assert!(slot.settle(second, Ok("new")));
        assert_eq!(slot.ready(), Some(&"new"));
        assert!(
            !slot.settle(second, Ok("again")),
            "a ticket is good for one answer"
        );
    }

    #[test]
    fn what_was_held_stays_until_the_answer_and_goes_when_cleared() {
        let mut slot = Slot::default();
        let ticket = slot.begin();
        slot.settle(ticket, Ok(1));
        let ticket = slot.begin();
        assert_eq!(slot.ready(), Some(&1));
        slot.clear();
        assert_eq!(slot.ready(), None);
        assert!(!slot.settle(ticket, Ok(2)));
    }

    #[test]
    fn a_failure_is_hidden_while_a_new_attempt_runs() {
        let mut slot = Slot::<()>::default();
        let ticket = slot.begin();
        slot.settle(ticket, Err(Failure::new(Kind::Server, "it failed")));
        assert!(slot.failure().is_some());
        slot.begin();
        assert!(slot.failure().is_none());
    }
}
