//! `Rate`: how many requests a second sentbox may make, and who said so.

/// Requests a second. The team's limit is shared with the mail that it is sending, so the default
/// is low and never more than a quarter of what the service allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Requests a second.
    pub(crate) per_second: f64,
    /// The part of the service's stated limit that may be used at most.
    pub(crate) max_share: f64,
}

impl Rate {
    /// What a rate may be, for messages.
    pub(crate) const SYNTAX: &str = "a number of requests a second from 0.01 to 10000";

    /// A rate that a person chose: it may go to 90 % of the service's limit.
    #[must_use]
    pub fn explicit(per_second: f64) -> Option<Self> {
        (0.01..=10_000.0).contains(&per_second).then_some(Self {
            per_second,
            max_share: 0.9,
        })
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            per_second: 2.0,
            max_share: 0.25,
        }
    }
}
