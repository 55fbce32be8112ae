//! Looks in the listing for emails that the service did not have when it was asked for them one by one.

use super::{Engine, StopReason, SyncDepth, SyncReport};
use crate::api::EmailApi;
use crate::archive::SortKey;
use crate::error::Error;
use crate::mail::EmailId;

impl<S: EmailApi> Engine<S> {
    /// Reads the pages again that should hold such emails, as far `back` as is said, and adds what they
    /// bring to `synced`. No request if there is none in doubt.
    pub(super) async fn confirm_deletions(
        &self,
        back: SyncDepth,
        synced: &mut SyncReport,
    ) -> Result<(), Error> {
        let mut last = None;
        while let Some((place, above)) = self.first_unconfirmed(back).await? {
            // A page that has settled nothing ends it.
            if last.is_some_and(|last| place >= last) {
                break;
            }
            last = Some(place);
            match self.reread_page(&above).await {
                Ok(further) => synced.merge(further),
                Err(failure) => {
                    synced.stop_reason = StopReason::Failed(failure);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The newest that is in doubt. What comes after an email is older only where the newest is first.
    async fn first_unconfirmed(
        &self,
        back: SyncDepth,
    ) -> Result<Option<(SortKey, EmailId)>, Error> {
        self.run_blocking(move |archive| {
            let ground = archive.coverage_state()?;
            let newest = ground
                .ranges
                .iter()
                .find(|span| span.reaches_top && !ground.oldest_first);
            newest.map_or(Ok(None), |span| {
                archive.unconfirmed_deletion(span, back.cutoff_micros())
            })
        })
        .await
    }
}
