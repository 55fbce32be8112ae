//! sentbox: the sent box of a team, in a terminal. Did we send it, what did it say, what became of it?
//!
//! # One message
//!
//! The service is far and slow and cannot search; the [`archive`] is near and fast and can. So
//! [`sync`] carries every page it fetches into the archive, and everything a person looks at is read
//! from there.
//!
//! ```text
//!             HTTP                     SQLite               keys, screen
//!  service <--------> api --> sync --> archive --> app --> view      the terminal program
//!                      ^                     \----------> cli        scripts
//!                      |
//!                    server <------- the sample mailbox: the same API, served
//! ```
//!
//! What follows from it:
//!
//! - The list appears before the first byte from the network, and works offline.
//! - A stale answer cannot overwrite a newer one: answers go into rows keyed by email id.
//! - Pages that shift while they are read, repeat or overlap do no harm: rows are merged by id.
//! - The screen holds one window of rows, however many emails there are.
//! - "Nothing on disk" is one switch: the archive is then in memory, and nothing else changes.
//!
//! # The rooms
//!
//! A room imports only rooms on lower floors.
//!
//! | floor | room | what it is for |
//! |---|---|---|
//! | 0 | [`error`] | what went wrong, as plain data; its kind decides the exit code |
//! | 1 | [`mail`] | what an email is, cleaned and typed for looking at; pure |
//! | 1 | [`config`] | flags, environment and file become settings; secrets, and the clock |
//! | 1 | [`signals`] | what ends the process from outside, and the deadline for that |
//! | 2 | [`api`] | the service: its JSON, and the client with its pace |
//! | 2 | [`query`] | the search language: text to query and back, its plain meaning, completion; pure |
//! | 2 | [`render`] | a body becomes lines of marked spans at a width; pure |
//! | 3 | [`archive`] | the store: one writer, many readers, windows of rows |
//! | 4 | [`sync`] | carries the service into the archive; what to fetch next is decided purely |
//! | 4 | [`server`] | the service's API over anything that answers *page* and *email* |
//! | 4 | [`app`] | the terminal program as a pure machine: a message in, a model and effects out |
//! | 5 | [`view`] | draws a model |
//! | 6 | [`tui`] | the loop, the performer of effects, the hold on the terminal |
//! | 6 | [`cli`] | the verbs; never touches `app` or `view` |
//! | 7 | `run.rs` | hooks, arguments, dispatch, exit code; `launch.rs`, `limits.rs`, `log.rs` and `panic_hook.rs` beside it |
//!
//! # The way of a key press, and of a page
//!
//! A key becomes a command; [`app`] turns it into the next model and a list of effects; [`tui`]
//! performs each effect and brings back exactly one message; [`view`] draws the model. Nothing else
//! moves. A page comes in through [`api::Client`], is merged by [`sync`] into the [`archive`] in one
//! transaction, and is seen because a window is read again, never because it was handed to the screen.
//!
//! # What keeps people safe
//!
//! - **Looking never counts as opening.** Nothing that an email names is ever fetched. The only
//!   requests are the API's, and they are made in one file, `api/client.rs`.
//! - **Foreign text is cleaned once**, by the constructors of what is shown ([`text::sanitize`]).
//!   Machine output keeps the data, with control characters as JSON escapes.
//! - **The key goes to one host**: [`config::ApiKey`] cannot be printed, [`config::BaseUrl`] cannot be
//!   plain http to another machine, and no redirect to another origin is followed.
//! - **Mail is personal data**: files are 0600, and an archive belongs to one profile, address and key.
//! - **The clock, the environment, stdout and the end of the process** are each touched in one place:
//!   [`config::clock`], [`config::Env`], [`cli::Output`], `main.rs`; `clippy.toml` refuses them elsewhere.

pub mod api;
mod app;
pub mod archive;
mod cli;
pub mod config;
pub mod error;
pub mod fuzz_targets;
mod launch;
mod limits;
mod logging;
pub mod mail;
mod panic_hook;
pub mod query;
pub mod render;
mod run;
pub mod server;
pub mod signals;
pub mod sync;
pub mod text;
mod tui;
mod view;

#[cfg(test)]
mod docs_tests;
#[cfg(test)]
mod generated_docs_tests;
// The harness in `tests/` names the crate by its name; some tests inside the crate use it, too.
#[cfg(test)]
extern crate self as sentbox;

pub use run::run;
