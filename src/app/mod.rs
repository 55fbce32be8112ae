//! The terminal program as a pure machine: a message in, the next state and effects out.
//!
//! A key becomes a [`Command`]; the world answers with a [`Msg`]; [`Model::update`] turns it into
//! the next state and a list of [`Effect`]s; the performer ([`crate::tui`]) turns each effect into
//! exactly one later message. No clock, no network, no disk: so any order of events can be tried.

mod recipient_card;
mod command;
mod effect;
mod requests;
mod backfill;
mod filter;
mod search;
mod freshness;
pub mod start;
pub mod email_header;
pub mod help;
pub mod keymap;
pub mod key;
mod layout;
mod list;
mod load_older;
mod text_match;
mod anchors;
mod model;
mod message;
mod command_names;
mod sync_update;
mod dispatch;
mod mouse;
mod prompt;
mod reader;
mod service;
mod pending;
mod status_check;
mod recipient;
#[cfg(test)]
pub mod tests;
mod history;
mod saved_views;
mod prefetch;

pub use recipient_card::RecipientCard;
pub use command::{Command, Direction, Motion};
pub use effect::{Effect, RequestKind, TimerKind};
pub use filter::parse_query;
pub use freshness::{Liveness, is_stale};
pub use start::{ProfileChoice, SessionTarget, StartScreen, StorageMode};
pub use keymap::Keymap;
pub use key::{Focus, Key};
pub use layout::{Arrangement, Layout};
pub use text_match::find_matches;
pub use model::{ExitReason, Model, SessionInfo};
pub use message::{StatusCheckStep, ConfirmResult, ListCounts, Message, SyncUpdate, OpenedEmail, MouseInput};
pub use prompt::{PromptKind, Prompt};
pub use reader::{MARGIN, ReaderState};
pub use pending::RequestId;
pub use status_check::{CheckState, StatusCheck};
pub use recipient::{EmailRef, RecipientSummary};
pub use saved_views::parse_numbered_name;

use unicode_width::UnicodeWidthStr;

use crate::render::BodyLine;

/// Columns that a line of a body takes.
#[must_use]
pub fn line_width(line: &BodyLine) -> usize {
    line.spans.iter().map(|span| span.text.width()).sum()
}
