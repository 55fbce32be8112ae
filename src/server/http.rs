//! The operations over HTTP:
//! routes, access checks, query parameters and the rate limit.

use std::sync::{Arc, Mutex};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde_json::value::RawValue;
use subtle::ConstantTimeEq as _;
use url::Host;

use super::attachments::{self, Links};
use super::error::ErrorResponse;
use super::metrics;
use super::request::{
    ListParams, Origin, get_only, is_loopback, method_not_allowed, parse_host, run_blocking,
};
use super::{Listing, RATE_WINDOW_SECONDS, ServerConfig, Source};
use crate::api::wire::ListBody;
use crate::config::clock::Clock;
use crate::mail::{EmailId, Mailbox};
use crate::tasks::lock;

struct ServerState {
    config: ServerConfig,
    rate_window: Mutex<RateWindow>,
    clock: Clock,
}

pub(super) fn routes(source: Source, config: ServerConfig, clock: Clock) -> Router {
    let state = Arc::new(ServerState {
        rate_window: Mutex::new(RateWindow::new(config.rate)),
        config,
        clock,
    });
    let [sent, received] = [Mailbox::Sent, Mailbox::Received].map(|mailbox| Listing {
        source: source.clone(),
        mailbox,
    });
    // The links of one listing do not work for the other.
    let links = |path| Arc::new(Links::new(state.clock.clone(), path));
    let (sent_links, received_links) = (links("download"), links("download/receiving"));
    Router::new()
        .route("/suppressions/{address}", get_only(suppression))
        .with_state(source.clone())
        .merge(listing_routes(&sent, &sent_links))
        .merge(listing_routes(&received, &received_links))
        .merge(metrics::routes(source, state.clock.clone()))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(async || ErrorResponse::NoSuchPath)
        .layer(middleware::from_fn_with_state(state.clone(), check_request))
        .merge(
            attachments::downloads(sent, sent_links)
                .merge(attachments::downloads(received, received_links))
                .layer(middleware::from_fn_with_state(state, check_download)),
        )
}

fn listing_routes(listing: &Listing, links: &Arc<Links>) -> Router {
    let path = format!("/{}", listing.mailbox.path().join("/"));
    Router::new()
        .route(&path, get_only(list))
        .route(&format!("{path}/{{id}}"), get_only(retrieve))
        .with_state(listing.clone())
        .merge(attachments::routes(listing.clone(), &path, links.clone()))
}

async fn list(
    State(listing): State<Listing>,
    RawQuery(query): RawQuery,
) -> Result<Json<ListBody<Box<RawValue>>>, ErrorResponse> {
    let ListParams { cursor, limit } = ListParams::parse(&query.unwrap_or_default())?;
    let page = run_blocking(move || listing.source()?.page(&cursor, limit))
        .await
        .map_err(ErrorResponse::from_page_error)?;
    Ok(Json(ListBody::new(page.data, page.has_more)))
}

async fn retrieve(
    State(listing): State<Listing>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Box<RawValue>>, ErrorResponse> {
    let Path(id) = id.map_err(|_| ErrorResponse::MalformedId)?;
    let email = run_blocking(move || listing.source()?.email(&EmailId::new(id))).await;
    email.map(Json).map_err(ErrorResponse::from_email_error)
}

async fn suppression(
    State(source): State<Source>,
    address: Result<Path<String>, PathRejection>,
) -> Result<Json<Box<RawValue>>, ErrorResponse> {
    let Path(address) = address.map_err(|_| ErrorResponse::UnknownSuppression)?;
    let unknown = ErrorResponse::UnknownSuppression;
    run_blocking(move || source.suppression(&address))
        .await
        .map(Json)
        .map_err(|error| ErrorResponse::from_source(error, unknown, unknown))
}

/// Checks host, key and rate limit, in this order, before any path is looked up.
///
/// So a client without the key cannot find out which paths exist, and does not use up the rate
/// limit of others. The rate limit headers are on every response, as on the service.
async fn check_request(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let now = (state.clock)();
    let config = &state.config;
    let check = check_host(&request, &config.hosts)
        .and_then(|()| check_key(request.headers(), config))
        .and_then(|()| {
            let is_granted = lock(&state.rate_window).try_acquire(now).then_some(());
            is_granted.ok_or(ErrorResponse::RateLimited { rate: config.rate })
        });
    let mut response = match check {
        Ok(()) => {
            if let Some(origin) = Origin::from_request(&request) {
                request.extensions_mut().insert(origin);
            }
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.extend(lock(&state.rate_window).headers(now));
    // By the clock of the mailbox, not by that of the machine.
    let date = httpdate::fmt_http_date(now.into());
    headers.extend(
        HeaderValue::try_from(date)
            .ok()
            .map(|date| (header::DATE, date)),
    );
    response
}

/// Checks the host of a request with a signed link, which needs no key.
async fn check_download(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    match check_host(&request, &state.config.hosts) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// Checks that every host name of the request belongs to this server.
pub(crate) fn check_host(request: &Request, ours: &[Host]) -> Result<(), ErrorResponse> {
    let parse_header = |value: &HeaderValue| {
        let authority: Authority = value.to_str().ok()?.parse().ok()?;
        parse_host(&authority)
    };
    let headers = request.headers().get_all(header::HOST);
    let from_headers = headers.iter().map(parse_header);
    let from_uri = request.uri().authority().map(parse_host);
    let mut hosts = from_headers.chain(from_uri).peekable();
    let is_ours =
        |host: Option<Host>| host.is_some_and(|host| is_loopback(&host) || ours.contains(&host));
    let are_ours = hosts.peek().is_some() && hosts.all(is_ours);
    are_ours.then_some(()).ok_or(ErrorResponse::UnknownHost)
}

fn check_key(headers: &HeaderMap, config: &ServerConfig) -> Result<(), ErrorResponse> {
    // In constant time: the duration of a comparison would tell how much of a guess is right.
    let key = bearer_key(headers)?;
    let is_same = key.as_bytes().ct_eq(config.key.expose_secret().as_bytes());
    let is_same = bool::from(is_same).then_some(());
    is_same.ok_or(ErrorResponse::InvalidKey)
}

/// Returns the bearer token of a request.
///
/// An `Authorization` of another scheme, or an empty one, has no key.
pub(crate) fn bearer_key(headers: &HeaderMap) -> Result<&str, ErrorResponse> {
    let (scheme, key) = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.split_once(' '))
        .ok_or(ErrorResponse::MissingKey)?;
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(ErrorResponse::MissingKey);
    }
    Ok(key)
}

/// A fixed window rate limit.
///
/// A window opens with the first request after the last one closed.
#[derive(Debug)]
struct RateWindow {
    rate: u32,
    opened_at: Timestamp,
    used: u32,
}

impl RateWindow {
    const fn new(rate: u32) -> Self {
        Self {
            rate,
            opened_at: Timestamp::MIN,
            used: 0,
        }
    }

    /// Counts a request; false if the limit is reached.
    fn try_acquire(&mut self, now: Timestamp) -> bool {
        self.reset_if_over(now);
        let granted = self.used < self.rate;
        self.used += u32::from(granted);
        granted
    }

    fn headers(&mut self, now: Timestamp) -> HeaderMap {
        self.reset_if_over(now);
        let policy = HeaderValue::try_from(format!("{};w={RATE_WINDOW_SECONDS}", self.rate))
            .expect("digits and punctuation make a header");
        [
            ("ratelimit-limit", self.rate.into()),
            ("ratelimit-policy", policy),
            ("ratelimit-remaining", (self.rate - self.used).into()),
            ("ratelimit-reset", RATE_WINDOW_SECONDS.into()),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), value))
        .collect()
    }

    /// Opens a new window if this one is over, or starts in the future.
    fn reset_if_over(&mut self, now: Timestamp) {
        let age = now.duration_since(self.opened_at);
        if age >= SignedDuration::from_secs(RATE_WINDOW_SECONDS) || age.is_negative() {
            self.opened_at = now;
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn accepts_hosts(hosts: &[&str], config: &ServerConfig) -> bool {
        let mut request = Request::new(Body::empty());
        for host in hosts {
            let value = HeaderValue::from_str(host).unwrap();
            request.headers_mut().append(header::HOST, value);
        }
        check_host(&request, &config.hosts).is_ok()
    }

    #[test]
    fn only_loopback_and_configured_hosts_are_accepted() {
        let mut config = ServerConfig::demo(10);
        for name in [
            "localhost",
            "127.0.0.1:8025",
            "127.8.9.1",
            "[::1]:8025",
            "LOCALHOST:80",
            "sentbox.localhost",
        ] {
            assert!(accepts_hosts(&[name], &config), "{name}");
        }
        for name in [
            "evil.example",
            "localhost.evil.example",
            "192.168.1.5:8025",
            "127.0.0.1.example",
            "0.0.0.0",
            "",
            "a b",
            "[::2]",
        ] {
            assert!(!accepts_hosts(&[name], &config), "{name}");
        }
        assert!(
            !accepts_hosts(&[], &config) && !accepts_hosts(&["localhost", "evil.example"], &config)
        );
        config.hosts.push(Host::parse("Mail.Example").unwrap());
        assert!(
            accepts_hosts(&["mail.example:8025"], &config)
                && !accepts_hosts(&["other.example"], &config)
        );
    }

    #[test]
    fn host_in_request_line_is_checked() {
        let mut request = Request::new(Body::empty());
        request
            .headers_mut()
            .append(header::HOST, HeaderValue::from_static("localhost"));
        *request.uri_mut() = "http://evil.example/emails".parse().unwrap();
        assert_eq!(check_host(&request, &[]), Err(ErrorResponse::UnknownHost));
    }

    #[test]
    fn partial_key_is_refused() {
        let config = ServerConfig::demo(10);
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            check_key(&headers, &config)
        };
        assert_eq!(with("Bearer re_demo"), Ok(()));
        for wrong in ["Bearer re_dem", "Bearer re_demo1", "Bearer re_demO"] {
            assert_eq!(with(wrong), Err(ErrorResponse::InvalidKey), "{wrong}");
        }
    }

    #[test]
    fn clock_set_back_opens_new_window() {
        let mut window = RateWindow::new(1);
        let now = Timestamp::UNIX_EPOCH;
        assert!(window.try_acquire(now + SignedDuration::from_mins(1)));
        assert!(window.try_acquire(now));
    }
}
