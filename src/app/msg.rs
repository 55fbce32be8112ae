//! `Msg`: everything that can happen to the program.

use std::sync::Arc;

use jiff::Timestamp;
use ratatui::layout::{Position, Size};

#[cfg(test)]
use super::command::Command;
use super::effect::{Errand, Rest};
use super::hall::{Arrival, Choice};
use super::keys::Key;
use super::mark::Mark;
use super::slot::Ticket;
use super::tally::Tally;
use crate::archive::{Observation, Place, Reach, Window};
use crate::config::Hidden;
use crate::failure::Failure;
use crate::mail::{Email, EmailId};
use crate::query::Completion;
use crate::render::Body;

/// Something that happened; plain data.
#[derive(Debug, Clone, PartialEq)]
pub enum Msg {
    /// A key was pressed.
    Pressed(Key),
    /// Text was pasted; it may be a key.
    Pasted(Hidden),
    /// The mouse was used.
    Pointed(Pointer),
    /// A command was given otherwise than by a key.
    #[cfg(test)]
    Command(Command),
    /// The screen has another size.
    Resized(Size),
    /// Answers `Look`.
    Window {
        /// Of the attempt.
        ticket: Ticket,
        /// The rows.
        outcome: Result<Window, Failure>,
    },
    /// Answers `Count`.
    Counted {
        /// Of the attempt.
        ticket: Ticket,
        /// The figures.
        outcome: Result<Counts, Failure>,
    },
    /// Answers `Remember`.
    Remembered {
        /// Of the attempt.
        ticket: Ticket,
        /// Whether it is kept.
        outcome: Result<(), Failure>,
    },
    /// Answers `Complete`.
    Completed {
        /// Of the attempt.
        ticket: Ticket,
        /// What could stand there, the best first.
        offers: Vec<Completion>,
    },
    /// Answers `Tally`.
    Tallied {
        /// Of the attempt.
        ticket: Ticket,
        /// The figures.
        outcome: Result<Arc<Tally>, Failure>,
    },
    /// Answers `KeepView`.
    ViewKept {
        /// Of the attempt.
        ticket: Ticket,
        /// The file that it is kept in; `None` if nothing is kept.
        outcome: Result<Option<String>, Failure>,
    },
    /// Answers `Read`.
    Read {
        /// Of the attempt.
        ticket: Ticket,
        /// The email.
        outcome: Result<Opened, Failure>,
    },
    /// Answers `LayOut`.
    Laid {
        /// Of the attempt.
        ticket: Ticket,
        /// The body.
        outcome: Result<Arc<Body>, Failure>,
    },
    /// Answers `Seek`.
    Sought {
        /// Of the attempt.
        ticket: Ticket,
        /// Every place, top to bottom.
        marks: Vec<Mark>,
    },
    /// Answers `Warm`.
    Warmed {
        /// Of the attempt.
        ticket: Ticket,
    },
    /// Answers `Confirm`.
    Confirmed {
        /// Of the attempt.
        ticket: Ticket,
        /// What it brought.
        outcome: Result<Confirmation, Failure>,
    },
    /// Answers `CheckStatuses`.
    StatusesChecked {
        /// Of the attempt.
        ticket: Ticket,
        /// What it brought.
        outcome: Result<Checked, Failure>,
    },
    /// Answers `Recheck`.
    Rechecked {
        /// Of the attempt.
        ticket: Ticket,
        /// What the page brought, if one was due, and how many statuses are due now.
        outcome: Result<(Option<News>, u64), Failure>,
    },
    /// Answers `Extend`.
    Extended {
        /// Of the attempt.
        ticket: Ticket,
        /// What it brought.
        outcome: Result<News, Failure>,
    },
    /// Answers `Fill`.
    Filled {
        /// Of the attempt.
        ticket: Ticket,
        /// What it brought; `None` if another process does it.
        outcome: Result<Option<News>, Failure>,
    },
    /// Answers what was not sent to the service in the end, because nobody wanted it any more.
    Dropped {
        /// What it was.
        errand: Errand,
        /// Of the attempt.
        ticket: Ticket,
    },
    /// Answers `Refresh`.
    Refreshed {
        /// Of the attempt.
        ticket: Ticket,
        /// What it brought.
        outcome: Result<News, Failure>,
    },
    /// Another process has changed the archive.
    ArchiveChanged {
        /// What it brought.
        outcome: Result<News, Failure>,
    },
    /// Another process could not reach the service, or has reached it again.
    ServiceChanged,
    /// The archive file was removed or replaced.
    ArchiveLost(Failure),
    /// Answers `Doors`.
    Doors {
        /// Of the attempt.
        ticket: Ticket,
        /// The profiles.
        outcome: Result<Vec<Choice>, Failure>,
    },
    /// Answers `Check`.
    Checked {
        /// Of the attempt.
        ticket: Ticket,
        /// Whether the key is taken and may read.
        outcome: Result<(), Failure>,
    },
    /// Answers `Enter`.
    Entered {
        /// Of the attempt.
        ticket: Ticket,
        /// What came of it.
        outcome: Result<Arrival, Failure>,
    },
    /// Answers `Rest`.
    Rested {
        /// Of the attempt.
        ticket: Ticket,
        /// What was waited for.
        what: Rest,
    },
    /// The program cannot go on.
    Broken(Failure),
}

/// A use of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    /// The main button went down here.
    Pressed(Position),
    /// It moved here while down.
    Dragged(Position),
    /// It went up.
    Released,
    /// The wheel turned over this cell, down or up.
    Wheel {
        /// Where.
        at: Position,
        /// Towards the end.
        down: bool,
    },
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Emails that the query finds.
    pub total: u64,
    /// There are more of them; counting ended there.
    pub capped: bool,
    /// Emails in the archive.
    pub all: u64,
    /// Emails whose bodies and tags are known, if the query hangs on it.
    pub fetched: Option<u64>,
    /// The row asked about, and how many of those found stand before it.
    pub before: Option<(Place, u64)>,
}

/// An email that is being read.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The email.
    pub email: Arc<Email>,
    /// What was seen to become of it, oldest first.
    pub history: Vec<Observation>,
}

/// What a conversation with the service brought into the archive.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// Emails that were not known before.
    pub new: u64,
    /// Emails whose status is another now.
    pub changed: Vec<EmailId>,
    /// How far back the archive is complete now.
    pub reach: Reach,
    /// Whether there is more to fetch before everything new is there.
    pub unfinished: bool,
    /// Emails on the pages that could not be read, because they have no id.
    pub unreadable: u64,
    /// When the newest page was requested last, by any process on the archive; now if that is not known.
    pub head_at: Option<Timestamp>,
}

/// What confirming some emails has brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation {
    /// What changed.
    pub news: News,
    /// How many requests it took.
    pub requests: u32,
}

/// What a step of a status check has brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What changed.
    pub news: News,
    /// How many requests it took.
    pub requests: u32,
    /// How many emails were confirmed.
    pub rows: u32,
    /// All candidates above this one are final or confirmed.
    pub down_to: Option<Place>,
    /// Whether no candidate is left.
    pub is_done: bool,
}
