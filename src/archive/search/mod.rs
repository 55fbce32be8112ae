//! Search: the rows of the list that match a query, from wherever the list is looked at.
//!
//! The index gives candidates in the order of the list ([`plan`]), each is loaded and judged by
//! [`query::matches`], and the walk ends when the screen is full. So what is found is right whatever
//! the index knows, and nothing is ever sorted or counted on the way.
//!
//! [`query::matches`]: crate::query::matches

mod cheap;
mod count;
mod digest;
mod find;
mod forget;
mod halt;
mod held;
mod index;
mod interned;
mod keep_up;
mod matcher;
mod plan;
#[cfg(test)]
mod plans;
mod scan;
mod slot;
mod suggest;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use count::{BodyAvailability, MatchCount};
pub(super) use digest::IndexChecksum;
pub(crate) use find::CandidateRows;
pub(super) use find::matching_keys;
pub(super) use forget::erase_deleted;
pub use halt::CancellationToken;
pub(super) use index::{Index, is_out_of_order};
pub(super) use interned::{STORED_SENDER, intern as label};
pub(super) use keep_up::reindex_dirty;
pub(super) use slot::assign_rowids;
