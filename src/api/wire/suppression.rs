//! The JSON of an entry of the suppression list.

use serde::Serialize;
use serde::de::Error as _;

use super::{OrderedObject, parse_scalar};

/// An address to which the service no longer sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Suppression {
    pub(crate) object: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) email: Option<String>,
    /// `bounce`, `complaint` or `manual`.
    pub(crate) origin: Option<String>,
    /// The email that caused it.
    pub(crate) source_id: Option<String>,
    pub(crate) created_at: Option<String>,
}

impl Suppression {
    /// Parses an entry: an object that says what it is about.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let object = OrderedObject::parse(json)?;
        let text = |name: &str| object.get(name).and_then(parse_scalar);
        let parsed = Self {
            object: text("object"),
            id: text("id"),
            email: text("email"),
            origin: text("origin"),
            source_id: text("source_id"),
            created_at: text("created_at"),
        };
        match parsed {
            Self {
                id: None,
                email: None,
                origin: None,
                ..
            } => Err(serde_json::Error::custom("no entry of a suppression list")),
            parsed => Ok(parsed),
        }
    }
}
