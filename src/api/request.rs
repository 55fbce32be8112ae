//! `Wish`: who wants a request, how much, and whether anybody still does.

use tokio_util::sync::CancellationToken;

/// What a request is for, the most urgent first. Of the requests that wait for their turn, one that
/// is more urgent never waits behind one that is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person waits for it.
    Interactive,
    /// New mail, which nobody has asked for yet.
    Refresh,
    /// The present status of mail that is known.
    Recheck,
    /// Older mail, and what else makes the archive complete.
    Backfill,
    /// What a person may ask for next; only while there is plenty.
    Prefetch,
}

impl Priority {
    /// Whether nobody waits for it, so that it yields to the team's sending.
    #[must_use]
    pub(crate) const fn is_background(self) -> bool {
        match self {
            Self::Interactive => false,
            Self::Refresh | Self::Recheck | Self::Backfill | Self::Prefetch => true,
        }
    }
}

/// A wish for requests. Clones are the same wish.
#[derive(Debug, Clone)]
pub struct RequestHandle {
    priority: Priority,
    cancellation: CancellationToken,
}

impl RequestHandle {
    /// A wish of this urgency.
    #[must_use]
    pub fn new(urgency: Priority) -> Self {
        Self {
            priority: urgency,
            cancellation: CancellationToken::new(),
        }
    }

    /// How urgent it is.
    #[must_use]
    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Nobody wants it any more: what has not been sent yet will not be. A page that is under way comes in,
    /// since it has cost its request already; so does an email, unless it takes long.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Whether nobody wants it any more.
    #[must_use]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Waits until nobody wants it any more.
    pub(super) async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }
}
