//! The terminal UI as a pure state machine:
//! a message in, the next state and effects out.
//!
//! A key becomes a [`Command`]; [`Model::update`] turns each [`Message`] into the next state and a
//! list of [`Effect`]s; the effect runner ([`crate::tui`]) turns each effect into one later message.
//! No clock, network or disk: tests can try any order of events, and recorded messages replay.

mod address_lines;
mod anchors;
mod attachments;
mod background;
mod body_fetch;
mod changes;
mod chooser;
mod commands;
mod copy;
mod dispatch;
mod effect;
pub mod email_header;
mod email_load;
mod export;
mod freshness;
pub mod help;
mod hints;
mod history;
mod kept_row;
pub mod keymap;
mod layout;
pub mod line_commands;
mod links;
mod list;
mod list_count;
mod load_older;
mod lookup;
mod mailbox;
mod marks;
mod message;
mod model;
mod notice;
mod previous_email;
mod prompt;
mod reader;
mod recipient;
mod saved_views;
mod search;
mod service;
mod service_state;
mod service_updates;
pub mod session;
pub mod start;
pub mod statistics;
mod status_check;
#[cfg(test)]
pub mod tests;
mod text_match;
mod times;
mod watch;

pub use anchors::ListAnchor;
pub use changes::ChangeCounts;
pub use chooser::{Chooser, ChooserItem, ChooserKind, Question};
#[cfg(test)]
pub use commands::COMMANDS;
pub use commands::{Command, Focus};
pub use effect::{
    BODIES_PER_STEP, BodyFetch, Effect, ExitReason, LoopEffect, PipedCommand, RequestId,
    RequestKind, TimerKind,
};
pub use freshness::{Liveness, is_stale};
pub use keymap::{Key, Keymap};
pub use layout::{Arrangement, Layout, split_top};
pub use list::ListLine;
pub use load_older::{LoadOlder, LoadOlderGoal, MAX_AUTOMATIC_REQUESTS};
pub use marks::MAX_MARKS;
pub use message::{
    BodyFetchStep, ClickTarget, CollectedIds, ListCounts, Message, MouseInput, OpenedEmail,
};
pub use model::{Model, WRONG_COLOURS};
pub use prompt::{Prompt, PromptKind};
pub use reader::{MARGIN, Reader, ReaderState};
pub use recipient::{EmailRef, RecipientSummary};
pub use saved_views::parse_numbered_name;
pub use search::parse_query;
pub use service_state::ServiceState;
#[cfg(test)]
pub use session::WatchRecord;
pub use session::{
    LastLook, MAX_FILTERS, ProfileChoice, SavedState, SessionInfo, SessionTarget, StateRecord,
    StorageMode,
};
pub use start::StartScreen;
pub use status_check::{CheckState, StatusCheck};
pub use text_match::find_matches;
