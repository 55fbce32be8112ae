//! `Client`: asks the service over HTTP, at the pace it may, and tells in words what went wrong.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderValue, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Response, StatusCode};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};
use tracing::info;
use url::Url;

use super::error::{Endpoint, HttpError, MAX_BODY, RequestError};
use super::rate_limit::{
    self, Denied, Elapsed, RateBudget, RateLimiter, RetryAction, RetryPolicy, jitter,
};
use super::request::{Priority, RequestHandle};
use super::seen::ResponseMeta;
use super::unpack::{gunzip, is_gzip};
use super::{
    BeforeSend, Cursor, EmailApi, EmailPage, MAX_LIMIT, RetrievedEmail, headers, response,
};
use crate::config::clock::Clock;
use crate::config::{ApiKey, ArchiveLocation, BaseUrl, Rate, Settings};
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;

const USER_AGENT: &str = concat!("sentbox/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than any answer of the service takes to begin or to go on.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;
/// A shorter wait is not worth a message.
const MIN_REPORTED_WAIT: Duration = Duration::from_secs(5);
/// As much of an error's body as is looked at.
const MAX_ERROR_BODY: usize = 64 << 10;

/// What a client needs to know.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Where the service is.
    pub base_url: BaseUrl,
    /// The key, or the failure that every request ends with because there is none.
    pub key: Result<ApiKey, Error>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Requests a second.
    pub rate: Rate,
    /// The file through which all processes with this access on this machine share that rate.
    pub rate_file: Option<PathBuf>,
}

impl From<&Settings> for ClientConfig {
    fn from(settings: &Settings) -> Self {
        let Settings {
            base_url,
            key,
            ca_file,
            rate,
            archive,
            ..
        } = settings;
        let rate_file = match archive {
            ArchiveLocation::Disk(path) => Some(path.with_added_extension("rate")),
            ArchiveLocation::Memory => None,
        };
        Self {
            base_url: base_url.clone(),
            key: key.clone(),
            ca_file: ca_file.clone(),
            rate: *rate,
            rate_file,
        }
    }
}

/// The service. Clones share one budget of requests and one pool of connections.
///
/// Making one costs nothing: the machinery of HTTP and TLS is built with the first request, on a
/// thread of its own.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    request: RequestHandle,
    before_send: Option<BeforeSend>,
}

struct Inner {
    config: ClientConfig,
    retry_policy: RetryPolicy,
    clock: Clock,
    http: OnceCell<reqwest::Client>,
    rate_limiter: RateLimiter,
    clock_skew: Mutex<Option<SignedDuration>>,
    on_wait: OnceLock<WaitListener>,
    /// The longest wait that was reported.
    longest_reported: Mutex<Duration>,
}

/// Hears how long a request is going to wait.
type WaitListener = Box<dyn Fn(Duration) + Send + Sync>;

impl Client {
    /// A client for requests that a person waits for.
    #[must_use]
    pub fn new(access: ClientConfig, patience: RetryPolicy, clock: Clock) -> Self {
        let gate = RateLimiter::new(access.rate, access.rate_file.clone(), clock.clone());
        let inner = Inner {
            config: access,
            retry_policy: patience,
            clock,
            http: OnceCell::new(),
            rate_limiter: gate,
            clock_skew: Mutex::new(None),
            on_wait: OnceLock::new(),
            longest_reported: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            request: RequestHandle::new(Priority::Interactive),
            before_send: None,
        }
    }

    /// Reports long waits for the rate limit: the first one, and each that is twice as long as any before.
    #[must_use]
    pub(crate) fn on_long_wait(self, report: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        // The first one who wants the reports gets them.
        let _ = self.inner.on_wait.set(Box::new(report));
        self
    }

    /// The rate budget as it stands.
    #[must_use]
    pub fn rate_budget(&self) -> RateBudget {
        self.inner.rate_limiter.budget()
    }

    /// How far the service's clock is ahead of ours, as its last answer said.
    #[must_use]
    pub(crate) fn clock_skew(&self) -> Option<SignedDuration> {
        *self
            .inner
            .clock_skew
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until there is an answer that `read` can read, or patience ends.
    async fn send_with_retries<T>(
        &self,
        url: Url,
        asked: Endpoint,
        read: impl Fn(&[u8]) -> Result<T, RequestError>,
    ) -> Result<T, Error> {
        let Inner {
            config: access,
            retry_policy: patience,
            ..
        } = &*self.inner;
        let key = access.key.as_ref().map_err(Clone::clone)?;
        let told = |fault: RequestError| {
            fault
                .redact(key.expose())
                .into_error(asked, &access.base_url)
        };
        let authorization = authorization_header(key)?;
        let http = self.inner.http_client().await.map_err(told)?;
        let mut spent = Elapsed::default();
        let mut tries = 0;
        let mut seen = ResponseMeta::default();
        loop {
            self.acquire_permit(&mut spent)
                .await
                .map_err(|fault| seen.add_details(told(fault), asked, tries))?;
            if let Some(hook) = &self.before_send {
                hook().await;
            }
            tries += 1;
            seen = ResponseMeta::default();
            let started = Instant::now();
            let answer = timeout(
                patience.remaining(spent),
                self.inner.send_once(http, &url, &authorization, &mut seen),
            );
            let answer = tokio::select! {
                answer = answer => answer.unwrap_or(Err(RequestError::Timeout)),
                () = self.cancelled_past_grace(), if asked == Endpoint::Email => return Err(cancelled_error()),
            };
            let outcome = answer.and_then(|body| read(&body));
            let took = started.elapsed();
            spent.active += took;
            seen.request_id = seen.request_id.filter(|id| !id.contains(key.expose()));
            seen.log_attempt(asked, tries, took, outcome.as_ref().err());
            let fault = match outcome {
                Ok(read) => return Ok(read),
                Err(fault) => fault,
            };
            let retry = fault.retry_action();
            let Some(wait) = rate_limit::backoff(patience, tries, spent, retry, jitter()) else {
                return Err(seen.add_details(told(fault), asked, tries));
            };
            info!(endpoint = asked.as_str(), attempt = tries, wait = ?wait, "asks again");
            self.inner.report_wait(wait);
            sleep(wait).await;
            match retry {
                RetryAction::After(_) => spent.paused += wait,
                RetryAction::Backoff | RetryAction::Never => spent.active += wait,
            }
        }
    }

    /// Waits until nobody has wanted the answer for a while.
    async fn cancelled_past_grace(&self) {
        self.request.cancelled().await;
        sleep(self.inner.retry_policy.cancel_grace).await;
    }

    /// Waits for its turn. Our own rate is no part of a request's time, but a pause that the service
    /// asked for is. Whoever stops waiting has sent nothing.
    async fn acquire_permit(&self, spent: &mut Elapsed) -> Result<(), RequestError> {
        let Inner {
            rate_limiter: gate,
            retry_policy: patience,
            ..
        } = &*self.inner;
        let working = spent.active;
        let bearable = |paused, wait| {
            rate_limit::backoff(
                patience,
                0,
                Elapsed {
                    active: working,
                    paused,
                },
                RetryAction::After(wait),
                0.0,
            )
            .is_some()
        };
        gate.acquire(&self.request, &mut spent.paused, bearable, |wait| {
            self.inner.report_wait(wait);
        })
        .await
        .map_err(|turned| match turned {
            Denied::Abandoned => RequestError::NotSent(cancelled_error()),
            Denied::PausedTooLong(wait) => RequestError::Http(HttpError {
                status: 429,
                retry_after: Some(wait),
                is_api_error: true,
                ..HttpError::default()
            }),
        })
    }
}

impl EmailApi for Client {
    fn with_priority(&self, wish: &RequestHandle) -> Self {
        Self {
            request: wish.clone(),
            ..self.clone()
        }
    }

    fn with_before_send(&self, hook: BeforeSend) -> Option<Self> {
        Some(Self {
            before_send: Some(hook),
            ..self.clone()
        })
    }

    fn rate_budget(&self) -> Option<RateBudget> {
        Some(self.rate_budget())
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage, Error> {
        let mut url = self.inner.config.base_url.join_segments(&["emails"]);
        url.query_pairs_mut()
            .append_pair("limit", &limit.clamp(1, MAX_LIMIT).to_string());
        let asked = match cursor {
            Cursor::Start => Endpoint::FirstPage,
            Cursor::After(id) => {
                url.query_pairs_mut().append_pair("after", id.as_str());
                Endpoint::PageAtCursor
            }
            Cursor::Before(id) => {
                url.query_pairs_mut().append_pair("before", id.as_str());
                Endpoint::PageAtCursor
            }
        };
        self.send_with_retries(url, asked, response::parse_page)
            .await
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail, Error> {
        // Such an id would be another path altogether, so no email can have it.
        if matches!(id.as_str(), "" | "." | "..") {
            return Err(
                Error::new(ErrorKind::NotFound, "the service has no such email")
                    .with_hint("look at the id"),
            );
        }
        let url = self
            .inner
            .config
            .base_url
            .join_segments(&["emails", id.as_str()]);
        self.send_with_retries(url, Endpoint::Email, |body| response::parse_email(body, id))
            .await
    }
}

impl Inner {
    fn report_wait(&self, wait: Duration) {
        let Some(report) = self.on_wait.get().filter(|_| wait >= MIN_REPORTED_WAIT) else {
            return;
        };
        let mut reported = self
            .longest_reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *reported * 2 <= wait {
            *reported = wait;
            report(wait);
        }
    }

    /// The machinery, built with the first request: reading the system's certificates takes a while.
    async fn http_client(&self) -> Result<&reqwest::Client, RequestError> {
        let build = || async {
            let access = self.config.clone();
            let built = tokio::task::spawn_blocking(move || build_http_client(&access)).await;
            built.unwrap_or_else(|error| {
                Err(Error::new(
                    ErrorKind::Internal,
                    format!("the HTTP client could not be built: {error}"),
                ))
            })
        };
        self.http
            .get_or_try_init(build)
            .await
            .map_err(RequestError::NotSent)
    }

    /// One try: sends the request, follows it within the origin, and reads a body of bounded size.
    async fn send_once(
        &self,
        http: &reqwest::Client,
        url: &Url,
        authorization: &HeaderValue,
        seen: &mut ResponseMeta,
    ) -> Result<Vec<u8>, RequestError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = http
                .get(url.clone())
                .header(AUTHORIZATION, authorization)
                .header(ACCEPT, "application/json");
            let response = request
                .header(ACCEPT_ENCODING, "gzip")
                .send()
                .await
                .map_err(|error| RequestError::from_reqwest(&error))?;
            let status = response.status();
            *seen = ResponseMeta::new(status.as_u16(), response.headers());
            if let Some(place) = redirect_target(&response, &url) {
                if place.origin() != url.origin() {
                    return Err(RequestError::CrossOriginRedirect(display_origin(&place)));
                }
                url = place;
                continue;
            }
            let limits = headers::parse_limit_headers(response.headers());
            let refused = status == StatusCode::TOO_MANY_REQUESTS;
            let wait = headers::parse_retry_after(response.headers(), &self.clock)
                .or(limits.reset.filter(|_| refused));
            *self
                .clock_skew
                .lock()
                .unwrap_or_else(PoisonError::into_inner) =
                headers::clock_skew(response.headers(), (self.clock)());
            self.rate_limiter.update_limits(limits);
            if refused {
                self.rate_limiter.on_rate_limited(wait).await;
            }
            if status == StatusCode::OK {
                return read_body(response, MAX_BODY).await;
            }
            // The status says enough if the body of an error cannot be read.
            let body = read_body(response, MAX_ERROR_BODY)
                .await
                .unwrap_or_default();
            return Err(RequestError::Http(HttpError::parse(
                status.as_u16(),
                &body,
                wait,
            )));
        }
        Err(RequestError::RedirectLoop)
    }
}

fn cancelled_error() -> Error {
    Error::new(ErrorKind::Internal, "nobody waits for it any more")
}

fn build_http_client(access: &ClientConfig) -> Result<reqwest::Client, Error> {
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT);
    if access.base_url.is_plain_http() {
        // Only this machine is asked in plain: through a proxy the key would leave it, and there
        // may be no certificates here at all.
        builder = builder.no_proxy().tls_certs_only([]);
    }
    if let Some(path) = &access.ca_file {
        let unusable = |why: String| {
            Error::new(
                ErrorKind::Config,
                format!(
                    "the certificates in {} cannot be used: {why}",
                    path.display()
                ),
            )
        };
        let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        let certificates =
            Certificate::from_pem_bundle(&pem).map_err(|error| unusable(error.to_string()))?;
        if certificates.is_empty() {
            return Err(unusable("there is none".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Error::new(ErrorKind::Config, format!("no trusted certificates could be loaded: {cause}"))
            .with_hint("install the system's certificates, or name a file of them with SSL_CERT_FILE or --ca-file")
    })
}

fn authorization_header(key: &ApiKey) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
        Error::new(
            ErrorKind::KeyRejected,
            "the API key cannot be sent in a header",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where the answer sends us, if it does.
fn redirect_target(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?)
        .ok()
}

/// As much of an address as says where it leads.
fn display_origin(place: &Url) -> String {
    if place.has_host() {
        place.origin().ascii_serialization()
    } else {
        format!("a {}: address", place.scheme())
    }
}

/// Reads a body, unpacked, up to `most` bytes.
async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, RequestError> {
    let encoding = response
        .headers()
        .get(CONTENT_ENCODING)
        .and_then(|encoding| encoding.to_str().ok());
    let is_packed = encoding.is_some_and(is_gzip);
    let announced = response.content_length().unwrap_or(0);
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0).min(most));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| RequestError::from_reqwest(&error))?
    {
        if body.len() + chunk.len() > most {
            return Err(RequestError::BodyTooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    if !is_packed {
        return Ok(body);
    }
    let unpacked = tokio::task::spawn_blocking(move || gunzip(&body, most)).await;
    unpacked.unwrap_or_else(|error| {
        Err(RequestError::NotSent(Error::new(
            ErrorKind::Internal,
            format!("unpacking an answer failed: {error}"),
        )))
    })
}
