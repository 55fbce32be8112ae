//! `Effect`: what the program asks of the world. Each is answered by exactly one later message.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::hall::{Answer, Door};
use super::mark::Sought;
use super::slot::Ticket;
use crate::api::Urgency;
use crate::archive::{Anchor, Place};
use crate::config::{Hidden, SavedView};
use crate::mail::{Email, EmailId};
use crate::query::{Needle, Query};
use crate::render::{Body, BodyView};

/// Something to be done outside; plain data, so that it can be compared, logged and replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Rows of the archive.
    Look {
        /// Names the attempt.
        ticket: Ticket,
        /// Which emails, and in which order the rows come.
        query: Arc<Query>,
        /// Which rows. Newest means the top and oldest the bottom, whatever the order.
        anchor: Anchor,
        /// How many of them at most.
        rows: usize,
    },
    /// How many emails there are, and how many of them stand before `place`.
    Count {
        /// Names the attempt.
        ticket: Ticket,
        /// Which emails.
        query: Arc<Query>,
        /// The row whose rank is wanted.
        place: Option<Place>,
    },
    /// What became of all emails to an address.
    Tally {
        /// Names the attempt.
        ticket: Ticket,
        /// The address.
        address: Needle,
        /// What was confirmed at this time or later counts as checked.
        fresh_since: Timestamp,
        /// The time, which tells what is final.
        now: Timestamp,
    },
    /// Keep a saved view under its number, or forget it.
    KeepView {
        /// Names the attempt.
        ticket: Ticket,
        /// The number.
        number: u8,
        /// The view; `None` to forget it.
        view: Option<SavedView>,
    },
    /// Keep a filter that was typed for the next time.
    Remember {
        /// Names the attempt.
        ticket: Ticket,
        /// The filter.
        text: String,
    },
    /// What could stand at the cursor of what is being typed.
    Complete {
        /// Names the attempt.
        ticket: Ticket,
        /// What is typed so far.
        text: String,
        /// Where the cursor is, as a byte of it.
        cursor: usize,
    },
    /// An email with its body, from the archive, or else from the service.
    Read {
        /// Names the attempt.
        ticket: Ticket,
        /// Which.
        id: EmailId,
        /// How urgent it is, if the service has to be asked.
        urgency: Urgency,
    },
    /// An email that may be read next, into the archive, if the service can spare it.
    Warm {
        /// Names the attempt.
        ticket: Ticket,
        /// Which.
        id: EmailId,
    },
    /// Confirm the statuses of these emails, by page or by id.
    Confirm {
        /// Names the attempt.
        ticket: Ticket,
        /// Which emails.
        ids: Vec<EmailId>,
        /// With how many requests at most.
        most: u32,
        /// How urgent it is.
        urgency: Urgency,
    },
    /// Confirm the statuses of what a query finds, newest first.
    CheckStatuses {
        /// Names the attempt.
        ticket: Ticket,
        /// Which emails.
        query: Arc<Query>,
        /// Below this one.
        below: Option<Place>,
        /// What was confirmed at this time or later is left out.
        fresh_since: Timestamp,
        /// With how many requests at most.
        most: u32,
        /// How many emails at most.
        most_rows: u32,
    },
    /// Read a page of statuses again that is due, if one is.
    Recheck {
        /// Names the attempt.
        ticket: Ticket,
    },
    /// A body at a width.
    LayOut {
        /// Names the attempt.
        ticket: Ticket,
        /// Whose body.
        email: Arc<Email>,
        /// Which face of it.
        view: BodyView,
        /// In columns.
        width: u16,
    },
    /// Where what is looked for stands in a body.
    Seek {
        /// Names the attempt.
        ticket: Ticket,
        /// In which body.
        body: Arc<Body>,
        /// What.
        sought: Sought,
    },
    /// The page below the oldest email that is known without a gap.
    Extend {
        /// Names the attempt.
        ticket: Ticket,
    },
    /// The same because the profile wants it, unless another process does that already.
    Fill {
        /// Names the attempt.
        ticket: Ticket,
    },
    /// The newest page.
    Refresh {
        /// Names the attempt.
        ticket: Ticket,
        /// How urgent it is.
        urgency: Urgency,
    },
    /// The profiles that one can switch to.
    Doors {
        /// Names the attempt.
        ticket: Ticket,
    },
    /// Whether the service takes a key; nothing is stored.
    Check {
        /// Names the attempt.
        ticket: Ticket,
        /// Where the service is.
        base_url: String,
        /// The key.
        key: Hidden,
    },
    /// Go somewhere else. What is there waits until the answer is taken.
    Enter {
        /// Names the attempt.
        ticket: Ticket,
        /// Where to.
        door: Door,
        /// What was answered to the question that stands before it.
        answer: Answer,
    },
    /// A pause.
    Rest {
        /// Names the attempt.
        ticket: Ticket,
        /// What is waited for.
        what: Rest,
        /// How long.
        pause: Duration,
    },
}

/// What the service is asked for and may not be wanted any more before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errand {
    /// [`Effect::Read`].
    Read,
    /// [`Effect::Warm`].
    Warm,
    /// [`Effect::Extend`].
    Extend,
    /// [`Effect::Fill`].
    Fill,
    /// [`Effect::Refresh`].
    Refresh,
    /// [`Effect::Confirm`].
    Confirm,
    /// [`Effect::CheckStatuses`].
    CheckStatuses,
    /// [`Effect::Recheck`].
    Recheck,
}

/// What a pause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rest {
    /// The selection stands still long enough to be read.
    Selection,
    /// It is time to ask the service for what is new.
    Refresh,
    /// It is time to go on looking further back.
    Extend,
    /// Something that is looked at is to be confirmed, or is not fresh any more.
    Freshness,
    /// A second of a pause that the service has asked for, which is counted down.
    Second,
}

/// Effects in the order they are to be started.
pub type Effects = Vec<Effect>;
