//! How emails are stored: rows, ids, times and compressed bodies.

pub(crate) mod body;
pub(crate) mod dictionary;
pub(crate) mod id;
pub(crate) mod row;
pub(crate) mod time;
