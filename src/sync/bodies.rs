//! Fetches the bodies that the archive lacks.

use super::{Back, Engine};
use crate::api::Service;
use crate::failure::{Failure, Kind};

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
    pub async fn bodies(
        &self,
        back: Back,
        mut progress: impl FnMut(&Bodies),
    ) -> Result<Bodies, Failure> {
        let since = back.since();
        let left = self
            .blocking(move |archive| archive.count_without_body(since))
            .await?;
        let mut done = Bodies {
            left,
            ..Bodies::default()
        };
        let mut below = None;
        let mut senseless = 0;
        while done.left > 0 {
            let batch = self
                .blocking(move |archive| archive.without_body(below, since, BATCH))
                .await?;
            let Some((last, _)) = batch.last() else { break };
            below = Some(*last);
            for (_, id) in batch {
                match self.fetch(&id).await {
                    Ok((_, kept)) => {
                        kept?;
                        (done.kept, senseless) = (done.kept + 1, 0);
                    }
                    Err(failure) if failure.kind == Kind::NotFound => done.gone += 1,
                    Err(failure)
                        if matches!(failure.kind, Kind::NotTheApi | Kind::InvalidRequest)
                            && senseless + 1 < SENSELESS =>
                    {
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
}
