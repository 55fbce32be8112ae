//! The service as seen from here: its JSON, and the client that asks for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::failure::Failure;
use crate::mail::EmailId;

mod admit;
mod answer;
mod client;
mod fault;
mod headers;
mod pace;
mod seen;
mod shown;
mod unpack;
pub mod wire;
mod wish;

pub use admit::try_key;
pub use client::{Access, Client};
pub use fault::spelled;
pub use pace::{Budget, Patience, jitter};
pub use wish::{Urgency, Wish};

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
pub const MAX_LIMIT: u8 = 100;

/// One page as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items that could be read, in the order of the service.
    pub items: Vec<Item>,
    /// Items that could not be read, for example because they have no id.
    pub unreadable: usize,
    /// Whether more emails exist in the direction asked; `None` if the service does not say.
    pub has_more: Option<bool>,
}

/// One summary, verbatim. Its fields are read where they are needed: held as well, those of a page of long
/// lists of recipients take more memory than all the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// When it was created, in the words of the service.
    pub created_at: Option<String>,
    /// Its JSON text, as it was sent.
    pub json: Arc<str>,
}

impl Item {
    /// Reads one item of a page.
    ///
    /// # Errors
    ///
    /// If `json` is not an object, or has no usable `id`.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let wire::Summary { id, created_at, .. } = wire::Summary::read(json)?;
        Ok(Self {
            id,
            created_at,
            json: Arc::from(json),
        })
    }

    /// Its fields.
    #[must_use]
    pub fn summary(&self) -> wire::Summary {
        wire::Summary::read(&self.json).unwrap_or_else(|_| wire::Summary {
            id: self.id.clone(),
            ..wire::Summary::default()
        })
    }
}

/// One retrieved email, read and verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// Its fields.
    pub email: wire::Email,
    /// Its JSON text, as it was sent.
    pub json: Arc<str>,
}

/// Runs right before a request is sent, after it has waited for its turn; before each attempt.
pub type OnSend = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The two operations, for whoever needs them: the real client, and simulated services in tests.
pub trait Service: Clone + Send + Sync + 'static {
    /// The same service, whose requests are wanted so. A service without a pace does not care.
    #[must_use]
    fn wanted(&self, _wish: &Wish) -> Self {
        self.clone()
    }

    /// The same service, which runs `hook` before it sends; `None` if its requests never wait, so that
    /// they are sent when they are made.
    fn with_on_send(&self, _hook: OnSend) -> Option<Self> {
        None
    }

    /// The rate budget as it stands, if there is one.
    fn allowance(&self) -> Option<Budget> {
        None
    }

    /// One page of at most `limit` (1 to [`MAX_LIMIT`]) emails.
    fn list(
        &self,
        limit: u8,
        cursor: &Cursor,
    ) -> impl Future<Output = Result<Page, Failure>> + Send;

    /// One email with its bodies.
    fn retrieve(&self, id: &EmailId) -> impl Future<Output = Result<Retrieved, Failure>> + Send;
}
