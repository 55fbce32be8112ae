//! `Paths`: where the files of sentbox lie, decided once from the environment.

use std::path::PathBuf;

use super::Env;

/// The files and folders of sentbox. What has no place because there is no home directory is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The configuration file; it need not be there.
    pub(crate) config: Option<PathBuf>,
    /// Whether `SENTBOX_CONFIG` names it, so that it must be there.
    pub(crate) config_is_explicit: bool,
    /// The folder of the archives.
    pub(crate) data: Option<PathBuf>,
    /// The folder of the log and of crash reports.
    pub(crate) state: Option<PathBuf>,
    /// What `~/` means in the configuration file.
    pub(super) home: Option<PathBuf>,
}

impl Paths {
    /// The paths that `env` asks for.
    #[must_use]
    pub(crate) fn from_env(env: &Env) -> Self {
        let folder = |name, below| {
            env.base_dir(name, below)
                .map(|folder| folder.join("sentbox"))
        };
        let named = env.get("SENTBOX_CONFIG").map(PathBuf::from);
        Self {
            config_is_explicit: named.is_some(),
            config: named.or_else(|| {
                folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
            }),
            data: folder("XDG_DATA_HOME", ".local/share"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            home: env.get("HOME").map(PathBuf::from),
        }
    }

    /// The folder of a profile's archives: one for each address and key it has had.
    #[must_use]
    pub(crate) fn profile_data_dir(&self, profile: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|data| data.join(profile))
    }
}
