//! `Effect`: I/O that the program requests, and `Pending`:
//! the value that is loading meanwhile.
//!
//! Each effect but [`Effect::Loop`] and [`Effect::SwitchSession`] is answered by exactly one later
//! message, and those of the loop where their variant says so; only a timer that a newer one of its
//! kind replaces is never answered. A session switch makes a new model, whose `RequestId`s start
//! again, so it drops the answers that are still pending.
//!
//! `tui/effect_runner/run.rs` runs them. A new service request also needs a [`RequestKind`] and an
//! arm in `Model::is_wanted`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::reader::text_match::SearchPattern;
use super::session::{LastLook, SessionTarget, StateRecord};
use crate::api::{InvalidResponses, Priority};
use crate::archive::{OnMismatch, SortKey, WindowAnchor};
use crate::config::{Multiplexer, NotifyRoute, SavedView, SecretInput};
use crate::error::{Error, Result};
use crate::export::{ExportFormat, ExportJob, ExportProgress};
use crate::mail::{Attachment, Email, EmailId, Mailbox};
use crate::query::{Query, SearchText};
use crate::render::{Body, BodyView, LayoutOptions};
use crate::sync::ConfirmScope;

/// Something to be done outside;
/// plain data, so that it can be compared, logged and replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// For the event loop itself.
    Loop(LoopEffect),
    /// Load rows of the archive.
    LoadWindow(RequestId, WindowQuery),
    /// Count at most `most` emails of the query, and of those before `position`.
    CountEmails {
        request: RequestId,
        query: Arc<Query>,
        position: Option<SortKey>,
        most: u64,
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
    /// Compute the statistics of a query, with days in the zone of `now`.
    LoadStatistics(RequestId, Arc<Query>, Zoned),
    /// Store a saved view, or delete it if it is `None`, unless the file has another
    /// one than `known`.
    SaveView {
        request: RequestId,
        number: u8,
        known: Option<SavedView>,
        view: Option<SavedView>,
    },
    /// Load the saved views of the file.
    LoadViews(RequestId),
    /// Count what is new or has changed since a time, which the query matches.
    CountChanges(RequestId, Arc<Query>, LastLook),
    /// Keep these records for the next session of the profile.
    SaveState(RequestId, Vec<StateRecord>),
    /// Load the rows of these emails; what is not in the archive is left out.
    LoadRows(RequestId, Vec<EmailId>),
    /// Find which of these emails are not in the archive.
    FindUnstored(RequestId, Vec<EmailId>),
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
        /// Why the service must not be requested.
        refusal: Option<Error>,
    },
    /// Load an email with its body from the archive alone.
    LoadStoredEmail(RequestId, EmailId),
    /// Fetch an email that may be read next, if the rate budget allows it.
    PrefetchEmail(RequestId, EmailId),
    /// Retrieve an email that is searched for by its id, which may be older than the list.
    RetrieveById(RequestId, EmailId),
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
        scope: ConfirmScope,
        /// The maximal number of requests.
        max_requests: u32,
    },
    /// Count the emails of a query without a known body.
    CountMissingBodies(RequestId, Arc<Query>),
    /// Fetch the next bodies, newest first, in the background.
    FetchBodies(RequestId, BodyFetch),
    /// Read one page of statuses again, if one is due.
    RecheckStatuses(RequestId),
    /// Lay out a body.
    RenderBody(RequestId, Arc<Email>, BodyView, LayoutOptions),
    /// Find a text in a body.
    FindMatches(RequestId, Arc<Body>, SearchPattern),
    /// Fetch the page below the covered range at the top.
    LoadOlder(RequestId, Priority),
    /// Fetch the page of [`Self::LoadOlder`] in the background,
    /// unless another process does it.
    Backfill(RequestId),
    /// Fetch the newest page.
    Refresh(RequestId, Priority),
    /// Fetch the newest page once, although the service has asked to wait.
    /// A success ends its pause.
    RefreshNow(RequestId),
    /// List the profiles of the configuration.
    LoadProfiles(RequestId),
    /// Ask the service of this address whether it accepts a key; stores nothing.
    VerifyKey {
        request: RequestId,
        base_url: String,
        key: SecretInput,
    },
    /// Open another session; [`Effect::SwitchSession`] uses it.
    OpenSession(RequestId, SessionTarget, OnMismatch),
    /// Open a list of the same profile; [`Effect::SwitchSession`] uses it.
    OpenMailbox(RequestId, SessionTarget, Mailbox),
    /// Use the session that this request has opened, and close the one before;
    /// has no answer.
    SwitchSession(RequestId),
    /// Give a text to a clipboard program.
    SetClipboard(RequestId, &'static [&'static str], ClipboardText),
    /// Open a URL with this program.
    OpenUrl {
        request: RequestId,
        program: String,
        url: Arc<str>,
    },
    /// Write an email to a new file.
    SaveEmail {
        request: RequestId,
        path: PathBuf,
        format: ExportFormat,
        email: Arc<Email>,
        /// When its status was confirmed.
        confirmed_at: Option<Timestamp>,
        zone: TimeZone,
    },
    /// Request the list of the attachments of an email.
    LoadAttachments(RequestId, EmailId, Priority),
    /// Ask whether the service sends to an address.
    LoadSuppression {
        request: RequestId,
        address: String,
        priority: Priority,
    },
    /// Ask how often an email was opened and clicked since it was created.
    LoadMetrics {
        request: RequestId,
        id: EmailId,
        created: Timestamp,
        priority: Priority,
    },
    /// Download an attachment to a new file, or into a folder.
    SaveAttachment {
        request: RequestId,
        email: EmailId,
        attachment: Attachment,
        path: PathBuf,
    },
    /// Collect the ids of a query, or of the emails past the first key up to the
    /// second, and no more than can be marked.
    CollectIds(RequestId, Arc<Query>, Option<(SortKey, SortKey)>),
    /// Count what an export would write and request; writes nothing.
    PlanExport(RequestId, ExportJob),
    /// Export the next emails; request the bodies of a few of them.
    ExportBatch(RequestId, Arc<ExportJob>, Box<ExportProgress>),
    Timer(RequestId, TimerKind, Duration),
}

/// Requests of one [`Effect::FetchBodies`]; the list is updated after each effect.
pub const BODIES_PER_STEP: u32 = 4;

/// The running fetch of bodies.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyFetch {
    /// The filter that searches them.
    pub(super) query: Arc<Query>,
    pub candidates: Arc<Query>,
    /// The number of bodies to fetch.
    pub total: u64,
    /// The number of requests so far.
    pub requests: u64,
    /// All candidates above this were requested.
    pub requested_down_to: Option<SortKey>,
    /// The invalid responses so far.
    pub invalid: InvalidResponses,
}

/// A text for the clipboard, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardText {
    pub label: &'static str,
    pub text: String,
}

/// A request that may become obsolete before it is sent, or while it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    LoadEmail,
    Prefetch,
    RetrieveById,
    LoadOlder,
    Backfill,
    Refresh,
    ConfirmStatuses,
    CheckStatuses,
    RecheckStatuses,
    Export,
    FetchBodies,
    Statistics,
    LoadAttachments,
    SaveAttachment,
    LoadSuppression,
    LoadMetrics,
    /// The timer of what is waited for.
    Countdown,
}

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The selection has not moved for long enough to load its email.
    Selection,
    /// The previous email has been on the screen for as long as it may.
    PreviousEmail,
    /// The width of the reader has not changed for long enough to lay out the body.
    Resize,
    /// The next refresh is due.
    Refresh,
    /// Older mail may be requested again after an error.
    LoadOlder,
    /// The user rests: a filter with few matches searches older mail.
    AutomaticSearch,
    /// The user has not typed for long enough to count more matches.
    Count,
    /// A visible row must be confirmed, or is stale from now on.
    Freshness,
    /// One second of the countdown of a rate limit pause.
    Countdown,
}

/// An effect that the event loop runs itself.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopEffect {
    /// Clear the terminal and draw the whole screen.
    Redraw,
    /// Format the card or the statistics for the clipboard; answered by `FiguresFormatted`.
    FormatFigures,
    /// Suspend the process until the shell continues it.
    Suspend,
    /// Take mouse events from the terminal, or leave them to it so that text can be
    /// selected.
    CaptureMouse(bool),
    /// Scroll a pane beside another one by margins at columns, which the terminal has.
    UseMargins,
    /// Set the clipboard by the terminal (OSC 52); a multiplexer must pass the sequence on.
    SetClipboard {
        text: String,
        multiplexer: Option<Multiplexer>,
    },
    /// Give the terminal to a command until it ends; answered by `CommandEnded`.
    RunCommand(PipedCommand),
    /// Ring the bell, and show the text as a notification of the desktop if the route
    /// allows it.
    Notify(NotifyRoute, String),
    Exit(ExitReason),
}

/// The rows of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowQuery {
    pub query: Arc<Query>,
    /// Newest means the top and oldest the bottom, in either order.
    pub anchor: WindowAnchor,
    /// The maximal number of rows.
    pub rows: usize,
    /// An email whose row is loaded even if it does not match.
    pub kept: Option<EmailId>,
    pub with_tags: bool,
}

/// A shell command that reads the body of an email.
#[derive(Debug, Clone, PartialEq)]
pub struct PipedCommand {
    pub command: String,
    pub email: Arc<Email>,
    pub body_view: BodyView,
    /// The width at which the body is laid out before its lines are joined again.
    pub width: u16,
    pub masked: bool,
}

/// Why the program ends.
#[derive(Debug, Clone, PartialEq)]
pub enum ExitReason {
    Quit,
    /// The user quit although an export was running; the text names its file.
    ExportStopped(String),
    Fatal(Error),
}

/// Identifies one request for one [`Pending`] value.
/// A newer request makes this one stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

/// A value that is loading, or was loaded, or is loading again.
///
/// The statement that makes the effect calls [`Pending::start`]; the answer enters through
/// [`Pending::resolve`], which drops answers to stale requests. The old value stays until the new
/// one arrives, so that a refresh does not blank the screen; [`Pending::reset`] is for values that
/// must not be shown any longer.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending<T> {
    last_id: u64,
    in_flight: bool,
    result: Option<Result<T>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self {
            last_id: 0,
            in_flight: false,
            result: None,
        }
    }
}

impl<T> Pending<T> {
    /// Starts a request; every earlier one is stale from now on.
    pub fn start(&mut self) -> RequestId {
        self.last_id += 1;
        self.in_flight = true;
        RequestId(self.last_id)
    }

    /// Stores the result if the request is the current one; returns whether it is.
    pub fn resolve(&mut self, request: RequestId, result: Result<T>) -> bool {
        let current = self.is_current(request);
        if current {
            self.in_flight = false;
            self.result = Some(result);
        }
        current
    }

    /// Drops the value and the running request.
    pub fn reset(&mut self) {
        self.last_id += 1;
        self.in_flight = false;
        self.result = None;
    }

    pub const fn is_pending(&self) -> bool {
        self.in_flight
    }

    /// Whether this request is the running one.
    pub const fn is_current(&self, request: RequestId) -> bool {
        self.in_flight && self.last_id == request.0
    }

    /// The value, if the last answer was one.
    pub fn value(&self) -> Option<&T> {
        self.result.as_ref().and_then(|result| result.as_ref().ok())
    }

    /// The failure, if the last answer was one and nothing newer is awaited.
    pub fn error(&self) -> Option<&Error> {
        if self.in_flight {
            return None;
        }
        self.result
            .as_ref()
            .and_then(|result| result.as_ref().err())
    }
}

impl Pending<()> {
    /// Ends the request, whatever came of it; returns whether it was the current one.
    pub fn finish(&mut self, request: RequestId) -> bool {
        self.resolve(request, Ok(()))
    }

    /// Starts a timer, which ends with [`Self::finish`].
    pub fn start_timer(&mut self, kind: TimerKind, pause: Duration) -> Effect {
        Effect::Timer(self.start(), kind, pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn newer_request_makes_the_older_stale() {
        let mut pending = Pending::default();
        let first = pending.start();
        let second = pending.start();
        assert!(!pending.resolve(first, Ok("old")));
        assert!(pending.is_pending());
        assert!(pending.resolve(second, Ok("new")));
        assert_eq!(pending.value(), Some(&"new"));
        assert!(
            !pending.resolve(second, Ok("again")),
            "a request has one answer"
        );
    }

    #[test]
    fn value_stays_until_the_answer_or_reset() {
        let mut pending = Pending::default();
        let request = pending.start();
        pending.resolve(request, Ok(1));
        let request = pending.start();
        assert_eq!(pending.value(), Some(&1));
        pending.reset();
        assert_eq!(pending.value(), None);
        assert!(!pending.resolve(request, Ok(2)));
    }

    #[test]
    fn error_is_hidden_while_a_new_request_runs() {
        let mut pending = Pending::<()>::default();
        let request = pending.start();
        pending.resolve(request, Err(Error::new(ErrorKind::Server, "it failed")));
        assert!(pending.error().is_some());
        pending.start();
        assert!(pending.error().is_none());
    }
}
