//! Tests of the whole language.

pub(crate) mod arbitrary;
mod properties;
mod spec;
