//! The service: its JSON, and the HTTP client with rate limit and retries.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::mail::EmailId;

mod client;
mod convert;
mod error;
mod rate_limit;
mod request;
mod response;
mod retry;
pub mod wire;

pub(crate) use client::verify_key;
pub use client::{Client, ClientConfig};
pub(crate) use rate_limit::RateBudget;
pub use request::{Priority, RequestHandle};
pub use retry::RetryPolicy;

/// The start of a page. The service refuses both cursors in one request, so a request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// At the newest email.
    Start,
    /// Directly below (older than) this email, itself excluded.
    After(EmailId),
    /// Directly above (newer than) this email, itself excluded; still newest first.
    Before(EmailId),
}

/// The most emails that the service returns in one page.
pub(crate) const MAX_LIMIT: u8 = 100;

/// One page of the list operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailPage {
    /// The readable items, in the order of the service.
    pub items: Vec<ListedEmail>,
    /// The number of items that are not readable, for example because they have no id.
    pub unreadable: usize,
    /// Whether more emails exist in the requested direction; `None` if the service does not say.
    pub has_more: Option<bool>,
}

/// Parses a response of the list operation; `None` if it is not one.
pub(crate) fn parse_page(body: &[u8]) -> Option<EmailPage> {
    response::parse_page(body).ok()
}

/// One summary as JSON. Its fields are parsed where they are needed: held as well, those of a page of long
/// lists of recipients take more memory than all the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEmail {
    pub(crate) id: String,
    /// The creation time, as it was sent.
    pub(crate) created_at: Option<String>,
    /// The JSON text, as it was sent.
    pub json: Arc<str>,
}

impl ListedEmail {
    /// Parses one item of a page.
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let wire::Summary { id, created_at, .. } = wire::Summary::parse(json)?;
        Ok(Self {
            id,
            created_at,
            json: Arc::from(json),
        })
    }

    pub(crate) fn parse_summary(&self) -> wire::Summary {
        wire::Summary::parse(&self.json).unwrap_or_else(|_| wire::Summary {
            id: self.id.clone(),
            ..wire::Summary::default()
        })
    }
}

/// One retrieved email, parsed and as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievedEmail {
    /// The parsed fields.
    pub email: wire::Email,
    /// The JSON text, as it was sent.
    pub(crate) json: Arc<str>,
}

/// A hook that runs before each attempt, after the wait for the rate limit.
pub(crate) type BeforeSend =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The two operations of the service: the real client, and simulated services in tests.
pub trait EmailApi: Clone + Send + Sync + 'static {
    /// Returns the service with the priority and cancellation of `request`; ignored without a rate limit.
    #[must_use]
    fn with_priority(&self, _request: &RequestHandle) -> Self {
        self.clone()
    }

    /// Returns the service with a hook, or `None` if its requests never wait, so that it sends them at once.
    fn with_before_send(&self, _hook: BeforeSend) -> Option<Self> {
        None
    }

    /// Returns the current rate budget, if the service has a rate limit.
    fn rate_budget(&self) -> Option<RateBudget> {
        None
    }

    /// Returns one page of at most `limit` (1 to [`MAX_LIMIT`]) emails.
    fn list(
        &self,
        limit: u8,
        cursor: &Cursor,
    ) -> impl Future<Output = Result<EmailPage, Error>> + Send;

    /// Returns one email with its bodies.
    fn retrieve(&self, id: &EmailId) -> impl Future<Output = Result<RetrievedEmail, Error>> + Send;
}

/// Locks a mutex whose value stays valid when another thread panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
