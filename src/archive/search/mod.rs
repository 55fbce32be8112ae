//! Search: the rows of the list that match a query, from wherever the list is looked at.
//!
//! The index gives candidates in the order of the list ([`plan`]), each is loaded and judged by
//! [`query::matches`], and the walk ends when the screen is full. So what is found is right whatever
//! the index knows, and nothing is ever sorted or counted on the way.
//!
//! [`query::matches`]: crate::query::matches

mod bounds;
mod cheap;
mod count;
mod digest;
mod find;
mod forget;
mod halt;
mod held;
mod index;
mod judge;
mod keep_up;
mod known;
mod label;
mod plan;
#[cfg(test)]
mod plans;
mod slot;
#[cfg(test)]
mod tests;
mod tokens;
mod walk;

pub use count::{Counted, Scope};
pub(super) use digest::Expected;
pub use find::Candidates;
pub(super) use find::places;
pub(super) use forget::forget;
pub use halt::Halt;
pub(super) use index::{Index, is_displaced};
pub(super) use keep_up::keep_up;
pub(super) use label::{SENDER, number as label};
pub use plan::looks_inside;
pub(super) use slot::slots;
