//! Fetches the bodies that the archive lacks.

use super::{Engine, SyncDepth};
use crate::api::EmailApi;
use crate::error::{Error, ErrorKind, Result};

/// Emails per query of the archive.
const BATCH_SIZE: u32 = 100;

/// Number of invalid responses in a row that are the service's fault, not that of single emails.
const MAX_CONSECUTIVE_INVALID: u32 = 5;

/// The result of fetching missing bodies, in numbers of emails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BodiesReport {
    /// Fetched and stored.
    pub(crate) stored: u64,
    /// Unknown to the service.
    pub(crate) missing: u64,
    /// With a response that is not an email.
    pub(crate) invalid: u64,
    /// Still without a body.
    pub(crate) remaining: u64,
    /// The error of the service that ended the work.
    pub(crate) error: Option<Error>,
}

impl<S: EmailApi> Engine<S> {
    /// Fetches the missing bodies of emails down to `depth`, newest first, one request each.
    ///
    /// `progress` is called after each. Dropping the future cancels the work; stored bodies stay. An
    /// error of the service is in the report; the result is an error only if the archive fails.
    pub(crate) async fn fetch_bodies(
        &self,
        depth: SyncDepth,
        mut progress: impl FnMut(&BodiesReport),
    ) -> Result<BodiesReport> {
        let since = depth.cutoff_micros();
        let mut report = BodiesReport {
            remaining: self
                .run_blocking(move |archive| archive.count_without_body(since))
                .await?,
            ..BodiesReport::default()
        };
        let mut below = None;
        let mut consecutive_invalid = 0;
        while report.remaining > 0 {
            let batch = self
                .run_blocking(move |archive| archive.without_body(below, since, BATCH_SIZE))
                .await?;
            let Some((last, _)) = batch.last() else { break };
            below = Some(*last);
            for (_, id) in batch {
                match self.fetch_and_store(&id).await {
                    Ok(retrieved) => {
                        retrieved.stored?;
                        report.stored += 1;
                        consecutive_invalid = 0;
                    }
                    Err(error) if error.kind == ErrorKind::NotFound => report.missing += 1,
                    Err(error)
                        if matches!(
                            error.kind,
                            ErrorKind::NotTheApi | ErrorKind::InvalidRequest
                        ) && consecutive_invalid + 1 < MAX_CONSECUTIVE_INVALID =>
                    {
                        report.invalid += 1;
                        consecutive_invalid += 1;
                    }
                    Err(error) => {
                        report.error = Some(error);
                        return Ok(report);
                    }
                }
                report.remaining = report.remaining.saturating_sub(1);
                progress(&report);
            }
        }
        report.remaining = 0;
        Ok(report)
    }
}
