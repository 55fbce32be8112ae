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

use super::ask::Ask;
use super::refusal::Refusal;
use super::window::{self, Window};
use super::{Fault, Source, Terms};
use crate::api::wire::Envelope;
use crate::config::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::mail::EmailId;

/// What stands between the network and the source.
struct Gate {
    terms: Terms,
    window: Mutex<Window>,
    clock: Clock,
}

/// The router of a server.
pub(super) fn routes<S: Source>(source: S, terms: Terms, clock: Clock) -> Router {
    let gate = Arc::new(Gate {
        window: Mutex::new(Window::new(terms.rate)),
        terms,
        clock,
    });
    Router::new()
        .route("/emails", get(list::<S>).head(wrong_method))
        .route("/emails/{id}", get(retrieve::<S>).head(wrong_method))
        .method_not_allowed_fallback(wrong_method)
        .fallback(async || Refusal::NoSuchPath)
        .with_state(Arc::new(source))
        .layer(middleware::from_fn_with_state(gate, guard))
}

async fn wrong_method() -> Refusal {
    Refusal::WrongMethod
}

async fn list<S: Source>(
    State(source): State<Arc<S>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Envelope<Box<RawValue>>>, Refusal> {
    let Ask { cursor, limit } = Ask::parse(&query.unwrap_or_default())?;
    let page = aside(move || source.page(&cursor, limit))
        .await
        .map_err(Refusal::of_page)?;
    Ok(Json(Envelope {
        object: Some("list".to_owned()),
        has_more: Some(page.has_more),
        data: page.data,
    }))
}

async fn retrieve<S: Source>(
    State(source): State<Arc<S>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Box<RawValue>>, Refusal> {
    let Path(id) = id.map_err(|_| Refusal::IdMalformed)?;
    let email = aside(move || source.email(&EmailId::new(id))).await;
    email.map(Json).map_err(Refusal::of_email)
}

/// Asks the source on a thread where it may block; a panic there is an answer too.
async fn aside<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.unwrap_or_else(|_| {
        Err(Fault::Broken(Failure::new(
            Kind::Internal,
            "the source panicked",
        )))
    })
}

/// After the name of the host the key, as on the service: without it nobody learns which paths exist. A caller without
/// the key uses up nobody's budget, yet is told it, since every answer carries the headers.
async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let now = (gate.clock)();
    let may = addressed(&request, &gate.terms)
        .and_then(|()| authorised(request.headers(), &gate.terms))
        .and_then(|()| {
            let granted = gate.window().take(now);
            if granted {
                Ok(())
            } else {
                Err(Refusal::TooMany {
                    rate: gate.terms.rate,
                })
            }
        });
    let mut response = match may {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if let Err(Refusal::TooMany { .. }) = may {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, window::retry_after());
    }
    response.headers_mut().extend(gate.window().headers(now));
    response
}

impl Gate {
    /// A counter stays right whatever panicked beside it.
    fn window(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every name that the request gives for the server must be one that it answers to.
fn addressed(request: &Request, terms: &Terms) -> Result<(), Refusal> {
    let of_header = |value: &HeaderValue| {
        value
            .to_str()
            .ok()
            .and_then(|text| host(&text.parse().ok()?))
    };
    let in_headers = request
        .headers()
        .get_all(header::HOST)
        .iter()
        .map(of_header);
    let in_address = request.uri().authority().map(host);
    let mut named = in_headers.chain(in_address).peekable();
    let is_ours = |host: Option<Host>| {
        host.is_some_and(|host| is_loopback(&host) || terms.hosts.contains(&host))
    };
    if named.peek().is_some() && named.all(is_ours) {
        Ok(())
    } else {
        Err(Refusal::WrongHost)
    }
}

/// The host in normal form, without its port.
fn host(authority: &Authority) -> Option<Host> {
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
fn authorised(headers: &HeaderMap, terms: &Terms) -> Result<(), Refusal> {
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or(Refusal::KeyMissing)?;
    let (scheme, key) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or(Refusal::KeyMissing)?;
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(Refusal::KeyMissing);
    }
    // In constant time: how long a comparison takes would tell how much of a guess is right.
    verify_slices_are_equal(key.as_bytes(), terms.key.expose_secret().as_bytes())
        .map_err(|_| Refusal::KeyInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn answers(hosts: &[&str], terms: &Terms) -> bool {
        let mut request = Request::new(Body::empty());
        for host in hosts {
            request
                .headers_mut()
                .append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        addressed(&request, terms).is_ok()
    }

    #[test]
    fn only_loopback_and_allowed_names_are_answered() {
        let mut terms = Terms::demo(10);
        for name in [
            "localhost",
            "127.0.0.1:8025",
            "127.8.9.1",
            "[::1]:8025",
            "LOCALHOST:80",
            "sentbox.localhost",
        ] {
            assert!(answers(&[name], &terms), "{name}");
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
            assert!(!answers(&[name], &terms), "{name}");
        }
        assert!(!answers(&[], &terms) && !answers(&["localhost", "evil.example"], &terms));
        terms.hosts.push(Host::parse("Mail.Example").unwrap());
        assert!(answers(&["mail.example:8025"], &terms) && !answers(&["other.example"], &terms));
    }

    #[test]
    fn name_in_the_request_line_counts_too() {
        let mut request = Request::new(Body::empty());
        request
            .headers_mut()
            .append(header::HOST, HeaderValue::from_static("localhost"));
        *request.uri_mut() = "http://evil.example/emails".parse().unwrap();
        assert_eq!(
            addressed(&request, &Terms::demo(10)),
            Err(Refusal::WrongHost)
        );
    }

    #[test]
    fn key_must_match_whole() {
        let terms = Terms::demo(10);
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            authorised(&headers, &terms)
        };
        assert_eq!(with("Bearer re_demo"), Ok(()));
        for wrong in ["Bearer re_dem", "Bearer re_demo1", "Bearer re_demO"] {
            assert_eq!(with(wrong), Err(Refusal::KeyInvalid), "{wrong}");
        }
    }
}
