//! The archive: every email that was ever fetched, near and fast, on disk or in memory.
//!
//! Foreign data is stored as it came and cleaned when a row becomes a [`mail::Summary`]; nothing
//! that the service said is lost on the way ([`Archive::summary_json`]). Calls block: they belong
//! on a blocking thread, never on an event loop.
//!
//! [`mail::Summary`]: crate::mail::Summary

mod carry;
mod claim;
mod confirmed;
#[cfg(test)]
mod confirmed_tests;
mod connections;
#[cfg(test)]
mod damage_tests;
mod dictionary;
mod entry;
mod fields;
mod gone;
mod health;
mod import;
mod info;
mod keep;
mod lease;
mod members;
mod missing;
mod moment;
mod notice;
mod order;
mod owner;
#[cfg(test)]
mod owner_tests;
mod pack;
mod packed;
mod place;
mod read_only;
mod removal;
#[cfg(test)]
mod removal_tests;
mod repair;
mod request_time;
mod room;
mod schema;
mod search;
mod span;
#[cfg(test)]
mod tests;
mod trouble;
mod watch;
mod window;

use std::path::PathBuf;
use std::sync::Arc;

use connections::Connections;
use jiff::{SignedDuration, Timestamp};

pub use carry::{Carried, Joins, Stretch};
pub use confirmed::ConfirmedRun;
pub use gone::{Gone, GoneKind};
pub use health::is_beyond_use;
pub use import::Imported;
pub use info::Info;
pub use lease::Lease;
pub use notice::{Notice, Notices};
pub use owner::{Opened, Owner, Said, Stranger};
pub use place::Place;
pub use removal::Removal;
pub use repair::Repaired;
pub use request_time::RequestTime;
pub use search::{Candidates, Counted, Halt, Scope, looks_inside};
pub use span::{Ground, Reach, Span};
pub use window::{Anchor, Observation, Row, Window};

pub use crate::config::Location;
use crate::failure::Failure;
use crate::mail::clean;

/// A handle on the archive; clones share it. One writes at a time, many read beside it.
#[derive(Clone)]
pub struct Archive {
    connections: Arc<Connections>,
    keep: Option<SignedDuration>,
    lease: Lease,
    walk: Lease,
    put_aside: Option<PathBuf>,
}

impl Archive {
    /// Opens the archive, and creates it if there is none; one that may not be written for reading alone: see
    /// [`read_only`](Self::read_only). One of an older version is put aside first:
    /// see [`put_aside`](Self::put_aside).
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or was written by a newer version.
    pub fn open(location: &Location) -> Result<Self, Failure> {
        let (connections, put_aside) = match location {
            Location::Disk(path) => Connections::on_disk(path).map_err(|failure| {
                let file = clean::line(&path.display().to_string()).into_owned();
                let hint = if failure.hint.is_empty() {
                    file
                } else {
                    format!("{} ({file})", failure.hint)
                };
                failure.hint(hint)
            })?,
            Location::Memory => (Connections::in_memory()?, None),
        };
        let (lease, walk) = (Lease::on(location, "lease"), Lease::on(location, "walk"));
        Ok(Self {
            connections: Arc::new(connections),
            keep: None,
            lease,
            walk,
            put_aside,
        })
    }

    /// Where the archive of an older version is now that was at this place, if opening has moved one: its
    /// mail is fetched from the service again.
    #[must_use]
    pub const fn put_aside(&self) -> Option<&PathBuf> {
        self.put_aside.as_ref()
    }

    /// Who of all processes on this archive asks the service for what is new.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Who of all processes on this archive fetches older mail that nobody waits for.
    #[must_use]
    pub const fn walk(&self) -> &Lease {
        &self.walk
    }

    /// The same archive, in which no mail stays that is older than `keep`; what is too old at `now`
    /// is removed at once.
    ///
    /// # Errors
    ///
    /// If the archive cannot be written.
    pub fn keeping(
        mut self,
        keep: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        self.keep = keep;
        if self.read_only().is_none() {
            self.expire(now)?;
        }
        Ok(self)
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Archive")
    }
}
