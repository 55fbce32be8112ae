//! Tests from outside the crate, in one program because linking takes long.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archive_command;
mod attachments;
mod cli;
mod cli_errors;
mod client;
mod completions;
mod contract;
mod crash_safety;
mod doctor;
mod export;
mod fault_matrix;
mod fresh;
mod fuzz;
mod harness;
mod jq;
mod linear;
mod list_show;
mod metrics;
mod mirror;
mod named_archive;
mod old_versions;
mod pager;
#[cfg(feature = "postgres")]
mod postgres;
mod profiles;
mod quirks;
mod received;
mod recipes;
mod search;
mod secrets;
mod stats;
mod storage_failures;
mod sync_command;
mod terminal;
mod terminal_injection;
mod termination;
mod wait;
