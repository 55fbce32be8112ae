//! The service behind a mirror: its client, with a count of the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jiff::Timestamp;

use crate::api::{
    BeforeSend, ChangeStream, Client, Cursor, EmailApi, EmailPage, MirrorChange, RateBudget,
    RequestHandle, RetrievedEmail,
};
use crate::config::clock::Clock;
use crate::error::Result;
use crate::mail::EmailId;

/// A client whose requests are counted.
#[derive(Clone)]
pub(crate) struct Upstream {
    client: Client,
    clock: Clock,
    stats: Arc<UpstreamStats>,
}

/// What is known of the service.
#[derive(Debug, Default)]
pub(crate) struct UpstreamStats {
    requests: AtomicU64,
    /// Microseconds since 1970; 0 before the first response.
    answered_at: AtomicI64,
}

impl UpstreamStats {
    /// Returns the number of requests, retries included.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns when the service last responded as its API says.
    pub(super) fn answered_at(&self) -> Option<Timestamp> {
        let micros = self.answered_at.load(Ordering::Relaxed);
        Timestamp::from_microsecond(micros)
            .ok()
            .filter(|_| micros != 0)
    }
}

impl Upstream {
    /// Counts the requests of `client` in `stats`.
    pub(crate) fn new(client: Client, clock: Clock, stats: Arc<UpstreamStats>) -> Self {
        Self {
            client,
            clock,
            stats,
        }
    }

    /// Requests another read operation, and returns the response as it came.
    pub(super) async fn fetch_raw(
        &self,
        segments: &[&str],
        query: Option<&str>,
    ) -> Result<Arc<[u8]>> {
        self.stats.requests.fetch_add(1, Ordering::Relaxed);
        self.record(self.client.fetch_raw(segments, query).await.map(Arc::from))
    }

    fn record<T>(&self, response: Result<T>) -> Result<T> {
        if response.is_ok() {
            let now = (self.clock)().as_microsecond();
            self.stats.answered_at.store(now, Ordering::Relaxed);
        }
        response
    }
}

impl EmailApi for Upstream {
    fn with_priority(&self, request: &RequestHandle) -> Self {
        Self {
            client: self.client.with_priority(request),
            ..self.clone()
        }
    }

    fn with_before_send(&self, hook: BeforeSend) -> Option<Self> {
        let stats = Arc::clone(&self.stats);
        let counting: BeforeSend = Arc::new(move || {
            stats.requests.fetch_add(1, Ordering::Relaxed);
            hook()
        });
        Some(Self {
            client: self.client.with_before_send(counting)?,
            ..self.clone()
        })
    }

    fn rate_budget(&self) -> Option<RateBudget> {
        EmailApi::rate_budget(&self.client)
    }

    fn is_mirror(&self) -> bool {
        self.client.is_mirror()
    }

    async fn follow(
        &self,
        stream: Option<ChangeStream>,
    ) -> Result<(ChangeStream, Vec<MirrorChange>)> {
        self.client.follow(stream).await
    }

    async fn list(&self, limit: u8, cursor: &Cursor) -> Result<EmailPage> {
        self.record(self.client.list(limit, cursor).await)
    }

    async fn retrieve(&self, id: &EmailId) -> Result<RetrievedEmail> {
        self.record(self.client.retrieve(id).await)
    }
}
