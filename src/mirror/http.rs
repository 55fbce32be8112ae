//! The operations of a mirror over HTTP:
//! the service's API over an archive, behind keys of the mirror's own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::Instant;

use super::MirrorConfig;
use super::access_log::Access;
use super::events::{OpenStreams, stream_changes};
use super::source::{MirrorEmail, MirrorSource};
use super::statistics::{RequestStatistics, Sample, operation_name, write_metrics};
use crate::api::MailboxChange;
use crate::api::{CHECKED_AT_HEADER, LISTED_AT_HEADER, MIRROR_HEADER};
use crate::archive::NextRows;
use crate::error::Error;
use crate::mail::{EmailId, Mailbox};
use crate::server::{
    ClientAddress, ErrorResponse, ListParams, bearer_key, check_host, get_only, max_connections,
    method_not_allowed,
};
use crate::tasks::lock;
use crate::text::format::format_timestamp;
use crate::text::hash::{sha256, to_hex};

/// The most requests that are open at once;
/// a further one is refused, and may come again soon.
pub(super) const MAX_OPEN_REQUESTS: usize = 512;

/// Where the service posts its events.
const WEBHOOK_PATH: &str = "/webhooks";

pub(super) struct MirrorState {
    pub(super) sent: MirrorSource,
    pub(super) received: MirrorSource,
    pub(super) config: MirrorConfig,
    /// The error of the poller at its last attempt.
    pub(super) poll_error: Mutex<Option<Error>>,
    pub(super) statistics: RequestStatistics,
    pub(super) open_requests: Semaphore,
    pub(super) open_streams: OpenStreams,
    /// Sends changes to the clients that follow.
    pub(super) changes: broadcast::Sender<MailboxChange>,
}

impl MirrorState {
    /// Returns the number of requests to the service, retries included.
    pub(super) fn upstream_requests(&self) -> u64 {
        self.sent.client().request_count() + self.received.client().request_count()
    }

    const fn source(&self, mailbox: Mailbox) -> &MirrorSource {
        match mailbox {
            Mailbox::Sent => &self.sent,
            Mailbox::Received => &self.received,
        }
    }
}

type Shared = State<Arc<MirrorState>>;
type Key = Extension<KeyName>;
type Id = Result<Path<String>, PathRejection>;
type Ids = Result<Path<HashMap<String, String>>, PathRejection>;

/// The name of the key of a request, in it and its response.
#[derive(Clone)]
struct KeyName(Arc<str>);

/// The emails in a response.
#[derive(Clone)]
struct ReadIds(Vec<EmailId>);

pub(super) fn routes(state: Arc<MirrorState>) -> Router {
    let limit = middleware::from_fn_with_state(state.clone(), limit_open);
    // The signature is the key of an event.
    let webhooks = Router::new()
        .route(WEBHOOK_PATH, post(receive_event))
        .layer(limit.clone());
    let webhooks = state.config.webhooks.is_some().then_some(webhooks);
    Router::new()
        .merge(listing(Mailbox::Sent))
        .merge(listing(Mailbox::Received))
        .route("/emails/metrics", get_only(look_up))
        .route("/suppressions/{address}", get_only(look_up))
        .layer(limit)
        .route("/metrics", get(metrics))
        .route("/sentbox/events", get(events))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(async || ErrorResponse::NoSuchPath)
        .layer(middleware::from_fn_with_state(state.clone(), check_request))
        .route("/healthz", get(health))
        .merge(webhooks.unwrap_or_default())
        .layer(middleware::from_fn_with_state(state.clone(), record))
        .with_state(state)
}

fn listing(mailbox: Mailbox) -> Router<Arc<MirrorState>> {
    let path = format!("/{}", mailbox.path().join("/"));
    let attachments = format!("{path}/{{id}}/attachments");
    Router::new()
        .route(&path, get_only(list))
        .route(&format!("{path}/{{id}}"), get_only(retrieve))
        .route(&attachments, get_only(look_up_email))
        .route(
            &format!("{attachments}/{{attachment}}"),
            get_only(look_up_email),
        )
        .layer(Extension(mailbox))
}

async fn list(
    State(state): Shared,
    Extension(mailbox): Extension<Mailbox>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let ListParams { cursor, limit } = ListParams::parse(&query.unwrap_or_default())?;
    let page = state.source(mailbox).page(cursor, limit).await?;
    let (ids, items): (Vec<EmailId>, Vec<String>) = page.items.into_iter().unzip();
    let (items, has_more) = (items.join(","), page.next != NextRows::End);
    let body = format!(r#"{{"object":"list","has_more":{has_more},"data":[{items}]}}"#);
    let mut response = respond(body, page.checked_at, ids, &headers);
    insert_time(&mut response, LISTED_AT_HEADER, page.listed_at);
    Ok(response)
}

async fn retrieve(
    State(state): Shared,
    Extension(mailbox): Extension<Mailbox>,
    id: Id,
    RawQuery(query): RawQuery,
    Extension(KeyName(key)): Key,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let Path(id) = id.map_err(|_| ErrorResponse::MalformedId)?;
    let id = EmailId::new(id);
    // The archive has received emails with references to their pictures only.
    if query.is_some_and(|query| query.contains("html_format=data_uri")) {
        return Err(ErrorResponse::UnsupportedParameter("html_format"));
    }
    let source = state.source(mailbox);
    let MirrorEmail { json, checked_at } = source.email(id.clone()).await?;
    source.record_opened(&id, &key).await?;
    Ok(respond((*json).into(), checked_at, vec![id], &headers))
}

/// Passes on an operation about an email, and records who asks for an attachment.
async fn look_up_email(
    State(state): Shared,
    Extension(mailbox): Extension<Mailbox>,
    ids: Ids,
    query: RawQuery,
    Extension(KeyName(key)): Key,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let Path(ids) = ids.map_err(|_| ErrorResponse::MalformedId)?;
    let id = EmailId::new(&ids["id"]);
    let source = state.source(mailbox);
    source.require_email(&id).await?;
    if ids.contains_key("attachment") {
        source.record_opened(&id, &key).await?;
    }
    let mut response = look_up(State(state), query, request).await?;
    response.extensions_mut().insert(ReadIds(vec![id]));
    Ok(response)
}

/// Passes on an operation that the archive has nothing for.
async fn look_up(
    State(state): Shared,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let segments = decode_segments(request.uri().path()).ok_or(ErrorResponse::MalformedId)?;
    let body = state.sent.look_up(segments, query).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(respond(body, None, Vec::new(), request.headers()))
}

/// Returns the decoded segments of a path; `None` if one is not UTF-8.
fn decode_segments(path: &str) -> Option<Vec<String>> {
    let decode = |segment: &str| {
        let text = percent_encoding::percent_decode_str(segment).decode_utf8();
        Some(text.ok()?.into_owned())
    };
    path.trim_start_matches('/')
        .split('/')
        .map(decode)
        .collect()
}

/// Creates the response with a body, or the one that says that the client has it.
fn respond(
    body: String,
    checked_at: Option<Timestamp>,
    ids: Vec<EmailId>,
    request: &HeaderMap,
) -> Response {
    let etag = etag(body.as_bytes());
    let given = request.get_all(header::IF_NONE_MATCH);
    let tags = given.iter().filter_map(|value| value.to_str().ok());
    let is_known = tags
        .flat_map(|tags| tags.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == etag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let text = |text: String| HeaderValue::try_from(text).expect("it is ASCII");
    let headers = response.headers_mut();
    headers.insert(header::ETAG, text(etag));
    // Mail is personal: no cache but the client's own, which is validated each time.
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-cache"),
    );
    insert_time(&mut response, CHECKED_AT_HEADER, checked_at);
    if !is_known {
        response.extensions_mut().insert(ReadIds(ids));
    }
    response
}

fn insert_time(response: &mut Response, name: &'static str, time: Option<Timestamp>) {
    if let Some(at) = time {
        let value = HeaderValue::try_from(format_timestamp(at)).expect("it is ASCII");
        response.headers_mut().insert(name, value);
    }
}

/// Returns half of the hash of a body, in quotes.
fn etag(body: &[u8]) -> String {
    format!("\"{}\"", to_hex(&sha256(body)[..16]))
}

/// Refuses a request beyond those that may be open.
async fn limit_open(State(state): Shared, request: Request, next: Next) -> Response {
    match state.open_requests.try_acquire() {
        Ok(_permit) => next.run(request).await,
        Err(_) => ErrorResponse::Busy.into_response(),
    }
}

/// Checks host and key, in this order, before any path is looked up.
async fn check_request(State(state): Shared, mut request: Request, next: Next) -> Response {
    let name = check_host(&request, &state.config.hosts)
        .and_then(|()| bearer_key(request.headers()))
        .and_then(|key| state.config.keys.find(key).ok_or(ErrorResponse::InvalidKey));
    match name {
        Ok(name) => {
            let name = KeyName(name);
            request.extensions_mut().insert(name.clone());
            let mut response = next.run(request).await;
            response.extensions_mut().insert(name);
            response
        }
        Err(error) => error.into_response(),
    }
}

/// Counts a request, and logs who read what before the response is sent.
async fn record(State(state): Shared, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let operation = operation_name(request.uri().path());
    let client = request.extensions().get::<ClientAddress>().cloned();
    let mut response = next.run(request).await;
    let duration = started.elapsed();
    if let Some(log) = &state.config.access_log
        && operation != "health"
    {
        let extensions = response.extensions();
        let access = Access {
            time: format_timestamp((state.config.clock)()),
            key: extensions.get::<KeyName>().map(|KeyName(name)| &**name),
            client: client.as_ref().map(|ClientAddress(address)| &**address),
            operation,
            emails: extensions
                .get::<ReadIds>()
                .map_or(&[], |ReadIds(ids)| ids.as_slice()),
            status: response.status().as_u16(),
            seconds: duration.as_secs_f64(),
        };
        if let Err(error) = log.write(&access) {
            tracing::error!(%error, "the access log cannot be written: the request is refused");
            response = ErrorResponse::Internal.into_response();
        }
    }
    state
        .statistics
        .record(operation, response.status().as_u16(), duration);
    let headers = response.headers_mut();
    headers.insert(MIRROR_HEADER, HeaderValue::from_static("1"));
    response
}

/// Says whether the mirror is kept current.
async fn health(State(state): Shared) -> impl IntoResponse {
    let error = lock(&state.poll_error).clone();
    let poller = if error.is_none() {
        "running"
    } else {
        "failing"
    };
    // While the service fails, another mirror would not serve more.
    let of_service = |error: &Error| error.kind.is_service_error() || error.kind.is_key_error();
    let status = match &error {
        Some(error) if !of_service(error) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    let (sent, received) = (state.sent.client(), state.received.client());
    let answered = sent.answered_at().max(received.answered_at());
    let body = json!({
        "poller": poller,
        // Its message may name the service or a file, which is nothing for a client without a key.
        "error": error.map(|error| error.kind.code()),
        "service_answered_at": answered.map(format_timestamp),
        "service_paused_seconds": state.sent.paused_for().as_secs(),
    });
    (status, Json(body))
}

/// Stores an event. If this mirror fails, the service gets an error and sends the
/// event again.
async fn receive_event(State(state): Shared, request: Request) -> Result<Response, ErrorResponse> {
    let secrets = state
        .config
        .webhooks
        .as_ref()
        .ok_or(ErrorResponse::NoSuchPath)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let now = (state.config.clock)();
    let read = secrets.read_event(request, now, &state.config.note).await;
    let Some(reported) = read? else {
        state.statistics.record_event("other", "ignored");
        return Ok(response);
    };
    let event = &reported.event;
    let (status, ids) = (event.status.clone(), vec![event.id.clone()]);
    let outcome = state.sent.store_event(reported).await?;
    let status = status.api_name();
    state.statistics.record_event(status, outcome.as_str());
    response.extensions_mut().insert(ReadIds(ids));
    Ok(response)
}

/// Streams what changes in the archive of sent mail.
async fn events(
    State(state): Shared,
    Extension(KeyName(name)): Key,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ErrorResponse> {
    let open_stream = state.open_streams.open(&name, max_connections());
    let open_stream = open_stream.ok_or(ErrorResponse::TooManyStreams)?;
    let key = SecretString::from(bearer_key(&headers)?);
    let receiver = state.changes.subscribe();
    let before = state.sent.purged_before().await?;
    let before = before.map(|time| Ok(vec![MailboxChange::PurgedBefore(time)]));
    let source = Arc::clone(&state);
    let pages = stream::try_unfold(0, move |number| {
        let state = Arc::clone(&source);
        async move {
            let page = state.sent.purges_after(number).await?;
            let last = page.last().map(|(number, _)| *number);
            let page = page.into_iter().map(|(_, purge)| purge).collect();
            Ok(last.map(|last| (page, last)))
        }
    });
    let purges = pages.chain(stream::iter(before));
    let is_allowed = move || {
        let _is_open = &open_stream;
        state.config.keys.find(key.expose_secret()).is_some()
    };
    Ok(stream_changes(purges, receiver, is_allowed))
}

async fn metrics(State(state): Shared) -> Result<impl IntoResponse, ErrorResponse> {
    let (checked_at, emails) = state.sent.state().await?;
    let sample = Sample {
        upstream_requests: state.upstream_requests(),
        emails,
        check_age: checked_at.map(|at| (state.config.clock)().duration_since(at)),
    };
    let text = write_metrics(&state.statistics, &sample);
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, content_type)], text))
}
