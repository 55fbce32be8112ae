//! Flags, environment and file become settings; secrets stay secret.

mod base;
pub mod clock;
mod env;
mod file;
mod key;
mod nearest;
mod rate;
mod settings;

pub use base::BaseUrl;
pub use env::Env;
pub use key::ApiKey;
pub use nearest::nearest;
pub use rate::Rate;
#[cfg(debug_assertions)]
pub use settings::PanicAt;
pub use settings::{Flags, Location, Settings};
