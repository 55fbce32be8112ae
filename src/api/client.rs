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

use super::fault::{Asked, Fault, MAX_BODY, Rejection};
use super::pace::{self, Budget, Gate, Patience, Retry, Spent, Turned, jitter};
use super::seen::Seen;
use super::unpack::{gunzip, is_gzip};
use super::wish::{Urgency, Wish};
use super::{Cursor, MAX_LIMIT, OnSend, Page, Retrieved, Service, answer, headers};
use crate::config::clock::Clock;
use crate::config::{ApiKey, BaseUrl, Location, Rate, Settings};
use crate::failure::{Failure, Kind};
use crate::mail::EmailId;

const USER_AGENT: &str = concat!("sentbox/", env!("CARGO_PKG_VERSION"));
const CONNECT: Duration = Duration::from_secs(5);
/// Longer than any answer of the service takes to begin or to go on.
const SILENCE: Duration = Duration::from_secs(10);
const REDIRECTS: usize = 3;
/// A shorter wait is not worth a message.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// As much of an error's body as is looked at.
const MAX_ERROR: usize = 64 << 10;

/// What a client needs to know.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where the service is.
    pub base_url: BaseUrl,
    /// The key, or the failure that every request ends with because there is none.
    pub key: Result<ApiKey, Failure>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Requests a second.
    pub rate: Rate,
    /// The file through which all processes with this access on this machine share that rate.
    pub rate_file: Option<PathBuf>,
}

impl From<&Settings> for Access {
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
            Location::Disk(path) => Some(path.with_added_extension("rate")),
            Location::Memory => None,
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
    wish: Wish,
    on_send: Option<OnSend>,
}

struct Inner {
    access: Access,
    patience: Patience,
    clock: Clock,
    http: OnceCell<reqwest::Client>,
    gate: Gate,
    skew: Mutex<Option<SignedDuration>>,
    on_wait: OnceLock<OnWait>,
    /// The longest wait that was reported.
    reported: Mutex<Duration>,
}

/// Hears how long a request is going to wait.
type OnWait = Box<dyn Fn(Duration) + Send + Sync>;

impl Client {
    /// A client for requests that a person waits for.
    #[must_use]
    pub fn new(access: Access, patience: Patience, clock: Clock) -> Self {
        let gate = Gate::new(access.rate, access.rate_file.clone(), clock.clone());
        let inner = Inner {
            access,
            patience,
            clock,
            http: OnceCell::new(),
            gate,
            skew: Mutex::new(None),
            on_wait: OnceLock::new(),
            reported: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            wish: Wish::of(Urgency::Person),
            on_send: None,
        }
    }

    /// Reports long waits for the rate limit: the first one, and each that is twice as long as any before.
    #[must_use]
    pub fn on_long_wait(self, report: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        // The first one who wants the reports gets them.
        let _ = self.inner.on_wait.set(Box::new(report));
        self
    }

    /// The rate budget as it stands.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.inner.gate.budget()
    }

    /// How far the service's clock is ahead of ours, as its last answer said.
    #[must_use]
    pub fn skew(&self) -> Option<SignedDuration> {
        *self
            .inner
            .skew
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until there is an answer that `read` can read, or patience ends.
    async fn ask<T>(
        &self,
        url: Url,
        asked: Asked,
        read: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Failure> {
        let Inner {
            access, patience, ..
        } = &*self.inner;
        let key = access.key.as_ref().map_err(Clone::clone)?;
        let told = |fault: Fault| {
            fault
                .without(key.expose())
                .into_failure(asked, &access.base_url)
        };
        let authorization = authorization(key)?;
        let http = self.inner.http().await.map_err(told)?;
        let mut spent = Spent::default();
        let mut tries = 0;
        let mut seen = Seen::default();
        loop {
            self.admit(&mut spent)
                .await
                .map_err(|fault| seen.explain(told(fault), asked, tries))?;
            if let Some(hook) = &self.on_send {
                hook().await;
            }
            tries += 1;
            seen = Seen::default();
            let started = Instant::now();
            let answer = timeout(
                patience.left(spent),
                self.inner.once(http, &url, &authorization, &mut seen),
            );
            let answer = tokio::select! {
                answer = answer => answer.unwrap_or(Err(Fault::Silent)),
                () = self.until_unwanted(), if asked == Asked::Email => return Err(unwanted()),
            };
            let outcome = answer.and_then(|body| read(&body));
            let took = started.elapsed();
            spent.working += took;
            seen.request_id = seen.request_id.filter(|id| !id.contains(key.expose()));
            seen.log(asked, tries, took, outcome.as_ref().err());
            let fault = match outcome {
                Ok(read) => return Ok(read),
                Err(fault) => fault,
            };
            let retry = fault.retry();
            let Some(wait) = pace::again(patience, tries, spent, retry, jitter()) else {
                return Err(seen.explain(told(fault), asked, tries));
            };
            info!(endpoint = asked.endpoint(), attempt = tries, wait = ?wait, "asks again");
            self.inner.report(wait);
            sleep(wait).await;
            match retry {
                Retry::After(_) => spent.paused += wait,
                Retry::Soon | Retry::Never => spent.working += wait,
            }
        }
    }

    /// Waits until nobody has wanted the answer for a while.
    async fn until_unwanted(&self) {
        self.wish.until_withdrawn().await;
        sleep(self.inner.patience.unwanted).await;
    }

    /// Waits for its turn. Our own rate is no part of a request's time, but a pause that the service
    /// asked for is. Whoever stops waiting has sent nothing.
    async fn admit(&self, spent: &mut Spent) -> Result<(), Fault> {
        let Inner { gate, patience, .. } = &*self.inner;
        let working = spent.working;
        let bearable = |paused, wait| {
            pace::again(
                patience,
                0,
                Spent { working, paused },
                Retry::After(wait),
                0.0,
            )
            .is_some()
        };
        gate.pass(&self.wish, &mut spent.paused, bearable, |wait| {
            self.inner.report(wait);
        })
        .await
        .map_err(|turned| match turned {
            Turned::Away => Fault::Unsent(unwanted()),
            Turned::Back(wait) => Fault::Rejected(Rejection {
                status: 429,
                wait: Some(wait),
                is_api: true,
                ..Rejection::default()
            }),
        })
    }
}

impl Service for Client {
    fn wanted(&self, wish: &Wish) -> Self {
        Self {
            wish: wish.clone(),
            ..self.clone()
        }
    }

    fn with_on_send(&self, hook: OnSend) -> Option<Self> {
        Some(Self {
            on_send: Some(hook),
            ..self.clone()
        })
    }

    fn allowance(&self) -> Option<Budget> {
        Some(self.budget())
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<Page, Failure> {
        let mut url = self.inner.access.base_url.below(&["emails"]);
        url.query_pairs_mut()
            .append_pair("limit", &limit.clamp(1, MAX_LIMIT).to_string());
        let asked = match cursor {
            Cursor::Start => Asked::Start,
            Cursor::After(id) => {
                url.query_pairs_mut().append_pair("after", id.as_str());
                Asked::Beside
            }
            Cursor::Before(id) => {
                url.query_pairs_mut().append_pair("before", id.as_str());
                Asked::Beside
            }
        };
        self.ask(url, asked, answer::page).await
    }

    async fn retrieve(&self, id: &EmailId) -> Result<Retrieved, Failure> {
        // Such an id would be another path altogether, so no email can have it.
        if matches!(id.as_str(), "" | "." | "..") {
            return Err(
                Failure::new(Kind::NotFound, "the service has no such email")
                    .hint("look at the id"),
            );
        }
        let url = self.inner.access.base_url.below(&["emails", id.as_str()]);
        self.ask(url, Asked::Email, |body| answer::email(body, id))
            .await
    }
}

impl Inner {
    fn report(&self, wait: Duration) {
        let Some(report) = self.on_wait.get().filter(|_| wait >= LONG_WAIT) else {
            return;
        };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if *reported * 2 <= wait {
            *reported = wait;
            report(wait);
        }
    }

    /// The machinery, built with the first request: reading the system's certificates takes a while.
    async fn http(&self) -> Result<&reqwest::Client, Fault> {
        let build = || async {
            let access = self.access.clone();
            let built = tokio::task::spawn_blocking(move || machinery(&access)).await;
            built.unwrap_or_else(|error| {
                Err(Failure::new(
                    Kind::Internal,
                    format!("the HTTP client could not be built: {error}"),
                ))
            })
        };
        self.http
            .get_or_try_init(build)
            .await
            .map_err(Fault::Unsent)
    }

    /// One try: sends the request, follows it within the origin, and reads a body of bounded size.
    async fn once(
        &self,
        http: &reqwest::Client,
        url: &Url,
        authorization: &HeaderValue,
        seen: &mut Seen,
    ) -> Result<Vec<u8>, Fault> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let request = http
                .get(url.clone())
                .header(AUTHORIZATION, authorization)
                .header(ACCEPT, "application/json");
            let response = request
                .header(ACCEPT_ENCODING, "gzip")
                .send()
                .await
                .map_err(|error| Fault::transport(&error))?;
            let status = response.status();
            *seen = Seen::of(status.as_u16(), response.headers());
            if let Some(place) = sent_on(&response, &url) {
                if place.origin() != url.origin() {
                    return Err(Fault::ElsewhereTo(shown(&place)));
                }
                url = place;
                continue;
            }
            let limits = headers::limits(response.headers());
            let refused = status == StatusCode::TOO_MANY_REQUESTS;
            let wait =
                headers::wait(response.headers(), &self.clock).or(limits.reset.filter(|_| refused));
            *self.skew.lock().unwrap_or_else(PoisonError::into_inner) =
                headers::skew(response.headers(), (self.clock)());
            self.gate.learn(limits);
            if refused {
                self.gate.refuse(wait).await;
            }
            if status == StatusCode::OK {
                return body(response, MAX_BODY).await;
            }
            // The status says enough if the body of an error cannot be read.
            let body = body(response, MAX_ERROR).await.unwrap_or_default();
            return Err(Fault::Rejected(Rejection::read(
                status.as_u16(),
                &body,
                wait,
            )));
        }
        Err(Fault::Astray)
    }
}

fn unwanted() -> Failure {
    Failure::new(Kind::Internal, "nobody waits for it any more")
}

fn machinery(access: &Access) -> Result<reqwest::Client, Failure> {
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE);
    if access.base_url.is_plain() {
        // Only this machine is asked in plain: through a proxy the key would leave it, and there
        // may be no certificates here at all.
        builder = builder.no_proxy().tls_certs_only([]);
    }
    if let Some(path) = &access.ca_file {
        let unusable = |why: String| {
            Failure::new(
                Kind::Config,
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
        Failure::new(Kind::Config, format!("no trusted certificates could be loaded: {cause}"))
            .hint("install the system's certificates, or name a file of them with SSL_CERT_FILE or --ca-file")
    })
}

fn authorization(key: &ApiKey) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| Failure::new(Kind::KeyRejected, "the API key cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where the answer sends us, if it does.
fn sent_on(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?)
        .ok()
}

/// As much of an address as says where it leads.
fn shown(place: &Url) -> String {
    if place.has_host() {
        place.origin().ascii_serialization()
    } else {
        format!("a {}: address", place.scheme())
    }
}

/// Reads a body, unpacked, up to `most` bytes.
async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Fault> {
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
        .map_err(|error| Fault::transport(&error))?
    {
        if body.len() + chunk.len() > most {
            return Err(Fault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    if !is_packed {
        return Ok(body);
    }
    let unpacked = tokio::task::spawn_blocking(move || gunzip(&body, most)).await;
    unpacked.unwrap_or_else(|error| {
        Err(Fault::Unsent(Failure::new(
            Kind::Internal,
            format!("unpacking an answer failed: {error}"),
        )))
    })
}
