//! The emails that a mirror serves:
//! from the archive, confirmed by the service as far as that answers.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::single_flight::SingleFlight;
use super::webhooks::ServiceEvent;
use crate::api::{Client, Cursor, EmailApi as _, MailboxChange, Priority};
use crate::archive::{Archive, EventOutcome, Gap, NextRows, StoredEmail, StoredPage};
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::mail::EmailId;
use crate::server::ErrorResponse;
use crate::sync::{Engine, StopReason};
use crate::tasks;

/// The age from which a status is confirmed before it is served:
/// as old as a user who requests the current state may find it, and long enough that two hundred
/// users cost one request in that time and not two hundred.
pub(super) const FRESH_FOR: Duration = Duration::from_secs(10);

/// The age from which the newest page is confirmed while a client already has it:
/// so those who read it all the time never wait for the service.
const REFRESH_AFTER: Duration = Duration::from_secs(5);

/// The age from which an older page is confirmed after it was served:
/// sentbox does not request it again sooner.
const RECHECK_AFTER: Duration = Duration::from_secs(30);

/// The time that events of new mail are collected before the newest page is
/// requested for all of them.
const REPORT_PAUSE: Duration = Duration::from_secs(1);

/// How long a client waits for the service if the archive has a response, too.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(3);

/// The most pages that are requested to fill a gap for one response.
const MAX_GAP_PAGES: u32 = 5;

/// How many connections read the archive at once: those that it keeps open.
const MAX_READS: usize = 3;

/// How many requests for single emails wait for the rate limit at once:
/// pages wait behind them, and the others here.
const MAX_EMAIL_REQUESTS: usize = 4;

/// The limits that the listings of a mirror share.
#[derive(Clone)]
pub(super) struct Slots {
    reads: Arc<Semaphore>,
    email_requests: Arc<Semaphore>,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            reads: Arc::new(Semaphore::new(MAX_READS)),
            email_requests: Arc::new(Semaphore::new(MAX_EMAIL_REQUESTS)),
        }
    }
}

pub(super) struct MirrorSource {
    engine: Engine<Client>,
    clock: Clock,
    slots: Slots,
    flights: SingleFlight<Request, ()>,
    lookups: SingleFlight<String, Arc<[u8]>>,
    /// The request for the newest page that events have reported.
    reports: SingleFlight<(), ()>,
    /// The request for an older page, the only one for [`REFRESH_AFTER`].
    rechecks: SingleFlight<(), ()>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Request {
    /// The page that fills a gap.
    Page(Gap),
    Email(EmailId),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct MirrorEmail {
    pub(super) json: Arc<str>,
    pub(super) checked_at: Option<Timestamp>,
}

impl MirrorSource {
    pub(super) fn new(engine: Engine<Client>, clock: Clock, slots: Slots) -> Self {
        Self {
            engine,
            clock,
            slots,
            flights: SingleFlight::new(REFRESH_AFTER),
            lookups: SingleFlight::new(FRESH_FOR),
            reports: SingleFlight::new(Duration::ZERO),
            rechecks: SingleFlight::new(REFRESH_AFTER),
        }
    }

    /// Returns a page. The newest one is confirmed first, an older one afterwards,
    /// and gaps are filled.
    ///
    /// Where a gap stays, the page ends at it and says that there is more.
    pub(super) async fn page(
        &self,
        cursor: Cursor,
        limit: u8,
    ) -> Result<StoredPage, ErrorResponse> {
        let mut error = None;
        if !matches!(cursor, Cursor::After(_)) {
            error = self.confirm_newest().await.err();
        }
        let (mut filled, mut pages) = (None, 0);
        loop {
            let (wanted, now) = (cursor.clone(), (self.clock)());
            let mut page = self
                .with_archive(move |archive| archive.stored_page(&wanted, limit, now))
                .await?
                .ok_or(ErrorResponse::UnknownCursor)?;
            let NextRows::Gap(gap) = page.next.clone() else {
                let is_old = |at| self.age(at) >= RECHECK_AFTER;
                if let Cursor::After(above) = cursor
                    && page.may_change
                    && page.checked_at.is_none_or(is_old)
                {
                    self.confirm_later(above).await;
                }
                return Ok(page);
            };
            let progress = (gap.clone(), page.items.len());
            let is_stuck = filled.as_ref() == Some(&progress) || pages == MAX_GAP_PAGES;
            if error.is_none() && !is_stuck {
                error = self.request(Request::Page(gap)).await.err();
                (filled, pages) = (Some(progress), pages + 1);
                continue;
            }
            // Below the oldest email that is kept, the service may list more, but this mirror does
            // not.
            let is_end = error.is_none()
                && matches!(gap, Gap::Below { cursor: None, .. })
                && self.with_archive(Archive::left_out).await?.has_age_limit;
            if page.items.is_empty() && !is_end {
                let error = error.unwrap_or_else(|| {
                    Error::new(ErrorKind::NotTheApi, "the listing has a gap here")
                });
                return Err(error_response(&error));
            }
            if is_end {
                page.next = NextRows::End;
            }
            return Ok(page);
        }
    }

    /// Returns an email, confirmed or fetched first if it can be.
    pub(super) async fn email(&self, id: EmailId) -> Result<MirrorEmail, ErrorResponse> {
        let stored = self.load(&id).await?;
        let is_fresh = stored.as_ref().is_some_and(|stored| self.is_fresh(stored));
        let request = Request::Email(id.clone());
        let result = match stored.and_then(servable) {
            Some(email) if is_fresh => return Ok(email),
            Some(_) => self.request_within(CONFIRM_TIMEOUT, request).await,
            None => self.request(request).await,
        };
        match result {
            Err(error) if error.kind == ErrorKind::NotFound => Err(error_response(&error)),
            result => match self.load(&id).await?.and_then(servable) {
                Some(email) => Ok(email),
                // It was purged here, or is too old to be kept.
                None => Err(result.map_or_else(
                    |error| error_response(&error),
                    |()| ErrorResponse::UnknownId,
                )),
            },
        }
    }

    /// Fails for an email that was purged here, or is too old to be kept:
    /// nothing of it is passed on.
    pub(super) async fn require_email(&self, id: &EmailId) -> Result<(), ErrorResponse> {
        if self.load(id).await?.is_none() {
            self.email(id.clone()).await?;
        }
        Ok(())
    }

    /// Stores an event of the service, or requests the page that should have it.
    pub(super) async fn store_event(
        &self,
        reported: ServiceEvent,
    ) -> Result<EventOutcome, ErrorResponse> {
        let request = self.to_own_time(reported.at).into();
        let has_reason = reported.event.bounce.is_some();
        let outcomes = self
            .with_archive(move |archive| archive.put_events(&[(reported.event, request)]))
            .await?;
        let [outcome] = outcomes[..] else {
            return Err(ErrorResponse::Internal);
        };
        if outcome == EventOutcome::Missing {
            let (head_at, _) = self.state().await?;
            let created_at = reported.created_at.map(|at| self.to_own_time(at));
            // Older mail is loaded by the poller, as far back as the profile says.
            if created_at >= head_at.and_then(|at| at.checked_sub(REFRESH_AFTER).ok()) {
                let engine = self.engine.with_priority(Priority::Refresh);
                let refresh = || async move {
                    sleep(REPORT_PAUSE).await;
                    engine.refresh_now().await.map(drop)
                };
                // It goes on without this request; after a failure, the poller repeats it.
                let _ = self.reports.run_within(Duration::ZERO, &(), refresh).await;
                if has_reason {
                    // No later response may have it.
                    return Err(ErrorResponse::EventTooEarly);
                }
            }
        }
        Ok(outcome)
    }

    /// Returns the response to an operation that the archive has nothing for.
    pub(super) async fn look_up(
        &self,
        segments: Vec<String>,
        query: Option<String>,
    ) -> Result<Arc<[u8]>, ErrorResponse> {
        let service = self
            .engine
            .with_priority(Priority::Interactive)
            .service()
            .clone();
        let key = format!("{}?{}", segments.join("/"), query.as_deref().unwrap_or(""));
        let is_suppression = segments.len() == 2 && segments[0] == "suppressions";
        let slots = self.slots.email_requests.clone();
        let request = || async move {
            let _slot = slots.acquire_owned().await;
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            let body = service.fetch_raw(&segments, query.as_deref()).await?;
            Ok(Arc::from(body))
        };
        let response = self.lookups.run(&key, request).await;
        response.map_err(|error| match error_response(&error) {
            ErrorResponse::UnknownId if is_suppression => ErrorResponse::UnknownSuppression,
            response => response,
        })
    }

    pub(super) const fn engine(&self) -> &Engine<Client> {
        &self.engine
    }

    pub(super) const fn client(&self) -> &Client {
        self.engine.service()
    }

    /// Returns how long requests still pause because the service asked for it.
    pub(super) fn paused_for(&self) -> Duration {
        self.client().rate_budget().paused_for
    }

    /// Returns when the newest page was last confirmed, and the number of emails.
    pub(super) async fn state(&self) -> Result<(Option<Timestamp>, u64), ErrorResponse> {
        self.with_archive(|archive| Ok((archive.head_at()?, archive.query_count()?)))
            .await
    }

    /// Returns the time before which all mail was purged.
    pub(super) async fn purged_before(&self) -> Result<Option<Timestamp>, ErrorResponse> {
        self.with_archive(Archive::purged_before).await
    }

    /// Returns the next purges after that of a number, with their numbers.
    pub(super) async fn purges_after(&self, number: i64) -> Result<Vec<(i64, MailboxChange)>> {
        self.run_blocking(move |archive| archive.purges_after(number))
            .await
    }

    async fn confirm_newest(&self) -> Result<()> {
        let head_at = self.run_blocking(Archive::head_at).await?;
        let max_wait = match head_at.map(|at| self.age(at)) {
            Some(age) if age < REFRESH_AFTER => return Ok(()),
            Some(age) if age < FRESH_FOR => Duration::ZERO,
            Some(_) => CONFIRM_TIMEOUT,
            None => return self.request(Request::Page(Gap::Top)).await,
        };
        self.request_within(max_wait, Request::Page(Gap::Top)).await
    }

    /// Confirms the page below an email in the background,
    /// unless that has just been done for another page: clients that read all mail would take the
    /// rate of the others.
    async fn confirm_later(&self, above: EmailId) {
        let engine = self.engine.with_priority(Priority::Recheck);
        let request = || async move { engine.reread_page(&above).await.map(drop) };
        // It goes on without this request; after a failure, another client's or the poller's
        // repeats it.
        let _ = self.rechecks.run_within(Duration::ZERO, &(), request).await;
    }

    /// Sends a request as a user's, once for all who wait for it.
    async fn request(&self, request: Request) -> Result<()> {
        self.flights.run(&request, || self.send(&request)).await
    }

    /// Sends a request, and waits until `max_wait` after its start for its result.
    async fn request_within(&self, max_wait: Duration, request: Request) -> Result<()> {
        let send = || self.send(&request);
        let result = self.flights.run_within(max_wait, &request, send).await;
        result.unwrap_or(Ok(()))
    }

    fn send(&self, request: &Request) -> impl Future<Output = Result<()>> + Send + 'static {
        let (engine, request) = (
            self.engine.with_priority(Priority::Interactive),
            request.clone(),
        );
        let slots = self.slots.email_requests.clone();
        async move {
            let report = match request {
                Request::Page(Gap::Top) => engine.refresh_now().await?,
                Request::Page(Gap::Below { cursor: None, .. }) => engine.load_older().await?,
                Request::Page(Gap::Below {
                    cursor: Some(id), ..
                }) => engine.reread_page(&id).await?,
                Request::Email(id) => {
                    let _slot = slots.acquire_owned().await;
                    return engine.fetch_and_store(&id).await?.is_changed.map(drop);
                }
            };
            match report.stop_reason {
                StopReason::Failed(error) => Err(error),
                _ => Ok(()),
            }
        }
    }

    /// Returns a time of the service by the clock of this machine, and not after now:
    /// that of requests, with which the time of an event is compared.
    fn to_own_time(&self, at: Timestamp) -> Timestamp {
        /// The service states its time in whole seconds.
        const PRECISION: SignedDuration = SignedDuration::from_secs(1);
        let skew = self.client().clock_skew().unwrap_or_default();
        let ahead = (-skew - PRECISION).max(SignedDuration::ZERO);
        let now = (self.clock)();
        at.checked_add(ahead).map_or(now, |at| at.min(now))
    }

    /// Returns the time since then; very long if the clock was set back.
    fn age(&self, at: Timestamp) -> Duration {
        let age = (self.clock)().duration_since(at);
        Duration::try_from(age).unwrap_or(Duration::MAX)
    }

    /// Whether an email need not be confirmed.
    fn is_fresh(&self, stored: &StoredEmail) -> bool {
        !stored.may_change || stored.checked_at.is_some_and(|at| self.age(at) < FRESH_FOR)
    }

    /// Records that the holder of a key opens an email, if the archive is audited.
    pub(super) async fn record_opened(&self, id: &EmailId, key: &str) -> Result<(), ErrorResponse> {
        if !self.engine.archive().is_audited() {
            return Ok(());
        }
        let (id, user) = (id.clone(), format!("key {key}"));
        self.with_archive(move |archive| archive.record_opened(&id, Some(&user)))
            .await
    }

    async fn load(&self, id: &EmailId) -> Result<Option<StoredEmail>, ErrorResponse> {
        let (id, now) = (id.clone(), (self.clock)());
        self.with_archive(move |archive| archive.stored_email(&id, now))
            .await
    }

    async fn with_archive<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Archive) -> Result<T> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let result = self.run_blocking(action).await;
        result.map_err(|error| ErrorResponse::from_own_error(&error))
    }

    /// Uses the archive on a blocking thread, with few others at once.
    async fn run_blocking<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Archive) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.slots.reads.clone().acquire_owned().await;
        let archive = self.engine.archive().clone();
        let result = tasks::catch_panic(move || {
            let _permit = permit;
            action(&archive)
        });
        result.await.unwrap_or_else(|_| {
            let message = "using the archive panicked";
            Err(Error::new(ErrorKind::Internal, message))
        })
    }
}

/// Returns an email with its bodies that the service has.
fn servable(stored: StoredEmail) -> Option<MirrorEmail> {
    let checked_at = stored.checked_at;
    let json = stored.json.filter(|_| !stored.is_missing)?;
    Some(MirrorEmail { json, checked_at })
}

/// Returns the response to a client for an error of the service:
/// its status, or why there is none.
///
/// That the service refuses the mirror's own key is not an error of the client.
fn error_response(error: &Error) -> ErrorResponse {
    let status = error.details.as_ref().and_then(|details| details.status);
    match error.kind {
        ErrorKind::NotFound | ErrorKind::InvalidRequest if status == Some(422) => {
            ErrorResponse::MalformedId
        }
        ErrorKind::NotFound => ErrorResponse::UnknownId,
        ErrorKind::NoSuchPart if status == Some(403) => ErrorResponse::AboveQuota,
        ErrorKind::NoSuchPart => ErrorResponse::UnknownAttachment,
        ErrorKind::Unsupported => ErrorResponse::NoSuchPath,
        ErrorKind::RateLimited | ErrorKind::Quota => ErrorResponse::UpstreamLimit {
            seconds: error.retry_after.map_or(1, |wait| wait.as_secs().max(1)),
        },
        ErrorKind::Unreachable => ErrorResponse::UpstreamUnreachable,
        ErrorKind::Io | ErrorKind::Internal => ErrorResponse::from_own_error(error),
        kind if kind.is_archive_error() => ErrorResponse::from_own_error(error),
        _ => ErrorResponse::UpstreamFailed,
    }
}
