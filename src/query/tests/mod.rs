//! Tests of the whole language.

pub(crate) mod arbitrary;
mod date;
mod properties;
mod spec;
