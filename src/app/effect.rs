//! `Effect`: I/O that the program requests, plain data. Each effect but [`Effect::Loop`] is answered
//! by exactly one later message.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::pending::RequestId;
use super::start::{ConfirmAnswer, SessionTarget};
use super::text_match::SearchPattern;
use crate::api::Priority;
use crate::archive::{SortKey, WindowAnchor};
use crate::config::{SavedView, SecretInput};
use crate::error::Error;
use crate::mail::{Email, EmailId};
use crate::query::{Query, SearchText};
use crate::render::{Body, BodyView};

/// Something to be done outside; plain data, so that it can be compared, logged and replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// For the event loop itself; has no answer.
    Loop(LoopEffect),
    /// Load rows of the archive.
    LoadWindow {
        request: RequestId,
        query: Arc<Query>,
        /// Newest means the top and oldest the bottom, in either order.
        anchor: WindowAnchor,
        /// The maximal number of rows.
        rows: usize,
    },
    /// Count the emails of the query, and those before `place`.
    CountEmails {
        request: RequestId,
        query: Arc<Query>,
        place: Option<SortKey>,
    },
    /// Summarize all emails to an address.
    SummarizeRecipient {
        request: RequestId,
        address: SearchText,
        /// A status confirmed at this time or later counts as checked.
        fresh_since: Timestamp,
        /// The time, which decides what is final.
        now: Timestamp,
    },
    /// Store a saved view, or delete it if it is `None`.
    SaveView {
        request: RequestId,
        number: u8,
        view: Option<SavedView>,
    },
    /// Append a filter to the history file.
    SaveHistory(RequestId, String),
    /// Load suggestions for the text at the cursor, which is a byte offset.
    LoadSuggestions {
        request: RequestId,
        text: String,
        cursor: usize,
    },
    /// Load an email with its body from the archive, or else from the service.
    LoadEmail {
        request: RequestId,
        id: EmailId,
        priority: Priority,
    },
    /// Fetch an email that may be read next, if the rate budget allows it.
    PrefetchEmail(RequestId, EmailId),
    /// Confirm the statuses of these emails, by page or by id.
    ConfirmStatuses {
        request: RequestId,
        ids: Vec<EmailId>,
        /// The maximal number of requests.
        max_requests: u32,
        priority: Priority,
    },
    /// Confirm the statuses of the emails of a query, newest first.
    CheckStatuses {
        request: RequestId,
        query: Arc<Query>,
        /// Start below this email.
        below: Option<SortKey>,
        /// Skip what was confirmed at this time or later.
        fresh_since: Timestamp,
        /// The maximal number of requests.
        max_requests: u32,
        /// The maximal number of emails.
        max_rows: u32,
    },
    /// Read one page of statuses again, if one is due.
    RecheckStatuses(RequestId),
    /// Lay out a body at a width in columns.
    RenderBody {
        request: RequestId,
        email: Arc<Email>,
        view: BodyView,
        width: u16,
    },
    /// Find a text in a body.
    FindMatches {
        request: RequestId,
        body: Arc<Body>,
        pattern: SearchPattern,
    },
    /// Fetch the page below the covered range at the top.
    LoadOlder(RequestId),
    /// The same in the background, unless another process does it.
    Backfill(RequestId),
    /// Fetch the newest page.
    Refresh(RequestId, Priority),
    /// List the profiles of the configuration.
    LoadProfiles(RequestId),
    /// Ask the service whether it accepts a key; stores nothing.
    VerifyKey {
        request: RequestId,
        base_url: String,
        key: SecretInput,
    },
    /// Open another session; [`LoopEffect::SwitchSession`] shows it.
    OpenSession {
        request: RequestId,
        target: SessionTarget,
        answer: ConfirmAnswer,
    },
    Timer {
        request: RequestId,
        kind: TimerKind,
        pause: Duration,
    },
}

/// A request to the service that may become obsolete before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    LoadEmail,
    Prefetch,
    LoadOlder,
    Backfill,
    Refresh,
    ConfirmStatuses,
    CheckStatuses,
    RecheckStatuses,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The selection has not moved for long enough to load its email.
    Selection,
    /// The next refresh is due.
    Refresh,
    /// Older mail may be requested again after an error.
    LoadOlder,
    /// A visible row must be confirmed, or is stale from now on.
    Freshness,
    /// One second of the countdown of a rate limit pause.
    Countdown,
}

/// What the event loop does itself.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopEffect {
    /// Clear the terminal and draw the whole screen.
    Redraw,
    /// Suspend the process until the shell continues it.
    Suspend,
    /// Take mouse events from the terminal, or leave them to it so that text can be selected.
    CaptureMouse(bool),
    /// Replace the session by the one that was opened last.
    SwitchSession,
    Exit(ExitReason),
}

/// Why the program ends.
#[derive(Debug, Clone, PartialEq)]
pub enum ExitReason {
    Quit,
    Fatal(Error),
}

/// Effects in the order in which they start.
pub type Effects = Vec<Effect>;
