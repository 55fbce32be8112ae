//! `Message`: every input of the model.
//! `Model::update` in `model.rs` takes it to its handler.
//!
//! A handler first compares the id of an answer with its `Pending`: an obsolete answer must not
//! replace newer state. Confirmed statuses count in any case, and the end of a command has no id:
//! one runs at a time.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::{Timestamp, Zoned};
use ratatui::layout::{Position, Size};

use super::commands::Command;
use super::commands::keymap::Key;
use super::effect::{ClipboardText, RequestId, RequestKind, TimerKind};
use super::list::anchors::ListAnchor;
use super::list::changes::ChangeCounts;
use super::list::recipient::RecipientSummary;
use super::reader::text_match::TextMatch;
use super::session::{OpenOutcome, ProfileChoice};
use crate::api::{InvalidResponses, RateBudget};
use crate::archive::{
    Coverage, EmailRow, LeftOut, ObservedStatus, RowWindow, SortKey, Statistics, Unmatched,
};
use crate::config::{Background, SavedViews, SecretInput, ViewWrite};
use crate::error::{Error, Result};
use crate::export::{ExportJob, ExportPlan, ExportProgress};
use crate::mail::{Attachment, Email, EmailId, Metrics, Suppression};
use crate::query::Completion;
use crate::render::Body;
use crate::sync::{BackfillStep, ConfirmReport, SyncReport};

/// An input of the model; plain data.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The time and the rate budget, before each other message;
    /// causes nothing by itself.
    Clock {
        now: Zoned,
        budget: Option<RateBudget>,
    },
    KeyPressed(Key),
    /// The text is a secret: it may be an API key.
    Pasted(SecretInput),
    /// Characters that were typed faster than they are handled.
    Typed(SecretInput),
    Mouse(MouseInput),
    /// With the position of the mouse, if its first button was pressed there.
    Clicked(ClickTarget, Option<Position>),
    /// A command without a key: it was typed.
    Command(Command),
    /// The user has chosen this row of the list, or the first one.
    RowChosen(Option<ListAnchor>),
    Resized(Size),
    /// The card or the statistics, as they are copied.
    FiguresFormatted(String),
    /// The terminal reports its background.
    BackgroundReported(Background),
    /// The terminal reports that it has margins at columns (DECLRMM).
    MarginsReported,
    // The answers to effects, each with the id of the request.
    WindowLoaded(RequestId, Result<RowWindow>),
    Counted(RequestId, Result<ListCounts>),
    ChangesCounted(RequestId, Result<ChangeCounts>),
    StateSaved(RequestId, Result<()>),
    RowsLoaded(RequestId, Result<Vec<EmailRow>>),
    UnstoredFound(RequestId, Result<Vec<EmailId>>),
    /// The best suggestion comes first.
    SuggestionsLoaded(RequestId, Vec<Completion>),
    StatisticsLoaded(RequestId, Result<Arc<Statistics>>),
    RecipientSummarized(RequestId, Result<Arc<RecipientSummary>>),
    ViewSaved(RequestId, Result<ViewWrite>),
    /// `None` if nothing is kept here.
    ViewsLoaded(RequestId, Result<Option<SavedViews>>),
    EmailLoaded(RequestId, Result<OpenedEmail>),
    /// `None` if the archive has no body of the email.
    StoredEmailLoaded(RequestId, Result<Option<OpenedEmail>>),
    BodyRendered(RequestId, Result<Arc<Body>>),
    /// From the top to the bottom.
    MatchesFound(RequestId, Vec<TextMatch>),
    EmailPrefetched(RequestId),
    /// With whether the archive has the email now.
    RetrievedById(RequestId, Result<bool>),
    StatusesConfirmed(RequestId, Result<ConfirmReport>),
    StatusesChecked(RequestId, Result<ConfirmReport>),
    /// With the number of bodies to fetch.
    MissingBodiesCounted(RequestId, Result<u64>),
    BodiesFetched(RequestId, Result<BodyFetchStep>),
    /// With the update by one page, if one was due, and the number of statuses still
    /// due.
    StatusesRechecked(RequestId, Result<Option<SyncReport>>),
    OlderLoaded(RequestId, Result<SyncReport>),
    Backfilled(RequestId, Result<BackfillStep>),
    Refreshed(RequestId, Result<SyncReport>),
    ProfilesLoaded(RequestId, Result<Vec<ProfileChoice>>),
    /// An error if the service does not accept the key or the key may not read.
    KeyVerified(RequestId, Result<()>),
    SessionOpened(RequestId, Result<OpenOutcome>),
    /// The answer to [`Effect::OpenMailbox`](super::Effect::OpenMailbox).
    MailboxOpened(RequestId, Result<OpenOutcome>),
    /// A clipboard program has taken the text, or why it has not.
    ClipboardSet(RequestId, ClipboardText, Result<(), String>),
    UrlOpened(RequestId, Result<(), String>),
    /// With the file.
    EmailSaved(RequestId, Result<PathBuf, String>),
    /// `None` if the service sends to the address.
    SuppressionLoaded(RequestId, Result<Option<Suppression>>),
    MetricsLoaded(RequestId, Result<Metrics>),
    AttachmentsLoaded(RequestId, Result<Arc<[Attachment]>>),
    /// With the file and its length.
    AttachmentSaved(RequestId, Result<(PathBuf, u64)>),
    IdsCollected(RequestId, Result<CollectedIds>),
    ExportPlanned(RequestId, Result<(ExportJob, ExportPlan)>),
    ExportAdvanced(RequestId, ExportProgress),
    /// A command has given the terminal back.
    CommandEnded {
        command: String,
        /// The number of characters that it was given.
        input_len: u64,
        /// Its exit status in words, or why it did not run.
        result: Result<String, String>,
    },
    TimerFired(RequestId, TimerKind),
    /// The request was cancelled before it was sent, because it was obsolete.
    RequestCancelled(RequestId, RequestKind),
    /// Another process has changed the archive.
    ArchiveChanged(Result<SyncReport>),
    /// Another process could not reach the service, or has reached it again.
    ServiceChanged,
    /// The archive file was removed or replaced.
    ArchiveLost(Error),
    /// The program cannot continue.
    Fatal(Error),
}

/// A use of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseInput {
    /// The main button went down.
    Pressed(Position),
    /// The second button went down.
    SecondPressed(Position),
    /// The mouse moved here while the button was down.
    Dragged(Position),
    Released,
    /// The wheel turned over this cell.
    Scrolled {
        at: Position,
        down: bool,
    },
}

/// The target of a mouse press, other than rows and panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickTarget {
    /// A tab, or the key of a command in the hint line.
    Command(Command),
    /// A link of the open email, by its index.
    Link(usize),
    /// An item of the open list, by its index.
    Item(usize),
    /// A cell of the list, with the command that finds rows like it.
    Cell(Position, Command),
}

/// Counts of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListCounts {
    /// Emails that match the query.
    pub total: u64,
    /// Whether counting stopped at `total`, with more to come.
    pub is_capped: bool,
    /// Emails in the archive.
    pub archive_total: u64,
    /// The times of the oldest and the newest email in the archive, if known.
    pub archive_span: Option<(Timestamp, Timestamp)>,
    /// Emails whose bodies and tags are stored, if the query depends on them.
    pub bodies_known: Option<u64>,
    pub left_out: LeftOut,
    /// How far back the archive was complete when the service last sent its list.
    pub coverage: Coverage,
    /// Why nothing matches.
    pub unmatched: Unmatched,
    /// Whether the query is the id of an email that was purged.
    pub is_purged: bool,
    /// The position that was requested, and how many matches precede it.
    pub rows_before: Option<(SortKey, u64)>,
}

/// Ids of some emails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectedIds {
    pub ids: Vec<EmailId>,
    /// Whether there are more.
    pub is_capped: bool,
}

/// An open email.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedEmail {
    pub email: Arc<Email>,
    /// The observed statuses, oldest first.
    pub history: Vec<ObservedStatus>,
}

/// The result of one step of a fetch of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyFetchStep {
    pub requests: u32,
    /// All candidates above this one were requested.
    pub down_to: Option<SortKey>,
    /// Whether no candidate is left.
    pub is_done: bool,
    /// The invalid responses of all steps so far.
    pub invalid: InvalidResponses,
}
