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
    /// Rows of the archive.
    LoadWindow {
        /// Names the attempt.
        ticket: RequestId,
        /// Which emails, and in which order the rows come.
        query: Arc<Query>,
        /// Which rows. Newest means the top and oldest the bottom, whatever the order.
        anchor: WindowAnchor,
        /// How many of them at most.
        rows: usize,
    },
    /// How many emails there are, and how many of them stand before `place`.
    CountEmails {
        /// Names the attempt.
        ticket: RequestId,
        /// Which emails.
        query: Arc<Query>,
        /// The row whose rank is wanted.
        place: Option<SortKey>,
    },
    /// What became of all emails to an address.
    SummarizeRecipient {
        /// Names the attempt.
        ticket: RequestId,
        /// The address.
        address: SearchText,
        /// What was confirmed at this time or later counts as checked.
        fresh_since: Timestamp,
        /// The time, which tells what is final.
        now: Timestamp,
    },
    /// Keep a saved view under its number, or forget it.
    SaveView {
        /// Names the attempt.
        ticket: RequestId,
        /// The number.
        number: u8,
        /// The view; `None` to forget it.
        view: Option<SavedView>,
    },
    /// Keep a filter that was typed for the next time.
    SaveHistory {
        /// Names the attempt.
        ticket: RequestId,
        /// The filter.
        text: String,
    },
    /// What could stand at the cursor of what is being typed.
    LoadSuggestions {
        /// Names the attempt.
        ticket: RequestId,
        /// What is typed so far.
        text: String,
        /// Where the cursor is, as a byte of it.
        cursor: usize,
    },
    /// An email with its body, from the archive, or else from the service.
    LoadEmail {
        /// Names the attempt.
        ticket: RequestId,
        /// Which.
        id: EmailId,
        /// How urgent it is, if the service has to be asked.
        urgency: Priority,
    },
    /// An email that may be read next, into the archive, if the service can spare it.
    PrefetchEmail {
        /// Names the attempt.
        ticket: RequestId,
        /// Which.
        id: EmailId,
    },
    /// Confirm the statuses of these emails, by page or by id.
    ConfirmStatuses {
        /// Names the attempt.
        ticket: RequestId,
        /// Which emails.
        ids: Vec<EmailId>,
        /// With how many requests at most.
        most: u32,
        /// How urgent it is.
        urgency: Priority,
    },
    /// Confirm the statuses of what a query finds, newest first.
    CheckStatuses {
        /// Names the attempt.
        ticket: RequestId,
        /// Which emails.
        query: Arc<Query>,
        /// Below this one.
        below: Option<SortKey>,
        /// What was confirmed at this time or later is left out.
        fresh_since: Timestamp,
        /// With how many requests at most.
        most: u32,
        /// How many emails at most.
        most_rows: u32,
    },
    /// Read a page of statuses again that is due, if one is.
    RecheckStatuses {
        /// Names the attempt.
        ticket: RequestId,
    },
    /// A body at a width.
    RenderBody {
        /// Names the attempt.
        ticket: RequestId,
        /// Whose body.
        email: Arc<Email>,
        /// Which face of it.
        view: BodyView,
        /// In columns.
        width: u16,
    },
    /// Where what is looked for stands in a body.
    FindMatches {
        /// Names the attempt.
        ticket: RequestId,
        /// In which body.
        body: Arc<Body>,
        /// What.
        sought: SearchPattern,
    },
    /// The page below the oldest email that is known without a gap.
    LoadOlder {
        /// Names the attempt.
        ticket: RequestId,
    },
    /// The same because the profile wants it, unless another process does that already.
    Backfill {
        /// Names the attempt.
        ticket: RequestId,
    },
    /// The newest page.
    Refresh {
        /// Names the attempt.
        ticket: RequestId,
        /// How urgent it is.
        urgency: Priority,
    },
    /// The profiles that one can switch to.
    LoadProfiles {
        /// Names the attempt.
        ticket: RequestId,
    },
    /// Whether the service takes a key; nothing is stored.
    VerifyKey {
        /// Names the attempt.
        ticket: RequestId,
        /// Where the service is.
        base_url: String,
        /// The key.
        key: SecretInput,
    },
    /// Go somewhere else. What is there waits until the answer is taken.
    OpenSession {
        /// Names the attempt.
        ticket: RequestId,
        /// Where to.
        door: SessionTarget,
        /// What was answered to the question that stands before it.
        answer: ConfirmAnswer,
    },
    /// A pause.
    Timer {
        /// Names the attempt.
        ticket: RequestId,
        /// What is waited for.
        what: TimerKind,
        /// How long.
        pause: Duration,
    },
}

/// What the service is asked for and may not be wanted any more before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// [`Effect::Read`].
    LoadEmail,
    /// [`Effect::Warm`].
    Prefetch,
    /// [`Effect::Extend`].
    LoadOlder,
    /// [`Effect::Fill`].
    Backfill,
    /// [`Effect::Refresh`].
    Refresh,
    /// [`Effect::Confirm`].
    ConfirmStatuses,
    /// [`Effect::CheckStatuses`].
    CheckStatuses,
    /// [`Effect::Recheck`].
    RecheckStatuses,
}

/// What a pause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The selection stands still long enough to be read.
    Selection,
    /// It is time to ask the service for what is new.
    Refresh,
    /// It is time to go on looking further back.
    LoadOlder,
    /// Something that is looked at is to be confirmed, or is not fresh any more.
    Freshness,
    /// A second of a pause that the service has asked for, which is counted down.
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

/// Effects in the order they are to be started.
pub type Effects = Vec<Effect>;
