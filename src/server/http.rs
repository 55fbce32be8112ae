//! The two operations over HTTP: who may ask, how often, and what is answered.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use secrecy::ExposeSecret;
use serde_json::value::RawValue;

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
    let gate = Arc::new(Gate { window: Mutex::new(Window::new(terms.rate)), terms, clock });
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

async fn list<S: Source>(State(source): State<Arc<S>>, RawQuery(query): RawQuery) -> Result<Json<Envelope<Box<RawValue>>>, Refusal> {
    let Ask { cursor, limit } = Ask::parse(&query.unwrap_or_default())?;
    let page = aside(move || source.page(&cursor, limit)).await.map_err(Refusal::of_page)?;
    Ok(Json(Envelope { object: Some("list".to_owned()), has_more: Some(page.has_more), data: page.data }))
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
async fn aside<T: Send + 'static>(ask: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.unwrap_or_else(|_| Err(Fault::Broken(Failure::new(Kind::Internal, "the source panicked"))))
}

/// The key first, as on the service: without it nobody learns which paths exist. A caller without
/// the key uses up nobody's budget, yet is told it, since every answer carries the headers.
async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let now = (gate.clock)();
    let may = authorised(request.headers(), &gate.terms).and_then(|()| {
        let granted = gate.window().take(now);
        if granted { Ok(()) } else { Err(Refusal::TooMany { rate: gate.terms.rate }) }
    });
    let mut response = match may {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if let Err(Refusal::TooMany { .. }) = may {
        response.headers_mut().insert(header::RETRY_AFTER, window::retry_after());
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

/// An `Authorization` of another scheme, or an empty one, brings no key at all.
fn authorised(headers: &HeaderMap, terms: &Terms) -> Result<(), Refusal> {
    let value = headers.get(header::AUTHORIZATION).ok_or(Refusal::KeyMissing)?;
    let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(Refusal::KeyMissing)?;
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(Refusal::KeyMissing);
    }
    if key == terms.key.expose_secret() { Ok(()) } else { Err(Refusal::KeyInvalid) }
}
