//! Carries what the service has into the archive, page by page, and never claims more than it has seen.

mod synced;

pub use synced::{Back, NAMED, Stopped, Synced};
