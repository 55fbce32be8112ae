//! Carries what the service has into the archive, page by page, and never claims more than it has seen.

mod bodies;
mod confirm;
mod doubts;
pub mod exchange;
mod follow;
mod foothold;
mod journey;
pub mod plan;
mod reachability;
pub mod recheck;
mod synced;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::info;

use confirm::Unconfirmable;
use exchange::Goal;
use follow::Following;
use journey::{Brought, Journey, Step, is_about_the_cursor};

pub use bodies::Bodies;
pub use confirm::Confirmed;
pub use recheck::Recheck;
pub use synced::{Back, NAMED, Stopped, Synced};

use crate::api::{Budget, Cursor, MAX_LIMIT, OnSend, Page, Service, Wish};
use crate::archive::{Archive, Joins, Lease, RequestTime, Stretch};
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::{Email, EmailId};

/// Carries one service into one archive. Clones do the same work and may be used at the same time:
/// the archive is right whatever order answers arrive in.
pub struct Engine<S> {
    service: Arc<S>,
    archive: Archive,
    clock: Clock,
    following: Arc<Mutex<Following>>,
    unconfirmable: Arc<Mutex<Unconfirmable>>,
}

impl<S> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self {
            service: Arc::clone(&self.service),
            archive: self.archive.clone(),
            clock: Arc::clone(&self.clock),
            following: Arc::clone(&self.following),
            unconfirmable: Arc::clone(&self.unconfirmable),
        }
    }
}

/// A lease that is given up when this is dropped.
struct Held<'a>(&'a Lease);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<S: Service> Engine<S> {
    /// An engine between `service` and `archive`; `clock` tells when something was seen.
    #[must_use]
    pub fn new(service: Arc<S>, archive: Archive, clock: Clock) -> Self {
        Self {
            service,
            archive,
            clock,
            following: Arc::default(),
            unconfirmable: Arc::default(),
        }
    }

    /// The same engine, whose requests are wanted so.
    #[must_use]
    pub fn wanted(&self, wish: &Wish) -> Self {
        Self {
            service: Arc::new(self.service.wanted(wish)),
            ..self.clone()
        }
    }

    /// What may be asked of the service at present, if it is asked at a pace.
    #[must_use]
    pub fn budget(&self) -> Option<Budget> {
        self.service.allowance()
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
    /// No request if another process on the same archive does this already ([`Lease`]): then it is what
    /// that one has brought since the last time.
    ///
    /// [`Lease`]: crate::archive::Lease
    ///
    /// # Errors
    ///
    /// If the service fails before it gave a page, or the archive fails. A later failure of the service
    /// is in [`Synced::stopped`].
    pub async fn head(&self) -> Result<Synced, Failure> {
        let (following, now) = (Arc::clone(&self.following), (self.clock)());
        let followed = self.blocking(move |archive| {
            if archive.lease().hold(now) {
                return Ok(None);
            }
            if let Some(failure) = archive.lease().outage() {
                return Err(failure);
            }
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .look(&archive)
                .map(Some)
        });
        if let Some(synced) = followed.await? {
            return Ok(synced);
        }
        self.head_now().await
    }

    /// The same, also if another process does this already: a user wants to know how it is now.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn head_now(&self) -> Result<Synced, Failure> {
        let walked = self.walk(Goal::Head, |_| ()).await;
        let (following, now) = (Arc::clone(&self.following), (self.clock)());
        let noted = self.blocking(move |archive| {
            // From here on this process asks for what is new, if no other one does.
            let _ = archive.lease().hold(now);
            reachability::record(&archive, &walked, now);
            let synced = walked?;
            // What this process has brought itself is no news from another one.
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .look(&archive)?;
            Ok(synced)
        });
        noted.await
    }

    /// What other processes have brought since the last refresh or call. No request.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn follow(&self) -> Result<Synced, Failure> {
        let following = Arc::clone(&self.following);
        self.blocking(move |archive| {
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .look(&archive)
        })
        .await
    }

    /// Fetches the page below the newest stretch that is known whole. No request if there is none.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn extend(&self) -> Result<Synced, Failure> {
        self.walk(Goal::Extend, |_| ()).await
    }

    /// The same where nobody waits for it: `None`, and no request, if another process on the same archive
    /// does this, or asks for what is new.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn fill(&self) -> Result<Option<Synced>, Failure> {
        let now = (self.clock)();
        let held =
            self.blocking(move |archive| Ok(archive.lease().hold(now) && archive.walk().hold(now)));
        if !held.await? {
            return Ok(None);
        }
        // For one page only: whoever is told to walk further need not wait for this.
        let _held = Held(self.archive.walk());
        self.extend().await.map(Some)
    }

    /// Fetches everything new and then everything older as far `back` as is asked for; at last it looks
    /// for what is listed although the service did not have it when it was asked for. `progress` is
    /// told after each page. To break off is to drop the future; what was fetched stays, and the next
    /// time continues from there.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub async fn all(&self, back: Back, progress: impl FnMut(&Synced)) -> Result<Synced, Failure> {
        let mut synced = self.walk(Goal::Back(back), progress).await?;
        if matches!(synced.stopped, Stopped::Done | Stopped::End) {
            self.settle_doubts(back, &mut synced).await?;
        }
        Ok(synced)
    }

    /// Reads the summaries of a hundred emails again, from right below `above` on: what a screen shows
    /// that has left the newest hundred behind.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub async fn refresh(&self, above: &EmailId) -> Result<Synced, Failure> {
        let (asked, answer) = self.list(&Cursor::After(above.clone())).await;
        let above = above.clone();
        self.blocking(move |archive| {
            let ground = archive.ground()?;
            let mut brought = Brought::default();
            let stopped = match answer {
                Err(failure) if is_about_the_cursor(&failure) => Stopped::CursorGone,
                Err(failure) => return Err(failure),
                Ok(page) => {
                    // On a service that lists the oldest first these are newer, and claim nothing.
                    let joins = if ground.rising || page.unreadable > 0 {
                        Joins::Nothing
                    } else {
                        Joins::Below {
                            cursor: above,
                            cut: false,
                        }
                    };
                    let carried = archive.carry(&Stretch {
                        items: page.items,
                        joins,
                        rising: ground.rising,
                        asked,
                    })?;
                    brought.add(&carried, page.unreadable);
                    Stopped::Done
                }
            };
            brought.synced(&archive, stopped)
        })
        .await
    }

    /// Fetches one email with its bodies and keeps it. One that the service does not have is marked as
    /// gone. Asking twice at once costs a request and does no
    /// harm.
    ///
    /// # Errors
    ///
    /// If the service fails, or the answer is about another email.
    pub async fn read(&self, id: &EmailId) -> Result<Email, Failure> {
        // That it cannot be kept, on a full disk perhaps, is no reason not to read it.
        Ok(self.fetch(id).await?.0)
    }

    /// Fetches one email; says beside it whether it could be kept.
    async fn fetch(&self, id: &EmailId) -> Result<(Email, Result<(), Failure>), Failure> {
        let (asked, answer) = self
            .stamped(|service| async move { service.retrieve(id).await })
            .await;
        self.report_reachability(&answer).await;
        let retrieved = match answer {
            Ok(retrieved) => retrieved,
            Err(failure) => {
                if failure.kind == Kind::NotFound {
                    let id = id.clone();
                    self.blocking(move |archive| archive.mark_gone(&id, asked))
                        .await?;
                }
                return Err(failure);
            }
        };
        if retrieved.email.id != id.as_str() {
            return Err(Failure::new(
                Kind::NotTheApi,
                "the service answered with another email than the one asked for",
            )
            .hint("nothing was kept; ask again, or ask who runs the service"));
        }
        self.blocking(move |archive| {
            let kept = archive.keep(&retrieved, asked).map(|_| ());
            Ok((Email::from(retrieved), kept))
        })
        .await
    }

    async fn walk(&self, goal: Goal, mut progress: impl FnMut(&Synced)) -> Result<Synced, Failure> {
        let (mut journey, mut step) = self
            .blocking(move |archive| Journey::begin(archive, goal))
            .await?;
        loop {
            let cursor = match step {
                Step::Over(stopped) => {
                    let synced = self.blocking(move |_| journey.synced(stopped)).await?;
                    let Synced {
                        new,
                        changes,
                        pages,
                        stopped,
                        ..
                    } = &synced;
                    info!(
                        ?goal,
                        pages,
                        new,
                        changes,
                        because = stopped.word(),
                        "a walk has ended"
                    );
                    return Ok(synced);
                }
                Step::Request(cursor) => cursor,
            };
            let (asked, answer) = self.list(&cursor).await;
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

    async fn list(&self, cursor: &Cursor) -> (RequestTime, Result<Page, Failure>) {
        let (asked, answer) = self
            .stamped(|service| async move { service.list(MAX_LIMIT, cursor).await })
            .await;
        self.report_reachability(&answer).await;
        (asked, answer)
    }

    /// Makes a request, and numbers it when it is sent: it may have waited for its turn until then.
    async fn stamped<T, F: Future<Output = T> + Send>(
        &self,
        request: impl FnOnce(S) -> F + Send,
    ) -> (RequestTime, T) {
        let sent = Arc::new(Mutex::new(None));
        let hook: OnSend = {
            let (archive, clock, sent) = (
                self.archive.clone(),
                Arc::clone(&self.clock),
                Arc::clone(&sent),
            );
            Arc::new(move || {
                let (archive, clock, sent) =
                    (archive.clone(), Arc::clone(&clock), Arc::clone(&sent));
                Box::pin(async move { *held(&sent) = Some(stamp(archive, clock).await) })
            })
        };
        let answer = if let Some(service) = self.service.with_on_send(hook) {
            request(service).await
        } else {
            let now = stamp(self.archive.clone(), Arc::clone(&self.clock)).await;
            *held(&sent) = Some(now);
            request(S::clone(&self.service)).await
        };
        // A request that was never sent has no answer that could be stored.
        let sent = held(&sent).unwrap_or_else(|| RequestTime::from((self.clock)()));
        (sent, answer)
    }

    /// Runs `work` where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Archive) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
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

/// Numbers a request that is sent now. Where the archive cannot be written, nothing is stored either, and
/// the time will do.
async fn stamp(archive: Archive, clock: Clock) -> RequestTime {
    let now = clock();
    let stamped = tokio::task::spawn_blocking(move || archive.stamp_request(now)).await;
    stamped
        .ok()
        .and_then(Result::ok)
        .unwrap_or_else(|| RequestTime::from(now))
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
