//! Carries what the service has into the archive, page by page, and never claims more than it has seen.

mod bodies;
mod confirm;
mod cursor_search;
mod doubts;
pub(crate) mod exchange;
mod follow;
pub(crate) mod planner;
mod reachability;
pub(crate) mod recheck;
mod report;
mod run;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::info;

use confirm::FailedPages;
use exchange::Goal;
use follow::ChangeFeed;
use run::{Progress, RunStep, SyncRun, is_cursor_error};

pub(crate) use confirm::ConfirmReport;
pub(crate) use recheck::RecheckScope;
pub(crate) use report::{StopReason, SyncDepth, SyncReport};

use crate::api::{BeforeSend, Cursor, EmailApi, EmailPage, MAX_LIMIT, RateBudget, RequestHandle};
use crate::archive::{Archive, ListingPage, PagePosition, ProcessLock, RequestTime};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::mail::{Email, EmailId};

/// Carries one service into one archive. Clones do the same work and may be used at the same time:
/// the archive is right whatever order answers arrive in.
pub(crate) struct Engine<S> {
    service: Arc<S>,
    archive: Archive,
    clock: Clock,
    change_feed: Arc<Mutex<ChangeFeed>>,
    failed_pages: Arc<Mutex<FailedPages>>,
}

impl<S> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self {
            service: Arc::clone(&self.service),
            archive: self.archive.clone(),
            clock: Arc::clone(&self.clock),
            change_feed: Arc::clone(&self.change_feed),
            failed_pages: Arc::clone(&self.failed_pages),
        }
    }
}

/// A lease that is given up when this is dropped.
struct LockGuard<'a>(&'a ProcessLock);

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<S: EmailApi> Engine<S> {
    /// An engine between `service` and `archive`; `clock` tells when something was seen.
    #[must_use]
    pub(crate) fn new(service: Arc<S>, archive: Archive, clock: Clock) -> Self {
        Self {
            service,
            archive,
            clock,
            change_feed: Arc::default(),
            failed_pages: Arc::default(),
        }
    }

    /// The same engine, whose requests are wanted so.
    #[must_use]
    pub(crate) fn with_priority(&self, wish: &RequestHandle) -> Self {
        Self {
            service: Arc::new(self.service.with_priority(wish)),
            ..self.clone()
        }
    }

    /// What may be asked of the service at present, if it is asked at a pace.
    #[must_use]
    pub(crate) fn budget(&self) -> Option<RateBudget> {
        self.service.rate_budget()
    }

    /// The archive that is filled.
    #[must_use]
    pub(crate) const fn archive(&self) -> &Archive {
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
    pub(crate) async fn refresh(&self) -> Result<SyncReport, Error> {
        let (following, now) = (Arc::clone(&self.change_feed), (self.clock)());
        let followed = self.run_blocking(move |archive| {
            if archive.poll_lock().try_acquire(now) {
                return Ok(None);
            }
            if let Some(failure) = archive.poll_lock().outage() {
                return Err(failure);
            }
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .poll(&archive)
                .map(Some)
        });
        if let Some(synced) = followed.await? {
            return Ok(synced);
        }
        self.refresh_now().await
    }

    /// The same, also if another process does this already: a user wants to know how it is now.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub(crate) async fn refresh_now(&self) -> Result<SyncReport, Error> {
        let walked = self.run(Goal::Refresh, |_| ()).await;
        let (following, now) = (Arc::clone(&self.change_feed), (self.clock)());
        let noted = self.run_blocking(move |archive| {
            // From here on this process asks for what is new, if no other one does.
            let _ = archive.poll_lock().try_acquire(now);
            reachability::record_reachability(&archive, &walked, now);
            let synced = walked?;
            // What this process has brought itself is no news from another one.
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .poll(&archive)?;
            Ok(synced)
        });
        noted.await
    }

    /// What other processes have brought since the last refresh or call. No request.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(crate) async fn poll_changes(&self) -> Result<SyncReport, Error> {
        let following = Arc::clone(&self.change_feed);
        self.run_blocking(move |archive| {
            following
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .poll(&archive)
        })
        .await
    }

    /// Fetches the page below the newest stretch that is known whole. No request if there is none.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub(crate) async fn load_older(&self) -> Result<SyncReport, Error> {
        self.run(Goal::LoadOlder, |_| ()).await
    }

    /// The same where nobody waits for it: `None`, and no request, if another process on the same archive
    /// does this, or asks for what is new.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub(crate) async fn backfill(&self) -> Result<Option<SyncReport>, Error> {
        let now = (self.clock)();
        let held = self.run_blocking(move |archive| {
            Ok(archive.poll_lock().try_acquire(now) && archive.backfill_lock().try_acquire(now))
        });
        if !held.await? {
            return Ok(None);
        }
        // For one page only: whoever is told to walk further need not wait for this.
        let _held = LockGuard(self.archive.backfill_lock());
        self.load_older().await.map(Some)
    }

    /// Fetches everything new and then everything older as far `back` as is asked for; at last it looks
    /// for what is listed although the service did not have it when it was asked for. `progress` is
    /// told after each page. To break off is to drop the future; what was fetched stays, and the next
    /// time continues from there.
    ///
    /// # Errors
    ///
    /// As [`head`](Self::head).
    pub(crate) async fn full_sync(
        &self,
        back: SyncDepth,
        progress: impl FnMut(&SyncReport),
    ) -> Result<SyncReport, Error> {
        let mut synced = self.run(Goal::Full(back), progress).await?;
        if matches!(synced.stop_reason, StopReason::Done | StopReason::End) {
            self.confirm_deletions(back, &mut synced).await?;
        }
        Ok(synced)
    }

    /// Reads the summaries of a hundred emails again, from right below `above` on: what a screen shows
    /// that has left the newest hundred behind.
    ///
    /// # Errors
    ///
    /// If the service or the archive fails.
    pub(crate) async fn reread_page(&self, above: &EmailId) -> Result<SyncReport, Error> {
        let (asked, answer) = self.request_page(&Cursor::After(above.clone())).await;
        let above = above.clone();
        self.run_blocking(move |archive| {
            let ground = archive.coverage_state()?;
            let mut brought = Progress::default();
            let stopped = match answer {
                Err(failure) if is_cursor_error(&failure) => StopReason::NoLiveCursor,
                Err(failure) => return Err(failure),
                Ok(page) => {
                    // On a service that lists the oldest first these are newer, and claim nothing.
                    let joins = if ground.oldest_first || page.unreadable > 0 {
                        PagePosition::Unknown
                    } else {
                        PagePosition::Below {
                            cursor: above,
                            is_end: false,
                        }
                    };
                    let carried = archive.merge_page(&ListingPage {
                        items: page.items,
                        position: joins,
                        oldest_first: ground.oldest_first,
                        requested: asked,
                    })?;
                    brought.add_page(&carried, page.unreadable);
                    StopReason::Done
                }
            };
            brought.to_report(&archive, stopped)
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
    pub(crate) async fn fetch_email(&self, id: &EmailId) -> Result<Email, Error> {
        // That it cannot be kept, on a full disk perhaps, is no reason not to read it.
        Ok(self.fetch_and_store(id).await?.0)
    }

    /// Fetches one email; says beside it whether it could be kept.
    async fn fetch_and_store(&self, id: &EmailId) -> Result<(Email, Result<(), Error>), Error> {
        let (asked, answer) = self
            .send_stamped(|service| async move { service.retrieve(id).await })
            .await;
        self.report_reachability(&answer).await;
        let retrieved = match answer {
            Ok(retrieved) => retrieved,
            Err(failure) => {
                if failure.kind == ErrorKind::NotFound {
                    let id = id.clone();
                    self.run_blocking(move |archive| archive.mark_missing(&id, asked))
                        .await?;
                }
                return Err(failure);
            }
        };
        if retrieved.email.summary.id != id.as_str() {
            return Err(Error::new(
                ErrorKind::NotTheApi,
                "the service answered with another email than the one asked for",
            )
            .with_hint("nothing was kept; ask again, or ask who runs the service"));
        }
        self.run_blocking(move |archive| {
            let kept = archive.put_body(&retrieved, asked).map(|_| ());
            Ok((Email::from(retrieved), kept))
        })
        .await
    }

    async fn run(
        &self,
        goal: Goal,
        mut progress: impl FnMut(&SyncReport),
    ) -> Result<SyncReport, Error> {
        let (mut journey, mut step) = self
            .run_blocking(move |archive| SyncRun::start(archive, goal))
            .await?;
        loop {
            let cursor = match step {
                RunStep::Finished(stopped) => {
                    let synced = self.run_blocking(move |_| journey.report(stopped)).await?;
                    let SyncReport {
                        new,
                        changes,
                        pages,
                        stop_reason: stopped,
                        ..
                    } = &synced;
                    info!(
                        ?goal,
                        pages,
                        new,
                        changes,
                        because = stopped.code(),
                        "a walk has ended"
                    );
                    return Ok(synced);
                }
                RunStep::Request(cursor) => cursor,
            };
            let (asked, answer) = self.request_page(&cursor).await;
            let so_far;
            (journey, step, so_far) = self
                .run_blocking(move |_| {
                    let (journey, step) = journey.handle_response(answer, asked)?;
                    let so_far = journey.report(StopReason::Done)?;
                    Ok((journey, step, so_far))
                })
                .await?;
            progress(&so_far);
        }
    }

    async fn request_page(&self, cursor: &Cursor) -> (RequestTime, Result<EmailPage, Error>) {
        let (asked, answer) = self
            .send_stamped(|service| async move { service.list(MAX_LIMIT, cursor).await })
            .await;
        self.report_reachability(&answer).await;
        (asked, answer)
    }

    /// Makes a request, and numbers it when it is sent: it may have waited for its turn until then.
    async fn send_stamped<T, F: Future<Output = T> + Send>(
        &self,
        request: impl FnOnce(S) -> F + Send,
    ) -> (RequestTime, T) {
        let sent = Arc::new(Mutex::new(None));
        let hook: BeforeSend = {
            let (archive, clock, sent) = (
                self.archive.clone(),
                Arc::clone(&self.clock),
                Arc::clone(&sent),
            );
            Arc::new(move || {
                let (archive, clock, sent) =
                    (archive.clone(), Arc::clone(&clock), Arc::clone(&sent));
                Box::pin(async move { *lock(&sent) = Some(stamp_request(archive, clock).await) })
            })
        };
        let answer = if let Some(service) = self.service.with_before_send(hook) {
            request(service).await
        } else {
            let now = stamp_request(self.archive.clone(), Arc::clone(&self.clock)).await;
            *lock(&sent) = Some(now);
            request(S::clone(&self.service)).await
        };
        // A request that was never sent has no answer that could be stored.
        let sent = lock(&sent).unwrap_or_else(|| RequestTime::from((self.clock)()));
        (sent, answer)
    }

    /// Runs `work` where it may block.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(Archive) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let archive = self.archive.clone();
        match tokio::task::spawn_blocking(move || work(archive)).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::new(ErrorKind::Internal, "the program is ending")),
            },
        }
    }
}

/// Numbers a request that is sent now. Where the archive cannot be written, nothing is stored either, and
/// the time will do.
async fn stamp_request(archive: Archive, clock: Clock) -> RequestTime {
    let now = clock();
    let stamped = tokio::task::spawn_blocking(move || archive.stamp_request(now)).await;
    stamped
        .ok()
        .and_then(Result::ok)
        .unwrap_or_else(|| RequestTime::from(now))
}

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
