//! Text for people: sanitised, measured in columns, wrapped,
//! with numbers and durations in words.

pub(crate) mod ascii;
pub(crate) mod format;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod sanitize;
pub(crate) mod secret_urls;
pub(crate) mod secrets;
pub(crate) mod uuid;
pub(crate) mod width;
