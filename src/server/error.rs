//! What is answered when a request is not: the service's flat error body with its status, name and message.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::SourceError;
use crate::api::wire::ErrorBody;

/// A request that gets no email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorResponse {
    UnknownHost,
    MissingKey,
    InvalidKey,
    RateLimited { rate: u32 },
    NoSuchPath,
    MethodNotAllowed,
    InvalidLimit,
    BothCursors,
    RepeatedParameter(&'static str),
    MalformedCursor,
    UnknownCursor,
    MalformedId,
    UnknownId,
    Internal,
}

impl ErrorResponse {
    /// What a source's fault means for the page at a cursor.
    pub(super) fn from_page_error(fault: SourceError) -> Self {
        match fault {
            SourceError::Malformed => Self::MalformedCursor,
            SourceError::Unknown => Self::UnknownCursor,
            SourceError::Internal(failure) => Self::log_internal(&failure),
        }
    }

    /// What a source's fault means for one email.
    pub(super) fn from_email_error(fault: SourceError) -> Self {
        match fault {
            SourceError::Malformed => Self::MalformedId,
            SourceError::Unknown => Self::UnknownId,
            SourceError::Internal(failure) => Self::log_internal(&failure),
        }
    }

    /// The caller learns that it is not his fault; what it is stays in our log.
    fn log_internal(failure: &crate::error::Error) -> Self {
        tracing::error!(%failure, "the source cannot answer");
        Self::Internal
    }

    /// Status, name and message, as the service words them.
    fn to_parts(self) -> (StatusCode, &'static str, String) {
        const INVALID: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, name, message) = match self {
            Self::UnknownHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "misdirected_request",
                "This server does not answer to this host name",
            ),
            Self::MissingKey => (
                StatusCode::UNAUTHORIZED,
                "missing_api_key",
                "Missing API Key",
            ),
            // The service answers a wrong key with 400, although 401 would say it better.
            Self::InvalidKey => (
                StatusCode::BAD_REQUEST,
                "validation_error",
                "API key is invalid",
            ),
            Self::RateLimited { rate } => {
                let message =
                    format!("Too many requests. You can only make {rate} requests per second.");
                return (
                    StatusCode::TOO_MANY_REQUESTS,
                    "rate_limit_exceeded",
                    message,
                );
            }
            Self::NoSuchPath => (
                StatusCode::NOT_FOUND,
                "not_found",
                "The requested endpoint does not exist",
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This endpoint does not support this method",
            ),
            Self::InvalidLimit => (
                INVALID,
                "validation_error",
                "The pagination limit must be a number between 1 and 100.",
            ),
            Self::BothCursors => (
                INVALID,
                "validation_error",
                "You can only pass one of `before` or `after` for pagination.",
            ),
            Self::RepeatedParameter(name) => {
                return (
                    INVALID,
                    "validation_error",
                    format!("The `{name}` parameter can only be passed once."),
                );
            }
            Self::MalformedCursor => (
                INVALID,
                "validation_error",
                "The pagination cursor must be a valid UUID",
            ),
            Self::UnknownCursor => (
                StatusCode::NOT_FOUND,
                "not_found",
                "The pagination cursor references an object that does not exist.",
            ),
            Self::MalformedId => (INVALID, "validation_error", "The `id` must be a valid UUID"),
            Self::UnknownId => (StatusCode::NOT_FOUND, "not_found", "Email not found"),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_server_error",
                "Something went wrong on our side",
            ),
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
        let mut response = (status, Json(body)).into_response();
        match self {
            Self::MissingKey => {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::MethodNotAllowed => {
                response
                    .headers_mut()
                    .insert(header::ALLOW, HeaderValue::from_static("GET"));
            }
            Self::UnknownHost
            | Self::InvalidKey
            | Self::RateLimited { .. }
            | Self::NoSuchPath
            | Self::InvalidLimit
            | Self::BothCursors
            | Self::RepeatedParameter(_)
            | Self::MalformedCursor
            | Self::UnknownCursor
            | Self::MalformedId
            | Self::UnknownId
            | Self::Internal => {}
        }
        response
    }
}
