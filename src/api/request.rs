//! The priority and cancellation of requests.

use tokio_util::sync::CancellationToken;

/// The priority of a request, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A user waits for the response.
    Interactive,
    /// New mail.
    Refresh,
    /// The current status of known mail.
    Recheck,
    /// Older mail, and other work that completes the archive.
    Backfill,
    /// Emails that the user may open next; sent only while others leave the limit unused.
    Prefetch,
}

impl Priority {
    /// Whether the request must leave a part of the rate limit to the team's sending.
    pub(crate) const fn is_background(self) -> bool {
        !matches!(self, Self::Interactive)
    }
}

/// The priority of one or more requests, and their cancellation. Clones share both.
#[derive(Debug, Clone)]
pub struct RequestHandle {
    priority: Priority,
    cancellation: CancellationToken,
}

impl RequestHandle {
    /// Creates a handle that is not cancelled.
    #[must_use]
    pub fn new(priority: Priority) -> Self {
        Self {
            priority,
            cancellation: CancellationToken::new(),
        }
    }

    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Cancels all requests that were not sent yet. A page that was requested is still received, since it has
    /// cost its request already; so is an email, unless it takes long.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    pub(super) async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }
}
