//! What a walk asks for, what it hears, and what it concludes.

use super::synced::{Back, Stopped};
use crate::api::MAX_LIMIT;
use crate::archive::{Carried, Ground, Span};
use crate::mail::EmailId;

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// New mail, and the present status of the newest.
    Head,
    /// The next page of older mail.
    Extend,
    /// Older mail down to some point.
    Back(Back),
}

/// The next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The listing's first page.
    Start,
    /// The page below a row of this span, so many rows above its bottom.
    Below {
        /// The span.
        span: Span,
        /// The rows.
        rows: u32,
        /// Whether the service does not know those below, so that the span ends here.
        cut: bool,
    },
    /// The page above a row of this span, so many rows below its top; of services that list the
    /// oldest first.
    Above {
        /// The span.
        span: Span,
        /// The rows.
        rows: u32,
    },
    /// The page after an email whose place in the listing is unknown.
    After(EmailId),
    /// What follows a page of which nothing was taken in: what was asked for goes on after its last
    /// email.
    Past {
        /// What was asked for.
        ask: Box<Ask>,
        /// The email.
        after: EmailId,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Ask for this.
    Ask(Ask),
    /// The walk is over.
    Over(Stopped),
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A page.
    Page(Arrived),
    /// The service does not know the cursor.
    Gone,
    /// There is no such row.
    Nowhere,
    /// The cursor was asked for before, in the same walk.
    Again,
}

/// A page, and what the archive made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// How many emails it had.
    pub length: usize,
    /// Whether the service says that there is more; `None` if it says nothing about it.
    pub has_more: Option<bool>,
    /// How many more it had that cannot be read, so that nobody knows which they are.
    pub unreadable: usize,
    /// Its last email in the order of the service.
    pub last: Option<EmailId>,
    /// The time of its oldest email, in microseconds since 1970.
    pub oldest: Option<i64>,
    /// What it brought.
    pub carried: Carried,
}

impl Arrived {
    /// Whether it is believed to be the last page in its direction.
    pub(super) fn is_last(&self, ground: &Ground) -> bool {
        // A service that ignores limits gives everything at once, and then the same again.
        let limit = usize::from(MAX_LIMIT);
        let is_whole =
            !self.carried.grew && (self.length > limit || (ground.rising && self.length != limit));
        let is_short = self.length < ground.widest;
        let may_end = match self.has_more {
            Some(true) => false,
            Some(false) => is_short || is_whole,
            // It goes on until a page brings nothing new.
            None => !self.carried.grew && (is_short || is_whole),
        };
        may_end && self.unreadable == 0
    }

    /// Whether a page below a row of a span, so many above its bottom, has only emails of that span,
    /// where the service does not say whether there is more.
    pub(super) fn is_known_end(&self, rows: u32, ground: &Ground) -> bool {
        let has_nothing_new =
            self.has_more.is_none() && self.unreadable == 0 && self.carried.new.is_empty();
        has_nothing_new && self.length < ground.widest && self.length <= rows as usize
    }

    /// Whether the service says that there is more.
    pub(super) const fn says_more(&self) -> bool {
        matches!(self.has_more, Some(true))
    }

    /// Whether it held mail, all of which the archive is not to take in.
    pub(super) const fn is_out(&self) -> bool {
        self.length > 0
            && self.unreadable == 0
            && self.carried.removed + self.carried.too_old >= self.length as u64
    }

    pub(super) const fn is_nothing(&self) -> bool {
        self.length == 0 && self.unreadable == 0 && !self.says_more()
    }
}

/// What an answer says about an end of the listing, for the archive to note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Nothing.
    None,
    /// This span holds the newest email.
    Top(Span),
    /// This span holds the oldest email.
    End(Span),
}
