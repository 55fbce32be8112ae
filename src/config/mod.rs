//! Flags, environment and file become settings; secrets stay secret.

mod age;
mod backfill;
mod base;
pub mod clock;
mod env;
mod file;
mod hidden;
mod key;
mod key_change;
mod nearest;
mod palette;
mod panic_at;
mod paths;
mod private;
mod profiles;
mod rate;
mod settings;
mod views;

pub use age::{AGES, age};
pub use backfill::Backfill;
pub use base::BaseUrl;
pub use env::Env;
pub use hidden::Hidden;
pub use key::{ApiKey, Asking, without_keys};
pub use key_change::KeyChange;
pub use nearest::nearest;
pub use palette::Palette;
pub use panic_at::PanicAt;
pub use paths::Paths;
pub use private::make_folder;
pub use profiles::{Listed, Place, Profiles};
pub use rate::Rate;
pub use settings::{Flags, Location, Settings};
pub use views::{SavedView, SavedViews, ViewFile, built_in};
