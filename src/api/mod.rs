//! The service as seen from here: its JSON, and the client that asks for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::Error;
use crate::mail::EmailId;

mod admit;
mod client;
mod convert;
mod error;
mod headers;
mod rate_limit;
mod request;
mod response;
mod seen;
mod unpack;
pub mod wire;

pub(crate) use admit::verify_key;
pub use client::{Client, ClientConfig};
pub use rate_limit::RetryPolicy;
pub(crate) use rate_limit::{RateBudget, jitter};
pub use request::{Priority, RequestHandle};

/// Where a page begins. The service refuses both cursors in one request, so a request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// At the newest email.
    Start,
    /// Right below (older than) this email, itself excluded.
    After(EmailId),
    /// Right above (newer than) this email, itself excluded; still newest first.
    Before(EmailId),
}

/// The most emails the service gives in one page.
pub(crate) const MAX_LIMIT: u8 = 100;

/// One page as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailPage {
    /// The items that could be read, in the order of the service.
    pub items: Vec<ListedEmail>,
    /// Items that could not be read, for example because they have no id.
    pub unreadable: usize,
    /// Whether more emails exist in the direction asked; `None` if the service does not say.
    pub has_more: Option<bool>,
}

/// Parses a response of the list operation; `None` if it is not one.
pub(crate) fn parse_page(body: &[u8]) -> Option<EmailPage> {
    response::parse_page(body).ok()
}

/// One summary, verbatim. Its fields are read where they are needed: held as well, those of a page of long
/// lists of recipients take more memory than all the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEmail {
    /// Its id.
    pub(crate) id: String,
    /// When it was created, in the words of the service.
    pub(crate) created_at: Option<String>,
    /// Its JSON text, as it was sent.
    pub json: Arc<str>,
}

impl ListedEmail {
    /// Reads one item of a page.
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

    /// Its fields.
    #[must_use]
    pub(crate) fn parse_summary(&self) -> wire::Summary {
        wire::Summary::parse(&self.json).unwrap_or_else(|_| wire::Summary {
            id: self.id.clone(),
            ..wire::Summary::default()
        })
    }
}

/// One retrieved email, read and verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievedEmail {
    /// Its fields.
    pub email: wire::Email,
    /// Its JSON text, as it was sent.
    pub(crate) json: Arc<str>,
}

/// Runs right before a request is sent, after it has waited for its turn; before each attempt.
pub(crate) type BeforeSend =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The two operations, for whoever needs them: the real client, and simulated services in tests.
pub trait EmailApi: Clone + Send + Sync + 'static {
    /// The same service, whose requests are wanted so. A service without a pace does not care.
    #[must_use]
    fn with_priority(&self, _wish: &RequestHandle) -> Self {
        self.clone()
    }

    /// The same service, which runs `hook` before it sends; `None` if its requests never wait, so that
    /// they are sent when they are made.
    fn with_before_send(&self, _hook: BeforeSend) -> Option<Self> {
        None
    }

    /// The rate budget as it stands, if there is one.
    fn rate_budget(&self) -> Option<RateBudget> {
        None
    }

    /// One page of at most `limit` (1 to [`MAX_LIMIT`]) emails.
    fn list(
        &self,
        limit: u8,
        cursor: &Cursor,
    ) -> impl Future<Output = Result<EmailPage, Error>> + Send;

    /// One email with its bodies.
    fn retrieve(&self, id: &EmailId) -> impl Future<Output = Result<RetrievedEmail, Error>> + Send;
}
