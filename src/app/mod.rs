//! The terminal UI as a pure state machine:
//! a message in, the next state and effects out.
//!
//! A key becomes a [`Command`]; [`Model::update`] turns each [`Message`] into the next state and a
//! list of [`Effect`]s; the effect runner ([`crate::tui`]) turns each effect into one later
//! message. No clock, network or disk: tests can try any order of events, and recorded messages
//! replay.
//!
//! [`commands`] has the keys, [`list`] the rows with what filters, counts and marks them,
//! [`reader`] the open email, and `service` what is requested from the service by itself. The files
//! beside them are the state machine, and what belongs to more than one of these.

mod chooser;
pub mod commands;
mod copy;
mod dispatch;
mod effect;
mod export;
mod figures;
mod history;
mod layout;
pub mod list;
mod mailbox;
mod message;
mod model;
mod mouse;
mod notice;
mod prompt;
pub mod reader;
mod service;
pub mod session;
pub mod start;
#[cfg(test)]
pub mod tests;

pub use chooser::{Chooser, ChooserItem, ChooserKind, Question};
#[cfg(test)]
pub use commands::COMMANDS;
pub use commands::keymap::{Key, Keymap};
pub use commands::{Command, Focus};
pub use effect::{
    BODIES_PER_STEP, BodyFetch, Effect, ExitReason, LoopEffect, PipedCommand, RequestId,
    RequestKind, TimerKind, WindowQuery,
};
pub use layout::{Arrangement, Layout, split_top};
pub use list::ListLine;
pub use list::anchors::ListAnchor;
pub use list::changes::ChangeCounts;
pub use list::filter::parse_query;
pub use list::load_older::{LoadOlder, LoadOlderGoal, MAX_AUTOMATIC_REQUESTS};
pub use list::marks::MAX_MARKS;
pub use list::recipient::{EmailRef, RecipientSummary, count_other_recipients};
pub use list::saved_views::parse_numbered_name;
pub use message::{
    BodyFetchStep, ClickTarget, CollectedIds, ListCounts, Message, MouseInput, OpenedEmail,
};
pub use model::{Model, WRONG_COLOURS};
pub use prompt::{Prompt, PromptKind};
pub use reader::text_match::find_matches;
pub use reader::{MARGIN, Reader, ReaderState};
pub use service::freshness::{Liveness, is_stale};
pub use service::state::ServiceState;
pub use service::status_check::{CheckState, StatusCheck};
#[cfg(test)]
pub use session::WatchRecord;
pub use session::{
    LastLook, MAX_FILTERS, ProfileChoice, SavedState, SessionInfo, SessionTarget, StateRecord,
    StorageMode,
};
pub use start::StartScreen;
