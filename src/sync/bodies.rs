//! Fetches the bodies that the archive lacks, and reads older summaries again.

use jiff::Timestamp;

use super::{Back, Engine, Synced};
use crate::api::{MAX_LIMIT, Service};
use crate::archive::Anchor;
use crate::failure::{Failure, Kind};
use crate::mail::EmailId;

/// Emails that are looked up at once.
const BATCH: u32 = 100;

/// So many answers in a row that make no sense are the service's, not those of single emails.
const SENSELESS: u32 = 5;

/// What became of the emails whose bodies were missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bodies {
    /// How many were fetched.
    pub kept: u64,
    /// How many the service does not have any more.
    pub gone: u64,
    /// How many it answered with nonsense.
    pub bad: u64,
    /// How many are still to be fetched.
    pub left: u64,
    /// What ended the work before that.
    pub failed: Option<Failure>,
}

impl<S: Service> Engine<S> {
    /// Fetches the bodies of all emails here as far `back` as is said, newest first, one request each.
    /// `progress` is told after each. To break off is to drop the future; what was fetched stays.
    ///
    /// # Errors
    ///
    /// If the archive fails; a failure of the service is in [`Bodies::failed`].
    pub async fn bodies(&self, back: Back, mut progress: impl FnMut(&Bodies)) -> Result<Bodies, Failure> {
        let since = back.since();
        let left = self.blocking(move |archive| archive.count_without_body(since)).await?;
        let mut done = Bodies { left, ..Bodies::default() };
        let mut below = None;
        let mut senseless = 0;
        while done.left > 0 {
            let batch = self.blocking(move |archive| archive.without_body(below, since, BATCH)).await?;
            let Some((last, _)) = batch.last() else { break };
            below = Some(*last);
            for (_, id) in batch {
                match self.fetch(&id).await {
                    Ok((_, kept)) => {
                        kept?;
                        (done.kept, senseless) = (done.kept + 1, 0);
                    }
                    Err(failure) if failure.kind == Kind::NotFound => done.gone += 1,
                    Err(failure) if matches!(failure.kind, Kind::NotTheApi | Kind::InvalidRequest) && senseless + 1 < SENSELESS => {
                        (done.bad, senseless) = (done.bad + 1, senseless + 1);
                    }
                    Err(failure) => {
                        done.failed = Some(failure);
                        return Ok(done);
                    }
                }
                done.left = done.left.saturating_sub(1);
                progress(&done);
            }
        }
        done.left = 0;
        Ok(done)
    }

    /// Reads the summaries of a hundred emails again, from below `above` on or from below the newest
    /// hundred, which [`head`](Self::head) reads. Says where to go on; `None` once everything down to
    /// `until` was read.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn recheck(&self, above: Option<EmailId>, until: Timestamp) -> Result<(Option<Synced>, Option<EmailId>), Failure> {
        let Some(above) = (match above {
            Some(above) => Some(above),
            None => self.hundredth(None, until).await?,
        }) else {
            return Ok((None, None));
        };
        let synced = self.refresh(&above).await?;
        let next = self.hundredth(Some(above), until).await?;
        Ok((Some(synced), next))
    }

    /// The last of the hundred emails below `above`, or of the newest; none if there are not so many
    /// down to `until`. An email that is gone is no cursor.
    async fn hundredth(&self, above: Option<EmailId>, until: Timestamp) -> Result<Option<EmailId>, Failure> {
        self.blocking(move |archive| {
            let anchor = match above {
                None => Anchor::Newest,
                Some(id) => match archive.row(&id)? {
                    Some(row) => Anchor::Below(row.place),
                    None => return Ok(None),
                },
            };
            let window = archive.window(&anchor, usize::from(MAX_LIMIT))?;
            let is_recent = window.more_below && window.rows.last().is_some_and(|row| row.place.micros() >= until.as_microsecond());
            let cursor = window.rows.iter().rev().find(|row| row.gone.is_none());
            Ok(cursor.filter(|_| is_recent).map(|row| row.summary.id.clone()))
        })
        .await
    }
}
