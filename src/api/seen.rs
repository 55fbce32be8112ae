//! What was seen of one request: for the log, and for whoever asks the people who run the service.

use std::time::Duration;

use reqwest::header::HeaderMap;
use tracing::{debug, warn};

use super::error::{Endpoint, RequestError};
use super::headers;
use crate::error::{Error, RequestDetails};

/// What an answer said before its body. Nothing here names an email, a person or the key.
#[derive(Debug, Default)]
pub(super) struct ResponseMeta {
    status: Option<u16>,
    pub(super) request_id: Option<String>,
}

impl ResponseMeta {
    pub(super) fn new(status: u16, headers: &HeaderMap) -> Self {
        Self {
            status: Some(status),
            request_id: headers::parse_request_id(headers),
        }
    }

    /// Logs the attempt: what was asked and how it went, never what was answered.
    pub(super) fn log_attempt(
        &self,
        asked: Endpoint,
        attempt: u32,
        took: Duration,
        fault: Option<&RequestError>,
    ) {
        let (endpoint, status, request_id) =
            (asked.as_str(), self.status, self.request_id.as_deref());
        match fault {
            None => debug!(endpoint, status, request_id, attempt, ?took, "answered"),
            Some(fault) => warn!(
                endpoint,
                status,
                request_id,
                attempt,
                ?took,
                fault = fault.code(),
                "failed"
            ),
        }
    }

    /// The failure with what was seen of the request. One that was never sent has nothing to tell.
    pub(super) fn add_details(&self, failure: Error, asked: Endpoint, attempts: u32) -> Error {
        if attempts == 0 {
            return failure;
        }
        let Self { status, request_id } = self;
        failure.with_details(RequestDetails {
            endpoint: asked.as_str(),
            status: *status,
            request_id: request_id.clone(),
            attempts,
        })
    }
}
