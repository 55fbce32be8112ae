//! Follows what another process carries into the same archive.

use std::collections::HashMap;

use super::report::{StopReason, SyncReport};
use super::run::Progress;
use crate::archive::Archive;
use crate::error::Error;
use crate::mail::EmailId;

/// How far down it is looked: farther than a head walk goes.
const WATCHED_ROWS: u32 = 1000;

/// The newest emails as they were seen last, each with the number of its changes.
#[derive(Debug, Default)]
pub(super) struct ChangeFeed(Option<HashMap<EmailId, i64>>);

impl ChangeFeed {
    /// What came since the last look; nothing the first time.
    pub(super) fn poll(&mut self, archive: &Archive) -> Result<SyncReport, Error> {
        archive.check_file()?;
        let now = archive.newest_changes(WATCHED_ROWS)?;
        let mut brought = Progress::default();
        if let Some(before) = &self.0 {
            // Below the last one that was there before, rows have only moved up into view.
            let last = now
                .iter()
                .rposition(|(id, _)| before.contains_key(id))
                .unwrap_or(now.len());
            let new = now[..last]
                .iter()
                .filter(|(id, _)| !before.contains_key(id))
                .count();
            let changed = now
                .iter()
                .filter(|(id, changes)| before.get(id).is_some_and(|earlier| earlier != changes));
            brought.add_changes(new as u64, changed.map(|(id, _)| id.clone()).collect());
        }
        self.0 = Some(now.into_iter().collect());
        brought.to_report(archive, StopReason::OtherProcess)
    }
}
