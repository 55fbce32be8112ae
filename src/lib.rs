//! sentbox: the sent box of a team, in a terminal.
//! Did we send it, what did it say, what became of it?
//!
//! # Data flow
//!
//! The service is remote, slow and cannot search; the [`archive`] is local, fast and can. So
//! [`sync`] stores every page that it fetches in the archive, and everything that users see is a
//! query over the archive.
//!
//! ```text
//!             HTTP                     SQLite               keys, screen
//!  service <--------> api --> sync --> archive --> app --> view --> tui      terminal UI
//!                      ^                     \----------> cli               scripts
//!                      |
//!                    server <------- the sample mailbox or, by a mirror, the archive: the same API, served
//! ```
//!
//! - The list appears before the first byte from the network, and works offline.
//! - An older response never overwrites a newer one: each has the time of its request.
//! - Pages that shift, repeat or overlap during a sync are harmless: rows are merged by email id.
//! - The screen holds one window of rows, however many emails there are.
//! - "Nothing on disk" is one switch: the archive is then `SQLite` in memory.
//!
//! # Modules
//!
//! A module imports only modules of lower layers; `tests/architecture.rs` checks it.
//!
//! | layer | module | purpose |
//! |---|---|---|
//! | 0 | [`error`] | errors as plain data; the kind decides the exit code |
//! | 0 | [`text`] | sanitizing, display width, numbers and plurals |
//! | 0 | [`tasks`] | tasks, and work that blocks beside them |
//! | 1 | [`mail`] | the domain types of an email, sanitized for display; pure |
//! | 1 | [`config`] | flags, environment and file become settings; credentials, clock |
//! | 1 | [`signals`] | signals that end the process, and the deadline for that |
//! | 2 | [`api`] | the service: JSON, HTTP client, rate limit, retries |
//! | 2 | [`query`] | the search language: parser, evaluation of one email, completion; pure |
//! | 2 | [`render`] | a body becomes lines of styled spans at a width; pure |
//! | 3 | [`archive`] | the store: one writer, many readers, search index |
//! | 4 | [`sync`] | stores pages of the service in the archive; the planner is pure |
//! | 4 | [`server`] | the service's API over the sample mailbox, and the connections of every server |
//! | 4 | [`export`] | one email or a set as files: eml, html, text, JSON, csv |
//! | 5 | [`mirror`] | an archive served to a team, with the one poller that keeps it current |
//! | 5 | [`app`] | the terminal UI as a pure state machine: a message in, a model and effects out |
//! | 6 | [`view`] | draws a model |
//! | 7 | [`tui`] | event loop, effect runner, terminal guard, linear mode |
//! | 7 | [`cli`] | the commands; never uses `app` or `view` |
//! | 8 | `run.rs` | hooks, arguments, dispatch, exit code; beside it `launch.rs`, `logging.rs`, `panic_hook.rs` |
//!
//! # From a key press to the screen
//!
//! A key becomes a command; [`app`] turns it into the next model and a list of effects; [`tui`]
//! runs each effect and returns one message for it; [`view`] draws the model. A page arrives
//! through [`api::Client`], is merged by [`sync`] into the [`archive`] in one transaction, and is
//! shown because the window is loaded again.
//!
//! # Safety
//!
//! - **Reading an email never counts as opening it.** Nothing that an email names is fetched. All requests are the
//!   API's, sent by `api/client.rs` and `api/changes.rs`, and those of attachments, by `api/attachments.rs`.
//! - **Foreign text is sanitized once**, by the constructors of displayed types ([`text::sanitize`]). Machine
//!   output keeps the data, with control characters as JSON escapes.
//! - **The key is sent to one host**: [`config::ApiKey`] cannot be printed, [`config::BaseUrl`] cannot be plain http
//!   to another machine, and redirects to another origin are refused.
//! - **Mail is personal data**: files are 0600, and an archive belongs to one profile, base URL and key.
//! - **Clock, environment, stdout and process exit** are each used in one place: [`config::clock`], [`config::Env`],
//!   [`cli::Output`], `run.rs`; `clippy.toml` forbids them elsewhere.

pub mod api;
mod app;
pub mod archive;
mod cli;
pub mod config;
pub mod error;
mod export;
pub mod fuzz_targets;
mod launch;
mod logging;
pub mod mail;
mod mirror;
mod panic_hook;
pub mod query;
pub mod render;
mod run;
pub mod server;
pub mod signals;
pub mod sync;
mod tasks;
pub mod text;
mod tui;
mod view;

#[cfg(test)]
mod docs_tests;
#[cfg(test)]
mod generated_docs_tests;
#[cfg(test)]
mod packaging_tests;
// Some tests inside the crate use the harness in `tests/`, which imports the crate by its name.
#[cfg(test)]
extern crate self as sentbox;

pub use run::run;
