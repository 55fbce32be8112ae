//! Text for people: sanitised, measured in columns, wrapped, with numbers and durations in words.

pub mod format;
pub mod sanitize;
pub mod suggest;
pub mod width;
