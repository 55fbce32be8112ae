//! Text for people: sanitised, measured, wrapped, with numbers and durations.

pub(crate) mod ascii;
#[cfg(test)]
#[path = "../../tests/suite/harness/text.rs"]
pub(crate) mod checks;
mod code_words;
pub(crate) mod codes;
pub(crate) mod format;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod sanitize;
pub(crate) mod secret_urls;
pub(crate) mod secrets;
pub(crate) mod uuid;
pub(crate) mod width;
