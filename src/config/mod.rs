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

pub(crate) use age::{DURATION_SYNTAX, parse_duration};
pub use api_key::ApiKey;
pub(crate) use api_key::{Prompting, remove_key_variables};
pub(crate) use backfill::Backfill;
pub use base_url::BaseUrl;
pub(crate) use env::Env;
pub(crate) use file::check_config;
pub(crate) use hidden::SecretInput;
pub(crate) use key_change::KeyBinding;
pub(crate) use palette::Palette;
pub(crate) use panic_at::FaultPoint;
pub(crate) use paths::Paths;
pub(crate) use private_fs::create_private_dir;
pub(crate) use profiles::{KeyTarget, ProfileEntry, Profiles};
pub use rate::Rate;
pub use settings::ArchiveLocation;
pub(crate) use settings::{Flags, Settings};
pub(crate) use views::{SavedView, SavedViews, ViewStore, built_in_views};
