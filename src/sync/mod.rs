//! Carries what the service has into the archive, page by page, and never claims more than it has seen.

mod foothold;
mod journey;
pub mod plan;
mod synced;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use journey::{Brought, Journey, Step, is_about_the_cursor};
use plan::Goal;

pub use synced::{Back, NAMED, Stopped, Synced};

use crate::api::{Cursor, MAX_LIMIT, Service};
use crate::archive::{Archive, Joins, Stretch};
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::{Email, EmailId};

/// Carries one service into one archive. Clones do the same work and may be used at the same time:
/// the archive is right whatever order answers arrive in.
pub struct Engine<S> {
    service: Arc<S>,
    archive: Archive,
    clock: Clock,
}

impl<S> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self { service: Arc::clone(&self.service), archive: self.archive.clone(), clock: Arc::clone(&self.clock) }
    }
}

impl<S: Service> Engine<S> {
    /// An engine between `service` and `archive`; `clock` tells when something was seen.
    #[must_use]
    pub fn new(service: Arc<S>, archive: Archive, clock: Clock) -> Self {
        Self { service, archive, clock }
    }

    /// The archive that is filled.
    #[must_use]
    pub const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Fetches what is new, and the present status of the newest hundred. One request if nothing is
    /// new; else as many as it takes to meet what is known, up to a limit. The first time of all it is
    /// the first page alone.
    ///
    /// # Errors
    ///
    /// If the service fails before it gave a page, or the archive fails. A later failure of the service
    /// is in [`Synced::stopped`].
    pub async fn head(&self) -> Result<Synced, Failure> {
        self.walk(Goal::Head, |_| ()).await
    }

    /// Fetches the page below the newest stretch that is known whole. No request if there is none.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn extend(&self) -> Result<Synced, Failure> {
        self.walk(Goal::Extend, |_| ()).await
    }

    /// Fetches everything new and then everything older as far `back` as is asked for. `progress` is
    /// told after each page. To break off is to drop the future; what was fetched stays, and the next
    /// time continues from there.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn all(&self, back: Back, progress: impl FnMut(&Synced)) -> Result<Synced, Failure> {
        self.walk(Goal::Back(back), progress).await
    }

    /// Reads the summaries of a hundred emails again, from right below `above` on: what a screen shows
    /// that has left the newest hundred behind.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn refresh(&self, above: &EmailId) -> Result<Synced, Failure> {
        let asked = (self.clock)();
        let answer = self.service.list(MAX_LIMIT, &Cursor::After(above.clone())).await;
        let above = above.clone();
        self.blocking(move |archive| {
            let ground = archive.ground()?;
            let mut brought = Brought::default();
            let stopped = match answer {
                Err(failure) if is_about_the_cursor(&failure) => Stopped::CursorGone,
                Err(failure) => return Err(failure),
                Ok(page) => {
                    // On a service that lists the oldest first these are newer, and claim nothing.
                    let joins = if ground.rising { Joins::Nothing } else { Joins::Below { cursor: above, cut: false } };
                    brought.add(&archive.carry(&Stretch { items: page.items, joins, rising: ground.rising, asked })?);
                    Stopped::Done
                }
            };
            Ok(brought.synced(archive.reach()?, stopped))
        })
        .await
    }

    /// Fetches one email with its bodies and keeps it. Asking twice at once costs a request and does no
    /// harm.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails, or the answer is about another email.
    pub async fn read(&self, id: &EmailId) -> Result<Email, Failure> {
        let asked = (self.clock)();
        let retrieved = self.service.retrieve(id).await?;
        if retrieved.email.id != id.as_str() {
            return Err(Failure::new(Kind::NotTheApi, "the service answered with another email than the one asked for")
                .hint("nothing was kept; ask again, or ask who runs the service"));
        }
        self.blocking(move |archive| {
            archive.keep(&retrieved, asked)?;
            Ok(Email::from(retrieved))
        })
        .await
    }

    async fn walk(&self, goal: Goal, mut progress: impl FnMut(&Synced)) -> Result<Synced, Failure> {
        let (mut journey, mut step) = self.blocking(move |archive| Journey::begin(archive, goal)).await?;
        loop {
            let cursor = match step {
                Step::Over(stopped) => return self.blocking(move |_| journey.synced(stopped)).await,
                Step::Request(cursor) => cursor,
            };
            let asked = (self.clock)();
            let answer = self.service.list(MAX_LIMIT, &cursor).await;
            let so_far;
            (journey, step, so_far) = self
                .blocking(move |_| {
                    let (journey, step) = journey.arrive(answer, asked)?;
                    let so_far = journey.synced(Stopped::Done)?;
                    Ok((journey, step, so_far))
                })
                .await?;
            progress(&so_far);
        }
    }

    /// Runs `work` where it may block.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(Archive) -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
        let archive = self.archive.clone();
        match tokio::task::spawn_blocking(move || work(archive)).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Failure::new(Kind::Internal, "the program is ending")),
            },
        }
    }
}
