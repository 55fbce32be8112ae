//! [`Client`]: sends requests over HTTP within the rate limit, and retries them.
//! The operations of the API are in [`super::operations`].

use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH,
    LOCATION,
};
use reqwest::{Response, StatusCode};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};
use url::Url;

use super::changes::ChangeStream;
use super::connect::{READ_TIMEOUT, build_off_loop};
use super::error::{Endpoint, HttpError, MAX_BODY, RequestError, paused_error, unsupported_error};
use super::rate_limit::{Denied, LimitOwner, RateBudget, RateLimiter, RecordedPause};
use super::request::{Elapsed, Priority, RequestHandle, RetryAction, RetryPolicy};
use super::response::{body, headers};
use super::{BeforeSend, MIRROR_HEADER};
use crate::config::clock::Clock;
use crate::config::{ApiKey, ArchiveLocation, BaseUrl, Rate, Settings};
use crate::error::{Error, ErrorKind, RequestDetails, Result};
use crate::mail::Mailbox;
use crate::tasks::lock;

pub(super) const MAX_REDIRECTS: usize = 3;
const MIN_REPORTED_WAIT: Duration = Duration::from_secs(5);
/// The most bytes of a page that is kept: several times those of a hundred emails.
const MAX_KEPT_PAGE: usize = 256 << 10;
/// The most bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// The configuration of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The base URL of the service.
    pub base_url: BaseUrl,
    /// Which listing is requested.
    pub mailbox: Mailbox,
    /// The key, or the error of every request because there is none.
    pub key: Result<ApiKey>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Requests a second.
    pub rate: Rate,
    /// The file through which the processes of the profile share that rate.
    pub rate_file: Option<PathBuf>,
}

impl ClientConfig {
    pub(crate) fn new(settings: &Settings, mailbox: Mailbox) -> Self {
        Self {
            base_url: settings.credentials.base_url.clone(),
            mailbox,
            key: settings.credentials.key.clone(),
            ca_file: settings.ca_file.clone(),
            rate: settings.rate,
            rate_file: match &settings.archive {
                ArchiveLocation::Disk(path) => Some(path.with_added_extension("rate")),
                ArchiveLocation::Server(_) => {
                    settings.state_folder().map(|folder| folder.join("rate"))
                }
                ArchiveLocation::Memory => None,
            },
        }
    }
}

/// The HTTP client of the service.
/// Clones share one rate limiter and one connection pool.
///
/// Creating one is cheap: HTTP and TLS are set up by the first request, on a blocking thread.
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<Inner>,
    pub(super) request: RequestHandle,
    pub(super) before_send: Option<BeforeSend>,
    pub(super) retry_policy: RetryPolicy,
}

pub(super) struct Inner {
    pub(super) config: ClientConfig,
    pub(super) clock: Clock,
    http: OnceCell<reqwest::Client>,
    rate_limiter: RateLimiter,
    on_wait: OnceLock<WaitListener>,
    pub(super) state: Mutex<ClientState>,
}

/// Facts from the requests of all clones so far.
#[derive(Default)]
pub(super) struct ClientState {
    pub(super) clock_skew: Option<SignedDuration>,
    longest_reported: HashMap<WaitCause, Duration>,
    /// The number of requests that were sent, retries included.
    requests: u64,
    /// When the service last responded as its API says.
    answered_at: Option<Timestamp>,
    /// When the requests without a response were first sent.
    unanswered: Vec<Instant>,
    /// The latest newest page, if the service gave it an entity tag.
    first_page: Option<KeptPage>,
    /// Whether a response came from a mirror.
    pub(super) is_mirror: bool,
}

pub(super) struct ResponseBody {
    bytes: Arc<[u8]>,
    times: headers::MirrorTimes,
}

/// A page to use again if it has not changed (RFC 9110, section 13.1.2).
#[derive(Clone)]
struct KeptPage {
    url: Url,
    etag: HeaderValue,
    bytes: Arc<[u8]>,
}

/// A request that was sent, until it has a whole response or is abandoned.
/// Attempts without one do not end it.
struct Unanswered<'a>(&'a Inner, Instant);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let sent = &mut lock(&self.0.state).unanswered;
        if let Some(n) = sent.iter().position(|at| *at == self.1) {
            sent.swap_remove(n);
        }
    }
}

type WaitListener = Box<dyn Fn(Duration, WaitCause) + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WaitCause {
    /// The own rate limit, or that of the service.
    RateLimit(LimitOwner),
    /// An attempt has failed; the next one follows.
    Retry,
}

impl Client {
    /// Creates a client for interactive requests.
    #[must_use]
    pub fn new(config: ClientConfig, retry_policy: RetryPolicy, clock: Clock) -> Self {
        let rate_limiter = RateLimiter::new(config.rate, config.rate_file.clone(), clock.clone());
        Self {
            inner: Arc::new(Inner {
                config,
                clock,
                http: OnceCell::new(),
                rate_limiter,
                on_wait: OnceLock::new(),
                state: Mutex::default(),
            }),
            request: RequestHandle::new(Priority::Interactive),
            before_send: None,
            retry_policy,
        }
    }

    /// Returns a clone for work that takes long, and so tries each request more often.
    pub(crate) fn for_long_work(&self) -> Self {
        Self {
            retry_policy: self.retry_policy.for_long_work(),
            ..self.clone()
        }
    }

    /// Reports long waits: of each cause the first one,
    /// and each that is twice as long as any before.
    pub(crate) fn on_long_wait(
        self,
        report: impl Fn(Duration, WaitCause) + Send + Sync + 'static,
    ) -> Self {
        // Only the first listener is used.
        let _ = self.inner.on_wait.set(Box::new(report));
        self
    }

    /// Returns the current rate budget.
    #[must_use]
    pub fn rate_budget(&self) -> RateBudget {
        let oldest = lock(&self.inner.state).unanswered.iter().min().copied();
        RateBudget {
            unanswered_for: oldest.map_or(Duration::ZERO, |sent| sent.elapsed()),
            ..self.inner.rate_limiter.budget()
        }
    }

    /// Returns the pause that the processes of this profile have recorded.
    pub(crate) async fn recorded_pause(&self) -> Option<RecordedPause> {
        self.inner.rate_limiter.recorded_pause().await
    }

    /// Returns the URL of the listing, or of what these segments name in it.
    pub(super) fn email_url(&self, segments: &[&str]) -> Url {
        let ClientConfig {
            base_url, mailbox, ..
        } = &self.inner.config;
        base_url.join_segments(&[mailbox.path(), segments].concat())
    }

    pub(crate) fn with_retry_policy(&self, retry_policy: RetryPolicy) -> Self {
        Self {
            retry_policy,
            ..self.clone()
        }
    }

    /// Returns the number of requests that were sent, retries included.
    pub(crate) fn request_count(&self) -> u64 {
        lock(&self.inner.state).requests
    }

    /// Returns when the service last responded as its API says.
    pub(crate) fn answered_at(&self) -> Option<Timestamp> {
        lock(&self.inner.state).answered_at
    }

    /// Sends the request until `parse` accepts a response or the retry policy ends.
    pub(super) async fn send_with_retries<T>(
        &self,
        url: Url,
        endpoint: Endpoint,
        parse: impl Fn(&[u8]) -> Result<T, RequestError>,
    ) -> Result<T> {
        let (response, _) = self.send_dated(url, endpoint, parse).await?;
        Ok(response)
    }

    /// Sends as [`Self::send_with_retries`]; also returns the times at which a mirror
    /// or a cache had the response.
    pub(super) async fn send_dated<T>(
        &self,
        url: Url,
        endpoint: Endpoint,
        parse: impl Fn(&[u8]) -> Result<T, RequestError>,
    ) -> Result<(T, headers::MirrorTimes)> {
        let config = &self.inner.config;
        let key = config.key.as_ref().map_err(Clone::clone)?;
        let to_error = |error: RequestError| {
            error
                .redact(key.expose())
                .into_error(endpoint, &config.base_url)
        };
        let authorization = authorization_header(key)?;
        let http = self.inner.http_client().await?;
        let mut elapsed = Elapsed::default();
        let mut details = RequestDetails {
            endpoint: endpoint.as_str(config.mailbox),
            ..RequestDetails::default()
        };
        let mut unanswered = None;
        loop {
            if let Err(error) = self.acquire_permit(&mut elapsed).await {
                return Err(to_error(error).with_details(details));
            }
            if let Some(hook) = &self.before_send {
                hook().await;
            }
            details.attempts += 1;
            (details.status, details.request_id) = (None, None);
            let started = Instant::now();
            self.inner.record_attempt(started, &mut unanswered);
            let response = timeout(
                self.retry_policy.remaining(elapsed),
                self.inner
                    .send_once(http, (&url, endpoint), &authorization, &mut details),
            );
            let response = tokio::select! {
                response = response => response.unwrap_or(Err(RequestError::Timeout)),
                () = self.cancelled_past_grace(), if endpoint == Endpoint::Email || endpoint.is_lookup() => return Err(cancelled_error()),
            };
            if matches!(&response, Ok(_) | Err(RequestError::Http(_))) {
                unanswered = None;
            }
            if response.is_ok() && self.request.ignores_pause() {
                self.inner.rate_limiter.lift_pause().await;
            }
            let result = response.and_then(|body| Ok((parse(&body.bytes)?, body.times)));
            let duration = started.elapsed();
            elapsed.active += duration;
            details.request_id.take_if(|id| id.contains(key.expose()));
            log_attempt(&details, duration, result.as_ref().err());
            let retried = match result {
                Ok(value) => {
                    lock(&self.inner.state).answered_at = Some((self.inner.clock)());
                    return Ok(value);
                }
                Err(error) => self.await_retry(error, &details, &mut elapsed).await,
            };
            if let Err(error) = retried {
                return Err(to_error(error).with_details(details));
            }
        }
    }

    /// Waits until the next attempt after `error`, or returns it if there is none.
    async fn await_retry(
        &self,
        error: RequestError,
        details: &RequestDetails,
        elapsed: &mut Elapsed,
    ) -> Result<(), RequestError> {
        let action = if self.request.ignores_pause() {
            RetryAction::Never
        } else {
            error.retry_action()
        };
        let (endpoint, attempt) = (details.endpoint, details.attempts);
        let policy = &self.retry_policy;
        let Some(wait) = policy.backoff(attempt, *elapsed, action, fastrand::f64()) else {
            return Err(error);
        };
        info!(endpoint, attempt, ?wait, "retrying");
        let cause = match action {
            RetryAction::After(_) if error.is_rate_limit() => {
                WaitCause::RateLimit(LimitOwner::Service)
            }
            _ => WaitCause::Retry,
        };
        self.inner.report_wait(wait, cause);
        sleep(wait).await;
        *elapsed = elapsed.plus_wait(action, wait);
        Ok(())
    }

    pub(super) async fn open_changes(&self) -> Result<ChangeStream> {
        let config = &self.inner.config;
        if config.mailbox != Mailbox::Sent {
            return Err(unsupported_error(Endpoint::Changes));
        }
        let authorization = authorization_header(config.key.as_ref().map_err(Clone::clone)?)?;
        let ca_file = config.ca_file.clone();
        ChangeStream::open(&config.base_url, ca_file, authorization).await
    }

    /// Waits until the request was cancelled a while ago.
    async fn cancelled_past_grace(&self) {
        self.request.cancelled().await;
        sleep(self.retry_policy.cancel_grace).await;
    }

    /// Waits for the rate limiter; `elapsed` counts pauses of the service only.
    async fn acquire_permit(&self, elapsed: &mut Elapsed) -> Result<(), RequestError> {
        let limiter = &self.inner.rate_limiter;
        let on_wait = |wait| {
            let owner = limiter.budget().waits_for.unwrap_or(LimitOwner::Service);
            self.inner.report_wait(wait, WaitCause::RateLimit(owner));
        };
        limiter
            .acquire(&self.request, &self.retry_policy, elapsed, on_wait)
            .await
            .map_err(|denied| match denied {
                Denied::Abandoned => RequestError::NotSent(cancelled_error()),
                Denied::PausedTooLong(wait) => RequestError::NotSent(paused_error(wait)),
            })
    }
}

impl Inner {
    fn record_attempt<'a>(&'a self, sent: Instant, unanswered: &mut Option<Unanswered<'a>>) {
        let mut state = lock(&self.state);
        state.requests += 1;
        if unanswered.is_none() {
            state.unanswered.push(sent);
            *unanswered = Some(Unanswered(self, sent));
        }
    }

    fn report_wait(&self, wait: Duration, cause: WaitCause) {
        let Some(report) = self.on_wait.get().filter(|_| wait >= MIN_REPORTED_WAIT) else {
            return;
        };
        let mut state = lock(&self.state);
        let longest = state.longest_reported.entry(cause).or_default();
        if *longest * 2 <= wait {
            *longest = wait;
            drop(state);
            report(wait, cause);
        }
    }

    /// Returns the HTTP client, built by the first request.
    pub(super) async fn http_client(&self) -> Result<&reqwest::Client> {
        let is_plain = self.config.base_url.is_plain_http();
        let build = || build_off_loop(self.config.ca_file.clone(), is_plain, READ_TIMEOUT);
        self.http.get_or_try_init(build).await
    }

    /// Sends the request once, follows redirects within the origin, and reads the body.
    async fn send_once(
        &self,
        http: &reqwest::Client,
        (url, endpoint): (&Url, Endpoint),
        authorization: &HeaderValue,
        details: &mut RequestDetails,
    ) -> Result<ResponseBody, RequestError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = http
                .get(url.clone())
                .header(AUTHORIZATION, authorization)
                .header(ACCEPT, "application/json")
                .header(ACCEPT_ENCODING, "gzip")
                // No cache may answer for the service without asking it.
                .header(CACHE_CONTROL, "no-cache");
            let kept = self.kept_page(&url);
            if let Some(kept) = &kept {
                request = request.header(IF_NONE_MATCH, &kept.etag);
            }
            let response = request
                .send()
                .await
                .map_err(|error| RequestError::from_reqwest(&error))?;
            let status = response.status();
            details.status = Some(status.as_u16());
            details.request_id = headers::parse_request_id(response.headers());
            if let Some(target) = redirect_target(&response, &url) {
                if target.origin() != url.origin() {
                    return Err(RequestError::CrossOriginRedirect(display_origin(&target)));
                }
                url = target;
                continue;
            }
            let retry_after = self.apply_headers(&response).await;
            let times = headers::MirrorTimes::parse(response.headers(), (self.clock)());
            if let Some(kept) = kept.filter(|_| status == StatusCode::NOT_MODIFIED) {
                let bytes = kept.bytes;
                return Ok(ResponseBody { bytes, times });
            }
            if status == StatusCode::OK {
                let etag = response.headers().get(ETAG).cloned();
                let bytes: Arc<[u8]> = body::read_body(response, MAX_BODY).await?.into();
                if let (Some(etag), Endpoint::FirstPage | Endpoint::FirstReceivedPage) =
                    (etag, endpoint)
                    && bytes.len() <= MAX_KEPT_PAGE
                {
                    let bytes = Arc::clone(&bytes);
                    lock(&self.state).first_page = Some(KeptPage { url, etag, bytes });
                }
                return Ok(ResponseBody { bytes, times });
            }
            let body = body::read_start(response, MAX_ERROR_BODY).await;
            return Err(RequestError::Http(HttpError::parse(
                status.as_u16(),
                &body,
                retry_after,
            )));
        }
        Err(RequestError::RedirectLoop)
    }

    /// Returns the kept page of this URL:
    /// the newest one is requested every half minute, and often has not changed.
    fn kept_page(&self, url: &Url) -> Option<KeptPage> {
        let kept = &lock(&self.state).first_page;
        kept.as_ref().filter(|kept| kept.url == *url).cloned()
    }

    /// Applies what a response says of limits, of the service's clock, and of a mirror;
    /// returns how long requests must pause.
    async fn apply_headers(&self, response: &Response) -> Option<Duration> {
        let headers = response.headers();
        let limits = headers::parse_limit_headers(headers);
        let is_rate_limited = response.status() == StatusCode::TOO_MANY_REQUESTS;
        let retry_after = headers::parse_retry_after(headers, &self.clock)
            .or(limits.reset.filter(|_| is_rate_limited));
        lock(&self.state).clock_skew = headers::clock_skew(headers, (self.clock)());
        self.rate_limiter.update_limits(limits);
        if is_rate_limited {
            self.rate_limiter.on_rate_limited(retry_after).await;
        }
        if headers.contains_key(MIRROR_HEADER)
            && !mem::replace(&mut lock(&self.state).is_mirror, true)
        {
            self.rate_limiter.on_mirror_response();
        }
        retry_after
    }
}

/// Logs one attempt, without anything of the body of its response.
fn log_attempt(details: &RequestDetails, duration: Duration, error: Option<&RequestError>) {
    let (endpoint, status, attempt) = (details.endpoint, details.status, details.attempts);
    let request_id = details.request_id.as_deref();
    if let Some(error) = error.map(RequestError::code) {
        warn!(
            endpoint,
            status,
            request_id,
            attempt,
            ?duration,
            error,
            "request failed"
        );
    } else {
        debug!(endpoint, status, request_id, attempt, ?duration, "response");
    }
}

fn cancelled_error() -> Error {
    Error::new(ErrorKind::Internal, "request cancelled")
}

fn authorization_header(key: &ApiKey) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
        Error::new(
            ErrorKind::KeyRejected,
            "the API key cannot be sent in a header",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn redirect_target(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?)
        .ok()
}

/// Returns the origin of a URL, or its scheme if it has none.
pub(super) fn display_origin(url: &Url) -> String {
    if url.has_host() {
        url.origin().ascii_serialization()
    } else {
        format!("a {}: URL", url.scheme())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::config::clock::system_clock;
    use crate::config::{Env, Flags};

    #[test]
    fn long_wait_of_each_cause_is_reported() {
        let settings = Settings::resolve(&Flags::default(), &Env::default()).unwrap();
        let (sender, reports) = channel();
        let client = Client::new(
            ClientConfig::new(&settings, Mailbox::Sent),
            RetryPolicy::TUI,
            system_clock(),
        )
        .on_long_wait(move |wait, cause| sender.send((wait.as_secs(), cause)).unwrap());
        let [user, service] = [LimitOwner::User, LimitOwner::Service].map(WaitCause::RateLimit);
        let waits = [4, 60, 119].map(|seconds| (seconds, user));
        let waits = waits.into_iter().chain([(30, service), (60, service)]);
        for (seconds, cause) in waits {
            let wait = Duration::from_secs(seconds);
            client.inner.report_wait(wait, cause);
        }
        let reports: Vec<_> = reports.try_iter().collect();
        assert_eq!(reports, [(60, user), (30, service), (60, service)]);
    }
}
