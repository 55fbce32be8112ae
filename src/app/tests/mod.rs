//! The model by messages: its state and effects after each.

mod attachments;
mod background;
mod changes;
mod choosing;
pub mod env;
mod filter;
mod fixtures;
pub mod freshness;
mod harness;
mod kept_email;
mod keys;
mod list;
mod load_more_row;
mod load_older;
mod marks;
mod metrics;
mod reader;
mod recipient;
mod saved_views;
mod service;
mod service_state;
mod statistics;
mod status_check;
mod suppression;
mod take_along;
mod watch;

use std::time::Duration;

use crate::api::RateBudget;

/// A limit of the service that makes nothing wait.
pub const BUDGET: RateBudget = RateBudget {
    rate: 2.0,
    background: 0.5,
    limit: Some(10),
    remaining: None,
    paused_for: Duration::ZERO,
    unanswered_for: Duration::ZERO,
    waits_for: None,
};
