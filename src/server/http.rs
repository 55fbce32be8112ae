//! The two operations over HTTP: who may ask, how often, and what is answered.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use secrecy::ExposeSecret;
use serde_json::value::RawValue;
use url::Host;

use super::ask::ListParams;
use super::error::ErrorResponse;
use super::window::{self, RateWindow};
use super::{EmailSource, ServerConfig, SourceError};
use crate::api::wire::ListBody;
use crate::config::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::mail::EmailId;

/// What stands between the network and the source.
struct ServerState {
    config: ServerConfig,
    rate_window: Mutex<RateWindow>,
    clock: Clock,
}

/// The router of a server.
pub(super) fn routes<S: EmailSource>(source: S, terms: ServerConfig, clock: Clock) -> Router {
    let gate = Arc::new(ServerState {
        rate_window: Mutex::new(RateWindow::new(terms.rate)),
        config: terms,
        clock,
    });
    Router::new()
        .route("/emails", get(list::<S>).head(method_not_allowed))
        .route("/emails/{id}", get(retrieve::<S>).head(method_not_allowed))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(async || ErrorResponse::NoSuchPath)
        .with_state(Arc::new(source))
        .layer(middleware::from_fn_with_state(gate, check_request))
}

async fn method_not_allowed() -> ErrorResponse {
    ErrorResponse::MethodNotAllowed
}

async fn list<S: EmailSource>(
    State(source): State<Arc<S>>,
    RawQuery(query): RawQuery,
) -> Result<Json<ListBody<Box<RawValue>>>, ErrorResponse> {
    let ListParams { cursor, limit } = ListParams::parse(&query.unwrap_or_default())?;
    let page = run_blocking(move || source.page(&cursor, limit))
        .await
        .map_err(ErrorResponse::from_page_error)?;
    Ok(Json(ListBody {
        object: Some("list".to_owned()),
        has_more: Some(page.has_more),
        data: page.data,
    }))
}

async fn retrieve<S: EmailSource>(
    State(source): State<Arc<S>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Box<RawValue>>, ErrorResponse> {
    let Path(id) = id.map_err(|_| ErrorResponse::MalformedId)?;
    let email = run_blocking(move || source.email(&EmailId::new(id))).await;
    email.map(Json).map_err(ErrorResponse::from_email_error)
}

/// Asks the source on a thread where it may block; a panic there is an answer too.
async fn run_blocking<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.unwrap_or_else(|_| {
        Err(SourceError::Internal(Error::new(
            ErrorKind::Internal,
            "the source panicked",
        )))
    })
}

/// After the name of the host the key, as on the service: without it nobody learns which paths exist. A caller without
/// the key uses up nobody's budget, yet is told it, since every answer carries the headers.
async fn check_request(
    State(gate): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let now = (gate.clock)();
    let may = check_host(&request, &gate.config)
        .and_then(|()| check_key(request.headers(), &gate.config))
        .and_then(|()| {
            let granted = gate.lock_rate_window().try_acquire(now);
            if granted {
                Ok(())
            } else {
                Err(ErrorResponse::RateLimited {
                    rate: gate.config.rate,
                })
            }
        });
    let mut response = match may {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if let Err(ErrorResponse::RateLimited { .. }) = may {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, window::retry_after());
    }
    response
        .headers_mut()
        .extend(gate.lock_rate_window().headers(now));
    response
}

impl ServerState {
    /// A counter stays right whatever panicked beside it.
    fn lock_rate_window(&self) -> std::sync::MutexGuard<'_, RateWindow> {
        self.rate_window
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every name that the request gives for the server must be one that it answers to.
fn check_host(request: &Request, terms: &ServerConfig) -> Result<(), ErrorResponse> {
    let of_header = |value: &HeaderValue| {
        value
            .to_str()
            .ok()
            .and_then(|text| parse_host(&text.parse().ok()?))
    };
    let in_headers = request
        .headers()
        .get_all(header::HOST)
        .iter()
        .map(of_header);
    let in_address = request.uri().authority().map(parse_host);
    let mut named = in_headers.chain(in_address).peekable();
    let is_ours = |host: Option<Host>| {
        host.is_some_and(|host| is_loopback(&host) || terms.hosts.contains(&host))
    };
    if named.peek().is_some() && named.all(is_ours) {
        Ok(())
    } else {
        Err(ErrorResponse::UnknownHost)
    }
}

/// The host in normal form, without its port.
fn parse_host(authority: &Authority) -> Option<Host> {
    Host::parse(authority.host()).ok()
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(ip) => IpAddr::V4(*ip).is_loopback(),
        Host::Ipv6(ip) => IpAddr::V6(*ip).is_loopback(),
    }
}

/// An `Authorization` of another scheme, or an empty one, brings no key at all.
fn check_key(headers: &HeaderMap, terms: &ServerConfig) -> Result<(), ErrorResponse> {
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or(ErrorResponse::MissingKey)?;
    let (scheme, key) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or(ErrorResponse::MissingKey)?;
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(ErrorResponse::MissingKey);
    }
    // In constant time: how long a comparison takes would tell how much of a guess is right.
    verify_slices_are_equal(key.as_bytes(), terms.key.expose_secret().as_bytes())
        .map_err(|_| ErrorResponse::InvalidKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn accepts_hosts(hosts: &[&str], terms: &ServerConfig) -> bool {
        let mut request = Request::new(Body::empty());
        for host in hosts {
            request
                .headers_mut()
                .append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        check_host(&request, terms).is_ok()
    }

    #[test]
    fn only_loopback_and_allowed_names_are_answered() {
        let mut terms = ServerConfig::demo(10);
        for name in [
            "localhost",
            "127.0.0.1:8025",
            "127.8.9.1",
            "[::1]:8025",
            "LOCALHOST:80",
            "sentbox.localhost",
        ] {
            assert!(accepts_hosts(&[name], &terms), "{name}");
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
            assert!(!accepts_hosts(&[name], &terms), "{name}");
        }
        assert!(
            !accepts_hosts(&[], &terms) && !accepts_hosts(&["localhost", "evil.example"], &terms)
        );
        terms.hosts.push(Host::parse("Mail.Example").unwrap());
        assert!(
            accepts_hosts(&["mail.example:8025"], &terms)
                && !accepts_hosts(&["other.example"], &terms)
        );
    }

    #[test]
    fn name_in_the_request_line_counts_too() {
        let mut request = Request::new(Body::empty());
        request
            .headers_mut()
            .append(header::HOST, HeaderValue::from_static("localhost"));
        *request.uri_mut() = "http://evil.example/emails".parse().unwrap();
        assert_eq!(
            check_host(&request, &ServerConfig::demo(10)),
            Err(ErrorResponse::UnknownHost)
        );
    }

    #[test]
    fn key_must_match_whole() {
        let terms = ServerConfig::demo(10);
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            check_key(&headers, &terms)
        };
        assert_eq!(with("Bearer re_demo"), Ok(()));
        for wrong in ["Bearer re_dem", "Bearer re_demo1", "Bearer re_demO"] {
            assert_eq!(with(wrong), Err(ErrorResponse::InvalidKey), "{wrong}");
        }
    }
}
