//! The model by messages: what it becomes and which effects it asks for.

mod background;
pub mod env;
mod freshness;
mod model;
mod search_ui;
mod take_along;
