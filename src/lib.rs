//! sentbox: the sent box of a team, in a terminal.

pub mod api;
pub mod app;
pub mod archive;
pub mod cli;
pub mod config;
pub mod failure;
pub mod mail;
pub mod query;
pub mod render;
pub mod server;
pub mod sync;
pub mod tui;
pub mod view;
