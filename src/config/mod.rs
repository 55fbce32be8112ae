//! Flags, environment and file become settings; secrets stay secret.

mod api_key;
mod base_url;
pub mod clock;
mod credentials;
mod env;
mod file;
mod private_fs;
mod profiles;
mod settings;
mod values;

pub use api_key::ApiKey;
pub(crate) use api_key::SecretInput;
pub(crate) use api_key::{Prompting, remove_key_variables};
pub use base_url::BaseUrl;
pub(crate) use env::FaultPoint;
pub(crate) use env::Paths;
pub(crate) use env::{Env, Flags};
pub(crate) use private_fs::create_private_dir;
pub(crate) use profiles::{KeyTarget, ProfileEntry, Profiles, ViewStore};
pub use settings::ArchiveLocation;
pub(crate) use settings::Settings;
pub(crate) use values::Backfill;
pub(crate) use values::KeyBinding;
pub(crate) use values::Palette;
pub use values::Rate;
pub(crate) use values::{DURATION_SYNTAX, parse_duration};
pub(crate) use values::{SavedView, SavedViews, built_in_views};
