//! The service's listing: the order of its emails, which ranges of it are known, and what left it.

pub(crate) mod confirmations;
pub(crate) mod coverage;
pub(crate) mod coverage_update;
pub(crate) mod deletions;
pub(crate) mod merge;
pub(crate) mod position;
pub(crate) mod sort_key;
