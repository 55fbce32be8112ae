//! `Wish`: who wants a request, how much, and whether anybody still does.

use tokio_util::sync::CancellationToken;

/// What a request is for, the most urgent first. Of the requests that wait for their turn, one that
/// is more urgent never waits behind one that is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A person waits for it.
    Person,
    /// New mail, which nobody has asked for yet.
    Head,
    /// The present status of mail that is known.
    Status,
    /// Older mail, and what else makes the archive complete.
    Extend,
    /// What a person may ask for next; only while there is plenty.
    Warm,
}

impl Urgency {
    /// Whether nobody waits for it, so that it yields to the team's sending.
    #[must_use]
    pub const fn is_background(self) -> bool {
        match self {
            Self::Person => false,
            Self::Head | Self::Status | Self::Extend | Self::Warm => true,
        }
    }
}

/// A wish for requests. Clones are the same wish.
#[derive(Debug, Clone)]
pub struct Wish {
    urgency: Urgency,
    withdrawn: CancellationToken,
}

impl Wish {
    /// A wish of this urgency.
    #[must_use]
    pub fn of(urgency: Urgency) -> Self {
        Self {
            urgency,
            withdrawn: CancellationToken::new(),
        }
    }

    /// How urgent it is.
    #[must_use]
    pub const fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// Nobody wants it any more: what has not been sent yet will not be. A page that is under way comes in,
    /// since it has cost its request already; so does an email, unless it takes long.
    pub fn withdraw(&self) {
        self.withdrawn.cancel();
    }

    /// Whether nobody wants it any more.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn.is_cancelled()
    }

    /// Waits until nobody wants it any more.
    pub(super) async fn until_withdrawn(&self) {
        self.withdrawn.cancelled().await;
    }
}
