//! What is answered when a request is not: the service's flat error body with its status, name and sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::Fault;
use crate::api::wire::ErrorBody;

/// A request that gets no email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    WrongHost,
    KeyMissing,
    KeyInvalid,
    TooMany { rate: u32 },
    NoSuchPath,
    WrongMethod,
    Limit,
    BothCursors,
    Repeated(&'static str),
    CursorMalformed,
    CursorUnknown,
    IdMalformed,
    IdUnknown,
    Broken,
}

impl Refusal {
    /// What a source's fault means for the page at a cursor.
    pub(super) fn of_page(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Self::CursorMalformed,
            Fault::Unknown => Self::CursorUnknown,
            Fault::Broken(failure) => Self::broken(&failure),
        }
    }

    /// What a source's fault means for one email.
    pub(super) fn of_email(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Self::IdMalformed,
            Fault::Unknown => Self::IdUnknown,
            Fault::Broken(failure) => Self::broken(&failure),
        }
    }

    /// The caller learns that it is not his fault; what it is stays in our log.
    fn broken(failure: &crate::failure::Failure) -> Self {
        tracing::error!(%failure, "the source cannot answer");
        Self::Broken
    }

    /// Status, name and message, as the service words them.
    fn words(self) -> (StatusCode, &'static str, String) {
        const INVALID: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, name, message) = match self {
            Self::WrongHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "misdirected_request",
                "This server does not answer to this host name",
            ),
            Self::KeyMissing => (
                StatusCode::UNAUTHORIZED,
                "missing_api_key",
                "Missing API Key",
            ),
            // The service answers a wrong key with 400, although 401 would say it better.
            Self::KeyInvalid => (
                StatusCode::BAD_REQUEST,
                "validation_error",
                "API key is invalid",
            ),
            Self::TooMany { rate } => {
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
            Self::WrongMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This endpoint does not support this method",
            ),
            Self::Limit => (
                INVALID,
                "validation_error",
                "The pagination limit must be a number between 1 and 100.",
            ),
            Self::BothCursors => (
                INVALID,
                "validation_error",
                "You can only pass one of `before` or `after` for pagination.",
            ),
            Self::Repeated(name) => {
                return (
                    INVALID,
                    "validation_error",
                    format!("The `{name}` parameter can only be passed once."),
                );
            }
            Self::CursorMalformed => (
                INVALID,
                "validation_error",
                "The pagination cursor must be a valid UUID",
            ),
            Self::CursorUnknown => (
                StatusCode::NOT_FOUND,
                "not_found",
                "The pagination cursor references an object that does not exist.",
            ),
            Self::IdMalformed => (INVALID, "validation_error", "The `id` must be a valid UUID"),
            Self::IdUnknown => (StatusCode::NOT_FOUND, "not_found", "Email not found"),
            Self::Broken => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_server_error",
                "Something went wrong on our side",
            ),
        };
        (status, name, message.to_owned())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, name, message) = self.words();
        let body = ErrorBody {
            status_code: status.as_u16(),
            message,
            name: name.to_owned(),
        };
        let mut response = (status, Json(body)).into_response();
        match self {
            Self::KeyMissing => {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::WrongMethod => {
                response
                    .headers_mut()
                    .insert(header::ALLOW, HeaderValue::from_static("GET"));
            }
            Self::WrongHost
            | Self::KeyInvalid
            | Self::TooMany { .. }
            | Self::NoSuchPath
            | Self::Limit
            | Self::BothCursors
            | Self::Repeated(_)
            | Self::CursorMalformed
            | Self::CursorUnknown
            | Self::IdMalformed
            | Self::IdUnknown
            | Self::Broken => {}
        }
        response
    }
}
