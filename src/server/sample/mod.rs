//! The sample mailbox: a believable company's sent mail, computed rather than stored.

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{Fault, Page, Source};
use crate::api::Cursor;
use crate::config::clock::Clock;
use crate::mail::EmailId;

/// How many emails a sample mailbox starts with, unless told otherwise.
pub const DEFAULT_EMAILS: u32 = 2000;

/// A living mailbox: each email is a pure function of seed, number and time.
pub struct Mailbox {
    seed: u64,
    emails: u32,
    start: Timestamp,
    clock: Clock,
}

impl Mailbox {
    /// A mailbox that holds `emails` from the 90 days before `start`, and grows from then on.
    #[must_use]
    pub fn new(seed: u64, emails: u32, start: Timestamp, clock: Clock) -> Self {
        Self { seed, emails, start, clock }
    }
}

impl Source for Mailbox {
    fn page(&self, _cursor: &Cursor, _limit: u8) -> Result<Page, Fault> {
        let _ = (self.seed, self.emails, self.start, &self.clock);
        Err(Fault::Unknown)
    }

    fn email(&self, _id: &EmailId) -> Result<Box<RawValue>, Fault> {
        Err(Fault::Unknown)
    }
}
