//! Looks in the listing for emails that the service did not have when it was asked for them one by one.

use super::{Back, Engine, Stopped, Synced};
use crate::api::Service;
use crate::archive::Place;
use crate::failure::Failure;
use crate::mail::EmailId;

impl<S: Service> Engine<S> {
    /// Reads the pages again that should hold such emails, as far `back` as is said, and adds what they
    /// bring to `synced`. No request if there is none in doubt.
    pub(super) async fn settle_doubts(
        &self,
        back: Back,
        synced: &mut Synced,
    ) -> Result<(), Failure> {
        let mut last = None;
        while let Some((place, above)) = self.doubtful(back).await? {
            // A page that has settled nothing ends it.
            if last.is_some_and(|last| place >= last) {
                break;
            }
            last = Some(place);
            match self.refresh(&above).await {
                Ok(further) => synced.add(further),
                Err(failure) => {
                    synced.stopped = Stopped::Failed(failure);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The newest that is in doubt. What comes after an email is older only where the newest is first.
    async fn doubtful(&self, back: Back) -> Result<Option<(Place, EmailId)>, Failure> {
        self.blocking(move |archive| {
            let ground = archive.ground()?;
            let newest = ground
                .spans
                .iter()
                .find(|span| span.reaches_top && !ground.rising);
            newest.map_or(Ok(None), |span| archive.doubtful(span, back.since()))
        })
        .await
    }
}
