//! Fetches the bodies that the archive lacks.

use super::{Engine, SyncDepth};
use crate::api::EmailApi;
use crate::error::{Error, ErrorKind};

/// Emails that are looked up at once.
const BATCH_SIZE: u32 = 100;

/// So many answers in a row that make no sense are the service's, not those of single emails.
const MAX_CONSECUTIVE_INVALID: u32 = 5;

/// What became of the emails whose bodies were missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BodiesReport {
    /// How many were fetched.
    pub(crate) stored: u64,
    /// How many the service does not have any more.
    pub(crate) missing: u64,
    /// How many it answered with nonsense.
    pub(crate) invalid: u64,
    /// How many are still to be fetched.
    pub(crate) remaining: u64,
    /// What ended the work before that.
    pub(crate) error: Option<Error>,
}

impl<S: EmailApi> Engine<S> {
    /// Fetches the bodies of all emails here as far `back` as is said, newest first, one request each.
    /// `progress` is told after each. To break off is to drop the future; what was fetched stays.
    ///
    /// # Errors
    ///
    /// If the archive fails; a failure of the service is in [`Bodies::failed`].
    pub(crate) async fn fetch_bodies(
        &self,
        back: SyncDepth,
        mut progress: impl FnMut(&BodiesReport),
    ) -> Result<BodiesReport, Error> {
        let since = back.cutoff_micros();
        let left = self
            .run_blocking(move |archive| archive.count_without_body(since))
            .await?;
        let mut done = BodiesReport {
            remaining: left,
            ..BodiesReport::default()
        };
        let mut below = None;
        let mut senseless = 0;
        while done.remaining > 0 {
            let batch = self
                .run_blocking(move |archive| archive.without_body(below, since, BATCH_SIZE))
                .await?;
            let Some((last, _)) = batch.last() else { break };
            below = Some(*last);
            for (_, id) in batch {
                match self.fetch_and_store(&id).await {
                    Ok((_, kept)) => {
                        kept?;
                        (done.stored, senseless) = (done.stored + 1, 0);
                    }
                    Err(failure) if failure.kind == ErrorKind::NotFound => done.missing += 1,
                    Err(failure)
                        if matches!(
                            failure.kind,
                            ErrorKind::NotTheApi | ErrorKind::InvalidRequest
                        ) && senseless + 1 < MAX_CONSECUTIVE_INVALID =>
                    {
                        (done.invalid, senseless) = (done.invalid + 1, senseless + 1);
                    }
                    Err(failure) => {
                        done.error = Some(failure);
                        return Ok(done);
                    }
                }
                done.remaining = done.remaining.saturating_sub(1);
                progress(&done);
            }
        }
        done.remaining = 0;
        Ok(done)
    }
}
