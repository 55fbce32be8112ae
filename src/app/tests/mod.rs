//! The model by messages: its state and effects after each.

mod attachments;
mod background;
mod changes;
pub mod env;
mod filter;
pub mod freshness;
mod keys;
mod list;
mod marks;
mod metrics;
mod reader;
mod recipient;
mod saved_views;
mod service;
mod service_state;
mod statistics;
mod suppression;
mod take_along;
mod watch;
mod world;
