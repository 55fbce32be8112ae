//! What was seen of one request: for the log, and for whoever asks the people who run the service.

use std::time::Duration;

use reqwest::header::HeaderMap;
use tracing::{debug, warn};

use super::fault::{Asked, Fault};
use super::headers;
use crate::failure::{Details, Failure};

/// What an answer said before its body. Nothing here names an email, a person or the key.
#[derive(Debug, Default)]
pub(super) struct Seen {
    status: Option<u16>,
    pub(super) request_id: Option<String>,
}

impl Seen {
    pub(super) fn of(status: u16, headers: &HeaderMap) -> Self {
        Self {
            status: Some(status),
            request_id: headers::request_id(headers),
        }
    }

    /// Logs the attempt: what was asked and how it went, never what was answered.
    pub(super) fn log(&self, asked: Asked, attempt: u32, took: Duration, fault: Option<&Fault>) {
        let (endpoint, status, request_id) =
            (asked.endpoint(), self.status, self.request_id.as_deref());
        match fault {
            None => debug!(endpoint, status, request_id, attempt, ?took, "answered"),
            Some(fault) => warn!(
                endpoint,
                status,
                request_id,
                attempt,
                ?took,
                fault = fault.word(),
                "failed"
            ),
        }
    }

    /// The failure with what was seen of the request. One that was never sent has nothing to tell.
    pub(super) fn explain(&self, failure: Failure, asked: Asked, attempts: u32) -> Failure {
        if attempts == 0 {
            return failure;
        }
        let Self { status, request_id } = self;
        failure.details(Details {
            endpoint: asked.endpoint(),
            status: *status,
            request_id: request_id.clone(),
            attempts,
        })
    }
}
