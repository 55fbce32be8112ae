//! The archive: every email that was ever fetched, near and fast, on disk or in memory.
//!
//! Foreign data is stored as it came and cleaned when a row becomes a [`mail::Summary`]; nothing
//! that the service said is lost on the way ([`Archive::summary_json`]). Calls block: they belong
//! on a blocking thread, never on an event loop.
//!
//! [`mail::Summary`]: crate::mail::Summary

mod carry;
mod claim;
mod connections;
mod entry;
mod fields;
mod health;
mod import;
mod keep;
mod members;
mod order;
mod pack;
mod place;
mod room;
mod schema;
mod search;
mod span;
#[cfg(test)]
mod tests;
mod trouble;
mod window;

use std::sync::Arc;

use connections::Connections;

pub use carry::{Carried, Joins, Stretch};
pub use import::Imported;
pub use place::Place;
pub use search::{Counted, Halt, Scope, looks_inside};
pub use span::{Ground, Reach, Span};
pub use window::{Anchor, Observation, Row, Window};

pub use crate::config::Location;
use crate::failure::Failure;

/// A handle on the archive; clones share it. One writes at a time, many read beside it.
#[derive(Clone)]
pub struct Archive {
    connections: Arc<Connections>,
}

impl Archive {
    /// Opens the archive, creates it if there is none, and brings an older one to this version.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or was written by a newer version.
    pub fn open(location: &Location) -> Result<Self, Failure> {
        let connections = match location {
            Location::Disk(path) => Connections::on_disk(path)?,
            Location::Memory => Connections::in_memory()?,
        };
        Ok(Self { connections: Arc::new(connections) })
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Archive")
    }
}
