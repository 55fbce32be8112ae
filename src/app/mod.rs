//! The terminal program as a pure machine: a message in, the next state and effects out.
//!
//! A key becomes a [`Command`]; the world answers with a [`Msg`]; [`Model::update`] turns it into
//! the next state and a list of [`Effect`]s; the performer ([`crate::tui`]) turns each effect into
//! exactly one later message. No clock, no network, no disk: so any order of events can be tried.

mod anchors;
mod background;
mod commands;
mod dispatch;
mod effect;
pub mod email_header;
mod filter;
mod freshness;
mod history;
pub mod keymap;
mod layout;
mod list;
mod load_older;
mod message;
mod model;
mod pending;
mod prompt;
mod reader;
mod recipient;
mod recipient_card;
mod saved_views;
mod search;
mod service;
pub mod start;
mod status_check;
mod sync_update;
#[cfg(test)]
pub mod tests;
mod text_match;

pub use commands::{Command, Focus};
pub use effect::{Effect, ExitReason, LoopEffect, RequestKind, TimerKind};
pub use filter::parse_query;
pub use freshness::{Liveness, is_stale};
pub use keymap::{Key, Keymap};
pub use layout::{Arrangement, Layout};
pub use message::{
    ConfirmResult, ListCounts, Message, MouseInput, OpenedEmail, StatusCheckStep, SyncUpdate,
};
pub use model::{Model, SessionInfo};
pub use pending::RequestId;
pub use prompt::{Prompt, PromptKind};
pub use reader::{MARGIN, ReaderState};
pub use recipient::{EmailRef, RecipientSummary};
pub use recipient_card::RecipientCard;
pub use saved_views::parse_numbered_name;
pub use start::{ProfileChoice, SessionTarget, StartScreen, StorageMode};
pub use status_check::{CheckState, StatusCheck};
pub use text_match::find_matches;

use unicode_width::UnicodeWidthStr;

use crate::render::BodyLine;

/// Columns that a line of a body takes.
pub fn line_width(line: &BodyLine) -> usize {
    line.spans.iter().map(|span| span.text.width()).sum()
}
