//! Settings from flags, environment and configuration file;
//! profiles and their keys.

mod api_key;
mod base_url;
pub mod clock;
mod colours;
mod desktop;
mod env;
mod file;
mod line_file;
mod private_fs;
mod profiles;
mod rotating_file;
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "there is no driver that needs all of it")
)]
mod server_url;
mod settings;
mod values;

pub use api_key::ApiKey;
pub(crate) use api_key::{Prompting, SecretInput, remove_key_variables};
pub use base_url::BaseUrl;
pub(crate) use base_url::is_loopback;
pub(crate) use colours::{
    Background, ColourDepth, Role, ThemeBase, ThemeConfig, draws_ascii, has_ascii_font,
    has_other_charset, is_utf8, locale, reads_osc,
};
pub use desktop::{ClipboardRoute, DesktopSettings, Multiplexer};
pub(crate) use desktop::{ClipboardSetting, NotifyRoute, NotifySequence, find_browser};
pub(crate) use env::{Env, FaultPoint, Flags, Paths, find_time_zone};
pub(crate) use file::{ConfigFile, check_config};
pub(crate) use line_file::{HISTORY_FILE, LineFile, STATE_FILE};
pub(crate) use private_fs::{
    config_hint, create_private_dir, create_private_file, create_secret, create_temp_file,
    existing_folder_of, folder_of, lock_folder, open_private, open_private_append, open_regular,
    open_secret, read_at_most, read_regular,
};
pub use profiles::ConfigFindings;
pub(crate) use profiles::{KeyTarget, Profiles, ViewStore, ViewWrite};
pub(crate) use rotating_file::RotatingFile;
pub(crate) use server_url::ServerAccess;
pub use server_url::ServerUrl;
pub(crate) use settings::ARCHIVE_FILE;
pub use settings::ArchiveLocation;
pub(crate) use settings::{ArchiveOrigin, CredentialSource, Settings};
pub use values::Rate;
pub(crate) use values::{
    ColumnField, DURATION_SYNTAX, HistorySpan, KeyBinding, ListColumn, SavedView, SavedViews,
    built_in_views, parse_duration,
};
