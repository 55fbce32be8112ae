//! Error responses: the service's flat JSON body with status, name and message.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{RATE_WINDOW_SECONDS, SourceError};
use crate::api::wire::ErrorBody;
use crate::error::{Error, ErrorKind};

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorResponse {
    UnknownHost,
    MissingKey,
    InvalidKey,
    RateLimited {
        rate: u32,
    },
    NoSuchPath,
    MethodNotAllowed,
    InvalidLimit,
    BothCursors,
    RepeatedParameter(&'static str),
    UnsupportedParameter(&'static str),
    NotOneEmail,
    InvalidDate(&'static str),
    InvalidDateRange,
    MalformedCursor,
    UnknownCursor,
    MalformedId,
    MalformedEmailId,
    UnknownId,
    UnknownAttachment,
    UnknownSuppression,
    InvalidLink,
    AboveQuota,
    Internal,
    /// An event without the signature of the service, or with an old one.
    InvalidSignature,
    InvalidEvent,
    EventTooLarge,
    /// An event about an email that is not stored yet.
    EventTooEarly,
    /// Too many requests are open.
    Busy,
    /// Too many streams of events are open, with this key or at all.
    TooManyStreams,
    /// The service behind a mirror limits its requests.
    UpstreamLimit {
        seconds: u64,
    },
    /// The service behind a mirror cannot be reached.
    UpstreamUnreachable,
    /// The service behind a mirror does not give what its API says.
    UpstreamFailed,
    /// The server of the archive does not answer.
    ArchiveUnreachable,
}

/// Time until a client may try again if the service behind a mirror, or the mirror,
/// cannot answer.
const UNAVAILABLE_SECONDS: u64 = 5;

impl ErrorResponse {
    pub(super) fn from_page_error(error: SourceError) -> Self {
        Self::from_source(error, Self::MalformedCursor, Self::UnknownCursor)
    }

    pub(super) fn from_email_error(error: SourceError) -> Self {
        Self::from_source(error, Self::MalformedId, Self::UnknownId)
    }

    /// Converts an error; an id that is malformed or unknown depends on the operation.
    pub(super) fn from_source(error: SourceError, malformed: Self, unknown: Self) -> Self {
        match error {
            SourceError::Malformed => malformed,
            SourceError::Unknown => unknown,
            SourceError::Withheld => Self::AboveQuota,
            SourceError::Unsupported => Self::NoSuchPath,
            SourceError::Internal(error) => Self::from_own_error(&error),
        }
    }

    /// Converts an error of this machine or its archive.
    ///
    /// The client gets a status; only the log has the reason.
    pub(crate) fn from_own_error(error: &Error) -> Self {
        tracing::error!(%error, "a request failed");
        match error.kind {
            ErrorKind::ArchiveUnreachable => Self::ArchiveUnreachable,
            _ => Self::Internal,
        }
    }

    /// Returns status, name and message in the words of the service.
    fn to_parts(self) -> (StatusCode, &'static str, String) {
        const INVALID: (StatusCode, &str) = (StatusCode::UNPROCESSABLE_ENTITY, "validation_error");
        const NOT_FOUND: (StatusCode, &str) = (StatusCode::NOT_FOUND, "not_found");
        const LIMITED: (StatusCode, &str) = (StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded");
        const UNAVAILABLE: (StatusCode, &str) =
            (StatusCode::SERVICE_UNAVAILABLE, "service_unavailable");
        #[rustfmt::skip] // one error a line
        let ((status, name), message) = match self {
            Self::UnknownHost => ((StatusCode::MISDIRECTED_REQUEST, "misdirected_request"), "This server does not answer to this host name"),
            Self::MissingKey => ((StatusCode::UNAUTHORIZED, "missing_api_key"), "Missing API Key"),
            // The service answers a wrong key with 400, although 401 would say it better. The client
            // recognizes this 400 by the words "API key" (`api/error.rs`).
            Self::InvalidKey => ((StatusCode::BAD_REQUEST, "validation_error"), "API key is invalid"),
            Self::RateLimited { rate } => (LIMITED, &*format!("Too many requests. You can only make {rate} requests per second.")),
            Self::NoSuchPath => (NOT_FOUND, "The requested endpoint does not exist"),
            Self::MethodNotAllowed => ((StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"), "This endpoint does not support this method"),
            Self::InvalidLimit => (INVALID, "The pagination limit must be a number between 1 and 100."),
            Self::BothCursors => (INVALID, "You can only pass one of `before` or `after` for pagination."),
            Self::RepeatedParameter(name) => (INVALID, &*format!("The `{name}` parameter can only be passed once.")),
            Self::UnsupportedParameter(name) => (INVALID, &*format!("This server does not support the `{name}` parameter.")),
            Self::NotOneEmail => (INVALID, "This server has the metrics of one email: pass one id as `email_id`."),
            Self::InvalidDate(name) => (INVALID, &*format!("The `{name}` must be an ISO 8601 date or datetime.")),
            Self::InvalidDateRange => (INVALID, "The `start_date` must be on or before the `end_date`."),
            Self::MalformedCursor => (INVALID, "The pagination cursor must be a valid UUID"),
            Self::UnknownCursor => (NOT_FOUND, "The pagination cursor references an object that does not exist."),
            Self::MalformedId => (INVALID, "The `id` must be a valid UUID"),
            Self::MalformedEmailId => (INVALID, "The `email_id` must be a valid UUID"),
            Self::UnknownId => (NOT_FOUND, "Email not found"),
            Self::UnknownAttachment => (NOT_FOUND, "Attachment not found"),
            Self::UnknownSuppression => (NOT_FOUND, "Suppression not found"),
            Self::InvalidLink => ((StatusCode::FORBIDDEN, "invalid_link"), "This link is not valid, or not any more"),
            Self::AboveQuota => ((StatusCode::FORBIDDEN, "email_above_quota"), "The content of this email is above the quota of your team"),
            Self::InvalidSignature => ((StatusCode::UNAUTHORIZED, "invalid_signature"), "The signature is not of the service, or more than five minutes old"),
            Self::InvalidEvent => ((StatusCode::BAD_REQUEST, "invalid_event"), "An event is a JSON object with a type"),
            Self::EventTooLarge => ((StatusCode::PAYLOAD_TOO_LARGE, "event_too_large"), "An event has at most 256 KiB, and comes within ten seconds"),
            Self::EventTooEarly => (UNAVAILABLE, "The email of this event is not stored yet: send the event again"),
            Self::Busy => (UNAVAILABLE, "Too many requests are open"),
            Self::TooManyStreams => (UNAVAILABLE, "Too many streams of events are open, with this key or at all"),
            Self::UpstreamLimit { .. } => (LIMITED, "The service behind this mirror limits requests; this is not stored here yet"),
            Self::UpstreamUnreachable => (UNAVAILABLE, "The service behind this mirror cannot be reached, and this is not stored here"),
            Self::UpstreamFailed => ((StatusCode::BAD_GATEWAY, "bad_gateway"), "The service behind this mirror failed, and this is not stored here"),
            Self::ArchiveUnreachable => (UNAVAILABLE, "The archive of this server cannot be reached"),
            Self::Internal => ((StatusCode::INTERNAL_SERVER_ERROR, "internal_server_error"), "Something went wrong on our side"),
        };
        (status, name, message.to_owned())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let (status, name, message) = self.to_parts();
        let body = ErrorBody {
            status_code: status.as_u16(),
            message,
            name: name.to_owned(),
        };
        let header = match self {
            Self::MissingKey => {
                Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
            Self::MethodNotAllowed => Some((header::ALLOW, HeaderValue::from_static("GET"))),
            Self::RateLimited { .. } => {
                Some((header::RETRY_AFTER, HeaderValue::from(RATE_WINDOW_SECONDS)))
            }
            Self::UpstreamLimit { seconds } => {
                Some((header::RETRY_AFTER, HeaderValue::from(seconds)))
            }
            Self::Busy | Self::TooManyStreams | Self::EventTooEarly | Self::UpstreamUnreachable => {
                Some((header::RETRY_AFTER, HeaderValue::from(UNAVAILABLE_SECONDS)))
            }
            _ => None,
        };
        let mut response = (status, Json(body)).into_response();
        response.headers_mut().extend(header);
        response
    }
}
