//! Flags, environment and file become settings; secrets stay secret.

mod age;
mod api_key;
mod backfill;
mod base_url;
pub mod clock;
mod env;
mod file;
mod hidden;
mod key_change;
mod palette;
mod panic_at;
mod paths;
mod private_fs;
mod profiles;
mod rate;
mod settings;
mod views;

pub use age::{DURATION_SYNTAX, parse_duration};
pub use api_key::{ApiKey, Prompting, remove_key_variables};
pub use backfill::Backfill;
pub use base_url::BaseUrl;
pub use env::Env;
pub use hidden::SecretInput;
pub use key_change::KeyBinding;
pub use palette::Palette;
pub use panic_at::FaultPoint;
pub use paths::Paths;
pub use private_fs::create_private_dir;
pub use profiles::{KeyTarget, ProfileEntry, Profiles};
pub use rate::Rate;
pub use settings::{ArchiveLocation, Flags, Settings};
pub use views::{SavedView, SavedViews, ViewStore, built_in_views};
