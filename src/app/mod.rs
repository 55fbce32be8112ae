//! The terminal program as a pure machine: a message in, the next state and effects out.
//!
//! A key becomes a [`Command`]; the world answers with a [`Msg`]; [`Model::update`] turns it into
//! the next state and a list of [`Effect`]s; the performer ([`crate::tui`]) turns each effect into
//! exactly one later message. No clock, no network, no disk: so any order of events can be tried.

mod card;
mod command;
mod effect;
mod errands;
mod fill;
mod filter;
mod find;
mod freshness;
pub mod hall;
pub mod head;
pub mod help;
pub mod keymap;
pub mod keys;
mod layout;
mod list;
mod look_back;
mod mark;
mod marks;
mod model;
mod msg;
mod names;
mod news;
mod obey;
mod point;
mod prompt;
mod reader;
mod service;
mod slot;
mod status_check;
mod tally;
#[cfg(test)]
pub mod tests;
mod trail;
mod views;
mod warm;

pub use card::Card;
pub use command::{Command, Side, Step};
pub use effect::{Effect, Errand, Rest};
pub use filter::parsed;
pub use freshness::{Liveness, is_stale};
pub use hall::{Choice, Door, Hall, Kept};
pub use keymap::Keys;
pub use keys::{Focus, Key};
pub use layout::{Arrangement, Layout};
pub use mark::marks;
pub use model::{Ending, Model, Opening};
pub use msg::{Checked, Confirmation, Counts, Msg, News, Opened, Pointer};
pub use prompt::{Asked, Prompt};
pub use reader::{MARGIN, Stage};
pub use slot::Ticket;
pub use status_check::{CheckState, StatusCheck};
pub use tally::{Mention, Tally};
pub use views::numbered;

use unicode_width::UnicodeWidthStr;

use crate::render::BodyLine;

/// Columns that a line of a body takes.
#[must_use]
pub fn width_of(line: &BodyLine) -> usize {
    line.spans.iter().map(|span| span.text.width()).sum()
}
